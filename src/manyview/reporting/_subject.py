"""What a clustering report is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._results import PaceRecord
from manyview._typing import IntArray
from manyview.explain import Explanation, FeatureEffect, SampleMap

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportOptions:
    """What a report says beyond the result itself; see `report`."""

    title: str = "Clusters"
    sample_ids: Sequence[str] | None = None
    feature_names: Sequence[Sequence[str]] | None = None
    target: Any = None
    target_names: Sequence[str] = ()
    command: str | None = None
    provenance: Sequence[tuple[str, str]] = ()
    choice: ClusterCountChoice | None = None
    max_samples: int = 3000


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What a report is about, computed once for all its parts."""

    estimator: Any
    method: str
    explanation: Explanation
    sample_map: SampleMap
    effects: tuple[FeatureEffect, ...]
    sizes: IntArray
    ids: Sequence[str]
    options: ReportOptions
    n_features: tuple[int, ...]
    classes: IntArray | None = None
    history: tuple[Any, ...] = field(default=())

    @property
    def paced(self) -> bool:
        return len(self.history) > 0 and isinstance(self.history[0], PaceRecord)


def class_names(options: ReportOptions) -> list[str]:
    """Names of the classes that occur, in the order of their codes."""
    values = np.unique(np.asarray(options.target))
    if options.target_names and values.dtype.kind in "iu":
        return [str(options.target_names[value]) for value in values]
    return [str(value) for value in values]
