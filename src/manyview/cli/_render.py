"""Everything the command prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from manyview._results import IterationRecord

# Results go to stdout, everything about the run to stderr. Both follow NO_COLOR and
# drop colours when they are not a terminal.
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

# Names come from files: what a terminal would obey (colours, titles, a moved cursor) is
# shown as its code. Tabs and line ends stay.
CONTROLS = {
    code: f"\\x{code:02x}"
    for code in (*range(0x20), *range(0x7F, 0xA0))
    if chr(code) not in "\t\n"
}

BAR_WIDTH = 24
MOST_CLUSTERS_SHOWN = 20
# Scores by name, and what they are called.
SCORES = {"accuracy": "ACC", "nmi": "NMI", "purity": "purity", "ari": "ARI"}


def visible(text: str) -> str:
    """Text without characters that a terminal would obey."""
    return text.translate(CONTROLS)


def line(text: str, console: Console = out, style: str = "") -> None:
    """One line as it is: no markup, no wrapping."""
    console.print(Text(visible(text), style=style), soft_wrap=True)


def note(message: str) -> None:
    """Something worth knowing about the run."""
    line(message, err, "dim")


def error(message: str) -> None:
    """What went wrong."""
    _announce("error: ", "bold red", message)


def show_warning(message: Warning | str, *_where: Any, **_more: Any) -> None:
    """A warning as a sentence; takes the place of ``warnings.showwarning``."""
    _announce("warning: ", "bold yellow", str(message))


def _announce(word: str, style: str, message: str) -> None:
    err.print(Text.assemble((word, style), visible(message)), soft_wrap=True)


def to_json(content: Any) -> str:
    """JSON, to be read by people too."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def as_json(content: Any) -> None:
    """JSON on stdout."""
    # JSON spells out most control characters by itself; these occur in texts only.
    rest = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
    out.file.write(to_json(content).translate(rest))


def bar(share: float, console: Console, width: int = BAR_WIDTH) -> str:
    """A bar of blocks, or of hashes where blocks cannot be written."""
    share = min(max(share, 0.0), 1.0)
    try:
        "█▏".encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def summary(content: dict[str, Any], console: Console) -> None:
    """The result of ``manyview cluster``."""
    head = (
        f"{content['data']['name']}: {content['data']['n_samples']:,} samples, "
        f"{len(content['views'])} views, {content['method']} with "
        f"{content['n_clusters']} clusters in {content['seconds']:.1f} s"
    )
    line(head, console, "bold")
    if content["choice"] is not None:
        _choice(content["choice"], console)
    _clusters(content["clusters"], console)
    _views(content["views"], console)
    if content["scores"] is not None:
        text = Text("\n")
        for name, word in SCORES.items():
            text.append(f"{word} ", style="dim")
            text.append(f"{content['scores'][name]:.1%}   ", style="bold green")
        console.print(text)


def _table(
    console: Console,
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    gap: int = 2,
) -> None:
    """A table by its headings; a column whose heading starts with > is flush right."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    for name in columns:
        justify: Any = "right" if name.startswith(">") else "left"
        table.add_column(name.lstrip(">"), justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _clusters(clusters: Sequence[dict[str, Any]], console: Console) -> None:
    largest = max(1, *(cluster["size"] for cluster in clusters))
    rows = [
        (
            str(cluster["cluster"]),
            f"{cluster['size']:,}",
            Text(bar(cluster["size"] / largest, console), style="blue"),
            "" if cluster["confidence"] is None else f"{cluster['confidence']:.2f}",
        )
        for cluster in clusters[:MOST_CLUSTERS_SHOWN]
    ]
    console.print()
    _table(console, [">cluster", ">samples", "", "confidence"], rows)
    hidden = len(clusters) - MOST_CLUSTERS_SHOWN
    if hidden > 0:
        line(f"... and {hidden} more", console)


def _views(views: Sequence[dict[str, Any]], console: Console) -> None:
    weighted = views[0]["weight"] is not None
    weights = [">weight", ""] if weighted else []
    rows = []
    for view in views:
        row: list[str | Text] = [Text(visible(view["name"])), f"{view['n_features']:,}"]
        if weighted:
            blocks = bar(view["weight"], console, 16)
            row += [f"{view['weight']:.0%}", Text(blocks, style="yellow")]
        rows.append([*row, f"{view['unexplained']:.0%}", f"{view['agreement']:.0%}"])
    console.print()
    _table(console, ["view", ">features", *weights, ">unexplained", ">agrees"], rows)


def _choice(choice: dict[str, Any], console: Console) -> None:
    rows = []
    for k, weakest in zip(choice["candidates"], choice["weakest"], strict=True):
        style, color, mark = "", "blue", ""
        if k == choice["n_clusters"]:
            style, color, mark = "bold green", "green", " chosen"
        blocks = Text(bar(weakest, console), style=color)
        rows.append((Text(str(k), style), Text(f"{weakest:.2f}{mark}", style), blocks))
    console.print()
    _table(console, [">k", "weakest cluster", ""], rows)
    if not choice["reached"]:
        line(
            f"No number of clusters is stable (none reaches {choice['threshold']}); "
            f"{choice['n_clusters']} is the most stable one.",
            console,
        )


def datasets(rows: Sequence[dict[str, Any]]) -> None:
    """The known data sets."""
    cells = [
        (
            Text(row["name"], style="bold"),
            f"{row['n_samples']:,}",
            str(row["n_classes"]),
            " ".join(row["views"]),
            row["where"],
        )
        for row in rows
    ]
    _table(out, ["name", ">samples", ">classes", "views", "where"], cells)


def facts(values: dict[str, str]) -> None:
    """Names and values in two columns."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values.items():
        table.add_row(Text(visible(name)), Text(visible(value)))
    out.print(table)


def comparison(content: dict[str, Any]) -> None:
    """The result of ``manyview compare``."""
    methods = content["methods"]
    scored = any(row["scores"] for row in methods)
    words = [f">{word}" for word in SCORES.values()] if scored else []
    rows = []
    for row in methods:
        if row["error"] is not None:
            rows.append([row["method"], "", Text("failed", style="red")])
            continue
        scores = [f"{row['scores'][name]:.1%}" for name in SCORES] if scored else []
        rows.append([row["method"], f"{row['seconds']:.1f}", row["sizes"], *scores])
    _table(out, ["method", ">seconds", "sizes", *words], rows)
    for row in methods:
        if row["error"] is not None:
            line(f"{row['method']} failed: {row['error']}")
    if len(content["agreement"]["methods"]) > 1:
        _agreement(content["agreement"])


def _agreement(agreement: dict[str, Any]) -> None:
    line("\nAgreement between methods (adjusted Rand index)\n")
    names = agreement["methods"]
    columns = ["", *(f">{i + 1}" for i in range(len(names)))]
    rows = []
    for i, (name, values) in enumerate(zip(names, agreement["ari"], strict=True)):
        # Rounded before it is written: no method agrees by -0.00 with another.
        cells = [f"{round(value, 2) + 0.0:.2f}" for value in values[:i]]
        rows.append([f"{i + 1} {name}", *cells])
    # Narrow enough for a dozen methods in 80 columns.
    _table(out, columns, rows, gap=1)


@contextmanager
def progress_bar(title: str, total: int | None = None) -> Iterator[Any]:
    """Draw a bar on stderr, if that is a terminal; yields what updates it."""
    if not err.is_terminal:
        yield lambda **_: None
        return
    from rich import progress

    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=24),
        progress.TextColumn("{task.fields[state]}", markup=False),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=err, transient=True) as bar:
        yield partial(bar.update, bar.add_task(title, total=total, state=""))


@contextmanager
def fit_progress(estimator: Any) -> Iterator[Callable[[int, IterationRecord], None]]:
    """A callback for `fit` that shows restart, pace, iteration and objective."""
    from manyview._results import PaceRecord

    settings = estimator.get_params()
    n_restarts, n_stages = settings.get("n_init", 1), settings.get("n_paces", 1)
    with progress_bar("Preparing", n_restarts * n_stages) as update:
        update(state="the first run compiles")

        def tell(restart: int, record: IterationRecord) -> None:
            word = "pace" if isinstance(record, PaceRecord) else "stage"
            parts = [
                f"restart {restart + 1}/{n_restarts}",
                f"{word} {record.stage}/{n_stages}",
                f"iteration {record.iteration}",
                f"objective {record.objective:.5g}",
            ]
            update(
                description="Clustering",
                completed=restart * n_stages + min(record.stage, n_stages) - 1,
                state=" · ".join(parts),
            )

        yield tell
