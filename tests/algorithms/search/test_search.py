"""Tests of the search from the start of a game."""

import dataclasses
import threading

import numpy as np
import pytest

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.regret import PRM_PLUS, RM_PLUS
from klss_spiel.algorithms.search.equilibrium import node_values
from klss_spiel.algorithms.search.expansion import ONE_SIDED, TWO_SIDED
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.policy import policy_of_search
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO, Iterate
from klss_spiel.algorithms.search.tree import PENDING
from klss_spiel.best_response import exploitability
from klss_spiel.budget import Budget
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree

KUHN = "kuhn_poker"
LEDUC = "leduc_poker"
DICE = "liars_dice(dice_sides=3)"
DARK_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"
PENNIES = "python_n_matching_pennies(n=20)"

# Every infoset is updated in every iteration, from a uniform start: plain PCFR+.
PLAIN = dataclasses.replace(OBSCURO, pruning=False, best_child=False)


def expand_all(search):
    """Expands a search's tree until nothing is left to expand."""
    tree = search.tree
    while tree.num_leaves:
        leaves = np.flatnonzero(
            (tree.nodes.first_child[: tree.num_nodes] < 0)
            & (tree.nodes.player[: tree.num_nodes] >= -1)
        )
        leaves = leaves.astype(np.int32)
        children, values = search.children_of(
            tree.positions[leaves], tree.nodes.infoset_ids[leaves].T
        )
        tree.expand(leaves, children, values, search.settings.best_child)


def searched(name, settings, nodes, seed=1, player=0):
    search = search_from_start(search_game(name), settings, player, seed)
    search.run(Budget(nodes=nodes))
    return search


@pytest.mark.parametrize("expansion", [ONE_SIDED, TWO_SIDED], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    ("name", "small", "large", "bound"),
    [
        (KUHN, 100, 2_000, 1e-3),
        (DICE, 300, 30_000, 0.02),
        (DARK_HEX, 100, 2_000, 1e-3),
        (PENNIES, 100, 2_000, 2e-3),
        # Payoffs of Leduc poker are up to 13.
        (LEDUC, 2_000, 40_000, 0.4),
    ],
)
def test_exploitability_goes_to_zero_with_the_budget(name, small, large, bound, expansion):
    tree = tree_from_game(name)
    settings = dataclasses.replace(OBSCURO, expansion=expansion)
    few, many = (
        exploitability(policy_of_search(searched(name, settings, n), tree, Iterate.AVERAGE))
        for n in (small, large)
    )
    assert many < 0.2 * few
    assert many < bound


def test_one_sided_expansion_needs_fewer_nodes_than_two_sided():
    """Both reach an equilibrium of dark hex; nodes neither player reaches are left out."""
    tree = tree_from_game(DARK_HEX)
    nodes = {}
    for expansion in (ONE_SIDED, TWO_SIDED):
        search = searched(DARK_HEX, dataclasses.replace(OBSCURO, expansion=expansion), 4_000)
        policy = policy_of_search(search, tree, Iterate.AVERAGE)
        assert exploitability(policy) < 1e-3
        nodes[expansion.name] = search.tree.num_nodes
    assert nodes["one_sided"] < nodes["two_sided"] < tree.num_nodes


# Games with payoffs that tie exactly go apart by rounding: there a strategy may be
# uniform in one sum and pure in another.
@pytest.mark.parametrize(
    "name",
    [
        KUHN,
        pytest.param(LEDUC, marks=pytest.mark.slow),
        pytest.param(DARK_HEX, marks=pytest.mark.slow),
    ],
)
def test_on_the_whole_tree_the_search_is_the_cores_predictive_cfr(name):
    tree = tree_from_game(name)
    form = sequence_form_from_tree(tree)
    search = search_from_start(search_game(name), PLAIN)
    expand_all(search)
    # The two layers above the start of the game.
    assert search.tree.num_nodes == tree.num_nodes + 2
    scale = search.game.utility_scale
    for step in (1, 1, 1, 7, 40):
        search.iterate(step)
        # Regrets of dark hex tie at 0, where rounding decides: jax's happens to agree.
        solution = cfr.solve(
            form, search.effort.iterations, PRM_PLUS, averaging=cfr.QUADRATIC, engine="jax"
        )
        last = policy_of_search(search, tree, Iterate.LAST)
        average = policy_of_search(search, tree, Iterate.AVERAGE)
        for p in (0, 1):
            reached = solution.average[p] > 0.0
            np.testing.assert_allclose(
                last.probabilities[p], solution.last_behavior[p], atol=1e-9 * scale
            )
            np.testing.assert_allclose(
                average.probabilities[p][reached],
                solution.average_behavior[p][reached],
                atol=1e-9 * scale,
            )


def uneven(positions):
    """Values without ties, so that rounding cannot decide anything."""
    return np.array(
        [np.sin(1.0 + sum(7.0**i * a for i, a in enumerate(p.history()))) for p in positions]
    )


@pytest.mark.parametrize("pruning", [True, False])
@pytest.mark.parametrize("player", [0, 1])
def test_the_compiled_iterations_equal_the_reference(pruning, player):
    settings = dataclasses.replace(OBSCURO, pruning=pruning)
    searches = []
    for _ in range(2):
        search = search_from_start(search_game(DICE, uneven), settings, player)
        search.run(Budget(nodes=400))
        searches.append(search)
    # The same minimiser under another name takes the readable way.
    other_name = dataclasses.replace(PRM_PLUS, name="same")
    searches[1].settings = dataclasses.replace(settings, minimizer=other_name)
    assert searches[0].tree.num_nodes == searches[1].tree.num_nodes > 200
    for search in searches:
        search.iterate(12)
    for p in (0, 1):
        fast, slow = (search.tree.sequences[p] for search in searches)
        count = searches[0].tree.num_sequences[p]
        for field in fast._fields:
            np.testing.assert_allclose(
                getattr(fast, field)[:count], getattr(slow, field)[:count], atol=1e-9
            )


def test_other_minimisers_run_too():
    tree = tree_from_game(KUHN)
    search = searched(KUHN, dataclasses.replace(OBSCURO, minimizer=RM_PLUS), 400)
    assert exploitability(policy_of_search(search, tree, Iterate.AVERAGE)) < 0.02


@pytest.mark.parametrize("name", [LEDUC, DARK_HEX])
def test_the_same_seed_and_node_budget_give_the_same_tree_and_strategies(name):
    first, second = (searched(name, OBSCURO, 3_000, seed=7) for _ in range(2))
    other = searched(name, OBSCURO, 3_000, seed=8)
    count = first.tree.num_nodes
    assert count == second.tree.num_nodes
    for field in ("parent", "action", "value", "sequence"):
        np.testing.assert_array_equal(
            getattr(first.tree.nodes, field)[:count], getattr(second.tree.nodes, field)[:count]
        )
    for p in (0, 1):
        assert np.array_equal(first.behavior(p), second.behavior(p))
    assert not np.array_equal(first.tree.nodes.action[:count], other.tree.nodes.action[:count])


def test_a_worker_thread_finds_equilibria_too_and_the_same_every_time():
    tree = tree_from_game(DARK_HEX)
    settings = dataclasses.replace(OBSCURO, worker=True)
    first, second = (searched(DARK_HEX, settings, 2_000) for _ in range(2))
    assert first.tree.num_nodes == second.tree.num_nodes
    for p in (0, 1):
        assert np.array_equal(first.behavior(p), second.behavior(p))
    assert exploitability(policy_of_search(first, tree, Iterate.AVERAGE)) < 1e-3


def test_the_expected_value_of_the_start_is_the_value_of_the_game():
    search = searched(KUHN, OBSCURO, 3_000)
    values = node_values(search.tree, (search.behavior(0), search.behavior(1)))
    start = 2  # below node 0 and its only chance node
    assert search.game.utility_scale * values[start] == pytest.approx(-1 / 18, abs=1e-3)


def test_a_search_can_be_stopped_from_outside():
    stop = threading.Event()
    calls = 0

    def evaluator(positions):
        nonlocal calls
        calls += 1
        if calls == 50:
            stop.set()
        return np.zeros(len(positions))

    search = search_from_start(search_game(LEDUC, evaluator), OBSCURO)
    search.run(Budget(stop=stop))
    assert calls == 50
    assert search.effort.iterations > 10
    before = search.tree.num_nodes
    search.run(Budget(nodes=1000, stop=stop))
    assert search.tree.num_nodes == before


def test_a_search_of_the_start_alone_knows_nothing():
    tree = tree_from_game(KUHN)
    search = searched(KUHN, OBSCURO, 0)
    assert search.tree.num_nodes == 3
    policy = policy_of_search(search, tree, Iterate.AVERAGE)
    assert exploitability(policy) == exploitability(BehaviorPolicy.uniform(tree))


def test_a_search_without_other_limits_ends_when_it_is_told_to():
    stop = threading.Event()

    def evaluator(positions):
        if sum(evaluated) > 500:
            stop.set()
        evaluated.append(len(positions))
        return np.zeros(len(positions))

    evaluated = []
    search = search_from_start(search_game(LEDUC, evaluator), OBSCURO, 0, 1)
    search.run(Budget(stop=stop))
    assert 500 < search.tree.num_nodes < 3_000
    nodes = search.tree.num_nodes
    search.run(Budget(nodes=1000, stop=stop))
    assert search.tree.num_nodes == nodes


def test_an_interrupted_search_goes_on_with_every_leaf():
    """Leaves whose children were on their way can be expanded again."""
    calls = 0

    def interrupted(positions):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return np.zeros(len(positions))

    search = search_from_start(search_game(KUHN, interrupted), PLAIN, 0)
    with pytest.raises(KeyboardInterrupt):
        search.run(Budget(nodes=1000))
    assert not np.any(search.tree.nodes.first_child[: search.tree.num_nodes] == PENDING)
    search.run(Budget(nodes=1000))
    assert search.tree.num_nodes >= searched(KUHN, PLAIN, 1000).tree.num_nodes


@pytest.mark.parametrize("decimals", [0, 6])
def test_new_infosets_start_at_the_best_child_or_evenly_among_equals(decimals):
    """Obscuro, C.5; rounded values tie, exact ones do not."""
    rng = np.random.default_rng(3)

    def noisy(positions):
        return np.round(rng.uniform(-1.0, 1.0, len(positions)), decimals)

    search = search_from_start(search_game(DARK_HEX, noisy), OBSCURO, 0)
    expand_all(search)
    tied = distinct = 0
    for player in (0, 1):
        infosets, sequences = search.tree.infosets[player], search.tree.sequences[player]
        for i in range(search.tree.num_infosets[player]):
            first = infosets.first_sequence[i]
            own = slice(first, first + infosets.num_actions[i])
            best = sequences.value[own] == sequences.value[own].max()
            np.testing.assert_allclose(sequences.strategy[own], best / best.sum())
            tied += 1 < best.sum() < len(best)
            distinct += best.sum() == 1 < len(best)
    assert tied if decimals == 0 else distinct


def test_half_of_the_budget_is_noticed_and_its_end_is_for_settling():
    """Obscuro, C.8 asks which actions were stable since halfway."""
    sizes = []
    for settling in (0.0, 0.5):
        settings = dataclasses.replace(OBSCURO, settling=settling, growth=0.05)
        search = search_from_start(search_game(DICE), settings, 0)
        search.run(Budget(iterations=80))
        assert 0.35 * search.effort.iterations <= search.halfway < 0.5 * search.effort.iterations
        sizes.append(search.tree.num_nodes)
    # Without growth in the second half the tree is left at what it was by then.
    assert sizes[1] < 0.5 * sizes[0]
