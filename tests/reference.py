"""Slow, literal transcriptions of the paper's equations. Correctness is judged here.

Matrices are (n_samples, n_features). `present[v][i]` says whether sample i has view v.
"""

from decimal import Decimal, localcontext
from itertools import product

import numpy as np


def sample_losses(views, centers, labels):
    """Eq. (4). A distance of a few units in the last place counts as none."""
    losses = np.zeros((len(views), len(labels)))
    for v, view in enumerate(views):
        for i, j in enumerate(labels):
            loss = np.sum((view[i] - centers[v][j]) ** 2)
            size = np.sum(view[i] ** 2) + np.sum(centers[v][j] ** 2)
            losses[v, i] = loss if loss > 1e-28 * size else 0.0
    return losses


def thresholds(losses, present, pace, n_paces, pace_start):
    """Eq. (9)-(10); the last pace (alpha = 1: every pace) takes the maximum itself."""
    values = []
    for v in range(len(losses)):
        known = losses[v][present[v]]
        if not len(known):
            values.append(0.0)
        elif pace == n_paces or pace_start == 1:
            values.append(known.max())
        else:
            beta = (1 - pace_start) / (n_paces - 1)
            step = pace_start + (pace - 1) * beta
            values.append(known.min() + step * (known.max() - known.min()))
    return np.array(values)


def selection(losses, threshold):
    """Eq. (6) by trying all: the w in {0, 1}^n with the least sum of w l - w lambda.

    Of equal ones the largest, which keeps losses equal to the threshold (Algorithm 1).
    """
    choices = np.array(list(product([False, True], repeat=len(losses))))
    values = (choices * (losses - threshold)).sum(axis=1)
    best = choices[values <= values.min() + 1e-12 * abs(threshold)]
    return best[best.sum(axis=1).argmax()]


def exponents(lambdas):
    """Eq. (7), with perfect views (lambda = 0) at 1 and outside the minimum."""
    positive = [value for value in lambdas if value > 0]
    return np.array([min(positive) / value if value > 0 else 1.0 for value in lambdas])


def centers_step(views, labels, selected, centers):
    """Eq. (15), cluster by cluster; without selected members the centre stays."""
    updated = []
    for v, view in enumerate(views):
        new = centers[v].copy()
        for j in range(len(new)):
            members = [
                i for i in range(len(labels)) if labels[i] == j and selected[v][i]
            ]
            if members:
                new[j] = np.mean(view[members], axis=0)
        updated.append(new)
    return updated


def phi(views, centers, labels, selected):
    """Eq. (5)."""
    losses = sample_losses(views, centers, labels)
    return np.array([np.sum(losses[v][selected[v]]) for v in range(len(views))])


def objective(view_losses, eta):
    """Eq. (2)."""
    return float(np.sum(view_losses**eta))


def _fused(view_losses, eta):
    """Eq. (2) to 40 digits: float64 cannot tell x ** 1e-12 from 1."""
    with localcontext(prec=40):
        return sum(
            (
                Decimal(float(x)) ** Decimal(float(e)) if x > 0 else Decimal(0)
                for x, e in zip(view_losses, eta, strict=True)
            ),
            start=Decimal(0),
        )


def sequential_sweep(views, centers, labels, selected, eta):
    """Eq. (16)-(17): samples one by one, phi refreshed after each."""
    labels = labels.copy()
    n_clusters = len(centers[0])
    view_losses = phi(views, centers, labels, selected)
    for i in range(len(labels)):
        if not any(selected[v][i] for v in range(len(views))):
            continue
        distances = np.array(
            [
                [selected[v][i] * np.sum((view[i] - c) ** 2) for c in centers[v]]
                for v, view in enumerate(views)
            ]
        )
        theta = np.maximum(view_losses - distances[:, labels[i]], 0.0)
        costs = [_fused(theta + distances[:, j], eta) for j in range(n_clusters)]
        best = costs.index(min(costs))
        if costs[best] < costs[labels[i]]:
            labels[i] = best
        view_losses = theta + distances[:, labels[i]]
    return labels


def majorize_sweep(views, centers, labels, selected, eta):
    """All samples by the tangent of the objective at the current view losses."""
    before = phi(views, centers, labels, selected)
    labels = labels.copy()
    for i in range(len(labels)):
        costs = np.zeros(len(centers[0]))
        for v, view in enumerate(views):
            if not selected[v][i]:
                continue
            distances = np.array([np.sum((view[i] - c) ** 2) for c in centers[v]])
            if eta[v] < 1 and before[v] == 0:
                # Vertical tangent: no step away from a perfect fit is worth it.
                costs[distances > distances[labels[i]]] = np.inf
            else:
                costs += eta[v] * before[v] ** (eta[v] - 1) * distances
        best = int(np.argmin(costs))
        if costs[best] < costs[labels[i]] - 1e-13 * abs(costs[labels[i]]):
            labels[i] = best
    return labels


def nsmvc(
    views,
    centers,
    labels,
    *,
    pace_start=0.5,
    n_paces=6,
    max_iter=50,
    assignment="sequential",
    fusion="nonlinear",
    present=None,
):
    """Algorithm 1. Returns labels, centres, eta, lambda and the objective's path.

    The path holds, per pace, the objective after every half-step.
    """
    sweep = sequential_sweep if assignment == "sequential" else majorize_sweep
    labels = np.asarray(labels).copy()
    centers = [np.array(c, dtype=float) for c in centers]
    if present is None:
        present = [np.ones(len(labels), dtype=bool) for _ in views]
    paths = []
    joined = np.zeros((len(views), len(labels)), dtype=int)
    for pace in range(1, n_paces + 1):
        losses = sample_losses(views, centers, labels)
        lambdas = thresholds(losses, present, pace, n_paces, pace_start)
        selected = [present[v] & (losses[v] <= lambdas[v]) for v in range(len(views))]
        for v in range(len(views)):
            joined[v][(joined[v] == 0) & selected[v]] = pace
        eta = exponents(lambdas) if fusion == "nonlinear" else np.ones(len(views))
        path = []
        for _ in range(max_iter):
            centers = centers_step(views, labels, selected, centers)
            path.append(objective(phi(views, centers, labels, selected), eta))
            moved = sweep(views, centers, labels, selected, eta)
            path.append(objective(phi(views, centers, moved, selected), eta))
            stable = np.array_equal(moved, labels)
            labels = moved
            if stable:
                break
        paths.append(path)
    return {
        "labels": labels,
        "centers": centers,
        "exponents": eta,
        "thresholds": lambdas,
        "paths": paths,
        "joined": joined,
        "view_losses": phi(views, centers, labels, selected),
    }
