"""Finished runs: one CSV file that is only ever appended to.

Every line ends with a checksum of itself, so that a line cut off by a crash or changed
on disk is noticed, and only its run is done again.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import zlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from manyview.exceptions import DatasetError
from reproduction.plan import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a run gave. Scores lie in [0, 1]; a failed run has an error and no scores.

    seconds : time of `fit` alone.
    peak_mb : growth of the worker's memory during `fit`; Linux only.
    n_iter, n_iter_first : iterations in all, and of the first pace or stage.
    warning : first warning of the fit.
    version : of manyview, with a checksum of its code.
    environment : ``name=value; ...``, libraries and machine.
    """

    acc: float | None = None
    purity: float | None = None
    nmi: float | None = None
    ari: float | None = None
    seconds: float | None = None
    peak_mb: float | None = None
    n_iter: int | None = None
    n_iter_first: int | None = None
    warning: str = ""
    error: str = ""
    version: str = ""
    environment: str = ""


RUN_COLUMNS = [field.name for field in fields(Run)]
OUTCOME_COLUMNS = [field.name for field in fields(Outcome)]
HEADER = ",".join([*RUN_COLUMNS, *OUTCOME_COLUMNS, "crc32"]).encode() + b"\n"
INTEGERS = {"repeat", "seed", "n_iter", "n_iter_first"}
NUMBERS = {"acc", "purity", "nmi", "ari", "seconds", "peak_mb"}


class RunStore:
    """The file of finished runs.

    Parameters
    ----------
    path : path
        The CSV file; made when the first run is added.
    version : str or None
        Only runs of this version of the code are known; None knows all of them.

    Attributes
    ----------
    outcomes : dict
        The latest outcome of every run.
    n_damaged : int
        Number of lines whose checksum does not match.
    """

    def __init__(self, path: Path, version: str | None) -> None:
        self.path = path
        self.outcomes: dict[Run, Outcome] = {}
        self.n_damaged = 0
        try:
            content = path.read_bytes() if path.exists() else b""
            if not (content.startswith(HEADER) or HEADER.startswith(content)):
                msg = "its first line is not that of a file of runs"
                raise ValueError(msg)
            whole, _, cut_off = content.rpartition(b"\n")
            if cut_off:
                os.truncate(path, len(content) - len(cut_off))
        except (OSError, ValueError) as error:
            msg = (
                f"{path} cannot be used: {_reason(error)}. Move it away or choose "
                "another folder with --out."
            )
            raise DatasetError(msg) from error
        for line in whole.split(b"\n")[1:]:
            self._read(line, version)

    def _read(self, line: bytes, version: str | None) -> None:
        body, _, checksum = line.rpartition(b",")
        if checksum != _checksum(body):
            self.n_damaged += 1
            return
        (cells,) = csv.reader([body.decode()])
        values = {
            name: _parse(name, cell)
            for name, cell in zip([*RUN_COLUMNS, *OUTCOME_COLUMNS], cells, strict=True)
        }
        run = Run(**{name: values[name] for name in RUN_COLUMNS})
        outcome = Outcome(**{name: values[name] for name in OUTCOME_COLUMNS})
        if version in (None, outcome.version):
            self.outcomes[run] = outcome

    def add(self, run: Run, outcome: Outcome) -> None:
        """Append one finished run; it is on the disk when this returns."""
        text = io.StringIO()
        # A line per run, whatever an error message contains.
        cells = [
            " ".join(value.splitlines()) if isinstance(value, str) else value
            for value in (asdict(run) | asdict(outcome)).values()
        ]
        csv.writer(text, lineterminator="").writerow(cells)
        body = text.getvalue().encode()
        line = body + b"," + _checksum(body) + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:
                if file.tell() == 0:
                    line = HEADER + line
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
        except OSError as error:
            msg = (
                f"Cannot write to {self.path}: {_reason(error)}. The runs in it are "
                "kept; repeat the command to go on."
            )
            raise DatasetError(msg) from error
        self.outcomes[run] = outcome


def _checksum(body: bytes) -> bytes:
    return f"{zlib.crc32(body):08x}".encode()


def _parse(name: str, cell: str) -> Any:
    if name in INTEGERS:
        return int(cell) if cell else None
    if name in NUMBERS:
        return float(cell) if cell else None
    return cell


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
