"""Results as annotations of samples, in objects and in files."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manyview._extras import import_extra
from manyview._files import whole_path
from manyview._typing import FloatArray
from manyview._version import __version__
from manyview.cluster._clustering import Clustering
from manyview.exceptions import DatasetError
from manyview.explain import Explanation
from manyview.explain._margins import explain_clustering


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


def annotate(data: Any, found: Annotations) -> None:
    """Write annotations into an AnnData or a MuData."""
    for (slot, name), value in found.of(data.obs_names).items():
        getattr(data, slot)[name] = value


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
