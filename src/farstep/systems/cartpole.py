"""Cartpole swing-up of the DeepMind Control Suite, without and with observation noise."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.data.signals import Signals
from farstep.systems import SYSTEMS
from farstep.systems.dm_control import load_task
from farstep.systems.mujoco_oracle import MujocoOracle
from farstep.systems.system import Action, Observation, System

_START_SPREAD = 0.01
_VALUE_AT_MARGIN = 0.1
_CLEAN, _NOISY = SYSTEMS["cartpole-swingup"], SYSTEMS["cartpole-swingup-noisy"]
_NOISE = dict(_NOISY.kwargs or {})


def reward(
    observation: Observation, action: Action, next_observation: Observation
) -> Float[Array, ""]:
    """Return upright × centred × small control × small velocity, as dm_control's `Balance`."""
    del observation
    x, cos, _, _, angular_velocity = next_observation
    upright = (cos + 1) / 2
    centred = (1 + gaussian_tolerance(x, margin=2.0)) / 2
    small_control = (4 + quadratic_tolerance(action[0], margin=1.0)) / 5
    small_velocity = (1 + gaussian_tolerance(angular_velocity, margin=5.0)) / 2
    return upright * centred * small_control * small_velocity


def gaussian_tolerance(x: Float[Array, ""], margin: float) -> Float[Array, ""]:
    """Return 1 at x = 0, falling as a Gaussian to 0.1 at |x| = margin.

    The `gaussian` sigmoid of `dm_control.utils.rewards.tolerance` with bounds (0, 0).
    """
    scale = jnp.sqrt(-2 * jnp.log(_VALUE_AT_MARGIN)) / margin
    return jnp.exp(-0.5 * (x * scale) ** 2)


def quadratic_tolerance(x: Float[Array, ""], margin: float) -> Float[Array, ""]:
    """Return 1 at x = 0, falling as a parabola to 0 at |x| = margin and 0 outside.

    The `quadratic` sigmoid of `dm_control.utils.rewards.tolerance` with value 0 at the margin.
    """
    return jnp.maximum(0.0, 1.0 - (x / margin) ** 2)


def reset(key: PRNGKeyArray) -> Observation:
    """Return a pole that hangs down at the middle of the rail, almost at rest."""
    x, angle, velocity, angular_velocity = _START_SPREAD * jax.random.normal(key, (4,))
    angle = angle + jnp.pi
    return jnp.stack([x, jnp.cos(angle), jnp.sin(angle), velocity, angular_velocity])


def noisy_reset(
    key: PRNGKeyArray,
    observation_noise: float = _NOISE["observation_noise"],
    ranges: Sequence[float] = _NOISE["ranges"],
) -> Observation:
    """Return a first observation with observation noise."""
    start, sensors = jax.random.split(key)
    noise = observation_noise * jnp.array(ranges) * jax.random.normal(sensors, (5,))
    return reset(start) + noise


def with_noise(system: System) -> System:
    """Return the system with a reset as noisy as its environment."""
    given = system.env_kwargs
    noise = {name: given[name] for name in ("observation_noise", "ranges") if name in given}
    return replace(system, reset=partial(noisy_reset, **noise)) if noise else system


def make_oracle() -> MujocoOracle:
    """Return the simulator as an oracle."""
    model = load_task("cartpole", "swingup").physics.model.ptr
    return MujocoOracle(model, 1, _to_physics, _observe)


def _to_physics(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    angle = np.arctan2(observations[:, 2], observations[:, 1])
    return np.stack([observations[:, 0], angle], axis=1), observations[:, 3:]


def _observe(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    x, angle = qpos[..., :1], qpos[..., 1:]
    return np.concatenate([x, np.cos(angle), np.sin(angle), qvel], axis=-1)


swingup = System(
    name="cartpole-swingup",
    env_id=_CLEAN.env_id,
    signals=Signals(
        observation_names=("x", "cos_angle", "sin_angle", "x_velocity", "angular_velocity"),
        observation_units=("m", "", "", "m/s", "rad/s"),
        action_names=("force",),
        action_units=("10 N",),
        action_low=(-1.0,),
        action_high=(1.0,),
        interval=0.01,
    ),
    max_episode_steps=1000,
    reward=reward,
    reset=reset,
    angles=((1, 2),),
    make_oracle=make_oracle,
    update_for_env_kwargs=with_noise,
)

swingup_noisy = replace(
    swingup, name="cartpole-swingup-noisy", env_id=_NOISY.env_id, reset=noisy_reset
)
