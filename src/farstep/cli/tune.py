"""`farstep tune`."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from farstep.cli.presets import FitPreset
from farstep.processes import usable_cores

if TYPE_CHECKING:
    from farstep.fitting.config import FitConfig


@dataclass(frozen=True)
class Tune:
    """Search for the settings of a fit by R² on validation episodes (extra tune: Optuna).

    Learning rate, width, depth, batch and dropout are searched. Test episodes are not looked at.
    The same command with more --trials goes on; killed, it goes on where it was.

    Example: farstep tune log.npz --trials 20 --care-about 50 --out tuned
    """

    data: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA...")]
    """Files, Minari directories, or names of shipped sets; their mean counts."""
    out: Path
    """Directory for the study and its fits."""
    trials: int = 30
    """How many settings are tried."""
    care_about: int = 50
    """R² counts from 1 to this many steps ahead."""
    preset: FitPreset = "recommended"
    """What is not searched."""
    horizon: int | None = None
    """Steps ahead that models are trained on, at most with weights auto; else the preset's."""
    weights: str | None = None
    """Of the horizons, such as decay:0.75; without it the preset's."""
    fit_option: tuple[str, ...] = ()
    """Other settings of the fit as NAME=VALUE, such as epochs=10."""
    seed: int = 0
    """Of the fits and of the search."""
    workers: int = usable_cores()
    """Processes of one thread each, for a trial's datasets."""

    def run(self) -> None:
        """Search, print the best settings and how to fit with them, draw, and say where all is."""
        from farstep.cli.options import given, parse_options
        from farstep.cli.tables import print_table
        from farstep.fitting.config import fit_config
        from farstep.report.static import save_chart
        from farstep.tuning import tune

        settings = given(horizon=self.horizon, weights=self.weights, seed=self.seed)
        settings |= parse_options(self.fit_option)
        fit_config(self.preset, **settings)  # says what is no setting of a fit
        found = tune(
            self.data,
            self.preset,
            out=self.out,
            trials=self.trials,
            care_about=self.care_about,
            workers=self.workers,
            **settings,
        )
        rows = sorted(
            (one for one in found.trials if one["value"] is not None),
            key=lambda one: -one["value"],
        )
        columns = ["trial", "mean R²", *rows[0]["settings"]]
        shown = [(str(r["number"]), r["value"], *r["settings"].values()) for r in rows[:10]]
        print_table("The best settings", columns, shown)
        early = len(found.trials) - len(rows)
        print(f"{len(found.trials)} trials, {early} of them ended early")
        for number, data in enumerate(self.data, start=1):
            out = self.out / ("best" if len(self.data) == 1 else f"best-{number}")
            print(f"best: {fit_command(data, self.preset, found.config, out)}")
        for path in save_chart(found.chart(), self.out / "search", force=True):
            print(f"wrote {path}")
        print(f"wrote {self.out}/study.db and {self.out}/runs: the study and its fits")


def fit_command(data: str, preset: str, config: "FitConfig", out: Path) -> str:
    """Return the command that fits a dataset with these settings, told as changes of a preset."""
    from farstep.fields import changed
    from farstep.fitting.config import PRESETS

    told = changed(config, PRESETS[preset])
    if config.epochs:  # they count; compositions, where they are given, would take their place
        told.pop("compositions", None)
    options = [word for name, value in told.items() for word in _option(name, value)]
    return shlex.join(["farstep", "fit", data, "--preset", preset, *options, "--out", str(out)])


def _option(name: str, value: Any) -> list[str]:
    """Return a setting as words of the command line."""
    word = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{word}" if value else f"--no-{word}"]
    if isinstance(value, tuple):  # pairs, one after the other
        return [f"--{word}", *(str(one) for pair in value for one in pair)]
    return [f"--{word}", value if isinstance(value, str) else repr(value)]
