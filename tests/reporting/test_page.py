"""Self-contained pages: escaping, JSON, whole files."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from manyview._extras import MissingExtraError
from manyview.reporting import _page
from manyview.reporting._page import Column, Table

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"


@pytest.fixture
def trial(tmp_path):
    """Renders a small template of the test's own on top of base.html."""

    def render_trial(body, **context):
        source = (
            '{% extends "base.html" %}{% block title %}{{ name }}{% endblock %}'
            "{% block content %}" + body + "{% endblock %}"
        )
        (tmp_path / "trial.html").write_text(source, encoding="utf-8")
        context = {"name": "trial", "spec": {"data": [], "layout": {}}, **context}
        return _page.render_page("trial.html", templates=tmp_path, **context)

    return render_trial


def test_script_json_cannot_leave_its_element():
    text = _page.script_json({"id": NASTY})
    assert "<" not in text
    assert json.loads(text) == {"id": NASTY}


def test_script_json_holds_arrays_and_numbers_json_lacks():
    value = {"a": np.array([1.5, np.nan, np.inf]), "n": np.int64(3), 4: (None, True)}
    assert json.loads(_page.script_json(value)) == {
        "a": [1.5, None, None],
        "n": 3,
        "4": [None, True],
    }


def test_figure_text_disarms_tags():
    assert _page.figure_text("<b>&") == "&lt;b&gt;&amp;"


@pytest.mark.parametrize(
    ("value", "column", "text", "key"),
    [
        (0.123, Column(name="x", format=".1%"), "12.3%", "0.123"),
        (None, Column(name="x", format=".1%"), "–", ""),
        (float("nan"), Column(name="x"), "–", ""),
        ("word", Column(name="x", format=".1f"), "word", "word"),
        (np.int64(1200), Column(name="x", format=",d"), "1,200", "1200.0"),
    ],
)
def test_cells_are_formatted_and_sorted(value, column, text, key):
    assert _page.format_cell(value, column) == text
    assert _page.sort_key(value) == key


def test_user_text_is_escaped_everywhere(trial):
    table = Table(
        caption=NASTY, columns=(Column(name=NASTY, hint=NASTY),), rows=[[NASTY]]
    )
    page = trial(
        "{% call parts.section(name, name) %}{{ parts.table(table) }}{% endcall %}"
        "{{ parts.command(name) }}{{ parts.tile(name, name) }}"
        "{{ parts.data('d', name) }}",
        name=NASTY,
        table=table,
    )
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "<img" not in page


def test_scripts_are_admitted_by_checksum_alone(trial):
    page = trial("{{ parts.figure('f', spec, 'label') }}")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.split("style-src")[0]
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 4
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_plotly_is_inlined_once_and_only_for_figures(trial):
    assert "plotly.js v" not in trial("")
    page = trial(
        "{{ parts.figure('f', spec, 'one') }}{{ parts.figure('g', spec, 'two') }}"
    )
    assert page.count("* plotly.js v") == 1
    assert len(re.findall(r'<script type="application/json" id="figure-', page)) == 2


def test_no_address_is_loaded(trial):
    page = trial("{{ parts.figure('f', spec, 'label') }}")
    head, _, rest = page.partition("<body>")
    markup = head + re.sub(r"<script.*?</script>", "", rest, flags=re.DOTALL)
    loaded = re.findall(r'(?:src|href)="([^"]*)"', markup)
    assert all(address.startswith(("#", "data:")) for address in loaded)


def test_a_variable_that_was_forgotten_is_an_error(trial):
    import jinja2

    with pytest.raises(jinja2.UndefinedError, match="forgotten"):
        trial("{{ forgotten }}")


def test_code_cannot_end_its_element(monkeypatch):
    monkeypatch.setattr(_page, "_asset", lambda _: "a = '</script>';\r\n")
    assert _page.page_code("") == ["a = '<\\/script>';\n"]


def test_sections_make_the_table_of_contents(trial):
    page = trial(
        "{% call parts.section('a', 'Long title', short='Short') %}{% endcall %}"
        "{% call parts.section('b', 'Title') %}{% endcall %}"
    )
    links = re.findall(r'<li><a href="#(\w)">(\w+)</a></li>', page)
    assert links == [("a", "Short"), ("b", "Title")]


def test_missing_extra_is_named(monkeypatch, trial):
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)
    with pytest.raises(MissingExtraError, match=r'needs plotly.*"manyview\[report\]"'):
        trial("{{ parts.figure('f', spec, 'label') }}")


def test_write_page_replaces_whole_files_only(tmp_path, monkeypatch):
    path = _page.write_page(tmp_path / "page.html", "first ✓")
    assert path.read_text(encoding="utf-8") == "first ✓"
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        _page.write_page(path, "second")
    assert path.read_text(encoding="utf-8") == "first ✓"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
