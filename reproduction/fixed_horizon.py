"""R² of fixed-horizon models, composed up to 100 steps ahead (the paper's figure 1)."""

from reproduction.r2_figure import R2Figure, one_chart_each, paper_config

HORIZONS = (1, 2, 4, 10, 50, 100)

FIGURE = R2Figure(
    name="fixed-horizon",
    about="R² of models that predict h = 1, 2, 4, 10, 50, 100 steps at once, up to 100 steps ahead",
    datasets=("random", "medium"),
    models={f"h = {h}": paper_config(fixed_horizon=h) for h in HORIZONS},
    charts=one_chart_each("Fixed-horizon models of h steps"),
)
