"""Pendulum swing-up of the DeepMind Control Suite."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.data.signals import Signals
from farstep.systems import SYSTEMS
from farstep.systems.dm_control import load_task
from farstep.systems.mujoco_oracle import MujocoOracle
from farstep.systems.system import Action, Observation, System

_UPRIGHT_DEGREES = 8.0


def reward(
    observation: Observation, action: Action, next_observation: Observation
) -> Float[Array, ""]:
    """Return 1 within 8 degrees of upright, 0 elsewhere."""
    del observation, action
    return jnp.where(next_observation[0] >= np.cos(np.deg2rad(_UPRIGHT_DEGREES)), 1.0, 0.0)


def reset(key: PRNGKeyArray) -> Observation:
    """Return a pendulum at rest, at any angle."""
    angle = jax.random.uniform(key, minval=-jnp.pi, maxval=jnp.pi)
    return jnp.stack([jnp.cos(angle), jnp.sin(angle), jnp.zeros(())])


def make_oracle() -> MujocoOracle:
    """Return the simulator as an oracle."""
    model = load_task("pendulum", "swingup").physics.model.ptr
    return MujocoOracle(model, 1, _to_physics, _observe)


def _to_physics(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.arctan2(observations[:, 1:2], observations[:, :1]), observations[:, 2:]


def _observe(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cos(qpos), np.sin(qpos), qvel], axis=-1)


swingup = System(
    name="pendulum-swingup",
    env_id=SYSTEMS["pendulum-swingup"].env_id,
    signals=Signals(
        observation_names=("cos_angle", "sin_angle", "angular_velocity"),
        observation_units=("", "", "rad/s"),
        action_names=("torque",),
        action_low=(-1.0,),
        action_high=(1.0,),
        interval=0.02,
    ),
    max_episode_steps=1000,
    reward=reward,
    reset=reset,
    angles=((0, 1),),
    make_oracle=make_oracle,
)
