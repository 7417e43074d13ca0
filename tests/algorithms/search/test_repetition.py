"""Tests of draws by repetition and of quiet plies in the search of dark chess."""

import dataclasses

import numpy as np
import pyspiel
import pytest

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.algorithms.search import repetition
from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO, STRONG
from klss_spiel.algorithms.search.tree import PENDING
from klss_spiel.budget import Budget
from klss_spiel.games.chess.packed.counted_positions import counts_of
from klss_spiel.search_game import RepeatingGame
from klss_spiel.tree import TERMINAL

SEEING = dataclasses.replace(OBSCURO, repetitions=True)
# Rooks that can go to and fro; White is a queen ahead.
SHUFFLE = "python_dark_chess(fen=k6r/pp6/8/8/8/8/PP4Q1/K6R w - - 0 1)"

KINGS = "python_dark_chess(fen=k7/8/8/8/8/8/8/K7 w - - 0 1)"


def played(game, *moves):
    state = game.new_initial_state()
    for move in moves:
        state.apply_action(state.string_to_action(move))
    return state


def random_line(game, rng, plies):
    state = game.new_initial_state()
    while not state.is_terminal() and plies:
        state.apply_action(int(rng.choice(state.legal_actions())))
        plies -= 1
    return state


def test_nodes_that_repeat_on_their_path_are_leaves_worth_a_draw():
    game = search_game(pyspiel.load_game(KINGS))
    search = search_from_start(game, SEEING)
    search.run(Budget(nodes=4_000))
    tree = search.tree
    nodes, count = tree.nodes, tree.num_nodes
    first = 1 + tree.num_roots
    boards = [row[:4].tobytes() for row in tree.positions[:count]]
    repeats = []
    for node in range(first, count):
        above, distance = int(nodes.parent[node]), 1
        while above >= first:
            if distance % 2 == 0 and boards[above] == boards[node]:
                repeats.append(node)
                break
            above, distance = int(nodes.parent[above]), distance + 1
    repeats = [node for node in repeats if nodes.player[node] != TERMINAL]
    assert len(repeats) > 20
    assert set(nodes.first_child[repeats].tolist()) == {PENDING}
    assert np.all(nodes.value[repeats] == 0.0)
    closed = np.flatnonzero(nodes.first_child[:count] == PENDING)
    assert closed.tolist() == repeats
    leaves = (nodes.first_child[:count] < 0) & (nodes.player[:count] != TERMINAL)
    assert tree.num_leaves == np.sum(leaves[first:]) - len(repeats)


def test_without_the_setting_nothing_is_a_repetition():
    game = search_game(pyspiel.load_game(KINGS))
    search = search_from_start(game, OBSCURO)
    search.run(Budget(nodes=4_000))
    assert not np.any(search.tree.nodes.first_child[: search.tree.num_nodes] == PENDING)


def test_views_of_positions_are_what_information_states_say():
    loaded = pyspiel.load_game("python_dark_chess")
    game = search_game(loaded)
    assert isinstance(game, RepeatingGame)
    state = played(loaded, "g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "b8c6")
    told = state.information_state_string(0)
    belief = game.belief(0)
    belief.advance(None, told)
    views = game.past_views(0, told)
    assert len(views) == 3 and views[0] == views[2] != views[1]
    assert repetition.views_seen_twice(game, 0, told).tolist() == [views[0]]
    children = game.expand(
        belief.positions, game.informed(0, int(game.infosets(0, told)[0]), belief.positions)
    )
    # Where the knight goes home, the view is that of the second move.
    home = state.string_to_action("f3g1")
    seen = game.views(0, children.position[children.action == home])
    assert views[1] in seen


def test_what_changes_for_good_ends_the_memory_of_views():
    loaded = pyspiel.load_game("python_dark_chess")
    game = search_game(loaded)
    line = ["g1f3", "g8f6", "f3g1", "f6g8"]
    for moves, count in (
        (line, 2),
        ([*line, "e2e4", "g8f6"], 0),
        ([*line, "g1f3", "d7d5", "f3e5", "d8d6", "e5f7", "a7a6"], 0),  # captures a pawn
        ([*line, "g1f3", "d7d6", "f3e5", "d6e5"], 0),  # loses the knight
        ([*line, "g1f3", "a7a6"], 3),  # a pawn of the opponent's, unseen
    ):
        told = played(loaded, *moves).information_state_string(0)
        assert len(game.past_views(0, told)) == count, moves


def test_positions_with_another_side_to_move_are_not_the_same():
    game = search_game(pyspiel.load_game("python_dark_chess"))
    start = game.initial().position
    later = start.copy()
    later[:, 4] += np.uint64(1)
    assert game.position_keys(start) != game.position_keys(later)
    later[:, 4] += np.uint64(1)
    assert game.position_keys(start) == game.position_keys(later)


def test_quiet_plies_are_never_fewer_than_the_rules_count():
    loaded = pyspiel.load_game("python_dark_chess")
    game = search_game(loaded)
    rng = np.random.default_rng(3)
    larger = 0
    for _ in range(6):
        state = random_line(loaded, rng, int(rng.integers(20, 60)))
        if state.is_terminal():
            continue
        player = state.current_player()
        told = state.information_state_string(player)
        positions = game.with_quiet_plies(player, told, game.initial().position)
        (clock,) = counts_of(positions)[1].tolist()
        true = int(str(state).split()[4])
        assert true <= clock < 100
        larger += clock > true
    assert larger  # the opponent's pawns move unseen


def test_quiet_plies_go_on_from_the_count_of_the_start():
    loaded = pyspiel.load_game("python_dark_chess(fen=k6r/pp6/8/8/8/8/PP4Q1/K6R w - - 40 60)")
    game = search_game(loaded)
    for moves, clock in (
        ([], 40),
        (["h1g1", "a8b8"], 42),
        (["a2a3", "a8b8"], 1),  # a pawn
        (["h1g1", "a8b8", "b2b3", "h8h7"], 1),
    ):
        told = played(loaded, *moves).information_state_string(0)
        fresh = game.belief(0)
        fresh.advance(None, told)
        found = counts_of(game.with_quiet_plies(0, told, fresh.positions))[1]
        assert set(found.tolist()) == {clock}, moves


def test_a_count_of_ninety_at_the_start_makes_the_fifty_moves_visible():
    loaded = pyspiel.load_game("python_dark_chess(fen=k6r/pp6/8/8/8/8/PP4Q1/K6R w - - 90 60)")
    game = search_game(loaded)
    for moves, clock in ((["h1g1", "a8b8"], 92), (["h1g1", "a8b8", "g1h1", "b8a8"], 94)):
        state = played(loaded, *moves)
        told = state.information_state_string(0)
        belief = game.belief(0)
        belief.advance(None, told)
        found = counts_of(game.with_quiet_plies(0, told, belief.positions))[1]
        assert set(found.tolist()) == {clock} == {int(str(state).split()[4])}
    # Short of a draw by some plies, whatever the count.
    state = played(loaded, "h1g1", "a8b8", "g1h1", "b8a8", "h1g1", "a8b8")
    told = state.information_state_string(0)
    found = counts_of(game.with_quiet_plies(0, told, game.initial().position))[1]
    assert found.tolist() == [94]


def test_looking_at_an_infoset_sees_repetitions_too():
    """White, whose views were all seen twice, is shown the draws without a walk."""
    game = search_game(pyspiel.load_game(SHUFFLE))
    search = search_from_start(game, SEEING)
    start = game.initial()
    children = game.expand(start.position, start.infoset_ids)
    search.seen_twice = np.unique(game.views(0, children.position))
    tree = search.tree
    before = tree.num_nodes
    search.look_at(int(start.infoset_ids[0, 0]))
    added = slice(before, tree.num_nodes)
    assert tree.num_nodes - added.start == len(children.action)
    closed = tree.nodes.first_child[added] == PENDING
    # A queen ahead, White takes what would please him for draws.
    assert np.any(closed)
    assert np.all(tree.nodes.value[added][closed] == 0.0)
    assert not np.any(tree.nodes.value[added] > 0.0)
    assert search.effort.new_nodes == len(children.action)


def test_the_better_side_does_not_repeat():
    """White, a queen up, has shown the same views twice; the third time is a draw."""
    loaded = pyspiel.load_game(SHUFFLE)
    game = search_game(loaded)
    state = played(loaded, *["h1g1", "a8b8", "g1h1", "b8a8", "h1g1", "a8b8", "g1h1", "b8c8"])
    player = SearchPlayer(game, 0, SEEING, Budget(nodes=3_000), seed=1)
    told = state.information_state_string(0)
    decision = player.decide(told, state.legal_actions())
    again = decision.actions.index(state.string_to_action("h1g1"))
    assert len(player.search.seen_twice) == 2
    tree = player.search.tree
    first = int(tree.infosets[0].first_sequence[tree.infoset_of(0, int(game.infosets(0, told)[0]))])
    assert tree.sequences[0].value[first + again] == pytest.approx(0.0, abs=1e-9)
    assert decision.report.value > 0.3
    assert decision.probabilities[again] == 0.0


def test_whoever_is_worse_does_not_make_a_draw_by_wishing():
    game = search_game(pyspiel.load_game(SHUFFLE))
    start = game.initial()
    children = game.expand(start.position, start.infoset_ids)
    search = search_from_start(game, SEEING, player=0)
    leaves, twice = np.array([2], dtype=np.int32), game.views(0, children.position)
    for value, is_draw in ((0.5, True), (-0.5, False)):
        values = np.full(len(children.action), value)
        drawn, after = repetition.draws(game, search.tree, leaves, children, values, twice, 0.0)
        assert np.all(drawn == is_draw)
        np.testing.assert_array_equal(after, np.where(drawn, 0.0, values))


def test_contempt_is_what_a_repetition_costs_the_searching_player():
    game = search_game(pyspiel.load_game(SHUFFLE))
    start = game.initial()
    children = game.expand(start.position, start.infoset_ids)
    values = np.full(len(children.action), 0.5)
    search = search_from_start(game, SEEING, player=0)
    twice = game.views(0, children.position)[:1]
    leaves = np.array([2], dtype=np.int32)
    drawn, after = repetition.draws(game, search.tree, leaves, children, values, twice, 0.1)
    assert drawn[0]
    np.testing.assert_allclose(after, np.where(drawn, -0.1, 0.5))


def test_the_strong_preset_plays_whole_games_that_can_be_repeated():
    game = pyspiel.load_game("python_dark_chess(board=silverman4x4)")
    played_moves = []
    for _ in range(2):
        bots = [SearchBot(game, p, Budget(nodes=300), STRONG, seed=2) for p in (0, 1)]
        state = game.new_initial_state()
        while not state.is_terminal():
            bot = bots[state.current_player()]
            state.apply_action(bot.step(state))
            assert not bot.report.degraded
        played_moves.append(state.history())
    assert played_moves[0] == played_moves[1]
    assert len(played_moves[0]) > 6


def test_a_game_that_is_over_is_no_repetition():
    game = search_game(pyspiel.load_game(SHUFFLE))
    start = game.initial()
    children = game.expand(start.position, start.infoset_ids)
    over = np.full(len(children.action), TERMINAL, dtype=np.int8)
    children = dataclasses.replace(children, player=over)
    search = search_from_start(game, SEEING, player=0)
    values, twice = np.ones(len(over)), game.views(0, children.position)
    leaves = np.array([2], dtype=np.int32)
    drawn, after = repetition.draws(game, search.tree, leaves, children, values, twice, 0.1)
    assert not np.any(drawn)
    np.testing.assert_array_equal(after, values)
