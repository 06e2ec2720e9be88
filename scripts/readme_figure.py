"""Draw docs/figures/r2.png: R² against the horizon on noisy cartpole.

Usage: python scripts/readme_figure.py [OUT.png]

Collects 40 episodes of cartpole swing-up with noisy sensors. The actions are random, each held for
15 to 60 steps. Fits the default network one step ahead and with the default horizon, three seeds
each, with equally many model steps. Takes about three minutes on one core.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import farstep as fs
from farstep.evaluation.evaluation import Evaluation

SEEDS = range(3)
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "r2.png"
ONE_STEP, DEFAULT = "one step (h = 1)", "default horizon"
STYLES = {"oracle": ("black", "--"), DEFAULT: ("#d55e00", "-"), ONE_STEP: ("#0072b2", "-")}


class HeldActions:
    """Random actions, each held for 15 to 60 steps. Unlike white noise they swing the pole."""

    def reset(self, seed: np.random.SeedSequence) -> None:
        """Begin an episode with a random generator of its own."""
        self._rng, self._left = np.random.default_rng(seed), 0

    def predict(self, observations: np.ndarray) -> np.ndarray:
        """Return the held action, or draw another."""
        del observations
        if self._left == 0:
            self._left = int(self._rng.integers(15, 61))
            self._action = self._rng.uniform(-1.0, 1.0, 1).astype(np.float32)
        self._left -= 1
        return self._action


def draw(result: Evaluation, path: Path) -> None:
    """Draw a line for each seed, since the mean hides a model that diverges."""
    figure = Figure(figsize=(7.2, 3.6), dpi=160, layout="constrained")
    axes = figure.subplots()
    for name, (colour, style) in STYLES.items():
        model = result[name]
        for seed, r2 in enumerate(model.r2):
            label = name if seed == 0 else None
            lowest = np.maximum(r2, -1.0)  # below the axes, also where R² is −∞
            axes.plot(model.steps, lowest, style, color=colour, lw=1.4, label=label)
    axes.set(xlabel="steps ahead", ylabel="R²", xlim=(0, 100), ylim=(0.0, 1.02))
    axes.grid(alpha=0.25)
    axes.legend(loc="lower center", frameon=False)
    figure.savefig(path)


def main(path: Path = FIGURE) -> None:
    """Collect, fit, evaluate, draw, and print the table."""
    data = fs.collect("cartpole-swingup-noisy", HeldActions(), episodes=40, seed=0)
    train, validation, test = data.split(seed=0)
    one_step = {"horizon": 1, "weights": "uniform"}
    models = {
        ONE_STEP: [fs.fit(train, validation, seed=seed, **one_step) for seed in SEEDS],
        DEFAULT: [fs.fit(train, validation, seed=seed) for seed in SEEDS],
    }
    result = fs.evaluate(models, test, horizon=100, train=train)
    for name in (ONE_STEP, DEFAULT):
        print(f"R²(100) of {name}, each seed:", result[name].r2[:, -1].round(3))
    print("chosen horizons:", [model.horizon for model in models[DEFAULT]])
    print(result)
    draw(result, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
