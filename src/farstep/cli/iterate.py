"""`farstep iterate`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farstep.choices import WarmStart
from farstep.cli.command import Command
from farstep.cli.options import (
    AgentOptions,
    ConfigFile,
    EnvOptions,
    FitOptions,
    SystemName,
    settings_of,
)
from farstep.runtime.processes import usable_cores


@dataclass(frozen=True)
class Iterate(Command):
    """Iterated batch RL: learn on a real system, one episode at a time.

    The first episode is random. Then, again and again: fit a model on all episodes so far, train an
    agent in it, and run one real episode with that agent. --out keeps every stage: if the command
    is killed, the same command continues, and no finished real episode is repeated.

    Example: farstep iterate cartpole-swingup --fit.horizon 4 --episodes 10
    """

    system: SystemName
    """A system's name (see `farstep systems`), a Gymnasium id, or module:attribute."""
    out: Path = Path("iterate")
    """Directory for episodes, models, agents and results."""
    fit: FitOptions = field(default_factory=FitOptions)
    agent: AgentOptions = field(default_factory=AgentOptions)
    env: EnvOptions = field(default_factory=EnvOptions)
    episodes: int = 50
    """Real episodes after the first; a later command may ask for more."""
    seeds: int = 3
    """How many seeds, counting up from --seed."""
    seed: int = 0
    """The first seed."""
    warm_start: WarmStart = "agent"
    """What continues with the weights of the episode before, instead of random ones."""
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
        return {"fit": "fast", "agent": "fast", "env": "ensemble"}

    def run(self) -> None:
        """Run all seeds, print a line for each episode, and draw the returns."""
        from farstep.plotting.learning_curves import iteration_chart
        from farstep.plotting.static import save_chart
        from farstep.workflows.iterate import iterate

        done = iterate(
            self.system,
            fit=settings_of(self.fit),
            agent=settings_of(self.agent),
            env=settings_of(self.env),
            episodes=self.episodes,
            seeds=self.seeds,
            seed=self.seed,
            warm_start=self.warm_start,
            out=self.out,
            workers=self.workers,
            force=self.force,
            show=True,
        )
        print(done.about)
        chart = iteration_chart(done.rows, self.system, "returns", note=done.about)
        for path in save_chart(chart, self.out / "returns", force=True):
            print(f"wrote {path}")
        print(f"wrote {self.out}/seed-*: episodes, and the model, agent and result of each")
