"""Splitting off validation data where the user gives none."""

import numpy as np

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError


def hold_out(episodes: Episodes, seed: int = 0, least: int = 1) -> tuple[Episodes, Episodes]:
    """Return training and validation data: a tenth of the episodes, or the end of the only one.

    Episodes of fewer than `least` steps, too short for one window, stay in the training data.
    """
    order = np.random.default_rng(seed).permutation(len(episodes))
    long = order[episodes.lengths[order] >= least]
    if len(long) < 2:
        return _without_end(episodes, int(np.argmax(episodes.lengths)), least)
    held = long[: min(max(1, round(len(episodes) / 10)), len(long) - 1)]
    return episodes.take(np.setdiff1d(order, held)), episodes.take(np.sort(held))


def hold_out_parts(episodes: Episodes, seed: int, least: int) -> tuple[Episodes, Episodes]:
    """Return training and validation data: a random tenth of the steps of each episode.

    Each resulting episode has at least `least` steps; shorter episodes stay in the training data.
    When episodes are added, the validation data of the earlier ones remain the same, as long as one
    of these has twice `least` steps. Otherwise `least` is half of the longest.
    """
    least = max(1, min(least, int(episodes.lengths.max()) // 2))
    kept, held = [], []
    for number, whole in enumerate(episodes):
        steps = len(whole.actions)
        size = max(least, steps // 10)
        if steps < size + least:
            kept.append(whole)
            continue
        rng = np.random.default_rng([seed, number])
        start = int(rng.integers(0, steps - size + 1))
        start = 0 if start < least else start
        start = steps - size if steps - size - start < least else start
        held.append(whole.slice(start, start + size))
        kept += [
            whole.slice(first, end)
            for first, end in ((0, start), (start + size, steps))
            if end > first
        ]
    return episodes.with_episodes(kept), episodes.with_episodes(held)


def _without_end(episodes: Episodes, number: int, least: int) -> tuple[Episodes, Episodes]:
    """Split off the last tenth of one episode, or a window's steps if these are more."""
    whole = episodes[number]
    steps = len(whole.actions)
    cut = steps - max(least, steps // 10)
    if cut < least:
        raise FarstepError(
            f"the longest episode has {steps} steps, too few to fit and validate a model {least} "
            "steps ahead; give more data, or choose a shorter horizon."
        )
    first, last = whole.slice(0, cut), whole.slice(cut, steps)
    rest = [first if at == number else one for at, one in enumerate(episodes)]
    return episodes.with_episodes(rest), episodes.with_episodes([last])
