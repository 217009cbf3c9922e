"""Result folders and files: written completely or not at all, never overwritten
without --force."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from manyview._files import whole_file
from manyview.cli._render import note, to_json, visible
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    import pandas as pd

# Files of a folder, each with what writes it to a path.
Writers: TypeAlias = dict[str, Callable[[Path], object]]

SUMMARY = "summary.json"
LABELS = "labels.csv"
MODEL = "model.mvz"
REPORT = "report.html"
METHODS = "methods.csv"
AGREEMENT = "agreement.csv"
COMPARISON = "comparison.html"
# Names that a result folder may hold; a folder with others is never replaced.
RESULT_NAMES = frozenset(
    {SUMMARY, LABELS, MODEL, REPORT, METHODS, AGREEMENT, COMPARISON}
)

# How spreadsheets know a formula. Apostrophes count, so that escaping can be undone.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")

# Enough to need room on the disk, where an empty file may find some.
PROBE_BYTES = 1 << 16


class WriteError(OSError):
    """A result that could not be written; the message says what became of it."""


def can_report() -> bool:
    """Whether the packages behind a report are installed."""
    return all(find_spec(name) is not None for name in ("jinja2", "plotly"))


def check_folder(folder: Path, page: str, *, force: bool) -> None:
    """Refuse a folder that cannot be written, before any work is done.

    page : what is missing there without the packages behind a report.
    """
    _check_free(folder, force=force)
    if folder.is_mount():
        msg = f"{folder} is a mount point and cannot be replaced. Name a folder in it."
        raise DatasetError(msg)
    _try_to_write(folder, "--out")
    if not can_report():
        note(f'There will be no {page}; to get it: pip install "manyview[report]"')


def check_file(path: Path, *, force: bool, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before any work is done."""
    _check_new(path, force=force, option=option)
    _try_to_write(path, option)


def _try_to_write(path: Path, option: str) -> None:
    """Write something beside `path`, or as near to it as folders are there."""
    near = path.absolute().parent
    while not near.exists():
        near = near.parent
    try:
        with tempfile.TemporaryDirectory(dir=near, prefix=".manyview.") as folder:
            (Path(folder) / "probe").write_bytes(bytes(PROBE_BYTES))
    except OSError as error:
        msg = (
            f"{path} cannot be written: {error.strerror} ({near}). "
            f"Nothing was computed. Choose another {option}."
        )
        raise WriteError(msg) from error


def _check_new(path: Path, *, force: bool, option: str = "--out") -> None:
    if path.is_dir():
        msg = f"{path} is a folder; {option} names a file here."
        raise DatasetError(msg)
    if path.exists() and not force:
        msg = f"{path} exists. Choose another {option}, or add --force to replace it."
        raise DatasetError(msg)


def _check_free(folder: Path, *, force: bool) -> None:
    if folder.is_file():
        msg = f"{folder} is a file; --out names a folder to make."
        raise DatasetError(msg)
    found = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if found and not force:
        msg = (
            f"{folder} exists and is not empty. Choose another --out, or add --force "
            "to replace an earlier result."
        )
        raise DatasetError(msg)
    if not found <= RESULT_NAMES:
        other = sorted(found - RESULT_NAMES)[0]
        msg = (
            f"{folder} holds {other!r}, which manyview did not write; --force replaces "
            "results only. Choose another --out."
        )
        raise DatasetError(msg)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Makes the folder that `path` is in, and names `path` in errors of the system."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except WriteError:
        raise
    except OSError as error:
        msg = f"{path} could not be written: {error.strerror or error}."
        raise WriteError(msg) from error


def write_folder(folder: Path, writers: Writers, *, force: bool) -> list[str]:
    """Write the files of a result, each by what takes its path; their names.

    The folder takes its name only when all of it is written. Files that were written
    before an error of the system stay beside it, and the message says where.
    """
    _check_free(folder, force=force)
    folder = folder.resolve()
    mark = uuid.uuid4().hex[:8]
    part = folder.parent / f"{folder.name}.{mark}.part"
    old = folder.parent / f".{folder.name}.{mark}.old"
    written: list[str] = []
    try:
        with writing(folder):
            part.mkdir()
            for name, write in writers.items():
                with writing(Path(name)):
                    write(part / name)
                written.append(name)
            if folder.exists():
                folder.rename(old)
            part.rename(folder)
    except BaseException as error:
        if old.exists() and not folder.exists():
            old.rename(folder)
        if not written or not isinstance(error, WriteError):
            shutil.rmtree(part, ignore_errors=True)
            raise
        # No remains of a file that could not be written.
        for name in set(writers).difference(written):
            (part / name).unlink(missing_ok=True)
        msg = f"{error} What was written is in {part}: {', '.join(sorted(written))}."
        raise WriteError(msg) from error
    shutil.rmtree(old, ignore_errors=True)
    return sorted(writers)


def write_json(path: Path, content: Any) -> None:
    """A file of JSON."""
    path.write_text(to_json(content), encoding="utf-8")


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[IO[str]]:
    """A text file to fill that takes its name only when all of it is written."""
    _check_new(path, force=force)
    with writing(path), whole_file(path, "w") as file:
        yield file


@contextmanager
def labels_on_stdout(write_labels: Callable[[IO[str]], None]) -> Iterator[None]:
    """Prints the labels if they cannot be written: a run must not be lost."""
    try:
        yield
    except (WriteError, DatasetError) as error:
        write_labels(sys.stdout)
        sys.stdout.flush()
        msg = f"{error} The labels were printed on stdout instead."
        raise WriteError(msg) from error


def write_labels(file: IO[str] | Path, table: pd.DataFrame) -> None:
    """Labels as CSV.

    A name that a spreadsheet would run as a formula gets an apostrophe in front. On a
    terminal, control characters are shown as their codes.
    """
    on_terminal = not isinstance(file, Path) and file.isatty()
    shown = visible if on_terminal else str
    table = table.rename(columns=shown)
    for name in table.columns.intersection(["sample", "name"]):
        table[name] = [shown(escape(text)) for text in table[name]]
    table.to_csv(file, index=False, float_format="%.4f", lineterminator="\n")


def escape(name: str) -> str:
    """A name that no spreadsheet takes for a formula; plain numbers stay."""
    if FORMULA.match(name) and not NUMBER.fullmatch(name):
        return "'" + name
    return name


def unescape(cell: str) -> str:
    """The name that `escape` was given."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
