"""report: one self-contained HTML page of reproduced figures."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from farstep import evaluate, load_dataset, load_model
from farstep.models.model import MODEL_FILE
from farstep.plotting.animation import animation
from farstep.plotting.charts import Table
from farstep.plotting.evaluation_charts import example_rollouts_chart
from farstep.plotting.html_page import image_html, page, table_html
from farstep.plotting.interactive import chart_html
from farstep.plotting.static import png
from farstep.storage.files import publish
from farstep.workflows.runs import Run, Store
from reproduction.reproduce import Reproduced
from reproduction.runs import ModelFit

_MODELS = 3
"""Models whose rollouts are drawn, at most."""
_STEPS = 100


def report(done: Sequence[Reproduced], out: str | Path) -> Path:
    """Write `report.html`: every figure, rollouts of some models, and timings."""
    out = Path(out)
    sections = {one.figure.name: _section(one, out) for one in done}
    rows = [(row, record) for one in done for row, record in one.records.items()]
    runs = [run for row, _ in rows for run in (row.run, *row.also)]
    sections["rollouts"] = _rollouts(runs, Store(out / "runs"))
    seconds = {
        run: record.seconds.get(run.kind) for row, record in rows for run in (row.run, *row.also)
    }
    sections["timings"] = ['<h2 id="timings">Timings</h2>', table_html(timings(seconds))]
    sections = {name: parts for name, parts in sections.items() if parts}
    links = "".join(f'<a href="#{html.escape(n)}">{html.escape(n)}</a>' for n in sections)
    machines = sorted({record.machine for _, record in rows if record.machine})
    revisions = sorted({record.revision for _, record in rows if record.revision})
    about = "± is Student's 90 % interval over seeds, unless the text says otherwise."
    about += f" {len(rows)} rows; revisions {', '.join(revisions)}" if revisions else ""
    about += f"; machines: {'; '.join(machines)}." if machines else ""
    parts = [f'<p class="note">{html.escape(about)}</p>', f"<nav>{links}</nav>"]
    parts += [part for section in sections.values() for part in section]
    content = page("Farstep: reproduced figures", parts).encode()
    publish(out / "report.html", {"": content}, force=True)
    return out / "report.html"


def timings(seconds: Mapping[Run, float | None]) -> Table:
    """Return how long runs took, by kind, beside the expectation of the dry run."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    for run, took in seconds.items():
        if took:
            kinds.setdefault(run.kind, []).append((took, run.usual_seconds))
    rows = []
    for kind, times in sorted(kinds.items()):
        took, expected = zip(*times, strict=True)
        hours, ratio = f"{sum(took) / 3600:.2f}", f"{sum(took) / sum(expected):.2f}"
        rows.append([kind, str(len(took)), f"{median(took):.0f}", hours, ratio])
    columns = ["kind of run", "runs", "median, s", "total, hours of one core", "taken / expected"]
    return Table("Timings", columns, rows)


def _section(one: Reproduced, out: Path) -> list[str]:
    """Return a figure as parts of the page."""
    name, plan, drawing = one.figure.name, one.plan, one.drawing
    parts = [f'<h2 id="{name}">{name}</h2><p>{html.escape(one.figure.about)}.</p>']
    parts.append(f'<p class="note">{html.escape(" ".join(drawing.notes))}</p>')
    charts = [replace(chart, name=f"{name}-{chart.name}") for chart in drawing.charts]
    parts += [chart_html(chart) for chart in charts]
    parts += [image_html(png(figure), "png", stem) for stem, figure in drawing.pictures.items()]
    for title, table in drawing.tables.items():
        parts += [f"<h3>{html.escape(f'{title}: {table.title}')}</h3>{table_html(table)}"]
    seeds = sorted({row.seed for row in one.records if row.seed is not None})
    command = f"python -m reproduction {name} --preset {plan.preset}"
    command += "" if plan.seeds is None else f" --seeds {plan.seeds}"
    origin = "" if one.computed or not one.records else "From recorded rows. "
    origin += f"Command: <code>{html.escape(f'{command} --out {out}')}</code>."
    origin += f" Seeds: {', '.join(map(str, seeds))}." if seeds else ""
    return [*parts, f'<p class="note">{origin}</p>']


def _rollouts(runs: Sequence[Run], store: Store) -> list[str]:
    """Draw rollouts of some models whose files are in the store, on a test episode."""
    fits = [
        run
        for run in runs
        if isinstance(run, ModelFit) and (store.directory(run) / "model" / MODEL_FILE).exists()
    ]
    chosen = models_to_draw(fits)
    if not chosen:
        return []
    paths = {name: store.directory(fit) / "model" for name, fit in chosen.items()}
    data = next(iter(chosen.values())).data
    test = load_dataset(data).split().test.take([0])
    steps = min(_STEPS, int(test.lengths.max()))
    found = evaluate({name: load_model(path) for name, path in paths.items()}, test, steps)
    chart = example_rollouts_chart(found.models, found.example_rollouts, found.signals)
    parts = [f'<h2 id="rollouts">Rollouts</h2><p>Models of {data} on the first test episode.</p>']
    parts.append(chart_html(chart))
    moving = animation(found.example_rollouts, found.system)
    if moving is not None:
        parts.append(image_html(moving, "gif", "The real system beside the models"))
    command = f"farstep evaluate {data} --model {' '.join(map(str, paths.values()))}"
    return [*parts, f'<p class="note">More: <code>{html.escape(command)}</code></p>']


def models_to_draw(fits: Sequence[ModelFit]) -> dict[str, ModelFit]:
    """Return fits of seed 0 with different horizons, of the dataset that has most of them."""
    found: dict[str, dict[int, ModelFit]] = {}
    for fit in fits:
        if fit.config.fixed_horizon == 1 and fit.config.seed == 0:
            found.setdefault(fit.data, {}).setdefault(fit.config.horizon, fit)
    most = max(found.values(), key=len, default={})
    return {
        f"h = {horizon}, {most[horizon].config.weights}": most[horizon]
        for horizon in sorted(most)[:_MODELS]
    }
