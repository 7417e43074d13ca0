"""Compiled loops of the search: PCFR+ on a growing tree.

Rows and letters as in `tree`. The readable counterpart of the iterations is
`cfr_reference`, which takes any regret minimiser; tests hold the two together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from klss_spiel.algorithms import regret_kernels
from klss_spiel.algorithms.regret import PRM_PLUS
from klss_spiel.kernels import kernel
from klss_spiel.tree import CHANCE

# How the opponent's choice at node 0 is made up; see `root.RootGadget`.
MAXMARGIN_ONLY = 0
RESOLVE_ONLY = 1
BLENDED = 2

# Numba freezes globals; plain integers keep the comparisons cheap.
_CHANCE = int(CHANCE)

# What PRM+ does is the same in every iteration.
_PRM_PLUS = regret_kernels.undiscounted(PRM_PLUS)


class Rules(NamedTuple):
    """How iterations are done.

    Attributes:
      averaging: iteration t weighs t to this power in the average.
      pruning: leave alone infosets to which the opponent does not play (Obscuro,
        Figure 10), else treat them as infosets where nothing was to be gained.
      gadget: MAXMARGIN_ONLY, RESOLVE_ONLY or BLENDED.
      searcher: the searching player.
    """

    averaging: int
    pruning: bool
    gadget: int
    searcher: int


@kernel
def iterate(
    count: int,
    before: int,
    rules: Rules,
    root: Any,
    nodes: Any,
    families: Any,
    num_families: int,
    players: Any,
) -> None:
    """`count` iterations of PCFR+: first the searching player, then the opponent.

    Args:
      count: how many.
      before: how many there were before.
      rules: how.
      root: `RootArrays`.
      nodes: `NodeArrays`.
      families: `FamilyArrays`.
      num_families: rows of `families` in use.
      players: a pair of `PlayerArrays`.
    """
    for step in range(count):
        t = before + step + 1
        weight = float(t) ** rules.averaging
        for turn in range(2):
            player = rules.searcher if turn == 0 else 1 - rules.searcher
            own = players[player]
            _start_iteration(own, weight)
            leaf_payoffs(player, nodes, families, num_families, players)
            _regrets(own, t, rules.pruning)
            if turn == 1:
                _root_choice(root, own.sequences, rules.gadget)
            plan_from_strategy(own)


@kernel
def _start_iteration(player: Any, weight: float) -> None:
    """Adds the plan to the average and forgets the last iteration's values."""
    own, infosets = player.sequences, player.infosets
    utility, plan, average = own.utility, own.plan, own.average
    for s in range(player.num_sequences):
        average[s] += weight * plan[s]
        utility[s] = own.bonus[s]
    for i in range(player.num_infosets):
        infosets.visited[i] = False
        infosets.reach[i] = 0.0


@kernel
def leaf_payoffs(player: int, nodes: Any, families: Any, num_families: int, players: Any) -> None:
    """Adds to the player's `utility` what the leaves pay against the other's plan.

    Families that the other player does not play to are skipped. Marks the infosets
    that he does play to and sums his reach there.
    """
    own, infosets = players[player].sequences, players[player].infosets
    other = players[1 - player].sequences
    sign = 1.0 if player == 0 else -1.0
    for f in range(num_families):
        reach = families.weight[f] * other.plan[families.sequence[f, 1 - player]]
        if reach == 0.0:
            continue
        first = families.first_child[f]
        count = families.num_children[f]
        values = nodes.value[first : first + count]
        mover = families.player[f]
        if mover == player:
            infoset = families.infoset[f]
            infosets.visited[infoset] = True
            infosets.reach[infoset] += reach
            reach *= sign
            start = infosets.first_sequence[infoset]
            utility = own.utility[start : start + count]
            for k in range(count):
                utility[k] += reach * values[k]
        else:
            if mover == _CHANCE:
                total = _dot(nodes.chance[first : first + count], values)
            else:
                # The children's sequences of the mover are consecutive.
                start = nodes.sequence[first, 1 - player]
                total = _dot(other.strategy[start : start + count], values)
            own.utility[families.sequence[f, player]] += sign * reach * total


@kernel
def _dot(first: Any, second: Any) -> float:
    """Sum of products, in four parts that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    count = len(first)
    whole = count - count % 4
    for k in range(0, whole, 4):
        a += first[k] * second[k]
        b += first[k + 1] * second[k + 1]
        c += first[k + 2] * second[k + 2]
        d += first[k + 3] * second[k + 3]
    for k in range(whole, count):
        a += first[k] * second[k]
    return (a + b) + (c + d)


@kernel
def _regrets(player: Any, t: int, pruning: bool) -> None:
    """Values bottom-up; PRM+ updates of regrets and strategies on the way."""
    infosets, own = player.infosets, player.sequences
    for i in range(player.num_infosets - 1, -1, -1):
        visited = infosets.visited[i]
        if pruning and not visited:
            continue
        first = infosets.first_sequence[i]
        last = first + infosets.num_actions[i]
        expected = regret_kernels.expected_value(first, last, own.strategy, own.utility)
        own.utility[infosets.parent_sequence[i]] += expected
        reach = infosets.reach[i]
        if reach > 0.0:
            for s in range(first, last):
                own.value[s] = own.utility[s] / reach
        if infosets.frozen[i]:
            continue
        for s in range(first, last):
            own.instant[s] = own.utility[s] - expected
        regret_kernels.update(
            _PRM_PLUS, first, last, expected, own.utility, own.regret, own.strategy
        )
        for s in range(first, last):
            if own.strategy[s] == 0.0:
                own.last_absent[s] = t


@kernel
def _root_choice(root: Any, opponent: Any, gadget: int) -> None:
    """The opponent's regret updates and choice at node 0 (Obscuro, Figure 10)."""
    num_roots = len(root.alternate)
    utility = opponent.utility[1 : 1 + num_roots]
    regret = opponent.regret[1 : 1 + num_roots]
    instant = opponent.instant[1 : 1 + num_roots]
    expected = 0.0
    for j in range(num_roots):
        # What the opponent gains over the alternate value, which is the searcher's.
        utility[j] += root.alternate[j]
        expected += root.maxmargin[j] * utility[j]
        opponent.value[1 + j] = utility[j]
    for j in range(num_roots):
        instant[j] = utility[j] - expected
    # Not a plain 0, for which numba would compile the update once more.
    start = np.int32(0)
    regret_kernels.update(_PRM_PLUS, start, num_roots, expected, utility, regret, root.maxmargin)
    largest = 0.0
    for j in range(num_roots):
        _enter_step(root, j, utility[j])
        largest = max(largest, root.enter[j])
    if gadget == MAXMARGIN_ONLY:
        largest = 0.0
    elif gadget == RESOLVE_ONLY:
        largest = 1.0
    for j in range(num_roots):
        opponent.strategy[1 + j] = (
            largest * root.prior[j] * root.enter[j] + (1.0 - largest) * root.maxmargin[j]
        )


@kernel
def _enter_step(root: Any, j: int, utility: float) -> None:
    """PRM+ between entering (worth `utility`) and leaving (worth 0) at root infoset j."""
    enter = root.enter[j]
    enter_instant = (1.0 - enter) * utility
    leave_instant = -enter * utility
    enter_regret = regret_kernels.accumulated(_PRM_PLUS, root.enter_regret[j], enter_instant)
    leave_regret = regret_kernels.accumulated(_PRM_PLUS, root.leave_regret[j], leave_instant)
    root.enter_regret[j], root.leave_regret[j] = enter_regret, leave_regret
    enter_score = max(enter_regret + enter_instant, 0.0)
    leave_score = max(leave_regret + leave_instant, 0.0)
    total = enter_score + leave_score
    # With nothing to choose between them the opponent stays out: the searching
    # player's strategy is safe, and maxmargin goes on improving it.
    root.enter[j] = enter_score / total if total > 0.0 else 0.0


@kernel
def plan_from_strategy(player: Any) -> None:
    """Sets the realization plan of the current strategy in `PlayerArrays`."""
    infosets, own = player.infosets, player.sequences
    for i in range(player.num_infosets):
        first = infosets.first_sequence[i]
        last = first + infosets.num_actions[i]
        reach = own.plan[infosets.parent_sequence[i]]
        regret_kernels.extend_plan(first, last, reach, own.strategy, own.plan)


@kernel
def best_response(player: Any, free_root: bool) -> None:
    """Best-response values in `utility`, which must hold the leaves' payoffs.

    Args:
      player: `PlayerArrays`.
      free_root: infoset 0 is the choice at node 0 and is left out.
    """
    infosets, own = player.infosets, player.sequences
    for i in range(player.num_infosets - 1, 0 if free_root else -1, -1):
        first = infosets.first_sequence[i]
        last = first + infosets.num_actions[i]
        if infosets.frozen[i]:
            value = regret_kernels.expected_value(first, last, own.strategy, own.utility)
        else:
            value = regret_kernels.best_value(first, last, own.utility)
        own.utility[infosets.parent_sequence[i]] += value


@kernel
def expected_values(nodes: Any, num_nodes: int, strategy_0: Any, strategy_1: Any) -> Any:
    """[N] player 0's expected payoff at each node when both play their strategies.

    Node 0 gets 0: the choice made there need not be a distribution.
    """
    values = np.empty(num_nodes)
    for n in range(num_nodes - 1, -1, -1):
        first = nodes.first_child[n]
        if first < 0:
            values[n] = nodes.value[n]
            continue
        mover = nodes.player[n]
        total = 0.0
        for child in range(first, first + nodes.num_children[n]):
            if mover == _CHANCE:
                total += nodes.chance[child] * values[child]
            elif mover == 0:
                total += strategy_0[nodes.sequence[child, 0]] * values[child]
            else:
                total += strategy_1[nodes.sequence[child, 1]] * values[child]
        values[n] = total
    values[0] = 0.0
    return values
