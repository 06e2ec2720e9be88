"""Pure-batch RL from the API and the command line, at tiny sizes."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import cart
from farstep.agents.config import AgentConfig
from farstep.datasets.reading import read
from farstep.datasets.shipped import load
from farstep.dynamics.ensemble import Ensemble
from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.imagination.config import ImagineConfig
from farstep.loops import offline as module
from farstep.loops.offline import offline
from farstep.loops.shared import AMONG_SEVERAL, BRANCHED, CAREFUL, imagine_settings, model_settings
from farstep.model import load_model
from farstep.weights import Losses, decay

SMALL = AgentConfig(
    steps=60, num_envs=2, learning_starts=10, batch_size=8, net_arch=(8,), eval_every=30
)
FIT: dict[str, Any] = {
    "epochs": 1,
    "horizon": 2,
    "weights": "uniform",
    "width": 16,
    "depth": 1,
    "members": 1,
}
ALONE: dict[str, Any] = {"seeds": 1, "agent": SMALL, "workers": 1}
UNSEEN = dataclasses.replace(SMALL, eval_episodes=0)
LOGGED = dataclasses.replace(cart.CART, env_id=None)
OPTIONS = (
    "steps=60", "num_envs=2", "learning_starts=10", "batch_size=8", "net_arch=[8]", "eval_every=60",
)  # fmt: skip


def _fit(**changes: Any) -> dict[str, Any]:
    return {**FIT, **changes}


@pytest.fixture(autouse=True)
def _one_real_episode(monkeypatch: pytest.MonkeyPatch):
    """Ten for each result take most of a test's time."""
    monkeypatch.setattr("farstep.loops.offline._EPISODES", 1)


@pytest.fixture(scope="module")
def few():
    return load("cartpole-swingup/random").take(range(6))


def test_every_stage_is_there_and_used_again(few, tmp_path):
    done = offline(few, out=tmp_path, seeds=2, agent=SMALL, workers=1, **FIT)
    assert [result["seed"] for result in done.results] == [0, 1]
    assert done.results[0]["return"] != done.results[1]["return"]
    # Whole episodes of the system's own length, so what they earned themselves.
    assert done.recorded == pytest.approx(np.mean(few.returns), rel=1e-4)
    summary = done.summary()
    mean, half = summary["return"]
    values = np.array([result["return"] for result in done.results])
    assert mean == pytest.approx(values.mean())
    # Student's 90 % interval of two: 6.314 standard errors.
    assert half == pytest.approx(6.3138 * values.std(ddof=1) / np.sqrt(2), rel=1e-3)
    assert 0.9 < summary["R²(1)"][0] <= 1
    for name in ("model/model.safetensors", "agent/policy.safetensors", "agent/best.safetensors"):
        assert (tmp_path / "seed-0" / name).exists()
    stamp = (tmp_path / "seed-0" / "agent" / "policy.safetensors").stat().st_mtime_ns
    (tmp_path / "seed-0" / "result.json").unlink()
    again = offline(few, out=tmp_path, seeds=2, agent=SMALL, workers=1, **FIT)
    assert again.results[0]["return"] == done.results[0]["return"]
    assert (tmp_path / "seed-0" / "agent" / "policy.safetensors").stat().st_mtime_ns == stamp


def test_what_the_data_earn_is_not_more_than_their_tasks_lasted(monkeypatch):
    episodes = [
        Episode(one.states, one.actions, one.rewards, number == 0, number > 0)
        for number, one in enumerate(cart.data())
    ]
    ended = Episodes.from_list(episodes, cart.SIGNALS, "cart")
    longer = dataclasses.replace(LOGGED, episode_steps=40)
    monkeypatch.setattr(module, "_system", lambda *_: longer)
    found = [module._check(data, "cart", ImagineConfig()) for data in (ended, cart.data())]
    assert ended.returns is not None
    earned = float(ended.returns.mean())
    assert found == pytest.approx([earned, 2 * earned], rel=1e-4)


def test_two_workers(tmp_path):
    settings = {"model": "linear", "members": 1, "system": "test_offline:LOGGED", "agent": SMALL}
    done = offline(cart.data(10), out=tmp_path, seeds=2, workers=2, **settings)
    assert [result["seed"] for result in done.results] == [0, 1]
    # Processes of one thread add up in another order than this one: R² agrees, not to the bit.
    alone = offline(cart.data(10), out=tmp_path / "alone", seeds=1, workers=1, **settings)
    assert done.results[0]["r2"] == pytest.approx(alone.results[0]["r2"], abs=1e-5)


def test_other_settings_in_the_same_place(few, tmp_path):
    first = offline(few, out=tmp_path, **ALONE, **FIT)
    (path,) = tmp_path.glob("*.npz")
    stamp = path.stat().st_mtime_ns
    with pytest.raises(FarstepError, match="--force"):
        offline(few.take(range(5)), out=tmp_path, **ALONE, **FIT)
    assert offline(few, out=tmp_path, **ALONE, **FIT).results == first.results
    # What workers of the first call read did not change while they may have been at it.
    assert read(path).equals(few) and path.stat().st_mtime_ns == stamp
    assert len(list(tmp_path.glob("*.npz"))) == 2
    with pytest.raises(FarstepError, match="--force"):
        offline(few, out=tmp_path, **ALONE, **_fit(horizon=3))
    other = offline(few, out=tmp_path, force=True, **ALONE, **_fit(weights=decay(0.5)))
    assert other.results[0]["r2"] != first.results[0]["r2"]
    assert "decay:0.5" in other.about


def test_an_agent_of_stable_baselines3_in_a_system_that_cannot_be_run(tmp_path):
    """The preset is `fast`, which has a rate and a network that TD3 does not go by."""
    agent = {"agent": "sb3:TD3", "steps": 120, "num_envs": 2, "eval_every": 120}
    settings = {**ALONE, **FIT, "agent": agent, "system": "test_offline:LOGGED"}
    done = offline(cart.data(10), out=tmp_path / "a", **settings)
    assert done.results[0]["return"] is done.results[0]["best_return"] is None
    assert np.isfinite(done.results[0]["imagined_return"])
    assert done.curves[0].column("steps").tolist() == [120]
    assert "sb3:TD3, 120 steps in 2 imagined system(s); 1 seed(s)" in done.about
    names = list(done.summary())
    assert names[0] == "imagined return" and len(done.row(done.results[0])) == len(names)
    for changes, said in (
        ({"agent": {**agent, "learning_rate": 1e-4}}, "own learning_rate; leave that out"),
        ({"system": "cart:CART"}, r"observation space of 'Pendulum-v1'.*env_id=None"),
    ):
        with pytest.raises(FarstepError, match=said):
            offline(cart.data(10), out=tmp_path / "b", **{**settings, **changes})
        assert not (tmp_path / "b" / "seed-0").exists()  # said before anything was fitted


def far(losses: Losses) -> Losses:
    return losses * 0 + 1


def test_weights_that_cannot_be_found_again_are_refused(few, tmp_path):
    assert model_settings("recommended", {"weights": far})[0].weights == "test_offline:far"
    assert model_settings("recommended", {"horizon": 2, "weights": [1, 2]})[0].horizon == 2
    with pytest.raises(FarstepError, match=r"<lambda>' cannot be imported.*module"):
        offline(few, out=tmp_path / "x", **{**ALONE, **FIT, "weights": lambda losses: losses})
    assert not (tmp_path / "x").exists()


def test_a_reward_that_is_not_known_is_learned(few, tmp_path):
    noted = ALONE | FIT
    learned = offline(few, out=tmp_path / "a", imagination={"reward": "learned"}, **noted)
    assert np.isfinite(learned.results[0]["imagined_return"])
    assert learned.notes == []  # it was asked for
    rng = np.random.default_rng(0)
    few = [
        Episode(rng.normal(size=(9, 3)), rng.normal(size=(8, 1)), rng.normal(size=8))
        for _ in range(10)
    ]
    unknown = Episodes.from_list(few, system="Pendulum-v1")
    with pytest.warns(DataWarning):
        found = offline(unknown, out=tmp_path / "c", **{**noted, "agent": UNSEEN})
    assert any("is not known; it was learned" in note for note in found.notes)
    assert any("which states end the task" in note for note in found.notes)
    # No look at the real system while the agent learned, but at the end.
    assert np.isfinite(found.results[0]["return"]) and found.results[0]["best_return"] is None
    assert "return" in found.summary() and "return of the best" not in found.summary()
    steps = [Episode(np.zeros((9, 3)), np.zeros((8, 1))) for _ in range(3)]
    without = Episodes.from_list(steps, system="Pendulum-v1")
    with pytest.raises(FarstepError, match="is to be learned, and the data have none"):
        offline(without, out=tmp_path / "b", **noted)


def test_the_command(farstep, tmp_path):
    shown = farstep(
        "offline", "cartpole-swingup/random", "--epochs", 1, "--horizon", 2, "--weights",
        "decay:0.9", "--width", 16, "--seeds", 1, "--agent-preset", "fast",
        "--agent-option", *OPTIONS, "--imagination-option", "bounds=0.1", "propagation=sample",
        "--workers", 1, "--out", tmp_path / "o",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    assert "h = 2, weights decay:0.9" in shown.out and "imagined return" in shown.out
    folder = tmp_path / "o" / "seed-0"
    result = json.loads((folder / "result.json").read_text())
    dynamics = load_model(folder / "model" / "model.safetensors").dynamics
    assert isinstance(dynamics, Ensemble) and dynamics.size == 3  # by itself
    assert np.isfinite(result["return"]) and np.isfinite(result["imagined_return"])
    assert (tmp_path / "o" / "returns.png").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--agent", "sb3:NONE"), "no agent 'sb3:NONE'"),
        (("--agent-option", "stps=3"), "Did you mean 'steps'"),
        (("--agent-option", "gamma=x"), "gamma must be a number"),
        (("--imagination-option", "penalty=-1"), "penalty must be 0 or more"),
        (("--imagination-option", "bound=3"), "Did you mean 'bounds'"),
        (("--system", "cartpol"), "Did you mean 'cartpole-swingup'"),
        (("--system", "swimmer"), "not of one system"),
        (("--seeds", "0"), "at least 1"),
        (("--stride", "2"), "single steps"),
        (("--model", "linear", "--imagination-option", "choice=step"), "single one"),
        (("--members", "1", "--imagination-option", "penalty=1"), "only an ensemble"),
    ],
)
def test_bad_input_is_one_line(farstep, tmp_path, options, message):
    shown = farstep(
        "offline", "cartpole-swingup/random", "--epochs", 1, "--workers", 1, "--out",
        tmp_path / "o", *options,
    )  # fmt: skip
    assert shown.code == 2
    assert not (tmp_path / "o").exists()  # said before anything was fitted
    assert message in shown.err and shown.err.count("\n") == 1


def test_the_train_command(farstep, tmp_path):
    arguments = (
        "train", "Pendulum-v1", "--steps", 250, "--learning-starts", 50, "--batch-size", 8,
        "--net-arch", 8, "--eval-every", 200, "--seed", 1, "--out", tmp_path / "t",
    )  # fmt: skip
    shown = farstep(*arguments)
    assert shown.code == 0, shown.err
    assert "real return" in shown.out
    for name in ("policy.safetensors", "best.safetensors", "episodes.npz", "curve.png"):
        assert f"wrote {tmp_path / 't' / name}" in shown.out
        assert (tmp_path / "t" / name).exists()
    assert farstep(*arguments).code == 0
    collected = farstep(
        "collect", "Pendulum-v1", "--policy", tmp_path / "t" / "policy.safetensors",
        "--episodes", 1, "--out", tmp_path / "c.npz",
    )  # fmt: skip
    assert collected.code == 0, collected.err


def test_members_of_an_ensemble_take_turns():
    assert imagine_settings(None, 3) == AMONG_SEVERAL
    assert imagine_settings(None, 3, CAREFUL) == CAREFUL
    assert imagine_settings(None, 1, CAREFUL) == BRANCHED
    assert imagine_settings({"beyond": "end"}, 1) == dataclasses.replace(BRANCHED, beyond="end")
    assert imagine_settings({"choice": "mean"}, 3).choice == "mean"


def test_offline_agents_are_careful_and_those_of_a_loop_are_not(few, tmp_path, monkeypatch):
    asked = []

    def stopped(first: Any, *_: Any) -> Any:
        asked.append(first.imagination)
        raise KeyboardInterrupt

    monkeypatch.setattr("farstep.loops.offline._all_seeds", stopped)
    for members in (2, 1):
        with pytest.raises(KeyboardInterrupt):
            offline(few, out=tmp_path, members=members)
    assert asked == [CAREFUL, BRANCHED]
    assert CAREFUL.penalty > 0
    assert imagine_settings(None, 2).penalty == 0


def test_no_seed_is_said(few, tmp_path):
    with pytest.raises(FarstepError, match="at least 1"):
        offline(few, out=tmp_path, seeds=0)


def test_without_bounds_an_ensembles_episodes_do_not_end_beyond_them():
    assert imagine_settings({}, members=3).beyond == "end"
    assert imagine_settings({"bounds": None}, members=3).beyond == "clip"
    with pytest.raises(FarstepError, match="without bounds nothing is beyond them"):
        imagine_settings({"bounds": None, "beyond": "end"}, members=3)
