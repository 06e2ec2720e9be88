"""`farstep collect`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from farstep.processes import usable_cores


@dataclass(frozen=True)
class Collect:
    """Run a policy on a real system and store its episodes.

    A step that fails ends the collecting: what was recorded before it is stored, with exit code 2.
    Finished episodes are kept beside --out while others are run: stopped or killed, the same
    command goes on where it was.

    Example: farstep collect cartpole-swingup --episodes 50 --seed 0 --out data/random
    """

    system: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SYSTEM")]
    """A system's name (see `farstep systems`), a Gymnasium id, or module:attribute."""
    out: Path
    """Where to store them: NAME.npz, NAME.csv, NAME.parquet, or no suffix for Minari."""
    policy: str = "random"
    """`random`, a stored policy (.safetensors), or module:attribute for a function of (state,
    rng)."""
    episodes: int = 50
    """How many episodes to run."""
    seed: int = 0
    """The same seed gives the same data, whatever the number of workers."""
    workers: int = usable_cores()
    """Processes to run in."""
    option: tuple[str, ...] = ()
    """Options of the environment as NAME=VALUE, such as noise=0.05."""
    force: bool = False
    """Replace what is at --out."""

    def run(self) -> None:
        """Collect, store, and say where."""
        from farstep.cli.options import parse_options
        from farstep.cli.tables import print_summary
        from farstep.datasets.reading import check_target, write
        from farstep.errors import FarstepError
        from farstep.systems.collect import collect
        from farstep.systems.kept_episodes import remove_kept
        from farstep.systems.registry import system

        check_target(self.out, self.force)
        chosen = system(self.system)
        if self.option:
            chosen = chosen.with_options(**parse_options(self.option))
        keep = self.out.with_name(f"{self.out.name}.collecting")
        data = collect(chosen, self.policy, self.episodes, self.seed, self.workers, keep)
        write(data, self.out, self.force)
        remove_kept(keep)
        print_summary(data)
        print(f"wrote {self.out}")
        if "trouble" in data.metadata["collected"]:
            raise FarstepError(
                f"{len(data)} of {self.episodes} episode(s) were recorded; the note says why."
            )
