"""The decorator of all compiled kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(*, fastmath: set[str] | bool = False) -> Callable[[Kernel], Kernel]:
    """Compile a function without the interpreter lock, and cache the machine code.

    Where no folder for the cache can be written, functions are compiled anew in every
    process. A temporary folder would not do: whoever may write to it can plant code.
    """

    def compile_it(function: Kernel) -> Kernel:
        try:
            compiled = njit(cache=True, nogil=True, fastmath=fastmath)(function)
            return cast(Kernel, compiled)
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
        _warn_uncached()
        return cast(Kernel, njit(nogil=True, fastmath=fastmath)(function))

    return compile_it


@cache
def _warn_uncached() -> None:
    """Warn once: the reason is the same for every kernel."""
    msg = (
        "There is no writable folder for compiled code, so manyview compiles its "
        "kernels anew in every process, which takes some seconds. Set the environment "
        "variable NUMBA_CACHE_DIR to a folder that can be written."
    )
    warnings.warn(msg, RuntimeWarning, stacklevel=2)
