"""What training needs of a game: many games at once, seen by who moves in each.

Letters: g games, f features, a actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, FloatArray, LongArray

Features = npt.NDArray[np.float32]

# Actions ([n]) from features ([n, f]) and legal actions ([n, a]).
Chooser = Callable[[Features, BoolArray], LongArray]


class Observations(Protocol):
    """What the players to move see."""

    @property
    def features(self) -> Features:
        """[g, f]."""

    @property
    def legal(self) -> BoolArray:
        """[g, a] legal actions, at least one in each game."""

    @property
    def player(self) -> LongArray:
        """[g] who moves, 0 or 1."""


class Outcomes(Protocol):
    """What a step ended."""

    @property
    def done(self) -> BoolArray:
        """[g] whether the game ended now; another has begun."""

    @property
    def points(self) -> LongArray:
        """[g] what player 0 won in games that ended now, else 0."""


class BatchEnvironment(Protocol):
    """Games side by side that go on for ever: one that ends is followed by another."""

    @property
    def num_games(self) -> int:
        """G."""

    def observe(self) -> Observations:
        """What the players to move see."""

    def step(self, chosen: npt.ArrayLike) -> Outcomes:
        """Plays an action ([g]) in every game."""

    def teacher_actions(self, legal: BoolArray) -> LongArray:
        """[g] what a simple player would do, to learn from before self-play."""

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Everything that decides how the games go on."""

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Goes on from what `state` returned."""


class EncodedGame(Protocol):
    """A game whose infosets are rows of numbers."""

    @property
    def name(self) -> str:
        """OpenSpiel's string of the game."""

    @property
    def feature_version(self) -> int:
        """Of the encoding of what players see."""

    @property
    def num_features(self) -> int:
        """F."""


class TrainableGame(EncodedGame, Protocol):
    """A zero-sum game with a compiled environment.

    A `pyspiel.Game` offers one by a method `trainable_game()`.
    """

    @property
    def num_actions(self) -> int:
        """A."""

    @property
    def reward_scale(self) -> float:
        """Points that count as 1 in training."""

    @property
    def opponents(self) -> Sequence[str]:
        """Names of simple players to measure against."""

    def environment(self, num_games: int, seed: int) -> BatchEnvironment:
        """Games to train on."""

    def strength(
        self, choose: Chooser, opponent: str | Chooser, pairs: int, seed: int
    ) -> FloatArray:
        """[pairs] points per game against an opponent.

        Each entry is the mean of two games with the same deal and seats swapped.
        """
