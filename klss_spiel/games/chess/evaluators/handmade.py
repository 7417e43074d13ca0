"""`handmade`: material, mobility, pawns and safety, weighted by hand.

Importing this module imports numba.
"""

from __future__ import annotations

from klss_spiel.evaluators import Evaluator
from klss_spiel.games.chess.evaluators.packed_evaluation import PackedSetup, on_positions
from klss_spiel.games.chess.packed import positions


def handmade_evaluator(setup: PackedSetup) -> Evaluator:
    """The hand-made evaluation (`packed.positions.evaluate`)."""
    return on_positions("handmade", positions.evaluate, setup)
