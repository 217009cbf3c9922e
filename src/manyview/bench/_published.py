"""The tables as printed in the paper, read from ``paper_tables.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

METRICS = ("acc", "purity", "nmi")
METRIC_TITLES = {"acc": "ACC", "purity": "Purity", "nmi": "NMI"}


@dataclass(frozen=True, kw_only=True, slots=True)
class PrintedCell:
    """Mean and standard deviation in per cent, as printed; slip says what is wrong."""

    mean: float
    std: float
    bold: bool
    slip: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrintedTable:
    """One table of the paper.

    rows : label -> metric -> cell, in the printed order.
    repeats : runs behind every cell.
    """

    number: int
    dataset: str
    title: str
    repeats: int
    rows: dict[str, dict[str, PrintedCell]]


@cache
def printed_tables() -> dict[str, PrintedTable]:
    """The paper's tables by data set, in the order of their numbers."""
    text = (files("manyview.bench") / "paper_tables.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    slips: dict[tuple[int, str, str], str] = {}
    for slip in content["slips"]:
        for metric in slip["columns"]:
            slips[slip["table"], slip["row"], metric] = slip["note"]
    return {
        table["dataset"]: _parse(table, content["repeats"], slips)
        for table in content["tables"]
    }


def title_of(dataset: str) -> str:
    """What the paper calls a data set, or else its name."""
    table = printed_tables().get(dataset)
    return dataset if table is None else table.title


def _parse(
    table: dict[str, Any], repeats: int, slips: dict[tuple[int, str, str], str]
) -> PrintedTable:
    rows = {
        label: {
            metric: PrintedCell(
                mean=values[metric][0],
                std=values[metric][1],
                bold=metric in values.get("bold", ()),
                slip=slips.get((table["number"], label, metric), ""),
            )
            for metric in METRICS
        }
        for label, values in table["rows"].items()
    }
    return PrintedTable(
        number=table["number"],
        dataset=table["dataset"],
        title=table["title"],
        repeats=repeats,
        rows=rows,
    )
