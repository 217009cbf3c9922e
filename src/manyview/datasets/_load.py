"""Load registered data sets: the one inside the package and the downloaded ones."""

import hashlib
import io
import os
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np

from manyview._typing import FloatArray, IntArray
from manyview.datasets._fetch import fetch_file
from manyview.datasets._model import MultiViewData
from manyview.datasets._registry import DatasetInfo, dataset_info
from manyview.exceptions import DatasetError

UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")


def load_handwritten() -> MultiViewData:
    """Load Handwritten Numerals, which ships with manyview.

    2000 handwritten digits, 200 of each, in six views: profile correlations (fac, 216
    features), Fourier coefficients (fou, 76), Karhunen-Loeve coefficients (kar, 64),
    morphological features (mor, 6), pixel averages (pix, 240) and Zernike moments
    (zer, 47). No network is needed.

    Returns
    -------
    data : MultiViewData
        Raw values as float64; ``data.target`` holds the digits.

    References
    ----------
    R. Duin, "Multiple Features", UCI Machine Learning Repository,
    https://doi.org/10.24432/C5HC70, CC BY 4.0.

    Examples
    --------
    >>> from manyview.datasets import load_handwritten
    >>> load_handwritten().views[0].shape
    (2000, 216)
    """
    return load_dataset("handwritten")


def fetch_msrcv1(
    *, data_home: str | os.PathLike[str] | None = None, progress: bool | None = None
) -> MultiViewData:
    """Load MSRC-v1, downloading it (1.1 MB) the first time.

    210 photographs of seven kinds of object in five views: colour moments (cm, 24
    features), HOG (hog, 576), GIST (gist, 512), LBP (lbp, 256) and CENTRIST (centrist,
    254).

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with the data files. None means the environment variable
        ``MANYVIEW_DATA`` or, when that is not set, the user's cache folder.
    progress : bool, default=None
        Show a progress bar on stderr; None means only when that is a terminal.

    Returns
    -------
    data : MultiViewData
        Raw values as float64.
    """
    return load_dataset("msrcv1", data_home=data_home, progress=progress)


def fetch_webkb(
    university: Literal["cornell", "texas", "washington", "wisconsin"],
    *,
    data_home: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> MultiViewData:
    """Load one of the four WebKB sets, downloading it (30 kB) the first time.

    Web pages of a computer science department, in two views: the links between pages
    (citation, one feature per page) and the words on them (content, 1703).

    Parameters
    ----------
    university : {"cornell", "texas", "washington", "wisconsin"}
        Which department.
    data_home : str or path-like, default=None
        Folder with the data files. None means the environment variable
        ``MANYVIEW_DATA`` or, when that is not set, the user's cache folder.
    progress : bool, default=None
        Show a progress bar on stderr; None means only when that is a terminal.

    Returns
    -------
    data : MultiViewData
        Raw counts as float64.
    """
    if university not in UNIVERSITIES:
        msg = f"university={university!r} is not one of {', '.join(UNIVERSITIES)}."
        raise DatasetError(msg)
    return load_dataset(university, data_home=data_home, progress=progress)


def load_dataset(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> MultiViewData:
    """Load any registered data set by name.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`.
    data_home : str or path-like, default=None
        Folder with the data files. None means the environment variable
        ``MANYVIEW_DATA`` or, when that is not set, the user's cache folder.
    progress : bool, default=None
        Show a progress bar on stderr; None means only when that is a terminal.

    Returns
    -------
    data : MultiViewData
        Raw values as float64.

    Examples
    --------
    >>> from manyview.datasets import load_dataset
    >>> load_dataset("handwritten").view_names
    ('fac', 'fou', 'kar', 'mor', 'pix', 'zer')
    """
    info = dataset_info(name)
    if info.url is None:
        views, target = _read_packaged(info)
    else:
        path = fetch_file(info, data_home=data_home, progress=progress)
        views, target = _read_mat(info, path)
    return MultiViewData(
        name=info.name,
        views=views,
        view_names=tuple(view.name for view in info.views),
        target=target,
        target_names=info.target_names,
        description=info.description,
        source=info.source,
        license=info.license,
    )


def _read_packaged(info: DatasetInfo) -> tuple[tuple[FloatArray, ...], IntArray]:
    content = (files("manyview.datasets") / "data" / info.file).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != info.sha256:
        msg = (
            f"The installed file {info.file} is damaged: its sha256 is {digest}, "
            f"expected {info.sha256}. Reinstall manyview."
        )
        raise DatasetError(msg)
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        views = tuple(
            np.ascontiguousarray(arrays[view.name], dtype=np.float64)
            for view in info.views
        )
        return views, arrays["target"].astype(np.int64)


def _read_mat(info: DatasetInfo, path: Path) -> tuple[tuple[FloatArray, ...], IntArray]:
    """Pick the views out of the cell array X, in the registry's order."""
    from scipy.io import loadmat

    content = loadmat(path)
    entries = content["X"].ravel()
    views = []
    for view in info.views:
        values = entries[view.entry]
        if view.columns is not None:
            values = values[:, slice(*view.columns)]
        # Stored as small unsigned integers: differences would wrap around.
        views.append(np.ascontiguousarray(values, dtype=np.float64))
    return tuple(views), content["y"].ravel().astype(np.int64) - 1
