"""Known columns that clusters are held against: ``--covariates``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview._extras import import_extra
from manyview.cli import _options as opt
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    import pandas as pd

CovariatesOption = Annotated[
    Path | None,
    typer.Option(
        "--covariates",
        metavar="FILE",
        help="CSV or TSV with known columns, such as clinical data, one row per "
        "sample. Their association with the clusters is tested; they take no part in "
        "the clustering.",
        rich_help_panel=opt.OUTPUT,
        show_default=False,
    ),
]
SurvivalOption = Annotated[
    str | None,
    typer.Option(
        "--survival",
        metavar="TIME,EVENT",
        help="Columns of --covariates with survival time and event (0 or 1).",
        rich_help_panel=opt.OUTPUT,
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Covariates:
    """Known columns in the order of the samples, and where they came from."""

    frame: pd.DataFrame
    path: Path
    survival: tuple[str, str] | None

    def describe(self) -> dict[str, Any]:
        """What reads them again, as JSON values."""
        survival = None if self.survival is None else ",".join(self.survival)
        return {"file": str(self.path.resolve()), "survival": survival}


def check_covariates(path: Path | None, survival: str | None) -> None:
    """Refuse what cannot be read or tested, before any work is done."""
    if path is None:
        if survival is not None:
            msg = "It names columns of a table. Add --covariates FILE."
            raise typer.BadParameter(msg, param_hint="--survival")
        return
    columns = _read(path)
    if survival is not None:
        _pair(survival, columns)
        import_extra("lifelines.statistics", "survival", "The log-rank test")


def read_covariates(
    path: Path | None, survival: str | None, samples: Sequence[str]
) -> Covariates | None:
    """The columns of a file, in the order of the samples."""
    check_covariates(path, survival)
    if path is None:
        return None
    frame = _ordered(_read(path), path, samples)
    return Covariates(frame=frame, path=path, survival=_pair(survival, frame))


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not path.is_file():
        msg = f"--covariates {path} is not a file. Pass a CSV or TSV file."
        raise DatasetError(msg)
    tabs = path.name.removesuffix(".gz").endswith((".tsv", ".tab", ".txt"))
    try:
        return pd.read_csv(path, sep="\t" if tabs else ",")
    except (ValueError, OSError) as error:
        what = " ".join(str(error).split())
        msg = f"{path} cannot be read as a table ({what}). Pass a CSV or TSV file."
        raise DatasetError(msg) from error


def _ordered(frame: pd.DataFrame, path: Path, samples: Sequence[str]) -> pd.DataFrame:
    """Rows by the sample ids that some column has, or in the order of the file."""
    for column in frame.columns:
        ids = frame[column].astype(str)
        if ids.is_unique and set(samples) <= set(ids):
            indexed = frame.drop(columns=column).set_index(ids)
            return indexed.loc[list(samples)].reset_index(drop=True)
    if len(frame) == len(samples):
        return frame
    msg = (
        f"{path} has {len(frame)} rows for {len(samples)} samples, and no column with "
        "the ids of all samples. Pass one row per sample, or a column with their ids."
    )
    raise DatasetError(msg)


def _pair(survival: str | None, frame: pd.DataFrame) -> tuple[str, str] | None:
    if survival is None:
        return None
    names = [name.strip() for name in survival.split(",")]
    if len(names) != 2 or not set(names) <= set(frame.columns):
        msg = (
            f"{survival!r} is not two columns of --covariates, time and event. It has "
            f"{', '.join(map(str, frame.columns[:8]))}."
        )
        raise typer.BadParameter(msg, param_hint="--survival")
    return names[0], names[1]
