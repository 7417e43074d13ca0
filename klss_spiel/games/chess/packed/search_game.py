"""Dark chess for a search: arrays of packed positions, expanded by compiled code.

`DarkChess` is a `klss_spiel.search_game.SearchGame`. A position is five words: the packed
board of `packed.positions`, and the plies played, with the count towards the fifty-move
rule in the upper half. What a player knows is a 64-bit key of the own moves and
observations so far.

The search sees every ending but draws by repetition. Positions that come from a belief
start their fifty-move count anew: a player does not know it.

Information states are read by `packed.information_states`.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.evaluators import handmade_kernels as feature_kernels
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.information_states import InformationStates
from klss_spiel.games.chess.packed.kernels import batches as kernels
from klss_spiel.games.chess.packed.kernels import knowledge as search_kernels
from klss_spiel.games.chess.packed.kernels import observations as observation_kernels
from klss_spiel.games.chess.packed.kernels import trees as tree_kernels
from klss_spiel.games.chess.packed.position_sets import DEFAULT_LIMIT, PositionSet
from klss_spiel.games.chess.play import NO_HORIZON
from klss_spiel.search_game import Children, LeafEvaluator, RootPositions, SearchGame
from klss_spiel.tree import TERMINAL

_WORDS: Final = 4
_CLOCK_SHIFT: Final = np.uint64(32)
_PLIES: Final = np.uint64(0xFFFFFFFF)


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
            evaluator: White's utility at positions [n, 5]; the hand-made evaluation of
                `packed.positions` unless given.
            belief_limit: positions above which a belief becomes a sample.
        """
        if not setup.variant.observe_every_ply:
            raise ValueError("expected rules by which players look at the board after every ply")
        self.setup = setup
        self.board = packed.layout(setup.start.width, setup.start.height)
        self.name = f"python_dark_chess(fen={boards.fen_of(setup.start)},horizon={setup.horizon})"
        self.utility_scale = 1.0
        self.utility_offset = 0.0
        self.belief_limit = belief_limit
        self._evaluator = evaluator
        self._actions = packed.action_numbers(self.board)
        words = packed.pack([setup.start])
        self._start = self.with_counts(words, 0, setup.start.halfmove_clock)
        self.told = InformationStates(setup)
        self._start_keys = packed.observation_keys(self.board, words, setup.start.side)[0]

    def with_counts(self, words: U64Array, plies: int, clock: int = 0) -> U64Array:
        """[n, 5] positions of packed boards ([n, 4])."""
        positions = np.empty((len(words), _WORDS + 1), dtype=np.uint64)
        positions[:, :_WORDS] = words
        positions[:, _WORDS] = np.uint64(plies) | np.uint64(clock) << _CLOCK_SHIFT
        return positions

    def sides(self, positions: U64Array) -> npt.NDArray[np.uint8]:
        """[n] who is to move."""
        plies = positions[:, _WORDS].astype(np.uint8)  # their last bit is enough
        return plies + np.uint8(self.setup.start.side) & np.uint8(1)

    def initial(self) -> RootPositions:
        """The start of the game."""
        return RootPositions(
            position=self._start.copy(),
            player=np.array([self.setup.start.side], dtype=np.int8),
            knowledge=self._start_keys[:, None].copy(),
        )

    def expand(self, positions: U64Array, knowledge: U64Array) -> Children:
        """All children of positions [n, 5] at which players know [2, n]."""
        setup, masks = self.setup, self.board.masks
        movers = self.sides(positions)
        words = np.ascontiguousarray(positions[:, :_WORDS])
        starts, moves = kernels.generate_all(words, movers, masks, False)
        if setup.variant.queen_only:
            starts, moves = _queens_only(starts, moves)
        actions = tree_kernels.sort_moves(starts, moves, self._actions)
        children = kernels.apply_all(words, movers, starts, moves)
        count = np.diff(starts)
        sides = np.repeat(1 - movers, count)
        observed, can_move = observation_kernels.keys_and_mobility(children, sides, masks)
        terminal, utility = tree_kernels.judge(
            children, sides, can_move, setup.variant.no_move_loses
        )
        counts = np.repeat(positions[:, _WORDS], count)
        plies = (counts & _PLIES) + np.uint64(1)
        irreversible = tree_kernels.is_irreversible(words, starts, moves)
        clock = np.where(irreversible, np.uint64(0), (counts >> _CLOCK_SHIFT) + np.uint64(1))
        over = terminal | (clock >= rules.FIFTY_MOVES)
        if setup.horizon != NO_HORIZON:
            over |= plies >= setup.horizon
        ending = np.where(over, 2 + utility.astype(np.int8), 0).astype(np.uint8)
        position = np.empty((len(children), _WORDS + 1), dtype=np.uint64)
        position[:, :_WORDS] = children
        position[:, _WORDS] = plies | clock << _CLOCK_SHIFT
        return Children(
            count=count.astype(np.int32),
            action=actions,
            chance=np.ones(len(children)),
            player=np.where(over, TERMINAL, sides).astype(np.int8),
            knowledge=search_kernels.extend_knowledge(
                np.ascontiguousarray(knowledge), starts, movers, moves, observed, ending
            ),
            utility=utility.astype(np.float64),
            position=position,
            forcing=search_kernels.is_forcing(words, starts, moves, children, sides),
        )

    def evaluate(self, positions: U64Array) -> npt.NDArray[np.float64]:
        """[n] White's expected utility."""
        if self._evaluator is not None:
            return self._evaluator(positions)
        words = np.ascontiguousarray(positions[:, :_WORDS])
        values = feature_kernels.evaluate_all(
            words, self.sides(positions), self.board.masks, feature_kernels.WEIGHTS
        )
        return np.asarray(values, dtype=np.float64)

    def infosets(self, player: int, information_state: str) -> U64Array:
        """[1] key of an information state."""
        return np.array([self.told.read(player, information_state).key], dtype=np.uint64)

    def informed(self, player: int, own: int, positions: U64Array) -> U64Array:
        """[2, n] knowledge where `player` knows `own` and the opponent the position."""
        knowledge = np.empty((2, len(positions)), dtype=np.uint64)
        knowledge[player] = np.uint64(own)
        knowledge[1 - player] = search_kernels.position_keys(positions)
        return knowledge

    def keys(self, positions: U64Array) -> Sequence[Hashable]:
        """[n] boards that can be compared."""
        return [row.tobytes() for row in np.ascontiguousarray(positions[:, :_WORDS])]

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
        self._set = PositionSet.of(game.setup.start, player)
        self._plies = 0

    @property
    def complete(self) -> bool:
        """Whether no consistent position is missing."""
        return self._set.complete

    @property
    def positions(self) -> U64Array:
        """[n, 5] the positions."""
        return self._game.with_counts(self._set.positions, self._plies)

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


def _queens_only(
    starts: npt.NDArray[np.int64], moves: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """The moves without those that promote to something else."""
    promotion = moves >> 12 & 7
    kept = (promotion == rules.NO_PROMOTION) | (promotion == rules.QUEEN)
    sums = np.concatenate([[0], np.cumsum(kept)])
    return sums[starts].astype(starts.dtype), moves[kept]


def make(setup: DarkChessSetup, evaluator: LeafEvaluator | None = None) -> SearchGame | None:
    """The game for a search; None where only its states can be searched."""
    return DarkChess(setup, evaluator) if setup.variant.observe_every_ply else None
