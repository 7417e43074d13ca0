"""Games without a board in words: who did what, held against who really moved."""

import random

import pytest

from klss_spiel.openspiel import load_game
from klss_spiel.tree import CHANCE
from klss_spiel.web.text_views import text_view
from klss_spiel.web.told import told_to

_LINES = {
    "kuhn_poker": ("Betting",),
    "leduc_poker": ("First round", "Second round"),
    "liars_dice": ("Bids",),
}
_WORDS = {"Pass": "pass", "Bet": "bet", "Fold": "fold", "Call": "call", "Raise": "raise"}


@pytest.mark.parametrize("name", _LINES)
def test_the_words_say_who_did_what(name):
    game = load_game(name)
    draw = random.Random(1)
    for _ in range(30):
        state = game.new_initial_state()
        done = []
        while not state.is_terminal():
            mover, action = state.current_player(), draw.choice(state.legal_actions())
            if mover != CHANCE:
                done.append((mover, state.action_to_string(mover, action)))
            state.apply_action(action)
            if CHANCE not in (mover, state.current_player()):
                _check(name, state, done)


def _check(name, state, done):
    for player in (0, 1):
        lines = text_view(name, told_to(state, player))["lines"]
        told = dict(line.split(": ", 1) for line in lines if ": " in line)
        said = [text for title in _LINES[name] for text in told[title].split("; ")]
        expected = [
            f"{'you' if mover == player else 'opponent'}: {_WORDS.get(what, what)}"
            for mover, what in done
        ]
        assert [text for text in said if text != "nothing yet"] == expected
        if name == "leduc_poker":
            # The pot that has been paid out is no news.
            assert ("Pot" in told) != state.is_terminal()
