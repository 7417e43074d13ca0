"""Guesses at where the opponent's pieces stand, and beliefs that go on with them."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.budget import Budget
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.packed import chess_belief
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.guesses import going_on, scattered
from tests.helpers.chess_positions import positions
from tests.helpers.games import random_decisions

KRIEGSPIEL = "python_kriegspiel(board=microchess)"


def held_at(position):
    """A sample of one position, in which the side to move believes."""
    first = search_game("python_kriegspiel").first_held(position.side)
    board = packed.layout(position.width, position.height)
    words = packed.pack([position])
    return dataclasses.replace(
        first, board=board, side=position.side, positions=words, complete=False
    )


def pieces(position, colour):
    return [
        (square, code)
        for square, code in enumerate(position.squares)
        if code and rules.is_own(code, colour)
    ]


@given(positions(), st.integers(0, 2**32))
def test_scattered_pieces_are_those_of_the_opponent_where_they_may_stand(position, salt):
    viewer, width = position.side, position.width
    opponent = 1 - viewer
    held = held_at(position)
    guesses = scattered(held, 40, salt, sighted=False)
    assert len(np.unique(guesses.positions, axis=0)) == len(guesses.positions) <= 40
    assert not guesses.complete and np.all(guesses.weights == 1.0)
    before = pieces(position, opponent)
    for guess in packed.unpack(held.board, guesses.positions, viewer):
        assert pieces(guess, viewer) == pieces(position, viewer)
        assert not rules.in_check(guess, opponent)
        after = pieces(guess, opponent)
        assert len(after) == len(before)
        assert sum(rules.kind_of(code) == rules.KING for _, code in after) == 1
        pawns = [square for square, code in after if rules.kind_of(code) == rules.PAWN]
        assert all(0 < square // width < position.height - 1 for square in pawns)
        # None has gone back.
        had = [square for square, code in before if rules.kind_of(code) == rules.PAWN]
        for rank in range(position.height):
            if opponent == rules.WHITE:
                behind, were = [sum(s // width <= rank for s in found) for found in (pawns, had)]
            else:
                behind, were = [sum(s // width >= rank for s in found) for found in (pawns, had)]
            assert behind <= were


@given(positions(), st.integers(0, 2**32))
def test_what_is_seen_stays_as_it_is(position, salt):
    viewer = position.side
    seen = rules.squares_in(rules.visible_squares(position, viewer))
    guesses = scattered(held_at(position), 40, salt, sighted=True)
    for guess in packed.unpack(
        packed.layout(position.width, position.height), guesses.positions, viewer
    ):
        assert all(guess.squares[square] == position.squares[square] for square in seen)


@pytest.mark.parametrize(
    ("fen", "kriegspiel", "dark"),
    [
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", False, True),  # mate; fog knows none
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", False, True),
        ("7k/8/6K1/8/8/8/8/5B2 b - - 0 1", False, True),  # nobody can mate
        ("7k/8/6K1/8/8/8/8/5R2 b - - 0 1", True, True),
        ("8/8/8/8/8/p7/P7/K7 b - - 0 1", False, False),
    ],
)
def test_guesses_at_which_the_game_is_over_are_left_out(fen, kriegspiel, dark):
    position = boards.position_from_fen(fen, need_kings=False)
    held = dataclasses.replace(held_at(position), viewer=rules.BLACK)
    assert len(going_on(held, sighted=False).positions) == kriegspiel
    assert len(going_on(held, sighted=True).positions) == dark
    # Where the opponent is to move, the umpire has said so.
    assert (
        going_on(dataclasses.replace(held, viewer=rules.WHITE), False).positions is held.positions
    )


def test_unseen_pieces_of_dark_chess_are_guessed_elsewhere():
    game = search_game("python_dark_chess")
    guesses = game.scattered(game.first_held(0), 100, 1)
    assert 20 < len(guesses.positions) <= 100


def test_guesses_depend_on_the_salt_alone():
    held = search_game("python_kriegspiel").first_held(0)
    one, other = (scattered(held, 100, salt, False) for salt in (1, 2))
    assert np.array_equal(one.positions, scattered(held, 100, 1, False).positions)
    assert not np.array_equal(one.positions, other.positions)
    # Pieces move in some and stay in others.
    assert 20 < len(one.positions) <= 100


@pytest.fixture
def hard(monkeypatch):
    """Kriegspiel whose samples die out and are not followed with larger ones."""
    monkeypatch.setattr(chess_belief, "_REMEMBERED", 1)
    monkeypatch.setattr(chess_belief, "_DETOUR", 1)
    monkeypatch.setattr(chess_belief, "_DOUBLINGS", 0)
    return search_game(KRIEGSPIEL, belief_limit=4)


def own_pieces(words, player):
    words = np.asarray(words)[..., :4]
    occupied = words[..., 0] | words[..., 1] | words[..., 2]
    own = occupied & (words[..., 3] if player else ~words[..., 3])
    return [(words[..., k] & own).tolist() for k in range(3)]


def test_a_belief_that_has_died_out_is_guessed_and_says_so(hard):
    guessed = 0
    for seed in range(20):
        beliefs = [hard.belief(player) for player in (0, 1)]
        for state, player, told in random_decisions(KRIEGSPIEL, seed, 60):
            belief = beliefs[player]
            belief.advance(None, told)
            assert len(belief.positions)
            guessed += belief.guessed
            # There is something left to do at all of them: a try that was not refused.
            known = hard.informed(player, 1, belief.positions)
            assert hard.expand(belief.positions, known).count.min() > 0
            assert not (belief.guessed and belief.complete)
            (true,) = packed.pack([state.moment.position])
            held = own_pieces(belief.positions, player)
            assert all(set(h) == {t} for h, t in zip(held, own_pieces(true, player), strict=True))
        for belief in beliefs:
            belief._hold(dataclasses.replace(belief._held, complete=True))
            assert not belief.guessed
    assert guessed > 5


def test_guesses_begin_where_turns_began(hard, monkeypatch):
    """Tries that were refused before would not count: the player might have none left."""
    begun, within_turns = set(), 0
    follow_all = chess_belief.ChessBelief._follow_all

    def recorded(self, held, steps, size, attempt, until):
        begun.add(steps)
        return follow_all(self, held, steps, size, attempt, until)

    for seed in range(6):
        belief = hard.belief(0)
        for _, player, told in random_decisions(KRIEGSPIEL, seed, 60):
            if player == 0:
                belief.advance(None, told)
                if belief._told is None:  # nothing has happened yet
                    continue
                moves = {r.steps for r in belief._told.since(0) if r.is_move}
                held = {s for s, sample in belief._samples if sample.side == sample.viewer}
                within_turns += len(held - moves)
                with monkeypatch.context() as patch:
                    patch.setattr(chess_belief.ChessBelief, "_follow_all", recorded)
                    begun.clear()
                    belief._guess()
                assert begun <= moves
    assert within_turns > 20


def test_where_time_is_short_fewer_guesses_are_made(monkeypatch):
    game = search_game(KRIEGSPIEL, belief_limit=40)
    counts = []
    scatter = type(game).scattered
    monkeypatch.setattr(
        type(game),
        "scattered",
        lambda self, held, size, salt: counts.append(size) or scatter(self, held, size, salt),
    )
    belief = game.belief(0)
    for _, player, told in random_decisions(KRIEGSPIEL, 1, 60):
        if player == 0:
            belief.advance(None, told)
    assert belief._samples
    belief._guess()
    assert max(counts) in (8 * 40, 64 * 40)
    counts.clear()
    belief.allow(0.5, lambda: 0.0, longest=1.0)
    belief._choosing = 0.01
    belief._guess()
    assert counts and max(counts) <= 25  # a quarter of a second
    belief._choosing = 1.0
    counts.clear()
    belief._guess()
    assert set(counts) == {1}


def test_reports_say_that_a_belief_is_guessed(hard):
    for seed in range(20):
        actors = [SearchPlayer(hard, p, OBSCURO, Budget(nodes=30), seed=1) for p in (0, 1)]
        for state, player, told in random_decisions(KRIEGSPIEL, seed, 60):
            actor = actors[player]
            decision = actor.decide(told, state.legal_actions())
            said = any("guessed" in reason for reason in decision.report.degraded)
            if actor._belief is not None and len(decision.actions) > 1:
                assert said == actor._belief.guessed
            if said:
                assert len(decision.actions) > 1 and not decision.report.belief_complete
                return
            actor.record_action(told, state.legal_actions()[0])
    raise AssertionError("expected a belief that is guessed")


# White's king asks the umpire many times where he may go: few positions fit, and of the many
# histories since the last exact set hardly any leads there. Samples were followed again for
# a quarter of an hour.
_ASKING = (
    "White e2d3? d2d4 - - d4c5 pawn:c5 - g1f3 - - c5d6? b1c3 - - c3b5 - - b5c7 check:knight "
    "piece:c7 c5d6? e2e4 - pawn:c5 c1h6 - - h6g5 - - e4e5 - - g5e7? g5e3 - - f3d4 - - d4b5 - - "
    "e5f6? f1d3 - pawn:e5 d1d2 - - b5a7 - - e3g5 - - a7c8 - - d3e4 - pawn:f2,check:short d2f2 "
    "piece:f2 piece:f2 e1f2 piece:f2 - e4f3 - piece:c8 f2e1 - - g5e7? g5d2 - - g2h3? f3e4 - - "
    "e4f3 - - d2c3 - - b2a3? a1d1 - - b2b4 - - b4c5? c3d4 - - d4f6? f3b7? d4e3 - - e3h6 - - h6g7 "
    "pawn:g7 - b4b5 - - g7f8 - pawn:b5 f8h6 - - h6f4 - - f4e5 - piece:e5 a2a4 - - f3d5? f3e4 "
    "pawn:e4 piece:e4 a4b5? g2h3? c2d3? e1d2? h2h3 - - c2c3? d1d6 - - d6d7 pawn:d7 piece:d7 c2c4? "
    "e1f2 - - h1d1 - pawn:c2 d1d7 piece:d7 piece:d7 f2g3 - pawn:a4 g3h2 - - h3h4 - - h4g5? g2g4 - "
    "- h4h5 - - h5h6 - - g4g5 - - g5g6? g5f6? h2g3 - - g5g6 - - g3g4? g6g7 - - g3h2 - - g7f8q? "
    "g7h8r? h6h7? h2h1? g7g8n? h2g3 - - g3h3 - - h3h2 - - g7g8r? h2g1? g7f8b? g7h8n? h6h7? h2h1? "
    "h2h3 - - g7f8n? g7g8q? g7h8q? h6h7? h3g2? h3g3 - pawn:h6 g3f2? g7g8b? g3h2? g7f8n? g7h8r? "
    "g3g2? g3h3? g3h4? g3f4? g3g4 piece:g4 check:vertical g4g5 piece:g5 pawn:g7 g5f6? g5h6? g5g6? "
    "g5f4 - - f4e3? f4e5? f4e4 piece:e4 - "
)


@pytest.mark.slow
def test_a_king_who_asks_many_times_is_not_lost():
    game = search_game("python_kriegspiel", belief_limit=20_000)
    belief = game.belief(0)
    belief.advance(None, _ASKING)
    assert len(belief.positions) and belief.guessed and not belief.complete
