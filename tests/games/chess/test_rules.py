"""The reference rules against python-chess, Fairy-Stockfish and symmetry."""

import random

import chess
import pyffish
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.rules import CheckDirection
from tests.helpers.chess_positions import (
    PERFT_FENS,
    mirrored,
    mirrored_square,
    positions,
    random_play,
    uci_moves,
)

# Fairy-Stockfish takes variants as text: the sizes and rules of ours that it does not know.
_FOG = """
king = -
commoner = k
castlingKingPiece = k
extinctionValue = loss
extinctionPieceTypes = k
"""
_VARIANTS = f"""
[test_fog:chess]
{_FOG}
[test_demichess:chess]
maxFile = 4
castlingKingFile = a
castlingKingsideFile = c
castlingRookKingsideFile = d
castlingQueensideFile = a
[test_fogdemichess:test_demichess]
{_FOG}
[test_5x5:chess]
maxFile = 5
maxRank = 5
promotionRegionWhite = *5
promotionRegionBlack = *1
doubleStepRegionWhite = *2
doubleStepRegionBlack = *4
castling = false
[test_fog5x5:test_5x5]
{_FOG}
[test_4x4:chess]
maxFile = 4
maxRank = 4
promotionRegionWhite = *4
promotionRegionBlack = *1
doubleStep = false
castling = false
[test_fog4x4:test_4x4]
{_FOG}
"""
_PAWNS_5X5 = "nbrqk/ppppp/5/PPPPP/KQRBN w - - 0 1"


@pytest.fixture(scope="module")
def fairy() -> None:
    pyffish.load_variant_config(_VARIANTS)


@pytest.mark.parametrize("fen", PERFT_FENS)
def test_perft_equals_python_chess(fen: str) -> None:
    def count(board: chess.Board, depth: int) -> int:
        if depth == 1:
            return board.legal_moves.count()
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += count(board, depth - 1)
            board.pop()
        return total

    assert rules.perft(boards.position_from_fen(fen), 3) == count(chess.Board(fen), 3)


@pytest.mark.parametrize("fen", PERFT_FENS)
def test_play_equals_python_chess(fen: str) -> None:
    # Moves, pseudo-legal moves without castling (there python-chess looks at attacks),
    # and whole positions along random games.
    rng = random.Random(1)
    for _ in range(3):
        for position in random_play(boards.position_from_fen(fen), rng, 80, legal=True):
            text = boards.fen_of(position)
            board = chess.Board(text)
            # Here a right needs a pawn ready to capture, as in python-chess's "xfen".
            assert board.fen(en_passant="xfen") == text
            legal = rules.legal_moves(position)
            assert uci_moves(position, legal) == sorted(m.uci() for m in board.legal_moves)
            assert not legal or rules.in_check(position, position.side) == board.is_check()
            assert rules.is_dead(position) == board.is_insufficient_material()
            castling = set(rules.castling_moves(position, position.side))
            pseudo = [m for m in rules.pseudo_legal_moves(position) if m not in castling]
            expected = [m.uci() for m in board.pseudo_legal_moves if not board.is_castling(m)]
            assert uci_moves(position, pseudo) == sorted(expected)
            for move in legal[::5]:
                after = board.copy()
                after.push_uci(boards.move_to_uci(move, position.width))
                came = boards.fen_of(rules.apply_move(position, move))
                assert came == after.fen(en_passant="xfen")


@pytest.mark.parametrize(
    ("variant", "fen", "legal"),
    [
        ("test_fog", PERFT_FENS[0], False),
        ("test_fog", PERFT_FENS[1], False),
        ("test_demichess", boards.BOARDS["demichess"], True),
        ("test_fogdemichess", "k2r/pp1p/2p1/4/4/2P1/PP1P/K2R w Kk - 0 1", False),
        ("test_5x5", _PAWNS_5X5, True),
        ("test_fog5x5", _PAWNS_5X5, False),
        ("test_fog5x5", boards.BOARDS["mate2"], False),
        ("test_4x4", boards.BOARDS["silverman4x4"], True),
        ("test_fog4x4", boards.BOARDS["openspiel4x4"], False),
    ],
)
def test_moves_equal_fairy_stockfish(variant: str, fen: str, legal: bool, fairy: None) -> None:
    rng = random.Random(2)
    for _ in range(2):
        for position in random_play(boards.position_from_fen(fen), rng, 40, legal):
            if rules.king_square(position, position.side) is None:
                break
            moves = rules.legal_moves(position) if legal else rules.pseudo_legal_moves(position)
            expected = pyffish.legal_moves(variant, boards.fen_of(position), [])
            assert uci_moves(position, moves) == sorted(expected), boards.fen_of(position)


def test_fog_perft_equals_fairy_stockfish(fairy: None) -> None:
    start = boards.position_from_fen(PERFT_FENS[1])
    first = pyffish.legal_moves("test_fog", PERFT_FENS[1], [])
    second = sum(len(pyffish.legal_moves("test_fog", PERFT_FENS[1], [move])) for move in first)
    assert rules.perft(start, 2, legal=False) == second


@given(positions())
def test_both_sides_play_by_the_same_rules(position: rules.Position) -> None:
    other = mirrored(position)
    for generate in (rules.pseudo_legal_moves, rules.legal_moves):
        reflected = [
            rules.Move(
                mirrored_square(m.source, position),
                mirrored_square(m.target, position),
                m.promotion,
            )
            for m in generate(position)
        ]
        assert sorted(reflected) == sorted(generate(other))
    for move in rules.pseudo_legal_moves(position):
        reflected = rules.Move(
            mirrored_square(move.source, position),
            mirrored_square(move.target, position),
            move.promotion,
        )
        after, other_after = rules.apply_move(position, move), rules.apply_move(other, reflected)
        assert rules.repetition_key(mirrored(after)) == rules.repetition_key(other_after)
    for colour in (rules.WHITE, rules.BLACK):
        seen = rules.squares_in(rules.visible_squares(position, colour))
        seen_by_other = rules.squares_in(rules.visible_squares(other, 1 - colour))
        assert sorted(mirrored_square(s, position) for s in seen) == seen_by_other


@given(positions(), st.randoms(use_true_random=False))
def test_fen_of_any_size_reads_back(start: rules.Position, rng: random.Random) -> None:
    for position in random_play(start, rng, 10, legal=False):
        text = boards.fen_of(position)
        assert boards.position_from_fen(text, need_kings=False) == position


@given(positions())
def test_legal_moves_are_the_pseudo_legal_ones_that_keep_the_king(position: rules.Position) -> None:
    # Check is defined by attacks; here by whether the king could be captured.
    def loses_king(move: rules.Move) -> bool:
        after = rules.apply_move(position, move)
        king = rules.king_square(after, position.side)
        return any(reply.target == king for reply in rules.pseudo_legal_moves(after))

    pseudo = rules.pseudo_legal_moves(position)
    captures_king = [
        m
        for m in pseudo
        if position.squares[m.target] == rules.piece(rules.KING, 1 - position.side)
    ]
    expected = [m for m in pseudo if m not in captures_king and not loses_king(m)]
    legal = [m for m in rules.legal_moves(position) if m not in captures_king]
    assert legal == expected


@pytest.mark.parametrize(
    ("board", "counts"),
    [
        ("minimal4x3", [9, 27, 211]),
        ("mate2", [16, 186, 2955]),
        ("demichess", [10, 100, 1062]),
    ],
)
def test_dark_perft_of_named_boards(board: str, counts: list[int]) -> None:
    start = boards.position_of(board)
    assert [rules.perft(start, depth, legal=False) for depth in (1, 2, 3)] == counts


def test_microchess_castles_towards_the_far_rook() -> None:
    position = boards.position_from_fen("k2r/p3/4/3P/R2K w Qk - 0 1")
    assert "d1b1" in uci_moves(position, rules.pseudo_legal_moves(position))
    after = rules.apply_move(position, boards.move_from_uci("d1b1", 4, 5))
    assert boards.fen_of(after) == "k2r/p3/4/3P/1KR1 b k - 1 1"
    after = rules.apply_move(after, boards.move_from_uci("a5c5", 4, 5))
    assert boards.fen_of(after) == "1rk1/p3/4/3P/1KR1 w - - 2 2"


def test_castling_through_attack_is_dark_chess_only() -> None:
    position = boards.position_from_fen("k4r2/8/8/8/8/8/8/4K2R w K - 0 1")
    castling = boards.move_from_uci("e1g1", 8, 8)
    assert castling in rules.pseudo_legal_moves(position)
    assert castling not in rules.legal_moves(position)


@pytest.mark.parametrize("captured", ["h1", "a1"])
def test_a_captured_rook_takes_its_castling_right_along(captured: str) -> None:
    position = boards.position_from_fen("4k3/8/8/8/3bb3/8/8/R3K2R b KQ - 0 1")
    source = "e4" if captured == "h1" else "d4"
    after = rules.apply_move(position, boards.move_from_uci(source + captured, 8, 8))
    assert boards.castling_letters(after.castling) == ("Q" if captured == "h1" else "K")


def test_a_double_step_nobody_can_answer_leaves_no_trace() -> None:
    position = boards.position_from_fen("4k3/p7/7p/1P6/8/8/8/4K3 b - - 0 1")
    stepped = rules.apply_move(position, boards.move_from_uci("a7a5", 8, 8))
    assert boards.fen_of(stepped).split()[3] == "a6"
    quiet = boards.position_from_fen("4k3/p7/7p/2P5/8/8/8/4K3 b - - 0 1")
    stepped = rules.apply_move(quiet, boards.move_from_uci("a7a5", 8, 8))
    assert stepped.en_passant is None


def test_pawns_step_twice_only_on_boards_of_five_ranks_or_more() -> None:
    four = boards.position_from_fen("k3/4/1P2/3K w - - 0 1")
    assert "b2b4" not in "".join(uci_moves(four, rules.pseudo_legal_moves(four)))
    five = boards.position_from_fen("k3/4/4/1P2/3K w - - 0 1")
    assert "b2b4" in uci_moves(five, rules.pseudo_legal_moves(five))


@pytest.mark.parametrize(
    ("fen", "directions"),
    [
        # A bishop behind its own knight gives no check.
        ("4k3/3N4/8/1B6/8/8/8/4K3 b - - 0 1", CheckDirection(0)),
        # Through f8 go a3-f8 with six squares and f8-h6 with three.
        (
            "5k2/3N4/8/8/1B6/8/8/4K3 b - - 0 1",
            CheckDirection.KNIGHT | CheckDirection.LONG_DIAGONAL,
        ),
        ("4k3/8/8/8/8/8/8/K3R3 b - - 0 1", CheckDirection.VERTICAL),
        ("4k2Q/8/8/8/8/8/8/K7 b - - 0 1", CheckDirection.HORIZONTAL),
        # Through d5 go a8-h1 with eight squares and a2-g8 with seven.
        ("8/8/8/3k4/4P3/8/8/K7 b - - 0 1", CheckDirection.LONG_DIAGONAL),
        ("8/8/8/3k4/2P5/8/8/K7 b - - 0 1", CheckDirection.SHORT_DIAGONAL),
        # Both diagonals through the middle of 3x3 have three squares: the rising one is long.
        ("2B/1k1/K2 b - - 0 1", CheckDirection.LONG_DIAGONAL),
        ("B2/1k1/2K b - - 0 1", CheckDirection.SHORT_DIAGONAL),
    ],
)
def test_directions_of_check(fen: str, directions: CheckDirection) -> None:
    assert rules.check_directions(boards.position_from_fen(fen), rules.BLACK) == directions


@pytest.mark.parametrize(
    ("fen", "message"),
    [
        ("8/8/8/8 w - -", "one king of White"),
        ("k7/8/8/8/8/8/8/KK6 w - -", "one king of White"),
        ("k3/4/4/3K", "four or six fields"),
        ("k3/4/4/3K x - -", "w or b"),
        ("k3/5/4/3K w - -", "ranks of equal length"),
        ("kK/2/2 w - -", "3x3 to 8x8"),
        ("kK7/9/9 w - -", "pieces and counts, got '9'"),
        ("k3/4/4/P2K w - -", "no pawn on the first or last rank"),
        ("k3/4/4/3K w K -", "castling right K"),
        ("k3/4/4/3K w Kx -", "castling rights such as KQkq"),
        ("k3/4/4/3K w - a9", "a square of a 4x4 board"),
        ("k7/8/8/8/8/8/8/7K w - e6", "stepped twice over e6"),
        ("k3/4/4/3K w - - x 1", "half-move clock"),
        ("k3/4/4/3K w - - 0 0", "move number from 1"),
    ],
)
def test_bad_fen_is_refused(fen: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        boards.position_from_fen(fen)


def test_unknown_board_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"minimal4x3, mate2.*got 'maximal'"):
        boards.position_of("maximal")


@pytest.mark.parametrize("board", boards.BOARDS)
def test_named_boards_read_back(board: str) -> None:
    assert boards.fen_of(boards.position_of(board)) == boards.BOARDS[board]


@pytest.mark.parametrize("text", ["e2", "e2e9", "i2e4", "e7e8k", "e2e4e5"])
def test_bad_moves_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        boards.move_from_uci(text, 8, 8)
