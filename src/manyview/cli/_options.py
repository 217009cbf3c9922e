"""Options that several commands share: which data to read, and how to cluster it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from manyview.exceptions import ViewError

# Key of the context: the command line as it was given, quoted for a shell.
COMMAND = "manyview.command"

# Options by their panel in the help.
data_option = partial(typer.Option, rich_help_panel="Data")
method_option = partial(typer.Option, rich_help_panel="Method")
output_option = partial(typer.Option, rich_help_panel="Output")


def complete_datasets(incomplete: str) -> list[str]:
    from manyview.datasets import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]


def complete_methods(incomplete: str) -> list[str]:
    return [name for name in method_names() if name.startswith(incomplete.lower())]


Method = Annotated[
    str,
    method_option(
        help="Clustering method; [bold]manyview compare[/bold] runs them all.",
        autocompletion=complete_methods,
    ),
]
Seed = Annotated[
    int, method_option(min=0, max=2**32 - 1, help="Same seed, same result.")
]
Scale = Annotated[
    Literal["auto", "range", "minmax", "zscore", "l2", "energy", "none"] | None,
    method_option(
        help="How views are made comparable; by default the method's own choice."
    ),
]
Covariates = Annotated[
    Path | None,
    output_option(
        "--covariates",
        metavar="FILE",
        help="CSV or TSV with known columns, such as clinical data, one row per "
        "sample. Their association with the clusters is tested; they take no part in "
        "the clustering.",
    ),
]
Survival = Annotated[
    str | None,
    output_option(
        "--survival",
        metavar="TIME,EVENT",
        help="Columns of --covariates with survival time and event (0 or 1).",
    ),
]
AsJson = Annotated[bool, output_option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, output_option("--force", help="Replace what is there.")]
# Commands take it as `_debug`: it is for `_app.Commands`, which looks at the arguments.
Debug = Annotated[
    bool, output_option("--debug", help="Show the stack trace of an error.")
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Which data to read: the options that say so, as they were given."""

    sources: Annotated[
        list[str],
        typer.Argument(
            help="A known data set (see [bold]manyview datasets[/bold]), one file per "
            "view, or one file with several views. NAME=FILE names a view.",
            autocompletion=complete_datasets,
            show_default=False,
        ),
    ]
    labels: Annotated[
        str | None,
        data_option(
            help="True classes, for scores only: a column or variable of the files, a "
            "file (FILE or FILE:COLUMN), or - for one class per line on stdin."
        ),
    ] = None
    ids: Annotated[
        str | None,
        data_option(help="Column with the sample ids, if it is not recognised."),
    ] = None
    align: Annotated[
        Literal["strict", "intersection", "missing"],
        data_option(
            help="When files name different samples: refuse, keep the common ones, or "
            "keep all and treat views as missing."
        ),
    ] = "strict"
    variables: Annotated[
        str | None,
        data_option(
            help="Comma-separated variables of a .mat or .npz file, modalities of "
            ".h5mu or sheets of .xlsx to use as views."
        ),
    ] = None
    header: Annotated[
        bool | None,
        data_option(
            "--header/--no-header",
            help="Whether text tables start with column names; guessed by default.",
            show_default=False,
        ),
    ] = None
    use_rep: Annotated[
        list[str] | None,
        data_option(
            metavar="NAMES",
            help="Matrices of .h5ad and .h5mu files, comma-separated: X (the default) "
            "or keys of obsm; MODALITY=NAMES for one modality, repeatable.",
        ),
    ] = None
    layer: Annotated[
        list[str] | None,
        data_option(
            metavar="NAME",
            help="The layer of .h5ad and .h5mu files that stands in for X, or "
            "MODALITY=NAME, repeatable.",
        ),
    ] = None
    missing: Annotated[
        Literal["refuse", "impute", "impute-knn"],
        data_option(
            help="Cells that are missing here and there: refuse them, or fill them in "
            "with the feature's mean or from the nearest samples."
        ),
    ] = "refuse"
    encode: Annotated[
        Literal["onehot"] | None,
        data_option(help="Make columns of 0 and 1 of the text in tables."),
    ] = None
    drop: Annotated[
        Literal["text"] | None, data_option(help="Leave columns of text out.")
    ] = None

    def resolved(self) -> Request:
        """The same request, independent of the current folder."""
        return replace(
            self,
            sources=[_absolute(source) for source in self.sources],
            labels=None if self.labels is None else _absolute(self.labels),
        )


def take_request(
    command: Callable[..., None], without: Collection[str] = ()
) -> Callable[..., None]:
    """The command with the fields of a `Request` as options in place of its `request`.

    Typer reads the signature of a function to know its options.
    """
    own = inspect.signature(command, eval_str=True).parameters
    options = inspect.signature(Request, eval_str=True).parameters
    taken = {name: option for name, option in options.items() if name not in without}

    @functools.wraps(command)
    def run(**values: Any) -> None:
        request = Request(**{name: values.pop(name) for name in taken})
        command(request=request, **values)

    parameters = [
        option
        for name, parameter in own.items()
        for option in (taken.values() if name == "request" else [parameter])
    ]
    signature = inspect.Signature(parameters)
    run.__signature__ = signature  # type: ignore[attr-defined]  # `inspect` reads it
    return run


def split_name(source: str) -> tuple[str | None, str]:
    """Name and path in ``NAME=FILE``; None and the path without a name."""
    if Path(source).exists() or "=" not in source:
        return None, source
    name, _, path = source.partition("=")
    return name, path


def _absolute(source: str) -> str:
    name, path = split_name(source)
    if not Path(path).exists():
        return source
    full = str(Path(path).resolve())
    return full if name is None else f"{name}={full}"


def given_settings(**options: Any) -> dict[str, Any]:
    """Parameters of an estimator, without those that were left to it."""
    given = {name: value for name, value in options.items() if value is not None}
    if given.get("scale") == "none":
        given["scale"] = None
    return given


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
