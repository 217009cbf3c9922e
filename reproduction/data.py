"""Data sets of the comparison, and the noise put into one of their views."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import joblib
import numpy as np
from scipy import sparse

from manyview.datasets import MultiViewData, list_datasets, load_dataset, read_views
from manyview.datasets._fetch import DATA_VARIABLE
from manyview.exceptions import DatasetError

# Variable with the true classes in a data set's own file.
CLASSES = "y"


@dataclass(frozen=True, kw_only=True, slots=True)
class DataInfo:
    """What planning needs to know of a data set.

    source : registered name, or path of a file.
    checksum : of views and classes, so that changed data are another run.
    """

    source: str
    checksum: str
    view_names: tuple[str, ...]

    @property
    def name(self) -> str:
        return Path(self.source).stem


@lru_cache(maxsize=2)
def load_data(source: str) -> MultiViewData:
    """The data set registered as `source`, or that of a file with views and classes."""
    if source in list_datasets():
        return load_dataset(source)
    places = [Path(source), *(folder / f"{source}.mat" for folder in more_folders())]
    for path in places:
        if path.is_file():
            return read_views(path, labels=CLASSES)
    msg = (
        f"No data set or file is called {source!r}. Known data sets: "
        f"{', '.join(list_datasets())}; others are looked for in "
        f"{' and '.join(str(folder) for folder in more_folders())}."
    )
    raise DatasetError(msg)


def more_folders() -> list[Path]:
    """Where sets that manyview does not know by name may lie."""
    named = os.environ.get(DATA_VARIABLE)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return [folder / "dev" for folder in (*([Path(named)] if named else []), beside)]


def describe_data(source: str) -> DataInfo:
    """Load the data once and note what planning needs."""
    data = load_data(source)
    checksum = joblib.hash([*data.views, np.asarray(data.target)])
    return DataInfo(
        source=source, checksum=checksum[:12], view_names=tuple(data.view_names)
    )


def corrupt(data: MultiViewData, view: str, share: float, seed: int) -> MultiViewData:
    """Replace rows of one view by noise that keeps every feature's distribution.

    A random share of the samples gets, feature by feature, the value of a random
    sample: ranges and means stay, what the view says about those samples is lost. A
    larger share contains the smaller one for the same seed.
    """
    position = data.view_names.index(view)
    rng = np.random.default_rng(seed)
    given = data.views[position]
    values = given.toarray() if sparse.issparse(given) else np.asarray(given)
    order = rng.permutation(data.n_samples)
    drawn = rng.integers(data.n_samples, size=values.shape)
    noise = np.take_along_axis(values, drawn, axis=0)
    hit = order[: round(share * data.n_samples)]
    noisy = values.copy()
    noisy[hit] = noise[hit]
    views = [*data.views]
    views[position] = noisy
    return replace(data, views=tuple(views))
