"""Which machine this is, as results tell it."""

import platform
from pathlib import Path

from farstep.processes import usable_cores


def machine() -> str:
    """Describe the processor, the cores and Python."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    cores = usable_cores()
    return f"{model}, {cores} cores, {platform.system()}, Python {platform.python_version()}"
