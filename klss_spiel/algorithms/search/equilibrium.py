"""The game on a search tree as a sequence form: exact equilibria, values and gaps."""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.search import cfr_kernels as kernels
from klss_spiel.algorithms.search.root import RootArrays, RootGadget
from klss_spiel.algorithms.search.tree import ROOT_INFOSET, SearchTree
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.best_response import best_response
from klss_spiel.best_response import policy_values as core_policy_values
from klss_spiel.linear_program import LinearSolution, solve
from klss_spiel.sequence_form import SequenceForm, Treeplex, make_sequence_form
from klss_spiel.tree import EMPTY_SEQUENCE, NO_INFOSET, PLAYERS

# Margins that are negative by less than this are taken to be 0.
_MARGIN_TOLERANCE = 1e-9


def node_values(tree: SearchTree, behaviors: tuple[FloatArray, FloatArray]) -> FloatArray:
    """[N] player 0's expected payoff at each node; 0 at node 0.

    Args:
      tree: the tree.
      behaviors: for each player, [S] behaviour probabilities.
    """
    values: FloatArray = kernels.expected_values(tree.nodes, tree.num_nodes, *behaviors)
    return values


def maxmargin_form(tree: SearchTree, root: RootArrays) -> SequenceForm:
    """The maxmargin game: sequences have the tree's numbers."""
    row, column, value = _leaf_entries(tree)
    opponent = tree.opponent
    chosen = 1 + np.arange(tree.num_roots, dtype=np.int32)
    sides = [np.zeros_like(chosen), np.zeros_like(chosen)]
    sides[opponent] = chosen
    sign = 1.0 if tree.player == 0 else -1.0
    return make_sequence_form(
        (tree.treeplex(0), tree.treeplex(1)),
        np.concatenate([row, sides[0]]),
        np.concatenate([column, sides[1]]),
        np.concatenate([value, -sign * root.alternate]),
    )


def resolve_form(tree: SearchTree, root: RootArrays) -> tuple[SequenceForm, IntArray]:
    """The resolve game, and [S of the opponent] its numbers of the tree's sequences.

    Entering at root infoset j is sequence 1 + 2j of the opponent, leaving 2 + 2j; all
    other sequences move up by m.
    """
    m, opponent = tree.num_roots, tree.opponent
    plex = tree.treeplex(opponent)
    number = np.arange(plex.num_sequences, dtype=np.int32) + m
    number[EMPTY_SEQUENCE] = EMPTY_SEQUENCE
    number[1 : 1 + m] = 1 + 2 * np.arange(m)
    below = slice(ROOT_INFOSET + 1, None)
    gadget = Treeplex(
        parent_sequence=np.concatenate(
            [np.zeros(m, dtype=np.int32), number[plex.parent_sequence[below]]]
        ),
        first_sequence=np.concatenate([number[1 : 1 + m], number[plex.first_sequence[below]]]),
        num_actions=np.concatenate([np.full(m, 2, dtype=np.int32), plex.num_actions[below]]),
        num_sequences=plex.num_sequences + m,
    )
    sides = list(_leaf_entries(tree)[:2])
    value = _leaf_entries(tree)[2] * root.prior[_root_of_sequence(tree)[sides[opponent]]]
    sides[opponent] = number[sides[opponent]]
    enters = [np.zeros(m, dtype=np.int32), np.zeros(m, dtype=np.int32)]
    enters[opponent] = number[1 : 1 + m]
    sign = 1.0 if tree.player == 0 else -1.0
    plexes = [tree.treeplex(0), tree.treeplex(1)]
    plexes[opponent] = gadget
    form = make_sequence_form(
        (plexes[0], plexes[1]),
        np.concatenate([sides[0], enters[0]]),
        np.concatenate([sides[1], enters[1]]),
        np.concatenate([value, -sign * root.prior * root.alternate]),
    )
    return form, number


def solve_exactly(tree: SearchTree, root: RootArrays, gadget: RootGadget) -> float:
    """Puts equilibrium strategies of the gadget game on the tree.

    With `BLEND`, maxmargin is solved first, and resolve if its value is negative
    (ZS21, Algorithm 15, lines 22-30). Infosets that the equilibrium does not reach
    keep their strategies.

    Returns:
      The searching player's value of the gadget game that was solved last.
    """
    player = tree.player
    bounds = _frozen_bounds(tree)
    value = 0.0
    if gadget != RootGadget.RESOLVE:
        form = maxmargin_form(tree, root)
        solution = solve(form, player, lower_bounds=bounds)
        _write(tree, player, solution.behavior, solution.plan)
        _write(tree, tree.opponent, solution.opponent_behavior, solution.opponent_plan)
        chosen = slice(1, 1 + tree.num_roots)
        root.maxmargin[:] = tree.sequences[tree.opponent].strategy[chosen]
        root.enter[:] = 0.0
        value = solution.value
    if gadget == RootGadget.RESOLVE or (gadget == RootGadget.BLEND and value < -_MARGIN_TOLERANCE):
        value = _solve_resolve(tree, root, bounds)
    for rows in tree.players:
        kernels.plan_from_strategy(rows)
    return value


def reward_information(tree: SearchTree, own_id: int, weight: float) -> None:
    """Sets the searching player's bonus for each action a at an infoset (ZS21, D.3).

    The bonus is -2^-H(a) times `weight`, where H(a) is the entropy in bits of what the
    player is told next, all expanded nodes of the infoset being equally likely.
    """
    player = tree.player
    infoset = tree.infoset_of(player, own_id)
    if infoset == NO_INFOSET:
        return
    nodes = tree.nodes
    families = tree.families
    own = np.flatnonzero(
        (families.player[: tree.num_families] == player)
        & (families.infoset[: tree.num_families] == infoset)
    )
    first = int(tree.infosets[player].first_sequence[infoset])
    for a in range(int(tree.infosets[player].num_actions[infoset])):
        told = nodes.infoset_ids[families.first_child[own] + a, player]
        share = np.unique(told, return_counts=True)[1] / len(told)
        entropy = -float(share @ np.log2(share))
        tree.sequences[player].bonus[first + a] = -weight * 2.0**-entropy


def _solve_resolve(tree: SearchTree, root: RootArrays, bounds: FloatArray | None) -> float:
    form, number = resolve_form(tree, root)
    solution: LinearSolution = solve(form, tree.player, lower_bounds=bounds)
    _write(tree, tree.player, solution.behavior, solution.plan)
    opponent_behavior = solution.opponent_behavior[number]
    _write(tree, tree.opponent, opponent_behavior, solution.opponent_plan[number])
    chosen = slice(1, 1 + tree.num_roots)
    root.enter[:] = opponent_behavior[chosen]
    tree.sequences[tree.opponent].strategy[chosen] = root.prior * root.enter
    return solution.value


def nash_gap(tree: SearchTree, root: RootArrays, gadget: RootGadget) -> float:
    """What both players together could gain by deviating in the gadget game in use.

    The current strategies are measured. With `BLEND` the game in use is resolve if
    the opponent enters anywhere, else maxmargin. Scratch values of the tree change.
    """
    opponent, player, m = tree.opponent, tree.player, tree.num_roots
    resolves = gadget == RootGadget.RESOLVE or (
        gadget == RootGadget.BLEND and bool(np.any(root.enter > 0.0))
    )
    theirs = tree.sequences[opponent]
    chosen = slice(1, 1 + m)
    blended = theirs.strategy[chosen].copy()
    theirs.strategy[chosen] = root.prior * root.enter if resolves else root.maxmargin
    kernels.plan_from_strategy(tree.players[opponent])
    own_best = _best_response(tree, player)[EMPTY_SEQUENCE]
    own_best -= float(theirs.strategy[chosen] @ root.alternate)
    margins = _best_response(tree, opponent)[chosen] + root.alternate
    if resolves:
        their_best = float(root.prior @ np.maximum(margins, 0.0))
    else:
        their_best = float(margins.max())
    theirs.strategy[chosen] = blended
    kernels.plan_from_strategy(tree.players[opponent])
    return float(own_best) + their_best


def policy_values(
    tree: SearchTree, player: int, behaviors: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """[S] the player's counterfactual value of each sequence under given behaviours."""
    utility = _leaf_values(tree, player, behaviors[1 - player])
    return core_policy_values(tree.treeplex(player), utility, behaviors[player])


def best_response_behavior(
    tree: SearchTree, player: int, other: FloatArray, own: FloatArray
) -> FloatArray:
    """[S] a pure best response of the player to the other's behaviour ([S]).

    At node 0 the player's `own` behaviour ([S]) is kept.
    """
    response = best_response(tree.treeplex(player), _leaf_values(tree, player, other)).behavior
    if player == tree.opponent:
        response[1 : 1 + tree.num_roots] = own[1 : 1 + tree.num_roots]
    return response


def _leaf_values(tree: SearchTree, player: int, other: FloatArray) -> FloatArray:
    """[S] what leaves and bonuses pay to the player's sequences against a behaviour."""
    plan = tree.treeplex(1 - player).realization_plan(other)
    nodes, count = tree.nodes, tree.num_sequences[player]
    leaves = np.flatnonzero(nodes.first_child[: tree.num_nodes] < 0)
    value = nodes.weight[leaves] * nodes.value[leaves]
    value *= plan[nodes.sequence[leaves, 1 - player]]
    sign = 1.0 if player == 0 else -1.0
    paid = np.bincount(nodes.sequence[leaves, player], weights=sign * value, minlength=count)
    total: FloatArray = tree.sequences[player].bonus[:count] + paid
    return total


def _best_response(tree: SearchTree, player: int) -> FloatArray:
    """[S] values when the player plays a best response, except at node 0."""
    own, count = tree.sequences[player], tree.num_sequences[player]
    own.utility[:count] = own.bonus[:count]
    players = tree.players
    kernels.leaf_payoffs(player, tree.nodes, tree.families, tree.num_families, players)
    kernels.best_response(players[player], player == tree.opponent)
    return own.utility[:count].copy()


def _leaf_entries(tree: SearchTree) -> tuple[IntArray, IntArray, FloatArray]:
    """Payoff entries of all leaves and bonuses, with the tree's sequence numbers."""
    nodes = tree.nodes
    leaves = np.flatnonzero(nodes.first_child[: tree.num_nodes] < 0)
    sides = [nodes.sequence[leaves, 0], nodes.sequence[leaves, 1]]
    value = nodes.weight[leaves] * nodes.value[leaves]
    for p in PLAYERS:
        bonus = tree.sequences[p].bonus[: tree.num_sequences[p]]
        paid = np.flatnonzero(bonus).astype(np.int32)
        sides[p] = np.concatenate([sides[p], paid])
        sides[1 - p] = np.concatenate([sides[1 - p], np.zeros(len(paid), dtype=np.int32)])
        value = np.concatenate([value, bonus[paid] if p == 0 else -bonus[paid]])
    return sides[0], sides[1], value


def _root_of_sequence(tree: SearchTree) -> IntArray:
    """[S of the opponent] the root infoset each sequence starts with; 0 for the empty one."""
    opponent = tree.opponent
    infosets = tree.infosets[opponent]
    root = np.zeros(tree.num_sequences[opponent], dtype=np.int32)
    root[1 : 1 + tree.num_roots] = np.arange(tree.num_roots)
    for i in range(1, tree.num_infosets[opponent]):
        first = int(infosets.first_sequence[i])
        own = slice(first, first + int(infosets.num_actions[i]))
        root[own] = root[infosets.parent_sequence[i]]
    return root


def _frozen_bounds(tree: SearchTree) -> FloatArray | None:
    """[S] the searching player's probabilities at frozen infosets, 0 elsewhere."""
    player = tree.player
    frozen = tree.infosets[player].frozen[: tree.num_infosets[player]]
    if not np.any(frozen):
        return None
    count = tree.num_sequences[player]
    bounds = np.zeros(count)
    owned = np.arange(1, count)
    fixed = owned[frozen[tree.sequences[player].infoset[owned]]]
    bounds[fixed] = tree.sequences[player].strategy[fixed]
    return bounds


def _write(tree: SearchTree, player: int, behavior: FloatArray, plan: FloatArray) -> None:
    """Takes over a behaviour ([S]) at the infosets that the plan ([S]) reaches."""
    infosets, sequences = tree.infosets[player], tree.sequences[player]
    owned = np.arange(1, tree.num_sequences[player])
    parent = infosets.parent_sequence[sequences.infoset[owned]]
    reached = owned[plan[parent] > 0.0]
    sequences.strategy[reached] = behavior[reached]
