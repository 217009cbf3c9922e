"""Typical mistakes: one clear sentence, the right exit code, no stack trace."""

import numpy as np
import pytest

from manyview.cli._app import in_options

BAD_INPUT = 1
USAGE = 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cluster", "handwriten", "-k", 3], "Did you mean handwritten?"),
        (["cluster", "{}/rna.cvs", "-k", 3], "rna.cvs is neither a file"),
        (["cluster", "{}/nothing", "-k", 3], "Known data sets: handwritten"),
        (["cluster", "{}", "-k", 3], "is a folder; pass the files in it"),
        (["cluster", "{}/rna.csv", "-k", 500], "-k 500 is more than"),
        (["cluster", "{}/rna.csv", "-k", 3, "--labels", "x"], "called 'x'"),
        (["cluster", "{}/rna.csv", "-k", 3, "--labels", "x.csv"], "looks like a file"),
        (["cluster", "{}/types.csv", "-k", 3], "type"),
        (["cluster", "{}/rna.csv", "{}/short.npy", "-k", 3], "numbers of rows"),
        (["cluster", "handwritten", "{}/rna.csv", "-k", 3], "without further files"),
        (
            ["cluster", "{}/rna.csv", "-k", 3, "--method", "kmean"],
            "is not one of amgl",
        ),
        (["cluster", "a={}/rna.csv", "a={}/image.csv", "-k", 3], "the same name"),
        (
            ["cluster", "{}/rna.csv", "-k", 3, "--out", "{}/types.csv"],
            "is a file; --out",
        ),
        (["predict", "{}/rna.csv", "{}/rna.csv"], "is not a manyview model"),
        (["predict", "{}/none.mvz", "{}/rna.csv"], "does not exist"),
        (["compare", "{}/rna.csv", "-k", 3, "--methods", "no"], "is not one of amgl"),
        (["datasets", "iris"], "No data set is called 'iris'"),
        (["datasets", "--fetch"], "--fetch needs a name"),
        (["report", "{}"], "is not a result of manyview cluster"),
    ],
)
def test_mistakes_are_told_in_a_sentence(run, files, words, message):
    np.save(files / "short.npy", np.ones((5, 2)))
    done = run(*(str(word).replace("{}", str(files)) for word in words))
    assert done.code == BAD_INPUT
    assert message in done.err
    assert done.err.startswith("error: ")
    assert len(done.err.strip().splitlines()) == 1
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cluster", "handwritten"], "--n-clusters"),
        (["cluster", "-k", 3], "sources"),
        (["cluster", "handwritten", "-k", "ten"], "is not a number (10), a range"),
        (["cluster", "handwritten", "-k", 3, "--seed", -1], "seed"),
        (["cluster", "handwritten", "-k", 3, "--scale", "log"], "scale"),
        (["cluster", "handwritten", "-k", 3, "--colour"], "--colour"),
        (["clutser", "handwritten"], "clutser"),
    ],
)
def test_wrong_usage_ends_with_2(run, words, message):
    done = run(*words)
    assert done.code == USAGE
    assert message.lower() in done.err.lower()


def test_messages_speak_of_options_not_of_parameters():
    text = "Pass align='missing', header=False, scale=None or name it with ids=."
    assert in_options(text) == (
        "Pass --align missing, --no-header, --scale none or name it with --ids."
    )


def test_debug_shows_the_stack_trace(run, files):
    done = run("cluster", files / "nothing.csv", "-k", 3, "--debug")
    assert done.code == BAD_INPUT
    assert "Traceback (most recent call last)" in done.err
    assert "DatasetError" in done.err


def test_user_text_in_messages_is_not_markup(run, files):
    done = run("cluster", files / "[bold]x[", "-k", 3)
    assert "[bold]x[ is neither" in done.err


def test_warnings_are_told_in_a_sentence(run, files, monkeypatch):
    import warnings

    from manyview.cli import _sources

    original = _sources.load_sources

    def warn_and_load(request):
        warnings.warn("look at this", UserWarning, stacklevel=1)
        return original(request)

    monkeypatch.setattr(_sources, "load_sources", warn_and_load)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = run("cluster", files / "rna.csv", "-k", 3, "--n-init", 1)
    assert done.code == 0
    assert done.err == "warning: look at this\n"


def test_help_has_examples_for_every_command(run):
    listed = run("--help").out
    for name in ("cluster", "predict", "compare", "datasets", "report", "doctor"):
        assert name in listed
        text = run(name, "--help").out
        assert "Examples" in text
        assert f"manyview {name}" in text


def test_version(run):
    from manyview import __version__

    assert run("--version").out == f"manyview {__version__}\n"
