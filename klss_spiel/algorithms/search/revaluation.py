"""Leaf values that depend on how the players come to the leaves.

An evaluator gives a leaf one value for good. In games of imperfect information what a
leaf is worth depends on both players' ranges, and those change while the tree is solved.
Games that offer `LeafValues` are therefore asked again before every iteration of CFR (and
before every exact equilibrium), with the ranges of the current strategies; after a growth
step they are first told what the leaves are now. Between these moments values stay as they
are: children that were just made have their evaluator's until the next iteration.

Such trees grow by whole public states (as in Student of Games; Schmid et al. 2023): with a
leaf all leaves are expanded that are connected with it through infosets of either player.
Were histories of an infoset expanded one by one, its strategy would be made for some of them
and the others' values for a player who may do something else there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.search.tree import UNEXPANDED, SearchTree
from klss_spiel.arrays import IntArray, connected_labels
from klss_spiel.search_game import LeafValues, Leaves, RangeValuedGame, SearchGame
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

    @staticmethod
    def whole_public_states(tree: SearchTree, chosen: IntArray) -> npt.NDArray[np.int32]:
        """The chosen leaves and all others of their public states."""
        nodes, count = tree.nodes, tree.num_nodes
        open_leaf = nodes.first_child[:count] == UNEXPANDED
        open_leaf &= nodes.player[:count] != TERMINAL
        open_leaf[chosen] = True
        leaves = np.flatnonzero(open_leaf)
        # A leaf connects its infosets of both players.
        state = connected_labels(nodes.infoset_ids[leaves, 0], nodes.infoset_ids[leaves, 1])
        wanted = np.isin(state, state[np.isin(leaves, chosen)])
        return leaves[wanted].astype(np.int32)

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
        reach = np.stack([tree.sequences[p].plan[nodes.sequence[self._leaves, p]] for p in PLAYERS])
        values = np.asarray(self._values.values(reach), dtype=np.float64)
        if values.shape != (len(self._leaves),):
            raise ValueError(
                f"expected values of {len(self._leaves)} leaves, got shape {values.shape}"
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(f"expected numbers as leaf values, got {values[~np.isfinite(values)]}")
        nodes.value[self._leaves] = values
