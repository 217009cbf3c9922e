"""The comparisons: which methods run with which settings, how often, on which sets.

A new method is one more `Method` in a protocol, a new comparison one more `Protocol` in
`PROTOCOLS`.
"""

from __future__ import annotations

from dataclasses import replace

from reproduction.plan import VIEW_LABELS, Method, Noise, Params, Protocol

SIX_SETS = ("handwritten", "msrcv1", "cornell", "texas", "washington", "wisconsin")
# Not the paper's, and not distributed with it; left out where they are not at hand.
MORE_SETS = (
    *("3sources", "aloi", "bbcsport", "bdgp", "landuse21"),
    *("movies", "orl", "prokaryotic", "proteinfold", "reuters1200"),
)
# Their authors' code is not public: estimators rebuilt from the papers.
RECONSTRUCTED = ("CAMVC", "MSPL", "SAMVC")
# Repeats behind NSMVC's own rows.
MANY = 100

# Raw features and the k-means++ of MATLAB, as in the authors' scripts.
RAW: Params = {"n_init": 1, "scale": None, "n_local_trials": 1}
MINMAX: Params = {"n_init": 1, "scale": "minmax"}
LABEL_START: Params = {"init": "random-labels", "n_init": 1, "scale": "minmax"}
SAMPLE_START: Params = {**LABEL_START, "init": "random"}
FIXED: Params = {"pace_start": 0.5, "n_paces": 6}
GRID = {
    "pace_start": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    "n_paces": (3, 4, 5, 6, 7, 8),
}

PAPER = Protocol(
    name="paper",
    title="As published",
    description=(
        "As in the paper: 30 repeats, one start per run, the true number of clusters, "
        "each method with the scaling of its own authors. k-means, Co-train, Co-reg "
        "and AMGL get raw features and plain k-means++; MVKKM standardised features; "
        "CAMVC, MSPL, SAMVC, DMVC and NSMVC, whose scaling is unknown, min-max scaled "
        "views of unit Frobenius norm on every data set. NSMVC's alpha and T come from "
        "the paper's grid by mean ACC over 30 repeats: these rows are tuned with "
        "labels, and the rows NSMVC (0.5, 6) are not. NSMVC's rows have 100 repeats. "
        "Its start draws labels; the rows from samples take random samples as "
        "centres, the other reading of the paper."
    ),
    repeats=30,
    datasets=SIX_SETS,
    methods=(
        Method("KM", "ViewKMeans", RAW, each_view=True),
        Method("KM(All)", "ConcatKMeans", RAW),
        Method(
            "Co-train (averaged)",
            "CoTrain",
            RAW,
            printed="Co-train",
            scored=VIEW_LABELS,
        ),
        Method("Co-train (concatenated)", "CoTrain", RAW, printed="Co-train"),
        Method("Co-reg", "CoReg", RAW),
        Method("MVKKM", "MVKKM", {"n_init": 1, "scale": "zscore", "power": 1.5}),
        Method("AMGL", "AMGL", RAW),
        Method("CAMVC", "CAMVC", MINMAX),
        Method("MSPL", "MSPL", MINMAX),
        Method("SAMVC", "SAMVC", {**MINMAX, "init": "random", "pacing": "hard"}),
        Method("DMVC", "DMVC", MINMAX),
        Method("NSMVC", "NSMVC", LABEL_START, grid=GRID, confirm=MANY),
        Method(
            "NSMVC (0.5, 6)",
            "NSMVC",
            {**LABEL_START, **FIXED},
            printed="NSMVC",
            repeats=MANY,
        ),
        Method(
            "NSMVC from samples",
            "NSMVC",
            SAMPLE_START,
            grid=GRID,
            printed="NSMVC",
            confirm=MANY,
        ),
        Method(
            "NSMVC (0.5, 6) from samples",
            "NSMVC",
            {**SAMPLE_START, **FIXED},
            printed="NSMVC",
            repeats=MANY,
        ),
    ),
    # Not in the paper. The views were named before any result was seen.
    noise=Noise(
        views={"handwritten": "pix", "msrcv1": "gist"},
        shares=(0.0, 0.25, 0.5, 0.75, 1.0),
        repeats=5,
        left_out=("Co-train (averaged)", "NSMVC (0.5, 6) from samples"),
    ),
)

LIKE = Protocol(
    name="like-for-like",
    title="Like for like",
    description=(
        "Every method of manyview with its defaults, which are the same scaling of "
        "views (auto) and ten restarts for all, on the paper's six sets and ten more. "
        "Methods that choose among their restarts do it without labels. Beside them "
        "what a few lines of scikit-learn do: k-means on standardised, concatenated "
        "features, and spectral clustering of a neighbour graph after PCA. Nothing is "
        "tuned. Repeats differ in their seed only."
    ),
    repeats=10,
    datasets=(*SIX_SETS, *MORE_SETS),
    methods=(
        Method("KM (z-scored)", "reproduction.baselines:StandardKMeans"),
        Method("PCA + spectral", "reproduction.baselines:SpectralPCA"),
        Method("KM(All)", "ConcatKMeans"),
        Method("Co-train", "CoTrain", repeats=3),
        Method("Co-reg", "CoReg", repeats=3),
        Method("MVKKM", "MVKKM", repeats=3),
        Method("AMGL", "AMGL", repeats=3),
        Method("CAMVC", "CAMVC"),
        Method("MSPL", "MSPL"),
        Method("SAMVC", "SAMVC"),
        Method("DMVC", "DMVC", repeats=3),
        Method("NSMVC", "NSMVC"),
        Method("GraphNSMVC", "GraphNSMVC"),
    ),
    compared=False,
    ranked=True,
)

ABLATION = Protocol(
    name="ablation",
    title="Ablations of NSMVC",
    description=(
        "Not in the paper: what exponents and self-pacing contribute. Exponents off "
        "(eta = 1) adds the losses of the views up; self-pacing off (T = 1) lets all "
        "samples take part from the beginning. Start, scaling and alpha = 0.5, T = 6 "
        "as in the row NSMVC (0.5, 6) of the tables as published, with the same seeds."
    ),
    repeats=MANY,
    datasets=SIX_SETS,
    methods=(
        Method("NSMVC", "NSMVC", {**LABEL_START, **FIXED}),
        Method("eta = 1", "NSMVC", {**LABEL_START, **FIXED, "fusion": "linear"}),
        Method("T = 1", "NSMVC", {**LABEL_START, **FIXED, "n_paces": 1}),
        Method(
            "eta = 1, T = 1",
            "NSMVC",
            {**LABEL_START, **FIXED, "fusion": "linear", "n_paces": 1},
        ),
    ),
    compared=False,
)

QUICK = replace(
    PAPER,
    name="quick",
    title="Quick look",
    description=(
        "The protocol as published, cut down to a minute: few repeats, methods that "
        "are cheap at 2000 samples, a corner of NSMVC's grid. Good to see that "
        "everything works, too small to compare with print."
    ),
    repeats=5,
    datasets=("handwritten",),
    methods=tuple(
        replace(
            method,
            grid={"pace_start": (0.3, 0.5), "n_paces": (3, 6)} if method.grid else {},
            repeats=None,
            confirm=10 if method.grid else 0,
        )
        for method in PAPER.methods
        if method.estimator not in ("CoTrain", "CoReg", "MVKKM", "AMGL", "DMVC")
    ),
    noise=None,
)

PROTOCOLS = {protocol.name: protocol for protocol in (PAPER, LIKE, ABLATION, QUICK)}
# Those of ``python -m reproduction all``.
FULL = (PAPER.name, LIKE.name, ABLATION.name)
