"""Get a registered file into the data folder, and prove that it is the right one.

pooch downloads to a temporary name beside the final one and renames only after the
checksum matched. So no reader ever sees half a file, and two processes that fetch at
once both succeed: the second rename replaces a file by an equal one.
"""

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from manyview.datasets._registry import DatasetInfo
from manyview.exceptions import DatasetError

DATA_VARIABLE = "MANYVIEW_DATA"
RETRIES = 3
TIMEOUT = 30.0
FIRST_SERVER_ERROR = 500


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
    if progress is None:
        # Under pythonw there is no stderr at all.
        progress = bool(sys.stderr and sys.stderr.isatty())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _download(info, folder, _Bar(info.title) if progress else False, timeout)
        # pooch's temporary files are private; a data file has the rights of any other.
        umask = os.umask(0)
        os.umask(umask)
        target.chmod(0o666 & ~umask)
    except OSError as error:
        msg = (
            f"Cannot write {target}: {error}. "
            f"Set {DATA_VARIABLE} or data_home to a folder you may write to."
        )
        raise DatasetError(msg) from error
    return target


def _find_present(info: DatasetInfo, folder: Path) -> Path | None:
    """The right file under its own or its upstream name; a wrong one is an error."""
    wrong = ""
    for path in (folder / info.file, folder / (info.upstream or info.file)):
        if not path.is_file():
            continue
        try:
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            msg = f"Cannot read {path}: {error}."
            raise DatasetError(msg) from error
        if digest == info.sha256:
            return path
        # It may be the user's only copy of something else: never overwrite or delete.
        wrong = wrong or (
            f"{path} is not the published {info.title} file: its sha256 is {digest}, "
            f"expected {info.sha256}. Move it away to have the file downloaded, "
            f"or replace it by {info.url}."
        )
    if wrong:
        raise DatasetError(wrong)
    return None


def _download(info: DatasetInfo, folder: Path, bar: Any, timeout: float) -> None:
    """Let pooch fetch the file; it tries again after what may have been bad luck."""
    import pooch
    from requests.exceptions import RequestException

    pooch.get_logger().setLevel("WARNING")
    source = pooch.create(
        path=folder,
        base_url="",
        registry={info.file: f"sha256:{info.sha256}"},
        urls={info.file: info.url},
        retry_if_failed=RETRIES,
    )
    download = pooch.HTTPDownloader(timeout=timeout, progressbar=bar)

    def once(url: str, file: Any, caller: Any) -> None:
        try:
            download(url, file, caller)
        except RequestException as error:
            answer = error.response
            if answer is not None and answer.status_code < FIRST_SERVER_ERROR:
                # "Not found" stays not found, and pooch does not ask again for this.
                raise FileNotFoundError(str(error)) from error
            raise

    try:
        source.fetch(info.file, downloader=once)
    except (RequestException, ValueError, FileNotFoundError) as error:
        reason = " ".join(str(error).split())
        msg = (
            f"Could not download {info.url} ({reason}). To go on without the network, "
            f"put that file, sha256 {info.sha256}, at {folder / info.file}."
        )
        raise DatasetError(msg) from error


class _Bar:
    """A bar on stderr, with the methods that pooch calls."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._progress = Progress(console=Console(file=sys.stderr))
        self._task = self._progress.add_task(f"Downloading {title}", total=None)
        self.total = 0

    def update(self, n_bytes: int) -> None:
        self._progress.start()
        self._progress.update(self._task, total=self.total, advance=n_bytes)

    def reset(self) -> None:
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        self._progress.stop()
