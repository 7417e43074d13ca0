"""Tests of dark chess on packed positions against the game's own states."""

import dataclasses

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.carry_over import own_nodes
from klss_spiel.algorithms.search.expansion import ONE_SIDED, TWO_SIDED
from klss_spiel.algorithms.search.history_belief import HistoryBelief
from klss_spiel.algorithms.search.openspiel_game import (
    OpenSpielSearchGame,
    search_game,
    zero_evaluator,
)
from klss_spiel.algorithms.search.policy import policy_of_search
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO, Iterate
from klss_spiel.best_response import exploitability
from klss_spiel.budget import Budget
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.search_game import DarkChess
from klss_spiel.openspiel import tree_from_game
from klss_spiel.search_game import SearchGame

SMALL = "python_dark_chess(board=minimal4x3,horizon=6)"
STANDARD = "python_dark_chess"
# Pawns that pass each other all the time.
PAWNS = "python_dark_chess(fen=4k3/pppppppp/8/PPPPPPPP/8/8/8/4K3 b - - 0 1)"
CASTLES = "python_dark_chess(fen=r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1)"
PROMOTES = "python_dark_chess(fen=4k3/PPP5/8/8/8/8/ppp5/4K3 w - - 0 1)"


def moves(name, seed, plies=40):
    """States of a random game that are not its end, and the action taken in each."""
    game = pyspiel.load_game(name)
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    for _ in range(plies):
        action = int(rng.choice(state.legal_actions()))
        yield state, action
        state.apply_action(action)
        if state.is_terminal():
            return


@pytest.mark.parametrize("name", [STANDARD, PAWNS, CASTLES, PROMOTES, SMALL])
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_views_are_read_off_the_information_state(name, seed):
    """The observation string says castling; the information state does not."""
    game = search_game(name)
    for state, _ in moves(name, seed):
        for player in (0, 1):
            read = game.told.read(player, state.information_state_string(player))
            assert read.plies == len(read.since(0)) == state.move_number()
            told = state.observation_string(player).split(" ", 1)[1]
            expected = packed.observation_from_text(game.board, player, told)
            np.testing.assert_array_equal(read.observation, expected)


def test_en_passant_is_told_apart_from_what_looks_like_it():
    names = [
        "python_dark_chess(fen=4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1)",
        "python_dark_chess(fen=4k3/8/3p4/4P3/8/8/8/4K3 b - - 0 1)",
    ]
    passing = []
    for name, move in zip(names, ("d7d5", "d6d5"), strict=True):
        game = search_game(name)
        state = pyspiel.load_game(name).new_initial_state()
        state.apply_action(state.string_to_action(move))
        told = state.observation_string(0).split()
        passing.append(told[-1])
        expected = packed.observation_from_text(game.board, 0, " ".join(told[1:]))
        read = game.told.read(0, state.information_state_string(0)).observation
        np.testing.assert_array_equal(read, expected)
    assert passing == ["d6", "-"]


@pytest.mark.parametrize("name", [SMALL, STANDARD, PAWNS, CASTLES, PROMOTES])
def test_searches_through_states_and_on_packed_positions_are_the_same(name):
    """The same seed takes the same walks, so any difference in the rules would show."""
    loaded = pyspiel.load_game(name)
    generic = search_from_start(OpenSpielSearchGame(loaded, zero_evaluator), OBSCURO, 0, 5)
    compiled = search_from_start(DarkChess(loaded.setup, zero_evaluator), OBSCURO, 0, 5)
    for search in (generic, compiled):
        search.run(Budget(nodes=1500))
    count = compiled.tree.num_nodes
    assert generic.tree.num_nodes == count
    for field in ("parent", "action", "player", "value", "infoset", "sequence"):
        np.testing.assert_array_equal(
            getattr(generic.tree.nodes, field)[:count], getattr(compiled.tree.nodes, field)[:count]
        )
    for p in (0, 1):
        np.testing.assert_allclose(generic.behavior(p), compiled.behavior(p))
        # The same partition of nodes into what the player knows.
        theirs = generic.tree.nodes.infoset_ids[2:count, p]
        ours = compiled.tree.nodes.infoset_ids[2:count, p]
        pairs = set(zip(theirs.tolist(), ours.tolist(), strict=True))
        assert len(pairs) == len(set(theirs.tolist())) == len(set(ours.tolist()))


@given(seed=st.integers(0, 10**6))
def test_beliefs_are_those_of_the_histories(seed):
    game = pyspiel.load_game(SMALL)
    search = search_game(game)
    compiled = [search.belief(player) for player in (0, 1)]
    histories = [HistoryBelief(game, player) for player in (0, 1)]
    last = {0: None, 1: None}
    for state, action in moves(SMALL, seed):
        player = state.current_player()
        told = state.information_state_string(player)
        for belief in (compiled[player], histories[player]):
            belief.advance(last[player], told)
        last[player] = action
        boards = packed.pack([s.moment.position for s in histories[player].positions])
        found = set(search.keys(compiled[player].positions))
        assert found == set(search.keys(boards))
        assert compiled[player].complete
        (true,) = packed.pack([state.moment.position])
        assert true.tobytes() in found
        assert np.all(compiled[player].positions[:, 4] == state.move_number())


@pytest.mark.parametrize("player", [0, 1])
def test_own_infosets_are_found_by_their_information_state(player):
    search = search_from_start(search_game(SMALL), OBSCURO, player, 1)
    search.run(Budget(nodes=3000))
    tree = tree_from_game(SMALL)
    found = 0
    for label in tree.infosets[player].index_of_label:
        own = np.flatnonzero(own_nodes(search.tree, search.game.infosets(player, label)))
        for position in search.tree.positions[own]:
            # All of them are positions in which the player is to move.
            assert search.game.sides(position[None])[0] == player
        found += len(own) > 0
    assert found > 20


@pytest.mark.parametrize("expansion", [ONE_SIDED, TWO_SIDED], ids=lambda rule: rule.name)
def test_search_solves_a_small_board(expansion):
    """Minimal4x3 is a forced win for White (value +1)."""
    tree = tree_from_game(SMALL)
    few, many = (
        exploitability(policy_of_search(searched(nodes, expansion), tree, Iterate.AVERAGE))
        for nodes in (300, 30_000)
    )
    assert many < 0.1
    assert many < 0.3 * few


def searched(nodes, expansion):
    chosen = dataclasses.replace(OBSCURO, expansion=expansion)
    search = search_from_start(search_game(SMALL), chosen, 0, 1)
    search.run(Budget(nodes=nodes))
    return search


@pytest.mark.parametrize("player", [0, 1])
def test_the_bot_plays_standard_dark_chess(player):
    game = pyspiel.load_game(STANDARD)
    bot = SearchBot(game, player, Budget(nodes=3000))
    state = game.new_initial_state()
    rng = np.random.default_rng(2)
    for _ in range(14):
        if state.current_player() == player:
            action = bot.step(state)
            assert not bot.report.degraded
            assert bot.report.belief_complete
        else:
            action = int(rng.choice(state.legal_actions()))
        state.apply_action(action)
        if state.is_terminal():
            break
    assert bot.report.roots > 1


def test_a_king_that_can_be_captured_is_captured():
    name = "python_dark_chess(fen=4k3/8/8/8/8/8/4R3/4K3 w - - 0 1)"
    state = pyspiel.load_game(name).new_initial_state()
    bot = SearchBot(name, 0, Budget(nodes=2000))
    assert state.action_to_string(bot.step(state)) == "e2e8"


def test_forcing_moves_are_captures_promotions_and_attacks_on_the_king():
    name = "python_dark_chess(fen=4k3/P7/8/8/8/5p2/6P1/R3K3 w - - 0 1)"
    loaded = pyspiel.load_game(name)
    game = search_game(loaded)
    start = game.initial()
    children = game.expand(start.position, start.infoset_ids)
    state = loaded.new_initial_state()
    forcing = {
        state.action_to_string(action)
        for action, flag in zip(children.action, children.forcing, strict=True)
        if flag
    }
    # No move of the rook attacks e8: the a-file pawn and the king stand in the way.
    assert forcing == {"g2f3", "a7a8q", "a7a8r", "a7a8b", "a7a8n"}


def test_players_who_look_only_in_turn_are_searched_through_states():
    game = search_game("python_dark_chess(board=minimal4x3,horizon=4,rules=observe_on_turn)")
    assert isinstance(game, OpenSpielSearchGame)
    assert isinstance(search_game(SMALL), SearchGame)
    with pytest.raises(ValueError, match="every ply"):
        DarkChess(pyspiel.load_game(game.name).setup)
    with pytest.raises(ValueError, match="information state of player 0"):
        search_game(SMALL).infosets(0, "Black")


@pytest.mark.parametrize("variant", ["thesis", "paper"])
def test_beliefs_know_into_what_pawns_may_turn(variant):
    """White cannot see what became of the pawn."""
    name = f"python_dark_chess(fen=k4/5/5/p4/4K b - - 0 1,rules={variant})"
    game = pyspiel.load_game(name)
    compiled, histories = search_game(game).belief(0), HistoryBelief(game, 0)
    state = game.new_initial_state()
    sizes = []
    last = None
    for move in ("a2a1q", "e1d1", "a5a4", "d1e1", "a4a5"):
        if state.current_player() == 0:
            for belief in (compiled, histories):
                belief.advance(last, state.information_state_string(0))
            expected = packed.pack([s.moment.position for s in histories.positions])
            found = {row.tobytes() for row in compiled.positions[:, :4]}
            assert found == {row.tobytes() for row in expected}
            assert compiled.complete
            sizes.append(len(found))
            last = state.string_to_action(move)
        state.apply_action(state.string_to_action(move))
    # The pawn has become a queen or stays; otherwise four pieces are possible.
    assert sizes[0] == {"thesis": 4, "paper": 7}[variant]
