"""What information states tell, read back: the en-passant right, views, beliefs."""

import collections
import concurrent.futures
import pickle
import random
from collections.abc import Sequence

import numpy as np
import pyspiel
import pytest

from klss_spiel.games.chess import boards, observation
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.information_states import InformationStates
from klss_spiel.games.chess.packed.search_game import DarkChess
from tests.helpers.recorded_games import recorded_games

_STANDARD = "python_dark_chess"
# Pawns that pass each other all the time, with pieces that look on.
_PAWNS = "python_dark_chess(fen=rnbqkbnr/pppppppp/8/PPPPPPPP/8/8/8/RNBQKBNR b KQkq - 0 1)"
_DEMI = "python_dark_chess(board=demichess)"


def _told_right(state: pyspiel.State, player: int) -> str:
    """The en-passant square that a player's information state ends with."""
    last = state.information_state_string(player).split()[-1]
    mark = observation.EN_PASSANT_MARK
    return last.removeprefix(mark) if last.startswith(mark) else observation.NO_SQUARE


def _right(state: pyspiel.State) -> str:
    """The square onto which the side to move can capture en passant, by the rules."""
    position = state.moment.position
    if position.en_passant is None:
        return observation.NO_SQUARE
    return boards.square_name(position.en_passant, position.width)


def _passing_actions(state: pyspiel.State) -> set[str]:
    """Targets of the own legal moves that capture en passant: pawns onto empty squares."""
    position = state.moment.position
    moves = [state.moment.setup.table.moves[a] for a in state.legal_actions()]
    return {
        boards.square_name(m.target, position.width)
        for m in moves
        if position.squares[m.source] & 7 == 1
        and (m.target - m.source) % position.width
        and not position.squares[m.target]
    }


def _fuzz(names: list[str], plies: int, seed: int) -> int:
    """Compares the told right with the rules' over random plies; returns how many rights."""
    rng = random.Random(seed)
    rights = 0
    while plies > 0:
        game = pyspiel.load_game(rng.choice(names))
        state = game.new_initial_state()
        while not state.is_terminal() and plies > 0 and state.move_number() < 60:
            state.apply_action(rng.choice(state.legal_actions()))
            plies -= 1
            mover = state.current_player()
            if mover < 0:
                continue
            right = _right(state)
            assert _told_right(state, mover) == right, str(state)
            assert _told_right(state, 1 - mover) == observation.NO_SQUARE, str(state)
            assert _passing_actions(state) == {right} - {observation.NO_SQUARE}
            rights += right != observation.NO_SQUARE
    return rights


def test_the_told_right_is_that_of_the_rules():
    assert _fuzz([_STANDARD, _PAWNS, _DEMI], plies=4_000, seed=1) > 10


@pytest.mark.slow
def test_the_told_right_is_that_of_the_rules_over_a_million_plies():
    assert _fuzz([_STANDARD, _PAWNS, _DEMI], plies=1_000_000, seed=2) > 3_000


def _play(state: pyspiel.State, moves: Sequence[str]):
    """Plays moves, yielding the state before each and after the last."""
    for move in moves:
        yield state
        state.apply_action(state.string_to_action(move))
    yield state


def _assert_believed(game: pyspiel.Game, states, limit: int) -> int:
    """Follows both players' beliefs while they are exact; returns for how many decisions."""
    return _followed(game, states, limit, past_limit=False)["exact"]


def _followed(game: pyspiel.Game, states, limit: int, past_limit: bool) -> collections.Counter[str]:
    """Follows both players' beliefs, as samples, too, if that is asked for.

    No belief may be empty, and exact ones hold the truth. Returns at how many decisions they
    were exact, a sample, and exact again after a sample.
    """
    searched = DarkChess(game.setup, belief_limit=limit)
    beliefs = [searched.belief(player) for player in (0, 1)]
    counts: collections.Counter[str] = collections.Counter()
    for ply, state in enumerate(states):
        if state.is_terminal():
            break
        player = state.current_player()
        belief = beliefs[player]
        was_exact = belief.complete
        if not (was_exact or past_limit):
            continue
        belief.advance(None, state.information_state_string(player))
        assert len(belief.positions), f"nothing is believed at ply {ply}: {state}"
        if belief.complete:
            (true,) = packed.pack([state.moment.position])
            assert (belief.positions[:, :4] == true).all(axis=1).any(), str(state)
        counts["exact" if belief.complete else "sample"] += 1
        counts["exact again"] += belief.complete and not was_exact
    return counts


# White is to move; guessing the right from views once left no position possible here.
_HARD_LINE = (
    "f2f4 a7a5 d2d4 b8c6 e2e3 f7f5 f1c4 a8a6 d1h5 h7h6 e1d2 e7e5 h5f3 e8f7 g2g3 g8e7 b1a3 "
    "f7e6 d4e5 d7d5"
)


def test_a_pawn_that_passes_a_pinned_view_is_believed():
    game = pyspiel.load_game(_STANDARD)
    state = game.new_initial_state()
    exact = _assert_believed(game, _play(state, _HARD_LINE.split()), limit=50_000)
    assert exact == len(_HARD_LINE.split()) + 1
    assert _told_right(state, 0) == "d6"


def _random_states(game: pyspiel.Game, rng: random.Random, plies: int):
    state = game.new_initial_state()
    for _ in range(plies):
        yield state
        if state.is_terminal():
            return
        state.apply_action(rng.choice(state.legal_actions()))


def test_beliefs_of_random_games_hold_the_truth():
    rng = random.Random(3)
    for name in (_STANDARD, _PAWNS, _DEMI):
        game = pyspiel.load_game(name)
        for _ in range(2):
            assert _assert_believed(game, _random_states(game, rng, 40), limit=5_000) > 5


@pytest.mark.slow
def test_beliefs_over_twenty_thousand_random_plies_hold_the_truth():
    rng = random.Random(4)
    decisions = 0
    while decisions < 20_000:
        game = pyspiel.load_game(rng.choice([_STANDARD, _PAWNS, _DEMI]))
        decisions += _assert_believed(game, _random_states(game, rng, 120), limit=20_000)


def test_beliefs_along_real_games_hold_the_truth():
    game = pyspiel.load_game(_STANDARD)
    exact = sum(
        _assert_believed(game, _play(game.new_initial_state(), record.moves), limit=20_000)
        for record in recorded_games()
    )
    assert exact > 400


def _followed_to_the_end(limit: int, every: int) -> collections.Counter[str]:
    """What becomes of beliefs along whole recorded games, of which every so many are taken."""
    game = pyspiel.load_game(_STANDARD)
    counts: collections.Counter[str] = collections.Counter()
    for record in recorded_games()[::every]:
        states = _play(game.new_initial_state(), record.moves)
        counts += _followed(game, states, limit, past_limit=True)
    return counts


def test_small_samples_live_through_real_games_to_their_ends():
    counts = _followed_to_the_end(limit=2_000, every=2)
    assert counts["sample"] > 200
    assert counts["exact"] > 150
    assert counts["exact again"] > 1


@pytest.mark.slow
def test_samples_live_through_all_real_games_to_their_ends():
    """A minute; one surprise of a single game takes ten seconds of it."""
    counts = _followed_to_the_end(limit=20_000, every=1)
    assert counts["sample"] > 400
    assert counts["exact"] > 400
    assert counts["exact again"] > 1


def test_reading_on_is_reading_anew():
    game = pyspiel.load_game(_PAWNS)
    remembers = InformationStates(game.setup)
    rng = random.Random(5)
    for _ in range(3):
        for state in _random_states(game, rng, 60):
            for player in (0, 1):
                text = state.information_state_string(player)
                if state.is_terminal():
                    text = text.rsplit(" ", 1)[0]  # how it ended is not read
                known = remembers.read(player, text)
                fresh = InformationStates(game.setup).read(player, text)
                assert known.key == fresh.key
                assert [r.move for r in known.since(0)] == [r.move for r in fresh.since(0)]
                np.testing.assert_array_equal(known.observation, fresh.observation)
                assert remembers.read(player, text) is known


def test_the_same_view_with_and_without_the_right_is_read_as_two():
    view = "????k???/????????/???.????/???pP???/????.???/????????/???...??/???.K.??"
    told = InformationStates(
        pyspiel.load_game("python_dark_chess(fen=4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1)").setup
    )
    without, right = told.read(0, f"White {view}"), told.read(0, f"White {view} ep:d6")
    assert without.key != right.key
    assert not np.array_equal(without.observation, right.observation)


def test_threads_share_a_reader():
    game = pyspiel.load_game(_STANDARD)
    texts = []
    for seed in range(4):
        for state in _random_states(game, random.Random(seed), 40):
            if not state.is_terminal():
                texts.append(state.information_state_string(0))
    expected = [InformationStates(game.setup).read(0, text).key for text in texts]
    told = pickle.loads(pickle.dumps(InformationStates(game.setup)))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = pool.map(lambda text: told.read(0, text).key, texts)
            assert list(found) == expected


def test_texts_that_are_no_information_states_are_refused():
    told = InformationStates(pyspiel.load_game(_STANDARD).setup)
    with pytest.raises(ValueError, match="information state of player 1"):
        told.read(1, "White")
    with pytest.raises(ValueError, match="expected moves and views, got 'e2e9'"):
        told.read(0, "White e2e9")
