"""Methods compared over many data sets: mean ranks, and which cannot be told apart.

J. Demsar. Statistical Comparisons of Classifiers over Multiple Data Sets. JMLR 7, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range

from manyview.reporting._page import Column, Table
from reproduction.tables import METRIC_TITLES, SIGNIFICANCE, title_of
from reproduction.text import marked_labels

RANKED_METRICS = ("nmi", "acc")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """Methods over data sets.

    scores : mean scores, a row per data set and a column per method, best rank first.
    mean_ranks : of the methods, in the same order; 1 is best.
    critical_difference : mean ranks closer than this cannot be told apart (Nemenyi).
    p_value : of Friedman's test that all methods are equal; NaN for too few of them.
    """

    metric: str
    scores: pd.DataFrame
    mean_ranks: pd.Series[float]
    critical_difference: float
    p_value: float


def rank_methods(cells: pd.DataFrame, protocol: str, metric: str) -> Ranking | None:
    """Rank the methods of a protocol by the means of their cells.

    Data sets on which a method failed are left out for all. None if there are not at
    least two methods on two data sets.
    """
    own = cells[(cells["protocol"] == protocol) & (cells["metric"] == metric)]
    own = own.assign(label=marked_labels(own))
    scores = own.pivot_table(
        index="dataset", columns="label", values="mean", sort=False, dropna=False
    ).dropna()
    n_sets, n_methods = scores.shape
    if n_sets < 2 or n_methods < 2:
        return None
    # Equal to the digits that do not depend on the machine is equal.
    ranks = scores.round(6).rank(axis="columns", ascending=False)
    mean_ranks = ranks.mean().sort_values(kind="stable")
    p_value = np.nan
    if n_methods > 2:
        p_value = float(friedmanchisquare(*ranks.to_numpy().T).pvalue)
    return Ranking(
        metric=metric,
        scores=scores[mean_ranks.index],
        mean_ranks=mean_ranks,
        critical_difference=critical_difference(n_methods, n_sets),
        p_value=p_value,
    )


def critical_difference(
    n_methods: int, n_sets: int, significance: float = SIGNIFICANCE
) -> float:
    """Nemenyi's: the difference of mean ranks that is significant for some pair."""
    quantile = studentized_range.ppf(1.0 - significance, n_methods, np.inf)
    spread = np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets))
    return float(quantile / np.sqrt(2.0) * spread)


def indistinct_groups(mean_ranks: pd.Series[float], width: float) -> list[list[str]]:
    """Largest groups of methods whose mean ranks all lie within `width`."""
    ordered = mean_ranks.sort_values(kind="stable")
    groups: list[list[str]] = []
    for first in ordered:
        near = (ordered >= first) & (ordered <= first + width)
        group = [str(label) for label in ordered.index[near]]
        contained = bool(groups) and set(group) <= set(groups[-1])
        if len(group) > 1 and not contained:
            groups.append(group)
    return groups


def ranking_table(ranking: Ranking) -> Table:
    """Mean scores of every data set, and the mean ranks in the last row."""
    title = METRIC_TITLES[ranking.metric]
    names = [str(name) for name in ranking.scores]
    rows = [
        [title_of(str(dataset)), *values]
        for dataset, values in zip(
            ranking.scores.index, ranking.scores.to_numpy(), strict=True
        )
    ]
    rows.append(["Mean", *ranking.scores.mean()])
    rows.append(["Mean rank", *ranking.mean_ranks])
    return Table(
        caption=(
            f"Mean {title} in per cent, methods ordered by mean rank. Mean ranks that "
            f"differ by less than {ranking.critical_difference:.2f} cannot be told "
            f"apart (Nemenyi, 5 %); Friedman's test: p = {ranking.p_value:.2g}. "
            "‡ A reconstruction."
        ),
        columns=(
            Column(name="Data set"),
            *(Column(name=name, numeric=True, format=".1f") for name in names),
        ),
        rows=rows,
    )
