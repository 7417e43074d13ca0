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


def going_on(held: Held, sighted: bool) -> Held:
    """Those at which the game is not over, if the viewer is to move.

    What a belief holds is followed from there, and the umpire says when the game is over; guesses
    need not have come from anywhere.
    """
    if held.side != held.viewer or not len(held.positions):
        return held
    words = np.ascontiguousarray(held.positions)
    going = kernels.goes_on(words, held.viewer, sighted, held.board.masks)
    weights = None if held.weights is None else held.weights[going]
    left: Held = dataclasses.replace(
        held,  # type: ignore[type-var]
        positions=words[going],
        weights=weights,
    )
    return left
