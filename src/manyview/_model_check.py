"""Take the parts of a model file, each held against what it must be.

Kernels trust the shapes they are given: centres of another width would have them write
beyond their arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class StoredArrays(dict[str, npt.NDArray[Any]]):
    """The arrays of a model file, of which one that is not as expected is refused."""

    def take(self, name: str, kinds: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """An array of one of some kinds of numbers, with the given shape."""
        array = self[name]
        need(
            array.dtype.kind in kinds and array.dtype.isnative and array.shape == shape,
            f"{name} has type {array.dtype} and shape {array.shape}, expected {shape}",
        )
        return array

    def whole(self, name: str, *shape: int) -> npt.NDArray[Any]:
        """An array of whole numbers."""
        return self.take(name, "iu", shape)

    def floats(
        self, name: str, *shape: int, finite: bool = True, positive: bool = False
    ) -> npt.NDArray[np.float64]:
        """An array of double precision."""
        array = self.take(name, "f", shape)
        need(array.dtype == np.float64, f"{name} has type {array.dtype}, not float64")
        need(not finite or np.isfinite(array).all(), f"{name} holds NaN or infinity")
        need(not positive or (array > 0.0).all(), f"{name} is not positive")
        return array


def check_texts(texts: Any, count: int, what: str) -> tuple[str, ...]:
    """A list of so many texts as a tuple."""
    need(
        isinstance(texts, list)
        and len(texts) == count
        and all(isinstance(text, str) for text in texts),
        f"{what} are not {count} texts",
    )
    # Half a surrogate pair could be neither shown nor written.
    "".join(texts).encode("utf-8")
    return tuple(texts)


def check_counts(values: Any, what: str) -> tuple[int, ...]:
    """A list of positive whole numbers, at least one, as a tuple."""
    need(
        isinstance(values, list)
        and len(values) > 0
        and all(type(value) is int and value > 0 for value in values),
        f"{what} holds {values!r}, not positive whole numbers",
    )
    return tuple(values)


def need(condition: Any, trouble: str) -> None:
    """Raise ValueError, with what is wrong, unless the condition holds."""
    if not condition:
        raise ValueError(trouble)
