"""iterate: a real system in; fit, train in the model, run one real episode, again and again."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from farstep.agents.agent import Agent
from farstep.agents.config import AgentConfig
from farstep.agents.train_agent import train_agent
from farstep.choices import WarmStart
from farstep.data.episodes import Episodes
from farstep.data.splits import hold_out_parts
from farstep.errors import DataWarning, FarstepError
from farstep.evaluation.rollout_errors import mean_r_squared, r_squared
from farstep.model_env.config import ModelEnvConfig
from farstep.model_env.model_env import ModelEnv, check_system
from farstep.models.model import Model
from farstep.runtime.compilation import drop_programs_if_many
from farstep.runtime.processes import usable_cores
from farstep.settings import check_choice, check_counts
from farstep.storage.event_files import TensorBoard
from farstep.storage.fingerprint import json_numbers
from farstep.storage.run_directory import RunDirectory
from farstep.systems.recording import EPISODE_FILES, Recorded
from farstep.systems.registry import get_system
from farstep.training.config import FitConfig
from farstep.training.fit import fit as fit_model
from farstep.workflows.presets import (
    AgentChoice,
    EnvChoice,
    FitChoice,
    chosen_agent,
    chosen_env,
    chosen_fit_for_agents,
    describe_agent,
    describe_fit,
    learns_reward,
)
from farstep.workflows.real_episodes import RealEpisodes, read_episodes
from farstep.workflows.seeds import RUN_FILES, collected_notes, reward_notes, run_seeds

R2_STEPS = (10, 50)
"""Steps ahead at which a model is evaluated on the real episode after it."""
_EPISODES = "episodes"


@dataclass(frozen=True)
class Iterated:
    """The results of iterated model-based reinforcement learning, over seeds."""

    rows: tuple[list[dict[str, Any]], ...]
    """For each seed one row for each real episode after the first: its `return`, the
    `imagined_return`, R² of the model on it, and the time that model and agent took."""
    about: str
    """The system and the settings, in a sentence."""
    folder: Path

    def returns(self) -> np.ndarray:
        """Return the real return of each seed and episode; NaN if nothing was recorded."""
        return np.array([[row["return"] for row in rows] for rows in self.rows], np.float64)

    def episodes(self, seed: int) -> Episodes:
        """Return every real episode of one seed, the random one first."""
        return read_episodes(self.folder / f"seed-{seed}" / _EPISODES)

    @property
    def notes(self) -> list[str]:
        """All warnings, each once."""
        return list(dict.fromkeys(note for rows in self.rows for r in rows for note in r["notes"]))


def iterate(  # noqa: PLR0913  each is a choice of its own
    system: str,
    *,
    fit: FitChoice = "fast",
    agent: AgentChoice = "fast",
    env: EnvChoice | None = None,
    episodes: int = 50,
    seeds: int = 3,
    seed: int = 0,
    warm_start: WarmStart = "agent",
    out: str | Path = "iterate",
    workers: int = usable_cores(),
    force: bool = False,
    show: bool = False,
) -> Iterated:
    """Learn on a real system: one random episode, then a model, an agent in it, the next episode.

    Args:
        system: The real system's name, a Gymnasium id, or module:attribute.
        fit: How each model is fitted: a `FitConfig`, a preset's name, or settings such as
            `{"horizon": 4}`.
        agent: How each agent is trained: an `AgentConfig`, a preset's name, or settings such as
            `{"steps": 60_000}`.
        env: The model environment: a `ModelEnvConfig`, a preset's name (`default`, `branched`,
            `ensemble` or `offline`), or settings such as `{"bounds": 0.1}`. The default is
            `ensemble`, or `branched` for a single model.
        episodes: Real episodes after the first, random one. A later call may ask for more.
        seeds: How many times to learn, each from its own seed.
        seed: The first seed.
        warm_start: What continues from the episode before, rather than from random weights: `none`,
            the `agent`, the `model`, or `both`.
        out: A directory with a subdirectory for each seed, in which a killed run continues; no real
            episode is lost or run twice.
        workers: Processes of one thread each; 1 runs in this process.
        force: Start over, and remove what `out` holds of these seeds, real episodes too.
        show: Print a line after each real episode.
    """
    counts = {"episodes": 1, "seeds": 1, "seed": 0}
    check_counts(counts, {"episodes": episodes, "seeds": seeds, "seed": seed})
    fit_config = chosen_fit_for_agents(fit, "fast")
    first = IterateSeed(
        system=system,
        fit=fit_config,
        agent=_agent_config(agent),
        env=chosen_env(env, fit_config.ensemble_size, "ensemble"),
        episodes=episodes,
        seed=seed,
        warm_start=warm_start,
        show=show,
    )
    first.check()
    if show:
        print(HEADER, flush=True)
    runs = [replace(first, seed=seed + number) for number in range(seeds)]
    rows = run_seeds(runs, Path(out), workers, force)
    done = Iterated(tuple(rows), _about(first, seeds), Path(out))
    for note in done.notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return done


def _agent_config(agent: AgentChoice) -> AgentConfig:
    """Return the agent's configuration, without real evaluations."""
    if isinstance(agent, Mapping) and agent.get("eval_episodes"):
        raise FarstepError(
            "iterate runs one real episode with each agent and evaluates it in the model only; "
            "leave out eval_episodes."
        )
    return replace(chosen_agent(agent, "fast"), eval_episodes=0)


def _about(first: "IterateSeed", seeds: int) -> str:
    """Return the system and the settings in a sentence."""
    return (
        f"{first.system}: {describe_fit(first.fit)}; {describe_agent(first.agent)}, after each "
        f"real episode; warm start: {first.warm_start}; {seeds} seed(s)"
    )


@dataclass(frozen=True)
class IterateSeed:
    """One seed of `iterate`."""

    system: str
    fit: FitConfig
    agent: AgentConfig
    env: ModelEnvConfig
    episodes: int
    seed: int
    warm_start: WarmStart = "agent"
    show: bool = False

    @property
    def config(self) -> dict[str, Any]:
        """Everything that a row depends on: the number of episodes does not change earlier rows."""
        names = ("system", "seed", "fit", "agent", "env", "warm_start")
        return {name: getattr(self, name) for name in names}

    def check(self) -> None:
        """Fail before anything is run if something is wrong."""
        check_choice("warm_start", self.warm_start, get_args(WarmStart))
        system = get_system(self.system)
        system.check_runnable()
        system.signals.check_angles(self.fit.angles)
        check_system(replace(self.env, out_of_bounds="clip"), system)  # data come later
        if self.fit.model == "linear" and self.warm_start in ("model", "both"):
            raise FarstepError("a linear model cannot start from another; set warm_start='agent'.")
        if self.agent.algorithm != "sac" and self.warm_start in ("agent", "both"):
            raise FarstepError(
                f"{self.agent.algorithm} cannot start from another agent; set warm_start='none'."
            )

    def directory(self, folder: Path, force: bool = False) -> RunDirectory:
        """Return its directory in `folder`."""
        outputs = [
            f"{stage}/{name}" for stage in ("episode-*", "episode-*/*") for name in RUN_FILES
        ]
        outputs += [f"{_EPISODES}/{name}" for name in EPISODE_FILES]
        path = folder / f"seed-{self.seed}"
        return RunDirectory(path, "iterate", self.config, outputs=outputs, force=force)

    def run(self, folder: Path) -> list[dict[str, Any]]:
        """Return a row for each episode; stages that are finished in `folder` are read."""
        with self.directory(folder).open() as run:
            assert run.path is not None, "it has one"
            rows = (run.result() or {"rows": []})["rows"][: self.episodes]
            if len(rows) == self.episodes:
                for row in rows:
                    self._print(row, "finished before")
                return rows
            real = RealEpisodes(run.path / _EPISODES, get_system(self.system), self.seed)
            real.first(run, least=2 if self.fit.weights == "auto" else 2 * self.fit.window_steps)
            rows, model, agent = [], None, None
            for number in range(self.episodes):
                # Finished stages are read, since a warm start depends on all of them.
                row, model, agent = self._episode(run.path, number, real, model, agent)
                rows.append(row)
            return run.finish({"rows": rows})["rows"]

    def _episode(
        self,
        path: Path,
        number: int,
        real: RealEpisodes,
        model: Model | None,
        agent: Agent | None,
    ) -> tuple[dict[str, Any], Model, Agent]:
        """Fit a model of the episodes up to a number, train an agent in it, run the next one."""
        config = {**self.config, "episode": number}
        run = RunDirectory(path / f"episode-{number:03}", "episode", config)
        assert run.path is not None, "it has one"
        with run.open():
            run.save_config()
            data = real.up_to(number)
            training, validation = hold_out_parts(data, self.seed, self.fit.window_steps)
            model = fit_model(
                training,
                validation,
                replace(self.fit, seed=self.seed),
                learn_reward=learns_reward(self.env, real.system),
                start=model if self.warm_start in ("model", "both") else None,
                out=run.path / "model",
            )
            with collected_notes() as notes:
                agent = train_agent(
                    ModelEnv(model, real.system, data, self.env),
                    self.agent,
                    seed=int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0] // 2),
                    start=agent if self.warm_start in ("agent", "both") else None,
                    out=run.path / "agent",
                )
            row = run.result()
            if row is not None:
                self._print(row, "finished before")
                return row, model, agent
            recorded = real.get(number + 1, agent.policy)
            trouble = [*(real.trouble_of_first if number == 0 else []), *recorded.trouble]
            row = {
                "episode": number,
                **_row(data, model, agent, recorded),
                "imagined_return": agent.curve.of_policy(self.agent.keep).get("imagined_return"),
                "trouble": trouble,
                "notes": [*reward_notes(self.env, real.system), *notes, *trouble],
            }
            with TensorBoard(path, number) as board:  # before the result: a repetition is harmless
                board.add(_scalars(row), number)
            row = run.finish(row)
            self._print(row)
        drop_programs_if_many()
        return row, model, agent

    def _print(self, row: Mapping[str, Any], comment: str = "") -> None:
        if self.show:
            print(row_line(self.seed, row) + (f" ({comment})" if comment else ""), flush=True)


def _row(data: Episodes, model: Model, agent: Agent, recorded: Recorded) -> dict[str, Any]:
    episode = recorded.episode
    r2: dict[str, float | None] = {f"r2_{j}": None for j in R2_STEPS}
    if episode is not None:
        steps = [j for j in R2_STEPS if j <= len(episode.actions)]
        new = Episodes.from_list([episode], data.signals, data.system)
        values = mean_r_squared(r_squared(model.dynamics, new, steps[-1])) if steps else []
        r2 |= {f"r2_{j}": json_numbers(values[j - 1]) for j in steps}
    return {
        "data_episodes": len(data),
        "horizon": model.horizon,
        "return": None if episode is None else json_numbers(episode.total_reward),
        **r2,
        "steps": None if episode is None else len(episode.actions),
        "updates": agent.curve.last.get("updates"),
        "fit_seconds": model.record["seconds"],
        "agent_seconds": agent.curve.last.get("seconds"),
    }


HEADER = (
    f"{'seed':>4} {'episode':>7} {'return':>8} {'imagined':>8} {'R²(10)':>8} {'R²(50)':>8}  times"
)


def row_line(seed: int, row: Mapping[str, Any]) -> str:
    """Return a row as a line under `HEADER`."""
    names = ("return", "imagined_return", "r2_10", "r2_50")
    shown = [f"{row[n]:8.4g}" if row[n] is not None else f"{'none':>8}" for n in names]
    times = f"model {row['fit_seconds']:.0f} s, agent {row['agent_seconds'] or 0:.0f} s"
    line = f"{seed:4} {row['episode']:7} {' '.join(shown)}  {times}"
    return "\n".join([line, *(f"     {note}" for note in row["trouble"])])


def _scalars(row: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: float(value) for name, value in row.items() if isinstance(value, (int, float))}
