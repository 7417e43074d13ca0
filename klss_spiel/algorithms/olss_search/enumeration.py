"""What simulations of OLSS-II converge to, by listing everything: for small games and tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from klss_spiel.algorithms.olss_search.model_game import (
    EnvironmentModel,
    ModelGame,
    States,
    normalised,
)
from klss_spiel.algorithms.olss_search.search import Settings
from klss_spiel.arrays import FloatArray, LongArray, sum_at
from klss_spiel.search_game import Blueprint

_MOST_STATES = 3_000_000


def exact_values(
    game: ModelGame,
    blueprint: Blueprint,
    models: Sequence[EnvironmentModel],
    settings: Settings,
) -> FloatArray:
    """[j, k] expected returns of every own move at the first root against every model.

    Raises:
        ValueError: if more than some millions of infosets would have to be listed.
    """
    actions = game.root_actions(0)
    return np.array([_values(game, blueprint, model, settings, actions) for model in models])


def _values(
    game: ModelGame,
    blueprint: Blueprint,
    model: EnvironmentModel,
    settings: Settings,
    actions: LongArray,
) -> FloatArray:
    size = len(actions)
    states, root = game.start(np.zeros(size, np.int64)), np.arange(size)
    weight = np.ones(size)
    chosen = actions
    total = np.zeros(size)
    for step in range(settings.steps // 2):
        game.own_move(states, chosen)
        probabilities = model.probabilities(game, states)
        states, root, weight, moves = _branch(states, root, weight, probabilities)
        game.opponent_move(states, moves)
        states, root, weight, moves = _branch(states, root, weight, normalised(game.unseen(states)))
        game.draw(states, moves)
        if settings.allow_win:
            points = game.wins(states)
            won = ~np.isnan(points)
            total += sum_at(root[won], weight[won] * points[won], size)
            states, root, weight = states[~won], root[~won], weight[~won]
        if not len(states):
            break
        strategy, values = blueprint.evaluate(*game.views(states))
        if step == settings.steps // 2 - 1:
            total += sum_at(root, weight * np.asarray(values, np.float64), size)
        else:
            strategy = normalised(np.asarray(strategy))
            states, root, weight, chosen = _branch(states, root, weight, strategy)
    return total


def _branch(
    states: States, root: LongArray, weight: FloatArray, probabilities: FloatArray
) -> tuple[States, LongArray, FloatArray, LongArray]:
    """Every state once for each of its moves."""
    parent, move = np.nonzero(probabilities > 0)
    if len(parent) > _MOST_STATES:
        raise ValueError(f"expected at most {_MOST_STATES} infosets to list, got {len(parent)}")
    share = probabilities[parent, move]
    return states[parent].copy(), root[parent], weight[parent] * share, move.astype(np.int64)
