"""NSMVC on a Dask cluster: ``pip install "manyview[dask]"``."""

from manyview._extras import import_extra

import_extra("distributed", "dask", "manyview.distributed")

# After the check above.
from manyview.distributed._graph_nsmvc import DaskGraphNSMVC  # noqa: E402
from manyview.distributed._nsmvc import DaskNSMVC  # noqa: E402

__all__ = ["DaskGraphNSMVC", "DaskNSMVC"]
