"""Iterated batch RL at tiny sizes: what is kept, what is not done twice, and what goes wrong."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from cart import CART, data, model
from farstep.agents.config import AgentConfig, agent_config
from farstep.agents.program import imagined_returns, live
from farstep.agents.train import train
from farstep.errors import DataWarning, FarstepError
from farstep.fitting.fit import fit
from farstep.imagination.imagine import imagine
from farstep.loops.iterate import Iterated, iterate, line_of
from farstep.loops.real_episodes import RealEpisodes
from farstep.model import load_model
from farstep.policy import load_policy
from farstep.systems.registry import system
from pendulum import TINY as FIT
from pendulum import pendulum

pytestmark = pytest.mark.filterwarnings("ignore::farstep.errors.DataWarning")
AGENT = AgentConfig(
    steps=60, num_envs=2, learning_starts=10, batch_size=8, net_arch=(8,), eval_every=60
)
LOGGED = dataclasses.replace(CART, env_id=None)
MODEL: dict[str, Any] = {"width": 8, "depth": 1, "compositions": 40, "horizon": 2, "batch": 64}
LOOP: dict[str, Any] = {
    "agent": AGENT,
    "seeds": 1,
    "workers": 1,
    "imagination": {"reward": "learned"},
    **MODEL,
}


@pytest.fixture(scope="module")
def loop(tmp_path_factory) -> tuple[Iterated, Path]:
    folder = tmp_path_factory.mktemp("loop")
    return iterate("Pendulum-v1", out=folder, epochs=2, **LOOP), folder


def test_each_epoch_adds_one_real_episode(loop):
    done, folder = loop
    assert [row["episodes"] for row in done.rows[0]] == [1, 2]
    episodes = done.episodes(0)
    assert len(episodes) == 3
    returns = [episode.total for episode in episodes]
    np.testing.assert_allclose(done.returns()[0], returns[1:], rtol=1e-6)
    for epoch in (0, 1):
        here = folder / "seed-0" / f"epoch-{epoch:03}"
        assert load_model(here / "model").config["width"] == 8
        assert load_policy(here / "agent" / "policy.safetensors").system == "Pendulum-v1"
    assert (folder / "seed-0" / "returns.png").exists()
    assert "60 steps in 2 imagined system(s)" in done.about


def test_more_epochs_go_on_and_nothing_is_done_twice(loop, tmp_path):
    done, folder = loop
    shutil.copytree(folder, tmp_path / "copy")
    episode = tmp_path / "copy" / "seed-0" / "episodes" / "001.npz"
    stamp = episode.stat().st_mtime_ns
    longer = iterate("Pendulum-v1", out=tmp_path / "copy", epochs=3, **LOOP)
    assert longer.rows[0][:2] == done.rows[0]
    assert episode.stat().st_mtime_ns == stamp
    assert len(longer.episodes(0)) == 4


def test_agents_are_not_compiled_again_for_every_episode(loop, tmp_path, monkeypatch):
    """Recorded states are 603 and 804 of 200 steps' episodes: room for 1024 in both epochs."""
    monkeypatch.setattr("farstep.loops.iterate.drop_programs_if_many", lambda: None)
    shutil.copytree(loop[1], tmp_path / "copy")
    counts = []
    for epochs in (3, 4):
        iterate("Pendulum-v1", out=tmp_path / "copy", epochs=epochs, **LOOP)
        counts.append([program._cache_size() for program in (live, imagined_returns)])  # pyright: ignore
    assert counts[1] == counts[0]


@pytest.mark.parametrize("lost", ["result.json", "agent", "model"])
def test_what_a_kill_left_undone_is_done_again_to_the_same_end(loop, lost, tmp_path):
    """Between the stages of the last epoch; the real episode, if it is there, is kept."""
    done, folder = loop
    place = tmp_path / "killed"
    shutil.copytree(folder, place)
    here = place / "seed-0" / "epoch-001"
    (here / "result.json").unlink()
    if lost != "result.json":
        (place / "seed-0" / "episodes" / "002.npz").unlink()
        shutil.rmtree(here / "agent")
    if lost == "model":
        shutil.rmtree(here / "model")
    again = iterate("Pendulum-v1", out=place, epochs=2, **LOOP)
    for name in ("return", "imagined_return", "r2_10", "r2_50", "updates"):
        assert again.rows[0][1][name] == done.rows[0][1][name], name
    for one, two in zip(again.episodes(0), done.episodes(0), strict=True):
        np.testing.assert_array_equal(one.states, two.states)


def test_another_loop_in_the_same_place_is_refused(loop):
    _, folder = loop
    with pytest.raises(FarstepError, match=r"other settings \(fit\.horizon\)"):
        iterate("Pendulum-v1", out=folder, epochs=2, **{**LOOP, "horizon": 3})


def test_a_setting_that_came_later_is_named(loop, tmp_path):
    shutil.copytree(loop[1], tmp_path / "old")
    path = tmp_path / "old" / "seed-0" / "settings.json"
    stored = json.loads(path.read_text())
    del stored["agent"]["average"]
    path.write_text(json.dumps({**stored, "identity": "of an earlier version"}))
    agent = dataclasses.replace(AGENT, average=0.9)
    with pytest.raises(FarstepError, match=r"other settings \(agent\.average\)"):
        iterate("Pendulum-v1", out=tmp_path / "old", epochs=2, **{**LOOP, "agent": agent})


def test_a_loop_evaluates_in_the_model_alone(tmp_path):
    with pytest.raises(FarstepError, match="leave eval_episodes out"):
        iterate("Pendulum-v1", out=tmp_path, agent={"eval_episodes": 5})


def test_epochs_that_are_there_already_are_shown_again(loop, capsys):
    done, folder = loop
    iterate("Pendulum-v1", out=folder, epochs=2, **{**LOOP, "show": True})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 and "return" in lines[0]
    assert all(f"{row['return']:.4g}" in line and "there already" in line
               for row, line in zip(done.rows[0], lines[1:], strict=True))  # fmt: skip


class Failing(gymnasium.Env):
    """Breaks in different ways; never in the first, random, episode."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        Failing.episodes += 1
        self._number, self._steps = Failing.episodes, 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        del action
        self._steps += 1
        state = np.full(2, self._steps / 10, np.float32)
        if self._steps == 9 and self._number % 2 == 0:
            raise OSError("the motor is on fire")
        if self._steps == 7 and self._number % 3 == 0:
            state[0] = np.nan
        return state, 1.0, False, self._steps == 20, {}


def test_a_real_step_that_fails_ends_the_episode_and_the_loop_goes_on(tmp_path):
    Failing.episodes = 0
    gymnasium.register("Failing-v0", "test_iterate:Failing", max_episode_steps=20)
    try:
        with pytest.warns(DataWarning, match="on fire"):
            done = iterate("Failing-v0", out=tmp_path, epochs=3, **LOOP)
    finally:
        del gymnasium.registry["Failing-v0"]
    lengths = [len(episode.actions) for episode in done.episodes(0)]
    assert lengths == [20, 8, 6, 8]
    assert not any(episode.terminated for episode in done.episodes(0))
    said = [note for row in done.rows[0] for note in row["notes"] if "real episode" in note]
    assert said
    assert all(note in "\n".join(line_of(0, row) for row in done.rows[0]) for note in said)
    assert all("on fire" in note or "nan" in note for note in said)
    assert all(np.isfinite(episode.states).all() for episode in done.episodes(0))


class Dead(Failing):
    """Never makes a step."""

    def step(self, action):
        del action
        raise OSError("no power")


def nothing(state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    del state, rng
    return np.zeros(1)


def test_a_first_episode_without_a_step_can_be_tried_again(tmp_path):
    gymnasium.register("Dead-v0", "test_iterate:Dead", max_episode_steps=20)
    try:
        for _ in range(2):
            with pytest.raises(FarstepError, match=r"recorded nothing: .*no power"):
                iterate("Dead-v0", out=tmp_path, epochs=1, **LOOP)
        later = RealEpisodes(tmp_path / "later", system("Dead-v0"), seed=0)
        for _ in range(2):  # run, then read
            found = later.get(3, nothing)
            assert found.episode is None and "no power" in found.trouble[0]
    finally:
        del gymnasium.registry["Dead-v0"]


class Stuck(Failing):
    """Begins once, fails after some steps, and cannot be closed."""

    def reset(self, *, seed=None, options=None):
        if Failing.episodes == 2:
            raise OSError("the brake is on")
        return super().reset(seed=seed, options=options)

    def close(self):
        if hasattr(self, "_number"):
            raise OSError("the port is gone")


def test_what_was_recorded_is_kept_though_closing_fails(tmp_path):
    gymnasium.register("Stuck-v0", "test_iterate:Stuck", max_episode_steps=20)
    try:
        real, Failing.episodes = RealEpisodes(tmp_path, system("Stuck-v0"), seed=0), 1
        first, second = real.get(1, nothing), real.get(2, nothing)
    finally:
        del gymnasium.registry["Stuck-v0"]
    assert first.episode is not None and len(first.episode.actions) == 8
    assert ["on fire" in first.trouble[0], "port is gone" in first.trouble[1]] == [True, True]
    assert second.episode is None and "did not begin: the brake" in second.trouble[0]


def test_a_first_episode_that_is_too_short_is_said_and_not_kept(tmp_path):
    gymnasium.register("Failing-v0", "test_iterate:Failing", max_episode_steps=3)
    Failing.episodes = 0
    try:
        with pytest.raises(FarstepError, match=r"^the first .*has 3 step\(s\).*must have 4"):
            iterate("Failing-v0", out=tmp_path, epochs=1, **{**LOOP, "weights": "uniform"})
        done = iterate("Failing-v0", out=tmp_path, epochs=1, **{**LOOP, "horizon": 3})
    finally:
        del gymnasium.registry["Failing-v0"]
    assert [len(episode.actions) for episode in done.episodes(0)] == [3, 3]


def test_why_a_first_episode_is_too_short_is_said(tmp_path):
    gymnasium.register("Failing-v0", "test_iterate:Failing", max_episode_steps=20)
    Failing.episodes = 1
    try:
        with pytest.raises(FarstepError, match=r"on fire: the first real episode has 8 step\(s\)"):
            RealEpisodes(tmp_path, system("Failing-v0"), seed=0, least=10).first()
    finally:
        del gymnasium.registry["Failing-v0"]


def test_what_went_wrong_is_said_again_when_an_episode_is_read(tmp_path):
    gymnasium.register("Failing-v0", "test_iterate:Failing", max_episode_steps=20)
    try:
        real, Failing.episodes = RealEpisodes(tmp_path, system("Failing-v0"), seed=0), 1
        first, again = (real.get(1, nothing) for _ in range(2))
    finally:
        del gymnasium.registry["Failing-v0"]
    assert first.trouble == again.trouble and "on fire" in first.trouble[0]
    assert first.episode is not None and again.episode is not None
    np.testing.assert_array_equal(first.episode.states, again.episode.states)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"stride": 2}, "leave stride at 1"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"agent": {"agent": "sb3:SAC"}}, "choose warm=none"),
        ({"agent": {"agent": "sb3:PPO", "net_arch": (8,)}}, "own net_arch; leave that out"),
        ({"agent": {"agent": "sb3:SAC", "keep": "best"}}, "keep=best is for the built-in"),
        ({"agent": AgentConfig(agent="sb3:TD3", tau=0.1), "warm": "none"}, "own tau"),
        ({"weights": lambda losses: losses}, "'test_iterate:<lambda>' cannot be imported"),
        ({"system": "test_iterate:LOGGED"}, "LOGGED' cannot be run"),
        ({"model": "linear", "warm": "both"}, "choose warm=agent"),
    ],
)
def test_bad_settings_are_said_before_anything_is_run(settings, said, tmp_path):
    with pytest.raises(FarstepError, match=said):
        iterate(out=tmp_path / "x", **{"system": "Pendulum-v1", **LOOP, **settings})
    assert not (tmp_path / "x").exists()


def test_the_command(farstep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # it writes to `loop` by itself
    options = ("steps=60", "num_envs=2", "learning_starts=10", "batch_size=8", "net_arch=[8]")
    fitting = ("width=8", "depth=1", "compositions=40", "batch=64")
    shown = farstep(
        "iterate", "Pendulum-v1", "--epochs", 1, "--seeds", 1, "--workers", 1, "--horizon", 2,
        "--weights", "decay:0.9", "--fit-option", *fitting, "--agent-option", *options,
        "--imagination-option", "reward=learned",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    assert "imagined" in shown.out and "h = 2, weights decay:0.9" in shown.out
    assert (tmp_path / "loop" / "returns.png").exists()
    settings = json.loads((tmp_path / "loop" / "seed-0" / "settings.json").read_text())
    assert settings["fit"]["compositions"] == 40
    assert settings["agent"]["eval_every"] == agent_config("brief").eval_every
    bad = farstep("iterate", "Pendulum-v1", "--epochs", 0, "--out", tmp_path / "x")
    assert bad.code == 2 and "epochs must be a whole number of at least 1" in bad.err


def test_a_fit_starts_from_another():
    settings = {**FIT, "epochs": 1, "learning_rate": 1e-12}
    first = fit(pendulum(3), pendulum(1), **FIT)
    second = fit(pendulum(3), pendulum(1), **{**settings, "seed": 5}, start=first)
    ours, theirs = (one.predict(np.zeros(2), np.zeros(1))[0] for one in (first, second))
    np.testing.assert_allclose(ours, theirs, atol=0.02)  # running statistics move all the same
    with pytest.raises(FarstepError, match="same network"):
        fit(pendulum(3), pendulum(1), **{**settings, "width": 8}, start=first)


def test_an_agent_starts_from_another(tmp_path):
    imagined = imagine(model(), CART, data())
    first = train(imagined, AGENT, eval_episodes=0, out=tmp_path / "a")
    unmoved = train(imagined, AGENT, eval_episodes=0, learning_rate=1e-12, seed=3, start=first)
    states = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    np.testing.assert_allclose(unmoved.policy(states), first.policy(states), atol=1e-5)
    read = train(imagined, AGENT, eval_episodes=0, out=tmp_path / "a")
    again = train(imagined, AGENT, eval_episodes=0, learning_rate=1e-12, seed=3, start=read)
    np.testing.assert_array_equal(again.policy(states), unmoved.policy(states))
    with pytest.raises(FarstepError, match="other networks"):
        train(imagined, AGENT, net_arch=(4,), start=first)
