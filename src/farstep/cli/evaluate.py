"""`farstep evaluate`."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from farstep.cli.command import Command
from farstep.cli.options import ConfigFile, Data
from farstep.errors import DataWarning, FarstepError

if TYPE_CHECKING:
    from farstep.data.episodes import Episodes
    from farstep.evaluation.candidates import Evaluable
    from farstep.evaluation.evaluation import Evaluation


@dataclass(frozen=True)
class Evaluate(Command):
    """Report the accuracy of models 1 to H steps ahead, beside baselines and the oracle.

    R² on all sub-trajectories of the test episodes, the growth of errors, the steps at which R²
    falls below 0.9, 0.5 and 0, and the calibration of the models' uncertainty. Models that differ
    in their seed alone share a row with an interval. Writes the numbers, charts (PNG, PDF) and one
    HTML page with interactive charts that works offline.

    Example: farstep evaluate cartpole-swingup/random --model models/h1 models/h4 --horizon 100
    """

    data: Data
    """A file, a Minari directory, or the name of a shipped set."""
    model: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[MODEL …]")] = ()
    """Model files, directories that `farstep fit` wrote, or module:attribute for a function
    (observations, actions) → next observations in NumPy or a PyTorch module. Without any, the
    references are evaluated."""
    horizon: int = 100
    """Steps ahead, H; a multiple of a model's fixed horizon."""
    part: Literal["test", "validation", "train", "all"] = "test"
    """The part of DATA to evaluate on; the linear baseline is fitted on the training part."""
    split_seed: int = 0
    """Seed of the split; take the one of the models' fits."""
    system: str | None = None
    """The system whose simulator is the oracle (a name or module:attribute), if the dataset is not
    of one of Farstep's systems."""
    references: bool = True
    """Whether baselines and the oracle are evaluated too."""
    out: Path = Path("evaluation")
    """Directory for numbers, charts and the HTML page."""
    config: ConfigFile = None
    """Options from a YAML or JSON file, or a run's config.json; those given here override it."""
    force: bool = False
    """Replace what is at --out."""

    def run(self) -> None:
        """Evaluate, print the tables, and store everything."""
        from farstep.data.dataset_files import read_dataset
        from farstep.evaluation.candidates import group_by_configuration
        from farstep.evaluation.evaluation import evaluate
        from farstep.storage.files import check_output

        check_output(self.out / "report.html", self.force)
        models = [(_short_name(name), _load(name)) for name in self.model]
        episodes, train = self._parts(read_dataset(self.data))
        result = evaluate(
            group_by_configuration(models),
            episodes,
            self.horizon,
            train=train,
            system=self.system,
            references=self.references,
        )
        notes = _split_notes([model for _, model in models], episodes, train)
        for note in notes:
            warnings.warn(note, DataWarning, 2)
        part = "all" if self.part == "all" else f"{self.part} part (split seed {self.split_seed})"
        about = f"{self.data}, {part}: {result.about}"
        result = replace(result, notes=(*result.notes, *notes), about=about)
        written: Sequence[Path] = []
        try:
            written = result.save(self.out, self.force)
        finally:  # the numbers are printed even if the disk is full
            _print(result)
        for path in written:
            print(f"wrote {path}")

    def _parts(self, data: "Episodes") -> tuple["Episodes", "Episodes | None"]:
        """Return the episodes to evaluate on, and those to fit the linear baseline on."""
        if self.part == "all":
            return data, None
        try:
            split = data.split(self.split_seed)
        except FarstepError as error:
            raise FarstepError(f"{error} --part all evaluates on every episode.") from error
        return getattr(split, self.part), split.train


def _print(result: "Evaluation") -> None:
    from farstep.cli.tables import print_table
    from farstep.plotting.evaluation_tables import evaluation_tables

    print(result.about)
    for table in evaluation_tables(result.models, result.signals):
        print_table(table.title, table.columns, table.rows)
    for sentence in result.summary:
        print(sentence)


def _load(name: str) -> "Evaluable":
    from farstep.models.model import load_model
    from farstep.systems.registry import import_attribute

    module, _, attribute = name.partition(":")
    if attribute.isidentifier() and not Path(name).exists():
        return import_attribute(f"{module}:{attribute}", from_here=True)
    return load_model(name)


def _split_notes(
    models: "Sequence[Evaluable]", episodes: "Episodes", train: "Episodes | None"
) -> list[str]:
    """Report models that may have been fitted on evaluated episodes, and a missing baseline."""
    from farstep.models.model import Model

    if train is None:
        return ["without a training part there is no linear baseline."]
    for model in models:
        fitted = model.record.get("train") if isinstance(model, Model) else None
        same = isinstance(model, Model) and model.system == episodes.system
        if fitted and same and fitted != train.fingerprint:
            return [
                "a model was fitted on other episodes than this dataset's training part; if that "
                "was another --split-seed, some of them are evaluated here."
            ]
    return []


def _short_name(name: str) -> str:
    """Return the last part of a model's path or module, for tables."""
    last = name if Path(name).exists() else name.rpartition(":")[2]
    return Path(last).resolve().name.removesuffix(".safetensors")
