"""Reports as one self-contained HTML file."""

from manyview.reporting._report import report

__all__ = ["report"]
