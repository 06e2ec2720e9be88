"""What is held out of the data to validate a fit, where the user does not say."""

import numpy as np

from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError


def hold_out(episodes: Episodes, seed: int = 0, least: int = 1) -> tuple[Episodes, Episodes]:
    """Split off a tenth for validation: whole episodes, or the end of the only one.

    Episodes of fewer than `least` steps, too short for one window, are left to the training.
    """
    order = np.random.default_rng(seed).permutation(len(episodes))
    long = order[episodes.lengths[order] >= least]
    if len(long) < 2:
        return _without_end(episodes, int(np.argmax(episodes.lengths)), least)
    held = long[: min(max(1, round(len(episodes) / 10)), len(long) - 1)]
    return episodes.take(np.setdiff1d(order, held)), episodes.take(np.sort(held))


def hold_out_parts(episodes: Episodes, seed: int, least: int) -> tuple[Episodes, Episodes]:
    """Split off a stretch of a tenth of each episode, at a place drawn from its number.

    Stretches, and what is left beside them, have `least` steps or more; shorter episodes are left
    to the training. Once one episode has twice `least` steps, what is held out of each stays held
    out when others are added; before, `least` is half of the longest.
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
        held.append(whole.part(start, start + size))
        kept += [
            whole.part(first, end)
            for first, end in ((0, start), (start + size, steps))
            if end > first
        ]
    return _as_episodes(kept, episodes), _as_episodes(held, episodes)


def _without_end(episodes: Episodes, number: int, least: int) -> tuple[Episodes, Episodes]:
    """Hold out the last tenth of one episode, or the steps of a window if they are more."""
    whole = episodes[number]
    steps = len(whole.actions)
    cut = steps - max(least, steps // 10)
    if cut < least:
        raise FarstepError(
            f"the longest episode has {steps} steps, too few to fit a model {least} steps ahead "
            "and validate it; give more data, or choose a shorter horizon."
        )
    first, last = whole.part(0, cut), whole.part(cut, steps)
    rest = [first if at == number else one for at, one in enumerate(episodes)]
    return _as_episodes(rest, episodes), _as_episodes([last], episodes)


def _as_episodes(parts: list[Episode], of: Episodes) -> Episodes:
    return Episodes.from_list(parts, of.signals, of.system, of.metadata)
