"""reproduce: names of exhibits in; runs, pictures and pages out."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from farstep.errors import FarstepError
from farstep.exhibits import (
    alpha_study,
    dataset_figures,
    dataset_r2,
    demo,
    fixed_horizon,
    iterated_curves,
    offline_table,
    profile_r2,
    return_r2,
    search,
    weight_profiles,
)
from farstep.exhibits.exhibit import PRESETS, Exhibit, Plan, Shown, short
from farstep.fields import check_least, check_word
from farstep.files import publish
from farstep.report.charts import Chart
from farstep.report.figures import png, save
from farstep.report.interactive import chart_html
from farstep.report.page import image_html, page, table_html
from farstep.report.static import save_chart
from farstep.report.table import Table
from farstep.runs.estimate import Estimate, estimate
from farstep.runs.store import Store
from farstep.runs.sweep import sweep

_PAPERS: tuple[Exhibit, ...] = (
    fixed_horizon.EXHIBIT,
    alpha_study.EXHIBIT,
    weight_profiles.EXHIBIT,
    profile_r2.EXHIBIT,
    offline_table.EXHIBIT,
    return_r2.EXHIBIT,
    iterated_curves.EXHIBIT,
    search.EXHIBIT,
    dataset_figures.RETURNS,
    dataset_figures.STATES,
    dataset_r2.EXHIBIT,
)
EXHIBITS: dict[str, Exhibit] = {exhibit.name: exhibit for exhibit in (demo.EXHIBIT, *_PAPERS)}
ALL = "all"
"""Every exhibit of the paper."""


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` made of one exhibit."""

    name: str
    tables: dict[str, Table]
    """By dataset or system."""
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def reproduce(
    names: str | Sequence[str],
    out: str | Path,
    preset: str = "paper",
    *,
    seeds: int | None = None,
    workers: int = 1,
    ray: str | None = None,
) -> list[Reproduction]:
    """Make figures and tables of the paper again: compute, score, draw.

    Args:
        names: Exhibits in `EXHIBITS`, or `all`.
        out: A directory. Runs are kept in `runs` there: what is there, or recorded in the source
            tree's `results`, is not computed again. Pictures of the same names are replaced.
        preset: `quick`, `standard` or `paper`.
        seeds: How many, in place of the preset's.
        workers: Processes of one thread each.
        ray: The address of a Ray cluster, to compute there instead of here.
    """
    exhibits, plan = _chosen(names), checked_plan(preset, seeds)
    runs = [run for exhibit in exhibits for run in exhibit.runs(plan)]
    results = sweep(runs, store_in(out), workers, ray)
    return [_draw(exhibit, plan, exhibit.show(plan, results), Path(out)) for exhibit in exhibits]


def what_is_missing(
    names: str | Sequence[str], out: str | Path, preset: str = "paper", seeds: int | None = None
) -> Estimate:
    """Return what `reproduce` would compute, and how long that takes, without computing it."""
    plan = checked_plan(preset, seeds)
    runs = [run for exhibit in _chosen(names) for run in exhibit.runs(plan)]
    return estimate(runs, store_in(out))


def of_each(
    names: str | Sequence[str], out: str | Path, preset: str, seeds: int | None = None
) -> list[tuple[str, int, int]]:
    """Return for each exhibit its name, how many runs it has, and how many of them are there."""
    plan, store = checked_plan(preset, seeds), store_in(out)
    runs = {one.name: list(dict.fromkeys(one.runs(plan))) for one in _chosen(names)}
    return [(name, len(all_), len(all_) - len(store.missing(all_))) for name, all_ in runs.items()]


def store_in(out: str | Path) -> Store:
    """Return the store of `reproduce`, with the records that come with the source tree."""
    return Store(Path(out) / "runs", committed())


def committed() -> tuple[Path, ...]:
    """Return the directory of the records that come with the source tree, if there is one."""
    results = Path(__file__).parents[3] / "results"
    return (results,) if results.is_dir() else ()


def _chosen(names: str | Sequence[str]) -> list[Exhibit]:
    given = [names] if isinstance(names, str) else list(names)
    papers = [exhibit.name for exhibit in _PAPERS]
    given = [name for one in given for name in (papers if one == ALL else [one])]
    if not given:
        raise FarstepError(f"name an exhibit: {', '.join(EXHIBITS)}, or {ALL}.")
    for name in given:
        check_word("exhibit", name, [*EXHIBITS, ALL])
    return [EXHIBITS[name] for name in dict.fromkeys(given)]


def checked_plan(preset: str, seeds: int | None) -> Plan:
    """Return the plan of a preset, with another number of seeds if one is given."""
    check_word("preset", preset, PRESETS)
    check_least({"seeds": 1}, {"seeds": 1 if seeds is None else seeds})
    return Plan(preset, seeds)


def _draw(exhibit: Exhibit, plan: Plan, shown: Shown, out: Path) -> Reproduction:
    """Write everything that is shown, and a page of it."""
    place, shown = out / exhibit.name / plan.preset, said(shown, plan.preset)
    charts = [_noted(chart, shown.notes) for chart in shown.charts]
    written = [path for one in charts for path in save_chart(one, place / one.name, True)]
    for stem, figure in shown.figures.items():
        written += save(figure, place / stem, force=True)
    contents = {"report.html": _page(exhibit, shown)}
    for title, table in shown.tables.items():
        contents[f"{short(title)}.md"] = table.markdown
    if shown.numbers:
        contents["scores.json"] = json.dumps(shown.numbers, indent=1) + "\n"
    for file, text in contents.items():
        publish(place / file, {"": text.encode()}, force=True)
    files = (*written, *(place / file for file in contents))
    return Reproduction(exhibit.name, dict(shown.tables), tuple(shown.notes), files)


def said(shown: Shown, preset: str) -> Shown:
    """Return it with `quick` in all places if it is that."""
    notes: Sequence[str] = shown.notes
    if preset == "quick" and shown.numbers:
        notes = ["QUICK preset, not the paper's setting.", *notes]
        charts = [replace(chart, title=f"{chart.title} (quick)") for chart in shown.charts]
        shown = replace(shown, charts=charts)
    return replace(shown, notes=notes)


def _noted(chart: Chart, notes: Sequence[str]) -> Chart:
    return replace(chart, note=" ".join([*notes, chart.note]).strip())


def _page(exhibit: Exhibit, shown: Shown) -> str:
    return page(exhibit.name, [f"<p>{html.escape(exhibit.about)}.</p>", *shown_html(shown)])


def shown_html(shown: Shown, prefix: str = "") -> list[str]:
    """Return what is shown as parts of a page, with charts under names of their own."""
    parts = [f'<p class="note">{html.escape(" ".join(shown.notes))}</p>']
    charts = [replace(chart, name=f"{prefix}{chart.name}") for chart in shown.charts]
    parts += [chart_html(chart) for chart in charts]
    parts += [image_html(png(figure), "png", name) for name, figure in shown.figures.items()]
    return parts + [
        f"<h3>{html.escape(f'{title}: {table.title}')}</h3>{table_html(table)}"
        for title, table in shown.tables.items()
    ]
