"""The game that is left at the leaves of a growing tree, as a forest in sequence form.

The leaves of a search need not form a border as `make_border` asks for: histories of one
infoset are expanded one by one, and a search may start in the middle of a game from
positions that were sampled. What is left is still a forest: each player has one root for
every infoset at the leaves, and below a root

    the whole rest of the game      `rest_of_game`
    the rest down to some nodes     `rest_of_game` with `stops` (see `leaf_borders`)
    a choice among continuations    `choice_of_continuations`

Below a leaf a player remembers the root he came from. Where leaves are whole public states
that changes nothing and the first forest is `Border.bottom_part`; elsewhere players know a
little more than in the game, as they do in the tree itself, whose leaves have values of
their own.

Letters: n leaves, b roots of a player, E payoffs, K continuations, M nodes to stop at.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.algorithms.values.continuations import with_choices
from klss_spiel.algorithms.values.leaf_borders import AskedBorder, Stops
from klss_spiel.arrays import BoolArray, FloatArray, IntArray
from klss_spiel.sequence_form import Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, TERMINAL, GameTree

Pair = tuple[IntArray, IntArray]
NO_ROOT = -1


@dataclasses.dataclass(frozen=True, eq=False)
class LeafGame:
    """A forest below n leaves.

    Attributes:
      treeplexes: sequence 1 + j of a player is his root j, which nobody chooses.
      root: for each player, [S] the root above each sequence; NO_ROOT for the empty one.
      origin: for each player, [S] the tree's sequence that each one stands for;
        EMPTY_SEQUENCE where there is none.
      sequence: for each player, [E] where each payoff is met.
      leaf: [E] the leaf that each payoff lies below.
      payoff: [E] player 0's, times chance's probability from the leaf on.
      asked: where the forest stops and a value function is asked; None for nowhere.
    """

    treeplexes: tuple[Treeplex, Treeplex]
    root: Pair
    origin: Pair
    sequence: Pair
    leaf: IntArray
    payoff: FloatArray
    asked: AskedBorder | None = None


def rest_of_game(tree: GameTree, nodes: IntArray, roots: Pair) -> LeafGame:
    """The forest of all that may be played below some nodes.

    Args:
      tree: the game.
      nodes: [n] nodes of which none lies below another.
      roots: for each player, [n] root of each; nodes of one root have one own sequence.
    """
    return rest_until(tree, nodes, roots, np.zeros(0, dtype=np.int64))[0]


def rest_until(
    tree: GameTree, nodes: IntArray, roots: Pair, stops: IntArray
) -> tuple[LeafGame, Stops]:
    """The forest of what may be played below some nodes until others are reached.

    Args:
      tree: the game.
      nodes: as in `rest_of_game`.
      roots: as in `rest_of_game`.
      stops: [M] nodes at or below those.
    """
    leaf = leaves_above(tree, nodes)
    beyond = np.zeros(tree.num_nodes, dtype=np.bool_)
    beyond[stops] = True
    if len(stops):
        for level in tree.levels(skip_root=True):
            beyond[level] |= beyond[tree.parent[level]]
    inside = (leaf != NO_ROOT) & ~beyond
    ends = np.flatnonzero((tree.player == TERMINAL) & inside)
    treeplexes, of_sequences, origins, sequences, stopped = [], [], [], [], []
    for p in PLAYERS:
        below = _Below(tree, p, nodes, (leaf, inside), np.asarray(roots[p], dtype=np.int64))
        treeplexes.append(below.treeplex)
        of_sequences.append(below.root)
        origins.append(below.origin)
        sequences.append(below.sequence_at(ends))
        stopped.append(below.sequence_at(stops))
    at_ends, at_stops = (
        tree.chance_reach[found] / tree.chance_reach[nodes[leaf[found]]] for found in (ends, stops)
    )
    game = LeafGame(
        treeplexes=(treeplexes[0], treeplexes[1]),
        root=(of_sequences[0], of_sequences[1]),
        origin=(origins[0], origins[1]),
        sequence=(sequences[0], sequences[1]),
        leaf=leaf[ends],
        payoff=at_ends * tree.utility[ends],
    )
    return game, Stops((stopped[0], stopped[1]), leaf[stops], at_stops)


def leaves_above(tree: GameTree, nodes: IntArray) -> IntArray:
    """[N] which of some nodes (0 to n - 1) lies at or above each node; NO_ROOT for none.

    Raises:
      ValueError: one of them lies below another.
    """
    leaf = np.full(tree.num_nodes, NO_ROOT, dtype=np.int64)
    leaf[nodes] = np.arange(len(nodes))
    for level in tree.levels(skip_root=True):
        above = leaf[tree.parent[level]]
        if np.any((above != NO_ROOT) & (leaf[level] != NO_ROOT)):
            raise ValueError("expected nodes of which none lies below another")
        leaf[level] = np.where(above == NO_ROOT, leaf[level], above)
    return leaf


def choice_of_continuations(player: int, values: FloatArray, roots: Pair) -> LeafGame:
    """The forest in which the opponent chooses one of K continuations at each of his roots.

    Multi-valued states (Brown, Sandholm and Amos 2018): see `continuations`.

    Args:
      player: who solves, and has nothing to choose.
      values: [K, n] player 0's payoff at each leaf for each continuation.
      roots: for each player, [n] root of each leaf.
    """
    count, n = values.shape
    other = 1 - player
    sizes = [int(np.max(roots[p])) + 1 for p in PLAYERS]
    nothing = np.zeros(0, dtype=np.int32)
    bare = [Treeplex(nothing, nothing, nothing, 1 + size) for size in sizes]
    chosen, first = with_choices(bare[other], 1 + np.arange(sizes[other]), count)
    treeplexes = [bare[player], bare[player]]
    treeplexes[other] = chosen
    root, origin = [], []
    for p in PLAYERS:
        above = np.concatenate([[NO_ROOT], np.arange(sizes[p])])
        if p == other:
            above = np.concatenate([above, np.repeat(np.arange(sizes[p]), count)])
        root.append(above)
        origin.append(np.full(len(above), EMPTY_SEQUENCE))
    sequences = [np.tile(1 + np.asarray(roots[p]), count) for p in PLAYERS]
    sequences[other] = np.concatenate([first[roots[other]] + k for k in range(count)])
    return LeafGame(
        treeplexes=(treeplexes[0], treeplexes[1]),
        root=(root[0], root[1]),
        origin=(origin[0], origin[1]),
        sequence=(sequences[0], sequences[1]),
        leaf=np.tile(np.arange(n), count),
        payoff=values.reshape(-1),
    )


class _Below:
    """One player's treeplex below some nodes: an infoset for each of the tree's and root."""

    def __init__(
        self,
        tree: GameTree,
        player: int,
        nodes: IntArray,
        where: tuple[IntArray, BoolArray],
        roots: IntArray,
    ) -> None:
        """A treeplex of the nodes that `where` says are inside, with the leaf above each."""
        leaf, inside = where
        self._tree, self._player = tree, player
        self._leaf, self._roots = leaf, roots
        self._before = tree.sequence[player, nodes]
        infosets = tree.infosets[player]
        count = int(roots.max()) + 1
        self._num_roots = count
        deciding = np.flatnonzero((tree.player == player) & inside)
        # Ascending in the tree's number, so that infosets come after those before them.
        keys = tree.infoset[player, deciding] * np.int64(count) + roots[leaf[deciding]]
        self._keys, some = np.unique(keys, return_index=True)
        of_tree, of_root = self._keys // count, self._keys % count
        actions = infosets.num_actions[of_tree].astype(np.int64)
        self._first = 1 + count + np.cumsum(actions) - actions
        total = 1 + count + int(actions.sum())
        self.treeplex = Treeplex(
            parent_sequence=self.sequence_at(deciding[some]).astype(np.int32),
            first_sequence=self._first.astype(np.int32),
            num_actions=actions.astype(np.int32),
            num_sequences=total,
        )
        self.root = np.concatenate([[NO_ROOT], np.arange(count), np.repeat(of_root, actions)])
        starts = np.repeat(infosets.first_sequence[of_tree] - (self._first - 1 - count), actions)
        inner = starts + np.arange(total - 1 - count)
        self.origin = np.concatenate([np.zeros(1 + count, dtype=np.int64), inner])

    def sequence_at(self, nodes: IntArray) -> IntArray:
        """The forest's last own sequence at nodes at or below the leaves."""
        infosets = self._tree.infosets[self._player]
        leaf = self._leaf[nodes]
        last = self._tree.sequence[self._player, nodes]
        outside = last == self._before[leaf]
        infoset = np.where(outside, EMPTY_SEQUENCE, infosets.sequence_infoset[last])
        found = np.searchsorted(self._keys, infoset * np.int64(self._num_roots) + self._roots[leaf])
        found = np.minimum(found, max(len(self._keys) - 1, 0))
        if not len(self._keys):
            return 1 + self._roots[leaf]
        inner = self._first[found] + last - infosets.first_sequence[infoset]
        return np.where(outside, 1 + self._roots[leaf], inner)
