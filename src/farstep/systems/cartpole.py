"""Cartpole swing-up of the DeepMind Control Suite, clean and with sensor noise."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.signals import Signals
from farstep.systems.dm_control_env import load_task
from farstep.systems.mujoco_oracle import MujocoOracle
from farstep.systems.registration import CARTPOLE, CARTPOLE_NOISY, CARTPOLE_RANGES, NOISE_LEVEL
from farstep.systems.system import Action, State, System
from farstep.systems.tolerance import gaussian_tolerance, quadratic_tolerance

_START_SPREAD = 0.01
_SENSORS = ("noise", "ranges")


def reward(state: State, action: Action, next_state: State) -> Float[Array, ""]:
    """Upright × centred × small control × small velocity, as in dm_control's `Balance` task."""
    del state
    x, cos, _, _, angular_velocity = next_state
    upright = (cos + 1) / 2
    centred = (1 + gaussian_tolerance(x, margin=2.0)) / 2
    small_control = (4 + quadratic_tolerance(action[0], margin=1.0)) / 5
    small_velocity = (1 + gaussian_tolerance(angular_velocity, margin=5.0)) / 2
    return upright * centred * small_control * small_velocity


def reset(key: PRNGKeyArray) -> State:
    """Hang the pole down at the middle of the rail, almost at rest."""
    x, angle, velocity, angular_velocity = _START_SPREAD * jax.random.normal(key, (4,))
    angle = angle + jnp.pi
    return jnp.stack([x, jnp.cos(angle), jnp.sin(angle), velocity, angular_velocity])


def noisy_reset(
    key: PRNGKeyArray,
    noise: float = NOISE_LEVEL,
    ranges: Sequence[float] = CARTPOLE_RANGES,
) -> State:
    """Give the first state as the noisy sensors see it."""
    start, sensors = jax.random.split(key)
    return reset(start) + noise * jnp.array(ranges) * jax.random.normal(sensors, (5,))


def with_noise(system: System) -> System:
    """Return the system with a reset as noisy as its environment's options say."""
    sensors = {name: system.env_options[name] for name in _SENSORS if name in system.env_options}
    return replace(system, reset=partial(noisy_reset, **sensors)) if sensors else system


def make_oracle() -> MujocoOracle:
    """Return the simulator as an oracle."""
    model = load_task("cartpole", "swingup").physics.model.ptr
    return MujocoOracle(model, 1, _to_physics, _observe)


def _to_physics(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    angle = np.arctan2(states[:, 2], states[:, 1])
    return np.stack([states[:, 0], angle], axis=1), states[:, 3:]


def _observe(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    x, angle = qpos[..., :1], qpos[..., 1:]
    return np.concatenate([x, np.cos(angle), np.sin(angle), qvel], axis=-1)


_SIGNALS = Signals(
    state_names=("x", "cos_angle", "sin_angle", "x_velocity", "angular_velocity"),
    state_units=("m", "", "", "m/s", "rad/s"),
    action_names=("force",),
    action_units=("10 N",),
    action_low=(-1.0,),
    action_high=(1.0,),
    interval=0.01,
)

swingup = System(
    name="cartpole-swingup",
    env_id=CARTPOLE,
    signals=_SIGNALS,
    episode_steps=1000,
    reward=reward,
    reset=reset,
    angles=((1, 2),),
    oracle=make_oracle,
    adapt=with_noise,
)

swingup_noisy = System(
    name="cartpole-swingup-noisy",
    env_id=CARTPOLE_NOISY,
    signals=_SIGNALS,
    episode_steps=1000,
    reward=reward,
    reset=noisy_reset,
    angles=((1, 2),),
    oracle=make_oracle,
    adapt=with_noise,
)
