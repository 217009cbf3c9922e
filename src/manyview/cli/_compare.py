"""``manyview compare``: every method on the same data."""

from __future__ import annotations

import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import _options as opt
from manyview.cli import _output, _render
from manyview.cli._progress import progress_bar
from manyview.cli._request import Request, take_request
from manyview.cli._sources import as_views, fill_holes, load_sources, title_of

if TYPE_CHECKING:
    from manyview.datasets import MultiViewData
    from manyview.reporting._page import Table

SCORES = {"accuracy": "ACC", "nmi": "NMI", "purity": "Purity", "ari": "ARI"}


@take_request
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
    request: Request,
    seed: opt.Seed = 0,
    scale: opt.ScaleOption = None,
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
    settings = opt.given_settings(scale, n_clusters=n_clusters, random_state=seed)
    chosen = list(opt.method_names()) if methods is None else methods.split(",")
    # Made before any of them runs: an unknown name is an error at once.
    estimators = [opt.make_estimator(name.strip(), {}) for name in chosen]
    data, _ = fill_holes(load_sources(request), request)
    content = compare(data, estimators, settings)
    names = []
    if out is not None:
        command = opt.given_command(ctx)
        names = write_comparison(out, content, command=command, force=force)
    if as_json:
        _render.as_json(content)
        return
    _render.comparison(content)
    if out is not None:
        _render.line(f"\nWritten to {out}: {', '.join(names)}")


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
            row: dict[str, Any] = {
                "method": name,
                "seconds": None,
                "sizes": None,
                "scores": None,
            }
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
        "data": {"name": title_of(data), "n_samples": data.n_samples},
        "settings": settings,
        "methods": rows,
        "agreement": {"methods": list(found), "ari": agreement},
    }


def _fit(
    estimator: Any, views: dict[str, Any], target: Any, settings: dict[str, Any]
) -> dict[str, Any]:
    """Fit one method with the settings that it has; what there is to say of it."""
    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    from manyview.metrics._scores import all_scores

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
        "error": None,
    }


def write_comparison(
    folder: Path, content: dict[str, Any], *, command: str, force: bool
) -> list[str]:
    """Write the folder; the names of its files."""

    def write_page(path: Path) -> None:
        path.write_text(comparison_page(content, command), encoding="utf-8")

    writers: _output.Writers = {
        _output.METHODS: partial(_write_methods, content["methods"]),
        _output.AGREEMENT: partial(_write_agreement, content["agreement"]),
        _output.SUMMARY: partial(
            _output.write_json, content={"command": command, **content}
        ),
    }
    if _output.can_report():
        writers[_output.COMPARISON] = write_page
    return _output.write_folder(folder, writers, force=force)


def comparison_page(content: dict[str, Any], command: str) -> str:
    """One self-contained HTML page."""
    import numpy as np

    from manyview.reporting._figures import agreement_figure
    from manyview.reporting._page import render_page

    rows, agreement = content["methods"], content["agreement"]
    names = agreement["methods"]
    return render_page(
        "comparison.html",
        templates=Path(__file__).parent / "templates",
        agreement=agreement_figure(names, np.array(agreement["ari"])),
        content=content,
        command=command,
        scored=any(row["scores"] for row in rows),
        method_table=_method_table(rows),
        n_agreeing=len(names),
        failures=[(row["method"], row["error"]) for row in rows if row["error"]],
    )


def _method_table(rows: list[dict[str, Any]]) -> Table:
    from manyview.reporting._page import Column, Table, number

    columns = [
        Column(name="Method"),
        number("Seconds", ".1f"),
        Column(name="Cluster sizes", hint="Smallest and largest cluster"),
    ]
    scored = any(row["scores"] for row in rows)
    if scored:
        columns += [number(name, ".1%") for name in SCORES.values()]
    cells = []
    for row in rows:
        found = row["scores"] or {}
        scores = [found.get(name) for name in SCORES] if scored else []
        cells.append([row["method"], row["seconds"], row["sizes"] or "failed", *scores])
    return Table(caption="All methods", columns=tuple(columns), rows=cells)


def _write_methods(rows: list[dict[str, Any]], path: Path) -> None:
    import pandas as pd

    unscored = dict.fromkeys(SCORES)
    cells = [{**row, **(row["scores"] or unscored)} for row in rows]
    columns = ["method", "seconds", "sizes", *SCORES, "error"]
    table = pd.DataFrame(cells, columns=columns, dtype=object)
    table.to_csv(path, index=False, lineterminator="\n")


def _write_agreement(agreement: dict[str, Any], path: Path) -> None:
    import pandas as pd

    names = agreement["methods"]
    table = pd.DataFrame(agreement["ari"], names, names)
    table.to_csv(path, index_label="method", lineterminator="\n")
