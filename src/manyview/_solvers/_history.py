"""What a run tells about its iterations."""

from __future__ import annotations

from typing import Any

import numpy as np

from manyview._results import IterationRecord, OnIteration


class History:
    """Records of a run; each is passed to `on_iteration` as soon as it is added."""

    def __init__(self, on_iteration: OnIteration | None) -> None:
        self.records: list[IterationRecord] = []
        self._on_iteration = on_iteration

    def add(
        self, objective: float, n_moved: int | None = None, *, stage: int = 1
    ) -> None:
        """Record the next iteration of a stage."""
        before = self.records[-1] if self.records else None
        record = IterationRecord(
            stage=stage,
            iteration=1 + (before.iteration if before and before.stage == stage else 0),
            objective=objective,
            n_moved=n_moved,
        )
        self.records.append(record)
        if self._on_iteration is not None:
            self._on_iteration(record)

    @property
    def objective(self) -> float:
        return self.records[-1].objective

    def fields(self, *, converged: bool) -> dict[str, Any]:
        """What a `SolverResult` says of the iterations."""
        return {
            "objective": self.objective,
            "n_iter": len(self.records),
            "converged": converged,
            "history": tuple(self.records),
        }

    @property
    def change(self) -> float:
        """Relative change of the objective by the last iteration; inf after one."""
        if len(self.records) < 2:
            return np.inf
        before, after = (record.objective for record in self.records[-2:])
        return abs(before - after) / max(abs(before), np.finfo(np.float64).tiny)

    def settled(self, tol: float) -> bool:
        """Whether the objective, or at least the labels, did not change any more.

        Centres of plain distances may move slightly for many iterations after the last
        label moved; stopping them there changes no label.
        """
        return self.change < tol or self.records[-1].n_moved == 0
