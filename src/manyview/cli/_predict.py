"""``manyview predict``: clusters of new samples."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import _options as opt
from manyview.cli import _output, _render, _sources
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    from manyview.datasets import MultiViewData


# Missing cells are filled in if the model knows how.
@partial(opt.take_request, without=["missing"])
def predict_command(
    *,
    model: Annotated[
        Path,
        typer.Argument(
            help="A model.mvz written by [bold]manyview cluster[/bold].",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        opt.output_option("--out", "-o", help="File to write; stdout by default."),
    ] = None,
    request: opt.Request,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
    _debug: opt.Debug = False,
) -> None:
    """Assign new samples to the clusters of a saved model.

    Prints sample, cluster and confidence as CSV. Views are matched by name (the
    file's name, or NAME in NAME=FILE); a view that no new sample has may be
    left out. A model that was fitted with --missing impute fills in the missing
    cells of new samples with what it has learned.

    [bold]Examples[/bold]

      manyview predict result/model.mvz rna=new_a.csv protein=new_b.csv

      manyview predict result/model.mvz rna=new_a.csv --out labels.csv

      manyview predict demo/model.mvz handwritten --json
    """
    import numpy as np
    import pandas as pd

    from manyview._model_file import load_imputer, load_model
    from manyview.metrics import all_scores

    path = None if as_json or str(out) == "-" else out
    if path is not None:
        _output.check_file(path, force=force)
    fitted, imputer = load_model(model), load_imputer(model)
    data, _ = _sources.load_sources(request, holes=True)
    if request.encode is not None:
        data = match_text(data, fitted)
    views: Any = _sources.as_views(data)
    if imputer is not None:
        views = imputer.transform(views)
    else:
        _refuse_holes(views)
    assigned = fitted.assign(views)
    # Numbers of the fit: clusters of one name are one for their confidence only.
    clusters = np.where(assigned.noise, -1, assigned.assigned)
    columns: dict[str, Any] = {
        "sample": _sources.sample_names(data),
        "cluster": clusters,
    }
    if hasattr(fitted, "cluster_names_"):
        columns["name"] = fitted.named_labels(clusters)
    columns["confidence"] = assigned.confidence
    if as_json:
        found = {
            "samples": columns["sample"],
            "clusters": clusters.tolist(),
            **({"names": columns["name"].tolist()} if "name" in columns else {}),
            "confidence": assigned.confidence.round(4).tolist(),
            "scores": all_scores(data.target, clusters),
        }
        _render.as_json(found)
        return
    write_labels = partial(_output.write_labels, table=pd.DataFrame(columns))
    if path is None:
        write_labels(sys.stdout)
        return
    with (
        _output.labels_on_stdout(write_labels),
        _output.new_file(path, force=force) as file,
    ):
        write_labels(file)
    _render.line(f"Written to {path}: {data.n_samples:,} samples.")


def match_text(data: MultiViewData, fitted: Any) -> MultiViewData:
    """The data with the columns that the fit made of text."""
    import numpy as np

    from manyview.datasets._encode import match_one_hot

    known = dict(zip(fitted.view_names_, fitted._layout.feature_names, strict=True))
    views: list[Any] = list(data.views)
    features = list(data.feature_names)
    for v, name in enumerate(data.view_names if features else ()):
        # Only tables hold text, and tables are dense.
        if known.get(name) is None or not isinstance(views[v], np.ndarray):
            continue
        views[v], features[v], unseen = match_one_hot(
            views[v], features[v], known[name]
        )
        if unseen:
            what = ", ".join(unseen[:5])
            _render.note(f"The fit did not see {what} in view {name!r}; left out.")
    return replace(data, views=tuple(views), feature_names=tuple(features))


def _refuse_holes(views: dict[str, Any]) -> None:
    from manyview._views import check_views
    from manyview.impute import count_holes

    for name, count in count_holes(check_views(views, holes=True)).items():
        msg = (
            f"View {name!r} lacks {count} cells in rows that have others, and the "
            "model was fitted without --missing impute. Fit it with that option, or "
            "fill the cells in."
        )
        raise DatasetError(msg)
