"""The errors manyview raises.

Those about input are ``ValueError``: code that already guards a scikit-learn estimator
keeps working.
"""


class ViewError(ValueError):
    """The views passed to an estimator cannot be clustered as they are."""


class DatasetError(ValueError):
    """A data set or a data file cannot be found, fetched, trusted or read."""


class CheckpointError(ValueError):
    """A checkpoint cannot be taken up: it is damaged, or of another fit."""


class ClusterError(RuntimeError):
    """The Dask cluster broke down in the middle of a fit."""
