"""What opponents discard, seen from the other side: data for models of opponents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from klss_spiel.arrays import BoolArray, LongArray
from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled import model_kernels
from klss_spiel.games.mahjong.compiled.distance_kernels import distance_tables
from klss_spiel.games.mahjong.compiled.environment import (
    NUM_FEATURES,
    Features,
    MahjongBatch,
    options_of,
)
from klss_spiel.games.mahjong.compiled.memo_kernels import new_memo
from klss_spiel.games.mahjong.compiled.trainable import ViewPlayer
from klss_spiel.games.mahjong.variant import Variant

_NOBODY = -1
_MOST_BARREN_STEPS = 1000


class OpponentDiscards(NamedTuple):
    """Letters: n moments.

    Attributes:
        features: [n, f] what a player sees after the own discard.
        possible: [n, 16] kinds of which that player does not see all tiles.
        move: [n] kind of the opponent's next discard.
    """

    features: Features
    possible: BoolArray
    move: LongArray


def opponent_discards(
    variant: Variant, choose: ViewPlayer, num_games: int, batch: int, seed: int
) -> Iterator[OpponentDiscards]:
    """Plays both seats by `choose` for ever and yields batches of discards.

    A discard that ends the game or is followed by a win teaches nothing.
    """
    games = MahjongBatch(variant, num_games, seed)
    options, tables, memo = options_of(variant), distance_tables(), new_memo()
    waiting = np.full(num_games, _NOBODY)  # who waits for the opponent's discard
    features = np.zeros((num_games, NUM_FEATURES), np.float32)
    possible = np.zeros((num_games, tiles.NUM_KINDS), np.bool_)
    every = np.arange(num_games)
    kept: list[OpponentDiscards] = []
    number, barren = 0, 0
    while True:
        seen = games.observe()
        chosen = choose(seen.features, seen.legal)
        discards = (chosen >= actions.DISCARD) & (chosen < actions.PONG)
        kind = np.where(discards, chosen - actions.DISCARD, 0)
        # With an empty wall the player expects no discard any more.
        answered = discards & (waiting == 1 - seen.player) & possible[every, kind]
        kept.append(
            OpponentDiscards(
                features[answered], possible[answered], chosen[answered] - actions.DISCARD
            )
        )
        number += int(answered.sum())
        barren = 0 if answered.any() else barren + 1
        if barren > _MOST_BARREN_STEPS:
            raise ValueError(f"expected opponents who discard in turn, got none with {variant}")
        which = np.flatnonzero(discards)
        after = games.rows[which]
        model_kernels.discard_all(after, chosen[which] - actions.DISCARD)
        written = np.zeros((len(which), NUM_FEATURES), np.float32)
        model_kernels.view_features_all(tables, options, memo, after, written)
        unseen = np.zeros((len(which), tiles.NUM_KINDS), np.int64)
        model_kernels.unseen_all(options, after, unseen)
        features[which], possible[which] = written, unseen > 0
        waiting[which] = seen.player[which]
        waiting[games.step(chosen).done] = _NOBODY
        if number >= batch:
            seen_then = np.concatenate([part.features for part in kept])
            possible_then = np.concatenate([part.possible for part in kept])
            discarded = np.concatenate([part.move for part in kept])
            yield OpponentDiscards(seen_then[:batch], possible_then[:batch], discarded[:batch])
            rest = (seen_then[batch:], possible_then[batch:], discarded[batch:])
            kept = [OpponentDiscards(*rest)]
            number = len(discarded) - batch
