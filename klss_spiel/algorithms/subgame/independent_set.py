"""Infosets at which subgames can be solved independently and still safely.

If no opponent infoset meets two of the infosets at which 1-KLSS is performed, every
margin depends on one solve at most and none can fall below zero (ZS21, theorem 5).
The set must contain, with an infoset, all own infosets before it.

The set is built by hand, greedily: level by level of own decisions, in random order,
taking every infoset that is not in conflict with one already taken. It depends on
the game and the random numbers alone, never on how the game goes, as algorithm 14
demands, and is maximal, not maximum.

Deviation: where players do not notice how much time has passed, infosets are in
conflict also when an opponent infoset of one lies below one of the other, which
theorem 5's proof needs and its graph G' does not show.
"""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.subgame.regions import RegionIndex
from klss_spiel.arrays import IntArray
from klss_spiel.tree import EMPTY_SEQUENCE, NO_INFOSET


def independent_set(index: RegionIndex, infosets: IntArray, rng: np.random.Generator) -> IntArray:
    """A maximal independent subset of G' closed under ancestors, in ascending order.

    Args:
      index: the game and the player.
      infosets: the decision infosets to choose from. One that follows an own decision
        outside of them is never taken: in between the blueprint is played anyway, but
        safety needs the whole way.
      rng: the order in which infosets of one level are tried.
    """
    table = index.tree.infosets[index.player]
    allowed = set(infosets.tolist())
    level_of: dict[int, int] = {}
    for infoset in table.decisions.tolist():
        above = _before(index, infoset)
        level_of[infoset] = 0 if above == NO_INFOSET else level_of[above] + 1
    shuffled = rng.permutation(infosets).tolist()
    shuffled.sort(key=level_of.__getitem__)  # Stable: random within a level.
    taken: set[int] = set()
    claims = _Claims(index)
    for infoset in shuffled:
        above = _before(index, infoset)
        if above != NO_INFOSET and (above not in allowed or above not in taken):
            continue
        if claims.conflict(infoset):
            continue
        claims.add(infoset)
        taken.add(infoset)
    return np.array(sorted(taken), dtype=np.int32)


class _Claims:
    """Which opponent infosets are touched by the infosets taken so far. Mutable."""

    def __init__(self, index: RegionIndex) -> None:
        self._index = index
        self._parent = index.tree.infosets[index.opponent].parent
        self._at: dict[int, list[int]] = {}
        self._below: dict[int, list[int]] = {}

    def conflict(self, infoset: int) -> bool:
        """Whether an infoset shares an opponent infoset with one it does not follow."""
        for met in self._met(infoset):
            if self._any_unrelated(self._below.get(met), infoset):
                return True
            while met != NO_INFOSET:
                if self._any_unrelated(self._at.get(met), infoset):
                    return True
                met = int(self._parent[met])
        return False

    def add(self, infoset: int) -> None:
        """Takes an infoset."""
        for met in self._met(infoset):
            self._at.setdefault(met, []).append(infoset)
            above = int(self._parent[met])
            while above != NO_INFOSET:
                self._below.setdefault(above, []).append(infoset)
                above = int(self._parent[above])

    def _met(self, infoset: int) -> list[int]:
        nodes = self._index.own.nodes_of(np.array([infoset]))
        met: list[int] = np.unique(self._index.tree.infoset[self._index.opponent, nodes]).tolist()
        return met

    def _any_unrelated(self, claimants: list[int] | None, infoset: int) -> bool:
        order = self._index.own
        place = order.position[infoset]
        return any(
            not order.position[c] <= place < order.end[c]
            and not place <= order.position[c] < order.end[infoset]
            for c in claimants or ()
        )


def _before(index: RegionIndex, infoset: int) -> int:
    """The player's decision infoset before this one; NO_INFOSET if it is the first."""
    table = index.tree.infosets[index.player]
    sequence = int(table.parent_sequence[infoset])
    return NO_INFOSET if sequence == EMPTY_SEQUENCE else int(table.sequence_infoset[sequence])
