"""Whether clusters go together with columns that took no part in the clustering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._extras import import_extra
from manyview._typing import FloatArray, IntArray
from manyview.exceptions import ViewError
from manyview.explain._features import adjust_p_values

if TYPE_CHECKING:
    import pandas as pd

# Numbers with no more different values than this are categories, such as 0 and 1.
FEW_VALUES = 2
# Chi-square is rough where more than this share of cells expects fewer than 5 samples.
MOST_SMALL_CELLS = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class Association:
    """How the clusters go together with one column.

    Parameters
    ----------
    column : str
        Name of the column; "time, event" for survival.
    n_samples : int
        Samples with a value.
    per_cluster : tuple of str
        The column in each cluster: its most frequent value with its share, its median,
        or events and samples.
    test : str
        "chi-square", "Kruskal-Wallis" or "log-rank"; empty if nothing was tested.
    statistic, p_value : float
        Of the test; NaN if nothing was tested.
    fdr : float
        The p-value adjusted by Benjamini and Hochberg, over all columns.
    effect : float
        Cramér's V for chi-square, epsilon squared for Kruskal-Wallis: 0 for none, 1
        for a column that the clusters determine. NaN for survival.
    note : str
        Why nothing was tested, or what to mind.
    """

    column: str
    n_samples: int
    per_cluster: tuple[str, ...]
    test: str = ""
    statistic: float = np.nan
    p_value: float = np.nan
    fdr: float = np.nan
    effect: float = np.nan
    note: str = ""


def associate(
    labels: Any,
    columns: Any,
    *,
    survival: tuple[str, str] | None = None,
    n_clusters: int | None = None,
) -> tuple[Association, ...]:
    """Test each column for association with the clusters.

    Text, categories, truth values and numbers with two different values are tested by
    chi-square, other numbers by Kruskal-Wallis, survival times by the log-rank test.
    Columns must not be features that were clustered: their p-values would mean nothing.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Clusters as whole numbers from 0; samples of cluster -1 are left out.
    columns : DataFrame or mapping of str to array-like
        One value per sample; missing values are left out, column by column.
    survival : (str, str), default=None
        Columns with survival time and event (1 or true where the event was seen). The
        test needs lifelines: ``pip install "manyview[survival]"``.
    n_clusters : int, default=None
        Number of clusters; None takes the largest label for the last one.

    Returns
    -------
    associations : tuple of Association
        One per column, and one for survival in place of its two.

    Examples
    --------
    >>> from manyview.explain import associate
    >>> labels = [0, 0, 0, 1, 1, 1]
    >>> found = associate(labels, {"age": [30.0, 31.0, 33.0, 50.0, 61.0, 58.0]})
    >>> found[0].test, round(found[0].p_value, 3), found[0].per_cluster
    ('Kruskal-Wallis', 0.05, ('31', '58'))
    """
    labels = np.asarray(labels)
    frame = _as_frame(columns, len(labels))[labels >= 0]
    n_clusters = n_clusters or int(labels.max(initial=-1)) + 1
    found = []
    if survival is not None:
        found.append(_associate_survival(frame, labels, n_clusters, survival))
    for name, column in frame.items():
        if survival is None or name not in survival:
            values = column.dropna()
            clusters = labels[values.index]
            found.append(_associate_column(str(name), values, clusters, n_clusters))
    adjusted = adjust_p_values(np.array([one.p_value for one in found]))
    return tuple(
        replace(one, fdr=float(fdr)) for one, fdr in zip(found, adjusted, strict=True)
    )


def _as_frame(columns: Any, n_samples: int) -> pd.DataFrame:
    """Columns by name, rows by the number of the sample."""
    import pandas as pd

    for name, values in columns.items():
        if len(values) != n_samples:
            msg = (
                f"Column {name!r} has {len(values)} values for {n_samples} samples. "
                "Pass one value per sample, in the order of the samples."
            )
            raise ViewError(msg)
    if isinstance(columns, Mapping):
        columns = {name: np.asarray(values) for name, values in columns.items()}
    return pd.DataFrame(columns).reset_index(drop=True)


def _associate_column(
    name: str, values: pd.Series[Any], clusters: IntArray, n_clusters: int
) -> Association:
    """Test one column, without its missing values."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    number = is_numeric_dtype(values.dtype) and not is_bool_dtype(values.dtype)
    measured = number and values.nunique() > FEW_VALUES
    array: Any = values.to_numpy(dtype=np.float64 if measured else str)
    if not measured:
        kinds, array = np.unique(array, return_inverse=True)

    def describe(own: Any) -> str:
        """The values of one cluster in a word."""
        if not len(own):
            return "–"
        if measured:
            return f"{np.median(own):.4g}"
        counts = np.bincount(own)
        return f"{kinds[counts.argmax()]} ({counts.max() / len(own):.0%})"

    described = Association(
        column=name,
        n_samples=len(array),
        per_cluster=tuple(describe(array[clusters == j]) for j in range(n_clusters)),
    )
    if len(np.unique(clusters)) < 2:
        return replace(described, note="fewer than two clusters have values")
    test = _kruskal if measured else _chi_square
    return replace(described, **test(array, clusters))


def _chi_square(values: IntArray, clusters: IntArray) -> dict[str, Any]:
    from scipy.stats import chi2_contingency
    from scipy.stats.contingency import association
    from sklearn.metrics.cluster import contingency_matrix

    table = contingency_matrix(clusters, values)
    n_kinds = table.shape[1]
    if n_kinds < 2:
        return {"note": "all values are the same"}
    if n_kinds == len(values):
        return {"note": "all values differ"}
    found = chi2_contingency(table, correction=False)
    rough = (found.expected_freq < 5).mean() > MOST_SMALL_CELLS
    return {
        "test": "chi-square",
        "statistic": float(found.statistic),
        "p_value": float(found.pvalue),
        "effect": float(association(table, method="cramer")),
        "note": "rough: many cells expect fewer than 5 samples" if rough else "",
    }


def _kruskal(values: FloatArray, clusters: IntArray) -> dict[str, Any]:
    from scipy.stats import kruskal

    found = kruskal(*(values[clusters == cluster] for cluster in np.unique(clusters)))
    return {
        "test": "Kruskal-Wallis",
        "statistic": float(found.statistic),
        "p_value": float(found.pvalue),
        "effect": float(found.statistic) / (len(values) - 1),
    }


def _associate_survival(
    frame: pd.DataFrame, labels: IntArray, n_clusters: int, survival: tuple[str, str]
) -> Association:
    """Test survival times by the log-rank test."""
    for name in survival:
        if name not in frame.columns:
            msg = (
                f"No column is called {name!r}; there are {list(frame.columns)[:8]}. "
                "Name the columns with survival time and event."
            )
            raise ViewError(msg)
    known = frame[list(survival)].dropna()
    try:
        times, events = known.to_numpy(dtype=np.float64).T
        usable = bool((times >= 0).all() and np.isin(events, (0, 1)).all())
    except (TypeError, ValueError):
        usable = False
    if not usable:
        msg = (
            f"Survival must be numbers: times from 0 in {survival[0]!r} and events "
            f"0 or 1 in {survival[1]!r}. Encode them so."
        )
        raise ViewError(msg)
    clusters = labels[known.index]
    counts = np.bincount(clusters, minlength=n_clusters)
    seen = np.bincount(clusters, events, n_clusters).astype(int)
    pairs = zip(seen, counts, strict=True)
    described = Association(
        column=", ".join(survival),
        n_samples=len(times),
        per_cluster=tuple(f"{some} of {every}" for some, every in pairs),
    )
    if (counts > 0).sum() < 2 or not events.any():
        return replace(described, note="fewer than two clusters, or no event")
    lifelines = import_extra("lifelines.statistics", "survival", "The log-rank test")
    found = lifelines.multivariate_logrank_test(times, clusters, events)
    return replace(
        described,
        test="log-rank",
        statistic=float(found.test_statistic),
        p_value=float(found.p_value),
    )
