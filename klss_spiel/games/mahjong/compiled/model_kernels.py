"""Moves of the game that is left when the opponent is a model: discards and draws only.

A row is what the player of the search knows: the opponent's hand is empty in it. That
player stays the one to move. See `model_game`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled.analysis_kernels import unseen_by, write_features
from klss_spiel.games.mahjong.compiled.distance_kernels import borrowed_tables
from klss_spiel.games.mahjong.compiled.layout import (
    ACTED,
    AFTER_KONG,
    DRAWN,
    END,
    HAND,
    HONOUR_CODE,
    MAY_KONG,
    MAY_WIN,
    MELD_KIND,
    MELD_TILE,
    NEXT,
    NUM_MELDS,
    PHASE,
    PLAYER,
    RIVER,
    RIVER_SIZE,
    SUIT_CODE,
    TILE,
    WAITS,
)
from klss_spiel.games.mahjong.compiled.memo_kernels import borrowed_memo
from klss_spiel.games.mahjong.compiled.rules_kernels import change, distance_with, points_of_win
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import borrowed, kernel

_K: Final = tiles.NUM_KINDS
_NO_TILE: Final = tiles.NO_TILE
_DRAW_PHASE: Final = int(Phase.DRAW)
_DISCARD_PHASE: Final = int(Phase.DISCARD)
_NUM_ACTIONS: Final = actions.NUM_ACTIONS


@kernel
def veil(row: Any, player: int) -> Any:
    """A copy of a row without what the player cannot see."""
    seen = row.copy()
    opponent = 1 - player
    for kind in range(_K):
        seen[HAND + _K * opponent + kind] = 0
    seen[SUIT_CODE + opponent] = 0
    seen[HONOUR_CODE + opponent] = 0
    seen[WAITS + opponent] = 0
    for i in range(row[NUM_MELDS + opponent]):
        if row[MELD_KIND + 4 * opponent + i] == 4:
            seen[MELD_TILE + 4 * opponent + i] = 0
    seen[END] = row[END] - row[NEXT]
    seen[NEXT] = 0
    return seen


@kernel
def discard_all(rows: Any, kinds: Any) -> None:
    """The player to move discards a kind in every row."""
    for i in range(rows.shape[0]):
        row = rows[i]
        player = row[PLAYER]
        change(row, player, kinds[i], -1)
        row[RIVER + _K * player + kinds[i]] += 1
        row[RIVER_SIZE] += 1
        row[ACTED + player] = 1
        row[PHASE] = _DRAW_PHASE
        row[DRAWN] = _NO_TILE
        row[TILE] = _NO_TILE
        row[AFTER_KONG] = 0


@kernel
def unseen_all(options: Any, rows: Any, unseen: Any) -> None:
    """Writes [n, 16] tiles that the player does not see; none once the wall is empty."""
    counts = np.zeros(_K, np.int64)
    for i in range(rows.shape[0]):
        unseen_by(options, rows[i], rows[i, PLAYER], counts)
        for kind in range(_K):
            unseen[i, kind] = max(counts[kind], 0) if rows[i, END] > rows[i, NEXT] else 0


@kernel
def opponent_discards_all(rows: Any, kinds: Any) -> None:
    """The opponent draws something and discards a kind in every row."""
    for i in range(rows.shape[0]):
        row = rows[i]
        opponent = 1 - row[PLAYER]
        row[END] -= 1
        row[RIVER + _K * opponent + kinds[i]] += 1
        row[RIVER_SIZE] += 1


@kernel
def draw_all(rows: Any, kinds: Any) -> None:
    """The player draws a kind in every row."""
    for i in range(rows.shape[0]):
        row = rows[i]
        row[END] -= 1
        change(row, row[PLAYER], kinds[i], 1)
        row[PHASE] = _DISCARD_PHASE
        row[DRAWN] = kinds[i]
        row[MAY_WIN] = 1
        row[MAY_KONG] = 1


@kernel
def wins_all(tables: Any, options: Any, rows: Any, points: Any) -> None:
    """Writes [n] what the tile just drawn wins, or -1 where it does not."""
    for i in range(rows.shape[0]):
        points[i] = -1
        if distance_with(tables, options, rows[i], rows[i, PLAYER], _NO_TILE, 0, _NO_TILE, 0) == 0:
            points[i] = points_of_win(tables, options, rows[i])


@kernel
def view_features(tables: Any, options: Any, memo: Any, row: Any, player: int, out: Any) -> None:
    """Features of a player who has just discarded, whoever is to move in the row."""
    seen = veil(row, player)
    seen[PLAYER] = player
    seen[PHASE] = _DRAW_PHASE
    seen[TILE] = _NO_TILE
    seen[DRAWN] = _NO_TILE
    write_features(tables, options, memo, seen, np.zeros(_NUM_ACTIONS, np.bool_), out)


@kernel
def view_features_all(tables: Any, options: Any, memo: Any, rows: Any, out: Any) -> None:
    """`view_features` of who has just discarded in every row ([n, f])."""
    tables, options, memo = borrowed_tables(tables), borrowed(options), borrowed_memo(memo)
    rows, out = borrowed(rows), borrowed(out)
    for i in range(rows.shape[0]):
        view_features(tables, options, memo, rows[i], rows[i, PLAYER], out[i])


@kernel
def write_all_features_of(tables: Any, options: Any, memo: Any, rows: Any, out: Any) -> None:
    """Features of players to discard in every row ([n, f])."""
    tables, options, memo = borrowed_tables(tables), borrowed(options), borrowed_memo(memo)
    rows, out = borrowed(rows), borrowed(out)
    no_actions = np.zeros(_NUM_ACTIONS, np.bool_)
    for i in range(rows.shape[0]):
        write_features(tables, options, memo, rows[i], no_actions, out[i])
