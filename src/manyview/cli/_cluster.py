"""``manyview cluster``: from files to labels, a model and a report."""

from __future__ import annotations

import re
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from manyview._extras import import_extra
from manyview.cli import _options as opt
from manyview.cli import _output, _render, _sources
from manyview.cli._dask import refuse_on_dask, run_on_dask
from manyview.exceptions import DatasetError, ViewError

if TYPE_CHECKING:
    from manyview._views import ViewSet
    from manyview.cli._result import Result
    from manyview.model_selection import ClusterCountChoice

MOST_AUTOMATIC = 15
# Files that --write copies.
ANNOTATED = (".h5ad", ".h5mu")


@opt.take_request
def cluster_command(
    *,
    ctx: typer.Context,
    n_clusters: Annotated[
        str,
        opt.method_option(
            "-k",
            "--n-clusters",
            metavar="K",
            help="Number of clusters: 10, a range such as 2..15 to choose from, or "
            "auto (2..15).",
        ),
    ],
    out: Annotated[
        str | None,
        opt.output_option(
            "--out",
            "-o",
            help="Folder for labels.csv, model.mvz, summary.json and report.html; - "
            "prints the labels as CSV on stdout. Without it only the summary is shown.",
        ),
    ] = None,
    request: opt.Request,
    method: opt.Method = "graphnsmvc",
    seed: opt.Seed = 0,
    n_init: Annotated[
        int | None,
        opt.method_option(min=1, help="Restarts; by default the method's own number."),
    ] = None,
    scale: opt.Scale = None,
    assignment: Annotated[
        Literal["sequential", "majorize"] | None,
        opt.method_option(
            help="NSMVC's step: one sample at a time as published, or all at once."
        ),
    ] = None,
    outlier_threshold: Annotated[
        float | None,
        opt.method_option(
            metavar="SCORE",
            help="NSMVC and GraphNSMVC: samples with a higher outlier score get the "
            "label -1, noise. 5 is a cautious choice.",
        ),
    ] = None,
    covariates: opt.Covariates = None,
    survival: opt.Survival = None,
    dask: Annotated[
        str | None,
        opt.method_option(
            metavar="ADDRESS",
            help="Run on a Dask cluster: tcp://host:8786, or local[N] for N processes "
            "here. The sources are then zarr arrays, a zarr group, or parquet.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        opt.method_option(
            metavar="FOLDER",
            help="With --dask: store the state there, to continue an interrupted fit.",
        ),
    ] = None,
    write: Annotated[
        Path | None,
        opt.output_option(
            metavar="FILE",
            help="A copy of the .h5ad or .h5mu file with clusters, confidence and "
            "joint embedding in obs and obsm, for scanpy and muon.",
        ),
    ] = None,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
    _debug: opt.Debug = False,
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
        _output.check_folder(folder, _output.REPORT, force=force)
    known = _sources.read_covariates(covariates, survival)
    if write is not None:
        _check_write(write, request, force=force)
    settings = opt.given_settings(
        random_state=seed,
        n_init=n_init,
        scale=scale,
        assignment=assignment,
        outlier_threshold=outlier_threshold,
        checkpoint=checkpoint,
    )
    command = ctx.meta[opt.COMMAND]
    if dask is not None:
        refuse_on_dask(ctx, counts)
        settings["n_clusters"] = counts[0]
        result = run_on_dask(dask, request, method, settings, command)
    elif checkpoint is not None:
        msg = "--checkpoint is for fits on a cluster. Add --dask."
        raise typer.BadParameter(msg, param_hint="--checkpoint")
    else:
        estimator = opt.make_estimator(method, settings)
        result = _run(request, estimator, counts, command, known)
    summary = result.summarise(request)
    written = []
    with _output.labels_on_stdout(result.write_labels):
        if folder is not None:
            names = _output.write_folder(folder, _writers(result, summary), force=force)
            written.append(f"\nWritten to {folder}: {', '.join(names)}")
        if write is not None:
            _write_annotated(result, request, write)
            written.append(f"Written to {write}.")
    if out == "-":
        result.write_labels(sys.stdout)
        _render.summary(summary, _render.err)
    elif as_json:
        _render.as_json(summary)
        return
    else:
        _render.summary(summary, _render.out)
    for text in written:
        _render.line(text)


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


def _run(
    request: opt.Request,
    estimator: Any,
    counts: range,
    command: str,
    covariates: _sources.Covariates | None,
) -> Result:
    """Read the data, choose the number of clusters where there is a choice, and fit."""
    from manyview._views import check_views
    from manyview.cli._result import Result

    data, imputer = _sources.load_sources(request)
    known = covariates and covariates.of(_sources.sample_names(data))
    started = time.perf_counter()
    views: Any = _sources.as_views(data)
    choice = None
    if len(counts) > 1:
        # Checked here, once, for the choice of the number and for the fit.
        views = check_views(views)
        choice = _choose(views, counts, estimator)
    estimator.set_params(n_clusters=choice.n_clusters if choice else counts[0])
    with _render.fit_progress(estimator) as on_iteration:
        clustering = estimator.fit_clustering(views, on_iteration=on_iteration)
    return Result(
        command=command,
        seconds=time.perf_counter() - started,
        model=estimator,
        data=data,
        clustering=clustering,
        choice=choice,
        imputer=imputer,
        covariates=known,
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
    with _render.progress_bar("Choosing the number of clusters") as update:
        return choose_n_clusters(
            views,
            range(counts[0], most + 1),
            estimator=tester,
            random_state=estimator.random_state,
            on_progress=lambda n_done, n_fits: update(
                completed=n_done, total=n_fits, state=f"fit {n_done}/{n_fits}"
            ),
        )


def _writers(result: Result, summary: dict[str, Any]) -> _output.Writers:
    """The files of a result folder."""
    from manyview import _model_file

    writers: _output.Writers = {_output.LABELS: result.write_labels}
    if _model_file.can_save(result.model):
        writers[_output.MODEL] = partial(
            _model_file.save_model, result.model, imputer=result.imputer
        )
    writers[_output.SUMMARY] = partial(_output.write_json, content=summary)
    if _output.can_report():
        writers[_output.REPORT] = lambda path: result.page().save(path)
    return writers


def _check_write(path: Path, request: opt.Request, *, force: bool) -> None:
    """Refuse what cannot be written, before any work is done."""
    source = Path(opt.split_name(request.sources[0])[1])
    kind = path.suffix.lower()
    same = kind in ANNOTATED and kind == source.suffix.lower()
    if len(request.sources) > 1 or not same:
        msg = (
            f"{path} cannot be written: --write copies the one .h5ad or .h5mu file "
            "that is clustered, under a name with the same suffix."
        )
        raise DatasetError(msg)
    if path.exists() and source.exists() and path.samefile(source):
        msg = f"{path} is the file that is clustered. Choose another --write."
        raise DatasetError(msg)
    _output.check_file(path, force=force, option="--write")
    import_extra("anndata", "omics", "--write")


def _write_annotated(result: Result, request: opt.Request, path: Path) -> None:
    """A copy of the clustered file with the results in it."""
    from manyview.omics import annotate_file, make_annotations

    found = make_annotations(
        result.model,
        result.clustering,
        _sources.sample_names(result.data),
        key="manyview",
        imputed=result.imputer and result.imputer.n_imputed_,
        explanation=result.explanation,
    )
    (source,) = request.sources
    with _output.writing(path):
        annotate_file(Path(opt.split_name(source)[1]), path, found)
