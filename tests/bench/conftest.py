from pathlib import Path

import numpy as np
import pytest

from manyview.bench import BenchData, MethodEntry, Protocol, describe_data, find_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set as a user has it: one file per view, the classes in another."""
    rng = np.random.RandomState(0)
    classes = np.repeat([0, 1], 40)
    place = tmp_path / "pairs"
    place.mkdir()
    np.save(place / "left.npy", rng.rand(80, 3) + 2 * classes[:, None])
    np.save(place / "right.npy", rng.rand(80, 2) - 2 * classes[:, None])
    lines = [["even", "odd"][c] for c in classes]
    (place / "labels.csv").write_text("kind\n" + "\n".join(lines) + "\n")
    return place


@pytest.fixture
def data(folder: Path) -> BenchData:
    return describe_data(find_dataset(str(folder)))


def protocol_of(*methods: MethodEntry, repeats: int = 4) -> Protocol:
    return Protocol(
        name="toy",
        title="Toy",
        description="For tests.",
        repeats=repeats,
        datasets=("pairs",),
        methods=methods,
    )


def toy(name: str, label: str = "", **params: object) -> MethodEntry:
    return MethodEntry(
        label=label or name, estimator=f"tests.bench.toys:{name}", params=params
    )
