"""The HTML report of an evaluation, and the files beside it."""

import html
import json
from collections.abc import Sequence
from pathlib import Path

from farstep.evaluation.evaluation import Evaluation
from farstep.plotting.animation import animation
from farstep.plotting.charts import Chart
from farstep.plotting.evaluation_charts import evaluation_charts
from farstep.plotting.evaluation_tables import evaluation_tables
from farstep.plotting.html_page import image_html, page, table_html
from farstep.plotting.interactive import chart_html
from farstep.plotting.static import check_figure, save_chart
from farstep.storage.files import publish

_GLOSSARY = (
    "R² is 1 for a perfect prediction, 0 for the mean of the data, and negative if worse. "
    "R²(25) is R² 25 steps ahead. Growth is the growth of the error per step. Persistence predicts "
    "that nothing changes, linear is a linear model fitted on the training data, and the oracle is "
    "the simulator itself. Coverage is the share of observations inside a model's intervals. CRPS "
    "is the error of the predicted distribution, in standard deviations of the observations."
)


def save_report(evaluation: Evaluation, out: Path, force: bool = False) -> list[Path]:
    """Write evaluation.json, the charts as PNG and PDF, an animation, and report.html.

    Only systems in `animation.VIEWS` have an animation.
    """
    charts = evaluation_charts(evaluation.models, evaluation.example_rollouts, evaluation.signals)
    for chart in charts:
        check_figure(out / chart.name, force)
    written = [path for chart in charts for path in save_chart(chart, out / chart.name, force)]
    contents = {"evaluation.json": json.dumps(evaluation.to_json(), indent=1).encode() + b"\n"}
    gif = animation(evaluation.example_rollouts, evaluation.system)
    if gif is not None:
        contents["animation.gif"] = gif
    contents["report.html"] = report_html(evaluation, charts, gif).encode()
    for name, data in contents.items():
        publish(out / name, {"": data}, force)
    return [*written, *(out / name for name in contents)]


def report_html(evaluation: Evaluation, charts: Sequence[Chart], gif: bytes | None) -> str:
    """Return one self-contained page: summary, tables, charts and the animation."""
    about = html.escape(evaluation.about)
    parts = [f"<p><strong>{html.escape(text)}</strong></p>" for text in evaluation.summary]
    parts.append(
        f"<p>R² is over all sub-trajectories of {about}; calibration is over evenly spaced starts."
        "</p>"
    )
    parts += [f'<p class="note">Note: {html.escape(note)}</p>' for note in evaluation.notes]
    parts.append(f'<p class="note">{_GLOSSARY}</p>')
    tables = [
        f"<h2>{html.escape(table.title)}</h2>{table_html(table)}"
        for table in evaluation_tables(evaluation.models, evaluation.signals)
    ]
    parts += [tables[0], *(chart_html(chart) for chart in charts), *tables[1:]]
    if gif is not None:
        parts.append("<h2>Real and predicted motion</h2>")
        parts.append(image_html(gif, "gif", "The real system beside the predictions of each model"))
    return page("Evaluation of dynamics models", parts)
