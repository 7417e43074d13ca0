"""Tests of what is played of a strategy that was found."""

import dataclasses

import numpy as np
import pytest

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.policy import search_policy
from klss_spiel.algorithms.search.purification import play_probabilities
from klss_spiel.algorithms.search.root import RootGadget
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO, Iterate
from klss_spiel.best_response import exploitability
from klss_spiel.budget import Budget
from klss_spiel.openspiel import tree_from_game

KUHN = "kuhn_poker"
LEDUC = "leduc_poker"
MIXING = dataclasses.replace(OBSCURO, purification=False)
LAST = [0.1, 0.3, 0.05, 0.35, 0.2]


def purified(absent, margin, settings=OBSCURO):
    """What is played of the strategy LAST at an infoset, given absences and margins."""
    game = search_game("liars_dice(dice_sides=3)")
    player = SearchPlayer(game, 0, settings, Budget(nodes=60))
    label = tree_from_game("liars_dice(dice_sides=3)").infosets[0]
    told = next(iter(label.index_of_label))
    player.decide(told, range(6))
    search = player.search
    tree = search.tree
    assert tree.num_roots > 1
    infoset = tree.infoset_of(0, int(game.infosets(0, told)[-1]))
    first = int(tree.infosets[0].first_sequence[infoset])
    own = slice(first, first + int(tree.infosets[0].num_actions[infoset]))
    tree.sequences[0].strategy[own] = 0.0
    tree.sequences[0].strategy[first : first + len(LAST)] = LAST
    tree.sequences[0].last_absent[own] = 0
    tree.sequences[0].last_absent[first : first + len(absent)] = absent
    search.halfway = 10
    search._node_values = None
    search.root.enter[:] = 0.5
    search.root.alternate[:] += search.margins
    search.root.alternate[-1] -= margin
    return play_probabilities(search, infoset)[: len(LAST)]


def test_the_stable_and_likeliest_three_are_mixed_where_the_strategy_is_safe():
    np.testing.assert_allclose(purified([0] * 5, 0.1), [0, 0.3, 0, 0.5, 0.2])
    # The second action has been absent after half of the budget was spent.
    np.testing.assert_allclose(purified([0, 11, 0, 0, 0], 0.1), [0.1, 0, 0, 0.7, 0.2])
    np.testing.assert_allclose(purified([0, 10, 0, 0, 0], 0.1), [0, 0.3, 0, 0.5, 0.2])
    # The likeliest action may always be played.
    np.testing.assert_allclose(purified([0, 0, 0, 50, 0], 0.1), [0, 0.3, 0, 0.5, 0.2])


def test_a_tie_is_no_danger_and_a_loss_is():
    tolerance = OBSCURO.margin_tolerance
    for margin in (0.0, -0.5 * tolerance):
        np.testing.assert_allclose(purified([0] * 5, margin), [0, 0.3, 0, 0.5, 0.2])
    for margin in (-2.0 * tolerance, -0.3):
        np.testing.assert_allclose(purified([0] * 5, margin), [0, 0, 0, 1, 0])
        np.testing.assert_allclose(purified([0] * 5, margin, MIXING), LAST)


def test_a_loss_within_the_tolerance_is_no_danger():
    """One root infoset of m loses .3; the others are even."""
    m = 3  # faces of the opponent's die
    for tolerance, played in ((0.29 / m, [0, 0, 0, 1, 0]), (0.31, [0, 0.3, 0, 0.5, 0.2])):
        settings = dataclasses.replace(OBSCURO, loss_tolerance=tolerance)
        np.testing.assert_allclose(purified([0] * 5, -0.3, settings), played)
    with pytest.raises(ValueError, match="loss_tolerance of at least 0"):
        dataclasses.replace(OBSCURO, loss_tolerance=-0.1)


def test_recent_play_is_the_average_since_half_of_the_budget():
    recent = dataclasses.replace(OBSCURO, play=Iterate.RECENT, growth=1e-9)
    search = search_from_start(search_game(KUHN), recent)
    # All of the tree, so that both halves of the next run average over the same sequences.
    search.run(Budget(nodes=500))
    plans = []
    iterate = search.iterate

    def watched(count=1):
        for _ in range(count):
            plans.append(search.tree.sequences[0].plan[: search.tree.num_sequences[0]].copy())
            iterate(1)

    search.iterate = watched
    start = search.effort.iterations
    search.run(Budget(iterations=40))
    half = search.halfway - start + 1
    weights = (start + 1 + np.arange(half, 40)) ** recent.averaging
    expected = np.einsum("t,ts->s", weights, np.array(plans[half:]))
    np.testing.assert_allclose(search.tree.sequences[0].average[: len(expected)], expected)
    np.testing.assert_array_equal(search.behavior(0), search.tree.average(0))


def test_with_resolve_alone_the_top_action_is_played():
    resolve = dataclasses.replace(OBSCURO, gadget=RootGadget.RESOLVE)
    np.testing.assert_allclose(purified([0] * 5, 0.1, resolve), [0, 0, 0, 1, 0])


@pytest.mark.parametrize("seed", range(5))
def test_purified_search_in_kuhn_poker_is_hard_to_exploit(seed):
    """Taking ties for danger would leave .13 to .18; without purification it is .02 to .05."""
    tree = tree_from_game(KUHN)
    policy = search_policy(KUHN, OBSCURO, Budget(nodes=1000), seed, tree=tree)
    assert exploitability(policy) < 0.06


@pytest.mark.slow
def test_unpurified_search_in_leduc_poker_gets_better_with_nodes():
    tree = tree_from_game(LEDUC)
    few, many = (
        np.mean(
            [
                exploitability(search_policy(LEDUC, MIXING, Budget(nodes=nodes), seed, tree=tree))
                for seed in range(5)
            ]
        )
        for nodes in (200, 1000)
    )
    assert many < few
