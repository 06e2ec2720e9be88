"""Pendulum swing-up of the DeepMind Control Suite."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.signals import Signals
from farstep.systems.dm_control_env import load_task
from farstep.systems.mujoco_oracle import MujocoOracle
from farstep.systems.registration import PENDULUM
from farstep.systems.system import Action, State, System

_UPRIGHT_DEGREES = 8.0


def reward(state: State, action: Action, next_state: State) -> Float[Array, ""]:
    """1 within 8 degrees of upright, 0 elsewhere."""
    del state, action
    return jnp.where(next_state[0] >= np.cos(np.deg2rad(_UPRIGHT_DEGREES)), 1.0, 0.0)


def reset(key: PRNGKeyArray) -> State:
    """Start at rest, at any angle."""
    angle = jax.random.uniform(key, minval=-jnp.pi, maxval=jnp.pi)
    return jnp.stack([jnp.cos(angle), jnp.sin(angle), jnp.zeros(())])


def make_oracle() -> MujocoOracle:
    """Return the simulator as an oracle."""
    model = load_task("pendulum", "swingup").physics.model.ptr
    return MujocoOracle(model, 1, _to_physics, _observe)


def _to_physics(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.arctan2(states[:, 1:2], states[:, :1]), states[:, 2:]


def _observe(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cos(qpos), np.sin(qpos), qvel], axis=-1)


swingup = System(
    name="pendulum-swingup",
    env_id=PENDULUM,
    signals=Signals(
        state_names=("cos_angle", "sin_angle", "angular_velocity"),
        state_units=("", "", "rad/s"),
        action_names=("torque",),
        action_low=(-1.0,),
        action_high=(1.0,),
        interval=0.02,
    ),
    episode_steps=1000,
    reward=reward,
    reset=reset,
    angles=((0, 1),),
    oracle=make_oracle,
)
