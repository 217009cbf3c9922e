"""Live progress on a terminal; silence everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from manyview._results import IterationRecord, PaceRecord


def _bar(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


@contextmanager
def fit_progress(
    console: Console, estimator: Any
) -> Iterator[Callable[[int, IterationRecord], None] | None]:
    """A callback for `fit` that draws restart, pace, iteration and objective.

    None where nobody is watching.
    """
    if not console.is_terminal:
        yield None
        return
    settings = estimator.get_params()
    n_restarts = settings.get("n_init", 1)
    n_stages = settings.get("n_paces", 1)
    with _bar(console) as progress:
        task = progress.add_task(
            "Preparing", total=n_restarts * n_stages, state="the first run compiles"
        )

        def tell(restart: int, record: IterationRecord) -> None:
            stage = min(record.stage, n_stages)
            word = "pace" if isinstance(record, PaceRecord) else "stage"
            parts = [
                f"restart {restart + 1}/{n_restarts}",
                f"{word} {record.stage}/{n_stages}",
                f"iteration {record.iteration}",
                f"objective {record.objective:.5g}",
            ]
            progress.update(
                task,
                description="Clustering",
                completed=restart * n_stages + stage - 1,
                state=" · ".join(parts),
            )

        yield tell


@contextmanager
def choice_progress(console: Console) -> Iterator[Callable[[int, int], None] | None]:
    """A callback for `choose_n_clusters`."""
    if not console.is_terminal:
        yield None
        return
    with _bar(console) as progress:
        task = progress.add_task("Choosing the number of clusters", state="")

        def tell(n_done: int, n_fits: int) -> None:
            progress.update(
                task, completed=n_done, total=n_fits, state=f"fit {n_done}/{n_fits}"
            )

        yield tell


@contextmanager
def method_progress(
    console: Console, n_methods: int
) -> Iterator[Callable[[str], None]]:
    """A callback that names the method that starts."""
    if not console.is_terminal:
        yield lambda _name: None
        return
    with _bar(console) as progress:
        task = progress.add_task("Comparing", total=n_methods, completed=-1, state="")

        def tell(name: str) -> None:
            progress.update(task, advance=1, state=name)

        yield tell
