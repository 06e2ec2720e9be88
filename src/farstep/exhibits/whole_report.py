"""One page of everything that was computed, beside the paper's numbers."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from farstep.datasets.reading import read
from farstep.errors import FarstepError
from farstep.evaluation.evaluate import score
from farstep.exhibits.exhibit import PRESETS, Exhibit, Plan
from farstep.exhibits.reproduce import EXHIBITS, checked_plan, said, shown_html, store_in
from farstep.files import check_output, publish
from farstep.fitting.config import PAPER
from farstep.model import MODEL_FILE, load_model
from farstep.report.animation import animation
from farstep.report.interactive import chart_html
from farstep.report.page import image_html, page, table_html
from farstep.report.scores import score_charts
from farstep.report.table import Table
from farstep.runs.describe import flat
from farstep.runs.store import Store, read_record

_MODELS = 3
"""Models whose trajectories are drawn."""
_DIFFERENCES = 2
"""Settings in a model's name."""


def report(
    folders: Sequence[str | Path],
    out: str | Path = "report.html",
    *,
    seeds: int | None = None,
    force: bool = False,
) -> Path:
    """Write one self-contained page of all exhibits whose runs are there.

    Args:
        folders: What `reproduce` was given as `out`. An exhibit is shown once, from the first of
            them that has all of its runs.
        out: The file to write.
        seeds: How many seeds `reproduce` was given, if other than the preset's.
        force: Replace a file that is there.
    """
    check_output(Path(out), force)
    plans = [checked_plan(preset, seeds) for preset in reversed(PRESETS)]
    stores = {Path(folder): _store(Path(folder)) for folder in folders}
    sections, missing = [], []
    for exhibit in EXHIBITS.values():
        found = _found(exhibit, plans, stores)
        if found is None:
            missing.append(exhibit)
        else:
            sections.append(_section(exhibit, *found, plans))
    sections += next(filter(None, map(_trajectories, stores.values())), [])
    records = {one["name"]: one for store in stores.values() for one in store.finished()}
    names = [name for name, _ in sections]
    links = "".join(f'<a href="#{html.escape(name)}">{html.escape(name)}</a>' for name in names)
    parts = [_about(folders, missing), f"<nav>{links}</nav>"]
    parts += [part for _, section in sections for part in section]
    parts += ['<h2 id="timings">Timings</h2>', table_html(timings(list(records.values())))]
    publish(Path(out), {"": page("Farstep: what was computed", parts).encode()}, force)
    return Path(out)


def timings(records: Sequence[dict[str, Any]]) -> Table:
    """Return how long runs took, by kind, beside what an estimate without any of them says."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        if record["seconds"]:
            times = (record["seconds"], record.get("usual_seconds") or float("nan"))
            kinds.setdefault(record["kind"], []).append(times)
    rows = []
    for kind, times in sorted(kinds.items()):
        took, expected = zip(*times, strict=True)
        hours = [f"{sum(one) / 3600:.2f}" for one in (took, expected)]
        rows.append([kind, str(len(took)), f"{median(took):.0f}", *hours])
    columns = ["kind of run", "runs", "median, s", "all, hours of one core", "expected, hours"]
    return Table("Timings", columns, rows)


def _store(folder: Path) -> Store:
    if not folder.is_dir():
        raise FarstepError(f"there is no directory {folder}; give --out of farstep reproduce.")
    return store_in(folder)


def _found(
    exhibit: Exhibit, plans: Sequence[Plan], stores: Mapping[Path, Store]
) -> tuple[Path, Store, Plan] | None:
    """Return the first folder in which all runs of a plan are, and the first such plan."""
    for folder, store in stores.items():
        for plan in plans:
            if not store.missing(exhibit.runs(plan)):
                return folder, store, plan
    return None


def _section(
    exhibit: Exhibit, folder: Path, store: Store, plan: Plan, plans: Sequence[Plan]
) -> tuple[str, list[str]]:
    runs = exhibit.runs(plan)
    records = {run: store.record(run) for run in runs}
    results = {run: record["result"] for run, record in records.items() if record is not None}
    shown = said(exhibit.show(plan, results), plan.preset)
    seeds = "" if plan.seeds is None else f" --seeds {plan.seeds}"
    same = all(set(exhibit.runs(other)) == set(runs) for other in plans)
    preset = "" if same else f" --preset {plan.preset}"
    command = f"farstep reproduce {exhibit.name}{preset}{seeds} --out {folder}"
    recorded = runs and not any(read_record(store.place(run)) for run in runs)
    made = "From the records that come with the source; made by" if recorded else "Made by"
    return exhibit.name, [
        f'<h2 id="{exhibit.name}">{exhibit.name}</h2><p>{html.escape(exhibit.about)}.</p>',
        *shown_html(shown, prefix=f"{exhibit.name}-"),
        f'<p class="note">{made} <code>{html.escape(command)}</code></p>',
    ]


def _trajectories(store: Store) -> list[tuple[str, list[str]]]:
    """Draw some of the models that are there, with their files, on a test episode."""
    found = [
        record
        for record in store.finished()
        if record["kind"] == "fit"
        and (store.folder / record["name"] / "model" / MODEL_FILE).exists()
        and record["settings"]["config"].get("stride", 1) == 1
    ]
    if not found:
        return []
    data = found[0]["settings"]["data"]
    same = [one for one in found if one["settings"]["data"] == data]
    first = [one for one in same if not one["settings"]["config"].get("seed")][:_MODELS]
    models = {
        name: load_model(store.folder / one["name"] / "model")
        for name, one in zip(model_names(first), first, strict=True)
    }
    if not models:
        return []
    test = read(data).split().test.take([0])
    scored = score(models, test, min(100, int(test.lengths.max())))
    charts = score_charts(scored.scores, scored.trajectories, scored.signals)
    parts = [
        f'<h2 id="trajectories">Trajectories</h2><p>Models of {html.escape(data)}, seed 0.</p>'
    ]
    parts += [chart_html(chart) for chart in charts if chart.name == "trajectories"]
    moving = animation(scored.trajectories, scored.system)
    if moving is not None:
        parts.append(image_html(moving, "gif", "The real system beside the imagined ones"))
    return [("trajectories", parts)]


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


def _about(folders: Sequence[str | Path], missing: Sequence[Exhibit]) -> str:
    where = ", ".join(f"<code>{html.escape(str(folder))}</code>" for folder in folders)
    text = (
        f"<p>From the runs in {where} and the records that come with the source. ± is Student's "
        "90 % interval over seeds, unless something else is said.</p>"
    )
    if missing:
        names = ", ".join(exhibit.name for exhibit in missing)
        text += f'<p class="note">Not computed, or not all of it: {html.escape(names)}.</p>'
    return text
