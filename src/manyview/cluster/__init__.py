"""Multi-view clusterers."""

from manyview.cluster._amgl import AMGL
from manyview.cluster._camvc import CAMVC
from manyview.cluster._coreg import CoReg
from manyview.cluster._cotrain import CoTrain
from manyview.cluster._dmvc import DMVC
from manyview.cluster._graph_nsmvc import GraphNSMVC
from manyview.cluster._kmeans import ConcatKMeans, ViewKMeans
from manyview.cluster._mspl import MSPL
from manyview.cluster._mvkkm import MVKKM
from manyview.cluster._nsmvc import NSMVC
from manyview.cluster._samvc import SAMVC

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
    "GraphNSMVC",
    "ViewKMeans",
]
