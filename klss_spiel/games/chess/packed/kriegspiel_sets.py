"""Sets of packed positions: what one player of Kriegspiel holds possible.

    belief = KriegspielSet.of(setup, viewer=WHITE)
    belief = belief.after_refusal(word)
    belief = belief.after_own_move(word, public)
    belief = belief.after_opponent_move(heard)

Moves and announcements are words (`packed.positions.pack_move`, `kernels.announcements`;
`packed.kriegspiel_information_states` reads them off a player's information state). Sets
are exact up to a limit, and a weighted sample past it, as those of dark chess
(`packed.position_sets`). Draws by repetition, fifty moves or the horizon rule out nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess import rules
from klss_spiel.games.chess.kriegspiel_play import KriegspielSetup
from klss_spiel.games.chess.kriegspiel_umpire import AreThereAny
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.collected_positions import (
    DEFAULT_LIMIT,
    NO_WEIGHTS,
    Members,
    Sieve,
    collect,
    collect_rows,
    replaced,
)
from klss_spiel.games.chess.packed.kernels import announcements
from klss_spiel.games.chess.packed.kernels import heard_moves as kernels

RULE_NUMBERS: Final = {
    AreThereAny.NONE: announcements.NOTHING,
    AreThereAny.ANY: announcements.WHETHER,
    AreThereAny.COUNT: announcements.HOW_MANY,
    AreThereAny.ALL: announcements.EACH,
}


@functools.cache
def rising_diagonals(board: positions.Layout) -> npt.NDArray[np.bool_]:
    """[64] whether the rising diagonal through each cell is the long one."""
    rising = np.zeros(len(board.square_of), dtype=np.bool_)
    rising[board.cell_of] = rules.geometry(board.width, board.height).long_rising
    return rising


@dataclasses.dataclass(frozen=True, eq=False)
class KriegspielSet:
    """Positions that one player holds possible.

    Attributes:
        board: which board.
        rule: what the umpire says about pawn captures.
        viewer: colour of the player.
        side: to move in all of them.
        positions: [n, 4] different packed positions.
        complete: whether these are all.
        fraction: estimate of the part of all consistent positions that are here; 1 if complete.
        weights: [n] how many fitting histories end in each position of a sample, by an
            estimate in any unit; None while the set is complete.
    """

    board: positions.Layout
    rule: AreThereAny
    viewer: int
    side: int
    positions: U64Array
    complete: bool = True
    fraction: float = 1.0
    weights: FloatArray | None = None

    @classmethod
    def of(cls, setup: KriegspielSetup, viewer: int) -> KriegspielSet:
        """The set of one position, the start of a game."""
        start = setup.start
        board = positions.layout(start.width, start.height)
        return cls(board, setup.are_there_any, viewer, start.side, positions.pack([start]))

    def __len__(self) -> int:
        return len(self.positions)

    def __contains__(self, position: rules.Position) -> bool:
        (word,) = positions.pack([position])
        return bool((self.positions == word).all(axis=1).any())

    def after_refusal(self, move: int) -> KriegspielSet:
        """The set after a try of the player that was answered "illegal"."""
        self._check_turn(self.viewer)
        words = np.ascontiguousarray(self.positions)
        refused = kernels.is_refused(words, self.viewer, move, self.board.masks)
        weights = None if self.weights is None else self.weights[refused]
        return dataclasses.replace(self, positions=words[refused], weights=weights)

    def after_own_move(self, move: int, public: int) -> KriegspielSet:
        """The set after a legal try of the player and what the umpire says of it."""
        self._check_turn(self.viewer)
        words = np.ascontiguousarray(self.positions)
        moved, origin = kernels.move_and_listen(
            words, self.viewer, move, np.uint64(public), self._game
        )
        weights = None if self.weights is None else self.weights[origin]
        # A captured rook may or may not have been allowed to castle: two become one.
        found = collect_rows(moved, weights, max(len(moved), 1))
        return replaced(self, found, side=1 - self.side)

    def after_opponent_move(
        self, heard: U64Array, limit: int = DEFAULT_LIMIT, salt: int = 0
    ) -> KriegspielSet:
        """The set after an unknown move of the opponent.

        Args:
            heard: [3] what the player hears, in public and alone, and how many illegal
                tries were overheard before.
            limit: size above which the set becomes an incomplete sample.
            salt: which sample.
        """
        self._check_turn(1 - self.viewer)
        if limit < 1:
            raise ValueError(f"expected a limit of 1 or more positions, got {limit}")
        before = np.ascontiguousarray(self.positions)
        given = NO_WEIGHTS if self.weights is None else np.ascontiguousarray(self.weights)
        game = self._game

        def step(start: int, members: Members, count: int, sieve: Sieve) -> tuple[int, int]:
            reached, filled = kernels.insert_heard_moves(
                before, given, start, self.viewer, game, heard, members, count, sieve
            )
            return int(reached), int(filled)

        weighted = self.weights is not None
        found = collect(step, len(before), 8 * len(before), limit, weighted, salt)
        return replaced(self, found, side=1 - self.side)

    @property
    def _game(self) -> tuple[Any, ...]:
        return self.board.masks, rising_diagonals(self.board), RULE_NUMBERS[self.rule]

    def _check_turn(self, side: int) -> None:
        if self.side != side:
            raise ValueError(f"expected the turn of side {side}, it is that of {self.side}")
