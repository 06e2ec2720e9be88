"""Stable-Baselines3: its SAC is ours, its agents learn in a ModelEnv, and its checks pass."""

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecCheckNan, VecMonitor

import cart
from farstep.agents.config import AgentConfig
from farstep.agents.networks import Layers
from farstep.agents.replay import Transitions
from farstep.agents.sac import Learner, create_learner, update
from farstep.agents.sb3_trainer import SB3Trainer
from farstep.agents.train_agent import train_agent
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.model_env.model_env import ModelEnv
from farstep.systems.network_policy import load_policy
from farstep.systems.system import System


@pytest.fixture(scope="module")
def env(cart_data: Episodes) -> ModelEnv:
    return ModelEnv(cart.model(), cart.CART, cart_data)


def torch_network(layers: Layers) -> torch.nn.Sequential:
    modules: list[torch.nn.Module] = []
    for weight, bias in layers:
        linear = torch.nn.Linear(weight.shape[0], weight.shape[1])
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(np.asarray(weight).T))
            linear.bias.copy_(torch.tensor(np.asarray(bias)))
        modules += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1])


def torch_update(learner: Learner, batch: Transitions, key: jax.Array, config: AgentConfig) -> Any:
    """Make one update as `stable_baselines3.SAC.train` does, with the same noise.

    Its actor takes the observations where they differ from the states.
    """
    noise, next_noise = np.array(jax.random.normal(key, (2, *batch.actions.shape)))
    s, a, r, s2, d, o, o2 = (torch.tensor(np.asarray(part)) for part in batch)
    actor = torch_network(learner.actor)
    critics = [torch_network(critic) for critic in learner.critics]
    slow = [torch_network(critic) for critic in learner.target_critics]
    log_alpha = torch.tensor(float(learner.log_temperature), requires_grad=True)

    def sample(observations, eps):
        mean, log_std = actor(observations).chunk(2, dim=1)
        log_std = log_std.clamp(-20, 2)
        raw = mean + log_std.exp() * torch.tensor(eps)
        density = torch.distributions.Normal(mean, log_std.exp()).log_prob(raw)
        action = torch.tanh(raw)
        return action, (density - torch.log(1 - action**2 + 1e-6)).sum(dim=1, keepdim=True)

    def step(parameters, loss):
        adam = torch.optim.Adam(parameters, lr=config.learning_rate)
        adam.zero_grad()
        loss.backward()
        adam.step()

    action_pi, log_prob = sample(o, noise)
    alpha = log_alpha.exp().detach()
    step([log_alpha], -(log_alpha * (log_prob - a.shape[1]).detach()).mean())
    with torch.no_grad():
        next_action, next_log_prob = sample(o2, next_noise)
        q = torch.min(*(c(torch.cat([s2, next_action], 1)) for c in slow)) - alpha * next_log_prob
        y = r[:, None] + (1 - d[:, None]) * config.gamma * q
    first, second = (((c(torch.cat([s, a], 1)) - y) ** 2).mean() for c in critics)
    step([p for c in critics for p in c.parameters()], 0.5 * (first + second))
    q = torch.min(*(c(torch.cat([s, action_pi], 1)) for c in critics))
    step(actor.parameters(), (alpha * log_prob - q).mean())
    return (actor, *critics), log_alpha


def test_an_update_is_that_of_stable_baselines3():
    config = AgentConfig(net_arch=(16, 16), learning_rate=1e-2)
    learner = create_learner(jax.random.key(0), 3, 2, config)
    once = jax.jit(lambda learner, batch, key: update(learner, batch, key, config))
    rng = np.random.default_rng(0)
    for noise in (0.0, 0.5):  # with noise, only the critics see the states
        states, next_states = rng.normal(size=(2, 8, 3))
        parts = {
            "states": states,
            "actions": np.tanh(rng.normal(size=(8, 2))),
            "rewards": rng.normal(size=8),
            "next_states": next_states,
            "terminated": np.array([0.0, 1.0] * 4),
            "observations": states + noise * rng.normal(size=(8, 3)),
            "next_observations": next_states + noise * rng.normal(size=(8, 3)),
        }
        batch = Transitions(**{n: jnp.asarray(part, jnp.float32) for n, part in parts.items()})
        key = jax.random.key(1)
        updated, losses = once(learner, batch, key)
        networks, log_alpha = torch_update(learner, batch, key, config)
        for ours, theirs in zip((updated.actor, *updated.critics), networks, strict=True):
            layers = [layer for layer in theirs if isinstance(layer, torch.nn.Linear)]
            for (weight, bias), layer in zip(ours, layers, strict=True):
                np.testing.assert_allclose(weight, layer.weight.detach().numpy().T, atol=2e-4)
                np.testing.assert_allclose(bias, layer.bias.detach().numpy(), atol=2e-4)
        assert float(updated.log_temperature) == pytest.approx(float(log_alpha.detach()), abs=1e-5)
        expected = jax.tree.map(
            lambda old, new: 0.995 * old + 0.005 * new, learner.target_critics, updated.critics
        )
        for ours, theirs in zip(
            jax.tree.leaves(updated.target_critics), jax.tree.leaves(expected), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
        assert all(np.isfinite(float(loss)) for loss in losses)


@pytest.mark.filterwarnings("ignore::farstep.errors.DataWarning")  # of a few updates
@pytest.mark.parametrize("name", ["SAC", "TD3", "A2C"])
def test_an_agent_is_trained_in_a_model_and_read_again(name: str, env: ModelEnv, tmp_path: Path):
    settings: dict[str, Any] = {"steps": 120, "eval_every": 60, "num_envs": 2, "eval_episodes": 0}
    if name == "SAC":
        settings |= {"batch_size": 16, "net_arch": (16, 16), "learning_starts": 10}
    settings |= {"algorithm": f"sb3:{name}"}
    agent = train_agent(env, "paper", **settings, out=tmp_path)
    assert agent.curve.column("steps")[-1] >= 120
    assert agent.curve.last["out_of_bounds"] is not None
    assert np.isfinite(agent.curve.column("imagined_return")).all()
    stored = load_policy(tmp_path)
    observations = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    np.testing.assert_array_equal(stored.predict(observations), agent.policy.predict(observations))
    assert stored.record["versions"]["stable-baselines3"] == stable_baselines3.__version__
    assert train_agent(env, "paper", **settings, out=tmp_path).curve.rows == agent.curve.rows


@pytest.mark.parametrize("name", ["SAC", "TD3", "DDPG", "PPO", "A2C"])
def test_the_policy_acts_as_that_of_stable_baselines3(name: str, env: ModelEnv):
    trainer = SB3Trainer(env, AgentConfig(algorithm=f"sb3:{name}"), seed=0)
    trainer.model = theirs = trainer.create(env.sb3())
    observations = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    expected, _ = theirs.predict(observations, deterministic=True)
    np.testing.assert_allclose(trainer.policy().predict(observations), expected, atol=1e-5)


def test_sac_takes_our_settings_and_has_our_defaults(env: ModelEnv):
    config = AgentConfig(
        algorithm="sb3:SAC", steps=70, gamma=0.9, batch_size=32, ent_coef=0.1, tau=0.1
    )
    trainer = SB3Trainer(env, config, seed=0)
    theirs = trainer.create(env.sb3())
    assert isinstance(theirs, stable_baselines3.SAC)
    assert (theirs.gamma, theirs.batch_size, theirs.tau) == (0.9, 32, 0.1)
    assert (theirs.ent_coef, theirs.learning_starts) == (0.1, config.warm_up)
    ours = AgentConfig()
    default = stable_baselines3.SAC("MlpPolicy", env.gymnasium(), device="cpu")
    for name in ("learning_rate", "buffer_size", "learning_starts", "batch_size", "tau", "gamma"):
        assert getattr(ours, name) == getattr(default, name), name
    assert ours.gradient_steps == default.gradient_steps == 1
    units = [m.out_features for m in default.actor.latent_pi if isinstance(m, torch.nn.Linear)]
    assert units == [*ours.net_arch]


@pytest.mark.parametrize("fails", [False, True])
def test_the_real_environment_is_closed(fails: bool, monkeypatch: pytest.MonkeyPatch):
    real, closed = gymnasium.make("Pendulum-v1"), []
    monkeypatch.setattr(real, "close", lambda: closed.append(True))
    monkeypatch.setattr(System, "make", lambda _: real)
    settings = {"algorithm": "sb3:TD3", "steps": 101, "eval_episodes": 0}
    if fails:
        monkeypatch.setattr(SB3Trainer, "policy", None)
        with pytest.raises(TypeError):
            train_agent("Pendulum-v1", **settings)
    else:
        assert train_agent("Pendulum-v1", **settings).curve.last["steps"] == 101
    assert closed


def test_the_checks_of_stable_baselines3_pass(env: ModelEnv):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*symmetric and normalized.*")
        check_env(env.gymnasium())
    vector = VecCheckNan(VecMonitor(env.sb3(3)), raise_exception=True)
    vector.seed(0)
    first = vector.reset()
    total, infos = np.zeros(3), []
    for step in range(1, 21):
        _, reward, done, infos = vector.step(np.zeros((3, 1), np.float32))
        total += reward
        assert done.all() == (step == 20)
    assert all(info["TimeLimit.truncated"] for info in infos)
    assert [info["episode"]["l"] for info in infos] == [20, 20, 20]
    np.testing.assert_allclose([info["episode"]["r"] for info in infos], total, rtol=1e-4)
    assert vector.get_attr("render_mode") == [None] * 3
    assert vector.env_is_wrapped(Monitor) == [False] * 3
    vector.seed(0)
    np.testing.assert_array_equal(vector.reset(), first)


def test_a_terminated_episode_is_not_a_truncated_one(cart_data: Episodes):
    fast = ModelEnv(
        cart.model(2 * np.eye(2, dtype=np.float32)), cart.CART, cart_data, bounds=None
    ).sb3(3)
    fast.reset()
    ends = []
    for _ in range(6):
        _, _, done, infos = fast.step(np.zeros((3, 1), np.float32))
        ends += [info for info, end in zip(infos, done, strict=True) if end]
    assert ends
    for info in ends:
        assert info["TimeLimit.truncated"] is False
        assert abs(info["terminal_observation"][0]) > 5


def test_attributes_and_methods_that_do_not_exist_are_errors(env: ModelEnv):
    vector = env.sb3(1)
    with pytest.raises(FarstepError, match="gravity"):
        vector.set_attr("gravity", 1)
    with pytest.raises(FarstepError, match="render"):
        vector.env_method("render")
