"""``manyview compare``: every method on the same data."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import _options as opt
from manyview.cli import _output, _render
from manyview.cli._progress import progress_bar
from manyview.cli._sources import (
    as_views,
    fill_holes,
    load_sources,
    make_request,
    title_of,
)

if TYPE_CHECKING:
    from manyview.datasets import MultiViewData

Count = Annotated[
    int,
    typer.Option(
        "-k",
        "--n-clusters",
        metavar="K",
        min=1,
        help="Number of clusters.",
        show_default=False,
        rich_help_panel=opt.METHOD,
    ),
]
Methods = Annotated[
    str | None,
    typer.Option(
        help="Comma-separated methods; all by default.",
        rich_help_panel=opt.METHOD,
        show_default=False,
    ),
]


OutFolder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder for methods.csv, agreement.csv, summary.json and comparison.html.",
        rich_help_panel=opt.OUTPUT,
        show_default=False,
    ),
]


def compare_command(
    ctx: typer.Context,
    sources: opt.Sources,
    n_clusters: Count,
    methods: Methods = None,
    labels: opt.Labels = None,
    ids: opt.Ids = None,
    align: opt.AlignOption = opt.Align.strict,
    variables: opt.Variables = None,
    header: opt.Header = None,
    use_rep: opt.UseRep = None,
    layer: opt.Layer = None,
    missing: opt.MissingOption = opt.Missing.refuse,
    encode: opt.EncodeOption = None,
    drop: opt.DropOption = None,
    seed: opt.Seed = 0,
    scale: opt.ScaleOption = None,
    out: OutFolder = None,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
    debug: opt.Debug = False,  # noqa: ARG001 - its callback does the work
) -> None:
    """Run every method and show where they agree, and how well they do.

    A method that fails is a row with its error. Scores appear when the true
    classes are known; the agreement between methods needs none.

    [bold]Examples[/bold]

      manyview compare handwritten -k 10

      manyview compare rna.csv protein.csv -k 5 --labels cell_type

      manyview compare views.mat -k 7 --methods nsmvc,samvc --json

      manyview compare rna.csv protein.csv -k 5 --out comparison
    """
    if out is not None:
        _output.check_folder(out, force=force)
        if not _output.can_report():
            _render.note(_output.no_report(_output.COMPARISON))
    request = make_request(
        sources,
        labels=labels,
        ids=ids,
        align=align,
        variables=variables,
        header=header,
        use_rep=use_rep,
        layer=layer,
        missing=missing,
        encode=encode,
        drop=drop,
    )
    settings: dict[str, Any] = {
        "n_clusters": n_clusters,
        "random_state": seed,
        **opt.scale_setting(scale),
    }
    chosen = list(opt.method_names()) if methods is None else methods.split(",")
    # Made before any of them runs: an unknown name is an error at once.
    estimators = [opt.make_estimator(name.strip(), {}) for name in chosen]
    data, _ = fill_holes(load_sources(request), request)
    content = compare(data, estimators, settings)
    names = []
    if out is not None:
        from manyview.cli._comparison import write_comparison

        names = write_comparison(
            out,
            content,
            command=opt.given_command(ctx),
            page=_output.can_report(),
            force=force,
        )
    if as_json:
        _render.as_json(content)
        return
    _render.comparison(content)
    if out is not None:
        _render.written(out, names)


def compare(
    data: MultiViewData, estimators: list[Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """Rows per method and the agreement between those that came through."""
    from manyview.metrics import adjusted_rand_score

    views = as_views(data)
    rows = []
    found: dict[str, Any] = {}
    with progress_bar("Comparing", len(estimators)) as update:
        for n_done, estimator in enumerate(estimators):
            name = type(estimator).__name__
            if update is not None:
                update(completed=n_done, state=name)
            row, labels = _try(estimator, views, data.target, settings)
            rows.append({"method": name, **row})
            if labels is not None:
                found[name] = labels
    agreement = [
        [float(adjusted_rand_score(a, b)) for b in found.values()]
        for a in found.values()
    ]
    return {
        "data": {"name": title_of(data), "n_samples": data.n_samples},
        "settings": settings,
        "methods": rows,
        "agreement": {"methods": list(found), "ari": agreement},
    }


def _try(
    estimator: Any, views: dict[str, Any], target: Any, settings: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """One method: its row, and its labels unless it failed."""
    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    from manyview.cli._result import scores

    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.set_params(**opt.understood(estimator, settings)).fit(views)
    except Exception as error:  # noqa: BLE001 - whatever it was, the others go on
        reason = str(error) or type(error).__name__
        return {"seconds": None, "sizes": None, "scores": None, "error": reason}, None
    labels = np.asarray(estimator.labels_)
    sizes = np.bincount(labels)
    row: dict[str, Any] = {
        "seconds": round(time.perf_counter() - started, 3),
        "sizes": f"{sizes.min():,}–{sizes.max():,}",
        "scores": None if target is None else scores(target, labels),
        "error": None,
    }
    return row, labels
