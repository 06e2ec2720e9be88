"""The decaying weights themselves (the paper's figure 3)."""

import jax.numpy as jnp
import numpy as np

from farstep import decay
from farstep.plotting.charts import COLOURS, Chart, Line, Panel
from reproduction.figure import Drawing, StaticFigure

HORIZON = 10
BETAS = (0.1, 0.3, 0.5, 0.75, 0.9, 1.0, 1.2)


def draw() -> Drawing:
    """Draw α_j against j for several β."""
    unused = jnp.ones(HORIZON)
    lines = [
        Line(
            f"β = {beta:g}",
            np.arange(1, HORIZON + 1),
            np.asarray(decay(beta).weights(unused, unused)),
            colour=colour,
        )
        for beta, colour in zip(BETAS, COLOURS, strict=False)
    ]
    panel = Panel("", lines, "j, steps ahead", "α_j")
    note = "Scaled to sum to one over j = 1 … 10."
    title = "Weights that decay by β a step, h = 10"
    return Drawing([Chart("weights", title, [panel], note=note)])


FIGURE = StaticFigure("weight-profiles", "decaying weights for several β at h = 10", draw)
