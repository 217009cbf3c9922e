"""``manyview cluster``: from files to labels, a model and a report."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import _options as opt
from manyview.cli import _output, _render
from manyview.cli._annotate import check_write, write_annotated
from manyview.cli._covariates import (
    CovariatesOption,
    SurvivalOption,
    check_covariates,
)
from manyview.cli._dask import DASK_METHODS, run_on_dask
from manyview.cli._progress import choice_progress, fit_progress
from manyview.cli._sources import (
    Request,
    as_views,
    fill_holes,
    load_sources,
    make_request,
)
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._views import ViewSet
    from manyview.cli._result import Result
    from manyview.model_selection import ClusterCountChoice

MOST_AUTOMATIC = 15

ClusterCount = Annotated[
    str,
    typer.Option(
        "-k",
        "--n-clusters",
        metavar="K",
        help="Number of clusters: 10, a range such as 2..15 to choose from, or auto "
        "(2..15).",
        show_default=False,
        rich_help_panel=opt.METHOD,
    ),
]
OutFolder = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder for labels.csv, model.mvz, summary.json and report.html; - prints "
        "the labels as CSV on stdout. Without it only the summary is shown.",
        rich_help_panel=opt.OUTPUT,
        show_default=False,
    ),
]
AssignmentOption = Annotated[
    opt.Assignment | None,
    typer.Option(
        help="NSMVC's step: one sample at a time as published, or all at once.",
        rich_help_panel=opt.METHOD,
        show_default=False,
    ),
]
OutlierThreshold = Annotated[
    float | None,
    typer.Option(
        "--outlier-threshold",
        metavar="SCORE",
        help="NSMVC and GraphNSMVC: samples with a higher outlier score get the label "
        "-1, noise. 5 is a cautious choice.",
        rich_help_panel=opt.METHOD,
        show_default=False,
    ),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Run on a Dask cluster: tcp://host:8786, or local[N] for N processes "
        "here. The sources are then zarr arrays, a zarr group, or parquet.",
        rich_help_panel=opt.METHOD,
        show_default=False,
    ),
]
CheckpointFolder = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        help="With --dask: store the state there, to continue an interrupted fit.",
        rich_help_panel=opt.METHOD,
        show_default=False,
    ),
]


WriteFile = Annotated[
    Path | None,
    typer.Option(
        "--write",
        metavar="FILE",
        help="A copy of the .h5ad or .h5mu file with clusters, confidence and joint "
        "embedding in obs and obsm, for scanpy and muon.",
        rich_help_panel=opt.OUTPUT,
        show_default=False,
    ),
]


def cluster_command(
    ctx: typer.Context,
    sources: opt.Sources,
    n_clusters: ClusterCount,
    out: OutFolder = None,
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
    method: opt.Method = "graphnsmvc",
    seed: opt.Seed = 0,
    n_init: opt.NInit = None,
    scale: opt.ScaleOption = None,
    assignment: AssignmentOption = None,
    outlier_threshold: OutlierThreshold = None,
    covariates: CovariatesOption = None,
    survival: SurvivalOption = None,
    dask: DaskAddress = None,
    checkpoint: CheckpointFolder = None,
    write: WriteFile = None,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
    debug: opt.Debug = False,  # noqa: ARG001 - its callback does the work
) -> None:
    """Cluster samples and write labels, model and report.

    [bold]Examples[/bold]

      manyview cluster handwritten -k 10 --out demo

      manyview cluster rna.csv protein.csv -k 5 --out result

      manyview cluster rna=a.csv protein=b.csv -k 5 --labels cell_type

      manyview cluster views.mat -k auto --labels y --out result

      manyview cluster views.npz -k 3..8 --json > summary.json

      manyview cluster a.npy b.npy -k 4 --out - > labels.csv

      manyview cluster a.zarr b.zarr -k 20 --dask local[4] --out result

      manyview cluster cells.h5mu -k 12 --use-rep rna=X_pca --write out.h5mu

    Classes given with --labels serve for scores only, never for clustering.
    """
    counts = parse_counts(n_clusters)
    folder = None if out in (None, "-") else Path(str(out))
    if folder is not None:
        _output.check_folder(folder, force=force)
        if not _output.can_report():
            _render.note(_output.no_report(_output.REPORT))
    check_covariates(covariates, survival)
    settings: dict[str, Any] = {"random_state": seed, **opt.scale_setting(scale)}
    if n_init is not None:
        settings["n_init"] = n_init
    if assignment is not None:
        settings["assignment"] = assignment.value
    if outlier_threshold is not None:
        settings["outlier_threshold"] = outlier_threshold
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
    command = opt.given_command(ctx)
    if write is not None:
        check_write(write, request, dask=dask, force=force)
    if dask is None:
        _refuse_alone("--checkpoint", checkpoint)
        result = _run(request, opt.make_estimator(method, settings), counts, command)
    else:
        _check_dask_options(request, method, assignment, counts)
        _refuse_with_dask("--outlier-threshold", outlier_threshold)
        _refuse_with_dask("--covariates", covariates)
        settings |= {"n_clusters": counts[0], "checkpoint": checkpoint}
        settings.pop("assignment", None)
        result = run_on_dask(request, method, settings, address=dask, command=command)
    result = result.with_covariates(covariates, survival)
    content = result.summarise()
    names = []
    if folder is not None or write is not None:
        with _output.labels_on_stdout(result.write_labels):
            if folder is not None:
                names = _write(result, content, folder, force=force)
            if write is not None:
                write_annotated(result, write)
    if out == "-":
        result.write_labels(sys.stdout)
    if as_json and out != "-":
        _render.as_json(content)
        return
    _render.summary(content, console=_render.err if out == "-" else None)
    if folder is not None:
        _render.written(folder, names)
    if write is not None:
        _render.line(f"Written to {write}.")


def parse_counts(text: str) -> range:
    """``10``, ``2..15`` or ``auto`` as the numbers of clusters to consider."""
    if text == "auto":
        return range(2, MOST_AUTOMATIC + 1)
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text)
    if match is None:
        msg = f"{text!r} is not a number (10), a range (2..15) or auto."
        raise typer.BadParameter(msg, param_hint="-k")
    low = int(match[1])
    high = int(match[2] or low)
    if low < 1 or high < low:
        msg = f"{text!r} must count up from 1 or more."
        raise typer.BadParameter(msg, param_hint="-k")
    return range(low, high + 1)


def _run(request: Request, estimator: Any, counts: range, command: str) -> Result:
    from manyview._views import check_views
    from manyview.cli._result import Result
    from manyview.explain._margins import explain_clustering

    data, imputer = fill_holes(load_sources(request), request)
    started = time.perf_counter()
    # Checked here, once, for the choice of the number and for the fit.
    views = check_views(as_views(data))
    choice = _choose(views, counts, estimator) if len(counts) > 1 else None
    estimator.set_params(n_clusters=choice.n_clusters if choice else counts[0])
    with fit_progress(estimator) as on_iteration:
        clustering = estimator.fit_clustering(views, on_iteration=on_iteration)
    explanation = explain_clustering(clustering)
    return Result(
        request=request,
        command=command,
        seconds=time.perf_counter() - started,
        estimator=estimator,
        model=estimator,
        shown=estimator,
        data=data,
        clustering=clustering,
        explanation=explanation,
        choice=choice,
        imputer=imputer,
    )


def _choose(views: ViewSet, counts: range, estimator: Any) -> ClusterCountChoice:
    from sklearn.base import clone

    from manyview.cluster import NSMVC
    from manyview.model_selection import choose_n_clusters

    if not isinstance(estimator, NSMVC):
        msg = (
            "-k auto is for graphnsmvc and nsmvc. Choose with one of them first, then "
            f"pass the number to {type(estimator).__name__}."
        )
        raise ViewError(msg)
    # Cheaper than the result itself: there are dozens of fits to make.
    tester = clone(estimator).set_params(n_init=5, assignment="majorize")
    # A subsample of 80 % must hold as many samples as there are clusters.
    most = max(2, min(counts[-1], int(0.8 * min(views.n_samples, 1000))))
    with choice_progress() as on_progress:
        return choose_n_clusters(
            views,
            range(counts[0], most + 1),
            estimator=tester,
            random_state=estimator.random_state,
            on_progress=on_progress,
        )


def _refuse_alone(option: str, value: Any) -> None:
    if value is not None:
        msg = f"{option} is for fits on a cluster. Add --dask."
        raise typer.BadParameter(msg, param_hint=option)


def _refuse_with_dask(option: str, value: Any) -> None:
    if value is not None:
        msg = f"{option} is for fits on this machine. Leave it or --dask out."
        raise typer.BadParameter(msg, param_hint=option)


def _check_dask_options(
    request: Request, method: str, assignment: opt.Assignment | None, counts: range
) -> None:
    """On a cluster there are two methods, one step, and no reading of other files."""
    refused = {
        "-k": len(counts) > 1,
        "--method": method.lower() not in DASK_METHODS,
        "--assignment": assignment == opt.Assignment.sequential,
        "--labels": request.labels is not None,
        "--ids": request.ids is not None,
        "--align": request.align != "strict",
        "--variables": request.variables is not None,
        "--header": request.header is not None,
        "--use-rep": request.use_rep is not None,
        "--layer": request.layer is not None,
        "--missing": request.missing != "refuse",
        "--encode": request.encode is not None,
        "--drop": request.drop is not None,
    }
    for option, is_set in refused.items():
        if is_set:
            msg = (
                "--dask runs graphnsmvc or nsmvc with one number of clusters and "
                "--assignment majorize, on zarr or parquet with rows in one order."
            )
            raise typer.BadParameter(msg, param_hint=option)


def _write(
    result: Result, content: dict[str, Any], folder: Path, *, force: bool
) -> list[str]:
    """Write the result folder; the names of its files."""
    from manyview import _model_file

    with _output.new_folder(folder, force=force) as part:
        with (
            _output.result_file(part, _output.LABELS) as path,
            path.open("w", encoding="utf-8", newline="") as file,
        ):
            result.write_labels(file)
        if _model_file.can_save(result.model):
            with _output.result_file(part, _output.MODEL) as path:
                _model_file.save_model(result.model, path, imputer=result.imputer)
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        with _output.result_file(part, _output.SUMMARY) as path:
            path.write_text(text, encoding="utf-8")
        if _output.can_report():
            with _output.result_file(part, _output.REPORT) as path:
                _write_report(result, path)
        return sorted(path.name for path in part.iterdir())


def _write_report(result: Result, path: Path) -> None:
    from manyview.reporting._report import write_report

    write_report(
        path,
        result.clustering,
        result.report_options(),
        method=type(result.shown).__name__,
        estimator=result.shown,
        explanation=result.explanation,
    )
