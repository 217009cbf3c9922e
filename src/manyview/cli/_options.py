"""Options that several commands share, and the estimators they describe."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from manyview.exceptions import ViewError

# Keys of the context: the arguments as given, and whether to show stack traces.
ARGUMENTS = "manyview.arguments"
DEBUG = "manyview.debug"

DATA = "Data"
METHOD = "Method"
OUTPUT = "Output"


class Scale(StrEnum):
    """How views are made comparable."""

    auto = "auto"
    range = "range"
    minmax = "minmax"
    zscore = "zscore"
    l2 = "l2"
    energy = "energy"
    none = "none"


class Align(StrEnum):
    """What to do when views name different samples."""

    strict = "strict"
    intersection = "intersection"
    missing = "missing"


class Missing(StrEnum):
    """What to do with cells that are missing here and there."""

    refuse = "refuse"
    impute = "impute"
    impute_knn = "impute-knn"


class Encode(StrEnum):
    """How text becomes numbers."""

    onehot = "onehot"


class Drop(StrEnum):
    """Columns that can be left out."""

    text = "text"


class Assignment(StrEnum):
    """NSMVC's two assignment steps."""

    sequential = "sequential"
    majorize = "majorize"


def _set_debug(ctx: typer.Context, wanted: bool) -> bool:
    ctx.meta[DEBUG] = wanted
    return wanted


def complete_datasets(incomplete: str) -> list[str]:
    from manyview.datasets import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]


def _complete_methods(incomplete: str) -> list[str]:
    return [name for name in method_names() if name.startswith(incomplete.lower())]


def given_command(ctx: typer.Context) -> str:
    """The command line as it was given, quoted for a shell."""
    return shlex.join(["manyview", *ctx.meta.get(ARGUMENTS, [])])


Sources = Annotated[
    list[str],
    typer.Argument(
        help="A known data set (see [bold]manyview datasets[/bold]), one file per "
        "view, or one file with several views. NAME=FILE names a view.",
        autocompletion=complete_datasets,
        show_default=False,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        help="True classes, for scores only: a column or variable of the files, a file "
        "(FILE or FILE:COLUMN), or - for one class per line on stdin.",
        rich_help_panel=DATA,
    ),
]
Ids = Annotated[
    str | None,
    typer.Option(
        help="Column with the sample ids, if it is not recognised.",
        rich_help_panel=DATA,
    ),
]
AlignOption = Annotated[
    Align,
    typer.Option(
        help="When files name different samples: refuse, keep the common ones, or "
        "keep all and treat views as missing.",
        rich_help_panel=DATA,
    ),
]
Variables = Annotated[
    str | None,
    typer.Option(
        help="Comma-separated variables of a .mat or .npz file, modalities of .h5mu or "
        "sheets of .xlsx to use as views.",
        rich_help_panel=DATA,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether text tables start with column names; guessed by default.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
UseRep = Annotated[
    list[str] | None,
    typer.Option(
        "--use-rep",
        metavar="NAMES",
        help="Matrices of .h5ad and .h5mu files, comma-separated: X (the default) or "
        "keys of obsm; MODALITY=NAMES for one modality, repeatable.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Layer = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="The layer of .h5ad and .h5mu files that stands in for X, or "
        "MODALITY=NAME, repeatable.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        help="Cells that are missing here and there: refuse them, or fill them in with "
        "the feature's mean or from the nearest samples.",
        rich_help_panel=DATA,
    ),
]
EncodeOption = Annotated[
    Encode | None,
    typer.Option(
        help="Make columns of 0 and 1 of the text in tables.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
DropOption = Annotated[
    Drop | None,
    typer.Option(
        help="Leave columns of text out.", rich_help_panel=DATA, show_default=False
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="Clustering method; [bold]manyview compare[/bold] runs them all.",
        autocompletion=_complete_methods,
        rich_help_panel=METHOD,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0,
        max=2**32 - 1,
        help="Same seed, same result.",
        rich_help_panel=METHOD,
    ),
]
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        help="How views are made comparable; by default the method's own choice.",
        rich_help_panel=METHOD,
        show_default=False,
    ),
]
NInit = Annotated[
    int | None,
    typer.Option(
        "--n-init",
        min=1,
        help="Restarts; by default the method's own number.",
        rich_help_panel=METHOD,
        show_default=False,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace what is there.", rich_help_panel=OUTPUT),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show the stack trace of an error.",
        callback=_set_debug,
        is_eager=True,
        rich_help_panel=OUTPUT,
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write; stdout by default.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]


def scale_setting(scale: Any) -> dict[str, str | None]:
    """The estimator parameter behind ``--scale``, if it was given."""
    if scale is None:
        return {}
    return {"scale": None if scale.value == "none" else str(scale.value)}


def method_names() -> dict[str, str]:
    """Lower-case name -> class name, for every estimator there is."""
    from manyview import cluster

    return {name.lower(): name for name in cluster.__all__}


def make_estimator(method: str, settings: dict[str, Any]) -> Any:
    """An estimator with these settings; one it does not have is an error."""
    from manyview import cluster

    known = method_names()
    try:
        estimator = getattr(cluster, known[method.lower()])()
    except KeyError:
        msg = f"--method {method!r} is not one of {', '.join(known)}."
        raise ViewError(msg) from None
    unknown = sorted(set(settings) - set(estimator.get_params()))
    if unknown:
        option = unknown[0].replace("_", "-")
        msg = f"{type(estimator).__name__} has no --{option}. Leave the option out."
        raise ViewError(msg)
    return estimator.set_params(**settings)


def understood(estimator: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """The part of the settings that an estimator has."""
    names = estimator.get_params()
    return {name: value for name, value in settings.items() if name in names}
