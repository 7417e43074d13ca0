"""The rules on rows of numbers: what `rules` says, compiled; see there for why.

Functions take `tables` (see `distance_kernels`), `options` and one `row` (see `layout`), and
change the row. Chance is the order of a deck: two hands, then the wall.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled import scoring_kernels as scoring
from klss_spiel.games.mahjong.compiled.distance_kernels import distance
from klss_spiel.games.mahjong.compiled.layout import (
    ACTED,
    AFTER_KONG,
    DECLARING,
    DRAWN,
    END,
    FLOWERS,
    FORCED_HU,
    HAND,
    HAND_SIZE,
    HEAVENLY,
    HONOUR_CODE,
    KONGS,
    MAY_KONG,
    MAY_WIN,
    MELD_KIND,
    MELD_TILE,
    NEXT,
    NUM_MELDS,
    PHASE,
    PLAYER,
    POINTS,
    READY,
    RIVER,
    RIVER_SIZE,
    SEPARATE_PASS_HU,
    SETS,
    SUIT_CODE,
    TILE,
    TING,
    WAITS,
    WALL_SIZE,
)
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_FLOWER: Final = tiles.FLOWER
_NO_TILE: Final = tiles.NO_TILE
_DISCARD_PHASE: Final = int(Phase.DISCARD)
_CLAIM_PHASE: Final = int(Phase.CLAIM)
_ROB_PHASE: Final = int(Phase.ROB)
_OVER: Final = int(Phase.OVER)
_PASS: Final = actions.PASS
_HU: Final = actions.HU
_PASS_HU: Final = actions.PASS_HU
_TING_ACTION: Final = actions.TING
_DISCARD: Final = actions.DISCARD
_PONG: Final = actions.PONG
_KONG: Final = actions.KONG
_CONCEALED_KONG: Final = actions.CONCEALED_KONG
_ADD_KONG: Final = actions.ADD_KONG
_CHOW: Final = actions.CHOW
POWER: Final = np.array(
    [5**kind for kind in range(_RANKS)] + [5**kind for kind in range(tiles.NUM_HONOURS)], np.int64
)


@kernel
def change(row: Any, player: int, kind: int, amount: int) -> None:
    """Adds tiles to a hand, or takes them."""
    row[HAND + _K * player + kind] += amount
    if kind < _RANKS:
        row[SUIT_CODE + player] += amount * POWER[kind]
    else:
        row[HONOUR_CODE + player] += amount * POWER[kind]


@kernel
def distance_with(
    tables: Any, options: Any, row: Any, player: int, first: int, plus: int, second: int, more: int
) -> int:
    """Tiles a hand lacks after two changes of `plus` and `more` tiles; kinds may be NO_TILE."""
    suit, honours = row[SUIT_CODE + player], row[HONOUR_CODE + player]
    if first >= 0:
        if first < _RANKS:
            suit += plus * POWER[first]
        else:
            honours += plus * POWER[first]
    if second >= 0:
        if second < _RANKS:
            suit += more * POWER[second]
        else:
            honours += more * POWER[second]
    melds = row[NUM_MELDS + player]
    return distance(tables, suit, honours, options[SETS] - melds, options[SETS] == 4 and melds == 0)


@kernel
def _wins_with(tables: Any, options: Any, row: Any, player: int, extra: int) -> bool:
    if extra >= 0 and row[HAND + _K * player + extra] >= 4:
        return False
    return distance_with(tables, options, row, player, extra, 1, _NO_TILE, 0) == 0


@kernel
def waits_without(tables: Any, options: Any, row: Any, player: int, kind: int) -> int:
    """Mask of kinds that complete the hand once `kind` is discarded."""
    mask = 0
    for extra in range(_K):
        held = row[HAND + _K * player + extra] - (1 if extra == kind else 0)
        if held < 4 and (distance_with(tables, options, row, player, kind, -1, extra, 1) == 0):
            mask |= 1 << extra
    return mask


@kernel
def _kong_keeps_wait(
    tables: Any, options: Any, row: Any, player: int, kind: int, number: int
) -> bool:
    if row[READY + player] == 0:
        return True
    suit, honours = row[SUIT_CODE + player], row[HONOUR_CODE + player]
    if kind < _RANKS:
        suit -= number * POWER[kind]
    else:
        honours -= number * POWER[kind]
    sets = options[SETS] - row[NUM_MELDS + player] - 1
    for extra in range(_K):
        if extra == kind or not row[WAITS + player] & (1 << extra):
            continue
        if row[HAND + _K * player + extra] >= 4:
            continue
        added_suit, added_honours = suit, honours
        if extra < _RANKS:
            added_suit += POWER[extra]
        else:
            added_honours += POWER[extra]
        if distance(tables, added_suit, added_honours, sets, False) == 0:
            return True
    return False


@kernel
def _has_pong(row: Any, player: int, kind: int) -> bool:
    for i in range(row[NUM_MELDS + player]):
        slot = 4 * player + i
        if row[MELD_KIND + slot] == 2 and row[MELD_TILE + slot] == kind:
            return True
    return False


@kernel
def _claims(tables: Any, options: Any, row: Any, legal: Any) -> int:
    """Marks what the player can do with the discard, passing apart; returns how many."""
    player, tile = row[PLAYER], row[TILE]
    hand = HAND + _K * player
    number = 0
    if row[MAY_WIN] and _wins_with(tables, options, row, player, tile):
        legal[_HU] = True
        number += 1
    held = row[hand + tile]
    if options[KONGS] and held == 3 and _kong_keeps_wait(tables, options, row, player, tile, 3):
        legal[_KONG + tile] = True
        number += 1
    if row[READY + player]:
        return number
    if held >= 2:
        legal[_PONG + tile] = True
        number += 1
    if tile < _RANKS:
        for head in range(max(tile - 2, 0), min(tile, _RANKS - 3) + 1):
            complete = True
            for i in range(3):
                if head + i != tile and row[hand + head + i] == 0:
                    complete = False
            if complete:
                legal[_CHOW + 3 * head + tile - head] = True
                number += 1
    return number


@kernel
def legal_actions(tables: Any, options: Any, row: Any, legal: Any) -> None:
    """Writes the mask ([105]) of the player's actions."""
    legal[:] = False
    player, phase = row[PLAYER], row[PHASE]
    hand = HAND + _K * player
    ready, declaring = row[READY + player] != 0, row[DECLARING] != 0
    if phase == _DISCARD_PHASE:
        lacking = distance_with(tables, options, row, player, _NO_TILE, 0, _NO_TILE, 0)
        # A discard leaves a wait if and only if the hand lacks at most one tile with it.
        may_wait = options[TING] != 0 and lacking <= 1
        any_wait = False
        if ready and not declaring:
            legal[_DISCARD + row[DRAWN]] = True
        else:
            for kind in range(_K):
                if row[hand + kind] == 0:
                    continue
                waiting = 0
                if may_wait and (
                    distance_with(tables, options, row, player, kind, -1, _NO_TILE, 0) == 1
                ):
                    any_wait = True
                    if declaring:
                        waiting = waits_without(tables, options, row, player, kind)
                if not declaring or waiting & row[WAITS + player]:
                    legal[_DISCARD + kind] = True
        if row[MAY_WIN] and lacking == 0:
            legal[_HU] = True
        if any_wait and not ready:
            legal[_TING_ACTION] = True
        if options[KONGS] and row[MAY_KONG]:
            for kind in range(_K):
                if row[hand + kind] == 4 and (
                    _kong_keeps_wait(tables, options, row, player, kind, 4)
                ):
                    legal[_CONCEALED_KONG + kind] = True
                if (
                    row[hand + kind]
                    and (not ready or legal[_DISCARD + kind])
                    and _has_pong(row, player, kind)
                ):
                    legal[_ADD_KONG + kind] = True
    elif phase == _CLAIM_PHASE:
        _claims(tables, options, row, legal)
        legal[_PASS] = True
    elif phase == _ROB_PHASE:
        legal[_HU] = True
        legal[_PASS] = options[FORCED_HU] != 0 or options[SEPARATE_PASS_HU] == 0
    if legal[_HU]:
        if options[FORCED_HU]:
            legal[:] = False
            legal[_HU] = True
        elif options[SEPARATE_PASS_HU]:
            legal[_PASS_HU] = True


@kernel
def deal(options: Any, row: Any, deck: Any) -> None:
    """Starts a game: hands, replacement of their flowers, the first draw."""
    row[:] = 0
    size = options[HAND_SIZE]
    for player in range(2):
        for i in range(size):
            kind = deck[size * player + i]
            if kind == _FLOWER:
                row[FLOWERS + player] += 1
            else:
                change(row, player, kind, 1)
    row[NEXT] = 2 * size
    row[END] = 2 * size + options[WALL_SIZE]
    for player in range(2):
        lacking = row[FLOWERS + player]
        while lacking > 0:
            if row[NEXT] == row[END]:
                row[PHASE] = _OVER
                return
            kind = deck[row[NEXT]]
            row[NEXT] += 1
            if kind == _FLOWER:
                row[FLOWERS + player] += 1
            else:
                change(row, player, kind, 1)
                lacking -= 1
    _draw(row, deck, 0, False)


@kernel
def _draw(row: Any, deck: Any, player: int, after_kong: bool) -> None:
    row[PLAYER] = player
    row[TILE] = _NO_TILE
    row[AFTER_KONG] = after_kong
    while True:
        if row[NEXT] == row[END]:
            row[PHASE] = _OVER
            return
        kind = deck[row[NEXT]]
        row[NEXT] += 1
        if kind != _FLOWER:
            break
        row[FLOWERS + player] += 1
        row[AFTER_KONG] = 0
    change(row, player, kind, 1)
    row[PHASE] = _DISCARD_PHASE
    row[DRAWN] = kind
    row[MAY_WIN] = 1
    row[MAY_KONG] = 1
    row[DECLARING] = 0


@kernel
def apply(tables: Any, options: Any, row: Any, deck: Any, action: int, scratch: Any) -> None:
    """Plays a legal action, and everything until the next decision or the end.

    Args:
        tables: see the module.
        options: see the module.
        row: the game.
        deck: its tiles in order.
        action: what the player does.
        scratch: [105] booleans to work with.
    """
    player = row[PLAYER]
    hand = HAND + _K * player
    if action == _HU:
        points = points_of_win(tables, options, row)
        row[POINTS] = points if player == 0 else -points
        row[PHASE] = _OVER
    elif action == _PASS or (action == _PASS_HU and row[PHASE] == _ROB_PHASE):
        if row[PHASE] == _ROB_PHASE:
            _draw(row, deck, 1 - player, True)
        else:
            _draw(row, deck, player, False)
    elif action == _PASS_HU:
        row[MAY_WIN] = 0
        if row[PHASE] == _CLAIM_PHASE and _claims(tables, options, row, scratch) == 0:
            _draw(row, deck, player, False)
    elif action == _TING_ACTION:
        waits = 0
        for kind in range(_K):
            if row[hand + kind]:
                waits |= waits_without(tables, options, row, player, kind)
        row[WAITS + player] = waits
        row[READY + player] = 1
        row[HEAVENLY + player] = row[ACTED + player] == 0
        row[MAY_WIN] = 0
        row[DECLARING] = 1
    elif action < _PONG:
        _discard(tables, options, row, deck, action - _DISCARD, scratch)
    elif _CONCEALED_KONG <= action < _CHOW:
        _own_kong(tables, options, row, deck, action)
    else:
        _claim(row, deck, action)


@kernel
def _discard(tables: Any, options: Any, row: Any, deck: Any, kind: int, scratch: Any) -> None:
    player = row[PLAYER]
    if row[READY + player]:
        row[WAITS + player] &= waits_without(tables, options, row, player, kind)
    change(row, player, kind, -1)
    row[RIVER + _K * player + kind] += 1
    row[RIVER_SIZE] += 1
    row[ACTED + player] = 1
    row[PHASE] = _CLAIM_PHASE
    row[PLAYER] = 1 - player
    row[TILE] = kind
    row[DRAWN] = _NO_TILE
    row[AFTER_KONG] = 0
    row[MAY_WIN] = 1
    row[DECLARING] = 0
    if _claims(tables, options, row, scratch) == 0:
        _draw(row, deck, 1 - player, False)


@kernel
def _own_kong(tables: Any, options: Any, row: Any, deck: Any, action: int) -> None:
    player = row[PLAYER]
    kind = (action - _DISCARD) % _K
    row[ACTED + player] = 1
    row[DRAWN] = _NO_TILE
    row[DECLARING] = 0
    if action < _ADD_KONG:
        change(row, player, kind, -4)
        slot = 4 * player + row[NUM_MELDS + player]
        row[MELD_KIND + slot] = 4
        row[MELD_TILE + slot] = kind
        row[NUM_MELDS + player] += 1
    else:
        change(row, player, kind, -1)
        for i in range(row[NUM_MELDS + player]):
            slot = 4 * player + i
            if row[MELD_KIND + slot] == 2 and row[MELD_TILE + slot] == kind:
                row[MELD_KIND + slot] = 3
        if _wins_with(tables, options, row, 1 - player, kind):
            row[PHASE] = _ROB_PHASE
            row[PLAYER] = 1 - player
            row[TILE] = kind
            row[MAY_WIN] = 1
            return
    _draw(row, deck, player, True)


@kernel
def _claim(row: Any, deck: Any, action: int) -> None:
    player, tile = row[PLAYER], row[TILE]
    slot = 4 * player + row[NUM_MELDS + player]
    row[NUM_MELDS + player] += 1
    row[MELD_TILE + slot] = tile
    row[ACTED + player] = 1
    row[RIVER + _K * (1 - player) + tile] -= 1
    row[RIVER_SIZE] -= 1
    if action >= _CHOW:
        head = (action - _CHOW) // 3
        row[MELD_KIND + slot] = 1
        row[MELD_TILE + slot] = head
        for i in range(3):
            if head + i != tile:
                change(row, player, head + i, -1)
    elif action >= _KONG:
        row[MELD_KIND + slot] = 3
        change(row, player, tile, -3)
        _draw(row, deck, player, True)
        return
    else:
        row[MELD_KIND + slot] = 2
        change(row, player, tile, -2)
    row[PHASE] = _DISCARD_PHASE
    row[TILE] = _NO_TILE
    row[DRAWN] = _NO_TILE
    row[MAY_WIN] = 0
    row[MAY_KONG] = 0
    row[DECLARING] = 0


@kernel
def points_of_win(tables: Any, options: Any, row: Any) -> int:
    """Points that Hu brings to the player."""
    player, phase = row[PLAYER], row[PHASE]
    self_drawn = phase == _DISCARD_PHASE
    tile = row[DRAWN] if self_drawn else row[TILE]
    hand = np.zeros(_K, np.int64)
    for kind in range(_K):
        hand[kind] = row[HAND + _K * player + kind]
    if not self_drawn:
        hand[tile] += 1
    claimed = 1 if phase == _CLAIM_PHASE else 0
    visible = row[RIVER + tile] + row[RIVER + _K + tile] - claimed
    any_open = 0
    for owner in range(2):
        for i in range(row[NUM_MELDS + owner]):
            kind = row[MELD_KIND + 4 * owner + i]
            first = row[MELD_TILE + 4 * owner + i]
            if kind == 4:
                continue
            any_open = 1
            if kind == 1:
                if first <= tile <= first + 2:
                    visible += 1
            elif first == tile:
                # A kong that is being robbed is still a pong.
                visible += 3 if kind == 2 or phase == _ROB_PHASE else 4
    facts = np.zeros(scoring.NUM_FACTS, np.int64)
    facts[scoring.WINNER] = player
    facts[scoring.WIN_TILE] = tile
    facts[scoring.SELF_DRAWN] = self_drawn
    facts[scoring.ROBBED] = phase == _ROB_PHASE
    facts[scoring.WALL_LEFT] = row[END] - row[NEXT]
    facts[scoring.FLOWERS] = row[FLOWERS + player]
    facts[scoring.READY] = row[READY + player]
    facts[scoring.HEAVENLY_READY] = row[HEAVENLY + player]
    facts[scoring.AFTER_KONG] = self_drawn and row[AFTER_KONG] != 0
    facts[scoring.RIVER_SIZE] = row[RIVER_SIZE] - claimed
    facts[scoring.VISIBLE] = visible
    facts[scoring.ANY_OPEN_MELD] = any_open
    facts[scoring.SETS] = options[SETS]
    kinds = row[MELD_KIND + 4 * player : MELD_KIND + 4 * player + 4].astype(np.int64)
    firsts = row[MELD_TILE + 4 * player : MELD_TILE + 4 * player + 4].astype(np.int64)
    return scoring.win_points(facts, hand, kinds, firsts, np.int64(row[NUM_MELDS + player]))
