"""``manyview cluster --write``: results in a copy of an annotated file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from manyview._extras import import_extra
from manyview.cli import _output
from manyview.cli._request import Request, split_name
from manyview.cli._sources import sample_names
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    from manyview.cli._result import Result

SUFFIXES = (".h5ad", ".h5mu")


def check_write(path: Path, request: Request, *, dask: str | None, force: bool) -> None:
    """Refuse what cannot be written, before any work is done."""
    source = Path(split_name(request.sources[0])[1])
    kind = path.suffix.lower()
    same = kind in SUFFIXES and kind == source.suffix.lower()
    if dask is not None or len(request.sources) > 1 or not same:
        msg = (
            f"{path} cannot be written: --write copies the one .h5ad or .h5mu file "
            "that is clustered, under a name with the same suffix."
        )
        raise DatasetError(msg)
    if path.exists() and source.exists() and path.samefile(source):
        msg = f"{path} is the file that is clustered. Choose another --write."
        raise DatasetError(msg)
    _output.check_file(path, force=force, option="--write")
    import_extra("anndata", "omics", "--write")


def write_annotated(result: Result, path: Path) -> None:
    """Write the copy."""
    from manyview.omics._annotations import annotate_file, make_annotations

    found = make_annotations(
        result.estimator,
        result.clustering,
        sample_names(result.data),
        key="manyview",
        imputed=result.imputed,
        explanation=result.explanation,
    )
    (source,) = result.request.sources
    with _output.writing(path):
        annotate_file(Path(split_name(source)[1]), path, found)
