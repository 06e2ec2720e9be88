"""Gymnasium's Swimmer and HalfCheetah.

The simulator's reward uses the change of a position that is not observed. The reward here uses
the mean of the observed velocities before and after the step instead.
"""

from contextlib import closing
from functools import partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.data.signals import Signals
from farstep.systems import SYSTEMS
from farstep.systems.mujoco_oracle import MujocoOracle, log_mujoco_warnings
from farstep.systems.system import Action, Observation, System, forget_known_parts

_START_SPREAD = 0.1


def _forward_reward(
    observation: Observation,
    action: Action,
    next_observation: Observation,
    speed: int,
    control_cost: float,
) -> Float[Array, ""]:
    velocity = (observation[speed] + next_observation[speed]) / 2
    return velocity - control_cost * jnp.sum(jnp.square(action))


def _swimmer_reset(key: PRNGKeyArray) -> Observation:
    return _START_SPREAD * jax.random.uniform(key, (8,), minval=-1.0, maxval=1.0)


def _half_cheetah_reset(key: PRNGKeyArray) -> Observation:
    positions, velocities = jax.random.split(key)
    return _START_SPREAD * jnp.concatenate(
        [
            jax.random.uniform(positions, (8,), minval=-1.0, maxval=1.0),
            jax.random.normal(velocities, (9,)),
        ]
    )


def _make_oracle(env_id: str, hidden: int) -> MujocoOracle:
    """Return the simulator as an oracle; the first `hidden` positions, not observed, start at 0."""
    log_mujoco_warnings()
    with closing(gymnasium.make(env_id)) as env:
        model, substeps = env.unwrapped.model, env.unwrapped.frame_skip  # type: ignore[attr-defined]
    positions = model.nq - hidden

    def to_physics(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        unobserved = np.zeros((len(observations), hidden))
        qpos = np.concatenate([unobserved, observations[:, :positions]], axis=1)
        return qpos, observations[:, positions:]

    def observe(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        return np.concatenate([qpos[..., hidden:], qvel], axis=-1)

    return MujocoOracle(model, substeps, to_physics, observe)


_SWIMMER_JOINTS = ("body_angle", "joint1_angle", "joint2_angle")
_CHEETAH_JOINTS = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")

swimmer = System(
    name="swimmer",
    env_id=SYSTEMS["swimmer"].env_id,
    signals=Signals(
        observation_names=(
            *_SWIMMER_JOINTS,
            "x_velocity",
            "y_velocity",
            *(f"{joint}_velocity" for joint in _SWIMMER_JOINTS),
        ),
        observation_units=("rad",) * 3 + ("m/s",) * 2 + ("rad/s",) * 3,
        action_names=("torque1", "torque2"),
        action_low=(-1.0,) * 2,
        action_high=(1.0,) * 2,
        interval=0.04,
    ),
    max_episode_steps=1000,
    reward=partial(_forward_reward, speed=3, control_cost=1e-4),
    reset=_swimmer_reset,
    make_oracle=partial(_make_oracle, SYSTEMS["swimmer"].env_id, hidden=2),
    update_for_env_kwargs=forget_known_parts,
)

half_cheetah = System(
    name="half-cheetah",
    env_id=SYSTEMS["half-cheetah"].env_id,
    signals=Signals(
        observation_names=(
            "height",
            "pitch",
            *(f"{joint}_angle" for joint in _CHEETAH_JOINTS),
            "x_velocity",
            "z_velocity",
            "pitch_velocity",
            *(f"{joint}_velocity" for joint in _CHEETAH_JOINTS),
        ),
        observation_units=("m",) + ("rad",) * 7 + ("m/s",) * 2 + ("rad/s",) * 7,
        action_names=_CHEETAH_JOINTS,
        action_low=(-1.0,) * 6,
        action_high=(1.0,) * 6,
        interval=0.05,
    ),
    max_episode_steps=1000,
    reward=partial(_forward_reward, speed=8, control_cost=0.1),
    reset=_half_cheetah_reset,
    make_oracle=partial(_make_oracle, SYSTEMS["half-cheetah"].env_id, hidden=1),
    update_for_env_kwargs=forget_known_parts,
)
