"""R² of all weight profiles at h = 2, 4, 10 (the paper's figure 4)."""

from dataclasses import replace

from farstep.plotting.charts import Chart
from farstep.plotting.evaluation_charts import r2_chart
from reproduction.r2_figure import Metrics, R2Figure, paper_config

HORIZONS = (2, 4, 10)
PROFILES = (
    "uniform", "decay:0.9", "decay:0.75", "decay:0.5", "decay:0.3", "proportional", "learned",
)  # fmt: skip
ONE_STEP = "h = 1"


def charts(metrics: Metrics) -> list[Chart]:
    """Draw one picture for each dataset, with a panel for each h; h = 1 is in all panels."""
    drawn = []
    for data, models in metrics.items():
        panels = []
        for horizon in HORIZONS:
            prefix = f"h = {horizon}, "
            shown = [
                replace(model, name=model.name.removeprefix(prefix))
                for model in models
                if model.name.startswith(prefix) or model.kind == "oracle" or model.name == ONE_STEP
            ]
            panels.append(replace(r2_chart(shown).panels[0], title=f"h = {horizon}"))
        drawn.append(Chart(data, f"Weight profiles, {data}", panels, columns=3))
    return drawn


FIGURE = R2Figure(
    name="profile-r2",
    about="R² of models fitted with all weight profiles at h = 2, 4, 10",
    datasets=("medium", "expert_noisy", "random"),
    models={
        ONE_STEP: paper_config(),
        **{
            f"h = {h}, {weights}": paper_config(horizon=h, weights=weights)
            for h in HORIZONS
            for weights in PROFILES
        },
    },
    charts=charts,
)
