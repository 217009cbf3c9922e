"""Interleaved timing of two functions."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: a figure, what it is held against, and the goal."""

    name: str
    ours: float
    peer: float
    ratio: float
    unit: str = "s"
    goal: float | None = None


def ratio_row(
    name: str, ours: float, peer: float, *, unit: str = "s", goal: float | None = None
) -> Row:
    """A row whose ratio is that of both figures."""
    return Row(name=name, ours=ours, peer=peer, ratio=ours / peer, unit=unit, goal=goal)


def compare(
    name: str,
    ours: Callable[[], float],
    peer: Callable[[], float],
    *,
    goal: float | None = None,
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
    return ratio_row(name, mine, theirs, goal=goal)


def reset_peak() -> int:
    """Forget the high-water mark; returns the resident memory of now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak_bytes() -> int:
    """High-water mark of this process' resident memory since `reset_peak`."""
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    msg = f"/proc/self/status has no {name}."
    raise OSError(msg)
