"""Kriegspiel for a search: arrays of packed positions, expanded by compiled code.

`Kriegspiel` is a `klss_spiel.search_game.SearchGame`. A position is a packed board, its
counts and the illegal tries since the last move (`kernels.tries`). What a player knows is a
64-bit key of the own tries and of what the umpire said (`kernels.announcements`). An
illegal try leads to the same board with the same side to move; the opponent learns nothing
of it unless tries are announced.

Its expansion sees every ending but draws by repetition; what a search needs to see them is
here and in `packed.told_game` (`klss_spiel.search_game.RepeatingGame`). A player sees the own
pieces. An illegal try leaves the position standing, which repeats nothing; when the board
comes again after moves, it has been repeated, whatever was tried in between.

Positions that come from a belief start their fifty-move count anew, and if tries count
towards the horizon, they count as many as the player has heard of: a player does not know
better.

Games that offer only possible tries (`tries=possible`) are searched through their states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.evaluators.resolver import default_evaluator
from klss_spiel.games.chess.kriegspiel_play import ILLEGAL, KriegspielSetup, Tries
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.believable_game import BeliefLimits
from klss_spiel.games.chess.packed.chess_belief import ChessBelief
from klss_spiel.games.chess.packed.collected_positions import distinct
from klss_spiel.games.chess.packed.counted_positions import boards_of, counts_of, with_counts
from klss_spiel.games.chess.packed.guesses import going_on, scattered
from klss_spiel.games.chess.packed.kernels import tries as kernels
from klss_spiel.games.chess.packed.kernels.own_pieces import own_pieces, own_pieces_after
from klss_spiel.games.chess.packed.kriegspiel_foresight import foresight
from klss_spiel.games.chess.packed.kriegspiel_information_states import (
    HeardReading,
    KriegspielInformationStates,
)
from klss_spiel.games.chess.packed.kriegspiel_sets import (
    RULE_NUMBERS,
    KriegspielSet,
    rising_diagonals,
)
from klss_spiel.games.chess.packed.told_game import ToldGame
from klss_spiel.search_game import Children, LeafEvaluator, RootPositions
from klss_spiel.tree import TERMINAL

# Where nothing is seen every move of the opponent is possible: sets grow by a factor of
# 25 or so, and following a position costs as much.
DEFAULT_LIMIT: Final = 200_000
_SAMPLE: Final = 50_000
_WORD: Final = 64
_PROMOTIONS: Final = 12  # tries of a pawn before the last rank
_CASTLINGS: Final = 2

assert kernels.TERMINAL == TERMINAL


class Kriegspiel(ToldGame):
    """Kriegspiel from one starting position, as a search sees it."""

    def __init__(
        self,
        setup: KriegspielSetup,
        evaluator: LeafEvaluator | None = None,
        belief_limit: int = DEFAULT_LIMIT,
        sample_belief: bool = True,
    ) -> None:
        """Makes Kriegspiel searchable.

        Args:
            setup: the game; all tries must be offered.
            evaluator: White's utility at positions [n, 5]; `evaluators.DEFAULT` unless
                given.
            belief_limit: positions above which a belief becomes a sample.
            sample_belief: whether it may; else that is an error.
        """
        if setup.tries is not Tries.ALL:
            raise ValueError(
                f"expected a game that offers all tries, got tries={setup.tries.value}"
            )
        start = setup.start
        self.setup = setup
        self.board = packed.layout(start.width, start.height)
        self.name = f"python_kriegspiel(fen={boards.fen_of(start)},horizon={setup.horizon})"
        self.utility_scale = 1.0
        self.utility_offset = 0.0
        self.limits = BeliefLimits(belief_limit, min(belief_limit, _SAMPLE), sample_belief)
        self.told: KriegspielInformationStates = KriegspielInformationStates(setup)
        self._evaluator = evaluator or default_evaluator(setup)
        self._closed_words = -(-_most_tries(start) // _WORD)
        self._arguments = (
            self.board.masks,
            rising_diagonals(self.board),
            RULE_NUMBERS[setup.are_there_any],
            packed.action_numbers(self.board),
            start.side,
            setup.horizon,
            setup.count_tries,
            setup.announce_tries,
        )

    def warm_up(self) -> None:
        """Compiles or loads what only large beliefs and illegal tries use."""
        start = self.initial()
        children = self.expand(start.position, start.infoset_ids)
        distinct(boards_of(children.position), limit=1)
        held = self.first_held(self.setup.start.side)
        held.after_refusal(0)
        self.foresight(held, [])
        self.going_on(self.scattered(held, 1, 0))
        self._closed(boards_of(start.position), self.setup.start.side, (0,))
        own_pieces_after(own_pieces(start.position, self.sides(start.position), 0)[0], 0, 0)

    def refused(self, information_state: str) -> bool:
        """Whether the player's last try was illegal, so that it is the player's turn still."""
        return information_state.endswith(ILLEGAL)

    def initial(self) -> RootPositions:
        """The start of the game."""
        start = self.setup.start
        closed = np.zeros(self._closed_words, dtype=np.uint64)
        keys = [self.told.read(player, text).key for player, text in enumerate(("White", "Black"))]
        return RootPositions(
            position=_rows(packed.pack([start]), 0, start.halfmove_clock, closed),
            player=np.array([start.side], dtype=np.int8),
            infoset_ids=np.array(keys, dtype=np.uint64)[:, None],
        )

    def expand(self, positions: U64Array, infoset_ids: U64Array) -> Children:
        """All children of positions [n, 5 + k] at which players know [2, n]."""
        rows = np.ascontiguousarray(positions)
        count = kernels.count_tries(rows, self._arguments)
        action, player, known, utility, position, forcing = kernels.expand(
            rows, np.ascontiguousarray(infoset_ids), count, self._arguments
        )
        return Children(
            count=count,
            action=action,
            chance=np.ones(len(action)),
            player=player,
            infoset_ids=known,
            utility=utility,
            position=position,
            forcing=forcing,
        )

    def evaluate(self, positions: U64Array) -> npt.NDArray[np.float64]:
        """[n] White's expected utility; see `kernels.tries.as_if_passed`."""
        rows = np.ascontiguousarray(positions)
        return self._evaluator(kernels.as_if_passed(rows, self.setup.start.side))

    def views(self, player: int, positions: U64Array) -> U64Array:
        """[n] equal where the player has the same pieces and rights, and the same side moves.

        After an illegal try the pieces stand as they did after the own last move, but it is
        the own turn.
        """
        pieces = own_pieces(np.ascontiguousarray(positions), self.sides(positions), player)
        return self.position_keys(with_counts(pieces, counts_of(positions)[0]))

    def past_views(self, player: int, information_state: str) -> U64Array:
        """[k] the own pieces after own moves since something last changed for good."""
        reading = self.told.read(player, information_state)
        quiet = reading.since(reading.last_change().steps)
        moves = [heard for heard in quiet if heard.is_move and heard.move is not None]
        pieces = np.array([heard.pieces for heard in moves], dtype=np.uint64).reshape(-1, 4)
        return self.position_keys(with_counts(pieces, [heard.plies for heard in moves]))

    def belief(self, player: int) -> ChessBelief:
        """What the player holds possible before the game starts."""
        return ChessBelief(self, player)

    def read(self, player: int, information_state: str) -> HeardReading:
        """What the player has been told."""
        return self.told.read(player, information_state)

    def first_held(self, player: int) -> KriegspielSet:
        """The start of the game, as the player's belief holds it."""
        return KriegspielSet.of(self.setup, player)

    def follow(
        self, held: KriegspielSet, told: HeardReading, limit: int, salt: int
    ) -> KriegspielSet:
        """What a belief holds one step later."""
        if told.move is None:
            if not told.is_move:
                return held  # what is overheard tells of positions once the move is made
            heard = np.array([told.public, told.private, told.overheard], dtype=np.uint64)
            return held.after_opponent_move(heard, limit, salt)
        if told.is_move:
            return held.after_own_move(told.move, told.public)
        return held.after_refusal(told.move)

    def foresight(self, held: KriegspielSet, later: Sequence[HeardReading]) -> FloatArray:
        """[n] how far what is told later speaks for the positions; see there."""
        return foresight(held, later)

    def scattered(self, held: KriegspielSet, size: int, salt: int) -> KriegspielSet:
        """Positions like those held with the opponent's pieces elsewhere; see `guesses`."""
        return scattered(held, size, salt, sighted=False)

    def is_move(self, told: HeardReading) -> bool:
        """Whether somebody has moved at this step, and not only tried to."""
        return told.is_move

    def going_on(self, held: KriegspielSet) -> KriegspielSet:
        """Those at which the game is not over; see `guesses`."""
        return going_on(held, sighted=False)

    def rows(self, held: KriegspielSet, told: HeardReading | None) -> U64Array:
        """[n, 5 + k] what a belief holds as positions of the search."""
        if told is None:
            return _rows(held.positions, 0, 0, self._closed(held.positions, held.side, ()))
        closed = self._closed(held.positions, held.side, told.failed)
        tries_shift = int(kernels.TRIES_SHIFT) - int(kernels.CLOCK_SHIFT)
        return _rows(held.positions, told.plies, told.tries << tries_shift, closed)

    def _closed(self, words: U64Array, side: int, failed: tuple[int, ...]) -> U64Array:
        """[k] the bits of failed tries, given as words, at boards [n, 4].

        The own pieces, and so the own tries, are the same in all of them.
        """
        if not failed or not len(words):
            return np.zeros(self._closed_words, dtype=np.uint64)
        closed: U64Array = kernels.closed_words(
            words[0],
            side,
            np.array(failed, dtype=np.uint64),
            self._closed_words,
            self._arguments,
        )
        return closed


def _rows(words: U64Array, plies: int, clock: int, closed: U64Array) -> U64Array:
    """[n, 5 + k] rows of boards [n, 4] that agree in everything else."""
    counted = with_counts(words, plies, clock)
    return np.hstack([counted, np.broadcast_to(closed, (len(words), len(closed)))])


def _most_tries(start: rules.Position) -> int:
    """A bound on the tries that one side can ever have, pawns being able to become queens."""
    table = rules.geometry(start.width, start.height)
    queen = max(sum(map(len, rays)) for rays in table.rays)
    knight = max(map(len, table.knight))
    king = 8 + _CASTLINGS
    most = {rules.KING: king, rules.KNIGHT: knight, rules.PAWN: max(queen, knight, _PROMOTIONS)}
    return max(
        sum(
            most.get(rules.kind_of(code), queen)
            for code in start.squares
            if rules.is_own(code, colour)
        )
        for colour in (rules.WHITE, rules.BLACK)
    )
