"""The one step of dark chess on packed positions.

Generate the moves, leave out those that the variant does not know, sort by action
number, apply, count plies and clock, observe, judge: trees (`packed.tree`), search
(`packed.search_game`) and the states of `python_dark_chess` all step by this, and
beliefs (`packed.position_sets`) restrict it to the moves that fit what was seen.

    step = Transition.of(setup)
    children = step.successors(positions, movers, plies, clock)

Shapes: n positions [n, 4], m successors of all of them together, those of one position
contiguous. Draws by repetition need the history and are the caller's business.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, U64Array
from klss_spiel.games.chess import rules
from klss_spiel.games.chess.dark_chess_play import RULES, DarkChessRules, DarkChessSetup
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.kernels import batches, knowledge, observations, trees
from klss_spiel.games.chess.play import NO_HORIZON

Counts = npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Moves:
    """Moves of n positions, m of them.

    Attributes:
        starts: [n + 1] the moves of position i are at starts[i]:starts[i + 1].
        words: [m] moves with the bits that kernels need; the low 15 are the public ones.
        actions: [m] action numbers, ascending within a position.
    """

    starts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint32]
    actions: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.words)


@dataclasses.dataclass(frozen=True, eq=False)
class Successors:
    """What n positions lead to, m of them.

    Attributes:
        moves: the moves that lead there.
        positions: [m, 4] the successors.
        sides: [m] who is to move there.
        keys: [m, 2] keys of what White and Black see there.
        plies: [m] plies played.
        clock: [m] plies since the last capture or pawn move.
        over: [m] whether the game is over there: king captured, no move, fifty moves
            or horizon.
        utility: [m] White's utility where it is over, 0 elsewhere.
    """

    moves: Moves
    positions: U64Array
    sides: npt.NDArray[np.uint8]
    keys: U64Array
    plies: Counts
    clock: Counts
    over: BoolArray
    utility: npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True, eq=False)
class Transition:
    """The rules by which packed positions follow each other.

    Attributes:
        board: which board.
        variant: what the sources of the game disagree about.
        horizon: plies after which the game is drawn, or NO_HORIZON.
    """

    board: positions.Layout
    variant: DarkChessRules = RULES["paper"]
    horizon: int = NO_HORIZON

    @classmethod
    def of(cls, setup: DarkChessSetup) -> Transition:
        """The transition of a game."""
        board = positions.layout(setup.start.width, setup.start.height)
        return cls(board, setup.variant, setup.horizon)

    def moves(self, words: U64Array, side: positions.Sides) -> Moves:
        """All moves of positions [n, 4]; `side` is to move, one for all or [n]."""
        words, movers = positions.checked(words), positions.side_array(side, len(words))
        starts, moves = batches.generate_all(
            words, movers, self.board.masks, False, self.variant.queen_only
        )
        actions = trees.sort_moves(starts, moves, positions.action_numbers(self.board))
        return Moves(starts, moves, actions)

    def successors(
        self,
        words: U64Array,
        side: positions.Sides,
        plies: npt.ArrayLike = 0,
        clock: npt.ArrayLike = 0,
        moves: Moves | None = None,
    ) -> Successors:
        """Everything about the positions one move later.

        Args:
            words: [n, 4] packed positions at which the game goes on.
            side: to move, one for all or [n].
            plies: played before, one number for all or [n].
            clock: plies since the last capture or pawn move, likewise.
            moves: what `moves` gives for them, if that is known already.
        """
        words, movers = positions.checked(words), positions.side_array(side, len(words))
        moves = self.moves(words, movers) if moves is None else moves
        children = batches.apply_all(words, movers, moves.starts, moves.words)
        count = np.diff(moves.starts)
        sides = np.repeat(1 - movers, count)
        keys, can_move = observations.keys_and_mobility(children, sides, self.board.masks)
        over, utility = trees.judge(children, sides, can_move, self.variant.no_move_loses)
        played = np.repeat(_counts(plies, len(words)) + np.int32(1), count)
        quiet = np.repeat(_counts(clock, len(words)) + np.int32(1), count)
        quiet[trees.is_irreversible(words, moves.starts, moves.words)] = 0
        over |= quiet >= rules.FIFTY_MOVES
        if self.horizon != NO_HORIZON:
            over |= played >= self.horizon
        return Successors(moves, children, sides, keys, played, quiet, over, utility)

    def infoset_ids(
        self, keys: U64Array, side: positions.Sides, after: Successors, over: BoolArray
    ) -> U64Array:
        """[2, m] what both players know at successors.

        Args:
            keys: [2, n] what they know at the positions before.
            side: who moved there, one for all or [n].
            after: the successors.
            over: [m] where the game is over; both are told so.
        """
        ending = np.where(over, 2 + after.utility.astype(np.int8), 0).astype(np.uint8)
        known: U64Array = knowledge.extend_knowledge(
            np.ascontiguousarray(keys),
            (after.moves.starts, after.moves.words),
            positions.side_array(side, len(after.moves.starts) - 1),
            after.keys,
            ending,
            self.variant.observe_every_ply,
        )
        return known


def _counts(values: npt.ArrayLike, n: int) -> Counts:
    return np.broadcast_to(np.asarray(values, dtype=np.int32), (n,))
