"""Everything the command prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

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


def visible(text: str) -> str:
    """Text without characters that a terminal would obey."""
    return text.translate(CONTROLS)


def line(text: str, *, console: Console | None = None) -> None:
    """One line as it is: no markup, no wrapping."""
    (console or out).print(Text(visible(text)), soft_wrap=True)


def error(message: str) -> None:
    """What went wrong."""
    text = Text.assemble(("error: ", "bold red"), visible(message))
    err.print(text, soft_wrap=True)


def trace(text: str) -> None:
    """A stack trace, for ``--debug``."""
    err.print(Text(visible(text)), soft_wrap=True)


def note(message: str) -> None:
    """Something worth knowing about the run."""
    err.print(Text(visible(message), style="dim"), soft_wrap=True)


def show_warning(
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001 - the signature is Python's
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    """A warning as a sentence; takes the place of ``warnings.showwarning``."""
    text = Text.assemble(("warning: ", "bold yellow"), visible(str(message)))
    err.print(text, soft_wrap=True)


def as_json(content: Any) -> None:
    """JSON on stdout."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    # JSON spells out most control characters by itself; these occur in texts only.
    rest = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
    out.file.write(text.translate(rest) + "\n")


def bar(share: float, console: Console, width: int = BAR_WIDTH) -> str:
    """A bar of blocks, or of hashes where blocks cannot be written."""
    share = min(max(share, 0.0), 1.0)
    try:
        "█▏".encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def summary(content: dict[str, Any], *, console: Console | None = None) -> None:
    """The result of ``manyview cluster``."""
    console = console or out
    head = (
        f"{content['data']['name']}: {content['data']['n_samples']:,} samples, "
        f"{len(content['views'])} views, {content['method']} with "
        f"{content['n_clusters']} clusters in {content['seconds']:.1f} s"
    )
    console.print(Text(visible(head), style="bold"), soft_wrap=True)
    if content["choice"] is not None:
        _choice(content["choice"], console)
    _clusters(content["clusters"], console)
    _views(content["views"], console)
    if content["scores"] is not None:
        _scores(content["scores"], console)


def _plain_table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name, justify in columns:
        # Only "left" and "right" ever come; the stub wants them as literals.
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    return table


def _clusters(clusters: Sequence[dict[str, Any]], console: Console) -> None:
    table = _plain_table(
        ("cluster", "right"), ("samples", "right"), ("", "left"), ("confidence", "left")
    )
    largest = max(cluster["size"] for cluster in clusters)
    for cluster in clusters[:MOST_CLUSTERS_SHOWN]:
        confidence = cluster["confidence"]
        table.add_row(
            str(cluster["cluster"]),
            f"{cluster['size']:,}",
            Text(bar(cluster["size"] / max(1, largest), console), style="blue"),
            "" if confidence is None else f"{confidence:.2f}",
        )
    console.print()
    console.print(table)
    hidden = len(clusters) - MOST_CLUSTERS_SHOWN
    if hidden > 0:
        line(f"... and {hidden} more", console=console)


def _views(views: Sequence[dict[str, Any]], console: Console) -> None:
    weighted = views[0]["weight"] is not None
    columns = [("view", "left"), ("features", "right")]
    if weighted:
        columns += [("weight", "right"), ("", "left")]
    columns += [("unexplained", "right"), ("agrees", "right")]
    table = _plain_table(*columns)
    for view in views:
        name = Text(visible(view["name"]))
        cells: list[str | Text] = [name, f"{view['n_features']:,}"]
        if weighted:
            blocks = bar(view["weight"], console, 16)
            cells += [f"{view['weight']:.0%}", Text(blocks, style="yellow")]
        cells += [f"{view['unexplained']:.0%}", f"{view['agreement']:.0%}"]
        table.add_row(*cells)
    console.print()
    console.print(table)


def _scores(scores: dict[str, float], console: Console) -> None:
    names = {"accuracy": "ACC", "nmi": "NMI", "purity": "purity", "ari": "ARI"}
    text = Text("\n")
    for name, word in names.items():
        text.append(f"{word} ", style="dim")
        text.append(f"{scores[name]:.1%}   ", style="bold green")
    console.print(text)


def _choice(choice: dict[str, Any], console: Console) -> None:
    table = _plain_table(("k", "right"), ("weakest cluster", "left"), ("", "left"))
    for k, weakest in zip(choice["candidates"], choice["weakest"], strict=True):
        chosen = k == choice["n_clusters"]
        style = "bold green" if chosen else ""
        blocks = Text(bar(weakest, console), style="green" if chosen else "blue")
        mark = " chosen" if chosen else ""
        table.add_row(
            Text(str(k), style=style), Text(f"{weakest:.2f}{mark}", style=style), blocks
        )
    console.print()
    console.print(table)
    if not choice["reached"]:
        line(
            f"No number of clusters is stable (none reaches {choice['threshold']}); "
            f"{choice['n_clusters']} is the most stable one.",
            console=console,
        )


def written(folder: Any, names: Sequence[str]) -> None:
    """Where the result is."""
    line(f"\nWritten to {folder}: {', '.join(names)}")


def datasets(rows: Sequence[dict[str, Any]]) -> None:
    """The known data sets."""
    table = _plain_table(
        ("name", "left"),
        ("samples", "right"),
        ("classes", "right"),
        ("views", "left"),
        ("where", "left"),
    )
    for row in rows:
        table.add_row(
            Text(row["name"], style="bold"),
            f"{row['n_samples']:,}",
            str(row["n_classes"]),
            " ".join(row["views"]),
            row["where"],
        )
    out.print(table)


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(Text(visible(name)), Text(visible(value)))
    out.print(table)


def comparison(content: dict[str, Any]) -> None:
    """The result of ``manyview compare``."""
    rows = content["methods"]
    scored = any(row["scores"] for row in rows)
    columns = [("method", "left"), ("seconds", "right"), ("sizes", "left")]
    if scored:
        columns += [(n, "right") for n in ("ACC", "NMI", "purity", "ARI")]
    table = _plain_table(*columns)
    for row in rows:
        if row["error"] is not None:
            table.add_row(row["method"], "", Text("failed", style="red"))
            continue
        cells = [row["method"], f"{row['seconds']:.1f}", row["sizes"]]
        if scored:
            names = ("accuracy", "nmi", "purity", "ari")
            cells += [f"{row['scores'][name]:.1%}" for name in names]
        table.add_row(*cells)
    out.print(table)
    for row in rows:
        if row["error"] is not None:
            line(f"{row['method']} failed: {row['error']}")
    _agreement(content, out)


def _agreement(content: dict[str, Any], console: Console) -> None:
    names = content["agreement"]["methods"]
    if len(names) < 2:
        return
    line("\nAgreement between methods (adjusted Rand index)\n", console=console)
    table = _plain_table(
        ("", "left"), *((str(i + 1), "right") for i in range(len(names)))
    )
    # Narrow enough for a dozen methods in 80 columns.
    table.padding = (0, 1, 0, 0)
    for i, (name, row) in enumerate(
        zip(names, content["agreement"]["ari"], strict=True)
    ):
        # Rounded before it is written: no method agrees by -0.00 with another.
        cells = [f"{round(v, 2) + 0.0:.2f}" if j < i else "" for j, v in enumerate(row)]
        table.add_row(f"{i + 1} {name}", *cells)
    console.print(table)
