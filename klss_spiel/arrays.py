"""Array types and the few array operations that several modules share."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.integer[Any]]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
U64Array = npt.NDArray[np.uint64]

_Array = TypeVar("_Array", bound=npt.NDArray[Any])


def ranges(start: npt.ArrayLike, stop: npt.ArrayLike) -> LongArray:
    """The ranges start[i] to stop[i] one after another."""
    begin, end = np.asarray(start, dtype=np.int64), np.asarray(stop, dtype=np.int64)
    length = end - begin
    before = np.cumsum(length) - length
    numbers: LongArray = np.arange(int(length.sum())) + np.repeat(begin - before, length)
    return numbers


def number_by_appearance(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], IntArray]:
    """Numbers distinct values in the order of their first places.

    Returns:
      [X] the number of each value, and the distinct values in the order of their numbers.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.ones(len(values), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_first)
    distinct = ordered[starts]
    del ordered, is_first
    by_appearance = np.argsort(order[starts])
    rank = np.empty(len(starts), dtype=np.int32)
    rank[by_appearance] = np.arange(len(starts), dtype=np.int32)
    numbers = np.empty(len(values), dtype=np.int32)
    numbers[order] = np.repeat(rank, np.diff(starts, append=len(values)))
    return numbers, distinct[by_appearance]


def first_places(numbers: IntArray) -> LongArray:
    """[K] where each of the numbers 0 to K - 1, all of which occur, stands first."""
    first = np.empty(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
    # Of several values for one slot the last is kept.
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first


def connected_labels(first: npt.ArrayLike, second: npt.ArrayLike) -> LongArray:
    """[X] a label per link, equal just where two links are connected.

    Args:
      first: [X] the vertex of one kind that each link has.
      second: [X] its vertex of the other kind.
    """
    # Trees of vertices are merged at their roots (the smaller number wins) and
    # flattened, which takes few rounds.
    _, u = np.unique(first, return_inverse=True)
    _, v = np.unique(second, return_inverse=True)
    v = v + (u.max(initial=-1) + 1)
    root = np.arange(v.max(initial=-1) + 1)
    while True:
        root_u, root_v = root[u], root[v]
        if np.array_equal(root_u, root_v):
            return root_u
        np.minimum.at(root, np.maximum(root_u, root_v), np.minimum(root_u, root_v))
        while not np.array_equal(root, root[root]):
            root = root[root]


def as_floats(values: npt.ArrayLike, length: int, name: str) -> FloatArray:
    """A vector of numbers, given as an array or a list, as an array of floats.

    Raises:
      ValueError: there are more or fewer than `length`, or they are no numbers.
    """
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected {name} as {length} numbers, got {values!r:.80}") from error
    if vector.shape != (length,):
        raise ValueError(f"expected {name} of shape {(length,)}, got {vector.shape}")
    return vector


def read_only(values: _Array) -> _Array:
    """The same numbers behind a door that lets nobody write: a view, not a copy."""
    if not values.flags.writeable:
        return values
    view = values.view()
    view.flags.writeable = False
    return view


def sum_at(slots: npt.ArrayLike, values: FloatArray, size: int) -> FloatArray:
    """[size] sums of the values that belong to each slot."""
    return np.bincount(slots, weights=values, minlength=size).astype(np.float64, copy=False)
