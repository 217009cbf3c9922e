from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction.data import DataInfo, describe_data
from reproduction.plan import Method, Protocol
from reproduction.protocols import PAPER


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A data set in a file: two views and the classes."""
    rng = np.random.RandomState(0)
    classes = np.repeat([0, 1], 40)
    path = tmp_path / "pairs.npz"
    np.savez(
        path,
        left=rng.rand(80, 3) + 2 * classes[:, None],
        right=rng.rand(80, 2) - 2 * classes[:, None],
        y=classes,
    )
    return str(path)


@pytest.fixture
def data(source: str) -> DataInfo:
    return describe_data(source)


def protocol_of(*methods: Method, repeats: int = 4) -> Protocol:
    return replace(PAPER, name="toy", repeats=repeats, methods=methods)


def toy(name: str, label: str = "", **params: object) -> Method:
    return Method(label or name, f"tests.reproduction.toys:{name}", params)


def runs_of(protocol: Protocol, data: DataInfo) -> list:
    return [entry.run for entry in protocol.entries(data)]
