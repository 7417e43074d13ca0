"""Compiled chess against the readable rules and against independent programs."""

import json
import pathlib
import random
import subprocess
import sys

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from klss_spiel import kernels as package_kernels
from klss_spiel.games.chess import actions as chess_actions
from klss_spiel.games.chess import boards, observation, rules
from klss_spiel.games.chess.dark_chess_play import RULES
from klss_spiel.games.chess.evaluators import handmade_kernels as feature_kernels
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kernels import bits as bits_kernels
from klss_spiel.games.chess.packed.kernels import moves
from klss_spiel.games.chess.packed.transition import Transition
from tests.helpers import perft_oracles, random_chess
from tests.helpers.paths import ROOT

_PERFT = json.loads(perft_oracles.PATH.read_text())
_COLOURS = (rules.WHITE, rules.BLACK)


def _cells(board: packed.Layout, squares: int) -> int:
    """Bit set of cells of a bit set of squares."""
    return sum(1 << int(board.cell_of[s]) for s in rules.squares_in(squares))


def _told(position: rules.Position, colour: int) -> str:
    """What a player of dark chess sees, in words."""
    return " ".join(
        (
            observation.board_text(position, rules.visible_squares(position, colour)),
            observation.own_castling_text(position, colour),
            observation.own_en_passant_text(position, colour),
        )
    )


def _without_clocks(position: rules.Position) -> rules.Position:
    return position._replace(halfmove_clock=0, fullmove_number=1)


def _check_moves(position: rules.Position, board: packed.Layout) -> int:
    """Compares moves and successors of one position; returns the number of successors."""
    words = packed.pack([position])
    expected = rules.pseudo_legal_moves(position)
    starts, moves, children = packed.successors(board, words, position.side)
    assert starts.tolist() == [0, len(expected)]
    by_move = {
        packed.unpack_move(board, m): child for m, child in zip(moves, children, strict=True)
    }
    assert by_move.keys() == set(expected), boards.fen_of(position)
    after = packed.pack([rules.apply_move(position, move) for move in expected])
    for move, child in zip(expected, after, strict=True):
        assert (by_move[move] == child).all(), (boards.fen_of(position), move)
        assert packed.unpack_move(board, packed.pack_move(board, move)) == move
    legal = {m for m in expected if rules.is_legal(position, m)}
    _, moves = packed.moves(board, words, position.side, legal=True)
    assert {packed.unpack_move(board, m) for m in moves} == legal, boards.fen_of(position)
    assert len(moves) == len(legal)
    return len(expected)


def _check_views(positions: list[rules.Position], board: packed.Layout) -> None:
    """Compares what both players see in positions of one board."""
    words = packed.pack(positions)
    sides = [p.side for p in positions]
    keys = packed.observation_keys(board, words, sides)
    for viewer in _COLOURS:
        cells = packed.visible_cells(board, words, sides, viewer)
        seen = packed.observations(board, words, sides, viewer)
        texts = [_told(position, viewer) for position in positions]
        for i, position in enumerate(positions):
            expected = _cells(board, rules.visible_squares(position, viewer))
            assert int(cells[i]) == expected, boards.fen_of(position)
            words_told = packed.observation_from_text(board, viewer, texts[i])
            assert (seen[i] == words_told).all(), (boards.fen_of(position), viewer)
        # Keys tell apart exactly what the texts tell apart.
        assert len(set(zip(texts, keys[:, viewer].tolist(), strict=True))) == len(set(texts))
        assert len(set(keys[:, viewer].tolist())) == len(set(texts))


@hypothesis.given(st.integers(0, 2**32), st.sampled_from(random_chess.SIZES))
def test_moves_successors_and_views_are_those_of_the_rules(seed, size):
    rng = random.Random(seed)
    board = packed.layout(*size)
    positions = [random_chess.random_position(rng, *size) for _ in range(4)]
    for position in positions:
        _check_moves(position, board)
    _check_views(positions, board)


def test_a_pawn_that_uncovers_its_king_by_en_passant_may_not_capture():
    """It stands on no line with the king, as the pawn that would be captured is between."""
    position = boards.position_from_fen("8/8/8/8/k2Pp2R/8/8/4K3 b - d3 0 1")
    _check_moves(position, packed.layout(8, 8))
    capture = boards.move_from_uci("e4d3", 8, 8)
    assert capture in rules.pseudo_legal_moves(position)
    assert not rules.is_legal(position, capture)


@hypothesis.given(st.integers(0, 2**32), st.sampled_from(random_chess.SIZES))
def test_packing_keeps_everything_but_the_clocks(seed, size):
    rng = random.Random(seed)
    positions = [random_chess.random_position(rng, *size) for _ in range(20)]
    words = packed.pack(positions)
    assert words.nbytes == 32 * len(positions)
    sides = [p.side for p in positions]
    unpacked = packed.unpack(packed.layout(*size), words, sides)
    assert unpacked == [_without_clocks(p) for p in positions]


def test_random_positions_have_castling_en_passant_and_promotion_in_them():
    rng = random.Random(1)
    positions = [random_chess.random_position(rng, 8, 8) for _ in range(300)]
    positions += [random_chess.random_position(rng, 5, 5) for _ in range(300)]
    moves = [(p, m) for p in positions for m in rules.pseudo_legal_moves(p)]
    assert sum(rules.is_castling(p, m) for p, m in moves) > 30
    assert sum(m.promotion != rules.NO_PROMOTION for _, m in moves) > 100
    en_passant = [p for p, m in moves if m.target == p.en_passant]
    assert len(en_passant) > 10
    assert {p.width for p in en_passant} == {5, 8}


def _random_run(seed: int, enough: int) -> int:
    """Compares random positions until `enough` successors are compared."""
    rng = random.Random(seed)
    total = 0
    while total < enough:
        size = rng.choice(random_chess.SIZES)
        board = packed.layout(*size)
        positions = [random_chess.random_position(rng, *size) for _ in range(50)]
        total += sum(_check_moves(position, board) for position in positions)
        _check_views(positions, board)
    return total


def test_twenty_thousand_random_successors_are_those_of_the_rules():
    assert _random_run(seed=2, enough=20_000) >= 20_000


@pytest.mark.slow
def test_three_million_random_successors_are_those_of_the_rules():
    assert _random_run(seed=3, enough=3_000_000) >= 3_000_000


def test_games_from_the_standard_start_agree_with_the_rules():
    rng = random.Random(4)
    board = packed.layout(8, 8)
    for _ in range(3):
        position = boards.position_of("standard")
        positions = [position]
        for move in random_chess.random_game(rng, position, 60):
            _check_moves(position, board)
            position = rules.apply_move(position, move)
            positions.append(position)
        _check_views(positions, board)


@pytest.mark.parametrize("row", _PERFT["rows"], ids=lambda row: f"{row['rules']} {row['fen']}")
def test_perft_agrees_with_independent_programs(row):
    position = boards.position_from_fen(row["fen"])
    board = packed.layout(position.width, position.height)
    (words,) = packed.pack([position])
    legal = row["rules"] == perft_oracles.LEGAL
    counts = [
        packed.perft(board, words, position.side, depth, legal)
        for depth in range(1, len(row["counts"]) + 1)
    ]
    assert counts == row["counts"]


def test_perft_goldens_are_what_the_programs_count_now():
    for row in _PERFT["rows"]:
        assert (
            perft_oracles.count(row["program"], row["fen"], row["rules"], 2) == row["counts"][1]
        ), row["fen"]


def test_perft_of_the_reference_is_the_same():
    for row in _PERFT["rows"]:
        legal = row["rules"] == perft_oracles.LEGAL
        position = boards.position_from_fen(row["fen"])
        assert rules.perft(position, 2, legal) == row["counts"][1]


def _expected_features(position: rules.Position, colour: int) -> dict[str, int]:
    """Features counted with the readable rules."""
    values = dict(zip(range(1, 6), feature_kernels.PIECE_VALUES, strict=True)) | {rules.KING: 0}
    squares = range(len(position.squares))
    own = [s for s in squares if rules.is_own(position.squares[s], colour)]
    kinds = [rules.kind_of(position.squares[s]) for s in own]
    quiet = position._replace(castling=rules.NO_CASTLING, en_passant=None)
    attacked = [s for s in squares if rules.attackers(position, s, colour)]
    danger = [s for s in squares if rules.attackers(position, s, 1 - colour)]
    pawns = [s for s in own if rules.kind_of(position.squares[s]) == rules.PAWN]
    foreign = [s for s in squares if position.squares[s] == rules.piece(rules.PAWN, 1 - colour)]
    width, height = position.width, position.height
    king = rules.king_square(position, colour)
    around = rules.geometry(width, height).king[king] if king is not None else ()

    def rank(square: int) -> int:
        return height - 1 - square // width if colour else square // width

    def is_passed(pawn: int) -> bool:
        near = [s for s in foreign if abs(s % width - pawn % width) <= 1]
        return all(rank(s) <= rank(pawn) for s in near)

    def value(where: list[int]) -> int:
        return sum(values[rules.kind_of(position.squares[s])] for s in where)

    hit = [s for s in own if s in danger]
    return {
        **dict(zip(feature_kernels.FEATURES, (kinds.count(k) for k in range(1, 7)), strict=False)),
        "mobility": len({(m.source, m.target) for m in rules.moves_of(quiet, colour)}),
        "attacked_cells": len(attacked),
        "advance": sum(rank(s) - 1 for s in pawns),
        "passed_pawns": sum(map(is_passed, pawns)),
        "attacked_value": value(hit),
        "hanging_value": value([s for s in hit if s not in attacked]),
        "king_attacked": int(king in danger),
        "king_zone": sum(s in danger for s in around),
    }


@hypothesis.given(st.integers(0, 2**32), st.sampled_from(random_chess.SIZES))
def test_features_count_what_they_say(seed, size):
    position = random_chess.random_position(random.Random(seed), *size)
    board = packed.layout(*size)
    counts = packed.features(board, packed.pack([position]), position.side)
    for colour in _COLOURS:
        found = dict(zip(feature_kernels.FEATURES, counts[0, colour].tolist(), strict=True))
        assert found == _expected_features(position, colour), boards.fen_of(position)


def _flip(position: rules.Position) -> rules.Position:
    """The same position with colours and ranks exchanged (no castling, no en passant)."""
    ranks = [
        position.squares[i : i + position.width]
        for i in range(0, len(position.squares), position.width)
    ]
    squares = b"".join(bytes(c ^ 8 if c else c for c in rank) for rank in reversed(ranks))
    return position._replace(
        squares=squares, side=1 - position.side, castling=rules.NO_CASTLING, en_passant=None
    )


@hypothesis.given(st.integers(0, 2**32), st.sampled_from(random_chess.SIZES))
def test_evaluation_knows_no_colour_and_sees_captures_of_the_king(seed, size):
    position = random_chess.random_position(random.Random(seed), *size)
    position = position._replace(castling=rules.NO_CASTLING, en_passant=None)
    board = packed.layout(*size)
    mirrored = _flip(position)
    sides = [position.side, mirrored.side]
    value, opposite = packed.evaluate(board, packed.pack([position, mirrored]), sides)
    assert value == pytest.approx(-opposite, abs=1e-6)
    takes_king = rules.in_check(position, 1 - position.side)
    both = all(rules.king_square(position, colour) is not None for colour in _COLOURS)
    if both and takes_king:
        assert value == (1.0 if position.side == rules.WHITE else -1.0)
    elif both:
        assert abs(value) <= 1.0


@pytest.mark.parametrize("size", random_chess.SIZES)
def test_moves_have_the_action_numbers_of_the_games(size):
    board = packed.layout(*size)
    table = chess_actions.action_table(*size)
    numbers = packed.action_numbers(board)
    assert [numbers[packed.pack_move(board, move)] for move in table.moves] == list(
        range(len(table.moves))
    )
    assert (numbers >= 0).sum() == len(table.moves)


def test_more_material_is_worth_more():
    fens = [
        "4k3/8/8/8/8/8/4P3/4K3 w - -",
        "4k3/8/8/8/8/8/8/R3K3 w - -",
        "4k3/8/8/8/8/8/8/Q3K3 w - -",
    ]
    words = packed.pack([boards.position_from_fen(fen) for fen in fens])
    values = packed.evaluate(packed.layout(8, 8), words, rules.WHITE)
    assert (np.diff(values) > 0).all()
    assert values[0] > 0


@hypothesis.given(st.integers(0, 2**32), st.sampled_from(random_chess.SIZES))
def test_successors_tell_a_search_all_it_needs(seed, size):
    rng = random.Random(seed)
    board = packed.layout(*size)
    positions = [random_chess.random_position(rng, *size) for _ in range(3)]
    sides = [p.side for p in positions]
    grown = Transition(board).successors(packed.pack(positions), sides)
    numbers = chess_actions.action_table(*size).numbers
    for i, position in enumerate(positions):
        here = slice(grown.moves.starts[i], grown.moves.starts[i + 1])
        moves = [packed.unpack_move(board, m) for m in grown.moves.words[here]]
        actions = grown.moves.actions[here].tolist()
        assert actions == sorted(numbers[m] for m in rules.pseudo_legal_moves(position))
        assert actions == [numbers[m] for m in moves]
        children = [rules.apply_move(position, move) for move in moves]
        assert (grown.positions[here] == packed.pack(children)).all()
        assert (grown.sides[here] == 1 - position.side).all()
        assert (
            grown.keys[here]
            == packed.observation_keys(board, grown.positions[here], 1 - position.side)
        ).all()
        over = [not rules.pseudo_legal_moves(child) for child in children]
        assert grown.over[here].tolist() == over
        quiet = position._replace(halfmove_clock=0)
        assert grown.clock[here].tolist() == [
            rules.apply_move(quiet, move).halfmove_clock for move in moves
        ]
        win = 1.0 if position.side == rules.WHITE else -1.0
        assert grown.utility[here].tolist() == [win if ended else 0.0 for ended in over]


@pytest.mark.parametrize(("variant", "utility"), [("paper", -1.0), ("no_move_draws", 0.0)])
def test_a_side_without_moves_loses_or_draws(variant, utility):
    # White is locked in; Black passes with the king.
    position = boards.position_from_fen("6k1/8/8/8/1p6/pPp5/PRP5/KB6 b - -")
    board = packed.layout(8, 8)
    step = Transition(board, RULES[variant])
    grown = step.successors(packed.pack([position]), position.side)
    passes = grown.moves.actions == chess_actions.action_table(8, 8).names.index("g8h8")
    assert grown.over[passes].tolist() == [True]
    assert grown.utility[passes].tolist() == [utility]


def test_fifty_moves_and_the_horizon_end_the_game():
    position = boards.position_from_fen("4k3/7p/8/8/8/8/8/4K3 b - -")
    step = Transition(packed.layout(8, 8), horizon=30)
    words = packed.pack([position])
    names = np.array(chess_actions.action_table(8, 8).names)
    grown = step.successors(words, rules.BLACK, plies=7, clock=99)
    moved = names[grown.moves.actions[grown.over]]
    assert set(moved) == {"e8d8", "e8f8", "e8d7", "e8e7", "e8f7"}
    assert (grown.plies == 8).all()
    assert step.successors(words, rules.BLACK, plies=29).over.all()
    assert not step.successors(words, rules.BLACK, plies=28).over.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: packed.moves(b, np.zeros((2, 3), np.uint64), 0), r"\[n, 4\]"),
        (lambda b: packed.moves(b, np.zeros((2, 4), np.int64), 0), "uint64"),
        (lambda b: packed.moves(b, np.zeros((2, 4), np.uint64), 2), "sides 0 or 1"),
        (lambda b: packed.perft(b, np.zeros(4, np.uint64), 0, -1), "depth"),
        (lambda b: packed.observation_from_text(b, 0, "..../...."), "8x8"),
        (lambda b: packed.layout(9, 8), "9 files"),
    ],
)
def test_wrong_arguments_are_refused_with_the_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call(packed.layout(8, 8))


def test_a_change_of_any_kernel_module_makes_all_compile_anew(tmp_path):
    # A caller in another module must not keep running the code it was compiled with.
    copied = [package_kernels.__file__, *pathlib.Path(moves.__file__).parent.glob("*.py")]
    for path in map(pathlib.Path, copied):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    script = """
import numpy as np
from klss_spiel.games.chess.packed.kernels import observations as kernels
print(kernels.hash_words(*np.arange(5, dtype=np.uint64)), kernels.__file__)
"""

    def run() -> str:
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=tmp_path)
        assert str(tmp_path) in done.stdout
        return done.stdout

    before = run()
    assert run() == before
    bits = tmp_path / pathlib.Path(bits_kernels.__file__).relative_to(ROOT)
    text = bits.read_text()
    assert "builder.xor(high" in text
    bits.write_text(text.replace("builder.xor(high", "builder.or_(high"))
    assert run() != before


def test_positions_of_different_boards_cannot_be_packed_together():
    with pytest.raises(ValueError, match="one board size"):
        packed.pack([boards.position_of("standard"), boards.position_of("minimal4x3")])
