"""`farstep collect`."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from farstep.cli.command import Command
from farstep.cli.options import ConfigFile, NamedValues, SystemName
from farstep.runtime.processes import usable_cores


@dataclass(frozen=True)
class Collect(Command):
    """Run a policy on a real system and store its episodes.

    A step that fails ends the run: the episodes before it are stored, and the exit code is 2.
    Finished episodes are kept beside --out until the end: if the command is killed, the same
    command continues.

    Example: farstep collect cartpole-swingup --episodes 50 --seed 0 --out random.npz
    """

    system: SystemName
    """A system's name (see `farstep systems`), a Gymnasium id, or module:attribute."""
    out: Path = Path("episodes.npz")
    """File or directory for the episodes: NAME.npz, NAME.csv, NAME.parquet, or no suffix for
    Minari."""
    policy: str = "random"
    """`random`, a stored policy (.safetensors or an agent's directory), or module:attribute for a
    function observation → action or an object with `predict`."""
    episodes: int = 50
    """How many episodes to run."""
    seed: int = 0
    """The same seed gives the same data, whatever the number of workers."""
    workers: int = usable_cores()
    """Processes to run in."""
    env_kwargs: NamedValues = field(default_factory=dict)
    """Keyword arguments of the environment, such as observation_noise 0.05."""
    config: ConfigFile = None
    """Options from a YAML or JSON file, or a run's config.json; those given here override it."""
    force: bool = False
    """Start over, and replace what is at --out."""

    def run(self) -> None:
        """Collect, store, and print a summary."""
        from farstep.cli.tables import print_summary
        from farstep.data.dataset_files import check_target, write_dataset
        from farstep.errors import FarstepError
        from farstep.systems.collect import collect
        from farstep.systems.registry import get_system

        check_target(self.out, self.force)
        system = get_system(self.system)
        if self.env_kwargs:
            system = system.with_env_kwargs(**self.env_kwargs)
        unfinished = self.out.with_name(f"{self.out.name}.collecting")
        data = collect(
            system,
            self.policy,
            self.episodes,
            self.seed,
            self.workers,
            out=unfinished,
            force=self.force,
        )
        write_dataset(data, self.out, self.force)
        shutil.rmtree(unfinished, ignore_errors=True)
        print_summary(data)
        print(f"wrote {self.out}")
        if "trouble" in data.metadata["collected"]:
            raise FarstepError(
                f"{len(data)} of {self.episodes} episode(s) were recorded; the note has the reason."
            )
