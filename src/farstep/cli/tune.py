"""`farstep tune`."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from farstep.cli.command import Command
from farstep.cli.options import ConfigFile, FitOptions, settings_of
from farstep.runtime.processes import usable_cores

if TYPE_CHECKING:
    from farstep.workflows.tune import Tuned

_SHOWN = 10
"""Trials in the table."""
BEST_FILE = "best.yaml"


@dataclass(frozen=True)
class Tune(Command):
    """Search for the settings of a fit with Optuna, by R² on validation episodes.

    Learning rate, width, depth, batch size and dropout are searched; test episodes are not used.
    Optuna is the extra `tune`. The same command with more --trials continues the search, and so
    does the same command after it was killed.

    Example: farstep tune log.npz --trials 20 --evaluation-horizon 50 --out tuned
    """

    data: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA [DATA …]")]
    """Files, Minari directories, or names of shipped sets; the mean over all of them counts."""
    out: Path = Path("tune")
    """Directory for the fits, a chart of the trials and the best settings."""
    fit: FitOptions = field(default_factory=FitOptions)
    trials: int = 30
    """How many settings are tried, including the trials in --out."""
    evaluation_horizon: int = 50
    """R² is averaged over 1 to this many steps ahead."""
    workers: int = usable_cores()
    """Processes of one thread each, for a trial's datasets."""
    config: ConfigFile = None
    """Options from a YAML or JSON file, or a run's config.json; those given here override it."""
    force: bool = False
    """Replace the result of another search in --out; fits that it shares are kept."""

    @classmethod
    def presets(cls, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the default preset."""
        del given
        return {"fit": "default"}

    def run(self) -> None:
        """Search; print the best settings and how to fit with them; draw the trials."""
        from farstep.plotting.static import save_chart
        from farstep.workflows.tune import tune

        found = tune(
            self.data,
            fit=settings_of(self.fit),
            out=self.out,
            trials=self.trials,
            evaluation_horizon=self.evaluation_horizon,
            workers=self.workers,
            force=self.force,
        )
        _print_best(found)
        for path in save_chart(found.chart(), self.out / "search", force=True):
            print(f"wrote {path}")
        best = self._save_best(found)
        print(f"wrote {best}; fit with these settings:")
        for number, data in enumerate(self.data, start=1):
            out = self.out / ("best" if len(self.data) == 1 else f"best-{number}")
            words = ["farstep", "fit", data, "--config", str(best), "--out", str(out)]
            print(shlex.join(words))

    def _save_best(self, found: "Tuned") -> Path:
        """Write the best settings as a file for `farstep fit --config`; return its path."""
        import yaml

        from farstep.storage.files import publish
        from farstep.storage.fingerprint import plain

        best = FitOptions(**vars(found.config), preset=self.fit.preset)
        path = self.out / BEST_FILE
        text = yaml.safe_dump(plain(settings_of(best)), sort_keys=False)
        publish(path, {"": text.encode()}, force=True)
        return path


def _print_best(found: "Tuned") -> None:
    """Print a table of the best trials."""
    from farstep.cli.tables import print_table

    done = [trial for trial in found.trials if trial["value"] is not None]
    best = sorted(done, key=lambda trial: -trial["value"])[:_SHOWN]
    rows = [(str(one["number"]), one["value"], *one["settings"].values()) for one in best]
    print_table("The best settings", ["trial", "mean R²", *best[0]["settings"]], rows)
    stopped = len(found.trials) - len(done)
    print(f"{len(found.trials)} trials; {stopped} of them were stopped early")
