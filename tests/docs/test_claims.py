"""What the pages claim in tables is so."""

import re

import pytest

import manyview
from manyview.cluster import __all__ as METHODS
from manyview.datasets import make_views
from manyview.exceptions import ViewError
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "choosing-a-method.md"
SAID = dict(
    re.findall(
        r"^\| `(\w+)` \| (yes \| yes|no \| yes|no \| no) \| n²? \|$",
        PAGE.read_text("utf-8"),
        re.M,
    )
)


def test_all_methods_are_in_the_table():
    assert sorted(SAID) == sorted(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_method_takes_what_the_table_says(name):
    lacking, new = (said == "yes" for said in SAID[name].split(" | "))
    method = getattr(manyview, name)(n_clusters=2, random_state=0)
    assert hasattr(method, "predict") == new
    views = make_views(40, 2, (3, 4), missing=0.2, random_state=0).views
    if lacking:
        method.fit(list(views))
    else:
        with pytest.raises(ViewError, match="sample"):
            method.fit(list(views))


def test_pages_name_the_documentation_alike():
    from manyview.cli._info import PAGE

    url = PAGE.partition("/api/")[0]
    assert f'Documentation = "{url}"' in (ROOT / "pyproject.toml").read_text("utf-8")
