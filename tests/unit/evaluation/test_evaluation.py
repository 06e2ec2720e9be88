"""`evaluate`: names of rows, notes, and inputs that do not match."""

import dataclasses
import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.data.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.evaluation.evaluation import Evaluation, evaluate
from farstep.models.linear import LinearDynamics
from farstep.models.model import Model
from farstep.training.fit import fit

HORIZON = 5
SETTINGS = {"weights": "uniform", "horizon": 1, "fixed_horizon": 1, "ensemble_size": 1}


@pytest.fixture(scope="module")
def episodes() -> Episodes:
    return cart.data(2, seed=2)


@pytest.fixture(scope="module")
def second_seed(cart_data: Episodes) -> Model:
    return fit(cart_data, cart.data(1, seed=1), {**cart.TINY_FIT, "seed": 1})


@pytest.fixture(scope="module")
def direct() -> Model:
    """Return s' = s after five steps at once."""
    dynamics = LinearDynamics(
        state_matrix=jnp.eye(2),
        action_matrix=jnp.zeros((2, 5)),
        offset=jnp.zeros(2),
        log_std=jnp.full(2, -jnp.inf),
        fixed_horizon=5,
    )
    return Model(dynamics, cart.SIGNALS, "cart", {**SETTINGS, "fixed_horizon": 5})


def _exact(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    found, state = [], observations
    for step in range(actions.shape[1]):
        state = state @ cart.A.T + actions[:, step] @ cart.B.T
        found.append(state)
    return np.stack(found, axis=1)


EXACT = dataclasses.replace(cart.CART, make_oracle=lambda: _exact)


def still(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    return observations


def test_seeds_share_a_row_between_the_references(
    tiny_model: Model,
    second_seed: Model,
    tiny_ensemble: Model,
    direct: Model,
    cart_data: Episodes,
    episodes: Episodes,
):
    models = [tiny_model, direct, second_seed, tiny_ensemble]
    found = evaluate(models, episodes, HORIZON, train=cart_data, system=EXACT)
    assert [(one.name, one.seeds) for one in found.models] == [
        ("persistence", 1),
        ("linear", 1),
        ("h = 2, uniform", 2),
        ("fixed horizon 5", 1),
        ("h = 2, uniform, 2 members", 1),
        ("oracle", 1),
    ]
    seeds, members = found["h = 2, uniform"], found["h = 2, uniform, 2 members"]
    assert seeds.variance is not None and members.variance is not None
    assert found["fixed horizon 5"].variance is None
    np.testing.assert_array_equal(found["fixed horizon 5"].steps, [5])
    np.testing.assert_allclose(found["fixed horizon 5"].r2, found["persistence"].r2[:, 4:])
    np.testing.assert_allclose(found["oracle"].r2, 1.0, atol=1e-5)
    np.testing.assert_allclose(found["linear"].r2, 1.0, atol=1e-4)
    alone = [evaluate(m, episodes, HORIZON, references=False) for m in (tiny_model, second_seed)]
    np.testing.assert_allclose(seeds.r2, np.concatenate([one.models[0].r2 for one in alone]))
    both = evaluate({"both": [tiny_model, second_seed]}, episodes, HORIZON, references=False)
    np.testing.assert_array_equal(both["both"].r2, seeds.r2)
    with pytest.raises(KeyError, match="'persistence', 'linear'"):
        found["h = 9"]


def test_a_function_is_a_model(episodes: Episodes):
    found = evaluate(still, episodes, HORIZON)
    assert [one.name for one in found.models] == ["persistence", "still"]
    np.testing.assert_allclose(found["still"].r2, found["persistence"].r2, rtol=1e-5)

    def broken(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return observations[:, :1]

    with pytest.raises(FarstepError, match="'broken'"):
        evaluate(broken, episodes, HORIZON)


def test_printing_and_numbers_agree(tiny_evaluation: Evaluation):
    stored = json.loads(json.dumps(tiny_evaluation.to_json(), allow_nan=False))
    assert [one["name"] for one in stored["models"]] == ["persistence", "linear", "h = 2, uniform"]
    np.testing.assert_allclose(stored["models"][2]["r2"], tiny_evaluation["h = 2, uniform"].r2)
    assert stored["observation_names"] == ["position", "velocity"]
    assert "h = 2, uniform" in repr(tiny_evaluation)
    assert tiny_evaluation.summary[0].startswith("h = 2, uniform")
    assert "2 episodes, 40 steps of cart" in tiny_evaluation.about


def test_a_model_with_a_references_name_is_renamed(episodes: Episodes):
    found = evaluate({"persistence": still}, episodes, HORIZON)
    assert [one.name for one in found.models] == ["persistence", "persistence (model)"]


def test_constant_observations_are_noted(episodes: Episodes):
    constant = np.array(episodes.observations)
    constant[:, 0] = 0.1  # not exact in binary
    data = dataclasses.replace(episodes, observations=constant)
    with pytest.warns(DataWarning, match="no R² for position"):
        found = evaluate([], data, HORIZON)
    assert np.isfinite(found["persistence"].r2).all()
    assert any("position" in note for note in found.notes)
    with pytest.raises(FarstepError, match="varies"):
        evaluate([], dataclasses.replace(data, observations=np.ones_like(constant)), HORIZON)


def test_divergence_is_minus_infinity_and_noted(episodes: Episodes):
    wild = dataclasses.replace(LinearDynamics.zeros(2, 1), state_matrix=1e12 * jnp.eye(2))
    with pytest.warns(DataWarning, match="'wild' diverges: from step 2 on"):
        found = evaluate({"wild": wild}, episodes, HORIZON)
    assert found["wild"].r2[0, -1] == -np.inf
    assert (found["wild"].falls_below(0.0), found["wild"].diverged) == (1, 2)
    assert json.dumps(found.to_json(), allow_nan=False)


def test_a_single_target_has_no_r_squared_and_is_no_divergence(episodes: Episodes):
    first = episodes[0]
    short = Episode(first.observations[:6], first.actions[:5])
    data = Episodes.from_list([short], episodes.signals, "cart")
    found = evaluate([], data, HORIZON)["persistence"]
    assert np.isnan(found.r2[0, -1]) and np.isfinite(found.r2[0, :-1]).all()
    assert found.diverged is None and np.isfinite(found.mean_r2[0])


def test_the_origin_of_a_model_is_checked(tiny_model: Model, cart_data: Episodes):
    with pytest.warns(DataWarning, match="fitted on 4 of the 4 evaluated episodes"):
        evaluate(tiny_model, cart_data, HORIZON, references=False)
    mixed = Episodes.from_list([cart_data[1], *cart.data(2, seed=2)], cart.SIGNALS, "cart")
    with pytest.warns(DataWarning, match="fitted on 1 of the 3 evaluated episodes"):
        evaluate(tiny_model, mixed, HORIZON, references=False)
    model, data = cart.model(), cart.data(2, seed=2)
    slow, fast = (dataclasses.replace(cart.SIGNALS, interval=x) for x in (0.05, 0.01))
    with pytest.warns(DataWarning) as caught:
        found = evaluate(
            dataclasses.replace(model, signals=fast, system="truck"),
            data.with_signals(slow),
            HORIZON,
            references=False,
        )
    steps, systems = found.notes
    assert [str(one.message) for one in caught] == [steps, systems]
    assert "0.01 s" in steps and "0.05 s" in steps
    assert "truck" in systems and "cart" in systems


def test_a_single_episode_that_is_long_enough_is_noted():
    long, short = cart.data(2, seed=2)
    data = Episodes.from_list([long, short.slice(0, HORIZON - 1)], cart.SIGNALS, "cart")
    with pytest.warns(DataWarning, match=f"only one of 2 episodes has {HORIZON} steps"):
        evaluate(cart.model(), data, HORIZON, references=False)


def test_models_in_other_units_are_refused():
    metres, inches = (
        dataclasses.replace(cart.SIGNALS, observation_units=(unit, "")) for unit in ("m", "in")
    )
    model = dataclasses.replace(cart.model(), signals=metres)
    with pytest.raises(FarstepError, match=r"'position' is in m in .*, and in in in"):
        evaluate(model, cart.data(2, seed=2).with_signals(inches), HORIZON)


@pytest.mark.parametrize(
    ("models", "horizon", "name"),
    [
        (lambda m: m[0], 21, "horizon"),
        (lambda m: m[1], 7, "fixed_horizon"),
        (lambda m: {"both": m}, 5, "'both'.*fixed_horizon"),
        (lambda _: {"none": []}, 5, "'none'"),
        (lambda _: LinearDynamics.zeros(4, 1), 5, "2 observations and 1 actions"),
        (lambda _: LinearDynamics.zeros(1, 1), 5, "LinearDynamics"),
        (lambda m: [m[0], m[0]], 5, "same model twice"),
    ],
)
def test_models_that_do_not_match_are_refused(
    models: Any, horizon: int, name: str, tiny_model: Model, direct: Model, episodes: Episodes
):
    with pytest.raises(FarstepError, match=name):
        evaluate(models([tiny_model, direct]), episodes, horizon)


def test_data_that_do_not_match_are_refused(tiny_model: Model, episodes: Episodes):
    other = dataclasses.replace(cart.SIGNALS, observation_names=("level", "flow"))
    with pytest.raises(FarstepError, match=r"'mine'.*position.*level"):
        evaluate({"mine": tiny_model}, episodes.with_signals(other), HORIZON)
    with pytest.raises(FarstepError, match="references"):
        evaluate([], episodes, HORIZON, references=False)
