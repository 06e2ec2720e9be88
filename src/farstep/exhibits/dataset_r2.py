"""R² of the models that the paper trains agents in, on all four datasets."""

from farstep.exhibits.exhibit import DATASETS
from farstep.exhibits.scored import PROFILES, ScoredExhibit, agents_model, line_name, one_chart_each

EXHIBIT = ScoredExhibit(
    name="dataset-r2",
    about="R² of models with h = 1, 2, 4, 10 that predict differences, on all datasets",
    datasets=DATASETS,
    cases={line_name(horizon): agents_model(horizon) for horizon in PROFILES},
    draw=one_chart_each("Models to train agents in"),
)
