"""R² of direct models, each composed up to 100 steps ahead (the paper's figure 1)."""

from farstep.exhibits.scored import ScoredExhibit, Scores, static
from farstep.report.charts import Chart
from farstep.report.scores import r2_chart

SPANS = (1, 2, 4, 10, 50, 100)


def draw(scores: Scores) -> list[Chart]:
    """One picture for each dataset."""
    return [
        r2_chart(found, f"Direct models that span h steps, {data}", name=f"{data}")
        for data, found in scores.items()
    ]


EXHIBIT = ScoredExhibit(
    name="fixed-horizon",
    about="R² of direct models that span h = 1, 2, 4, 10, 50, 100 steps, composed 100 steps ahead",
    datasets=("random", "medium"),
    cases={f"h = {span}": static(stride=span) for span in SPANS},
    draw=draw,
)
