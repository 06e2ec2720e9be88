"""`farstep iterate`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from farstep.choices import Warm
from farstep.cli.presets import AgentPreset, FitPreset
from farstep.processes import usable_cores


@dataclass(frozen=True)
class Iterate:
    """Iterated batch RL: start from nothing but a real system.

    The first episode is random. Then, in each epoch: a model of all episodes so far, an agent
    inside it, and one real episode with that agent. After each epoch data, model, policy and
    result are in --out; killed, the loop goes on after the last finished stage, and no
    finished real episode is lost or run again.

    Example: farstep iterate cartpole-swingup --horizon 4 --epochs 10 --out loop
    """

    system: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SYSTEM")]
    """A system's name (see `farstep systems`), a Gymnasium id, or module:attribute."""
    out: Path = Path("loop")
    """Directory for episodes, models, agents and results."""
    epochs: int = 50
    """Real episodes after the first; more can be asked for later."""
    seeds: int = 3
    """How many loops, counting up from --seed."""
    seed: int = 0
    """Of the first loop."""
    fit_preset: FitPreset = "brief"
    """How models are fitted. brief: recommended with 20 000 compositions in place of 40 000."""
    horizon: int | None = None
    """Steps ahead that models are trained on, at most with weights auto; else the preset's."""
    weights: str | None = None
    """Of the horizons, such as decay:0.75; without it the preset's."""
    fit_option: tuple[str, ...] = ()
    """Other settings of the fit as NAME=VALUE, such as compositions=20000 or members=5."""
    agent_preset: AgentPreset = "brief"
    """paper: one system, one update a step; fast: ten systems, 60 000 updates; thorough: 120 000;
    brief: 24 000, for agents that go on from the epoch before."""
    agent: str = "sac"
    """sac, or an algorithm of Stable-Baselines3 such as sb3:SAC."""
    agent_option: tuple[str, ...] = ()
    """Settings of the agent as NAME=VALUE, such as steps=60000: its budget in each epoch."""
    imagination_option: tuple[str, ...] = ()
    """Settings of the imagined system as NAME=VALUE, such as bounds=0.1 or penalty=1; by itself
    rollout=300 starts=any: short episodes from any recorded state; of an ensemble also
    choice=rollout beyond=end noise=0.8: another member in each, seen through noisy sensors, which
    ends where it leaves the data."""
    warm: Warm = "agent"
    """What goes on from the epoch before, in place of random numbers."""
    workers: int = usable_cores()
    """Processes of one thread each; 1 runs in this process, with a bar for every stage."""

    def run(self) -> None:
        """Run all loops, with a line after each epoch; draw the curve, and say where all is."""
        from farstep.cli.options import given, parse_options
        from farstep.fitting.config import fit_config
        from farstep.loops.iterate import iterate
        from farstep.report.iterations import iteration_chart
        from farstep.report.static import save_chart

        settings = given(horizon=self.horizon, weights=self.weights, seed=self.seed)
        agent = {"preset": self.agent_preset, "agent": self.agent}
        done = iterate(
            self.system,
            fit_config(self.fit_preset, **{**settings, **parse_options(self.fit_option)}),
            out=self.out,
            epochs=self.epochs,
            seeds=self.seeds,
            agent={**agent, **parse_options(self.agent_option)},
            imagination=parse_options(self.imagination_option),
            warm=self.warm,
            workers=self.workers,
            show=True,
        )
        print(done.about)
        chart = iteration_chart(done.rows, self.system, "returns", note=done.about)
        for path in save_chart(chart, self.out / "returns", force=True):
            print(f"wrote {path}")
        print(f"wrote {self.out}/seed-*/: episodes, and model, agent and result of each epoch")
