"""The paper's figures: every exhibit is sound, runs are computed once, and kills lose nothing."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from farstep.datasets.reading import write
from farstep.datasets.shipped import load
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.exhibits import reproduce as module
from farstep.exhibits.exhibit import PRESETS, Exhibit, Preset, static, with_preset
from farstep.exhibits.reproduce import EXHIBITS, reproduce
from farstep.fitting.config import fit_config
from farstep.report.scores import r2_chart
from farstep.runs.pool import run_all
from farstep.runs.scored_fit import ScoredFit
from farstep.scoring.score import Score

TINY = fit_config("paper", epochs=1, width=4, depth=1, batch=256)


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A small dataset on disk."""
    short = [
        Episode(episode.states[:41], episode.actions[:40])
        for episode in load("cartpole-swingup/random").take(range(8))
    ]
    data = Episodes.from_list(short, load("cartpole-swingup/random").signals)
    write(data, tmp_path / "log.npz")
    return str(tmp_path / "log.npz")


def _fake(name: str, kind: str = "model", seeds: int = 2) -> Score:
    values = 1 - 0.001 * np.arange(1, 101)[:, None] * np.ones(5)
    return Score(name, kind, np.arange(1, 101), np.stack([values] * seeds))


@pytest.mark.parametrize("exhibit", EXHIBITS.values(), ids=list(EXHIBITS))
def test_every_exhibit_is_sound(exhibit: Exhibit):
    assert exhibit.about
    for config in exhibit.cases.values():
        config.check()
        assert exhibit.horizon % config.stride == 0
        assert (config.target, config.loss) == ("next", "mse")
    scores = [*(_fake(name) for name in exhibit.cases), _fake("oracle", "oracle", 1)]
    charts = exhibit.draw(dict.fromkeys(exhibit.datasets, scores))
    assert charts
    for chart in charts:
        drawn = set(chart.legend)
        assert not exhibit.cases or "oracle" in drawn
        assert len(drawn) >= 6


def test_the_papers_settings_are_there():
    assert set(EXHIBITS) == {"fixed-horizon", "alpha-study", "weight-profiles", "profile-r2"}
    assert [c.stride for c in EXHIBITS["fixed-horizon"].cases.values()] == [1, 2, 4, 10, 50, 100]
    profiles = {(c.horizon, c.weights) for c in EXHIBITS["profile-r2"].cases.values()}
    assert {(2, "decay:0.9"), (4, "decay:0.75"), (10, "decay:0.3"), (1, "uniform")} <= profiles
    assert len(PRESETS["paper"].seeds) >= 3


def test_a_reproduction_draws_says_and_keeps_its_runs(
    tmp_path: Path, log: str, monkeypatch: pytest.MonkeyPatch, farstep: Callable
):
    small = dataclasses.replace(TINY, target="next")
    tiny = Exhibit(
        name="tiny",
        about="a test",
        datasets=("random", "unheard-of"),
        cases={"h = 1": small, "direct 5": dataclasses.replace(small, stride=5)},
        draw=lambda scores: [r2_chart(found, name=data) for data, found in scores.items()],
        horizon=10,
    )
    monkeypatch.setitem(EXHIBITS, "tiny", tiny)
    monkeypatch.setitem(PRESETS, "quick", Preset("quick", epochs=1, seeds=(0, 1)))
    done = farstep("reproduce", "tiny", "--preset", "quick", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "QUICK" in done.out
    assert "unheard-of does not exist yet" in done.out
    assert "oracle" in done.out
    page = (tmp_path / "out" / "tiny" / "quick" / "report.html").read_text()
    assert "(quick)" in page
    assert "QUICK preset" in page
    scores = json.loads((tmp_path / "out" / "tiny" / "quick" / "scores.json").read_text())
    assert [one["seeds"] for one in scores["cartpole-swingup/random"]] == [2, 2, 1]
    runs = sorted((tmp_path / "out" / "runs").glob("*/r2.json"))
    assert len(runs) == 4
    stamps = [path.stat().st_mtime_ns for path in runs]
    again = reproduce("tiny", tmp_path / "out", "quick", force=True)
    assert [path.stat().st_mtime_ns for path in runs] == stamps
    assert again.tables["cartpole-swingup/random"].rows[0][0] == "h = 1"


def test_unknown_names_are_said(farstep: Callable, tmp_path: Path):
    with pytest.raises(FarstepError, match="Did you mean 'alpha-study'"):
        reproduce("alpha", tmp_path)
    with pytest.raises(FarstepError, match="there is no preset 'papers'"):
        reproduce("alpha-study", tmp_path, preset="papers")
    done = farstep("reproduce", "fixed", "--out", tmp_path / "out")
    assert done.code == 2
    assert "Did you mean 'fixed-horizon'" in done.err


def test_datasets_that_are_missing_are_stood_in_for():
    exhibit = dataclasses.replace(EXHIBITS["profile-r2"], datasets=("unheard-of",))
    found, notes = module._datasets(exhibit, PRESETS["paper"])
    assert found == ["cartpole-swingup/random"]
    assert "stands in" in notes[1]


def test_the_same_run_is_computed_once_and_divergence_is_kept(log: str, tmp_path: Path):
    run = ScoredFit(log, TINY, 10)
    first = run.run(tmp_path)
    model = tmp_path / run.name / "model.safetensors"
    model.unlink()
    np.testing.assert_array_equal(run.run(tmp_path), first)
    assert not model.exists()
    result = tmp_path / run.name / "r2.json"
    stored = json.loads(result.read_text())
    stored["r2"][0][0] = "-inf"
    result.write_text(json.dumps(stored))
    assert run.run(tmp_path)[0, 0] == -np.inf
    result.write_text("damaged")
    np.testing.assert_array_equal(run.run(tmp_path), first)
    stored["data"] = "other data"
    result.write_text(json.dumps(stored))
    np.testing.assert_array_equal(run.run(tmp_path), first)
    assert ScoredFit(log, static(), 10).name != ScoredFit(log, static(), 20).name


def test_a_fit_that_diverges_is_a_result(log: str, tmp_path: Path):
    wild = dataclasses.replace(TINY, learning_rate=1e30, normalisation="none", activation="relu")
    values = ScoredFit(log, wild, 10).run(tmp_path)
    assert values.shape == (10, 5)
    assert (values == -np.inf).all()


def test_two_processes_that_ask_for_one_run_compute_it_once(log: str, tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from test_exhibits import TINY;"
        "from farstep.runs.scored_fit import ScoredFit;"
        "print(ScoredFit(sys.argv[1], TINY, 10).run(Path(sys.argv[2])).sum())"
    )
    command = [sys.executable, "-c", code, log, str(tmp_path / "runs")]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent)
        for _ in range(2)
    ]
    printed = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert printed[0] == printed[1]


@dataclasses.dataclass(frozen=True)
class _Killed(ScoredFit):
    """Kills its worker, once."""

    def run(self, folder: Path) -> np.ndarray:
        mark = folder / "was killed"
        if self.config.seed == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(folder)


def test_a_killed_worker_loses_nothing(log: str, tmp_path: Path):
    runs = [_Killed(log, dataclasses.replace(TINY, seed=seed), 10) for seed in (0, 1, 0)]
    with pytest.raises(FarstepError, match="a worker was killed"):
        run_all(runs, tmp_path, workers=1)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/r2.json")}
    assert len(kept) == 1
    found = run_all(runs, tmp_path, workers=2)
    assert len(found) == 2
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())
    for run, values in found.items():
        np.testing.assert_array_equal(values, run.run(tmp_path))
    with pytest.raises(FarstepError, match="at least 1"):
        run_all(runs, tmp_path, workers=0)


def test_every_run_of_the_committed_exhibits_is_kept_under_its_name():
    """So that drawing them again fits nothing, also after settings were added to a fit."""
    kept = Path(__file__).parents[1] / "docs" / "exhibits" / "runs"
    paper = PRESETS["paper"]
    for exhibit in EXHIBITS.values():
        for config in exhibit.cases.values():
            for seed in paper.seeds:
                run = ScoredFit(
                    "cartpole-swingup/random", with_preset(config, paper, seed), exhibit.horizon
                )
                assert (kept / run.name / "r2.json").exists(), (exhibit.name, config)
