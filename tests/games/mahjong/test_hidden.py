"""The tile of an opponent's concealed kong shows nowhere: two games that differ in it only."""

import numpy as np
import pyspiel
import pytest

from klss_spiel import veiled_state
from klss_spiel.algorithms.olss_search.model_game import RandomModel
from klss_spiel.algorithms.olss_search.search import Settings, search
from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled import layout
from klss_spiel.games.mahjong.compiled.environment import MahjongBatch, random_decks, sorted_deck
from klss_spiel.games.mahjong.compiled.model_game import MahjongModelGame, row_of_information_state
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.games.mahjong.variant import Variant
from tests.games.mahjong.test_compiled import _swap_hidden
from tests.games.mahjong.test_model_game import Heuristic

_FULL = "python_two_player_mahjong(deal=tiles)"
# Short enough to have an information state tensor.
_SHORT = (
    "python_two_player_mahjong(ranks=4,honours=2,sets=1,flowers=0,wall_limit=8,ting=False,"
    "deal=tiles)"
)
# Player 0's tiles beside four equal ones, player 1's, and draws: player 0's first, the one after
# the kong, player 1's.
_GAMES = {
    "full": (
        _FULL,
        ("1m", "9m", "Rd"),
        "4m 7m Ew Ww Nw Sw Gd Wd 5m",
        "2m 3m 4m 5m 6m 6m 7m 8m Ww Ww Ww Gd Gd",
        ("Ew", "Sw", "3m"),
        "4m",
    ),
    "short": (_SHORT, ("1m", "4m"), "", "2m 3m 3m 2m", ("Gd", "2m", "Rd"), "2m"),
}


def _kinds(text):
    return [tiles.NAMES.index(name) for name in text.split()]


def _played(name, kong):
    """After a concealed kong and a discard of player 0: the OpenSpiel state, the compiled game."""
    game, _, others, opponent, draws, discarded = _GAMES[name]
    state = pyspiel.load_game(game).new_initial_state()
    variant = state.get_game().variant
    known = _kinds(" ".join([kong] * 4 + [others, opponent, *draws]))
    left = sorted_deck(variant).tolist()
    for kind in known:
        left.remove(kind)
    deck = known + left
    compiled = MahjongBatch(variant, 0, decks=np.array([deck], np.int8))
    at = 0
    chosen = [f"concealed kong {kong}", f"discard {discarded}"]
    while chosen or state.is_chance_node():
        if state.is_chance_node():
            state.apply_action(deck[at])
            at += 1
        else:
            action = actions.NAMES.index(chosen.pop(0))
            assert action in state.legal_actions()
            state.apply_action(action)
            compiled.step([action])
    return state, compiled


@pytest.mark.parametrize("name", _GAMES)
def test_games_that_differ_in_a_concealed_kong_look_alike(name):
    kongs = _GAMES[name][1]
    games = [_played(name, kong) for kong in kongs]
    # First player 1 is asked to claim the discard, then, having passed, has to discard.
    for phase in (Phase.CLAIM, Phase.DISCARD):
        seen = []
        for kong, (state, compiled) in zip(kongs, games, strict=True):
            row = compiled.rows[0]
            assert (state.position.phase, row[layout.PHASE]) == (phase, phase)
            meld = state.position.sides[0].melds[0]
            assert (meld.kind, tiles.NAMES[meld.tile]) == (4, kong)
            assert row[layout.MELD_TILE] == meld.tile
            seen.append(_seen(state, compiled))
        for other in seen[1:]:
            assert list(other) == list(seen[0])
            for what in other:
                np.testing.assert_array_equal(other[what], seen[0][what], err_msg=what)
        for state, compiled in games:
            if phase == Phase.CLAIM:
                state.apply_action(actions.PASS)
                state.apply_action(_kinds(_GAMES[name][4][2])[0])
                compiled.step([actions.PASS])
    assert ("information tensor" in seen[0]) == (name == "short")


def _seen(state, compiled):
    """Everything that player 1 or a program that plays for him is given, by name."""
    game = state.get_game()
    text = veiled_state.veil(state, 1).information_state_string()
    observed = compiled.observe()
    found = {
        "information state": state.information_state_string(1),
        "behind a veil": text,
        "observation": state.observation_string(1),
        "observation tensor": state.observation_tensor(1),
        "legal actions": state.legal_actions(),
        "row of the information state": row_of_information_state(game.variant, text),
        "features": observed.features,
        "compiled legal actions": observed.legal,
    }
    if game.get_type().provides_information_state_tensor:
        found["information tensor"] = state.information_state_tensor(1)
    if state.position.phase == Phase.DISCARD:
        searched = MahjongModelGame(game.variant, compiled.rows[0])
        start = searched.start(np.zeros(1, np.int64))
        found["veiled row"] = start.copy()
        # The same as what the information state alone says. (That the opponent has acted is
        # public, but matters to nobody else: the latter leaves it out.)
        rest = np.arange(layout.ROW) != layout.ACTED
        np.testing.assert_array_equal(start[0, rest], found["row of the information state"][rest])
        found["features of the search"] = searched.views(start)[0]
        settings = Settings(simulations=20, batch=10, steps=2)
        rng = np.random.default_rng(0)
        report = search(searched, Heuristic(), [RandomModel()], settings, rng)
        found["values of the search"] = report.values
        searched.own_move(start, searched.root_actions(0)[:1])
        found["unseen"] = searched.unseen(start)
        found["features of a learned model"] = searched.opponent_features(start)
    return found


def test_rows_look_alike_whatever_a_concealed_kong_and_the_wall_are():
    variant = Variant()
    decks = random_decks(variant, 2000, np.random.default_rng(1))
    games = MahjongBatch(variant, 0, seed=1, decks=decks)
    for _ in range(7):
        legal = games.legal()
        chosen = games.random_actions(legal)
        kongs = legal[:, actions.CONCEALED_KONG : actions.ADD_KONG]
        chosen = np.where(kongs.any(axis=1), actions.CONCEALED_KONG + kongs.argmax(axis=1), chosen)
        games.step(chosen)
    before, rows = games.observe(), games.rows.copy()
    rng = np.random.default_rng(0)
    for row, deck in zip(games.rows, games.decks, strict=True):
        _swap_hidden(row, deck, rng)
    after = games.observe()
    np.testing.assert_array_equal(before.features, after.features)
    opponent = 1 - rows[:, layout.PLAYER]
    at = layout.MELD_TILE + 4 * opponent[:, None] + np.arange(4)
    every = np.arange(len(rows))[:, None]
    swapped = np.flatnonzero((rows[every, at] != games.rows[every, at]).any(axis=1))
    assert len(swapped) >= 20
    discards = swapped[rows[swapped, layout.PHASE] == Phase.DISCARD]
    assert len(discards) >= 10
    first, second = (
        MahjongModelGame(variant, found[discards]).start(np.arange(len(discards)))
        for found in (rows, games.rows)
    )
    np.testing.assert_array_equal(first, second)
