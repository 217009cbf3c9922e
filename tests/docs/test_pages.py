"""Every code block of README and documentation runs as it stands, in order."""

from importlib.util import find_spec

import pytest

from tests.docs.pages import PAGES, RUN, blocks


def with_code():
    """Pages to run; those with commands take longer, and `make test-docs` runs them."""
    for name, path in PAGES.items():
        languages = {block.language for block in blocks(path)}
        if languages.intersection(RUN):
            marks = [pytest.mark.docs] if "shell" in languages else []
            yield pytest.param(path, id=name, marks=marks)
        if any(needs_scanpy(block) for block in blocks(path)):
            warns = pytest.mark.filterwarnings("ignore")
            marks = [pytest.mark.companions, warns]
            yield pytest.param(path, id=f"{name} with scanpy", marks=marks)


def needs_scanpy(block):
    return "import scanpy" in block.code


@pytest.mark.parametrize("path", list(PAGES.values()), ids=list(PAGES))
def test_blocks_say_what_they_are(path):
    for block in blocks(path):
        known = block.language in {*RUN, "text"}
        directive = block.language.startswith("{") and "code" not in block.language
        assert known or directive, f"{path}:{block.line}: {block.language!r}"


# Two Dask clusters on one machine want the same port for their status pages, and Dask
# forgets the sockets with which it looks for another.
@pytest.mark.filterwarnings(r"ignore:\s*Port 8787 is already in use")
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("cluster_services")
@pytest.mark.parametrize("path", list(with_code()))
def test_page_runs(path, shell, free_port):
    names = {"__name__": "__main__"}
    for block in blocks(path):
        if needs_scanpy(block) and not find_spec("scanpy"):
            continue
        code = block.code.replace("8786", str(free_port))
        if block.language == "python":
            # Line numbers of a failure are those of the page.
            source = "\n" * (block.line - 1) + code
            exec(compile(source, str(path), "exec"), names)
        elif block.language == "shell":
            shell(code)
