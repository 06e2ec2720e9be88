"""`farstep score`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from farstep.errors import FarstepError

if TYPE_CHECKING:
    from farstep.episodes import Episodes
    from farstep.evaluation.entries import Scorable


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
    """Whose simulator is the oracle, if the dataset does not come from one of Farstep's systems."""
    references: bool = True
    """Score baselines and the oracle too."""
    out: Path | None = None
    """Directory for numbers, pictures and page; by default a new one called score."""
    force: bool = False
    """Replace what is at --out."""

    def run(self) -> None:
        """Score, print the tables, write the rest, and say where."""
        from farstep.cli.tables import print_table
        from farstep.datasets.reading import read
        from farstep.evaluation.entries import configuration, label
        from farstep.evaluation.evaluate import score
        from farstep.files import check_output
        from farstep.report.score_table import score_tables

        out = self.out or _free("score")
        check_output(out / "report.html", self.force)
        found = {name: _model(name) for name in self.models}
        groups: dict[str, list[str]] = {}
        for name, model in found.items():
            groups.setdefault(configuration(model) or name, []).append(name)
        named: dict[str, list[Scorable]] = {}
        for names in groups.values():
            single = Path(names[0]).name.removesuffix(".safetensors")
            title = single if len(names) == 1 else label(found[names[0]])
            named[title if title not in named else names[0]] = [found[name] for name in names]
        episodes, train = self._parts(read(self.data))
        result = score(
            named,
            episodes,
            self.horizon,
            train=train,
            system=self.system,
            references=self.references,
        )
        written = result.save(out, self.force)
        print(f"{self.data}, {self.part}: {result.about}")
        for table in score_tables(result.scores):
            print_table(table.title, table.columns, table.rows)
        for path in written:
            print(f"wrote {path}")

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


def _free(name: str) -> Path:
    """Return the first of name, name-2, name-3, … that does not exist."""
    path, number = Path(name), 1
    while path.exists():
        number += 1
        path = Path(f"{name}-{number}")
    return path
