"""Read users' files: choose the readers, align the samples, code the labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from manyview._annotated import Layer, UseRep
from manyview._typing import IntArray
from manyview.datasets._align import (
    Alignment,
    align_labels,
    align_sources,
    encode_labels,
)
from manyview.datasets._guards import Budget, check_cells
from manyview.datasets._model import MultiViewData
from manyview.datasets._probe import PROBED, probe
from manyview.datasets._read_arrays import (
    read_label_array,
    read_mtx,
    read_npy,
    read_npz,
    read_zarr,
)
from manyview.datasets._read_excel import read_excel, read_label_excel
from manyview.datasets._read_mat import read_label_mat, read_mat
from manyview.datasets._read_omics import OMICS, read_omics
from manyview.datasets._read_tables import read_label_table, read_table
from manyview.datasets._source import (
    Drop,
    Encode,
    ReadOptions,
    Source,
    SourceLabels,
    SourceView,
    check_unicode,
)
from manyview.datasets._text_file import DELIMITERS, PACKED, stem_of, suffix_of
from manyview.exceptions import DatasetError

PathLike: TypeAlias = str | os.PathLike[str]

TEXT_SUFFIXES = [kind + packed for packed in ("", *PACKED) for kind in DELIMITERS]
READERS: dict[str, Callable[[Path, ReadOptions, Budget], Source]] = {
    **dict.fromkeys(TEXT_SUFFIXES, read_table),
    ".parquet": read_table,
    ".xlsx": read_excel,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mtx": read_mtx,
    ".mat": read_mat,
    ".h5ad": read_omics,
    ".h5mu": read_omics,
    ".zarr": read_zarr,
}
LABEL_READERS: dict[str, Callable[[Path, ReadOptions, Budget], SourceLabels]] = {
    **dict.fromkeys(TEXT_SUFFIXES, read_label_table),
    ".parquet": read_label_table,
    ".xlsx": read_label_excel,
    ".npy": read_label_array,
    ".npz": read_label_array,
    ".mat": read_label_mat,
}


def read_views(
    sources: PathLike | Sequence[PathLike] | Mapping[str, PathLike],
    *,
    labels: str | None = None,
    labels_file: PathLike | None = None,
    ids: str | None = None,
    align: Alignment = "strict",
    variables: Sequence[str] | None = None,
    header: bool | None = None,
    use_rep: UseRep = None,
    layer: Layer = None,
    missing: Literal["refuse", "keep"] = "refuse",
    encode: Encode | None = None,
    drop: Drop | None = None,
    isolate: bool = False,
) -> MultiViewData:
    """Read views from files.

    Parameters
    ----------
    sources : path, sequence of paths, or mapping of view name to path
        One path: a file with several views (``.mat`` with a cell array or several
        matrices, ``.npz``, ``.h5mu``, ``.xlsx`` with several sheets, a table whose
        columns are called ``view.feature``), or with a single one. A sequence or
        mapping: one file per view, of any of ``.csv``, ``.tsv``, ``.txt``
        (tab-separated), the same with ``.gz`` or ``.zst`` behind, ``.xlsx``,
        ``.parquet``, ``.npy``, ``.npz`` (one matrix, dense or from
        ``scipy.sparse.save_npz``), ``.mtx``, ``.mat``, ``.h5ad``, ``.zarr``. Samples
        are rows.
    labels : str, default=None
        Name of the column or variable with the true classes. It never becomes part of
        a view.
    labels_file : path, default=None
        File with the true classes, when the views do not hold them. `labels` names the
        column, unless there is only one besides the sample ids.
    ids : str, default=None
        Name of the column or variable that names the samples. None means a pandas
        index, the names in annotated files, a first column without a name or called
        id, ids, index, sample, sample_id or sample_ids, and the first column of a table
        whose cells are text and all different.
    align : {"strict", "intersection", "missing"}, default="strict"
        What to do when views name different samples or in another order: refuse; keep
        the common ones in the order of the first view; or keep all, with a row of NaN
        where a view lacks the sample. The modalities of a ``.h5mu`` file are never
        refused: its samples are those of all modalities, as in a MuData.
    variables : sequence of str, default=None
        The variables of a ``.mat`` or ``.npz`` file, the modalities of ``.h5mu`` or the
        sheets of ``.xlsx`` that are views. None means all that can be.
    header : bool, default=None
        Whether text tables start with a row of names. None means to look: a row with
        anything but numbers is one, and so is 0, 1, 2, ... Without a header columns are
        called "1", "2", ...
    use_rep : str, sequence of str, or dict by modality, default=None
        Matrices of ``.h5ad`` and ``.h5mu`` files: keys of ``obsm``, or ``"X"``. None
        means X. Several make as many views.
    layer : str, or dict by modality, default=None
        The layer of ``.h5ad`` and ``.h5mu`` files that stands in for X.
    missing : {"refuse", "keep"}, default="refuse"
        Cells that are missing while others in their row are not: refuse them, or keep
        them as NaN for `ViewImputer`.
    encode : {"onehot"}, default=None
        Make columns of 0 and 1, called ``column=value``, of the text in tables.
    drop : {"text"}, default=None
        Leave columns of text out. Without either, text is refused.
    isolate : bool, default=False
        Read ``.mat``, ``.h5ad``, ``.h5mu`` and ``.zarr`` files in a child process with
        limits on time and memory before they are read here. Files from strangers can
        make the HDF5 library hang or crash; the command line always does this. It
        doubles the time and adds about two seconds per file.

    Returns
    -------
    data : MultiViewData
        Views, sample ids and classes; numbers are float32 or float64. Views of
        ``.npy`` files above 64 MB are read-only memory maps of the type in the file,
        unchecked beyond their header.

    Raises
    ------
    DatasetError
        When a file is missing, damaged or unfit; the message names file, row and
        column. Nothing is ever unpickled.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from manyview.datasets import read_views
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "colour.npy", np.eye(3))
    >>> _ = (folder / "words.csv").write_text("id,a,b\\nx,1,0\\ny,0,1\\nz,1,1\\n")
    >>> read_views([folder / "colour.npy", folder / "words.csv"])
    MultiViewData('views', 3 samples, views: colour 3, words 2)
    """
    _check_choice("align", align, get_args(Alignment))
    _check_choice("missing", missing, ("refuse", "keep"))
    _check_choice("encode", encode, (None, "onehot"))
    _check_choice("drop", drop, (None, "text"))
    if encode and drop:
        msg = "encode='onehot' and drop='text' exclude each other. Choose one."
        raise DatasetError(msg)
    options = ReadOptions(
        labels=labels if labels_file is None else None,
        ids=ids,
        header=header,
        variables=None if variables is None else tuple(variables),
        several_views=isinstance(sources, str | os.PathLike),
        use_rep=use_rep,
        layer=layer,
        encode=encode,
        drop=drop,
    )
    budget = Budget()
    name, names, found = _read_sources(sources, options, budget, isolate)
    views = [view for source in found for view in source.views]
    for view in views:
        check_unicode(
            (view.name, *(view.feature_names or ())), f"Names in {view.origin}"
        )
        columns = view.feature_names or ()
        check_cells(view.values, view.origin, columns, holes=missing == "keep")
    samples = found[0].samples if len(found) == 1 else None
    values, sample_ids = align_sources(views, align, samples)
    true_classes = [s.labels for s in found if s.labels is not None]
    if labels_file is not None:
        label_options = ReadOptions(labels=labels, ids=ids, header=header)
        file = Path(labels_file)
        if isolate and file.suffix.lower() in PROBED:
            probe(file, label_options, labels=True)
        true_classes = [read_labels(file, label_options, budget)]
    elif labels is not None and not true_classes:
        msg = f"None of the files has a column or variable called {labels!r}."
        raise DatasetError(msg)
    target: IntArray | None = None
    target_names: tuple[str, ...] = ()
    if true_classes:
        n_samples = values[0].shape[0]
        aligned = align_labels(true_classes, sample_ids, n_samples, align)
        target, target_names = encode_labels(aligned)
    return MultiViewData(
        name=name,
        views=values,
        view_names=names or tuple(view.name for view in views),
        target=target,
        target_names=target_names,
        source=", ".join(dict.fromkeys(view.origin for view in views)),
        sample_ids=sample_ids,
        feature_names=_feature_names(views),
    )


def _feature_names(views: Sequence[SourceView]) -> tuple[tuple[str, ...], ...]:
    """Names of all features, numbers where a file has none; nothing if none has."""
    if all(view.feature_names is None for view in views):
        return ()
    return tuple(
        view.feature_names or tuple(str(f) for f in range(view.values.shape[1]))
        for view in views
    )


def _read_sources(
    sources: PathLike | Sequence[PathLike] | Mapping[str, PathLike],
    options: ReadOptions,
    budget: Budget,
    isolate: bool,
) -> tuple[str, tuple[str, ...], list[Source]]:
    """Name of the data, names the user gave to views, and what the files hold."""

    def read(path: Path) -> Source:
        if isolate and path.suffix.lower() in PROBED:
            probe(path, options)
        return read_source(path, options, budget)

    if isinstance(sources, str | os.PathLike):
        path = Path(sources)
        _check_applies(options, [path])
        return stem_of(path), (), [read(path)]
    if not sources:
        msg = "sources is empty; pass at least one file."
        raise DatasetError(msg)
    names: tuple[str, ...] = ()
    if isinstance(sources, Mapping):
        names = tuple(sources)
        sources = list(sources.values())
    _check_applies(options, [Path(item) for item in sources])
    found = []
    for item in sources:
        source = read(Path(item))
        if len(source.views) > 1:
            msg = (
                f"{item} holds {len(source.views)} views; a list takes one file per "
                "view. Pass this path alone, or choose one with variables=."
            )
            raise DatasetError(msg)
        found.append(source)
    return "views", names, found


def read_source(path: Path, options: ReadOptions, budget: Budget) -> Source:
    """What one file of views holds."""
    reader = READERS[_checked_suffix(path, tuple(READERS))]
    budget.open(path)
    return reader(path, options, budget)


def read_labels(path: Path, options: ReadOptions, budget: Budget) -> SourceLabels:
    """The classes that one file holds."""
    reader = LABEL_READERS[_checked_suffix(path, tuple(LABEL_READERS))]
    budget.open(path)
    return reader(path, options, budget)


def _checked_suffix(path: Path, known: tuple[str, ...]) -> str:
    """The suffix of an existing, non-empty file that can be read."""
    suffix = suffix_of(path)
    if path.is_dir() and suffix in known and suffix == ".zarr":
        return suffix
    if path.is_dir():
        msg = f"{path} is a folder; pass the files in it."
        raise DatasetError(msg)
    if not path.is_file():
        msg = f"{path} does not exist."
        raise DatasetError(msg)
    if suffix not in known:
        msg = f"{path} has suffix {suffix!r}; expected one of {', '.join(known)}."
        raise DatasetError(msg)
    if not path.stat().st_size:
        msg = f"{path} is empty (0 bytes)."
        raise DatasetError(msg)
    return suffix


def _check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    if value not in choices:
        msg = f"{name}={value!r} is not one of {', '.join(map(str, choices))}."
        raise DatasetError(msg)


def _check_applies(options: ReadOptions, paths: Sequence[Path]) -> None:
    """Options for annotated files alone would silently do nothing for others."""
    applies = any(path.suffix.lower() in OMICS for path in paths)
    for name, value in (("use_rep", options.use_rep), ("layer", options.layer)):
        if value is not None and not applies:
            msg = f"{name}={value!r} is for .h5ad and .h5mu files, and there is none."
            raise DatasetError(msg)
