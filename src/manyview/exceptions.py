"""The errors manyview raises for input it cannot use.

All are ``ValueError``: code that already guards a scikit-learn estimator keeps working.
"""


class ViewError(ValueError):
    """The views passed to an estimator cannot be clustered as they are."""


class DatasetError(ValueError):
    """A data set or a data file cannot be found, fetched, trusted or read."""
