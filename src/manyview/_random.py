"""Where random numbers come from."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state


def random_source(
    random_state: int | np.random.RandomState | None,
) -> np.random.RandomState:
    """The generator that a `random_state` parameter stands for.

    None is a fresh one. In scikit-learn it is NumPy's global generator, which a call
    into this package should not move.
    """
    if random_state is None:
        return np.random.RandomState()
    source: np.random.RandomState = check_random_state(random_state)
    return source
