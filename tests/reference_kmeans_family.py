"""Slow, literal transcriptions of the k-means family, sample by sample.

Views are (n_samples, n_features) arrays without missing rows unless `present` says
so: `present[v][i]` tells whether sample i has view v. `floors[v]` is the smallest
distance that is told from zero in view v.
"""

import numpy as np

SMALLEST_DISTANCE = 1e-8


def everybody(views):
    return np.ones((len(views), len(views[0])), dtype=bool)


def floors(views, present):
    """1e-8 of the root mean squared distance to the view's mean."""
    result = []
    for view, mask in zip(views, present, strict=True):
        known = view[mask]
        spread = np.sqrt(np.mean(np.sum((known - known.mean(axis=0)) ** 2, axis=1)))
        result.append(SMALLEST_DISTANCE * spread)
    return np.array(result)


def means(views, labels, n_clusters, present):
    weights = np.array(present, dtype=float)
    spare = [
        np.tile(view[mask].mean(axis=0), (n_clusters, 1))
        for view, mask in zip(views, present, strict=True)
    ]
    return cent(views, labels, weights, spare)


def cent(views, labels, weights, centers):
    """CENT: weighted means; a cluster without weight keeps its centre."""
    updated = []
    for v, view in enumerate(views):
        new = centers[v].copy()
        for j in range(len(new)):
            members = np.flatnonzero(labels == j)
            mass = sum(weights[v][i] for i in members)
            if mass > 0:
                new[j] = sum(weights[v][i] * view[i] for i in members) / mass
        updated.append(new)
    return updated


def squared_distance(row, center):
    """A distance of a few units in the last place counts as none."""
    distance = np.sum((row - center) ** 2)
    size = np.sum(row**2) + np.sum(center**2)
    return distance if distance > 1e-28 * size else 0.0


def assign(views, labels, weights, centers):
    """ASSIGN: least weighted squared distance; ties keep the label."""
    updated = labels.copy()
    for i in range(len(labels)):
        scores = np.zeros(len(centers[0]))
        for v, view in enumerate(views):
            if weights[v][i] > 0:
                for j, center in enumerate(centers[v]):
                    scores[j] += weights[v][i] * squared_distance(view[i], center)
        if scores.min() < scores[labels[i]]:
            updated[i] = int(np.argmin(scores))
    return updated


def settle(views, weights, centers, present, power=1):
    """The last step of a run: least weighted sum of distances, as for new samples."""
    labels = np.zeros(len(views[0]), dtype=int)
    for i in range(len(labels)):
        scores = np.zeros(len(centers[0]))
        for v, view in enumerate(views):
            if present[v][i]:
                for j, center in enumerate(centers[v]):
                    distance = np.sqrt(squared_distance(view[i], center))
                    scores[j] += weights[v] * distance**power
        labels[i] = np.argmin(scores)
    return labels


def distances(views, labels, centers, present):
    """e_vi, zero where a sample lacks the view."""
    result = np.zeros((len(views), len(labels)))
    for v, view in enumerate(views):
        for i, j in enumerate(labels):
            if present[v][i]:
                result[v, i] = np.sqrt(squared_distance(view[i], centers[v][j]))
    return result


def camvc(views, labels, n_clusters, g, q, n_rounds, present=None):
    """CAMVC for a given number of rounds: labels, view weights, objectives."""
    present = everybody(views) if present is None else present
    floor = floors(views, present)
    centers = means(views, labels, n_clusters, present)
    weights = np.array(present, dtype=float)
    caps, objectives = None, []
    for _ in range(n_rounds):
        centers = cent(views, labels, weights, centers)
        labels = assign(views, labels, weights, centers)
        e = distances(views, labels, centers, present)
        if caps is None:
            caps = [
                np.quantile(e[v][present[v]], q) if q < 1 else np.inf
                for v in range(len(views))
            ]
        h = np.array(
            [
                sum(min(e[v, i], caps[v]) for i in range(len(labels)) if present[v][i])
                for v in range(len(views))
            ]
        )
        a = h ** (1 / (1 - g)) / np.sum(h ** (1 / (1 - g)))
        for v in range(len(views)):
            for i in range(len(labels)):
                inside = present[v][i] and e[v, i] <= caps[v]
                weights[v, i] = inside * a[v] ** g / (2 * max(e[v, i], floor[v]))
        objectives.append(float(np.sum(a**g * h)))
    return settle(views, a**g, centers, present), a, objectives


def logistic_weight(loss, threshold):
    return (1 + np.exp(-threshold)) / (1 + np.exp(loss - threshold))


def logistic_term(t, threshold):
    """f(t) of the smoothed scheme, with 0 ln 0 = 0."""
    a = 1 + np.exp(-threshold)
    left = (a - t) * np.log(a - t) if a > t else 0.0
    return left + (t * np.log(t) if t > 0 else 0.0) - threshold * t


def mspl(views, labels, n_clusters, pace_start, n_paces, max_iter, present=None):
    """MSPL with literal losses: labels and (pace, objective) records."""
    present = everybody(views) if present is None else present
    centers = means(views, labels, n_clusters, present)
    losses = distances(views, labels, centers, present) ** 2
    records = []
    for pace in range(1, n_paces + 1):
        step = (1 - pace_start) / (n_paces - 1) if n_paces > 1 else 0
        quantile = 1.0 if pace == n_paces else pace_start + (pace - 1) * step
        lam = [np.quantile(losses[v][present[v]], quantile) for v in range(len(views))]
        for _ in range(max_iter):
            t = np.array(
                [
                    present[v] * logistic_weight(losses[v], lam[v])
                    for v in range(len(views))
                ]
            )
            centers = cent(views, labels, t, centers)
            moved = assign(views, labels, t, centers)
            losses = distances(views, moved, centers, present) ** 2
            objective = 0.0
            for v in range(len(views)):
                for loss in losses[v][present[v]]:
                    best = logistic_weight(loss, lam[v])
                    objective += best * loss + logistic_term(best, lam[v])
            records.append((pace, objective))
            settled = np.array_equal(moved, labels)
            labels = moved
            if settled:
                break
    t = [logistic_weight(losses[v], lam[v])[present[v]] for v in range(len(views))]
    mean = [weights.mean() for weights in t]
    return settle(views, mean, centers, present, power=2), records


def mixture_weight(e, lam):
    zeta = lam / 2
    if e <= zeta * lam / (zeta + lam):
        return 1.0
    if e >= lam:
        return 0.0
    return zeta * (1 / e - 1 / lam)


def samvc(views, labels, n_clusters, pace_start, n_paces, max_iter, present=None):
    """SAMVC with mixture weights: labels and view weights."""
    present = everybody(views) if present is None else present
    floor = floors(views, present)
    centers = means(views, labels, n_clusters, present)
    e = distances(views, labels, centers, present)
    n_views = len(views)
    for pace in range(1, n_paces + 1):
        step = (1 - pace_start) / (n_paces - 1) if n_paces > 1 else 0
        lam = []
        for v in range(n_views):
            known = np.sort(e[v][present[v]])
            share = np.round((pace_start + (pace - 1) * step) * len(known), 9)
            lam.append(known[max(int(np.ceil(share)), 1) - 1])
        for _ in range(max_iter):
            if pace == n_paces:
                lam = [(1 + 1e-6) * e[v].max() for v in range(n_views)]
            t = np.array(
                [
                    [mixture_weight(e[v, i], lam[v]) for i in range(len(labels))]
                    for v in range(n_views)
                ]
            )
            a = 1 / (2 * np.sqrt(np.sum(t * e, axis=1)))
            s = present * a[:, None] * t / (2 * np.maximum(e, floor[:, None]))
            centers = cent(views, labels, s, centers)
            moved = assign(views, labels, s, centers)
            e = distances(views, moved, centers, present)
            settled = np.array_equal(moved, labels)
            labels = moved
            if settled:
                break
    a = 1 / (2 * np.sqrt(np.sum(t * e, axis=1)))
    return settle(views, a, centers, present), a / a.sum()


def refit_layers(view, labels, weights, layers):
    """One pass over the factors as published: tails of all samples, pseudo-inverses.

    view : (n_samples, n_features); layers : Z_1 ... Z_r.
    """
    n_clusters = layers[-1].shape[1]
    membership = np.eye(n_clusters)[labels]
    tails = [membership]
    for layer in layers[:0:-1]:
        tails.insert(0, tails[0] @ layer.T)
    spread = np.diag(weights)
    updated, head = [], None
    for tail in tails:
        fit = view.T @ spread @ tail @ np.linalg.pinv(tail.T @ spread @ tail)
        layer = fit if head is None else np.linalg.pinv(head.T @ head) @ head.T @ fit
        updated.append(layer)
        head = layer if head is None else head @ layer
    return updated
