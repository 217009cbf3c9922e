"""Views as the solvers see them: scaled rows, read block by block.

Raw arrays are never copied as a whole; only small views are scaled once and kept, which
is cheaper than scaling them again in every iteration. Whether a view is dense or sparse
is known inside this package alone: solvers hold `Rows`.
"""

from manyview._rows._base import (
    PreparedCenters,
    PreparedPoints,
    RowIndex,
    Rows,
    distances_between,
    mean_and_scatter,
    n_rows,
)
from manyview._rows._open import compact_views, open_views

__all__ = [
    "PreparedCenters",
    "PreparedPoints",
    "RowIndex",
    "Rows",
    "compact_views",
    "distances_between",
    "mean_and_scatter",
    "n_rows",
    "open_views",
]
