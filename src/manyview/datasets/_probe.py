"""Read a file in a child process with limits, before this process reads it.

The HDF5 library and codecs of zarr can loop for ever or crash on a damaged file. If a
child can read the file with the same options, so can this process.

    python -P -m manyview.datasets._probe PATH OPTIONS-AS-JSON
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

from manyview.datasets._guards import Budget
from manyview.datasets._source import ReadOptions
from manyview.exceptions import DatasetError

BASE_SECONDS = 10.0
# The slowest honest files, many small gzip chunks, are read twice as fast.
BYTES_PER_SECOND = 4e6
CHILD = "manyview.datasets._probe"
READY = "ready"
REFUSED = 3


def probe(path: Path, options: ReadOptions) -> None:
    """Raise `DatasetError` if a child cannot read the file within its limits."""
    budget = Budget()
    budget.open(path)
    seconds = BASE_SECONDS + budget.stored / BYTES_PER_SECOND
    given = dataclasses.asdict(options)
    del given["budget"]
    # -P: what lies in the current folder must not be imported.
    command = [sys.executable, "-P", "-m", CHILD, str(path), json.dumps(given)]
    with subprocess.Popen(
        command,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Without a buffer, so that readline takes one line and leaves the rest.
        bufsize=0,
    ) as child:
        try:
            # Imports may take long on a busy machine, and are no fault of the file.
            assert child.stdout is not None
            started = child.stdout.readline().strip() == READY.encode()
            message, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            msg = f"{path} could not be read within {seconds:.0f} s; it is damaged."
            raise DatasetError(msg) from error
        finally:
            child.kill()
    if not started:
        msg = f"{path} was not read: {sys.executable} could not start to check it."
        raise DatasetError(msg)
    if child.returncode == REFUSED:
        raise DatasetError(message.decode("utf-8", "replace").strip())
    if child.returncode:
        msg = f"{path} cannot be read: it crashes its reader, so it is damaged."
        raise DatasetError(msg)


def _environment() -> dict[str, str]:
    """Let the child find this very package, wherever it was imported from."""
    package = Path(__file__).parents[2]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = [str(package), *(os.path.abspath(f) for f in given if f)]
    paths = os.pathsep.join(folders)
    return {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8:replace"}


def _limit_memory(allowed: int) -> None:
    """Let this process take what the file may unpack to, a few times over."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit; the one on time stays.
        return
    try:
        n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    most = n_pages * resource.getpagesize() + 4 * allowed + (1 << 30)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _main(path: Path, options: str) -> int:
    from manyview.datasets._read import FORMATS, read_source

    budget = Budget()
    budget.open(path)
    warnings.simplefilter("ignore")
    # What the reader imports is to be there before the clock starts.
    for module in ("scipy.sparse", str(FORMATS[path.suffix.lower()].library)):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    _limit_memory(budget.allowed)
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    try:
        read_source(path, ReadOptions(**json.loads(options)))
    except (DatasetError, MemoryError, PermissionError) as error:
        sys.stdout.write(str(error) or f"{path} takes more memory than it should.")
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), sys.argv[2]))
