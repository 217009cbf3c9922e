"""Live progress on a terminal; silence everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from manyview.cli import _render

if TYPE_CHECKING:
    from manyview._results import IterationRecord


@contextmanager
def progress_bar(title: str, total: int | None = None) -> Iterator[Any]:
    """Draw a bar on stderr; yields what updates it, or None without a terminal."""
    if not _render.err.is_terminal:
        yield None
        return
    from rich import progress

    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=24),
        progress.TextColumn("{task.fields[state]}", markup=False),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=_render.err, transient=True) as bar:
        yield partial(bar.update, bar.add_task(title, total=total, state=""))


@contextmanager
def fit_progress(
    estimator: Any,
) -> Iterator[Callable[[int, IterationRecord], None] | None]:
    """A callback for `fit` that shows restart, pace, iteration and objective."""
    from manyview._results import PaceRecord

    settings = estimator.get_params()
    n_restarts, n_stages = settings.get("n_init", 1), settings.get("n_paces", 1)
    with progress_bar("Preparing", n_restarts * n_stages) as update:

        def tell(restart: int, record: IterationRecord) -> None:
            word = "pace" if isinstance(record, PaceRecord) else "stage"
            parts = [
                f"restart {restart + 1}/{n_restarts}",
                f"{word} {record.stage}/{n_stages}",
                f"iteration {record.iteration}",
                f"objective {record.objective:.5g}",
            ]
            update(
                description="Clustering",
                completed=restart * n_stages + min(record.stage, n_stages) - 1,
                state=" · ".join(parts),
            )

        if update is not None:
            update(state="the first run compiles")
        yield None if update is None else tell


@contextmanager
def choice_progress() -> Iterator[Callable[[int, int], None] | None]:
    """A callback for `choose_n_clusters`."""
    with progress_bar("Choosing the number of clusters") as update:

        def tell(n_done: int, n_fits: int) -> None:
            update(completed=n_done, total=n_fits, state=f"fit {n_done}/{n_fits}")

        yield None if update is None else tell
