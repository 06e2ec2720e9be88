"""A system simple enough to be computed by hand, models of it, and a tiny agent."""

import jax.numpy as jnp
import numpy as np

from farstep.agents.config import AgentConfig
from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.models.linear import LinearDynamics
from farstep.models.model import Model
from farstep.systems.network_policy import NetworkPolicy
from farstep.systems.system import System

SIGNALS = Signals(
    observation_names=("position", "velocity"),
    action_names=("force",),
    action_low=(-2.0,),
    action_high=(1.0,),
)
A = np.array([[1.0, 0.1], [0.0, 0.9]], np.float32)
B = np.array([[0.0], [0.1]], np.float32)


def reward(observation, action, next_observation):
    del observation
    return -jnp.square(next_observation[0]) - 0.1 * jnp.square(action[0])


def far_out(observation, action, next_observation):
    del observation, action
    return jnp.abs(next_observation[0]) > 5.0


def start(key):
    del key
    return jnp.array([1.0, 0.0])


CART = System(
    name="cart",
    env_id="Pendulum-v1",
    signals=SIGNALS,
    max_episode_steps=20,
    reward=reward,
    terminated=far_out,
    reset=start,
)


def linear(matrix: np.ndarray = A) -> LinearDynamics:
    return LinearDynamics(
        state_matrix=jnp.asarray(matrix),
        action_matrix=jnp.asarray(B),
        offset=jnp.zeros(2),
        log_std=jnp.log(jnp.array([0.1, 0.2])),
    )


def model(matrix: np.ndarray = A) -> Model:
    return Model(linear(matrix), SIGNALS, "cart")


def data(episodes: int = 4, steps: int = 20, rewards: bool = True, seed: int = 0) -> Episodes:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(episodes):
        observations, actions = [rng.normal(size=2)], rng.uniform(-2, 1, (steps, 1))
        for action in actions:
            observations.append(A @ observations[-1] + B @ action)
        after = np.stack(observations)[1:, 0]
        given = -(after**2) - 0.1 * actions[:, 0] ** 2 if rewards else None
        found.append(Episode(np.stack(observations), actions, given, truncated=True))
    return Episodes.from_list(found, SIGNALS, "cart")


TINY_FIT = {
    "horizon": 2,
    "weights": "uniform",
    "width": 16,
    "depth": 2,
    "batch_size": 16,
    "epochs": 2,
    "seed": 0,
}
TINY = AgentConfig(
    steps=120,
    num_envs=4,
    gradient_steps=2,
    learning_starts=20,
    batch_size=16,
    net_arch=(16, 16),
    eval_every=40,
    eval_episodes=0,
)


def same_policy(one: NetworkPolicy, other: NetworkPolicy) -> None:
    for (weight, bias), (other_weight, other_bias) in zip(one.layers, other.layers, strict=True):
        np.testing.assert_array_equal(weight, other_weight)
        np.testing.assert_array_equal(bias, other_bias)
