"""The part of a game that a subgame is made of, without any strategy.

A `Region` is the set of nodes at or below an order-k knowledge set, with the
infosets and sequences of both players in it renumbered: the *player*, whose
strategy is refined, gets a treeplex, the *opponent* a forest. `RegionIndex` holds
what makes finding one cheap: nodes sorted by the infosets of either player, in
depth-first order of the infosets, so that everything below an infoset is one
slice. The cost of a region does not depend on the size of the game.

Shapes, besides those of `klss_spiel.tree`:

    X, Z  nodes and terminal nodes of a region
    W     decision infosets of the player in a region
    R     roots: opponent infosets through which the region is entered
    K     decision infosets of the opponent in a region
    F     sequences of the opponent's forest: 0 to R - 1 stand for being at a root,
          the others are the actions of the K infosets

Deviation: ZS21's algorithm 12 assumes that the opponent infosets which meet the
knowledge set lie beside each other. Where a player does not notice how much time
has passed, one may lie below another; only the upper one is a root then.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.knowledge import COMMON_KNOWLEDGE, infoset_hypergraph
from klss_spiel.algorithms.subgame.infoset_order import infoset_order
from klss_spiel.arrays import BoolArray, FloatArray, IntArray, LongArray, ranges
from klss_spiel.sequence_form import Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, TERMINAL, GameTree, Infosets


@dataclasses.dataclass(frozen=True, eq=False)
class Region:
    """Nodes at or below a knowledge set, with both players' infosets renumbered.

    Attributes:
      infoset: the infoset it was made for.
      nodes: [X] all nodes.
      tops: [H] the nodes whose parent is not in the region.
      top_root: [H] the root that each of them is under.
      leaves: [Z] the terminal nodes.
      infosets: [W] the player's decision infosets.
      treeplex: the player's strategies: infosets in the order of `infosets`.
      sequences: [S] the tree's number of each of its sequences; 0 is the empty one.
      entry: [S] the tree's sequence by which the player came to the part of the
        treeplex that each sequence is in.
      leaf_row: [Z] sequence of the treeplex at each leaf.
      leaf_sequence: [Z] the tree's sequence whose probability under the blueprint
        is a factor of the leaf's: `entry`, or the leaf's own before the first move.
      roots: [R] opponent infosets.
      opponent_infosets: all opponent infosets of the nodes or between them and a
        root, decision infosets or not.
      decisions: [K] the opponent's decision infosets, parents first.
      decision_parent: [K] the sequence of the forest each of them follows.
      decision_first: [K] its first own sequence of the forest.
      forest_root: [F] the root each sequence of the forest is under.
      forest_sequence: [F - R] the tree's numbers of the sequences after the roots.
      leaf_column: [Z] sequence of the forest at each leaf.
    """

    infoset: int
    nodes: IntArray
    tops: IntArray
    top_root: LongArray
    leaves: IntArray
    infosets: IntArray
    treeplex: Treeplex
    sequences: IntArray
    entry: IntArray
    leaf_row: IntArray
    leaf_sequence: IntArray
    roots: IntArray
    opponent_infosets: IntArray
    decisions: IntArray
    decision_parent: LongArray
    decision_first: LongArray
    forest_root: LongArray
    forest_sequence: IntArray
    leaf_column: LongArray

    @property
    def num_roots(self) -> int:
        """R."""
        return len(self.roots)

    @property
    def num_forest_sequences(self) -> int:
        """F."""
        return len(self.forest_root)


class RegionIndex:
    """Finds regions of one game for one player.

    Attributes:
      tree: the game.
      player: whose strategy is to be refined.
      opponent: the other player.
      own: order of the player's infosets.
      other: order of the opponent's infosets.
      payoff: [N] chance's probability of a terminal node times the player's own payoff.
    """

    def __init__(self, tree: GameTree, player: int) -> None:
        if player not in PLAYERS:
            raise ValueError(f"expected player 0 or 1, got {player}")
        self.tree = tree
        self.player = player
        self.opponent = 1 - player
        self.own = infoset_order(tree, self.player)
        self.other = infoset_order(tree, self.opponent)
        sign = 1.0 if player == PLAYERS[0] else -1.0
        self.payoff: FloatArray = sign * tree.chance_reach * tree.utility

    @functools.cached_property
    def component_nodes(self) -> tuple[IntArray, LongArray, IntArray]:
        """Nodes sorted by common-knowledge closure, its starts, and each node's closure."""
        component = infoset_hypergraph(self.tree).component
        order = np.argsort(component, kind="stable").astype(np.int32)
        start = np.searchsorted(component[order], np.arange(component.max() + 2))
        return order, start, component

    @functools.cached_property
    def decides(self) -> BoolArray:
        """[I] whether the player moves at or below each of his infosets."""
        moves = self.tree.infosets[self.player].num_actions[self.own.at_position] > 0
        before = np.concatenate([[0], np.cumsum(moves)])
        decides: BoolArray = before[self.own.end] > before[self.own.position]
        return decides

    def closure_of(self, infoset: int) -> int:
        """A number that is the same for infosets in one common-knowledge closure."""
        _, _, component = self.component_nodes
        first = self.own.nodes[self.own.start[self.own.position[infoset]]]
        return int(component[first])

    def knowledge_set(self, infoset: int, order: float) -> IntArray:
        """The nodes of the order-k knowledge set of an infoset of the player.

        The same set as `knowledge.knowledge_set`, found without touching the rest
        of the game.
        """
        if order == COMMON_KNOWLEDGE:
            nodes, start, _ = self.component_nodes
            closure = self.closure_of(infoset)
            return nodes[start[closure] : start[closure + 1]]
        nodes = self.own.nodes_of(np.array([infoset]))
        for step in range(1, int(order)):
            who = self.opponent if step % 2 == 1 else self.player
            ranking = self.other if step % 2 == 1 else self.own
            larger = ranking.nodes_of(np.unique(self.tree.infoset[who, nodes]))
            if len(larger) == len(nodes):
                break
            nodes = larger
        return nodes

    def region(self, infoset: int, order: float) -> Region:
        """The region of an infoset of the player."""
        count = self.tree.infosets[self.player].num_infosets
        if not 0 <= infoset < count or not self.decides[infoset]:
            raise ValueError(
                f"expected an infoset of player {self.player} (0 to {count - 1}) at or below "
                f"which the player moves, got {infoset}"
            )
        if order == 1:
            return self._region(infoset, self.own.nodes_below(np.array([infoset])))
        core = self.knowledge_set(infoset, order)
        # Odd orders are made of the player's infosets, even ones of the opponent's.
        if order == COMMON_KNOWLEDGE or order % 2 == 1:
            ranking, who = self.own, self.player
        else:
            ranking, who = self.other, self.opponent
        tops = ranking.topmost(np.unique(self.tree.infoset[who, core]))
        return self._region(infoset, ranking.nodes_below(tops))

    def without_roots(self, region: Region, drop: BoolArray) -> Region:
        """The region without what lies under the marked roots ([R])."""
        tree = self.tree
        root = self.root_of(region.roots, tree.infoset[self.opponent, region.nodes])
        return self._region(region.infoset, region.nodes[~drop[root]])

    def root_of(self, roots: IntArray, infosets: IntArray) -> LongArray:
        """Which of the roots, sorted by position, each opponent infoset is at or below."""
        starts = self.other.position[roots]
        return np.searchsorted(starts, self.other.position[infosets], side="right") - 1

    def _region(self, infoset: int, nodes: IntArray) -> Region:
        tree, me, other = self.tree, self.player, self.opponent
        nodes = np.sort(nodes)
        who = tree.player[nodes]
        leaves = nodes[who == TERMINAL]
        parent = tree.parent[nodes]
        tops = nodes[~_contains(nodes, parent)]

        own = tree.infosets[me]
        infosets = np.unique(tree.infoset[me, nodes[who == me]])
        first, sequences = _number_sequences(own, infosets, 1)
        sequences = np.concatenate([[EMPTY_SEQUENCE], sequences]).astype(np.int32)
        before = own.parent_sequence[infosets]
        treeplex = Treeplex(
            parent_sequence=_place(own, infosets, first, before, EMPTY_SEQUENCE).astype(np.int32),
            first_sequence=first.astype(np.int32),
            num_actions=own.num_actions[infosets],
            num_sequences=len(sequences),
        )
        entry = np.zeros(len(sequences), dtype=np.int32)
        ways_in = before[treeplex.parent_sequence == EMPTY_SEQUENCE]
        if np.all(ways_in == ways_in[:1]):
            entry[1:] = ways_in[:1]  # Always so at order 1.
        else:
            for number, level in enumerate(treeplex.levels):
                came_by = before[level.infosets] if number == 0 else entry[level.parents]
                entry[level.sequences] = came_by[level.owner]
        leaf_before = tree.sequence[me, leaves]
        leaf_row = _place(own, infosets, first, leaf_before, EMPTY_SEQUENCE).astype(np.int32)
        leaf_sequence = np.where(leaf_row == EMPTY_SEQUENCE, leaf_before, entry[leaf_row])

        theirs = tree.infosets[other]
        at_tops = tree.infoset[other, tops]
        entered = np.unique(at_tops)
        roots = self.other.topmost(entered)
        met = np.unique(tree.infoset[other, nodes])
        if len(entered) > len(roots):
            met = self._with_infosets_between(met, roots, at_tops)
        decisions = met[theirs.num_actions[met] > 0]
        first, forest_sequence = _number_sequences(theirs, decisions, len(roots))
        decision_parent = _place(
            theirs,
            decisions,
            first,
            theirs.parent_sequence[decisions],
            self.root_of(roots, decisions),
        )
        leaf_column = _place(
            theirs,
            decisions,
            first,
            tree.sequence[other, leaves],
            self.root_of(roots, tree.infoset[other, leaves]),
        )
        of_actions = np.repeat(self.root_of(roots, decisions), theirs.num_actions[decisions])
        return Region(
            infoset=infoset,
            nodes=nodes,
            tops=tops,
            top_root=self.root_of(roots, at_tops),
            leaves=leaves,
            infosets=infosets,
            treeplex=treeplex,
            sequences=sequences,
            entry=entry,
            leaf_row=leaf_row,
            leaf_sequence=leaf_sequence.astype(np.int32),
            roots=roots,
            opponent_infosets=met,
            decisions=decisions,
            decision_parent=decision_parent,
            decision_first=first,
            forest_root=np.concatenate([np.arange(len(roots)), of_actions]),
            forest_sequence=forest_sequence,
            leaf_column=leaf_column,
        )

    def _with_infosets_between(self, met: IntArray, roots: IntArray, at_tops: IntArray) -> IntArray:
        """Adds the opponent infosets between a root and a top below that root."""
        theirs = self.tree.infosets[self.opponent]
        found = [met]
        current = np.setdiff1d(at_tops, roots)
        while len(current):
            current = np.setdiff1d(theirs.parent[current], roots)
            found.append(current)
        return np.unique(np.concatenate(found)).astype(np.int32)


def _number_sequences(
    infosets: Infosets, decisions: IntArray, offset: int
) -> tuple[LongArray, IntArray]:
    """First new number of each infoset's sequences, and the old numbers in new order."""
    counts = infosets.num_actions[decisions].astype(np.int64)
    first = offset + np.cumsum(counts) - counts
    old = infosets.first_sequence[decisions].astype(np.int64)
    return first, ranges(old, old + counts).astype(np.int32)


def _place(
    infosets: Infosets,
    decisions: IntArray,
    first: LongArray,
    sequences: IntArray,
    otherwise: npt.ArrayLike,
) -> LongArray:
    """New numbers of sequences that belong to `decisions`, `otherwise` for the rest."""
    owner = infosets.sequence_infoset[sequences]
    if not len(decisions):
        return np.broadcast_to(np.asarray(otherwise, dtype=np.int64), sequences.shape).copy()
    slot = np.minimum(np.searchsorted(decisions, owner), len(decisions) - 1)
    inside = decisions[slot] == owner
    number = first[slot] + sequences - infosets.first_sequence[owner]
    return np.where(inside, number, otherwise)


def _contains(values: IntArray, wanted: IntArray) -> BoolArray:
    """Whether each of `wanted` is among the sorted `values`."""
    slot = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    found: BoolArray = values[slot] == wanted
    return found
