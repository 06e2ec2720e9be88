"""Iterated batch RL: a real system in; model, agent and one real episode, again and again."""

import dataclasses
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from farstep.agents.config import AgentConfig
from farstep.agents.files import Agent
from farstep.agents.train import train
from farstep.choices import Warm
from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.fields import check_least, check_word, identity_of
from farstep.files import locked
from farstep.fitting.config import FitConfig
from farstep.fitting.fit import fit
from farstep.fitting.held_out import hold_out_parts
from farstep.imagination.config import ImagineConfig
from farstep.imagination.imagine import imagine
from farstep.json_numbers import json_numbers
from farstep.loops.real_episodes import RealEpisodes, all_of
from farstep.loops.shared import (
    agent_settings,
    described,
    fit_seconds,
    imagine_settings,
    learned_note,
    learns_reward,
    model_settings,
    own_notes,
    read_result,
    run_seeds,
    told,
    write_result,
)
from farstep.model import Model
from farstep.processes import usable_cores
from farstep.programs import drop_programs_if_many
from farstep.report.iterations import iteration_chart
from farstep.report.static import save_chart
from farstep.runs.describe import filled, flat
from farstep.scoring.errors import mean_r_squared, r_squared
from farstep.systems.registry import system as system_named
from farstep.tensorboard import TensorBoard

R2_STEPS = (10, 50)
"""Steps ahead at which a model is scored, on the real episode that follows it."""
_EPISODES = "episodes"


@dataclass(frozen=True)
class IteratedSeed:
    """One seed: everything that its results depend on, but for how many epochs are made."""

    system: str
    fit: FitConfig
    agent: AgentConfig
    imagination: ImagineConfig
    epochs: int
    seed: int
    warm: Warm = "agent"
    weights_source: str = ""
    show: bool = dataclasses.field(default=False, compare=False)
    """Print a line after each epoch."""

    @property
    def told(self) -> dict[str, Any]:
        """What the result of each epoch depends on: more epochs go on from fewer."""
        settings = told(self.fit, self.agent, self.imagination, self.system)
        return {**asdict(replace(self, epochs=0, show=False)), **settings}

    @property
    def identity(self) -> str:
        """The same for the same results."""
        return identity_of(**self.told)

    def check(self) -> None:
        """Say what is wrong before anything is run."""
        check_word("warm", self.warm, get_args(Warm))
        system = system_named(self.system)
        system.check_runnable()
        system.check_bounded()
        system.check_known_parts()
        system.signals.check_angles(self.fit.angles)
        self.imagination.check_system(system)
        if self.fit.model == "linear" and self.warm in ("model", "both"):
            raise FarstepError("a linear model does not go on from another; choose warm=agent.")
        if self.agent.agent != "sac" and self.warm in ("agent", "both"):
            raise FarstepError(
                f"{self.agent.agent} does not go on from another agent; choose warm=none."
            )

    def run(self, folder: Path) -> list[dict[str, Any]]:
        """Return a row for each epoch; stages that `folder` holds already are not done again."""
        place = folder / f"seed-{self.seed}"
        with locked(place):
            self._check(place)
            stored = self._stored_rows(place)
            rows = [row for row in stored if row is not None]
            if self.show:
                for row in rows:
                    print(f"{line_of(self.seed, row)} (there already)", flush=True)
            if len(rows) == self.epochs:
                self._draw(place, rows)
                return rows
            rows = []
            model: Model | None = None
            agent: Agent | None = None
            for epoch in range(self.epochs):
                # What is finished is read, all of it: a warm start is told by what it starts from.
                row, model, agent = self._epoch(place, epoch, model, agent)
                rows.append(row)
                if stored[epoch] is None:
                    self._draw(place, rows)
                    drop_programs_if_many()
            return rows

    def finished(self, folder: Path) -> list[dict[str, Any]]:
        """Return the rows of the epochs that are finished."""
        return [row for row in self._stored_rows(folder / f"seed-{self.seed}") if row is not None]

    def _stored_rows(self, place: Path) -> list[dict[str, Any] | None]:
        paths = [self._result(place, epoch) for epoch in range(self.epochs)]
        return [read_result(path, self.identity) for path in paths]

    def _draw(self, place: Path, rows: list[dict[str, Any]]) -> None:
        chart = iteration_chart([rows], f"{self.system}, seed {self.seed}", "returns")
        save_chart(chart, place / "returns", force=True)

    @staticmethod
    def _result(place: Path, epoch: int) -> Path:
        return place / f"epoch-{epoch:03}" / "result.json"

    def _check(self, place: Path) -> None:
        """Fail if another loop is here; its real episodes are never overwritten."""
        path = place / "settings.json"
        begun = any((place / _EPISODES).glob("*"))
        if begun and path.exists() and read_result(path, self.identity) is None:
            raise FarstepError(
                f"{place} holds a loop with other settings{self._difference(path)}; choose another "
                "place: its real episodes are kept."
            )
        write_result(path, self._stored)

    @property
    def _stored(self) -> dict[str, Any]:
        """What is kept beside the loop, as it is read back."""
        return json.loads(json.dumps({"identity": self.identity, **asdict(self)}))

    def _difference(self, path: Path) -> str:
        """Return what differs from stored settings, in words; nothing if they cannot be read."""
        try:
            # A setting that is not stored came later: it had no effect then.
            stored, mine = flat(filled(json.loads(path.read_text()))), flat(self._stored)
        except (OSError, ValueError, TypeError, AttributeError):
            return ""
        free = ("identity", "epochs", "show")
        names = [n for n in mine if n not in free and stored.get(n, mine[n]) != mine[n]]
        return f" ({', '.join(names)})" if names else ""

    def _epoch(
        self, place: Path, epoch: int, model: Model | None, agent: Agent | None
    ) -> tuple[dict[str, Any], Model, Agent]:
        """Fit, train, and run the real system once."""
        here, system = place / f"epoch-{epoch:03}", system_named(self.system)
        least = 2 if self.fit.weights == "auto" else 2 * self.fit.span
        real = RealEpisodes(place / _EPISODES, system, self.seed, least)
        data = Episodes.from_list(real.before(epoch + 1), system.signals, system.name)
        training, validation = hold_out_parts(data, self.seed, self.fit.span)
        model = fit(
            training,
            validation,
            replace(self.fit, seed=self.seed),
            learn_reward=learns_reward(self.imagination, system),
            start=model if self.warm in ("model", "both") else None,
            out=here / "model",
        )
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always", DataWarning)
            agent = train(
                imagine(model, system, data, self.imagination),
                self.agent,
                seed=int(np.random.SeedSequence([self.seed, epoch]).generate_state(1)[0] // 2),
                start=agent if self.warm in ("agent", "both") else None,
                out=here / "agent",
            )
        stored = read_result(self._result(place, epoch), self.identity)
        if stored is None:
            new = real.get(epoch + 1, agent.policy)
            trouble = [*(real.first().trouble if epoch == 0 else []), *new.trouble]
            notes = [*learned_note(self.imagination, system), *own_notes(noticed)]
            stored = {
                "identity": self.identity,
                **_row(epoch, data, model, agent, new.episode),
                "imagined_return": agent.curve.of_policy(self.agent.keep).get("imagined_return"),
                "trouble": trouble,
                "notes": [*notes, *trouble],
            }
            with TensorBoard(place, epoch) as board:  # before the result: a repeat does no harm
                board.add(_scalars(stored), epoch)
            write_result(self._result(place, epoch), stored)
            if self.show:
                print(line_of(self.seed, stored), flush=True)
        return stored, model, agent


@dataclass(frozen=True)
class Iterated:
    """What iterated batch RL gave, over seeds."""

    rows: tuple[list[dict[str, Any]], ...]
    """One list for each seed, of one row for each epoch."""
    about: str
    folder: Path

    def returns(self) -> np.ndarray:
        """Return the real return of each seed and epoch; NaN where nothing was recorded."""
        return np.array([[row["return"] for row in rows] for rows in self.rows], np.float64)

    def episodes(self, seed: int) -> Episodes:
        """Return every real episode of one seed, the random one first."""
        return all_of(self.folder / f"seed-{seed}" / _EPISODES)

    @property
    def notes(self) -> list[str]:
        """What was noticed on the way, each once."""
        return list(dict.fromkeys(note for rows in self.rows for r in rows for note in r["notes"]))


def iterate(  # noqa: PLR0913  each is a choice of its own
    system: str,
    config: FitConfig | str = "brief",
    *,
    out: str | Path,
    epochs: int = 50,
    seeds: int = 3,
    agent: AgentConfig | str | Mapping[str, Any] = "brief",
    imagination: ImagineConfig | Mapping[str, Any] | None = None,
    warm: Warm = "agent",
    workers: int = usable_cores(),
    show: bool = False,
    **settings: Any,
) -> Iterated:
    """Start from nothing but a real system: fit, train inside the model, run one real episode.

    Args:
        system: The real system's name, a Gymnasium id, or module:attribute.
        config: How models are fitted, or the name of a preset, `brief` being half of
            `recommended`; settings given by name replace its fields.
        out: A directory; after each epoch everything is there, and a killed loop goes on from it.
        epochs: Real episodes after the first one, which is random. More can be asked for later.
        seeds: How many loops; they count up from the fit's own seed.
        agent: The name of a preset; settings such as `{"steps": 60_000}`; or an `AgentConfig`.
        imagination: Settings of `imagine`, as for `offline`, but by themselves without a penalty.
        warm: What goes on from the epoch before: `none`, the `agent`, the `model`, or `both`.
        workers: Processes of one thread each; 1 runs in this process.
        show: Print a line after each epoch, and for those that are there already.
        **settings: Fields of `FitConfig`, such as `horizon=4`, but for its epochs, which go into
            `config`; `weights` as for `fit`, but a function must be one that can be imported as
            `module:function`, so no lambda.
    """
    check_least({"epochs": 1, "seeds": 1}, {"epochs": epochs, "seeds": seeds})
    base, weights = model_settings(config, settings)
    if isinstance(agent, Mapping) and agent.get("eval_episodes"):
        raise FarstepError(
            "a loop runs the real system once in each epoch, and evaluates its agents in the model "
            "alone; leave eval_episodes out."
        )
    first = IteratedSeed(
        system=system,
        fit=replace(base, seed=0),
        agent=replace(agent_settings(agent, "brief"), eval_episodes=0),
        imagination=imagine_settings(imagination, base.members),
        epochs=epochs,
        seed=base.seed,
        warm=warm,
        weights_source=weights.source,
        show=show,
    )
    first.check()
    if show:
        print(HEADER, flush=True)
    runs, folder = [replace(first, seed=base.seed + number) for number in range(seeds)], Path(out)
    done = Iterated(tuple(run_seeds(runs, folder, workers)), _about(first, seeds), folder)
    for note in done.notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return done


def _about(first: IteratedSeed, seeds: int) -> str:
    return (
        f"{first.system}: {described(first.fit, first.agent)}, after each real episode; going on "
        f"from the epoch before: {first.warm}; {seeds} seed(s)"
    )


def _row(
    epoch: int, data: Episodes, model: Model, agent: Agent, episode: Episode | None
) -> dict[str, Any]:
    scores: dict[str, float | None] = {f"r2_{j}": None for j in R2_STEPS}
    if episode is not None:
        steps = [j for j in R2_STEPS if j <= len(episode.actions)]
        new = Episodes.from_list([episode], data.signals, data.system)
        values = mean_r_squared(r_squared(model.dynamics, new, steps[-1])) if steps else []
        scores |= {f"r2_{j}": json_numbers(values[j - 1]) for j in steps}
    return {
        "epoch": epoch,
        "episodes": len(data),
        "horizon": model.horizon,
        "return": None if episode is None else json_numbers(episode.total),
        **scores,
        "steps": None if episode is None else len(episode.actions),
        "updates": agent.curve.last.get("updates"),
        "fit_seconds": fit_seconds(model),
        "agent_seconds": agent.curve.last.get("seconds"),
    }


HEADER = (
    f"{'seed':>4} {'epoch':>5} {'return':>8} {'imagined':>8} {'R²(10)':>8} {'R²(50)':>8}  times"
)


def line_of(seed: int, row: Mapping[str, Any]) -> str:
    """Return one epoch as a line under `HEADER`."""
    names = ("return", "imagined_return", "r2_10", "r2_50")
    shown = [f"{row[n]:8.4g}" if row[n] is not None else f"{'none':>8}" for n in names]
    times = f"model {row['fit_seconds']:.0f} s, agent {row['agent_seconds'] or 0:.0f} s"
    line = f"{seed:4} {row['epoch']:5} {' '.join(shown)}  {times}"
    return "\n".join([line, *(f"     {note}" for note in row["trouble"])])


def _scalars(row: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: float(value) for name, value in row.items() if isinstance(value, (int, float))}
