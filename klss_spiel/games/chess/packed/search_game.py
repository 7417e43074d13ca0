"""Dark chess for a search: arrays of packed positions, expanded by compiled code.

`DarkChess` is a `klss_spiel.search_game.SearchGame`. A position is five words
(`packed.counted_positions`). What a player knows is a 64-bit key of the own moves and
observations so far.

Its expansion sees every ending but draws by repetition; what a search needs to see them is
here and in `packed.told_game` (`klss_spiel.search_game.RepeatingGame`). Positions that come
from a belief start their fifty-move count anew: a player does not know it, only the most it
can be.

Information states are read by `packed.information_states`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess import boards
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.evaluators.resolver import default_evaluator
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.believable_game import BeliefLimits
from klss_spiel.games.chess.packed.chess_belief import ChessBelief
from klss_spiel.games.chess.packed.collected_positions import DEFAULT_LIMIT, distinct
from klss_spiel.games.chess.packed.counted_positions import boards_of, counts_of, with_counts
from klss_spiel.games.chess.packed.guesses import going_on, scattered
from klss_spiel.games.chess.packed.information_states import InformationStates, Reading
from klss_spiel.games.chess.packed.kernels.knowledge import is_forcing, view_key
from klss_spiel.games.chess.packed.move_prior import shipped_prior
from klss_spiel.games.chess.packed.position_sets import PositionSet
from klss_spiel.games.chess.packed.told_game import ToldGame
from klss_spiel.games.chess.packed.transition import Transition
from klss_spiel.search_game import Children, LeafEvaluator, RootPositions
from klss_spiel.tree import TERMINAL

_PRIOR_BOARD: Final = (8, 8)
# Positions of a sampled belief: what can be followed in a fraction of a second.
_SAMPLE: Final = 1 << 18


class DarkChess(ToldGame):
    """Dark chess from one starting position, as a search sees it."""

    def __init__(
        self,
        setup: DarkChessSetup,
        evaluator: LeafEvaluator | None = None,
        belief_limit: int = DEFAULT_LIMIT,
        sample_belief: bool = True,
    ) -> None:
        """Makes dark chess searchable.

        Args:
            setup: the game; both players must look at the board after every ply.
            evaluator: White's utility at positions [n, 5]; `evaluators.DEFAULT` unless
                given.
            belief_limit: positions above which a belief becomes a sample.
            sample_belief: whether it may; else that is an error.
        """
        if not setup.variant.observe_every_ply:
            raise ValueError("expected rules by which players look at the board after every ply")
        self.setup = setup
        self.transition = Transition.of(setup)
        self.board = self.transition.board
        self.name = f"python_dark_chess(fen={boards.fen_of(setup.start)},horizon={setup.horizon})"
        self.utility_scale = 1.0
        self.utility_offset = 0.0
        self.limits = BeliefLimits(belief_limit, min(belief_limit, _SAMPLE), sample_belief)
        self._evaluator = evaluator or default_evaluator(setup)
        words = packed.pack([setup.start])
        self._start = with_counts(words, 0, setup.start.halfmove_clock)
        self.told: InformationStates = InformationStates(setup)
        self._start_keys = packed.observation_keys(self.board, words, setup.start.side)[0]

    def warm_up(self) -> None:
        """Compiles or loads what only large beliefs use."""
        words = boards_of(self.expand(self._start, self._start_keys[:, None]).position)
        distinct(words, limit=1)
        held = self.first_held(0)
        held.foresight([self.told.read(0, "White").observation])
        self.going_on(self.scattered(held, 1, 0))

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

    def views(self, player: int, positions: U64Array) -> U64Array:
        """[n] equal where the player sees the same."""
        sides = self.sides(positions)
        keys: U64Array = packed.observation_keys(self.board, boards_of(positions), sides)
        return keys[:, player]

    def past_views(self, player: int, information_state: str) -> U64Array:
        """[k] what the player saw after own moves since something last changed for good."""
        reading = self.told.read(player, information_state)
        quiet = reading.since(reading.last_change().steps)
        keys = [view_key(seen.observation) for seen in quiet if seen.move is not None]
        return np.array(keys, dtype=np.uint64)

    def belief(self, player: int) -> ChessBelief:
        """What the player holds possible before the game starts."""
        return ChessBelief(self, player)

    def weighted_belief(self, player: int) -> ChessBelief:
        """The same, with weights by a prior of moves, which there is for 8x8 only."""
        if (self.board.width, self.board.height) != _PRIOR_BOARD:
            return self.belief(player)
        start, prior = self.setup.start, shipped_prior()
        return ChessBelief(self, player, PositionSet.of(start, player, self.transition, prior))

    def read(self, player: int, information_state: str) -> Reading:
        """What the player has been told."""
        return self.told.read(player, information_state)

    def first_held(self, player: int) -> PositionSet:
        """The start of the game, as the player's belief holds it."""
        return PositionSet.of(self.setup.start, player, self.transition)

    def follow(self, held: PositionSet, told: Reading, limit: int, salt: int) -> PositionSet:
        """What a belief holds one ply later."""
        if told.move is None:
            return held.after_opponent_move(told.observation, limit, salt)
        return held.after_own_move(told.move, told.observation)

    def foresight(self, held: PositionSet, later: Sequence[Reading]) -> FloatArray:
        """[n] how far what is told later speaks for positions, as logarithms."""
        return held.foresight([told.observation for told in later])

    def scattered(self, held: PositionSet, size: int, salt: int) -> PositionSet:
        """Positions like those held with the opponent's pieces elsewhere; see `guesses`."""
        return scattered(held, size, salt, sighted=True)

    def is_move(self, told: Reading) -> bool:
        """Whether somebody has moved at this step: always."""
        del told
        return True

    def going_on(self, held: PositionSet) -> PositionSet:
        """Those at which the game is not over; see `guesses`."""
        return going_on(held, sighted=True)

    def rows(self, held: PositionSet, told: Reading | None) -> U64Array:
        """[n, 5] what a belief holds as positions of the search."""
        return with_counts(held.positions, 0 if told is None else told.plies)
