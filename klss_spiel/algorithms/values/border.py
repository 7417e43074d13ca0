"""Where a game is cut in two: trunk above, bottoms below, and the border between them.

The *trunk* is a set of nodes that contains the parent of each of its nodes; the
*border* consists of the first nodes outside it that are not terminal (terminal nodes
right below the trunk belong to the trunk's payoffs). What lies at and below the
border splits into *bottoms*, one for each public state of the border (Kovarik and Lisy,
"Value Functions for Depth-Limited Solving", definitions 2 and 3; Burch,
Johanson and Bowling 2014 call them subgames).

Letters for shapes, besides those of `klss_spiel.tree`:

    B  border nodes
    J  border infosets of one player, numbered by their first border node
    P  public states of the border

What is thick in the tree does no harm here: of an infoset that holds a node and its
child only the border node counts, which is the upper frontier within the bottoms.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from klss_spiel.arrays import BoolArray, FloatArray, IntArray
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import (
    SequenceForm,
    Treeplex,
    make_sequence_form,
    treeplex_from_tree,
)
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, TERMINAL, GameTree

NOT_BELOW = -1
NO_SEQUENCE = -1


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Part:
    """A part of a game, trunk or bottoms, in sequence form.

    Attributes:
      form: the payoffs at the part's terminal nodes.
      sequences: for each player, [S of the part] the tree's sequence of each of the
        part's sequences; NO_SEQUENCE for the roots of a bottom.
      own_sequence: for each player, [S of the tree] the part's number of each
        sequence of the tree, NO_SEQUENCE for those of the other part.
    """

    form: SequenceForm
    sequences: tuple[IntArray, IntArray]
    own_sequence: tuple[IntArray, IntArray]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Border:
    """A cut through a game.

    Attributes:
      tree: the game.
      trunk: [N] whether a node lies above the border.
      nodes: [B] the border nodes, ascending.
      root: [N] the border node (0 to B - 1) at or above each node, NOT_BELOW in the
        trunk and at its terminal nodes.
      infosets: for each player, [J] the tree's number of each border infoset.
      node_infoset: [2, B] border infoset (0 to J - 1) of each player at each border node.
      public_state: [B] public state of each border node.
      infoset_public_state: for each player, [J] public state of each border infoset.
      num_public_states: P.
    """

    tree: GameTree
    trunk: BoolArray
    nodes: IntArray
    root: IntArray
    infosets: tuple[IntArray, IntArray]
    node_infoset: IntArray
    public_state: IntArray
    infoset_public_state: tuple[IntArray, IntArray]
    num_public_states: int

    def __repr__(self) -> str:
        return (
            f"<Border of {self.tree.name}: {len(self.nodes)} nodes, "
            f"{len(self.infosets[0])} and {len(self.infosets[1])} infosets, "
            f"{self.num_public_states} public states>"
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of border infosets of each player."""
        return len(self.infosets[0]), len(self.infosets[1])

    @functools.cached_property
    def chance_reach(self) -> FloatArray:
        """[B] probability that chance plays to each border node."""
        reach: FloatArray = self.tree.chance_reach[self.nodes]
        return reach

    @functools.cached_property
    def trunk_part(self) -> Part:
        """The trunk: its decisions and the payoffs at its terminal nodes."""
        tree = self.tree
        leaves = np.flatnonzero((tree.player == TERMINAL) & (self.root == NOT_BELOW))
        treeplexes, sequences, numbers = [], [], []
        for p in PLAYERS:
            inside = np.zeros(tree.infosets[p].num_infosets, dtype=np.bool_)
            inside[tree.infoset[p, self.trunk & (tree.player == p)]] = True
            whole = treeplex_from_tree(tree, p)
            chosen = np.flatnonzero(inside[tree.infosets[p].decisions])
            treeplex, back, number = _restrict(whole, chosen, roots=None)
            treeplexes.append(treeplex)
            sequences.append(back)
            numbers.append(number)
        form = make_sequence_form(
            (treeplexes[0], treeplexes[1]),
            row=numbers[0][tree.sequence[0, leaves]],
            column=numbers[1][tree.sequence[1, leaves]],
            value=tree.chance_reach[leaves] * tree.utility[leaves],
        )
        return Part(form, (sequences[0], sequences[1]), (numbers[0], numbers[1]))

    @functools.cached_property
    def trunk_sequence(self) -> tuple[IntArray, IntArray]:
        """For each player, [J] the trunk's sequence that leads to each border infoset."""
        first, second = (
            self.trunk_part.own_sequence[p][self.tree.infosets[p].parent_sequence[self.infosets[p]]]
            for p in PLAYERS
        )
        return first, second

    @functools.cached_property
    def uniform_reach(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [J] reach of each border infoset under uniform own play."""
        reach = []
        for p in PLAYERS:
            treeplex = self.trunk_part.form.treeplexes[p]
            plan = treeplex.realization_plan(treeplex.uniform())
            reach.append(plan[self.trunk_sequence[p]])
        return reach[0], reach[1]

    @functools.cached_property
    def bottom_part(self) -> Part:
        """All bottoms side by side.

        Each player's sequence 1 + j is the *root* of border infoset j: a decision
        with one action, whose probability in a realization plan is the range. What a
        player can get from there on, against the other's plan, is therefore the
        counterfactual value of the border infoset (infoset j of the treeplex).
        """
        tree = self.tree
        leaves = np.flatnonzero((tree.player == TERMINAL) & (self.root != NOT_BELOW))
        treeplexes, sequences, numbers, of_leaves = [], [], [], []
        for p in PLAYERS:
            infosets = tree.infosets[p]
            deciding = np.flatnonzero((tree.player == p) & (self.root != NOT_BELOW))
            border_of = np.full(infosets.num_infosets, NOT_BELOW, dtype=np.int32)
            border_of[tree.infoset[p, deciding]] = self.node_infoset[p, self.root[deciding]]
            border_of = border_of[infosets.decisions]
            chosen = np.flatnonzero(border_of != NOT_BELOW)
            treeplex, back, number = _restrict(
                treeplex_from_tree(tree, p), chosen, roots=(border_of[chosen], self.sizes[p])
            )
            inner = number[tree.sequence[p, leaves]]
            outer = 1 + self.node_infoset[p, self.root[leaves]]
            of_leaves.append(np.where(inner == NO_SEQUENCE, outer, inner))
            treeplexes.append(treeplex)
            sequences.append(back)
            numbers.append(number)
        form = make_sequence_form(
            (treeplexes[0], treeplexes[1]),
            row=of_leaves[0],
            column=of_leaves[1],
            value=tree.chance_reach[leaves] * tree.utility[leaves],
        )
        return Part(form, (sequences[0], sequences[1]), (numbers[0], numbers[1]))

    @functools.cached_property
    def bottom_root(self) -> tuple[IntArray, IntArray]:
        """For each player, [S of the bottoms] border infoset above each sequence.

        NOT_BELOW for the empty sequence.
        """
        roots = []
        for p in PLAYERS:
            treeplex = self.bottom_part.form.treeplexes[p]
            above = np.full(treeplex.num_sequences, NOT_BELOW, dtype=np.int32)
            above[1 : 1 + self.sizes[p]] = np.arange(self.sizes[p], dtype=np.int32)
            for level in treeplex.levels[1:]:
                above[level.sequences] = above[level.parents][level.owner]
            roots.append(above)
        return roots[0], roots[1]

    def root_plan(self, player: int, behavior: FloatArray, root: FloatArray) -> FloatArray:
        """[S of the bottoms] realization plan that starts from given roots.

        Args:
          player: whose.
          behavior: [S of the bottoms] behaviour below the border.
          root: [J] what the plan starts from at each border infoset.
        """
        treeplex = self.bottom_part.form.treeplexes[player]
        rooted = behavior.copy()
        rooted[1 : 1 + self.sizes[player]] = root
        return treeplex.realization_plan(rooted)

    def join(
        self,
        trunk: tuple[FloatArray, FloatArray],
        bottoms: tuple[FloatArray, FloatArray],
    ) -> BehaviorPolicy:
        """The policy of the whole game that behaves like `trunk` and then like `bottoms`.

        Args:
          trunk: for each player, [S of the trunk] behaviour probabilities.
          bottoms: for each player, [S of the bottoms] behaviour probabilities.
        """
        joined = []
        for p in PLAYERS:
            whole = np.ones(self.tree.infosets[p].num_sequences)
            whole[self.trunk_part.sequences[p]] = trunk[p]
            below = self.bottom_part.sequences[p] != NO_SEQUENCE
            whole[self.bottom_part.sequences[p][below]] = bottoms[p][below]
            whole[EMPTY_SEQUENCE] = 1.0
            joined.append(whole)
        return BehaviorPolicy(self.tree, (joined[0], joined[1]))

    def trunk_of(self, policy: BehaviorPolicy) -> tuple[FloatArray, FloatArray]:
        """For each player, [S of the trunk] what a policy does above the border."""
        self.check_tree(policy)
        first, second = (policy.probabilities[p][self.trunk_part.sequences[p]] for p in PLAYERS)
        return first, second

    def bottoms_of(self, policy: BehaviorPolicy) -> tuple[FloatArray, FloatArray]:
        """For each player, [S of the bottoms] what a policy does below; 1 at the roots."""
        self.check_tree(policy)
        behaviors = []
        for p in PLAYERS:
            sequences = self.bottom_part.sequences[p]
            below = sequences != NO_SEQUENCE
            behaviors.append(np.where(below, policy.probabilities[p][sequences], 1.0))
        return behaviors[0], behaviors[1]

    def check_tree(self, policy: BehaviorPolicy) -> None:
        """Raises ValueError unless a policy belongs to the tree that was cut."""
        if policy.tree is not self.tree:
            raise ValueError(
                f"expected a policy of the tree of {self.tree.name} that was cut, got one of "
                f"another tree, of {policy.tree.name}"
            )

    def check_values(self, values: tuple[FloatArray, FloatArray], what: str = "values") -> None:
        """Raises ValueError unless there is a finite number for each border infoset."""
        if len(values) != len(PLAYERS):
            raise ValueError(f"expected {what} of two players, got {len(values)}")
        for p in PLAYERS:
            of_player = np.asarray(values[p])
            if of_player.shape != (self.sizes[p],):
                raise ValueError(
                    f"expected {what} of shape ({self.sizes[p]},) for player {p} at the border "
                    f"of {self.tree.name}, got {of_player.shape}"
                )
            if not np.all(np.isfinite(of_player)):
                where = int(np.flatnonzero(~np.isfinite(of_player))[0])
                raise ValueError(
                    f"expected finite {what}, got {of_player[where]} for player {p} at border "
                    f"infoset {where}"
                )


def _restrict(
    whole: Treeplex, chosen: IntArray, roots: tuple[IntArray, int] | None
) -> tuple[Treeplex, IntArray, IntArray]:
    """Some infosets of a treeplex as a treeplex of their own.

    Args:
      whole: the treeplex.
      chosen: its infosets to keep, ascending.
      roots: None to keep the parents of all of them, or [chosen] a root for each and
        the number of roots: those whose parent is not kept hang from their root.

    Returns:
      The treeplex, its sequences' numbers in `whole` and the reverse.
    """
    num_roots = 0 if roots is None else roots[1]
    counts = whole.num_actions[chosen]
    first = 1 + num_roots + np.cumsum(counts) - counts
    kept = np.repeat(whole.first_sequence[chosen] - (np.cumsum(counts) - counts), counts)
    kept = kept + np.arange(len(kept))
    number = np.full(whole.num_sequences, NO_SEQUENCE, dtype=np.int32)
    number[kept] = 1 + num_roots + np.arange(len(kept), dtype=np.int32)
    back = np.full(1 + num_roots + len(kept), NO_SEQUENCE, dtype=np.int32)
    back[1 + num_roots :] = kept
    if roots is None:
        number[EMPTY_SEQUENCE] = EMPTY_SEQUENCE
        back[EMPTY_SEQUENCE] = EMPTY_SEQUENCE
    parents = number[whole.parent_sequence[chosen]]
    if roots is not None:
        parents = np.where(parents == NO_SEQUENCE, 1 + roots[0], parents)
    one_action = np.arange(num_roots)
    treeplex = Treeplex(
        parent_sequence=np.concatenate([0 * one_action, parents]).astype(np.int32),
        first_sequence=np.concatenate([1 + one_action, first]).astype(np.int32),
        num_actions=np.concatenate([1 + 0 * one_action, counts]).astype(np.int32),
        num_sequences=1 + num_roots + len(kept),
    )
    return treeplex, back, number
