"""`farstep fit`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from farstep.cli.presets import FitPreset, chosen_fit, reconciled
from farstep.fitting.config import FitConfig


@dataclass(frozen=True)
class Fit:
    """Fit a model on the training part of a dataset.

    The dataset is split by whole episodes, 72 / 8 / 20 %, into training, validation and test; the
    test part is not touched. A fit that was killed continues when it is started again.

    Example: farstep fit cartpole-swingup/random --horizon 4 --weights decay:0.75 --out models/h4
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATASET")]
    """A file, a Minari directory, or the name of a shipped set."""
    out: Path
    """Directory for the model, its training curve (TensorBoard, PNG) and checkpoints."""
    preset: FitPreset = "recommended"
    """Settings that those below are changes of; with --help their values are shown. ensemble is
    three models of recommended, whose windows start from an observer."""
    config: FitConfig = field(default_factory=chosen_fit)
    """Settings, and their values in the preset."""
    learn_reward: bool = False
    """Fit the recorded rewards too, for a system whose reward is not known."""
    split_seed: int = 0
    """Of the split into training, validation and test."""
    force: bool = False
    """Start over, replacing the model at --out."""

    def run(self) -> None:
        """Fit, store, and say where."""
        from farstep.datasets.reading import read
        from farstep.fitting.fit import fit
        from farstep.model import MODEL_FILE
        from farstep.report.training import plot_training

        train, validation, _ = parts = read(self.data).split(self.split_seed)
        sizes = [f"{len(part)} episode(s) of {part.num_steps} steps" for part in parts]
        print(f"train on {sizes[0]}, validation {sizes[1]}, test {sizes[2]}")
        total = sum(part.num_steps for part in parts)
        if train.num_steps < _LITTLE * total:
            print(
                f"that is {train.num_steps / total:.0%} of the steps, since episodes are kept "
                "whole and are few; cut long ones: farstep data convert … --pieces 200"
            )
        before = (self.out / MODEL_FILE).exists() and not self.force
        model = fit(
            train,
            validation,
            reconciled(self.config, self.preset),
            learn_reward=self.learn_reward,
            out=self.out,
            force=self.force,
        )
        if before:
            print(f"{self.out} was fitted with these settings before; --force starts over")
        if "auto" in model.record:
            print(f"trained {model.horizon} step(s) ahead, by how a one-step pilot's errors grow")
        curves = model.record.get("curves", [])
        for number, curve in enumerate(curves):
            name = f"member {number + 1}: " if len(curves) > 1 else ""
            best, seconds = curve["best_epoch"], sum(curve["seconds"])
            first, last = curve["validation"][best][0], curve["validation"][best][-1]
            print(
                f"{name}{len(curve['score'])} epochs in {seconds:.1f} s, best epoch "
                f"{best + 1}: validation loss {_shown(first)} one step ahead, {_shown(last)} at "
                "the horizon"
            )
        print(f"wrote {self.out / MODEL_FILE}")
        if curves:
            for path in plot_training(model, self.out / "training", force=True):
                print(f"wrote {path}")


_LITTLE = 0.6
"""Of the steps, where 72 % are meant to be trained on."""


def _shown(loss: float | None) -> str:
    return "not finite" if loss is None else f"{loss:.4g}"
