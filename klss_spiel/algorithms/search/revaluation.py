"""Leaf values that depend on how the players come to the leaves.

An evaluator gives a leaf one value for good. In games of imperfect information what a
leaf is worth depends on both players' ranges, and those change while the tree is solved.
Games that offer `LeafValues` are therefore asked again before every iteration of CFR (and
before every exact equilibrium), with the ranges of the current strategies; after a growth
step they are first told what the leaves are now. Between these moments values stay as they
are: children that were just made have their evaluator's until the next iteration.
"""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.search.tree import SearchTree
from klss_spiel.arrays import IntArray
from klss_spiel.search_game import Leaves, LeafValues, RangeValuedGame, SearchGame
from klss_spiel.tree import PLAYERS, TERMINAL


class Revaluation:
    """Keeps the leaf values of a search's tree up to date. Mutable."""

    def __init__(self, values: LeafValues) -> None:
        self._values = values
        self._families = -1
        self._leaves: IntArray = np.zeros(0, dtype=np.int64)

    @classmethod
    def of(cls, game: SearchGame, player: int) -> Revaluation | None:
        """That of a game for a player's search; None where values are the evaluator's."""
        return cls(game.leaf_values(player)) if isinstance(game, RangeValuedGame) else None

    def apply(self, tree: SearchTree) -> None:
        """Writes the values for the current strategies into the tree.

        Raises:
          ValueError: values of another shape, or that are not numbers.
        """
        nodes, count = tree.nodes, tree.num_nodes
        if tree.num_families != self._families:
            self._families = tree.num_families
            unfinished = (nodes.first_child[:count] < 0) & (nodes.player[:count] != TERMINAL)
            self._leaves = np.flatnonzero(unfinished)
            if len(self._leaves):
                self._values.start(
                    Leaves(
                        position=tree.positions[self._leaves],
                        infoset_ids=nodes.infoset_ids[self._leaves].T,
                        weight=nodes.weight[self._leaves],
                    )
                )
        if not len(self._leaves):
            return
        reach = np.stack(
            [tree.sequences[p].plan[nodes.sequence[self._leaves, p]] for p in PLAYERS]
        )
        values = np.asarray(self._values.values(reach), dtype=np.float64)
        if values.shape != (len(self._leaves),):
            raise ValueError(
                f"expected values of {len(self._leaves)} leaves, got shape {values.shape}"
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"expected numbers as leaf values, got {values[~np.isfinite(values)]}"
            )
        nodes.value[self._leaves] = values
