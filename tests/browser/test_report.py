"""The report in a real browser: it works, stays offline and runs nothing foreign."""

import ast
import csv
from xml.etree import ElementTree

import numpy as np
import pytest

from manyview import NSMVC
from manyview.datasets import make_views
from manyview.reporting import report

pytestmark = pytest.mark.browser

NASTY = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    data = make_views(240, 4, (8, 12, 6), random_state=0)
    views = dict(zip(("sound", NASTY, "words"), data.views, strict=True))
    model = NSMVC(4, n_init=3, random_state=0).fit(views)
    return report(
        model,
        views,
        tmp_path_factory.mktemp("report") / "report.html",
        title=f"Title {NASTY}",
        sample_ids=[f"id-{i} {NASTY}" for i in range(240)],
        target=data.target,
        target_names=["a", "b", "c", NASTY],
        command=f"manyview cluster '{NASTY}' -k 4",
    )


@pytest.fixture(scope="module")
def colorful(tmp_path_factory):
    data = make_views(60, 2, (3, 4), random_state=0)
    views = dict(zip(("theme:ink", "theme:unknown"), data.views, strict=True))
    model = NSMVC(2, n_init=1, random_state=0).fit(views)
    return report(model, views, tmp_path_factory.mktemp("colorful") / "report.html")


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """Samples without names, of which some are drawn."""
    data = make_views(300, 3, (3, 4), random_state=0)
    views = list(data.views)
    model = NSMVC(3, n_init=1, random_state=0).fit(views)
    file = tmp_path_factory.mktemp("numbered") / "report.html"
    return report(model, views, file, max_samples=100)


@pytest.fixture(scope="module")
def formulas(tmp_path_factory):
    data = make_views(60, 2, (3, 4), random_state=0)
    views = list(data.views)
    model = NSMVC(2, n_init=1, random_state=0).fit(views)
    ids = ["=1+1", 'a, "b"', *(str(i) for i in range(58))]
    file = tmp_path_factory.mktemp("formulas") / "report.html"
    return report(model, views, file, sample_ids=ids)


def scroll_through(page):
    """Open all folds, to the end and back, so that every figure is drawn."""
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    height = page.evaluate("document.body.scrollHeight")
    for top in range(0, height, 600):
        page.evaluate(f"scrollTo({{top: {top}, behavior: 'instant'}})")
        wait_for_paint(page)
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    wait_until(
        page,
        """[...document.querySelectorAll("[data-figure]")]
            .every((figure) => figure.querySelector(".main-svg"))""",
    )
    wait_for_paint(page)


def wait_for_paint(page):
    """Let the frame that is being made, and one more, come onto the screen."""
    for _ in range(2):
        page.evaluate("new Promise((done) => requestAnimationFrame(done))")


def wait_until(page, condition):
    """Wait for a condition; the page's policy forbids Playwright's own polling."""
    for _ in range(2000):
        if page.evaluate(condition):
            return
        wait_for_paint(page)
    pytest.fail(f"never came true: {condition}")


def pixels(page, index):
    """A map's picture, to see whether it changed."""
    wait_for_paint(page)
    return page.evaluate(
        f"document.querySelectorAll('#stage canvas')[{index}].toDataURL()"
    )


def position_of(page, sample, index):
    """Where a sample is drawn, in coordinates of the window."""
    page.locator("#stage canvas").nth(index).scroll_into_view_if_needed()
    return page.evaluate(
        """([sample, index]) => {
            const plane = manyview.readData("data-map").maps[index];
            const canvas = document.querySelectorAll("#stage canvas")[index];
            const box = canvas.getBoundingClientRect();
            // The large map has its axes named at the left and below.
            const left = index ? 10 : 32;
            const span = canvas.clientWidth - left - 10;
            return [box.left + left + span * plane.x[sample] / 4095,
                    box.top + 10 + span * (1 - plane.y[sample] / 4095)];
        }""",
        [sample, index],
    )


def test_page_works_without_complaints_or_network(path, open_page):
    opened = open_page(path)
    scroll_through(opened.page)
    drawn = opened.page.locator(".figure .main-svg").count()
    figures = opened.page.locator("[data-figure]").count()
    assert figures == 7
    assert drawn >= figures
    assert opened.complaints == []
    assert [url[:5] for url in opened.requests] == ["file:"]


def test_a_figure_in_a_fold_is_drawn_when_the_fold_is_opened(path, open_page):
    opened = open_page(path)
    page = opened.page
    drawn = "document.querySelector('#exponents .main-svg') !== null"
    wide = "document.querySelector('#exponents .main-svg').clientWidth"
    assert not page.evaluate(drawn)
    summary = page.locator("#exponents summary")
    summary.click()
    wait_until(page, drawn)
    width = page.evaluate(wide)
    # Repainted for the other theme while it is closed, it keeps its size.
    summary.click()
    page.click("#theme")
    wait_for_paint(page)
    summary.click()
    wait_until(page, "'drawn' in document.querySelector('#exponents .figure').dataset")
    wait_for_paint(page)
    assert page.evaluate(wide) == width
    assert opened.complaints == []


def test_foreign_text_is_shown_but_not_run(path, open_page):
    opened = open_page(path)
    scroll_through(opened.page)
    opened.page.fill("#map-find", "id-7")
    wait_for_paint(opened.page)
    assert NASTY in opened.page.text_content("#map-tip")
    assert NASTY in opened.page.text_content("h1")
    assert opened.page.locator("img").count() == 0
    assert opened.complaints == []


def test_injected_scripts_are_blocked_by_the_policy(path, open_page):
    opened = open_page(path)
    with opened.page.expect_console_message(
        lambda message: "Content Security Policy" in message.text
    ):
        opened.page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', "
            "'<img src=x onerror=\"document.title = 1\">')"
        )
    wait_for_paint(opened.page)
    assert opened.page.title().startswith("Title")


def test_hover_marks_the_sample_in_every_map(path, open_page):
    page = open_page(path).page
    scroll_through(page)
    before = [pixels(page, index) for index in range(4)]
    x, y = position_of(page, 5, 1)
    page.mouse.move(x, y)
    wait_for_paint(page)
    assert page.text_content("#map-tip").startswith("id-")
    after = [pixels(page, index) for index in range(4)]
    assert all(a != b for a, b in zip(before, after, strict=True))
    page.mouse.move(5, 5)
    wait_for_paint(page)
    assert page.locator("#map-tip").is_hidden()


def test_hover_names_the_sample_under_the_pointer(path, open_page):
    page = open_page(path).page
    scroll_through(page)
    alone = page.evaluate(
        """() => {
            const {x, y} = manyview.readData("data-map").maps[0];
            let best = 0, farthest = -1;
            for (let i = 0; i < x.length; i++) {
                let near = Infinity;
                for (let j = 0; j < x.length; j++) {
                    if (j !== i) near = Math.min(near, (x[i]-x[j])**2 + (y[i]-y[j])**2);
                }
                if (near > farthest) { farthest = near; best = i; }
            }
            return best;
        }"""
    )
    page.mouse.move(*position_of(page, alone, 0))
    wait_for_paint(page)
    assert page.text_content("#map-tip strong") == f"id-{alone} {NASTY}"


def test_cluster_is_highlighted_by_click_key_and_chip(path, open_page):
    page = open_page(path).page
    scroll_through(page)
    before = [pixels(page, index) for index in range(4)]
    chip = page.locator("[data-cluster='2']")
    chip.focus()
    page.keyboard.press("Enter")
    assert chip.get_attribute("aria-pressed") == "true"
    assert page.get_attribute("#stage", "data-highlight") == "2"
    after = [pixels(page, index) for index in range(4)]
    assert all(a != b for a, b in zip(before, after, strict=True))
    page.keyboard.press("Escape")
    assert page.get_attribute("#stage", "data-highlight") == ""
    assert [pixels(page, index) for index in range(4)] == before
    label = page.evaluate("manyview.readData('data-map').labels[9]")
    page.mouse.click(*position_of(page, 9, 0))
    assert page.get_attribute("#stage", "data-highlight") == str(label)


def test_maps_can_be_coloured_by_confidence_and_class(path, open_page):
    page = open_page(path).page
    scroll_through(page)
    pictures = []
    legends = []
    for value in ("cluster", "confidence", "class", "view-0"):
        page.select_option("#map-color", value)
        pictures.append(pixels(page, 0))
        legends.append(page.inner_text("#legend").split())
    assert len(set(pictures[:3])) == 3
    assert legends[0] == legends[3] == ["0", "1", "2", "3"]
    assert legends[1][:5] == ["0", "0.25", "0.5", "0.75", "1"]
    assert legends[2][:3] == ["a", "b", "c"]


def test_the_lasso_selects_and_exports_what_it_surrounds(path, open_page, tmp_path):
    opened = open_page(path)
    page = opened.page
    scroll_through(page)
    page.click("#map-lasso")
    canvas = page.locator("#stage canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    corners = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.5), (0.01, 0.5)]
    places = [
        (box["x"] + box["width"] * x, box["y"] + box["width"] * y) for x, y in corners
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    inside = page.evaluate(
        """([half]) => {
            const {y} = manyview.readData("data-map").maps[0];
            const side = document.querySelector("#stage canvas").clientWidth;
            const below = (v) => 10 + (side - 42) * (1 - v / 4095);
            return y.filter((v) => below(v) < half * side).length;
        }""",
        [0.5],
    )
    assert 0 < inside < 240
    text = page.text_content("#map-selection")
    assert text.startswith(f"{inside} samples selected: ")
    lines = saved(page, "#export-selection", tmp_path).read_text().splitlines()
    assert lines[0] == "sample,cluster,name,confidence"
    assert len(lines) == inside + 1
    page.keyboard.press("Escape")
    assert page.text_content("#map-selection") == ""
    assert page.locator("#export-selection").is_hidden()
    assert opened.complaints == []


def test_the_large_map_zooms_and_returns(path, open_page):
    page = open_page(path).page
    scroll_through(page)
    whole, small = pixels(page, 0), pixels(page, 1)
    page.click("#map-in")
    assert pixels(page, 0) != whole
    assert pixels(page, 1) == small
    page.click("#map-all")
    page.mouse.move(5, 5)
    assert pixels(page, 0) == whole


def saved(page, button, folder):
    """The file that a button saves."""
    with page.expect_download() as download:
        page.locator(button).first.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_labels_are_exported_with_names_and_without_formulas(
    open_page, tmp_path, formulas
):
    opened = open_page(formulas)
    page = opened.page
    every = page.evaluate("manyview.readData('data-samples')")
    with saved(page, "#export-labels", tmp_path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["sample"] == "'=1+1"
    assert rows[1]["sample"] == 'a, "b"'
    assert [int(row["cluster"]) for row in rows] == every["labels"]
    for row, confidence in zip(rows, every["confidence"], strict=True):
        assert float(row["confidence"]) == confidence / 1000
    assert [url[:5] for url in opened.requests if not url.startswith("blob")] == [
        "file:"
    ]
    assert opened.complaints == []


def test_figures_and_maps_are_saved_as_svg_and_png(path, open_page, tmp_path):
    opened = open_page(path)
    page = opened.page
    scroll_through(page)
    for name in ("sizes", "agreement", "map-0", "map-2"):
        drawing = saved(page, f"[data-save=svg][data-name={name}]", tmp_path)
        assert drawing.name == f"{name}.svg"
        root = ElementTree.parse(drawing).getroot()
        assert root.tag.endswith("svg")
        assert len(list(root.iter())) > 20
        picture = saved(page, f"[data-save=png][data-name={name}]", tmp_path)
        assert picture.read_bytes().startswith(b"\x89PNG")
    outside = [url for url in opened.requests if not url.startswith(("blob:", "data:"))]
    assert [url[:5] for url in outside] == ["file:"]
    assert opened.complaints == []


def test_clusters_are_renamed_everywhere(path, open_page, tmp_path):
    opened = open_page(path)
    page = opened.page
    scroll_through(page)
    page.fill("[data-rename='1']", NASTY)
    page.fill("[data-rename='2']", "T cells")
    page.keyboard.press("Tab")
    wait_for_paint(page)
    assert page.text_content("[data-cluster='2']").strip() == "T cells"
    assert NASTY in page.text_content("#clusters table")
    assert "Cluster T cells" in page.inner_text("#features")
    ticks = page.locator("[data-figure='figure-sizes'] .xtick text")
    assert ticks.all_text_contents() == ["0", f"{NASTY[:19]}…", "T cells", "3"]
    member = page.evaluate("manyview.readData('data-map').labels.indexOf(2)")
    page.fill(
        "#map-find", page.evaluate(f"manyview.readData('data-map').ids[{member}]")
    )
    assert "cluster T cells" in page.text_content("#map-tip")
    with saved(page, "#export-labels", tmp_path).open(newline="") as file:
        names = {row["cluster"]: row["name"] for row in csv.DictReader(file)}
    assert names == {"0": "0", "1": NASTY, "2": "T cells", "3": "3"}
    code = page.text_content("#rename code")
    assert code.startswith("model.rename_clusters({1: ")
    assert ast.literal_eval(code[22:-1]) == {1: NASTY, 2: "T cells"}
    assert opened.complaints == []


@pytest.mark.parametrize("width", [1400, 1920])
def test_nothing_is_wider_than_the_paper(path, open_page, width):
    page = open_page(path, viewport={"width": width, "height": 900}).page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    wait_for_paint(page)
    too_wide = page.evaluate(
        """() => {
            const paper = document.querySelector("main").getBoundingClientRect();
            return [...document.querySelectorAll(".main-svg, canvas, table, h2, p")]
                .filter((e) => e.getBoundingClientRect().right > paper.right + 1)
                .map((e) => e.outerHTML.slice(0, 60));
        }"""
    )
    assert too_wide == []
    # Charts keep to their frames: below them, the next thing begins.
    assert page.evaluate(
        """[...document.querySelectorAll(".figure")].every((figure) =>
            figure.querySelector(".main-svg").getBoundingClientRect().height
            <= figure.clientHeight + 1)"""
    )


def test_a_wide_table_keeps_its_first_column_in_sight(path, open_page):
    page = open_page(path, viewport={"width": 360, "height": 800}, is_mobile=True).page
    table = page.locator("#disagreement .scroll, #pacing .scroll").first
    table.scroll_into_view_if_needed()
    table.evaluate("(element) => { element.scrollLeft = 120; }")
    wait_for_paint(page)
    assert table.evaluate(
        """(element) => {
            const cell = element.querySelector("tbody td:first-child");
            return cell.getBoundingClientRect().left
                - element.getBoundingClientRect().left;
        }"""
    ) == pytest.approx(0, abs=1)


def test_a_notebook_shows_the_page_in_a_frame(open_page, tmp_path):
    data = make_views(60, 2, (3, 4), random_state=0)
    model = NSMVC(2, n_init=1, random_state=0).fit(list(data.views))
    shown = model.report(list(data.views), title="Inline")
    file = tmp_path / "notebook.html"
    file.write_text(f"<button id='theme'></button>{shown._repr_html_()}", "utf-8")
    opened = open_page(file)
    frame = opened.page.frame_locator("iframe")
    frame.locator("h1", has_text="Inline").wait_for()
    frame.locator("#clusters").scroll_into_view_if_needed()
    frame.locator("#clusters .main-svg").first.wait_for(state="attached")
    with opened.page.expect_download() as download:
        frame.locator("#export-labels").click()
    assert download.value.suggested_filename == "labels.csv"
    assert opened.complaints == []


def test_a_sample_that_is_not_there_is_said_so(path, open_page):
    page = open_page(path).page
    page.fill("#map-find", "nobody")
    assert page.text_content("#map-answer") == "not among the samples"


def test_an_exact_id_comes_first_and_what_is_not_drawn_is_said_so(open_page, numbered):
    page = open_page(numbered).page
    shown = set(page.evaluate("manyview.readData('data-map').ids"))
    drawn = max(shown, key=int)
    page.fill("#map-find", drawn)
    assert page.text_content("#map-answer").startswith(f"{drawn}, cluster ")
    hidden = next(str(i) for i in range(300) if str(i) not in shown)
    page.fill("#map-find", hidden)
    answer = page.text_content("#map-answer")
    assert answer.startswith(f"{hidden}, cluster ")
    assert answer.endswith("not drawn on the maps")
    assert page.locator("#map-tip").is_hidden()
    page.fill("#map-find", "300")
    assert page.text_content("#map-answer") == "not among the samples"


def test_a_beginning_finds_the_first_and_says_so(path, open_page):
    page = open_page(path).page
    page.fill("#map-find", "id-23")
    answer = page.text_content("#map-answer")
    assert answer.startswith("no sample is called so; the first of 11 that begin so")
    assert page.text_content("#map-tip strong").startswith("id-23 ")


def test_tables_sort_by_click_and_keyboard(path, open_page):
    page = open_page(path).page
    table = page.locator("#clusters table")
    cells = table.locator("tbody td:nth-child(4)")

    def confidences():
        return [float(text) for text in cells.all_text_contents()]

    original = confidences()
    heading = table.locator("th:nth-child(4)")
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert confidences() == sorted(original, reverse=True)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert confidences() == sorted(original)


def test_dark_mode_follows_the_system_and_the_switch(path, open_page):
    opened = open_page(path, color_scheme="dark")
    page = opened.page
    scroll_through(page)

    def background():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    def chart_text():
        return page.evaluate(
            "getComputedStyle(document.querySelector('.xtick text')).fill"
        )

    dark, dark_text = background(), chart_text()
    assert sum(int(part) for part in dark[4:-1].split(",")) < 100
    page.click("#theme")
    wait_until(
        page,
        """getComputedStyle(document.body).backgroundColor.slice(4, -1).split(",")
            .reduce((sum, part) => sum + Number(part), 0) > 600""",
    )
    wait_for_paint(page)
    assert chart_text() != dark_text
    assert opened.complaints == []


@pytest.mark.parametrize("width", [360, 390, 768])
def test_nothing_is_wider_than_a_phone(path, open_page, width):
    opened = open_page(path, viewport={"width": width, "height": 800}, is_mobile=True)
    scroll_through(opened.page)
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    assert opened.complaints == []


def test_everything_is_reached_by_keyboard(path, open_page):
    page = open_page(path).page
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className "
                "|| document.activeElement.tagName"
            )
        )
    assert {"skip", "theme", "map-color", "map-find", "chip", "scroll"} <= reached


def test_every_control_and_picture_has_a_name(path, open_page):
    page = open_page(path).page
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [role=img]")]
            .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label")
                             || e.closest("label") || e.labels?.length))
            .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []


def test_printing_draws_every_chart_in_light_colours(path, open_page):
    opened = open_page(path, color_scheme="dark")
    page = opened.page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    wait_until(page, "document.querySelectorAll('[data-drawn]').length == 7")
    wait_for_paint(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    # Charts are redrawn to the width of the page, 181 mm, one after the other.
    wait_until(
        page,
        """[...document.querySelectorAll('.figure')]
            .every((figure) => figure.scrollWidth <= 181 / 25.4 * 96)""",
    )
    page.emulate_media(media="print")
    assert page.locator("#clusters th").nth(1).locator("button").is_visible()
    assert page.locator("#theme").is_hidden()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    assert opened.complaints == []
    assert len(page.pdf()) > 50_000


def test_a_hundred_thousand_samples_make_a_small_page(tmp_path, open_page):
    rng = np.random.default_rng(0)
    truth = np.arange(100_000) % 5
    views = [
        6 * rng.normal(size=(5, width))[truth] + rng.normal(size=(100_000, width))
        for width in (4, 3)
    ]
    model = NSMVC(5, n_init=1, n_paces=2, random_state=0, assignment="majorize")
    path = report(model.fit(views), views, tmp_path / "large.html")
    assert path.stat().st_size < 7_000_000
    opened = open_page(path)
    assert "The maps show 3,000 of the 100,000" in opened.page.text_content("#map")
    assert opened.complaints == []


def test_a_view_named_like_a_colour_keeps_its_name(open_page, colorful):
    opened = open_page(colorful)
    scroll_through(opened.page)
    labels = opened.page.evaluate(
        """[...document.querySelectorAll("[data-figure] text")]
            .map((text) => text.textContent)"""
    )
    assert {"theme:ink", "theme:unknown"} <= set(labels)
    assert not [text for text in labels if text.startswith(("#", "rgb", "undefined"))]
    colors = opened.page.evaluate(
        """[...document.querySelectorAll("[data-figure] [style*=theme]")].length"""
    )
    assert colors == 0
    assert opened.complaints == []
