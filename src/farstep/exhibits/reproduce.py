"""reproduce: the name of an exhibit in; runs, pictures and a page out."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from farstep.datasets.reading import read
from farstep.datasets.shipped import names
from farstep.errors import FarstepError, did_you_mean
from farstep.evaluation.entries import oracle
from farstep.exhibits import alpha_study, fixed_horizon, profile_r2, weight_profiles
from farstep.exhibits.exhibit import PRESETS, Exhibit, Preset, with_preset
from farstep.files import check_output, publish
from farstep.report.charts import Chart
from farstep.report.interactive import chart_html, page, table_html
from farstep.report.score_table import ScoreTable, score_tables
from farstep.report.static import save_chart
from farstep.runs.pool import run_all
from farstep.runs.scored_fit import ScoredFit
from farstep.scoring.errors import errors
from farstep.scoring.score import Score

_MODULES = (fixed_horizon, alpha_study, weight_profiles, profile_r2)
EXHIBITS = {module.EXHIBIT.name: module.EXHIBIT for module in _MODULES}
_FAMILY = "cartpole-swingup"
_STAND_IN = "random"
"""Used where none of an exhibit's datasets exists yet, and said so."""


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` made."""

    tables: dict[str, ScoreTable]
    """R² by dataset."""
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def reproduce(
    name: str,
    out: str | Path,
    preset: str = "paper",
    workers: int = 1,
    force: bool = False,
) -> Reproduction:
    """Make a figure of the paper again: fit, score, draw.

    Args:
        name: An exhibit in `EXHIBITS`.
        out: A directory. Runs are kept in `runs` there: what is there is not computed again, and
            exhibits that share `out` share their runs.
        preset: `quick` or `paper`.
        workers: Processes of one thread each.
        force: Replace pictures that are there already.
    """
    for given, known, what in ((name, EXHIBITS, "exhibit"), (preset, PRESETS, "preset")):
        if given not in known:
            raise FarstepError(f"there is no {what} '{given}'. {did_you_mean(given, known)}")
    exhibit, chosen, out = EXHIBITS[name], PRESETS[preset], Path(out)
    place = out / exhibit.name / chosen.name
    check_output(place / "report.html", force)
    datasets, notes = _datasets(exhibit, chosen)
    runs = {
        (data, line, seed): ScoredFit(data, with_preset(config, chosen, seed), exhibit.horizon)
        for data in datasets
        for line, config in exhibit.cases.items()
        for seed in chosen.seeds
    }
    results = run_all(list(runs.values()), out / "runs", workers)
    scores: dict[str, Sequence[Score]] = {
        data: [
            *(
                _score(line, [results[runs[data, line, seed]] for seed in chosen.seeds], exhibit)
                for line in exhibit.cases
            ),
            *_oracle(data, exhibit.horizon),
        ]
        for data in datasets
    }
    if datasets:
        notes = [_budget(chosen), *notes]
    charts = [_said(chart, chosen, notes) for chart in exhibit.draw(_short(scores))]
    tables = {data: score_tables(found)[0] for data, found in scores.items()}
    written = [path for one in charts for path in save_chart(one, place / one.name, force)]
    contents = {"report.html": _page(exhibit, charts, tables, notes)}
    for data, table in tables.items():
        contents[f"{data.split('/')[-1]}.md"] = table.markdown
    if scores:
        numbers = {data: [score.to_json() for score in found] for data, found in scores.items()}
        contents["scores.json"] = json.dumps(numbers, indent=1) + "\n"
    for file, text in contents.items():
        publish(place / file, {"": text.encode()}, force)
    files = (*written, *(place / file for file in contents))
    return Reproduction(tables, tuple(notes), files)


def _datasets(exhibit: Exhibit, preset: Preset) -> tuple[list[str], list[str]]:
    """Return the datasets to use, and what has to be said about them."""
    wanted = [f"{_FAMILY}/{data}" for data in exhibit.datasets]
    found = [data for data in wanted if data in names()]
    missing = [data for data in wanted if data not in found]
    verb = "does" if len(missing) == 1 else "do"
    notes = [f"{', '.join(missing)} {verb} not exist yet."] if missing else []
    if wanted and not found:
        found = [f"{_FAMILY}/{_STAND_IN}"]
        notes.append(f"{found[0]} stands in.")
    return found[: preset.datasets], notes


def _score(name: str, values: Sequence[np.ndarray], exhibit: Exhibit) -> Score:
    stride = exhibit.horizon // len(values[0])
    steps = np.arange(stride, exhibit.horizon + 1, stride)
    return Score(name, "model", steps, np.stack(values))


def _oracle(data: str, horizon: int) -> list[Score]:
    test = read(data).split(ScoredFit.split_seed).test
    found = oracle(test)
    if found is None:
        return []
    values = errors(found.predictors, test, horizon).r_squared[0]
    return [Score(found.name, found.kind, np.arange(1, horizon + 1), values)]


def _budget(preset: Preset) -> str:
    budget = f"{len(preset.seeds)} seeds, at most {preset.epochs} epochs"
    quick = "QUICK preset, not the paper's setting: " if preset.name == "quick" else ""
    return f"{quick}{budget}, split seed {ScoredFit.split_seed}."


def _short(scores: dict[str, Sequence[Score]]) -> dict[str, Sequence[Score]]:
    return {data.split("/")[-1]: found for data, found in scores.items()}


def _said(chart: Chart, preset: Preset, notes: Sequence[str]) -> Chart:
    """Return the chart with what has to be said below it, and `quick` in its title."""
    title = f"{chart.title} (quick)" if preset.name == "quick" else chart.title
    return replace(chart, title=title, note=" ".join([*notes, chart.note]).strip())


def _page(
    exhibit: Exhibit,
    charts: Sequence[Chart],
    tables: dict[str, ScoreTable],
    notes: Sequence[str],
) -> str:
    parts = [f"<p>{html.escape(' '.join([exhibit.about + '.', *notes]))}</p>"]
    parts += [chart_html(chart) for chart in charts]
    parts += [
        f"<h2>{html.escape(data)}</h2>{table_html(table.columns, table.rows)}"
        for data, table in tables.items()
    ]
    return page(exhibit.name, parts)
