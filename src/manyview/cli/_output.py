"""Result folders and files: whole or not at all, never replaced unasked."""

from __future__ import annotations

import csv
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from manyview._typing import FloatArray, IntArray
from manyview.exceptions import DatasetError

SUMMARY = "summary.json"
LABELS = "labels.csv"
MODEL = "model.mvz"
REPORT = "report.html"
# Names that a result folder may hold; with others in it, it is not ours to replace.
OURS = frozenset({SUMMARY, LABELS, MODEL, REPORT})


def check_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder that holds something, before any work is done."""
    if folder.is_file():
        msg = f"{folder} is a file; --out names a folder to make."
        raise DatasetError(msg)
    if not folder.exists():
        return
    found = {path.name for path in folder.iterdir()}
    if not found:
        return
    if not force:
        msg = (
            f"{folder} exists and is not empty. Choose another --out, or add --force "
            "to replace an earlier result."
        )
        raise DatasetError(msg)
    if not found <= OURS:
        other = sorted(found - OURS)[0]
        msg = (
            f"{folder} holds {other!r}, which manyview did not write; --force replaces "
            "results only. Choose another --out."
        )
        raise DatasetError(msg)


@contextmanager
def new_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """A folder to fill that takes its name only when all of it is written."""
    check_free(folder, force=force)
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex[:8]
    part = folder.parent / f".{folder.name}.{mark}.part"
    old = folder.parent / f".{folder.name}.{mark}.old"
    part.mkdir()
    try:
        yield part
        if folder.exists():
            folder.rename(old)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[TextIO]:
    """A text file to fill that takes its name only when all of it is written."""
    if path.is_dir():
        msg = f"{path} is a folder; --out names a file here."
        raise DatasetError(msg)
    if path.exists() and not force:
        msg = f"{path} exists. Choose another --out, or add --force to replace it."
        raise DatasetError(msg)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_labels(
    file: TextIO,
    sample_ids: Iterable[object],
    labels: IntArray,
    confidence: FloatArray | None,
    *,
    view_names: Sequence[str] = (),
    joined_pace: IntArray | None = None,
) -> None:
    """Labels as CSV, with confidence and paces of joining where they are known."""
    writer = csv.writer(file, lineterminator="\n")
    header = ["sample", "cluster"]
    columns: list[Any] = [sample_ids, labels.tolist()]
    if confidence is not None:
        header.append("confidence")
        columns.append([f"{c:.4f}" for c in confidence.tolist()])
    if joined_pace is not None:
        header += [f"pace_{name}" for name in view_names]
        # A sample that lacks the view never joins there: an empty cell.
        columns += [[pace or "" for pace in row] for row in joined_pace.tolist()]
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))


def read_result(folder: Path) -> dict[str, Any]:
    """The summary of a result folder."""
    path = folder / SUMMARY
    if not path.is_file():
        msg = (
            f"{folder} is not a result of manyview cluster: it has no {SUMMARY}. "
            "Pass the folder that was given as --out."
        )
        raise DatasetError(msg)
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        msg = f"{path} is damaged ({error}). Run manyview cluster again."
        raise DatasetError(msg) from error
    if not isinstance(summary, dict) or "request" not in summary:
        msg = f"{path} was not written by manyview cluster."
        raise DatasetError(msg)
    return summary
