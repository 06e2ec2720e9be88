"""reproduce: the name of an exhibit in; runs, pictures and a page out."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from farstep.errors import FarstepError, did_you_mean
from farstep.exhibits import (
    alpha_study,
    dataset_figures,
    dataset_r2,
    fixed_horizon,
    iterated_curves,
    profile_r2,
    weight_profiles,
)
from farstep.exhibits.exhibit import PRESETS, Exhibit, Shown, short
from farstep.files import check_output, publish
from farstep.report.charts import Chart
from farstep.report.figures import picture_html, save
from farstep.report.interactive import chart_html, page, table_html
from farstep.report.static import save_chart
from farstep.report.table import Table
from farstep.runs.pool import run_all

_ALL: tuple[Exhibit, ...] = (
    fixed_horizon.EXHIBIT,
    alpha_study.EXHIBIT,
    weight_profiles.EXHIBIT,
    profile_r2.EXHIBIT,
    iterated_curves.EXHIBIT,
    dataset_figures.RETURNS,
    dataset_figures.STATES,
    dataset_r2.EXHIBIT,
)
EXHIBITS: dict[str, Exhibit] = {exhibit.name: exhibit for exhibit in _ALL}


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` made."""

    tables: dict[str, Table]
    """By dataset or system."""
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def reproduce(
    name: str,
    out: str | Path,
    preset: str = "paper",
    workers: int = 1,
    force: bool = False,
) -> Reproduction:
    """Make a figure of the paper again: compute, score, draw.

    Args:
        name: An exhibit in `EXHIBITS`.
        out: A directory. Runs are kept in `runs` there: what is there is not computed again, and
            exhibits that share `out` share their runs.
        preset: `quick`, `standard` or `paper`.
        workers: Processes of one thread each.
        force: Replace pictures that are there already.
    """
    for given, known, what in ((name, EXHIBITS, "exhibit"), (preset, PRESETS, "preset")):
        if given not in known:
            raise FarstepError(f"there is no {what} '{given}'. {did_you_mean(given, known)}")
    exhibit, out = EXHIBITS[name], Path(out)
    place = out / exhibit.name / preset
    check_output(place / "report.html", force)
    results = run_all(exhibit.runs(preset), out / "runs", workers)
    shown = _said(exhibit.show(preset, results), preset)
    written = [path for one in shown.charts for path in save_chart(one, place / one.name, force)]
    for stem, figure in shown.figures.items():
        written += save(figure, place / stem, force)
    contents = {"report.html": _page(exhibit, shown)}
    for title, table in shown.tables.items():
        contents[f"{short(title)}.md"] = table.markdown
    if shown.numbers:
        contents["scores.json"] = json.dumps(shown.numbers, indent=1) + "\n"
    for file, text in contents.items():
        publish(place / file, {"": text.encode()}, force)
    files = (*written, *(place / file for file in contents))
    return Reproduction(dict(shown.tables), tuple(shown.notes), files)


def _said(shown: Shown, preset: str) -> Shown:
    """Return it with its notes below each chart, and `quick` in all places if it is that."""
    notes: Sequence[str] = shown.notes
    if preset == "quick" and shown.numbers:
        notes = ["QUICK preset, not the paper's setting.", *notes]
        charts = [replace(chart, title=f"{chart.title} (quick)") for chart in shown.charts]
        shown = replace(shown, charts=charts)
    return replace(shown, notes=notes, charts=[_noted(chart, notes) for chart in shown.charts])


def _noted(chart: Chart, notes: Sequence[str]) -> Chart:
    return replace(chart, note=" ".join([*notes, chart.note]).strip())


def _page(exhibit: Exhibit, shown: Shown) -> str:
    parts = [f"<p>{html.escape(' '.join([exhibit.about + '.', *shown.notes]))}</p>"]
    parts += [chart_html(chart) for chart in shown.charts]
    parts += [picture_html(figure, name) for name, figure in shown.figures.items()]
    parts += [
        f"<h2>{html.escape(title)}</h2>{table_html(table.columns, table.rows)}"
        for title, table in shown.tables.items()
    ]
    return page(exhibit.name, parts)
