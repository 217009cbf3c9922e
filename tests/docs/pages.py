"""The pages of the documentation, and the code blocks in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
WRITTEN_BY_SPHINX = {"_build", "gallery", "generated"}
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    if WRITTEN_BY_SPHINX.isdisjoint(path.relative_to(ROOT).parts)
}
RUN = ("python", "shell")


@dataclass(frozen=True)
class Block:
    """A code block. ``line`` is that of its first line, counted from 1."""

    language: str
    code: str
    line: int


def blocks(path: Path) -> list[Block]:
    """Code blocks of a page in order; an indented one has no language."""
    tokens = MarkdownIt().parse(path.read_text(encoding="utf-8"))
    return [
        Block(token.info.strip(), token.content, token.map[0] + 2)
        for token in tokens
        if token.type in {"fence", "code_block"}
    ]
