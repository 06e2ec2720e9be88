"""`farstep collect` and `farstep data`: what they write, and what they print."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cart_env
import farstep as package
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.data.episodes import Episodes
from farstep.systems.collect import collect

LOG = "run,x,v,u,t\n1,0,1,5,0\n1,1,1,6,1\n1,2,1,7,2\n2,0,0,0,0\n2,1,1,1,1\n"
NAMES = ("--observations", "x", "v", "--actions", "u", "--episode", "run", "--time", "t")


def test_collect_writes_episodes_that_do_not_depend_on_the_command(
    farstep: Callable, tmp_path: Path
):
    out = tmp_path / "random.npz"
    arguments = ("cart_env:SYSTEM", "--episodes", 3, "--seed", 3, "--workers", 1, "--out", out)
    result = farstep("collect", *arguments)
    assert result.code == 0, result.err
    assert f"wrote {out}" in result.out
    assert "3 episodes, 60 steps of cart" in result.out
    assert result.err == ""  # no progress bar without a terminal
    assert read_dataset(out).equals(collect("cart_env:SYSTEM", episodes=3, seed=3))
    assert [path.name for path in tmp_path.iterdir()] == ["random.npz"]
    again = farstep("collect", *arguments)
    assert again.code == 2 and "--force" in again.err
    assert farstep("collect", *arguments[:3], "--workers", 1, "--out", out, "--force").code == 0
    assert read_dataset(out).equals(collect("cart_env:SYSTEM", episodes=3))


def test_a_system_that_fails_leaves_what_was_recorded(
    farstep: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cart_env.Failing, "episodes", 0)
    out = tmp_path / "some.npz"
    result = farstep("collect", "cart_env:FAILING", "--episodes", 3, "--workers", 1, "--out", out)
    assert result.code == 2
    note, error = result.err.splitlines()
    assert note.startswith("note: ") and "on fire" in note
    assert error.startswith("farstep: 2 of 3 episode(s)")
    assert read_dataset(out).lengths.tolist() == [20, 8]


def test_keyword_arguments_reach_the_environment(farstep: Callable, tmp_path: Path):
    arguments = ("--episodes", 1, "--env-kwargs", "observation_noise", 0.1)
    out = tmp_path / "noisy.npz"
    assert farstep("collect", "cartpole-swingup", *arguments, "--out", out).code == 0
    data = read_dataset(out)
    assert data.clean_observations is not None
    noise = np.std(data.observations - data.clean_observations, axis=0)
    assert noise[1] == pytest.approx(0.2, rel=0.1)


def test_info_counts_windows(farstep: Callable, small: Episodes, tmp_path: Path):
    path = write_dataset(small, tmp_path / "data")
    result = farstep("data", "info", path, "--horizon", 3)
    assert result.code == 0
    assert "3 episodes, 11 steps of tank" in result.out
    assert "6 windows of 3 steps" in result.out
    assert small.fingerprint in result.out


def test_plot_draws_both_figures(farstep: Callable, small: Episodes, tmp_path: Path):
    paths = [
        write_dataset(small, tmp_path / "one.npz"),
        write_dataset(small.take([0, 2]), tmp_path / "two.npz"),
    ]
    out = tmp_path / "figures"
    result = farstep("data", "plot", *paths, "--out", out)
    assert result.code == 0, result.err
    for name in ("returns.png", "returns.pdf", "observations.png", "observations.pdf"):
        assert f"wrote {out / name}" in result.out
        assert (out / name).stat().st_size > 2000
    assert (out / "observations.png").read_bytes()[:4] == b"\x89PNG"
    assert farstep("data", "plot", *paths, "--out", out).code == 2
    assert farstep("data", "plot", *paths, "--out", out, "--force").code == 0


def test_convert_goes_between_all_formats(farstep: Callable, small: Episodes, tmp_path: Path):
    before = write_dataset(small, tmp_path / "start.npz")
    for name in ("a.csv", "b.parquet", "c", "d.npz"):
        result = farstep("data", "convert", before, tmp_path / name)
        assert result.code == 0, (name, result.err)
        before = tmp_path / name
    assert read_dataset(before).equals(small)


def test_convert_reads_a_table_with_columns_of_any_name(farstep: Callable, tmp_path: Path):
    log, out = tmp_path / "log.csv", tmp_path / "log.npz"
    log.write_text(LOG)
    bounds = ("--action-low", -6, "--action-high", 5.5)
    refused = farstep("data", "convert", log, out, *NAMES, *bounds)
    assert refused.code == 2 and "bounds" in refused.err and not out.exists()
    clipped = farstep("data", "convert", log, out, *NAMES, *bounds, "--clip-actions")
    assert clipped.code == 0, clipped.err
    assert "note: 1 of 3 actions" in clipped.err
    data = read_dataset(out)
    assert data.actions.ravel().tolist() == [5.0, 5.5, 0.0]
    assert data.signals.interval == 1.0
    assert data.signals.action_high == (5.5,)


def test_convert_takes_its_options_from_a_file(farstep: Callable, tmp_path: Path):
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "columns.yaml").write_text(
        "observations: [x, v]\nactions: [u]\nepisode: run\nobservation-units: [m, m/s]\n"
    )
    words = (tmp_path / "log.csv", tmp_path / "log.npz", "--config", tmp_path / "columns.yaml")
    assert farstep("data", "convert", *words, "--observations", "v", "x").code == 0
    data = read_dataset(tmp_path / "log.npz")
    assert data.signals.observation_names == ("v", "x")
    assert data.signals.observation_units == ("m", "m/s")
    assert len(data) == 2


def test_convert_takes_names_and_bounds_from_a_system(farstep: Callable, tmp_path: Path):
    log, out = tmp_path / "log.csv", tmp_path / "log.npz"
    log.write_text("c,s,w,u\n1,0,0,0.5\n1,0,0.1,0.5\n")
    names = ("--observations", "c", "s", "w", "--actions", "u", "--system", "pendulum-swingup")
    assert farstep("data", "convert", log, out, *names).code == 0
    data = read_dataset(out)
    assert data.signals == package.get_system("pendulum-swingup").signals
    assert data.system == "pendulum-swingup"
    # With an interval of its own, which is kept.
    log.write_text("c,s,w,u,t\n1,0,0,0.5,0\n1,0,0.1,0.5,0.1\n1,0,0.1,0.5,0.2\n")
    done = farstep("data", "convert", log, out, *names, "--time", "t", "--force")
    assert done.code == 0 and "note: " in done.err and "pendulum-swingup" in done.err
    assert read_dataset(out).signals.interval == pytest.approx(0.1)


def test_convert_does_not_rename_columns_in_another_order(farstep: Callable, tmp_path: Path):
    log = tmp_path / "log.csv"
    log.write_text("angular_velocity,cos_angle,sin_angle,u\n0,1,0,0\n0,1,0,0\n0,1,0,\n")
    names = ("--observations", "angular_velocity", "cos_angle", "sin_angle", "--actions", "u")
    system = ("--system", "pendulum-swingup")
    found = farstep("data", "convert", log, tmp_path / "out.npz", *names, *system)
    assert found.code == 2 and "--observations" in found.err
    assert not (tmp_path / "out.npz").exists()


def test_one_long_run_is_cut_so_that_it_can_be_split(
    farstep: Callable, small: Episodes, tmp_path: Path
):
    path = write_dataset(small.take([2]), tmp_path / "run.npz")
    alone = farstep("fit", path, "--out", tmp_path / "m")
    assert alone.code == 2 and "--chunk-steps" in alone.err
    cut = tmp_path / "cut.npz"
    assert farstep("data", "convert", path, cut, "--chunk-steps", 2).code == 0
    assert read_dataset(cut).lengths.tolist() == [2, 2, 2]
    bad = farstep("data", "convert", path, tmp_path / "x.npz", "--chunk-steps", 0)
    assert bad.code == 2 and not (tmp_path / "x.npz").exists()


def test_make_follows_the_recipe(
    farstep: Callable, small: Episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = []

    def make(name: str, work: Path, workers: int) -> Episodes:
        made.append((name, work, workers))
        return small

    monkeypatch.setattr("farstep.workflows.dataset_recipes.make_dataset", make)
    out = tmp_path / "set"
    result = farstep("data", "make", "cartpole-swingup/medium", "--workers", 3, "--out", out)
    assert result.code == 0 and f"wrote {out}" in result.out
    assert made == [("cartpole-swingup/medium", tmp_path / "set.work", 3)]
    assert read_dataset(out).equals(small)
    assert farstep("data", "make", "cartpole-swingup/medium", "--out", out).code == 2
    assert len(made) == 1, "it fails before any work"
