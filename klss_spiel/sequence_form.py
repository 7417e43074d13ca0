"""Two-player zero-sum games as bilinear games over two treeplexes.

A game of perfect recall is max over x, min over y of x' A y, where x and y are
realization plans: vectors over the sequences of player 0 and of player 1 (Koller,
Megiddo and von Stengel 1994). The gadget games of subgame solving have the same
form, with their alternate payoffs as further entries of A (the matrix B of ZS21,
appendix C), so one solver of each kind serves them all.

Shapes: I decision infosets and S sequences of one player, E payoff entries.
"""

from __future__ import annotations

import dataclasses
import functools
import weakref
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray, as_floats, ranges, sum_at
from klss_spiel.payoff_operator import PayoffOperator
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, GameTree, Infosets


@dataclasses.dataclass(frozen=True, eq=False)
class TreeplexLevel:
    """The decision infosets of one player that follow equally many own decisions.

    Attributes:
      infosets: [L] indices into the treeplex's infosets.
      sequences: [M] their sequences, infoset by infoset.
      starts: [L] where each infoset's sequences start within `sequences`.
      owner: [M] index into `infosets` of each sequence.
      parents: [L] the sequence each infoset follows.
    """

    infosets: IntArray
    sequences: IntArray
    starts: IntArray
    owner: IntArray
    parents: IntArray


@dataclasses.dataclass(frozen=True, eq=False)
class Treeplex:
    """The strategies of one player: decision infosets and the sequences they own.

    Attributes:
      parent_sequence: [I] the sequence each infoset follows. Infosets come after
        the infoset that owns their parent sequence.
      first_sequence: [I] the infoset's sequences are first_sequence + [0, num_actions).
      num_actions: [I] positive.
      num_sequences: S; sequence 0 is the empty one.
    """

    parent_sequence: IntArray
    first_sequence: IntArray
    num_actions: IntArray
    num_sequences: int

    @property
    def num_infosets(self) -> int:
        """I."""
        return len(self.parent_sequence)

    def _sequences_of(self, infosets: IntArray | slice) -> IntArray:
        """The sequences of some infosets, infoset by infoset."""
        first = self.first_sequence[infosets]
        return ranges(first, first + self.num_actions[infosets]).astype(np.int32)

    @functools.cached_property
    def sequence_infoset(self) -> IntArray:
        """[S] decision infoset of each sequence; -1 for the empty sequence."""
        owner = np.full(self.num_sequences, -1, dtype=np.int32)
        indices = np.arange(self.num_infosets, dtype=np.int32)
        owner[self._sequences_of(slice(None))] = np.repeat(indices, self.num_actions)
        return owner

    @functools.cached_property
    def infoset_level(self) -> IntArray:
        """[I] number of own decisions before each infoset."""
        level = np.zeros(self.num_infosets, dtype=np.int32)
        before = self.sequence_infoset[self.parent_sequence]
        # Every pass settles at least one more level.
        while True:
            updated = np.where(before >= 0, level[before] + 1, 0).astype(np.int32)
            if np.array_equal(updated, level):
                return level
            level = updated

    @functools.cached_property
    def levels(self) -> tuple[TreeplexLevel, ...]:
        """The infosets grouped by `infoset_level`, first decisions first."""
        order = np.argsort(self.infoset_level, kind="stable").astype(np.int32)
        counts = np.bincount(self.infoset_level) if len(order) else np.zeros(0, dtype=np.int64)
        levels = []
        for infosets in np.split(order, np.cumsum(counts)[:-1]) if len(order) else []:
            num_actions = self.num_actions[infosets]
            levels.append(
                TreeplexLevel(
                    infosets=infosets,
                    sequences=self._sequences_of(infosets),
                    starts=(np.cumsum(num_actions) - num_actions).astype(np.int32),
                    owner=np.repeat(np.arange(len(infosets), dtype=np.int32), num_actions),
                    parents=self.parent_sequence[infosets],
                )
            )
        return tuple(levels)

    def uniform(self) -> FloatArray:
        """[S] behaviour probabilities that are equal within each infoset."""
        behavior = np.ones(self.num_sequences)
        behavior[self._sequences_of(slice(None))] = np.repeat(
            1.0 / self.num_actions, self.num_actions
        )
        return behavior

    def vector(self, values: npt.ArrayLike, name: str) -> FloatArray:
        """One number per sequence, given as an array or a list, as an array.

        Raises:
          ValueError: there are more or fewer of them, or they are no numbers.
        """
        return as_floats(values, self.num_sequences, name)

    def realization_plan(self, behavior: npt.ArrayLike) -> FloatArray:
        """[S] probability that the player plays all of a sequence's own actions.

        Args:
          behavior: [S] probability of each sequence's last action at its infoset.
        """
        behavior = self.vector(behavior, "behavior")
        plan = np.ones(self.num_sequences)
        for level in self.levels:
            plan[level.sequences] = behavior[level.sequences] * plan[level.parents][level.owner]
        return plan

    def behavior(self, plan: npt.ArrayLike, fallback: npt.ArrayLike | None = None) -> FloatArray:
        """[S] behaviour probabilities of a realization plan.

        Args:
          plan: [S] realization plan.
          fallback: [S] behaviour at infosets the plan does not reach; uniform
            unless given.
        """
        plan = self.vector(plan, "plan")
        behavior = self.uniform() if fallback is None else self.vector(fallback, "fallback").copy()
        for level in self.levels:
            mass = np.maximum(plan[level.sequences], 0.0)
            total = np.add.reduceat(mass, level.starts)[level.owner]
            reached = total > 0.0
            behavior[level.sequences[reached]] = mass[reached] / total[reached]
        behavior[EMPTY_SEQUENCE] = 1.0
        return behavior

    def infoset_sums(self, per_sequence: npt.ArrayLike) -> FloatArray:
        """[I] sum over each infoset's own sequences of a vector over sequences."""
        per_sequence = self.vector(per_sequence, "per_sequence")
        sums = np.zeros(self.num_infosets)
        for level in self.levels:
            sums[level.infosets] = np.add.reduceat(per_sequence[level.sequences], level.starts)
        return sums


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SequenceForm:
    """max over x, min over y of sum over e of x[row[e]] * value[e] * y[column[e]].

    Where there is an `operator`, its payoffs are added to those of the entries.

    Attributes:
      treeplexes: strategies of player 0 (rows, maximises) and player 1 (columns).
      row: [E] sequence of player 0.
      column: [E] sequence of player 1.
      value: [E] player 0's payoff times chance's probability. Entries are
        distinct and sorted by row, then column.
      tree: the game whose sequence form it is; None for gadgets and games laid side
        by side.
      operator: payoffs that are computed, see `payoff_operator`; None for none.
    """

    treeplexes: tuple[Treeplex, Treeplex]
    row: IntArray
    column: IntArray
    value: FloatArray
    tree: GameTree | None = None
    operator: PayoffOperator | None = None

    def __repr__(self) -> str:
        rows, columns = (treeplex.num_sequences for treeplex in self.treeplexes)
        name = self.tree.name if self.tree is not None else "a part of a game"
        more = " and an operator" if self.operator is not None else ""
        return (
            f"<SequenceForm of {name}: {rows} by {columns} sequences, {self.num_entries} "
            f"entries{more}>"
        )

    @property
    def num_entries(self) -> int:
        """E."""
        return len(self.value)

    def expanded(self) -> SequenceForm:
        """The same game with all payoffs as entries; itself if it has no operator."""
        if self.operator is None:
            return self
        row, column, value = self.operator.entries()
        return make_sequence_form(
            self.treeplexes,
            row=_concatenate([self.row, row]),
            column=_concatenate([self.column, column]),
            value=np.concatenate([self.value, value]),
            tree=self.tree,
        )

    def gradient(self, player: int, opponent_plan: npt.ArrayLike) -> FloatArray:
        """[S] the player's own payoff per unit of each of his sequences.

        A y for player 0 and -A' x for player 1: both players maximise.

        Args:
          player: whose gradient.
          opponent_plan: [S of the other player] realization plan.
        """
        opponent_plan = self.treeplexes[1 - player].vector(opponent_plan, "opponent_plan")
        gradient = np.zeros(self.treeplexes[player].num_sequences)
        if self.num_entries:
            product = self._sparse[player]
            terms = product.value * opponent_plan[product.source]
            gradient[product.target] = np.add.reduceat(terms, product.starts)
        if self.operator is not None:
            self.operator.add_gradient(player, opponent_plan, gradient)
        return gradient

    def expected_value(self, plans: tuple[npt.ArrayLike, npt.ArrayLike]) -> float:
        """Player 0's expected payoff under two realization plans."""
        return float(self.treeplexes[0].vector(plans[0], "plans[0]") @ self.gradient(0, plans[1]))

    def entries(self, player: int) -> tuple[IntArray, IntArray, FloatArray]:
        """[E] own sequence, opponent's sequence and own payoff, sorted by own sequence."""
        product = self._sparse[player]
        own = (self.row, np.sort(self.column))[player]
        return own, product.source, product.value

    @functools.cached_property
    def _sparse(self) -> tuple[_SparseProduct, _SparseProduct]:
        """A and -A', each sorted by the sequence it produces a payoff for."""
        by_column = np.lexsort((self.row, self.column))
        return (
            _SparseProduct.create(self.row, self.column, self.value),
            _SparseProduct.create(
                self.column[by_column], self.row[by_column], -self.value[by_column]
            ),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class _SparseProduct:
    """A sparse matrix by rows: entries sorted by target, one segment per target."""

    target: IntArray
    starts: IntArray
    source: IntArray
    value: FloatArray

    @classmethod
    def create(cls, target: IntArray, source: IntArray, value: FloatArray) -> _SparseProduct:
        distinct, starts = np.unique(target, return_index=True)
        return cls(distinct.astype(np.int32), starts.astype(np.int32), source, value)


def make_sequence_form(
    treeplexes: tuple[Treeplex, Treeplex],
    row: IntArray,
    column: IntArray,
    value: FloatArray,
    tree: GameTree | None = None,
    operator: PayoffOperator | None = None,
) -> SequenceForm:
    """A `SequenceForm` from payoff entries in any order; equal places are summed."""
    width = treeplexes[1].num_sequences
    place = row.astype(np.int64) * width + column
    # Entries mostly come as a few sorted runs, which a stable sort merges.
    order = np.argsort(place, kind="stable")
    place = place[order]
    total: FloatArray = value[order]
    is_first = np.ones(len(place), dtype=np.bool_)
    is_first[1:] = place[1:] != place[:-1]
    if not np.all(is_first):
        total = sum_at(np.cumsum(is_first) - 1, total, int(is_first.sum()))
    keep = total != 0.0
    distinct = place[is_first][keep]
    return SequenceForm(
        treeplexes=treeplexes,
        row=(distinct // width).astype(np.int32),
        column=(distinct % width).astype(np.int32),
        value=total[keep],
        tree=tree,
        operator=operator,
    )


# A treeplex's levels are worth keeping: policies of one tree come by the thousand.
_TREEPLEXES: weakref.WeakKeyDictionary[GameTree, tuple[Treeplex, Treeplex]] = (
    weakref.WeakKeyDictionary()
)


def join_forms(
    forms: Sequence[SequenceForm],
) -> tuple[SequenceForm, tuple[list[IntArray], list[IntArray]]]:
    """Lays games side by side: one form whose strategies are one strategy of each.

    Returns:
      The joint form, and for each player and each game, [S] the joint number of
      each of its sequences; all empty sequences become the one empty sequence.
    """
    treeplexes = []
    numbers: tuple[list[IntArray], list[IntArray]] = ([], [])
    for p in PLAYERS:
        parts = [form.treeplexes[p] for form in forms]
        shift = 0
        for part in parts:
            joint = np.arange(part.num_sequences, dtype=np.int32) + shift
            joint[EMPTY_SEQUENCE] = EMPTY_SEQUENCE
            numbers[p].append(joint)
            shift += part.num_sequences - 1
        treeplexes.append(
            Treeplex(
                parent_sequence=_concatenate(
                    [n[part.parent_sequence] for n, part in zip(numbers[p], parts, strict=True)]
                ),
                first_sequence=_concatenate(
                    [n[part.first_sequence] for n, part in zip(numbers[p], parts, strict=True)]
                ),
                num_actions=_concatenate([part.num_actions for part in parts]),
                num_sequences=shift + 1,
            )
        )
    joint_form = make_sequence_form(
        (treeplexes[0], treeplexes[1]),
        row=_concatenate([n[form.row] for n, form in zip(numbers[0], forms, strict=True)]),
        column=_concatenate([n[form.column] for n, form in zip(numbers[1], forms, strict=True)]),
        value=np.concatenate([form.value for form in forms]),
        operator=_joined_operator(forms, numbers),
    )
    return joint_form, numbers


def _joined_operator(
    forms: Sequence[SequenceForm], numbers: tuple[list[IntArray], list[IntArray]]
) -> PayoffOperator | None:
    """The operators of games laid side by side as one."""
    moved = [
        form.operator.renumbered((first, second))
        for form, first, second in zip(forms, *numbers, strict=True)
        if form.operator is not None
    ]
    return moved[0].joined(moved[1:]) if moved else None


def _concatenate(parts: Sequence[IntArray]) -> IntArray:
    return np.concatenate(parts).astype(np.int32)


def treeplex_from_tree(tree: GameTree, player: int) -> Treeplex:
    """The player's treeplex; its sequences have the tree's numbers.

    Its infosets are `tree.infosets[player].decisions`, in that order. The same tree
    gives the same object.
    """
    if tree not in _TREEPLEXES:
        _TREEPLEXES[tree] = (_make_treeplex(tree.infosets[0]), _make_treeplex(tree.infosets[1]))
    return _TREEPLEXES[tree][player]


def _make_treeplex(infosets: Infosets) -> Treeplex:
    decisions = infosets.decisions
    return Treeplex(
        parent_sequence=infosets.parent_sequence[decisions],
        first_sequence=infosets.first_sequence[decisions],
        num_actions=infosets.num_actions[decisions],
        num_sequences=infosets.num_sequences,
    )


def sequence_form_from_tree(tree: GameTree) -> SequenceForm:
    """The sequence form of a whole game; sequences have the tree's numbers."""
    leaves = tree.terminals
    return make_sequence_form(
        (treeplex_from_tree(tree, PLAYERS[0]), treeplex_from_tree(tree, PLAYERS[1])),
        row=tree.sequence[0, leaves],
        column=tree.sequence[1, leaves],
        value=tree.chance_reach[leaves] * tree.utility[leaves],
        tree=tree,
    )
