"""The evaluation of positions with a bare king, against its definition on plain positions."""

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.settings import STRONG
from klss_spiel.budget import Budget
from klss_spiel.evaluators import make_evaluator
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.evaluators.hunt import KNOWN_WIN, PROGRESS, Hunt
from klss_spiel.games.chess.networks.network import shipped_network
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.counted_positions import with_counts
from tests.helpers.chess_positions import mirrored

_BOARD = packed.layout(8, 8)
_HALF = 0.5


def half(board, positions, sides):
    """An evaluation that likes White everywhere."""
    del board, sides
    return np.full(len(positions), _HALF, dtype=np.float32)


def worth(position):
    """What `hunt` makes of `half`."""
    (value,) = Hunt(half)(_BOARD, packed.pack([position]), np.array([position.side], np.uint8))
    return float(value)


def room_by_walking(position, bare):
    """Squares that a king can walk to, square by square with the plain rules."""
    king = rules.king_square(position, bare)
    empty = bytearray(position.squares)
    empty[king] = rules.EMPTY
    without = position._replace(squares=bytes(empty))
    reached, todo = {king}, [king]
    while todo:
        file, rank = todo[-1] % 8, todo.pop() // 8
        for other_file in range(max(0, file - 1), min(8, file + 2)):
            for other_rank in range(max(0, rank - 1), min(8, rank + 2)):
                square = 8 * other_rank + other_file
                if square in reached or without.squares[square]:
                    continue
                if not rules.attackers(without, square, 1 - bare):
                    reached.add(square)
                    todo.append(square)
    return len(reached)


def expected_progress(position, bare):
    kings = [rules.king_square(position, colour) for colour in (rules.WHITE, rules.BLACK)]
    apart = max(abs(kings[0] % 8 - kings[1] % 8), abs(kings[0] // 8 - kings[1] // 8))
    room = room_by_walking(position, bare)
    return 0.7 * (1 - min(room, 32) / 32) + 0.3 * (1 - (apart - 1) / 6)


@pytest.mark.parametrize(
    ("fen", "room", "apart"),
    [
        # The rook on the fifth rank leaves three ranks to the king, but not its own file.
        ("8/4k3/8/R7/8/8/8/K7 b - - 0 1", 21, 6),
        # On the seventh it leaves the last but the corner.
        ("6k1/R7/8/8/8/8/8/K7 b - - 0 1", 7, 7),
        # The king can leave his file to either side.
        ("4k3/8/8/8/4R3/8/8/K7 b - - 0 1", 1 + 4 * 7, 7),
        # The king and the queen leave a8 alone.
        ("k7/2Q5/2K5/8/8/8/8/8 b - - 0 1", 1, 2),
    ],
)
def test_room_and_nearness_are_counted(fen, room, apart):
    position = boards.position_from_fen(fen)
    assert room_by_walking(position, rules.BLACK) == room
    progress = 0.7 * (1 - min(room, 32) / 32) + 0.3 * (1 - (apart - 1) / 6)
    assert worth(position) == pytest.approx(KNOWN_WIN + PROGRESS * progress)
    assert worth(mirrored(position)) == pytest.approx(-KNOWN_WIN - PROGRESS * progress)


@pytest.mark.parametrize(
    "fen",
    [
        boards.BOARDS["standard"],
        "8/4k3/8/8/8/8/P7/K7 w - - 0 1",  # has to promote first
        "8/4k3/8/8/8/8/8/KB6 w - - 0 1",
        "8/4k3/8/8/8/8/8/KNN5 w - - 0 1",
        "8/4k2p/8/8/8/8/8/KQ6 w - - 0 1",  # not bare
    ],
)
def test_other_positions_are_worth_less_than_any_hunt(fen):
    assert worth(boards.position_from_fen(fen)) == pytest.approx(KNOWN_WIN * _HALF)


def test_a_captured_king_stays_decided():
    en_prise = boards.position_from_fen("4k3/8/8/8/8/8/8/K3R3 w - - 0 1")
    evaluator = make_evaluator("python_dark_chess", "hunt")
    assert evaluator(with_counts(packed.pack([en_prise]), 0)) == [1.0]


@st.composite
def bare_kings(draw):
    """White has pieces, Black the king."""
    squares = bytearray(64)
    places = draw(st.permutations(range(64)))
    squares[places[0]] = rules.piece(rules.KING, rules.BLACK)
    squares[places[1]] = rules.piece(rules.KING, rules.WHITE)
    squares[places[2]] = rules.piece(draw(st.sampled_from([rules.ROOK, rules.QUEEN])), rules.WHITE)
    for place in places[3 : 3 + draw(st.integers(0, 4))]:
        lowest = rules.PAWN if 0 < place // 8 < 7 else rules.KNIGHT
        squares[place] = rules.piece(draw(st.integers(lowest, rules.QUEEN)), rules.WHITE)
    return rules.Position(8, 8, bytes(squares), rules.BLACK, rules.NO_CASTLING, None, 0, 1)


@given(bare_kings())
def test_progress_is_that_of_its_definition(position):
    if rules.in_check(position._replace(side=rules.WHITE), rules.WHITE):
        return  # kings beside each other: decided
    expected = KNOWN_WIN + PROGRESS * expected_progress(position, rules.BLACK)
    assert worth(position) == pytest.approx(expected)


def test_it_is_asked_by_default_in_kriegspiel_and_not_in_dark_chess():
    fen = "8/4k3/8/8/R7/8/8/K7 w - - 0 1"
    plain = boards.position_from_fen(fen)
    expected = KNOWN_WIN + PROGRESS * expected_progress(plain, rules.BLACK)
    position = with_counts(packed.pack([plain]), 0)
    closed = np.zeros((1, 16), dtype=np.uint64)
    found = {}
    for game in ("python_kriegspiel", "python_dark_chess"):
        rows = np.hstack([position, closed]) if "kriegspiel" in game else position
        for name in ("resolver", "resolver(hunt)", "resolver(hunt(network))", "resolver(network)"):
            found[game, name] = make_evaluator(game, name)(rows)[0]
    assert found["python_kriegspiel", "resolver"] == found["python_kriegspiel", "resolver(hunt)"]
    assert found["python_dark_chess", "resolver"] == found["python_dark_chess", "resolver(network)"]
    for game in ("python_kriegspiel", "python_dark_chess"):
        assert found[game, "resolver(hunt)"] == found[game, "resolver(hunt(network))"]
        assert found[game, "resolver(hunt)"] == pytest.approx(expected)
        assert found[game, "resolver(network)"] != found[game, "resolver(hunt)"]
    network = shipped_network().evaluate
    assert found["python_dark_chess", "resolver(network)"] == pytest.approx(
        network(_BOARD, position[:, :4], np.zeros(1, np.uint8))[0]
    )


def moves_to_mate(seed):
    """Of two queens and a bishop against a king who moves at random."""
    game = pyspiel.load_game("python_kriegspiel(fen=8/8/8/4k3/8/5B2/8/KQ4Q1 w - - 0 1)")
    bot = SearchBot(game, 0, Budget(nodes=2000), seed=seed, settings=STRONG)
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    while not state.is_terminal():
        mine = state.current_player() == 0
        state.apply_action(bot.step(state) if mine else int(rng.choice(state.legal_actions())))
    assert state.returns()[0] == 1.0
    return int(str(state).split()[5])


def test_a_bare_king_is_mated_in_few_moves():
    """Without the hunt it takes 98 moves in all, and one of the four games is drawn."""
    assert sum(moves_to_mate(seed) for seed in range(4)) <= 30
