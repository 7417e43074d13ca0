"""Sets of packed positions: what one player of dark chess holds possible.

A `PositionSet` is every position consistent with a player's own moves and observations,
32 bytes each. It is exact up to a limit, and says so: past the limit it keeps a uniform
sample of what it found and is no longer `complete`.

    belief = PositionSet.of(start, viewer=WHITE)
    belief = belief.after_own_move(move, observation)
    belief = belief.after_opponent_move(observation)

Observations are those after the move (`packed.positions.observations`, or of what the
game tells a player `packed.positions.observation_from_text`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

import numpy as np

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import rules
from klss_spiel.games.chess.packed.kernels import beliefs as kernels
from klss_spiel.games.chess.packed.kernels.bits import FULL, ONE
from klss_spiel.games.chess.packed.kernels.moves import MAX_MOVES
from klss_spiel.games.chess.packed.positions import Layout, layout, pack, pack_move
from klss_spiel.games.chess.packed.transition import Transition

DEFAULT_LIMIT: Final = 4_000_000

_SMALLEST_ROOM: Final = 8192
_GROWTH: Final = 4
# Every position is followed by at most this many, so a set with that much room goes on.
_SLACK: Final = 2 * MAX_MOVES

# (first not yet added, table, store, count, threshold) -> (first not yet added, count)
_Step = Callable[[int, U64Array, U64Array, int, np.uint64], tuple[int, int]]


def _collect(step: _Step, total: int, guess: int, limit: int) -> tuple[U64Array, float]:
    """Runs a kernel that fills a set, giving it more room or thinning it when it is full.

    Large arrays are made here and not in the kernel because numpy asks the system for
    huge pages, without which the random accesses take twice as long.

    Returns:
        The positions, and which fraction of all they are (1 if none was left out).
    """
    room = min(max(guess, _SMALLEST_ROOM), limit) + _SLACK
    store = np.empty((room, 4), dtype=np.uint64)
    table = np.zeros(_slots(room), dtype=np.uint64)
    start, count, threshold = 0, 0, FULL
    while True:
        start, count = step(start, table, store, count, threshold)
        if start == total and count <= limit:
            return store[:count], float(threshold) / float(FULL)
        old = store
        if count <= limit and room < limit + _SLACK:
            room = min(_GROWTH * room, limit + _SLACK)
            store = np.empty((room, 4), dtype=np.uint64)
        else:
            threshold >>= ONE
        table = np.zeros(_slots(room), dtype=np.uint64)
        count = int(kernels.refill(old, table, store, count, threshold))


def _slots(room: int) -> int:
    """Size of a table for so many positions: a power of two, a third free or more."""
    return 1 << (3 * room // 2).bit_length()


def distinct(positions: U64Array, limit: int = DEFAULT_LIMIT) -> tuple[U64Array, float]:
    """Positions [n, 4] without doubles, in order of first appearance.

    Returns:
        At most `limit` of them, and which fraction they are: 1 if all, else the part of
        the hash values below which a uniform sample was kept.
    """
    words = np.ascontiguousarray(positions)

    def step(
        start: int, table: U64Array, store: U64Array, count: int, threshold: np.uint64
    ) -> tuple[int, int]:
        reached, filled = kernels.insert_all(words, start, table, store, count, threshold)
        return int(reached), int(filled)

    return _collect(step, len(words), len(words), limit)


@dataclasses.dataclass(frozen=True, eq=False)
class PositionSet:
    """Positions that one player holds possible.

    Attributes:
        transition: the rules by which positions follow each other.
        viewer: colour of the player.
        side: to move in all of them.
        positions: [n, 4] different packed positions.
        complete: whether these are all. If not, they are a sample, and the true position
            may be missing.
        fraction: estimate of the part of all consistent positions that are here; 1 if complete.
    """

    transition: Transition
    viewer: int
    side: int
    positions: U64Array
    complete: bool = True
    fraction: float = 1.0

    @classmethod
    def of(
        cls, position: rules.Position, viewer: int, transition: Transition | None = None
    ) -> PositionSet:
        """The set of one position that the player knows, such as the start of a game.

        The rules are those of the paper unless a transition is given.
        """
        board = layout(position.width, position.height)
        step = transition or Transition(board)
        return cls(step, viewer, position.side, pack([position]))

    @property
    def board(self) -> Layout:
        """Which board."""
        return self.transition.board

    def __len__(self) -> int:
        return len(self.positions)

    def __contains__(self, position: rules.Position) -> bool:
        (word,) = pack([position])
        return bool((self.positions == word).all(axis=1).any())

    def after_own_move(self, move: rules.Move, observation: U64Array) -> PositionSet:
        """The set after the player's own move and what he sees then ([5]).

        Positions in which the opponent could not move, so that the game would be over,
        stay until the next step, which they do not survive.
        """
        if self.side != self.viewer:
            raise ValueError(f"expected the turn of side {self.viewer}, it is that of {self.side}")
        demands = self._demands(observation)
        word = pack_move(self.board, move)
        moved = kernels.move_and_filter(self.positions, self.viewer, word, demands)
        # A captured rook may or may not have been allowed to castle: two become one.
        positions, _ = distinct(moved, max(len(moved), 1))
        return dataclasses.replace(self, side=1 - self.side, positions=positions)

    def after_opponent_move(self, observation: U64Array, limit: int = DEFAULT_LIMIT) -> PositionSet:
        """The set after an unknown move of the opponent and what the player sees then ([5]).

        Args:
            observation: the player's view after the move.
            limit: size above which the set becomes an incomplete sample.
        """
        if self.side == self.viewer:
            raise ValueError(f"expected the turn of side {1 - self.viewer}, got {self.side}")
        if limit < 1:
            raise ValueError(f"expected a limit of 1 or more positions, got {limit}")
        demands = self._demands(observation)
        before = np.ascontiguousarray(self.positions)
        game = (self.board.masks, self.transition.variant.queen_only)

        def step(
            start: int, table: U64Array, store: U64Array, count: int, threshold: np.uint64
        ) -> tuple[int, int]:
            members = (table, store)
            reached, filled = kernels.insert_successors(
                before, start, self.viewer, game, demands, members, count, threshold
            )
            return int(reached), int(filled)

        positions, fraction = _collect(step, len(before), 2 * len(before), limit)
        return dataclasses.replace(
            self,
            side=1 - self.side,
            positions=positions,
            complete=self.complete and fraction == 1.0,
            fraction=self.fraction * fraction,
        )

    def _demands(self, observation: U64Array) -> U64Array:
        if observation.shape != (5,) or observation.dtype != np.uint64:
            raise ValueError(
                "expected an observation [5] of uint64, "
                f"got {list(observation.shape)} of {observation.dtype}"
            )
        demands: U64Array = kernels.make_filter(
            observation, 1 - self.side, self.viewer, self.board.masks
        )
        return demands
