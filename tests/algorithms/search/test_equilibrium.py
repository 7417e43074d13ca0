"""Tests of exact equilibria and gaps on search trees, and of the search that uses them."""

import dataclasses

import numpy as np
import pytest

from klss_spiel.algorithms.search.cfr_reference import expected_values
from klss_spiel.algorithms.search.equilibrium import nash_gap, node_values, solve_exactly
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.policy import policy_of_search
from klss_spiel.algorithms.search.root import RootGadget
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO, ZS21, Iterate
from klss_spiel.best_response import exploitability, nash_conv
from klss_spiel.linear_program import equilibrium
from klss_spiel.openspiel import tree_from_game
from klss_spiel.sequence_form import sequence_form_from_tree
from tests.algorithms.search.test_search import (
    DARK_HEX,
    DICE,
    KUHN,
    PENNIES,
    PLAIN,
    expand_all,
    searched,
)


@pytest.mark.parametrize("name", [KUHN, DICE, DARK_HEX, PENNIES])
@pytest.mark.parametrize("player", [0, 1])
def test_the_exact_value_of_the_whole_tree_is_the_value_of_the_game(name, player):
    value = equilibrium(sequence_form_from_tree(tree_from_game(name))).value
    search = search_from_start(search_game(name), PLAIN, player)
    expand_all(search)
    found = solve_exactly(search.tree, search.root, RootGadget.MAXMARGIN)
    sign = 1.0 if player == 0 else -1.0
    assert search.game.utility_scale * found == pytest.approx(sign * value, abs=1e-7)
    assert nash_gap(search.tree, search.root, RootGadget.MAXMARGIN) == pytest.approx(0, abs=1e-7)


def test_the_gap_on_the_whole_tree_is_the_nash_conv_of_the_last_iterate():
    tree = tree_from_game(DICE)
    search = search_from_start(search_game(DICE), PLAIN, 1)
    expand_all(search)
    for step in (1, 5, 50):
        search.iterate(step)
        gap = nash_gap(search.tree, search.root, RootGadget.MAXMARGIN)
        policy = policy_of_search(search, tree, Iterate.LAST)
        assert gap == pytest.approx(nash_conv(policy), abs=1e-9)


def test_measuring_the_gap_changes_nothing_that_matters():
    first, second = (searched(DICE, OBSCURO, 200) for _ in range(2))
    nash_gap(first.tree, first.root, RootGadget.BLEND)
    for search in (first, second):
        search.iterate(5)
    for p in (0, 1):
        assert np.array_equal(first.behavior(p), second.behavior(p))


def test_compiled_node_values_equal_the_reference():
    search = searched(DICE, OBSCURO, 500)
    values = node_values(search.tree, (search.behavior(0), search.behavior(1)))
    np.testing.assert_allclose(values, expected_values(search.tree), atol=1e-12)


@pytest.mark.parametrize("name", [KUHN, DARK_HEX, DICE])
def test_iterative_deepening_ends_in_an_equilibrium_of_the_game(name):
    """It stops when no leaf is played to by anybody (ZS21, D.2)."""
    tree = tree_from_game(name)
    search = searched(name, ZS21, 10**6)
    assert search.effort.iterations < 100
    assert search.tree.num_nodes < tree.num_nodes + 2  # two layers above the start
    policy = policy_of_search(search, tree, Iterate.LAST)
    assert exploitability(policy) == pytest.approx(0.0, abs=1e-6)


def test_deepening_without_exact_equilibria_is_refused():
    with pytest.raises(ValueError, match="iterative_deepening"):
        dataclasses.replace(OBSCURO, expansion=ZS21.expansion)
