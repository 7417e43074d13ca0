"""A finite two-player zero-sum game of perfect recall as flat arrays.

`GameTree` is what everything else enumerates and reasons about; `TreeBuilder`
is the one way to make one. Letters used for shapes throughout the package:

    N  nodes, in breadth-first order: parents before children, the nodes of one
       depth contiguous, the children of one node contiguous
    I  infosets of one player, each after the infoset it grew out of
    S  sequences of one player; sequence 0 is the empty one, and the actions of
       an infoset own the contiguous range first_sequence + [0, num_actions)

An *infoset* is a class of nodes with the same observation sequence (own actions
and what the player was told), and every node has one for BOTH players, also for
the one who does not move there (ZS21, section 2). An infoset at which its player
moves is a *decision infoset*; only those have actions and sequences.
"""

from __future__ import annotations

import array
import dataclasses
import functools
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, FloatArray, IntArray

# The values of pyspiel.PlayerId, repeated here so that the core needs no pyspiel.
CHANCE = -1
TERMINAL = -4

ROOT = 0
NO_PARENT = -1
NO_ACTION = -1
NO_INFOSET = -1
EMPTY_SEQUENCE = 0

PLAYERS = (0, 1)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Infosets:
    """The infosets and sequences of one player.

    Attributes:
      parent: [I] the infoset this one grew out of by one observation or own
        action; NO_INFOSET at the root.
      parent_sequence: [I] the last own sequence before this infoset.
      first_sequence: [I] first of the infoset's own sequences.
      num_actions: [I] number of actions; 0 where the player does not move.
      sequence_infoset: [S] infoset of each sequence; NO_INFOSET for sequence 0.
      sequence_action: [S] OpenSpiel action of each sequence; NO_ACTION for 0.
      labels: [I] the information state string of each decision infoset, "" elsewhere.
    """

    parent: IntArray
    parent_sequence: IntArray
    first_sequence: IntArray
    num_actions: IntArray
    sequence_infoset: IntArray
    sequence_action: IntArray
    labels: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Infosets: {self.num_infosets}, {len(self.decisions)} with a decision>"

    @property
    def num_infosets(self) -> int:
        """I, decision infosets and others."""
        return len(self.parent)

    @property
    def num_sequences(self) -> int:
        """S, the empty sequence included."""
        return len(self.sequence_infoset)

    @functools.cached_property
    def decisions(self) -> IntArray:
        """Indices of the infosets at which the player moves, in order."""
        return np.flatnonzero(self.num_actions).astype(np.int32)

    @functools.cached_property
    def index_of_label(self) -> dict[str, int]:
        """Decision infoset of each information state string."""
        return {self.labels[i]: int(i) for i in self.decisions}

    def sequences(self, infoset: int) -> slice:
        """The contiguous range of sequences that start with a move at `infoset`."""
        first = int(self.first_sequence[infoset])
        return slice(first, first + int(self.num_actions[infoset]))

    def actions(self, infoset: int) -> IntArray:
        """OpenSpiel's legal actions at `infoset`."""
        return self.sequence_action[self.sequences(infoset)]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GameTree:
    """A finite two-player zero-sum game.

    Attributes:
      name: OpenSpiel's name of the game with its parameters, or a free text.
      parent: [N] parent node; NO_PARENT at the root.
      action: [N] OpenSpiel action that led here from the parent.
      player: [N] who moves: 0, 1, CHANCE or TERMINAL.
      chance: [N] probability of the edge to this node if chance moved, else 1.
      utility: [N] player 0's payoff at terminal nodes, 0 elsewhere.
      infoset: [2, N] infoset of each player at each node.
      sequence: [2, N] last own sequence of each player before each node.
      level_start: [depth + 2] nodes of depth d are level_start[d]:level_start[d + 1].
      infosets: the infosets of player 0 and of player 1.
      utility_offset: half the constant sum of both payoffs. Utilities here are
        shifted to sum to zero; add it to get the game's own figures.
    """

    name: str
    parent: IntArray
    action: IntArray
    player: npt.NDArray[np.int8]
    chance: FloatArray
    utility: FloatArray
    infoset: IntArray
    sequence: IntArray
    level_start: IntArray
    infosets: tuple[Infosets, Infosets]
    utility_offset: float = 0.0

    def __repr__(self) -> str:
        return f"<GameTree {self.name}: {self.num_nodes} nodes>"

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.parent)

    @property
    def max_depth(self) -> int:
        """Edges on the longest path from the root."""
        return len(self.level_start) - 2

    @functools.cached_property
    def terminals(self) -> IntArray:
        """Indices of the terminal nodes."""
        return np.flatnonzero(self.player == TERMINAL).astype(np.int32)

    @functools.cached_property
    def num_children(self) -> IntArray:
        """[N] number of children."""
        counts = np.bincount(self.parent[1:], minlength=self.num_nodes)
        return counts.astype(np.int32)

    @functools.cached_property
    def first_child(self) -> IntArray:
        """[N] first child; the children are first_child + [0, num_children)."""
        return (1 + np.cumsum(self.num_children) - self.num_children).astype(np.int32)

    @functools.cached_property
    def chance_reach(self) -> FloatArray:
        """[N] probability that chance plays all its moves on the way to a node: p(h)."""
        reach = self.chance.copy()
        for level in self.levels(skip_root=True):
            reach[level] *= reach[self.parent[level]]
        return reach

    @property
    def num_decision_infosets(self) -> int:
        """Decision infosets of both players together."""
        return sum(len(infosets.decisions) for infosets in self.infosets)

    def levels(self, skip_root: bool = False) -> Iterator[slice]:
        """Slices of the nodes of each depth, from the root down."""
        for depth in range(1 if skip_root else 0, self.max_depth + 1):
            yield slice(int(self.level_start[depth]), int(self.level_start[depth + 1]))

    def descendants(self, nodes: BoolArray) -> BoolArray:
        """[N] whether a node lies at or below one of the marked `nodes` ([N])."""
        below = nodes.copy()
        for level in self.levels(skip_root=True):
            below[level] |= below[self.parent[level]]
        return below

    def any_below(self, nodes: BoolArray) -> BoolArray:
        """[N] whether one of the marked `nodes` ([N]) lies at or below a node."""
        above = nodes.copy()
        for depth in range(self.max_depth, 0, -1):
            level = np.arange(self.level_start[depth], self.level_start[depth + 1])
            above[self.parent[level[above[level]]]] = True
        return above


class TreeBuilder:
    """Collects nodes, parents before children, and freezes them into a `GameTree`.

    Mutable. Nodes may come in any order in which parents precede their children
    and siblings come in the order of their parent's actions.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._parent = array.array("i")
        self._depth = array.array("i")
        self._action = array.array("i")
        self._player = array.array("b")
        self._chance = array.array("d")
        self._utility = array.array("d")
        self._infoset = (array.array("i"), array.array("i"))
        # Per player: (previous infoset, own action, my turn, observation) -> infoset.
        self._intern: tuple[dict[Hashable, int], dict[Hashable, int]] = ({}, {})
        self._observation: tuple[list[Hashable], list[Hashable]] = ([], [])
        self._labels: tuple[set[Hashable], set[Hashable]] = (set(), set())
        self._infoset_actions: tuple[list[tuple[int, ...]], list[tuple[int, ...]]] = ([], [])

    def __len__(self) -> int:
        return len(self._parent)

    def add_node(
        self,
        parent: int,
        action: int,
        player: int,
        observations: Sequence[Hashable],
        legal_actions: Sequence[int] = (),
        chance: float = 1.0,
        utility: float = 0.0,
    ) -> int:
        """Adds a node and returns its number, to be used as `parent` of its children.

        Args:
          parent: number of the parent, NO_PARENT for the root.
          action: action that led here.
          player: who moves here: 0, 1, CHANCE or TERMINAL.
          observations: for each player, everything told to that player so far
            (an information state string, or an identifier of one). A player who
            neither moved nor moves now and whose value is the same as at the
            parent has noticed nothing and stays in the parent's infoset.
          legal_actions: the moving player's actions (not needed for chance).
          chance: probability of the edge to this node if chance moved.
          utility: player 0's payoff at a terminal node.
        """
        node = len(self._parent)
        self._parent.append(parent)
        self._action.append(action)
        self._player.append(player)
        self._chance.append(chance)
        self._utility.append(utility)
        if parent == NO_PARENT:
            mover = TERMINAL
            self._depth.append(0)
        else:
            mover = self._player[parent]
            self._depth.append(self._depth[parent] + 1)
        for p in PLAYERS:
            column = self._infoset[p]
            before = column[parent] if parent != NO_PARENT else NO_INFOSET
            moved = mover == p
            moves = player == p
            observation = observations[p]
            if (
                before != NO_INFOSET
                and not moved
                and not moves
                and self._observation[p][before] == observation
            ):
                column.append(before)
                continue
            key = (before, action if moved else NO_ACTION, moves, observation)
            interned = self._intern[p]
            infoset = interned.get(key, NO_INFOSET)
            if infoset == NO_INFOSET:
                infoset = len(interned)
                interned[key] = infoset
                if moves:
                    # Two infosets under one label: found here, not after millions of nodes.
                    if observation in self._labels[p]:
                        raise ValueError(recall_error(self._name, p, str(observation)))
                    self._labels[p].add(observation)
                self._observation[p].append(observation)
                self._infoset_actions[p].append(tuple(legal_actions) if moves else ())
            elif moves and self._infoset_actions[p][infoset] != tuple(legal_actions):
                raise ValueError(
                    f"player {p} has different legal actions in one infoset of {self._name}: "
                    f"{list(self._infoset_actions[p][infoset])} and {list(legal_actions)} "
                    f"after observing {observation!r}"
                )
            column.append(infoset)
        return node

    def build(self, utility_offset: float = 0.0) -> GameTree:
        """Freezes the nodes; the builder must not be used afterwards."""
        if not self._parent:
            raise ValueError("a tree needs at least a root node; none was added")
        depth = np.asarray(self._depth, dtype=np.int32)
        # Stable, so siblings stay together and in order.
        order = np.argsort(depth, kind="stable").astype(np.int32)
        position = np.empty_like(order)
        position[order] = np.arange(len(order), dtype=np.int32)
        old_parent = np.asarray(self._parent, dtype=np.int32)[order]
        parent = np.where(old_parent == NO_PARENT, NO_PARENT, position[old_parent])
        level_start = np.concatenate([[0], np.cumsum(np.bincount(depth))])
        infoset = np.empty((2, len(order)), dtype=np.int32)
        labels = []
        for p in PLAYERS:
            old = np.asarray(self._infoset[p], dtype=np.int32)[order]
            _, first_node = np.unique(old, return_index=True)
            by_appearance = np.argsort(first_node)
            rank = np.empty_like(by_appearance)
            rank[by_appearance] = np.arange(len(rank))
            infoset[p] = rank[old]
            labels.append(
                tuple(
                    str(self._observation[p][i]) if self._infoset_actions[p][i] else ""
                    for i in by_appearance
                )
            )
        return assemble_tree(
            name=self._name,
            parent=parent.astype(np.int32),
            action=np.asarray(self._action, dtype=np.int32)[order],
            player=np.asarray(self._player, dtype=np.int8)[order],
            chance=np.asarray(self._chance, dtype=np.float64)[order],
            utility=np.asarray(self._utility, dtype=np.float64)[order],
            infoset=infoset,
            level_start=level_start.astype(np.int32),
            labels=(labels[0], labels[1]),
            utility_offset=utility_offset,
        )


def assemble_tree(
    *,
    name: str,
    parent: IntArray,
    action: IntArray,
    player: npt.NDArray[np.int8],
    chance: FloatArray,
    utility: FloatArray,
    infoset: IntArray,
    level_start: IntArray,
    labels: tuple[tuple[str, ...], tuple[str, ...]],
    utility_offset: float = 0.0,
) -> GameTree:
    """A `GameTree` from arrays of its nodes; infosets' tables are read off them.

    For enumerations that know infosets without interning observations. The
    arguments are the attributes of `GameTree` and `Infosets`; infosets must be
    numbered in the order of their first nodes. Nothing is verified: `tree_checks.check_tree`
    does that.
    """
    tables = []
    num_children = np.bincount(parent[1:], minlength=len(parent))
    first_child = 1 + np.cumsum(num_children) - num_children
    for p in PLAYERS:
        _, first_node = np.unique(infoset[p], return_index=True)
        num_actions = np.where(player[first_node] == p, num_children[first_node], 0)
        first_sequence = 1 + np.cumsum(num_actions) - num_actions
        owner = np.repeat(np.arange(len(first_node)), num_actions)
        # The k-th sequence of an infoset is the k-th edge below its first node.
        edge = np.arange(len(owner)) + 1 - first_sequence[owner] + first_child[first_node][owner]
        before = parent[first_node]
        tables.append(
            Infosets(
                parent=np.where(before == NO_PARENT, NO_INFOSET, infoset[p, before]).astype(
                    np.int32
                ),
                parent_sequence=np.zeros(len(first_node), dtype=np.int32),
                first_sequence=first_sequence.astype(np.int32),
                num_actions=num_actions.astype(np.int32),
                sequence_infoset=np.concatenate([[NO_INFOSET], owner]).astype(np.int32),
                sequence_action=np.concatenate([[NO_ACTION], action[edge]]).astype(np.int32),
                labels=labels[p],
            )
        )
    tree = GameTree(
        name=name,
        parent=parent,
        action=action,
        player=player,
        chance=chance,
        utility=utility,
        infoset=infoset,
        sequence=np.zeros((2, len(parent)), dtype=np.int32),
        level_start=level_start,
        infosets=(tables[0], tables[1]),
        utility_offset=utility_offset,
    )
    for p in PLAYERS:
        _fill_sequences(tree, p)
    return tree


def _fill_sequences(tree: GameTree, p: int) -> None:
    """Sets the last own sequence of player p at every node and every infoset."""
    infosets = tree.infosets[p]
    for level in tree.levels(skip_root=True):
        parent = tree.parent[level]
        child_index = np.arange(level.start, level.stop) - tree.first_child[parent]
        moved = tree.player[parent] == p
        own = infosets.first_sequence[tree.infoset[p, parent]] + child_index
        tree.sequence[p, level] = np.where(moved, own, tree.sequence[p, parent])
    # With perfect recall all nodes of an infoset agree; `tree_checks.check_tree` verifies it.
    infosets.parent_sequence[tree.infoset[p]] = tree.sequence[p]


def recall_error(name: str, player: int, label: str) -> str:
    """What to say of a game in which one information state has several pasts."""
    return (
        f"{name} is not of perfect recall: player {player} reaches the information "
        f"state {label!r} by different own actions or observations"
    )
