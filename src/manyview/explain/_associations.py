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
    frame = _as_frame(columns, len(labels))
    frame, kept = frame.loc[labels >= 0], labels[labels >= 0]
    count = n_clusters or int(kept.max(initial=-1)) + 1
    found = []
    if survival is not None:
        found.append(_log_rank(frame, kept, count, survival))
    for name in frame.columns:
        if survival is None or name not in survival:
            has = frame[name].notna().to_numpy()
            test = _kruskal if _is_measured(frame[name][has]) else _chi_square
            found.append(test(str(name), frame[name][has], kept[has], count))
    adjusted = adjust_p_values(np.array([one.p_value for one in found]))
    return tuple(
        replace(one, fdr=float(fdr)) for one, fdr in zip(found, adjusted, strict=True)
    )


def _as_frame(columns: Any, n_samples: int) -> pd.DataFrame:
    import pandas as pd

    if isinstance(columns, Mapping):
        for name, values in columns.items():
            if len(values) != n_samples:
                msg = (
                    f"Column {name!r} has {len(values)} values for {n_samples} "
                    "samples. Pass one value per sample."
                )
                raise ViewError(msg)
        columns = {name: np.asarray(values) for name, values in columns.items()}
    frame = pd.DataFrame(columns)
    if len(frame) != n_samples:
        msg = (
            f"The columns have {len(frame)} rows for {n_samples} samples. Pass one row "
            "per sample, in the order of the samples."
        )
        raise ViewError(msg)
    return frame.reset_index(drop=True)


def _is_measured(values: pd.Series[Any]) -> bool:
    """Numbers, other than codes for two categories."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    number = is_numeric_dtype(values.dtype) and not is_bool_dtype(values.dtype)
    return bool(number and values.nunique() > FEW_VALUES)


def _chi_square(
    name: str, values: pd.Series[Any], clusters: IntArray, n_clusters: int
) -> Association:
    from scipy.stats import chi2_contingency

    kinds, codes = np.unique(values.to_numpy(dtype=str), return_inverse=True)
    table = np.zeros((n_clusters, len(kinds)), dtype=np.int64)
    np.add.at(table, (clusters, codes), 1)
    shown = tuple(
        f"{kinds[row.argmax()]} ({row.max() / row.sum():.0%})" if row.sum() else "–"
        for row in table
    )
    described = Association(column=name, n_samples=len(values), per_cluster=shown)
    used = table[table.sum(axis=1) > 0]
    if len(used) < 2:
        return replace(described, note="fewer than two clusters have values")
    if len(kinds) < 2:
        return replace(described, note="all values are the same")
    if len(kinds) == len(values):
        return replace(described, note="all values differ")
    found = chi2_contingency(used, correction=False)
    rough = (found.expected_freq < 5).mean() > MOST_SMALL_CELLS
    return replace(
        described,
        test="chi-square",
        statistic=float(found.statistic),
        p_value=float(found.pvalue),
        effect=float(np.sqrt(found.statistic / len(values) / (min(used.shape) - 1))),
        note="rough: many cells expect fewer than 5 samples" if rough else "",
    )


def _kruskal(
    name: str, values: pd.Series[Any], clusters: IntArray, n_clusters: int
) -> Association:
    from scipy.stats import kruskal

    numbers = values.to_numpy(dtype=np.float64)
    groups = [numbers[clusters == cluster] for cluster in range(n_clusters)]
    shown = tuple(f"{np.median(g):.4g}" if len(g) else "–" for g in groups)
    described = Association(column=name, n_samples=len(numbers), per_cluster=shown)
    groups = [group for group in groups if len(group)]
    if len(groups) < 2:
        return replace(described, note="fewer than two clusters have values")
    found = kruskal(*groups)
    return replace(
        described,
        test="Kruskal-Wallis",
        statistic=float(found.statistic),
        p_value=float(found.pvalue),
        effect=float(found.statistic) / (len(numbers) - 1),
    )


def _log_rank(
    frame: pd.DataFrame, clusters: IntArray, n_clusters: int, survival: tuple[str, str]
) -> Association:
    for name in survival:
        if name not in frame.columns:
            msg = (
                f"No column is called {name!r}; there are {list(frame.columns)[:8]}. "
                "Name the columns with survival time and event."
            )
            raise ViewError(msg)
    has = frame[list(survival)].notna().all(axis=1).to_numpy()
    times, events = _survival_numbers(frame.loc[has], *survival)
    groups = clusters[has]
    counts = np.bincount(groups, minlength=n_clusters)
    seen = np.bincount(groups, events, n_clusters).astype(int)
    described = Association(
        column=", ".join(survival),
        n_samples=len(times),
        per_cluster=tuple(
            f"{some} of {every}" for some, every in zip(seen, counts, strict=True)
        ),
    )
    if (counts > 0).sum() < 2 or not events.any():
        return replace(described, note="fewer than two clusters, or no event")
    lifelines = import_extra("lifelines.statistics", "survival", "The log-rank test")
    found = lifelines.multivariate_logrank_test(times, groups, events)
    return replace(
        described,
        test="log-rank",
        statistic=float(found.test_statistic),
        p_value=float(found.p_value),
    )


def _survival_numbers(
    frame: pd.DataFrame, time: str, event: str
) -> tuple[FloatArray, FloatArray]:
    try:
        times = frame[time].to_numpy(dtype=np.float64)
        events = frame[event].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"Survival time {time!r} and event {event!r} must be numbers ({error})."
        raise ViewError(msg) from error
    if (times < 0).any() or not np.isin(events, (0, 1)).all():
        msg = (
            f"Survival needs times from 0 in {time!r} and events 0 or 1 in {event!r}. "
            "Encode them so."
        )
        raise ViewError(msg)
    return times, events
