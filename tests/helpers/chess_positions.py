"""Positions and random play shared by the tests of the chess games."""

import random
from collections.abc import Iterator

from hypothesis import strategies as st

from klss_spiel.games.chess import boards, rules

# The usual perft positions: castling, en passant, promotion, pins, discovered checks.
PERFT_FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
)


def random_play(
    start: rules.Position, rng: random.Random, plies: int, legal: bool
) -> Iterator[rules.Position]:
    """Positions of a random game, the start included."""
    position = start
    yield position
    for _ in range(plies):
        moves = rules.legal_moves(position) if legal else rules.pseudo_legal_moves(position)
        if not moves:
            return
        position = rules.apply_move(position, rng.choice(moves))
        yield position


@st.composite
def positions(draw: st.DrawFn) -> rules.Position:
    """Random positions of random board sizes, both kings present, no castling."""
    width = draw(st.integers(rules.MIN_SIDE, rules.MAX_SIDE))
    height = draw(st.integers(rules.MIN_SIDE, rules.MAX_SIDE))
    squares = bytearray(width * height)
    places = draw(st.permutations(range(width * height)))
    squares[places[0]] = rules.piece(rules.KING, rules.WHITE)
    squares[places[1]] = rules.piece(rules.KING, rules.BLACK)
    for place in places[2 : 2 + draw(st.integers(0, min(len(places) - 2, 16)))]:
        on_edge_rank = place // width in (0, height - 1)
        lowest = rules.KNIGHT if on_edge_rank else rules.PAWN
        kind = draw(st.integers(lowest, rules.QUEEN))
        squares[place] = rules.piece(kind, draw(st.sampled_from([rules.WHITE, rules.BLACK])))
    side = draw(st.sampled_from([rules.WHITE, rules.BLACK]))
    return rules.Position(width, height, bytes(squares), side, rules.NO_CASTLING, None, 0, 1)


def mirrored(position: rules.Position) -> rules.Position:
    """The same position seen from the other side: colours swapped, ranks reversed."""
    width, height = position.width, position.height
    swapped = bytes(code ^ rules.BLACK_OFFSET if code else rules.EMPTY for code in position.squares)
    ranks = [swapped[rank * width : (rank + 1) * width] for rank in range(height)]
    en_passant = position.en_passant
    return position._replace(
        squares=b"".join(reversed(ranks)),
        side=1 - position.side,
        castling=(position.castling >> 2) | (position.castling & 3) << 2,
        en_passant=None if en_passant is None else mirrored_square(en_passant, position),
    )


def mirrored_square(square: int, position: rules.Position) -> int:
    """The square on the reversed board."""
    rank, file = divmod(square, position.width)
    return (position.height - 1 - rank) * position.width + file


def uci_moves(position: rules.Position, moves: list[rules.Move]) -> list[str]:
    """Sorted UCI texts."""
    return sorted(boards.move_to_uci(move, position.width) for move in moves)
