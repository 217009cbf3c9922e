"""Read users' files: choose the readers, align the samples, code the labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from manyview._annotated import Layer, UseRep
from manyview._arrays import as_array
from manyview._typing import IntArray
from manyview._views import stored_row, suspicious_rows
from manyview.datasets._align import (
    Alignment,
    align_labels,
    align_sources,
    encode_labels,
)
from manyview.datasets._arrow import read_parquet
from manyview.datasets._guards import reading
from manyview.datasets._model import MultiViewData
from manyview.datasets._probe import probe
from manyview.datasets._read_arrays import read_npy, read_npz, read_zarr
from manyview.datasets._read_excel import read_excel
from manyview.datasets._read_mat import read_mat
from manyview.datasets._read_mtx import read_mtx
from manyview.datasets._read_omics import read_omics
from manyview.datasets._read_text import DELIMITERS, read_text
from manyview.datasets._source import (
    PACKED,
    Drop,
    Encode,
    ReadOptions,
    Source,
    SourceView,
    check_unicode,
    stem_of,
    suffix_of,
)
from manyview.exceptions import DatasetError

PathLike: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Format:
    """How files of a format are read.

    kind : what it is called in messages.
    has_labels : whether labels can be read from it without views.
    library : the module that reads it, if damaged files make it hang or crash.
    """

    kind: str
    read: Callable[[Path, ReadOptions], Source]
    has_labels: bool = True
    library: str | None = None


TEXT_SUFFIXES = [kind + packed for packed in ("", *PACKED) for kind in DELIMITERS]
OMICS = Format(
    "an annotated HDF5 file", read_omics, has_labels=False, library="anndata.io"
)
FORMATS = {
    **dict.fromkeys(TEXT_SUFFIXES, Format("a text table", read_text)),
    ".parquet": Format("parquet", read_parquet),
    ".xlsx": Format("an Excel workbook", read_excel),
    ".npy": Format("npy", read_npy),
    ".npz": Format("npz", read_npz),
    ".mtx": Format("Matrix Market", read_mtx, has_labels=False),
    ".mat": Format("a MATLAB file", read_mat, library="h5py"),
    ".h5ad": OMICS,
    ".h5mu": OMICS,
    ".zarr": Format("zarr", read_zarr, has_labels=False, library="zarr"),
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
        holes=missing == "keep",
    )
    names, paths = _list_paths(sources)
    _check_applies(options, paths)
    found = [read_source(path, options, isolate=isolate) for path in paths]
    for path, source in zip(paths, found, strict=True):
        if len(source.views) > 1 and not options.several_views:
            msg = (
                f"{path} holds {len(source.views)} views; a list takes one file per "
                "view. Pass this path alone, or choose one with variables=."
            )
            raise DatasetError(msg)
    views = [view for source in found for view in source.views]
    samples = found[0].samples if len(found) == 1 else None
    values, sample_ids = align_sources(views, align, samples)
    if labels_file is not None:
        label_options = ReadOptions(
            only_labels=True,
            labels=labels,
            ids=ids,
            header=header,
            budget=options.budget,
        )
        found = [read_source(Path(labels_file), label_options, isolate=isolate)]
    classes = [source.labels for source in found if source.labels is not None]
    if labels is not None and not classes:
        msg = f"None of the files has a column or variable called {labels!r}."
        raise DatasetError(msg)
    target: IntArray | None = None
    target_names: tuple[str, ...] = ()
    if classes:
        n_samples = values[0].shape[0]
        aligned = align_labels(classes, sample_ids, n_samples, align)
        target, target_names = encode_labels(aligned)
    return MultiViewData(
        name=stem_of(paths[0]) if options.several_views else "views",
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


def _list_paths(
    sources: PathLike | Sequence[PathLike] | Mapping[str, PathLike],
) -> tuple[tuple[str, ...], list[Path]]:
    """Names that the user gave to views, if any, and the files."""
    if isinstance(sources, str | os.PathLike):
        return (), [Path(sources)]
    if not sources:
        msg = "sources is empty; pass at least one file."
        raise DatasetError(msg)
    if isinstance(sources, Mapping):
        return tuple(sources), [Path(path) for path in sources.values()]
    return (), [Path(path) for path in sources]


def read_source(path: Path, options: ReadOptions, *, isolate: bool = False) -> Source:
    """What one file holds, with values that were checked."""
    form = _format_of(path, options)
    if isolate and form.library:
        probe(path, options)
    options.budget.open(path)
    with reading(path, form.kind):
        source = form.read(path, options)
        views = tuple(_checked(view, options) for view in source.views)
        return replace(source, views=views)


def _checked(view: SourceView, options: ReadOptions) -> SourceView:
    """The view with floating-point numbers, finite but for missing rows and holes."""
    columns = view.feature_names or ()
    check_unicode((view.name, *columns), f"Names in {view.origin}")
    values = as_array(view.values, view.name)
    if values is None or not values.shape[0]:
        msg = f"{view.origin} has no rows: there is nothing to cluster."
        raise DatasetError(msg)
    if isinstance(values, np.memmap):
        # Not read yet; the estimator will look at the values.
        return replace(view, values=values)
    if isinstance(values, np.ndarray):
        dtype = np.float32 if values.dtype == np.float32 else np.float64
        values = np.ascontiguousarray(values, dtype=dtype)
    for row in suspicious_rows(values, slice(0, values.shape[0])):
        cells = stored_row(values, row)
        bad = np.isinf(cells) if options.holes else ~np.isfinite(cells)
        # A row of NaN is no hole: the sample lacks this view.
        if not bad.any() or np.isnan(cells).all():
            continue
        first = column = int(bad.argmax())
        if not isinstance(values, np.ndarray):
            column = int(values.indices[values.indptr[row] + first])
        name = repr(columns[column]) if columns else str(column + 1)
        trouble = f"is {cells[first]}. Expected a finite number."
        if np.isnan(cells[first]):
            trouble = (
                "is missing while others in its row are not. Fill it in, leave the "
                "whole row empty (NaN) to say that the sample lacks this view, or "
                "read with missing='keep' and impute with manyview.ViewImputer."
            )
        msg = f"{view.origin}: row {row + 1}, column {name} {trouble}"
        raise DatasetError(msg)
    return replace(view, values=values)


def _format_of(path: Path, options: ReadOptions) -> Format:
    """The format of an existing, non-empty file."""
    suffix = suffix_of(path)
    known = [s for s, f in FORMATS.items() if f.has_labels or not options.only_labels]
    if not path.exists():
        trouble = "does not exist"
    elif path.is_dir() and suffix != ".zarr":
        trouble = "is a folder; pass the files in it"
    elif suffix not in known:
        trouble = f"has suffix {suffix!r}; expected one of {', '.join(known)}"
    elif path.is_dir() or path.stat().st_size:
        return FORMATS[suffix]
    else:
        trouble = "is empty (0 bytes)"
    msg = f"{path} {trouble}."
    raise DatasetError(msg)


def _check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    if value not in choices:
        msg = f"{name}={value!r} is not one of {', '.join(map(str, choices))}."
        raise DatasetError(msg)


def _check_applies(options: ReadOptions, paths: Sequence[Path]) -> None:
    """Options for annotated files alone would silently do nothing for others."""
    applies = any(FORMATS.get(suffix_of(path)) is OMICS for path in paths)
    for name, value in (("use_rep", options.use_rep), ("layer", options.layer)):
        if value is not None and not applies:
            msg = f"{name}={value!r} is for .h5ad and .h5mu files, and there is none."
            raise DatasetError(msg)
