"""Making trees: node by node, or from arrays of all nodes.

Memory while a tree grows decides how large a game can be enumerated, so a node is 61
bytes in flat arrays and no Python object. Shapes as in `klss_spiel.tree`.
"""

from __future__ import annotations

import array
import itertools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray, first_places, number_by_appearance
from klss_spiel.tree import (
    NO_ACTION,
    NO_INFOSET,
    NO_PARENT,
    PLAYERS,
    TERMINAL,
    GameTree,
    Infosets,
    recall_error,
)


class TreeBuilder:
    """Collects nodes, parents before children, and freezes them into a `GameTree`.

    Mutable. Nodes may come in any order in which parents precede their children
    and siblings come in the order of their parent's actions.

    A player's infosets are told apart by 64-bit hashes of what he has done and been
    told. Among ten million infosets two share one with a probability of three in a
    million; between decision infosets that is noticed and refused.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._parent = array.array("i")
        self._depth = array.array("i")
        self._action = array.array("i")
        self._player = array.array("b")
        self._chance = array.array("d")
        self._utility = array.array("d")
        # Per player: hashes of the way to each node and of all that is told there.
        self._way = (array.array("q"), array.array("q"))
        self._told = (array.array("q"), array.array("q"))
        self._decisions = (_Decisions(), _Decisions())

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
        is_root = parent == NO_PARENT
        mover = TERMINAL if is_root else self._player[parent]
        self._parent.append(parent)
        self._depth.append(0 if is_root else self._depth[parent] + 1)
        self._action.append(action)
        self._player.append(player)
        self._chance.append(chance)
        self._utility.append(utility)
        for p in PLAYERS:
            moved, moves = mover == p, player == p
            way = 0 if is_root else self._way[p][parent]
            told = hash(observations[p])
            if moved or moves or is_root or told != self._told[p][parent]:
                way = hash((way, action if moved else NO_ACTION, moves, told))
            self._way[p].append(way)
            self._told[p].append(told)
            if moves:
                self._add_decision(p, observations[p], way, tuple(legal_actions))
        return node

    def _add_decision(
        self, p: int, observation: Hashable, way: int, legal_actions: tuple[int, ...]
    ) -> None:
        decisions = self._decisions[p]
        index = decisions.index.setdefault(observation, len(decisions.way))
        if index == len(decisions.way):
            decisions.way.append(way)
            decisions.actions.append(decisions.distinct.setdefault(legal_actions, legal_actions))
            return
        # Two infosets under one label: found here, not after millions of nodes.
        if decisions.way[index] != way:
            raise ValueError(recall_error(self._name, p, str(observation)))
        if decisions.actions[index] != legal_actions:
            raise ValueError(
                f"player {p} has different legal actions in one infoset of {self._name}: "
                f"{list(decisions.actions[index])} and {list(legal_actions)} "
                f"after observing {observation!r}"
            )

    def build(self, utility_offset: float = 0.0) -> GameTree:
        """Freezes the nodes; the builder must not be used afterwards."""
        if not self._parent:
            raise ValueError("a tree needs at least a root node; none was added")
        # What is no longer needed goes at once: this is where memory peaks.
        del self._told
        depth = np.asarray(self._depth)
        level_start = np.concatenate([[0], np.cumsum(np.bincount(depth))]).astype(np.int32)
        # Stable, so siblings stay together and in order.
        order = np.argsort(depth, kind="stable").astype(np.int32)
        del depth, self._depth
        infoset = np.empty((2, len(order)), dtype=np.int32)
        labels = []
        for p in PLAYERS:
            infoset[p], distinct = number_by_appearance(_drain(self._way[p], order))
            labels.append(self._decisions[p].labels_of(distinct, self._name, p))
        del self._decisions
        parent = _drain(self._parent, order)
        position = np.empty_like(order)
        position[order] = np.arange(len(order), dtype=np.int32)
        parent[1:] = position[parent[1:]]
        del position
        return assemble_tree(
            name=self._name,
            parent=parent,
            action=_drain(self._action, order),
            player=_drain(self._player, order),
            chance=_drain(self._chance, order),
            utility=_drain(self._utility, order),
            infoset=infoset,
            level_start=level_start,
            labels=(labels[0], labels[1]),
            utility_offset=utility_offset,
        )


class _Decisions:
    """The decision infosets of one player met so far. Mutable.

    Attributes:
      index: the number of each by what the player is told there.
      way: their hashes.
      actions: their legal actions.
      distinct: the different lists of legal actions, each kept once.
    """

    def __init__(self) -> None:
        self.index: dict[Hashable, int] = {}
        self.way = array.array("q")
        self.actions: list[tuple[int, ...]] = []
        self.distinct: dict[tuple[int, ...], tuple[int, ...]] = {}

    def labels_of(self, ways: IntArray, name: str, player: int) -> tuple[str, ...]:
        """For infosets with the given hashes, what is told there, "" where nobody decides."""
        labels = [""] * len(ways)
        by_way = np.argsort(ways)
        place = by_way[np.searchsorted(ways, np.asarray(self.way), sorter=by_way)].tolist()
        for observation, at in zip(self.index, place, strict=True):
            if labels[at]:
                raise ValueError(
                    f"player {player}'s information states {labels[at]!r} and {observation!r} of "
                    f"{name} have the same hash; change a text to tell them apart"
                )
            labels[at] = str(observation)
        return tuple(labels)


def _drain(column: array.array[Any], order: IntArray) -> npt.NDArray[Any]:
    """A column of the builder in the given order; the column itself is emptied."""
    ordered: npt.NDArray[Any] = np.asarray(column)[order]
    del column[:]
    return ordered


def assemble_tree(
    *,
    name: str,
    parent: IntArray,
    action: IntArray,
    player: npt.NDArray[np.int8],
    utility: FloatArray,
    infoset: IntArray,
    level_start: IntArray,
    labels: tuple[tuple[str, ...], tuple[str, ...]],
    chance: FloatArray | None = None,
    utility_offset: float = 0.0,
) -> GameTree:
    """A `GameTree` from arrays of its nodes; infosets' tables are read off them.

    For enumerations that know infosets without interning observations. The
    arguments are the attributes of `GameTree` and `Infosets`; infosets must be
    numbered in the order of their first nodes. Without `chance` there are no chance
    moves. Nothing is verified: `tree_checks.check_tree` does that.
    """
    num_children = np.bincount(parent[1:], minlength=len(parent)).astype(np.int32)
    first_child = (1 + np.cumsum(num_children) - num_children).astype(np.int32)
    sequence = np.zeros((2, len(parent)), dtype=np.int32)
    tables = []
    for p in PLAYERS:
        first_node = first_places(infoset[p])
        num_actions = np.where(player[first_node] == p, num_children[first_node], 0)
        first_sequence = 1 + np.cumsum(num_actions) - num_actions
        owner = np.repeat(np.arange(len(first_node)), num_actions)
        # The k-th sequence of an infoset is the k-th edge below its first node.
        edge = np.arange(len(owner)) + 1 - first_sequence[owner] + first_child[first_node][owner]
        before = parent[first_node]
        for start, stop in itertools.pairwise(level_start[1:].tolist()):
            above = parent[start:stop]
            child_index = np.arange(start, stop, dtype=np.int32) - first_child[above]
            own = first_sequence[infoset[p, above]] + child_index
            sequence[p, start:stop] = np.where(player[above] == p, own, sequence[p, above])
        # With perfect recall all nodes of an infoset agree; `check_tree` verifies it.
        parent_sequence = np.empty(len(first_node), dtype=np.int32)
        parent_sequence[infoset[p]] = sequence[p]
        tables.append(
            Infosets(
                parent=np.where(before == NO_PARENT, NO_INFOSET, infoset[p, before]).astype(
                    np.int32
                ),
                parent_sequence=parent_sequence,
                first_sequence=first_sequence.astype(np.int32),
                num_actions=num_actions.astype(np.int32),
                sequence_infoset=np.concatenate([[NO_INFOSET], owner]).astype(np.int32),
                sequence_action=np.concatenate([[NO_ACTION], action[edge]]).astype(np.int32),
                labels=labels[p],
            )
        )
    return GameTree(
        name=name,
        parent=parent,
        action=action,
        player=player,
        chance=np.ones(len(parent)) if chance is None else chance,
        utility=utility,
        infoset=infoset,
        sequence=sequence,
        level_start=level_start,
        infosets=(tables[0], tables[1]),
        utility_offset=utility_offset,
    )
