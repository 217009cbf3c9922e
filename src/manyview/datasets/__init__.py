"""Data sets: shipped, downloaded, read from users' files, made up."""

from manyview.datasets._align import align_views
from manyview.datasets._fetch import data_folder
from manyview.datasets._load import (
    fetch_msrcv1,
    fetch_webkb,
    load_dataset,
    load_handwritten,
)
from manyview.datasets._model import MultiViewData
from manyview.datasets._read import read_views
from manyview.datasets._registry import (
    DatasetInfo,
    ViewInfo,
    dataset_info,
    list_datasets,
)
from manyview.datasets._synthetic import SyntheticData, make_views
from manyview.datasets._write import ViewFiles, write_views

__all__ = [
    "DatasetInfo",
    "MultiViewData",
    "SyntheticData",
    "ViewFiles",
    "ViewInfo",
    "align_views",
    "data_folder",
    "dataset_info",
    "fetch_msrcv1",
    "fetch_webkb",
    "list_datasets",
    "load_dataset",
    "load_handwritten",
    "make_views",
    "read_views",
    "write_views",
]
