"""Models of a store, drawn: what they imagine beside what happened."""

import html
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from farstep.datasets.reading import read
from farstep.evaluation.evaluate import score
from farstep.fitting.config import PAPER
from farstep.model import MODEL_FILE, load_model
from farstep.report.animation import animation
from farstep.report.interactive import chart_html
from farstep.report.page import image_html
from farstep.report.scores import score_charts
from farstep.runs.describe import flat
from farstep.runs.store import Store

_MODELS = 3
"""How many are drawn at most."""
_DIFFERENCES = 2
"""Settings in a model's name."""


def trajectories(store: Store) -> list[tuple[str, list[str]]]:
    """Draw some of the models whose files are there on a test episode."""
    chosen = choice(
        [
            record
            for record in store.finished()
            if record["kind"] == "fit"
            and (store.folder / record["name"] / "model" / MODEL_FILE).exists()
        ]
    )
    if not chosen:
        return []
    places = [store.folder / one["name"] / "model" for one in chosen]
    models = dict(zip(model_names(chosen), map(load_model, places), strict=True))
    data = chosen[0]["settings"]["data"]
    test = read(data).split().test.take([0])
    steps = min(100, int(test.lengths.max()))
    scored = score(models, test, steps)
    charts = score_charts(scored.scores, scored.trajectories, scored.signals)
    parts = [
        f'<h2 id="trajectories">Trajectories</h2><p>Models of {html.escape(data)}, seed 0, on the '
        "first test episode.</p>"
    ]
    parts += [chart_html(chart) for chart in charts if chart.name == "trajectories"]
    moving = animation(scored.trajectories, scored.system)
    if moving is not None:
        parts.append(image_html(moving, "gif", "The real system beside the imagined ones"))
    command = f"farstep score {' '.join(map(str, places))} --data {data} --horizon {steps}"
    parts.append(f'<p class="note">Also by <code>{html.escape(command)}</code></p>')
    return [("trajectories", parts)]


def choice(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a fit of seed 0 for each of some horizons, of the dataset that has most of them."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for record in records:
        settings = record["settings"]["config"]
        if settings.get("stride", 1) == 1 and not settings.get("seed"):
            of_data = found.setdefault(record["settings"]["data"], {})
            of_data.setdefault(settings.get("horizon", PAPER.horizon), record)
    most = max(found.values(), key=len, default={})
    return [most[horizon] for horizon in sorted(most)[:_MODELS]]


def model_names(records: Sequence[dict[str, Any]]) -> list[str]:
    """Tell fits by their horizon, by some of what else differs, and if need be by a number."""
    told = [flat({**asdict(PAPER), **one["settings"]["config"]}) for one in records]
    differs = [
        name
        for name in dict.fromkeys(name for one in told for name in one)
        if len({str(one.get(name)) for one in told}) > 1 and name != "horizon"
    ]
    names = [
        ", ".join([f"h = {one['horizon']}", *(f"{n} {one.get(n)}" for n in differs[:_DIFFERENCES])])
        for one in told
    ]
    return [n if names.count(n) == 1 else f"{n} ({i})" for i, n in enumerate(names, 1)]
