"""How good a trunk strategy is: exploitability after safe completion.

A trunk strategy is not a strategy, so it has no exploitability by itself. What counts
is how well its owner can still play below: with the trunk fixed, the most a player can
guarantee against any opponent, over all own continuations, is a linear program. The
shortfall from the value of the game is 0 exactly if the trunk extends to an
equilibrium strategy.

(Fixing both trunks, solving the bottoms for their ranges and taking the exploitability
of the result is no measure: continuations that are optimal against the opponent's range
may be poor against other opponents, and near-optimal trunks then look bad.)
"""

from __future__ import annotations

import dataclasses
import weakref

import numpy as np

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.values.border import NO_SEQUENCE, NOT_BELOW, Border
from klss_spiel.algorithms.values.reduction import reduce_form
from klss_spiel.arrays import BoolArray, FloatArray
from klss_spiel.best_response import best_response_to
from klss_spiel.linear_program import LinearSolver, Method, solve
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import (
    SequenceForm,
    make_sequence_form,
    sequence_form_from_tree,
    treeplex_from_tree,
)
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, TERMINAL, GameTree

_GAME_VALUES: weakref.WeakKeyDictionary[GameTree, float] = weakref.WeakKeyDictionary()


@dataclasses.dataclass(frozen=True, eq=False)
class Completion:
    """The best continuation of one player's trunk strategy.

    Attributes:
      player: whose.
      guarantee: what the trunk with this continuation gets against every opponent.
      behavior: [S of the bottoms] the continuation.
    """

    player: int
    guarantee: float
    behavior: FloatArray


def game_value(tree: GameTree) -> float:
    """Player 0's value of the game, by linear programming; computed once for each tree."""
    if tree not in _GAME_VALUES:
        # Far faster here than simplex: the whole game is the largest program around.
        form = sequence_form_from_tree(tree)
        _GAME_VALUES[tree] = solve(form, method=Method.INTERIOR_POINT).value
    return _GAME_VALUES[tree]


def safe_completion(
    border: Border,
    player: int,
    trunk: FloatArray,
    solver: LinearSolver | None = None,
    iterations: int | None = None,
) -> Completion:
    """The continuation that makes most of a trunk strategy against any opponent.

    Args:
      border: the border.
      player: whose trunk strategy.
      trunk: [S of the trunk] its behaviour probabilities.
      solver: a solver to reuse.
      iterations: of CFR+ instead of the exact program, for games that are too large for
        it; what the continuation found gets is then a lower bound of the best.
    """
    reduced = reduce_form(_completion_form(border, player, trunk))
    if iterations is None:
        solution = (solver or LinearSolver()).solve(reduced.form, player)
        return Completion(player, solution.value, reduced.expand(player, solution.behavior))
    found = cfr.solve(reduced.form, iterations)
    value = -best_response_to(reduced.form, 1 - player, found.average[player]).value
    behavior = found.average_behavior[player]
    return Completion(player, value, reduced.expand(player, behavior))


def trunk_exploitability(
    border: Border,
    trunk: tuple[FloatArray, FloatArray],
    solver: LinearSolver | None = None,
    iterations: int | None = None,
) -> float:
    """What both trunk strategies together have given away for good.

    The sum over the players of the game's value minus what the safe completion gets. As
    the thesis' figures, and unlike OpenSpiel's exploitability, it is not halved.

    Args:
      border: the border.
      trunk: for each player, [S of the trunk] behaviour probabilities.
      solver: a solver to reuse.
      iterations: as in `safe_completion`; the result is then an upper bound.
    """
    # The game's value cancels: player 1's is minus that of player 0.
    return -sum(safe_completion(border, p, trunk[p], solver, iterations).guarantee for p in PLAYERS)


def trunk_exploitabilities(
    border: Border,
    trunk: tuple[FloatArray, FloatArray],
    solver: LinearSolver | None = None,
) -> tuple[float, float]:
    """The same for each player."""
    value = game_value(border.tree)
    return (
        value - safe_completion(border, 0, trunk[0], solver).guarantee,
        -value - safe_completion(border, 1, trunk[1], solver).guarantee,
    )


def decided_exploitability(
    policy: BehaviorPolicy,
    player: int,
    decided: BoolArray,
    solver: LinearSolver | None = None,
) -> float:
    """What a player has given away for good by the strategy at some of his infosets.

    The same as for a trunk, for decisions that need not form one: those that a growing
    tree has come to.

    Args:
      policy: the strategies.
      player: whose.
      decided: [S of the tree] sequences at whose infosets the policy counts; at all others
        the player may still do as he likes.
      solver: a solver to reuse.
    """
    form = sequence_form_from_tree(policy.tree)
    own = policy.probabilities[player]
    if decided.shape != own.shape:
        raise ValueError(
            f"expected to be told of {len(own)} sequences of player {player} which are decided, "
            f"got an array of shape {decided.shape}"
        )
    bounds = np.where(decided, own, 0.0)
    best = (solver or LinearSolver()).solve(form, player, lower_bounds=bounds).value
    value = game_value(policy.tree)
    return (value if player == 0 else -value) - best


def complete(
    border: Border, trunk: tuple[FloatArray, FloatArray], solver: LinearSolver | None = None
) -> BehaviorPolicy:
    """The policy of the whole game that plays a trunk and its safe completion."""
    first, second = (safe_completion(border, p, trunk[p], solver).behavior for p in PLAYERS)
    return border.join(trunk, (first, second))


def _completion_form(border: Border, player: int, trunk: FloatArray) -> SequenceForm:
    """The player's bottoms, weighted with the own range, against the opponent's whole game."""
    tree, other = border.tree, 1 - player
    own = border.trunk_part.form.treeplexes[player]
    trunk = np.asarray(trunk, dtype=np.float64)
    if trunk.shape != (own.num_sequences,):
        raise ValueError(
            f"expected {own.num_sequences} probabilities of player {player} in the trunk, got an "
            f"array of shape {trunk.shape}"
        )
    plan = own.realization_plan(trunk)
    reach = plan[border.trunk_sequence[player]]
    leaves = np.flatnonzero(tree.player == TERMINAL)
    root = border.root[leaves]
    above = root == NOT_BELOW
    sequence = tree.sequence[player, leaves]
    in_bottom = border.bottom_part.own_sequence[player][sequence]
    in_bottom = np.where(in_bottom == NO_SEQUENCE, 1 + border.node_infoset[player][root], in_bottom)
    in_trunk = border.trunk_part.own_sequence[player][sequence]
    weight = np.where(
        above, plan[np.where(above, in_trunk, 0)], reach[border.node_infoset[player][root]]
    )
    value = tree.chance_reach[leaves] * tree.utility[leaves] * weight
    rows = np.where(above, EMPTY_SEQUENCE, in_bottom)
    columns = tree.sequence[other, leaves]
    treeplexes = [border.bottom_part.form.treeplexes[player], treeplex_from_tree(tree, other)]
    if player == 0:
        return make_sequence_form((treeplexes[0], treeplexes[1]), rows, columns, value)
    return make_sequence_form((treeplexes[1], treeplexes[0]), columns, rows, value)
