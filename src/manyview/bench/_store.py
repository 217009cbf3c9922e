"""The store of finished runs: one SQLite file that survives being killed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Self

from manyview.bench._plan import Run
from manyview.exceptions import DatasetError

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a run gave. Scores lie in [0, 1] and are None when the run failed.

    seconds : time of `fit` alone.
    peak_mb : growth of the worker's memory during `fit`, None where the system does
        not tell.
    warning : first warning of the fit, "" for none.
    environment : versions and machine, as JSON.
    """

    status: str
    acc: float | None = None
    purity: float | None = None
    nmi: float | None = None
    ari: float | None = None
    seconds: float | None = None
    peak_mb: float | None = None
    n_iter: int | None = None
    warning: str = ""
    error: str = ""
    environment: str = ""
    finished: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"


_OUTCOME = [field.name for field in fields(Outcome)]
_RUN = [
    "dataset",
    "checksum",
    "n_clusters",
    "estimator",
    "params",
    "variant",
    "repeat",
    "seed",
    "version",
]
# The tidy table: one line per run, in this order.
COLUMNS = (*_RUN, *_OUTCOME)


class RunStore:
    """Append-only table of runs; every write is a transaction of its own.

    A key occurs once per attempt. Only failed runs are ever attempted again, and the
    failed row stays.

    Parameters
    ----------
    path : path
        The SQLite file; made if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
            self._open()
        except (sqlite3.Error, OSError) as error:
            msg = (
                f"{path} cannot be used as a store of runs: {error}. "
                "Choose another output folder or move the file away."
            )
            raise DatasetError(msg) from error

    def _open(self) -> None:
        # WAL: a reader never sees half a transaction, and a killed writer leaves the
        # main file as it was. FULL also survives the machine losing power.
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found not in (0, SCHEMA_VERSION):
            msg = f"its format is {found}, this version of manyview writes format 1"
            raise sqlite3.DatabaseError(msg)
        columns = ", ".join(COLUMNS)
        self._db.execute(
            f"CREATE TABLE IF NOT EXISTS runs (key TEXT NOT NULL, attempt INTEGER "
            f"NOT NULL, {columns}, PRIMARY KEY (key, attempt))"
        )
        self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was added is already on disk."""
        self._db.close()

    def add(self, run: Run, outcome: Outcome) -> None:
        """Write one finished run.

        A success that is already there stays: a second process working on the same
        store can only have found the same.
        """
        values = [getattr(run, name) for name in _RUN]
        marks = ", ".join("?" * len(COLUMNS))
        self._db.execute(
            f"INSERT INTO runs SELECT ?, "
            f"(SELECT COALESCE(MAX(attempt), 0) + 1 FROM runs WHERE key = ?), "
            f"{marks} WHERE NOT EXISTS "
            f"(SELECT 1 FROM runs WHERE key = ? AND status = 'ok')",
            [run.key, run.key, *values, *astuple(outcome), run.key],
        )

    def outcomes(self, keys: Iterable[str] | None = None) -> dict[str, Outcome]:
        """Latest outcome by key, for all runs or the given ones."""
        columns = ", ".join(_OUTCOME)
        rows = self._db.execute(f"SELECT key, {columns} FROM runs ORDER BY attempt")
        wanted = None if keys is None else set(keys)
        return {
            key: Outcome(**dict(zip(_OUTCOME, values, strict=True)))
            for key, *values in rows
            if wanted is None or key in wanted
        }

    def count(self) -> int:
        """Number of rows, repeated attempts included."""
        (n_rows,) = self._db.execute("SELECT COUNT(*) FROM runs").fetchone()
        return int(n_rows)

    def check(self) -> None:
        """Raise if the file is damaged or a key has two successes."""
        (verdict,) = self._db.execute("PRAGMA integrity_check").fetchone()
        doubled = self._db.execute(
            "SELECT key FROM runs WHERE status = 'ok' GROUP BY key HAVING COUNT(*) > 1"
        ).fetchall()
        if verdict != "ok" or doubled:
            msg = (
                f"{self.path} is damaged: {verdict}, {len(doubled)} doubled runs. "
                "Move it away and run again."
            )
            raise DatasetError(msg)
