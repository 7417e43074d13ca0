"""Dark chess for a search: arrays of packed positions, expanded by compiled code.

`DarkChess` is a `klss_spiel.search_game.SearchGame`. A position is five words
(`packed.counted_positions`). What a player knows is a 64-bit key of the own moves and
observations so far.

The search sees every ending but draws by repetition. Positions that come from a belief
start their fifty-move count anew: a player does not know it.

Information states are read by `packed.information_states`.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import boards
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.evaluators.resolver import default_evaluator
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.counted_positions import (
    boards_of,
    counts_of,
    sides_of,
    with_counts,
)
from klss_spiel.games.chess.packed.information_states import InformationStates
from klss_spiel.games.chess.packed.kernels.knowledge import is_forcing, position_keys
from klss_spiel.games.chess.packed.position_sets import DEFAULT_LIMIT, PositionSet
from klss_spiel.games.chess.packed.transition import Transition
from klss_spiel.search_game import Children, LeafEvaluator, RootPositions
from klss_spiel.tree import TERMINAL


class DarkChess:
    """Dark chess from one starting position, as a search sees it."""

    def __init__(
        self,
        setup: DarkChessSetup,
        evaluator: LeafEvaluator | None = None,
        belief_limit: int = DEFAULT_LIMIT,
    ) -> None:
        """Makes dark chess searchable.

        Args:
            setup: the game; both players must look at the board after every ply.
            evaluator: White's utility at positions [n, 5]; `evaluators.DEFAULT` unless
                given.
            belief_limit: positions above which a belief becomes a sample.
        """
        if not setup.variant.observe_every_ply:
            raise ValueError("expected rules by which players look at the board after every ply")
        self.setup = setup
        self.transition = Transition.of(setup)
        self.board = self.transition.board
        self.name = f"python_dark_chess(fen={boards.fen_of(setup.start)},horizon={setup.horizon})"
        self.utility_scale = 1.0
        self.utility_offset = 0.0
        self.belief_limit = belief_limit
        self._evaluator = evaluator or default_evaluator(setup)
        words = packed.pack([setup.start])
        self._start = with_counts(words, 0, setup.start.halfmove_clock)
        self.told = InformationStates(setup)
        self._start_keys = packed.observation_keys(self.board, words, setup.start.side)[0]

    def sides(self, positions: U64Array) -> npt.NDArray[np.uint8]:
        """[n] who is to move."""
        return sides_of(positions, self.setup.start.side)

    def initial(self) -> RootPositions:
        """The start of the game."""
        return RootPositions(
            position=self._start.copy(),
            player=np.array([self.setup.start.side], dtype=np.int8),
            infoset_ids=self._start_keys[:, None].copy(),
        )

    def expand(self, positions: U64Array, infoset_ids: U64Array) -> Children:
        """All children of positions [n, 5] at which players know [2, n]."""
        movers = self.sides(positions)
        words = boards_of(positions)
        after = self.transition.successors(words, movers, *counts_of(positions))
        starts, moves = after.moves.starts, after.moves.words
        return Children(
            count=np.diff(starts).astype(np.int32),
            action=after.moves.actions,
            chance=np.ones(len(moves)),
            player=np.where(after.over, TERMINAL, after.sides).astype(np.int8),
            infoset_ids=self.transition.infoset_ids(infoset_ids, movers, after, after.over),
            utility=after.utility.astype(np.float64),
            position=with_counts(after.positions, after.plies, after.clock),
            forcing=is_forcing(words, starts, moves, after.positions, after.sides),
        )

    def evaluate(self, positions: U64Array) -> npt.NDArray[np.float64]:
        """[n] White's expected utility."""
        return self._evaluator(positions)

    def infosets(self, player: int, information_state: str) -> U64Array:
        """[1] key of an information state."""
        return np.array([self.told.read(player, information_state).key], dtype=np.uint64)

    def informed(self, player: int, own: int, positions: U64Array) -> U64Array:
        """[2, n] identifiers where `player` knows `own` and the opponent the position."""
        infoset_ids = np.empty((2, len(positions)), dtype=np.uint64)
        infoset_ids[player] = np.uint64(own)
        infoset_ids[1 - player] = position_keys(positions)
        return infoset_ids

    def keys(self, positions: U64Array) -> Sequence[Hashable]:
        """[n] boards that can be compared."""
        return [row.tobytes() for row in boards_of(positions)]

    def belief(self, player: int) -> ChessBelief:
        """What the player holds possible before the game starts."""
        return ChessBelief(self, player)


class ChessBelief:
    """Positions that fit a player's information state. Mutable.

    Attributes:
        complete: whether none is missing.
        positions: [n, 5].
    """

    def __init__(self, game: DarkChess, player: int) -> None:
        self._game = game
        self._player = player
        self._set = PositionSet.of(game.setup.start, player, game.transition)
        self._plies = 0

    @property
    def complete(self) -> bool:
        """Whether no consistent position is missing."""
        return self._set.complete

    @property
    def positions(self) -> U64Array:
        """[n, 5] the positions."""
        return with_counts(self._set.positions, self._plies)

    def advance(self, action: int | None, information_state: str) -> None:
        """Moves on to what the player is told now; the own action is in it."""
        del action
        reading = self._game.told.read(self._player, information_state)
        for ply in reading.since(self._plies):
            if ply.move is None:
                self._set = self._set.after_opponent_move(ply.observation, self._game.belief_limit)
            else:
                self._set = self._set.after_own_move(ply.move, ply.observation)
            self._plies = ply.plies

    def copy(self) -> ChessBelief:
        """A belief that can be advanced on its own."""
        return copy.copy(self)
