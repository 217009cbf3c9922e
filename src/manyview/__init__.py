"""Multi-view clustering: NSMVC and the methods it is compared with."""

from manyview.cluster import NSMVC
from manyview.exceptions import DatasetError, ViewError

__version__ = "0.1.0"

__all__ = ["NSMVC", "DatasetError", "ViewError", "__version__"]
