"""How likely each move of a position of dark chess is, whoever plays.

    prior = shipped_prior()
    chances = prior.probabilities(board, positions, side)

A prior is a linear softmax over features of moves (`kernels.move_priors`), mixed with a
share of uniform moves, so that nothing is ever held impossible that is not. It looks at
the position, of which the mover himself sees only a part, and at nothing before it.

Beliefs are weighted by it (`PositionSet.prior`); it is trained by
`klss_spiel.run.train_move_prior`. Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel import weights
from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kernels import batches
from klss_spiel.games.chess.packed.kernels import move_priors as kernels
from klss_spiel.games.chess.packed.kernels.moves import PUBLIC_BITS

SHIPPED: Final = "dark_chess_move_prior"
NUM_WEIGHTS: Final = kernels.NUM_WEIGHTS

_KIND: Final = "chess_move_prior"
_GAME: Final = "python_dark_chess"
_FEATURE_VERSION: Final = 1
_ARRAY: Final = "weights"
_UNIFORM: Final = "uniform"
_MEMORY: Final = "memory"

Float32Array = npt.NDArray[np.float32]
Features = npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Chances:
    """Moves of n positions, m of them.

    Attributes:
        starts: [n + 1] the moves of position i are at starts[i]:starts[i + 1].
        words: [m] moves, as `positions.pack_move` packs them.
        probabilities: [m] sum to 1 over a position's moves.
    """

    starts: npt.NDArray[np.int64]
    words: packed.MoveArray
    probabilities: FloatArray


@dataclasses.dataclass(frozen=True, eq=False)
class MovePrior:
    """A softmax over moves.

    Attributes:
        weights: [NUM_WEIGHTS] of the features of `kernels.move_priors`.
        uniform: probability that the move is any of all, each alike.
        memory: power to which the weights of a belief are raised before every further move.
            1 is Bayes' rule; below 1 a belief holds on less to what the prior said long ago,
            because players differ from it in the same way at every move.
    """

    weights: Float32Array
    uniform: float = 0.05
    memory: float = 1.0

    def __post_init__(self) -> None:
        if self.weights.shape != (NUM_WEIGHTS,) or not np.isfinite(self.weights).all():
            raise ValueError(
                f"expected {NUM_WEIGHTS} finite weights, got {list(self.weights.shape)}"
            )
        if not 0.0 < self.uniform <= 1.0:
            raise ValueError(f"expected a uniform share above 0 and up to 1, got {self.uniform}")
        if not 0.0 <= self.memory <= 1.0:
            raise ValueError(f"expected a memory from 0 to 1, got {self.memory}")

    @functools.cached_property
    def factors(self) -> Float32Array:
        """[NUM_WEIGHTS] exponentials of the weights."""
        found: Float32Array = np.exp(self.weights.astype(np.float64)).astype(np.float32)
        return found

    def probabilities(
        self, board: packed.Layout, positions: U64Array, side: packed.Sides
    ) -> Chances:
        """How likely all moves of positions [n, 4] are."""
        starts, words, features = features_of(board, positions, side)
        moves = np.diff(starts)
        owner = np.repeat(np.arange(len(moves)), moves)
        scores = np.exp(self.weights.astype(np.float64)[features].sum(axis=1))
        shares = scores / np.bincount(owner, scores, len(moves))[owner]
        mixed = (1.0 - self.uniform) * shares + self.uniform / moves[owner]
        return Chances(starts, words, mixed)


def uniform_prior() -> MovePrior:
    """The prior by which all moves of a position are alike."""
    return MovePrior(np.zeros(NUM_WEIGHTS, dtype=np.float32), 1.0)


def features_of(
    board: packed.Layout, positions: U64Array, side: packed.Sides
) -> tuple[npt.NDArray[np.int64], packed.MoveArray, Features]:
    """Moves of positions [n, 4] and the weights that each adds up.

    Returns:
        starts: [n + 1] as in `positions.moves`.
        words: [m] moves.
        features: [m, NUM_FEATURES] indices.
    """
    boards, sides = packed.checked(positions), packed.side_array(side, len(positions))
    starts, full = batches.generate_all(boards, sides, board.masks, False, False)
    features = kernels.all_features(boards, sides, starts, full)
    return starts, (full & PUBLIC_BITS).astype(np.uint16), features


def save_prior(
    path: str | os.PathLike[str],
    prior: MovePrior,
    seed: int,
    command: str,
    licence: str,
    extra: Mapping[str, Any],
) -> None:
    """Writes a prior with how it was made."""
    metadata = weights.Metadata(
        kind=_KIND,
        game=_GAME,
        feature_version=_FEATURE_VERSION,
        seed=seed,
        command=command,
        licence=licence,
        extra=extra,
    )
    tree = {
        _ARRAY: prior.weights,
        _UNIFORM: np.array(prior.uniform),
        _MEMORY: np.array(prior.memory),
    }
    weights.save(path, tree, metadata)


def load_prior(path: str | os.PathLike[str] = SHIPPED) -> MovePrior:
    """A prior from a file, or the one that is shipped.

    Raises:
        WeightsError: the file is none of this kind.
    """
    found = weights.load(
        path,
        kind=_KIND,
        feature_version=_FEATURE_VERSION,
        shapes={_ARRAY: (NUM_WEIGHTS,), _UNIFORM: (), _MEMORY: ()},
    )
    tree: Any = found.tree
    try:
        return MovePrior(
            tree[_ARRAY].astype(np.float32), float(tree[_UNIFORM]), float(tree[_MEMORY])
        )
    except ValueError as error:
        raise weights.WeightsError(f"{path}: {error}") from error


@functools.cache
def shipped_prior() -> MovePrior:
    """The prior that comes with the package; read once."""
    return load_prior(SHIPPED)
