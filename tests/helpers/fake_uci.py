"""A program of ordinary chess as tests need it: python-chess behind UCI, one ply of material.

    python tests/helpers/fake_uci.py [--silent | --dies | --ponders]

One that ponders answers when it is told to stop, a silent one not even then. It refuses what
no such program could be asked: it ends at positions that are not of ordinary chess, or in
which the game is over.
"""

import sys

import chess

WORTH = {
    chess.PAWN: 100,
    chess.KNIGHT: 300,
    chess.BISHOP: 300,
    chess.ROOK: 500,
    chess.QUEEN: 900,
    chess.KING: 0,
}


def material(board):
    """Of the side to move, in hundredths of a pawn."""
    return sum(
        WORTH[piece.piece_type] * (1 if piece.color == board.turn else -1)
        for piece in board.piece_map().values()
    )


def score(board, move):
    """Text of a score of the mover after a move."""
    board.push(move)
    text = "mate 1" if board.is_checkmate() else f"cp {-material(board)}"
    board.pop()
    return text


def answer(board, lines):
    """Says what the best moves are worth."""
    ranked = [(score(board, m), m.uci()) for m in board.legal_moves]
    ranked.sort(key=lambda pair: (pair[0][0] == "m", int(pair[0].split()[1])), reverse=True)
    for number, (text, move) in enumerate(ranked[:lines], 1):
        print(f"info depth 1 multipv {number} score {text} nodes 1 pv {move}")
    print(f"bestmove {ranked[0][1]}", flush=True)


def main():
    """Obeys until `quit`."""
    board, lines = chess.Board(), 1
    for line in sys.stdin:
        words = line.split()
        if words == ["uci"]:
            print("option name MultiPV type spin default 1 min 1 max 500\nuciok", flush=True)
        elif words == ["isready"]:
            print("readyok", flush=True)
        elif words[:3] == ["setoption", "name", "MultiPV"]:
            lines = int(words[-1])
        elif words == ["stop"] and "--ponders" in sys.argv:
            answer(board, lines)
        elif words[:2] == ["position", "fen"]:
            board = chess.Board(" ".join(words[2:]))
            assert board.is_valid(), board.fen()
            assert any(board.legal_moves), board.fen()
        elif words[:1] == ["go"]:
            if "--silent" in sys.argv or "--ponders" in sys.argv:
                continue
            if "--dies" in sys.argv:
                return
            answer(board, lines)
        elif words == ["quit"]:
            return


if __name__ == "__main__":
    main()
