"""The reproduction page in a real browser: quiet, sortable, readable on a phone."""

import shutil
from pathlib import Path

import pytest

from manyview.bench import (
    BenchData,
    DataRef,
    Outcome,
    build_table,
    load_protocol,
    plan_tables,
)
from manyview.plotting._paper import plot_pacing
from manyview.plotting._paper_style import save_figure
from manyview.reporting._reproduction import (
    ReportFigure,
    Reproduction,
    write_reproduction,
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the chromium browser"),
]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """A report on Texas with made-up scores; one method failed, one text is hostile."""
    folder = tmp_path_factory.mktemp("report")
    protocol = load_protocol("quick")
    data = BenchData(
        ref=DataRef(name="texas", kind="registered", location="texas"),
        checksum="c",
        n_samples=187,
        view_names=("citation", "content"),
        n_clusters=5,
    )
    protocol = protocol.restrict(methods=["NSMVC", "NSMVC (0.5, 6)"], repeats=3)
    protocol = protocol.with_method("CAMVC=tests.bench.toys:Steady")
    protocol = protocol.with_method("<b>broken</b>=tests.bench.toys:Failing")
    outcomes = {}
    for number, run in enumerate(plan_tables(protocol, [data])):
        acc = 0.4 + 0.07 * (number % 5)
        outcomes[run.key] = Outcome(
            status="ok", acc=acc, purity=acc + 0.1, nmi=acc / 2, seconds=0.1, peak_mb=3
        )
        if run.estimator.endswith("Failing"):
            outcomes[run.key] = Outcome(
                status="failed", error="<script>document.title = 'owned'</script>"
            )
    _, svg = save_figure(plot_pacing(), folder, "pacing")
    return write_reproduction(
        Reproduction(
            tables=(build_table(protocol, data, outcomes),),
            protocols=(protocol,),
            figures=(ReportFigure(title="Pacing", caption="How.", path=svg),),
            n_runs=len(outcomes),
            n_failed=3,
            fit_seconds=3600.0,
            environments=('{"python": "3.x"}',),
            command="manyview reproduce table5",
        ),
        folder / "report.html",
    )


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser, page_file):
    """Opens the page at a width, and afterwards insists that it caused no complaint."""
    complaints = []
    pages = []

    def at(width):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on(
            "console",
            lambda m: complaints.append(m.text)
            if m.type in ("error", "warning")
            else 0,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda r: complaints.append(r.url)
            if not r.url.startswith(("file:", "data:"))
            else 0,
        )
        page.goto(page_file.as_uri())
        pages.append(page)
        return page

    yield at
    for page in pages:
        page.close()
    assert complaints == []


def column(page, index):
    cells = page.locator("table.results").first.locator(
        f"tbody tr td:nth-child({index + 1})"
    )
    return [text.split()[0] if text.split() else "" for text in cells.all_inner_texts()]


def test_page_shows_tables_and_figures(open_page):
    page = open_page(1280)
    assert page.title() == "NSMVC, reproduced"
    assert column(page, 0) == ["NSMVC", "NSMVC", "CAMVC", "<b>broken</b>"]
    page.locator("figure.plot img").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('figure.plot img').naturalWidth > 0")


def test_tables_sort_by_column_with_missing_cells_last(open_page):
    page = open_page(1280)
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


def test_page_fits_a_phone(open_page):
    page = open_page(390)
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    # Wide tables scroll in a box of their own.
    box = page.locator("div.scroll", has=page.locator("table.results")).first
    assert box.evaluate("e => e.scrollWidth > e.clientWidth")


def test_theme_can_be_switched(open_page):
    page = open_page(1280)
    color = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(color)
    page.locator("#theme").click()
    assert page.evaluate(color) != before
