"""Refinement over whole games: schedules, solvers, checkpoints, choices of infosets."""

import time

import numpy as np
import pytest

from klss_spiel.algorithms.knowledge import infoset_graph
from klss_spiel.algorithms.subgame.independent_set import independent_set
from klss_spiel.algorithms.subgame.recipes import (
    KLSS,
    KLUSS,
    MAXMARGIN,
    OLSS_1,
    SAFE_1_KLSS,
    parse_recipe,
)
from klss_spiel.algorithms.subgame.refine import Schedule, infosets_after_chance, refine
from klss_spiel.algorithms.subgame.regions import RegionIndex
from klss_spiel.algorithms.subgame.solvers import Cfr, LinearProgramming, Ties
from klss_spiel.algorithms.subgame.subgame import build_subgame
from klss_spiel.best_response import best_response_to, loss_of_player, nash_conv
from klss_spiel.budget import Budget
from klss_spiel.linear_program import floor_bounds, solve
from klss_spiel.npz_files import BrokenFileError
from klss_spiel.openspiel import policy_to_openspiel, tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree, treeplex_from_tree
from tests.helpers.games import random_policy
from tests.helpers.random_trees import random_tree

DARK_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"


class CountingSolver:
    """Linear programming that counts and can be killed."""

    def __init__(self, limit=None):
        self.solved = 0
        self.batches = []
        self.limit = limit

    def __str__(self):
        return "counting"

    def solve(self, subgames, bounds):
        self.batches.append(len(subgames))
        self.solved += len(subgames)
        if self.limit is not None and self.solved > self.limit:
            raise KeyboardInterrupt
        return LinearProgramming().solve(subgames, bounds)


@pytest.fixture(scope="module")
def leduc():
    tree = tree_from_game("leduc_poker")
    return tree, random_policy(tree, 3)


def plain_nested(tree, blueprint, recipe, player):
    """Nested refinement by the book: a fresh blueprint and fresh tables at every step."""
    table = tree.infosets[player]
    result = blueprint.probabilities[player].copy()

    def visit(infoset, current):
        subgame = build_subgame(current, infoset, recipe, player)
        if subgame.is_empty:
            return
        (behavior,) = LinearProgramming().solve([subgame], [None])
        behavior = np.where(subgame.is_reached, behavior, subgame.blueprint)
        probabilities = subgame.on_tree(behavior, current.probabilities[player])
        result[table.sequences(infoset)] = probabilities[table.sequences(infoset)]
        below = current.replace(player, probabilities)
        for after in table.decisions.tolist():
            before = table.parent_sequence[after]
            if before and table.sequence_infoset[before] == infoset:
                # Where the solution never goes, what it says is still what is played.
                result[table.sequences(after)] = probabilities[table.sequences(after)]
                visit(after, below)

    for infoset in table.decisions.tolist():
        if table.parent_sequence[infoset] == 0:
            visit(infoset, blueprint)
    return result


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("recipe", [KLSS(1), KLSS(3), SAFE_1_KLSS(), KLSS(1)(reach=True)])
def test_nested_refinement_is_what_the_book_says(player, recipe):
    for seed in range(4):
        tree = random_tree(seed, timed=seed % 2 == 0, plies=4)
        blueprint = random_policy(tree, seed)
        found = refine(blueprint, recipe, player=player).policy.probabilities[player]
        expected = plain_nested(tree, blueprint, recipe, player)
        plans = [treeplex_from_tree(tree, player).realization_plan(b) for b in (found, expected)]
        np.testing.assert_allclose(plans[0], plans[1], atol=1e-7)


def test_only_chosen_infosets_and_what_follows_them_change(leduc):
    tree, blueprint = leduc
    for player in (0, 1):
        where = infosets_after_chance(tree, player)
        refined = refine(blueprint, KLSS(1), player=player, where=where)
        assert set(refined.solved) == set(where.tolist())
        changed = refined.policy.probabilities[player] != blueprint.probabilities[player]
        infosets = tree.infosets[player]
        labels = {infosets.labels[i] for i in infosets.sequence_infoset[changed]}
        assert labels
        assert all("Round: 2" in label or "Round 2" in label for label in labels)
        np.testing.assert_array_equal(
            refined.policy.probabilities[1 - player], blueprint.probabilities[1 - player]
        )


def test_infosets_after_the_community_card_are_those_of_both_players(leduc):
    tree, _ = leduc
    # 5 betting sequences reach round 2; each player sees a card of 3 ranks x 2 suits and
    # a board card of the 5 others.
    for player in (0, 1):
        where = infosets_after_chance(tree, player)
        assert len(where) == 5 * 6 * 5
        sizes = np.bincount(tree.infoset[player], minlength=where.max() + 1)[where]
        assert set(sizes) == {4}  # OLSS, appendix B: the opponent's 4 possible cards.
    assert np.all(tree.infosets[0].num_actions[infosets_after_chance(tree, 0)] > 0)
    assert np.all(tree.infosets[1].num_actions[infosets_after_chance(tree, 1)] == 0)


def test_one_closure_is_solved_once(leduc):
    tree, blueprint = leduc
    where = infosets_after_chance(tree, 0)
    solver = CountingSolver()
    refined = refine(blueprint, MAXMARGIN, where=where, solver=solver)
    assert len(refined.solved) == len(where)
    assert solver.solved == 5 * 6  # Betting sequences x board cards.
    # Order 3 is common knowledge in leduc, but each infoset is solved by itself.
    solver = CountingSolver()
    refine(blueprint, KLSS(3), where=where[:7], solver=solver)
    assert solver.solved == 7


def test_safe_plans_in_leduc(leduc):
    tree, blueprint = leduc
    form = sequence_form_from_tree(tree)

    def loss(policy):
        return best_response_to(form, 1, policy.realization_plans[0]).value

    before = loss(blueprint)
    for recipe, plan in (
        (KLSS(1), Schedule.UPDATED),
        (KLSS(1), Schedule.INDEPENDENT_SET),
        (MAXMARGIN, Schedule.NESTED),
    ):
        refined = refine(blueprint, recipe, schedule=plan)
        assert loss(refined.policy) < before - 1e-6


@pytest.mark.parametrize("game", ["kuhn_poker", DARK_HEX, "leduc_poker"])
def test_independent_sets_are_independent_closed_and_maximal(game):
    tree = tree_from_game(game)
    for player in (0, 1):
        index = RegionIndex(tree, player)
        table = tree.infosets[player]
        graph = infoset_graph(tree, player)
        sets = []
        for seed in range(3):
            chosen = independent_set(index, table.decisions, np.random.default_rng(seed))
            taken = set(chosen.tolist())
            sets.append(frozenset(taken))
            for infoset in taken:
                assert not taken & set(graph.neighbors(infoset).tolist())
                before = table.parent_sequence[infoset]
                assert before == 0 or int(table.sequence_infoset[before]) in taken
            for infoset in set(table.decisions.tolist()) - taken:
                before = table.parent_sequence[infoset]
                could = before == 0 or int(table.sequence_infoset[before]) in taken
                assert not could or taken & set(graph.neighbors(infoset).tolist())
        assert len(set(sets)) > 1


def test_an_independent_set_of_perfect_information_is_everything():
    tree = tree_from_game("nim(pile_sizes=1;2)")
    index = RegionIndex(tree, 0)
    decisions = tree.infosets[0].decisions
    chosen = independent_set(index, decisions, np.random.default_rng(0))
    np.testing.assert_array_equal(chosen, decisions)


def test_cfr_comes_close_to_linear_programming(leduc):
    tree, blueprint = leduc
    form = sequence_form_from_tree(tree)
    where = infosets_after_chance(tree, 0)[::30]
    before = best_response_to(form, 1, blueprint.realization_plans[0]).value
    for recipe in (KLSS(1), OLSS_1()):
        by_cfr = refine(blueprint, recipe, where=where, solver=Cfr(500))
        assert best_response_to(form, 1, by_cfr.policy.realization_plans[0]).value <= before + 1e-3
        subgames = [build_subgame(blueprint, i, recipe) for i in where.tolist()]
        nothing = [None] * len(subgames)
        found = Cfr(500).solve(subgames, nothing)
        optimal = LinearProgramming(Ties.FIRST).solve(subgames, nothing)
        for subgame, approximate, exact in zip(subgames, found, optimal, strict=True):
            margins = [subgame.margins(behavior) for behavior in (approximate, exact)]
            if recipe.name == "olss-1":
                margins = [subgame.root_weights @ m for m in margins]
            assert margins[0].min() == pytest.approx(margins[1].min(), abs=0.03)


def test_cfr_solves_independent_subgames_in_one_batch(leduc):
    tree, blueprint = leduc
    where = infosets_after_chance(tree, 0)[:3].tolist()
    subgames = [build_subgame(blueprint, i, KLSS(1)) for i in where]
    together = Cfr(50).solve(subgames, [None] * len(subgames))
    for subgame, behavior in zip(subgames, together, strict=True):
        (alone,) = Cfr(50).solve([subgame], [None])
        np.testing.assert_allclose(behavior, alone, atol=1e-9)


def test_cfr_stops_when_its_time_is_over(leduc):
    tree, blueprint = leduc
    subgame = build_subgame(blueprint, int(infosets_after_chance(tree, 0)[0]), KLSS(1))
    Cfr(50).solve([subgame], [None])  # Compiles.
    start = time.monotonic()
    (behavior,) = Cfr(Budget(seconds=0.2)).solve([subgame], [None])
    assert 0.2 <= time.monotonic() - start < 5.0
    best = subgame.margins(LinearProgramming().solve([subgame], [None])[0]).min()
    assert subgame.margins(behavior).min() == pytest.approx(best, abs=0.05)
    with pytest.raises(ValueError, match="do not grow"):
        Cfr(Budget(nodes=10)).solve([subgame], [None])


def test_cfr_looks_at_its_stop_now_and_then(leduc):
    tree, blueprint = leduc
    subgame = build_subgame(blueprint, int(infosets_after_chance(tree, 0)[0]), KLSS(1))
    looks = []

    class SetAtThirdLook:
        def is_set(self):
            looks.append(True)
            return len(looks) >= 3

    (stopped,) = Cfr(Budget(iterations=10**9, stop=SetAtThirdLook())).solve([subgame], [None])
    (same,) = Cfr(150).solve([subgame], [None])
    np.testing.assert_allclose(stopped, same, atol=1e-9)


def test_results_are_deterministic_for_a_seed(leduc):
    tree, blueprint = leduc
    for plan in Schedule:
        arguments = dict(where=infosets_after_chance(tree, 0)[::5], schedule=plan, seed=1)
        if plan == Schedule.INDEPENDENT_SET:
            arguments["where"] = None
        first, second = (
            refine(
                blueprint,
                KLSS(1),
                solver=LinearProgramming(Ties.RANDOM, 4),
                **arguments,
            ).policy.probabilities[0]
            for _ in range(2)
        )
        np.testing.assert_array_equal(first, second)


def test_a_killed_refinement_resumes_where_it_stood(tmp_path, leduc, monkeypatch):
    from klss_spiel.algorithms.subgame import checkpoint as refinement_checkpoint
    from klss_spiel.algorithms.subgame import refine as module

    tree, blueprint = leduc
    monkeypatch.setattr(refinement_checkpoint, "_SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(module, "_LARGEST_BATCH", 16)
    path = tmp_path / "solves.npz"
    where = infosets_after_chance(tree, 0)
    with pytest.raises(KeyboardInterrupt):
        refine(blueprint, KLSS(1), where=where, solver=CountingSolver(100), checkpoint=path)
    solver = CountingSolver()
    resumed = refine(blueprint, KLSS(1), where=where, solver=solver, checkpoint=path)
    assert 0 < solver.solved <= len(where) - 96
    fresh = refine(blueprint, KLSS(1), where=where, solver=CountingSolver())
    np.testing.assert_array_equal(resumed.policy.probabilities[0], fresh.policy.probabilities[0])
    again = CountingSolver()
    refine(blueprint, KLSS(1), where=where, solver=again, checkpoint=path)
    assert again.solved == 0
    with pytest.raises(ValueError, match="another refinement"):
        refine(blueprint, KLSS(3), where=where, solver=again, checkpoint=path)


def test_the_refined_strategy_is_an_openspiel_policy():
    tree = tree_from_game("kuhn_poker")
    refined = refine(BehaviorPolicy.uniform(tree), KLSS(1))
    import pyspiel
    from open_spiel.python.algorithms import exploitability

    game = pyspiel.load_game("kuhn_poker")
    policy = policy_to_openspiel(refined.policy, game)
    assert exploitability.nash_conv(game, policy) == pytest.approx(nash_conv(refined.policy))


def test_infosets_the_blueprint_never_reaches_are_skipped_and_kept():
    tree = tree_from_game("kuhn_poker")
    infosets = tree.infosets[0]
    probabilities = BehaviorPolicy.uniform(tree).probabilities[0].copy()
    probabilities[infosets.sequences(infosets.index_of_label["0"])] = [0.0, 1.0]
    second = infosets.index_of_label["0pb"]
    probabilities[infosets.sequences(second)] = [0.3, 0.7]
    blueprint = BehaviorPolicy.uniform(tree).replace(0, probabilities)
    refined = refine(blueprint, KLSS(1), where=[second])
    assert refined.skipped == (second,)
    assert refined.solved == ()
    np.testing.assert_array_equal(refined.policy.probabilities[0], probabilities)


def test_recipes_have_names():
    assert parse_recipe("1-klss") == KLSS(1)
    assert parse_recipe("2-kluss") == KLUSS(2)
    assert parse_recipe("reach-maxmargin").reach
    assert parse_recipe("1-klss-resolve").gadget.value == "resolve"
    assert parse_recipe("safe-1-klss") == SAFE_1_KLSS()
    for wrong in ("klss", "2-klss", "maxmargin-resolve", "olss-3", ""):
        with pytest.raises(ValueError, match=r"expected|odd|gadget"):
            parse_recipe(wrong)


def test_bad_input_is_refused_with_a_reason(leduc):
    tree, blueprint = leduc
    bounds = floor_bounds(treeplex_from_tree(tree, 0), 0.1)
    with pytest.raises(ValueError, match="infosets of player 0"):
        refine(blueprint, KLSS(1), where=[10**6])
    with pytest.raises(ValueError, match="cannot keep lower bounds"):
        refine(blueprint, KLSS(1), lower_bounds=bounds, solver=Cfr(10))
    with pytest.raises(ValueError, match="shape"):
        refine(blueprint, KLSS(1), lower_bounds=bounds[:-1])


@pytest.mark.parametrize("kind", ["empty", "cut", "other contents", "too few numbers"])
def test_a_broken_checkpoint_gives_one_error(tmp_path, kind):
    tree = tree_from_game("kuhn_poker")
    blueprint = random_policy(tree, 0)
    path = tmp_path / "solves.npz"
    refine(blueprint, KLSS(1), checkpoint=path)
    if kind == "too few numbers":
        with np.load(path) as data:
            arrays = dict(data)
        np.savez(path, **{**arrays, "behaviors": arrays["behaviors"][:-1]})
    elif kind == "other contents":
        np.savez(path, key=np.array(1))
    else:
        path.write_bytes(path.read_bytes()[: 0 if kind == "empty" else 200])
    with pytest.raises(BrokenFileError, match="solves"):
        refine(blueprint, KLSS(1), checkpoint=path)


def test_safe_1_klss_is_not_safe_if_every_solve_starts_from_the_blueprint():
    tree = random_tree(0, plies=4)
    form = sequence_form_from_tree(tree)
    value = solve(form).value
    blueprint = random_policy(tree, 0)
    before = loss_of_player(blueprint, 1, value, form)
    losses = {
        schedule: loss_of_player(
            refine(blueprint, SAFE_1_KLSS(), player=1, schedule=schedule).policy, 1, value, form
        )
        for schedule in Schedule
    }
    assert losses[Schedule.SEPARATE] > before + 0.05
    assert losses[Schedule.NESTED] <= before + 1e-9


def test_opponent_strategies_may_be_of_a_rebuilt_tree():
    tree = tree_from_game("kuhn_poker")
    blueprint, rebuilt = random_policy(tree, 0), tree_from_game("kuhn_poker")
    refined = [
        refine(blueprint, OLSS_1((random_policy(game, 1),))).policy.probabilities[0]
        for game in (tree, rebuilt)
    ]
    np.testing.assert_array_equal(refined[0], refined[1])


def test_lower_bounds_and_infosets_may_be_lists():
    tree = tree_from_game("kuhn_poker")
    blueprint = BehaviorPolicy.uniform(tree)
    bounds = floor_bounds(sequence_form_from_tree(tree).treeplexes[0], 0.1)
    where = tree.infosets[0].decisions
    arrays = refine(blueprint, KLSS(1), where=where, lower_bounds=bounds).policy
    lists = refine(blueprint, KLSS(1), where=where.tolist(), lower_bounds=bounds.tolist()).policy
    np.testing.assert_array_equal(arrays.probabilities[0], lists.probabilities[0])
    with pytest.raises(ValueError, match="expected lower_bounds as 13 numbers"):
        refine(blueprint, KLSS(1), lower_bounds=["a"] * 13)
