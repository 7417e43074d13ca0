"""Tests of when samples of beliefs are renewed, and from how far back."""

import math

import pytest

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.games.chess.packed import chess_belief
from klss_spiel.games.chess.packed.collected_positions import strided
from tests.helpers.games import random_decisions

LIMIT = 200
FEW = LIMIT // chess_belief._FEW


@pytest.fixture(scope="module")
def followed():
    """(steps back, size, positions at hand, few) whenever something was followed again."""
    calls = []
    few_left = []
    followed_again = chess_belief.ChessBelief._followed_again
    follow_all = chess_belief.ChessBelief._follow_all

    def noting(self, few):
        few_left.append(few)
        return followed_again(self, few)

    def spying(self, held, steps, size, attempt, until):
        calls.append((self._told.steps - steps, size, len(self._held.positions), few_left[-1]))
        return follow_all(self, held, steps, size, attempt, until)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chess_belief.ChessBelief, "_followed_again", noting)
        patched.setattr(chess_belief.ChessBelief, "_follow_all", spying)
        game = search_game("python_kriegspiel", belief_limit=LIMIT)
        beliefs = [game.belief(player) for player in (0, 1)]
        for _, player, told in random_decisions("python_kriegspiel", seed=5, actions=200):
            beliefs[player].advance(None, told)
            assert len(beliefs[player].positions)
    return calls


def test_long_ways_are_gone_only_with_small_samples_and_if_very_few_positions_are_left(followed):
    long = [call for call in followed if call[0] > chess_belief._LONG_WAY]
    short = [call for call in followed if call[0] <= chess_belief._LONG_WAY]
    assert {size for _, size, _, few in long if few} == {LIMIT // chess_belief._SMALL}
    assert max(left for _, _, left, few in long if few) <= FEW // chess_belief._VERY_FEW
    assert LIMIT in {size for _, size, _, few in short if few}
    assert max(left for _, _, left, few in short if few) > FEW // chess_belief._VERY_FEW


def test_a_sample_that_has_recovered_may_be_renewed_again():
    """That it was down to a few positions before does not make hundreds many."""
    game = search_game("python_kriegspiel", belief_limit=LIMIT)
    belief = game.belief(0)
    moments = random_decisions("python_kriegspiel", seed=5, actions=60)
    texts = [told for _, player, told in moments if player == 0]
    for text in texts[:-1]:
        belief.advance(None, text)
    assert not belief.complete
    belief._renewed_at = 3
    belief.advance(None, texts[-1])
    assert len(belief.positions) > FEW
    assert belief._renewed_at == math.inf


def told_to_white(game, actions):
    moments = random_decisions(game, seed=0, actions=actions)
    return [told for _, player, told in moments if player == 0]


@pytest.mark.parametrize("seconds", [1e-4, math.inf])
def test_choosing_where_to_begin_takes_a_part_of_the_time(monkeypatch, seconds):
    """Exact sets may have millions of positions, which take half a second."""
    game = search_game("python_dark_chess")
    belief, now = game.belief(0), 5.0
    belief.allow(None, lambda: now)
    *earlier, last = told_to_white("python_dark_chess", 14)
    for text in earlier:
        belief.advance(None, text)
    held, steps = belief._held, belief._told.steps
    assert held.complete and len(held.positions) > 200
    belief._told = game.read(0, last)
    asked = []
    foresight = game.foresight

    def spying(held, later):
        asked.append(len(held.positions))
        return foresight(held, later)

    monkeypatch.setattr(game, "foresight", spying)
    belief._follow_all(held, steps, 4, 1, now + seconds)
    # A quarter of the time, at .3 microseconds a position.
    assert asked[0] == len(held.positions) if seconds == math.inf else 40 < asked[0] <= 83


def test_every_kth_position_is_what_compiled_code_was_compiled_for():
    game = search_game("python_dark_chess")
    belief = game.belief(0)
    for text in told_to_white("python_dark_chess", 14)[:-1]:
        belief.advance(None, text)
    held = belief._held
    few = strided(held, 50, salt=1)
    assert 25 < len(few.positions) <= 50 and not few.complete
    assert few.positions.flags.c_contiguous
    assert {row.tobytes() for row in few.positions} < {row.tobytes() for row in held.positions}
    assert strided(held, len(held.positions), salt=1) is held


def test_enumerating_that_found_too_many_positions_is_not_tried_again(monkeypatch):
    game = search_game("python_kriegspiel", belief_limit=60)
    belief = game.belief(0)
    for text in told_to_white("python_kriegspiel", 20):
        belief.advance(None, text)
    assert not belief.complete
    followed = []
    follow = game.follow
    monkeypatch.setattr(game, "follow", lambda *given: followed.append(1) or follow(*given))
    belief._overflow = 61  # as if no more had been in the way
    assert belief._enumerated(math.inf) is None
    assert followed
    followed.clear()
    assert belief._enumerated(math.inf) is None
    assert not followed
