"""A fit that is stopped continues to the same bits, and never with other settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cart
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.models.model import MODEL_FILE, Model, load_model
from farstep.storage import tensors
from farstep.storage.run_directory import RunDirectory
from farstep.training.fit import fit

SETTINGS: dict[str, Any] = {**cart.TINY_FIT, "batch_size": 38}
SWITCHES: dict[str, dict[str, Any]] = {
    "nll": {
        "loss": "nll", "propagation": "sample", "loss_scale": "target", "truncate_gradient": 1,
        "weights": "learned:0.1", "normalisation": "batch", "dropout": 0.3, "target": "next",
    },
    "observer": {
        "ema_decay": 0.9, "weight_decay": 0.01, "input_noise": 0.01, "observer_steps": 3,
        "rematerialise": True, "normalisation": "layer", "activation": "gelu", "bounds": 0.2,
    },
    "fixed horizon": {
        "fixed_horizon": 4, "depth": 0, "schedule": "constant", "max_grad_norm": None,
        "weights": "proportional", "propagation": "sample", "fixed_std": 0.01,
        "angles": ((0, 1),), "validation_metric": "r2", "r2_horizon": 8, "patience": 5,
    },
}  # fmt: skip


class Stop(Exception):
    """Ends a fit right after a checkpoint."""


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Run a fit that is stopped after its first checkpoint; return the checkpoints' names."""
    save = RunDirectory.save_checkpoint

    def run(*arguments: Any, after: int = 1, **settings: Any) -> list[str]:
        names: list[str] = []

        def saving(self, arrays, header, name="run"):
            save(self, arrays, header, name)
            names.append(name)
            if len(names) == after:
                raise Stop

        with monkeypatch.context() as patch, pytest.raises(Stop):
            patch.setattr(RunDirectory, "save_checkpoint", saving)
            fit(*arguments, **settings)
        return names

    return run


def checkpoints(out: Path) -> list[Path]:
    return sorted(out.glob("*checkpoint*"))


def check_same(one: Model, other: Model) -> None:
    ours, theirs = (tensors.to_arrays(model.dynamics) for model in (one, other))
    for name, values in ours.items():
        np.testing.assert_array_equal(theirs[name], values)


def test_a_fit_stopped_after_every_epoch_gives_the_same_bits(
    cart_data: Episodes, stopping: Callable, tmp_path: Path
):
    """Two members, after a pilot that chooses the horizon."""
    validation, out = cart.data(1, seed=1), tmp_path / "model"
    settings = {**SETTINGS, "weights": "auto", "horizon": 4, "ensemble_size": 2}
    whole = fit(cart_data, validation, settings)
    written = [
        name for _ in range(5) for name in stopping(cart_data, validation, settings, out=out)
    ]
    assert written == ["pilot", "member-0", "member-0", "member-1", "member-1"]
    with pytest.raises(FarstepError, match="not finished"):
        load_model(out)
    resumed = fit(cart_data, validation, settings, out=out)
    check_same(whole, resumed)
    check_same(whole, load_model(out))
    assert resumed.record["horizon_choice"] == whole.record["horizon_choice"]
    assert resumed.fingerprint == whole.fingerprint
    assert checkpoints(out) == []
    assert len(list(out.rglob("events.out.tfevents*"))) >= 3


@pytest.mark.parametrize("switches", SWITCHES.values(), ids=SWITCHES)
def test_every_setting_works_and_resumes_to_the_same_bits(
    cart_data: Episodes, stopping: Callable, tmp_path: Path, switches: dict
):
    validation, settings = cart.data(1, seed=1), {**SETTINGS, **switches}
    whole = fit(cart_data, validation, settings)
    mean, std = whole.rollout(np.zeros(2), np.zeros((8, 1)))
    assert mean.shape == std.shape == (8 // settings.get("fixed_horizon", 1), 2)
    assert np.isfinite(mean).all() and (std > 0).all()
    stopping(cart_data, validation, settings, out=tmp_path)
    check_same(whole, fit(cart_data, validation, settings, out=tmp_path))


def test_a_fit_stopped_after_its_best_epoch_keeps_that_epoch(
    cart_data: Episodes, stopping: Callable, tmp_path: Path
):
    validation = cart.data(1, seed=1)
    settings = {
        **SETTINGS, "epochs": 60, "patience": 2, "learning_rate": 0.1, "schedule": "constant",
    }  # fmt: skip
    whole = fit(cart_data, validation, settings)
    worse = whole.record["curves"][0]["best_epoch"] + 2
    stopping(cart_data, validation, settings, out=tmp_path, after=worse)
    check_same(whole, fit(cart_data, validation, settings, out=tmp_path))


def test_a_finished_fit_is_returned_and_another_is_refused(cart_data: Episodes, tmp_path: Path):
    validation, out = cart.data(1, seed=1), tmp_path / "model"
    first = fit(cart_data, validation, SETTINGS, out=out)
    content = (out / MODEL_FILE).read_bytes()
    again = fit(cart_data, validation, SETTINGS, out=out)
    assert again.record == first.record
    for data, other in ((cart_data, {"seed": 1}), (cart_data, {"model": "linear"}),
                        (cart.data(4, seed=7), {})):  # fmt: skip
        with pytest.raises(FarstepError, match="other settings or data"):
            fit(data, validation, {**SETTINGS, **other}, out=out)
    with pytest.raises(FarstepError, match="horizon"):  # refused before anything is replaced
        fit(cart_data, validation, {**SETTINGS, "horizon": 10_000}, out=out, force=True)
    assert (out / MODEL_FILE).read_bytes() == content


def test_an_unfinished_fit_is_continued_with_its_own_settings_only(
    cart_data: Episodes, stopping: Callable, tmp_path: Path
):
    validation, out, other = cart.data(1, seed=1), tmp_path / "model", {**SETTINGS, "seed": 1}
    stopping(cart_data, validation, SETTINGS, out=out)
    kept = checkpoints(out)
    for settings in (other, {"model": "linear"}):
        with pytest.raises(FarstepError, match="other settings or data"):
            fit(cart_data, validation, settings, out=out)
    assert checkpoints(out) == kept != []
    found = fit(cart_data, validation, other, out=out, force=True)
    check_same(found, fit(cart_data, validation, other))


def test_a_forced_fit_starts_over_once(cart_data: Episodes, stopping: Callable, tmp_path: Path):
    """It gets past damaged checkpoints, and continues without force when it is stopped itself."""
    validation, out = cart.data(1, seed=1), tmp_path / "model"
    stopping(cart_data, validation, SETTINGS, out=out)
    (out / "mine.safetensors").write_bytes(b"of the user's own")
    for path in checkpoints(out):
        path.write_bytes(b"damaged")
    with pytest.raises(FarstepError, match="checkpoint"):
        fit(cart_data, validation, SETTINGS, out=out)
    written = stopping(cart_data, validation, SETTINGS, out=out, force=True)
    assert written == ["member-0"]
    assert stopping(cart_data, validation, SETTINGS, out=out) == ["member-0"]
    check_same(fit(cart_data, validation, SETTINGS, out=out), fit(cart_data, validation, SETTINGS))
    assert (out / "mine.safetensors").exists()


def test_a_users_own_file_is_not_replaced_without_force(cart_data: Episodes, tmp_path: Path):
    validation, path = cart.data(1, seed=1), tmp_path / MODEL_FILE
    content = cart.model().save(path).read_bytes()
    with pytest.raises(FarstepError, match="force"):
        fit(cart_data, validation, model="linear", out=tmp_path)
    assert path.read_bytes() == content
    fit(cart_data, validation, model="linear", out=tmp_path, force=True)
    assert path.read_bytes() != content
