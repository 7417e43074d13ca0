"""Arrays of packed chess positions: millions of moves, views and values per second.

The compiled side of `rules`: the same rules on boards of any size up to 8x8, for
many positions at a time. Shapes: n positions are [n, 4] uint64 (32 bytes each; what the
words mean is told in `kernels.moves`), side to move [n] or one number for all, moves
uint16 (`pack_move`). Clocks, repetitions and move numbers are not part of a packed
position (`packed.transition` counts them).

    board = layout(8, 8)
    packed = pack([chess_boards.position_of("standard")])
    starts, moves, children = successors(board, packed, WHITE)

Importing this module imports numba; the package itself does not import it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import observation, rules
from klss_spiel.games.chess.actions import action_table
from klss_spiel.games.chess.evaluators import handmade_kernels as feature_kernels
from klss_spiel.games.chess.packed.kernels import batches as kernels
from klss_spiel.games.chess.packed.kernels import observations as observation_kernels
from klss_spiel.games.chess.packed.kernels.bits import BOARD_FILES
from klss_spiel.games.chess.packed.kernels.moves import PUBLIC_BITS

MoveArray = npt.NDArray[np.uint16]
SideArray = npt.NDArray[np.uint8]
Sides = int | npt.ArrayLike

_WORDS: Final = 4
_CELLS: Final = BOARD_FILES * BOARD_FILES
_OBSERVATION_WORDS: Final = 5

# Codes that `rules` does not use.
CASTLING_ROOK: Final = (7, 15)  # by colour
PASSING_PAWN: Final = 8


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """A board size; made by `layout`.

    Attributes:
        width: files.
        height: ranks.
        masks: [5] what kernels need to know (`kernels.moves`).
        cell_of: [width * height] cell of each square of `rules`.
        square_of: [64] square of each cell; those off the board are 0.
    """

    width: int
    height: int
    masks: U64Array
    cell_of: npt.NDArray[np.int64]
    square_of: npt.NDArray[np.int64]


@functools.cache
def layout(width: int, height: int) -> Layout:
    """The layout of a board with `width` files and `height` ranks."""
    rules.geometry(width, height)  # refuses impossible sizes
    row = (1 << width) - 1
    ranks = [row << BOARD_FILES * rank for rank in range(height)]
    doubles = (ranks[1], ranks[-2]) if rules.has_double_step(height) else (0, 0)
    squares = np.arange(width * height)
    cell_of = squares // width * BOARD_FILES + squares % width
    square_of = np.zeros(_CELLS, dtype=np.int64)
    square_of[cell_of] = squares
    masks = np.array([sum(ranks), *doubles, ranks[-1], ranks[0]], dtype=np.uint64)
    return Layout(width, height, masks, cell_of, square_of)


def pack_move(board: Layout, move: rules.Move) -> int:
    """The word of a move."""
    source, target = board.cell_of[move.source], board.cell_of[move.target]
    return int(source | target << 6 | move.promotion << 12)


def unpack_move(board: Layout, word: int) -> rules.Move:
    """The move of a word."""
    word = int(word)
    source, target = board.square_of[word & 63], board.square_of[word >> 6 & 63]
    return rules.Move(int(source), int(target), word >> 12 & 7)


@functools.cache
def action_numbers(board: Layout) -> npt.NDArray[np.int32]:
    """[2^15] number in `actions` of each move word; -1 for what is no move."""
    numbers = np.full(1 << 15, -1, dtype=np.int32)
    for action, move in enumerate(action_table(board.width, board.height).moves):
        numbers[pack_move(board, move)] = action
    numbers.flags.writeable = False
    return numbers


@functools.cache
def move_words(board: Layout) -> MoveArray:
    """[actions] move word of each action number of `actions`."""
    table = action_table(board.width, board.height)
    words = np.array([pack_move(board, move) for move in table.moves], dtype=np.uint16)
    words.flags.writeable = False
    return words


def _pack_codes(codes: npt.NDArray[np.uint8], board: Layout) -> U64Array:
    """[n, 4] words of [n, width * height] codes."""
    cells = np.zeros((len(codes), _CELLS), dtype=np.uint8)
    cells[:, board.cell_of] = codes
    planes = cells[:, None, :] >> np.arange(_WORDS, dtype=np.uint8)[:, None] & 1
    packed = np.packbits(planes, axis=2, bitorder="little")
    return packed.view(np.uint64).reshape(len(codes), _WORDS)


def codes_of(board: Layout, positions: U64Array) -> npt.NDArray[np.uint8]:
    """[n, width * height] codes of the squares, those of castling and en passant included."""
    words = np.ascontiguousarray(checked(positions))
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    planes = bits.reshape(len(words), _WORDS, _CELLS)[:, :, board.cell_of]
    weights = np.array([1, 2, 4, 8], dtype=np.uint8)
    codes: npt.NDArray[np.uint8] = (planes * weights[:, None]).sum(axis=1, dtype=np.uint8)
    return codes


def pack(positions: Sequence[rules.Position]) -> U64Array:
    """[n, 4] words of positions, all of one board size. Clocks are left out."""
    if not positions:
        return np.empty((0, _WORDS), dtype=np.uint64)
    width, height = positions[0].width, positions[0].height
    if any((p.width, p.height) != (width, height) for p in positions):
        raise ValueError(f"expected positions of one board size, {width}x{height} and others came")
    table = rules.geometry(width, height)
    codes = np.frombuffer(b"".join(p.squares for p in positions), dtype=np.uint8)
    codes = codes.reshape(len(positions), -1).copy()
    for i, position in enumerate(positions):
        if position.castling:
            for right, corner in table.corners.items():
                if position.castling & right:
                    codes[i, corner] = CASTLING_ROOK[right >= rules.BLACK_LAST_FILE]
        victim = rules.en_passant_victim(position)
        if victim is not None:
            codes[i, victim] = PASSING_PAWN
    return _pack_codes(codes, layout(width, height))


def unpack(board: Layout, positions: U64Array, side: Sides) -> list[rules.Position]:
    """Positions of [n, 4] words; clocks are new (0 plies, move 1)."""
    sides = side_array(side, len(positions))
    corners = rules.geometry(board.width, board.height).corners
    unpacked = []
    for codes, mover in zip(codes_of(board, positions), sides.tolist(), strict=True):
        castling, en_passant = rules.NO_CASTLING, None
        for right, corner in corners.items():
            if codes[corner] == CASTLING_ROOK[right >= rules.BLACK_LAST_FILE]:
                castling |= right
        victims = np.flatnonzero(codes == PASSING_PAWN)
        if len(victims):
            forward = board.width if mover == rules.WHITE else -board.width
            en_passant = int(victims[0]) + forward
        for colour in (rules.WHITE, rules.BLACK):
            codes[codes == CASTLING_ROOK[colour]] = rules.piece(rules.ROOK, colour)
        codes[victims] = rules.piece(rules.PAWN, 1 - mover)
        unpacked.append(
            rules.Position(
                board.width, board.height, codes.tobytes(), mover, castling, en_passant, 0, 1
            )
        )
    return unpacked


def checked(positions: U64Array) -> U64Array:
    """The positions [n, 4], contiguous; ValueError if they are not packed positions."""
    if positions.dtype != np.uint64 or positions.ndim != 2 or positions.shape[1] != _WORDS:
        raise ValueError(
            f"expected packed positions [n, {_WORDS}] of uint64, "
            f"got {list(positions.shape)} of {positions.dtype}"
        )
    return np.ascontiguousarray(positions)


def side_array(side: Sides, n: int) -> SideArray:
    """[n] side to move of each position."""
    sides = np.asarray(side)
    if not ((sides == rules.WHITE) | (sides == rules.BLACK)).all():
        raise ValueError(f"expected sides {rules.WHITE} or {rules.BLACK}, got {side!r}")
    return np.ascontiguousarray(np.broadcast_to(sides, (n,)), dtype=np.uint8)


def moves(
    board: Layout, positions: U64Array, side: Sides, legal: bool = False
) -> tuple[npt.NDArray[np.int64], MoveArray]:
    """Moves of many positions.

    Args:
        board: which board.
        positions: [n, 4].
        side: to move.
        legal: those of ordinary chess (and Kriegspiel); else those of dark chess.

    Returns:
        starts: [n + 1] the moves of position i are at starts[i]:starts[i + 1].
        words: [m] moves.
    """
    words = checked(positions)
    starts, full = kernels.generate_all(
        words, side_array(side, len(words)), board.masks, legal, False
    )
    return starts, (full & PUBLIC_BITS).astype(np.uint16)


def successors(
    board: Layout, positions: U64Array, side: Sides, legal: bool = False
) -> tuple[npt.NDArray[np.int64], MoveArray, U64Array]:
    """Like `moves`, and the position after each: [m, 4]."""
    words, sides = checked(positions), side_array(side, len(positions))
    starts, full = kernels.generate_all(words, sides, board.masks, legal, False)
    children = kernels.apply_all(words, sides, starts, full)
    return starts, (full & PUBLIC_BITS).astype(np.uint16), children


def perft(board: Layout, position: U64Array, side: int, depth: int, legal: bool = True) -> int:
    """Number of move sequences of `depth` plies from one position ([4])."""
    if depth < 0:
        raise ValueError(f"expected a depth of 0 or more plies, got {depth}")
    (word,) = checked(np.atleast_2d(position))
    return int(kernels.count_paths(word, side, board.masks, depth, legal))


def visible_cells(board: Layout, positions: U64Array, side: Sides, viewer: int) -> U64Array:
    """[n] cells that the player of colour `viewer` sees in dark chess, as bit sets."""
    words = checked(positions)
    cells: U64Array = observation_kernels.visible_all(
        words, side_array(side, len(words)), viewer, board.masks
    )
    return cells


def observations(board: Layout, positions: U64Array, side: Sides, viewer: int) -> U64Array:
    """[n, 5] what that player sees: the position in the fog, and the visible cells."""
    words = checked(positions)
    seen: U64Array = observation_kernels.observe_all(
        words, side_array(side, len(words)), viewer, board.masks
    )
    return seen


def observation_keys(board: Layout, positions: U64Array, side: Sides) -> U64Array:
    """[n, 2] 64-bit keys of White's and Black's observations."""
    words = checked(positions)
    keys: U64Array
    keys, _ = observation_kernels.keys_and_mobility(
        words, side_array(side, len(words)), board.masks
    )
    return keys


def observation_from_text(board: Layout, viewer: int, text: str) -> U64Array:
    """[5] the observation that a player of `python_dark_chess` is told in words.

    Args:
        board: which board.
        viewer: the player's colour.
        text: board in the fog, own castling rights, en-passant square, as in
            "????/.K../R..." + " - -".
    """
    fields = text.split()
    ranks = fields[0].split("/") if fields else []
    if len(fields) != 3 or [len(rank) for rank in ranks] != [board.width] * board.height:
        raise ValueError(
            f"expected a {board.width}x{board.height} board, castling rights and en-passant "
            f"square, got {text!r}"
        )
    marks = "".join(reversed(ranks))
    letters = {letter: code for code, letter in enumerate(".PNBRQK??pnbrqk") if letter != "?"}
    if not set(marks) <= {*letters, observation.UNSEEN}:
        raise ValueError(f"expected pieces, '.' and '?', got {text!r}")
    codes = np.array([letters.get(mark, rules.EMPTY) for mark in marks], dtype=np.uint8)
    corners = rules.geometry(board.width, board.height).corners
    for letter, right in zip("KQkq", corners, strict=True):
        if letter in fields[1]:
            codes[corners[right]] = CASTLING_ROOK[viewer]
    if fields[2] != "-":
        onto = "abcdefgh".index(fields[2][0]) + (int(fields[2][1]) - 1) * board.width
        codes[onto - board.width if viewer == rules.WHITE else onto + board.width] = PASSING_PAWN
    seen = np.array([mark != observation.UNSEEN for mark in marks], dtype=np.uint8)
    words = np.empty(_OBSERVATION_WORDS, dtype=np.uint64)
    words[:_WORDS] = _pack_codes(codes[None], board)[0]
    words[_WORDS] = _pack_codes(seen[None], board)[0, 0]
    return words


def features(board: Layout, positions: U64Array, side: Sides) -> npt.NDArray[np.int16]:
    """[n, 2, NUM_FEATURES] counts for White and Black (`handmade_kernels.FEATURES`)."""
    words = checked(positions)
    counts: npt.NDArray[np.int16] = feature_kernels.count_features(
        words, side_array(side, len(words)), board.masks
    )
    return counts


def evaluate(
    board: Layout, positions: U64Array, side: Sides, weights: Any = feature_kernels.WEIGHTS
) -> npt.NDArray[np.float32]:
    """[n] White's expected utility in [-1, 1], by the hand-made weights.

    Exact where the game is over or the side to move can capture the king.
    """
    words, sides = checked(positions), side_array(side, len(positions))
    values: npt.NDArray[np.float32] = feature_kernels.evaluate_all(
        words, sides, board.masks, np.asarray(weights, dtype=np.float32)
    )
    return values
