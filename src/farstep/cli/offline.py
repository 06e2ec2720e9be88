"""`farstep offline`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farstep.cli.command import Command
from farstep.cli.options import (
    AgentOptions,
    ConfigFile,
    Data,
    EnvOptions,
    FitOptions,
    settings_of,
)
from farstep.runtime.processes import usable_cores


@dataclass(frozen=True)
class Offline(Command):
    """Offline RL: fit a model on a dataset, train an agent in it, run it on the real system.

    The main result is the policy's mean return over ten real episodes, beside its return in the
    model. --out keeps every stage of every seed: if the command is killed, the same command
    continues.

    Example: farstep offline cartpole-swingup/random --fit.horizon 4 --agent.steps 60000
    """

    data: Data
    """A file, a Minari directory, or the name of a shipped set."""
    out: Path = Path("offline")
    """Directory for models, agents and results."""
    fit: FitOptions = field(default_factory=FitOptions)
    agent: AgentOptions = field(default_factory=AgentOptions)
    env: EnvOptions = field(default_factory=EnvOptions)
    system: str | None = None
    """The real system, if the data do not name it."""
    seeds: int = 3
    """How many seeds, counting up from --seed."""
    seed: int = 0
    """The first seed, of the fit and the agent."""
    workers: int = usable_cores()
    """Processes of one thread each; 1 runs in this process, with a progress bar for every stage."""
    config: ConfigFile = None
    """Options from a YAML or JSON file, or a run's config.json; those given here override it."""
    force: bool = False
    """Start over, and remove what --out holds of these seeds."""

    @classmethod
    def presets(cls, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the default presets."""
        del given
        return {"fit": "ensemble", "agent": "long", "env": "offline"}

    def run(self) -> None:
        """Run all seeds; print the table and draw the learning curves."""
        from farstep.cli.tables import print_table
        from farstep.plotting.learning_curves import agent_chart
        from farstep.plotting.static import save_chart
        from farstep.workflows.offline import offline

        done = offline(
            self.data,
            fit=settings_of(self.fit),
            agent=settings_of(self.agent),
            env=settings_of(self.env),
            system=self.system,
            out=self.out,
            seeds=self.seeds,
            seed=self.seed,
            workers=self.workers,
            force=self.force,
        )
        summary = done.means()
        rows: list[tuple[object, ...]] = [(f"seed {r['seed']}", *done.row(r)) for r in done.results]
        if self.seeds > 1:
            means = (f"{mean:.4g} ± {half:.2g}" for mean, half in summary.values())
            rows.append(("mean ± 90 %", *means))
        print_table(done.about, ["", *summary], rows)
        print(f"the data's own actions have a return of {done.data_return:.4g}")
        chart = agent_chart({"": done.curves}, done.about, "returns")
        pictures = save_chart(chart, self.out / "returns", force=True)
        for path in [*(self.out / f"seed-{r['seed']}" for r in done.results), *pictures]:
            print(f"wrote {path}")
