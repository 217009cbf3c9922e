"""A headless browser without a network, or a reason to skip."""

import shutil
from dataclasses import dataclass, field
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Milliseconds after which a page that does not come fails a test.
GUARD = 600_000
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Opened:
    """A page with everything it complained about and every address it asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser):
    """Opens a file; `options` are those of a browser context."""
    contexts = []

    def open_file(path, **options):
        options = {"viewport": {"width": 1200, "height": 900}, **options}
        context = browser.new_context(**options)
        context.set_default_timeout(GUARD)
        contexts.append(context)
        opened = Opened(context.new_page())
        page = opened.page
        page.on(
            "console",
            lambda message: opened.complaints.append(message.text)
            if message.type in ("error", "warning")
            else None,
        )
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.on("dialog", lambda dialog: opened.complaints.append(dialog.message))
        page.on("request", lambda request: opened.requests.append(request.url))
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("#theme")
        return opened

    yield open_file
    for context in contexts:
        context.close()
