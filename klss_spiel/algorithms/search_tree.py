"""The part of a game that a search has looked at, in arrays that grow.

The tree starts with the root layers of the gadget games of subgame solving
(Obscuro, Figure 9), so that nothing below them needs to know about gadgets:

    node 0            the opponent of the searching player chooses where to start:
                      one of his m root infosets J
    nodes 1 .. m      chance: which history of J it is
    nodes m+1 ..      the positions the search starts from, then all others

A search of the whole game is the case m = 1 with one history. Below, a node is a
*leaf* until it is expanded; an expanded node and its children are a *family*. All
payoffs of a family are a short contiguous product, so an iteration of CFR streams
through the families and never walks the tree.

Letters: N nodes, F families, I decision infosets and S sequences of one player, of
which the arrays hold more rows than are in use; `num_nodes` etc. say how many are.
Infosets and sequences come after those they grew out of, children after parents.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.search_game import Children, Knowledge, Positions, RootPositions
from klss_spiel.sequence_form import Treeplex
from klss_spiel.tree import (
    CHANCE,
    EMPTY_SEQUENCE,
    NO_ACTION,
    NO_INFOSET,
    NO_PARENT,
    PLAYERS,
    TERMINAL,
    BoolArray,
    FloatArray,
    IntArray,
)

# Values of `first_child` of nodes that are not expanded.
UNEXPANDED = -1
PENDING = -2  # chosen for expansion, children on their way

ROOT_INFOSET = 0
_FIRST_CAPACITY = 64

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
      knowledge: [N, 2] what each player knows.
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
    num_children: npt.NDArray[np.int16]
    infoset: IntArray
    sequence: IntArray
    knowledge: Knowledge
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
      knowledge: [I] its identifier.
      reach: [I] probability that chance and the opponent play here, last iteration.
      visits: [I] how often expansion came by while its player explored.
      visited: [I] whether the current iteration of CFR reached it.
      frozen: [I] its strategy is not to be changed by CFR.
    """

    parent_sequence: IntArray
    first_sequence: IntArray
    num_actions: IntArray
    knowledge: Knowledge
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
      picks: [S] how often expansion chose it.
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


_NODE_TYPES: dict[str, Any] = {
    "parent": np.int32,
    "action": np.int32,
    "player": np.int8,
    "depth": np.int16,
    "first_child": np.int32,
    "num_children": np.int16,
    "infoset": np.int32,
    "sequence": (np.int32, 2),
    "knowledge": (np.uint64, 2),
    "evaluation": np.float32,
    "forcing": np.bool_,
    "node": np.int32,
}
_FAMILY_TYPES = {**_NODE_TYPES, "num_children": np.int32}
_INFOSET_TYPES: dict[str, Any] = {
    "parent_sequence": np.int32,
    "first_sequence": np.int32,
    "num_actions": np.int32,
    "knowledge": np.uint64,
    "visited": np.bool_,
    "frozen": np.bool_,
}
_SEQUENCE_TYPES: dict[str, Any] = {
    "infoset": np.int32,
    "action": np.int32,
    "last_absent": np.int32,
}


class SearchTree:
    """A tree that grows by `expand`. Mutable.

    Attributes:
      player: the searching player; his opponent chooses at node 0.
      nodes: rows of nodes.
      families: rows of expanded nodes.
      infosets: for each player, rows of decision infosets.
      sequences: for each player, rows of sequences.
      positions: [N] the game's own positions; undefined above the roots.
      num_roots: m, the number of the opponent's root infosets.
      num_leaves: nodes that may still be expanded.
      num_infosets: for each player, the rows in use.
      num_sequences: for each player, the rows in use.
    """

    def __init__(self, player: int, position_like: Positions) -> None:
        """An empty tree; see `search_root` for how to make one with roots.

        Args:
          player: the searching player.
          position_like: an array of positions, for its type and shape.
        """
        self.player = player
        self.num_nodes = 0
        self.num_families = 0
        self.num_roots = 0
        self.num_leaves = 0
        self.num_infosets = [0, 0]
        self.num_sequences = [0, 0]
        self.nodes = _allocate(NodeArrays, _NODE_TYPES)
        self.families = _allocate(FamilyArrays, _FAMILY_TYPES)
        self.infosets = [_allocate(InfosetArrays, _INFOSET_TYPES) for _ in PLAYERS]
        self.sequences = [_allocate(SequenceArrays, _SEQUENCE_TYPES) for _ in PLAYERS]
        self.positions: Positions = np.empty(
            (_FIRST_CAPACITY, *position_like.shape[1:]), dtype=position_like.dtype
        )
        self._infoset_of_knowledge: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for p in PLAYERS:
            self._add_sequences(p, NO_INFOSET, np.array([NO_ACTION], dtype=np.int32))
            self.sequences[p].strategy[EMPTY_SEQUENCE] = 1.0
            self.sequences[p].plan[EMPTY_SEQUENCE] = 1.0

    @property
    def opponent(self) -> int:
        """The player who chooses at node 0."""
        return 1 - self.player

    def infoset_of(self, player: int, knowledge: int) -> int:
        """The decision infoset with that identifier; NO_INFOSET if none is expanded."""
        return self._infoset_of_knowledge[player].get(int(knowledge), NO_INFOSET)

    def memory(self) -> int:
        """Bytes in use per row times rows, without the positions of object games."""
        total = self.num_nodes * _row_bytes(self.nodes)
        total += self.num_families * _row_bytes(self.families)
        for p in PLAYERS:
            total += self.num_infosets[p] * _row_bytes(self.infosets[p])
            total += self.num_sequences[p] * _row_bytes(self.sequences[p])
        return total + self.num_nodes * self.positions.nbytes // len(self.positions)

    def add_root_layers(self, probabilities: list[FloatArray], roots: RootPositions) -> None:
        """Adds node 0, the chance nodes and the starting positions, all unevaluated.

        Args:
          probabilities: for each of the m root infosets, the probability of each of
            its histories; together one per row of `roots`, in order.
          roots: the histories.
        """
        if self.num_nodes:
            raise ValueError(f"expected an empty tree, got one of {self.num_nodes} nodes")
        m = len(probabilities)
        self.num_roots = m
        opponent = self.opponent
        self._add_nodes(
            1,
            parent=NO_PARENT,
            action=NO_ACTION,
            player=opponent,
            depth=-2,
            chance=1.0,
            weight=1.0,
        )
        choices = self._add_nodes(
            m,
            parent=0,
            action=np.arange(m),
            player=CHANCE,
            depth=-1,
            chance=1.0,
            weight=1.0,
        )
        root_infoset = self._add_infoset(
            opponent, EMPTY_SEQUENCE, np.arange(m, dtype=np.int32), knowledge=None
        )
        self.infosets[opponent].frozen[root_infoset] = True
        first = int(self.infosets[opponent].first_sequence[root_infoset])
        self.nodes.sequence[choices, opponent] = first + np.arange(m)
        self._add_family(0, choices.start, m, root_infoset)
        for j, probability in enumerate(probabilities):
            start = self.num_nodes
            count = len(probability)
            # The rows of `roots` that have been used so far are the nodes so far.
            used = start - 1 - m
            rows = slice(used, used + count)
            added = self._add_nodes(
                count,
                parent=1 + j,
                action=NO_ACTION,
                player=roots.player[rows],
                depth=0,
                chance=probability,
                weight=probability,
                knowledge=roots.knowledge[:, rows].T,
            )
            self.nodes.sequence[added, opponent] = first + j
            self.positions[added] = roots.position[rows]
            self.num_leaves += int(np.sum(roots.player[rows] != TERMINAL))
            self._add_family(1 + j, start, count, NO_INFOSET)

    def expand(
        self, leaves: IntArray, children: Children, values: FloatArray, best_child: bool
    ) -> None:
        """Adds the children of some leaves.

        Args:
          leaves: [n] distinct leaves.
          children: their children.
          values: [c] player 0's payoff at each child.
          best_child: new infosets start by playing the child with the best value
            (Obscuro, C.5), else uniformly.
        """
        if np.any(self.nodes.first_child[leaves] >= 0):
            raise ValueError("expected leaves, got a node that is expanded already")
        if np.any(children.count <= 0):
            raise ValueError("expected at least one child of every position that is not terminal")
        self._check_room(len(values))
        parent = np.repeat(leaves, children.count)
        added = self._add_nodes(
            len(values),
            parent=parent,
            action=children.action,
            player=children.player,
            depth=self.nodes.depth[parent] + 1,
            chance=children.chance,
            weight=self.nodes.weight[parent] * children.chance,
            knowledge=children.knowledge.T,
        )
        nodes = self.nodes
        nodes.sequence[added] = nodes.sequence[parent]
        nodes.value[added] = values
        nodes.evaluation[added] = values
        nodes.forcing[added] = children.forcing
        self.positions[added] = children.position
        self.num_leaves += int(np.sum(children.player != TERMINAL)) - len(leaves)
        start = added.start
        for leaf, count in zip(leaves.tolist(), children.count.tolist(), strict=True):
            mover = int(nodes.player[leaf])
            infoset = NO_INFOSET
            if mover in PLAYERS:
                actions = nodes.action[start : start + count]
                infoset = self._infoset_at(mover, leaf, actions)
                first = int(self.infosets[mover].first_sequence[infoset])
                nodes.sequence[start : start + count, mover] = np.arange(first, first + count)
                if self.infosets[mover].reach[infoset] < 0.0:
                    self._start_strategy(mover, infoset, nodes.value[start : start + count])
                    if best_child:
                        self._play_best_child(mover, infoset)
            self._add_family(leaf, start, count, infoset)
            start += count

    def treeplex(self, player: int) -> Treeplex:
        """The player's treeplex; sequences have the tree's numbers."""
        infosets = self.infosets[player]
        count = self.num_infosets[player]
        return Treeplex(
            parent_sequence=infosets.parent_sequence[:count].copy(),
            first_sequence=infosets.first_sequence[:count].copy(),
            num_actions=infosets.num_actions[:count].copy(),
            num_sequences=self.num_sequences[player],
        )

    def average(self, player: int) -> FloatArray:
        """[S] behaviour probabilities of the average strategy; current where unplayed."""
        count = self.num_sequences[player]
        sequences = self.sequences[player]
        return self.treeplex(player).behavior(sequences.average[:count], sequences.strategy[:count])

    # How rows are added.

    def _infoset_at(self, player: int, node: int, actions: IntArray) -> int:
        """The mover's infoset at a node about to be expanded, created if need be."""
        knowledge = int(self.nodes.knowledge[node, player])
        parent_sequence = int(self.nodes.sequence[node, player])
        infoset = self.infoset_of(player, knowledge)
        if infoset == NO_INFOSET:
            return self._add_infoset(player, parent_sequence, actions, knowledge)
        infosets = self.infosets[player]
        if infosets.parent_sequence[infoset] != parent_sequence:
            raise ValueError(
                f"not of perfect recall: player {player} reaches one infoset by different "
                "own actions"
            )
        first = int(infosets.first_sequence[infoset])
        last = first + int(infosets.num_actions[infoset])
        known = self.sequences[player].action[first:last]
        if not np.array_equal(known, actions):
            raise ValueError(
                f"player {player} has different legal actions in one infoset: "
                f"{known.tolist()} and {actions.tolist()}"
            )
        return infoset

    def _add_infoset(
        self, player: int, parent_sequence: int, actions: IntArray, knowledge: int | None
    ) -> int:
        infoset = self.num_infosets[player]
        self.infosets[player] = infosets = _grown(self.infosets[player], infoset + 1)
        self.num_infosets[player] += 1
        infosets.parent_sequence[infoset] = parent_sequence
        infosets.first_sequence[infoset] = self._add_sequences(player, infoset, actions)
        infosets.num_actions[infoset] = len(actions)
        infosets.reach[infoset] = -1.0  # until its strategy is set
        infosets.visits[infoset] = 0.0
        infosets.visited[infoset] = False
        infosets.frozen[infoset] = False
        if knowledge is None:
            self._start_strategy(player, infoset, np.zeros(len(actions)))
        else:
            infosets.knowledge[infoset] = knowledge
            self._infoset_of_knowledge[player][knowledge] = infoset
        return infoset

    def _add_sequences(self, player: int, infoset: int, actions: IntArray) -> int:
        first = self.num_sequences[player]
        last = first + len(actions)
        self.sequences[player] = sequences = _grown(self.sequences[player], last)
        self.num_sequences[player] = last
        for array in sequences:
            array[first:last] = 0
        sequences.infoset[first:last] = infoset
        sequences.action[first:last] = actions
        return first

    def _start_strategy(self, player: int, infoset: int, values: FloatArray) -> None:
        """Uniform play, and the given values for player 0 of its actions."""
        infosets, sequences = self.infosets[player], self.sequences[player]
        infosets.reach[infoset] = 0.0
        first = int(infosets.first_sequence[infoset])
        own = slice(first, first + int(infosets.num_actions[infoset]))
        sequences.strategy[own] = 1.0 / (own.stop - own.start)
        parent_plan = sequences.plan[infosets.parent_sequence[infoset]]
        sequences.plan[own] = parent_plan * sequences.strategy[own]
        sequences.value[own] = values if player == 0 else -values

    def _play_best_child(self, player: int, infoset: int) -> None:
        infosets, sequences = self.infosets[player], self.sequences[player]
        first = int(infosets.first_sequence[infoset])
        own = slice(first, first + int(infosets.num_actions[infoset]))
        best = first + int(np.argmax(sequences.value[own]))
        sequences.strategy[own] = 0.0
        sequences.strategy[best] = 1.0
        sequences.plan[own] = 0.0
        sequences.plan[best] = sequences.plan[infosets.parent_sequence[infoset]]

    def _add_family(self, node: int, first_child: int, count: int, infoset: int) -> None:
        family = self.num_families
        self.families = families = _grown(self.families, family + 1)
        self.num_families += 1
        nodes = self.nodes
        families.node[family] = node
        families.player[family] = nodes.player[node]
        families.first_child[family] = first_child
        families.num_children[family] = count
        families.infoset[family] = infoset
        families.sequence[family] = nodes.sequence[node]
        families.weight[family] = nodes.weight[node]
        nodes.first_child[node] = first_child
        nodes.num_children[node] = count
        nodes.infoset[node] = infoset
        nodes.value[node] = 0.0

    def _add_nodes(self, count: int, **columns: Any) -> slice:
        """Adds rows; columns that are not given start as zero."""
        start = self.num_nodes
        self._check_room(count)
        added = slice(start, start + count)
        self.num_nodes += count
        for name, array in self.nodes._asdict().items():
            array[added] = columns.get(name, 0)
        self.nodes.first_child[added] = UNEXPANDED
        self.nodes.infoset[added] = NO_INFOSET
        return added

    def _check_room(self, count: int) -> None:
        """Makes room for `count` more nodes."""
        self.nodes = _grown(self.nodes, self.num_nodes + count)
        capacity = len(self.nodes.parent)
        if len(self.positions) < capacity:
            positions = np.empty((capacity, *self.positions.shape[1:]), self.positions.dtype)
            positions[: self.num_nodes] = self.positions[: self.num_nodes]
            self.positions = positions


def _allocate(arrays: type[Arrays], types: dict[str, Any]) -> Arrays:
    columns = {}
    for name in arrays._fields:  # type: ignore[attr-defined]
        kind = types.get(name, np.float64)
        dtype, tail = kind if isinstance(kind, tuple) else (kind, None)
        shape = (_FIRST_CAPACITY,) if tail is None else (_FIRST_CAPACITY, tail)
        columns[name] = np.zeros(shape, dtype=dtype)
    return arrays(**columns)


def _grown(arrays: Arrays, size: int) -> Arrays:
    """The arrays, or copies of twice the capacity until `size` rows fit."""
    capacity = len(arrays[0])
    if size <= capacity:
        return arrays
    while capacity < size:
        capacity *= 2
    grown = []
    for array in arrays:
        copy = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
        copy[: len(array)] = array
        grown.append(copy)
    return type(arrays)(*grown)


def _row_bytes(arrays: tuple[Any, ...]) -> int:
    return sum(array.nbytes // len(array) for array in arrays)
