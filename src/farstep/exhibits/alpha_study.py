"""R² at h = 2 for weights (α, 1 − α) (the paper's figure 2)."""

from farstep.exhibits.scored import ScoredExhibit, one_chart_each, static

ALPHAS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.0)


EXHIBIT = ScoredExhibit(
    name="alpha-study",
    about="R² of models fitted with h = 2 and weights (α, 1 − α)",
    datasets=("random", "medium"),
    cases={f"α = {alpha:g}": static(2, f"explicit:{alpha},{1 - alpha}") for alpha in ALPHAS},
    draw=one_chart_each("h = 2 with weights (α, 1 − α)"),
)
