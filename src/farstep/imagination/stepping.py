"""Stepping many imagined systems in one compiled call, for adapters that live in Python."""

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from farstep.errors import FarstepError
from farstep.fields import check_least, native
from farstep.imagination.world import Place, World

SEEDS = 2**31
"""Starts are told apart by seeds below it."""
_WATCHED = 8
"""Systems, at most, whose distance from the data is measured."""
_LOOK_EVERY = 17
"""Turns between such measurements, which cost as much as half a step: a prime, so that they do not
fall on the starts of short rollouts."""


class Stepped(NamedTuple):
    """What a step gives, as arrays of NumPy."""

    states: np.ndarray
    """Where the systems are now: after a new start, where an episode ended."""
    final: np.ndarray
    """Where the step itself led."""
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    bounded: np.ndarray
    not_finite: np.ndarray

    @property
    def done(self) -> np.ndarray:
        """Which episodes ended."""
        return self.terminated | self.truncated


class Stepper:
    """Some imagined systems, where they are, and counts of what happened to them."""

    def __init__(self, world: World, count: int, restart: bool) -> None:
        """Args: `restart` begins a new episode in the step that ends one."""
        check_least({"num_envs": 1}, {"num_envs": native(count)})
        self.world, self.count = world, int(count)
        signals = world.signals
        self.action_low, self.action_high = (
            np.asarray(bound, np.float32) for bound in (signals.action_low, signals.action_high)
        )
        self.observation_space = gymnasium.spaces.Box(np.asarray(world.low), np.asarray(world.high))
        self.action_space = gymnasium.spaces.Box(self.action_low, self.action_high)
        self._leaves, treedef = jax.tree.flatten(world)
        self._step = compiled_step(treedef, restart)
        self._places: Place | None = None
        self._look = 0
        self._clear()

    def reset(self, seeds: Sequence[int]) -> np.ndarray:
        """Start all systems, each from a seed of its own."""
        # A seed of any size: the words of NumPy's seed sequence make the key.
        if len(seeds) != self.count:
            raise FarstepError(f"{len(seeds)} seeds were given for {self.count} system(s).")
        words = [np.random.SeedSequence(seed).generate_state(2) for seed in seeds]
        self._words = jnp.asarray(np.stack(words))
        self._turn = 0
        places = self._places = _reset(self.world, self._words)
        return np.array(places.seen)

    def step(self, actions: np.ndarray) -> Stepped:
        """Apply an action to each system; those beyond the bounds are cut off there."""
        if self._places is None:
            raise FarstepError("call reset before step.")
        expected, given = (self.count, len(self.action_low)), np.asarray(actions)
        if given.shape != expected or given.dtype.kind not in "fiu":
            raise FarstepError(
                f"actions must be numbers of shape {expected}, not {given.dtype} of {given.shape}."
            )
        clipped = np.clip(given.astype(np.float32), self.action_low, self.action_high)
        self._turn += 1
        self._places, packed = self._step(
            self._leaves, self._places, clipped, self._words, self._turn, self._look
        )
        self._look = (self._look + 1) % _LOOK_EVERY
        numbers, d = np.asarray(packed), len(self.world.signals.state_names)
        flags = numbers[:, 2 * d + 1 : 2 * d + 5] != 0
        self._steps += self.count
        self._bounded += int(flags[:, 2].sum())
        self._not_finite += int(flags[:, 3].sum())
        if np.isfinite(numbers[0, -1]):
            self._strangeness += float(numbers[0, -1])
            self._looks += 1
        return Stepped(
            numbers[:, :d].copy(), numbers[:, d : 2 * d], numbers[:, 2 * d].copy(), *flags.T
        )

    def report(self, clear: bool = False) -> dict[str, float]:
        """Return how often bounds acted, how often no finite state came, and how far out it was.

        `strangeness` is the mean distance to the nearest data, of up to 8 systems in every 17th
        step; 1 is usual among the data. With `clear` counting starts anew.
        """
        counts = {
            "steps": float(self._steps),
            "bounded": self._bounded / max(self._steps, 1),
            "not_finite": float(self._not_finite),
            "strangeness": self._strangeness / self._looks if self._looks else math.nan,
        }
        if clear:
            self._clear()
        return counts

    def _clear(self) -> None:
        self._steps = self._bounded = self._not_finite = self._looks = 0
        self._strangeness = 0.0


@jax.jit
def _reset(world: World, words: UInt32[Array, "n 2"]) -> Place:
    # Turns count from 1, so that no step draws what a start did.
    start = partial(jax.random.fold_in, data=0)
    return jax.vmap(lambda key: world.reset(start(key)))(jax.random.wrap_key_data(words))


@lru_cache
def compiled_step(treedef: Any, restart: bool) -> Any:
    """Return the compiled step of all worlds of one structure.

    It takes a world's arrays as a list and keys as their words, which are taken apart faster than
    modules and typed keys, and gives everything in one array, since each costs a transfer.
    """

    @partial(jax.jit, donate_argnums=1)
    def step(
        leaves: list[Array], places: Place, actions: Array, words: Array, turn: Array, look: Array
    ) -> tuple[Place, Array]:
        world: World = jax.tree.unflatten(treedef, leaves)
        keys = jax.random.wrap_key_data(words)
        moved, outcome = world.step_all(places, actions, keys, turn, restart)
        flags = (outcome.terminated, outcome.truncated, outcome.bounded, outcome.not_finite)
        far = jax.lax.cond(
            look == 0,
            lambda: strangeness(world, places.state, actions),
            lambda: jnp.full((), jnp.nan),
        )
        columns = (outcome.reward, *flags, jnp.full(len(actions), far))
        numbers = [moved.seen, outcome.seen, *(column[:, None] for column in columns)]
        return moved, jnp.concatenate([part.astype(jnp.float32) for part in numbers], axis=1)

    return step


def strangeness(
    world: World, states: Float[Array, "n d"], actions: Float[Array, "n k"]
) -> Float[Array, ""]:
    """Return the mean distance from the data, of the first few systems; NaN without data."""
    if world.familiarity is None:
        return jnp.full((), jnp.nan)
    return jax.vmap(world.familiarity.distance)(states[:_WATCHED], actions[:_WATCHED]).mean()
