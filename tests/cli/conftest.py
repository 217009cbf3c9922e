"""Files a user might have, and a way to call the command."""

from dataclasses import dataclass

import numpy as np
import pytest
from typer.testing import CliRunner

from manyview.cli import app


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run():
    """Calls ``manyview ...`` and returns exit code, stdout and stderr."""

    def call(*words, stdin=None):
        result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
        if result.exception is not None and not isinstance(
            result.exception, SystemExit
        ):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def files(tmp_path, blobs):
    """Three views of 90 samples as csv with ids, and a file with the classes."""
    views, truth = blobs
    ids = [f"s{i}" for i in range(90)]
    for name, view in zip(("rna", "protein", "image"), views, strict=True):
        header = ",".join(["id", *(f"{name}{j}" for j in range(view.shape[1]))])
        rows = [
            ",".join([sample, *map(repr, row)])
            for sample, row in zip(ids, view.tolist(), strict=True)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
    rows = [f"{i},type {t}" for i, t in zip(ids, truth, strict=True)]
    (tmp_path / "types.csv").write_text("\n".join(["id,type", *rows]) + "\n")
    np.savez(
        tmp_path / "all.npz",
        rna=views[0],
        protein=views[1],
        image=views[2],
        y=truth,
    )
    return tmp_path
