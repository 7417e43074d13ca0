"""`network` and `nnue(path)`: evaluations by the networks of `games.chess.networks`.

Importing this module imports numba.
"""

from __future__ import annotations

import functools

from klss_spiel.evaluators import Evaluator
from klss_spiel.games.chess.evaluators.packed_evaluation import PackedSetup, on_positions
from klss_spiel.games.chess.networks import nnue
from klss_spiel.games.chess.networks.network import load_network, shipped_network


def network_evaluator(setup: PackedSetup, path: str | None = None) -> Evaluator:
    """The package's own network, or one of a file that `run.train_evaluation` made."""
    nnue.check_board(setup.start.width, setup.start.height, "network")
    network = shipped_network() if path is None else load_network(path)
    return on_positions("network", network.evaluate, setup)


def nnue_evaluator(setup: PackedSetup, path: str, scale: float = nnue.SCALE) -> Evaluator:
    """A network of the kind HalfKAv2_hm from a file of the user.

    Args:
        setup: the game.
        path: of the file.
        scale: value in the network's unit that is worth tanh(1).
    """
    nnue.check_board(setup.start.width, setup.start.height, "nnue")
    if scale <= 0.0:
        raise ValueError(f"expected a scale above 0 for nnue, got {scale}")
    network = nnue.load(path)
    return on_positions("nnue", functools.partial(network.evaluate, scale=scale), setup)
