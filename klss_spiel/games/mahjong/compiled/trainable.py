"""Mahjong as training sees it: environments and duplicate matches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, FloatArray, LongArray
from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled.environment import (
    FEATURE_VERSION,
    NUM_FEATURES,
    Features,
    MahjongBatch,
    random_decks,
)
from klss_spiel.games.mahjong.variant import Variant

# A player of many games at once, from the own view only.
ViewPlayer = Callable[[Features, BoolArray], LongArray]
# A player who is given the games themselves and the numbers of those to move in.
BatchPlayer = Callable[[MahjongBatch, LongArray], LongArray]

GREEDY: Final = "greedy"
PROSPECTOR: Final = "prospector"
RANDOM: Final = "random"
_FAN_PER_UNIT: Final = 20.0


def greedy_player(games: MahjongBatch, which: LongArray) -> LongArray:
    """Completes the hand as soon as possible; see `batch_kernels.greedy_action`."""
    return games.greedy_actions(games.legal())[which]


def prospector(games: MahjongBatch, which: LongArray) -> LongArray:
    """Looks at points as well as at speed; see `prospector_kernels`."""
    return games.prospector_actions(games.legal())[which]


def random_player(games: MahjongBatch, which: LongArray) -> LongArray:
    """Plays uniformly at random."""
    return games.random_actions(games.legal())[which]


def from_view(choose: ViewPlayer) -> BatchPlayer:
    """A player that sees only features and legal actions."""

    def play(games: MahjongBatch, which: LongArray) -> LongArray:
        seen = games.observe()
        return choose(seen.features[which], seen.legal[which])

    return play


SIMPLE_PLAYERS: Final[dict[str, BatchPlayer]] = {
    GREEDY: greedy_player,
    PROSPECTOR: prospector,
    RANDOM: random_player,
}


def play_out(
    variant: Variant,
    decks: npt.NDArray[np.int8],
    players: tuple[BatchPlayer, BatchPlayer],
    seed: int,
) -> LongArray:
    """[n] what player 0 wins with each deck ([n, tiles])."""
    games = MahjongBatch(variant, 0, seed, decks)
    while not games.over.all():
        chosen = np.zeros(games.num_games, np.int64)
        going, mover = ~games.over, games.player
        for player in (0, 1):
            which = np.flatnonzero(going & (mover == player))
            if len(which):
                chosen[which] = players[player](games, which)
        games.step(chosen)
    return games.points


def duplicate_match(
    variant: Variant,
    decks: npt.NDArray[np.int8],
    first: BatchPlayer,
    second: BatchPlayer,
    seed: int = 0,
) -> FloatArray:
    """[n] points per game of `first`, each deck ([n, tiles]) played from both seats."""
    there = play_out(variant, decks, (first, second), seed)
    back = play_out(variant, decks, (second, first), seed + 1)
    return (there - back) / 2.0


@dataclasses.dataclass(frozen=True)
class MahjongTraining:
    """A variant of Mahjong for training; see `algorithms.blueprints.environment`.

    Attributes:
        name: OpenSpiel's string of the game.
        variant: which Mahjong.
    """

    name: str
    variant: Variant
    feature_version: ClassVar[int] = FEATURE_VERSION
    num_features: ClassVar[int] = NUM_FEATURES
    num_actions: ClassVar[int] = actions.NUM_ACTIONS
    num_moves: ClassVar[int] = tiles.NUM_KINDS
    reward_scale: ClassVar[float] = _FAN_PER_UNIT
    opponents: ClassVar[tuple[str, ...]] = (GREEDY, PROSPECTOR, RANDOM)

    def environment(self, num_games: int, seed: int) -> MahjongBatch:
        """Games to train on."""
        return MahjongBatch(self.variant, num_games, seed)

    def strength(
        self, choose: ViewPlayer, opponent: str | ViewPlayer, pairs: int, seed: int
    ) -> FloatArray:
        """[pairs] points per game on duplicate decks with swapped seats."""
        if isinstance(opponent, str):
            if opponent not in SIMPLE_PLAYERS:
                known = ", ".join(SIMPLE_PLAYERS)
                raise ValueError(f"expected an opponent among {known}, got {opponent!r}")
            other = SIMPLE_PLAYERS[opponent]
        else:
            other = from_view(opponent)
        decks = random_decks(self.variant, pairs, np.random.default_rng(seed))
        return duplicate_match(self.variant, decks, from_view(choose), other, seed)

    def opponent_moves(
        self, choose: ViewPlayer, num_games: int, batch: int, seed: int
    ) -> Iterator[Any]:
        """Batches of what opponents discard; see `watching.opponent_discards`."""
        from klss_spiel.games.mahjong.compiled.watching import opponent_discards

        return opponent_discards(self.variant, choose, num_games, batch, seed)
