"""Which of several restarts to keep."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TypeVar

from manyview._results import SolverResult

Result = TypeVar("Result", bound=SolverResult)


def choose_restart(runs: Iterable[Result]) -> Result:
    """The run with the smallest criterion; of equal ones the first.

    Restarts often end in the same clusters, numbered differently. Their criteria then
    differ by rounding, which decides nothing. Runs are taken one by one, so a generator
    keeps no more than two alive.
    """

    def better(best: Result, run: Result) -> Result:
        gain = best.criterion - run.criterion
        return run if gain > max(best.rounding, run.rounding) else best

    return reduce(better, runs)
