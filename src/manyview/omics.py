"""Single-cell and other omics objects: AnnData and MuData in, results back in them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone

from manyview._annotated import Layer, UseRep, annotated_views
from manyview._extras import import_extra
from manyview._files import whole_path
from manyview._names import NamedView, is_annotated
from manyview._typing import FloatArray
from manyview._version import __version__
from manyview.cluster import GraphNSMVC
from manyview.cluster._clustering import Clustering
from manyview.exceptions import DatasetError, ViewError
from manyview.explain import Explanation
from manyview.explain._margins import explain_clustering
from manyview.impute import ViewImputer

__all__ = ["cluster", "select_views"]

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
        in by `manyview.impute.ViewImputer` with means or from the nearest samples.
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
        for (slot, name), value in found.of(part.obs_names).items():
            getattr(part, slot)[name] = value
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Annotations:
    """What is written about samples.

    key : name of the results.
    obs : frame by sample, with the cluster and the confidence.
    embedding : frame of the same samples, if there is an embedding.
    facts : about the run: plain values, text and arrays.
    """

    key: str
    obs: pd.DataFrame
    embedding: pd.DataFrame | None
    facts: dict[str, Any]

    def of(self, samples: Any) -> dict[tuple[str, str], Any]:
        """Entries by slot and name, for these samples; others stay without."""
        obs, embedding = self.obs, self.embedding
        # A lone AnnData may have names that occur twice: its rows are those of the fit.
        if not obs.index.equals(samples):
            obs = obs.reindex(samples)
            embedding = None if embedding is None else embedding.reindex(samples)
        entries: dict[tuple[str, str], Any] = {
            ("obs", str(name)): values for name, values in obs.items()
        }
        entries["uns", self.key] = self.facts
        if embedding is not None:
            entries["obsm", f"X_{self.key}"] = embedding.to_numpy()
        return entries


def make_annotations(
    estimator: Any,
    clustering: Clustering,
    samples: Any,
    *,
    key: str,
    imputed: dict[str, int] | None,
    explanation: Explanation | None = None,
) -> Annotations:
    """What is written about the samples of a fit."""
    explanation = explanation or explain_clustering(clustering)
    names = pd.Index([str(cluster) for cluster in range(int(estimator.n_clusters))])
    labels = pd.Categorical.from_codes(clustering.labels, categories=names)
    facts = {
        "method": type(estimator).__name__,
        "params": _plain(estimator.get_params()),
        "views": np.array(explanation.view_names, dtype=object),
        "view_weights": explanation.weights,
        "unexplained": explanation.unexplained,
        "version": __version__,
    }
    if imputed:
        facts["imputed"] = imputed
    columns = {key: labels, f"{key}_confidence": explanation.confidence}
    joint = _joint_embedding(clustering)
    return Annotations(
        key=key,
        obs=pd.DataFrame(columns, index=samples),
        embedding=None if joint is None else pd.DataFrame(joint, index=samples),
        facts=facts,
    )


def annotate_file(source: Path, target: Path, found: Annotations) -> None:
    """Write a copy of a ``.h5ad`` or ``.h5mu`` file with annotations.

    All else in the file stays as it is: nothing of it is read and written anew.
    """
    io = import_extra("anndata.io", "omics", "--write")
    h5py = import_extra("h5py", "omics", "--write")
    with whole_path(target) as part:
        shutil.copyfile(source, part)
        with h5py.File(part, "r+") as content:
            obs = content["obs"]
            if not isinstance(obs, h5py.Group):
                msg = (
                    f"{source} is of an old format, in which obs is one table. Read it "
                    "with anndata and write it anew."
                )
                raise DatasetError(msg)
            samples = io.read_elem(obs[obs.attrs["_index"]])
            columns = [str(name) for name in obs.attrs["column-order"]]
            entries = found.of(pd.Index([str(name).strip() for name in samples]))
            for (slot, name), value in entries.items():
                if slot not in content:
                    io.write_elem(content, slot, {})
                # A column is stored as its values: categories or numbers.
                stored = value.values if slot == "obs" else value
                io.write_elem(content[slot], name, stored)
                if slot == "obs" and name not in columns:
                    columns.append(name)
            obs.attrs["column-order"] = columns


def _joint_embedding(clustering: Clustering) -> FloatArray | None:
    """The embedding of all views together, scaled as distances are taken in it."""
    if len(clustering.rows) == clustering.n_views:
        return None
    joint = clustering.rows[clustering.n_views]
    return joint.dense_rows(np.arange(joint.n_samples)).astype(np.float32)


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters that files can hold; None, which they cannot, is left out."""
    plain: dict[str, Any] = {}
    for name, value in params.items():
        if isinstance(value, (bool, int, float, str)):
            plain[name] = value
        elif isinstance(value, (list, tuple)):
            plain[name] = np.asarray(value)
        elif value is not None:
            plain[name] = repr(value)
    return plain
