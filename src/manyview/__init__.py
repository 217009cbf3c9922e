"""Multi-view clustering: NSMVC and the methods it is compared with."""

from manyview import cluster
from manyview._model_file import load_model, save_model
from manyview._version import __version__
from manyview.cluster import *  # noqa: F403 - every clusterer, by the list below
from manyview.embedding import GraphViews
from manyview.exceptions import DatasetError, ViewError
from manyview.model_selection import choose_n_clusters
from manyview.reporting import report

__all__ = [
    "DatasetError",
    "GraphViews",
    "ViewError",
    "__version__",
    "choose_n_clusters",
    "load_model",
    "report",
    "save_model",
]
__all__ += cluster.__all__
