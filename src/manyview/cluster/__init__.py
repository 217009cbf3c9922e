"""Multi-view clusterers."""

from manyview.cluster._nsmvc import NSMVC

__all__ = ["NSMVC"]
