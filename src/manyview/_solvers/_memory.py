"""Whether matrices of similarities fit into memory."""

from __future__ import annotations

import os

from manyview.exceptions import ViewError

# Share of the available memory that they may take.
MEMORY_SHARE = 0.9


def check_memory(n_samples: int, n_columns: int, n_matrices: int) -> None:
    """Refuse float64 matrices that would not fit, before they are made.

    n_columns : samples that all samples are compared with, `n_samples` for all pairs.
    """
    needed = 8 * n_samples * n_columns * n_matrices
    available = available_memory()
    if available is not None and needed > MEMORY_SHARE * available:
        all_pairs = n_columns == n_samples
        pairs = (
            f"all pairs of {n_samples} samples"
            if all_pairs
            else f"{n_samples} samples and {n_columns} anchors"
        )
        msg = (
            f"{n_matrices} matrices of {pairs} need {needed / 2**30:.1f} GiB, but "
            f"{available / 2**30:.1f} GiB of memory are available. Use "
            f"{'anchors (n_anchors)' if all_pairs else 'fewer anchors (n_anchors)'}, "
            "fewer samples, or AMGL or NSMVC, which have no such matrices."
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
