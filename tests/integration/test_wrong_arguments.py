"""Arguments of a wrong type are one clear line, in a process without the tests' type checks."""

import subprocess
import sys
from pathlib import Path

WRONG = """
import gymnasium, numpy as np, farstep as fs

def check(call, *words):
    try:
        call()
    except fs.FarstepError as error:
        text = str(error)
        assert all(word in text for word in words) and "\\n" not in text, (text, words)
    else:
        raise AssertionError(words)

data = fs.load_dataset("cartpole-swingup/random").take([0, 1])
bare = fs.Episodes(data.observations, data.actions, data.lengths, signals=data.signals)
model = fs.fit(data, model="linear", horizon=1)
env = gymnasium.make("CartPole-v1")
imagined = fs.ModelEnv(model, data=data)

check(lambda: fs.fit("cartpole-swingup/random"), "str", "Episodes")
check(lambda: fs.fit(np.zeros(3)), "ndarray", "Episodes")
check(lambda: fs.fit(data, config=5), "5")
check(lambda: fs.fit(data, config={"horizn": 2}), "horizn", "horizon")
check(lambda: fs.fit(data, width="wide"), "width", "'wide'")
check(lambda: fs.fit(data, weights=5), "5")
check(lambda: fs.fit(data, start="model.safetensors"), "start", "str")
check(lambda: fs.fit(bare, model="linear", learn_reward=True), "learn_reward")
check(lambda: fs.evaluate(model, "data", horizon=2), "str", "Episodes")
check(lambda: fs.evaluate(model, data, horizon=2, train="data"), "str", "Episodes")
check(lambda: fs.offline(data, out="x", agent={"preset": 1}), "1")
check(lambda: fs.offline(data, out="x", seeds=2.5), "seeds")
check(lambda: fs.offline(data, out="x", fit={"ensemble_size": 1}, env={"uncertainty_penalty": 1.0}),
      "ensemble")
check(lambda: fs.iterate("Pendulum-v1", out="x", episodes=1.5), "episodes")
check(lambda: fs.tune(data, out="x"), "path")
check(lambda: fs.collect("cartpole-swingup", episodes=2.5), "episodes")
check(lambda: fs.collect("cartpole-swingup", model), "predict", "observations")
check(lambda: fs.collect(env), "TimeLimit")
check(lambda: fs.collect("HalfCheetah-v5", lambda s: np.full(6, 9.0), episodes=1), "[-1.")
check(lambda: fs.get_system(env), "TimeLimit")
check(lambda: fs.get_system("CartPole-v1"), "Discrete(2)")
check(lambda: fs.ModelEnv(model, data="cartpole-swingup/random"), "str", "Episodes")
check(lambda: fs.ModelEnv("model"), "str", "model")
check(lambda: fs.ModelEnv(model, data=data, config={"bounds": -1}), "bounds")
check(lambda: fs.train_agent(env), "TimeLimit")
check(lambda: fs.train_agent(imagined, {"stesp": 9}), "stesp", "steps")
check(lambda: fs.train_agent(imagined, seed="a"), "seed")
check(lambda: imagined.vector(0), "num_envs")
check(lambda: imagined.vector(2.5), "num_envs")
check(lambda: model.rollout(data.observations[0], data.actions[:2], "smaple"), "'smaple'", "sample")
one = imagined.gymnasium()
one.reset(seed=0)
check(lambda: one.step(["left"]), "(1,")
fs.write_dataset(data, "data.npz")
check(lambda: fs.load_model("data.npz"), "data.npz")
check(lambda: fs.load_policy("data.npz"), "data.npz")
assert "\\n" not in repr(imagined) and len(repr(imagined)) < 500
"""


def test_arguments_of_a_wrong_type_are_named(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", WRONG], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
