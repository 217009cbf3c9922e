"""The data sets manyview knows, read from ``registry.toml``."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from manyview.exceptions import DatasetError


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewInfo:
    """One view of a registered data set.

    Parameters
    ----------
    name : str
        Short name.
    title : str
        What the features are.
    n_features : int
        Number of columns.
    entry : int, default=None
        Position in the cell array of the downloaded file.
    columns : tuple of (int, int), default=None
        First column and one past the last, when the view is a part of that entry.
    """

    name: str
    title: str
    n_features: int
    entry: int | None = None
    columns: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetInfo:
    """What the registry knows about one data set.

    Parameters
    ----------
    name : str
        Name to pass to :func:`load_dataset`.
    title, description, source, citation, license : str
        What it is, where it comes from, how to cite it, under which terms.
    file : str
        Name of the data file.
    sha256 : str
        Checksum of that file.
    size : int
        Its size in bytes.
    n_samples : int
        Number of samples.
    target_names : tuple of str
        Names of the classes, in the order of the target's codes.
    views : tuple of ViewInfo
        The views, in order.
    url : str, default=None
        Where the file is downloaded from; None when it ships inside the package.
    upstream : str, default=None
        The file's name at its source.
    """

    name: str
    title: str
    description: str
    source: str
    citation: str
    license: str
    file: str
    sha256: str
    size: int
    n_samples: int
    target_names: tuple[str, ...]
    views: tuple[ViewInfo, ...]
    url: str | None = None
    upstream: str | None = None


def _parse(name: str, table: dict[str, Any]) -> DatasetInfo:
    for view in table["views"]:
        if "columns" in view:
            view["columns"] = tuple(view["columns"])
    table["views"] = tuple(ViewInfo(**view) for view in table["views"])
    table["target_names"] = tuple(table["target_names"])
    table["description"] = " ".join(table["description"].split())
    return DatasetInfo(name=name, **table)


@cache
def registry() -> dict[str, DatasetInfo]:
    """All registered sets by name, in the order of the file."""
    text = (files("manyview.datasets") / "registry.toml").read_text(encoding="utf-8")
    return {name: _parse(name, table) for name, table in tomllib.loads(text).items()}


def list_datasets() -> tuple[str, ...]:
    """Names of the registered data sets.

    Returns
    -------
    names : tuple of str
        Each can be passed to :func:`load_dataset` and :func:`dataset_info`.

    Examples
    --------
    >>> from manyview.datasets import list_datasets
    >>> list_datasets()
    ('handwritten', 'msrcv1', 'cornell', 'texas', 'washington', 'wisconsin')
    """
    return tuple(registry())


def dataset_info(name: str) -> DatasetInfo:
    """What the registry knows about a data set, without loading it.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`.

    Returns
    -------
    info : DatasetInfo
        Title, views, citation, licence, and where the file comes from.

    Examples
    --------
    >>> from manyview.datasets import dataset_info
    >>> dataset_info("handwritten").license
    'CC BY 4.0'
    """
    try:
        return registry()[name]
    except KeyError:
        msg = f"No data set is called {name!r}. Known: {', '.join(registry())}."
        raise DatasetError(msg) from None
