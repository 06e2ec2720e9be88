"""A user's own function as a model, in NumPy and PyTorch."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch

import cart
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.evaluation.evaluation import evaluate
from farstep.evaluation.rollout_errors import r_squared
from farstep.models.function import FunctionDynamics

HORIZON = 5


def linear(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    return 0.9 * observations @ cart.A.T + actions @ cart.B.T


class Module(torch.nn.Module):
    """The same system, with dropout that only training uses."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, observations: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        after = 0.9 * observations @ torch.from_numpy(cart.A.T)
        return self.dropout(after + actions @ torch.from_numpy(cart.B.T))


@dataclasses.dataclass
class Unhashable:
    gain: float

    def __call__(self, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self.gain * linear(observations, actions)


@pytest.mark.parametrize("function", [linear, Module().train()], ids=["numpy", "pytorch"])
def test_a_function_is_composed_like_any_model(cart_data: Episodes, function: Callable):
    exact = dataclasses.replace(cart.linear(), state_matrix=0.9 * cart.linear().state_matrix)
    found = r_squared(FunctionDynamics(function=function), cart_data, HORIZON)
    np.testing.assert_allclose(found, r_squared(exact, cart_data, HORIZON), atol=1e-5)
    assert getattr(function, "training", True), "the module is left as it was"


def test_a_function_may_return_deviations_and_need_not_be_hashable(cart_data: Episodes):
    def unsure(observations: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return linear(observations, actions), np.full_like(observations, 0.5)

    models = {"sure": linear, "unsure": unsure, "object": Unhashable(1.0)}
    found = evaluate(models, cart_data, HORIZON, references=False)
    assert found["unsure"].calibrations
    assert not found["sure"].calibrations
    np.testing.assert_allclose(found["object"].r2, found["sure"].r2)


def transposed(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    return linear(observations, actions).T


def fails(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    raise RuntimeError("no such weight\nsecond line")


def fails_on_many(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    assert len(observations) == 1, "one at a time"
    return linear(observations, actions)


def nothing(observations: np.ndarray, actions: np.ndarray) -> None:
    del observations, actions


def three(observations: np.ndarray, actions: np.ndarray) -> tuple:
    del actions
    return observations, observations, observations


def negative(observations: np.ndarray, actions: np.ndarray) -> tuple:
    del actions
    return observations, -np.ones_like(observations)


def attached(observations: np.ndarray, actions: np.ndarray) -> torch.Tensor:
    del actions
    return torch.ones(observations.shape, requires_grad=True)


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (transposed, "(2, 1)"),
        (fails, "no such weight"),
        (fails_on_many, "one at a time"),
        (nothing, "nothing"),
        (three, ""),
        (negative, "standard deviations"),
        (attached, "grad"),
    ],
)
def test_a_faulty_function_is_named_in_one_line(cart_data: Episodes, function: Callable, part: str):
    with pytest.raises(FarstepError, match=f"'{function.__name__}'") as caught:
        evaluate(function, cart_data, HORIZON, references=False)
    message = str(caught.value)
    assert part in message and "\n" not in message
