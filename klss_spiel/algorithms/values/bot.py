"""A player by continual re-solving."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.tree_bot import TreeBot
from klss_spiel.algorithms.values.border import NO_SEQUENCE, Border
from klss_spiel.algorithms.values.resolving import (
    Gadget,
    MakeValues,
    Solved,
    solve_first,
    solve_next,
)
from klss_spiel.arrays import FloatArray
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import GameTree


class ResolvingBot(TreeBot):
    """Solves the trunk once, and below each border the public state at hand.

    It carries along its own range and the opponent's average values (`resolving`), and
    sees nothing but its own information states. Without a border the trunk is the whole
    game, and the bot plays CFR's average strategy. Mutable: what was solved is kept, so that
    a public state met again costs nothing.
    """

    def __init__(
        self,
        tree: GameTree,
        borders: Sequence[Border],
        player: int,
        make_values: MakeValues,
        iterations: int,
        rng: np.random.Generator,
        gadget: Gadget = Gadget.RESOLVE,
    ) -> None:
        """Makes a bot for one seat.

        Args:
          tree: the game.
          borders: of the tree, each below the one before.
          player: the bot's seat.
          make_values: makes the value function at a border: exact or learned.
          iterations: of CFR in each solve that ends at a border.
          rng: draws the moves.
          gadget: of the re-solved games.
        """
        super().__init__(tree, player, rng)
        if any(border.tree is not tree for border in borders):
            raise ValueError(f"expected borders of the tree of {tree.name}, got another tree's")
        self._borders = tuple(borders)
        self._iterations = iterations
        self._gadget = gadget
        self._values = [make_values(border) for border in borders]
        # What was solved, by the public states on the way.
        self._solved: dict[tuple[int, ...], Solved] = {}

    def behavior_at(self, infoset: int) -> FloatArray:
        """[actions] probabilities at one of the bot's decision infosets of the tree."""
        sequences = self._tree.infosets[self._player].sequences(infoset)
        solved = self._solve(self._way_to(sequences.start))
        return np.asarray(solved.behavior[sequences])

    def tabulate(self) -> FloatArray:
        """[S of the tree] what the bot plays at all of its decisions."""
        behavior = np.ones(self._tree.infosets[self._player].num_sequences)
        for infoset in self._tree.infosets[self._player].decisions:
            sequences = self._tree.infosets[self._player].sequences(int(infoset))
            behavior[sequences] = self.behavior_at(int(infoset))
        return behavior

    def _way_to(self, sequence: int) -> tuple[int, ...]:
        """The public states of the borders above a sequence of the bot."""
        states = []
        for border in self._borders:
            below = border.bottom_part.own_sequence[self._player][sequence]
            if below == NO_SEQUENCE:
                break
            root = border.bottom_root[self._player][below]
            states.append(int(border.infoset_public_state[self._player][root]))
        return tuple(states)

    def _solve(self, way: tuple[int, ...]) -> Solved:
        """The strategy below the last public state of the way, down to the next border."""
        if way in self._solved:
            return self._solved[way]
        solved: Solved
        if not self._borders:
            form = sequence_form_from_tree(self._tree)
            behavior = cfr.solve(form, self._iterations).average_behavior[self._player]
            solved = Solved(behavior, np.ones(len(behavior), dtype=np.bool_), None)
        elif not way:
            solved = solve_first(self._borders[0], self._player, self._values[0], self._iterations)
        else:
            carried = self._solve(way[:-1]).carried
            assert carried is not None
            deeper = None
            if len(way) < len(self._borders):
                deeper = (self._borders[len(way)], self._values[len(way)])
            solved = solve_next(carried, self._gadget, deeper, self._iterations, way[-1])
        self._solved[way] = solved
        return solved
