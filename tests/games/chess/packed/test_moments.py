"""States on packed positions against those of the plain rules."""

import pickle
import random

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel.games.chess import boards
from klss_spiel.games.chess.dark_chess_play import RULES, DarkChessSetup
from klss_spiel.games.chess.packed import moments

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
    plain, packed = setup.first_moment(), moments.first_moment(setup)
    for _ in range(25):
        assert _everything(packed) == _everything(plain)
        if plain.outcome is not None:
            break
        action = rng.choice(plain.legal_actions())
        plain, packed = plain.after(action), packed.after(action)
        assert packed.before is not None


def _compare(names: list[str], plies: int, seed: int) -> tuple[int, set[float]]:
    """Plays random games to their ends both ways; returns plies and outcomes."""
    rng = random.Random(seed)
    outcomes: set[float] = set()
    played = 0
    while played < plies:
        setup = DarkChessSetup(boards.position_from_fen(rng.choice(names)))
        plain, packed = setup.first_moment(), moments.first_moment(setup)
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
    line = [moments.first_moment(setup)]
    for _ in range(30):
        line.append(line[-1].after(rng.choice(line[-1].legal_actions())))
    late = moments.replay(setup, [moment.action for moment in line[1:]])
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
