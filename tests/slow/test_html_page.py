"""HTML pages in a real browser: charts are drawn, tables sort, and nothing is fetched."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from farstep.data.dataset_files import load_dataset
from farstep.data.episodes import Episodes
from farstep.evaluation.evaluation import Evaluation, evaluate
from farstep.plotting.charts import Chart, Line, Panel, Table
from farstep.plotting.html_page import page as html_page
from farstep.plotting.html_page import table_html
from farstep.plotting.interactive import chart_html

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
NAME = "drifting <b> $x$"


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    data = load_dataset("cartpole-swingup/random").take([0, 1])
    train, test = (
        Episodes.from_list([one.slice(0, 100)], data.signals, data.system) for one in data
    )

    def drifting(observations: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return observations * 1.001, np.full_like(observations, 0.01)

    return evaluate({NAME: drifting}, test, 30, train=train)


@pytest.fixture(scope="module")
def report(evaluation: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    evaluation.save(folder)
    return folder / "report.html"


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


def _opened(page: Page, path: Path) -> tuple[list[str], list[str]]:
    """Open a page; return lists of messages and of requests, which grow."""
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    return messages, requests


def test_the_report_works_offline_from_a_file(evaluation: Evaluation, report: Path, page: Page):
    messages, requests = _opened(page, report)
    for chart in ("r2", "dimensions", "growth", "calibration", "example_rollouts"):
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
    assert all(name in text for name in ("persistence", "drifting", "oracle", "0."))
    assert page.locator("table").first.locator("tr").count() == 1 + len(evaluation.models)
    assert page.evaluate("document.querySelector('img').naturalWidth") > 100
    assert page.screenshot(full_page=True).startswith(b"\x89PNG")
    assert messages == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_names_cannot_bring_html_in(report: Path, page: Page):
    page.goto(report.as_uri())
    assert page.locator("td b").count() == 0
    assert page.locator("td", has_text=NAME).count() >= 1
    legend = page.locator("#chart-r2 .legendtext", has_text="drifting")
    assert legend.first.text_content() == NAME


def test_a_click_hides_a_line_or_sorts_a_table(page: Page, tmp_path: Path):
    x = np.arange(30)
    chart = Chart("two", "Two lines", [Panel("", [Line("a", x, x), Line("b", x, 2 * x)])])
    table = Table("", ["name", "value"], [["a", "0.5"], ["b", "−∞"], ["c", "−2"], ["d", "10"]])
    (tmp_path / "own.html").write_text(html_page("Own", [chart_html(chart), table_html(table)]))
    messages, _ = _opened(page, tmp_path / "own.html")
    drawn = "#chart-two .scatterlayer path.js-line"
    page.locator(drawn).first.wait_for(state="attached")
    assert page.locator(drawn).count() == 2
    page.locator("#chart-two .legendtoggle").first.click()
    page.wait_for_function(f"document.querySelectorAll('{drawn}').length == 1")
    cells = page.locator("tbody tr td:nth-child(2)")
    page.locator("th").nth(1).click()
    assert cells.all_text_contents() == ["−2", "0.5", "10", "−∞"]  # text after numbers
    page.locator("th").nth(1).click()
    assert cells.all_text_contents() == ["−∞", "10", "0.5", "−2"]
    assert messages == []


def test_the_report_is_for_the_dark_and_for_phones(report: Path, browser: Browser):
    phone = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    phone.set_default_timeout(180_000)
    phone.goto(report.as_uri())
    colour = "getComputedStyle(document.body).backgroundColor"
    assert phone.evaluate(colour) == "rgb(22, 24, 27)"
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.emulate_media(media="print", color_scheme="light")
    assert phone.evaluate(colour) == "rgb(255, 255, 255)"
    phone.close()


def test_charts_fit_on_paper(report: Path, page: Page):
    page.goto(report.as_uri())
    page.locator("#chart-r2 .main-svg").first.wait_for(state="attached")
    widest = "Math.max(...[...document.querySelectorAll('.main-svg')].map(x => x.clientWidth))"
    on_screen = page.evaluate(widest)
    assert on_screen > 700
    page.emulate_media(media="print")
    page.wait_for_function(f"{widest} <= 680")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.wait_for_function(f"{widest} == {on_screen}")
