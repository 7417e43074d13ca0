"""Fits a move prior of dark chess to games: maximum likelihood with a penalty.

Stochastic gradient steps (Adam) over positions of games and the moves that were played,
from weights of 0; the penalty is that of normally distributed weights. Deterministic for
a seed.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.move_prior import (
    NUM_WEIGHTS,
    Features,
    MovePrior,
    features_of,
)
from klss_spiel.kernels import kernel


@dataclasses.dataclass(frozen=True, eq=False)
class PlayedMoves:
    """Moves of games, and all others that could have been made.

    Attributes:
        starts: [n + 1] the moves of decision i are at starts[i]:starts[i + 1].
        features: [m, features] weights that each move adds up.
        chosen: [n] which was played, from 0 on.
        games: [n] number of the game.
    """

    starts: npt.NDArray[np.int64]
    features: Features
    chosen: IntArray
    games: IntArray

    def __len__(self) -> int:
        return len(self.chosen)


@dataclasses.dataclass(frozen=True)
class Fit:
    """How to fit.

    Attributes:
        epochs: passes over the decisions.
        batch: decisions per step.
        rate: of learning at the beginning; it falls to 0 in a straight line.
        penalty: what a weight of 1 costs for each decision, in nats times 2.
        uniform: share of uniform moves that is mixed in afterwards.
        memory: see `MovePrior`.
        seed: of the order of decisions.
    """

    epochs: int = 12
    batch: int = 256
    rate: float = 0.02
    penalty: float = 2e-5
    uniform: float = 0.05
    memory: float = 1.0
    seed: int = 0


def played_moves(games: Iterable[tuple[Sequence[str], Sequence[bool]]]) -> PlayedMoves:
    """Decisions of games from the standard start.

    Args:
        games: moves in UCI, and for White and for Black whether to learn from them.
    """
    board = packed.layout(8, 8)
    met: list[rules.Position] = []
    words: list[int] = []
    numbers: list[int] = []
    for number, (moves, wanted) in enumerate(games):
        position = boards.position_of("standard")
        for text in moves:
            move = boards.move_from_uci(text, 8, 8)
            if wanted[position.side]:
                met.append(position)
                words.append(packed.pack_move(board, move))
                numbers.append(number)
            position = rules.apply_move(position, move)
    if not met:
        raise ValueError("expected games with moves to learn from, got none")
    sides = np.array([position.side for position in met], dtype=np.uint8)
    starts, moves_, features = features_of(board, packed.pack(met), sides)
    owner = np.repeat(np.arange(len(met)), np.diff(starts))
    played = np.flatnonzero(moves_ == np.array(words, dtype=np.uint16)[owner])
    if len(played) != len(met):
        raise ValueError(f"expected {len(met)} moves of dark chess, {len(played)} are possible")
    return PlayedMoves(
        starts,
        features,
        (played - starts[:-1]).astype(np.int32),
        np.array(numbers, dtype=np.int32),
    )


def some(moves: PlayedMoves, which: npt.NDArray[np.bool_]) -> PlayedMoves:
    """The decisions ([n]) that are marked."""
    counts = np.diff(moves.starts)
    kept = np.repeat(which, counts)
    starts = np.concatenate([[0], np.cumsum(counts[which])])
    return PlayedMoves(starts, moves.features[kept], moves.chosen[which], moves.games[which])


def fit(moves: PlayedMoves, how: Fit) -> MovePrior:
    """The prior under which the games are likeliest, all but for the penalty."""
    rng = np.random.default_rng(how.seed)
    found = np.zeros(NUM_WEIGHTS)
    mean, square = np.zeros(NUM_WEIGHTS), np.zeros(NUM_WEIGHTS)
    steps = max(1, how.epochs * -(-len(moves) // how.batch))
    step = 0
    for _ in range(how.epochs):
        order = rng.permutation(len(moves))
        for first in range(0, len(order), how.batch):
            chosen = order[first : first + how.batch]
            gradient = _gradient(found, moves.starts, moves.features, moves.chosen, chosen)
            gradient = gradient / len(chosen) + how.penalty * found
            step += 1
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            scaled = np.sqrt(square / (1.0 - 0.999**step)) + 1e-8
            rate = how.rate * (1.0 - (step - 1) / steps)
            found -= rate * (mean / (1.0 - 0.9**step)) / scaled
    return MovePrior(found.astype(np.float32), how.uniform, how.memory)


def losses(prior: MovePrior, moves: PlayedMoves) -> tuple[FloatArray, FloatArray]:
    """[n] nats by which each played move surprises the prior, and a uniform choice."""
    counts = np.diff(moves.starts)
    scores = prior.weights.astype(np.float64)[moves.features].sum(axis=1)
    raised = np.exp(scores)
    totals = np.add.reduceat(raised, moves.starts[:-1])
    played = raised[moves.starts[:-1] + moves.chosen] / totals
    mixed = (1.0 - prior.uniform) * played + prior.uniform / counts
    return -np.log(mixed), np.log(counts)


@kernel
def _gradient(weights: Any, starts: Any, features: Any, chosen: Any, which: Any) -> Any:
    """[weights] of the sum of the surprises at some decisions."""
    gradient = np.zeros(len(weights))
    scores = np.empty(2048)
    for decision in which:
        first = starts[decision]
        count = starts[decision + 1] - first
        top = -np.inf
        for j in range(count):
            score = 0.0
            for k in range(features.shape[1]):
                score += weights[features[first + j, k]]
            scores[j] = score
            top = max(top, score)
        total = 0.0
        for j in range(count):
            scores[j] = np.exp(scores[j] - top)
            total += scores[j]
        for j in range(count):
            share = scores[j] / total
            if j == chosen[decision]:
                share -= 1.0
            for k in range(features.shape[1]):
                gradient[features[first + j, k]] += share
    return gradient
