"""What every estimator does with X: check it, remember its layout, scale it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted, validate_data

from manyview._arrays import fill_masked, reject_table
from manyview._names import NamedView, feature_names, sample_index
from manyview._scaling import ViewScale, learn_scales
from manyview._sklearn_compat import InvalidParameterError
from manyview._views import (
    ViewLayout,
    ViewSet,
    check_views,
    is_single_array,
)
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows


class ViewInput:
    """What every estimator does with X, and how it forgets an earlier fit."""

    # Fitted attributes whose names do not end in an underscore.
    _private_fitted: ClassVar[frozenset[str]] = frozenset({"_layout"})

    # Whether rows may lack some of their cells.
    _takes_holes: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    view_sizes: Sequence[int] | None
    _layout: ViewLayout

    def _validate_params(self) -> None:
        """Check the parameters; True and False are numbers to Python, not here."""
        # Every estimator names BaseEstimator after this class, which mypy cannot know.
        super()._validate_params()  # type: ignore[misc]  # of BaseEstimator
        for name, value in vars(self).items():
            allowed = self._parameter_constraints.get(name, ["boolean"])
            if isinstance(value, bool) and "boolean" not in allowed:
                msg = (
                    f"The {name!r} parameter of {type(self).__name__} is {value}, "
                    "which is no number here. Pass a number."
                )
                raise InvalidParameterError(msg)

    def _unfitted(self) -> Self:
        """A copy with the same parameters and settings, and nothing fitted."""
        fresh = copy.copy(self)
        for name in list(vars(fresh)):
            if name.endswith("_") or name in self._private_fitted:
                delattr(fresh, name)
        return fresh

    def _check_views(self, X: Any, *, reset: bool) -> ViewSet:
        """Validate X; with `reset` remember its layout, else compare it with fit's."""
        if not reset:
            check_is_fitted(self)
        if is_single_array(X):
            X = self._check_table(X, reset=reset)
        layout = None if reset else self._layout
        views = check_views(
            X, view_sizes=self.view_sizes, layout=layout, holes=self._takes_holes
        )
        if reset:
            self._remember_layout(views)
        return views

    def _remember_layout(self, views: Any) -> None:
        """Keep names and widths of the views, for later calls to be compared with."""
        self._layout = ViewLayout(
            names=views.names,
            n_features=views.n_features,
            named=views.named,
            feature_names=views.feature_names,
        )
        self.view_names_ = list(views.names)
        self.n_features_in_ = sum(views.n_features)

    def _check_table(self, X: Any, *, reset: bool) -> NamedView:
        reject_table(X, "X")
        try:
            # Whether values are finite is judged view by view, with a better message.
            array = validate_data(
                self,
                fill_masked(X),
                reset=reset,
                accept_sparse="csr",
                dtype="numeric",
                ensure_all_finite=False,
            )
        except (ValueError, OverflowError) as error:
            raise ViewError(" ".join(str(error).split())) from error
        return NamedView(array=array, columns=feature_names(X), index=sample_index(X))


def scaled_rows(
    views: ViewSet, scale: str | None
) -> tuple[tuple[ViewScale, ...], tuple[Rows, ...]]:
    """Learn the scales and open the views through them."""
    # Imported here: the row kernels load Numba, and importing manyview should not.
    from manyview._rows import compact_views, open_views

    views = compact_views(views)
    scales = learn_scales(views, scale)
    return scales, open_views(views, scales)
