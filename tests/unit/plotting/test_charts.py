"""A chart is drawn twice, by Matplotlib and by Plotly: both show the same."""

import dataclasses
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from farstep.errors import FarstepError
from farstep.plotting import interactive, static
from farstep.plotting.charts import Chart, Line, Panel, Style, Table


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
    assert np.isnan(np.asarray(lines[1].get_ydata())[-1])  # not finite: a gap
    assert not _chart().panels[0].lines[1].few
    assert page.data[-1].mode == "lines+markers"  # a single point is marked


def test_a_name_is_in_the_legend_once_and_is_no_formula():
    page = interactive.chart_figure(_chart())
    names = [trace.name for trace in page.data if trace.name and trace.showlegend]
    assert names == ["a &#36;x&#36;", "b", "one"]
    legend = static.chart_figure(_chart()).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [r"a \$x\$", "b", "one"]


def test_a_part_of_a_page_has_title_note_and_id():
    part = interactive.chart_html(dataclasses.replace(_chart(), title="a < b", note="c & d"))
    for text in ("a &lt; b", "c &amp; d", 'id="chart-name"'):
        assert text in part


def test_a_long_note_stays_within_the_figure():
    note = "; ".join(["75000 steps in 10 environments"] * 8)
    figure = static.chart_figure(dataclasses.replace(_chart(), note=note))
    FigureCanvasAgg(figure).draw()
    text = next(one for one in figure.texts if one.get_text().startswith("75000"))
    extent = text.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width
    assert text.get_text().split() == note.split()


def test_files_are_reproducible_and_not_replaced_without_force(tmp_path: Path):
    paths = [static.save_chart(_chart(), tmp_path / name) for name in ("one", "two")]
    assert [path.name for path in paths[0]] == ["one.png", "one.pdf"]
    for first, second in zip(*paths, strict=True):
        assert first.read_bytes() == second.read_bytes()
    with pytest.raises(FarstepError, match=r"one\.png"):
        static.save_chart(_chart(), tmp_path / "one")
    (tmp_path / "one.png").write_bytes(b"")
    static.save_chart(_chart(), tmp_path / "one", force=True)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_the_band_of_many_is_one_standard_deviation_without_nan():
    line = Line.of_many("m", [1, 2, 3], [[1, 2, np.nan], [3, np.nan, np.nan]], "#000000")
    np.testing.assert_array_equal(line.y, [2, 2, np.nan])
    np.testing.assert_array_equal(np.asarray(line.high) - np.asarray(line.low), [2, 0, np.nan])


def test_both_drawings_know_every_style():
    assert set(static._STYLES) == set(interactive._DASH) == set(get_args(Style))


def test_a_table_is_markdown_too():
    table = Table("title", ["", "R²(1)"], [["a", "0.9"], ["b", "0.8"]])
    assert table.markdown == "|  | R²(1) |\n| --- | --- |\n| a | 0.9 |\n| b | 0.8 |\n"
