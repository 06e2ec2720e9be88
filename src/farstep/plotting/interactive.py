"""Charts as interactive Plotly figures, and as parts of an HTML page."""

import html
from typing import Any

import numpy as np

from farstep.plotting.charts import Chart, Line, finite

_LEAST_WIDTH = 240
"""Least width of a panel, in pixels; on a phone the reader scrolls sideways."""
_DASH = {
    "solid": "solid",
    "dashed": "dash",
    "dotted": "dot",
    "dashdot": "dashdot",
    "points": "solid",
}


def chart_html(chart: Chart) -> str:
    """Return a chart as a part of a page."""
    import plotly.io

    drawn = plotly.io.to_html(
        chart_figure(chart),
        include_plotlyjs=False,
        full_html=False,
        div_id=f"chart-{chart.name}",
        config={"displaylogo": False, "responsive": True},
    )
    note = f'<p class="note">{html.escape(chart.note)}</p>' if chart.note else ""
    width = _LEAST_WIDTH * min(chart.columns, len(chart.panels))
    scrolled = f'<div class="scroll"><div style="min-width: {width}px">{drawn}</div></div>'
    return f"<h2>{html.escape(chart.title)}</h2>{scrolled}{note}"


def chart_figure(chart: Chart) -> Any:
    """Return a chart as a Plotly figure."""
    from plotly.subplots import make_subplots

    columns = min(chart.columns, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    titles = [_literal(panel.title) for panel in chart.panels]
    figure = make_subplots(rows, columns, subplot_titles=titles)
    first = chart.legend
    for number, panel in enumerate(chart.panels):
        row, column = number // columns + 1, number % columns + 1
        for line in panel.lines:
            traces = _traces(line, legend=first[line.name] == (number, line))
            figure.add_traces(traces, rows=row, cols=column)
        bottom = number + columns >= len(chart.panels)
        figure.update_xaxes(title_text=panel.x_label if bottom else "", row=row, col=column)
        figure.update_yaxes(
            title_text=panel.y_label if column == 1 else "",
            exponentformat="e",
            type="log" if panel.log else "linear",
            row=row,
            col=column,
        )
        if panel.y_range is not None:
            low, high = np.log10(panel.y_range) if panel.log else panel.y_range
            figure.update_yaxes(range=[float(low), float(high)], row=row, col=column)
    figure.update_annotations(font_size=12)
    height = 440 if rows == 1 else 240 * rows + 80
    figure.update_layout(
        template="plotly_white",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="x unified" if len(chart.panels) == 1 else "closest",
        height=height + 20 * len(first),
        margin={"l": 60, "r": 40, "t": 40, "b": 50},
        # Below the panels: beside them, long names would take their room.
        legend={
            "groupclick": "togglegroup",
            "orientation": "h",
            "yanchor": "top",
            "y": -60 / (height - 90),
        },
        modebar={"orientation": "v"},
    )
    return figure


def _traces(line: Line, legend: bool) -> list[Any]:
    from plotly import graph_objects

    x, y = np.asarray(line.x).tolist(), _values(line.y)
    mode = "markers" if line.style == "points" else "lines+markers" if line.few else "lines"
    common = {"x": x, "legendgroup": line.name, "mode": mode}
    traces = []
    if line.low is not None and line.high is not None:
        edge = {
            **common,
            "mode": "lines",
            "line": {"width": 0},
            "showlegend": False,
            "hoverinfo": "skip",
        }
        traces.append(graph_objects.Scatter(y=_values(line.low), **edge))
        fill = {"fill": "tonexty", "fillcolor": _faint(line.colour)}
        traces.append(graph_objects.Scatter(y=_values(line.high), **edge, **fill))
    style = {"color": line.colour, "dash": _DASH[line.style], "width": 2}
    named = {"name": _literal(line.name), "showlegend": legend, "line": style}
    hover = {"hovertemplate": "%{x}: %{y:.4g}"}
    return [*traces, graph_objects.Scatter(y=y, **common, **named, **hover)]


def _literal(text: str) -> str:
    """Escape text so that Plotly reads it neither as markup nor as a formula."""
    return html.escape(text).replace("$", "&#36;")


def _values(values: Any) -> list[float | None]:
    """Return numbers for JSON, with None for NaN."""
    return [None if np.isnan(value) else value for value in finite(values).tolist()]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.1)"
