"""Positions to train an evaluation on: noisy one-ply play, and moves that were not played.

Many games go on side by side. The side to move looks at every move as if it saw the whole
board, by an evaluation of where the captures after it end (`evaluators.resolver`), adds
noise, and plays what looks best; the first moves of a game are random. Of each move two
positions are kept, the one that was played to and a random sibling, both after captures
are resolved: an evaluation behind the resolver sees only such quiet positions.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, U64Array
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.evaluators.packed_evaluation import PackedEvaluation
from klss_spiel.games.chess.evaluators.resolver import Resolution, resolve
from klss_spiel.games.chess.packed import positions as packed


@dataclasses.dataclass(frozen=True)
class PlaySettings:
    """How games are played.

    Attributes:
        games: side by side.
        random_plies: a game starts with up to this many random moves.
        noise: spread of what is added to values, drawn for each game between 0 and this.
        longest: plies after which a game is ended.
        decided: a game in which a side is this far ahead ends soon ...
        end_chance: ... with this probability after each move.
    """

    games: int = 512
    random_plies: int = 10
    noise: float = 0.25
    longest: int = 240
    decided: float = 0.95
    end_chance: float = 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class Quiet:
    """Quiet positions, both kings present and safe from the side to move.

    Attributes:
        positions: [n, 4].
        sides: [n] side to move.
    """

    positions: U64Array
    sides: packed.SideArray


class NoisyPlay:
    """Games side by side that give positions as they go on. Mutable."""

    def __init__(
        self, evaluation: PackedEvaluation, settings: PlaySettings, rng: np.random.Generator
    ) -> None:
        """Starts the games.

        Args:
            evaluation: White's utility at quiet positions.
            settings: how to play.
            rng: of everything.
        """
        self._evaluation = evaluation
        self._settings = settings
        self._rng = rng
        self._board = packed.layout(8, 8)
        self._start = packed.pack([boards.position_of("standard")])[0]
        count = settings.games
        self._positions = np.empty((count, 4), dtype=np.uint64)
        self._sides = np.empty(count, dtype=np.uint8)
        self._plies = np.empty(count, dtype=np.int64)
        self._random_plies = np.empty(count, dtype=np.int64)
        self._noise = np.empty(count)
        self._begin(np.ones(count, dtype=np.bool_))

    def _begin(self, which: BoolArray) -> None:
        count = int(which.sum())
        self._positions[which] = self._start
        self._sides[which] = rules.WHITE
        self._plies[which] = 0
        self._random_plies[which] = self._rng.integers(0, self._settings.random_plies + 1, count)
        self._noise[which] = self._rng.uniform(0.0, self._settings.noise, count)

    def step(self) -> Quiet:
        """One move in every game; the positions that it gives, two per game at most."""
        starts, _, children = packed.successors(self._board, self._positions, self._sides)
        count = np.diff(starts)
        game = np.repeat(np.arange(len(count)), count)
        resolution = resolve(self._board, children, 1 - self._sides[game])
        values = self._values(resolution)
        wanted = np.where(self._sides[game] == rules.BLACK, -values, values)
        noise = np.where(self._plies < self._random_plies, 100.0, self._noise)
        wanted = wanted + noise[game] * self._rng.standard_normal(len(wanted))

        can_move = count > 0
        best = np.zeros(len(count))
        best[can_move] = np.maximum.reduceat(wanted, starts[:-1][can_move])
        played = np.full(len(count), -1)
        found = np.flatnonzero(wanted == best[game])
        played[game[found]] = found
        sibling = starts[:-1] + (self._rng.random(len(count)) * count).astype(np.int64)

        kept = np.concatenate([played[can_move], sibling[can_move & (sibling != played)]])
        kept = kept[resolution.decided[kept] == 0]
        quiet = Quiet(resolution.ends[kept], resolution.sides[kept])
        self._advance(can_move, played, children, resolution, values)
        return quiet

    def _values(self, resolution: Resolution) -> npt.NDArray[Any]:
        """[m] White's utility at the children."""
        values = resolution.decided.astype(np.float64)
        open_ = resolution.decided == 0
        values[open_] = self._evaluation(
            self._board, resolution.ends[open_], resolution.sides[open_]
        )
        return values

    def _advance(
        self,
        can_move: BoolArray,
        played: npt.NDArray[np.int64],
        children: U64Array,
        resolution: Resolution,
        values: npt.NDArray[Any],
    ) -> None:
        self._positions[can_move] = children[played[can_move]]
        self._sides = np.where(can_move, 1 - self._sides, self._sides).astype(np.uint8)
        self._plies += 1
        over = ~can_move | (self._plies >= self._settings.longest)
        over |= resolution.decided[played] != 0
        boring = np.abs(values[played]) >= self._settings.decided
        over |= boring & (self._rng.random(len(over)) < self._settings.end_chance)
        self._begin(over)


def quiet_positions(
    count: int,
    evaluation: PackedEvaluation,
    rng: np.random.Generator,
    settings: PlaySettings | None = None,
) -> Quiet:
    """`count` positions of new games.

    Args:
        count: how many.
        evaluation: White's utility at quiet positions, by which moves are chosen.
        rng: of everything.
        settings: how to play.
    """
    play = NoisyPlay(evaluation, settings or PlaySettings(), rng)
    found: list[Quiet] = []
    while sum(len(quiet.sides) for quiet in found) < count:
        found.append(play.step())
    return Quiet(
        np.concatenate([quiet.positions for quiet in found])[:count],
        np.concatenate([quiet.sides for quiet in found])[:count],
    )
