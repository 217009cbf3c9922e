"""Whether the matrices of all pairs of samples fit into memory."""

from __future__ import annotations

import os

from manyview.exceptions import ViewError

# Share of the available memory that they may take.
MEMORY_SHARE = 0.9


def check_pair_memory(n_samples: int, n_matrices: int) -> None:
    """Refuse float64 matrices of all pairs that would not fit, before they are made."""
    needed = 8 * n_samples**2 * n_matrices
    available = available_memory()
    if available is not None and needed > MEMORY_SHARE * available:
        msg = (
            f"{n_matrices} matrices of all pairs of {n_samples} samples need "
            f"{needed / 2**30:.1f} GiB, but {available / 2**30:.1f} GiB of memory are "
            "available. Use fewer samples, or AMGL or NSMVC, whose memory grows with "
            "the number of samples and not with its square."
        )
        raise ViewError(msg)


def available_memory() -> int | None:
    """Bytes that can be had; all the machine's without psutil; None if unknown."""
    try:
        import psutil
    except ImportError:
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return None
    return int(psutil.virtual_memory().available)
