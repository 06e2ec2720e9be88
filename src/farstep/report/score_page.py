"""One self-contained page about a scoring."""

import html
from collections.abc import Sequence

from farstep.report.charts import Chart
from farstep.report.interactive import chart_html
from farstep.report.page import image_html, page, table_html
from farstep.report.score_table import score_tables
from farstep.scoring.score import Score
from farstep.signals import Signals

_WORDS = (
    "R² of 1 is a perfect prediction, 0 is no better than always the mean, and below 0 is worse. "
    "R²(25) is that of 25 steps ahead. Growth is by how much an error grows in a step. Persistence "
    "predicts that nothing changes, linear is a linear model of the same data, and the oracle is "
    "the simulator itself. Coverage is the share of states inside a model's intervals; CRPS is the "
    "error of a whole predicted distribution, in standard deviations of the states."
)


def score_page(
    scores: Sequence[Score],
    signals: Signals,
    charts: Sequence[Chart],
    moving: bytes | None,
    about: str,
    said: Sequence[str],
    notes: Sequence[str],
) -> str:
    """Return the page: what is said of each model, tables, charts and the animation."""
    parts = [*(f"<p><strong>{html.escape(sentence)}</strong></p>" for sentence in said)]
    parts += [
        f"<p>R² is over all sub-trajectories of {html.escape(about)}; calibration is from some of "
        "their starts, evenly spaced.</p>"
    ]
    parts += [f'<p class="note">Note: {html.escape(note)}</p>' for note in notes]
    parts.append(f'<p class="note">{_WORDS}</p>')
    tables = [
        f"<h2>{html.escape(table.title)}</h2>{table_html(table)}"
        for table in score_tables(scores, signals)
    ]
    parts += [tables[0], *(chart_html(chart) for chart in charts), *tables[1:]]
    if moving is not None:
        parts.append("<h2>Real and imagined, side by side</h2>")
        parts.append(image_html(moving, "gif", "The real system beside the imagined ones"))
    return page("How far can the models be trusted?", parts)
