"""ZS21's reward for actions that tell much (appendix D.3), against states of the game."""

import collections
import math

import pytest

from klss_spiel.algorithms.search.equilibrium import reward_information, solve_exactly
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.root import RootGadget
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.openspiel import load_game
from klss_spiel.tree import CHANCE, NO_INFOSET
from tests.algorithms.search.test_search import KUHN, PLAIN, expand_all

# A stone that meets another one is told so and goes elsewhere.
_DARK_HEX = "dark_hex(num_rows=2,num_cols=2)"
_WEIGHT = 0.25


def _states_by_infoset(name, player):
    """All states at which a player moves, by what he has been told."""
    found = collections.defaultdict(list)
    waiting = [load_game(name).new_initial_state()]
    while waiting:
        state = waiting.pop()
        if state.is_terminal():
            continue
        if state.current_player() == player:
            found[state.information_state_string(player)].append(state)
        waiting += [state.child(action) for action in state.legal_actions()]
    return found


def _bits(outcomes):
    shares = [count / len(outcomes) for count in collections.Counter(outcomes).values()]
    return -sum(share * math.log2(share) for share in shares)


def _told_after(state, action, player):
    """What the player is told; who is to move is told, too."""
    after = state.child(action)
    return after.information_state_string(player), after.current_player() == player


def _own_id(search, told):
    """The identifier under which the tree has an infoset of the searching player."""
    player = search.tree.player
    ids = [int(one) for one in search.game.infosets(player, told)]
    (found,) = [one for one in ids if search.tree.infoset_of(player, one) != NO_INFOSET]
    return found


@pytest.mark.parametrize(("name", "player"), [(_DARK_HEX, 0), (_DARK_HEX, 1), (KUHN, 1)])
def test_the_bonus_is_that_of_all_states_of_the_infoset(name, player):
    search = search_from_start(search_game(name), PLAIN, player)
    expand_all(search)
    tree = search.tree
    bonuses = set()
    for told, states in _states_by_infoset(name, player).items():
        own_id = _own_id(search, told)
        tree.sequences[player].bonus[:] = 0.0
        reward_information(tree, own_id, _WEIGHT)
        infoset = tree.infoset_of(player, own_id)
        first = tree.infosets[player].first_sequence[infoset]
        legal = states[0].legal_actions()
        found = tree.sequences[player].bonus[first : first + len(legal)]
        for action, bonus in zip(legal, found, strict=True):
            bits = _bits([_told_after(state, action, player) for state in states])
            assert bonus == pytest.approx(-_WEIGHT * 2.0**-bits)
            bonuses.add(round(float(bonus), 6))
        assert abs(tree.sequences[player].bonus).sum() == pytest.approx(abs(found).sum())
    if name == _DARK_HEX:
        assert len(bonuses) >= 2  # else every action tells the same


def test_an_infoset_that_is_not_in_the_tree_has_no_bonus():
    search = search_from_start(search_game(KUHN), PLAIN, 0)
    reward_information(search.tree, 12345, _WEIGHT)
    assert not search.tree.sequences[0].bonus.any()


def test_the_equilibrium_is_one_of_payoffs_and_bonuses_together():
    """Kuhn's player 0 is told nothing by moving: both actions cost the whole weight once."""
    search = search_from_start(search_game(KUHN), PLAIN, 0)
    expand_all(search)
    plain = solve_exactly(search.tree, search.root, RootGadget.MAXMARGIN)
    state = load_game(KUHN).new_initial_state()
    while state.current_player() == CHANCE:
        state.apply_action(state.legal_actions()[0])
    own_id = _own_id(search, state.information_state_string(0))
    reward_information(search.tree, own_id, _WEIGHT)
    assert solve_exactly(search.tree, search.root, RootGadget.MAXMARGIN) == pytest.approx(
        plain - _WEIGHT
    )
