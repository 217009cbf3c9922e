"""Data of the benchmarks: overlapping clusters, so that no method stops at once."""

from pathlib import Path

import numpy as np

WIDTHS = (50, 100, 200)
# Rows written at once; also what one seed draws, so that a longer file only goes on.
BLOCK_ROWS = 50_000


def make_blobs(n_samples, n_clusters, widths=WIDTHS, dtype=np.float64, spread=0.35):
    """Views of Gaussian clusters and a random labelling to start from."""
    rng = np.random.default_rng(0)
    truth = rng.integers(n_clusters, size=n_samples)
    views = []
    for width in widths:
        centers = (spread * rng.normal(size=(n_clusters, width))).astype(dtype)
        view = rng.standard_normal((n_samples, width), dtype=dtype)
        for start in range(0, n_samples, 50_000):
            rows = slice(start, start + 50_000)
            view[rows] += centers[truth[rows]]
        views.append(view)
    labels = rng.integers(n_clusters, size=n_samples)
    labels[:n_clusters] = np.arange(n_clusters)
    return views, labels


def make_groups(n_samples, n_clusters, seed, *, noise, widths=WIDTHS, spread=0.35):
    """Views of Gaussian clusters and their labels; the last view may be pure noise."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_clusters, size=n_samples)
    views = []
    for v, width in enumerate(widths):
        view = rng.standard_normal((n_samples, width))
        if not noise or v < len(widths) - 1:
            view += (spread * rng.normal(size=(n_clusters, width)))[truth]
        views.append(view)
    return views, truth


def write_memmaps(folder: Path, n_samples, n_clusters, widths=WIDTHS, spread=1.0):
    """The same as float32 files, written block by block; returns memory maps."""
    rng = np.random.default_rng(0)
    for v, width in enumerate(widths):
        path = folder / f"view{v}.npy"
        centers = (spread * rng.normal(size=(n_clusters, width))).astype(np.float32)
        out = np.lib.format.open_memmap(
            path, mode="w+", dtype=np.float32, shape=(n_samples, width)
        )
        for start in range(0, n_samples, BLOCK_ROWS):
            rows = out[start : start + BLOCK_ROWS]
            truth = _block_truth(start, len(rows), n_clusters)
            noise = np.random.default_rng([start, v])
            rows[:] = centers[truth] + noise.standard_normal(rows.shape, np.float32)
        out.flush()
        del out
    return open_memmaps(folder)


def open_memmaps(folder: Path):
    """What `write_memmaps` wrote, in order."""
    return [np.load(path, mmap_mode="r") for path in sorted(folder.glob("view?.npy"))]


def planted_labels(n_samples, n_clusters):
    """Clusters that `write_memmaps` drew the rows from."""
    blocks = [
        _block_truth(start, min(BLOCK_ROWS, n_samples - start), n_clusters)
        for start in range(0, n_samples, BLOCK_ROWS)
    ]
    return np.concatenate(blocks)


def _block_truth(start, n_rows, n_clusters):
    return np.random.default_rng(start).integers(n_clusters, size=n_rows)
