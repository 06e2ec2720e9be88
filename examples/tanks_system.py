"""What an agent has to know of a machine of which there are only logs: the tanks of two_tanks.py.

Run it with: farstep offline tanks.npz --system tanks_system:tanks --out tanks-agent
"""

import jax.numpy as jnp

from farstep import Signals, System
from farstep.systems.system import never

WANTED = 10.0
"""cm, in the lower tank."""


def reward(state, action, next_state):
    """The nearer to the wanted level the better."""
    del state, action
    return -jnp.abs(next_state[1] - WANTED) / WANTED


tanks = System(
    name="two-tanks",
    env_id=None,  # it is never run
    signals=Signals(
        state_names=("upper", "lower"),
        state_units=("cm", "cm"),
        action_names=("pump",),
        action_units=("V",),
        action_low=(0.0,),
        action_high=(12.0,),
        interval=2.0,
    ),
    episode_steps=150,
    reward=reward,
    terminated=never,
)
