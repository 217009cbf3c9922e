import pytest

dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def _in_this_thread():
    """Tests without a cluster run in order, where a debugger can follow."""
    with dask.config.set(scheduler="synchronous"):
        yield
