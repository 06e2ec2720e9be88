"""`farstep offline`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from farstep.cli.presets import AgentPreset, FitPreset, chosen_fit, reconciled
from farstep.fitting.config import FitConfig
from farstep.processes import usable_cores


@dataclass(frozen=True)
class Offline:
    """Pure-batch RL: fit a model on a dataset, train an agent inside it, run it on the real system.

    Every stage of every seed is kept in --out and used again; killed, it goes on where it was. The
    headline is the policy's return over ten real episodes. What the model promised is beside
    it: the gap is what the agent made of the model's errors.

    Example: farstep offline cartpole-swingup/random --horizon 4 --weights decay:0.75 --out offline
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATASET")]
    """A file, a Minari directory, or the name of a shipped set."""
    out: Path
    """Directory for models, agents and results."""
    fit_preset: FitPreset = "ensemble"
    """How the model is fitted, apart from the changes below; ensemble is three of recommended,
    whose windows start from an observer."""
    config: FitConfig = field(default_factory=lambda: chosen_fit("--fit-preset", "ensemble"))
    """How the model is fitted, and the values in the preset."""
    seeds: int = 3
    """How many, counting up from --seed."""
    agent_preset: AgentPreset = "thorough"
    """paper: one system, one update a step; fast: ten systems, a small network, 60 000 updates,
    a minute or two; thorough: 120 000, which forget less; brief: 24 000."""
    agent: str = "sac"
    """sac, or an algorithm of Stable-Baselines3 such as sb3:SAC."""
    agent_option: tuple[str, ...] = ()
    """Settings of the agent as NAME=VALUE, such as steps=100000 or num_envs=16."""
    imagination_option: tuple[str, ...] = ()
    """Settings of the imagined system as NAME=VALUE, such as bounds=0.1, penalty=1,
    propagation=sample, reward=learned; by itself rollout=300 starts=any: short episodes from any
    recorded state; of an ensemble also choice=rollout beyond=end noise=0.8 penalty=20: another
    member in each, seen through noisy sensors, which ends where it leaves the data, less what the
    members do not agree about."""
    system: str | None = None
    """The real system, if the data do not name it."""
    workers: int = usable_cores()
    """Processes of one thread each; 1 runs in this process, with a bar for every stage."""
    force: bool = False
    """Start over where --out holds other settings."""

    def run(self) -> None:
        """Run all seeds, print the table, draw the curves, and say where everything is."""
        from farstep.cli.options import parse_options
        from farstep.cli.tables import print_table
        from farstep.loops.offline import offline
        from farstep.report.agents import curve_chart
        from farstep.report.static import save_chart

        agent = {"preset": self.agent_preset, "agent": self.agent}
        done = offline(
            self.data,
            reconciled(self.config, self.fit_preset),
            out=self.out,
            seeds=self.seeds,
            agent={**agent, **parse_options(self.agent_option)},
            system=self.system,
            imagination=parse_options(self.imagination_option),
            workers=self.workers,
            force=self.force,
        )
        names = list(done.summary())
        rows: list[tuple[object, ...]] = [(f"seed {r['seed']}", *done.row(r)) for r in done.results]
        if self.seeds > 1:
            means = (f"{m:.4g} ± {h:.2g}" for m, h in done.summary().values())
            rows.append(("mean ± 90 %", *means))
        print_table(done.about, ["", *names], rows)
        print(f"the data's own actions earn {done.recorded:.4g} in an episode")
        chart = curve_chart({"": done.curves}, done.about, "returns")
        pictures = save_chart(chart, self.out / "returns", force=True)
        for path in [*(self.out / f"seed-{r['seed']}" for r in done.results), *pictures]:
            print(f"wrote {path}")
