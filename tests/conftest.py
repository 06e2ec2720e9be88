"""Data and helpers that several test files share."""

import os
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import settings

from farstep.cli import main
from farstep.episodes import Episode, Episodes
from farstep.signals import Signals

# A busy machine is no fault of the code, and the same code passes or fails the same way:
# FARSTEP_EXAMPLES=500 tries others.
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
            states=rng.normal(size=(steps + 1, 2)).astype(np.float32),
            actions=rng.uniform(-1, 1, size=(steps, 1)).astype(np.float32),
            rewards=rng.normal(size=steps),
            terminated=steps == 1,
            truncated=steps != 1,
            clean_states=rng.normal(size=(steps + 1, 2)).astype(np.float32),
        )
        for steps in (4, 1, 6)
    ]
    signals = Signals(
        state_names=("level", "flow"),
        state_units=("m", "m3/s"),
        action_names=("valve",),
        action_low=(-1.0,),
        action_high=(1.0,),
        interval=0.5,
    )
    return Episodes.from_list(episodes, signals, "tank", {"recipe": {"seed": 3}})


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def farstep(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run the command line in this process."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["farstep", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return run
