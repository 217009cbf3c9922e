"""What runs: protocols, their methods and settings, and the single runs behind them.

A table shows one protocol on one data set. A new method is one more `Method` in a
protocol, a new comparison one more `Protocol` in `PROTOCOLS`.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import manyview.cluster
from manyview.exceptions import DatasetError
from reproduction.data import DataInfo

Params = dict[str, Any]

SIX_SETS = ("handwritten", "msrcv1", "cornell", "texas", "washington", "wisconsin")


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One fit: everything that decides its labels, apart from the code.

    data : checksum of the data set.
    method : class of `manyview.cluster`, or ``package.module:Class``.
    params : canonical JSON of the parameters that differ from the defaults.
    noise : ``view:share`` of samples whose view is noise, "" for none.
    """

    dataset: str
    data: str
    method: str
    params: str
    noise: str
    repeat: int
    seed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A run and its place among the results: equal runs may have several places.

    printed : the row of the paper's table that the method is compared with, or "".
    tuned : whether labels choose among several settings of this method.
    """

    protocol: str
    label: str
    printed: str
    tuned: bool
    run: Run


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a protocol.

    grid : parameter name -> values; every combination is a setting. More than one makes
        the row "tuned with labels": the setting with the best mean ACC is shown.
    each_view : whether the method clusters one view. It then becomes one row per view,
        ``label(1)``, ``label(2)``, ...
    printed : the row of the paper's table it is compared with; its label by default.
    """

    label: str
    estimator: str
    params: Params = field(default_factory=dict)
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    each_view: bool = False
    printed: str = ""

    def settings(self, n_views: int) -> Iterator[tuple[str, Params]]:
        """What follows the label, and the parameters."""
        if self.each_view:
            for view in range(n_views):
                yield f"({view + 1})", {**self.params, "view": view}
            return
        for values in itertools.product(*self.grid.values()):
            yield "", {**self.params, **dict(zip(self.grid, values, strict=True))}


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """An experiment in which a view is replaced by noise, step by step.

    views : data set -> the view.
    """

    views: dict[str, str]
    shares: tuple[float, ...]
    repeats: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """A way to compare methods; compared: with the printed numbers."""

    name: str
    title: str
    description: str
    repeats: int
    datasets: tuple[str, ...]
    methods: tuple[Method, ...]
    compared: bool = True
    noise: Noise | None = None

    def entries(self, data: DataInfo) -> list[Entry]:
        """What the table of a data set needs."""
        return [
            entry
            for method in self.methods
            for entry in self._entries(method, data, self.repeats)
        ]

    def noise_entries(self, data: DataInfo) -> list[Entry]:
        """What the noise experiment needs: methods that use all views, not tuned."""
        if self.noise is None or data.name not in self.noise.views:
            return []
        view = self.noise.views[data.name]
        return [
            entry
            for method in self.methods
            if not method.each_view and not method.grid
            for share in self.noise.shares
            for entry in self._entries(
                method,
                data,
                min(self.repeats, self.noise.repeats),
                # Without noise it is an ordinary run.
                f"{view}:{share:g}" if share else "",
            )
        ]

    def _entries(
        self, method: Method, data: DataInfo, repeats: int, noise: str = ""
    ) -> Iterator[Entry]:
        printed = (method.printed or method.label) if self.compared else ""
        for suffix, params in method.settings(len(data.view_names)):
            for repeat in range(repeats):
                yield Entry(
                    protocol=self.name,
                    label=method.label + suffix,
                    printed=printed + suffix if printed else "",
                    tuned=bool(method.grid),
                    run=Run(
                        dataset=data.source,
                        data=data.checksum,
                        method=method.estimator,
                        params=canonical(params),
                        noise=noise,
                        repeat=repeat,
                        seed=seed_for(data.name, repeat),
                    ),
                )


def seed_for(dataset: str, repeat: int) -> int:
    """Seed of a repeat: the same for every method, different between data sets."""
    digest = hashlib.sha256(f"{dataset}/{repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def canonical(params: Params) -> str:
    """Parameters as text that does not depend on their order."""
    return json.dumps(params, sort_keys=True, separators=(",", ":"))


def find_estimator(name: str) -> Any:
    """The class of `manyview.cluster`, or that of an import path ``module:Class``."""
    module_name, _, attribute = name.rpartition(":")
    try:
        module = importlib.import_module(module_name or manyview.cluster.__name__)
        return getattr(module, attribute)
    except (ImportError, AttributeError) as error:
        msg = (
            f"Cannot import the method {name!r}: {error}. Expected one of "
            f"{', '.join(manyview.cluster.__all__)}, or package.module:Class."
        )
        raise DatasetError(msg) from error


RAW: Params = {"n_init": 1, "scale": None}
MINMAX: Params = {"n_init": 1, "scale": "minmax"}
RANDOM: Params = {"init": "random", "n_init": 1, "scale": "minmax"}

PAPER = Protocol(
    name="paper",
    title="Paper protocol",
    description=(
        "As in the paper: 30 repeats, one start per run, the true number of clusters. "
        "k-means, Co-train, Co-reg, MVKKM and AMGL get raw features, as their authors' "
        "code does; CAMVC, MSPL, SAMVC, DMVC and NSMVC get min-max scaled views of "
        "unit Frobenius norm, one choice for all data sets. NSMVC's alpha and T come "
        "from the paper's grid by mean ACC: that row is tuned with labels, and the row "
        "NSMVC (0.5, 6) beside it is not."
    ),
    repeats=30,
    datasets=SIX_SETS,
    methods=(
        Method("KM", "ViewKMeans", RAW, each_view=True),
        Method("KM(All)", "ConcatKMeans", RAW),
        Method("Co-train", "CoTrain", RAW),
        Method("Co-reg", "CoReg", RAW),
        Method("MVKKM", "MVKKM", RAW),
        Method("AMGL", "AMGL", RAW),
        Method("CAMVC", "CAMVC", MINMAX),
        Method("MSPL", "MSPL", MINMAX),
        Method("SAMVC", "SAMVC", RANDOM),
        Method("DMVC", "DMVC", MINMAX),
        Method(
            "NSMVC",
            "NSMVC",
            RANDOM,
            grid={
                "pace_start": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
                "n_paces": (3, 4, 5, 6, 7, 8),
            },
        ),
        Method(
            "NSMVC (0.5, 6)",
            "NSMVC",
            {**RANDOM, "pace_start": 0.5, "n_paces": 6},
            printed="NSMVC",
        ),
    ),
    # Not in the paper. The views were named before any result was seen.
    noise=Noise(
        views={"handwritten": "pix", "msrcv1": "gist"},
        shares=(0.0, 0.25, 0.5, 0.75, 1.0),
        repeats=5,
    ),
)

DEFAULT = Protocol(
    name="default",
    title="Default protocol",
    description=(
        "What a user gets without touching a parameter: every method with its "
        "defaults, its own restarts and its own label-free choice among them. Nothing "
        "is tuned. Repeats differ in their seed only."
    ),
    repeats=10,
    datasets=SIX_SETS,
    methods=(
        Method("KM(All)", "ConcatKMeans"),
        Method("Co-train", "CoTrain"),
        Method("Co-reg", "CoReg"),
        Method("MVKKM", "MVKKM"),
        Method("AMGL", "AMGL"),
        Method("CAMVC", "CAMVC"),
        Method("MSPL", "MSPL"),
        Method("SAMVC", "SAMVC"),
        Method("DMVC", "DMVC"),
        Method("NSMVC", "NSMVC"),
    ),
    compared=False,
)

QUICK = replace(
    PAPER,
    name="quick",
    title="Quick look",
    description=(
        "The paper protocol cut down to a minute: few repeats, the methods that are "
        "cheap at 2000 samples, a corner of NSMVC's grid. Good to see that everything "
        "works, too small to compare with print."
    ),
    repeats=5,
    datasets=("handwritten",),
    methods=tuple(
        replace(m, grid={"pace_start": (0.3, 0.5), "n_paces": (3, 6)}) if m.grid else m
        for m in PAPER.methods
        if m.label not in ("Co-train", "Co-reg", "MVKKM", "AMGL", "DMVC")
    ),
    noise=None,
)

PROTOCOLS = {protocol.name: protocol for protocol in (PAPER, DEFAULT, QUICK)}
# Those of ``python -m reproduction all``.
FULL = ("paper", "default")
