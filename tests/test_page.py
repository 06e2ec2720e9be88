"""The HTML page in a real browser: charts are drawn, hovering tells values, nothing is fetched."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from farstep.datasets.shipped import load
from farstep.evaluation.evaluate import Evaluation, score
from farstep.exhibits.reproduce import reproduce
from farstep.exhibits.whole_report import report
from farstep.fitting.config import fit_config
from farstep.runs.scored_fit import ScoredFit
from farstep.runs.scored_oracle import ScoredOracle
from farstep.runs.store import Store

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    train, _, test = load("cartpole-swingup/random").split(0)

    def drifting(states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return states * 1.001, np.full_like(states, 0.01)

    return score({"drifting <b> $x$": drifting}, test.take([0]), 30, train=train.take([0]))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        message = f"there is no browser ({', '.join(_BROWSERS)}); install Chromium"
        # Continuous integration installs one and must not go without.
        assert not os.environ.get("FARSTEP_NEEDS_BROWSER"), message
        pytest.skip(message)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    found = browser.new_page(viewport={"width": 1200, "height": 900})
    found.set_default_timeout(180_000)
    yield found
    found.close()


def test_the_page_works_offline_from_a_file(evaluation: Evaluation, page: Page, tmp_path: Path):
    evaluation.save(tmp_path)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    for chart in ("r2", "dimensions", "growth", "calibration", "trajectories"):
        lines = page.locator(f"#chart-{chart} .scatterlayer path.js-line")
        lines.first.wait_for(state="attached")
        assert lines.count() >= 3, chart
    area = page.locator("#chart-r2 .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    hover = page.locator("#chart-r2 .hoverlayer .legend")
    for step in range(50):  # a move while the page is laid out is lost
        page.mouse.move(box["x"] + box["width"] / 2 + step, box["y"] + box["height"] / 2)
        page.wait_for_timeout(100)
        if hover.count():
            break
    text = hover.text_content() or ""
    for name in ("persistence", "drifting", "oracle"):
        assert name in text
    assert "0." in text
    assert page.locator("table").first.locator("tr").count() == 1 + len(evaluation.scores)
    assert page.evaluate("document.querySelector('img').naturalWidth") > 100
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.screenshot(full_page=True).startswith(b"\x89PNG")


def test_names_cannot_bring_html_in(evaluation: Evaluation, page: Page, tmp_path: Path):
    evaluation.save(tmp_path)
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator("td b").count() == 0
    assert page.locator("td", has_text="drifting <b> $x$").count() >= 1
    legend = page.locator("#chart-r2 .legendtext", has_text="drifting")
    assert legend.first.text_content() == "drifting <b> $x$"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of exhibits for which nothing is computed, and of one small model."""
    folder = tmp_path_factory.mktemp("paper")
    reproduce(["weight-profiles", "dataset-returns"], folder)
    store = Store(folder / "runs")
    store.run(ScoredOracle("cartpole-swingup/random", 2))
    tiny = fit_config("paper", epochs=1, width=4, depth=1, batch=1024)
    store.run(ScoredFit("cartpole-swingup/random", tiny, 2))
    return report([folder], folder / "report.html")


def test_the_whole_report_sorts_toggles_and_fetches_nothing(whole: Path, page: Page):
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(whole.as_uri())
    drawn = "#chart-weight-profiles-weights .scatterlayer path.js-line"
    lines = page.locator(drawn)
    lines.first.wait_for(state="attached")
    count = lines.count()
    assert count >= 7
    page.locator("#chart-weight-profiles-weights .legendtoggle").first.click()
    page.wait_for_function(
        "([lines, n]) => document.querySelectorAll(lines).length < n", arg=[drawn, count]
    )
    table = page.locator("h3:has-text('returns: Returns') + table")
    cells = table.locator("tbody tr td:nth-child(2)")
    before = [float(text) for text in cells.all_text_contents()]
    table.locator("th").nth(1).click()
    assert [float(text) for text in cells.all_text_contents()] == sorted(before)
    table.locator("th").nth(1).click()
    assert [float(text) for text in cells.all_text_contents()] == sorted(before, reverse=True)
    text = page.locator("body").text_content() or ""
    assert "farstep reproduce dataset-returns --out" in text
    assert "Not computed, or not all of it: demo" in text  # which no record tells of
    kinds = page.locator("#timings + table tbody tr td:first-child").all_text_contents()
    assert {"fit", "oracle"} <= set(kinds)
    assert page.locator("#chart-trajectories .scatterlayer path.js-line").count() >= 3
    assert page.locator("img[src^='data:image/gif']").count() == 1
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_the_whole_report_is_for_the_dark_and_for_phones(whole: Path, browser: Browser):
    phone = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    phone.goto(whole.as_uri())
    colour = "getComputedStyle(document.body).backgroundColor"
    assert phone.evaluate(colour) == "rgb(22, 24, 27)"
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.emulate_media(media="print", color_scheme="light")
    assert phone.evaluate(colour) == "rgb(255, 255, 255)"
    assert phone.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    phone.close()


def test_charts_fit_on_paper(whole: Path, page: Page):
    page.goto(whole.as_uri())
    page.locator("#chart-weight-profiles-weights .main-svg").first.wait_for(state="attached")
    widest = "Math.max(...[...document.querySelectorAll('.main-svg')].map(x => x.clientWidth))"
    on_screen = page.evaluate(widest)
    assert on_screen > 700
    page.emulate_media(media="print")
    page.wait_for_function(f"{widest} <= 680")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.wait_for_function(f"{widest} == {on_screen}")


def test_a_report_of_nothing_is_one_line(tmp_path: Path, farstep: Callable):
    done = farstep("report", tmp_path / "nowhere", "--out", tmp_path / "report.html")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "there is no directory" in done.err
