"""Data to develop with: traces of SAC learning on real systems, and a model of the first.

`farstep train cartpole-swingup --steps 50000 --eval-every 5000 --seed 0` makes the first. All are
kept in `benchmarks/work`, which is not committed: a trace takes about 8 minutes of one core, the
model 3. What is there is used as it is.
"""

from pathlib import Path

from farstep.agents.online import TRACE_FILE
from farstep.agents.train import train
from farstep.datasets.reading import read
from farstep.episodes import Episodes, Split
from farstep.fitting.fit import fit
from farstep.model import MODEL_FILE, Model, load_model

WORK = Path(__file__).parent / "work"


def sac_trace(system: str = "cartpole-swingup", seed: int = 0) -> Episodes:
    """Return 50 episodes of an agent that learns on the real system."""
    place = WORK / f"trace-{system}-{seed}"
    if not (place / "policy.safetensors").exists():
        train(system, steps=50_000, eval_every=5_000, seed=seed, out=place)
    return read(place / TRACE_FILE)


def good_model(parts: Split) -> Model:
    """Return a model that is accurate far out: three SiLU layers, h = 5, uniform weights."""
    place = WORK / "good-model"
    if (place / MODEL_FILE).exists():
        return load_model(place)
    return fit(
        parts.train,
        parts.validation,
        "paper",
        horizon=5,
        target="delta",
        depth=3,
        activation="silu",
        normalisation="none",
        dropout=0.0,
        batch=256,
        learning_rate=3e-3,
        schedule="cosine",
        epochs=60,
        out=place,
    )


if __name__ == "__main__":
    good_model(sac_trace().split())
