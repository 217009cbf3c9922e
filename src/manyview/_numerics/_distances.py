"""Squared distances, losses and sums of dense and sparse row blocks.

A dense block is a (n_rows, n_features) array of scaled rows. A sparse block is the
view's CSR arrays plus the ids of the rows meant. Sums are kept in float64 throughout.
"""

from __future__ import annotations

import numpy as np

from manyview._numerics._jit import kernel
from manyview._typing import BoolArray, FloatArray, IntArray

# Squared relative size below which a distance taken by differences is rounding only:
# a row and the mean of its exact copies differ by a few units in the last place.
SAME_POINT = (64 * np.finfo(np.float64).eps) ** 2
# The same for a distance taken as ||x||^2 - 2xc + ||c||^2, which cancels.
SAME_POINT_EXPANDED = 64 * np.finfo(np.float64).eps
# Below this share of ||x||^2 + ||c||^2 the latter form has lost too many digits, and
# the distance is taken by differences.
CANCELLED = 1e-6
# Relative error left in a distance taken by differences.
DIRECT_ERROR = 32 * np.finfo(np.float64).eps

# Sums may be reordered (that is what lets them be vectorised); NaN and inf keep
# their meaning.
REORDER = {"reassoc", "contract"}


# BLAS multiplies matrices of up to so many products without copying them first; of a
# tall matrix with few columns the copy takes as long as the products. Pieces of fewer
# rows are no gain.
SMALL_PRODUCTS = 1_000_000
SMALLEST_PIECE = 64


@kernel()
def scale_rows(
    raw: FloatArray,
    rows: IntArray,
    present: BoolArray,
    lengths: FloatArray,
    shift: FloatArray,
    factor: FloatArray,
    out: FloatArray,
) -> None:
    """``(x - shift) * factor`` for some rows of a view, zero for missing ones.

    lengths : (n_samples,), what rows are divided by instead of shifted, or empty.
    """
    for r in range(rows.shape[0]):
        i = rows[r]
        if not present[i]:
            out[r, :] = 0.0
        elif lengths.shape[0]:
            for f in range(raw.shape[1]):
                out[r, f] = np.float64(raw[i, f]) / lengths[i] * factor[f]
        else:
            for f in range(raw.shape[1]):
                out[r, f] = (np.float64(raw[i, f]) - shift[f]) * factor[f]


@kernel(fastmath=REORDER)
def turn_centers(
    centers: FloatArray, out_columns: FloatArray
) -> tuple[FloatArray, float]:
    """Centres (n_clusters, n_features) as columns.

    Returns their squared lengths, and the largest of these.
    """
    sq_norms = np.zeros(centers.shape[0])
    for j in range(centers.shape[0]):
        for f in range(centers.shape[1]):
            out_columns[f, j] = centers[j, f]
            sq_norms[j] += centers[j, f] * centers[j, f]
    return sq_norms, sq_norms.max()


@kernel(fastmath=REORDER)
def expand_distances(
    products: FloatArray,
    sq_norms: FloatArray,
    center_norms: FloatArray,
    relative_error: float,
    out: FloatArray,
    out_rounding: FloatArray,
) -> None:
    """``||x||^2 - 2 x.c + ||c||^2`` from the products x.c, and a bound on its error.

    products, out : (n_rows, n_clusters); out_rounding : (n_rows,).
    """
    n_rows, n_clusters = products.shape
    largest = center_norms.max()
    for i in range(n_rows):
        for j in range(n_clusters):
            distance = sq_norms[i] - 2.0 * products[i, j] + center_norms[j]
            out[i, j] = max(distance, 0.0)
        out_rounding[i] = relative_error * (sq_norms[i] + largest)


@kernel(fastmath=REORDER)
def dense_distances(
    values: FloatArray,
    rows: IntArray,
    columns: FloatArray,
    sq_norms: FloatArray,
    center_norms: FloatArray,
    relative_error: float,
    buffer: FloatArray,
    out: FloatArray,
    out_rounding: FloatArray,
) -> None:
    """Squared distances of scaled rows to centres, see `expand_distances`.

    rows : (n_rows,), which rows of `values`, or empty for all of them; columns :
    (n_features, n_clusters), the centres; sq_norms : (n_rows,); buffer : (any number,
    n_features), for rows that are not side by side.
    """
    size = max(SMALL_PRODUCTS // columns.size, SMALLEST_PIECE)
    if len(rows):
        size = min(size, len(buffer))
    products = np.empty((min(size, len(out)), columns.shape[1]), columns.dtype)
    for start in range(0, len(out), size):
        stop = min(start + size, len(out))
        found = products[: stop - start]
        if len(rows):
            piece = buffer[: stop - start]
            for r in range(start, stop):
                # Value by value: a copy of the whole row takes three times as long.
                i = rows[r]
                for f in range(values.shape[1]):
                    piece[r - start, f] = values[i, f]
            np.dot(piece, columns, found)
        else:
            np.dot(values[start:stop], columns, found)
        expand_distances(
            found,
            sq_norms[start:stop],
            center_norms,
            relative_error,
            out[start:stop],
            out_rounding[start:stop],
        )


@kernel()
def raw_distances(
    raw: FloatArray,
    rows: IntArray,
    present: BoolArray,
    lengths: FloatArray,
    shift: FloatArray,
    factor: FloatArray,
    columns: FloatArray,
    sq_norms: FloatArray,
    center_norms: FloatArray,
    relative_error: float,
    out_buffer: FloatArray,
    out: FloatArray,
    out_rounding: FloatArray,
) -> None:
    """`dense_distances` of raw rows, scaled as many at a time as the buffer holds."""
    size, every = len(out_buffer), np.empty(0, dtype=np.intp)
    for start in range(0, len(rows), size):
        part = slice(start, min(start + size, len(rows)))
        values = out_buffer[: part.stop - start]
        scale_rows(raw, rows[part], present, lengths, shift, factor, values)
        dense_distances(
            values,
            every,
            columns,
            sq_norms[part],
            center_norms,
            relative_error,
            values,
            out[part],
            out_rounding[part],
        )


@kernel()
def rounded_distances(
    products: FloatArray,
    sq_norms: FloatArray,
    point_norms: FloatArray,
    grain: float,
    out: FloatArray,
) -> None:
    """``||x||^2 - 2 x.p + ||p||^2`` from the products x.p, in multiples of `grain`.

    products, out : (n_rows, n_points). With a grain of 0 nothing is rounded.
    """
    n_rows, n_points = products.shape
    per_grain = 1.0 / grain if grain > 0.0 else 0.0
    for i in range(n_rows):
        for j in range(n_points):
            distance = max(sq_norms[i] + point_norms[j] - 2.0 * products[i, j], 0.0)
            if grain > 0.0:
                distance = np.rint(distance * per_grain) * grain
            out[i, j] = distance


@kernel(fastmath=REORDER)
def _direct_distance(row: FloatArray, center: FloatArray) -> float:
    total = 0.0
    for f in range(row.shape[0]):
        difference = np.float64(row[f]) - center[f]
        total += difference * difference
    return total


@kernel()
def direct_distances(
    points: FloatArray,
    positions: IntArray,
    sq_norms: FloatArray,
    centers: FloatArray,
    center_norms: FloatArray,
    out: FloatArray,
    out_rounding: FloatArray,
) -> None:
    """Distances of scaled rows, by differences.

    positions : (n_points,), their rows in `sq_norms`, `out` and `out_rounding`.
    """
    for r in range(positions.shape[0]):
        i, widest = positions[r], 0.0
        for j in range(centers.shape[0]):
            distance = _direct_distance(points[r], centers[j])
            if distance < SAME_POINT * (sq_norms[i] + center_norms[j]):
                distance = 0.0
            out[i, j] = distance
            widest = max(widest, distance)
        out_rounding[i] = DIRECT_ERROR * widest


@kernel()
def direct_losses(
    block: FloatArray,
    sq_norms: FloatArray,
    centers: FloatArray,
    center_norms: FloatArray,
    labels: IntArray,
    out: FloatArray,
) -> None:
    """Loss of every row of a dense block: Eq. (4), by differences."""
    for i in range(block.shape[0]):
        j = labels[i]
        distance = _direct_distance(block[i], centers[j])
        if distance < SAME_POINT * (sq_norms[i] + center_norms[j]):
            distance = 0.0
        out[i] = distance


@kernel()
def raw_losses(
    raw: FloatArray,
    rows: IntArray,
    present: BoolArray,
    lengths: FloatArray,
    shift: FloatArray,
    factor: FloatArray,
    sq_norms: FloatArray,
    centers: FloatArray,
    center_norms: FloatArray,
    labels: IntArray,
    out_buffer: FloatArray,
    out: FloatArray,
) -> None:
    """`direct_losses` of raw rows, scaled as many at a time as the buffer holds."""
    size = len(out_buffer)
    for start in range(0, len(rows), size):
        part = slice(start, min(start + size, len(rows)))
        values = out_buffer[: part.stop - start]
        scale_rows(raw, rows[part], present, lengths, shift, factor, values)
        direct_losses(
            values, sq_norms[part], centers, center_norms, labels[part], out[part]
        )


@kernel()
def add_rows(
    points: FloatArray,
    rows: IntArray,
    clusters: IntArray,
    weights: FloatArray,
    out_sums: FloatArray,
    out_masses: FloatArray,
) -> None:
    """Add ``weights[t, r] * points[rows[r]]`` to cluster ``clusters[t, r]``, all t.

    out_masses : (n_clusters,), the weights are added to these.
    """
    for r in range(rows.shape[0]):
        row = points[rows[r]]
        for t in range(clusters.shape[0]):
            weight = weights[t, r]
            if weight != 0.0:
                total = out_sums[clusters[t, r]]
                for f in range(row.shape[0]):
                    total[f] += weight * row[f]
                out_masses[clusters[t, r]] += weight


@kernel()
def add_raw_rows(
    raw: FloatArray,
    rows: IntArray,
    present: BoolArray,
    lengths: FloatArray,
    shift: FloatArray,
    factor: FloatArray,
    clusters: IntArray,
    weights: FloatArray,
    out_buffer: FloatArray,
    out_sums: FloatArray,
    out_masses: FloatArray,
) -> None:
    """`add_rows` of raw rows, scaled as many at a time as the buffer holds."""
    size = len(out_buffer)
    every = np.arange(min(size, len(rows)))
    for start in range(0, len(rows), size):
        part = slice(start, min(start + size, len(rows)))
        values = out_buffer[: part.stop - start]
        scale_rows(raw, rows[part], present, lengths, shift, factor, values)
        add_rows(
            values,
            every[: part.stop - start],
            clusters[:, part],
            weights[:, part],
            out_sums,
            out_masses,
        )


@kernel()
def sparse_products(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    rows: IntArray,
    centers_t: FloatArray,
    out: FloatArray,
) -> None:
    """Products of sparse rows with centres; centers_t : (n_features, n_clusters)."""
    n_clusters = centers_t.shape[1]
    for r in range(rows.shape[0]):
        for j in range(n_clusters):
            out[r, j] = 0.0
        for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
            value, f = np.float64(data[p]), indices[p]
            for j in range(n_clusters):
                out[r, j] += value * centers_t[f, j]


@kernel()
def _sparse_direct_distance(
    data: FloatArray, indices: IntArray, start: int, stop: int, center: FloatArray
) -> float:
    """Distance of one sparse row by differences; visits every feature."""
    total, p = 0.0, start
    for f in range(center.shape[0]):
        difference = -center[f]
        if p < stop and indices[p] == f:
            difference += np.float64(data[p])
            p += 1
        total += difference * difference
    return total


@kernel()
def sparse_direct_distances(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    rows: IntArray,
    positions: IntArray,
    sq_norms: FloatArray,
    centers: FloatArray,
    center_norms: FloatArray,
    out: FloatArray,
    out_rounding: FloatArray,
) -> None:
    """Distances of some rows of a sparse block, by differences, into `out` rows.

    `sq_norms` and `out` follow `rows`, the block.
    """
    for i in positions:
        start, stop = indptr[rows[i]], indptr[rows[i] + 1]
        widest = 0.0
        for j in range(centers.shape[0]):
            distance = _sparse_direct_distance(data, indices, start, stop, centers[j])
            if distance < SAME_POINT * (sq_norms[i] + center_norms[j]):
                distance = 0.0
            out[i, j] = distance
            widest = max(widest, distance)
        out_rounding[i] = DIRECT_ERROR * widest


@kernel()
def sparse_losses(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    rows: IntArray,
    sq_norms: FloatArray,
    centers: FloatArray,
    center_norms: FloatArray,
    labels: IntArray,
    direct_below: float,
    out: FloatArray,
) -> None:
    """Loss of sparse rows, Eq. (4); `sq_norms`, `labels`, `out` follow `rows`.

    Taken by differences below this share of ``||x||^2 + ||c||^2``.
    """
    for r in range(rows.shape[0]):
        j = labels[r]
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        product = 0.0
        for p in range(start, stop):
            product += np.float64(data[p]) * centers[j, indices[p]]
        energy = sq_norms[r] + center_norms[j]
        distance = energy - 2.0 * product
        if distance <= direct_below * energy:
            distance = _sparse_direct_distance(data, indices, start, stop, centers[j])
            if distance < SAME_POINT * energy:
                distance = 0.0
        out[r] = distance


@kernel()
def sparse_add_rows(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    rows: IntArray,
    clusters: IntArray,
    weights: FloatArray,
    out_sums: FloatArray,
) -> None:
    """`add_rows` for sparse rows; `clusters` and `weights` follow `rows`."""
    for t in range(clusters.shape[0]):
        for r in range(rows.shape[0]):
            for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
                out_sums[clusters[t, r], indices[p]] += weights[t, r] * data[p]
