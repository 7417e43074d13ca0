"""Tests of exact beliefs in generic games."""

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel.algorithms.search.history_belief import HistoryBelief
from klss_spiel.openspiel import history_of
from tests.helpers.games import tree_of

GAMES = [
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "python_n_matching_pennies(n=12)",
]


def play(game, rng):
    """Plays a random game and yields (state, player to move, own action taken before)."""
    state = game.new_initial_state()
    last = {0: None, 1: None}
    while not state.is_terminal():
        actions = state.legal_actions()
        action = int(actions[rng.integers(len(actions))])
        if not state.is_chance_node():
            player = state.current_player()
            yield state, player, last[player]
            last[player] = action
        state.apply_action(action)


def histories(belief):
    return {tuple(state.history()) for state in belief.positions}


@pytest.mark.parametrize("name", GAMES)
@given(seed=st.integers(0, 10**6))
def test_the_belief_is_the_infoset_of_the_tree(name, seed):
    game = pyspiel.load_game(name)
    tree = tree_of(name)
    beliefs = [HistoryBelief(game, player) for player in (0, 1)]
    for state, player, action in play(game, np.random.default_rng(seed)):
        label = state.information_state_string(player)
        belief = beliefs[player]
        belief.advance(action, label)
        nodes = np.flatnonzero(tree.infoset[player] == tree.infosets[player].index_of_label[label])
        assert histories(belief) == {tuple(history_of(tree, n)) for n in nodes}
        assert belief.complete
        assert tuple(state.history()) in histories(belief)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_can_be_taken_up_in_its_middle(name):
    game = pyspiel.load_game(name)
    beliefs = [HistoryBelief(game, player) for player in (0, 1)]
    for state, player, action in play(game, np.random.default_rng(4)):
        label = state.information_state_string(player)
        beliefs[player].advance(action, label)
        late = HistoryBelief(game, player)
        late.advance(None, label)
        assert histories(late) == histories(beliefs[player])


def test_too_large_a_belief_is_refused_or_sampled():
    game = pyspiel.load_game("dark_hex(num_rows=3,num_cols=3)")
    strict = HistoryBelief(game, 1, limit=20)
    sampled = HistoryBelief(game, 1, limit=20, sample=True)
    exact = HistoryBelief(game, 1)
    with pytest.raises(ValueError, match="more than 20 histories"):
        for state, player, action in play(game, np.random.default_rng(0)):
            if player == 1:
                label = state.information_state_string(1)
                exact.advance(action, label)
                sampled.advance(action, label)
                assert histories(sampled) <= histories(exact)
                assert len(sampled.positions) <= 20
                strict.advance(action, label)
    assert exact.complete
    assert not sampled.complete


def test_a_sample_that_lost_the_truth_says_so_and_ends():
    """In Kriegspiel the opponent may try and try again: no end of histories."""
    game = pyspiel.load_game("kriegspiel")
    state = game.new_initial_state()
    state.apply_action(state.legal_actions()[-1])
    player = state.current_player()
    label = state.information_state_string(player)
    belief = HistoryBelief(game, player, limit=30, sample=True)
    belief.advance(None, label)
    assert len(belief.positions) <= 30
    belief.advance(state.legal_actions()[0], "nothing that could be")
    assert not belief.complete
    assert len(belief.positions) == 0
    belief.advance(0, "whatever")
    assert len(belief.positions) == 0


def test_observations_that_cannot_be_are_refused():
    belief = HistoryBelief(pyspiel.load_game("kuhn_poker"), 0)
    with pytest.raises(ValueError, match="no history"):
        belief.advance(None, "nonsense")


def test_a_copy_goes_its_own_way():
    game = pyspiel.load_game("kuhn_poker")
    belief = HistoryBelief(game, 0)
    belief.advance(None, "0")
    copy = belief.copy()
    copy.advance(0, "0pb")
    assert histories(belief) == {(0, 1), (0, 2)}
    assert histories(copy) == {(0, 1, 0, 1), (0, 2, 0, 1)}


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        HistoryBelief(pyspiel.load_game("kuhn_poker"), 0, limit=0)


def test_an_action_that_was_not_legal_leaves_no_history():
    """OpenSpiel's own complaint would not say what was told and by whom."""
    game = pyspiel.load_game("liars_dice(dice_sides=3)")
    belief = HistoryBelief(game, 0)
    state = game.new_initial_state()
    for face in (0, 1):
        state.apply_action(face)
    belief.advance(None, state.information_state_string(0))
    liar = 6  # nobody has bid yet
    assert liar not in state.legal_actions()
    with pytest.raises(ValueError, match="no history"):
        belief.advance(liar, state.information_state_string(0))


def test_only_own_decisions_count_where_the_opponents_moves_go_unnoticed():
    """In phantom tic-tac-toe the information state stays while the opponent moves."""
    game = pyspiel.load_game("phantom_ttt")
    belief = HistoryBelief(game, 0)
    state = game.new_initial_state()
    belief.advance(None, state.information_state_string(0))
    state.apply_action(4)
    waiting = state.information_state_string(0)
    state.apply_action(0)
    assert state.information_state_string(0) == waiting
    belief.advance(4, waiting)
    assert histories(belief) == {(4, square) for square in range(9) if square != 4} | {
        (4, 4, square) for square in range(9) if square != 4
    }


def test_a_copy_draws_the_same_samples_and_leaves_the_originals_alone():
    game = pyspiel.load_game("phantom_ttt")
    drawn = []
    for copies in (0, 1):
        belief = HistoryBelief(game, 0, limit=4, sample=True, seed=5)
        state = game.new_initial_state()
        belief.advance(None, state.information_state_string(0))
        for action in (4, 0):
            state.apply_action(action)
        for _ in range(copies):
            copy = belief.copy()
            copy.advance(4, state.information_state_string(0))
            drawn.append(histories(copy))
        belief.advance(4, state.information_state_string(0))
        drawn.append(histories(belief))
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(drawn[0]) == 4
