"""How long jobs take on some workers: the pool's order, played through without computing."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from farstep.fields import check_least


@dataclass(frozen=True)
class Job:
    """Something to compute."""

    seconds: float
    after: tuple[int, ...] = ()
    """The numbers of those that it needs, which come before it."""


def makespan(jobs: Sequence[Job], workers: int) -> float:
    """Return the seconds until all jobs are done: each begins when it may and a worker is free."""
    check_least({"workers": 1}, {"workers": workers})
    waits = [len(job.after) for job in jobs]
    followers: list[list[int]] = [[] for _ in jobs]
    for number, job in enumerate(jobs):
        for needed in job.after:
            followers[needed].append(number)
    ready = [number for number, count in enumerate(waits) if count == 0]
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < workers:
            number = heapq.heappop(ready)  # what was asked for first
            heapq.heappush(running, (now + jobs[number].seconds, number))
        now, done = heapq.heappop(running)
        for number in followers[done]:
            waits[number] -= 1
            if waits[number] == 0:
                heapq.heappush(ready, number)
    return now
