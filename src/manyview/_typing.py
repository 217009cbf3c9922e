"""Array types used in signatures."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating]
IntArray: TypeAlias = npt.NDArray[np.integer]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
# Weights of samples; a selection is a weight of 0 or 1.
WeightArray: TypeAlias = npt.NDArray[np.floating] | npt.NDArray[np.bool_]
