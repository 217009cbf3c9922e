"""Reports as one self-contained HTML file."""

from manyview.reporting._page import ReportPage
from manyview.reporting._report import report, report_page

__all__ = ["ReportPage", "report", "report_page"]
