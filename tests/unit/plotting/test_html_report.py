"""`Evaluation.save` and `plot`: all files are written, and the page is safe and self-contained."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.evaluation.evaluation import Evaluation
from farstep.plotting.animation import VIEWS, Stroke, View
from farstep.plotting.charts import Table
from farstep.plotting.html_page import image_html, table_html

NAME = "<b> $x$"
CHARTS = ("r2", "dimensions", "growth", "calibration", "example_rollouts")


def _cart_strokes(observation: np.ndarray) -> list[Stroke]:
    x = float(observation[0])
    return [Stroke((x - 1, 0.0), (x + 1, 0.0), 0.5, "#0072b2")]


@pytest.fixture(scope="module")
def renamed(tiny_evaluation: Evaluation) -> Evaluation:
    """The evaluation, with a name for the model that is markup and a formula."""
    *others, model = tiny_evaluation.models
    examples = tiny_evaluation.example_rollouts
    predicted = {
        NAME if name == model.name else name: rollouts
        for name, rollouts in examples.predicted.items()
    }
    return dataclasses.replace(
        tiny_evaluation,
        models=(*others, dataclasses.replace(model, name=NAME)),
        example_rollouts=examples._replace(predicted=predicted),
        notes=("a < b",),
    )


@pytest.fixture(scope="module")
def saved(renamed: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "evaluation"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(VIEWS, "cart", View(_cart_strokes, half_width=3.0))
        files = renamed.save(folder)
    assert {path.name for path in files} == {
        *(f"{chart}.{kind}" for chart in CHARTS for kind in ("png", "pdf")),
        *("evaluation.json", "report.html", "animation.gif"),
    }
    return folder


def test_every_file_has_a_content(saved: Path, renamed: Evaluation):
    assert all(path.stat().st_size > 500 for path in saved.iterdir())
    stored = json.loads((saved / "evaluation.json").read_text())
    assert [one["name"] for one in stored["models"]] == ["persistence", "linear", NAME]
    np.testing.assert_allclose(stored["models"][2]["r2"], renamed[NAME].r2)
    with pytest.raises(FarstepError, match=r"r2\.png"):
        renamed.save(saved)


def test_the_page_is_self_contained_and_escapes_names(saved: Path):
    page = (saved / "report.html").read_text()
    assert all(f'id="chart-{chart}"' in page for chart in CHARTS)
    assert "&lt;b&gt; $x$" in page
    body = page[page.index("<body><h1>") :]
    assert NAME not in body and "a &lt; b" in body
    assert "R² stays above" in body or "R² is below" in body
    assert 'src="http' not in body and 'href="http' not in body
    assert "data:image/gif;base64," in page


def test_plot_ignores_the_suffix(renamed: Evaluation, tmp_path: Path):
    assert [path.name for path in renamed.plot(tmp_path / "own.png")] == ["own.png", "own.pdf"]
    with pytest.raises(FarstepError, match=r"own\.png"):
        renamed.plot(tmp_path / "own")


def test_parts_of_a_page_are_escaped():
    table = table_html(Table("title", ["<h>"], [["a & b"]]))
    assert "&lt;h&gt;" in table and "a &amp; b" in table
    assert '"' not in image_html(b"", "gif", 'a "quote"').split("alt=")[1].split(" src")[0][1:-1]
