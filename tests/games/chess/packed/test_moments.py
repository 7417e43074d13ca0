"""States on packed positions against those of the plain rules."""

import pickle
import random

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel.games.chess import boards
from klss_spiel.games.chess import kriegspiel_umpire as umpire
from klss_spiel.games.chess.dark_chess_play import RULES, DarkChessSetup
from klss_spiel.games.chess.kriegspiel_play import KriegspielSetup
from klss_spiel.games.chess.packed.kriegspiel_moments import PackedKriegspielMoment
from klss_spiel.games.chess.packed.moments import PackedMoment
from klss_spiel.games.chess.packed.recorded_moment import replay

_STARTS = [
    boards.BOARDS["standard"],
    boards.BOARDS["minimal4x3"],
    boards.BOARDS["mate2"],
    boards.BOARDS["microchess"],
    boards.BOARDS["demichess"],
    # En passant all the time, castling, promotion, a side that is locked in.
    "rnbqkbnr/pppppppp/8/PPPPPPPP/8/8/8/RNBQKBNR b KQkq - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 3 40",
    "4k3/PPP5/8/8/8/8/ppp5/4K3 w - - 0 1",
    "7k/8/8/8/1p6/pPp5/PRP5/KB6 b - - 0 1",
    # Draws by fifty moves and by repetition.
    "k7/8/8/8/8/8/8/7K b - - 97 80",
    "k2/3/2K w - - 0 1",
]


def _tensors(moment, write, shapes) -> dict[str, np.ndarray]:
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    write(arrays)
    return {name: array.tobytes() for name, array in arrays.items()}


def _outline(moment) -> tuple[object, ...]:
    return moment.outcome, list(moment.legal_actions()), moment.side, moment.plies


def _everything(moment) -> dict[str, object]:
    """All that a moment says."""
    return {
        "course": moment.course,
        "position": moment.position,
        "side": moment.side,
        "plies": moment.plies,
        "outcome": moment.outcome,
        "action": moment.action,
        "legal": list(moment.legal_actions()),
        "told": moment.told,
        "public": moment.public_text(),
        "public_tensors": _tensors(moment, moment.write_public, moment.public_shapes()),
        "private": [moment.private_text(player) for player in (0, 1)],
        "views": [moment.view(player) for player in (0, 1)],
        "tensors": [
            _tensors(
                moment, lambda t, p=player: moment.write_private(p, t), moment.private_shapes()
            )
            for player in (0, 1)
        ],
    }


@settings(max_examples=40)
@given(
    st.sampled_from(_STARTS),
    st.sampled_from(sorted(RULES)),
    st.sampled_from([0, 17]),
    st.integers(0, 2**32),
)
def test_packed_moments_say_what_plain_ones_say(fen, rules_name, horizon, seed):
    rng = random.Random(seed)
    setup = DarkChessSetup(boards.position_from_fen(fen), horizon, RULES[rules_name])
    plain, packed = setup.first_moment(), PackedMoment.first(setup)
    for _ in range(25):
        assert _everything(packed) == _everything(plain)
        if plain.outcome is not None:
            break
        action = rng.choice(plain.legal_actions())
        plain, packed = plain.after(action), packed.after(action)
        assert packed.before is not None


_KRIEGSPIEL_STARTS = [
    boards.BOARDS["standard"],
    boards.BOARDS["minimal4x3"],
    boards.BOARDS["silverman4x4"],
    boards.BOARDS["microchess"],
    "4k3/pppppppp/8/PPPPPPPP/8/8/8/4K3 b - - 0 1",
    "r3k2r/pppqpppp/8/8/8/8/PPPQPPPP/R3K2R w KQkq - 3 40",
    "4k3/PPP5/8/8/8/8/ppp5/4K3 w - - 0 1",
    # Bishops of one shade, of two, knights: dead or not once something is captured.
    "k1b5/8/8/8/8/3p4/8/K1B5 w - - 0 1",
    "kb6/8/8/8/8/3p4/8/K1B5 w - - 0 1",
    "kn6/8/8/8/8/2Np4/8/K7 w - - 0 1",
    "k7/8/8/8/8/8/8/K6R b - - 97 80",
    # Every direction of check is near.
    "3qk3/8/8/8/8/2n5/1b6/r3K2R w K - 0 1",
]


@settings(max_examples=30)
@given(
    st.sampled_from(_KRIEGSPIEL_STARTS),
    st.sampled_from(list(umpire.AreThereAny)),
    st.tuples(st.sampled_from([0, 17]), st.booleans(), st.booleans()),
    st.integers(0, 2**32),
)
def test_packed_kriegspiel_says_what_the_plain_one_says(fen, any_rule, options, seed):
    rng = random.Random(seed)
    horizon, announce, count = options
    setup = KriegspielSetup(boards.position_from_fen(fen), horizon, announce, any_rule, count)
    plain, packed = setup.first_moment(), PackedKriegspielMoment.first(setup)
    for _ in range(40):
        assert _everything(packed) == _everything(plain)
        assert packed.announcement == plain.announcement
        assert (packed.failed, packed.num_tries) == (plain.failed, plain.num_tries)
        if plain.outcome is not None:
            break
        action = rng.choice(plain.legal_actions())
        plain, packed = plain.after(action), packed.after(action)


def _compare_kriegspiel(plies: int, seed: int) -> set[float]:
    """Plays random games to their ends both ways; returns the outcomes."""
    rng = random.Random(seed)
    outcomes: set[float] = set()
    played = 0
    while played < plies:
        setup = KriegspielSetup(boards.position_from_fen(rng.choice(_KRIEGSPIEL_STARTS)))
        plain, packed = setup.first_moment(), PackedKriegspielMoment.first(setup)
        while plain.outcome is None:
            assert _outline(packed) == _outline(plain), boards.fen_of(plain.position)
            action = rng.choice(plain.legal_actions())
            plain, packed = plain.after(action), packed.after(action)
            played += 1
        assert _outline(packed) == _outline(plain), boards.fen_of(plain.position)
        assert packed.told == plain.told
        assert packed.course == plain.course
        outcomes.add(plain.outcome)
    return outcomes


def test_whole_games_of_kriegspiel_end_alike():
    assert _compare_kriegspiel(plies=6_000, seed=4) == {1.0, 0.0, -1.0}


@pytest.mark.slow
def test_two_hundred_thousand_tries_are_alike():
    _compare_kriegspiel(plies=200_000, seed=5)


def test_kriegspiel_pickles_and_knows_possible_positions():
    state = pyspiel.load_game("python_kriegspiel(board=minimal4x3,horizon=6)").new_initial_state()
    for move in ("c1b1", "a3b2", "a3a2"):
        state.apply_action(state.string_to_action(move))
    copy = pickle.loads(pickle.dumps(state.moment))
    assert _everything(copy) == _everything(state.moment)
    assert isinstance(copy, PackedKriegspielMoment)
    true = umpire.without_clocks(copy.position)
    assert all(true in copy.possible_positions(player) for player in (0, 1))
    with pytest.raises(ValueError, match=r"expected an action among .*, got 0"):
        copy.after(0)


def _compare(names: list[str], plies: int, seed: int) -> tuple[int, set[float]]:
    """Plays random games to their ends both ways; returns plies and outcomes."""
    rng = random.Random(seed)
    outcomes: set[float] = set()
    played = 0
    while played < plies:
        setup = DarkChessSetup(boards.position_from_fen(rng.choice(names)))
        plain, packed = setup.first_moment(), PackedMoment.first(setup)
        while plain.outcome is None:
            legal = plain.legal_actions()
            assert packed.legal_actions() == list(legal)
            action = rng.choice(legal)
            plain, packed = plain.after(action), packed.after(action)
            assert packed.outcome == plain.outcome, boards.fen_of(plain.position)
            played += 1
        outcomes.add(plain.outcome)
        assert packed.told == plain.told
        assert packed.course == plain.course
    return played, outcomes


def test_whole_games_end_alike():
    _, outcomes = _compare(_STARTS, plies=4_000, seed=1)
    assert outcomes == {1.0, 0.0, -1.0}


@pytest.mark.slow
def test_two_hundred_thousand_plies_are_alike():
    _compare(_STARTS, plies=200_000, seed=2)


def test_texts_are_made_in_any_order():
    setup = DarkChessSetup(boards.position_of("standard"))
    rng = random.Random(3)
    line = [PackedMoment.first(setup)]
    for _ in range(30):
        line.append(line[-1].after(rng.choice(line[-1].legal_actions())))
    late = replay(PackedMoment, setup, [moment.action for moment in line[1:]])
    assert late.told_to(0) == line[-1].told_to(0)
    for moment in rng.sample(line, len(line)):
        assert late.told_to(1).startswith(moment.told_to(1))


def test_moments_pickle_and_refuse_illegal_actions():
    state = pyspiel.load_game("python_dark_chess").new_initial_state()
    for move in ("e2e4", "e7e5"):
        state.apply_action(state.string_to_action(move))
    copy = pickle.loads(pickle.dumps(state.moment))
    assert _everything(copy) == _everything(state.moment)
    with pytest.raises(ValueError, match=r"expected an action among .*e1e2.*, got 7"):
        copy.after(7)
    with pytest.raises(ValueError, match=r"expected an action among .*e1e2.*, got 7"):
        DarkChessSetup(state.moment.position).first_moment().after(7)
    with pytest.raises(ValueError, match="got 99999999"):
        copy.after(99999999)
