"""Data, tiny models and helpers that several test files share."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

import cart
from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.evaluation.evaluation import Evaluation, evaluate
from farstep.model_env.model_env import ModelEnv
from farstep.models.model import Model
from farstep.training.fit import fit

if TYPE_CHECKING:
    from farstep.agents.agent import Agent

# No deadline, since a busy machine is no fault of the code; the same code passes or fails alike.
# FARSTEP_EXAMPLES=500 tries other examples.
settings.register_profile(
    "farstep", deadline=None, derandomize="FARSTEP_EXAMPLES" not in os.environ
)
settings.load_profile("farstep")


@pytest.fixture
def small() -> Episodes:
    """Three episodes of 4, 1 and 6 steps with everything that episodes can have."""
    rng = np.random.default_rng(0)
    episodes = [
        Episode(
            observations=rng.normal(size=(steps + 1, 2)).astype(np.float32),
            actions=rng.uniform(-1, 1, size=(steps, 1)).astype(np.float32),
            rewards=rng.normal(size=steps),
            terminated=steps == 1,
            truncated=steps != 1,
            clean_observations=rng.normal(size=(steps + 1, 2)).astype(np.float32),
        )
        for steps in (4, 1, 6)
    ]
    signals = Signals(
        observation_names=("level", "flow"),
        observation_units=("m", "m3/s"),
        action_names=("valve",),
        action_low=(-1.0,),
        action_high=(1.0,),
        interval=0.5,
    )
    return Episodes.from_list(episodes, signals, "tank", {"recipe": {"seed": 3}})


@pytest.fixture(scope="session")
def cart_data() -> Episodes:
    """Four episodes of 20 steps of the cart."""
    return cart.data()


@pytest.fixture(scope="session")
def tiny_model(cart_data: Episodes) -> Model:
    """Return a small network fitted on `cart_data`."""
    return fit(cart_data, cart.data(1, seed=1), cart.TINY_FIT)


@pytest.fixture(scope="session")
def tiny_ensemble(cart_data: Episodes) -> Model:
    """Return two members of the same sizes."""
    return fit(cart_data, cart.data(1, seed=1), cart.TINY_FIT, ensemble_size=2)


@pytest.fixture(scope="session")
def tiny_agent(cart_data: Episodes) -> "Agent":
    """Return an agent that was trained in the cart's exact model."""
    from farstep.agents.train_agent import train_agent

    return train_agent(ModelEnv(cart.model(), cart.CART, cart_data), cart.TINY)


@pytest.fixture(scope="session")
def tiny_evaluation(tiny_model: Model) -> Evaluation:
    """Return the evaluation of `tiny_model`, 5 steps ahead."""
    return evaluate(tiny_model, cart.data(2, seed=2), horizon=5, train=cart.data())


class CommandResult(NamedTuple):
    """What a command returned and printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def farstep(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., CommandResult]:
    """Run the command line in this process."""

    def run(*arguments: object) -> CommandResult:
        from farstep.cli import main

        monkeypatch.setattr(sys, "argv", ["farstep", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        printed = capsys.readouterr()
        return CommandResult(code, printed.out, printed.err)

    return run
