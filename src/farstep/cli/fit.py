"""`farstep fit`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import tyro

from farstep.cli.command import Command
from farstep.cli.options import ConfigFile, Data, FitOptions, settings_of

if TYPE_CHECKING:
    from farstep.data.episodes import Episodes
    from farstep.models.model import Model

_SMALL_SHARE = 0.6
"""Of the steps; with many episodes the training part has 72 %."""


@dataclass(frozen=True)
class Fit(Command):
    """Fit a model on the training part of a dataset.

    The dataset is split by episode into training, validation and test (72 / 8 / 20 %); the
    test part is not used. If the command is killed, the same command continues.

    Example: farstep fit cartpole-swingup/random --horizon 4 --weights decay:0.75 --out models/h4
    """

    main: ClassVar[str | None] = "fit"

    data: Data
    """A file, a Minari directory, or the name of a shipped set."""
    fit: tyro.conf.OmitArgPrefixes[FitOptions] = field(default_factory=FitOptions)
    out: Path = Path("model")
    """Directory for the model, its training curve (TensorBoard, PNG) and checkpoints."""
    learn_reward: bool = False
    """Fit the recorded rewards too, for a system whose reward function is not known."""
    split_seed: int = 0
    """Seed of the split into training, validation and test."""
    config: ConfigFile = None
    """Options from a YAML or JSON file, or a run's config.json; those given here override it."""
    force: bool = False
    """Start over, and replace the model at --out."""

    @classmethod
    def presets(cls, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the default preset."""
        del given
        return {"fit": "default"}

    def run(self) -> None:
        """Fit, store, and print how it went."""
        from farstep.data.dataset_files import read_dataset
        from farstep.models.model import MODEL_FILE
        from farstep.plotting.learning_curves import plot_training
        from farstep.storage.run_directory import read_result
        from farstep.training.fit import fit

        train, validation, test = read_dataset(self.data).split(self.split_seed)
        _print_split(train, validation, test)
        found_before = read_result(self.out) is not None and not self.force
        model = fit(
            train,
            validation,
            settings_of(self.fit),
            learn_reward=self.learn_reward,
            out=self.out,
            force=self.force,
        )
        if found_before:
            print(f"{self.out} holds this fit already; --force starts over")
        _print_curves(model)
        print(f"wrote {self.out / MODEL_FILE}")
        if model.record.get("curves"):
            for path in plot_training(model, self.out / "training", force=True):
                print(f"wrote {path}")


def _print_split(*parts: "Episodes") -> None:
    sizes = [f"{len(part)} episode(s) of {part.num_steps} steps" for part in parts]
    print(f"train on {sizes[0]}, validation {sizes[1]}, test {sizes[2]}")
    share = parts[0].num_steps / sum(part.num_steps for part in parts)
    if share < _SMALL_SHARE:
        print(
            f"that is {share:.0%} of the steps, since the split keeps episodes whole; cut long "
            "ones: farstep data convert … --chunk-steps 200"
        )


def _print_curves(model: "Model") -> None:
    if model.record.get("horizon_choice"):
        print(f"chose horizon {model.horizon} by the growth of a one-step pilot's errors")
    curves = model.record.get("curves", [])
    for number, curve in enumerate(curves):
        name = f"member {number + 1}: " if len(curves) > 1 else ""
        best, seconds = curve["best_epoch"], sum(curve["seconds"])
        first, last = curve["validation"][best][0], curve["validation"][best][-1]
        print(
            f"{name}{len(curve['score'])} epochs in {seconds:.1f} s, best epoch {best + 1}: "
            f"validation loss {_shown(first)} one step ahead, {_shown(last)} at the horizon"
        )


def _shown(loss: float | None) -> str:
    return "not finite" if loss is None else f"{loss:.4g}"
