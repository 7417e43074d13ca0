"""Opponents limited to some strategies (OLSS, section 5).

In OLSS-I the opponent picks one of n strategies to reach the subgame by and then
plays as he likes; in OLSS-II the strategy binds him to the end, so that he becomes
part of the environment and the subgame is a tree of the player's infosets alone.
The strategies are the opponent's sides of ordinary policies.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from klss_spiel.algorithms.subgame.blueprint_values import BlueprintValues
from klss_spiel.algorithms.subgame.gadgets import MarginGame
from klss_spiel.algorithms.subgame.margin_template import distinct_weights
from klss_spiel.algorithms.subgame.recipes import SubgameRecipe
from klss_spiel.algorithms.subgame.regions import Region, RegionIndex
from klss_spiel.arrays import BoolArray, FloatArray, sum_at
from klss_spiel.policy import BehaviorPolicy, check_same_game
from klss_spiel.sequence_form import Treeplex, treeplex_from_tree
from klss_spiel.tree import EMPTY_SEQUENCE, TERMINAL

_MAX_PURE_STRATEGIES = 100_000


def strategy_plans(
    index: RegionIndex, values: BlueprintValues, recipe: SubgameRecipe
) -> FloatArray:
    """[n, S of the opponent] realization plans of the recipe's opponent strategies."""
    if recipe.opponent_strategies is None:
        return values.opponent_plan[np.newaxis]
    for policy in recipe.opponent_strategies:
        check_same_game(index.tree, policy.tree, "an opponent strategy is of another game")
    opponent = index.opponent
    return np.stack([p.realization_plans[opponent] for p in recipe.opponent_strategies])


def reaching_weights(index: RegionIndex, region: Region, plans: FloatArray) -> FloatArray:
    """[n', R] how likely each root is once a strategy has reached the player's infoset.

    Strategies that cannot reach it are left out, and so are those that lead to the
    same probabilities as an earlier one.

    Args:
      index: the game.
      region: an order-1 region.
      plans: [n, S of the opponent] realization plans.
    """
    return distinct_weights(root_masses(index, region, plans))


def playing_margins(
    index: RegionIndex,
    values: BlueprintValues,
    region: Region,
    plans: FloatArray,
    recipe: SubgameRecipe,
) -> MarginGame:
    """The margins of OLSS-II, one per strategy that can reach the infoset.

    Margin i is d + eta R (OLSS, equation 11): what the player gains on the blueprint
    against strategy i, and what that strategy gives away against the blueprint. With
    the opponent part of the environment, payoffs depend on the player's sequence only:
    equations 12 to 14 multiply out to one number per sequence and strategy, so the
    subgame has no opponent infosets.

    Args:
      index: the game.
      values: the blueprint's tables.
      region: an order-1 region.
      plans: [n, S of the opponent] realization plans.
      recipe: says the gift scale.
    """
    tree, me, other = index.tree, index.player, index.opponent
    masses = root_masses(index, region, plans)
    usable = masses.sum(axis=1) > 0.0
    plans, masses = plans[usable], masses[usable]
    total = masses.sum(axis=1, keepdims=True)
    if not len(plans):
        raise ValueError("no strategy reaches the infoset")
    # [n, Z]; the player's own factors come in through x.
    at_leaves = index.payoff[region.leaves] * plans[:, tree.sequence[other, region.leaves]] / total
    blueprint = region.treeplex.realization_plan(values.behavior[region.sequences])
    constant = -(at_leaves @ blueprint[region.leaf_row])

    # What strategy i gets below each root against the blueprint, in the whole game.
    below = index.other.nodes_below(region.roots)
    leaves = below[tree.player[below] == TERMINAL]
    root = index.root_of(region.roots, tree.infoset[other, leaves])
    payoff = index.payoff[leaves] * values.plan[tree.sequence[me, leaves]]
    came_by = plans[:, tree.infosets[other].parent_sequence[region.roots]]
    for i, plan in enumerate(plans):
        got = sum_at(root, payoff * plan[tree.sequence[other, leaves]], region.num_roots)
        lost = got - came_by[i] * values.value[region.roots]
        # masses / came_by is chance's part alone, so roots that i cannot reach drop out.
        reached = came_by[i] > 0.0
        share = masses[i, reached] / came_by[i, reached] / values.reach[region.roots[reached]]
        constant[i] += recipe.gift_scale * float(share @ lost[reached]) / total[i, 0]

    count = len(plans)
    none = np.zeros(0, dtype=np.int32)
    return MarginGame(
        player=me,
        treeplex=region.treeplex,
        num_roots=count,
        parent=none,
        first=none,
        num_actions=none,
        root=np.arange(count, dtype=np.int32),
        row=np.concatenate([np.tile(region.leaf_row, count), np.full(count, EMPTY_SEQUENCE)]),
        column=np.concatenate([np.repeat(np.arange(count), len(region.leaves)), np.arange(count)]),
        value=np.concatenate([at_leaves.reshape(-1), constant]),
    )


def root_masses(index: RegionIndex, region: Region, plans: FloatArray) -> FloatArray:
    """[n, R] probability that chance and each strategy lead to each root."""
    tree = index.tree
    at_tops = tree.chance_reach[region.tops] * plans[:, tree.sequence[index.opponent, region.tops]]
    masses = np.zeros((len(plans), region.num_roots))
    np.add.at(masses.T, region.top_root, at_tops.T)
    return masses


def biased_strategies(
    blueprint: BehaviorPolicy, player: int, actions: tuple[int, ...], factor: float = 5.0
) -> tuple[BehaviorPolicy, ...]:
    """The blueprint, and one copy per action that plays it more often.

    The strategies of the papers' poker experiments (Brown, Sandholm and Amos 2018;
    OLSS, appendix C.2): the probability of one action is multiplied, then all are
    normalised.

    Args:
      blueprint: strategies of both players.
      player: whose strategy is biased: the opponent of the refined player.
      actions: OpenSpiel actions, e.g. fold, call and raise.
      factor: how much more often an action is played.
    """
    treeplex = treeplex_from_tree(blueprint.tree, player)
    action_of = blueprint.tree.infosets[player].sequence_action
    probabilities = blueprint.probabilities[player]
    strategies = [blueprint]
    for action in actions:
        biased = biased_behavior(treeplex, probabilities, action_of == action, factor)
        strategies.append(blueprint.replace(player, biased))
    return tuple(strategies)


def biased_behavior(
    treeplex: Treeplex, behavior: FloatArray, chosen: BoolArray, factor: float
) -> FloatArray:
    """[S] behaviour probabilities that play the chosen sequences ([S]) more often."""
    weights = behavior * np.where(chosen, factor, 1.0)
    sums = treeplex.infoset_sums(weights)
    weights[1:] /= sums[treeplex.sequence_infoset[1:]]
    weights[EMPTY_SEQUENCE] = 1.0
    return weights


def pure_strategies(blueprint: BehaviorPolicy, player: int) -> Iterator[BehaviorPolicy]:
    """All pure strategies of a player in a small game, as policies.

    Args:
      blueprint: what the other player does in them.
      player: whose strategies.

    Raises:
      ValueError: there are too many to be of use.
    """
    treeplex = treeplex_from_tree(blueprint.tree, player)
    count = float(np.prod(treeplex.num_actions.astype(float)))
    if count > _MAX_PURE_STRATEGIES:
        raise ValueError(
            f"player {player} of {blueprint.tree.name} has {count:.3g} pure strategies, expected "
            f"at most {_MAX_PURE_STRATEGIES}"
        )
    for choice in itertools.product(*(range(int(m)) for m in treeplex.num_actions)):
        probabilities = np.zeros(treeplex.num_sequences)
        probabilities[EMPTY_SEQUENCE] = 1.0
        probabilities[treeplex.first_sequence + np.array(choice, dtype=np.int32)] = 1.0
        yield blueprint.replace(player, probabilities)
