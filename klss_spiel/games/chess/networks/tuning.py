"""Fits a trained network to results of games: how much a lead is worth in the fog.

The teacher knows ordinary chess. Under fog leads are lost again more often, and how often
depends on the number of pieces. So one gain for each set of output weights multiplies the
number before tanh, such that values come nearest to results in the mean square; positions
of a game share a result, so gains are held near 1 as if by `prior` games more.

With the results of some hundred games eight numbers can be fitted, a hundred thousand
weights cannot.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.evaluators.resolver import resolve
from klss_spiel.games.chess.networks.inputs import NUM_BUCKETS, piece_counts
from klss_spiel.games.chess.networks.network import Network
from klss_spiel.games.chess.packed import positions as packed

GAINS: Final = np.geomspace(0.25, 4.0, 161)


@dataclasses.dataclass(frozen=True, eq=False)
class PlayedPositions:
    """Quiet ends of positions of games.

    Attributes:
        positions: [n, 4].
        sides: [n] side to move.
        games: [n] number of the game.
        results: [n] White's utility at the end of the game.
    """

    positions: U64Array
    sides: packed.SideArray
    games: npt.NDArray[np.int64]
    results: FloatArray


def played_positions(games: Iterable[tuple[Sequence[str], float]]) -> PlayedPositions:
    """Positions of games from the standard start, captures resolved.

    Args:
        games: moves in UCI and White's utility at the end.
    """
    met: list[rules.Position] = []
    numbers: list[int] = []
    results: list[float] = []
    for number, (moves, result) in enumerate(games):
        position = boards.position_of("standard")
        for move in moves:
            position = rules.apply_move(position, boards.move_from_uci(move, 8, 8))
            met.append(position)
            numbers.append(number)
            results.append(result)
    if not met:
        raise ValueError("expected games with moves to tune on, got none")
    sides = np.array([position.side for position in met], dtype=np.uint8)
    resolution = resolve(packed.layout(8, 8), packed.pack(met), sides)
    open_ = resolution.decided == 0
    return PlayedPositions(
        resolution.ends[open_],
        resolution.sides[open_],
        np.array(numbers)[open_],
        np.array(results)[open_],
    )


def fit_gains(network: Network, played: PlayedPositions, prior: float = 20.0) -> FloatArray:
    """[8] what to multiply each bucket's output weights by.

    Args:
        network: to be tuned.
        played: positions with results.
        prior: games' worth of positions whose results are the network's own values.
    """
    values = network.evaluate(packed.layout(8, 8), played.positions, played.sides)
    # Far beyond what float32 tells from 1 nothing can be scaled.
    numbers = np.arctanh(np.clip(values.astype(np.float64), -0.999999, 0.999999))
    buckets = np.minimum((piece_counts(played.positions).astype(int) - 1) // 4, NUM_BUCKETS - 1)
    gains = np.ones(NUM_BUCKETS)
    for bucket in range(NUM_BUCKETS):
        inside = buckets == bucket
        if not inside.any():
            continue
        games = len(np.unique(played.games[inside]))
        found = np.tanh(GAINS[:, None] * numbers[inside])
        error = np.mean((found - played.results[inside]) ** 2, axis=1)
        drift = np.mean((found - np.tanh(numbers[inside])) ** 2, axis=1)
        gains[bucket] = GAINS[np.argmin(games * error + prior * drift)]
    return gains


def error_of(network: Network, played: PlayedPositions) -> float:
    """Root mean square of values less results."""
    values = network.evaluate(packed.layout(8, 8), played.positions, played.sides)
    return float(np.sqrt(np.mean((values - played.results) ** 2)))


def scaled(network: Network, gains: FloatArray) -> Network:
    """A network with its output multiplied by a gain for each bucket."""
    return dataclasses.replace(
        network,
        output_scale=(network.output_scale * gains).astype(np.float32),
        output_bias=(network.output_bias * gains).astype(np.float32),
    )
