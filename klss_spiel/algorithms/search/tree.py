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

from typing import Any, NoReturn

import numpy as np

from klss_spiel.algorithms.search import tree_kernels as kernels
from klss_spiel.algorithms.search.arrays import (
    FAMILY_TYPES,
    FIRST_CAPACITY,
    INFOSET_TYPES,
    NODE_TYPES,
    SEQUENCE_TYPES,
    FamilyArrays,
    InfosetArrays,
    NodeArrays,
    PlayerArrays,
    SequenceArrays,
    allocate,
    grown,
    row_bytes,
    with_capacity,
)
from klss_spiel.algorithms.search.infoset_index import InfosetIndex
from klss_spiel.arrays import BoolArray, FloatArray, IntArray
from klss_spiel.search_game import Children, Positions, RootPositions
from klss_spiel.sequence_form import Treeplex
from klss_spiel.tree import (
    CHANCE,
    EMPTY_SEQUENCE,
    NO_ACTION,
    NO_INFOSET,
    NO_PARENT,
    PLAYERS,
    TERMINAL,
)

# Values of `first_child` of nodes that are not expanded.
UNEXPANDED = -1
PENDING = -2  # chosen for expansion, children on their way

ROOT_INFOSET = 0

# Of a node with its position, when arrays get twice the capacity.
_SECONDS_TO_COPY = 3e-7
# Nodes for which room is made ahead at most, and sequences of a player for each of them.
_MOST_AHEAD = 1 << 22
_SEQUENCES_AHEAD = 0.25


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
      index: for each player, the decision infosets by identifier.
      past_strategies: by identifier, probabilities of the searching player's actions at
        infosets he has left behind; nodes there are expanded as chance's.
      num_infosets: for each player, the rows in use.
      num_sequences: for each player, the rows in use.
    """

    def __init__(self, player: int, position_like: Positions) -> None:
        """An empty tree; see `root` for how to make one with roots.

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
        self.nodes = allocate(NodeArrays, NODE_TYPES)
        self.families = allocate(FamilyArrays, FAMILY_TYPES)
        self.infosets = [allocate(InfosetArrays, INFOSET_TYPES) for _ in PLAYERS]
        self.sequences = [allocate(SequenceArrays, SEQUENCE_TYPES) for _ in PLAYERS]
        self.positions: Positions = np.empty(
            (FIRST_CAPACITY, *position_like.shape[1:]), dtype=position_like.dtype
        )
        self.index = (InfosetIndex(), InfosetIndex())
        self.past_strategies: dict[int, FloatArray] = {}
        for p in PLAYERS:
            self._add_sequences(p, NO_INFOSET, np.array([NO_ACTION], dtype=np.int32))
            self.sequences[p].strategy[EMPTY_SEQUENCE] = 1.0
            self.sequences[p].plan[EMPTY_SEQUENCE] = 1.0

    @property
    def opponent(self) -> int:
        """The player who chooses at node 0."""
        return 1 - self.player

    @property
    def players(self) -> tuple[PlayerArrays, PlayerArrays]:
        """Both players' rows as they are now; growing replaces them."""
        first, second = (
            PlayerArrays(
                self.infosets[p], self.num_infosets[p], self.sequences[p], self.num_sequences[p]
            )
            for p in PLAYERS
        )
        return first, second

    def infoset_of(self, player: int, infoset_id: int) -> int:
        """The decision infoset with that identifier; NO_INFOSET if none is expanded."""
        return self.index[player].find(infoset_id, self.infosets[player].infoset_ids)

    def memory(self) -> int:
        """Bytes in use per row times rows, without the positions of object games."""
        total = self.num_nodes * row_bytes(self.nodes)
        total += self.num_families * row_bytes(self.families)
        for p in PLAYERS:
            total += self.num_infosets[p] * row_bytes(self.infosets[p])
            total += self.num_sequences[p] * row_bytes(self.sequences[p])
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
        self.add_nodes(
            1,
            parent=NO_PARENT,
            action=NO_ACTION,
            player=CHANCE,  # until its family is made: its infoset has no identifier
            depth=-2,
            chance=1.0,
            weight=1.0,
        )
        choices = self.add_nodes(
            m,
            parent=0,
            action=np.arange(m),
            player=CHANCE,
            depth=-1,
            chance=1.0,
            weight=1.0,
        )
        first = self._add_root_infoset()
        self.nodes.sequence[choices, opponent] = first + np.arange(m)
        self._attach(np.zeros(1, dtype=np.int32), np.array([m], dtype=np.int32), 1, False)
        self.families.player[0] = self.nodes.player[0] = opponent
        self.families.infoset[0] = self.nodes.infoset[0] = ROOT_INFOSET
        count = np.array([len(probability) for probability in probabilities], dtype=np.int32)
        group = np.repeat(np.arange(m, dtype=np.int32), count)
        probability = np.concatenate(probabilities)
        starts = self.add_nodes(
            len(group),
            parent=1 + group,
            action=NO_ACTION,
            player=roots.player,
            depth=0,
            chance=probability,
            weight=probability,
            infoset_ids=roots.infoset_ids.T,
        )
        self.nodes.sequence[starts, opponent] = first + group
        self.positions[starts] = roots.position
        self.num_leaves += int(np.sum(roots.player != TERMINAL))
        self._attach(np.arange(1, 1 + m, dtype=np.int32), count, starts.start, False)

    def expand(
        self,
        leaves: IntArray,
        children: Children,
        values: FloatArray,
        best_child: bool,
        closed: BoolArray | None = None,
    ) -> None:
        """Adds the children of some leaves.

        Args:
          leaves: [n] distinct leaves.
          children: their children.
          values: [c] player 0's payoff at each child.
          best_child: new infosets start by playing the child with the best value
            (Obscuro, C.5), uniform over ties, else uniformly.
          closed: [c] children that stay leaves; None for none of them.
        """
        if np.any(self.nodes.first_child[leaves] >= 0):
            raise ValueError("expected leaves, got a node that is expanded already")
        if np.any(children.count <= 0):
            raise ValueError("expected at least one child of every position that is not terminal")
        self._check_room(len(values))
        parent = np.repeat(leaves, children.count)
        chance = self._with_past_decisions(leaves, children)
        added = self.add_nodes(
            len(values),
            parent=parent,
            action=children.action,
            player=children.player,
            depth=self.nodes.depth[parent] + 1,
            chance=chance,
            weight=self.nodes.weight[parent] * chance,
            infoset_ids=children.infoset_ids.T,
        )
        nodes = self.nodes
        nodes.sequence[added] = nodes.sequence[parent]
        nodes.value[added] = values
        nodes.evaluation[added] = values
        nodes.forcing[added] = children.forcing
        self.positions[added] = children.position
        self.num_leaves += int(np.sum(children.player != TERMINAL)) - len(leaves)
        if closed is not None:
            nodes.first_child[added.start + np.flatnonzero(closed)] = PENDING
            self.num_leaves -= int(np.sum(closed & (children.player != TERMINAL)))
        self._attach(leaves, children.count, added.start, best_child)

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

    def _with_past_decisions(self, leaves: IntArray, children: Children) -> FloatArray:
        """[c] chance's probabilities; leaves where a decision is past become chance's."""
        if self.past_strategies.keys().isdisjoint(
            self.nodes.infoset_ids[leaves, self.player].tolist()
        ):
            return children.chance
        chance = children.chance.copy()
        first = 0
        for leaf, count in zip(leaves.tolist(), children.count.tolist(), strict=True):
            if self.nodes.player[leaf] == self.player:
                played = self.past_strategies.get(int(self.nodes.infoset_ids[leaf, self.player]))
                if played is not None:
                    chance[first : first + count] = played
                    self.nodes.player[leaf] = CHANCE
            first += count
        return chance

    def _attach(self, leaves: IntArray, count: IntArray, start: int, best_child: bool) -> None:
        """Makes families of leaves and the nodes from `start`, and infosets where need be."""
        n, m = len(leaves), self.num_nodes - start
        self.families = grown(self.families, self.num_families + n)
        for p in PLAYERS:
            self.infosets[p] = grown(self.infosets[p], self.num_infosets[p] + n)
            self.sequences[p] = grown(self.sequences[p], self.num_sequences[p] + m)
            self.index[p].reserve(n, self.infosets[p].infoset_ids)
        used = np.array([self.num_infosets, self.num_sequences], dtype=np.int64).T.copy()
        tables = (self.index[0].table, self.index[1].table)
        fault, where = kernels.attach(
            np.ascontiguousarray(leaves, dtype=np.int32),
            np.ascontiguousarray(count, dtype=np.int32),
            start,
            best_child,
            self.nodes,
            self.families,
            self.num_families,
            self.players,
            tables,
            used,
        )
        for p in PLAYERS:
            self.index[p].size += int(used[p, 0]) - self.num_infosets[p]
            self.num_infosets[p], self.num_sequences[p] = used[p].tolist()
        if fault != kernels.WELL:
            self._refuse(fault, int(leaves[where]), start + int(count[:where].sum()), count[where])
        self.num_families += n

    def _refuse(self, fault: int, leaf: int, first_child: int, count: int) -> NoReturn:
        """Says what is wrong with the infoset of a leaf."""
        player = int(self.nodes.player[leaf])
        if fault == kernels.OTHER_SEQUENCE:
            raise ValueError(
                f"not of perfect recall: player {player} reaches one infoset by different "
                "own actions"
            )
        infoset = self.infoset_of(player, int(self.nodes.infoset_ids[leaf, player]))
        first = int(self.infosets[player].first_sequence[infoset])
        last = first + int(self.infosets[player].num_actions[infoset])
        known = self.sequences[player].action[first:last].tolist()
        found = self.nodes.action[first_child : first_child + count].tolist()
        raise ValueError(
            f"player {player} has different legal actions in one infoset: {known} and {found}"
        )

    def _add_root_infoset(self) -> int:
        """The opponent's choice among the m roots, uniform; returns its first sequence."""
        opponent, m = self.opponent, self.num_roots
        infosets = self.infosets[opponent]
        first = self._add_sequences(opponent, ROOT_INFOSET, np.arange(m, dtype=np.int32))
        self.num_infosets[opponent] += 1
        infosets.parent_sequence[ROOT_INFOSET] = EMPTY_SEQUENCE
        infosets.first_sequence[ROOT_INFOSET] = first
        infosets.num_actions[ROOT_INFOSET] = m
        infosets.frozen[ROOT_INFOSET] = True
        sequences = self.sequences[opponent]
        sequences.strategy[first : first + m] = 1.0 / m
        sequences.plan[first : first + m] = 1.0 / m
        return first

    def _add_sequences(self, player: int, infoset: int, actions: IntArray) -> int:
        first = self.num_sequences[player]
        last = first + len(actions)
        self.sequences[player] = sequences = grown(self.sequences[player], last)
        self.num_sequences[player] = last
        sequences.infoset[first:last] = infoset
        sequences.action[first:last] = actions
        return first

    def add_nodes(self, count: int, **columns: Any) -> slice:
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

    def reserve(self, count: int) -> None:
        """Makes room for about `count` more nodes at once; by and by they are copied many times."""
        ahead = min(count, _MOST_AHEAD)
        wanted = self.num_nodes + ahead
        if wanted > len(self.nodes.parent):
            self.nodes = with_capacity(self.nodes, wanted)
            self._check_room(0)
        for p in PLAYERS:
            wanted = self.num_sequences[p] + int(_SEQUENCES_AHEAD * ahead)
            if wanted > len(self.sequences[p].infoset):
                self.sequences[p] = with_capacity(self.sequences[p], wanted)

    def seconds_to_add(self, count: int) -> float:
        """An estimate of the time that room for `count` more nodes takes: none if there is some."""
        has_room = self.num_nodes + count <= len(self.nodes.parent)
        return 0.0 if has_room else _SECONDS_TO_COPY * self.num_nodes

    def _check_room(self, count: int) -> None:
        """Makes room for `count` more nodes."""
        self.nodes = grown(self.nodes, self.num_nodes + count)
        capacity = len(self.nodes.parent)
        if len(self.positions) < capacity:
            positions = np.empty((capacity, *self.positions.shape[1:]), self.positions.dtype)
            positions[: self.num_nodes] = self.positions[: self.num_nodes]
            self.positions = positions
