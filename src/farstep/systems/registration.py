"""The ids of Farstep's own environments, as Gymnasium knows them."""

import gymnasium

CARTPOLE = "farstep/CartpoleSwingup-v0"
CARTPOLE_NOISY = "farstep/CartpoleSwingupNoisy-v0"
PENDULUM = "farstep/PendulumSwingup-v0"

NOISE_LEVEL = 0.01
"""The noisy variant's standard deviation, as a share of each variable's range."""
CARTPOLE_RANGES = (3.6, 2.0, 2.0, 10.0, 20.0)
"""Ranges of x (the rail, ±1.8 m), cosine, sine, velocity (±5 m/s) and angular velocity
(±10 rad/s): what swinging up visits."""

_ENTRY_POINT = "farstep.systems.dm_control_env:DmControlEnv"
_CARTPOLE = {"domain": "cartpole", "task": "swingup", "ranges": CARTPOLE_RANGES}


def register() -> None:
    """Add the environments to Gymnasium's registry; doing it again changes nothing."""
    for env_id, options in {
        CARTPOLE: _CARTPOLE,
        CARTPOLE_NOISY: {**_CARTPOLE, "noise": NOISE_LEVEL},
        PENDULUM: {"domain": "pendulum", "task": "swingup"},
    }.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id, entry_point=_ENTRY_POINT, max_episode_steps=1000, kwargs=options
            )
