"""The system of the two tanks in two_tanks.py: a machine of which there are only logs.

Run it with: farstep offline tanks.npz --system tanks_system:tanks --out tanks-agent
"""

import jax.numpy as jnp

from farstep import Signals, System
from farstep.systems.system import never

WANTED = 10.0
"""cm, in the lower tank."""


def reward(observation, action, next_observation):
    """Return minus the relative distance from the wanted level."""
    del observation, action
    return -jnp.abs(next_observation[1] - WANTED) / WANTED


tanks = System(
    name="two-tanks",
    env_id=None,  # it is never run
    signals=Signals(
        observation_names=("upper", "lower"),
        observation_units=("cm", "cm"),
        action_names=("pump",),
        action_units=("V",),
        action_low=(0.0,),
        action_high=(12.0,),
        interval=2.0,
    ),
    max_episode_steps=150,
    reward=reward,
    terminated=never,
)
