"""`farstep score`."""

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from farstep.errors import DataWarning, FarstepError

if TYPE_CHECKING:
    from farstep.episodes import Episodes
    from farstep.evaluation.entries import Scorable
    from farstep.evaluation.evaluate import Evaluation


@dataclass(frozen=True)
class Score:
    """Measure how many steps ahead models can be trusted, against baselines and the oracle.

    R² at 1 to H steps ahead on all sub-trajectories of the test episodes, how the error grows,
    when R² falls below 0.9, 0.5 and 0, and how calibrated the models' own uncertainty is. Models
    that differ in their seed alone share a line with an interval. Writes the numbers, pictures
    (PNG, PDF) and one HTML page with interactive charts that opens offline.

    Example: farstep score models/h1 models/h4 --data cartpole-swingup/random --horizon 100
    """

    models: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    """Model files, directories that `farstep fit` wrote, or module:attribute for a function
    (states, actions) → next states in NumPy or a PyTorch module. None scores the references."""
    data: Annotated[str, tyro.conf.arg(metavar="DATASET")]
    """A file, a Minari directory, or the name of a shipped set."""
    horizon: int = 100
    """Steps ahead, H; a multiple of h for a model that spans h steps at once."""
    part: Literal["test", "validation", "train", "all"] = "test"
    """Which part of the dataset to score on; the linear baseline is fitted on the training part."""
    split_seed: int = 0
    """Of the split; give the one the models were fitted with."""
    system: str | None = None
    """Whose simulator is the oracle (a name or module:attribute), if the dataset does not come from
    one of Farstep's systems."""
    references: bool = True
    """Whether baselines and the oracle are scored too."""
    out: Path | None = None
    """Directory for numbers, pictures and page; by default a new one called score."""
    force: bool = False
    """Replace what is at --out."""

    def run(self) -> None:
        """Score, print the tables, write the rest, and say where."""
        from farstep.datasets.reading import read
        from farstep.evaluation.entries import joined
        from farstep.evaluation.evaluate import score
        from farstep.files import check_output

        if self.out is not None:
            check_output(self.out / "report.html", self.force)
        models = [(_short(name), _model(name)) for name in self.models]
        named = joined(models)
        episodes, train = self._parts(read(self.data))
        result = score(
            named,
            episodes,
            self.horizon,
            train=train,
            system=self.system,
            references=self.references,
        )
        found = _of_split([model for _, model in models], episodes, train)
        for note in found:
            warnings.warn(note, DataWarning, 2)
        result = replace(result, notes=(*result.notes, *found))
        part = "all" if self.part == "all" else f"{self.part} part (split seed {self.split_seed})"
        result = replace(result, about=f"{self.data}, {part}: {result.about}")
        written = []
        try:
            written = result.save(self.out or _claimed("score"), self.force)
        finally:  # a full disk does not take the numbers away
            self._print(result)
        for path in written:
            print(f"wrote {path}")

    def _print(self, result: "Evaluation") -> None:
        from farstep.cli.tables import print_table
        from farstep.report.score_table import score_tables

        print(result.about)
        for table in score_tables(result.scores, result.signals):
            print_table(table.title, table.columns, table.rows)
        for sentence in result.verdicts:
            print(sentence)

    def _parts(self, data: "Episodes") -> tuple["Episodes", "Episodes | None"]:
        """Return what to score on, and what to fit the linear baseline on."""
        if self.part == "all":
            return data, None
        try:
            split = data.split(self.split_seed)
        except FarstepError as error:
            raise FarstepError(f"{error} --part all scores on every episode.") from error
        return getattr(split, self.part), split.train


def _model(name: str) -> "Scorable":
    from farstep.model import load_model
    from farstep.systems.registry import import_attribute

    module, _, attribute = name.partition(":")
    if attribute.isidentifier() and not Path(name).exists():
        return import_attribute(f"{module}:{attribute}", from_here=True)
    return load_model(name)


def _of_split(
    models: "Sequence[Scorable]", episodes: "Episodes", train: "Episodes | None"
) -> list[str]:
    """Say where a model may have seen what it is scored on, or nothing can be fitted."""
    from farstep.model import Model

    if train is None:
        return ["without a training part there is no linear baseline."]
    for model in models:
        fitted = model.record.get("train") if isinstance(model, Model) else None
        same = isinstance(model, Model) and model.system == episodes.system
        if fitted and same and fitted != train.fingerprint:
            return [
                "a model was fitted on other episodes than this dataset's training part; if that "
                "was another --split-seed, it has seen some of what it is scored on."
            ]
    return []


def _short(name: str) -> str:
    """Return what a model is called in tables: the last part of its path, or of its module."""
    last = name if Path(name).exists() else name.rpartition(":")[2]
    return Path(last).resolve().name.removesuffix(".safetensors")


def _claimed(name: str) -> Path:
    """Make the first of the directories name, name-2, name-3, … that does not exist."""
    for number in itertools.count(1):
        path = Path(name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise FarstepError(f"cannot write {path}: {error.strerror}; pass --out.") from error
        return path
    raise AssertionError
