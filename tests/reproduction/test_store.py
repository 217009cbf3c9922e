import errno
import os
import random
from dataclasses import replace

import pytest

from manyview.exceptions import DatasetError
from reproduction.store import HEADER, Outcome, RunStore
from tests.reproduction.conftest import protocol_of, runs_of, toy

OK = Outcome(acc=0.1 + 0.2, purity=0.75, nmi=0.25, ari=-0.125, seconds=2.0, version="1")
FAILED = Outcome(error='it, "broke"', version="1")


@pytest.fixture
def runs(data):
    return runs_of(protocol_of(toy("Steady")), data)


@pytest.fixture
def store(tmp_path, runs):
    opened = RunStore(tmp_path / "deep" / "runs.csv", "1")
    for number, run in enumerate(runs):
        opened.add(run, replace(OK, n_iter=number))
    return opened


def test_store_returns_what_was_added_after_reopening(store, runs):
    store.add(runs[1], FAILED)
    again = RunStore(store.path, "1")
    assert again.outcomes == store.outcomes
    assert again.outcomes[runs[0]] == replace(OK, n_iter=0)
    assert again.outcomes[runs[1]] == FAILED
    assert again.n_damaged == 0


def test_results_of_another_version_never_enter(store):
    assert RunStore(store.path, "2").outcomes == {}
    assert RunStore(store.path, None).outcomes == store.outcomes


def test_a_line_break_in_a_message_does_not_break_the_line(store, runs):
    store.add(runs[0], replace(FAILED, error="one\ntwo\r\nthree"))
    assert RunStore(store.path, "1").outcomes[runs[0]].error == "one two three"


@pytest.mark.parametrize("kept", [1, 20, 60])
def test_a_line_that_was_cut_off_is_removed_and_only_its_run_is_missing(
    store, runs, kept
):
    lines = store.path.read_bytes().splitlines(keepends=True)
    store.path.write_bytes(b"".join(lines[:-1]) + lines[-1][:kept])
    again = RunStore(store.path, "1")
    assert list(again.outcomes) == runs[:-1]
    again.add(runs[-1], OK)
    assert RunStore(store.path, "1").outcomes.keys() == set(runs)


@pytest.mark.parametrize("kept", [0, 1, len(HEADER) - 1, len(HEADER)])
def test_a_store_killed_while_it_was_made_can_be_used(tmp_path, runs, kept):
    path = tmp_path / "runs.csv"
    path.write_bytes(HEADER[:kept])
    RunStore(path, "1").add(runs[0], OK)
    assert RunStore(path, "1").outcomes == {runs[0]: OK}


def test_every_changed_byte_is_noticed(store):
    content = store.path.read_bytes()
    chance = random.Random(3)
    for _ in range(400):
        place = chance.randrange(len(HEADER), len(content) - 1)
        changed = bytearray(content)
        changed[place] ^= chance.randrange(1, 256)
        store.path.write_bytes(changed)
        again = RunStore(store.path, "1")
        assert again.n_damaged
        # What is left is right.
        assert again.outcomes.items() < store.outcomes.items()


@pytest.mark.parametrize("content", [b"these are not the runs", b"\x00\xff\n" * 9])
def test_store_refuses_and_keeps_a_file_that_is_none(tmp_path, content):
    path = tmp_path / "runs.csv"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match="cannot be used: its first line is not"):
        RunStore(path, "1")
    assert path.read_bytes() == content


def test_store_that_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(DatasetError, match=r"cannot be used: Is a directory. Move"):
        RunStore(tmp_path, "1")


def test_full_disk_is_one_sentence_and_loses_one_run(store, runs, monkeypatch):
    def no_space(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(DatasetError, match=r"runs.csv: No space left on device. The"):
        store.add(runs[0], FAILED)
    assert store.outcomes[runs[0]] == replace(OK, n_iter=0)
