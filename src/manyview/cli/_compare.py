"""``manyview compare``: every method on the same data."""

from __future__ import annotations

import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import _options as opt
from manyview.cli import _output, _render, _sources

if TYPE_CHECKING:
    from manyview._views import ViewSet
    from manyview.datasets import MultiViewData
    from manyview.reporting import ReportPage

# What there is to say of a method; None where it failed, or did not.
ROW = ("method", "seconds", "sizes", "scores", "error")


@opt.take_request
def compare_command(
    *,
    ctx: typer.Context,
    n_clusters: Annotated[
        int,
        opt.method_option(
            "-k", "--n-clusters", metavar="K", min=1, help="Number of clusters."
        ),
    ],
    methods: Annotated[
        str | None, opt.method_option(help="Comma-separated methods; all by default.")
    ] = None,
    request: opt.Request,
    seed: opt.Seed = 0,
    scale: opt.Scale = None,
    out: Annotated[
        Path | None,
        opt.output_option(
            "--out",
            "-o",
            help="Folder for methods.csv, agreement.csv, summary.json and "
            "comparison.html.",
        ),
    ] = None,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
    _debug: opt.Debug = False,
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
        _output.check_folder(out, _output.COMPARISON, force=force)
    settings = opt.given_settings(n_clusters=n_clusters, random_state=seed, scale=scale)
    chosen = list(opt.method_names()) if methods is None else methods.split(",")
    # Made before any of them runs: an unknown name is an error at once.
    estimators = [opt.make_estimator(name.strip(), {}) for name in chosen]
    data, _ = _sources.load_sources(request)
    content = compare(data, estimators, settings)
    written = []
    if out is not None:
        summary = {"command": ctx.meta[opt.COMMAND], **content}
        written = _output.write_folder(out, _writers(summary), force=force)
    if as_json:
        _render.as_json(content)
        return
    _render.comparison(content)
    if written:
        _render.line(f"\nWritten to {out}: {', '.join(written)}")


def compare(
    data: MultiViewData, estimators: list[Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """Rows per method and the agreement between those that came through."""
    from manyview._views import check_views
    from manyview.metrics import adjusted_rand_score

    # Checked here, once, for all methods.
    views = check_views(_sources.as_views(data))
    rows = []
    found: dict[str, Any] = {}
    with _render.progress_bar("Comparing", len(estimators)) as update:
        for n_done, estimator in enumerate(estimators):
            name = type(estimator).__name__
            update(completed=n_done, state=name)
            row: dict[str, Any] = dict.fromkeys(ROW)
            row["method"] = name
            try:
                row |= _fit(estimator, views, data.target, settings)
                found[name] = estimator.labels_
            except Exception as error:  # noqa: BLE001 - whatever it was, the others go on
                row["error"] = str(error) or type(error).__name__
            rows.append(row)
    agreement = [
        [float(adjusted_rand_score(a, b)) for b in found.values()]
        for a in found.values()
    ]
    return {
        "data": {"name": _sources.title_of(data), "n_samples": data.n_samples},
        "settings": settings,
        "methods": rows,
        "agreement": {"methods": list(found), "ari": agreement},
    }


def _fit(
    estimator: Any, views: ViewSet, target: Any, settings: dict[str, Any]
) -> dict[str, Any]:
    """Fit one method with the settings that it has; what there is to say of it."""
    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    from manyview.metrics import all_scores

    known = estimator.get_params()
    own = {name: value for name, value in settings.items() if name in known}
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.set_params(**own).fit(views)
    seconds = time.perf_counter() - started
    sizes = np.bincount(estimator.labels_)
    return {
        "seconds": round(seconds, 3),
        "sizes": f"{sizes.min():,}–{sizes.max():,}",
        "scores": all_scores(target, estimator.labels_),
    }


def _writers(summary: dict[str, Any]) -> _output.Writers:
    """The files of a comparison."""
    import pandas as pd

    agreement = summary["agreement"]
    names = agreement["methods"]
    unscored = dict.fromkeys(_render.SCORES)
    methods = pd.DataFrame(
        [{**row, **(row["scores"] or unscored)} for row in summary["methods"]],
        columns=["method", "seconds", "sizes", *unscored, "error"],
        dtype=object,
    ).set_index("method")
    tables = {
        _output.METHODS: methods,
        _output.AGREEMENT: pd.DataFrame(agreement["ari"], names, names),
    }
    writers: _output.Writers = {
        name: partial(table.to_csv, index_label="method", lineterminator="\n")
        for name, table in tables.items()
    }
    writers[_output.SUMMARY] = partial(_output.write_json, content=summary)
    if _output.can_report():
        writers[_output.COMPARISON] = lambda path: _page(summary).save(path)
    return writers


def _page(summary: dict[str, Any]) -> ReportPage:
    """One self-contained HTML page."""
    from manyview.reporting import ReportPage, _figures
    from manyview.reporting._page import render_page

    page = render_page(
        "comparison.html",
        templates=Path(__file__).parent / "templates",
        draw=_figures,
        score_names=_render.SCORES,
        **summary,
    )
    return ReportPage(page)
