"""R² at h = 2 for weights (α, 1 − α) (the paper's figure 2)."""

from reproduction.r2_figure import R2Figure, one_chart_each, paper_config

ALPHAS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.0)

FIGURE = R2Figure(
    name="alpha-study",
    about="R² of models fitted with h = 2 and weights (α, 1 − α)",
    datasets=("random", "medium"),
    models={
        f"α = {alpha:g}": paper_config(horizon=2, weights=f"explicit:{alpha},{1 - alpha}")
        for alpha in ALPHAS
    },
    charts=one_chart_each("h = 2 with weights (α, 1 − α)"),
)
