"""`nnue(path)`: networks of chess programs, of the kind HalfKAv2_hm, from a file of the user.

The package ships none. Debian's `stockfish` 15.1 holds one whose copyright file puts it
under CC0, and writes it with its command `export_net`.

What is computed: for each player the board as he sees it (`inputs`) selects a row per
piece and cell of the own king; their sum, halves multiplied with each other, goes through
three small layers that are chosen by the number of pieces; a second sum of the same rows
counts material. All in integers; `tests` hold it to the numbers a program prints.

A file is a header (version, hash, description), the rows (plain, or compressed as LEB128)
and the layers. The width is read from the hash. Files of another architecture are refused.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess.networks import nnue_kernels as kernels
from klss_spiel.games.chess.networks.inputs import NUM_BUCKETS
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.weights import WeightsError

NUM_FEATURES: Final = 32 * kernels.FEATURES_PER_KING

# Units of the value that are worth tanh(1); about four pawns of Stockfish 15.1, in whose
# unit a pawn is worth more than in results of Fog-of-War chess.
SCALE: Final = 1600.0

_VERSION: Final = 0x7AF32F20
_ARCHITECTURE: Final = 0x7F234CB8  # HalfKAv2_hm
_COMPRESSED: Final = b"COMPRESSED_LEB128"
_MOST_WIDTH: Final = 4096
_PADDED: Final = 32

Layers = tuple[npt.NDArray[Any], ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Nnue:
    """A network from a file.

    Attributes:
        name: of the file.
        description: that the file holds.
        bias: [width] int16.
        rows: [NUM_FEATURES, width] int16.
        material: [NUM_FEATURES, 8] int32.
        layers: see `nnue_kernels.evaluate_all`.
    """

    name: str
    description: str
    bias: npt.NDArray[np.int16]
    rows: npt.NDArray[np.int16]
    material: npt.NDArray[np.int32]
    layers: Layers

    @property
    def width(self) -> int:
        """Hidden units of each player."""
        return len(self.bias)

    def units(
        self, positions: U64Array, side: packed.Sides, bucket: int | None = None
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
        """What the network says to the side to move.

        Args:
            positions: [n, 4] of 8x8.
            side: to move.
            bucket: which layers; None for those of the number of pieces.

        Returns:
            units: [n, 2] material and the rest, in 1/16 of the network's unit.
            won: [n] 1 or -1 where a king is gone or can be captured.
        """
        words, sides = packed.checked(positions), packed.side_array(side, len(positions))
        number = -1 if bucket is None else bucket
        units, won = kernels.evaluate_all(
            words, sides, number, self.bias, self.rows, self.material, self.layers
        )
        return units, won

    def evaluate(
        self, board: packed.Layout, positions: U64Array, side: packed.Sides, scale: float = SCALE
    ) -> npt.NDArray[np.float32]:
        """[n] White's expected utility.

        Args:
            board: 8x8.
            positions: [n, 4].
            side: to move.
            scale: value in the network's unit that is worth tanh(1).
        """
        check_board(board.width, board.height, "nnue")
        units, won = self.units(positions, side)
        # Both parts are added before the division, which rounds towards zero.
        whole = np.trunc(units.sum(axis=1) / kernels.OUTPUT_SCALE)
        values = np.where(won, won, np.tanh(whole / scale)).astype(np.float32)
        sides = packed.side_array(side, len(positions))
        return np.where(sides, -values, values)


def check_board(width: int, height: int, name: str) -> None:
    """Raises ValueError for boards that networks do not know."""
    if (width, height) != (8, 8):
        raise ValueError(f"expected an 8x8 board for {name}, got {width}x{height}")


@functools.lru_cache(maxsize=2)
def _cached(path: str, stamp: tuple[int, int]) -> Nnue:
    del stamp
    return read(path)


def load(path: str | os.PathLike[str]) -> Nnue:
    """The network of a file; read once while the file stays as it is."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise WeightsError(f"expected a network file, got {os.fspath(path)!r}: {error}") from error
    return _cached(os.fspath(path), (status.st_mtime_ns, status.st_size))


def read(path: str | os.PathLike[str]) -> Nnue:
    """Reads a file.

    Raises:
        WeightsError: it is none, or not of the kind HalfKAv2_hm.
    """
    path = pathlib.Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise WeightsError(f"expected a network file, got {str(path)!r}: {error}") from error
    return _Reader(path, data).network()


class _Reader:
    """The bytes of a file and how far they are read. Mutable."""

    def __init__(self, path: pathlib.Path, data: bytes) -> None:
        self._path = path
        self._data = data
        self._at = 0

    def network(self) -> Nnue:
        version, _, length = self._words(3)
        if version != _VERSION:
            raise self._error(f"expected the version {_VERSION:#x}, got {version:#x}")
        description = self._bytes(length).decode("latin-1")
        (kind,) = self._words(1)
        width = (kind ^ _ARCHITECTURE) // 2
        if width % _PADDED or not 0 < width <= _MOST_WIDTH:
            raise self._error(
                "expected rows of HalfKAv2_hm, whose width is a multiple of "
                f"{_PADDED} up to {_MOST_WIDTH}, got the hash {kind:#x}"
            )
        bias = self._numbers(width, np.int16, compressible=True)
        rows = self._numbers(NUM_FEATURES * width, np.int16, compressible=True)
        material = self._numbers(NUM_FEATURES * NUM_BUCKETS, np.int32, compressible=True)
        stacks = [self._stack(width) for _ in range(NUM_BUCKETS)]
        if self._at != len(self._data):
            raise self._error(f"expected {self._at} bytes, got {len(self._data)}")
        layers = tuple(np.stack(arrays) for arrays in zip(*stacks, strict=True))
        return Nnue(
            self._path.name,
            description,
            bias,
            rows.reshape(NUM_FEATURES, width),
            material.reshape(NUM_FEATURES, NUM_BUCKETS),
            layers,
        )

    def _stack(self, width: int) -> list[npt.NDArray[Any]]:
        """Biases and weights of the three layers of one bucket."""
        self._words(1)  # their hash
        arrays: list[npt.NDArray[Any]] = []
        for inputs, outputs in (
            (width, kernels.FIRST_OUTPUTS),
            (_PADDED, kernels.SECOND_OUTPUTS),
            (kernels.SECOND_OUTPUTS, 1),
        ):
            bias = self._numbers(outputs, np.int32)
            weights = self._numbers(outputs * inputs, np.int8).astype(np.int16)
            single = outputs == 1
            arrays += [bias[0] if single else bias]
            arrays += [weights if single else weights.reshape(outputs, inputs)]
        return arrays

    def _numbers(self, count: int, dtype: Any, compressible: bool = False) -> npt.NDArray[Any]:
        if compressible and self._data.startswith(_COMPRESSED, self._at):
            self._at += len(_COMPRESSED)
            (length,) = self._words(1)
            values = np.empty(count, dtype=dtype)
            packed_bytes = np.frombuffer(self._bytes(length), dtype=np.uint8)
            if kernels.decode_leb128(packed_bytes, values) != length:
                raise self._error(f"expected {count} numbers in {length} compressed bytes")
            return values
        plain = np.dtype(dtype).newbyteorder("<")
        return np.frombuffer(self._bytes(count * plain.itemsize), dtype=plain).astype(dtype)

    def _words(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}I", self._bytes(4 * count))

    def _bytes(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) != count:
            raise self._error(f"expected {count} more bytes after {self._at}, got {len(found)}")
        self._at += count
        return found

    def _error(self, message: str) -> WeightsError:
        return WeightsError(f"{self._path} is no network of the kind HalfKAv2_hm: {message}")
