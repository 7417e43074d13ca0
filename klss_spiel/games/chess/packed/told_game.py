"""What the packed games of dark chess and Kriegspiel say alike to a search.

Both are a `klss_spiel.search_game.RepeatingGame`: they end by repetition, which their
expansions do not see, and a player does not know the count towards the fifty-move rule, only
the most it can be.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import rules
from klss_spiel.games.chess.packed.counted_positions import (
    boards_of,
    has_pawns,
    sides_of,
    with_clock_from,
)
from klss_spiel.games.chess.packed.kernels.knowledge import position_keys

_BLACK_TO_MOVE: Final = 0xB5297A4D3F84D5B5
# A player who fears the fifty-move rule should see some plies of what leads past it.
_PLIES_TO_SEE: Final = 6


class ToldGame:
    """Infosets by the key of what was told, positions by their boards.

    Attributes:
        setup: the game; it has a `start`.
        told: reads information states; what it reads is a `LinkedReading` with a `key` and
            `plies`.
    """

    setup: Any
    told: Any

    def sides(self, positions: U64Array) -> npt.NDArray[np.uint8]:
        """[n] who is to move."""
        return sides_of(positions, self.setup.start.side)

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

    def position_keys(self, positions: U64Array) -> U64Array:
        """[n] equal where the board, the rights and the side to move are the same."""
        side_words = np.array([0, _BLACK_TO_MOVE], dtype=np.uint64)
        keys: U64Array = position_keys(positions) ^ side_words[self.sides(positions)]
        return keys

    def with_quiet_plies(
        self, player: int, information_state: str, positions: U64Array
    ) -> U64Array:
        """The positions with the largest count towards the fifty-move rule they can have.

        It stops short of a draw where the opponent has pawns, one of which may have moved out of
        sight, and where one must have, because the game goes on.
        """
        reading = self.told.read(player, information_state)
        quiet = reading.plies - reading.last_change().plies
        if quiet == reading.plies:  # nothing has ended the count that the game started with
            quiet += self.setup.start.halfmove_clock
        unsure = has_pawns(positions, 1 - player) | (quiet >= rules.FIFTY_MOVES)
        most = rules.FIFTY_MOVES - np.where(unsure, _PLIES_TO_SEE, 1)
        return with_clock_from(positions, np.minimum(quiet, most))
