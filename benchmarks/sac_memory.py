"""Memory of the process while an agent takes 500 000 steps, in MB."""

import os

from benchmarks import pinned
from benchmarks.harness import Result, size

STEPS, EVERY = size(500_000, 2_000), size(100_000, 1_000)


def run() -> Result:
    return Result(
        how="One system, one update a step, two layers of 16 units and batches of 16, so that the "
        f"{STEPS} steps take a minute. Resident memory of the process; the buffer of "
        f"{STEPS} transitions, 26 MB of it for 500 000, is there from the start.",
        columns=("steps", "resident, MB"),
        rows=[tuple(row) for row in pinned.run("benchmarks.sac_memory:measured()")],
    )


def measured() -> list[list[str]]:
    """Return a row for each part of the steps."""
    from benchmarks.paper_model import paper_env
    from farstep import AgentConfig, train_agent
    from farstep.runtime import progress
    from farstep.workflows.worker_display import resident

    rows: dict[int, tuple[int, float]] = {}

    def report(stage: str, done: int, total: int, status: str) -> None:
        del total, status
        if stage == "agent" and done >= EVERY // 50:  # after compilation
            rows.setdefault(done // EVERY, (done, resident(os.getpid()) or float("nan")))

    config = AgentConfig(
        steps=STEPS, net_arch=(16, 16), batch_size=16, eval_every=EVERY, eval_episodes=0
    )
    env = paper_env(loss="nll")
    progress.listen(report)
    train_agent(env, config)
    return [[f"{done}", f"{memory:.1f}"] for done, memory in rows.values()]
