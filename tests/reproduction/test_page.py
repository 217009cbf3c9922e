"""The reproduction page in a real browser: quiet, sortable, readable on a phone."""

from dataclasses import replace
from pathlib import Path

import pytest

from reproduction.data import DataInfo
from reproduction.figures import Picture
from reproduction.page import write_report
from reproduction.plots import paper_style, plot_pacing
from reproduction.protocols import QUICK
from reproduction.store import Outcome
from reproduction.tables import build_cells, collect
from tests.browser.conftest import browser, open_page  # noqa: F401 - fixtures
from tests.reproduction.conftest import toy

TEXAS = DataInfo(source="texas", checksum="c", view_names=("citation", "content"))


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """A report on Texas with made-up scores; one method failed, one text is hostile."""
    folder = tmp_path_factory.mktemp("report")
    toys = toy("Steady", "CAMVC"), toy("Failing", "<b>broken</b>")
    protocol = replace(QUICK, methods=(*QUICK.methods[-2:], *toys), repeats=3)
    entries = protocol.entries(TEXAS)
    outcomes = {}
    for number, entry in enumerate(entries):
        acc = 0.4 + 0.07 * (number % 5)
        outcomes[entry.run] = Outcome(
            acc=acc,
            purity=acc + 0.1,
            nmi=acc / 2,
            seconds=0.1,
            peak_mb=3,
            version="0+x",
            environment="python=3.x; cpu=fast",
        )
        if entry.run.method.endswith("Failing"):
            error = "<script>document.title = 'owned'</script>"
            outcomes[entry.run] = Outcome(error=error)
    svg = folder / "pacing.svg"
    with paper_style():
        plot_pacing().savefig(svg)
    write_report(
        folder / "report.html",
        cells=build_cells(collect(entries, outcomes)),
        protocols=[protocol],
        pictures=[Picture("Pacing", "How.", svg)],
        outcomes=list(outcomes.values()),
        missing={"cornell": "No network."},
        command="python -m reproduction table5",
    )
    return folder / "report.html"


def test_page_is_written_without_a_browser(page_file):
    text = page_file.read_text()
    assert "<script>document.title" not in text
    assert "&lt;b&gt;broken&lt;/b&gt;" in text
    assert "cornell could not be loaded and is left out: No network." in text
    assert "<dt>cpu</dt><dd>fast</dd>" in text
    assert "python -m reproduction table5" in text


@pytest.fixture
def open_at(open_page, page_file):  # noqa: F811 - the fixture
    """Opens the page at a width, and afterwards insists that it caused no complaint."""
    opened = []

    def at(width):
        viewport = {"width": width, "height": 900}
        opened.append(open_page(page_file, viewport=viewport))
        return opened[-1].page

    yield at
    for found in opened:
        assert found.complaints == []
        assert all(url.startswith(("file:", "data:")) for url in found.requests)


def column(page, index):
    cells = page.locator("table.results").first.locator(
        f"tbody tr td:nth-child({index + 1})"
    )
    return [text.split()[0] if text.split() else "" for text in cells.all_inner_texts()]


@pytest.mark.browser
def test_page_shows_tables_and_figures(open_at):
    page = open_at(1280)
    assert page.title() == "NSMVC, reproduced"
    assert column(page, 0) == ["NSMVC", "NSMVC", "CAMVC", "<b>broken</b>"]
    page.locator("figure.plot img").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('figure.plot img').naturalWidth > 0")


@pytest.mark.browser
def test_tables_sort_by_column_with_missing_cells_last(open_at):
    page = open_at(1280)
    head = page.locator("table.results").first.locator("thead th").nth(1)
    head.get_by_role("button").click()
    falling = column(page, 1)
    assert head.get_attribute("aria-sort") == "descending"
    assert falling[-1] == "failed"
    numbers = [float(text) for text in falling[:-1]]
    assert numbers == sorted(numbers, reverse=True)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, 1) == [*reversed(falling[:-1]), "failed"]


@pytest.mark.browser
def test_page_fits_a_phone(open_at):
    page = open_at(390)
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    # Wide tables scroll in a box of their own.
    box = page.locator("div.scroll", has=page.locator("table.results")).first
    assert box.evaluate("e => e.scrollWidth > e.clientWidth")


@pytest.mark.browser
def test_theme_can_be_switched(open_at):
    page = open_at(1280)
    color = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(color)
    page.locator("#theme").click()
    assert page.evaluate(color) != before
