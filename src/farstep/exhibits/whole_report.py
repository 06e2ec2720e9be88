"""One page of everything that was computed, beside the paper's numbers."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from farstep.errors import FarstepError
from farstep.exhibits.drawn_models import trajectories
from farstep.exhibits.exhibit import PRESETS, Exhibit, Plan
from farstep.exhibits.reproduce import EXHIBITS, checked_plan, committed, said, shown_html
from farstep.fields import check_word
from farstep.files import check_output, publish
from farstep.report.page import page, table_html
from farstep.report.table import Table
from farstep.runs.describe import seed_of
from farstep.runs.run import name_of
from farstep.runs.store import RECORD, Store, read_record

_FEWER = (None, 2, 1)
"""Numbers of seeds that are looked for where none is asked for; first the preset's."""


def report(
    folders: Sequence[str | Path],
    out: str | Path = "report.html",
    *,
    only: Sequence[str] = (),
    seeds: int | None = None,
    force: bool = False,
) -> Path:
    """Write one self-contained page of all exhibits whose runs are there.

    Args:
        folders: What `reproduce` was given as `out`. An exhibit is shown once, from the first of
            them that has all of its runs.
        out: The file to write.
        only: The names of some exhibits; without them all.
        seeds: How many seeds `reproduce` was given. Without it the preset's, or 2 or 1 where only
            so many are complete.
        force: Replace a file that is there.
    """
    check_output(Path(out), force)
    if isinstance(folders, str | Path):
        folders = [folders]
    if not folders:
        raise FarstepError("name a directory: --out of farstep reproduce.")
    tried = _FEWER if seeds is None else (seeds,)
    plans = [checked_plan(preset, count) for preset in reversed(PRESETS) for count in tried]
    stores = {Path(folder): _store(Path(folder)) for folder in folders}
    sections, missing = [], []
    records = {one["name"]: one for store in stores.values() for one in store.finished()}
    for name in only:
        check_word("exhibit", name, EXHIBITS)
    for exhibit in EXHIBITS.values():
        if only and exhibit.name not in only:
            continue
        found = _found(exhibit, plans, stores)
        if found is None:
            missing.append(exhibit)
        else:
            sections.append(_section(exhibit, *found, plans))
            named = {name_of(run): found[1].record(run) for run in exhibit.runs(found[2])}
            records |= {name: one for name, one in named.items() if one is not None}
    sections += next(filter(None, map(trajectories, stores.values())), [])
    names = [name for name, _ in sections]
    links = "".join(f'<a href="#{html.escape(name)}">{html.escape(name)}</a>' for name in names)
    parts = [_about(folders, missing, list(records.values())), f"<nav>{links}</nav>"]
    parts += [part for _, section in sections for part in section]
    parts += ['<h2 id="timings">Timings</h2>', table_html(timings(list(records.values())))]
    publish(Path(out), {"": page("Farstep: what was computed", parts).encode()}, force)
    return Path(out)


def timings(records: Sequence[dict[str, Any]]) -> Table:
    """Return how long runs took, by kind, and what was expected of those that say it.

    Runs that were killed and went on do not tell.
    """
    kinds: dict[str, list[tuple[float, float | None]]] = {}
    for record in records:
        if record["seconds"]:
            times = (record["seconds"], record.get("usual_seconds"))
            kinds.setdefault(record["kind"], []).append(times)
    rows = []
    for kind, times in sorted(kinds.items()):
        took = [one for one, _ in times]
        known = [(one, expected) for one, expected in times if expected]
        share = sum(t for t, _ in known) / sum(e for _, e in known) if known else None
        told = "" if share is None else f"{share:.2f} ({len(known)} runs)"
        hours = f"{sum(took) / 3600:.2f}"
        rows.append([kind, str(len(took)), f"{median(took):.0f}", hours, told])
    columns = ["kind of run", "runs", "median, s", "all, hours of one core", "taken / expected"]
    return Table("Timings", columns, rows)


def _store(folder: Path) -> Store:
    """Return the runs of a directory: those in its `runs`, or in itself if it is such a one."""
    if not folder.is_dir():
        raise FarstepError(f"there is no directory {folder}; give --out of farstep reproduce.")
    inside = folder / "runs"
    if not inside.is_dir() and any(folder.glob(f"*/{RECORD}")):
        return Store(folder, committed())
    if not inside.is_dir() and not any((folder / name).is_dir() for name in EXHIBITS):
        raise FarstepError(f"{folder} has no runs; give --out of farstep reproduce.")
    return Store(inside, committed())


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
    alike = [other for other in plans if other.seeds == plan.seeds]
    same = all(set(exhibit.runs(other)) == set(runs) for other in alike)
    preset = "" if same else f" --preset {plan.preset}"
    command = f"farstep reproduce {exhibit.name}{preset}{seeds} --out {folder}"
    recorded = runs and not any(read_record(store.place(run)) for run in runs)
    made = "From the records that come with the source; made by" if recorded else "Made by"
    seeds_of_all = [seed_of(record) for record in records.values() if record is not None]
    counted = sorted({seed for seed in seeds_of_all if seed is not None})
    by = f" Seeds: {', '.join(map(str, counted))}." if counted else ""
    return exhibit.name, [
        f'<h2 id="{exhibit.name}">{exhibit.name}</h2><p>{html.escape(exhibit.about)}.</p>',
        *shown_html(shown, prefix=f"{exhibit.name}-"),
        f'<p class="note">{made} <code>{html.escape(command)}</code>.{by}</p>',
    ]


def _about(
    folders: Sequence[str | Path], missing: Sequence[Exhibit], records: Sequence[dict[str, Any]]
) -> str:
    where = ", ".join(f"<code>{html.escape(str(folder))}</code>" for folder in folders)
    text = (
        f"<p>From the runs in {where} and the records that come with the source. ± is Student's "
        "90 % interval over seeds, unless something else is said.</p>"
    )
    versions = sorted({f"{n} {v}" for one in records for n, v in one.get("versions", {}).items()})
    revisions = sorted({one["revision"] for one in records if one.get("revision")})
    machines = sorted({one["machine"] for one in records if one.get("machine")})
    text += f'<p class="note">{len(records)} runs, by {html.escape(", ".join(versions))}'
    text += f"; revisions {html.escape(', '.join(revisions))}" if revisions else ""
    text += f"; on {html.escape('; '.join(machines))}.</p>" if machines else ".</p>"
    if missing:
        names = ", ".join(exhibit.name for exhibit in missing)
        text += f'<p class="note">Not computed, or not all of it: {html.escape(names)}.</p>'
    return text
