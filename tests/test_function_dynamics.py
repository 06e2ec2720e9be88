"""A user's own function as a model, in NumPy and PyTorch."""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from farstep.dynamics.function import FunctionDynamics
from farstep.dynamics.linear import LinearDynamics
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.evaluation.evaluate import score
from farstep.scoring.errors import r_squared

A, B = np.array([[0.9, 0.2], [-0.2, 0.9]], np.float32), np.array([[0.1], [0.3]], np.float32)


def _data() -> Episodes:
    rng = np.random.default_rng(0)
    return Episodes.from_list(
        [Episode(rng.normal(size=(41, 2)), rng.uniform(-1, 1, size=(40, 1))) for _ in range(3)]
    )


def _linear(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    return states @ A.T + actions @ B.T


class _Torch(torch.nn.Module):
    def forward(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        return states @ torch.from_numpy(A.T) + actions @ torch.from_numpy(B.T)


@pytest.mark.parametrize("function", [_linear, _Torch()], ids=["numpy", "pytorch"])
def test_a_function_is_composed_like_any_model(function: object):
    exact = dataclasses.replace(
        LinearDynamics.zeros(2, 1), state_matrix=jnp.asarray(A), action_matrix=jnp.asarray(B)
    )
    own = FunctionDynamics(function=function)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        r_squared(own, _data(), 10), r_squared(exact, _data(), 10), atol=1e-5
    )


def test_a_function_may_say_how_sure_it_is():
    def unsure(states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _linear(states, actions), np.full_like(states, 0.5)

    found = score({"sure": _linear, "unsure": unsure}, _data(), 5)
    assert found["unsure"].calibrations
    assert not found["sure"].calibrations


def test_what_goes_wrong_in_a_function_is_one_line():
    def transposed(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return _linear(states, actions).T

    with pytest.raises(FarstepError, match=r"'transposed' returned \(2, 1\) for states \(1, 2\)"):
        score(transposed, _data(), 5)

    def fails(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        raise RuntimeError("no such weight\nsecond line")

    with pytest.raises(FarstepError, match=r"'fails' failed on .*: no such weight$"):
        score(fails, _data(), 5)


def test_what_goes_wrong_later_is_one_line_too():
    def fails_on_many(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        assert len(states) == 1, "one at a time"
        return _linear(states, actions)

    with pytest.raises(FarstepError, match=r"'fails_on_many' failed on .*: one at a time"):
        score(fails_on_many, _data(), 5)


def test_a_module_in_training_is_scored_in_evaluation_and_left_as_it_was():
    class Dropping(_Torch):
        def __init__(self) -> None:
            super().__init__()
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
            return self.drop(super().forward(states, actions))

    module = Dropping().train()
    own = FunctionDynamics(function=module)
    same = FunctionDynamics(function=_linear)
    np.testing.assert_allclose(r_squared(own, _data(), 5), r_squared(same, _data(), 5), atol=1e-5)
    assert module.training


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda _: None, "returned nothing"),
        (lambda s: (s, s, s), "too many values"),
        (lambda s: (s, -np.ones_like(s)), "not 0 or more"),
        (lambda s: torch.ones(s.shape, requires_grad=True), "requires grad"),
    ],
)
def test_odd_results_are_told(returned: Callable[[np.ndarray], object], message: str):
    def odd(states: np.ndarray, actions: np.ndarray) -> object:
        del actions
        return returned(states)

    with pytest.raises(FarstepError, match=message):
        score(odd, _data(), 5)


def test_an_object_that_cannot_be_hashed_is_scored_too():
    @dataclasses.dataclass
    class Linear:
        gain: float

        def __call__(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
            return self.gain * _linear(states, actions)

    found = score({"mine": Linear(1.0), "theirs": _linear}, _data(), 5)
    np.testing.assert_allclose(found["mine"].r2, found["theirs"].r2)
