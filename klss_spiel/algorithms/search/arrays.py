"""The columns of a search tree, in arrays that grow.

Each kind of row is a named tuple of arrays of equal length, so that compiled code can
take it as one argument. Letters: N nodes, F families, I decision infosets and S
sequences of one player; the arrays are longer than what is in use. See `tree`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, FloatArray, IntArray
from klss_spiel.search_game import InfosetIds

FIRST_CAPACITY = 64

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


class NodeArrays(NamedTuple):
    """One row per node.

    Attributes:
      parent: [N] parent node; NO_PARENT at node 0.
      action: [N] action that led here.
      player: [N] who moves: 0, 1, CHANCE or TERMINAL.
      depth: [N] moves since the positions the search started from; negative above.
      chance: [N] probability of the edge to this node if chance moved, else 1.
      weight: [N] product of `chance` from node 0.
      first_child: [N] first child, or UNEXPANDED or PENDING.
      num_children: [N] number of children; 0 at leaves.
      infoset: [N] the mover's decision infoset at expanded nodes, else NO_INFOSET.
      sequence: [N, 2] last own sequence of each player.
      infoset_ids: [N, 2] what each player knows.
      value: [N] player 0's payoff at leaves; 0 at expanded nodes, so that sums over
        the children of a node count leaves only.
      evaluation: [N] the value the node had as a leaf.
      forcing: [N] see `Children.forcing`.
    """

    parent: IntArray
    action: IntArray
    player: npt.NDArray[np.int8]
    depth: npt.NDArray[np.int16]
    chance: FloatArray
    weight: FloatArray
    first_child: IntArray
    num_children: IntArray
    infoset: IntArray
    sequence: IntArray
    infoset_ids: InfosetIds
    value: FloatArray
    evaluation: npt.NDArray[np.float32]
    forcing: BoolArray


class FamilyArrays(NamedTuple):
    """One row per expanded node: what an iteration of CFR reads of it.

    Attributes:
      node: [F] the node.
      player: [F] who moves there.
      first_child: [F] first child.
      num_children: [F] number of children.
      infoset: [F] the mover's infoset; NO_INFOSET for chance.
      sequence: [F, 2] last own sequence of each player at the node.
      weight: [F] product of chance's probabilities down to the node.
    """

    node: IntArray
    player: npt.NDArray[np.int8]
    first_child: IntArray
    num_children: IntArray
    infoset: IntArray
    sequence: IntArray
    weight: FloatArray


class InfosetArrays(NamedTuple):
    """One row per decision infoset of one player.

    Attributes:
      parent_sequence: [I] the sequence it follows.
      first_sequence: [I] its sequences are first_sequence + [0, num_actions).
      num_actions: [I] number of actions.
      infoset_ids: [I] its identifier.
      reach: [I] probability that chance and the opponent play here, last iteration.
      visits: [I] how often expansion came by, N(I).
      visited: [I] whether the current iteration of CFR reached it.
      frozen: [I] its strategy is not to be changed by CFR.
    """

    parent_sequence: IntArray
    first_sequence: IntArray
    num_actions: IntArray
    infoset_ids: InfosetIds
    reach: FloatArray
    visits: FloatArray
    visited: BoolArray
    frozen: BoolArray


class SequenceArrays(NamedTuple):
    """One row per sequence of one player; row 0 is the empty sequence.

    Attributes:
      infoset: [S] the infoset it is a choice at.
      action: [S] its last action.
      strategy: [S] current probability of that action.
      plan: [S] realization plan of `strategy`.
      regret: [S] cumulative regret.
      instant: [S] instant regret of the last update.
      average: [S] weighted sum of the plans played.
      bonus: [S] extra payoff for playing the sequence, whatever the others do.
      utility: [S] counterfactual value of the last iteration.
      value: [S] expected payoff given that the sequence is played: `utility`
        divided by the infoset's reach, from when that was last positive.
      picks: [S] how often an exploring player chose it, N(I, a).
      sum: [S] sum of its `value` at the times it was chosen.
      squares: [S] sum of the squares of the same.
      last_absent: [S] last iteration after which its probability was 0.
    """

    infoset: IntArray
    action: IntArray
    strategy: FloatArray
    plan: FloatArray
    regret: FloatArray
    instant: FloatArray
    average: FloatArray
    bonus: FloatArray
    utility: FloatArray
    value: FloatArray
    picks: FloatArray
    sum: FloatArray
    squares: FloatArray
    last_absent: IntArray


class PlayerArrays(NamedTuple):
    """All rows of one player; compiled code takes a pair of them.

    Attributes:
      infosets: decision infosets.
      num_infosets: how many rows of them are in use.
      sequences: sequences.
      num_sequences: how many rows of them are in use.
    """

    infosets: InfosetArrays
    num_infosets: int
    sequences: SequenceArrays
    num_sequences: int


NODE_TYPES: dict[str, Any] = {
    "parent": np.int32,
    "action": np.int32,
    "player": np.int8,
    "depth": np.int16,
    "first_child": np.int32,
    "num_children": np.int32,
    "infoset": np.int32,
    "sequence": (np.int32, 2),
    "infoset_ids": (np.uint64, 2),
    "evaluation": np.float32,
    "forcing": np.bool_,
    "node": np.int32,
}
FAMILY_TYPES = NODE_TYPES
INFOSET_TYPES: dict[str, Any] = {
    "parent_sequence": np.int32,
    "first_sequence": np.int32,
    "num_actions": np.int32,
    "infoset_ids": np.uint64,
    "visited": np.bool_,
    "frozen": np.bool_,
}
SEQUENCE_TYPES: dict[str, Any] = {
    "infoset": np.int32,
    "action": np.int32,
    "last_absent": np.int32,
}


def allocate(arrays: type[Arrays], types: dict[str, Any]) -> Arrays:
    """Arrays of zeros with room for a few rows; float64 unless `types` says otherwise."""
    columns = {}
    for name in arrays._fields:  # type: ignore[attr-defined]
        kind = types.get(name, np.float64)
        dtype, tail = kind if isinstance(kind, tuple) else (kind, None)
        shape = (FIRST_CAPACITY,) if tail is None else (FIRST_CAPACITY, tail)
        columns[name] = np.zeros(shape, dtype=dtype)
    return arrays(**columns)


def grown(arrays: Arrays, size: int) -> Arrays:
    """The arrays, or copies of twice the capacity until `size` rows fit."""
    capacity = len(arrays[0])
    if size <= capacity:
        return arrays
    while capacity < size:
        capacity *= 2
    return with_capacity(arrays, capacity)


def with_capacity(arrays: Arrays, capacity: int) -> Arrays:
    """Copies with room for `capacity` rows; those that are new take no memory until used."""
    longer = []
    for array in arrays:
        copy = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
        copy[: len(array)] = array
        longer.append(copy)
    return type(arrays)(*longer)


def row_bytes(arrays: tuple[Any, ...]) -> int:
    """Bytes per row."""
    return sum(array.nbytes // len(array) for array in arrays)
