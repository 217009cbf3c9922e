"""From a protocol to single runs, each with its seed and its identity."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from manyview.bench._data import BenchData, Corruption, DataRef
from manyview.bench._fingerprint import code_version
from manyview.bench._methods import find_estimator
from manyview.bench._protocol import Params, Protocol, TableRow

# Rough seconds of one fit on 2000 samples: they only order the work, cheap first, and
# give a first estimate of the time left until real ones are known.
EXPECTED_SECONDS = {
    "ViewKMeans": 0.05,
    "ConcatKMeans": 0.1,
    "NSMVC": 0.3,
    "CAMVC": 0.3,
    "MSPL": 0.4,
    "SAMVC": 0.6,
    "DMVC": 1.5,
    "AMGL": 2.0,
    "CoTrain": 5.0,
    "MVKKM": 6.0,
    "CoReg": 8.0,
}
# Their restarts repeat only the k-means at the end.
CHEAP_RESTARTS = {"AMGL", "CoTrain", "CoReg"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One fit: everything that decides its outcome.

    params : canonical JSON of the parameters that differ from the defaults.
    corruption : noise put into a view beforehand, or None.
    version : version of the method's package and a hash of the code behind it.
    """

    ref: DataRef
    checksum: str
    n_samples: int
    n_clusters: int
    estimator: str
    params: str
    corruption: Corruption | None
    repeat: int
    seed: int
    version: str

    @property
    def dataset(self) -> str:
        return self.ref.name

    @property
    def variant(self) -> str:
        """What was done to the data, "" for nothing."""
        if self.corruption is None:
            return ""
        return f"noise in {self.corruption.view}: {self.corruption.share:g}"

    @property
    def key(self) -> str:
        """Identity of the run: equal keys mean equal labels."""
        parts = [
            self.dataset,
            self.checksum,
            self.n_clusters,
            self.estimator,
            self.params,
            self.variant,
            self.repeat,
            self.seed,
            self.version,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    @property
    def n_init(self) -> int:
        """Restarts of the fit, 1 for methods that know none."""
        given = json.loads(self.params).get("n_init")
        return _default_restarts(self.estimator) if given is None else int(given)

    @property
    def expected_seconds(self) -> float:
        """Rough guess, for ordering and for the first estimate of the time left."""
        base = EXPECTED_SECONDS.get(self.estimator, 1.0)
        restarts = 1 if self.estimator in CHEAP_RESTARTS else self.n_init
        return float(base * restarts * (self.n_samples / 2000) ** 1.5)


@cache
def _default_restarts(estimator: str) -> int:
    known = inspect.signature(find_estimator(estimator)).parameters.get("n_init")
    return known.default if known and isinstance(known.default, int) else 1


def seed_for(dataset: str, repeat: int) -> int:
    """Seed of a repeat: the same for every method, different between data sets."""
    digest = hashlib.sha256(f"{dataset}/{repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def canonical(params: Params) -> str:
    """Parameters as text that does not depend on their order."""
    return json.dumps(params, sort_keys=True, separators=(",", ":"))


def runs_of(
    data: BenchData,
    row: TableRow,
    repeats: int,
    corruption: Corruption | None = None,
) -> list[list[Run]]:
    """Per setting of the row, its runs in the order of the repeats."""
    version = code_version(row.estimator)
    return [
        [
            Run(
                ref=data.ref,
                checksum=data.checksum,
                n_samples=data.n_samples,
                n_clusters=data.n_clusters,
                estimator=row.estimator,
                params=canonical(params),
                corruption=corruption,
                repeat=repeat,
                seed=seed_for(data.name, repeat),
                version=version,
            )
            for repeat in range(repeats)
        ]
        for params in row.settings
    ]


def table_rows(protocol: Protocol, data: BenchData) -> list[TableRow]:
    """The lines of the table of a data set, in the protocol's order."""
    n_views = len(data.view_names)
    return [row for entry in protocol.methods for row in entry.rows(n_views)]


def plan_tables(protocol: Protocol, datasets: Iterable[BenchData]) -> list[Run]:
    """All runs behind the tables of a protocol."""
    return [
        run
        for data in datasets
        for row in table_rows(protocol, data)
        for setting in runs_of(data, row, protocol.repeats)
        for run in setting
    ]


def robustness_rows(protocol: Protocol, data: BenchData) -> list[TableRow]:
    """The methods of the noise experiment: those that use all views, nothing tuned."""
    if protocol.robustness is None:
        return []
    n_views = len(data.view_names)
    return [
        row
        for entry in protocol.methods
        if entry.each_view is None and entry.label not in protocol.robustness.skip
        for row in entry.rows(n_views)
        if not row.tuned
    ]


def plan_robustness(protocol: Protocol, datasets: Iterable[BenchData]) -> list[Run]:
    """All runs of the noise experiment, on those of its data sets that are at hand."""
    if protocol.robustness is None:
        return []
    plan = []
    for data in datasets:
        if data.name not in protocol.robustness.views:
            continue
        for share in protocol.robustness.shares:
            corruption = corruption_for(protocol, data.name, share)
            for row in robustness_rows(protocol, data):
                (runs,) = runs_of(data, row, protocol.robustness.repeats, corruption)
                plan += runs
    return plan


def corruption_for(protocol: Protocol, dataset: str, share: float) -> Corruption | None:
    """The noise of one step; none at all for share 0, which equals an ordinary run."""
    assert protocol.robustness is not None
    if share == 0:
        return None
    return Corruption(view=protocol.robustness.views[dataset], share=share)


def unique_runs(plan: Sequence[Run]) -> list[Run]:
    """Every run once, cheap ones first; a stable order, whatever was planned first."""
    once = {run.key: run for run in plan}
    return sorted(
        once.values(),
        key=lambda run: (
            run.expected_seconds,
            run.dataset,
            run.estimator,
            run.params,
            run.variant,
            run.repeat,
        ),
    )
