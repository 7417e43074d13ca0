"""Many games of Mahjong at once.

    games = MahjongBatch(Variant(), num_games=256, seed=0)
    while True:
        seen = games.observe()
        games.step(choose(seen.features, seen.legal))

A game that ends is followed by another unless decks are given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, LongArray
from klss_spiel.games.mahjong import actions, rules
from klss_spiel.games.mahjong.compiled import (
    analysis_kernels,
    batch_kernels,
    layout,
    prospector_kernels,
)
from klss_spiel.games.mahjong.compiled.distance_kernels import distance_tables
from klss_spiel.games.mahjong.compiled.memo_kernels import new_memo
from klss_spiel.games.mahjong.compiled.worth_kernels import WEIGHTS
from klss_spiel.games.mahjong.variant import Variant

FEATURE_VERSION: Final = analysis_kernels.FEATURE_VERSION
NUM_FEATURES: Final = analysis_kernels.NUM_FEATURES
Features = npt.NDArray[np.float32]
_GOLDEN: Final = 0x9E3779B97F4A7C15


@dataclasses.dataclass(frozen=True, eq=False)
class Observations:
    """What the players to move see. Letters: g games.

    Attributes:
        features: [g, NUM_FEATURES] see `analysis_kernels.FEATURES`.
        legal: [g, 105] legal actions; none in games that are over.
        player: [g] who moves.
    """

    features: Features
    legal: BoolArray
    player: LongArray


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """What a step ended. Letters: g games.

    Attributes:
        done: [g] whether the game ended now.
        points: [g] what player 0 won, 0 in games that did not end now.
    """

    done: BoolArray
    points: LongArray


def options_of(variant: Variant) -> LongArray:
    """[NUM_OPTIONS] a variant as kernels see it."""
    options = np.zeros(layout.NUM_OPTIONS, np.int64)
    options[layout.SETS] = variant.sets
    options[layout.COPIES] = variant.copies
    options[layout.FORCED_HU] = variant.forced_hu
    options[layout.TING] = variant.ting
    options[layout.KONGS] = variant.kongs
    options[layout.SEPARATE_PASS_HU] = variant.separate_pass_hu
    options[layout.HAND_SIZE] = variant.hand_size
    options[layout.WALL_SIZE] = variant.wall_size
    return options


def sorted_deck(variant: Variant) -> npt.NDArray[np.int8]:
    """[tiles] every tile's kind, ascending."""
    deck: npt.NDArray[np.int8] = np.repeat(
        np.arange(len(variant.deck), dtype=np.int8), variant.deck
    )
    return deck


def random_decks(variant: Variant, number: int, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    """[number, tiles] shuffled decks."""
    return rng.permuted(np.tile(sorted_deck(variant), (number, 1)), axis=1)


class MahjongBatch:
    """Games side by side. Mutable.

    Attributes:
        variant: which Mahjong.
        rows: [g, ROW] the games; see `layout`.
        decks: [g, tiles] their tiles in order.
    """

    num_actions = actions.NUM_ACTIONS
    num_features = NUM_FEATURES
    feature_version = FEATURE_VERSION

    def __init__(
        self,
        variant: Variant,
        num_games: int,
        seed: int = 0,
        decks: npt.NDArray[np.int8] | None = None,
    ) -> None:
        """Deals.

        Args:
            variant: which Mahjong.
            num_games: how many games; ignored if decks are given.
            seed: of shuffling.
            decks: [g, tiles] play these, each once; otherwise a game that ends is followed by
                another.
        """
        self.variant = variant
        self._tables = distance_tables()
        self._options = options_of(variant)
        self._memo = new_memo()
        self._restart = decks is None
        if decks is None:
            decks = np.tile(sorted_deck(variant), (num_games, 1))
        expected = (len(decks), variant.num_tiles)
        if decks.shape != expected:
            raise ValueError(f"expected decks of shape {expected}, got {decks.shape}")
        self.decks = np.array(decks, np.int8)
        self.rows = np.zeros((len(decks), layout.ROW), np.int32)
        self._generators = _generators(seed, len(decks))
        batch_kernels.deal_all(
            self._options, self.rows, self.decks, self._generators, self._restart
        )
        self._legal: BoolArray = np.zeros((len(decks), actions.NUM_ACTIONS), np.bool_)

    @property
    def num_games(self) -> int:
        """Games side by side."""
        return len(self.rows)

    @property
    def over(self) -> BoolArray:
        """[g] whether a game is over; only with given decks."""
        over: BoolArray = self.rows[:, layout.PHASE] == rules.Phase.OVER
        return over

    @property
    def points(self) -> LongArray:
        """[g] what player 0 has won."""
        return self.rows[:, layout.POINTS].astype(np.int64)

    @property
    def player(self) -> LongArray:
        """[g] who moves."""
        return self.rows[:, layout.PLAYER].astype(np.int64)

    def legal(self) -> BoolArray:
        """[g, 105] legal actions."""
        batch_kernels.legal_all(self._tables, self._options, self.rows, self._legal)
        return self._legal.copy()

    def observe(self) -> Observations:
        """What the players to move see."""
        legal = self.legal()
        features = np.zeros((self.num_games, NUM_FEATURES), np.float32)
        analysis_kernels.write_all_features(
            self._tables, self._options, self._memo, self.rows, legal, features
        )
        return Observations(features, legal, self.player)

    def step(self, chosen: npt.ArrayLike) -> Outcomes:
        """Plays an action ([g]) in every game that is not over."""
        chosen = np.asarray(chosen, np.int64)
        done = np.zeros(self.num_games, np.bool_)
        points = np.zeros(self.num_games, np.int64)
        batch_kernels.step_all(
            self._tables,
            self._options,
            self.rows,
            self.decks,
            self._generators,
            chosen,
            self._restart,
            done,
            points,
        )
        return Outcomes(done, points)

    def teacher_actions(self, legal: BoolArray) -> LongArray:
        """[g] what the prospector does, to learn from."""
        return self.prospector_actions(legal)

    def prospector_actions(
        self, legal: BoolArray, weights: npt.NDArray[np.float64] = WEIGHTS
    ) -> LongArray:
        """[g] what the prospector does; see `prospector_kernels`."""
        chosen = np.zeros(self.num_games, np.int64)
        prospector_kernels.prospector_actions(
            self._tables, self._options, weights, self.rows, legal, chosen
        )
        return chosen

    def greedy_actions(self, legal: BoolArray) -> LongArray:
        """[g] what the greedy player does; see `batch_kernels.greedy_action`."""
        chosen = np.zeros(self.num_games, np.int64)
        batch_kernels.greedy_actions(self._tables, self._options, self.rows, legal, chosen)
        return chosen

    def random_actions(self, legal: BoolArray) -> LongArray:
        """[g] uniformly random legal actions."""
        chosen = np.zeros(self.num_games, np.int64)
        batch_kernels.random_actions(legal, self._generators, chosen)
        return chosen

    def play_randomly(self, steps: int) -> int:
        """Plays random actions in all games; returns how many games ended."""
        return int(
            batch_kernels.play_randomly(
                self._tables, self._options, self.rows, self.decks, self._generators, steps
            )
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that decides how the games go on, for checkpoints."""
        return {
            "rows": self.rows.copy(),
            "decks": self.decks.copy(),
            "generators": self._generators.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Goes on from what `state` returned."""
        for name, array in (
            ("rows", self.rows),
            ("decks", self.decks),
            ("generators", self._generators),
        ):
            if state[name].shape != array.shape:
                raise ValueError(f"expected {name} {array.shape}, got {state[name].shape}")
            array[...] = state[name]


def _generators(seed: int, number: int) -> npt.NDArray[np.uint64]:
    """[number] states of xorshift generators, none of them 0."""
    rng = np.random.default_rng([seed, _GOLDEN])
    return rng.integers(1, 1 << 63, number, dtype=np.uint64)
