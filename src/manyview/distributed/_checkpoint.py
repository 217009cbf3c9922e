"""A folder from which a fit goes on after its driver or its scheduler is gone.

fit.json : which fit this is, and the seeds of its restarts.
state.npz : where it stands, with all that the driver knows; replaced in one step.
step-N/part-I.npz : the samples of part I after iteration N, written by its worker.
best.npz : the best restart that is finished; its samples are in the step named there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyview._files import UNREADABLE, whole_file
from manyview._results import pack_history, share_rounding, unpack_history
from manyview._solvers._cluster_sums import ClusterSums
from manyview._solvers._nsmvc import LoopState
from manyview._typing import FloatArray
from manyview.distributed import _blocks
from manyview.distributed._samples import DaskRows, DaskSamples, map_parts
from manyview.distributed._snapshot import DAMAGED, write_arrays
from manyview.exceptions import CheckpointError


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """A run as it was saved.

    step : iterations of the whole fit up to here, which names the samples' folder.
    clusters, energy : what the driver knows of the samples, see `DaskSamples`.
    unexplained : (n_views,), of a finished restart, else None.
    """

    restart: int
    step: int
    loop: LoopState
    clusters: ClusterSums
    energy: FloatArray
    unexplained: FloatArray | None

    @property
    def under_way(self) -> bool:
        """Whether the restart had begun; else it is the next to begin."""
        return self.unexplained is None


class Checkpoint:
    """The checkpoint folder of a fit of `data`.

    seeds : of all restarts; saved : where the fit stands; best : its best restart so
    far. Both are None at the beginning.
    """

    def __init__(
        self,
        folder: Path,
        identity: dict[str, Any],
        seeds: Sequence[int],
        data: DaskRows,
        n_clusters: int,
    ) -> None:
        self.folder = folder.resolve()
        self.data, self.n_clusters = data, n_clusters
        self.seeds = self._identify(identity, seeds)
        self.saved = self._read("state.npz")
        self.best = self._read("best.npz")
        self.step = 0 if self.saved is None else self.saved.step
        self._seen_by_workers = False

    def follow(self, restart: int, loop: LoopState, samples: DaskSamples) -> None:
        """Have the sweeps of a restart write its samples, from this state on."""
        self._restart, self._loop, self._samples = restart, loop, samples
        folder = self._step_folder(self.step + 1)
        samples.snapshot = lambda part: folder / f"part-{part}.npz"

    def save(self, loop: LoopState) -> None:
        """Record that the sweep that was followed is done, and follow the next."""
        self.step += 1
        self._check_sharing(len(self._samples.parts))
        self.follow(self._restart, loop, self._samples)
        self._write("state.npz", self._restart, None)
        self._tidy()

    def finish(self, unexplained: FloatArray) -> None:
        """Record that a restart is over, and keep it if it is the best so far."""
        best = None if self.best is None else self.best.unexplained
        if best is None or _explains_more(unexplained, best):
            self._write("best.npz", self._restart, unexplained)
            self.best = self._read("best.npz")
        # The next restart begins from nothing; a driver that dies now skips this one.
        self._write("state.npz", self._restart + 1, unexplained)
        self._tidy()

    def load(self, saved: Saved) -> DaskSamples:
        """The samples of a saved run, on the cluster again."""
        folder, lengths = self._step_folder(saved.step), self.data.lengths
        paths = [folder / f"part-{i}.npz" for i in range(len(lengths))]
        same = [len(self.data.scales), self.n_clusters]
        parts = map_parts(_blocks.resume, paths, lengths, same=same)
        samples = DaskSamples(self.data, parts, self.n_clusters)
        samples.clusters, samples.energy = saved.clusters, saved.energy
        return samples

    def remove(self) -> None:
        """The fit is over: nothing is left to go on from."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _step_folder(self, step: int) -> Path:
        return self.folder / f"step-{step}"

    def _identify(self, identity: dict[str, Any], seeds: Sequence[int]) -> list[int]:
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
                json.dump({**identity, "seeds": list(seeds)}, file)
            return list(seeds)
        try:
            written = json.loads(path.read_text())
            stored: list[int] = written.pop("seeds")
            if not _are_seeds(stored, len(seeds)):
                raise ValueError
        except (*UNREADABLE, OSError) as error:
            raise CheckpointError(DAMAGED.format(path=path)) from error
        differs = [key for key, value in identity.items() if written.get(key) != value]
        if differs:
            msg = (
                f"The checkpoint {self.folder} is of another fit: {differs[0]} was "
                f"{written.get(differs[0])!r} and is {identity[differs[0]]!r} now. "
                "Fit as before, or choose another folder."
            )
            raise CheckpointError(msg)
        return stored

    def _check_sharing(self, n_parts: int) -> None:
        """A folder that workers write elsewhere is no checkpoint: say so at once."""
        if self._seen_by_workers:
            return
        folder = self._step_folder(self.step)
        missing = [i for i in range(n_parts) if not (folder / f"part-{i}.npz").exists()]
        if missing:
            msg = (
                f"{len(missing)} of {n_parts} parts are not in {folder} after an "
                "iteration. The checkpoint must be on storage that the driver and all "
                "workers see under the same path."
            )
            raise CheckpointError(msg)
        self._seen_by_workers = True

    def _tidy(self) -> None:
        kept = {self.step, -1 if self.best is None else self.best.step}
        for folder in self.folder.glob("step-*"):
            if folder not in {self._step_folder(step) for step in kept}:
                shutil.rmtree(folder, ignore_errors=True)

    def _write(self, name: str, restart: int, unexplained: FloatArray | None) -> None:
        loop, samples = self._loop, self._samples
        arrays = {
            "restart": restart,
            "step": self.step,
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
        if unexplained is not None:
            arrays["unexplained"] = unexplained
        write_arrays(self.folder / name, **arrays)

    def _read(self, name: str) -> Saved | None:
        path = self.folder / name
        if not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file) as stored:
                arrays = dict(stored)
            self._check_shapes(arrays)
            views = range(len(self.data.scales))
            return Saved(
                restart=int(arrays["restart"]),
                step=int(arrays["step"]),
                loop=LoopState(
                    centers=tuple(arrays[f"centers{v}"] for v in views),
                    pace=int(arrays["pace"]),
                    iteration=int(arrays["iteration"]),
                    thresholds=arrays["thresholds"],
                    exponents=arrays["exponents"],
                    converged=bool(arrays["converged"]),
                    history=unpack_history(arrays),
                ),
                clusters=ClusterSums(
                    sums=tuple(arrays[f"sums{v}"] for v in views),
                    masses=arrays["masses"],
                ),
                energy=arrays["energy"],
                unexplained=arrays.get("unexplained"),
            )
        except (*UNREADABLE, OSError) as error:
            raise CheckpointError(DAMAGED.format(path=path)) from error

    def _check_shapes(self, stored: Mapping[str, Any]) -> None:
        """Kernels trust what the driver knows."""
        n_views = len(self.data.scales)
        shapes: dict[str, tuple[int, ...]] = {"masses": (n_views, self.n_clusters)}
        shapes |= dict.fromkeys(("energy", "thresholds", "exponents"), (n_views,))
        for v, scale in enumerate(self.data.scales):
            of_view = (self.n_clusters, len(scale.factor))
            shapes[f"sums{v}"] = shapes[f"centers{v}"] = of_view
        for name, shape in shapes.items():
            if stored[name].dtype.kind != "f" or stored[name].shape != shape:
                raise ValueError(name)


def _are_seeds(values: Any, n_restarts: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) == n_restarts
        and all(type(seed) is int and 0 <= seed < 2**32 for seed in values)
    )


def _explains_more(unexplained: FloatArray, best: FloatArray) -> bool:
    """As `choose_restart` judges; of equal runs the first is kept."""
    before, after = float(best.sum()), float(unexplained.sum())
    return before - after > share_rounding(before)
