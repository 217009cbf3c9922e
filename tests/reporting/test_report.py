"""The clustering report says what the estimator found."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from manyview import NSMVC, CoReg, GraphNSMVC, ViewError
from manyview.model_selection import ClusterCountChoice
from manyview.reporting import report
from manyview.reporting._report import _map_columns, _whole_numbers, report_page

NASTY = '<img src=x onerror="alert(1)">'


def block(page, name):
    found = re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def words(page):
    """The text of the page without scripts, styles and tags."""
    text = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.fixture
def fitted(blobs):
    views = {
        "sound": pd.DataFrame(blobs[0][0]).rename(columns="pitch {}".format),
        "light": blobs[0][1],
        NASTY: blobs[0][2],
    }
    return NSMVC(3, n_init=2, random_state=0).fit(views), views, blobs[1]


@pytest.fixture
def page(fitted, tmp_path):
    model, views, truth = fitted
    path = report(
        model,
        views,
        tmp_path / "report.html",
        title=f"Title {NASTY}",
        sample_ids=[f"{NASTY} {i}" for i in range(90)],
        target=truth,
        target_names=["red", "green", NASTY],
        command="manyview cluster 'a b.csv' -k 3",
    )
    return path.read_text(encoding="utf-8")


def test_report_shows_the_numbers_of_the_fit(page, fitted):
    model, _, _ = fitted
    text = words(page)
    assert "90 samples in 3 clusters, from 3 views." in text
    sizes = np.bincount(model.labels_).tolist()
    assert block(page, "figure-sizes")["data"][0]["y"] == sizes
    exponents = block(page, "figure-exponents")["data"]
    assert [line["y"][-1] for line in exponents] == pytest.approx(model.exponents_)
    assert "Accuracy 100.0%" in text
    assert "manyview cluster 'a b.csv' -k 3" in text
    assert "pitch 0" in text
    moved = block(page, "figure-convergence")["data"][0]
    pairs = zip(moved["x"], moved["y"], strict=True)
    assert [n for step, n in pairs if step] == [r.n_moved for r in model.history_]


def test_report_shows_weights_and_unexplained_shares_of_views(page, fitted):
    model, _, _ = fitted
    weight, explained, _ = block(page, "figure-contribution")["data"]
    assert weight["x"] == pytest.approx(model.view_weights_)
    assert explained["x"] == pytest.approx(1 - model.unexplained_)
    text = words(page)
    assert f"sound 4 {model.view_weights_[0]:.1%} {model.unexplained_[0]:.1%}" in text
    for word in ("trust", "reliable", "Trust"):
        assert word not in text


def test_report_of_graphs_names_features_of_the_views(blobs, tmp_path):
    frames = [
        pd.DataFrame(view).rename(columns=f"{name} {{}}".format)
        for name, view in zip(("pitch", "hue", "word"), blobs[0], strict=True)
    ]
    model = GraphNSMVC(3, n_init=2, random_state=0).fit(frames)
    page = report(model, frames, tmp_path / "r.html").read_text(encoding="utf-8")
    assert re.search(r"(pitch|hue|word) \d", words(page))
    assert "graph embedding" in words(page)
    assert len(block(page, "data-map")["maps"]) == 4


def test_report_of_a_method_without_weights_shows_none(blobs, tmp_path):
    model = CoReg(3, n_init=1, random_state=0).fit(blobs[0])
    page = report(model, blobs[0], tmp_path / "r.html").read_text(encoding="utf-8")
    names = [trace["name"] for trace in block(page, "figure-contribution")["data"]]
    assert names == ["explained", "agreement with the result"]
    assert "Weight" not in words(page)


def test_report_escapes_ids_names_and_titles(page):
    assert page.count("onerror") > 10
    assert "<img" not in page
    names = [trace["name"] for trace in block(page, "figure-exponents")["data"]]
    assert names[2] == html.escape(NASTY, quote=False)
    assert block(page, "data-map")["ids"][3] == f"{NASTY} 3"


def test_report_maps_every_sample_with_its_cluster(page, fitted):
    model, _, truth = fitted
    content = block(page, "data-map")
    assert content["labels"] == model.labels_.tolist()
    assert content["classes"] == truth.tolist()
    assert len(content["maps"]) == 4
    assert {len(plane["x"]) for plane in content["maps"]} == {90}


def test_report_samples_large_data_and_says_so(fitted, tmp_path):
    model, views, _ = fitted
    path = report(model, views, tmp_path / "r.html", max_samples=40)
    page = path.read_text(encoding="utf-8")
    assert "The maps show 40 of the 90 samples" in words(page)
    assert len(block(page, "data-map")["ids"]) == 40
    assert sum(block(page, "figure-sizes")["data"][0]["y"]) == 90


def test_report_without_classes_does_not_speak_of_them(fitted, tmp_path):
    model, views, _ = fitted
    page = report(model, views, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Accuracy" not in words(page)
    assert "figure-classes" not in page


def test_report_shows_how_the_number_was_chosen(fitted, tmp_path):
    model, views, _ = fitted
    choice = ClusterCountChoice(
        gaps=(),
        n_clusters=3,
        candidates=(2, 3),
        weakest=(0.4, 0.9),
        agreement=(0.5, 0.95),
        threshold=0.75,
        reached=True,
    )
    path = report(model, views, tmp_path / "r.html", choice=choice)
    page = path.read_text(encoding="utf-8")
    assert "3 is the largest number whose clusters all reach 0.75" in words(page)
    assert block(page, "figure-choice")["data"][0]["y"] == [0.4, 0.9]


def test_report_with_missing_views_leaves_gaps(blobs, tmp_path):
    views = [view.copy() for view in blobs[0]]
    views[0][:5] = np.nan
    model = NSMVC(3, n_init=1, random_state=0).fit(views)
    page = report(model, views, tmp_path / "r.html").read_text(encoding="utf-8")
    assert block(page, "data-map")["maps"][1]["x"][:5] == [None] * 5
    assert None not in block(page, "data-map")["maps"][0]["x"]


def labelled(labels):
    """An estimator that knows nothing but labels."""
    estimator = KMeans()
    estimator.labels_ = np.asarray(labels)
    return estimator


def test_report_of_labels_needs_no_more(blobs):
    page = report_page(labelled(blobs[1]), blobs[0]).html
    assert "KMeans" in words(page)
    assert "Self-pacing" not in words(page)
    assert "figure-convergence" not in page


def test_report_of_a_single_cluster_and_of_one_view(blobs, tmp_path):
    model = NSMVC(1, n_init=1, random_state=0).fit([blobs[0][0]])
    page = report(model, [blobs[0][0]], tmp_path / "r.html").read_text(encoding="utf-8")
    assert "90 samples in 1 cluster, from 1 view." in words(page)


def test_report_refuses_ids_and_classes_of_another_length(fitted, tmp_path):
    model, views, _ = fitted
    with pytest.raises(ViewError, match="2 sample ids were given for 90 samples"):
        report(model, views, tmp_path / "r.html", sample_ids=["a", "b"])
    with pytest.raises(ViewError, match=r"target has shape \(2,\), expected \(90,\)"):
        report(model, views, tmp_path / "r.html", target=[0, 1])
    assert list(tmp_path.iterdir()) == []


def test_whole_numbers_keep_both_axes_to_scale():
    plane = _whole_numbers(np.array([[0.0, 0.0], [10.0, 5.0], [np.nan, np.nan]]))
    assert plane["x"][:2] == pytest.approx([0, 4095], abs=10)
    assert plane["y"][1] - plane["y"][0] == pytest.approx(4095 / 2, abs=10)
    assert plane["x"][2] is None


def test_report_leads_with_the_map(page):
    headings = re.findall(r'<section id="(\w+)"', page)
    assert headings[:2] == ["map", "clusters"]
    content = block(page, "data-map")
    assert all(len(plane["axes"]) == 2 for plane in content["maps"])
    assert len(content["viewLabels"]) == 3


def test_report_names_the_view_that_agrees_most_or_says_they_tie(page):
    # Three views that all choose the final clusters: none is the best.
    assert "all agree with the result equally often" in words(page)
    near = np.array([[0.0], [2.0], [10.0], [12.0]])
    other = np.array([[0.0], [9.0], [9.0], [11.0]])
    for views, sentence in [
        ({"a": near, "b": other}, "; a agrees with the result most often"),
        ({"a": near, "b": other, "c": near}, "; a and c agree with the result most"),
    ]:
        other_page = report_page(labelled([0, 0, 1, 1]), views)
        assert sentence in words(other_page.html)


def test_report_holds_all_samples_for_finding_and_export(fitted, tmp_path):
    model, views, _ = fitted
    ids = [f"id {i}" for i in range(90)]
    path = report(model, views, tmp_path / "r.html", max_samples=40, sample_ids=ids)
    content = block(path.read_text(encoding="utf-8"), "data-samples")
    assert content["ids"] == ids
    assert content["labels"] == model.labels_.tolist()
    expected = np.round(1000 * model.membership_.max(axis=1)).tolist()
    assert content["confidence"] == expected
    numbered = report(model, views, tmp_path / "n.html").read_text(encoding="utf-8")
    assert block(numbered, "data-samples")["ids"] is None


def test_report_of_too_many_samples_leaves_labels_to_the_file(
    fitted, tmp_path, monkeypatch
):
    monkeypatch.setattr("manyview.reporting._report.MOST_LISTED", 89)
    model, views, _ = fitted
    page = report(model, views, tmp_path / "r.html").read_text(encoding="utf-8")
    assert block(page, "data-samples") is None
    assert "labels.csv beside this page has the labels" in words(page)


def test_report_shows_p_values_and_says_what_they_are_worth(page):
    text = words(page)
    assert re.search(r"p (< 1e-16|[\d.e-]+), FDR (< 1e-16|[\d.e-]+)", text)
    assert "Both describe and prove nothing" in text


def test_report_tests_known_columns(fitted, tmp_path):
    model, views, truth = fitted
    columns = {"type": [f"{NASTY} {t}" for t in truth], "age": np.arange(90.0)}
    page = report(model, views, tmp_path / "r.html", covariates=columns)
    text = words(page.read_text(encoding="utf-8"))
    assert "type 90 chi-square 180 1.00 < 1e-16" in text
    assert "age 90 Kruskal-Wallis" in text
    assert "<img" not in page.read_text(encoding="utf-8")


def test_report_shows_names_noise_and_merged_clusters(blobs):
    model = NSMVC(3, n_init=1, random_state=0, outlier_threshold=1.0).fit(blobs[0])
    model.rename_clusters({0: "T cells", 2: "T cells", 1: NASTY})
    n_noise = int((model.labels_ < 0).sum())
    page = model.report(blobs[0]).html
    text = words(page)
    assert "90 samples in 2 clusters" in text
    assert f"{n_noise} samples fit no cluster" in text
    assert "Cluster T cells" in text
    named = re.findall(r'data-rename="\d" value="([^"]*)"', page)
    assert [html.unescape(name) for name in named] == ["T cells", NASTY]
    assert sum(block(page, "figure-sizes")["data"][0]["y"]) == 90 - n_noise
    assert block(page, "data-map")["labels"].count(-1) == n_noise
    assert "<img" not in page


def test_a_page_shows_itself_in_a_frame_and_can_be_saved(fitted, tmp_path):
    model, views, _ = fitted
    page = model.report(views, title=NASTY)
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == page.html
    assert "allow-same-origin" not in frame
    path = page.save(tmp_path / "r.html")
    assert path.read_text(encoding="utf-8") == page.html
    assert "MB" in repr(page)


@pytest.mark.parametrize(("n_maps", "columns"), [(1, 1), (6, 6), (7, 4), (9, 3)])
def test_small_maps_leave_few_holes(n_maps, columns):
    assert _map_columns(n_maps) == columns
