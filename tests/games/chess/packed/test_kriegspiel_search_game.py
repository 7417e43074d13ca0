"""Tests of Kriegspiel on packed positions against the game's own states and plain rules."""

import dataclasses

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.history_belief import HistoryBelief
from klss_spiel.algorithms.search.openspiel_game import (
    OpenSpielSearchGame,
    search_game,
    zero_evaluator,
)
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.budget import Budget
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kriegspiel_search_game import Kriegspiel
from klss_spiel.search_game import SearchGame

SMALL = "python_kriegspiel(board=minimal4x3,horizon=5)"
MICRO = "python_kriegspiel(board=microchess)"
STANDARD = "python_kriegspiel"
PAWNS = "fen=4k3/pppppppp/8/PPPPPPPP/8/8/8/4K3 b - - 0 1"  # they pass each other all the time
CASTLES = "fen=r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
PROMOTES = "fen=4k3/PPP5/8/8/8/8/ppp5/4K3 w - - 0 1"
MATES = "fen=k3/3R/1K2/4 w - - 0 1"

VARIANTS = [
    SMALL,
    MICRO,
    STANDARD,
    "python_kriegspiel(board=minimal4x3,horizon=5,count_tries=true,announce_tries=true)",
    "python_kriegspiel(board=minimal4x3,horizon=4,count_tries=true)",
    f"python_kriegspiel({PAWNS},are_there_any=all)",
    f"python_kriegspiel({PAWNS},are_there_any=count,announce_tries=true)",
    f"python_kriegspiel({CASTLES},are_there_any=any)",
    f"python_kriegspiel({PROMOTES},are_there_any=all)",
    f"python_kriegspiel({MATES})",
]


def decisions(name, seed, actions=60):
    """States of a random game that are not its end, and the action taken in each."""
    game = pyspiel.load_game(name)
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    for _ in range(actions):
        action = int(rng.choice(state.legal_actions()))
        yield state, action
        state.apply_action(action)
        if state.is_terminal():
            return


def boards_in(belief):
    return {row.tobytes() for row in np.ascontiguousarray(belief.positions[:, :4])}


def boards_of(positions):
    return {row.tobytes() for row in packed.pack(list(positions))}


@pytest.mark.parametrize("name", VARIANTS)
def test_searches_through_states_and_on_packed_positions_are_the_same(name):
    """The same seed takes the same walks, so any difference in the rules would show."""
    loaded = pyspiel.load_game(name)
    generic = search_from_start(OpenSpielSearchGame(loaded, zero_evaluator), OBSCURO, 0, 5)
    compiled = search_from_start(Kriegspiel(loaded.setup, zero_evaluator), OBSCURO, 0, 5)
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


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_positions_of_random_games_have_the_states_children(name, seed):
    """Late positions, many tries closed: actions, endings, knowledge, boards."""
    game = search_game(name, zero_evaluator)
    start = game.initial()
    position, known = start.position, start.infoset_ids
    for state, action in decisions(name, seed, actions=40):
        children = game.expand(position, known)
        assert children.action.tolist() == state.legal_actions()
        player = state.current_player()
        told = state.information_state_string(player)
        assert game.infosets(player, told)[0] == known[player, 0]
        taken = children.action.tolist().index(action)
        child = state.child(action)
        (board,) = packed.pack([child.moment.position])
        np.testing.assert_array_equal(children.position[taken, :4], board)
        # The search sees every ending but repetitions.
        if children.player[taken] != child.current_player():
            assert child.is_terminal()
            assert child.returns()[0] == 0.0
            return
        if child.is_terminal():
            assert children.utility[taken] == child.returns()[0]
        position = children.position[taken : taken + 1]
        known = children.infoset_ids[:, taken : taken + 1]


@pytest.mark.parametrize(
    "name",
    [
        SMALL,
        "python_kriegspiel(board=minimal4x3,horizon=4,announce_tries=true)",
        "python_kriegspiel(fen=k3/p3/P3/3K w - - 0 1,horizon=3,are_there_any=all)",
    ],
)
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_beliefs_are_those_of_the_histories(name, seed):
    """Every history there is, through OpenSpiel's states."""
    game = pyspiel.load_game(name)
    search = search_game(game)
    compiled = [search.belief(player) for player in (0, 1)]
    histories = [HistoryBelief(game, player, limit=30_000) for player in (0, 1)]
    last = {0: None, 1: None}
    for state, action in decisions(name, seed, actions=7):
        player = state.current_player()
        told = state.information_state_string(player)
        for belief in (compiled[player], histories[player]):
            belief.advance(last[player], told)
        last[player] = action
        expected = boards_of(s.moment.position for s in histories[player].positions)
        assert boards_in(compiled[player]) == expected
        assert compiled[player].complete
        assert compiled[player].weights is None


@pytest.mark.parametrize(
    "name",
    [
        "python_kriegspiel(board=minimal4x3)",
        MICRO,
        "python_kriegspiel(board=microchess,are_there_any=all)",
        "python_kriegspiel(fen=k4/pp3/5/3PP/4K w - - 0 1,are_there_any=count)",
    ],
)
@settings(max_examples=2)
@given(seed=st.integers(0, 10**6))
def test_beliefs_are_those_of_the_plain_rules(name, seed):
    """`possible_positions` applies `kriegspiel_umpire` to every position."""
    search = search_game(name)
    beliefs = [search.belief(player) for player in (0, 1)]
    for state, _ in decisions(name, seed, actions=12):
        player = state.current_player()
        beliefs[player].advance(None, state.information_state_string(player))
        assert boards_in(beliefs[player]) == boards_of(state.moment.possible_positions(player))
        if len(beliefs[player].positions) > 300:
            return


def test_a_belief_closes_the_tries_that_failed():
    game = pyspiel.load_game(STANDARD)
    search = search_game(game)
    state = game.new_initial_state()
    belief = search.belief(0)
    for move in ("e2e4", "e7e5", "e4d5", "e4e5", "f1c4", "a7a6", "e4f5", "c4f7"):
        if state.current_player() == 0:
            told = state.information_state_string(0)
            belief.advance(None, told)
            known = search.informed(0, int(search.infosets(0, told)[0]), belief.positions)
            children = search.expand(belief.positions, known)
            assert set(children.count.tolist()) == {len(state.legal_actions())}
            first = children.action[: children.count[0]].tolist()
            assert first == state.legal_actions()
        state.apply_action(state.string_to_action(move))
    told = state.information_state_string(0)
    assert told == "White e2e4 - - e4d5? e4e5? f1c4 - - e4f5? c4f7 pawn:f7,check:short"


def test_games_that_offer_only_possible_tries_are_searched_through_states():
    game = search_game("python_kriegspiel(board=minimal4x3,horizon=4,tries=possible)")
    assert isinstance(game, OpenSpielSearchGame)
    assert isinstance(search_game(SMALL), SearchGame)
    with pytest.raises(ValueError, match="all tries"):
        Kriegspiel(pyspiel.load_game(game.name).setup)
    with pytest.raises(ValueError, match="information state of player 0"):
        search_game(SMALL).infosets(0, "Black")
    with pytest.raises(ValueError, match="'nonsense'"):
        search_game(SMALL).infosets(0, "White nonsense")
    with pytest.raises(ValueError, match="umpire said after d2c2"):
        search_game(SMALL).infosets(0, "White d2c2")


def test_a_mate_is_given():
    """No try tells anything: the king cannot be elsewhere."""
    name = "python_kriegspiel(fen=7k/R7/1R6/8/8/8/8/K7 w - - 0 1)"
    state = pyspiel.load_game(name).new_initial_state()
    bot = SearchBot(name, 0, Budget(nodes=3000))
    assert state.action_to_string(bot.step(state)) == "b6b8"
    assert bot.report.value > 0.95


def test_forcing_moves_are_captures_promotions_and_checks_that_are_legal():
    name = "python_kriegspiel(fen=4k3/P7/8/8/8/5p2/6P1/R3K3 w - - 0 1)"
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
    # g2h3 and a7b8 are tries, but nothing stands there.
    assert forcing == {"g2f3", "a7a8q", "a7a8r", "a7a8b", "a7a8n"}


def test_settings_reach_the_beliefs():
    game = pyspiel.load_game(STANDARD)
    assert game.search_game(belief_limit=7).limits.exact == 7
    assert not game.search_game(sample_belief=False).limits.sampling
    with pytest.raises(ValueError, match="belief_limit of 1 or more"):
        game.search_game(belief_limit=0)
    changed = dataclasses.replace(OBSCURO, min_infoset_size=10)
    state = game.new_initial_state()
    bot = SearchBot(game, 0, Budget(nodes=200), changed, belief_limit=5, sample_belief=False)
    for move in ("e2e4", "e7e5"):
        bot.step(state) if state.current_player() == 0 else None
        state.apply_action(state.string_to_action(move))
    with pytest.raises(ValueError, match="raise belief_limit or allow sample_belief"):
        bot.step(state)
