"""``manyview predict``: clusters of new samples."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from manyview.cli import _options as opt
from manyview.cli import _output, _render
from manyview.cli._result import scores
from manyview.cli._sources import (
    as_views,
    load_sources,
    make_request,
    sample_names,
)

Model = Annotated[
    Path,
    typer.Argument(
        help="A model.mvz written by [bold]manyview cluster[/bold].",
        show_default=False,
    ),
]


def predict_command(
    model: Model,
    sources: opt.Sources,
    out: opt.OutFile = None,
    labels: opt.Labels = None,
    ids: opt.Ids = None,
    align: opt.AlignOption = opt.Align.strict,
    variables: opt.Variables = None,
    header: opt.Header = None,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
    debug: opt.Debug = False,  # noqa: ARG001 - its callback does the work
) -> None:
    """Assign new samples to the clusters of a saved model.

    Prints sample, cluster and confidence as CSV. Views are matched by name (the
    file's name, or NAME in NAME=FILE); a view that no new sample has may be
    left out.

    [bold]Examples[/bold]

      manyview predict result/model.mvz rna=new_a.csv protein=new_b.csv

      manyview predict result/model.mvz rna=new_a.csv --out labels.csv

      manyview predict demo/model.mvz handwritten --json
    """
    from manyview._model_file import load_model

    file_path = None if as_json or str(out) == "-" else out
    if file_path is not None:
        _output.check_file(file_path, force=force)
    fitted = load_model(model)
    data = load_sources(make_request(sources, labels, ids, align, variables, header))
    assigned = fitted.assign(as_views(data))
    # Numbers of the fit: clusters of one name are one for their confidence only.
    clusters = np.where(assigned.noise, -1, assigned.assigned)
    confidence = assigned.confidence
    renamed = hasattr(fitted, "cluster_names_")
    cluster_names = fitted.named_labels(clusters).tolist() if renamed else None
    names = sample_names(data)
    if as_json:
        _render.as_json(
            {
                "samples": names,
                "clusters": clusters.tolist(),
                **({} if cluster_names is None else {"names": cluster_names}),
                "confidence": confidence.round(4).tolist(),
                "scores": None
                if data.target is None
                else scores(data.target, clusters),
            }
        )
        return
    write_labels = partial(
        _output.write_labels,
        sample_ids=names,
        labels=clusters,
        confidence=confidence,
        cluster_names=cluster_names,
    )
    if file_path is None:
        write_labels(sys.stdout)
        return
    with (
        _output.labels_on_stdout(write_labels),
        _output.new_file(file_path, force=force) as file,
    ):
        write_labels(file)
    _render.line(f"Written to {out}: {len(names):,} samples.")
