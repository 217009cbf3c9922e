"""Do the runs that are missing, in parallel, one row each as soon as it is done."""

from __future__ import annotations

import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from statistics import median

from manyview.bench._plan import Run, unique_runs
from manyview.bench._store import Outcome, RunStore
from manyview.bench._worker import THREAD_VARIABLES, serve


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where a session stands after a run.

    seconds_left : estimate, from the times seen so far where there are any.
    """

    done: int
    total: int
    failed: int
    seconds_left: float
    run: Run


OnProgress = Callable[[Progress], None]


def usable_cores() -> int:
    """Number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pending_runs(
    plan: Sequence[Run], store: RunStore, *, retry_failed: bool = False
) -> list[Run]:
    """The planned runs that the store lacks, cheap ones first."""
    known = store.outcomes()
    return [
        run
        for run in unique_runs(plan)
        if run.key not in known or (retry_failed and not known[run.key].ok)
    ]


def run_plan(
    plan: Sequence[Run],
    store: RunStore,
    *,
    n_jobs: int = 1,
    retry_failed: bool = False,
    on_progress: OnProgress | None = None,
) -> None:
    """Do every planned run that the store lacks.

    Parameters
    ----------
    plan : sequence of Run
        What to do; a run planned twice is done once.
    store : RunStore
        Where rows go, each in its own transaction, as soon as its run ends. This
        process alone writes.
    n_jobs : int, default=1
        Number of worker processes, with one thread each.
    retry_failed : bool, default=False
        Whether to try runs again that failed before.
    on_progress : callable, default=None
        Called with a `Progress` after each run.

    Notes
    -----
    A run that raises, or whose worker dies, is a row with its error. An interrupt
    ends the workers and leaves the store with every run that had ended.
    """
    waiting = pending_runs(plan, store, retry_failed=retry_failed)
    clock = _Clock(waiting, n_jobs)
    failed = 0
    for done, (run, outcome, seconds) in enumerate(_work(waiting, n_jobs), start=1):
        store.add(run, outcome)
        failed += not outcome.ok
        clock.note(run, seconds)
        if on_progress is not None:
            on_progress(
                Progress(
                    done=done,
                    total=len(waiting),
                    failed=failed,
                    seconds_left=clock.seconds_left(),
                    run=run,
                )
            )


class _Clock:
    """Time left: what similar runs took so far, else the planner's rough guess."""

    def __init__(self, waiting: Sequence[Run], n_jobs: int) -> None:
        self._n_jobs = n_jobs
        self._left: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        self._seen: dict[tuple[str, str, int], deque[float]] = defaultdict(
            lambda: deque(maxlen=20)
        )
        for run in waiting:
            self._left[self._kind(run)].append(run.expected_seconds)

    @staticmethod
    def _kind(run: Run) -> tuple[str, str, int]:
        return run.dataset, run.estimator, run.n_init

    def note(self, run: Run, seconds: float) -> None:
        self._left[self._kind(run)].pop()
        self._seen[self._kind(run)].append(seconds)

    def seconds_left(self) -> float:
        total = 0.0
        for kind, guesses in self._left.items():
            seen = self._seen[kind]
            # The first runs of a worker include its start; a median forgets them.
            total += len(guesses) * median(seen) if seen else sum(guesses)
        return total / self._n_jobs


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    connection: Connection
    run: Run | None = None
    started: float = 0.0


def _work(waiting: Sequence[Run], n_jobs: int) -> Iterator[tuple[Run, Outcome, float]]:
    """Outcomes and the time they took, as they come. Dead workers are replaced."""
    queue = list(reversed(waiting))
    workers: list[_Worker] = []
    try:
        while queue or any(worker.run for worker in workers):
            while queue and len(workers) < n_jobs:
                workers.append(_start_worker())
            for worker in workers:
                if worker.run is None and queue:
                    _hand_over(worker, queue.pop())
            for worker in _ready(workers):
                run = worker.run
                assert run is not None
                outcome = _collect(worker)
                if outcome is None:
                    workers.remove(worker)
                    outcome = _bury(worker)
                yield run, outcome, time.monotonic() - worker.started
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join()


def _hand_over(worker: _Worker, run: Run) -> None:
    worker.run = run
    worker.started = time.monotonic()
    try:
        worker.connection.send(run)
    except BrokenPipeError:
        # It died between two runs; the dead end of the pipe is noticed when read.
        return


def _ready(workers: Sequence[_Worker]) -> list[_Worker]:
    """Busy workers that answered or died; waits for the first."""
    busy = {worker.connection: worker for worker in workers if worker.run is not None}
    return [busy[end] for end in wait(list(busy)) if isinstance(end, Connection)]


def _collect(worker: _Worker) -> Outcome | None:
    """The worker's answer, None if it died."""
    try:
        outcome: Outcome = worker.connection.recv()
    except (EOFError, OSError):
        return None
    worker.run = None
    return outcome


def _bury(worker: _Worker) -> Outcome:
    worker.process.join()
    worker.connection.close()
    code = worker.process.exitcode
    return Outcome(
        status="failed",
        error=(
            f"The worker process ended with exit code {code} during this run "
            "(-9 is usually a lack of memory)."
        ),
    )


def _start_worker() -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), daemon=True)
    with _one_thread_each():
        process.start()
    # Without this our own copy of the worker's end would hide that the worker died.
    theirs.close()
    return _Worker(process=process, connection=ours)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Children started inside read these variables before they load any library."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
