"""Scoring models on a dataset: names, references, bad input, files, and the command."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from farstep.datasets.reading import write
from farstep.datasets.shipped import load
from farstep.dynamics.linear import LinearDynamics, fit_linear
from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.evaluation.evaluate import score
from farstep.fitting.fit import fit
from farstep.model import Model
from farstep.report.animation import animation
from farstep.report.score_table import score_tables
from farstep.report.scores import score_charts
from farstep.scoring.trajectories import trajectories
from farstep.signals import Signals

QUICK: dict[str, Any] = {"config": "paper", "epochs": 1, "width": 8, "depth": 1, "batch": 512}


@pytest.fixture(scope="module")
def cartpole() -> tuple[Episodes, Episodes]:
    """Some training episodes and one test episode of the shipped set, cut short."""
    train, _, test = load("cartpole-swingup/random").split(0)
    return train.take(range(3)), _cut(test, 2, 150)


def _cut(data: Episodes, count: int, steps: int) -> Episodes:
    short = [
        Episode(episode.states[: steps + 1], episode.actions[:steps])
        for episode, _ in zip(data, range(count), strict=False)
    ]
    return Episodes.from_list(short, data.signals, data.system)


@pytest.fixture(scope="module")
def models(cartpole: tuple[Episodes, Episodes]) -> list[Model]:
    train = cartpole[0]
    settings: list[dict[str, Any]] = [{"seed": 0}, {"seed": 1}, {"stride": 5}, {"members": 2}]
    return [fit(train, train, target="delta", **QUICK, **one) for one in settings]


def test_seeds_share_a_line_and_references_stand_beside_it(
    cartpole: tuple[Episodes, Episodes], models: list[Model]
):
    train, test = cartpole
    found = score(models, test, 20, train=train)
    names = [one.name for one in found.scores]
    assert names == ["persistence", "linear", "h = 1", "direct 5", "h = 1, 2 members", "oracle"]
    assert [one.seeds for one in found.scores] == [1, 1, 2, 1, 1, 1]
    assert found["h = 1"].variance is not None
    assert found["h = 1, 2 members"].variance is not None
    assert found["direct 5"].variance is None
    np.testing.assert_array_equal(found["direct 5"].steps, [5, 10, 15, 20])
    np.testing.assert_allclose(found["oracle"].r2, 1.0, atol=1e-3)
    assert found["persistence"].falls_below(0.9) is not None
    with pytest.raises(KeyError, match="there are 'persistence', 'linear'"):
        found["h = 9"]


def test_seeds_of_one_line_are_the_models_scored_alone(
    cartpole: tuple[Episodes, Episodes], models: list[Model]
):
    both = score({"both": models[:2]}, cartpole[1], 10, references=False)["both"]
    alone = [score(m, cartpole[1], 10, references=False).scores[0] for m in models[:2]]
    np.testing.assert_allclose(both.r2, np.concatenate([one.r2 for one in alone]), rtol=1e-6)


def test_everything_is_written_and_says_the_same(
    cartpole: tuple[Episodes, Episodes], models: list[Model], tmp_path: Path
):
    found = score(models[:2], cartpole[1], 20)
    files = found.save(tmp_path / "score")
    names = {path.name for path in files}
    charts = ("r2", "dimensions", "growth", "calibration", "spread", "trajectories")
    assert names == {
        *(f"{chart}.{kind}" for chart in charts for kind in ("png", "pdf")),
        "scores.json",
        "report.html",
        "animation.gif",
    }
    assert all(path.stat().st_size > 500 for path in files)
    stored = json.loads((tmp_path / "score" / "scores.json").read_text())
    assert [one["name"] for one in stored["scores"]] == [one.name for one in found.scores]
    np.testing.assert_allclose(stored["scores"][1]["r2"], found.scores[1].r2)
    with pytest.raises(FarstepError, match="exists already"):
        found.save(tmp_path / "score")
    assert [path.name for path in found.plot(tmp_path / "own.png")] == ["own.png", "own.pdf"]


def test_a_constant_dimension_is_left_out_and_said():
    rng = np.random.default_rng(0)
    states = np.stack([np.ones(61), rng.normal(size=61)], axis=1)
    signals = Signals(("level", "flow"), ("valve",), ("cm", "l/s"), interval=0.5)
    data = Episodes.from_list([Episode(states, np.zeros((60, 1)))], signals)
    with pytest.warns(DataWarning, match="level does not vary"):
        found = score([], data, 5)
    assert np.isfinite(found["persistence"].r2).all()
    assert found.notes[0].startswith("level does not vary")
    charts = {
        chart.name: chart for chart in score_charts(found.scores, found.trajectories, found.signals)
    }
    titles = [panel.title for panel in charts["dimensions"].panels]
    assert titles == ["level: does not vary", "flow"]
    panels = charts["trajectories"].panels
    assert [panel.title for panel in panels] == ["episode 0, step 27: level [cm]", "flow [l/s]"]
    assert panels[0].y_range == pytest.approx((0.9, 1.1))
    assert {panel.x_label for panel in panels} == {"steps ahead, each 0.5 s"}
    rows = score_tables(found.scores, signals)[1].rows
    assert [row[0] for row in rows] == ["level [cm]: persistence", "flow [l/s]: persistence"]


def test_divergence_scores_as_such_and_is_said(cartpole: tuple[Episodes, Episodes], tmp_path: Path):
    wild = dataclasses.replace(LinearDynamics.zeros(5, 1), state_matrix=1e12 * jnp.eye(5))
    with pytest.warns(DataWarning, match="'wild' diverges: from step 2 on"):
        found = score({"wild": wild}, cartpole[1], 10)
    assert found["wild"].r2[0, -1] == -np.inf
    assert found["wild"].falls_below(0.0) == 1
    assert found["wild"].variance is None
    alone = score_charts(found.scores[-2:-1], found.trajectories, found.signals)[1]
    assert not any("does not vary" in panel.title for panel in alone.panels)
    found.save(tmp_path / "wild")
    text = (tmp_path / "wild" / "scores.json").read_text()
    assert json.loads(text, parse_constant=lambda _: pytest.fail("not JSON"))
    assert "−∞" in (tmp_path / "wild" / "report.html").read_text()


def test_what_does_not_fit_is_said(cartpole: tuple[Episodes, Episodes], models: list[Model]):
    test = cartpole[1]
    other = dataclasses.replace(
        test.signals, state_names=("position", *test.signals.state_names[1:])
    )
    with pytest.raises(FarstepError, match=r"differ in their states: \(x, .*\(position,"):
        score({"mine": models[0]}, test.with_signals(other), 10)
    tank = Episodes.from_list([Episode(np.zeros((9, 2)), np.zeros((8, 1)))])
    with pytest.raises(FarstepError, match="differ in their states"):
        score(models[0], tank, 5)
    with pytest.raises(FarstepError, match="longer than every episode"):
        score(models[0], test, 151)
    with pytest.raises(FarstepError, match="spans 5 steps cannot be scored at horizon 12"):
        score(models[2], test, 12)
    with pytest.raises(FarstepError, match="different numbers of steps"):
        score({"both": [models[0], models[2]]}, test, 10)
    with pytest.raises(FarstepError, match="'none' has no model"):
        score({"none": []}, test, 10)
    with pytest.raises(FarstepError, match="does not take 5 states and 1 actions"):
        score(LinearDynamics.zeros(4, 1), test, 10)
    with pytest.raises(FarstepError, match="same model twice"):
        score([models[0], models[0]], test, 10)
    with pytest.raises(FarstepError, match="has other states or actions"):
        score([], test, 10, system="pendulum-swingup")
    names = [one.name for one in score({"oracle": models[0]}, test, 5).scores]
    assert names == ["persistence", "oracle (model)", "oracle"]
    with pytest.raises(FarstepError, match="nothing to score"):
        score([], test, 10, references=False)


def test_the_whole_of_the_only_episode_is_a_horizon_too(cartpole: tuple[Episodes, Episodes]):
    found = score([], _cut(cartpole[1], 1, 30), 30)["persistence"]
    # One target has no spread: there is no R² thirty steps ahead, which is not a divergence.
    assert np.isnan(found.r2[0, -1])
    assert np.isfinite(found.r2[0, :-1]).all()
    assert found.diverged is None
    assert np.isfinite(found.mean_r2[0])


def test_scoring_on_what_was_fitted_on_is_said(
    cartpole: tuple[Episodes, Episodes], models: list[Model]
):
    with pytest.warns(DataWarning, match="fitted on these very episodes"):
        score(models[0], cartpole[0], 5, references=False)


def test_no_oracle_is_imported_because_a_file_names_it(cartpole: tuple[Episodes, Episodes]):
    data = dataclasses.replace(cartpole[1], system="this_module_is_not_there:system")
    assert "oracle" not in [one.name for one in score([], data, 5).scores]
    with pytest.raises(FarstepError, match="no module"):
        score([], data, 5, system="this_module_is_not_there:system")
    assert score([], data, 5, system="cartpole-swingup")["oracle"].r2[0, 0] > 0.999


def test_the_animation_has_a_picture_every_other_step(cartpole: tuple[Episodes, Episodes]):
    import io

    from PIL import Image

    few = trajectories({"linear": fit_linear(cartpole[0])}, cartpole[1], 20)
    moving = animation(few, "cartpole-swingup")
    assert moving is not None
    picture = Image.open(io.BytesIO(moving))
    assert getattr(picture, "n_frames", 1) == 11
    assert picture.size == (520, 170)
    assert animation(few, "pendulum-swingup") is None


def test_the_command(
    farstep: Callable, tmp_path: Path, models: list[Model], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for name, model in zip(("a", "b", "direct"), models, strict=False):
        model.save(tmp_path / f"{name}.safetensors")
    (tmp_path / "mine.py").write_text("def still(states, actions):\n    return states\n")
    data = _cut(load("cartpole-swingup/random"), 6, 60)
    write(data, tmp_path / "log.npz")
    names = ("a.safetensors", "b.safetensors", "direct.safetensors", "mine:still")
    done = farstep("score", *names, "--data", "log.npz", "--horizon", 20)
    assert done.code == 0, done.err
    for text in ("persistence", "linear", "h = 1", "direct", "still", "oracle", "R²(10)", "CRPS"):
        assert text in done.out
    assert "wrote score/report.html" in done.out
    again = farstep("score", "--data", "log.npz", "--horizon", 5, "--part", "all")
    assert "wrote score-2/report.html" in again.out
    assert "linear" not in again.out
    assert "no linear baseline" in again.err
    alone = farstep("score", "mine:still", "--data", "log.npz", "--horizon", 5, "--no-references")
    assert "persistence" not in alone.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("direct.safetensors", "--horizon", 12), "cannot be scored at horizon 12"),
        (("a.safetensors", "--horizon", 61), "longer than every episode"),
        (("nowhere.safetensors",), "nowhere.safetensors"),
        (("nowhere:model",), "there is no module 'nowhere'"),
        (("a.safetensors", "--horizon", 5, "--out", "log.npz"), "cannot write log.npz"),
    ],
)
def test_bad_commands_are_one_line(
    farstep: Callable,
    tmp_path: Path,
    models: list[Model],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple,
    message: str,
):
    monkeypatch.chdir(tmp_path)
    models[0].save(tmp_path / "a.safetensors")
    models[2].save(tmp_path / "direct.safetensors")
    write(_cut(load("cartpole-swingup/random"), 6, 60), tmp_path / "log.npz")
    done = farstep("score", *arguments, "--data", "log.npz")
    assert done.code == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_too_few_episodes_to_split_are_told_what_to_do(farstep: Callable, tmp_path: Path):
    write(_cut(load("cartpole-swingup/random"), 2, 30), tmp_path / "log.npz")
    done = farstep("score", "--data", tmp_path / "log.npz", "--horizon", 5)
    assert done.code == 2
    assert "--part all" in done.err


def test_a_model_is_not_scored_in_other_units(cartpole: tuple[Episodes, Episodes]):
    train, test = cartpole
    fitted = fit(train, train, model="linear")
    slow = dataclasses.replace(test, signals=dataclasses.replace(test.signals, interval=0.05))
    with pytest.warns(DataWarning, match="is 0.01 s, one of the dataset 0.05 s"):
        found = score(fitted, slow, 3)
    assert "oracle" not in [one.name for one in found.scores]
    assert any("as if they were equally long" in note for note in found.notes)
    units = ("cm", *test.signals.state_units[1:])
    other = dataclasses.replace(test, signals=dataclasses.replace(test.signals, state_units=units))
    with pytest.raises(FarstepError, match=r"'x' is in m in model .* and in cm in the dataset"):
        score(fitted, other, 3)


def test_without_anything_that_varies_there_is_no_score(cartpole: tuple[Episodes, Episodes]):
    _, test = cartpole
    still = dataclasses.replace(test, states=np.ones_like(test.states), clean_states=None)
    with pytest.raises(FarstepError, match="no state varies in these episodes"):
        score([], still, 3)
