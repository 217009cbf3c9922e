"""Get a registered file into the data folder, and prove that it is the right one.

A download goes to a temporary name beside its final one and is renamed only after its
checksum matched. So no reader ever sees half a file, and two processes that fetch at
once both succeed: each writes its own temporary file, and the second rename replaces a
file by an equal one.
"""

import contextlib
import hashlib
import io
import os
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from manyview.datasets._registry import DatasetInfo
from manyview.exceptions import DatasetError

DATA_VARIABLE = "MANYVIEW_DATA"
ATTEMPTS = 4
# Seconds before the second attempt; doubled for each further one.
FIRST_PAUSE = 0.5
TIMEOUT = 30.0


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Folder that holds downloaded data sets.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder to use. None means the environment variable ``MANYVIEW_DATA`` or,
        when that is not set, the user's cache folder.

    Returns
    -------
    folder : Path
        The folder; it need not exist yet.
    """
    if data_home is not None:
        return Path(data_home).expanduser()
    from_environment = os.environ.get(DATA_VARIABLE)
    if from_environment:
        return Path(from_environment).expanduser()
    import pooch

    return Path(pooch.os_cache("manyview"))


def fetch_file(
    info: DatasetInfo,
    *,
    data_home: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    timeout: float = TIMEOUT,
) -> Path:
    """Path of the data file of `info`, downloaded if the folder does not have it."""
    folder = data_folder(data_home)
    present = _find_present(info, folder)
    if present is not None:
        return present
    target = folder / info.file
    temporary = folder / f".{info.file}.{uuid.uuid4().hex}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb+", buffering=0) as out:
            _download(info, out, target, _shows_progress(progress), timeout)
        os.replace(temporary, target)
    except OSError as error:
        msg = (
            f"Cannot write {target}: {error}. "
            f"Set {DATA_VARIABLE} or data_home to a folder you may write to."
        )
        raise DatasetError(msg) from error
    finally:
        # Also after Ctrl-C. When the folder itself cannot be used there is no file.
        with contextlib.suppress(OSError):
            temporary.unlink()
    return target


def sha256_of(path: Path) -> str:
    """Hexadecimal sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _find_present(info: DatasetInfo, folder: Path) -> Path | None:
    """The right file under its own or its upstream name; a wrong one is an error."""
    wrong: list[tuple[Path, str]] = []
    for name in (info.file, info.upstream):
        path = folder / name if name else None
        if path is None or not path.is_file():
            continue
        try:
            digest = sha256_of(path)
        except OSError as error:
            msg = f"Cannot read {path}: {error}."
            raise DatasetError(msg) from error
        if digest == info.sha256:
            return path
        wrong.append((path, digest))
    if wrong:
        path, digest = wrong[0]
        # It may be the user's only copy of something else: never overwrite or delete.
        msg = (
            f"{path} is not the published {info.title} file: its sha256 is {digest}, "
            f"expected {info.sha256}. Move it away to have the file downloaded, "
            f"or replace it by {info.url}."
        )
        raise DatasetError(msg)
    return None


def _shows_progress(progress: bool | None) -> bool:
    # Under pythonw there is no stderr at all.
    return (
        bool(sys.stderr and sys.stderr.isatty()) if progress is None else bool(progress)
    )


def _download(
    info: DatasetInfo, out: io.FileIO, target: Path, progress: bool, timeout: float
) -> None:
    """Fill `out` with the checked file, retrying and resuming as far as it helps."""
    from requests.exceptions import HTTPError, RequestException

    reason = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
        try:
            _download_once(info, out, progress, timeout)
        except RequestException as error:
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, HTTPError) and _is_final(error.response):
                break
            continue
        out.seek(0)
        digest = hashlib.file_digest(out, "sha256").hexdigest()
        if digest == info.sha256:
            return
        reason = f"what came has sha256 {digest}"
        # Resuming a wrong file cannot make it right.
        out.seek(0)
        out.truncate()
    msg = (
        f"Could not download {info.url} ({reason}). To go on without the network, "
        f"put that file, sha256 {info.sha256}, at {target}."
    )
    raise DatasetError(msg)


def _is_final(response: Any) -> bool:
    """Whether asking again is useless: "not found" stays not found."""
    server_error = 500
    return response is not None and bool(response.status_code < server_error)


def _download_once(
    info: DatasetInfo, out: io.FileIO, progress: bool, timeout: float
) -> None:
    """One request, for what `out` still lacks."""
    import pooch

    received = out.seek(0, os.SEEK_END)
    options: dict[str, Any] = {"timeout": timeout, "progressbar": progress}
    if received:
        options["headers"] = {"Range": f"bytes={received}-"}
        options["hooks"] = {"response": _restart_if_whole(out)}
    pooch.HTTPDownloader(**options)(info.url, out, None)


def _restart_if_whole(out: io.FileIO) -> Callable[..., None]:
    def on_response(response: Any, **_: Any) -> None:
        whole_file = 200
        if response.status_code == whole_file:
            # This server does not resume: it sends everything again.
            out.seek(0)
            out.truncate()

    return on_response
