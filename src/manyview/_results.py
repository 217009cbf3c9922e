"""What solvers return: one frozen object per run, one record per iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from manyview._typing import FloatArray, IntArray

# Criteria of two runs that differ by less, relatively, are the same: sums of many
# terms keep about twelve digits, and runs that differ in one label differ by far more.
SAME_CRITERION = 1e-9
# Distances that differ by less, relative to the size of the data, are the same.
SAME_DISTANCE = 1e-14


@dataclass(frozen=True, kw_only=True, slots=True)
class IterationRecord:
    """State after one iteration.

    stage counts paces (or stages) from 1, iteration counts from 1 within the stage.
    objective is NaN for a method that minimises nothing.
    n_moved is the number of samples whose label changed, None where labels come last.
    """

    stage: int
    iteration: int
    objective: float
    n_moved: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PaceRecord(IterationRecord):
    """One inner iteration of NSMVC.

    view_losses, exponents : (n_views,), phi and eta of Eq. (2) after the sweep.
    n_selected : (n_views,), samples taking part in each view.
    """

    view_losses: FloatArray
    exponents: FloatArray
    n_selected: IntArray

    @property
    def pace(self) -> int:
        return self.stage


def pack_history(
    history: tuple[IterationRecord, ...],
) -> dict[str, np.ndarray[Any, Any]]:
    """Records as arrays, one per field, for storage."""
    return {
        f"history_{name}": np.array([getattr(record, name) for record in history])
        for name in history[0].__dataclass_fields__
    }


def unpack_history(arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    """The records that `pack_history` was given."""
    kind = PaceRecord if "history_exponents" in arrays else IterationRecord
    names = list(kind.__dataclass_fields__)
    rows = zip(*(arrays[f"history_{name}"] for name in names), strict=True)
    # Scalars come back as Python's own, arrays as they are.
    plain = ([value if value.ndim else value.item() for value in row] for row in rows)
    return tuple(kind(**dict(zip(names, row, strict=True))) for row in plain)


@dataclass(frozen=True, kw_only=True, slots=True)
class SolverResult:
    """What every method has to say.

    converged is False when an iteration limit ended the run.
    """

    labels: IntArray
    objective: float
    n_iter: int
    converged: bool
    history: tuple[IterationRecord, ...]

    @property
    def criterion(self) -> float:
        """What restarts are compared by; the smallest wins."""
        return float(self.objective)

    @property
    def rounding(self) -> float:
        """How far rounding alone can move the criterion."""
        return SAME_CRITERION * abs(self.criterion)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainingResult(SolverResult):
    """A run that leaves a share of the views' scatter unexplained.

    The objectives of two runs do not compare, because the views' exponents or weights
    differ. What they leave unexplained does.

    unexplained : (n_views,), share of each view's scatter left within clusters.
    """

    unexplained: FloatArray

    @property
    def criterion(self) -> float:
        return float(self.unexplained.sum())

    @property
    def rounding(self) -> float:
        return share_rounding(self.criterion)


def share_rounding(share: float) -> float:
    """How far rounding alone can move a share of scatter.

    Rounding errs in distances, by a share of the size of the data, and a share of
    scatter is a mean of their squares. Where it is tiny, because the clusters are, its
    relative error is larger.
    """
    in_distances = SAME_DISTANCE * (2.0 * share**0.5 + SAME_DISTANCE)
    return float(SAME_CRITERION * share + in_distances)


@dataclass(frozen=True, kw_only=True, slots=True)
class NSMVCResult(ExplainingResult):
    """One restart of NSMVC.

    centers : per view (n_clusters, n_features_v), in scaled units.
    exponents, thresholds, view_losses : (n_views,), of the last pace.
    joined_pace : (n_views, n_samples), pace of first selection, 0 for never.
    scatter : (n_views,), squared distances to the view's mean, added up.
    """

    centers: tuple[FloatArray, ...]
    exponents: FloatArray
    thresholds: FloatArray
    view_losses: FloatArray
    joined_pace: IntArray
    scatter: FloatArray


OnIteration: TypeAlias = Callable[[IterationRecord], None]
