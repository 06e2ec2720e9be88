"""R² of the models that the paper trains agents in, on all four datasets."""

from reproduction.figure import DATASETS
from reproduction.r2_figure import PROFILES, R2Figure, agent_model, model_name, one_chart_each

FIGURE = R2Figure(
    name="dataset-r2",
    about="R² of models with h = 1, 2, 4, 10 that predict differences, on all datasets",
    datasets=DATASETS,
    models={model_name(horizon): agent_model(horizon) for horizon in PROFILES},
    charts=one_chart_each("Models to train agents in"),
)
