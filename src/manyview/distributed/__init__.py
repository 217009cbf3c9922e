"""NSMVC on a Dask cluster: ``pip install "manyview[dask]"``."""

from manyview._extras import import_extra

import_extra("distributed", "dask", "manyview.distributed")

from manyview.distributed._graph_nsmvc import DaskGraphNSMVC  # noqa: E402 - needs Dask
from manyview.distributed._nsmvc import DaskNSMVC  # noqa: E402 - needs Dask

__all__ = ["DaskGraphNSMVC", "DaskNSMVC"]
