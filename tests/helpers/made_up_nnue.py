"""Made-up network files of the kind HalfKAv2_hm, narrow and quick to write."""

import struct

import numpy as np

from klss_spiel.games.chess.networks.nnue import NUM_FEATURES

WIDTH = 32
_HEADER = struct.pack("<3I", 0x7AF32F20, 1, 4) + b"test"


def _leb128(values):
    """Signed LEB128 of numbers of up to 20 bits: seven bits a byte, the low ones first."""
    values = values.astype(np.int64)
    count = 1 + (np.abs(2 * values + 1) > 127) + (np.abs(2 * values + 1) > 16383)
    place = np.arange(3)
    digits = values[:, None] >> 7 * place & 127
    digits |= np.where(place < count[:, None] - 1, 128, 0)
    return digits[place < count[:, None]].astype(np.uint8).tobytes()


def made_up_arrays(seed=0):
    """Arrays of a narrow network, in the order of a file."""
    rng = np.random.default_rng(seed)
    first = {
        "bias": rng.integers(-50, 90, WIDTH).astype("<i2"),
        "rows": rng.integers(-25, 40, (NUM_FEATURES, WIDTH)).astype("<i2"),
        "material": rng.integers(-9000, 9000, (NUM_FEATURES, 8)).astype("<i4"),
    }
    stacks = []
    for _ in range(8):
        stack = []
        for inputs, outputs in ((WIDTH, 16), (32, 32), (32, 1)):
            stack.append(rng.integers(-3000, 3000, outputs).astype("<i4"))
            stack.append(rng.integers(-100, 100, (outputs, inputs)).astype("<i1"))
        stacks.append(stack)
    return first, stacks


def file_bytes(first, stacks, compressed=False):
    """A file of these arrays."""
    parts = [_HEADER, struct.pack("<I", 0x7F234CB8 ^ (2 * WIDTH))]
    for array in first.values():
        if compressed:
            data = _leb128(array.reshape(-1))
            parts.append(b"COMPRESSED_LEB128" + struct.pack("<I", len(data)) + data)
        else:
            parts.append(array.tobytes())
    for stack in stacks:
        parts.append(struct.pack("<I", 7))
        parts.extend(array.tobytes() for array in stack)
    return b"".join(parts)
