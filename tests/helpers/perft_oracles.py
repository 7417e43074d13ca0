"""Counts of move sequences by programs that share nothing with this package.

`python -m tests.helpers.perft_oracles` writes tests/data/perft.json anew: python-chess counts
ordinary chess, and dark chess without castling rights (its pseudo-legal castling avoids
attacked squares); pyffish (Fairy-Stockfish) counts both on boards of any size, dark chess
through a variant in which the king is an ordinary piece whose loss ends the game. Both
programs are GPL and used by tests only.
"""

import importlib.metadata
import json

import chess
import pyffish

from tests.helpers.paths import DATA

PATH = DATA / "perft.json"

LEGAL = "legal"
DARK = "dark"

# (program, rules, depth, FEN)
CASES = [
    ("chess", LEGAL, 4, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
    ("chess", LEGAL, 3, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"),
    ("chess", LEGAL, 5, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"),
    ("chess", LEGAL, 4, "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1"),
    ("chess", LEGAL, 3, "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8"),
    ("chess", LEGAL, 4, "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1"),
    ("chess", DARK, 4, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1"),
    ("chess", DARK, 3, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w - - 0 1"),
    ("chess", DARK, 5, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"),
    ("chess", DARK, 3, "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 b - - 0 1"),
    ("pyffish", DARK, 3, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
    ("pyffish", DARK, 3, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"),
    ("pyffish", DARK, 3, "r3k2r/8/8/1q6/6Q1/8/8/R3K2R b KQkq - 0 1"),
    ("pyffish", DARK, 5, "k3/3R/2K1 w - - 0 1"),
    ("pyffish", DARK, 4, "2k2/K3P/5/1r1R1/5 w - - 0 1"),
    ("pyffish", DARK, 4, "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"),
    ("pyffish", DARK, 4, "kbnr/pppp/4/4/4/4/PPPP/KBNR w - - 0 1"),
    ("pyffish", DARK, 4, "2k3/1pp1p1/6/3P2/P4P/2K3 b - - 0 1"),
    ("pyffish", LEGAL, 5, "2k2/K3P/5/1r1R1/5 w - - 0 1"),
    ("pyffish", LEGAL, 4, "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"),
    ("pyffish", LEGAL, 4, "rqkr/pppp/PPPP/RQKR w - - 0 1"),
    ("pyffish", LEGAL, 4, "2k3/1pp1p1/6/3P2/P4P/2K3 b - - 0 1"),
]

_KING_IS_A_PIECE = """
king = -
commoner = k
castlingKingPiece = k
extinctionValue = loss
extinctionPieceTypes = k
"""


def board_size(fen: str) -> tuple[int, int]:
    ranks = fen.split("/")
    ranks[-1] = ranks[-1].split()[0]
    return sum(int(c) if c.isdigit() else 1 for c in ranks[0]), len(ranks)


def python_chess_moves(board: chess.Board, rules: str) -> list[chess.Move]:
    if rules == LEGAL:
        return list(board.legal_moves)
    if board.king(chess.WHITE) is None or board.king(chess.BLACK) is None:
        return []
    return list(board.pseudo_legal_moves)


def python_chess_count(board: chess.Board, rules: str, depth: int) -> int:
    moves = python_chess_moves(board, rules)
    if depth == 1:
        return len(moves)
    total = 0
    for move in moves:
        board.push(move)
        total += python_chess_count(board, rules, depth - 1)
        board.pop()
    return total


def pyffish_variant(fen: str, rules: str) -> str:
    """Name of a variant with the rules and the board size of a FEN, loaded on demand."""
    width, height = board_size(fen)
    name = f"{rules}{width}x{height}"
    if name not in pyffish.variants():
        text = f"[{name}:chess]\nmaxFile = {width}\nmaxRank = {height}\n"
        text += f"promotionRegionWhite = *{height}\npromotionRegionBlack = *1\n"
        text += f"doubleStepRegionWhite = *2\ndoubleStepRegionBlack = *{height - 1}\n"
        text += f"doubleStep = {'true' if height >= 5 else 'false'}\n"
        text += "" if (width, height) == (8, 8) else "castling = false\n"
        # Positions may come up twice or without material: nothing but mate ends a line.
        text += "nFoldRule = 0\nnMoveRule = 0\n"
        pyffish.load_variant_config(text + (_KING_IS_A_PIECE if rules == DARK else ""))
    return name


def pyffish_moves(fen: str, rules: str, line: list[str]) -> list[str]:
    variant = pyffish_variant(fen, rules)
    if rules == DARK and pyffish.is_immediate_game_end(variant, fen, line)[0]:
        return []
    return list(pyffish.legal_moves(variant, fen, line))


def pyffish_count(fen: str, rules: str, depth: int, line: list[str] | None = None) -> int:
    line = line or []
    moves = pyffish_moves(fen, rules, line)
    if depth == 1:
        return len(moves)
    return sum(pyffish_count(fen, rules, depth - 1, [*line, move]) for move in moves)


def count(program: str, fen: str, rules: str, depth: int) -> int:
    """Number of move sequences of `depth` plies by an independent program."""
    if program == "chess":
        return python_chess_count(chess.Board(fen), rules, depth)
    return pyffish_count(fen, rules, depth)


def main() -> None:
    rows = []
    for program, rules, depth, fen in CASES:
        counts = [count(program, fen, rules, plies) for plies in range(1, depth + 1)]
        rows.append({"program": program, "rules": rules, "fen": fen, "counts": counts})
    programs = {name: importlib.metadata.version(name) for name in ("chess", "pyffish")}
    how = "Number of move sequences of 1, 2, ... plies, written by tests/perft_oracles.py"
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    PATH.write_text(
        f'{{"how": "{how}",\n "programs": {json.dumps(programs)},\n "rows": [\n  {lines}\n ]}}\n'
    )


if __name__ == "__main__":
    main()
