"""A system of your own: Gymnasium's Pendulum-v1, with its reward and reset as JAX functions.

Run it with: farstep collect pendulum_system:pendulum --episodes 10 --out pendulum.npz
"""

import jax
import jax.numpy as jnp

from farstep import Signals, System


def reward(observation, action, next_observation):
    """Return the reward of Pendulum-v1: minus the costs of angle, speed and torque."""
    del next_observation
    angle = jnp.arctan2(observation[1], observation[0])
    return -(angle**2 + 0.1 * observation[2] ** 2 + 0.001 * action[0] ** 2)


def reset(key):
    """Draw any angle and a slow speed."""
    angle_key, speed_key = jax.random.split(key)
    angle = jax.random.uniform(angle_key, minval=-jnp.pi, maxval=jnp.pi)
    speed = jax.random.uniform(speed_key, minval=-1.0, maxval=1.0)
    return jnp.stack([jnp.cos(angle), jnp.sin(angle), speed])


pendulum = System(
    name="gymnasium-pendulum",
    env_id="Pendulum-v1",
    signals=Signals(
        observation_names=("cos_angle", "sin_angle", "angular_velocity"),
        observation_units=("", "", "rad/s"),
        action_names=("torque",),
        action_units=("N m",),
        action_low=(-2.0,),
        action_high=(2.0,),
        interval=0.05,
    ),
    max_episode_steps=200,
    reward=reward,
    reset=reset,
    angles=((0, 1),),
)
