"""Array types and the few array operations that several modules share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.integer[Any]]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
U64Array = npt.NDArray[np.uint64]


def ranges(start: npt.ArrayLike, stop: npt.ArrayLike) -> LongArray:
    """The ranges start[i] to stop[i] one after another."""
    begin, end = np.asarray(start, dtype=np.int64), np.asarray(stop, dtype=np.int64)
    length = end - begin
    before = np.cumsum(length) - length
    numbers: LongArray = np.arange(int(length.sum())) + np.repeat(begin - before, length)
    return numbers


def sum_at(slots: npt.ArrayLike, values: FloatArray, size: int) -> FloatArray:
    """[size] sums of the values that belong to each slot."""
    return np.bincount(slots, weights=values, minlength=size).astype(np.float64, copy=False)
