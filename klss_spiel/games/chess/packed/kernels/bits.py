"""Bit sets of squares: the arithmetic under all compiled chess kernels.

A bit set is one uint64 on a board of eight files whatever the real width is, bit =
8 * rank + file. A smaller board uses the squares of its lower left part, so that a
step in a direction is the same shift on every board and only a mask differs:

    4x3 board     16 17 18 19  -  -  -  -
                   8  9 10 11  -  -  -  -
                   0  1  2  3  -  -  -  -

These squares are called *cells* to tell them from the square numbers of
`rules` (rank * width + file); on 8x8 they are the same.

Everything is unsigned: numba halves the speed of loops that index with signed
integers, and mixes signed with unsigned ones into floating point. Importing this
module imports numba.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # has no type stubs
from numba import types
from numba.extending import intrinsic

from klss_spiel.arrays import U64Array
from klss_spiel.kernels import kernel

BOARD_FILES: Final = 8

ZERO: Final = np.uint64(0)
ONE: Final = np.uint64(1)
FULL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
NOT_FIRST_FILE: Final = np.uint64(0xFEFEFEFEFEFEFEFE)
NOT_LAST_FILE: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
NOT_FIRST_TWO: Final = np.uint64(0xFCFCFCFCFCFCFCFC)
NOT_LAST_TWO: Final = np.uint64(0x3F3F3F3F3F3F3F3F)

_S1: Final = np.uint64(1)
_S2: Final = np.uint64(2)
_S3: Final = np.uint64(3)
_S7: Final = np.uint64(7)
_S8: Final = np.uint64(8)
_S9: Final = np.uint64(9)
_S16: Final = np.uint64(16)
_S57: Final = np.uint64(57)
_S58: Final = np.uint64(58)
_SIX_BITS: Final = np.uint64(63)
_LOW_FILES: Final = np.uint64(7)
_FIRST_FILE: Final = np.uint64(0x0101010101010101)
_MAIN_DIAGONAL: Final = np.uint64(0x0080402010080400)  # gathers a file into the top byte


def _register(function: Any) -> Any:
    return intrinsic(function)


def _bit_count(typingctx: Any, word: Any) -> Any:
    del typingctx, word

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


def _first_cell(typingctx: Any, word: Any) -> Any:
    del typingctx, word

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del signature
        return builder.cttz(args[0], context.get_constant(types.boolean, 1))

    return types.uint64(types.uint64), codegen


def _last_cell(typingctx: Any, word: Any) -> Any:
    del typingctx, word

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = builder.ctlz(args[0], context.get_constant(types.boolean, 1))
        return builder.sub(context.get_constant(types.uint64, 63), zeros)

    return types.uint64(types.uint64), codegen


def _fold(typingctx: Any, first: Any, second: Any) -> Any:
    del typingctx, first, second

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        wide = _wide_type()
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        high = builder.trunc(builder.lshr(product, wide(64)), args[0].type)
        return builder.xor(high, builder.trunc(product, args[0].type))

    return types.uint64(types.uint64, types.uint64), codegen


def _wide_type() -> Any:
    return ir.IntType(128)


def _prefetch(typingctx: Any, address: Any) -> Any:
    del typingctx, address

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del signature
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        builder.call(function, [builder.inttoptr(args[0], byte), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(types.uint64), codegen


bit_count = _register(_bit_count)  # number of cells in a set
first_cell = _register(_first_cell)  # lowest cell of a set that is not empty
last_cell = _register(_last_cell)  # highest cell of a set that is not empty
prefetch = _register(_prefetch)  # starts loading the memory at an address
fold = _register(_fold)  # 128-bit product of two words, both halves xored


@kernel
def bit(cell: Any) -> Any:
    """The set of one cell."""
    return ONE << cell


@kernel
def fill(cells: Any, empty: Any, shift: Any, up: Any, edge: Any) -> Any:
    """Cells that sliders on `cells` attack in one direction, the first piece included.

    Args:
        cells: where sliders of that direction stand.
        empty: cells they can slide through.
        shift: distance of one step.
        up: step towards higher cells.
        edge: cells that a step can enter without leaving the board sideways.
    """
    through = empty & edge
    if up:
        cells |= through & (cells << shift)
        through &= through << shift
        cells |= through & (cells << (shift + shift))
        through &= through << (shift + shift)
        cells |= through & (cells << (shift << _S2))
        return (cells << shift) & edge
    cells |= through & (cells >> shift)
    through &= through >> shift
    cells |= through & (cells >> (shift + shift))
    through &= through >> (shift + shift)
    cells |= through & (cells >> (shift << _S2))
    return (cells >> shift) & edge


@kernel
def rook_attacks_of_set(rooks: Any, empty: Any) -> Any:
    """Cells attacked along files and ranks by any of a set of pieces."""
    return (
        fill(rooks, empty, _S8, True, FULL)
        | fill(rooks, empty, _S8, False, FULL)
        | fill(rooks, empty, _S1, True, NOT_FIRST_FILE)
        | fill(rooks, empty, _S1, False, NOT_LAST_FILE)
    )


@kernel
def bishop_attacks_of_set(bishops: Any, empty: Any) -> Any:
    """Cells attacked along diagonals by any of a set of pieces."""
    return (
        fill(bishops, empty, _S9, True, NOT_FIRST_FILE)
        | fill(bishops, empty, _S9, False, NOT_LAST_FILE)
        | fill(bishops, empty, _S7, True, NOT_LAST_FILE)
        | fill(bishops, empty, _S7, False, NOT_FIRST_FILE)
    )


@kernel
def knight_attacks_of_set(knights: Any) -> Any:
    """Cells a knight's jump away from any of a set, board edges of 8x8 respected."""
    one = ((knights << _S1) & NOT_FIRST_FILE) | ((knights >> _S1) & NOT_LAST_FILE)
    two = ((knights << _S2) & NOT_FIRST_TWO) | ((knights >> _S2) & NOT_LAST_TWO)
    return (one << _S16) | (one >> _S16) | (two << _S8) | (two >> _S8)


@kernel
def king_attacks_of_set(kings: Any) -> Any:
    """Cells one step away from any of a set."""
    row = kings | ((kings << _S1) & NOT_FIRST_FILE) | ((kings >> _S1) & NOT_LAST_FILE)
    return (row | (row << _S8) | (row >> _S8)) & ~kings


@kernel
def pawn_attacks_of_set(pawns: Any, side: Any) -> Any:
    """Cells attacked by any of a set of pawns of one colour."""
    if side:
        return ((pawns >> _S9) & NOT_LAST_FILE) | ((pawns >> _S7) & NOT_FIRST_FILE)
    return ((pawns << _S9) & NOT_FIRST_FILE) | ((pawns << _S7) & NOT_LAST_FILE)


@kernel
def ahead(cells: Any, side: Any) -> Any:
    """Cells one rank forward, seen from a colour."""
    if side:
        return cells >> _S8
    return cells << _S8


@kernel
def beside(cells: Any) -> Any:
    """Cells directly left and right."""
    return ((cells << _S1) & NOT_FIRST_FILE) | ((cells >> _S1) & NOT_LAST_FILE)


def _lines() -> tuple[U64Array, U64Array, U64Array, U64Array]:
    """[64, 3] lines (rank, two diagonals) without the cell, file table, fill table, jumps."""
    masks = np.zeros((64, 3), dtype=np.uint64)
    jumps = np.zeros((64, 2), dtype=np.uint64)
    for cell in range(64):
        file, rank = cell % 8, cell // 8
        for other in range(64):
            df, dr = other % 8 - file, other // 8 - rank
            word = np.uint64(1 << other)
            if other == cell:
                continue
            if dr == 0:
                masks[cell, 0] |= word
            if df == dr:
                masks[cell, 1] |= word
            if df == -dr:
                masks[cell, 2] |= word
            if df * df + dr * dr == 5:
                jumps[cell, 0] |= word
            if max(abs(df), abs(dr)) == 1:
                jumps[cell, 1] |= word
    # What a slider on a line of eight attacks, for each place and each inner occupancy.
    attacks = np.zeros((8, 64), dtype=np.uint64)
    along_file = np.zeros((8, 64), dtype=np.uint64)
    for place in range(8):
        for inner in range(64):
            row = 0
            for step in (1, -1):
                reached = place + step
                while 0 <= reached < 8:
                    row |= 1 << reached
                    if inner << 1 & 1 << reached:
                        break
                    reached += step
            attacks[place, inner] = np.uint64(row * 0x0101010101010101)
            column = sum(1 << 8 * (7 - other) for other in range(8) if row >> other & 1)
            along_file[place, inner] = np.uint64(column)
    return masks, along_file, attacks, jumps


LINES, _FILE_ATTACKS, _ROW_ATTACKS, JUMPS = _lines()


@kernel
def bishop_attacks(cell: Any, occupied: Any) -> Any:
    """Cells a bishop on `cell` attacks: the first piece met on each diagonal included.

    Multiplying a diagonal by the first file gathers it into one row, whose inner six
    bits index a table of rows (a "kindergarten" lookup: 4 kB of tables, no magic).
    """
    file = cell & _LOW_FILES
    rising, falling = LINES[cell, 1], LINES[cell, 2]
    first = (((occupied & rising) * _FIRST_FILE) >> _S57) & _SIX_BITS
    second = (((occupied & falling) * _FIRST_FILE) >> _S57) & _SIX_BITS
    return (_ROW_ATTACKS[file, first] & rising) | (_ROW_ATTACKS[file, second] & falling)


@kernel
def rook_attacks(cell: Any, occupied: Any) -> Any:
    """Cells a rook on `cell` attacks: the first piece met each way included."""
    file = cell & _LOW_FILES
    rank = cell >> _S3
    row = (occupied >> ((rank << _S3) + _S1)) & _SIX_BITS
    column = ((((occupied >> file) & _FIRST_FILE) * _MAIN_DIAGONAL) >> _S58) & _SIX_BITS
    return (_ROW_ATTACKS[file, row] & LINES[cell, 0]) | (_FILE_ATTACKS[_S7 - rank, column] << file)
