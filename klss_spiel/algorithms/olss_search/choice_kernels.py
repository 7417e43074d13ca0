"""Which model and which move the next simulations take, and samples of moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.kernels import kernel


@kernel
def margin(prior: Any, done: Any, total: Any, model: int) -> float:
    """v_1(moves as tried, j) - v_1(blueprint, j) so far; 0 before any simulation.

    The blueprint's value is over the moves that have been tried.
    """
    number, worth, weight, baseline = 0, 0.0, 0.0, 0.0
    for move in range(prior.shape[0]):
        if done[model, move]:
            number += done[model, move]
            worth += total[model, move]
            weight += prior[move]
            baseline += prior[move] * total[model, move] / done[model, move]
    if number == 0 or weight == 0.0:
        return 0.0
    return worth / number - baseline / weight


@kernel
def choose_batch(
    prior: Any,
    visits: Any,
    done: Any,
    total: Any,
    exploration: float,
    models: Any,
    moves: Any,
) -> None:
    """Chooses for several simulations; each choice counts as a visit for the next.

    Letters: j models, k own moves, n simulations.

    Args:
        prior: [k] the blueprint's probabilities.
        visits: [j, k] simulations chosen; changed.
        done: [j, k] simulations finished.
        total: [j, k] sums of their returns.
        exploration: c of equation 30.
        models: [n] gets the opponent's choices: smallest margin, uniform prior.
        moves: [n] gets the player's choices, who does not see the model.
    """
    num_models, num_moves = visits.shape
    margins = np.zeros(num_models)
    by_model = np.zeros(num_models)
    for model in range(num_models):
        margins[model] = margin(prior, done, total, model)
        by_model[model] = visits[model].sum()
    value = np.zeros(num_moves)
    by_move = np.zeros(num_moves)
    all_done, all_total = done.sum(), total.sum()
    for move in range(num_moves):
        finished = done[:, move].sum()
        by_move[move] = visits[:, move].sum()
        if finished:
            value[move] = total[:, move].sum() / finished
        elif all_done:
            value[move] = all_total / all_done
    for i in range(models.shape[0]):
        visited = by_move.sum()
        best_model, best_score = 0, -np.inf
        for model in range(num_models):
            bonus = exploration / num_models * np.sqrt(visited) / (1.0 + by_model[model])
            if bonus - margins[model] > best_score:
                best_model, best_score = model, bonus - margins[model]
        # Before the first visit the root is 0: the prior decides.
        effort = np.sqrt(max(visited, 1.0))
        best_move, best_score = 0, -np.inf
        for move in range(num_moves):
            score = value[move] + exploration * prior[move] * effort / (1.0 + by_move[move])
            if score > best_score:
                best_move, best_score = move, score
        models[i], moves[i] = best_model, best_move
        visits[best_model, best_move] += 1
        by_model[best_model] += 1
        by_move[best_move] += 1


@kernel
def sample_columns(weights: Any, points: Any, columns: Any) -> None:
    """Samples a column of every row in proportion to its weights.

    Args:
        weights: [n, m].
        points: [n] uniform in [0, 1).
        columns: [n] gets the columns; -1 for rows without any weight.
    """
    for i in range(weights.shape[0]):
        total = 0.0
        for column in range(weights.shape[1]):
            total += weights[i, column]
        left = points[i] * total
        columns[i] = -1
        reached = 0.0
        for column in range(weights.shape[1]):
            if weights[i, column] > 0:
                columns[i] = column
                reached += weights[i, column]
                if reached > left:
                    break
