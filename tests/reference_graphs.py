"""Literal, slow transcriptions of the graph and kernel methods, as oracles.

Everything is dense, loops are written out, and the formulas follow the papers line by
line; nothing here shares code with the package.
"""

from __future__ import annotations

import itertools

import numpy as np


def gaussian(points):
    n = len(points)
    distance = np.zeros((n, n))
    for i, j in itertools.product(range(n), repeat=2):
        distance[i, j] = np.sqrt(((points[i] - points[j]) ** 2).sum())
    sigma = np.median(distance)
    if sigma == 0:
        positive = distance[distance > 0]
        sigma = positive.mean() if positive.size else 1.0
    return np.exp(-(distance**2) / (2 * sigma**2))


def by_anchors(points, anchors, kernel="rbf"):
    """The n x n kernel that follows from similarities to some of the samples."""
    n = len(points)
    chosen = points[anchors]
    similar = np.zeros((n, len(anchors)))
    if kernel == "linear":
        similar = points @ chosen.T
    else:
        between = [[np.linalg.norm(a - b) for b in chosen] for a in chosen]
        sigma = np.median(between)
        for i, j in itertools.product(range(n), range(len(anchors))):
            squared = ((points[i] - chosen[j]) ** 2).sum()
            similar[i, j] = np.exp(-squared / (2 * sigma**2))
    # C W^+ C' by the root of the pseudo-inverse.
    values, vectors = np.linalg.eigh(similar[anchors])
    kept = values > 1e-6 * values.max()
    root = vectors[:, kept] / np.sqrt(values[kept])
    return (similar @ root) @ (similar @ root).T


def norm(affinity):
    q = np.maximum(np.abs(affinity.sum(axis=1)), 1e-12)
    d = np.diag(q**-0.5)
    scaled = d @ affinity @ d
    return (scaled + scaled.T) / 2


def top(matrix, r):
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(values)[::-1][:r]
    return values[order], vectors[:, order]


def projector(vectors):
    return vectors @ vectors.T


def cotrain(kernels, r, n_rounds):
    """Subspaces after each round, as a list of lists; the first are the views' own."""
    subspaces = [top(norm(kernel), r)[1] for kernel in kernels]
    states = [subspaces]
    for _ in range(n_rounds):
        total = sum(projector(u) for u in subspaces)
        filtered = []
        for kernel, own in zip(kernels, subspaces, strict=True):
            product = kernel @ (total - projector(own))
            filtered.append(top(norm((product + product.T) / 2), r)[1])
        subspaces = filtered
        states.append(subspaces)
    return states


def coreg(kernels, coupling, k, n_rounds):
    """(shared, subspaces, objective) after each round."""
    affinities = [norm(kernel) for kernel in kernels]
    subspaces = [top(affinity, k)[1] for affinity in affinities]
    states = []
    for _ in range(n_rounds):
        pull = sum(c * projector(u) for c, u in zip(coupling, subspaces, strict=True))
        shared = top(pull, k)[1]
        subspaces = [
            top(affinity + c * projector(shared), k)[1]
            for affinity, c in zip(affinities, coupling, strict=True)
        ]
        objective = sum(
            np.trace(u.T @ affinity @ u)
            + c * np.trace(projector(u) @ projector(shared))
            for affinity, c, u in zip(affinities, coupling, subspaces, strict=True)
        )
        states.append((shared, subspaces, objective))
    return states


def scatter(kernel, labels):
    """D_v(z): within-cluster scatter in feature space."""
    total = np.trace(kernel)
    for j in np.unique(labels):
        members = np.flatnonzero(labels == j)
        block = sum(kernel[a, b] for a in members for b in members)
        total -= block / len(members)
    return total


def kernel_distance(kernel, labels, i, j):
    members = np.flatnonzero(labels == j)
    size = len(members)
    to_members = sum(kernel[i, b] for b in members)
    among = sum(kernel[a, b] for a in members for b in members)
    return kernel[i, i] - 2 * to_members / size + among / size**2


def amgl_graph(points, c):
    """Directed neighbour graph; rows sum to 1. No tied rows, please."""
    n = len(points)
    graph = np.zeros((n, n))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        d = {j: ((points[i] - points[j]) ** 2).sum() for j in others}
        order = sorted(others, key=lambda j: d[j])
        reach = d[order[c]]
        total = c * reach - sum(d[j] for j in order[:c])
        for j in order[:c]:
            graph[i, j] = (reach - d[j]) / total
    return graph


def amgl(graphs, k, n_rounds):
    """(vectors, weights, objective) after each round; graphs are symmetric."""
    laplacians = [np.eye(len(graph)) - norm(graph) for graph in graphs]
    weights = np.full(len(graphs), 1 / len(graphs))
    states = []
    for _ in range(n_rounds):
        fused = sum(a * L for a, L in zip(weights, laplacians, strict=True))
        vectors = np.linalg.eigh(fused)[1][:, :k]
        cuts = np.array([np.trace(vectors.T @ L @ vectors) for L in laplacians])
        weights = 1 / (2 * np.sqrt(cuts))
        states.append((vectors, weights, np.sqrt(cuts).sum()))
    return states
