"""Players of Mahjong made of a blueprint and a search: in batches, and as OpenSpiel bots."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from klss_spiel.algorithms.blueprints.blueprint import NetworkBlueprint, load_blueprint
from klss_spiel.algorithms.blueprints.opponent_model import load_model
from klss_spiel.algorithms.olss_search.model_game import (
    EnvironmentModel,
    LearnedModel,
    RandomModel,
)
from klss_spiel.algorithms.olss_search.search import OLSS_II, Settings, search_all
from klss_spiel.arrays import BoolArray, LongArray
from klss_spiel.games.mahjong import actions
from klss_spiel.games.mahjong.compiled import (
    analysis_kernels,
    batch_kernels,
    prospector_kernels,
)
from klss_spiel.games.mahjong.compiled.distance_kernels import distance_tables
from klss_spiel.games.mahjong.compiled.environment import NUM_FEATURES, MahjongBatch, options_of
from klss_spiel.games.mahjong.compiled.memo_kernels import HandMemo, new_memo
from klss_spiel.games.mahjong.compiled.model_game import (
    MahjongModelGame,
    can_search,
    row_of_information_state,
)
from klss_spiel.games.mahjong.compiled.trainable import MahjongTraining
from klss_spiel.games.mahjong.compiled.worth_kernels import WEIGHTS
from klss_spiel.games.mahjong.variant import Variant
from klss_spiel.search_game import Blueprint

ACH = "two_player_mahjong_ach"
PPO = "two_player_mahjong_ppo"
ACH_MODEL = "two_player_mahjong_ach_model"

# Searches side by side: batches of networks are large enough, and hands that were met stay in
# a processor's cache.
_ROOTS_AT_ONCE = 4


@dataclasses.dataclass(eq=False)
class SearchCount:
    """How often players searched, and for how long (CPU time). Mutable."""

    searches: int = 0
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True, eq=False)
class MahjongPlayer:
    """Plays the blueprint's most likely action, or what OLSS-II prefers to it.

    Only decisions between several discards are searched.

    Attributes:
      variant: which Mahjong.
      blueprint: what to play.
      models: what the search lets the opponent pick from; none for no search.
      settings: of the search.
      count: gets how often was searched.
      memo: of hands, filled by play; nothing depends on what is in it.
    """

    variant: Variant
    blueprint: Blueprint
    models: Sequence[EnvironmentModel] = ()
    settings: Settings = OLSS_II
    count: SearchCount = dataclasses.field(default_factory=SearchCount)
    memo: HandMemo = dataclasses.field(default_factory=lambda: new_memo(15))

    def decide(
        self, rows: Any, legal: BoolArray, likely: LongArray, rng: np.random.Generator
    ) -> LongArray:
        """[n] actions in several games; `likely` ([n]) are the blueprint's."""
        if not self.models:
            return likely
        which = [
            i
            for i, action in enumerate(likely)
            if actions.is_discard(int(action)) and can_search(rows[i], legal[i])
        ]
        if not which:
            return likely
        start = time.process_time()
        chosen = likely.copy()
        for first in range(0, len(which), _ROOTS_AT_ONCE):
            now = which[first : first + _ROOTS_AT_ONCE]
            game = MahjongModelGame(self.variant, rows[now], self.memo)
            reports = search_all(game, self.blueprint, self.models, self.settings, rng)
            chosen[now] = [report.action for report in reports]
        self.count.searches += len(which)
        self.count.seconds += time.process_time() - start
        return chosen

    def batch_player(self, seed: int) -> Any:
        """The player in many games at once; see `compiled.trainable.BatchPlayer`."""
        rng = np.random.default_rng([seed, 7])

        def play(games: MahjongBatch, which: LongArray) -> LongArray:
            seen = games.observe()
            legal = seen.legal[which]
            probabilities, _ = self.blueprint.evaluate(seen.features[which], legal)
            return self.decide(games.rows[which], legal, probabilities.argmax(axis=1), rng)

        return play


class MahjongBot(pyspiel.Bot):  # type: ignore[misc]  # pyspiel has no type stubs.
    """A `MahjongPlayer` in OpenSpiel. It reads only its information state and legal actions."""

    def __init__(self, player: MahjongPlayer, seed: int = 0) -> None:
        super().__init__()
        self._player = player
        self._seed = seed
        self._rng = np.random.default_rng(seed)

    def restart(self) -> None:
        """Starts a new game."""
        self._rng = np.random.default_rng(self._seed)

    def restart_at(self, state: Any) -> None:
        """Starts a game in the middle."""
        self.restart()

    def step(self, state: Any) -> int:
        """The action at a decision of this bot."""
        row, legal = _own_row(self._player.variant, state)
        features = np.zeros((1, NUM_FEATURES), np.float32)
        options = options_of(self._player.variant)
        analysis_kernels.write_features(
            distance_tables(), options, self._player.memo, row, legal, features[0]
        )
        probabilities, _ = self._player.blueprint.evaluate(features, legal[None])
        likely = probabilities.argmax(axis=1)
        return int(self._player.decide(row[None], legal[None], likely, self._rng)[0])


class GreedyBot:
    """Completes its hand as soon as possible; see `batch_kernels.greedy_action`."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant

    def step(self, state: Any) -> int:
        """The action at a decision of this bot."""
        row, legal = _own_row(self._variant, state)
        options = options_of(self._variant)
        return int(batch_kernels.greedy_action(distance_tables(), options, row, legal))


class ProspectorBot:
    """Looks at points as well as at speed; see `prospector_kernels`."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant

    def step(self, state: Any) -> int:
        """The action at a decision of this bot."""
        row, legal = _own_row(self._variant, state)
        options = options_of(self._variant)
        tables = distance_tables()
        return int(prospector_kernels.prospector_action(tables, options, WEIGHTS, row, legal))


def _own_row(variant: Variant, state: Any) -> tuple[Any, BoolArray]:
    """What the player to move knows, and [actions] which are legal."""
    legal = np.zeros(actions.NUM_ACTIONS, np.bool_)
    legal[list(state.legal_actions())] = True
    return row_of_information_state(variant, state.information_state_string()), legal


@functools.cache
def loaded(game: MahjongTraining, path: str) -> NetworkBlueprint:
    """A blueprint, read once per process."""
    return load_blueprint(path, game)


def models_of(game: MahjongTraining, setting: str, model: str) -> tuple[EnvironmentModel, ...]:
    """Environment models of a setting such as "R+ACH"; none for "blueprint".

    Args:
      game: which Mahjong.
      setting: "blueprint", "R", "ACH" or "R+ACH".
      model: file or shipped name of the learned model.
    """
    if setting == "blueprint":
        return ()
    made: list[EnvironmentModel] = []
    for name in setting.split("+"):
        if name == "R":
            made.append(RandomModel())
        elif name == "ACH":
            made.append(LearnedModel(load_model(model, game), "ACH"))
        else:
            raise ValueError(f"expected models R and ACH joined by +, got {setting!r}")
    return tuple(made)
