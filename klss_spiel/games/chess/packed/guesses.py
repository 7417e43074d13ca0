"""Guesses at where the opponent's pieces stand, from positions that fitted some time ago."""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.games.chess.packed.collected_positions import Held, collect_rows
from klss_spiel.games.chess.packed.kernels import guesses as kernels


def scattered(held: Held, size: int, salt: int, sighted: bool) -> Held:
    """Positions like those held, in which pieces of the opponent may stand elsewhere.

    What they stood for is lost: all count alike.

    Args:
        held: positions with the viewer to move.
        size: how many to make; fewer are different and possible.
        salt: of the random numbers.
        sighted: whether the viewer sees cells as in dark chess; what is seen stays as it is.
    """
    copies = -(-size // len(held.positions))
    repeated = np.repeat(held.positions, copies, axis=0)[:size]
    made = kernels.scatter(repeated, np.uint64(salt), held.viewer, sighted, held.board.masks)
    found = collect_rows(made, None, max(len(made), 1))
    changed: Held = dataclasses.replace(
        held,  # type: ignore[type-var]
        positions=found.positions,
        weights=np.ones(len(found.positions)),
        complete=False,
    )
    return changed
