"""OLSS as tests: worked examples, theorems 4.1 and 5.1, and what OLSS-I and -II reduce to."""

import hypothesis.strategies as st
import numpy as np
import pyspiel
import pytest
from hypothesis import given

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.subgame.opponent_strategies import (
    biased_strategies,
    pure_strategies,
)
from klss_spiel.algorithms.subgame.recipes import (
    KLSS,
    MAXMARGIN,
    OLSS_1,
    OLSS_2,
    RESOLVE,
    SAFE_1_KLSS,
    UNSAFE,
    Gadget,
)
from klss_spiel.algorithms.subgame.refine import Schedule, infosets_after_chance, refine
from klss_spiel.algorithms.subgame.subgame import SubgameBuilder, build_subgame
from klss_spiel.best_response import best_response, best_response_to, exploitability, nash_conv
from klss_spiel.linear_program import solve
from klss_spiel.openspiel import policy_from_openspiel, tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from tests.helpers.games import random_policy
from tests.helpers.random_trees import random_tree

CASES = st.tuples(st.integers(0, 10_000), st.sampled_from([0, 1]))


class Game:
    def __init__(self, tree):
        self.tree = tree
        self.form = sequence_form_from_tree(tree)
        self.value = solve(self.form, 0).value

    def exploitability(self, policy):
        answer = best_response_to(self.form, 1, policy.realization_plans[0])
        return self.value + answer.value


def loss(form, player, policy):
    return best_response_to(form, 1 - player, policy.realization_plans[player]).value


# --- Section 6, figures 2 and 3. ---


@pytest.fixture(scope="module")
def example():
    return Game(tree_from_game("python_olss_example"))


@pytest.fixture(scope="module")
def at_a(example):
    return example.tree.infosets[0].index_of_label["p0 ply:1 signal:a"]


def tails(example, infoset, refinement):
    return refinement.policy.probabilities[0][example.tree.infosets[0].sequences(infoset)][1]


def test_section_6_blueprint(example):
    assert example.exploitability(BehaviorPolicy.uniform(example.tree)) == pytest.approx(1 / 6)


def test_section_6_safe_1_klss_keeps_the_blueprint_at_a(example, at_a):
    blueprint = BehaviorPolicy.uniform(example.tree)
    refined = refine(blueprint, SAFE_1_KLSS(), where=[at_a])
    assert tails(example, at_a, refined) == pytest.approx(0.5)
    everywhere = refine(blueprint, SAFE_1_KLSS())
    assert example.exploitability(everywhere.policy) == pytest.approx(1 / 9)


def test_section_6_one_klss_at_both(example):
    refined = refine(BehaviorPolicy.uniform(example.tree), KLSS(1))
    assert example.exploitability(refined.policy) == pytest.approx(1 / 18)


def test_section_6_olss_1_gains_with_one_strategy(example, at_a):
    blueprint = BehaviorPolicy.uniform(example.tree)
    refined = refine(blueprint, OLSS_1(), where=[at_a])
    assert tails(example, at_a, refined) == pytest.approx(0.6)
    assert example.exploitability(refined.policy) == pytest.approx(1 / 6 - 1 / 15)
    everywhere = refine(blueprint, OLSS_1())
    assert example.exploitability(everywhere.policy) == pytest.approx(1 / 6 - 11 / 90)
    # Player 1 has not moved yet, so all his strategies reach the subgame alike.
    many = OLSS_1(tuple(pure_strategies(blueprint, 1)))
    subgame = build_subgame(blueprint, at_a, many)
    assert subgame.root_weights.shape == (1, 2)


def test_section_6_olss_2_loses_with_two_pure_strategies(example, at_a):
    blueprint = BehaviorPolicy.uniform(example.tree)
    all_pure = list(pure_strategies(blueprint, 1))
    same_everywhere = tuple(p for p in all_pure if p.probabilities[1][1] == p.probabilities[1][3])
    assert len(all_pure) == 4
    assert len(same_everywhere) == 2
    refined = refine(blueprint, OLSS_2(same_everywhere), where=[at_a])
    assert example.exploitability(refined.policy) == pytest.approx(1 / 6 + 1 / 15)
    # With all pure strategies it is as safe as OLSS-I.
    refined = refine(blueprint, OLSS_2(tuple(all_pure)), where=[at_a])
    assert example.exploitability(refined.policy) == pytest.approx(1 / 6 - 1 / 15)


# --- Figure 1, and why the gift must not be scaled up. ---


def test_figure_1_hundred_matching_pennies():
    game = Game(tree_from_game("python_hidden_pennies(n=100)"))
    behavior = np.array([1.0] + [0.55, 0.45] * 100)
    blueprint = BehaviorPolicy.uniform(game.tree).replace(0, behavior)
    assert game.exploitability(blueprint) == pytest.approx(0.1)

    def after(recipe, **arguments):
        return game.exploitability(refine(blueprint, recipe, **arguments).policy)

    assert after(KLSS(1)) == pytest.approx(1.0)
    assert after(KLSS(1), where=game.tree.infosets[0].decisions[:1]) == pytest.approx(0.089)
    for scale, expected in ((1.0, 0.0), (2.0, 0.1), (3.0, 0.2)):
        assert after(SAFE_1_KLSS(scale)) == pytest.approx(expected, abs=1e-9)
        assert after(OLSS_1(gift_scale=scale)) == pytest.approx(expected, abs=1e-9)


def test_a_gift_scale_of_two_is_not_safe():
    game = Game(tree_from_game("python_gift_example"))
    blueprint = BehaviorPolicy.uniform(game.tree).replace(0, np.array([1.0, 0.75, 0.25]))
    assert game.exploitability(blueprint) == pytest.approx(0.25)
    for scale, expected in ((1.0, 0.0), (2.0, 0.75)):
        refined = refine(blueprint, SAFE_1_KLSS(scale))
        assert game.exploitability(refined.policy) == pytest.approx(expected, abs=1e-9)


# --- Theorems. ---


def first_decisions(tree, player):
    infosets = tree.infosets[player]
    return infosets.decisions[infosets.parent_sequence[infosets.decisions] == 0]


@given(CASES, st.sampled_from([0.0, 0.5, 1.0]))
def test_theorem_4_1_safe_1_klss_is_safe_at_all_infosets_at_once(case, gift_scale):
    seed, player = case
    tree = random_tree(seed)
    form = sequence_form_from_tree(tree)
    blueprint = random_policy(tree, seed)
    where = first_decisions(tree, player)
    refined = refine(blueprint, SAFE_1_KLSS(gift_scale), player=player, where=where)
    assert loss(form, player, refined.policy) <= loss(form, player, blueprint) + 1e-9


@given(CASES)
def test_theorem_5_1_olss_is_safe_with_all_pure_strategies(case):
    seed, player = case
    tree = random_tree(seed)
    blueprint = random_policy(tree, seed)
    opponent = tree.infosets[1 - player]
    if np.prod(opponent.num_actions[opponent.decisions].astype(float)) > 2000:
        return
    form = sequence_form_from_tree(tree)
    strategies = tuple(pure_strategies(blueprint, 1 - player))
    where = first_decisions(tree, player)
    for recipe in (OLSS_1(strategies), OLSS_2(strategies)):
        refined = refine(blueprint, recipe, player=player, where=where)
        assert loss(form, player, refined.policy) <= loss(form, player, blueprint) + 1e-9


@given(CASES)
def test_olss_1_with_one_strategy_is_unsafe_solving_of_the_order_1_subgame(case):
    """The same objective, and on a closure that is one infoset the very same game."""
    seed, player = case
    tree = random_tree(seed)
    blueprint = random_policy(tree, seed)
    builder = SubgameBuilder(blueprint, player)
    opponent = 1 - player
    for infoset in tree.infosets[player].decisions.tolist():
        limited = builder.build(infoset, OLSS_1())
        unsafe = builder.build(infoset, SAFE_1_KLSS(gadget=Gadget.UNSAFE))
        assert solve(limited.form, player).value == pytest.approx(
            solve(unsafe.form, player).value, abs=1e-9
        )
        whole = builder.build(infoset, UNSAFE)
        if len(whole.region.nodes) == len(limited.region.nodes):
            drawn = random_policy(tree, infoset)
            plan = whole.region.treeplex.realization_plan(
                drawn.probabilities[player][whole.region.sequences]
            )
            values = [
                best_response(g.form.treeplexes[opponent], g.form.gradient(opponent, plan)).value
                for g in (limited, whole)
            ]
            assert values[0] == pytest.approx(values[1], abs=1e-9)


@given(CASES)
def test_olss_2_margins_follow_equations_11_to_14(case):
    """The environment model of the player's infoset tree, walked node by node."""
    seed, player = case
    tree = random_tree(seed)
    blueprint = random_policy(tree, seed)
    strategy = random_policy(tree, seed + 1)
    builder = SubgameBuilder(blueprint, player)
    opponent = 1 - player
    sign = 1.0 if player == 0 else -1.0
    others = tree.chance_reach * strategy.reach(opponent)  # pi_{-1}

    def environment_value(infoset, behavior):
        """Equation 14 by equations 12 and 13, over infosets of the player."""
        table = tree.infosets[player]
        nodes = np.flatnonzero(tree.infoset[player] == infoset)
        total = 0.0
        entering = others[nodes[tree.infoset[player, tree.parent[nodes]] != infoset]].sum()
        for child in np.flatnonzero(table.parent == infoset):
            inside = np.flatnonzero(tree.infoset[player] == child)
            entered = inside[tree.infoset[player, tree.parent[inside]] != child]
            chance = others[entered].sum() / entering
            if table.num_actions[infoset]:
                chance *= behavior[table.parent_sequence[child]]
            total += chance * environment_value(child, behavior)
        leaves = nodes[tree.num_children[nodes] == 0]
        total += sign * (others[leaves] * tree.utility[leaves]).sum() / entering
        return total

    for infoset in tree.infosets[player].decisions[:3].tolist():
        subgame = builder.build(infoset, OLSS_2((strategy,)))
        drawn = random_policy(tree, seed + 2)
        x = drawn.probabilities[player]
        gain = environment_value(infoset, x) - environment_value(
            infoset, blueprint.probabilities[player]
        )
        # R: what the strategy gives away against the blueprint, root by root.
        gift = 0.0
        at = np.flatnonzero(tree.infoset[player] == infoset)
        reach = tree.chance_reach * blueprint.reach(player)
        for node in at:
            root = tree.infoset[opponent, node]
            roots = tree.infoset[opponent] == root
            below = tree.descendants(roots)
            leaves = np.flatnonzero(below & (tree.num_children == 0))
            relative = strategy.reach(opponent)[leaves] / strategy.reach(opponent)[node]
            got = sign * (reach[leaves] * relative * tree.utility[leaves]).sum()
            lost = (got - builder.values.value[root]) / reach[roots].sum()
            gift += others[node] / others[at].sum() * lost
        expected = gain + gift
        assert subgame.margins(x[subgame.region.sequences])[0] == pytest.approx(expected)


def test_unreachable_strategies_are_left_out():
    tree = tree_from_game("kuhn_poker")
    blueprint = BehaviorPolicy.uniform(tree)
    infosets = tree.infosets[1]
    never_bets = blueprint.probabilities[1].copy()
    for label in ("0p", "1p", "2p"):
        never_bets[infosets.sequences(infosets.index_of_label[label])] = [1.0, 0.0]
    passive = blueprint.replace(1, never_bets)
    for recipe in (OLSS_1, OLSS_2):
        subgame = build_subgame(blueprint, "0pb", recipe((blueprint, passive)))
        assert subgame.form.treeplexes[1].num_actions[0] == 1
        assert build_subgame(blueprint, "0pb", recipe((passive,))).is_empty


# --- Leduc: the order of the methods (Table 2), from sampled blueprints. ---


@pytest.mark.slow
def test_the_order_of_methods_in_leduc():
    game = pyspiel.load_game("leduc_poker")
    tree = tree_from_game(game)
    form = sequence_form_from_tree(tree)
    results: dict[str, list[float]] = {}
    for seed in range(3):
        solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed)
        for _ in range(80_000):
            solver.run_iteration()
        blueprint = policy_from_openspiel(tree, game, solver.average_policy())
        before = nash_conv(blueprint, form)
        assert before == pytest.approx(0.15, abs=0.03)
        results.setdefault("blueprint", []).append(before)
        for name in ("unsafe", "maxmargin", "resolve", "1-klss", "safe", "olss"):
            policy = blueprint
            for player in (0, 1):
                recipe = {
                    "unsafe": UNSAFE,
                    "maxmargin": MAXMARGIN,
                    "resolve": RESOLVE,
                    "1-klss": KLSS(1),
                    "safe": SAFE_1_KLSS(),
                    "olss": OLSS_1(biased_strategies(blueprint, 1 - player, (0, 1, 2))),
                }[name]
                where = infosets_after_chance(tree, player)
                refined = refine(blueprint, recipe, player=player, where=where)
                policy = policy.replace(player, refined.policy.probabilities[player])
            results.setdefault(name, []).append(nash_conv(policy, form))
    blueprint_loss = np.array(results["blueprint"])
    for name in ("maxmargin", "resolve", "safe", "olss"):
        assert np.all(np.array(results[name]) <= blueprint_loss), name
    mean = {name: np.mean(values) for name, values in results.items()}
    assert mean["olss"] < mean["safe"] < mean["blueprint"] < mean["1-klss"]
    assert mean["maxmargin"] < mean["safe"]


def test_only_updated_solves_are_safe_all_over_leduc_poker():
    """What the docstring of SAFE_1_KLSS says about schedules."""
    tree = tree_from_game("leduc_poker")
    blueprint = BehaviorPolicy(tree, cfr.solve(tree, 50).average_behavior)
    before = exploitability(blueprint)
    nested, updated = (
        exploitability(refine(blueprint, SAFE_1_KLSS(), schedule=schedule).policy)
        for schedule in (Schedule.NESTED, Schedule.UPDATED)
    )
    assert [before, nested, updated] == pytest.approx([0.0341, 0.0356, 0.0246], abs=1e-4)
