"""What the packed games of dark chess and Kriegspiel say alike to a search."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess.packed.counted_positions import boards_of
from klss_spiel.games.chess.packed.kernels.knowledge import position_keys


class ToldGame:
    """Infosets by the key of what was told, positions by their boards.

    Attributes:
        told: reads information states; what it reads has a `key`.
    """

    told: Any

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
