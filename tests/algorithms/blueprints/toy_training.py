"""A tiny game for training: rock, paper, scissors with a weight, and a tile to match.

Player 0 moves, then player 1, who does not see it. Features: the player, and a bit that
says whether rock wins double. Also a chain game in which one player decides twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from klss_spiel.algorithms.blueprints.opponent_model import OpponentMoves

ROCK_WINS = 2.0
_PAYOFF = np.array([[0, -1, ROCK_WINS], [1, 0, -1], [-ROCK_WINS, 1, 0]])


class _Seen(NamedTuple):
    features: np.ndarray
    legal: np.ndarray
    player: np.ndarray


class _Outcome(NamedTuple):
    done: np.ndarray
    points: np.ndarray


class RockPaperScissors:
    """Games side by side; the fourth action is never legal. Mutable."""

    def __init__(self, num_games: int, seed: int) -> None:
        self.num_games = num_games
        self._first = np.full(num_games, -1)

    def observe(self) -> _Seen:
        player = (self._first >= 0).astype(np.int64)
        features = np.eye(2, dtype=np.float32)[player]
        legal = np.ones((self.num_games, 4), np.bool_)
        legal[:, 3] = False
        return _Seen(features, legal, player)

    def step(self, chosen: np.ndarray) -> _Outcome:
        chosen = np.asarray(chosen)
        assert (chosen < 3).all()
        done = self._first >= 0
        points = np.where(done, _PAYOFF[self._first, chosen], 0.0)
        self._first = np.where(done, -1, chosen)
        return _Outcome(done, points)

    def teacher_actions(self, legal: np.ndarray) -> np.ndarray:
        return np.ones(len(legal), np.int64)  # paper

    def state(self) -> dict[str, np.ndarray]:
        return {"first": self._first.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._first = np.array(state["first"])


@dataclasses.dataclass(frozen=True)
class ToyTraining:
    """Rock, paper, scissors for the trainer."""

    name: str = "toy"
    feature_version: ClassVar[int] = 1
    num_features: ClassVar[int] = 2
    num_actions: ClassVar[int] = 4
    num_moves: ClassVar[int] = 3
    reward_scale: ClassVar[float] = 2.0
    opponents: ClassVar[tuple[str, ...]] = ()

    def environment(self, num_games: int, seed: int) -> RockPaperScissors:
        return RockPaperScissors(num_games, seed)

    def opponent_moves(
        self, choose: object, num_games: int, batch: int, seed: int
    ) -> Iterator[OpponentMoves]:
        """After a feature of 1 the move is 0 or 1, after 0 it is 2."""
        rng = np.random.default_rng(seed)
        while True:
            bit = rng.integers(0, 2, batch)
            features = np.eye(2, dtype=np.float32)[bit]
            move = np.where(bit == 1, rng.integers(0, 2, batch), 2)
            yield OpponentMoves(features, np.ones((batch, 3), np.bool_), move)


def exploitability(strategies: np.ndarray) -> float:
    """Sum of what best responses gain; strategies: [2, 3]."""
    first, second = strategies
    return float((_PAYOFF @ second).max() - (first @ _PAYOFF).min())
