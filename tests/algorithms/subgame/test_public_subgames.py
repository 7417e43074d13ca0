"""Subgames by hands: the margins, values and strategies of subgames in trees of nodes."""

import numpy as np
import pytest

from klss_spiel.algorithms.subgame.opponent_strategies import biased_strategies
from klss_spiel.algorithms.subgame.public_refine import refine_by_hands
from klss_spiel.algorithms.subgame.public_subgames import PublicSubgameBuilder
from klss_spiel.algorithms.subgame.recipes import (
    COMMON_KNOWLEDGE,
    KLUSS,
    OLSS_2,
    Gadget,
    parse_recipe,
)
from klss_spiel.algorithms.subgame.refine import Schedule, infosets_after_chance, refine
from klss_spiel.algorithms.subgame.solvers import Cfr, LinearProgramming
from klss_spiel.algorithms.subgame.subgame import SubgameBuilder
from klss_spiel.best_response import nash_conv
from klss_spiel.games.poker.leduc_family import ACTIONS
from klss_spiel.linear_program import equilibrium
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.tree import PLAYERS
from tests.helpers.poker import TwoLayouts

RECIPES = ("unsafe", "maxmargin", "resolve", "1-klss", "safe-1-klss", "olss-1")


@pytest.fixture(scope="module", params=[(2, 3, 1), (2, 3, 2)], ids=str)
def layouts(request):
    return TwoLayouts(*request.param)


def random_behavior(treeplex, rng):
    behavior = rng.random(treeplex.num_sequences)
    behavior[1:] /= treeplex.infoset_sums(behavior)[treeplex.sequence_infoset[1:]]
    behavior[0] = 1.0
    return behavior


class Both:
    """Subgames of one recipe and player in both layouts."""

    def __init__(self, layouts, policy, name, player):
        strategies = biased_strategies(policy, 1 - player, ACTIONS)
        self.recipe = self.of_tree = parse_recipe(name)
        opponents = None
        if self.recipe.gadget == Gadget.REACHING:
            self.of_tree = self.recipe(opponent_strategies=strategies)
            number = layouts.numbers[1 - player]
            opponents = [s.probabilities[1 - player][number] for s in strategies]
        self.layouts, self.player = layouts, player
        self.behaviors = layouts.behaviors(policy)
        self.opponents = opponents
        self.by_hands = PublicSubgameBuilder(layouts.public, self.behaviors, player, opponents)
        self.by_nodes = SubgameBuilder(policy, player)
        self.after = set(infosets_after_chance(layouts.tree, player).tolist())

    def pairs(self, closures):
        """Subgames of some closures with their counterparts."""
        infosets = self.layouts.tree.infosets[self.player]
        for closure in closures:
            for subgame in self.by_hands.build(closure, self.recipe):
                sequence = self.layouts.numbers[self.player][subgame.sequences[1]]
                infoset = int(infosets.sequence_infoset[sequence])
                while infoset not in self.after:
                    infoset = int(infosets.parent[infoset])
                yield subgame, self.by_nodes.build(infoset, self.of_tree)

    def on_tree(self, subgame, counterpart, behavior):
        number = self.layouts.numbers[self.player][subgame.sequences]
        by_number = dict(zip(number.tolist(), behavior, strict=True))
        return np.array([by_number[s] for s in counterpart.region.sequences.tolist()])


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("name", RECIPES)
def test_margins_and_values_are_the_trees(layouts, name, player):
    both = Both(layouts, layouts.policy, name, player)
    rng = np.random.default_rng(3)
    compared = 0
    for subgame, counterpart in both.pairs(layouts.public.closures[::6]):
        # With the blueprint put back every margin is 0.
        np.testing.assert_allclose(subgame.margins(subgame.blueprint), 0.0, atol=1e-9)
        behavior = random_behavior(subgame.game.treeplex, rng)
        expected = counterpart.margins(both.on_tree(subgame, counterpart, behavior))
        np.testing.assert_allclose(np.sort(subgame.margins(behavior)), np.sort(expected), atol=1e-9)
        value = equilibrium(counterpart.form).value
        assert equilibrium(subgame.form).value == pytest.approx(value, abs=1e-9)
        compared += 1
    hands = layouts.public.stages[1].num_hands
    at_least = 3 if both.recipe.order == COMMON_KNOWLEDGE else hands
    assert compared >= at_least


@pytest.mark.parametrize("name", RECIPES)
def test_roots_that_are_never_reached_are_left_out(layouts, name):
    # Player 0 folds or checks all but his best hand away before the board.
    policy = layouts.policy
    probabilities = policy.probabilities[0].copy()
    infosets = layouts.tree.infosets[0]
    for label, infoset in infosets.index_of_label.items():
        if "board" not in label and "[hand: 0" in label:
            probabilities[infosets.sequences(infoset)] = 0.0
            probabilities[infosets.sequences(infoset).start] = 1.0
    rare = BehaviorPolicy(layouts.tree, (probabilities, policy.probabilities[1]))
    both = Both(layouts, rare, name, 0)
    for subgame, counterpart in both.pairs(layouts.public.closures[-5:]):
        assert subgame.game.num_roots == counterpart.game.num_roots
        value = equilibrium(counterpart.form).value
        assert equilibrium(subgame.form).value == pytest.approx(value, abs=1e-9)


def test_closures_lose_roots_that_no_hand_leads_to():
    layouts = TwoLayouts(1, 4, 1)
    probabilities = layouts.policy.probabilities[0].copy()
    infosets = layouts.tree.infosets[0]
    for label, infoset in infosets.index_of_label.items():
        # Player 0 raises with the best hand alone, which then nobody else can have.
        if "board" not in label and "[betting: ]" in label:
            sure = 1 if "[hand: 3]" in label else 0
            probabilities[infosets.sequences(infoset)] = [1.0 - sure, sure]
    policy = BehaviorPolicy(layouts.tree, (probabilities, layouts.policy.probabilities[1]))
    for name in ("maxmargin", "resolve", "unsafe"):
        both = Both(layouts, policy, name, 0)
        smaller = 0
        for subgame, counterpart in both.pairs(layouts.public.closures):
            assert subgame.game.num_roots == counterpart.game.num_roots
            smaller += subgame.game.operator is None
            np.testing.assert_allclose(subgame.margins(subgame.blueprint), 0.0, atol=1e-9)
            value = equilibrium(counterpart.form).value
            assert equilibrium(subgame.form).value == pytest.approx(value, abs=1e-9)
        assert smaller > 0


@pytest.mark.parametrize("name", RECIPES)
def test_refined_strategies_are_the_trees(layouts, name):
    both = Both(layouts, layouts.policy, name, 1)
    solver = Cfr(6)
    behavior = refine_by_hands(
        layouts.public,
        both.behaviors,
        both.recipe,
        player=1,
        solver=solver,
        opponent_behaviors=both.opponents,
    )
    expected = refine(
        layouts.policy,
        both.of_tree,
        player=1,
        where=infosets_after_chance(layouts.tree, 1),
        schedule=Schedule.SEPARATE,
        solver=solver,
    ).policy
    got = layouts.on_tree((both.behaviors[0], behavior))
    assert not np.allclose(got.probabilities[1], layouts.policy.probabilities[1])
    np.testing.assert_allclose(got.probabilities[1], expected.probabilities[1], atol=1e-6)
    exploitability = nash_conv(expected, layouts.form)
    after = layouts.public.nash_conv((both.behaviors[0], behavior))
    assert after == pytest.approx(exploitability, abs=1e-6)


def test_exact_solutions_of_a_closure_never_raise_exploitability(layouts):
    behaviors = layouts.behaviors(layouts.policy)
    refined = refine_by_hands(
        layouts.public,
        behaviors,
        parse_recipe("maxmargin"),
        player=0,
        solver=LinearProgramming(),
        closures=layouts.public.closures[3:4],
    )
    changed = np.flatnonzero(refined != behaviors[0])
    closure = layouts.public.closures[3]
    assert len(changed)
    assert closure.begin[0] <= changed.min()
    assert changed.max() < closure.end[0]
    before = layouts.public.nash_conv(behaviors)
    assert layouts.public.nash_conv((refined, behaviors[1])) <= before + 1e-9


def test_what_needs_a_tree_is_refused(layouts):
    builder = PublicSubgameBuilder(layouts.public, layouts.behaviors(layouts.policy), 0)
    for recipe, reason in (
        (parse_recipe("3-klss"), "expected order 1 or common knowledge"),
        (OLSS_2(), "needs a tree of nodes"),
        (parse_recipe("reach-maxmargin"), "needs a tree of nodes"),
        (KLUSS(1), "needs a tree of nodes"),
        (parse_recipe("1-klss")(merge_transpositions=True), "options that need a tree"),
    ):
        with pytest.raises(ValueError, match=reason):
            builder.build(layouts.public.closures[0], recipe)
