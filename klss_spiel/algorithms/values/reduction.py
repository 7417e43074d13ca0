"""Smaller forms of the same game: what never pays anything is left out.

In chess with a horizon most of what can be played leads to a draw, and a sequence below
which all payoffs are zero is worth zero whatever happens. Infosets that have only such
sequences are dropped; where an infoset has several of them they become one action. In
Sestak's Mate2 this leaves an eighth of the sequences.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.arrays import BoolArray, FloatArray, IntArray
from klss_spiel.sequence_form import SequenceForm, Treeplex
from klss_spiel.tree import NO_INFOSET

DROPPED = -1


@dataclasses.dataclass(frozen=True, eq=False)
class ReducedForm:
    """A form without idle sequences.

    Attributes:
      whole: the form it was made from.
      form: the smaller one.
      number: for each player, [S of the whole] the number of each sequence in the smaller
        form, shared by merged ones; DROPPED for those of dropped infosets.
    """

    whole: SequenceForm
    form: SequenceForm
    number: tuple[IntArray, IntArray]

    def first(self, player: int) -> IntArray:
        """[S of the smaller form] a sequence of the whole that each number stands for."""
        kept = np.flatnonzero(self.number[player] != DROPPED)
        first = np.zeros(self.form.treeplexes[player].num_sequences, dtype=np.int64)
        # Backwards, so that the first of several is what remains.
        first[self.number[player][kept[::-1]]] = kept[::-1]
        return first

    def expand(self, player: int, behavior: FloatArray) -> FloatArray:
        """[S of the whole] a behaviour of the smaller form; uniform where it says nothing."""
        number = self.number[player]
        size = self.form.treeplexes[player].num_sequences
        kept = number != DROPPED
        merged = np.bincount(number[kept], minlength=size)
        expanded = self.whole.treeplexes[player].uniform()
        expanded[kept] = behavior[number[kept]] / merged[number[kept]]
        return expanded


def reduce_form(form: SequenceForm) -> ReducedForm:
    """Leaves out what never pays anything; roots of a forest are kept."""
    treeplexes, numbers = [], []
    for p, used in enumerate((form.row, form.column)):
        pays = np.zeros(form.treeplexes[p].num_sequences, dtype=np.bool_)
        pays[used] = True
        treeplex, number = _reduce(form.treeplexes[p], pays)
        treeplexes.append(treeplex)
        numbers.append(number)
    row, column = numbers[0][form.row], numbers[1][form.column]
    # Numbers keep the order of sequences, so the entries stay sorted.
    smaller = SequenceForm((treeplexes[0], treeplexes[1]), row, column, form.value)
    return ReducedForm(form, smaller, (numbers[0], numbers[1]))


def _reduce(treeplex: Treeplex, pays: BoolArray) -> tuple[Treeplex, IntArray]:
    """The treeplex without idle sequences, and the new number of each sequence."""
    pays = pays.copy()
    alive = np.zeros(treeplex.num_infosets, dtype=np.bool_)
    for level in reversed(treeplex.levels):
        some = np.logical_or.reduceat(pays[level.sequences], level.starts)
        alive[level.infosets] = some
        pays[level.parents[some]] = True
    owner = treeplex.sequence_infoset
    is_root = owner == NO_INFOSET
    inside = is_root | alive[owner]
    idle = inside & ~pays & ~is_root
    # The first idle sequence of an infoset stands for all of them.
    first_idle = np.full(treeplex.num_infosets, treeplex.num_sequences, dtype=np.int64)
    places = np.flatnonzero(idle)
    np.minimum.at(first_idle, owner[places], places)
    kept = inside & (~idle | (np.arange(len(owner)) == first_idle[owner]))
    number = np.full(treeplex.num_sequences, DROPPED, dtype=np.int32)
    number[kept] = np.arange(int(kept.sum()), dtype=np.int32)
    number[places] = number[first_idle[owner[places]]]
    chosen = np.flatnonzero(alive)
    owned = kept & ~is_root
    counts = np.bincount(owner[owned], minlength=treeplex.num_infosets)[chosen]
    # Kept sequences of an infoset are contiguous; the first of them starts it.
    least = np.full(treeplex.num_infosets, np.iinfo(np.int32).max, dtype=np.int64)
    np.minimum.at(least, owner[owned], number[owned])
    reduced = Treeplex(
        parent_sequence=number[treeplex.parent_sequence[chosen]].astype(np.int32),
        first_sequence=least[chosen].astype(np.int32),
        num_actions=counts.astype(np.int32),
        num_sequences=int(kept.sum()),
    )
    return reduced, number
