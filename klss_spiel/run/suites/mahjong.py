"""Speed of two-player Mahjong: steps of games, training, search.

`ratio` is our rate divided by the contender's, measured in the same run on one core. Rates
are per second of CPU time. The plain rules and OpenSpiel's interface play the same random
games as the compiled environment. Targets: 300,000 steps, 15,000 trained decisions, 1000
simulations in 60 ms.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyspiel

from klss_spiel.games.mahjong import rules
from klss_spiel.games.mahjong.compiled.environment import MahjongBatch
from klss_spiel.games.mahjong.compiled.model_game import MahjongModelGame, can_search
from klss_spiel.games.mahjong.compiled.trainable import MahjongTraining
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.games.mahjong.variant import Variant

Row = dict[str, Any]

COLUMNS: Final = ("suite", "game", "task", "contender", "seconds", "ratio", "per_second")

_SUITE: Final = "mahjong"
_GAME: Final = "two-player Mahjong"
_OURS: Final = "klss_spiel"
_SEED: Final = 2024
_NUM_INFOSETS: Final = 256


def _rate(work: Callable[[], int], seconds: float) -> tuple[float, float]:
    """CPU seconds of the measurement, and things per CPU second."""
    work()  # compiles, loads
    done, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        done += work()
    return spent, done / spent


def _compiled_steps() -> Callable[[], int]:
    games = MahjongBatch(Variant(), 256, _SEED)

    def work() -> int:
        games.play_randomly(100)
        return 100 * games.num_games

    return work


def _plain_steps() -> Callable[[], int]:
    rng = random.Random(_SEED)
    variant = Variant()

    def work() -> int:
        position, steps = rules.first_position(variant), 0
        while position.phase != Phase.OVER:
            if position.phase in rules.CHANCE_PHASES:
                (kind,) = rng.choices(range(17), position.unseen)
                if position.phase == Phase.DEAL:
                    counts = [int(k == kind) for k in range(17)]
                    position = rules.deal_hand(position, counts)
                else:
                    position = rules.draw(position, kind)
            else:
                position = rules.after(position, rng.choice(rules.legal_actions(position)))
                steps += 1
        return steps

    return work


def _openspiel_steps() -> Callable[[], int]:
    rng = random.Random(_SEED)
    game = pyspiel.load_game("python_two_player_mahjong")

    def work() -> int:
        state, steps = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, weights)[0])
            else:
                state.apply_action(rng.choice(state.legal_actions()))
                steps += 1
        return steps

    return work


def _steps(seconds: float) -> Iterator[Row]:
    ours = 0.0
    for contender, make in (
        (_OURS, _compiled_steps),
        ("rules in plain Python", _plain_steps),
        ("through OpenSpiel", _openspiel_steps),
    ):
        spent, rate = _rate(make(), seconds)
        ours = ours or rate
        yield _row("steps of random games", contender, spent, rate, ours / rate)


def _row(task: str, contender: str, seconds: float, rate: float, ratio: float | None) -> Row:
    return {
        "suite": _SUITE,
        "game": _GAME,
        "task": task,
        "contender": contender,
        "seconds": seconds,
        "ratio": ratio,
        "per_second": rate,
    }


def _training(seconds: float) -> Row:
    from klss_spiel.algorithms.blueprints.training import Settings, Trainer

    settings = Settings()
    trainer = Trainer(MahjongTraining("python_two_player_mahjong", Variant()), settings)

    def work() -> int:
        trainer.update()
        return settings.num_games * settings.steps

    return _row("trained decisions", _OURS, *_rate(work, seconds), None)


def _infosets(number: int) -> Any:
    """[number, ROW] decisions between discards, from games of the prospector with itself."""
    games = MahjongBatch(Variant(), 64, _SEED)
    found: list[Any] = []
    while len(found) < number:
        legal = games.legal()
        found += [games.rows[i].copy() for i in range(64) if can_search(games.rows[i], legal[i])]
        games.step(games.prospector_actions(legal))
    order = np.random.default_rng(_SEED).permutation(len(found))[:number]
    return np.array(found)[order]


def _searches(seconds: float) -> Iterator[Row]:
    from klss_spiel.algorithms.olss_search.search import OLSS_II, search_all
    from klss_spiel.games.mahjong.compiled.memo_kernels import new_memo
    from klss_spiel.matches import mahjong_players

    game = pyspiel.load_game("python_two_player_mahjong").trainable_game()
    blueprint = mahjong_players.loaded(game, mahjong_players.ACH)
    infosets = _infosets(_NUM_INFOSETS)
    rng = np.random.default_rng(_SEED)
    for setting, roots in (("R", 1), ("ACH", 1), ("ACH", 4)):
        models = mahjong_players.models_of(game, setting, mahjong_players.ACH_MODEL)
        memo, turns = new_memo(15), itertools.count()

        def work(
            models: Any = models, roots: int = roots, memo: Any = memo, turns: Any = turns
        ) -> int:
            # Always other infosets, as in play; what is known of hands is kept.
            first = next(turns) * roots % _NUM_INFOSETS
            searched = MahjongModelGame(game.variant, infosets[first : first + roots], memo)
            search_all(searched, blueprint, models, OLSS_II, rng)
            return roots * OLSS_II.simulations

        name = "one search" if roots == 1 else f"{roots} searches side by side"
        yield _row(
            f"simulations of OLSS-II, model {setting}, {name}", _OURS, *_rate(work, seconds), None
        )


def parts(quick: bool) -> Sequence[str]:
    """Names of what can be measured by itself."""
    return ("steps", "training", "search")


def rows(part: str, quick: bool) -> Iterator[Row]:
    """Measures a part; `quick` takes about half a minute for all."""
    seconds = 1.0 if quick else 5.0
    if part == "steps":
        yield from _steps(seconds)
    elif part == "training":
        yield _training(5 * seconds)
    else:
        yield from _searches(2 * seconds)
