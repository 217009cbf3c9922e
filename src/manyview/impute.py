"""Fill in cells that are missing here and there."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.utils.validation import check_is_fitted

from manyview._names import FeatureNames, NamedView
from manyview._sklearn_compat import Interval, StrOptions, _fit_context
from manyview._typing import BoolArray
from manyview._view_input import ViewInput
from manyview._views import ViewSet, has_named_views, is_single_array
from manyview.exceptions import ViewError

__all__ = ["ViewImputer"]


# A list of views has no place in one frame, so there is no `set_output`.
class ViewImputer(  # type: ignore[call-arg]  # scikit-learn has no types
    ViewInput, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Fill in missing cells, view by view, with scikit-learn's imputers.

    Estimators take rows of NaN, samples that lack a view, but no rows with some NaN.
    Views in, views out: rows of NaN stay what they are, other missing cells get a
    value. In front of an estimator, in a pipeline, new samples are filled in with what
    was learned from those of the fit.

    Parameters
    ----------
    strategy : {"mean", "median", "knn"}, default="mean"
        The feature's mean or median; or the mean of the nearest samples that have the
        feature, by scikit-learn's `KNNImputer`, which compares every incomplete row
        with all rows. It fills dense views only.
    n_neighbors : int, default=5
        Neighbours that ``"knn"`` averages.
    view_sizes : list of int or None, default=None
        Splits one 2-D array into views: features per view, in column order.

    Attributes
    ----------
    n_imputed_ : dict of str to int
        Cells that were missing in `fit`, by view; of views with any.
    imputers_ : list
        The fitted imputer of each view; None for a sparse view with ``"knn"``, which
        must have no missing cells.
    view_names_ : list of str
        Names of the views.
    n_features_in_ : int
        Number of features, over all views.
    feature_names_in_ : ndarray of str
        Names of the features, if X was one frame with string column names.

    Notes
    -----
    A feature without any value is filled with 0; being constant, it does not count.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from manyview import NSMVC, ViewImputer
    >>> protein = np.array([[1.0, 2.0], [1.2, np.nan], [9.0, 8.0], [9.4, 8.2]])
    >>> image = np.array([[0.0], [0.1], [5.0], [5.2]])
    >>> model = make_pipeline(ViewImputer(), NSMVC(n_clusters=2, random_state=0))
    >>> labels = model.fit_predict([protein, image])
    >>> model[0].n_imputed_
    {'view0': 1}
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "strategy": [StrOptions({"mean", "median", "knn"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "view_sizes": ["array-like", None],
    }
    _takes_holes: ClassVar[bool] = True
    _private_fitted: ClassVar[frozenset[str]] = ViewInput._private_fitted | {"_learned"}
    _learned: list[Any]

    def __init__(
        self,
        strategy: str = "mean",
        *,
        n_neighbors: int = 5,
        view_sizes: Sequence[int] | None = None,
    ) -> None:
        self.strategy = strategy
        self.n_neighbors = n_neighbors
        self.view_sizes = view_sizes

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what missing cells are filled with.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays, or one 2-D array
            The views, in any form that the clusterers take, with NaN for missing cells.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        fresh = self._unfitted()
        views = fresh._check_views(X, reset=True)
        fresh.n_imputed_ = count_holes(views)
        fresh._learn(
            [
                None
                if self.strategy == "knn" and sparse.issparse(array)
                else array[np.flatnonzero(present)]
                for array, present in zip(views.arrays, views.present, strict=True)
            ]
        )
        fresh._reject_sparse_holes(fresh.n_imputed_)
        self.__dict__ = fresh.__dict__
        return self

    def transform(self, X: Any) -> Any:
        """Fill in the missing cells of samples, those of the fit or new ones.

        Parameters
        ----------
        X : same forms as in `fit`
            Samples.

        Returns
        -------
        views : list or dict of arrays, sparse matrices or frames, or one array
            The views of X; frames where features or samples have names.
        """
        check_is_fitted(self)
        views = self._check_views(X, reset=False)
        self._reject_sparse_holes(count_holes(views))
        filled = [
            _fill(imputer, array, present)
            for imputer, array, present in zip(
                self.imputers_, views.arrays, views.present, strict=True
            )
        ]
        if is_single_array(X):
            stack = sparse.hstack if sparse.issparse(filled[0]) else np.hstack
            return stack(filled)
        features = views.feature_names or (None,) * len(filled)
        named = [
            _with_names(array, columns, views.index)
            for array, columns in zip(filled, features, strict=True)
        ]
        if has_named_views(X):
            return dict(zip(views.names, named, strict=True))
        return named

    def _reject_sparse_holes(self, counts: dict[str, int]) -> None:
        for name, imputer in zip(self.view_names_, self.imputers_, strict=True):
            if imputer is None and name in counts:
                msg = (
                    f"View {name!r} is sparse and has {counts[name]} missing cells, "
                    "which strategy='knn' cannot fill. Use strategy='mean'."
                )
                raise ViewError(msg)

    def _learn(self, rows: list[Any]) -> None:
        """Fit an imputer to the rows of each view; to None where there are none."""
        kind = SimpleImputer(strategy=self.strategy, keep_empty_features=True)
        if self.strategy == "knn":
            kind = KNNImputer(n_neighbors=self.n_neighbors, keep_empty_features=True)
        self.imputers_ = [None if own is None else clone(kind).fit(own) for own in rows]
        # All that the imputers know: means and medians are those of a single row, too.
        self._learned = rows
        if self.strategy != "knn":
            fitted: list[Any] = self.imputers_
            self._learned = [imputer.statistics_[None] for imputer in fitted]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def count_holes(views: ViewSet) -> dict[str, int]:
    """Missing cells by view, of views with any; a view that a sample lacks has none."""
    counts = {}
    for name, array, present in zip(
        views.names, views.arrays, views.present, strict=True
    ):
        stored = array.data if sparse.issparse(array) else array
        if stored.dtype.kind == "f":
            lacking = array[np.flatnonzero(~present)]
            own = lacking.data if sparse.issparse(lacking) else lacking
            counts[name] = int(np.isnan(stored).sum() - np.isnan(own).sum())
    return {name: count for name, count in counts.items() if count}


def _with_names(array: Any, columns: FeatureNames, index: Any) -> Any:
    """The view as a frame if it has names; a sparse one has no frame to go to."""
    if columns is None and index is None:
        return array
    if sparse.issparse(array):
        return NamedView(array=array, columns=columns, index=index)
    import pandas as pd

    return pd.DataFrame(array, columns=columns, index=index)


def _fill(imputer: Any, array: Any, present: BoolArray) -> Any:
    """The view with its holes filled; rows of NaN stay."""
    if imputer is None:
        return array
    rows, lacking = np.flatnonzero(present), np.flatnonzero(~present)
    if not len(lacking):
        return imputer.transform(array)
    is_sparse = sparse.issparse(array)
    if is_sparse:
        parts = [imputer.transform(array[rows]), array[lacking]]
        stacked: Any = sparse.vstack(parts, "csr")
        return stacked[np.argsort(np.concatenate([rows, lacking]))]
    filled = np.array(array, dtype=np.result_type(array, np.float32))
    if len(rows):
        filled[rows] = imputer.transform(array[rows])
    return filled
