"""Protocols: which methods with which settings, how often, on which data sets."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from manyview.exceptions import DatasetError

Params = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRow:
    """One line of a results table.

    settings : the parameter settings tried. More than one makes the row "tuned with
        labels": the setting with the best mean ACC is shown.
    printed : the row of the paper's table it is held against.
    """

    label: str
    estimator: str
    settings: tuple[Params, ...]
    printed: str

    @property
    def tuned(self) -> bool:
        return len(self.settings) > 1


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodEntry:
    """A method of a protocol, before it meets a data set.

    grid : parameter name -> values; every combination is a setting.
    each_view : name of the parameter that picks one view. The entry then becomes one
        row per view, ``label(1)``, ``label(2)``, ...
    printed : the row of the paper's table it is held against, by default its label.
    """

    label: str
    estimator: str
    params: Params = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    each_view: str | None = None
    printed: str = ""

    def rows(self, n_views: int) -> list[TableRow]:
        """The lines this method fills in the table of a data set."""
        if self.each_view is not None:
            return [
                TableRow(
                    label=f"{self.label}({view + 1})",
                    estimator=self.estimator,
                    settings=({**self.params, self.each_view: view},),
                    printed=f"{self.printed or self.label}({view + 1})",
                )
                for view in range(n_views)
            ]
        settings = tuple(
            {**self.params, **dict(zip(self.grid, values, strict=True))}
            for values in itertools.product(*self.grid.values())
        )
        return [
            TableRow(
                label=self.label,
                estimator=self.estimator,
                settings=settings,
                printed=self.printed or self.label,
            )
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Robustness:
    """An experiment in which one view of each set is replaced by noise, step by step.

    views : data set -> the view that is corrupted.
    skip : labels of methods that stay out.
    """

    views: dict[str, str]
    shares: tuple[float, ...]
    repeats: int
    skip: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """A way to compare methods, read from a TOML file."""

    name: str
    title: str
    description: str
    repeats: int
    datasets: tuple[str, ...]
    methods: tuple[MethodEntry, ...]
    robustness: Robustness | None = None

    def restrict(
        self,
        *,
        datasets: Sequence[str] = (),
        methods: Sequence[str] = (),
        repeats: int | None = None,
    ) -> Protocol:
        """The protocol on some data sets, with some methods, repeated otherwise.

        The noise experiment is never repeated more often than it says itself.
        """
        chosen = self.methods
        if methods:
            known = {entry.label: entry for entry in self.methods}
            for label in methods:
                if label not in known:
                    msg = (
                        f"The protocol {self.name!r} has no method {label!r}. "
                        f"Known: {', '.join(known)}."
                    )
                    raise DatasetError(msg)
            chosen = tuple(e for e in self.methods if e.label in methods)
        noise = self.robustness
        if repeats is not None and noise is not None:
            noise = replace(noise, repeats=min(repeats, noise.repeats))
        return replace(
            self,
            datasets=tuple(datasets) or self.datasets,
            methods=chosen,
            repeats=self.repeats if repeats is None else repeats,
            robustness=noise,
        )

    def with_method(self, path: str) -> Protocol:
        """The protocol with one more method, at its default parameters.

        Parameters
        ----------
        path : str
            ``label=name`` or just ``name``, where the name is anything that
            `find_estimator` accepts.
        """
        label, _, name = path.rpartition("=")
        label = label or name.rpartition(":")[2]
        if label in {entry.label for entry in self.methods}:
            msg = (
                f"The protocol {self.name!r} already has a method {label!r}. "
                f"Give yours another label: --add-method my-{label}={name}."
            )
            raise DatasetError(msg)
        entry = MethodEntry(label=label, estimator=name)
        return replace(self, methods=(*self.methods, entry))


def list_protocols() -> tuple[str, ...]:
    """Names of the protocols that ship with manyview."""
    folder = files("manyview.bench") / "protocols"
    return tuple(
        sorted(
            item.name.removesuffix(".toml")
            for item in folder.iterdir()
            if item.name.endswith(".toml")
        )
    )


def load_protocol(name: str) -> Protocol:
    """Read a protocol.

    Parameters
    ----------
    name : str
        One of `list_protocols`, or the path of a TOML file.

    Returns
    -------
    protocol : Protocol
        Methods, settings, data sets and repeats.
    """
    if name in list_protocols():
        source = files("manyview.bench") / "protocols" / f"{name}.toml"
        text = source.read_text(encoding="utf-8")
    elif name.endswith(".toml") and Path(name).is_file():
        text = Path(name).read_text(encoding="utf-8")
    else:
        known = ", ".join(list_protocols())
        msg = f"No protocol is called {name!r}. Known: {known}; or give a .toml file."
        raise DatasetError(msg)
    try:
        return _parse(Path(name).stem, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        msg = (
            f"The protocol {name!r} cannot be read: {error!r}. It needs title, "
            "description, repeats, datasets and [[methods]] with label and estimator."
        )
        raise DatasetError(msg) from error


def _parse(name: str, content: dict[str, Any]) -> Protocol:
    robustness = content.get("robustness")
    if robustness is not None:
        robustness = Robustness(
            views=robustness["views"],
            shares=tuple(robustness["shares"]),
            repeats=robustness["repeats"],
            skip=tuple(robustness.get("skip", ())),
        )
    return Protocol(
        name=name,
        title=content["title"],
        description=" ".join(content["description"].split()),
        repeats=content["repeats"],
        datasets=tuple(content["datasets"]),
        methods=tuple(MethodEntry(**entry) for entry in content["methods"]),
        robustness=robustness,
    )
