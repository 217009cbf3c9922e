"""Methods for the tests of the runner: steady, failing, dying ones."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info


class Steady:
    """Splits at the mean of the first column and gets some samples wrong by seed."""

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        wrong: float = 0.2,
        delay: float = 0.0,
        log: str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.wrong = wrong
        self.delay = delay
        self.log = log
        self.random_state = random_state

    def fit(self, views: list[Any]) -> Steady:
        time.sleep(self.delay)
        column = np.asarray(views[0])[:, 0]
        flip = np.random.RandomState(self.random_state).rand(len(column)) < self.wrong
        self.labels_ = (column > column.mean()) ^ flip
        if self.log is not None and len(column) > 60:
            with Path(self.log).open("a") as log:
                log.write(f"{self.random_state}\n")
        return self


class Failing(Steady):
    """Fails for seeds not divisible by four."""

    def fit(self, views: list[Any]) -> Steady:
        if self.random_state and self.random_state % 4:
            msg = f"seed {self.random_state} is\nnot divisible by four"
            raise RuntimeError(msg)
        return super().fit(views)


class Dying(Steady):
    """Takes its process along, as a lack of memory would."""

    def fit(self, views: list[Any]) -> Steady:
        if self.random_state:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(views)


class Threads(Steady):
    """Reports as iterations the largest number of threads any library would use."""

    def fit(self, views: list[Any]) -> Steady:
        np.ones((50, 50)) @ np.ones((50, 50))
        self.n_iter_ = max(pool["num_threads"] for pool in threadpool_info())
        return super().fit(views)


class Processes(Steady):
    """Reports as iterations the process it runs in."""

    def fit(self, views: list[Any]) -> Steady:
        self.n_iter_ = os.getpid()
        return super().fit(views)


class Views(Steady):
    """Labels per view: in the first those of `Steady`, in the second one cluster."""

    def fit(self, views: list[Any]) -> Steady:
        super().fit(views)
        self.view_labels_ = np.stack([self.labels_, np.zeros_like(self.labels_)])
        return self
