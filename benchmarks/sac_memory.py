"""Memory of the process while an agent takes 500 000 steps, in MB."""

import time

from benchmarks.harness import Result
from benchmarks.pinned import CORES, result, start


def run() -> Result:
    rows = result(start("benchmarks.sac_memory:measured()", [CORES[-1]]))
    return Result(
        how="One system, one update a step, two layers of 16 units and batches of 16, so that the "
        "500 000 steps take a minute. Resident memory of the process; the buffer of 500 000 "
        "transitions, 26 MB of it, is there from the start.",
        columns=("steps", "resident, MB"),
        rows=[tuple(row) for row in rows],
    )


def measured() -> list[list[str]]:
    """Return a row every 100 000 steps."""
    import jax
    import jax.numpy as jnp

    from benchmarks.sac_speed import imagined_system
    from farstep.agents.config import AgentConfig
    from farstep.agents.imagined import ImaginedTraining
    from farstep.agents.program import LEARNING, WARM_UP, live

    config = AgentConfig(net_arch=(16, 16), batch_size=16)
    training = ImaginedTraining(imagined_system(), config, 0)
    world, key = training.imagination.world, training.keys.steps
    state = training.first()
    state, _ = live(state, world, key, jnp.array(1_000), config, WARM_UP)
    state, _ = live(state, world, key, jnp.array(1_000), config, LEARNING)
    rows = []
    for _ in range(6):
        jax.block_until_ready(state)
        time.sleep(0.5)
        rows.append([f"{int(state.steps)}", f"{_resident():.1f}"])
        for _ in range(100):
            state, _ = live(state, world, key, jnp.array(1_000), config, LEARNING)
    return rows


def _resident() -> float:
    with open("/proc/self/status") as file:  # noqa: PTH123  no path to speak of
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1e3
