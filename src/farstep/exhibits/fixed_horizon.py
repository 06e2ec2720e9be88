"""R² of direct models, each composed up to 100 steps ahead (the paper's figure 1)."""

from farstep.exhibits.scored import ScoredExhibit, one_chart_each, static

SPANS = (1, 2, 4, 10, 50, 100)


EXHIBIT = ScoredExhibit(
    name="fixed-horizon",
    about="R² of direct models that span h = 1, 2, 4, 10, 50, 100 steps, composed 100 steps ahead",
    datasets=("random", "medium"),
    cases={f"h = {span}": static(stride=span) for span in SPANS},
    draw=one_chart_each("Direct models that span h steps"),
)
