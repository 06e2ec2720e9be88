"""MuJoCo's warnings, kept out of the user's terminal and current directory."""

import logging


def log_mujoco_warnings() -> None:
    """Send MuJoCo's warnings to the logger `farstep.mujoco`, at level INFO.

    Without this it prints them and appends them to MUJOCO_LOG.TXT in the current directory.
    """
    import mujoco

    logger = logging.getLogger("farstep.mujoco")
    mujoco.set_mju_user_warning(logger.info)  # pyright: ignore[reportAttributeAccessIssue]
