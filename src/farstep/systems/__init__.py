"""Real systems: Gymnasium environments, and the parts of them that are known functions.

To add a system, write a file with a `System`, such as `pendulum.py`, and add an entry to `SYSTEMS`.
The entry also registers its environment with Gymnasium, unless another package does. The contract
tests of all systems then cover it; its reward needs a test of its own.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium


class Entry(NamedTuple):
    """Where a system and its environment are defined; reading it imports nothing."""

    system: str
    """`module:attribute` of the `System`."""
    env_id: str
    """The id of its environment in Gymnasium's registry."""
    kwargs: Mapping[str, Any] | None = None
    """Arguments of the environment; None if another package registers it."""
    entry_point: str = "farstep.systems.dm_control:DmControlEnv"
    """`module:class` of the environment: a text, since Minari cannot store a function."""
    max_episode_steps: int = 1000


_CARTPOLE = {
    "domain": "cartpole",
    "task": "swingup",
    # Of x (the rail, ±1.8 m), cosine, sine, velocity (±5 m/s) and angular velocity (±10 rad/s).
    "ranges": (3.6, 2.0, 2.0, 10.0, 20.0),
}
SYSTEMS = {
    "cartpole-swingup": Entry(
        "farstep.systems.cartpole:swingup", "farstep/CartpoleSwingup-v0", _CARTPOLE
    ),
    "cartpole-swingup-noisy": Entry(
        "farstep.systems.cartpole:swingup_noisy",
        "farstep/CartpoleSwingupNoisy-v0",
        {**_CARTPOLE, "observation_noise": 0.01},
    ),
    "pendulum-swingup": Entry(
        "farstep.systems.pendulum:swingup",
        "farstep/PendulumSwingup-v0",
        {"domain": "pendulum", "task": "swingup"},
    ),
    "swimmer": Entry("farstep.systems.locomotion:swimmer", "Swimmer-v5"),
    "half-cheetah": Entry("farstep.systems.locomotion:half_cheetah", "HalfCheetah-v5"),
}
"""The systems that come with Farstep, by name."""

for _entry in SYSTEMS.values():
    if _entry.kwargs is not None and _entry.env_id not in gymnasium.registry:
        gymnasium.register(
            _entry.env_id,
            entry_point=_entry.entry_point,
            max_episode_steps=_entry.max_episode_steps,
            kwargs=dict(_entry.kwargs),
        )
