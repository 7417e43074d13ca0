"""Subgames with few plans of the player, solved by cutting planes."""

import numpy as np
import pytest

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.subgame import cutting_planes
from klss_spiel.algorithms.subgame.cutting_planes import CuttingPlanes, pure_plans
from klss_spiel.algorithms.subgame.opponent_strategies import biased_behavior
from klss_spiel.algorithms.subgame.public_subgames import PublicSubgameBuilder
from klss_spiel.algorithms.subgame.recipes import Gadget, parse_recipe
from klss_spiel.algorithms.subgame.solvers import LinearProgramming
from klss_spiel.games.poker.leduc_family import ACTIONS, leduc
from klss_spiel.games.poker.public_poker import leduc_public_game
from klss_spiel.linear_program import equilibrium
from klss_spiel.tree import PLAYERS

ORDER_1 = ("1-klss", "safe-1-klss", "olss-1")


@pytest.fixture(scope="module")
def game():
    return leduc_public_game(leduc(2, 4, 2))


@pytest.fixture(scope="module")
def blueprint(game):
    return cfr.solve(game.form, 20).average_behavior


def subgames(game, blueprint, name, player, closure=-2):
    recipe, other = parse_recipe(name), 1 - player
    strategies = None
    if recipe.gadget == Gadget.REACHING:
        actions = game.sequence_actions[other]
        treeplex = game.form.treeplexes[other]
        strategies = [blueprint[other]] + [
            biased_behavior(treeplex, blueprint[other], actions == action, 5.0)
            for action in ACTIONS
        ]
    builder = PublicSubgameBuilder(game, blueprint, player, strategies)
    return builder.build(game.closures[closure], recipe)


def objectives(subgame, behavior):
    """What is maximised first and, among equals, then."""
    margins = subgame.margins(behavior)
    if subgame.recipe.gadget == Gadget.REACHING:
        return np.min(subgame.root_weights @ margins), 0.0
    return np.min(margins), subgame.root_reach @ margins / subgame.root_reach.sum()


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("name", ORDER_1)
def test_solutions_are_those_of_linear_programs(game, blueprint, name, player):
    built = subgames(game, blueprint, name, player)
    nothing = [None] * len(built)
    found = CuttingPlanes().solve(built, nothing)
    expected = LinearProgramming().solve(built, nothing)
    improved = 0
    for subgame, behavior, exact in zip(built, found, expected, strict=True):
        first, second = objectives(subgame, behavior)
        np.testing.assert_allclose((first, second), objectives(subgame, exact), atol=1e-8)
        value = equilibrium(subgame.form).value
        sign = 1.0 if player == 0 else -1.0
        assert first == pytest.approx(sign * value, abs=1e-8)
        improved += first + second > 1e-3
    assert len(built) == game.stages[1].num_hands and improved


def test_without_the_second_objective_margins_are_given_away(game, blueprint, monkeypatch):
    built = subgames(game, blueprint, "safe-1-klss", 0)
    with_ties = CuttingPlanes().solve(built, [None] * len(built))
    monkeypatch.setattr(cutting_planes, "_TIE_WEIGHT", 0.0)
    without = CuttingPlanes().solve(built, [None] * len(built))
    gained = [
        objectives(subgame, one)[1] - objectives(subgame, other)[1]
        for subgame, one, other in zip(built, with_ties, without, strict=True)
    ]
    assert min(gained) > -1e-8 and max(gained) > 1e-3


def test_planes_that_are_almost_equal_do_not_stop_the_simplex_method():
    # Many of 91 hands are worth the same; rounding makes their planes almost equal.
    large = leduc_public_game(leduc(2, 13, 2))
    uneven = cfr.solve(large.form, 3).average_behavior
    built = subgames(large, uneven, "1-klss", 0)
    found = CuttingPlanes().solve(built, [None] * len(built))
    for subgame, behavior in list(zip(built, found, strict=True))[::20]:
        value = equilibrium(subgame.form).value
        assert objectives(subgame, behavior)[0] == pytest.approx(value, abs=1e-7)


def test_pure_plans_play_one_action_wherever_they_come(game, blueprint):
    treeplex = subgames(game, blueprint, "1-klss", 1)[0].game.treeplex
    plans = pure_plans(treeplex)
    # After a check: check, or bet and then fold or call; after a bet: fold, call, raise.
    assert len(plans) == 3 * 3 == len(np.unique(plans, axis=0))
    for plan in plans:
        owners = treeplex.sequence_infoset[np.flatnonzero(plan)[1:]]
        assert len(set(owners.tolist())) == len(owners)
        sums = treeplex.infoset_sums(plan)
        np.testing.assert_array_equal(sums, plan[treeplex.parent_sequence])


def test_what_cannot_be_solved_is_refused(game, blueprint):
    built = subgames(game, blueprint, "1-klss", 0)
    with pytest.raises(ValueError, match="lower bounds"):
        CuttingPlanes().solve(built[:1], [np.zeros(8)])
    with pytest.raises(ValueError, match="most 64 pure plans"):
        pure_plans(game.form.treeplexes[0])
    whole = subgames(game, blueprint, "maxmargin", 0)
    with pytest.raises(ValueError, match=r"pure plans|operator"):
        CuttingPlanes().solve(whole, [None])
    with pytest.raises(RuntimeError, match="not solved after 1 answers"):
        CuttingPlanes(most_answers=1).solve(built, [None] * len(built))


def test_payoffs_that_no_plan_changes_leave_any_mixture(game, blueprint):
    """All payoffs in the row of the empty sequence: what plans earn is an empty list."""
    from klss_spiel.algorithms.subgame.cutting_plane_kernels import best_mixture

    subgame = subgames(game, blueprint, "1-klss", 0)[0]
    solved = subgame.game
    plans = pure_plans(solved.treeplex)
    mixture, _ = best_mixture(
        np.ascontiguousarray(plans.T),
        solved.num_roots,
        solved.parent,
        solved.first,
        solved.num_actions,
        solved.root,
        np.zeros_like(solved.row),
        solved.column,
        solved.value,
        np.zeros((0, solved.num_roots)),
        subgame.root_reach / subgame.root_reach.sum(),
        0.0,
        100,
    )
    assert mixture.min() >= 0.0
    assert mixture.sum() == pytest.approx(1.0)
