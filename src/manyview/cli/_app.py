"""The command: its parts, and the one place that turns errors into exit codes."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from manyview._extras import MissingExtraError
from manyview._version import __version__
from manyview.cli import _render
from manyview.cli._cluster import cluster_command
from manyview.cli._compare import compare_command
from manyview.cli._info import datasets_command, doctor_command, methods_command
from manyview.cli._options import COMMAND
from manyview.cli._predict import predict_command
from manyview.cli._report import report_command
from manyview.exceptions import ClusterError

INTERRUPTED = 130

# What a user's input can raise: ViewError and DatasetError are ValueErrors.
USER_ERRORS = (ValueError, OSError, MissingExtraError, MemoryError, ClusterError)

IMPUTE = "have it filled in with --missing impute or --missing impute-knn"

# How the library's parameters are called on the command line.
OPTION_NAMES = (
    (r"\b(align|scale|encode|drop)='(\w+)'", r"--\1 \2"),
    (r"scale=None", r"--scale none"),
    (r"header=False", r"--no-header"),
    (r"n_clusters=(\d+)", r"-k \1"),
    (r"\b(ids|labels|variables)=", r"--\1"),
    (r"\buse_rep=", r"--use-rep "),
    (r"\blayer=", r"--layer "),
    (r"read with missing='keep' and impute with manyview.ViewImputer", IMPUTE),
    (r"in with manyview.ViewImputer", r"in with --missing impute"),
    (r"strategy='knn'", r"--missing impute-knn"),
    (r"strategy='mean'", r"--missing impute"),
    (r"checkpoint=PATH", r"--checkpoint PATH"),
    (r"call fit again with the same arguments", r"repeat the command"),
)


def in_options(message: str) -> str:
    """A message of the library with parameters named as command-line options."""
    for pattern, words in OPTION_NAMES:
        message = re.sub(pattern, words, message)
    return message


class Commands(TyperGroup):
    """Runs a command and reports what goes wrong as a sentence, not a stack trace."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[COMMAND] = shlex.join(["manyview", *args])
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _render.show_warning
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                _render.error("Interrupted; nothing was written.")
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                # The reader of the output has closed it. Nothing more can be flushed,
                # so Python gets another stdout to flush when it ends.
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - stays open
                raise typer.Exit(0) from None
            except USER_ERRORS as error:
                if "--debug" in shlex.split(ctx.meta[COMMAND]):
                    _render.line(traceback.format_exc(), _render.err)
                message = in_options(str(error))
                if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                    # All other files are named by whoever writes them.
                    place = error.filename or "stdout"
                    message = f"{place} could not be written: {error.strerror}."
                _render.error(message or type(error).__name__)
                raise typer.Exit(1) from None


app = typer.Typer(
    cls=Commands,
    name="manyview",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        _render.line(f"manyview {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Cluster samples that are described by several views at once.

    A view is one table about your samples: one omics layer, one kind of image
    feature, words or links. Give one file per view, or one file with all of
    them, and the number of clusters; you get labels, a model and a report.

    [bold]Start here[/bold]

      manyview cluster handwritten -k 10 --out demo    [dim]needs no files[/dim]

      manyview cluster rna.csv protein.csv -k 5 --out result

      manyview cluster rna.csv protein.csv -k auto     [dim]stability decides[/dim]

      manyview predict result/model.mvz rna=new.csv    [dim]new samples[/dim]

    [bold]Exit codes[/bold] 0 done, 1 unusable input, 2 wrong usage, 130 interrupted
    """


app.command("cluster")(cluster_command)
app.command("predict")(predict_command)
app.command("compare")(compare_command)
app.command("methods")(methods_command)
app.command("datasets")(datasets_command)
app.command("report")(report_command)
app.command("doctor")(doctor_command)


def main() -> None:
    """Run the command line."""
    app(prog_name="manyview")
