"""A chart is one value, drawn twice: both drawings show the same."""

import dataclasses
from typing import get_args

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from farstep.report import interactive, static
from farstep.report.charts import Chart, Line, Panel, Style
from farstep.report.score_table import number
from farstep.report.table import Table, with_half


def _chart() -> Chart:
    x = np.arange(1, 41)
    first = Line("a $x$", x, 1 / x, low=0.5 / x, high=2 / x)
    second = Line("b", x, np.where(x < 9, 1 / x, -np.inf), colour="#d55e00", style="dashed")
    alone = Line("one", [7], [0.3])
    panels = [Panel("first", [first, second], "x", "y", log=True), Panel("second", [first, alone])]
    return Chart("name", "title", panels, columns=2, note="a note")


def test_both_drawings_have_the_same_lines():
    drawn, page = static.chart_figure(_chart()), interactive.chart_figure(_chart())
    lines = [line for axes in drawn.axes for line in axes.lines]
    named = [trace for trace in page.data if trace.name]
    assert len(lines) == len(named) == 4
    for line, trace in zip(lines, named, strict=True):
        np.testing.assert_array_equal(np.asarray(line.get_xdata()), trace.x)
        shown = np.array([np.nan if y is None else y for y in trace.y])
        np.testing.assert_allclose(np.asarray(line.get_ydata()), shown)
        assert line.get_color() == trace.line.color
    assert drawn.axes[0].get_yscale() == page.layout.yaxis.type == "log"


def test_a_name_is_in_the_legend_once():
    page = interactive.chart_figure(_chart())
    assert [trace.name for trace in page.data if trace.name and trace.showlegend] == [
        "a &#36;x&#36;", "b", "one",
    ]  # fmt: skip
    legend = static.chart_figure(_chart()).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [r"a \$x\$", "b", "one"]


def test_what_is_not_finite_is_a_gap_and_a_single_point_is_marked():
    line = _chart().panels[0].lines[1]
    assert np.isnan(np.asarray(static.chart_figure(_chart()).axes[0].lines[1].get_ydata())[-1])
    assert not line.few
    assert interactive.chart_figure(_chart()).data[-1].mode == "lines+markers"


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (0.98765, np.nan, "0.9877"),
        (0.5, 0.0213, "0.5000 ± 0.021"),
        (0.9999, np.nan, "0.99990"),
        (0.99000001, np.nan, "0.9900"),
        (0.9912, 0.001, "0.9912 ± 0.001"),
        (1.0, np.nan, "1.0000"),
        (-123456.0, np.nan, "-1.23e+05"),
        (-np.inf, np.nan, "−∞"),
        (np.nan, np.nan, "–"),
    ],
)
def test_numbers_are_told_as_far_as_they_are_known(value: float, half: float, text: str):
    assert number(value, half) == text


def test_a_table_is_markdown_too():
    table = Table("title", ["", "R²(1)"], [["a", "0.9"], ["b", "0.8"]])
    assert table.markdown == "|  | R²(1) |\n| --- | --- |\n| a | 0.9 |\n| b | 0.8 |\n"


def test_a_long_note_stays_within_the_picture():
    note = "; ".join(["75000 steps in 10 imagined systems"] * 8)
    figure = static.chart_figure(dataclasses.replace(_chart(), note=note))
    FigureCanvasAgg(figure).draw()
    text = next(one for one in figure.texts if one.get_text().startswith("75000"))
    extent = text.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width
    assert text.get_text().split() == note.split()


def test_a_mean_of_one_value_has_no_interval():
    assert with_half(842.4, 36.2) == "842 ± 36"
    assert with_half(842.4, float("nan")) == "842"


def test_both_kinds_of_picture_know_every_style():
    assert set(static._STYLES) == set(interactive._DASH) == set(get_args(Style))
