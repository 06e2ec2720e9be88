"""R² of the models that the paper trains agents in, on all four datasets."""

from farstep.exhibits.exhibit import DATASETS
from farstep.exhibits.scored import PROFILES, ScoredExhibit, Scores, agents_model, line_name
from farstep.report.charts import Chart
from farstep.report.scores import r2_chart


def draw(scores: Scores) -> list[Chart]:
    """One picture for each dataset."""
    return [
        r2_chart(found, f"Models to train agents in, {data}", name=data)
        for data, found in scores.items()
    ]


EXHIBIT = ScoredExhibit(
    name="dataset-r2",
    about="R² of models with h = 1, 2, 4, 10 that predict differences, on all datasets",
    datasets=DATASETS,
    cases={line_name(horizon): agents_model(horizon) for horizon in PROFILES},
    draw=draw,
)
