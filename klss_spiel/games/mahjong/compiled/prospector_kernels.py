"""A simple player who looks at points: the prospector.

It wins when possible, declares Ting when something is left to wait for, lays out kongs that
do not set it back, claims a tile if that raises what the hand is worth clearly, and discards
what leaves the hand worth most, a mean over draws in proportion to unseen tiles; see
`worth_kernels` for what a hand is worth. A hand that a draw completes is worth its score.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled.analysis_kernels import lacking_after_claim, unseen_by
from klss_spiel.games.mahjong.compiled.layout import (
    HAND,
    PHASE,
    PLAYER,
)
from klss_spiel.games.mahjong.compiled.prospect_kernels import (
    judge_discards,
    worth_of_waiting,
    write_claimed,
)
from klss_spiel.games.mahjong.compiled.rules_kernels import distance_with
from klss_spiel.games.mahjong.compiled.worth_kernels import CLAIM
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import kernel

_K: Final = tiles.NUM_KINDS
_OVER: Final = int(Phase.OVER)
_CLAIM_PHASE: Final = int(Phase.CLAIM)
_DISCARD_PHASE: Final = int(Phase.DISCARD)
_DISCARD: Final = actions.DISCARD
_PONG: Final = actions.PONG
_KONG: Final = actions.KONG
_CONCEALED_KONG: Final = actions.CONCEALED_KONG
_CHOW: Final = actions.CHOW
_HU: Final = actions.HU
_PASS: Final = actions.PASS
_PASS_HU: Final = actions.PASS_HU
_TING: Final = actions.TING
_NUM_ACTIONS: Final = actions.NUM_ACTIONS
_NO_TILE: Final = tiles.NO_TILE


@kernel
def _discard_phase(
    tables: Any, options: Any, weights: Any, row: Any, legal: Any, unseen: Any
) -> int:
    player = row[PLAYER]
    found = np.zeros(_K)
    may = legal[_DISCARD : _DISCARD + _K]
    judge_discards(tables, options, weights, row, may, unseen, found)
    best = -1
    for kind in range(_K):
        if may[kind] and (best < 0 or found[kind] > found[best]):
            best = kind
    lacking = distance_with(tables, options, row, player, best, -1, _NO_TILE, 0)
    for action in range(_CONCEALED_KONG, _CHOW):
        if legal[action] and (lacking_after_claim(tables, options, row, player, action) <= lacking):
            return action
    if legal[_TING] and lacking == 1:
        for extra in range(_K):
            if unseen[extra] > 0 and (
                distance_with(tables, options, row, player, best, -1, extra, 1) == 0
            ):
                return _TING
    return _DISCARD + best


@kernel
def prospector_action(tables: Any, options: Any, weights: Any, row: Any, legal: Any) -> int:
    """What the prospector does; see the module."""
    if legal[_HU]:
        return _HU
    player = row[PLAYER]
    mine = row.copy()
    unseen = np.zeros(_K, np.int64)
    unseen_by(options, row, player, unseen)
    if row[PHASE] == _DISCARD_PHASE:
        return _discard_phase(tables, options, weights, mine, legal, unseen)
    best = _PASS
    if row[PHASE] == _CLAIM_PHASE:
        now = distance_with(tables, options, row, player, _NO_TILE, 0, _NO_TILE, 0)
        most = weights[CLAIM] * worth_of_waiting(tables, options, weights, mine, unseen)
        found = np.zeros(_K)
        for action in range(_PONG, _NUM_ACTIONS):
            if not legal[action]:
                continue
            if _KONG <= action < _CONCEALED_KONG:
                if lacking_after_claim(tables, options, row, player, action) <= now:
                    return action
                continue
            write_claimed(row, action, mine)
            may = mine[HAND + _K * player : HAND + _K * player + _K] > 0
            value = judge_discards(tables, options, weights, mine, may, unseen, found)
            if value > most:
                best, most = action, value
    return best if legal[best] else _PASS_HU


@kernel
def prospector_actions(
    tables: Any, options: Any, weights: Any, rows: Any, legal: Any, chosen: Any
) -> None:
    """`prospector_action` in every game that is not over."""
    for game in range(rows.shape[0]):
        chosen[game] = 0
        if rows[game, PHASE] != _OVER:
            chosen[game] = prospector_action(tables, options, weights, rows[game], legal[game])
