"""The data that a command line names."""

from __future__ import annotations

import csv
import difflib
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from manyview._extras import import_extra
from manyview._names import NamedView
from manyview.cli import _render
from manyview.cli._options import Request, split_name
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    import pandas as pd

    from manyview.datasets import MultiViewData
    from manyview.impute import ViewImputer

ByModality: TypeAlias = list[str] | dict[str, list[str]]

# Files that --labels may name, for what is no column.
LABEL_FILES = {".csv", ".tsv", ".txt", ".gz", ".zst", ".xlsx", ".npy", ".parquet"}


def load_sources(
    request: Request, *, holes: bool = False
) -> tuple[MultiViewData, ViewImputer | None]:
    """The data that a request names, and what has filled in its missing cells.

    With `holes`, cells may be missing where nothing fills them in.
    """
    data = _read(request, holes=holes)
    if request.missing == "refuse":
        return data, None
    from manyview._views import check_views
    from manyview.impute import ViewImputer

    imputer = ViewImputer("knn" if request.missing == "impute-knn" else "mean")
    filled = imputer.fit(as_views(data)).transform(as_views(data))
    _render.note(imputed_words(imputer))
    return replace(data, views=check_views(filled, holes=True).arrays), imputer


def imputed_words(imputer: ViewImputer) -> str:
    """What was filled in, as a sentence."""
    how = {"mean": "by feature means", "knn": "from the nearest samples"}
    counts = imputer.n_imputed_
    if not counts:
        return "No cell was missing; nothing was imputed."
    parts = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    total = sum(counts.values())
    return f"Imputed {total:,} missing cells {how[imputer.strategy]}: {parts}."


def _read(request: Request, *, holes: bool) -> MultiViewData:
    from manyview.datasets import list_datasets, load_dataset, read_views

    sources = request.sources
    known = [s for s in sources if s in list_datasets() and not Path(s).exists()]
    if known:
        if len(sources) > 1 or request.labels is not None:
            msg = (
                f"{known[0]} is a known data set with views and classes of its own; it "
                "goes without further files and without --labels."
            )
            raise DatasetError(msg)
        return load_dataset(sources[0])
    paths = [split_name(source) for source in sources]
    for _, path in paths:
        _check_exists(path)
    labels, labels_file = _find_labels(request.labels)
    keep = holes or request.missing != "refuse"
    options = asdict(request) | {
        "labels": labels,
        "labels_file": labels_file,
        "variables": request.variables and _split(request.variables),
        "use_rep": _by_modality(request.use_rep, "--use-rep"),
        "layer": _one_each(_by_modality(request.layer, "--layer")),
        "missing": "keep" if keep else "refuse",
        "isolate": True,
    }
    del options["sources"]
    if any(name is not None for name, _ in paths):
        data = read_views(_by_name(paths), **options)
    elif len(paths) != 1:
        data = read_views([path for _, path in paths], **options)
    else:
        data = read_views(paths[0][1], **options)
    return _with_labels(data, request) if request.labels == "-" else data


def _with_labels(data: MultiViewData, request: Request) -> MultiViewData:
    """The data with classes from stdin: one per line, maybe with a header."""
    import numpy as np

    from manyview.datasets._align import align_labels, encode_labels
    from manyview.datasets._source import SourceLabels

    rows = [[cell.strip() for cell in row] for row in csv.reader(sys.stdin)]
    rows = [row for row in rows if any(row)]
    wide = next((row for row in rows if len(row) > 1), None)
    if wide is not None:
        msg = f"--labels - takes one class per line; a line has {len(wide)} cells."
        raise DatasetError(msg)
    names = [row[0] for row in rows]
    if len(names) == data.n_samples + 1:
        _render.note(f"The first line of stdin, {names[0]!r}, was taken as a header.")
        del names[0]
    found = SourceLabels(origin="stdin", values=np.array(names, dtype=np.str_))
    aligned = align_labels([found], data.sample_ids, data.n_samples, request.align)
    target, target_names = encode_labels(aligned)
    return replace(data, target=target, target_names=target_names)


def lazy_sources(request: Request) -> Any:
    """The paths that a request names, for a cluster to open."""
    paths = [split_name(source) for source in request.sources]
    for _, path in paths:
        if not Path(path).exists():
            msg = f"{path} does not exist. A cluster reads zarr and parquet."
            raise DatasetError(msg)
    # Views are known by their names, so that a model recognises them later.
    single = len(paths) == 1 and paths[0][0] is None
    return paths[0][1] if single else _by_name(paths)


def as_views(data: MultiViewData) -> dict[str, Any]:
    """Views and features by name, the form that lets a model recognise them later."""
    features = data.feature_names or (None,) * data.n_views
    return {
        name: NamedView(array=view, columns=columns)
        for name, view, columns in zip(
            data.view_names, data.views, features, strict=True
        )
    }


def title_of(data: MultiViewData) -> str:
    """A heading: the data set's title, the file's name, or the names of the views."""
    from manyview.datasets import dataset_info, list_datasets

    if data.name in list_datasets() and data.description:
        return dataset_info(data.name).title
    if data.name == "views":
        return " + ".join(data.view_names)
    return data.name


def sample_names(data: MultiViewData) -> list[str]:
    """Sample ids, or positions from 0 where the data has none."""
    ids = range(data.n_samples) if data.sample_ids is None else data.sample_ids
    return [str(name) for name in ids]


def _by_name(paths: Sequence[tuple[str | None, str]]) -> dict[str, str]:
    from manyview.datasets._source import stem_of

    named = {name or stem_of(Path(path)): path for name, path in paths}
    if len(named) < len(paths):
        msg = f"Two views have the same name; the names are {sorted(named)}."
        raise DatasetError(msg)
    return named


def _find_labels(labels: str | None) -> tuple[str | None, str | None]:
    """The column and the file that ``--labels`` names, as far as it does."""
    if labels is None or labels == "-":
        return None, None
    if Path(labels).is_file():
        return None, labels
    path, colon, column = labels.rpartition(":")
    if colon and Path(path).is_file():
        return column, path
    if Path(labels).suffix.lower() in LABEL_FILES:
        msg = f"--labels {labels} looks like a file, but there is none of this name."
        raise DatasetError(msg)
    return labels, None


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _by_modality(words: Sequence[str] | None, option: str) -> ByModality | None:
    """``a,b``, or ``rna=a,b`` for some modalities, as `read_views` takes them."""
    if not words:
        return None
    named = [word.partition("=") for word in words]
    if all(equals for _, equals, _ in named):
        return {name.strip(): _split(rest) for name, _, rest in named}
    if any(equals for _, equals, _ in named):
        msg = f"{option} goes by modality in all cases or in none: {' '.join(words)}."
        raise DatasetError(msg)
    return [name for word in words for name in _split(word)]


def _one_each(names: ByModality | None) -> str | dict[str, str] | None:
    if names is None:
        return None
    lists = list(names.values()) if isinstance(names, dict) else [names]
    if any(len(own) > 1 for own in lists):
        msg = "--layer names one layer, or one per modality as in --layer rna=counts."
        raise DatasetError(msg)
    if isinstance(names, dict):
        return {modality: own[0] for modality, own in names.items()}
    return names[0]


def _check_exists(path: str) -> None:
    if Path(path).exists():
        return
    from manyview.datasets import list_datasets

    msg = f"{path} is neither a file nor a known data set."
    close = difflib.get_close_matches(path.lower(), list_datasets(), n=1, cutoff=0.6)
    folder = Path(path).parent
    siblings = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(Path(path).name, siblings, n=1, cutoff=0.7)
    if close or near:
        msg += f" Did you mean {close[0] if close else folder / near[0]}?"
    else:
        msg += f" Known data sets: {', '.join(list_datasets())}."
    raise DatasetError(msg)


@dataclass(frozen=True, kw_only=True, slots=True)
class Covariates:
    """Known columns that clusters are held against, and where they came from."""

    frame: pd.DataFrame
    path: Path
    survival: tuple[str, str] | None

    def of(self, samples: Sequence[str]) -> Covariates:
        """Rows by the sample ids that some column has, or in the order of the file."""
        frame = self.frame
        for column in frame.columns:
            ids = frame[column].astype(str)
            if ids.is_unique and set(samples) <= set(ids):
                indexed = frame.drop(columns=column).set_index(ids)
                found = indexed.loc[list(samples)].reset_index(drop=True)
                return replace(self, frame=found)
        if len(frame) == len(samples):
            return self
        msg = (
            f"{self.path} has {len(frame)} rows for {len(samples)} samples, and no "
            "column with the ids of all samples. Pass one row per sample, or a column "
            "with their ids."
        )
        raise DatasetError(msg)


def read_covariates(path: Path | None, survival: str | None) -> Covariates | None:
    """The columns of a file; what cannot be read or tested is refused."""
    if path is None:
        if survival is not None:
            msg = "It names columns of a table. Add --covariates FILE."
            raise typer.BadParameter(msg, param_hint="--survival")
        return None
    import pandas as pd

    if not path.is_file():
        msg = f"--covariates {path} is not a file. Pass a CSV or TSV file."
        raise DatasetError(msg)
    tabs = path.name.removesuffix(".gz").endswith((".tsv", ".tab", ".txt"))
    try:
        frame = pd.read_csv(path, sep="\t" if tabs else ",")
    except (ValueError, OSError) as error:
        what = " ".join(str(error).split())
        msg = f"{path} cannot be read as a table ({what}). Pass a CSV or TSV file."
        raise DatasetError(msg) from error
    if survival is None:
        return Covariates(frame=frame, path=path, survival=None)
    names = [name.strip() for name in survival.split(",")]
    if len(names) != 2 or not set(names) <= set(frame.columns):
        msg = (
            f"{survival!r} is not two columns of --covariates, time and event. It has "
            f"{', '.join(map(str, frame.columns[:8]))}."
        )
        raise typer.BadParameter(msg, param_hint="--survival")
    import_extra("lifelines.statistics", "survival", "The log-rank test")
    return Covariates(frame=frame, path=path, survival=(names[0], names[1]))
