"""Cluster annotated data, and choose the matrices that are its views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from manyview._annotated import Layer, UseRep, annotated_views
from manyview._names import NamedView, is_annotated
from manyview.cluster import GraphNSMVC
from manyview.exceptions import ViewError
from manyview.impute import ViewImputer
from manyview.omics._annotations import annotate, make_annotations

# What `missing` may be, and the imputer behind it.
IMPUTERS = {"impute": "mean", "impute-knn": "knn"}


def select_views(
    data: Any, *, use_rep: UseRep = None, layer: Layer = None
) -> dict[str, NamedView]:
    """Choose the matrices of annotated data that are its views.

    Every estimator takes the result; without it, they take X of every modality.

    Parameters
    ----------
    data : AnnData, MuData or dict of AnnData
        Each modality gives a view. Samples are those of all modalities, by
        ``obs_names``; a modality without a sample lacks it as a view.
    use_rep : str, sequence of str, or dict by modality, default=None
        Keys of ``.obsm``, or ``"X"``. None means X. Several make as many views, of an
        AnnData for example ``["X_pca", "protein"]``.
    layer : str, or dict by modality, default=None
        The layer that stands in for X.

    Returns
    -------
    views : dict
        Views by name: of a modality by its name (``"rna"``), of several from one
        modality by both names (``"rna:X_pca"``), of a lone AnnData by the matrix
        (``"X"``, ``"X_pca"``, ``"counts"``).

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from manyview.omics import select_views
    >>> cells = anndata.AnnData(np.eye(4), obsm={"protein": np.ones((4, 2))})
    >>> list(select_views(cells, use_rep=["X", "protein"]))
    ['X', 'protein']
    """
    parts = list(data.values()) if isinstance(data, Mapping) else [data]
    if not parts or not all(is_annotated(part) for part in parts):
        msg = (
            f"data is a {type(data).__name__}, expected an AnnData, a MuData or a dict "
            "of AnnData. Pass other views to an estimator's fit."
        )
        raise ViewError(msg)
    return annotated_views(data, use_rep, layer)


def cluster(
    data: Any,
    n_clusters: int | None = None,
    *,
    estimator: Any = None,
    use_rep: UseRep = None,
    layer: Layer = None,
    missing: Literal["refuse", "impute", "impute-knn"] = "refuse",
    key_added: str = "manyview",
    random_state: int | np.random.RandomState | None = 0,
    copy: bool = False,
) -> Any:
    """Cluster the samples of annotated data and write the result into it.

    Parameters
    ----------
    data : AnnData, MuData or dict of AnnData
        What to cluster, see `select_views`. The result goes to the MuData itself, not
        to its modalities, and to every AnnData of a dict.
    n_clusters : int, default=None
        Number of clusters; may be left to `estimator`.
    estimator : clusterer, default=None
        Any estimator of ``manyview.cluster``; it is not fitted itself, a copy is. None
        means ``GraphNSMVC(n_clusters, random_state=random_state)``.
    use_rep : str, sequence of str, or dict by modality, default=None
        Keys of ``.obsm``, or ``"X"``, see `select_views`.
    layer : str, or dict by modality, default=None
        The layer that stands in for X.
    missing : {"refuse", "impute", "impute-knn"}, default="refuse"
        Cells that are NaN while others in their row are not: refuse them, or fill them
        in by `ViewImputer` with means or from the nearest samples.
    key_added : str, default="manyview"
        Name of the results.
    random_state : int, RandomState instance or None, default=0
        Seed of the default estimator.
    copy : bool, default=False
        Write to a copy and return it.

    Returns
    -------
    data : AnnData, MuData, dict of AnnData or None
        The copy if there is one, else None.

        - ``.obs[key_added]``: cluster, categorical.
        - ``.obs[key_added + "_confidence"]``: membership in it.
        - ``.obsm["X_" + key_added]``: joint embedding of all views, of GraphNSMVC only.
        - ``.uns[key_added]``: method, parameters, weights of the views, version.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from manyview import omics
    >>> rng = np.random.default_rng(0)
    >>> shift = np.repeat([0.0, 9.0], 20)[:, None]
    >>> cells = anndata.AnnData(rng.normal(size=(40, 5)) + shift)
    >>> cells.obsm["protein"] = rng.normal(size=(40, 3)) + shift
    >>> omics.cluster(cells, 2, use_rep=["X", "protein"])
    >>> cells.obs["manyview"].value_counts().to_list()
    [20, 20]
    """
    model = _estimator(estimator, n_clusters, random_state)
    views: Any = select_views(data, use_rep=use_rep, layer=layer)
    imputed: dict[str, int] = {}
    if missing != "refuse":
        if missing not in IMPUTERS:
            msg = f"missing={missing!r} is not one of refuse, {', '.join(IMPUTERS)}."
            raise ViewError(msg)
        imputer = ViewImputer(IMPUTERS[missing])
        views = imputer.fit_transform(views)
        imputed = imputer.n_imputed_
    clustering = model.fit_clustering(views)
    found = make_annotations(
        model, clustering, clustering.views.index, imputed=imputed, key=key_added
    )
    target = _copy(data) if copy else data
    for part in target.values() if isinstance(target, Mapping) else [target]:
        annotate(part, found)
    return target if copy else None


def _estimator(estimator: Any, n_clusters: int | None, random_state: Any) -> Any:
    if estimator is not None:
        chosen = {} if n_clusters is None else {"n_clusters": n_clusters}
        return clone(estimator).set_params(**chosen)
    if n_clusters is None:
        msg = "n_clusters is None and so is estimator. Pass the number of clusters."
        raise ViewError(msg)
    return GraphNSMVC(n_clusters, random_state=random_state)


def _copy(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {name: part.copy() for name, part in data.items()}
    return data.copy()
