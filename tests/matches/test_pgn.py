"""Records as PGN, read back by python-chess."""

import io
import random

import chess
import chess.pgn
import pytest

from klss_spiel.games.chess import boards
from klss_spiel.matches.match import Match, play_match
from klss_spiel.matches.openings import games_of_openings
from klss_spiel.matches.pgn import pgn_of, san


@pytest.mark.parametrize("seed", range(10))
def test_san_is_read_by_python_chess(seed):
    rng = random.Random(seed)
    board = chess.Board()
    for _ in range(120):
        if board.is_game_over():
            break
        move = rng.choice(list(board.legal_moves))
        position = boards.position_from_fen(board.fen(en_passant="fen"))
        text = san(position, boards.move_from_uci(move.uci(), 8, 8), legal=True)
        assert board.parse_san(text) == move
        # python-chess adds marks of check and nothing else.
        assert board.san(move).rstrip("+#") == text
        board.push(move)


def test_a_match_of_kriegspiel_is_a_pgn_that_python_chess_replays():
    results = play_match(Match("python_kriegspiel(horizon=60)", ("random", "random"), games=2))
    for row in results.rows:
        text = pgn_of(row)
        assert '[Variant "Kriegspiel"]' in text
        # Its moves are those of chess, which is all that python-chess knows.
        game = chess.pgn.read_game(io.StringIO(text.replace("Kriegspiel", "Standard")))
        assert game.errors == []
        assert game.headers["PlyCount"] == str(len(list(game.mainline_moves())))
        assert game.headers["UCI"] == row["moves"]


def test_tags_are_in_the_words_of_pgn():
    match = Match("python_dark_chess(horizon=2)", ("random", "random"), games=2, control="3+2")
    text = pgn_of(play_match(match).rows[0])
    assert '[TimeControl "180+2"]' in text
    assert '[Termination "normal"]' in text
    row = {**play_match(match).rows[0], "termination": "time", "reason": "1.000 s over"}
    assert '[Termination "time forfeit"]' in pgn_of(row)
    assert "{1.000 s over}" in pgn_of(row)


def test_a_game_that_was_resigned_ended_normally_in_the_words_of_pgn():
    game = "python_dark_chess(board=minimal4x3)"
    row = {**play_match(Match(game, ("random", "random"), games=2)).rows[0]}
    assert '[Termination "normal"]' in pgn_of({**row, "termination": "resigned"})


def test_games_that_are_not_chess_are_refused():
    (row, _) = play_match(Match("kuhn_poker", ("random", "random"), games=2)).rows
    with pytest.raises(ValueError, match="python_dark_chess"):
        pgn_of(row)


def test_openings_become_starting_positions_that_both_know():
    game = "python_dark_chess(horizon=8)"
    after, fen = games_of_openings(game, ["e2e4 d7d5", "", "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1"])
    # The en-passant square is left out: no pawn could use it.
    assert "rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2" in after
    assert "horizon=8" in after
    match = Match(game, ("random", "random"), games=4, openings=(after, fen))
    rows = play_match(match).rows
    assert [row["game"] for row in rows] == [after, after, fen, fen]
    assert rows[0]["moves"] == rows[1]["moves"]
    for bad in ("e2e5", "8/8/8 w", "kuhn"):
        with pytest.raises(ValueError, match="expected"):
            games_of_openings(game, [bad])
    with pytest.raises(ValueError, match="chess game"):
        games_of_openings("kuhn_poker", ["e2e4"])
