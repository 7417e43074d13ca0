"""One iteration of CFR on a search tree, for any regret minimiser.

The readable counterpart of `cfr_kernels.iterate`: the same arrays, the core's
regret minimisers applied to all infosets at once, no speed to speak of.
"""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.regret import Prediction, RegretMinimizer
from klss_spiel.algorithms.search.root import RootArrays, RootGadget
from klss_spiel.algorithms.search.tree import ROOT_INFOSET, SearchTree
from klss_spiel.arrays import FloatArray
from klss_spiel.tree import CHANCE, NO_INFOSET


def iterate(
    tree: SearchTree,
    root: RootArrays,
    gadget: RootGadget,
    minimizer: RegretMinimizer,
    iteration: int,
    averaging: int,
    pruning: bool,
) -> None:
    """Updates first the searching player, then the opponent.

    Args:
      tree: the tree; its strategies, regrets and averages change.
      root: the choice at node 0; changes too.
      gadget: which gadget game is solved.
      minimizer: the regret minimiser.
      iteration: the number of this iteration, counted from 1.
      averaging: its weight in the average is `iteration` to this power.
      pruning: leave alone infosets to which the opponent does not play.
    """
    if minimizer.prediction is Prediction.REEVALUATED:
        raise ValueError(f"search trees do not re-evaluate predictions, got {minimizer.name}")
    for player in (tree.player, tree.opponent):
        _update_player(tree, player, minimizer, iteration, averaging, pruning)
        if player == tree.opponent:
            update_root(tree, root, gadget, minimizer, iteration)
        count = tree.num_sequences[player]
        own = tree.sequences[player]
        own.plan[:count] = tree.treeplex(player).realization_plan(own.strategy[:count])


def payoffs(tree: SearchTree, player: int) -> FloatArray:
    """[S] what the leaves pay to each of the player's sequences."""
    nodes, count = tree.nodes, tree.num_nodes
    leaves = np.flatnonzero(nodes.first_child[:count] < 0)
    opponent_plan = tree.sequences[1 - player].plan[nodes.sequence[leaves, 1 - player]]
    sign = 1.0 if player == 0 else -1.0
    utility = np.bincount(
        nodes.sequence[leaves, player],
        weights=sign * nodes.weight[leaves] * nodes.value[leaves] * opponent_plan,
        minlength=tree.num_sequences[player],
    )
    return utility.astype(np.float64)


def reaches(tree: SearchTree, player: int) -> FloatArray:
    """[I] probability that chance and the opponent play to each of the player's infosets."""
    nodes, count = tree.nodes, tree.num_nodes
    own = np.flatnonzero((nodes.player[:count] == player) & (nodes.first_child[:count] >= 0))
    opponent_plan = tree.sequences[1 - player].plan[nodes.sequence[own, 1 - player]]
    reach = np.bincount(
        nodes.infoset[own],
        weights=nodes.weight[own] * opponent_plan,
        minlength=tree.num_infosets[player],
    )
    return reach.astype(np.float64)


def _update_player(
    tree: SearchTree,
    player: int,
    minimizer: RegretMinimizer,
    iteration: int,
    averaging: int,
    pruning: bool,
) -> None:
    count, num_infosets = tree.num_sequences[player], tree.num_infosets[player]
    own, infosets = tree.sequences[player], tree.infosets[player]
    treeplex = tree.treeplex(player)
    own.average[:count] += float(iteration) ** averaging * own.plan[:count]

    utility = own.bonus[:count] + payoffs(tree, player)
    expected = np.zeros(num_infosets)
    for level in reversed(treeplex.levels):
        terms = utility[level.sequences] * own.strategy[level.sequences]
        expected[level.infosets] = np.add.reduceat(terms, level.starts)
        np.add.at(utility, level.parents, expected[level.infosets])
    own.utility[:count] = utility
    reach = reaches(tree, player)
    infosets.reach[:num_infosets] = reach
    infosets.visited[:num_infosets] = reach > 0.0

    owned = np.flatnonzero(treeplex.sequence_infoset != NO_INFOSET)
    owner = treeplex.sequence_infoset
    reached = owned[reach[owner[owned]] > 0.0]
    own.value[reached] = utility[reached] / reach[owner[reached]]

    updated = ~infosets.frozen[:num_infosets]
    if pruning:
        updated &= reach > 0.0
    changed = owned[updated[owner[owned]]]
    instant = utility[changed] - expected[owner[changed]]
    regret = minimizer.accumulate(own.regret[changed], instant, iteration)
    scores = np.zeros(count)
    scores[changed] = np.maximum(minimizer.scores(regret, instant), 0.0)
    own.regret[changed] = regret
    own.instant[changed] = instant
    own.strategy[changed] = treeplex.behavior(scores)[changed]
    absent = changed[own.strategy[changed] == 0.0]
    own.last_absent[absent] = iteration


def update_root(
    tree: SearchTree,
    root: RootArrays,
    gadget: RootGadget,
    minimizer: RegretMinimizer,
    iteration: int,
) -> None:
    """The opponent's regrets and choice at node 0 (Obscuro, Figure 10, lines 5-12)."""
    opponent = tree.sequences[tree.opponent]
    first = int(tree.infosets[tree.opponent].first_sequence[ROOT_INFOSET])
    chosen = slice(first, first + tree.num_roots)
    # What the opponent gains over the alternate value, which is the searcher's.
    utility = opponent.utility[chosen] + root.alternate
    opponent.utility[chosen] = utility
    opponent.value[chosen] = utility

    instant = utility - root.maxmargin @ utility
    regret = minimizer.accumulate(opponent.regret[chosen], instant, iteration)
    scores = np.maximum(minimizer.scores(regret, instant), 0.0)
    opponent.regret[chosen] = regret
    opponent.instant[chosen] = instant
    total = scores.sum()
    root.maxmargin[:] = scores / total if total > 0.0 else 1.0 / tree.num_roots

    instants = np.stack([(1.0 - root.enter) * utility, -root.enter * utility])
    regrets = minimizer.accumulate(
        np.stack([root.enter_regret, root.leave_regret]), instants, iteration
    )
    scores = np.maximum(minimizer.scores(regrets, instants), 0.0)
    root.enter_regret[:], root.leave_regret[:] = regrets
    totals = scores.sum(axis=0)
    root.enter[:] = np.where(totals > 0.0, scores[0] / np.where(totals > 0.0, totals, 1.0), 0.0)

    if gadget == RootGadget.MAXMARGIN:
        blend = 0.0
    elif gadget == RootGadget.RESOLVE:
        blend = 1.0
    else:
        blend = float(root.enter.max())
    opponent.strategy[chosen] = blend * root.prior * root.enter + (1.0 - blend) * root.maxmargin


def expected_values(tree: SearchTree) -> FloatArray:
    """[N] player 0's expected payoff at each node under the current strategies."""
    nodes = tree.nodes
    values = nodes.value[: tree.num_nodes].copy()
    for family in range(tree.num_families - 1, 0, -1):
        node = int(tree.families.node[family])
        first = int(tree.families.first_child[family])
        children = slice(first, first + int(tree.families.num_children[family]))
        mover = int(nodes.player[node])
        if mover == CHANCE:
            probabilities = nodes.chance[children]
        else:
            probabilities = tree.sequences[mover].strategy[nodes.sequence[children, mover]]
        values[node] = probabilities @ values[children]
    return values
