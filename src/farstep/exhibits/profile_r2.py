"""R² of all weight profiles at h = 2, 4, 10 (the paper's figure 4)."""

from dataclasses import replace

from farstep.exhibits.scored import ScoredExhibit, Scores, static
from farstep.report.charts import Chart
from farstep.report.scores import r2_chart

HORIZONS = (2, 4, 10)
PROFILES = (
    "uniform", "decay:0.9", "decay:0.75", "decay:0.5", "decay:0.3", "proportional", "learned",
)  # fmt: skip
ONE_STEP = "h = 1"


def draw(scores: Scores) -> list[Chart]:
    """One picture for each dataset, with a panel for each h; the one-step model is in all."""
    charts = []
    for data, found in scores.items():
        panels = []
        for horizon in HORIZONS:
            mark = f"h = {horizon}, "
            shown = [
                replace(score, name=score.name.removeprefix(mark))
                for score in found
                if score.name.startswith(mark) or score.kind == "oracle" or score.name == ONE_STEP
            ]
            panel = r2_chart(shown).panels[0]
            panels.append(replace(panel, title=f"h = {horizon}"))
        charts.append(Chart(data, f"Weight profiles, {data}", panels, columns=3))
    return charts


EXHIBIT = ScoredExhibit(
    name="profile-r2",
    about="R² of models fitted with all weight profiles at h = 2, 4, 10",
    datasets=("medium", "expert_noisy", "random"),
    cases={
        ONE_STEP: static(),
        **{f"h = {h}, {text}": static(h, text) for h in HORIZONS for text in PROFILES},
    },
    draw=draw,
)
