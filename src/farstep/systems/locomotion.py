"""Gymnasium's Swimmer and HalfCheetah.

The simulator pays for the change of a position that the observation leaves out. Here that speed is
taken from the observed velocities: the mean of the one before and the one after the step.
"""

from contextlib import closing
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.signals import Signals
from farstep.systems.mujoco_log import log_mujoco_warnings
from farstep.systems.mujoco_oracle import MujocoOracle
from farstep.systems.system import Action, State, System, forget

_START_SPREAD = 0.1


def _forward_reward(
    state: State, action: Action, next_state: State, speed: int, control_cost: float
) -> Float[Array, ""]:
    velocity = (state[speed] + next_state[speed]) / 2
    return velocity - control_cost * jnp.sum(jnp.square(action))


def _swimmer_reset(key: PRNGKeyArray) -> State:
    return _START_SPREAD * jax.random.uniform(key, (8,), minval=-1.0, maxval=1.0)


def _half_cheetah_reset(key: PRNGKeyArray) -> State:
    positions, velocities = jax.random.split(key)
    return _START_SPREAD * jnp.concatenate(
        [
            jax.random.uniform(positions, (8,), minval=-1.0, maxval=1.0),
            jax.random.normal(velocities, (9,)),
        ]
    )


def _make_oracle(env_id: str, hidden: int) -> MujocoOracle:
    """Return the simulator as an oracle; its first `hidden` positions, unobserved, start at 0."""
    import gymnasium

    log_mujoco_warnings()
    with closing(gymnasium.make(env_id)) as env:
        model, substeps = env.unwrapped.model, env.unwrapped.frame_skip  # type: ignore[attr-defined]
    positions = model.nq - hidden

    def to_physics(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        unseen = np.zeros((len(states), hidden))
        return np.concatenate([unseen, states[:, :positions]], axis=1), states[:, positions:]

    def observe(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        return np.concatenate([qpos[..., hidden:], qvel], axis=-1)

    return MujocoOracle(model, substeps, to_physics, observe)


def _unit_box(count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return (-1.0,) * count, (1.0,) * count


_SWIMMER_JOINTS = ("body_angle", "joint1_angle", "joint2_angle")
_CHEETAH_JOINTS = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")

swimmer = System(
    name="swimmer",
    env_id="Swimmer-v5",
    signals=Signals(
        state_names=(
            *_SWIMMER_JOINTS,
            "x_velocity",
            "y_velocity",
            *(f"{joint}_velocity" for joint in _SWIMMER_JOINTS),
        ),
        state_units=("rad",) * 3 + ("m/s",) * 2 + ("rad/s",) * 3,
        action_names=("torque1", "torque2"),
        action_low=_unit_box(2)[0],
        action_high=_unit_box(2)[1],
        interval=0.04,
    ),
    episode_steps=1000,
    reward=partial(_forward_reward, speed=3, control_cost=1e-4),
    reset=_swimmer_reset,
    oracle=partial(_make_oracle, "Swimmer-v5", hidden=2),
    adapt=forget,
)

half_cheetah = System(
    name="half-cheetah",
    env_id="HalfCheetah-v5",
    signals=Signals(
        state_names=(
            "height",
            "pitch",
            *(f"{joint}_angle" for joint in _CHEETAH_JOINTS),
            "x_velocity",
            "z_velocity",
            "pitch_velocity",
            *(f"{joint}_velocity" for joint in _CHEETAH_JOINTS),
        ),
        state_units=("m",) + ("rad",) * 7 + ("m/s",) * 2 + ("rad/s",) * 7,
        action_names=_CHEETAH_JOINTS,
        action_low=_unit_box(6)[0],
        action_high=_unit_box(6)[1],
        interval=0.05,
    ),
    episode_steps=1000,
    reward=partial(_forward_reward, speed=8, control_cost=0.1),
    reset=_half_cheetah_reset,
    oracle=partial(_make_oracle, "HalfCheetah-v5", hidden=1),
    adapt=forget,
)
