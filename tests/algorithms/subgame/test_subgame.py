"""Regions, blueprint tables, margins and gadgets against plain recomputation."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from klss_spiel.algorithms import knowledge
from klss_spiel.algorithms.subgame.blueprint_values import BlueprintValues
from klss_spiel.algorithms.subgame.recipes import (
    KLSS,
    KLUSS,
    MAXMARGIN,
    OLSS_1,
    OLSS_2,
    RESOLVE,
    SAFE_1_KLSS,
    UNSAFE,
    Gadget,
    RootWeights,
)
from klss_spiel.algorithms.subgame.regions import RegionIndex
from klss_spiel.algorithms.subgame.subgame import SubgameBuilder, build_subgame
from klss_spiel.best_response import best_response, best_response_to
from klss_spiel.linear_program import solve
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree, treeplex_from_tree
from tests.helpers.games import random_policy
from tests.helpers.random_trees import random_tree

RECIPES = {
    "unsafe": UNSAFE,
    "resolve": RESOLVE,
    "maxmargin": MAXMARGIN,
    "1-klss": KLSS(1),
    "1-klss resolve": KLSS(1, Gadget.RESOLVE),
    "1-klss unsafe": KLSS(1, Gadget.UNSAFE),
    "3-klss": KLSS(3),
    "1-kluss": KLUSS(1),
    "2-kluss": KLUSS(2),
    "3-kluss": KLUSS(3),
    "2-kluss mixed resolve": KLUSS(2, Gadget.RESOLVE, root_weights=RootWeights.OPPONENT),
    "safe": SAFE_1_KLSS(),
    "safe eta 2": SAFE_1_KLSS(2.0),
    "olss-1": OLSS_1(),
    "olss-1 eta 0": OLSS_1(gift_scale=0.0),
    "olss-2": OLSS_2(),
}

# seed of the game, timed or not, player
GAMES = st.tuples(st.integers(0, 10_000), st.booleans(), st.sampled_from([0, 1]))


def setting(case):
    seed, timed, player = case
    tree = random_tree(seed, timed)
    return tree, random_policy(tree, seed), player


def some_infosets(tree, player, count=4):
    decisions = tree.infosets[player].decisions
    return decisions[:: max(1, len(decisions) // count)].tolist()


def random_behavior(subgame, seed):
    treeplex = subgame.region.treeplex
    weights = np.random.default_rng(seed).exponential(size=treeplex.num_sequences)
    weights[1:] /= treeplex.infoset_sums(weights)[treeplex.sequence_infoset[1:]]
    weights[0] = 1.0
    return weights


@given(GAMES)
def test_regions_are_the_nodes_below_knowledge_sets(case):
    tree, _, player = setting(case)
    index = RegionIndex(tree, player)
    for infoset in some_infosets(tree, player):
        core = tree.infoset[player] == infoset
        for order in (1, 2, 3, 4, knowledge.COMMON_KNOWLEDGE):
            expected = knowledge.knowledge_set(tree, core, order)
            found = np.zeros(tree.num_nodes, dtype=bool)
            found[index.knowledge_set(infoset, order)] = True
            np.testing.assert_array_equal(found, expected)
            region = index.region(infoset, order)
            np.testing.assert_array_equal(region.nodes, np.flatnonzero(tree.descendants(expected)))
            below = region.nodes[tree.player[region.nodes] == player]
            np.testing.assert_array_equal(region.infosets, np.unique(tree.infoset[player, below]))


@given(GAMES)
def test_blueprint_values_are_best_response_values(case):
    tree, blueprint, player = setting(case)
    values = BlueprintValues(RegionIndex(tree, player), blueprint)
    form = sequence_form_from_tree(tree)
    answer = best_response_to(form, 1 - player, blueprint.realization_plans[player])
    decisions = tree.infosets[1 - player].decisions
    np.testing.assert_allclose(values.value[decisions], -answer.infoset_values, atol=1e-12)
    assert values.value[0] == pytest.approx(-answer.value, abs=1e-12)
    # A decision infoset holds one node of each path, so reach is a plain sum over it.
    reach = tree.chance_reach * blueprint.reach(player)
    for infoset in decisions:
        nodes = tree.infoset[1 - player] == infoset
        assert values.reach[infoset] == pytest.approx(reach[nodes].sum())


@given(GAMES, st.sampled_from([1, 2, 3, knowledge.COMMON_KNOWLEDGE]))
def test_changing_a_region_updates_the_tables_exactly(case, order):
    tree, blueprint, player = setting(case)
    builder = SubgameBuilder(blueprint, player)
    for infoset in some_infosets(tree, player):
        subgame = builder.build(infoset, KLUSS(order))
        behavior = random_behavior(subgame, infoset)
        changed = blueprint.replace(
            player, subgame.on_tree(behavior, blueprint.probabilities[player])
        )
        expected = BlueprintValues(builder.index, changed)
        values = builder.values
        before = values.value.copy()
        # An even region cuts the player's infosets: outside of it, what they do
        # changes too, which the tables must not be asked about.
        if order != 2:
            back = values.apply(values.change(subgame.region, behavior, above=True))
            for name in ("behavior", "plan", "value", "sequence_value", "reach"):
                np.testing.assert_allclose(
                    getattr(values, name), getattr(expected, name), atol=1e-12, err_msg=name
                )
            values.apply(back)
        np.testing.assert_array_equal(values.value, before)


@given(GAMES, st.sampled_from(sorted(RECIPES)))
def test_with_the_blueprint_put_back_every_margin_is_zero(case, name):
    tree, blueprint, player = setting(case)
    builder = SubgameBuilder(blueprint, player)
    for infoset in some_infosets(tree, player):
        subgame = builder.build(infoset, RECIPES[name])
        assert not subgame.is_empty
        margins = subgame.margins(subgame.blueprint)
        assert len(margins) >= 1
        if name == "olss-2":
            # The opponent is bound to one strategy, which need not be a best response.
            assert margins.min() >= -1e-12
        elif name == "olss-1 eta 0":
            assert margins.max() <= 1e-12
        else:
            np.testing.assert_allclose(margins, 0.0, atol=1e-12)


@given(GAMES, st.sampled_from([1, 3, knowledge.COMMON_KNOWLEDGE]))
def test_folded_margins_are_changes_of_best_response_values(case, order):
    """D M(J; x) is what the best response from J on loses when the player changes to x."""
    tree, blueprint, player = setting(case)
    builder = SubgameBuilder(blueprint, player)
    for infoset in some_infosets(tree, player):
        subgame = builder.build(infoset, KLSS(order) if order != np.inf else MAXMARGIN)
        behavior = random_behavior(subgame, infoset)
        changed = blueprint.replace(
            player, subgame.on_tree(behavior, blueprint.probabilities[player])
        )
        after = BlueprintValues(builder.index, changed).value[subgame.region.roots]
        gained = after - builder.values.value[subgame.region.roots]
        np.testing.assert_allclose(
            subgame.root_reach * subgame.margins(behavior), gained, atol=1e-12
        )


@given(GAMES)
def test_safe_margins_bound_the_common_knowledge_margin(case):
    """OLSS, equation 6: their mean over the infosets of a closure is a lower bound."""
    tree, blueprint, player = setting(case)
    builder = SubgameBuilder(blueprint, player)
    infoset = some_infosets(tree, player)[0]
    whole = builder.build(infoset, MAXMARGIN)
    behavior = random_behavior(whole, case[0])
    margins = dict(zip(whole.region.roots.tolist(), whole.margins(behavior), strict=True))
    bound = dict.fromkeys(margins, 0.0)
    share = dict.fromkeys(margins, 0.0)
    first = np.unique(tree.infoset[player, whole.region.tops])
    for part in first.tolist():
        if tree.infosets[player].num_actions[part] == 0:
            return  # The closure does not begin with the player's move.
        subgame = builder.build(part, SAFE_1_KLSS())
        mine = np.searchsorted(whole.region.sequences, subgame.region.sequences)
        for root, margin, reach in zip(
            subgame.region.roots.tolist(),
            subgame.margins(behavior[mine]),
            subgame.root_reach,
            strict=True,
        ):
            if root not in margins:
                return  # Untimed: roots of the closure lie further up.
            weight = reach / builder.values.reach[root]
            bound[root] += weight * margin
            share[root] += weight
    for root, margin in margins.items():
        assert share[root] == pytest.approx(1.0)
        assert margin >= bound[root] - 1e-12


@given(GAMES)
def test_gadgets_aggregate_margins(case):
    tree, blueprint, player = setting(case)
    builder = SubgameBuilder(blueprint, player)
    others = tuple(random_policy(tree, s) for s in range(case[0], case[0] + 3))
    for infoset in some_infosets(tree, player):
        for recipe in (KLSS(1), SAFE_1_KLSS(), OLSS_1(others), KLUSS(2)):
            subgame = builder.build(infoset, recipe)
            behavior = random_behavior(subgame, infoset)
            margins = subgame.margins(behavior)

            def value(subgame, behavior=behavior):
                plan = subgame.region.treeplex.realization_plan(behavior)
                form, other = subgame.form, 1 - subgame.player
                return -best_response(form.treeplexes[other], form.gradient(other, plan)).value

            if recipe.gadget == Gadget.REACHING:
                assert value(subgame) == pytest.approx((subgame.root_weights @ margins).min())
                np.testing.assert_allclose(subgame.root_weights.sum(axis=1), 1.0)
            subgame = subgame.with_gadget(Gadget.MAXMARGIN)
            assert value(subgame) == pytest.approx(margins.min(), abs=1e-12)
            for weights in RootWeights:
                resolve = subgame.with_gadget(Gadget.RESOLVE, weights)
                assert resolve.root_weights.sum() == pytest.approx(1.0)
                expected = resolve.root_weights @ np.minimum(margins, 0.0)
                assert value(resolve) == pytest.approx(expected, abs=1e-12)
                back = resolve.with_gadget(Gadget.MAXMARGIN)
                assert value(back) == pytest.approx(margins.min(), abs=1e-12)
            unsafe = subgame.with_gadget(Gadget.UNSAFE)
            assert value(unsafe) == pytest.approx(unsafe.root_weights @ margins, abs=1e-12)


def test_the_mixed_root_distribution_is_half_uniform_half_the_opponents():
    tree = tree_from_game("kuhn_poker")
    blueprint = random_policy(tree, 0)
    # Player 1's first decision after a bet: player 0 has bet with two of three cards.
    infoset = tree.infosets[1].index_of_label["1b"]
    recipe = KLSS(1, Gadget.RESOLVE, root_weights=RootWeights.OPPONENT)
    subgame = build_subgame(blueprint, infoset, recipe, player=1)
    bets = [
        blueprint.probabilities[0][tree.infosets[0].sequences(i).start + 1]
        for i in map(tree.infosets[0].index_of_label.get, ("0", "2"))
    ]
    expected = 0.5 * (np.array(bets) / sum(bets) + 0.5)
    np.testing.assert_allclose(sorted(subgame.root_weights), sorted(expected))


def test_resolve_over_the_closure_weighs_roots_by_their_reach():
    tree = tree_from_game("leduc_poker")
    blueprint = random_policy(tree, 1)
    subgame = build_subgame(blueprint, int(tree.infosets[0].decisions[-1]), RESOLVE)
    np.testing.assert_allclose(subgame.root_weights, subgame.root_reach / subgame.root_reach.sum())


@given(GAMES)
def test_gifts_are_what_best_responses_lost_on_the_way(case):
    tree, blueprint, player = setting(case)
    values = BlueprintValues(RegionIndex(tree, player), blueprint)
    theirs = tree.infosets[1 - player]
    builder = SubgameBuilder(blueprint, player)
    for infoset in some_infosets(tree, player):
        plain = builder.build(infoset, KLSS(1))
        reach = builder.build(infoset, KLSS(1)(reach=True))
        added = reach.margins(plain.blueprint) - plain.margins(plain.blueprint)
        for root, extra, entered in zip(plain.region.roots, added, plain.root_reach, strict=True):
            gift = 0.0
            sequence = theirs.parent_sequence[root]
            while sequence != 0:
                at = theirs.sequence_infoset[sequence]
                options = values.sequence_value[theirs.sequences(at)]
                gift += (values.sequence_value[sequence] - options.min()) / values.reach[at]
                sequence = theirs.parent_sequence[at]
            assert gift >= 0.0
            assert extra == pytest.approx(gift * values.reach[root] / entered, abs=1e-12)


def test_an_infoset_the_blueprint_never_reaches_gives_an_empty_subgame():
    tree = tree_from_game("kuhn_poker")
    probabilities = BehaviorPolicy.uniform(tree).probabilities[0].copy()
    infosets = tree.infosets[0]
    opening = infosets.index_of_label["0"]
    probabilities[infosets.sequences(opening)] = [0.0, 1.0]  # Always bets, never passes.
    blueprint = BehaviorPolicy.uniform(tree).replace(0, probabilities)
    for recipe in (KLSS(1), SAFE_1_KLSS(), OLSS_1(), OLSS_2(), KLSS(1, Gadget.RESOLVE)):
        subgame = build_subgame(blueprint, "0pb", recipe)
        assert subgame.is_empty
        assert subgame.form.num_entries == 0
        np.testing.assert_array_equal(subgame.blueprint[1:], [0.5, 0.5])
    # Within a larger region others are reached, and the roots without reach are dropped.
    whole = build_subgame(blueprint, "0pb", MAXMARGIN)
    assert not whole.is_empty
    assert np.all(whole.root_reach > 0.0)
    never = whole.region.sequences[~whole.is_reached]
    np.testing.assert_array_equal(infosets.labels[infosets.sequence_infoset[never[0]]], "0pb")


def test_transpositions_are_merged_and_only_they():
    # Player 1 sees nothing of the number; all numbers with one choice of player 0
    # are transpositions of each other.
    tree = tree_from_game("python_hidden_pennies(n=20)")
    blueprint = BehaviorPolicy.uniform(tree)
    infoset = int(tree.infosets[1].decisions[0])
    builder = SubgameBuilder(blueprint, 1)
    assert builder.build(infoset, KLSS(1)).game.num_roots == 40
    recipe = KLSS(1, merge_transpositions=True)
    merged = builder.build(infoset, recipe)
    assert merged.game.num_roots == 2
    assert merged.form.value.shape == builder.build(infoset, recipe).form.value.shape
    picked = {
        tuple(builder.build(infoset, recipe, np.random.default_rng(s)).region.tops.tolist())
        for s in range(5)
    }
    assert len(picked) > 1
    # In n-matching pennies every number pays differently: nothing to merge.
    tree = tree_from_game("python_n_matching_pennies(n=9)")
    builder = SubgameBuilder(BehaviorPolicy.uniform(tree), 1)
    for infoset in tree.infosets[1].decisions.tolist():
        plain = builder.build(infoset, KLSS(1))
        merged = builder.build(infoset, recipe)
        assert plain.game.num_roots == merged.game.num_roots


def test_merging_keeps_the_value_when_the_top_rows_agree():
    tree = tree_from_game("python_hidden_pennies(n=20)")
    infoset = int(tree.infosets[1].decisions[0])
    builder = SubgameBuilder(BehaviorPolicy.uniform(tree), 1)
    plain = builder.build(infoset, KLSS(1))
    merged = builder.build(infoset, KLSS(1, merge_transpositions=True))
    for heads in (0.2, 0.5, 0.9):
        behavior = np.array([1.0, heads, 1.0 - heads])
        assert plain.margins(behavior).min() == pytest.approx(merged.margins(behavior).min())


@pytest.mark.parametrize("player", [0, 1])
def test_every_recipe_works_for_either_player_of_real_games(player):
    for game in ("kuhn_poker", "dark_hex(num_rows=2,num_cols=2,gameversion=adh)", "leduc_poker"):
        tree = tree_from_game(game)
        blueprint = random_policy(tree, 5)
        builder = SubgameBuilder(blueprint, player)
        for recipe in RECIPES.values():
            for infoset in some_infosets(tree, player, 3):
                subgame = builder.build(infoset, recipe)
                assert subgame.form.treeplexes[player] is subgame.region.treeplex
                margins = subgame.margins(subgame.blueprint)
                if recipe.gadget == Gadget.PLAYING:
                    assert margins.min() >= -1e-10
                elif recipe.gift_scale > 0.0:
                    np.testing.assert_allclose(margins, 0.0, atol=1e-10)


def test_a_subgame_at_the_root_is_the_whole_game():
    tree = tree_from_game("leduc_poker")
    blueprint = random_policy(tree, 2)
    form = sequence_form_from_tree(tree)
    lost = best_response_to(form, 1, blueprint.realization_plans[0]).value
    for recipe in (KLSS(1), MAXMARGIN, KLUSS(2), SAFE_1_KLSS()):
        subgame = build_subgame(blueprint, 0, recipe)
        # The one margin is what the best response loses: all that it wins beyond the value.
        assert solve(subgame.form, 0).value == pytest.approx(lost + solve(form, 0).value)


def test_the_cost_of_a_region_does_not_depend_on_the_game():
    sizes = set()
    for n in (50, 5000):
        tree = tree_from_game(f"python_n_matching_pennies(n={n})")
        builder = SubgameBuilder(BehaviorPolicy.uniform(tree), 0)
        infoset = int(tree.infosets[0].decisions[10])
        for k in (1, 3, 5):
            subgame = builder.build(infoset, KLSS(k))
            sizes.add((k, len(subgame.region.nodes), subgame.form.num_entries))
    assert len(sizes) == 3


def test_a_subgame_of_olss_2_has_no_opponent_infosets():
    tree = tree_from_game("leduc_poker")
    blueprint = BehaviorPolicy.uniform(tree)
    others = tuple(random_policy(tree, s) for s in range(3))
    subgame = build_subgame(blueprint, int(tree.infosets[0].decisions[0]), OLSS_2(others))
    assert subgame.form.treeplexes[1].num_infosets == 1
    assert subgame.form.treeplexes[1].num_sequences == 1 + 3
    assert subgame.form.num_entries <= 3 * subgame.region.treeplex.num_sequences


def test_bad_input_is_refused_with_a_reason():
    tree = tree_from_game("kuhn_poker")
    other = tree_from_game("leduc_poker")
    blueprint = BehaviorPolicy.uniform(tree)
    infoset = int(tree.infosets[0].decisions[0])
    with pytest.raises(ValueError, match="odd k"):
        KLSS(2)
    with pytest.raises(ValueError, match="order 1"):
        KLSS(3, merge_transpositions=True)
    with pytest.raises(ValueError, match="order 1"):
        SAFE_1_KLSS()(order=3)
    with pytest.raises(ValueError, match="gift scale"):
        SAFE_1_KLSS(-1.0)
    with pytest.raises(ValueError, match="at least one opponent strategy"):
        OLSS_1(())
    with pytest.raises(ValueError, match="does not limit"):
        MAXMARGIN(opponent_strategies=(blueprint,))
    over = int(tree.infoset[0, tree.terminals[0]])
    for wrong in (-1, 10**6, over):
        with pytest.raises(ValueError, match="infoset of player 0"):
            build_subgame(blueprint, wrong, KLSS(1))
    with pytest.raises(ValueError, match="no infoset 'nowhere'"):
        build_subgame(blueprint, "nowhere", KLSS(1))
    with pytest.raises(ValueError, match="BehaviorPolicy as the blueprint, got GameTree"):
        build_subgame(tree, infoset, KLSS(1))
    with pytest.raises(ValueError, match=r"got <function KLSS.*call it: KLSS\(\)"):
        build_subgame(blueprint, infoset, KLSS)
    with pytest.raises(ValueError, match="an opponent strategy is of another game"):
        build_subgame(blueprint, infoset, OLSS_1((BehaviorPolicy.uniform(other),)))
    with pytest.raises(ValueError, match="player 0 or 1"):
        SubgameBuilder(blueprint, 2)
    with pytest.raises(ValueError, match="OLSS-II"):
        build_subgame(blueprint, infoset, OLSS_2()).with_gadget(Gadget.RESOLVE)


def test_biased_strategies_multiply_one_action():
    from klss_spiel.algorithms.subgame.opponent_strategies import biased_strategies

    tree = tree_from_game("leduc_poker")
    blueprint = random_policy(tree, 0)
    plain, fold = biased_strategies(blueprint, 1, actions=(0,), factor=5.0)
    assert plain is blueprint
    infosets = tree.infosets[1]
    treeplex = treeplex_from_tree(tree, 1)
    np.testing.assert_allclose(treeplex.infoset_sums(fold.probabilities[1]), 1.0)
    for infoset in infosets.decisions[:20]:
        old = blueprint.probabilities[1][infosets.sequences(infoset)]
        new = fold.probabilities[1][infosets.sequences(infoset)]
        if infosets.actions(infoset)[0] == 0:
            assert new[0] / new[1] == pytest.approx(5.0 * old[0] / old[1])
        else:
            np.testing.assert_allclose(new, old)
