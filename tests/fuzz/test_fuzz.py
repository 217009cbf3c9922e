"""No damage to a file gives anything but views, a model, or one clear error."""

import random

import pytest

from tests.fuzz.child import case_of, outcome, sound_files
from tests.fuzz.run import fuzz
from tests.fuzz.seeds import SEEDS

FEW, MANY = 25, 300


@pytest.mark.parametrize("kind", SEEDS)
def test_damaged_files(kind):
    assert fuzz(kind, FEW).faults == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEEDS)
def test_many_damaged_files(kind):
    seed = random.randrange(2**32)
    assert fuzz(kind, MANY, seed=seed).faults == [], f"seed {seed}"


def test_cases_can_be_made_again(tmp_path):
    goods = sound_files("csv", tmp_path)
    first = case_of("csv", 1, 7, goods, tmp_path).read_bytes()
    assert case_of("csv", 1, 7, goods, tmp_path).read_bytes() == first
    assert case_of("csv", 1, 8, goods, tmp_path).read_bytes() != first


def test_raw_errors_are_noticed(tmp_path, monkeypatch):
    def crash(*_):
        raise KeyError(0)

    monkeypatch.setattr("manyview.datasets.read_views", crash)
    (good,) = sound_files("tsv", tmp_path)
    assert outcome("tsv", good) == "raw KeyError: 0"
