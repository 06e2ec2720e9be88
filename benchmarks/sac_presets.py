"""The presets `paper` and `fast` in one model: real return against time and updates.

The model is of the development data (`development_data.py`). Each run keeps its checkpoints in
`benchmarks/work` and its curve in `results/sac_presets`, which is committed: what is there is
not computed again.
"""

import json
import statistics
from pathlib import Path

import numpy as np

from benchmarks.development_data import WORK, good_model, sac_trace
from benchmarks.harness import RESULTS, Result
from benchmarks.pinned import run_all
from farstep.agents.config import agent_config
from farstep.agents.curve import AgentCurve
from farstep.agents.train import train
from farstep.imagination.config import ImagineConfig
from farstep.imagination.imagine import imagine
from farstep.loops.shared import BRANCHED
from farstep.report.agents import curve_chart
from farstep.report.static import save_chart
from farstep.scoring.intervals import half_width
from farstep.systems.collect import collect

SEEDS = {"paper": (0,), "fast": (0, 1, 2)}
WHERE = {"paper": ImagineConfig(), "fast": BRANCHED}
"""As in the paper, and as in the loops."""
EPISODES = 10
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "presets"


def run() -> Result:
    runs = [(name, seed) for name, seeds in SEEDS.items() for seed in seeds]
    missing = [one for one in runs if not _stored(*one).exists()]
    if missing:
        good_model(sac_trace().split())
    run_all([f"benchmarks.sac_presets:make{one}" for one in missing])
    found = {one: json.loads(_stored(*one).read_text()) for one in runs}
    curves = {one: AgentCurve.from_json(found[one]["curve"]) for one in runs}
    chart = curve_chart(
        {name: [curves[name, seed] for seed in seeds] for name, seeds in SEEDS.items()},
        "Two presets, one model of cartpole swing-up",
        "presets",
        axes=("cpu_seconds", "updates"),
    )
    save_chart(chart, FIGURE, force=True)
    paper = [one for one in runs if one[0] == "paper"]
    aim = statistics.mean(statistics.mean(found[one]["returns"]) for one in paper)
    time = statistics.mean(curves[one].last["cpu_seconds"] or 0.0 for one in paper)
    rows = []
    for (name, seed), one in curves.items():
        returns, seconds = np.array(found[name, seed]["returns"]), one.last["cpu_seconds"] or 0.0
        rows.append(
            (
                *(name, str(seed), f"{one.last['steps']:.0f}", f"{one.last['updates']:.0f}"),
                f"{seconds:.0f} ({seconds / time:.1%})",
                f"{returns.mean():.1f} ± {half_width(returns):.1f} ({returns.mean() / aim:.1%})",
                f"{one.last['imagined_return']:.1f}",
            )
        )
    return Result(
        how="One core each; seconds are of processor time, since other runs shared the machine. "
        "The model: three SiLU layers, h = 5, uniform weights, of 36 episodes of SAC learning on "
        f"the real cartpole. Real return: of the policy, in {EPISODES} episodes, ± half of "
        "Student's 90 % interval over them. In brackets: of the paper preset's. fast: in episodes "
        "of 300 steps from any recorded state.",
        columns=(
            *("preset", "seed", "steps", "updates", "seconds", "real return", "imagined return"),
        ),
        rows=rows,
    )


def make(name: str, seed: int) -> None:
    """Train one agent; keep its curve, and what its policy earns."""
    parts = sac_trace().split()
    imagined = imagine(good_model(parts), None, parts.train, WHERE[name])
    agent = train(
        imagined, agent_config(name, eval_every=20_000), seed=seed, out=WORK / f"{name}-{seed}"
    )
    real = collect("cartpole-swingup", agent.policy, EPISODES, seed=1000 + seed)
    content = {"curve": agent.curve.to_json(), "returns": [episode.total for episode in real]}
    stored = _stored(name, seed)
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_text(json.dumps(content, indent=1) + "\n")


def _stored(name: str, seed: int) -> Path:
    return RESULTS / "sac_presets" / f"{name}-{seed}.json"
