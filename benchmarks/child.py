"""Measurements in processes of their own."""

import json
import os
import subprocess
import sys

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class ChildError(RuntimeError):
    """A measurement that failed; the message is the last line of its process."""


def limit_threads(threads):
    """The environment in which libraries use so many threads."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


def run_in_child(module, *words, threads=None):
    """What ``python -m MODULE --here WORDS`` prints in its last line, as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", module, "--here", *words],
        env=None if threads is None else limit_threads(threads),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ChildError((done.stderr.strip().splitlines() or ["killed"])[-1])
    return json.loads(done.stdout.splitlines()[-1])
