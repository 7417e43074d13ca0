"""The single-player game that OLSS-II searches, and what plays the opponent in it.

OLSS paper, section 5.2, equations 12 to 14: with the opponent's strategy fixed, opponent and
chance together are an environment, and nodes are infosets of the player. Several infosets
(roots) can be searched side by side, so that networks see large batches. Letters: r roots,
n states, a actions, m moves of the opponent (and draws), f features.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, FloatArray, LongArray
from klss_spiel.search_game import Blueprint

States = npt.NDArray[Any]
Features = npt.NDArray[np.float32]


class ModelGame(Protocol):
    """Infosets that follow the roots, each of the player who moves at its root.

    A round is an own move, a move of the opponent, and a draw; states are changed in place.
    """

    @property
    def num_roots(self) -> int:
        """R."""

    @property
    def num_moves(self) -> int:
        """M."""

    def root_actions(self, root: int) -> LongArray:
        """[k] own moves at a root."""

    def start(self, roots: LongArray) -> States:
        """[n] copies of roots, given by number ([n])."""

    def views(self, states: States) -> tuple[Features, BoolArray]:
        """What a blueprint sees where the player moves: [n, f] and legal moves [n, a]."""

    def own_move(self, states: States, chosen: LongArray) -> None:
        """The player moves ([n] actions)."""

    def unseen(self, states: States) -> FloatArray:
        """[n, m] weights of what is hidden from the player; all 0 where the game is over."""

    def opponent_features(self, states: States) -> Features:
        """[n, f] what a learned model sees before the opponent's move."""

    def opponent_move(self, states: States, moves: LongArray) -> None:
        """The opponent moves ([n])."""

    def draw(self, states: States, moves: LongArray) -> None:
        """The player draws ([n])."""

    def wins(self, states: States) -> FloatArray:
        """[n] what the player has just won, NaN where nothing."""


class EnvironmentModel(Protocol):
    """What the opponent does, as far as the player can tell."""

    @property
    def name(self) -> str:
        """For reports."""

    def probabilities(self, game: ModelGame, states: States) -> FloatArray:
        """[n, m] of the opponent's moves; rows of 0 where nothing is possible."""


@dataclasses.dataclass(frozen=True)
class RandomModel:
    """Model R: the opponent's move in proportion to what is unseen (paper, section 7.2)."""

    name: str = "R"

    def probabilities(self, game: ModelGame, states: States) -> FloatArray:
        """[n, m]."""
        return normalised(game.unseen(states))


@dataclasses.dataclass(frozen=True, eq=False)
class LearnedModel:
    """A network trained on what an opponent did (paper, appendix D.1).

    Attributes:
        network: gives probabilities of m moves.
        name: for reports.
    """

    network: Blueprint
    name: str = "learned"

    def probabilities(self, game: ModelGame, states: States) -> FloatArray:
        """[n, m], nothing on moves that are not possible."""
        possible = game.unseen(states) > 0
        found, _ = self.network.evaluate(game.opponent_features(states), possible)
        return normalised(np.where(possible, found, 0.0))


def normalised(weights: npt.NDArray[Any]) -> FloatArray:
    """Rows that sum to 1, or to 0 where there is no weight."""
    total = weights.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(
        weights, total, out=np.zeros(weights.shape, np.float64), where=total > 0
    )
    return shares
