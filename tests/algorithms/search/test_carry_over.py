"""Tests of the subgames that a search carries over from its last tree."""

import dataclasses
import functools
import math

import numpy as np
import pytest

from klss_spiel.algorithms import knowledge
from klss_spiel.algorithms.search.carry_over import (
    expected_value,
    kept_roots,
    next_search,
    own_nodes,
    prior_of,
    region,
)
from klss_spiel.algorithms.search.equilibrium import node_values, solve_exactly
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.policy import policy_of_search
from klss_spiel.algorithms.search.root import RootGadget
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import (
    FREE_REGION,
    FROZEN_REGION,
    NO_REGION,
    OBSCURO,
    AlternateValue,
    Iterate,
    free_region,
)
from klss_spiel.algorithms.subgame import recipes
from klss_spiel.algorithms.subgame.subgame import build_subgame
from klss_spiel.budget import Budget
from klss_spiel.linear_program import solve
from klss_spiel.openspiel import history_of, tree_from_game
from klss_spiel.tree import CHANCE
from tests.algorithms.search.test_search import DARK_HEX, DICE, KUHN, PLAIN, expand_all, searched

GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=ascending,returns_type=win_loss)"

# A move that turns out to be impossible is followed by another: the opponent of dark hex
# notices, that of Kriegspiel does not.
TRY_AGAIN = "dark_hex(num_rows=2,num_cols=2)"
KRIEGSPIEL = "python_kriegspiel(board=minimal4x3,horizon=3)"

# What the papers' exact methods use: values against a best response, nothing added.
EXACT = dataclasses.replace(
    PLAIN, alternate=AlternateValue.BEST_RESPONSE, gifts=False, min_infoset_size=1
)


def whole(name, settings, player, iterations=6):
    """A search that has seen the whole game but is far from having solved it."""
    search = search_from_start(search_game(name), settings, player)
    expand_all(search)
    search.iterate(iterations)
    return search


@functools.cache
def seen_exactly(name, player):
    return tree_from_game(name), whole(name, EXACT, player)


def belief_at(game, player, label):
    belief = game.belief(player)
    belief.advance(None, label)
    return belief


def continued(search, label, settings=None):
    player = search.tree.player
    settings = search.settings if settings is None else settings
    belief = belief_at(search.game, player, label)
    return next_search(search.game, settings, player, search, label, belief, 5)[0]


def reached_labels(tree, policy, player):
    """Decision infosets that the player's policy plays to."""
    infosets = tree.infosets[player]
    plan = policy.realization_plans[player]
    return [
        (label, infoset)
        for label, infoset in infosets.index_of_label.items()
        if plan[infosets.parent_sequence[infoset]] > 0.0
    ]


def past_bounds(tree, subgame):
    """[S of the region] the blueprint at own decisions that precede the subgame's infoset."""
    infosets = tree.infosets[subgame.player]
    past = set()
    sequence = infosets.parent_sequence[subgame.infoset]
    while sequence:
        past.add(int(infosets.sequence_infoset[sequence]))
        sequence = infosets.parent_sequence[infosets.sequence_infoset[sequence]]
    owner = infosets.sequence_infoset[subgame.region.sequences]
    fixed = np.isin(owner, sorted(past)) & (np.arange(len(owner)) > 0)
    return np.where(fixed, subgame.blueprint, 0.0) if np.any(fixed) else None


@pytest.mark.parametrize("name", [KUHN, DARK_HEX, GOOFSPIEL])
@pytest.mark.parametrize("order", [1, 2, 3, math.inf])
def test_the_region_is_the_cores_knowledge_set(name, order):
    tree = tree_from_game(name)
    search = whole(name, PLAIN, 0, iterations=0)
    node_of_history = {tuple(history_of(tree, n)): n for n in range(tree.num_nodes)}
    places = [
        node_of_history[tuple(state.history())]
        for state in search.tree.positions[2 : search.tree.num_nodes]
    ]
    for label, infoset in list(tree.infosets[0].index_of_label.items())[::3]:
        expected = knowledge.knowledge_set(tree, tree.infoset[0] == infoset, order)
        own = own_nodes(search.tree, search.game.infosets(0, label))
        found = region(search.tree, own, order)[2:]
        assert sorted(np.array(places)[found]) == np.flatnonzero(expected).tolist()


@pytest.mark.parametrize("name", [KUHN, DARK_HEX, DICE, GOOFSPIEL, TRY_AGAIN, KRIEGSPIEL])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("gadget", [RootGadget.MAXMARGIN, RootGadget.RESOLVE])
@pytest.mark.parametrize(
    ("carry_over", "recipe"),
    [
        (free_region(2), recipes.KLUSS(2)),
        (free_region(math.inf), recipes.MAXMARGIN),
        (FROZEN_REGION, recipes.KLSS(1)),
    ],
    ids=["kluss", "common_knowledge", "klss"],
)
def test_gadget_values_are_those_of_exact_subgame_solving(name, player, gadget, carry_over, recipe):
    tree, search = seen_exactly(name, player)
    settings = dataclasses.replace(EXACT, carry_over=carry_over)
    blueprint = policy_of_search(search, tree, Iterate.LAST)
    if gadget == RootGadget.RESOLVE:
        recipe = recipe(gadget=recipes.Gadget.RESOLVE, root_weights=recipes.RootWeights.UNIFORM)
        settings = dataclasses.replace(settings, optimistic_prior=False)
    scale = search.game.utility_scale
    labels = reached_labels(tree, blueprint, player)
    assert labels
    decided_before = 0
    for label, infoset in labels[:: max(1, len(labels) // 12)]:
        subgame = build_subgame(blueprint, infoset, recipe, player=player)
        bounds = past_bounds(tree, subgame)
        decided_before += bounds is not None
        expected = solve(subgame.form, player, lower_bounds=bounds).value
        later = continued(search, label, settings)
        assert later.tree.num_roots == subgame.game.num_roots
        found = solve_exactly(later.tree, later.root, gadget)
        assert scale * found == pytest.approx(expected, abs=1e-6)
    if name == KRIEGSPIEL and player == 1 and carry_over != FROZEN_REGION:
        assert decided_before  # here own decisions lie in the region of later ones


@pytest.mark.parametrize("name", [DICE, KRIEGSPIEL])
@pytest.mark.parametrize("player", [0, 1])
def test_with_the_old_strategies_put_back_every_margin_is_zero(name, player):
    settings = dataclasses.replace(OBSCURO, gifts=False, min_infoset_size=1)
    search = searched(name, settings, 600, player=player)
    tree = tree_from_game(name)
    sign = 1.0 if player == 0 else -1.0
    continued_somewhere = 0
    for label in tree.infosets[player].index_of_label:
        if not np.any(own_nodes(search.tree, search.game.infosets(player, label))):
            continue
        later = continued(search, label)
        values = node_values(later.tree, (later.behavior(0), later.behavior(1)))
        roots = values[1 : 1 + later.tree.num_roots]
        np.testing.assert_allclose(sign * roots, later.root.alternate, atol=1e-12)
        continued_somewhere += 1
    assert continued_somewhere > 3


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", [DICE, KRIEGSPIEL])
def test_what_was_learnt_is_carried_over_with_the_subtrees(name, player):
    """Regrets, predictions, visits and strategies of every infoset that is kept."""
    settings = dataclasses.replace(OBSCURO, min_infoset_size=1)
    search = searched(name, settings, 400, player=player)
    tree = tree_from_game(name)
    compared, learnt = 0, 0.0
    for label in list(tree.infosets[player].index_of_label)[:12]:
        own = own_nodes(search.tree, search.game.infosets(player, label))
        if not np.any(own):
            continue
        later = continued(search, label).tree
        # What was there before anything is expanded was in the old tree.
        for p in (0, 1):
            for infoset in range(p != player, later.num_infosets[p]):
                known = int(later.infosets[p].infoset_ids[infoset])
                before = search.tree.infoset_of(p, known)
                old, new = search.tree.infosets[p], later.infosets[p]
                assert new.visits[infoset] == old.visits[before]
                count = int(new.num_actions[infoset])
                assert count == old.num_actions[before]
                to, of = int(new.first_sequence[infoset]), int(old.first_sequence[before])
                for column in (
                    "action",
                    "strategy",
                    "regret",
                    "instant",
                    "value",
                    "picks",
                    "sum",
                    "squares",
                ):
                    np.testing.assert_array_equal(
                        getattr(later.sequences[p], column)[to : to + count],
                        getattr(search.tree.sequences[p], column)[of : of + count],
                    )
                learnt += float(np.abs(later.sequences[p].regret[to : to + count]).sum())
                compared += 1
        for column in ("average", "bonus", "last_absent"):
            for p in (0, 1):
                assert not np.any(getattr(later.sequences[p], column)[: later.num_sequences[p]])
    assert compared > 10
    assert learnt > 0.0


def test_own_decisions_before_the_current_one_are_past():
    """The current infoset follows the empty sequence at kept roots and at sampled ones."""
    tree = tree_from_game(KRIEGSPIEL)
    search = searched(KRIEGSPIEL, OBSCURO, 600, player=1)
    decided_before = 0
    for label in tree.infosets[1].index_of_label:
        own = own_nodes(search.tree, search.game.infosets(1, label))
        if not np.any(own):
            continue
        later = continued(search, label)
        later.run(Budget(nodes=100))
        nodes = own_nodes(later.tree, search.game.infosets(1, label))
        assert np.all(later.tree.nodes.sequence[np.flatnonzero(nodes), 1] == 0)
        decided_before += bool(later.tree.past_strategies)
        known = np.array(list(later.tree.past_strategies), dtype=np.uint64)
        past = np.isin(later.tree.nodes.infoset_ids[: later.tree.num_nodes, 1], known)
        past &= later.tree.nodes.first_child[: later.tree.num_nodes] >= 0
        past[: 1 + later.tree.num_roots] = False
        assert np.all(later.tree.nodes.player[np.flatnonzero(past)] == CHANCE)
        # Whatever can be reached has probabilities that sum to one.
        families = later.tree.families
        for f in range(later.tree.num_families):
            if families.player[f] == CHANCE and families.node[f] > later.tree.num_roots:
                first = families.first_child[f]
                chances = later.tree.nodes.chance[first : first + families.num_children[f]]
                assert chances.sum() == pytest.approx(1.0)
    assert decided_before > 3


def test_continued_cfr_solves_the_gadget_game():
    """From the carried-over strategies to the value of the linear program."""
    tree = tree_from_game(DICE)
    settings = dataclasses.replace(EXACT, gadget=RootGadget.MAXMARGIN)
    search = whole(DICE, settings, 0)
    label = next(iter(tree.infosets[0].index_of_label))
    exact, approximate = continued(search, label), continued(search, label)
    value = solve_exactly(exact.tree, exact.root, RootGadget.MAXMARGIN)
    approximate.iterate(3000)
    values = node_values(
        approximate.tree, (approximate.tree.average(0), approximate.tree.average(1))
    )
    margins = values[1 : 1 + approximate.tree.num_roots] - approximate.root.alternate
    chosen = approximate.tree.average(1)[1 : 1 + approximate.tree.num_roots]
    assert chosen @ margins == pytest.approx(value, abs=2e-3)


def test_gifts_lower_alternate_values_and_never_raise_them():
    plain = dataclasses.replace(OBSCURO, gifts=False, min_infoset_size=1)
    search = searched(DICE, plain, 600)
    generous = searched(DICE, dataclasses.replace(plain, gifts=True), 600)
    tree = tree_from_game(DICE)
    lowered = 0
    for label in tree.infosets[0].index_of_label:
        own = own_nodes(search.tree, search.game.infosets(0, label))
        if np.any(own):
            difference = (
                kept_roots(search, own, FREE_REGION).alternate
                - kept_roots(generous, own, FREE_REGION).alternate
            )
            assert np.all(difference >= 0.0)
            lowered += int(np.any(difference > 1e-3))
    assert lowered


def test_gifts_under_frozen_strategies_are_in_the_unit_of_the_margins():
    """ZS21, Algorithm 12: what is compared at a root is divided by its reach in the region."""
    plain = dataclasses.replace(OBSCURO, gifts=False, min_infoset_size=1)
    search = searched(DICE, plain, 600)
    generous = searched(DICE, dataclasses.replace(plain, gifts=True), 600)
    scaled = 0
    for label in tree_from_game(DICE).infosets[0].index_of_label:
        own = own_nodes(search.tree, search.game.infosets(0, label))
        if not np.any(own):
            continue
        lowered = {}
        for frozen in (False, True):
            carry_over = dataclasses.replace(FROZEN_REGION, frozen=frozen)
            kept = kept_roots(search, own, carry_over)
            lowered[frozen] = kept.alternate - kept_roots(generous, own, carry_over).alternate
        unit = np.bincount(kept.group, weights=kept.probability)
        np.testing.assert_allclose(lowered[True], lowered[False] * unit, atol=1e-12)
        scaled += int(np.any((lowered[False] > 1e-3) & (np.abs(unit - 1.0) > 1e-3)))
    assert scaled


def test_sampled_positions_are_capped_by_what_the_player_was_worth():
    def rosy(positions):
        return np.full(len(positions), 0.9)

    settings = dataclasses.replace(OBSCURO, carry_over=NO_REGION)
    search = search_from_start(search_game(DICE, rosy), settings, 0)
    search.run(Budget(nodes=500))
    label = next(iter(tree_from_game(DICE).infosets[0].index_of_label))
    later = continued(search, label)
    assert later.tree.num_roots == len(belief_at(search.game, 0, label).positions) == 3
    np.testing.assert_allclose(later.root.alternate, expected_value(search))
    first = next_search(search.game, settings, 0, None, label, belief_at(search.game, 0, label), 5)[
        0
    ]
    np.testing.assert_allclose(first.root.alternate, 0.9)


def test_a_small_tree_is_topped_up_with_the_rest_of_the_belief():
    settings = dataclasses.replace(OBSCURO, min_infoset_size=256)
    search = searched(DICE, settings, 80)
    tree = tree_from_game(DICE)
    topped_up = 0
    for label in tree.infosets[0].index_of_label:
        belief = belief_at(search.game, 0, label)
        own = own_nodes(search.tree, search.game.infosets(0, label))
        later = continued(search, label)
        roots = own_nodes(later.tree, search.game.infosets(0, label))
        histories = [tuple(s.history()) for s in later.tree.positions[np.flatnonzero(roots)]]
        # Each of them once: what the old tree holds is not sampled again.
        assert sorted(histories) == sorted(tuple(s.history()) for s in belief.positions)
        topped_up += bool(np.any(own)) and len(histories) > np.count_nonzero(own)
        if not np.any(own):
            # The opponent knows everything at positions that come from nowhere.
            assert later.tree.num_roots == len(belief.positions)
    assert topped_up


def test_frozen_strategies_stay_and_their_leaves_are_left_alone():
    settings = dataclasses.replace(OBSCURO, carry_over=FROZEN_REGION, min_infoset_size=1)
    search = searched(DICE, settings, 600)
    tree = tree_from_game(DICE)
    seen = 0
    for label in tree.infosets[0].index_of_label:
        if not np.any(own_nodes(search.tree, search.game.infosets(0, label))):
            continue
        later = continued(search, label)
        count = later.tree.num_infosets[0]
        frozen = later.tree.infosets[0].frozen[:count]
        if not np.any(frozen):
            continue
        seen += 1
        owner = later.tree.sequences[0].infoset[1 : later.tree.num_sequences[0]]
        fixed = 1 + np.flatnonzero(frozen[owner])
        before = later.tree.sequences[0].strategy[fixed].copy()
        later.run(Budget(nodes=300))
        np.testing.assert_array_equal(later.tree.sequences[0].strategy[fixed], before)
    assert seen


def test_the_prior_mixes_the_opponents_reach_with_a_uniform_choice():
    np.testing.assert_allclose(prior_of(np.array([0.3, 0.1, 0.0]), True), [13 / 24, 7 / 24, 4 / 24])
    np.testing.assert_allclose(prior_of(np.array([0.3, 0.1, 0.0]), False), 1 / 3)
    np.testing.assert_allclose(prior_of(np.zeros(4), True), 1 / 4)


def uneven(positions):
    """Values without ties, so that rounding cannot decide anything."""
    return np.array(
        [np.sin(1.0 + sum(7.0**i * a for i, a in enumerate(p.history()))) for p in positions]
    )


@pytest.mark.parametrize("gadget", list(RootGadget))
@pytest.mark.parametrize("player", [0, 1])
def test_the_compiled_root_equals_the_reference_and_blends_as_figure_10(gadget, player):
    settings = dataclasses.replace(OBSCURO, gadget=gadget)
    first = search_from_start(search_game(DICE, uneven), settings, player)
    first.run(Budget(nodes=300))
    label = next(iter(tree_from_game(DICE).infosets[player].index_of_label))
    fast, slow = continued(first, label), continued(first, label)
    assert fast.tree.num_roots > 1
    for search in (fast, slow):
        search.root.alternate[::2] += 0.3  # more than can be had, so the opponent enters
    slow.settings = dataclasses.replace(
        settings, minimizer=dataclasses.replace(settings.minimizer, name="same")
    )
    opponent = 1 - player
    entered = 0
    for _ in range(8):
        for search in (fast, slow):
            search.iterate(1)
        for name in fast.root._fields:
            np.testing.assert_allclose(
                getattr(fast.root, name), getattr(slow.root, name), atol=1e-12
            )
        for p in (0, 1):
            np.testing.assert_allclose(fast.behavior(p), slow.behavior(p), atol=1e-9)
        root, m = fast.root, fast.tree.num_roots
        blend = {
            RootGadget.MAXMARGIN: 0.0,
            RootGadget.RESOLVE: 1.0,
            RootGadget.BLEND: root.enter.max(),
        }[gadget]
        np.testing.assert_allclose(
            fast.behavior(opponent)[1 : 1 + m],
            blend * root.prior * root.enter + (1.0 - blend) * root.maxmargin,
        )
        entered += bool(np.any(root.enter > 0.0))
    assert entered
