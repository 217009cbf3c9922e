"""Interleaved timing of two functions."""

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: a figure, what it is held against, and the goal."""

    name: str
    threads: int
    ours: float
    peer: float
    unit: str
    ratio: float
    goal: float

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def compare(
    name: str,
    ours: Callable[[], float],
    peer: Callable[[], float],
    *,
    threads: int,
    goal: float,
    repeats: int = 3,
) -> Row:
    """Median seconds of both, taken in turn so that noise hits both alike.

    Each function runs once and returns what its seconds are divided by (iterations).
    """
    seconds: dict[str, list[float]] = {"ours": [], "peer": []}
    for _ in range(repeats):
        for key, run in (("ours", ours), ("peer", peer)):
            begin = time.perf_counter()
            units = run()
            seconds[key].append((time.perf_counter() - begin) / units)
    mine, theirs = (statistics.median(seconds[key]) for key in ("ours", "peer"))
    return Row(
        name=name,
        threads=threads,
        ours=mine,
        peer=theirs,
        unit="s",
        ratio=mine / theirs,
        goal=goal,
    )


def peak_bytes() -> int:
    """High-water mark of this process' resident memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
