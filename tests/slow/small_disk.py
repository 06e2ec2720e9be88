"""A small or read-only file system for one test, in a private namespace."""

import shutil
import subprocess
from pathlib import Path

import pytest

needs_unshare = pytest.mark.skipif(
    shutil.which("unshare") is None, reason="needs Linux's unshare to mount a small disk"
)


def on_a_disk_of(size: str, script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a shell script in a folder where `disk` is a file system of some size."""
    (folder / "disk").mkdir(exist_ok=True)
    mount = f"mount -t tmpfs -o size={size} none disk"
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"{mount} && {script}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
