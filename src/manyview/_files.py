"""Files that appear under their name only when all of them is written."""

from __future__ import annotations

import os
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

# What reading raises whose content is cut short, damaged or not what it should be.
UNREADABLE = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    MemoryError,
    EOFError,
    RuntimeError,
    zlib.error,
    zipfile.BadZipFile,
)


@contextmanager
def whole_file(
    path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb"
) -> Iterator[IO[Any]]:
    """A file to fill, see `whole_path`. Text is UTF-8 with the line ends it has."""
    text: dict[str, Any] = {} if mode == "wb" else {"encoding": "utf-8", "newline": ""}
    with whole_path(path) as part, part.open(mode, **text) as file:
        yield file


@contextmanager
def whole_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path of a temporary file beside `path`, renamed once it is on disk.

    When anything fails, also by Ctrl-C, what was at `path` before is still there and
    the temporary file is gone.
    """
    path = Path(path)
    part = path.with_name(f".{path.name[:60]}.{uuid.uuid4().hex[:8]}.part")
    try:
        with naming(path):
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors of the file system name `path`; a full disk does not say where."""
    try:
        yield
    except OSError as error:
        named = error.filename and Path(os.fsdecode(error.filename))
        if error.errno is None or (named and named.parent != path.parent):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
