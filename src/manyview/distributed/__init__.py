"""NSMVC on a Dask cluster: ``pip install "manyview[dask]"``."""

from manyview._extras import import_extra

import_extra("distributed", "dask", "manyview.distributed")

from manyview.distributed._nsmvc import DaskNSMVC  # noqa: E402 - after the check above

__all__ = ["DaskNSMVC"]
