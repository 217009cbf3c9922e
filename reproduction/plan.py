"""How a comparison is described: protocols, methods, and the single runs behind them.

A table shows one protocol on one data set. The protocols are in `protocols`.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import manyview.cluster
from manyview.exceptions import DatasetError
from reproduction.data import DataInfo

Params = dict[str, Any]

# What of a fitted model is scored: its labels, or the labels that it finds in every
# view, whose scores are averaged.
LABELS, VIEW_LABELS = "labels_", "view_labels_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One fit: everything that decides its labels, apart from the code.

    data : checksum of the data set.
    method : class of `manyview.cluster`, or ``package.module:Class``.
    params : canonical JSON of the parameters that differ from the defaults.
    scored : attribute of the fitted model, `LABELS` or `VIEW_LABELS`.
    noise : ``view:share`` of samples whose view is noise, "" for none.
    """

    dataset: str
    data: str
    method: str
    params: str
    scored: str
    noise: str
    repeat: int
    seed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A run and its place among the results: equal runs may have several places.

    printed : the row of the paper's table that the method is compared with, or "".
    tuned : whether labels choose among several settings of this method.
    confirm : repeats that the chosen setting of a tuned method gets in the end.
    """

    protocol: str
    label: str
    printed: str
    tuned: bool
    confirm: int
    run: Run


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a protocol.

    grid : parameter name -> values; every combination is a setting. More than one makes
        the row "tuned with labels": the setting with the best mean ACC is shown.
    each_view : whether the method clusters one view. It then becomes one row per view,
        ``label(1)``, ``label(2)``, ...
    printed : the row of the paper's table it is compared with; its label by default.
    scored : what of the fitted model is scored, `LABELS` or `VIEW_LABELS`.
    repeats : instead of the protocol's own number.
    confirm : once labels have chosen a setting, it is repeated this often in all.
    """

    label: str
    estimator: str
    params: Params = field(default_factory=dict)
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    each_view: bool = False
    printed: str = ""
    scored: str = LABELS
    repeats: int | None = None
    confirm: int = 0

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

    views : data set -> the view. left_out : labels of methods that take no part.
    """

    views: dict[str, str]
    shares: tuple[float, ...]
    repeats: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """A way to compare methods.

    compared : with the printed numbers. ranked : methods by their mean rank.
    """

    name: str
    title: str
    description: str
    repeats: int
    datasets: tuple[str, ...]
    methods: tuple[Method, ...]
    compared: bool = True
    ranked: bool = False
    noise: Noise | None = None

    def entries(self, data: DataInfo) -> list[Entry]:
        """What the table of a data set needs."""
        return [
            entry
            for method in self.methods
            for entry in self._entries(method, data, method.repeats or self.repeats)
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
            if method.label not in self.noise.left_out
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
                    confirm=method.confirm,
                    run=Run(
                        dataset=data.source,
                        data=data.checksum,
                        method=method.estimator,
                        params=canonical(params),
                        scored=method.scored,
                        noise=noise,
                        repeat=repeat,
                        seed=seed_for(data.name, repeat),
                    ),
                )


def confirmations(chosen: Entry) -> list[Entry]:
    """The repeats that the chosen setting of a tuned method still needs."""
    name = Path(chosen.run.dataset).stem
    repeats = range(chosen.run.repeat + 1, chosen.confirm)
    return [
        replace(
            chosen, run=replace(chosen.run, repeat=repeat, seed=seed_for(name, repeat))
        )
        for repeat in repeats
    ]


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
