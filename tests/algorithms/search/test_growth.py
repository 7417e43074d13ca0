"""Tests of how a search tree grows: the index of infosets, batches of leaves."""

import dataclasses

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.infoset_index import InfosetIndex
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.budget import Budget
from klss_spiel.tree import NO_INFOSET, PLAYERS

DICE = "liars_dice(dice_sides=3)"
BATCHES = dataclasses.replace(OBSCURO, growth=0.01, batch=400, batch_share=0.1)


def search_of(settings, nodes=4_000, seed=1, game=DICE):
    search = search_from_start(search_game(game), settings, 0, seed)
    search.run(Budget(nodes=nodes))
    return search


@pytest.mark.parametrize("spread", [1, 2**40 + 1])
def test_the_index_finds_what_a_dictionary_finds(spread):
    rng = np.random.default_rng(0)
    identifiers = np.zeros(3_000, dtype=np.uint64)
    identifiers[1:] = rng.permutation(5_000)[:2_999].astype(np.uint64) * np.uint64(spread)
    index = InfosetIndex()
    known = {}
    first = 1  # row 0 has no identifier and is not to be found under one
    for count in (5, 200, 1, 2_000, 793):
        index.add(first, first + count, identifiers)
        known.update((int(identifiers[row]), row) for row in range(first, first + count))
        first += count
    assert index.size == len(known)
    assert 2 * len(known) <= len(index.table)
    for identifier in (np.arange(5_000, dtype=np.uint64) * np.uint64(spread)).tolist():
        assert index.find(identifier, identifiers) == known.get(identifier, NO_INFOSET)


def test_every_infoset_is_found_under_its_identifier():
    tree = search_of(BATCHES).tree
    for p in PLAYERS:
        rows = range(p == tree.opponent, tree.num_infosets[p])
        identifiers = tree.infosets[p].infoset_ids[: tree.num_infosets[p]]
        assert [tree.infoset_of(p, int(identifiers[row])) for row in rows] == list(rows)


def test_batches_make_as_many_iterations_as_growth_asks_for():
    settings = dataclasses.replace(BATCHES, settling=0.0)
    search = search_from_start(search_game("liars_dice"), settings, 0, 1)
    search.run(Budget(nodes=500))
    before, iterations = search.tree.num_nodes, search.effort.iterations
    search.run(Budget(nodes=3_000))
    grown = np.log(search.tree.num_nodes / before) / settings.growth
    assert search.effort.iterations - iterations == pytest.approx(grown, rel=0.15)


def test_batches_expand_many_leaves_at_once(monkeypatch):
    search = search_from_start(search_game(DICE), BATCHES, 0, 1)
    search.run(Budget(nodes=2_000))
    sizes = []
    grow = search.grow
    monkeypatch.setattr(search, "grow", lambda attempts: sizes.append(attempts) or grow(attempts))
    size, family = search.tree.num_nodes, search.tree.num_nodes / search.tree.num_families
    search.run(Budget(nodes=1))
    assert sizes == [round(0.1 * size / family)]
    assert sizes[0] > 5 * search.settings.growth * size / family


def test_the_same_seed_gives_the_same_tree_with_batches():
    first, second, other = search_of(BATCHES), search_of(BATCHES), search_of(BATCHES, seed=2)
    count = first.tree.num_nodes
    np.testing.assert_array_equal(first.behavior(0), second.behavior(0))
    np.testing.assert_array_equal(
        first.tree.nodes.infoset_ids[:count], second.tree.nodes.infoset_ids[:count]
    )
    assert count != other.tree.num_nodes or not np.array_equal(first.behavior(0), other.behavior(0))


@pytest.mark.parametrize("change", [{"batch": 0}, {"batch_share": 0.0}])
def test_batches_of_nothing_are_refused(change):
    with pytest.raises(ValueError, match="batch of at least 1"):
        dataclasses.replace(OBSCURO, **change)


@pytest.mark.parametrize(("left", "grows"), [(1e-4, False), (1.0, True)])
def test_a_tree_is_not_copied_when_there_is_no_time_for_it(left, grows):
    """Twice the capacity is made by copying all nodes, a quarter of a second for a million."""
    search = search_of(BATCHES, game="liars_dice")
    tree = search.tree
    capacity = len(tree.nodes.parent)
    while tree.seconds_to_add(200) == 0.0:
        search.grow(5)
    assert len(tree.nodes.parent) == capacity and tree.seconds_to_add(0) == 0.0
    assert tree.seconds_to_add(200) > 1e-4
    before = tree.num_nodes
    search.run(Budget(seconds=left, iterations=3), now=lambda: 0.0)
    assert (tree.num_nodes > before) == grows


def test_room_for_a_budget_of_nodes_is_made_once():
    """Where arrays double by and by, a million nodes are copied in a quarter of the time."""
    search = search_from_start(search_game(DICE), BATCHES, 0, 1)
    before = search.tree.num_nodes
    search.run(Budget(nodes=3_000))
    assert before < search.tree.num_nodes
    assert len(search.tree.nodes.parent) == len(search.tree.positions) == before + 3_000
    search.tree.reserve(10)  # there is room for them
    assert len(search.tree.nodes.parent) == before + 3_000


def test_room_is_made_for_no_more_nodes_than_a_machine_has():
    search = search_from_start(search_game(DICE), BATCHES, 0, 1)
    search.run(Budget(nodes=10**15, iterations=5))
    assert len(search.tree.nodes.parent) < 2**23


def test_a_tree_that_goes_on_from_another_has_room_for_as_many_nodes():
    player = SearchPlayer(search_game("liars_dice"), 0, BATCHES, Budget(iterations=200))
    state = pyspiel.load_game("liars_dice").new_initial_state()
    for action in (0, 2):
        state.apply_action(action)
    sizes = []
    for own, others in ((0, 1), (2, 3)):
        told = state.information_state_string(0)
        player.decide(told, state.legal_actions())
        player.record_action(told, own)
        tree = player.search.tree
        sizes.append((tree.num_nodes, len(tree.nodes.parent)))
        state.apply_action(own)
        state.apply_action(others)
    assert sizes[1][1] > sizes[0][0]
