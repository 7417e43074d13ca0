"""The subgame of a new decision, out of the tree of the last one (Obscuro, Figure 9).

The searching player now knows to be in the infoset I. Of the old tree the region I^k
is kept (`CarryOver`): all nodes that share an infoset of either player with I, and so
on, k - 1 times, with everything below. Its topmost nodes are the new roots, grouped
by the opponent's infosets J; within J they are weighted by what chance and the old
strategy of the searching player did to reach them. Subtrees keep their regrets and
strategies; the alternate value of J is what J was worth under the old strategies,
less the opponent's estimated gifts on the way to J.

If I has too few nodes, positions are sampled from the belief; the opponent is taken to
know everything there, and the alternate value is the evaluation, but no more than the
player was worth in the last search (C.1).

Own decisions before I are past, even where they lie in the region: where a player moves
twice in a row and the opponent does not notice, the topmost nodes of J are an earlier
decision. There the old strategy is played like chance, so that I follows the empty
sequence everywhere, at kept roots and at sampled ones.

This and other decisions that the papers leave open are in docs/deviations.md.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from klss_spiel.algorithms.search import carry_over_kernels as kernels
from klss_spiel.algorithms.search import equilibrium as search_equilibrium
from klss_spiel.algorithms.search.evaluation import CheckedEvaluator
from klss_spiel.algorithms.search.graft import freeze, graft
from klss_spiel.algorithms.search.repetition import views_seen_twice
from klss_spiel.algorithms.search.root import Roots, tree_of_roots
from klss_spiel.algorithms.search.search import Search
from klss_spiel.algorithms.search.settings import AlternateValue, CarryOver, SearchSettings
from klss_spiel.algorithms.search.tree import SearchTree
from klss_spiel.arrays import BoolArray, FloatArray, LongArray
from klss_spiel.search_game import (
    Belief,
    InfosetIds,
    Positions,
    RepeatingGame,
    RootPositions,
    SearchGame,
)
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS


class NoFittingPosition(ValueError):
    """Neither the old tree nor the belief has a position to start from."""


@dataclasses.dataclass(frozen=True, eq=False)
class KeptRoots:
    """The root infosets that an old tree provides. r kept nodes, m root infosets.

    Attributes:
      node: [r] topmost nodes of the region, root infoset by root infoset.
      group: [r] their root infosets, ascending from 0.
      probability: [r] weight within the root infoset. Where the rest is frozen, the
        nodes that lead to I sum to 1 (D of ZS21's algorithm 12, line 16), else all do.
      alternate: [m] alternate values, as the searching player's payoffs.
      reach: [m] probability that the opponent plays to the root infoset.
      past: [I] own infosets that the player has been through on the way to I.
      behaviors: for each player, [S] the strategies to go on with.
    """

    node: LongArray
    group: LongArray
    probability: FloatArray
    alternate: FloatArray
    reach: FloatArray
    past: BoolArray
    behaviors: tuple[FloatArray, FloatArray]


def region(tree: SearchTree, own: BoolArray, order: float) -> BoolArray:
    """[N] the order-k knowledge set of the marked nodes ([N]), without node 0 .. m."""
    real = np.ones(tree.num_nodes, dtype=np.bool_)
    real[: 1 + tree.num_roots] = False
    infoset_ids = tree.nodes.infoset_ids[: tree.num_nodes]
    inside: BoolArray = own & real
    distance = 1
    while distance < order:
        grown = inside.copy()
        for p in PLAYERS:
            grown |= np.isin(infoset_ids[:, p], np.unique(infoset_ids[inside, p])) & real
        if np.array_equal(grown, inside):
            break
        inside = grown
        distance += 1
    return inside


def own_nodes(tree: SearchTree, identifiers: InfosetIds) -> BoolArray:
    """[N] the nodes of the searching player's infoset with one of the identifiers."""
    own: BoolArray = np.isin(tree.nodes.infoset_ids[: tree.num_nodes, tree.player], identifiers)
    own[: 1 + tree.num_roots] = False
    return own


def past_infosets(tree: SearchTree, own: BoolArray) -> BoolArray:
    """[I] the searching player's infosets that he has been through at the marked nodes ([N])."""
    infosets, sequences = tree.infosets[tree.player], tree.sequences[tree.player]
    past = np.zeros(tree.num_infosets[tree.player], dtype=np.bool_)
    for sequence in np.unique(tree.nodes.sequence[np.flatnonzero(own), tree.player]).tolist():
        while sequence != EMPTY_SEQUENCE:
            infoset = int(sequences.infoset[sequence])
            past[infoset] = True
            sequence = int(infosets.parent_sequence[infoset])
    return past


def kept_roots(search: Search, own: BoolArray, carry_over: CarryOver) -> KeptRoots:
    """The root infosets of the region of the marked nodes ([N]) of a searched tree."""
    tree = search.tree
    player, opponent = tree.player, tree.opponent
    nodes = tree.nodes
    inside = region(tree, own, carry_over.order)
    top = kernels.topmost(nodes.parent, inside, tree.num_nodes)
    top = _without_late_roots(tree, top)
    chosen = np.flatnonzero(top == np.arange(tree.num_nodes))
    past = past_infosets(tree, own)

    own_behavior = search.behavior(player)
    plan = tree.treeplex(player).realization_plan(own_behavior)
    marked = np.flatnonzero(own & (top >= 0))
    own_weight = nodes.weight[marked] * plan[nodes.sequence[marked, player]]
    holds_own = np.isin(chosen, top[marked])
    if np.any(own_weight > 0.0):
        plan = _plan_to_region(tree, top, past, own_behavior)
        weight = nodes.weight[chosen] * plan[nodes.sequence[chosen, player]]
        planned = True
    else:
        planned = False
        # The old strategy would not be here; that the player is shows he went otherwise.
        own_behavior = _as_played(tree, past, own, own_behavior)
        own_weight = nodes.weight[marked]
        weight = np.where(holds_own, nodes.weight[chosen], 0.0)
    used = weight > 0.0
    chosen, weight = chosen[used], weight[used]
    _, group = np.unique(nodes.infoset_ids[chosen, opponent], return_inverse=True)
    by_group = np.argsort(group, kind="stable")
    chosen, weight, group = chosen[by_group], weight[by_group], group[by_group]
    m = int(group.max()) + 1
    reach = np.bincount(group, weights=weight, minlength=m)
    if carry_over.frozen:
        group_of = np.zeros(tree.num_nodes, dtype=np.int64)
        group_of[chosen] = group
        divisor = np.bincount(group_of[top[marked]], weights=own_weight, minlength=m)
    else:
        divisor = reach
    probability = weight / divisor[group]

    behaviors = [own_behavior, own_behavior]
    behaviors[opponent] = search.behavior(opponent)
    values, gifts = _old_values(search, (behaviors[0], behaviors[1]), planned)
    sign = 1.0 if player == 0 else -1.0
    alternate = np.bincount(group, weights=sign * values[chosen] * probability, minlength=m)
    _, first = np.unique(group, return_index=True)
    sequence = nodes.sequence[chosen[first], opponent]
    if search.settings.gifts:
        alternate = alternate - gifts[sequence] * reach / divisor
    their_plan = tree.treeplex(opponent).realization_plan(behaviors[opponent])
    return KeptRoots(
        node=chosen,
        group=group.astype(np.int64),
        probability=probability,
        alternate=alternate.astype(np.float64),
        reach=their_plan[sequence],
        past=past,
        behaviors=(behaviors[0], behaviors[1]),
    )


def _without_late_roots(tree: SearchTree, top: LongArray) -> LongArray:
    """`top` ([N]) without roots whose opponent infoset lies below that of another root.

    That happens only where the opponent does not notice how much time has passed.
    """
    nodes, opponent = tree.nodes, tree.opponent
    roots = np.flatnonzero(top == np.arange(tree.num_nodes))
    at_roots = set(nodes.infoset_ids[roots, opponent].tolist())
    late = set()
    _, first = np.unique(nodes.infoset_ids[roots, opponent], return_index=True)
    for root in roots[first].tolist():
        here = int(nodes.infoset_ids[root, opponent])
        above = int(nodes.parent[root])
        while above > tree.num_roots:
            passed = int(nodes.infoset_ids[above, opponent])
            if passed != here and passed in at_roots:
                late.add(here)
                break
            above = int(nodes.parent[above])
    if not late:
        return top
    gone = np.isin(nodes.infoset_ids[roots, opponent], np.array(sorted(late), dtype=np.uint64))
    return np.where(np.isin(top, roots[gone]), -1, top)


def _plan_to_region(
    tree: SearchTree, top: LongArray, past: BoolArray, behavior: FloatArray
) -> FloatArray:
    """[S] own probability of each sequence, without choices that remain free below `top`."""
    nodes, player = tree.nodes, tree.player
    movers = np.flatnonzero(
        (top >= 0)
        & (nodes.player[: tree.num_nodes] == player)
        & (nodes.first_child[: tree.num_nodes] >= 0)
    )
    free = np.zeros(tree.num_infosets[player], dtype=np.bool_)
    free[nodes.infoset[movers]] = True
    free &= ~past
    owned = np.arange(1, tree.num_sequences[player])
    fixed = behavior.copy()
    fixed[owned[free[tree.sequences[player].infoset[owned]]]] = 1.0
    return tree.treeplex(player).realization_plan(fixed)


def _as_played(
    tree: SearchTree, past: BoolArray, own: BoolArray, planned: FloatArray
) -> FloatArray:
    """[S] what was `planned`, but at past infosets what leads to the marked nodes ([N])."""
    player = tree.player
    infosets, sequences = tree.infosets[player], tree.sequences[player]
    behavior = planned.copy()
    owned = np.arange(1, tree.num_sequences[player])
    behavior[owned[past[sequences.infoset[owned]]]] = 0.0
    for last in np.unique(tree.nodes.sequence[np.flatnonzero(own), player]).tolist():
        sequence = last
        while sequence != EMPTY_SEQUENCE:
            behavior[sequence] = 1.0
            sequence = int(infosets.parent_sequence[sequences.infoset[sequence]])
    return behavior


def expected_value(search: Search) -> float:
    """What the searching player expects: v* of Obscuro, between -1 and 1."""
    tree = search.tree
    chosen = search.behavior(tree.opponent)[1 : 1 + tree.num_roots]
    if chosen.sum() <= 0.0:
        chosen = search.root.prior
    sign = 1.0 if tree.player == 0 else -1.0
    return float(sign * (chosen @ search.node_values[1 : 1 + tree.num_roots]) / chosen.sum())


def expected_value_at(search: Search, nodes: BoolArray) -> float:
    """What the searching player expects at the marked nodes ([N]); infinite if unplayed.

    The estimate of ZS21's Algorithm 15, line 13.
    """
    tree = search.tree
    chosen = np.flatnonzero(nodes)
    weight = tree.nodes.weight[chosen].copy()
    for p in PLAYERS:
        plan = tree.treeplex(p).realization_plan(search.behavior(p))
        weight *= plan[tree.nodes.sequence[chosen, p]]
    if weight.sum() <= 0.0:
        return math.inf
    sign = 1.0 if tree.player == 0 else -1.0
    return float(sign * (weight @ search.node_values[chosen]) / weight.sum())


def next_search(
    game: SearchGame,
    settings: SearchSettings,
    player: int,
    old: Search | None,
    information_state: str,
    belief: Belief,
    seed: int,
) -> tuple[Search, int]:
    """The search of a new decision, which has not begun.

    Args:
      game: the game.
      settings: how to search.
      player: who decides.
      old: the player's last search, or None.
      information_state: what the player is told now.
      belief: everything the player reckons with, advanced to this decision.
      seed: of the random choices.

    Returns:
      The search, and the identifier of the player's infoset in it.

    Raises:
      NoFittingPosition: neither the old tree nor the belief has one.
    """
    identifiers = game.infosets(player, information_state)
    own_id = int(identifiers[0])
    kept = None
    reckoned = belief.positions
    present = reckoned[:0]
    repeating = game if settings.repetitions and isinstance(game, RepeatingGame) else None
    seen_twice = np.zeros(0, dtype=np.uint64)
    if repeating is not None and len(reckoned):
        seen_twice = views_seen_twice(repeating, player, information_state)
    limit = math.inf if old is None else expected_value(old)
    # The last tree knows nothing of views that have become draws since.
    if old is not None and settings.carry_over.order > 0 and not len(seen_twice):
        own = own_nodes(old.tree, identifiers)
        if settings.limit_at_infoset:
            limit = expected_value_at(old, own)
        if np.any(own):
            kept = kept_roots(old, own, settings.carry_over)
            own_id = int(old.tree.nodes.infoset_ids[np.flatnonzero(own)[0], player])
            present = old.tree.positions[np.flatnonzero(own)]
    rng = np.random.default_rng([seed, len(present)])
    sampled = _sample(game, belief, present, settings.min_infoset_size, rng)
    if repeating is not None:
        sampled = repeating.with_quiet_plies(player, information_state, sampled)
    if kept is None and not len(sampled):
        raise NoFittingPosition(f"no position of {game.name} fits {information_state!r}")

    evaluator = CheckedEvaluator(game)
    evaluation = evaluator.values(sampled)
    informed = RootPositions(
        position=sampled,
        player=np.full(len(sampled), player, dtype=np.int8),
        infoset_ids=game.informed(player, own_id, sampled),
    )
    sign = 1.0 if player == 0 else -1.0
    alternate = np.minimum(sign * evaluation, limit)
    reach = np.zeros(len(sampled))
    probabilities = [np.ones(1) for _ in sampled]
    positions, values = informed, evaluation
    if kept is not None and old is not None:
        alternate = np.concatenate([kept.alternate, alternate])
        reach = np.concatenate([kept.reach, reach])
        starts = np.flatnonzero(np.diff(kept.group)) + 1
        probabilities = [*np.split(kept.probability, starts), *probabilities]
        positions = _join(old.tree, kept, informed)
        values = np.concatenate([np.zeros(len(kept.node)), evaluation])
    roots = Roots(positions, probabilities, alternate, prior_of(reach, settings.optimistic_prior))
    tree, root = tree_of_roots(player, roots, values)
    if old is not None:
        # Decisions with the same budget of time make trees of about the same size.
        tree.reserve(old.tree.num_nodes)
    if kept is not None and old is not None:
        graft(tree, old.tree, kept.behaviors, kept.node, kept.group, kept.past)
        if settings.carry_over.frozen:
            freeze(tree, own_id)
    search = Search(game, settings, tree, root, seed, evaluator)
    search.seen_twice = seen_twice
    return search, own_id


def _sample(
    game: SearchGame,
    belief: Belief,
    present: Positions,
    size: int,
    rng: np.random.Generator,
) -> Positions:
    """Positions to add so that there are `size`, if there are so many."""
    positions, weights = belief.positions, belief.weights
    missing = size - len(present)
    if missing <= 0:
        return positions[:0]
    # Of so many drawn, enough are new.
    if len(positions) > size:
        share, drawn = None, size
        if weights is not None:
            share = weights / weights.sum()
            drawn = min(size, int(np.count_nonzero(share)))
        positions = positions[np.sort(rng.choice(len(positions), drawn, replace=False, p=share))]
    known = set(game.keys(present))
    fresh = np.array([key not in known for key in game.keys(positions)], dtype=np.bool_)
    positions = positions[fresh]
    if len(positions) > missing:
        positions = positions[np.sort(rng.choice(len(positions), missing, replace=False))]
    return positions


def _join(tree: SearchTree, kept: KeptRoots, informed: RootPositions) -> RootPositions:
    """The kept roots and then the informed ones."""
    nodes = tree.nodes
    return RootPositions(
        position=np.concatenate([tree.positions[kept.node], informed.position]),
        player=np.concatenate([nodes.player[kept.node], informed.player]),
        infoset_ids=np.concatenate([nodes.infoset_ids[kept.node].T, informed.infoset_ids], axis=1),
    )


def _old_values(
    search: Search, played: tuple[FloatArray, FloatArray], planned: bool
) -> tuple[FloatArray, FloatArray]:
    """[N] player 0's value of each old node, [S of the opponent] gifts on the way there.

    Obscuro, C.2: expected values under both players' strategies, and the gift estimate
    of counterfactual values, or the same for an opponent who plays a best response.

    Args:
      search: the old search.
      played: for each player, [S] behaviour.
      planned: whether these are the strategies of the search.
    """
    tree, opponent = search.tree, search.tree.opponent
    behaviors = list(played)
    if search.settings.alternate == AlternateValue.BEST_RESPONSE:
        behaviors[opponent] = search_equilibrium.best_response_behavior(
            tree, opponent, behaviors[tree.player], behaviors[opponent]
        )
        planned = False
    if planned:
        values = search.node_values
    else:
        values = search_equilibrium.node_values(tree, (behaviors[0], behaviors[1]))
    utility = search_equilibrium.policy_values(tree, opponent, (behaviors[0], behaviors[1]))
    gifts: FloatArray = kernels.gifts(tree.players[opponent], utility, behaviors[opponent])
    return values, gifts


def prior_of(reach: FloatArray, optimistic: bool) -> FloatArray:
    """[m] alpha(J) of Obscuro, C.3.

    Args:
      reach: [m] probability that the opponent played to each root infoset.
      optimistic: half by `reach`, half uniform; else uniform.
    """
    uniform = np.full(len(reach), 1.0 / len(reach))
    total = reach.sum()
    if not optimistic or total <= 0.0:
        return uniform
    mixed: FloatArray = 0.5 * (reach / total + uniform)
    return mixed
