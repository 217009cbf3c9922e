"""Multi-view clustering: NSMVC and the methods it is compared with."""

from manyview._model_file import load_model, save_model
from manyview._version import __version__
from manyview.cluster import (
    AMGL,
    CAMVC,
    DMVC,
    MSPL,
    MVKKM,
    NSMVC,
    SAMVC,
    ConcatKMeans,
    CoReg,
    CoTrain,
    GraphNSMVC,
    ViewKMeans,
)
from manyview.embedding import GraphViews
from manyview.exceptions import DatasetError, ViewError
from manyview.model_selection import choose_n_clusters
from manyview.reporting import report

__all__ = [
    "AMGL",
    "CAMVC",
    "DMVC",
    "MSPL",
    "MVKKM",
    "NSMVC",
    "SAMVC",
    "CoReg",
    "CoTrain",
    "ConcatKMeans",
    "DatasetError",
    "GraphNSMVC",
    "GraphViews",
    "ViewError",
    "ViewKMeans",
    "__version__",
    "choose_n_clusters",
    "load_model",
    "report",
    "save_model",
]
