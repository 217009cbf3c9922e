"""The only module that imports private scikit-learn names."""

from sklearn.base import _fit_context
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils._set_output import _get_output_config

__all__ = [
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "_fit_context",
    "_get_output_config",
    "_openmp_effective_n_threads",
]
