"""The model as an environment, against a linear system whose rollouts are known exactly."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cart import CART, SIGNALS, A, B, data, linear, model
from farstep.dynamics.ensemble import Ensemble
from farstep.errors import DataWarning, FarstepError
from farstep.imagination.familiarity import Familiarity
from farstep.imagination.imagine import imagine
from farstep.model import Model
from farstep.systems.collect import collect
from farstep.systems.registry import system, system_of

KEY = jax.random.key(0)


def _along(world, actions, place=None):
    place = place or world.reset(KEY)
    outcomes = []
    for number, action in enumerate(actions):
        place, outcome = world.step(place, jnp.asarray(action), jax.random.fold_in(KEY, number))
        outcomes.append(outcome)
    return place, outcomes


def test_imagined_states_are_the_exact_rollout():
    world = imagine(model(), CART, bounds=None).world
    actions = np.random.default_rng(0).uniform(-2, 1, (12, 1)).astype(np.float32)
    _, outcomes = _along(world, actions)
    state = np.array([1.0, 0.0], np.float32)
    for action, outcome in zip(actions, outcomes, strict=True):
        state = A @ state + B @ action
        np.testing.assert_allclose(outcome.seen, state, rtol=1e-5)
        expected = -(state[0] ** 2) - 0.1 * action[0] ** 2
        assert float(outcome.reward) == pytest.approx(expected, rel=1e-4)
        assert not outcome.done


def test_angles_stay_on_the_circle():
    turning = np.array([[0.8, -0.6], [0.6, 0.8]], np.float32)
    circling, actions = dataclasses.replace(CART, angles=((0, 1),)), np.zeros((5, 1), np.float32)
    for size in (0.5, 1.0, 1.5):  # models whose radius shrinks, stays and grows
        world = imagine(model(size * turning), circling, bounds=None).world
        place, _ = _along(world, actions)
        exact = np.linalg.matrix_power(turning, 5) @ [1.0, 0.0]
        np.testing.assert_allclose(place.state, exact, atol=1e-5)
    free = imagine(model(0.5 * turning), circling, bounds=None, circles=False).world
    np.testing.assert_allclose(_along(free, actions)[0].state, exact / 2**5, atol=1e-5)


def test_an_episode_is_cut_off_and_a_new_one_begins():
    world = imagine(model(), CART, bounds=None, rollout=3).world
    keys = jax.random.split(KEY, 1)
    places = jax.vmap(world.reset)(keys)
    ends = []
    for turn in range(7):
        places, outcome = world.step_all(places, jnp.ones((1, 1)), keys, jnp.array(turn))
        ends.append((bool(outcome.truncated[0]), bool(outcome.terminated[0]), int(places.steps[0])))
    assert ends[2] == ends[5] == (True, False, 0)
    assert [steps for _, _, steps in ends] == [1, 2, 0, 1, 2, 0, 1]
    np.testing.assert_array_equal(world.reset(KEY).state, [1.0, 0.0])


def test_only_the_system_whose_episode_ended_starts_anew():
    world = imagine(model(), CART, bounds=None, rollout=3).world
    keys = jax.random.split(KEY, 2)
    places = jax.vmap(world.reset)(keys)
    places = places._replace(steps=jnp.array([2, 0]), state=jnp.array([[3.0, 1.0], [3.0, 1.0]]))
    after, outcome = world.step_all(places, jnp.ones((2, 1)), keys, jnp.array(5))
    np.testing.assert_array_equal(outcome.done, [True, False])
    np.testing.assert_array_equal(after.steps, [0, 1])
    np.testing.assert_array_equal(after.state[0], [1.0, 0.0])
    np.testing.assert_array_equal(after.state[1], outcome.seen[1])
    np.testing.assert_array_equal(outcome.seen[0], outcome.seen[1])


def test_distance_from_the_data_is_not_looked_at_in_step_with_short_rollouts():
    away = model(30 * np.eye(2, dtype=np.float32))
    env = imagine(away, CART, data(), bounds=None, rollout=4).vector_env(4)
    env.reset(seed=0)
    for _ in range(17 * 4):
        env.step(np.zeros((4, 1), np.float32))
    assert env.report()["strangeness"] > 5


def test_the_task_ends_where_the_system_says():
    fast = model(2 * np.eye(2, dtype=np.float32))
    _, outcomes = _along(imagine(fast, CART, bounds=None).world, np.zeros((3, 1), np.float32))
    assert [bool(outcome.terminated) for outcome in outcomes] == [False, False, True]
    assert not bool(outcomes[-1].truncated)


def test_bounds_hold_and_are_counted():
    fast = model(2 * np.eye(2, dtype=np.float32))
    seen = data()
    world = imagine(fast, CART, seen, bounds=0.5, starts="any").world
    low, high = seen.states.min(axis=0), seen.states.max(axis=0)
    np.testing.assert_allclose(world.low, low - 0.5 * (high - low), rtol=1e-5)
    place, outcomes = _along(world, np.zeros((10, 1), np.float32))
    assert bool(outcomes[-1].bounded)
    assert (np.asarray(place.state) <= np.asarray(world.high)).all()
    still = imagine(model(np.eye(2, dtype=np.float32)), CART, seen).world
    assert not any(bool(o.bounded) for o in _along(still, np.zeros((5, 1), np.float32))[1])


def test_an_episode_can_end_beyond_the_bounds():
    fast, seen = model(2 * np.eye(2, dtype=np.float32)), data()
    put_back, ended = (
        imagine(fast, CART, seen, beyond=beyond, starts="any", rollout=10).world
        for beyond in ("clip", "end")
    )
    actions = np.zeros((10, 1), np.float32)
    others, outcomes = _along(put_back, actions)[1], _along(ended, actions)[1]
    first = [bool(outcome.bounded) for outcome in outcomes].index(True)
    assert not bool(others[first].terminated)
    assert [bool(one.terminated) for one in outcomes[: first + 1]] == [False] * first + [True]
    # Within the bounds nothing differs; no policy loses as much as by leaving them.
    assert [one.reward for one in outcomes[:first]] == [one.reward for one in others[:first]]
    assert seen.rewards is not None
    loss = 200 * seen.rewards.min()
    assert float(outcomes[first].reward) == pytest.approx(loss, rel=1e-5)
    penalised = imagine(fast, CART, seen, beyond="end", penalty=1.0, uncertainty="std").world
    unsure = np.linalg.norm([0.1, 0.2] / np.asarray(penalised.scale))
    place = penalised.reset(KEY)._replace(state=jnp.asarray(seen.states.max(axis=0)))
    left = penalised.step(place, jnp.zeros(1), KEY)[1]
    between = seen.rewards.max() - seen.rewards.min()
    assert float(left.reward) == pytest.approx(loss - 200 * between * unsure, rel=1e-4)


def test_where_no_state_follows_is_beyond_the_bounds_too():
    broken = model(np.full((2, 2), np.nan, np.float32))
    world = imagine(broken, CART, data(), beyond="end").world
    outcome = _along(world, np.ones((1, 1), np.float32))[1][0]
    assert bool(outcome.terminated) and not bool(outcome.truncated)
    assert float(outcome.reward) == pytest.approx(200 * float(world.worst), rel=1e-5)


def test_where_a_member_gives_no_number_nothing_is_known():
    broken = Ensemble.of([linear(), linear(np.full((2, 2), np.nan, np.float32))])
    seen = data()
    world = imagine(
        Model(broken, SIGNALS, "cart"), CART, seen, penalty=20.0, choice="rollout", beyond="end"
    ).world
    assert float(world._deduction(jnp.ones(2), jnp.zeros(1))) == float(world.reward_range)
    for number in range(6):  # of both members
        _, outcome = world.step(world.reset(jax.random.key(number)), jnp.zeros(1), KEY)
        assert np.isfinite(float(outcome.reward))


def test_whole_episodes_end_beyond_the_bounds_too():
    imagined = imagine(model(2 * np.eye(2, dtype=np.float32)), CART, data(), beyond="end")
    assert imagined.whole.ends_beyond
    assert any(bool(o.terminated) for o in _along(imagined.whole, np.zeros((10, 1)))[1])


def test_an_end_beyond_the_bounds_needs_data():
    with pytest.raises(FarstepError, match="lowest reward of the data"):
        imagine(model(), CART, beyond="end")
    with pytest.raises(FarstepError, match="without bounds nothing is beyond them"):
        imagine(model(), CART, data(), bounds=None, beyond="end")


def test_leaving_never_pays_where_all_rewards_are_good():
    fast, seen = model(2 * np.eye(2, dtype=np.float32)), data()
    good = dataclasses.replace(CART, reward=lambda *_: jnp.array(0.8))
    world = imagine(fast, good, dataclasses.replace(seen, rewards=None), beyond="end").world
    assert float(world.worst) == pytest.approx(0.8)
    far = world.reset(jax.random.key(0))._replace(state=world.high)
    _, outcome = world.step(far, jnp.zeros(1), jax.random.key(1))
    assert bool(outcome.terminated) and float(outcome.reward) == 0.0


def test_states_that_are_not_finite_end_the_episode():
    broken = model(np.full((2, 2), np.nan, np.float32))
    world = imagine(broken, CART, bounds=None).world
    place, outcomes = _along(world, np.ones((1, 1), np.float32))
    assert bool(outcomes[0].not_finite) and bool(outcomes[0].truncated)
    assert not bool(outcomes[0].terminated)
    np.testing.assert_array_equal(place.state, [1.0, 0.0])
    assert float(outcomes[0].reward) == 0.0
    # With data it earns the lowest reward of all: no agent may seek it.
    seen = data()
    outcomes = _along(imagine(broken, CART, seen).world, np.ones((1, 1), np.float32))[1]
    assert seen.rewards is not None
    assert float(outcomes[0].reward) == pytest.approx(seen.rewards.min(), rel=1e-5)


def test_the_whole_world_is_as_the_real_system_is_run():
    apart = Model(Ensemble.of([linear(), linear(A + 0.2)]), SIGNALS, "cart")
    seen = data()
    short = imagine(apart, CART, seen, rollout=2, starts="any", penalty=5.0)
    assert short.world.episode_steps == 2 and short.world.penalty == 5.0
    whole = short.whole
    assert (whole.episode_steps, whole.penalty) == (20, 0.0)
    assert (short.careful.episode_steps, short.careful.penalty) == (20, 5.0)
    assert whole.starts is not None
    firsts = seen.states[seen.row_offsets[:-1]]
    assert int(whole.starts.count) == len(firsts)
    np.testing.assert_allclose(whole.starts.states[: len(firsts)], firsts, rtol=1e-6)


def test_a_dimension_that_never_moves_is_not_counted_as_bounded():
    seen = data()
    flat = dataclasses.replace(seen, states=seen.states * [1.0, 0.0])
    still = model(np.eye(2, dtype=np.float32))
    _, outcomes = _along(imagine(still, CART, flat).world, np.full((2, 1), 0.01, np.float32))
    assert not any(bool(outcome.bounded) for outcome in outcomes)


def test_an_unknown_end_is_told_of():
    with pytest.warns(DataWarning, match="not known which states end the task"):
        imagine(model(), dataclasses.replace(CART, terminated=None), data())


def test_a_file_may_not_choose_code_to_import():
    named = dataclasses.replace(model(), system="somewhere:cart")
    with pytest.raises(FarstepError, match="name it yourself"):
        imagine(named)
    with pytest.raises(FarstepError, match="name it yourself"):
        system_of(dataclasses.replace(data(), system="somewhere:cart"))


def test_the_options_that_data_were_collected_with_are_kept():
    noisy = collect(
        dataclasses.replace(system("cartpole-swingup"), episode_steps=3).with_options(
            noise=0.2, ranges=[1.0] * 5
        ),
        episodes=1,
    )
    assert system_of(noisy).env_options == {"noise": 0.2, "ranges": [1.0] * 5}
    with pytest.raises(FarstepError, match="do not say of what system"):
        system_of(dataclasses.replace(data(), system=None))


@pytest.mark.parametrize("starts", ["first", "any"])
def test_episodes_start_where_the_data_do(starts):
    seen = data()
    world = imagine(model(), CART, seen, starts=starts).world
    keys = jax.random.split(KEY, 64)
    found = {tuple(row) for row in np.asarray(jax.vmap(world.reset)(keys).state).tolist()}
    rows = seen.row_offsets[:-1] if starts == "first" else slice(None)
    known = {tuple(row) for row in seen.states[rows].astype(np.float32).tolist()}
    assert found <= known
    assert len(found) == 4 if starts == "first" else len(found) > 20


def test_sampled_transitions_have_the_models_deviation():
    world = imagine(model(), CART, bounds=None, propagation="sample").world
    place = world.reset(KEY)
    step = jax.vmap(lambda key: world.step(place, jnp.zeros(1), key)[1].seen)
    states = np.asarray(step(jax.random.split(KEY, 4000)))
    np.testing.assert_allclose(states.mean(axis=0), A @ [1.0, 0.0], atol=0.01)
    np.testing.assert_allclose(states.std(axis=0), [0.1, 0.2], rtol=0.05)


def test_noise_is_in_what_is_seen_and_nowhere_else():
    quiet, noisy = (imagine(model(), CART, bounds=None, noise=noise).world for noise in (0.0, 0.5))
    place = noisy.reset(KEY)
    np.testing.assert_array_equal(place.seen, place.state)  # a start is as it was recorded
    actions = np.ones((5, 1), np.float32)
    (last, outcomes), (exact, expected) = (_along(world, actions) for world in (noisy, quiet))
    np.testing.assert_array_equal(last.state, exact.state)
    np.testing.assert_array_equal(exact.seen, exact.state)
    for one, other in zip(outcomes, expected, strict=True):
        np.testing.assert_array_equal(one.state, other.state)
        np.testing.assert_array_equal(other.state, other.seen)
    assert [one.reward for one in outcomes] == [one.reward for one in expected]
    seen = jax.vmap(lambda key: noisy.step(place, jnp.zeros(1), key)[0].seen)
    shown = np.asarray(seen(jax.random.split(KEY, 4000)))
    np.testing.assert_allclose(shown.mean(axis=0), A @ [1.0, 0.0], atol=0.01)
    np.testing.assert_allclose(shown.std(axis=0), [0.05, 0.1], rtol=0.05)


def test_penalties_by_hand():
    apart = Ensemble.of([linear(), linear(A + 0.2)])
    both = Model(apart, SIGNALS, "cart")
    plain = imagine(both, CART, bounds=None).world
    state, action = jnp.array([1.0, 0.0]), jnp.zeros(1)
    after = jnp.array([1.0, 0.0])
    # The members' means differ by 0.2 in both dimensions: each deviates by 0.1 from their mean.
    disagreement = imagine(both, CART, bounds=None, penalty=2.0).world
    taken = float(plain.reward(state, action, after) - disagreement.reward(state, action, after))
    assert taken == pytest.approx(2.0 * np.hypot(0.1, 0.1), rel=1e-4)
    largest = imagine(both, CART, bounds=None, penalty=2.0, uncertainty="std").world
    taken = float(plain.reward(state, action, after) - largest.reward(state, action, after))
    assert taken == pytest.approx(2.0 * np.hypot(0.1, 0.2), rel=1e-4)


def test_a_penalty_means_the_same_whatever_the_rewards_unit():
    both, seen = Model(Ensemble.of([linear(), linear(A + 0.2)]), SIGNALS, "cart"), data()
    assert seen.rewards is not None
    taken = []
    for unit in (1.0, 1000.0):
        scaled = dataclasses.replace(seen, rewards=unit * seen.rewards)
        world = imagine(both, CART, scaled, penalty=2.0).world
        taken.append(float(world._deduction(jnp.array([1.0, 0.0]), jnp.zeros(1))))
    assert taken[1] == pytest.approx(1000 * taken[0], rel=1e-4)
    assert taken[0] > 0
    most = imagine(both, CART, seen, penalty=1e6).world
    taken_off = most._deduction(jnp.array([1.0, 0.0]), jnp.zeros(1))
    assert float(taken_off) == pytest.approx(seen.rewards.max() - seen.rewards.min(), rel=1e-5)
    same = dataclasses.replace(seen, rewards=np.full_like(seen.rewards, 3.0))
    assert float(imagine(both, CART, same).world.reward_range) == 1.0


def test_a_member_is_chosen_for_a_rollout():
    apart = Model(Ensemble.of([linear(), linear(A + 0.2)]), SIGNALS, "cart")
    world = imagine(apart, CART, bounds=None, choice="rollout").world
    firsts = set()
    for number in range(8):
        place = world.reset(jax.random.key(number))
        _, outcome = world.step(place, jnp.zeros(1), KEY)
        firsts.add(round(float(outcome.seen[0]), 3))
    assert firsts == {1.0, 1.2}


def test_distance_from_the_data():
    seen = data(episodes=20, steps=100)
    known = Familiarity.of(seen)
    distances = jax.vmap(known.distance)(
        jnp.asarray(seen.states[:100], jnp.float32), jnp.asarray(seen.actions[:100], jnp.float32)
    )
    assert 0.3 < float(distances.mean()) < 2.0
    assert float(known.distance(jnp.array([100.0, 0.0]), jnp.zeros(1))) > 50


@pytest.mark.parametrize(
    ("changes", "settings", "message"),
    [
        ({"reward": None}, {}, "learned none; fit with learn_reward"),
        ({}, {"reward": "learned"}, "learned none"),
        ({"reset": None}, {}, "no reset function"),
        ({}, {"starts": "any"}, "needs data"),
        ({}, {"penalty": 1.0}, "only an ensemble"),
        ({}, {"choice": "step"}, "a single one"),
        ({}, {"penalty": -1.0}, "penalty must be 0 or more"),
        ({}, {"rollout": 0}, "at least 1 step"),
        ({}, {"starts": "frist"}, "Did you mean 'first'"),
        ({}, {"penalty": "much"}, "penalty must be a number, not 'much'"),
        ({}, {"rollout": 2.5}, "rollout must be a whole number or none, not 2.5"),
        ({}, {"bound": 1}, "no setting 'bound'. Did you mean 'bounds'"),
        ({"signals": dataclasses.replace(SIGNALS, action_high=(np.inf,))}, {}, "needs bounds"),
        (
            {"signals": dataclasses.replace(SIGNALS, state_names=("x",), state_units=("",))},
            {},
            "not of one system",
        ),
    ],
)
def test_what_cannot_be_imagined_is_said(changes, settings, message):
    with pytest.raises(FarstepError, match=message):
        imagine(model(), dataclasses.replace(CART, **changes), **{"bounds": None, **settings})


def test_bounds_need_a_range_and_a_system_a_name():
    with pytest.raises(FarstepError, match="bounds need data"):
        imagine(model(), CART)
    with pytest.raises(FarstepError, match="name one"):
        imagine(dataclasses.replace(model(), system=None))
    with pytest.raises(FarstepError, match="model of one"):
        direct = dataclasses.replace(linear(), stride=2)
        imagine(dataclasses.replace(model(), dynamics=direct), CART, bounds=None)


def test_states_where_a_task_ended_are_no_starts():
    ends = np.array([True, False, True, False])
    ended = dataclasses.replace(data(), terminated=ends, truncated=~ends)
    with pytest.warns(DataWarning, match="2 of 2 episode.* says that it goes on"):
        world = imagine(model(), CART, ended, starts="any").world
    assert world.starts is not None
    left = np.delete(ended.states, [20, 62], axis=0)
    assert int(world.starts.count) == len(left)
    np.testing.assert_allclose(world.starts.states[: len(left)], left, rtol=1e-6)


def test_other_units_are_an_error_and_other_intervals_are_said():
    metres = dataclasses.replace(SIGNALS, state_units=("m", "m/s"), interval=0.1)
    inches = dataclasses.replace(metres, state_units=("in", "m/s"))
    known = dataclasses.replace(CART, signals=metres)
    ours = dataclasses.replace(model(), signals=inches)
    with pytest.raises(FarstepError, match="'position' is in in in the model, and in m in system"):
        imagine(ours, known)
    slow = dataclasses.replace(model(), signals=dataclasses.replace(metres, interval=2.0))
    with pytest.warns(DataWarning, match="a step of the model is 2 s, one of system 'cart' 0.1 s"):
        imagine(slow, known, bounds=None)
