"""SAC's losses and update against numbers computed by hand and against PyTorch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from farstep.agents.config import AgentConfig
from farstep.agents.losses import (
    Transitions,
    actor_loss,
    critic_loss,
    targets,
    temperature_loss,
)
from farstep.agents.networks import Linear, squashed_sample
from farstep.agents.sac import Learner, create_learner, update

CONSTANT_CRITICS = (
    (Linear(jnp.zeros((2, 1)), jnp.array([3.0])),),
    (Linear(jnp.zeros((2, 1)), jnp.array([2.0])),),
)
"""Q₁ = 3 and Q₂ = 2, whatever the state and action."""


def test_targets_by_hand():
    y = targets(
        rewards=jnp.array([1.0, 1.0]),
        terminated=jnp.array([0.0, 1.0]),
        next_values=(jnp.array([4.0, 4.0]), jnp.array([3.0, 5.0])),
        next_log_density=jnp.array([-2.0, -2.0]),
        temperature=jnp.array(0.5),
        gamma=0.9,
    )
    # 1 + 0.9 (min(4, 3) + 0.5 · 2) and, where the task ends, the reward alone.
    np.testing.assert_allclose(y, [1 + 0.9 * 4, 1.0], rtol=1e-6)


def test_critic_loss_by_hand():
    column = jnp.zeros((2, 1))
    batch = Transitions(column, column, jnp.zeros(2), column, jnp.zeros(2), column, column)
    loss = critic_loss(CONSTANT_CRITICS, batch, jnp.array([1.0, 3.0]))
    # ½ [ mean(4, 0) + mean(1, 1) ]
    assert float(loss) == pytest.approx(1.5)


def test_actor_loss_by_hand():
    actor = (Linear(jnp.zeros((1, 2)), jnp.array([0.3, np.log(0.5)])),)
    noise = jnp.array([[0.0], [1.0]])
    column = jnp.zeros((2, 1))
    batch = Transitions(column, column, jnp.zeros(2), column, jnp.zeros(2), column, column)
    loss, density = actor_loss(actor, CONSTANT_CRITICS, batch, noise, jnp.array(0.2))
    actions = np.tanh(0.3 + 0.5 * np.array([0.0, 1.0]))
    expected = (
        -0.5 * np.array([0.0, 1.0])
        - np.log(0.5)
        - 0.5 * np.log(2 * np.pi)
        - np.log(1 - actions**2 + 1e-6)
    )
    np.testing.assert_allclose(density, expected, rtol=1e-5)
    assert float(loss) == pytest.approx(0.2 * expected.mean() - 2.0, rel=1e-5)


def test_temperature_loss_by_hand():
    density = jnp.array([1.0, -3.0])
    loss, gradient = jax.value_and_grad(temperature_loss)(jnp.array(0.7), density, -1.0)
    # −log α · mean(log π + H̄) with mean(log π) = −1, H̄ = −1
    assert float(loss) == pytest.approx(0.7 * 2.0)
    assert float(gradient) == pytest.approx(2.0)


def test_the_density_of_a_squashed_action_integrates_to_one():
    mean, log_std = jnp.array([0.4]), jnp.array([-0.5])
    noise = jnp.linspace(-6, 6, 20001)[:, None]
    action, log_density = squashed_sample(mean, log_std, noise)
    mass = np.trapezoid(np.exp(np.asarray(log_density)), np.asarray(action)[:, 0])
    assert mass == pytest.approx(1.0, abs=1e-3)


def _torch_net(layers) -> torch.nn.Sequential:
    modules: list[torch.nn.Module] = []
    for number, (weight, bias) in enumerate(layers):
        linear = torch.nn.Linear(*weight.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(np.asarray(weight).T))
            linear.bias.copy_(torch.tensor(np.asarray(bias)))
        modules += [linear, torch.nn.ReLU()] if number < len(layers) - 1 else [linear]
    return torch.nn.Sequential(*modules)


def _torch_update(learner: Learner, batch: Transitions, key, config: AgentConfig):
    """One gradient step as `stable_baselines3.SAC.train` makes it, with our noise.

    Its actor is given readings, o, in place of the states; there they are the same.
    """
    noise, next_noise = np.array(jax.random.normal(key, (2, *batch.actions.shape)))
    s, a, r, s2, d, o, o2 = (torch.tensor(np.asarray(part)) for part in batch)
    actor = _torch_net(learner.actor)
    critics = [_torch_net(critic) for critic in learner.critics]
    slow = [_torch_net(critic) for critic in learner.target_critics]
    log_alpha = torch.tensor(float(learner.log_temperature), requires_grad=True)

    def sample(states, eps):
        mean, log_std = actor(states).chunk(2, dim=1)
        log_std = log_std.clamp(-20, 2)
        normal = torch.distributions.Normal(mean, log_std.exp())
        raw = mean + log_std.exp() * torch.tensor(eps)
        action = torch.tanh(raw)
        density = normal.log_prob(raw) - torch.log(1 - action**2 + 1e-6)
        return action, density.sum(dim=1, keepdim=True)

    rate = config.learning_rate
    actor_adam = torch.optim.Adam(actor.parameters(), lr=rate)
    critic_adam = torch.optim.Adam([p for c in critics for p in c.parameters()], lr=rate)
    alpha_adam = torch.optim.Adam([log_alpha], lr=rate)
    action_pi, log_prob = sample(o, noise)
    alpha = log_alpha.exp().detach()
    aim = -float(a.shape[1])
    alpha_loss = -(log_alpha * (log_prob + aim).detach()).mean()
    alpha_adam.zero_grad()
    alpha_loss.backward()
    alpha_adam.step()
    with torch.no_grad():
        next_action, next_log_prob = sample(o2, next_noise)
        q = torch.min(*(c(torch.cat([s2, next_action], 1)) for c in slow)) - alpha * next_log_prob
        y = r[:, None] + (1 - d[:, None]) * config.gamma * q
    first, second = (((c(torch.cat([s, a], 1)) - y) ** 2).mean() for c in critics)
    loss = 0.5 * (first + second)
    critic_adam.zero_grad()
    loss.backward()
    critic_adam.step()
    q = torch.min(*(c(torch.cat([s, action_pi], 1)) for c in critics))
    actor_adam.zero_grad()
    (alpha * log_prob - q).mean().backward()
    actor_adam.step()
    return actor, critics, log_alpha


@pytest.mark.parametrize("noise", [0.0, 0.5], ids=["as it is", "critics see the states"])
def test_an_update_is_that_of_stable_baselines3(noise: float):
    config = AgentConfig(net_arch=(16, 16), learning_rate=1e-2)
    learner = create_learner(jax.random.key(0), 3, 2, config)
    keys = jax.random.split(jax.random.key(1), 6)
    states, next_states = (jax.random.normal(key, (8, 3)) for key in (keys[0], keys[3]))
    readings = noise * jax.random.normal(keys[5], (2, 8, 3))
    batch = Transitions(
        states=states,
        actions=jnp.tanh(jax.random.normal(keys[1], (8, 2))),
        rewards=jax.random.normal(keys[2], (8,)),
        next_states=next_states,
        terminated=jnp.array([0.0, 1.0] * 4),
        seen=states + readings[0],
        next_seen=next_states + readings[1],
    )
    moved, losses = update(learner, batch, keys[4], config)
    actor, critics, log_alpha = _torch_update(learner, batch, keys[4], config)
    for ours, theirs in [
        (moved.actor, actor),
        (moved.critics[0], critics[0]),
        (moved.critics[1], critics[1]),
    ]:
        layers = [layer for layer in theirs if isinstance(layer, torch.nn.Linear)]
        for (weight, bias), layer in zip(ours, layers, strict=True):
            np.testing.assert_allclose(weight, layer.weight.detach().numpy().T, atol=2e-4)
            np.testing.assert_allclose(bias, layer.bias.detach().numpy(), atol=2e-4)
    assert float(moved.log_temperature) == pytest.approx(float(log_alpha.detach()), abs=1e-5)
    slow = jax.tree.map(
        lambda old, new: 0.995 * old + 0.005 * new, learner.target_critics, moved.critics
    )
    for ours, theirs in zip(
        jax.tree.leaves(moved.target_critics), jax.tree.leaves(slow), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert all(np.isfinite(float(loss)) for loss in losses)


def test_a_fixed_temperature_stays():
    config = AgentConfig(net_arch=(8,), ent_coef=0.3)
    learner = create_learner(jax.random.key(0), 1, 1, config)
    column = jnp.zeros((4, 1))
    batch = Transitions(column, column, jnp.zeros(4), column, jnp.zeros(4), column, column)
    moved, losses = update(learner, batch, jax.random.key(1), config)
    assert float(moved.log_temperature) == pytest.approx(np.log(0.3))
    assert float(losses.temperature) == pytest.approx(0.3)


def test_the_average_is_of_the_actors_along_the_way():
    config = AgentConfig(net_arch=(8,), learning_rate=1e-2, average=0.9)
    learner = create_learner(jax.random.key(0), 1, 1, config)
    column = jnp.linspace(-1.0, 1.0, 4)[:, None]
    batch = Transitions(column, column, jnp.ones(4), column, jnp.zeros(4), column, column)
    expected = learner.actor
    for number, keep in enumerate([1 / 10, 2 / 11, 3 / 12]):
        learner, _ = update(learner, batch, jax.random.key(number), config)
        expected = jax.tree.map(
            lambda old, new, k=keep: k * old + (1 - k) * new, expected, learner.actor
        )
    for ours, theirs in zip(
        jax.tree.leaves(learner.policy), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
