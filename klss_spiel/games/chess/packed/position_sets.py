"""Sets of packed positions: what one player of dark chess holds possible.

A `PositionSet` is every position consistent with a player's own moves and observations,
32 bytes each. It is exact up to a limit, and says so: past the limit it keeps a uniform
sample of what it found and is no longer `complete`.

    belief = PositionSet.of(start, viewer=WHITE)
    belief = belief.after_own_move(move, observation)
    belief = belief.after_opponent_move(observation)

With a move prior positions are weighted by how likely the moves of the opponent are that
lead to them: the weight of a position is the sum over its predecessors of their weight
(raised to a power before, see `MovePrior.memory`) times the probability of the move. The
own moves tell nothing, as the player knows why he made them.

Observations are those after the move (`packed.positions.observations`, or of what the
game tells a player `packed.positions.observation_from_text`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess import rules
from klss_spiel.games.chess.packed.collected_positions import (
    DEFAULT_LIMIT,
    NO_WEIGHTS,
    Members,
    Sieve,
    collect,
    collect_rows,
    replaced,
)
from klss_spiel.games.chess.packed.collected_positions import distinct as distinct
from klss_spiel.games.chess.packed.kernels import beliefs as kernels
from klss_spiel.games.chess.packed.move_prior import MovePrior
from klss_spiel.games.chess.packed.positions import Layout, layout, pack, pack_move
from klss_spiel.games.chess.packed.transition import Transition

# What is seen later than so many plies ahead is not looked at, and how many moves a player has.
_FORESEEN_PLIES: Final = 40
_MOVES: Final = 30.0


@dataclasses.dataclass(frozen=True, eq=False)
class PositionSet:
    """Positions that one player holds possible.

    Attributes:
        transition: the rules by which positions follow each other.
        viewer: colour of the player.
        side: to move in all of them.
        positions: [n, 4] different packed positions.
        complete: whether these are all. If not, they are a sample, and the true position
            may be missing.
        fraction: estimate of the part of all consistent positions that are here; 1 if complete.
        weights: [n] how likely each position is, in any unit; None if all alike. Without a
            prior they are for samples only: an estimate of how many fitting histories end in
            each position.
        prior: of the opponent's moves, or None.
    """

    transition: Transition
    viewer: int
    side: int
    positions: U64Array
    complete: bool = True
    fraction: float = 1.0
    weights: FloatArray | None = None
    prior: MovePrior | None = None

    @classmethod
    def of(
        cls,
        position: rules.Position,
        viewer: int,
        transition: Transition | None = None,
        prior: MovePrior | None = None,
    ) -> PositionSet:
        """The set of one position that the player knows, such as the start of a game.

        The rules are those of the paper unless a transition is given.
        """
        board = layout(position.width, position.height)
        step = transition or Transition(board)
        weights = None if prior is None else np.ones(1)
        return cls(step, viewer, position.side, pack([position]), weights=weights, prior=prior)

    @property
    def probabilities(self) -> FloatArray:
        """[n] how likely the positions are; sums to 1."""
        n = len(self.positions)
        if self.weights is None:
            return np.full(n, 1.0 / max(n, 1))
        shares: FloatArray = self.weights / self.weights.sum()
        return shares

    @property
    def board(self) -> Layout:
        """Which board."""
        return self.transition.board

    def __len__(self) -> int:
        return len(self.positions)

    def __contains__(self, position: rules.Position) -> bool:
        (word,) = pack([position])
        return bool((self.positions == word).all(axis=1).any())

    def after_own_move(self, move: rules.Move, observation: U64Array) -> PositionSet:
        """The set after the player's own move and what he sees then ([5]).

        Positions in which the opponent could not move, so that the game would be over,
        stay until the next step, which they do not survive.
        """
        if self.side != self.viewer:
            raise ValueError(f"expected the turn of side {self.viewer}, it is that of {self.side}")
        demands = self._demands(observation, 1 - self.side)
        word = pack_move(self.board, move)
        moved, origin = kernels.move_and_filter(self.positions, self.viewer, word, demands)
        weights = None if self.weights is None else self.weights[origin]
        # A captured rook may or may not have been allowed to castle: two become one.
        found = collect_rows(moved, weights, max(len(moved), 1))
        return replaced(self, found, side=1 - self.side)

    def after_opponent_move(
        self, observation: U64Array, limit: int = DEFAULT_LIMIT, salt: int = 0
    ) -> PositionSet:
        """The set after an unknown move of the opponent and what the player sees then ([5]).

        Args:
            observation: the player's view after the move.
            limit: size above which the set becomes an incomplete sample.
            salt: which sample.
        """
        if self.side == self.viewer:
            raise ValueError(f"expected the turn of side {1 - self.viewer}, got {self.side}")
        if limit < 1:
            raise ValueError(f"expected a limit of 1 or more positions, got {limit}")
        demands = self._demands(observation, 1 - self.side)
        before = np.ascontiguousarray(self.positions)
        game = (self.board.masks, self.transition.variant.queen_only)

        given = NO_WEIGHTS if self.weights is None else np.ascontiguousarray(self.weights)
        prior = None
        if self.prior is not None:
            prior = (self.prior.factors, self.prior.uniform)
            given = given**self.prior.memory

        def step(start: int, members: Members, count: int, sieve: Sieve) -> tuple[int, int]:
            reached, filled = kernels.insert_successors(
                before, given, start, self.viewer, game, demands, members, count, sieve, prior
            )
            return int(reached), int(filled)

        weighted = self.weights is not None
        found = collect(step, len(before), 2 * len(before), limit, weighted, salt)
        return replaced(self, found, side=1 - self.side)

    def foresight(self, later: Sequence[U64Array]) -> FloatArray:
        """[n] how far later observations ([5] each) speak for the positions, as logarithms.

        Each has a ply to itself. A guess at the logarithm of how likely the opponent's moves
        lead there: a piece that has to be somewhere else gets there by one of some thirty
        moves, at any of the opponent's turns until then, and changes two cells.
        """
        foresight: FloatArray = np.zeros(len(self))
        if len(later):
            seen = later[:_FORESEEN_PLIES]
            sides = [self.side ^ (ply % 2) for ply in range(1, len(seen) + 1)]
            demands = np.stack([self._demands(*pair) for pair in zip(seen, sides, strict=True)])
            # The opponent's turns up to each of them: none before the view after an own move.
            turns = np.cumsum([side == self.viewer for side in sides])
            costs = np.log(np.maximum(_MOVES / np.maximum(turns, 0.1), 1.0)) / 2.0
            foresight -= kernels.surprises(
                np.ascontiguousarray(self.positions), self.viewer, demands, costs
            )
        return foresight

    def _demands(self, observation: U64Array, to_move: int) -> U64Array:
        """The filter of an observation [5] that is made with a side to move."""
        if observation.shape != (5,) or observation.dtype != np.uint64:
            raise ValueError(
                "expected an observation [5] of uint64, "
                f"got {list(observation.shape)} of {observation.dtype}"
            )
        demands: U64Array = kernels.make_filter(observation, to_move, self.viewer, self.board.masks)
        return demands
