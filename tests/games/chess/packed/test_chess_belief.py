"""Tests of beliefs past their limit: kept alive, never wrong, exact again when they can be."""

import copy
import dataclasses
import math

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.budget import Budget
from klss_spiel.games.chess.boards import position_from_fen
from klss_spiel.games.chess.packed import chess_belief
from klss_spiel.games.chess.packed import positions as packed
from tests.helpers.games import random_decisions

DARK = "python_dark_chess(board=microchess)"
KRIEGSPIEL = "python_kriegspiel(board=microchess)"
BOTH = [DARK, KRIEGSPIEL]


def rows_of(belief):
    return {row.tobytes() for row in np.ascontiguousarray(belief.positions[:, :4])}


def follow(name, seeds, actions, limit):
    """Follows small beliefs beside exact ones; returns how often which was the case."""
    small, exact = (search_game(name, belief_limit=size) for size in (limit, 1_000_000))
    counts = {"sampled": 0, "recovered": 0, "exact": 0}
    for seed in seeds:
        beliefs = [(small.belief(player), exact.belief(player)) for player in (0, 1)]
        for state, player, told in random_decisions(name, seed, actions):
            sample, whole = beliefs[player]
            before = sample.complete
            sample.advance(None, told)
            whole.advance(None, told)
            assert whole.complete
            assert packed.pack([state.moment.position])[0].tobytes() in rows_of(whole)
            # Not empty, and nothing in it that does not fit.
            assert rows_of(sample)
            assert rows_of(sample) <= rows_of(whole)
            assert len(rows_of(sample)) == len(sample.positions)
            if sample.complete:
                assert rows_of(sample) == rows_of(whole)
                assert sample.weights is None
                counts["exact"] += 1
                counts["recovered"] += not before
            else:
                assert len(sample.positions) <= limit
                assert sample.weights.shape == (len(sample.positions),)
                assert np.all(sample.weights > 0.0)
                counts["sampled"] += 1
    return counts


@pytest.mark.parametrize(("name", "limit"), [(DARK, 8), (KRIEGSPIEL, 60)])
def test_a_sample_is_never_empty_nor_wrong_and_becomes_exact_again(name, limit):
    counts = follow(name, seeds=range(12), actions=40, limit=limit)
    assert counts["sampled"] > 10
    assert counts["exact"] > 100
    assert counts["recovered"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 5, 50])
@pytest.mark.parametrize(
    "name",
    [
        *BOTH,
        "python_kriegspiel(board=silverman4x4)",
        "python_kriegspiel(board=microchess,are_there_any=all)",
        "python_kriegspiel(board=openspiel4x4,announce_tries=true,are_there_any=any)",
        "python_dark_chess(board=silverman4x4)",
    ],
)
def test_samples_of_many_games_are_never_empty_nor_wrong(name, limit):
    assert follow(name, seeds=range(60), actions=60, limit=limit)["sampled"] > 0


@pytest.mark.parametrize("name", ["python_kriegspiel", "python_dark_chess"])
def test_a_tiny_sample_lives_through_a_long_game_on_the_standard_board(name):
    game = search_game(name, belief_limit=50)
    beliefs = [game.belief(player) for player in (0, 1)]
    for state, player, told in random_decisions(name, seed=3, actions=120):
        belief = beliefs[player]
        belief.advance(None, told)
        assert 0 < len(belief.positions) <= 50
        # What is held possible offers the actions that the game offers.
        known = game.informed(player, int(game.infosets(player, told)[0]), belief.positions)
        children = game.expand(belief.positions[:3], known[:, :3])
        assert children.action[: children.count[0]].tolist() == state.legal_actions()
    assert not beliefs[0].complete


def test_a_sample_that_has_died_out_is_found_anew(monkeypatch):
    """Nothing is remembered but one position of each step: surprises kill the sample."""
    monkeypatch.setattr(chess_belief, "_REMEMBERED", 1)
    monkeypatch.setattr(chess_belief, "_DETOUR", 1)
    seen = []
    original = chess_belief.ChessBelief._followed_again

    def spied(self, few):
        seen.append(len(self._held.positions))
        return original(self, few)

    monkeypatch.setattr(chess_belief.ChessBelief, "_followed_again", spied)
    follow(KRIEGSPIEL, seeds=range(6), actions=40, limit=4)
    assert seen.count(0) > 3


# Black sees White's knight take on e5, d7 and c5, and a rook on d8, after ten plies of fog: of
# 2e10 histories few lead there, and samples of 20,000 that were renewed blindly died at ply 35.
_SURPRISES = (
    "c2c4 g8f6 d2d4 d7d6 b1c3 c7c5 d4c5 b8d7 d1a4 d6c5 g1f3 g7g6 g2g3 f8g7 f1g2 e8g8 e1g1 f8e8 "
    "f1d1 h7h6 h2h3 a7a6 c1f4 e7e5 f3e5 f6h5 e5d7 h5f4 d7c5 f4g2 d1d8 e8d8 g1g2 c8h3 g2h3 g7f8 "
    "c5d3 b7b6 h3g2 g6g5"
)


def test_a_sample_lives_through_a_game_full_of_surprises():
    game = pyspiel.load_game("python_dark_chess")
    belief = search_game(game, belief_limit=20_000).belief(1)
    state = game.new_initial_state()
    for move in _SURPRISES.split():
        if state.current_player() == 1:
            belief.advance(None, state.information_state_string(1))
            assert len(belief.positions) > 0
        state.apply_action(state.string_to_action(move))
    assert not belief.complete


def test_positions_that_lead_to_what_is_seen_later_are_foreseen():
    """An ordinary move changes two cells, so no survivor can have more that surprise."""
    name = "python_dark_chess"
    game = search_game(name)
    cell = np.log(30.0) / 2
    survivors, others = [], []
    for seed in range(8):
        told = [
            game.read(0, text) for _, player, text in random_decisions(name, seed, 11) if not player
        ]
        held = game.first_held(0)
        for reading in told[-1].since(0):
            if held.side != held.viewer:
                for row in held.positions[:200]:
                    one = dataclasses.replace(held, positions=row[None])
                    lives = len(game.follow(one, reading, 1000, 0).positions) > 0
                    (survivors if lives else others).extend(game.foresight(one, [reading]))
            held = game.follow(held, reading, 1_000_000, 0)
        assert (game.foresight(held, []) == 0.0).all()
    assert min(survivors) >= -2 * cell - 1e-9
    assert np.mean(survivors) > np.mean(others) + cell / 2


def foreseen(moves, *boards):
    """Foresight of positions with White to move, who hears of moves that the first allows."""
    game = pyspiel.load_game(f"python_kriegspiel(fen={boards[0]} w - - 0 1)")
    state = game.new_initial_state()
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    searched = search_game(game)
    later = searched.read(0, state.information_state_string(0)).since(0)
    positions = packed.pack([position_from_fen(f"{board} w - - 0 1") for board in boards])
    held = dataclasses.replace(searched.first_held(0), positions=positions)
    return searched.foresight(held, later)


_WHITE = "8/3R4/5N2/7P/4K3"
_NOW = np.log(300.0)  # there is no turn in between; almost impossible


@pytest.mark.parametrize(
    ("moves", "fits", "does_not", "cost"),
    [
        # The rook is captured on d4, by a bishop that is there or is not.
        ("h2h3 g7d4", f"4k3/6b1/8/{_WHITE}", f"b3k3/8/8/{_WHITE}", _NOW),
        # A check along a line needs a rook or a queen, one by a knight a knight.
        ("h2h3 a8a1", f"r3k3/8/8/{_WHITE}", f"b3k3/8/8/{_WHITE}", 5.0),
        ("h2h3 c4b2", "4k3/8/8/8/2n5/8/7P/3K4", "4k3/8/8/8/2b5/8/7P/3K4", 5.0),
        # A pawn is captured on d7, where there is none.
        ("d4d7", f"4k3/3p4/8/{_WHITE}", f"4k3/4p3/8/{_WHITE}", _NOW),
        ("d4d7", f"4k3/3r4/8/{_WHITE}", f"4k3/3p4/8/{_WHITE}", _NOW),
        # The rook passes d5 and d6, where pieces stand.
        ("d4d7", f"4k3/8/8/{_WHITE}", f"4k3/8/3p4/{_WHITE}", _NOW / 2),
        ("d4d7", f"4k3/8/8/{_WHITE}", "4k3/8/3p4/3p4/3R4/5N2/7P/4K3", _NOW),
        # The king cannot go to the second rank: attacked by a rook that may stand elsewhere.
        ("e1e2", "4k3/8/8/8/3R4/5N2/r6P/4K3", "r3k3/8/8/8/3R4/5N2/7P/4K3", _NOW),
        ("e1e2 e1d2", "4k3/8/8/8/3R4/5N2/r6P/4K3", "r3k3/8/8/8/3R4/5N2/7P/4K3", 1.2 * _NOW),
        # A refused move of another piece says nothing.
        ("f3g5", "r3k3/8/8/8/3R4/5N2/7P/r3K3", "4k3/8/8/8/3R4/5N2/7P/r3K3", 0.0),
    ],
)
def test_positions_that_lead_to_what_the_umpire_says_later_are_foreseen(
    moves, fits, does_not, cost
):
    good, bad = foreseen(moves, fits, does_not)
    assert good - bad == pytest.approx(cost)


@pytest.fixture
def dying(monkeypatch):
    """Kriegspiel whose samples die out, are not followed with larger ones and not guessed."""
    monkeypatch.setattr(chess_belief, "_GUESSED_BACK", ())
    monkeypatch.setattr(chess_belief, "_REMEMBERED", 1)
    monkeypatch.setattr(chess_belief, "_DETOUR", 1)
    monkeypatch.setattr(chess_belief, "_DOUBLINGS", 0)
    return search_game(KRIEGSPIEL, belief_limit=4)


def told_until_it_dies(game, seeds=range(20)):
    """What a player is told and may do, decision by decision, one past the end of a belief."""
    for seed in seeds:
        beliefs = [game.belief(player) for player in (0, 1)]
        told = [[], []]
        dead = None
        for state, player, text in random_decisions(KRIEGSPIEL, seed, 60):
            told[player].append((text, state.legal_actions()))
            if player == dead and len(state.legal_actions()) > 1:
                return player, told[player], beliefs[player]
            if dead is None:
                beliefs[player].advance(None, text)
                if not len(beliefs[player].positions):
                    dead = player
    raise AssertionError("expected a sample that dies out")


def test_a_sample_that_cannot_be_kept_alive_is_empty_and_stays_so(dying, monkeypatch):
    player, told, belief = told_until_it_dies(dying)
    assert not belief.complete
    assert belief.positions.shape == (0, dying.initial().position.shape[1])

    def never(self, few):
        raise AssertionError("a belief that has died out was followed again")

    monkeypatch.setattr(chess_belief.ChessBelief, "_followed_again", never)
    belief.advance(None, told[-1][0])
    assert not belief.complete and not len(belief.positions)
    monkeypatch.undo()
    # With doublings it lives.
    again = dying.belief(player)
    for text, _ in told:
        again.advance(None, text)
    assert len(again.positions)


def test_a_player_whose_sample_has_died_out_plays_uniformly_and_says_so(dying):
    player, told, _ = told_until_it_dies(dying)
    actor = SearchPlayer(dying, player, OBSCURO, Budget(nodes=50), seed=1)
    actor.decide(*told[0])
    for text, legal in told[:-1]:
        actor.record_action(text, legal[0])
    text, legal = told[-1]
    decision = actor.decide(text, legal)
    np.testing.assert_allclose(decision.probabilities, 1 / len(legal))
    assert decision.report.degraded == ("belief incomplete and empty; playing uniformly",)
    # Where there is nothing to choose, too.
    forced = actor.decide(text, legal[:1])
    assert forced.report.forced and not forced.report.belief_complete


@pytest.mark.parametrize("name", BOTH)
def test_a_sample_that_dies_on_the_way_knows_whose_turn_it_is(name):
    """Only then can it be followed when the game goes on."""
    belief = search_game(name).belief(0)
    texts = [text for _, player, text in random_decisions(name, 0, 12) if player == 0]
    starts = []
    for text in texts[1:4]:
        belief.advance(None, text)
        starts.append((belief._held, belief._told.steps))
    for held, steps in starts:
        nobody = dataclasses.replace(held, positions=held.positions[:0], complete=False)
        after = belief._follow_all(nobody, steps, 4, 1, math.inf)
        assert not len(after.positions)
        assert after.side == belief._held.side


@pytest.mark.parametrize(("doublings", "most"), [(3, 8_000_000), (20, 16 * 4 * 8 + 1)])
def test_samples_are_doubled_up_to_a_bound(dying, monkeypatch, doublings, most):
    """A quarter of four at first; at most 32 by the number of doublings or by the positions."""
    _, _, belief = told_until_it_dies(dying)
    monkeypatch.setattr(chess_belief, "_DOUBLINGS", doublings)
    monkeypatch.setattr(chess_belief, "_LAST_RESORT_POSITIONS", most)
    sizes, work = [], []

    def dies(self, held, steps, size, attempt, until):
        sizes.append(size)
        work.append(size * (self._told.steps - steps))
        return self._held

    monkeypatch.setattr(chess_belief.ChessBelief, "_follow_all", dies)
    belief._renewed_at = 1
    belief._renew(0)
    assert set(sizes) == {1, 2, 4, 8, 16, 32}
    # The last exact set and every remembered sample in all sizes, the least work first; before
    # that some of them once, the last exact set in the smallest size at the end.
    remembered = len(belief._samples)
    once = 1 + sum(back < remembered for back in chess_belief._STEPS_BACK)
    assert sizes[once - 1] == 1
    resorts = work[once:]
    assert resorts == sorted(resorts)
    assert len(resorts) == 6 * (1 + sum(1 << n < remembered for n in range(4, 12)))
    assert sizes[-1] == 32
    assert not len(belief.positions)


def test_what_cannot_be_is_refused():
    belief = search_game(KRIEGSPIEL).belief(0)
    with pytest.raises(ValueError, match=r"no position of .* fits what player 0 was told"):
        belief.advance(None, "White d2d3 piece:d3")


@pytest.mark.parametrize("name", BOTH)
def test_past_the_limit_is_an_error_that_names_what_helps(name):
    belief = search_game(name, belief_limit=3, sample_belief=False).belief(0)
    with pytest.raises(ValueError, match="raise belief_limit or allow sample_belief"):
        for _, player, told in random_decisions(name, 1, 30):
            if player == 0:
                belief.advance(None, told)
    allowed = search_game(name, belief_limit=3, sample_belief=True)
    assert allowed.belief(0).complete


@pytest.mark.parametrize("name", BOTH)
def test_beliefs_depend_on_what_was_told_alone_and_copies_go_their_own_way(name):
    game = search_game(name, belief_limit=20)
    one, late = game.belief(0), game.belief(0)
    told = [text for _, player, text in random_decisions(name, 7, 40) if player == 0]
    for text in told[:-1]:
        one.advance(None, text)
    twin, deep = one.copy(), copy.deepcopy(one)
    before = one.positions.copy()
    for other in (twin, deep):
        other.advance(None, told[-1])
    np.testing.assert_array_equal(one.positions, before)
    np.testing.assert_array_equal(twin.positions, deep.positions)
    one.advance(None, told[-1])
    np.testing.assert_array_equal(one.positions, twin.positions)
    # A game taken up in its middle.
    late.advance(None, told[-1])
    assert late.complete == one.complete
    assert len(late.positions)
