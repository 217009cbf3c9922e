"""One BLAS thread for as long as anybody in the process asks for it.

The number of BLAS threads belongs to the whole process. Limits that every caller sets
and restores on its own overlap when fits run in several threads: one that began under
another's limit takes that for the original value and restores it for good. Here the
users are counted: the first one has the limit set, the last one has it lifted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from manyview._sklearn_compat import _openmp_effective_n_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _libraries() -> ThreadpoolController:
    """Libraries with threads; looking for them takes as long as a small fit."""
    # Those that are loaded later would be missed.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


@cache
def _shared_blas() -> list[Any]:
    """Controllers of BLAS libraries whose threads belong to the whole process.

    With OpenMP, every thread has a number of its own, which no other could restore.
    """
    return [
        library
        for library in _libraries().lib_controllers
        if library.user_api == "blas"
        and getattr(library, "threading_layer", None) != "openmp"
    ]


class _SharedLimit:
    """A limit of one BLAS thread, in force while it has users."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_users = 0
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._n_users == 0:
                self._before = [library.num_threads for library in _shared_blas()]
                _set_threads([1] * len(self._before))
            self._n_users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0:
                _set_threads(self._before)


def _set_threads(numbers: list[int]) -> None:
    for library, number in zip(_shared_blas(), numbers, strict=True):
        library.set_num_threads(number)
        # Newer versions of threadpoolctl let only the thread that set a number set
        # another, unless it gives that up. Here whoever leaves last sets it.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


_SHARED = _SharedLimit()


def one_blas_thread() -> _SharedLimit:
    """Matrix products of the whole process run in one thread meanwhile.

    A limit that the caller has set through threadpoolctl takes precedence.
    """
    return _SHARED


@contextmanager
def one_thread() -> Iterator[None]:
    """The same, and one OpenMP thread for what the calling thread starts."""
    # OpenMP keeps its number per thread, so callers cannot get in each other's way.
    with one_blas_thread(), _libraries().limit(limits=1, user_api="openmp"):
        yield


def available_threads() -> int:
    """Threads that one fit may use: processors, unless OMP_NUM_THREADS says fewer."""
    return int(_openmp_effective_n_threads())


def map_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    n_threads: int,
    sizes: Sequence[int],
) -> list[Result]:
    """What `function` makes of every item, in their order.

    The function has to spend its time without the interpreter lock. sizes : of the
    items; the largest begin first, so that threads end together.
    """
    items = list(items)
    n_threads = min(n_threads, len(items))
    if n_threads <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        order = sorted(range(len(items)), key=lambda place: -sizes[place])
        running = {place: pool.submit(function, items[place]) for place in order}
        return [running[place].result() for place in range(len(items))]
