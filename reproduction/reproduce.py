"""reproduce: names of figures in; rows, pictures, tables and a page out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from farstep import FarstepError
from farstep.plotting.static import save_chart, save_figure
from farstep.runtime.machine import machine
from farstep.settings import check_choice
from farstep.storage.files import publish
from farstep.storage.run_directory import read_result
from farstep.workflows.runs import Store
from farstep.workflows.sweep import sweep
from reproduction import (
    alpha_study,
    dataset_figures,
    dataset_r2,
    demo,
    fixed_horizon,
    iterated_curves,
    offline_table,
    profile_r2,
    records,
    return_r2,
    search,
    weight_profiles,
)
from reproduction.figure import Drawing, Figure, Plan, Row, short_name
from reproduction.records import Record

_PAPER: tuple[Figure, ...] = (
    fixed_horizon.FIGURE,
    alpha_study.FIGURE,
    weight_profiles.FIGURE,
    profile_r2.FIGURE,
    offline_table.FIGURE,
    return_r2.FIGURE,
    iterated_curves.FIGURE,
    search.FIGURE,
    dataset_figures.RETURNS,
    dataset_figures.OBSERVATIONS,
    dataset_r2.FIGURE,
)
FIGURES: dict[str, Figure] = {figure.name: figure for figure in (demo.FIGURE, *_PAPER)}
ALL = "all"
"""Every figure of the paper."""


@dataclass(frozen=True)
class Reproduced:
    """One figure, with its rows and the files that were written."""

    figure: Figure
    plan: Plan
    records: Mapping[Row, Record]
    drawing: Drawing
    computed: bool
    """Whether rows were computed in this directory; otherwise all come with the source tree."""
    files: tuple[Path, ...]


def reproduce(
    names: str | Sequence[str],
    out: str | Path,
    plan: Plan,
    *,
    workers: int = 1,
    ray: str | None = None,
    record: bool = False,
    figures: str | Path | None = None,
) -> list[Reproduced]:
    """Regenerate figures and tables of the paper: compute, evaluate, draw.

    A row that is recorded in `reproduction/results` with the same settings and data is not
    computed again.

    Args:
        names: Figures in `FIGURES`, or `all`.
        out: A directory. Every run has its own in `runs`, from which a killed one continues;
            every figure has one for its pictures and tables, which are replaced.
        plan: The preset, and another number of seeds.
        workers: Processes of one thread each.
        ray: The address of a Ray cluster, to compute there instead.
        record: Add the computed rows to `reproduction/results`.
        figures: Another directory that gets a copy of all pictures (PNG) and tables.
    """
    chosen, out = figures_named(names), Path(out)
    rows = [figure.rows(plan) for figure in chosen]
    known = [records.load(one.name, some) for one, some in zip(chosen, rows, strict=True)]
    missing = [[row for row in some if row not in k] for some, k in zip(rows, known, strict=True)]
    runs = [run for some in missing for row in some for run in (row.run, *row.also)]
    results, store = sweep(runs, out / "runs", workers, ray), Store(out / "runs")
    found = []
    for number, figure in enumerate(chosen):
        new = {row: _record(figure, row, results, store) for row in missing[number]}
        if record and new:
            records.save(records.FOLDER / f"{figure.name}.csv", new, keep=True)
        every = known[number] | new
        done = _draw(figure, plan, {row: every[row] for row in rows[number]}, bool(new), out)
        if figures is not None:
            _copy(done.files, Path(figures) / figure.name)
        found.append(done)
    return found


def figures_named(names: str | Sequence[str]) -> list[Figure]:
    """Return the figures of some names, each once."""
    given = [names] if isinstance(names, str) else list(names)
    papers = [figure.name for figure in _PAPER]
    given = [name for one in given for name in (papers if one == ALL else [one])]
    if not given:
        raise FarstepError(f"name a figure: {', '.join(FIGURES)}, or {ALL}.")
    for name in given:
        check_choice("figure", name, [*FIGURES, ALL])
    return [FIGURES[name] for name in dict.fromkeys(given)]


def _record(figure: Figure, row: Row, results: Mapping, store: Store) -> Record:
    """Return the record of a row whose runs are finished."""
    stored = {run.kind: read_result(store.directory(run)) or {} for run in (row.run, *row.also)}
    seconds = {kind: result.get("cpu_seconds") for kind, result in stored.items()}
    origin = stored[row.run.kind].get("machine", machine())
    return Record(figure.values(row, results), seconds, origin, records.revision())


def _draw(
    figure: Figure, plan: Plan, rows: Mapping[Row, Record], computed: bool, out: Path
) -> Reproduced:
    """Write the rows, pictures and tables of a figure."""
    drawing = figure.draw(plan, {row: record.values for row, record in rows.items()})
    notes = list(drawing.notes)
    if plan.preset == "quick" and rows:
        notes = ["QUICK preset, not the paper's setting.", *notes]
        charts = [replace(chart, title=f"{chart.title} (quick)") for chart in drawing.charts]
        drawing = replace(drawing, notes=notes, charts=charts)
    folder, written = out / figure.name, []
    for chart in drawing.charts:
        noted = replace(chart, note=" ".join([*notes, chart.note]).strip())
        written += save_chart(noted, folder / chart.name, force=True)
    for stem, picture in drawing.pictures.items():
        written += save_figure(picture, folder / stem, force=True)
    for title, table in drawing.tables.items():
        path = folder / f"{short_name(title)}.md"
        publish(path, {"": table.markdown.encode()}, force=True)
        written.append(path)
    if rows:
        written.append(folder / "rows.csv")
        records.save(folder / "rows.csv", rows)
    return Reproduced(figure, plan, rows, drawing, computed, tuple(written))


def _copy(files: Sequence[Path], folder: Path) -> None:
    for path in files:
        if path.suffix in (".png", ".md"):
            publish(folder / path.name, {"": path.read_bytes()}, force=True)
