"""`farstep fit`, `evaluate`, `tune` and `runs`: a tiny run of each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import cart
from farstep.cli import main
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.models.model import load_model
from farstep.storage import tensors
from farstep.training.fit import fit

FIT = [word for name, value in cart.TINY_FIT.items() for word in (f"--{name}", str(value))]
FIT = [word.replace("_", "-") for word in FIT]
OUTPUTS = {"config.json", "result.json", "model.safetensors", "training.png", "training.pdf"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a dataset and a model that `farstep fit` wrote."""
    path = tmp_path_factory.mktemp("models")
    write_dataset(cart.data(6), path / "log.npz")
    main(["fit", str(path / "log.npz"), *FIT, "--out", str(path / "h2")])
    return path


def test_fit_writes_the_model_of_the_library(folder: Path):
    train, validation, _ = read_dataset(folder / "log.npz").split()
    ours = tensors.to_arrays(load_model(folder / "h2").dynamics)
    theirs = tensors.to_arrays(fit(train, validation, cart.TINY_FIT).dynamics)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name])
    assert {path.name for path in (folder / "h2").iterdir()} > OUTPUTS


def test_a_finished_fit_is_read_and_another_one_refused(farstep: Callable, folder: Path):
    words = ("fit", folder / "log.npz", *FIT, "--out", folder / "h2")
    before = (folder / "h2" / "model.safetensors").stat().st_mtime_ns
    again = farstep(*words)
    assert again.code == 0 and "--force" in again.out
    other = farstep(*words, "--horizon", 1)
    assert other.code == 2 and "horizon 2" in other.err and "--force" in other.err
    data = farstep(*words, "--split-seed", 1)
    assert data.code == 2 and "data" in data.err
    assert (folder / "h2" / "model.safetensors").stat().st_mtime_ns == before


def test_force_starts_over(farstep: Callable, folder: Path, tmp_path: Path):
    words = ("fit", folder / "log.npz", "--model", "linear", "--horizon", 1, "--out", tmp_path)
    assert farstep(*words).code == 0
    assert farstep(*words, "--seed", 1).code == 2
    assert farstep(*words, "--seed", 1, "--force").code == 0
    assert load_model(tmp_path).config["seed"] == 1


def test_the_configuration_of_a_run_repeats_it(farstep: Callable, folder: Path, tmp_path: Path):
    words = ("fit", folder / "log.npz", "--config", folder / "h2" / "config.json")
    same = farstep(*words, "--out", folder / "h2")
    assert same.code == 0 and "--force" in same.out
    (tmp_path / "run.yaml").write_text("preset: paper\nmodel: linear\nhorizon: 3\nseed: 2\n")
    words = ("fit", folder / "log.npz", "--config", tmp_path / "run.yaml", "--horizon", 1)
    assert farstep(*words, "--out", tmp_path / "m").code == 0
    config = load_model(tmp_path / "m").config
    assert (config["horizon"], config["seed"], config["activation"]) == (1, 2, "tanh")


def test_evaluate_writes_numbers_charts_and_a_page(farstep: Callable, folder: Path, tmp_path: Path):
    module = "cart_functions"
    (tmp_path / f"{module}.py").write_text(
        "def still(observations, actions):\n    return observations\n"
    )
    models = (folder / "h2", f"{module}:still")
    words = ("evaluate", folder / "log.npz", "--model", *models, "--horizon", 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        result = farstep(*words, "--out", tmp_path / "report")
        assert result.code == 0, result.err
        assert farstep(*words, "--out", tmp_path / "report").code == 2
    for name in ("h2", "still", "persistence", "linear", "fingerprint"):
        assert name in result.out
    written = {path.name for path in (tmp_path / "report").iterdir()}
    assert {"evaluation.json", "report.html", "r2.png", "r2.pdf"} < written
    r2 = {one["name"]: one["r2"] for one in _models(tmp_path / "report")}
    assert list(r2) == ["persistence", "linear", "h2", "still"]
    np.testing.assert_allclose(r2["still"], r2["persistence"], rtol=1e-5)


def _models(out: Path) -> list[dict[str, Any]]:
    return json.loads((out / "evaluation.json").read_text())["models"]


def test_evaluate_without_references_on_every_episode(
    farstep: Callable, folder: Path, tmp_path: Path
):
    words = ("evaluate", folder / "log.npz", "--model", folder / "h2", "--horizon", 2)
    result = farstep(*words, "--part", "all", "--no-references", "--out", tmp_path / "all")
    assert result.code == 0, result.err
    assert [one["name"] for one in _models(tmp_path / "all")] == ["h2"]
    assert "6 episodes" in result.out
    noted = farstep(*words, "--split-seed", 1, "--no-references", "--out", tmp_path / "other")
    assert noted.code == 0 and "--split-seed" in noted.err


def test_tune_writes_settings_that_fit_takes(farstep: Callable, folder: Path, tmp_path: Path):
    log, out = folder / "log.npz", tmp_path / "tune"
    fit_words = ("--fit.epochs", 1, "--fit.horizon", 2, "--fit.weights", "uniform")
    words = ("tune", log, "--trials", 1, "--evaluation-horizon", 3, "--workers", 1, "--out", out)
    result = farstep(*words, *fit_words)
    assert result.code == 0, result.err
    assert f"farstep fit {log} --config {out / 'best.yaml'} --out {out / 'best'}" in result.out
    best = yaml.safe_load((out / "best.yaml").read_text())
    assert {"preset": "default", "epochs": 1, "horizon": 2}.items() <= best.items()
    stored = json.loads((out / "result.json").read_text())["result"]["fit"]
    assert all(stored[name] == value for name, value in best.items() if name != "preset")
    assert {"search.png", "search.pdf", "runs"} < {path.name for path in out.iterdir()}
    # A finished search is read, also with the settings in its own config.json.
    assert farstep(*words, "--config", out / "config.json").code == 0
    assert farstep(*words).code == 2
    searched = farstep(*words, "--fit.width", 9)
    assert searched.code == 2 and "width" in searched.err


def test_runs_are_listed_shown_compared_and_removed(
    farstep: Callable, folder: Path, tmp_path: Path
):
    for seed in (0, 1):
        out = tmp_path / "linear" / f"seed-{seed}"
        words = ("--model", "linear", "--horizon", 1, "--seed", seed, "--out", out)
        assert farstep("fit", folder / "log.npz", *words).code == 0
    place = ("--folder", tmp_path)
    listed = farstep("runs", "list", *place)
    assert listed.code == 0 and "2 run(s)" in listed.out
    assert "linear/seed-0" in listed.out and "seed=1" in listed.out
    some = farstep("runs", "list", *place, "--where", "seed", 1, "model", "linear").out
    assert "linear/seed-1" in some and "linear/seed-0" not in some
    shown = farstep("runs", "show", "linear/seed-1", *place)
    assert shown.code == 0 and "learning_rate" in shown.out and "version: jax" in shown.out
    assert str(tmp_path / "linear" / "seed-1" / "model.safetensors") in shown.out
    compared = farstep("runs", "compare", "linear/seed-0", "linear/seed-1", *place)
    assert compared.code == 0
    rows = [line.split() for line in compared.out.splitlines()]
    assert ["seed", "0", "1"] in rows and not any("width" in row for row in rows)
    assert farstep("runs", "compare", "linear/seed-0", *place).code == 2
    removed = farstep("runs", "remove", "linear/seed-0", *place)
    assert removed.code == 0 and not (tmp_path / "linear" / "seed-0").exists()
    again = farstep("runs", "remove", "linear/seed-0", *place)
    assert again.code == 2 and "linear/seed-0" in again.err
    missing = farstep("runs", "show", "linear/seed-9", *place)
    assert missing.code == 2 and "linear/seed-1" in missing.err
