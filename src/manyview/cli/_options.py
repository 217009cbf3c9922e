"""Options that several commands share, and the estimators they describe."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Annotated, Any, Literal

import typer

from manyview.exceptions import ViewError

# Key of the context: the arguments as given.
ARGUMENTS = "manyview.arguments"

# Options by their panel in the help.
data_option = partial(typer.Option, rich_help_panel="Data")
method_option = partial(typer.Option, rich_help_panel="Method")
output_option = partial(typer.Option, rich_help_panel="Output")


def complete_datasets(incomplete: str) -> list[str]:
    from manyview.datasets import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]


def _complete_methods(incomplete: str) -> list[str]:
    return [name for name in method_names() if name.startswith(incomplete.lower())]


Method = Annotated[
    str,
    method_option(
        help="Clustering method; [bold]manyview compare[/bold] runs them all.",
        autocompletion=_complete_methods,
    ),
]
Seed = Annotated[
    int, method_option(min=0, max=2**32 - 1, help="Same seed, same result.")
]
ScaleOption = Annotated[
    Literal["auto", "range", "minmax", "zscore", "l2", "energy", "none"] | None,
    method_option(
        help="How views are made comparable; by default the method's own choice."
    ),
]
AsJson = Annotated[bool, output_option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, output_option("--force", help="Replace what is there.")]
# Commands take it as `_debug`: it is for `_app.Commands`, which looks at the arguments.
Debug = Annotated[
    bool, output_option("--debug", help="Show the stack trace of an error.")
]


def given_command(ctx: typer.Context) -> str:
    """The command line as it was given, quoted for a shell."""
    return shlex.join(["manyview", *ctx.meta.get(ARGUMENTS, [])])


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
