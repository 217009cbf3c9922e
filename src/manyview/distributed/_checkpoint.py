"""A folder from which a fit goes on after its driver or its scheduler is gone.

fit.json : which fit this is, and the seeds of its restarts.
state.npz : where it stands, with all that the driver knows; replaced in one step.
step-N/part-I.npz : the samples of part I after iteration N, written by its worker.
best.npz : the best restart that is finished; its samples are in the step named there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from manyview._files import UNREADABLE, whole_file
from manyview._results import NSMVCResult, pack_history, unpack_history
from manyview._solvers._cluster_sums import ClusterSums
from manyview._solvers._nsmvc import LoopState
from manyview._solvers._restarts import choose_restart
from manyview._solvers._state import SampleState
from manyview._typing import FloatArray
from manyview.distributed._blocks import Part
from manyview.distributed._data import DaskRows, map_parts
from manyview.distributed._samples import DaskSamples, Run
from manyview.exceptions import CheckpointError

Arrays = dict[str, Any]


class Checkpoint:
    """The checkpoint folder of a fit of `data`.

    seeds : of all restarts. state, best : what the files of these names hold, nothing
    at the beginning. `restart` is the one under way or, where the state has the
    `unexplained` shares of a finished one, the next to begin. `step` counts the
    iterations of the whole fit and names the samples' folder.
    """

    def __init__(
        self,
        folder: str | Path,
        data: DaskRows,
        n_clusters: int,
        identity: dict[str, Any],
        seeds: list[int],
    ) -> None:
        self.folder = Path(folder).resolve()
        self.data, self.n_clusters = data, int(n_clusters)
        self.seeds = self._identify(identity, seeds)
        self.state, self.best = self._read("state.npz"), self._read("best.npz")
        if self.state.get("restart", 0) > 0 and not self.best:
            with _reading(self.folder / "best.npz"):
                raise FileNotFoundError
        self._seen_by_workers = False

    def best_restart(
        self,
        begin: Callable[[int], Run],
        run: Callable[[int, DaskSamples, LoopState], NSMVCResult],
    ) -> NSMVCResult:
        """The best of all restarts; what is done already is not done again.

        begin : makes the start of a restart from its seed; run : brings it to its end.
        """
        best = run(0, *self.load(self.best)) if self.best else None
        for restart in range(self.state.get("restart", 0), len(self.seeds)):
            under_way = self.state and "unexplained" not in self.state
            start = self.load(self.state) if under_way else begin(self.seeds[restart])
            self._follow(start[0])
            result = run(restart, *start)
            best = result if best is None else choose_restart([best, result])
            self.state = self.state | {"unexplained": result.unexplained}
            if best is result:
                self.best = self.state
                self._write("best.npz", self.best)
            # The next one begins from nothing; a driver that dies now skips this one.
            self.state = self.state | {"restart": restart + 1}
            self._write("state.npz", self.state)
        assert best is not None
        return best

    def save(self, restart: int, loop: LoopState, samples: DaskSamples) -> None:
        """Record that a sweep is done, and have the next one write its samples."""
        self.state = {
            "restart": restart,
            "step": self.state.get("step", 0) + 1,
            "masses": samples.clusters.masses,
            "energy": samples.energy,
            "pace": loop.pace,
            "iteration": loop.iteration,
            "thresholds": loop.thresholds,
            "exponents": loop.exponents,
            "converged": loop.converged,
            **{f"sums{v}": sums for v, sums in enumerate(samples.clusters.sums)},
            **{f"centers{v}": centers for v, centers in enumerate(loop.centers)},
            **pack_history(loop.history),
        }
        self._check_sharing()
        self._write("state.npz", self.state)
        self._follow(samples)

    def load(self, saved: Arrays) -> Run:
        """A saved run, with its samples on the cluster again."""
        k, n_views, lengths = self.n_clusters, len(self.data.scales), self.data.lengths
        take = partial(_take, saved, "f")

        def take_tables(name: str) -> tuple[FloatArray, ...]:
            widths = [len(scale.factor) for scale in self.data.scales]
            return tuple(take(f"{name}{v}", k, width) for v, width in enumerate(widths))

        folder = self._step_folder(saved["step"])
        paths = [_part_path(folder, i) for i in range(len(lengths))]
        parts = map_parts(read_part, paths, lengths, same=[n_views, k])
        samples = DaskSamples(self.data, parts, k)
        samples.clusters = ClusterSums(
            sums=take_tables("sums"), masses=take("masses", n_views, k)
        )
        samples.energy = take("energy", n_views)
        return samples, LoopState(
            centers=take_tables("centers"),
            pace=int(saved["pace"]),
            iteration=int(saved["iteration"]),
            thresholds=take("thresholds", n_views),
            exponents=take("exponents", n_views),
            converged=bool(saved["converged"]),
            history=unpack_history(saved),
        )

    def remove(self) -> None:
        """The fit is over: nothing is left to go on from."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _follow(self, samples: DaskSamples) -> None:
        folder = self._step_folder(self.state.get("step", 0) + 1)
        samples.save = partial(write_part, folder)

    def _step_folder(self, step: int) -> Path:
        return self.folder / f"step-{step}"

    def _identify(self, identity: dict[str, Any], seeds: list[int]) -> list[int]:
        """Check that the folder is ours, or make it so; the seeds in force."""
        path = self.folder / "fit.json"
        # As it will be read: tuples are lists in JSON, and NumPy's numbers plain ones.
        text = json.dumps(identity, default=lambda value: np.asarray(value).tolist())
        identity = json.loads(text)
        if not path.exists():
            # A driver that was killed here may have left a temporary file.
            found = self.folder.iterdir() if self.folder.exists() else ()
            if any(entry.suffix != ".part" for entry in found):
                msg = (
                    f"{self.folder} is not empty and holds no checkpoint. "
                    "Choose a folder of its own for it."
                )
                raise CheckpointError(msg)
            self.folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path, "w") as file:
                json.dump({**identity, "seeds": seeds}, file)
            return seeds
        with _reading(path):
            written = json.loads(path.read_text())
            stored: list[int] = written.pop("seeds")
            if len(stored) != len(seeds) or not all(map(_is_seed, stored)):
                raise ValueError
        differs = [key for key, value in identity.items() if written.get(key) != value]
        if differs:
            msg = (
                f"The checkpoint {self.folder} is of another fit: {differs[0]} was "
                f"{written.get(differs[0])!r} and is {identity[differs[0]]!r} now. "
                "Fit as before, or choose another folder."
            )
            raise CheckpointError(msg)
        return stored

    def _check_sharing(self) -> None:
        """A folder that workers write elsewhere is no checkpoint: say so at once."""
        if self._seen_by_workers:
            return
        folder, n_parts = self._step_folder(self.state["step"]), len(self.data.lengths)
        n_missing = sum(not _part_path(folder, i).exists() for i in range(n_parts))
        if n_missing:
            msg = (
                f"{n_missing} of {n_parts} parts are not in {folder} after an "
                "iteration. The checkpoint must be on storage that the driver and all "
                "workers see under the same path."
            )
            raise CheckpointError(msg)
        self._seen_by_workers = True

    def _write(self, name: str, saved: Arrays) -> None:
        """Replace a file, and remove samples that no file names any more."""
        _write_arrays(self.folder / name, saved)
        runs = (self.state, self.best)
        kept = [self._step_folder(run["step"]) for run in runs if run]
        for folder in self.folder.glob("step-*"):
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _read(self, name: str) -> Arrays:
        path = self.folder / name
        if not path.exists():
            return {}
        with _reading(path):
            saved = _read_arrays(path)
            saved |= {name: int(saved[name]) for name in ("restart", "step")}
            self.load(saved)
        return saved


def write_part(folder: Path, number: int, state: SampleState) -> None:
    """Labels, selection and paces of joining, in few bytes per sample.

    The rest of a state is worked out again from the centres.
    """
    arrays = {
        "labels": _narrow(state.labels),
        "selected": np.packbits(state.selected, axis=1),
        "joined_pace": _narrow(state.joined_pace),
    }
    folder.mkdir(parents=True, exist_ok=True)
    _write_arrays(_part_path(folder, number), arrays)


def read_part(path: Path, n_rows: int, n_views: int, n_clusters: int) -> Part:
    """A part that goes on as the written one would; its bounds are loose."""
    with _reading(path):
        stored = _read_arrays(path)
        labels = _take(stored, "u", "labels", n_rows)
        packed = _take(stored, "u", "selected", n_views, -(-n_rows // 8))
        selected = np.unpackbits(packed, axis=1, count=n_rows).astype(bool)
        joined_pace = _take(stored, "u", "joined_pace", n_views, n_rows)
        if labels.max(initial=0) >= n_clusters:
            raise ValueError
    state = SampleState.begin(labels, n_views)
    state.weights, state.joined_pace = selected, joined_pace.astype(np.int16)
    return Part(state=state)


def _part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number}.npz"


def _write_arrays(path: Path, arrays: Arrays) -> None:
    """Write an npz file that is there as a whole or not at all."""
    # Two workers may write the same part, if Dask runs a task twice: each has a
    # temporary file of its own.
    with whole_file(path) as file:
        np.savez(file, **arrays)


def _read_arrays(path: Path) -> Arrays:
    # Opened here: NumPy leaves a file that it cannot read open.
    with path.open("rb") as file, np.load(file) as stored:
        return dict(stored)


def _take(stored: Arrays, kind: str, name: str, *shape: int) -> Any:
    """An array that was read, if it is of this kind and shape: kernels trust it."""
    array = stored[name]
    if array.dtype.kind != kind or array.shape != shape:
        raise ValueError(name)
    return array


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """One sentence for a file that is not what was written."""
    try:
        yield
    except (*UNREADABLE, OSError) as error:
        gone = isinstance(error, FileNotFoundError)
        what = "gone, or a worker cannot see it" if gone else "damaged"
        msg = f"{path} is {what}. Remove the checkpoint folder to begin anew."
        raise CheckpointError(msg) from error


def _is_seed(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**32


def _narrow(values: Any) -> Any:
    """The values in the smallest unsigned type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
