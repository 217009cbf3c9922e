"""Known columns that clusters are held against: ``--covariates``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview._extras import import_extra
from manyview.cli._options import output_option
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    import pandas as pd

CovariatesOption = Annotated[
    Path | None,
    output_option(
        "--covariates",
        metavar="FILE",
        help="CSV or TSV with known columns, such as clinical data, one row per "
        "sample. Their association with the clusters is tested; they take no part in "
        "the clustering.",
    ),
]
SurvivalOption = Annotated[
    str | None,
    output_option(
        "--survival",
        metavar="TIME,EVENT",
        help="Columns of --covariates with survival time and event (0 or 1).",
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Covariates:
    """Known columns, and where they came from."""

    frame: pd.DataFrame
    path: Path
    survival: tuple[str, str] | None

    def of(self, samples: Sequence[str]) -> Covariates:
        """Rows by the sample ids that some column has, or in the order of the file."""
        frame = self.frame
        for column in frame.columns:
            ids = frame[column].astype(str)
            if ids.is_unique and set(samples) <= set(ids):
                indexed = frame.drop(columns=column).set_index(ids)
                found = indexed.loc[list(samples)].reset_index(drop=True)
                return replace(self, frame=found)
        if len(frame) == len(samples):
            return self
        msg = (
            f"{self.path} has {len(frame)} rows for {len(samples)} samples, and no "
            "column with the ids of all samples. Pass one row per sample, or a column "
            "with their ids."
        )
        raise DatasetError(msg)

    def describe(self) -> dict[str, Any]:
        """What reads them again, as JSON values."""
        survival = None if self.survival is None else ",".join(self.survival)
        return {"file": str(self.path.resolve()), "survival": survival}


def read_covariates(path: Path | None, survival: str | None) -> Covariates | None:
    """The columns of a file; what cannot be read or tested is refused."""
    if path is None:
        if survival is not None:
            msg = "It names columns of a table. Add --covariates FILE."
            raise typer.BadParameter(msg, param_hint="--survival")
        return None
    frame = _read(path)
    if survival is None:
        return Covariates(frame=frame, path=path, survival=None)
    names = [name.strip() for name in survival.split(",")]
    if len(names) != 2 or not set(names) <= set(frame.columns):
        msg = (
            f"{survival!r} is not two columns of --covariates, time and event. It has "
            f"{', '.join(map(str, frame.columns[:8]))}."
        )
        raise typer.BadParameter(msg, param_hint="--survival")
    import_extra("lifelines.statistics", "survival", "The log-rank test")
    return Covariates(frame=frame, path=path, survival=(names[0], names[1]))


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
