"""Graph views, written out sample by sample with dense matrices and full spectra.

Slow and literal. All samples are anchors; views are scaled arrays, and `present` says
which of their rows count. A view is a dict with everything that placing needs.
"""

import math

import numpy as np

DIFFUSION_NEIGHBORS = 20
WIDTH_NEIGHBOR = 7
SPARE_COORDINATES = 2


def sq_distance(x, y):
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def nearest(distances, n_nearest):
    """Places of the smallest distances, ascending; of equal ones the first."""
    return sorted(range(len(distances)), key=lambda a: (distances[a], a))[:n_nearest]


def width_floor(widths):
    positive = [width for width in widths if width > 0]
    return 0.1 * float(np.median(positive)) if positive else 1.0


def width(distances, size, floor):
    """Distance to the neighbour after the first `size`."""
    last = nearest(distances, size + 1)[size]
    return max(math.sqrt(distances[last]), floor)


def anchor_row(distances, neighbors, own_width, anchor_widths):
    """Weights of one sample's neighbours, over all anchors; they sum to 1."""
    row = np.zeros(len(distances))
    for a in neighbors:
        row[a] = math.exp(-distances[a] / (own_width * anchor_widths[a]))
    return without_faint(row / row.sum())


def without_faint(weights):
    """Edges of less than a millionth are none."""
    return np.where(weights < 1e-6, 0.0, weights)


def first_of_equals(rows):
    return [
        i
        for i in range(len(rows))
        if not any(np.array_equal(rows[i], rows[j]) for j in range(i))
    ]


def spectral(graph, n_components):
    """(map, gap): graph @ map are the leading left singular vectors.

    The graph's columns are divided by the roots of their sums. gap : between the last
    eigenvalue used and the next; without one the vectors are not determined.
    """
    sums = graph.sum(axis=0)
    scaling = np.array([1 / math.sqrt(s) if s > 0 else 1.0 for s in sums])
    normal = graph * scaling
    values, vectors = np.linalg.eigh(normal @ normal.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    n_anchors = graph.shape[1]
    out = np.zeros((n_anchors, n_components))
    rest = [max(1 - value, 0) + 1e-3 for value in values]
    for c in range(min(n_components, len(graph), n_anchors)):
        if values[c] > 1e-10:
            commute = math.sqrt(rest[1] / rest[c]) if c > 0 else 1.0
            out[:, c] = scaling * (normal.T @ vectors[:, c]) / values[c] * commute
    following = values[n_components] if n_components < len(values) else -1.0
    return out, values[min(n_components, len(values)) - 1] - following


def neighbor_graph(rows):
    """Symmetric self-tuning graph of each sample's nearest others."""
    n = len(rows)
    n_neighbors = min(DIFFUSION_NEIGHBORS, n - 1)
    place = min(WIDTH_NEIGHBOR, n_neighbors) - 1
    distances = np.full((n, n), np.inf)
    for i in range(n):
        for j in range(n):
            if i != j:
                distances[i, j] = sq_distance(rows[i], rows[j])
    raw = [math.sqrt(np.sort(distances[i])[place]) for i in range(n)]
    widths = [max(w, width_floor(raw)) for w in raw]
    graph = np.zeros((n, n))
    for i in range(n):
        for j in nearest(distances[i], n_neighbors):
            graph[i, j] = math.exp(-distances[i, j] / (widths[i] * widths[j]))
    graph = without_faint(graph)
    return (graph + graph.T) / 2


def diffusion(graph, n_vectors):
    """(values, coordinates, gaps) of D^-1/2 W D^-1/2 after the first eigenvector.

    gaps : after the first eigenvalue and after the last one used.
    """
    roots = 1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12))
    values, vectors = np.linalg.eigh(roots[:, None] * graph * roots)
    values, vectors = values[::-1], vectors[:, ::-1]
    last = min(n_vectors, len(values))
    following = values[last] if last < len(values) else -2.0
    gaps = (values[0] - values[1], values[last - 1] - following)
    return np.maximum(values[1:last], 0), roots[:, None] * vectors[:, 1:last], gaps


def participation(coordinates):
    energies = [sum(value**2 for value in row) for row in coordinates]
    squares = sum(energy**2 for energy in energies) / len(energies)
    return (sum(energies) / len(energies)) ** 2 / squares if squares > 0 else 0.0


def strength(graph, n_components):
    values, coordinates, _ = diffusion(graph, n_components)
    if not len(values):
        return 0.0
    return float(np.mean(values**2)) * participation(coordinates * values)


def sample_shares(weights, has):
    """Shares of the views a sample has; equal ones if all of them weigh nothing."""
    shares = [w if h else 0.0 for w, h in zip(weights, has, strict=True)]
    if sum(shares) == 0:
        shares = [1.0 if h else 0.0 for h in has]
    total = sum(shares)
    return [share / total if total else 0.0 for share in shares]


def learn_view(rows, n_components, sizes):
    """One view alone; rows : (n_here, n_features), only those that count."""
    first = first_of_equals(rows)
    if len(first) < 2:
        return None
    anchors = rows[first]
    sizes = [min(size, len(anchors) - 1) for size in sizes]
    distances = np.array([[sq_distance(x, a) for a in anchors] for x in rows])
    view = {"anchors": anchors, "first": first, "sizes": sizes}
    view["floors"] = [
        width_floor([width(distances[i], size, 0.0) for i in first]) for size in sizes
    ]
    view["widths"] = [
        [width(distances[i], size, floor) for i in first]
        for size, floor in zip(sizes, view["floors"], strict=True)
    ]
    view["graphs"] = [weights_to_anchors(view, rows, s) for s in range(len(sizes))]
    spectra = [spectral(graph, n_components) for graph in view["graphs"]]
    view["maps"] = [found for found, _ in spectra]
    view["gaps"] = [gap for _, gap in spectra]
    view["affinity"] = neighbor_graph(rows)
    view["strength"] = strength(view["affinity"], n_components)
    view["gaps"] += diffusion(view["affinity"], n_components)[2]
    return view


def weights_to_anchors(view, rows, s):
    out = []
    for row in rows:
        distances = [sq_distance(row, anchor) for anchor in view["anchors"]]
        size = view["sizes"][s]
        neighbors = nearest(distances, size)
        if min(distances) > 0:
            # An anchor counts itself among its neighbours; this row is none.
            size = max(size - 1, 1)
            neighbors = heaviest(view, distances)[:size]
        own = width(distances, size, view["floors"][s])
        out.append(anchor_row(distances, neighbors, own, view["widths"][s]))
    return np.array(out)


def heaviest(view, distances):
    """Candidates for the neighbours of a new sample, those of largest weight first.

    Twice as many as the largest neighbourhood has are nearest by distance. In
    exp(-distance / (own width * anchor's width)), the sample's own width is the same
    for all of them.
    """
    candidates = nearest(distances, 2 * view["sizes"][-1] + 1)
    widths = view["widths"][-1]
    return sorted(candidates, key=lambda a: distances[a] / widths[a])


def within_clusters(sizes, mean_size):
    """No neighbourhood is larger than a mean cluster; the smallest stays."""
    kept = [sizes[0]]
    for size in sizes[1:]:
        size = max(min(size, mean_size), sizes[0])
        if size not in kept:
            kept.append(size)
    return kept


def learn(views, present, n_components, sizes):
    """{"views", "weights", "gap"}; the smallest gap tells if vectors are unique."""
    sizes = within_clusters(sizes, len(views[0]) // n_components)
    learned = [
        learn_view(view[mask], n_components, sizes)
        for view, mask in zip(views, present, strict=True)
    ]
    strengths = [0.0 if view is None else view["strength"] for view in learned]
    if sum(strengths) == 0:
        strengths = [0.0 if view is None else 1.0 for view in learned]
    n_samples, total = len(views[0]), sum(strengths)
    weights = [s / total for s in strengths]
    has = [
        mask & (view is not None) for mask, view in zip(present, learned, strict=True)
    ]
    shares = np.array([sample_shares(weights, h) for h in np.transpose(has)]).T
    gaps = [gap for view in learned if view is not None for gap in view["gaps"]]
    gaps += _learn_joint(learned, present, shares, n_components, len(sizes))
    gaps += _learn_diffusion(learned, present, shares, n_samples, n_components)
    return {"views": learned, "weights": np.array(weights), "gap": min(gaps)}


def _learn_joint(learned, present, shares, n_components, n_sizes):
    known = [(v, view) for v, view in enumerate(learned) if view is not None]
    gaps = []
    for _, view in known:
        view["joint_maps"] = []
    for s in range(n_sizes):
        parts = []
        for v, view in known:
            part = np.zeros((len(present[v]), len(view["anchors"])))
            part[present[v]] = view["graphs"][s]
            parts.append(shares[v][:, None] * part)
        joint, gap = spectral(np.hstack(parts), n_components)
        gaps.append(gap)
        start = 0
        for _, view in known:
            end = start + len(view["anchors"])
            view["joint_maps"].append(joint[start:end])
            start = end
    return gaps


def _learn_diffusion(learned, present, shares, n_samples, n_components):
    total = np.zeros((n_samples, n_samples))
    for v, view in enumerate(learned):
        if view is None:
            continue
        here = np.flatnonzero(present[v])
        factor = len(here) / view["affinity"].sum()
        for a, i in enumerate(here):
            for b, j in enumerate(here):
                mixed = math.sqrt(shares[v, i] * shares[v, j])
                total[i, j] += mixed * factor * view["affinity"][a, b]
    n_coordinates = n_components - 1 + SPARE_COORDINATES
    _, found, gaps = diffusion(total, n_coordinates + 1)
    coordinates = np.zeros((n_samples, n_coordinates))
    coordinates[:, : found.shape[1]] = found
    for v, view in enumerate(learned):
        if view is not None:
            anchors = np.flatnonzero(present[v])[view["first"]]
            view["diffusion"] = coordinates[anchors]
    return list(gaps)


def unit(row):
    length = math.sqrt(sum(value**2 for value in row))
    return row / length if length > 0 else row


def place(model, views, present):
    """Embeddings of samples: one per view, the joint one, the diffusion coordinates."""
    known = next(view for view in model["views"] if view is not None)
    n_sizes, n_columns = len(known["maps"]), known["maps"][0].shape[1]
    own_sizes = [0] if n_sizes == 1 else [0, n_sizes - 1]
    own, joint, spread = [[] for _ in views], [], []
    for i in range(len(views[0])):
        has = [
            bool(mask[i]) and view is not None
            for mask, view in zip(present, model["views"], strict=True)
        ]
        shares = sample_shares(model["weights"], has)
        sums = np.zeros((n_sizes, n_columns))
        coordinates = np.zeros(n_columns - 1 + SPARE_COORDINATES)
        for v, view in enumerate(model["views"]):
            if not has[v]:
                own[v].append(np.full(len(own_sizes) * n_columns, np.nan))
                continue
            rows = views[v][i : i + 1]
            weights = [weights_to_anchors(view, rows, s)[0] for s in range(n_sizes)]
            parts = [unit(weights[s] @ view["maps"][s]) for s in own_sizes]
            own[v].append(np.concatenate(parts) / math.sqrt(len(own_sizes)))
            for s in range(n_sizes):
                sums[s] += shares[v] * (weights[s] @ view["joint_maps"][s])
            coordinates += shares[v] * (weights[-1] @ view["diffusion"])
        parts = [unit(row) for row in sums]
        joint.append(np.concatenate(parts) / math.sqrt(n_sizes))
        spread.append(coordinates)
    return [*(np.array(part) for part in own), np.array(joint), np.array(spread)]
