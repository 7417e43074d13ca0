"""Random chess positions of any board size, with castling and en passant in them."""

import random

from klss_spiel.games.chess import boards, rules

SIZES = [(3, 3), (4, 3), (3, 8), (5, 5), (8, 3), (6, 5), (4, 8), (7, 6), (8, 8)]


def random_placement(rng: random.Random, width: int, height: int) -> rules.Position:
    """Kings and some pieces anywhere; castling rights where king and rook stand right."""
    squares = bytearray(width * height)
    free = list(range(width * height))
    rng.shuffle(free)
    home = [0, width - 1, width * (height - 1), width * height - 1]
    for colour in (rules.WHITE, rules.BLACK):
        back = range(width) if colour == rules.WHITE else range(width * (height - 1), len(squares))
        spots = [s for s in free if s in back and s not in home] if rng.random() < 0.5 else free
        square = rng.choice(spots or free)
        squares[square] = rules.piece(rules.KING, colour)
        free.remove(square)
    if rng.random() < 0.4:  # room for castling
        free = [s for s in free if s in home or s // width not in (0, height - 1)]
    for square in free[: rng.randrange(len(free) + 1)]:
        on_edge = square // width in (0, height - 1)
        kind = rng.choice((2, 3, 4, 5) if on_edge else (1, 1, 1, 2, 3, 4, 5))
        if square in home and rng.random() < 0.7:
            squares[square] = rules.piece(rules.ROOK, int(square >= 2 * width))
        else:
            squares[square] = rules.piece(kind, rng.randrange(2))
    placed = rules.Position(
        width, height, bytes(squares), rng.randrange(2), rules.NO_CASTLING, None, 0, 1
    )
    text = boards.fen_of(placed).split()
    rights = rules.NO_CASTLING
    for letter in "KQkq":
        text[2] = letter
        try:
            rights |= boards.position_from_fen(" ".join(text)).castling
        except ValueError:
            continue
    return placed._replace(castling=rights & rng.choice((15, 15, rng.randrange(16))))


def random_position(rng: random.Random, width: int, height: int) -> rules.Position:
    """A random placement a few random moves later, en passant possible where it can be."""
    position = random_placement(rng, width, height)
    for _ in range(rng.randrange(4)):
        moves = rules.pseudo_legal_moves(position)
        if not moves:
            break
        after = [rules.apply_move(position, m) for m in moves if is_double_step(position, m)]
        passing = [p for p in after if p.en_passant is not None]
        if passing:
            return rng.choice(passing)
        position = rules.apply_move(position, rng.choice(moves))
    return position


def is_double_step(position: rules.Position, move: rules.Move) -> bool:
    """Whether a pawn steps twice."""
    is_pawn = rules.kind_of(position.squares[move.source]) == rules.PAWN
    return is_pawn and abs(move.target - move.source) == 2 * position.width


def random_game(rng: random.Random, start: rules.Position, plies: int) -> list[rules.Move]:
    """Moves of a random game of dark chess in which only the last may capture a king."""
    moves: list[rules.Move] = []
    position = start
    while len(moves) < plies and (choices := rules.pseudo_legal_moves(position)):
        fatal = [m for m in choices if rules.kind_of(position.squares[m.target]) == rules.KING]
        if fatal and (len(moves) >= plies - 2 or len(fatal) == len(choices)):
            return [*moves, fatal[0]]
        moves.append(rng.choice([m for m in choices if m not in fatal]))
        position = rules.apply_move(position, moves[-1])
    return moves
