"""What a player can work out from the own view: unseen tiles, distances, features.

Nothing here reads the opponent's hand or the wall. FEATURES lists the parts of the vector
that networks see; distances, counts of helpful tiles and what hands are worth (see
`worth_kernels`) are knowledge of the game built in by hand.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled.distance_kernels import distance
from klss_spiel.games.mahjong.compiled.knowledge_kernels import know_discards, know_waiting
from klss_spiel.games.mahjong.compiled.layout import (
    COPIES,
    DECLARING,
    DRAWN,
    END,
    FLOWERS,
    HAND,
    HONOUR_CODE,
    MAY_KONG,
    MELD_KIND,
    MELD_TILE,
    NEXT,
    NUM_MELDS,
    PHASE,
    PLAYER,
    READY,
    RIVER,
    RIVER_SIZE,
    ROW,
    SETS,
    SUIT_CODE,
    TILE,
    WAITS,
)
from klss_spiel.games.mahjong.compiled.prospect_kernels import write_claimed
from klss_spiel.games.mahjong.compiled.rules_kernels import POWER, distance_with
from klss_spiel.games.mahjong.compiled.worth_kernels import WEIGHTS
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_NO_TILE: Final = tiles.NO_TILE
_HEADS: Final = actions.NUM_CHOW_HEADS
_DISCARD: Final = actions.DISCARD
_CONCEALED_KONG: Final = actions.CONCEALED_KONG
_ADD_KONG: Final = actions.ADD_KONG
_KONG: Final = actions.KONG
_PONG: Final = actions.PONG
_CHOW: Final = actions.CHOW
_DISCARD_PHASE: Final = int(Phase.DISCARD)
_CLAIM_PHASE: Final = int(Phase.CLAIM)
_OVER: Final = int(Phase.OVER)

FEATURE_VERSION: Final = 2
# Parts of the feature vector, in order, with their lengths.
FEATURES: Final = {
    "own_hand": 4 * _K,  # thermometers of counts
    "own_river": 4 * _K,
    "opponent_river": 4 * _K,
    "unseen": 4 * _K,
    "own_chows": 2 * _HEADS,
    "own_pongs": _K,
    "own_kongs": _K,
    "own_concealed_kongs": _K,
    "opponent_chows": 2 * _HEADS,
    "opponent_pongs": _K,
    "opponent_kongs": _K,
    "tile": _K,  # in question
    "drawn": _K,
    "waits": _K,  # declared
    "lacking": 8,  # one-hot
    "good_discards": _K,  # that leave the fewest tiles lacking
    "accepted": _K,  # unseen tiles that help after a discard, / 16
    "good_claims": 2 + _HEADS,  # pong, kong, chows that bring the hand nearer
    "worth_of_discards": _K,  # at once, as a share of the best
    "judged_discards": _K,  # a mean over draws, near the best
    "best_discards": _K,
    "worth_of_claims": 1 + _HEADS,  # pong, chows: change of what the hand is worth, bounded
    "worth": 1,  # of the hand now or after the best discard
    "numbers": 14,
}
NUM_FEATURES: Final = sum(FEATURES.values())
# By count, whether it is above a level.
_LEVELS: Final = np.tri(5, 4, -1, np.float32)
# From `lacking` to `worth`.
_NUM_KNOWLEDGE: Final = 8 + 2 * _K + (2 + _HEADS) + 3 * _K + (1 + _HEADS) + 1


@kernel
def unseen_by(options: Any, row: Any, player: int, unseen: Any) -> None:
    """Writes [16] how many tiles of each kind the player does not see."""
    for kind in range(_K):
        unseen[kind] = (
            options[COPIES]
            - row[HAND + _K * player + kind]
            - row[RIVER + kind]
            - row[RIVER + _K + kind]
        )
    for owner in range(2):
        for i in range(row[NUM_MELDS + owner]):
            meld, first = row[MELD_KIND + 4 * owner + i], row[MELD_TILE + 4 * owner + i]
            if meld == 1:
                for j in range(3):
                    unseen[first + j] -= 1
            elif meld == 2:
                unseen[first] -= 3
            elif meld == 3 or owner == player:
                unseen[first] -= 4


@kernel
def discard_quality(
    tables: Any, options: Any, row: Any, player: int, unseen: Any, lacking: Any, accepted: Any
) -> int:
    """Judges every discard of a hand with a tile too many.

    Args:
        tables: see `rules_kernels`.
        options: see `rules_kernels`.
        row: the game.
        player: whose hand.
        unseen: [16] see `unseen_by`.
        lacking: [16] gets tiles lacking after the discard; 20 for kinds not in the hand.
        accepted: [16] gets unseen tiles that bring the hand nearer, for the best discards.

    Returns:
        The fewest tiles lacking after a discard.
    """
    best = 20
    for kind in range(_K):
        lacking[kind] = 20
        accepted[kind] = 0
        if row[HAND + _K * player + kind]:
            lacking[kind] = distance_with(tables, options, row, player, kind, -1, _NO_TILE, 0)
            best = min(best, lacking[kind])
    for kind in range(_K):
        if lacking[kind] != best:
            continue
        for extra in range(_K):
            held = row[HAND + _K * player + extra] - (1 if extra == kind else 0)
            if (
                unseen[extra] > 0
                and held < 4
                and (distance_with(tables, options, row, player, kind, -1, extra, 1) < best)
            ):
                accepted[kind] += unseen[extra]
    return best


@kernel
def lacking_after_claim(tables: Any, options: Any, row: Any, player: int, action: int) -> int:
    """Tiles lacking after a claim (and the best discard) or a kong (before its draw)."""
    suit, honours = row[SUIT_CODE + player], row[HONOUR_CODE + player]
    sets = options[SETS] - row[NUM_MELDS + player]
    needs_discard = False
    used = np.zeros(_K, np.int64)
    if action >= _CHOW:
        head = (action - _CHOW) // 3
        for i in range(3):
            if head + i != row[TILE]:
                used[head + i] = 1
        needs_discard = True
        sets -= 1
    else:
        kind = (action - _DISCARD) % _K
        if action >= _ADD_KONG:
            used[kind] = 1
        elif action >= _CONCEALED_KONG:
            used[kind] = 4
            sets -= 1
        elif action >= _KONG:
            used[kind] = 3
            sets -= 1
        else:
            used[kind] = 2
            needs_discard = True
            sets -= 1
    for kind in range(_K):
        if kind < _RANKS:
            suit -= used[kind] * POWER[kind]
        else:
            honours -= used[kind] * POWER[kind]
    seven_pairs = options[SETS] == 4 and sets == 4
    if not needs_discard:
        return distance(tables, suit, honours, sets, seven_pairs)
    best = 20
    for kind in range(_K):
        if row[HAND + _K * player + kind] - used[kind] > 0:
            less_suit, less_honours = suit, honours
            if kind < _RANKS:
                less_suit -= POWER[kind]
            else:
                less_honours -= POWER[kind]
            best = min(best, distance(tables, less_suit, less_honours, sets, False))
    return best


@kernel
def _thermometer(out: Any, at: int, counts: Any, offset: int) -> int:
    for kind in range(_K):
        count = min(max(counts[offset + kind], 0), 4)
        for level in range(4):
            out[at + 4 * kind + level] = _LEVELS[count, level]
    return at + 4 * _K


@kernel
def _write_knowledge(
    tables: Any, options: Any, memo: Any, row: Any, legal: Any, unseen: Any, out: Any
) -> None:
    """Writes the parts of the vector about how near hands are and what they are worth."""
    player, tile = row[PLAYER], row[TILE]
    mine = memo.row
    for i in range(ROW):
        mine[i] = row[i]
    lacking, accepted = memo.counts[0], memo.counts[1]
    at_once, judged = memo.worths[0], memo.worths[1]
    good, claims, worth = 8, 8 + 2 * _K, 8 + 2 * _K + 2 + _HEADS
    if row[PHASE] == _DISCARD_PHASE:
        distance_now = distance_with(tables, options, row, player, _NO_TILE, 0, _NO_TILE, 0)
        fewest, most_at_once, now = know_discards(
            tables, options, WEIGHTS, memo, mine, unseen, lacking, accepted, at_once, judged
        )
        for kind in range(_K):
            if lacking[kind] == fewest:
                out[good + kind] = 1.0
                out[good + _K + kind] = accepted[kind] / 16.0
            out[worth + kind] = at_once[kind] / max(most_at_once, 1e-9)
            # What is next to the best differs by little: it is spread out.
            share = judged[kind] / max(now, 1e-9)
            out[worth + _K + kind] = 1.0 - min(5.0 * (1.0 - share), 1.0)
            held = row[HAND + _K * player + kind] > 0
            out[worth + 2 * _K + kind] = 1.0 if judged[kind] == now and held else 0.0
    else:
        distance_now, now = know_waiting(tables, options, WEIGHTS, memo, mine, unseen)
        for slot in range(2 + _HEADS if row[PHASE] == _CLAIM_PHASE else 0):
            # Pong, kong, chows by head.
            action = (_PONG if slot == 0 else _KONG) + tile
            if slot > 1:
                head = slot - 2
                action = _CHOW + 3 * head + tile - head
                if not head <= tile < head + 3:
                    continue
            if not legal[action]:
                continue
            left = lacking_after_claim(tables, options, row, player, action)
            out[claims + slot] = 1.0 if left < distance_now + (slot == 1) else 0.0
            if slot != 1:
                write_claimed(row, action, mine)
                _, _, then = know_discards(
                    tables, options, WEIGHTS, memo, mine, unseen, lacking, accepted, at_once, judged
                )
                change_of_worth = min(then / max(now, 1e-9), 4.0) - 1.0
                out[worth + 3 * _K + max(slot - 1, 0)] = change_of_worth
    out[min(distance_now, 7)] = 1.0
    # Most hands are worth .1 to 60.
    out[worth + 3 * _K + 1 + _HEADS] = np.log(max(now, 1e-3)) / 4.0


@kernel
def write_features(tables: Any, options: Any, memo: Any, row: Any, legal: Any, out: Any) -> None:
    """Writes the feature vector ([NUM_FEATURES]) of the player to move; see FEATURES."""
    out[:] = 0.0
    player = row[PLAYER]
    opponent = 1 - player
    hand = HAND + _K * player
    unseen = memo.counts[2]
    unseen_by(options, row, player, unseen)
    at = _thermometer(out, 0, row, hand)
    at = _thermometer(out, at, row, RIVER + _K * player)
    at = _thermometer(out, at, row, RIVER + _K * opponent)
    at = _thermometer(out, at, unseen, 0)
    hidden_kongs = 0
    for turn in range(2):
        owner = player if turn == 0 else opponent
        for i in range(row[NUM_MELDS + owner]):
            meld, first = row[MELD_KIND + 4 * owner + i], row[MELD_TILE + 4 * owner + i]
            if meld == 1:
                slot = at + 2 * first
                if out[slot] > 0.0:
                    slot += 1
                out[slot] = 1.0
            elif meld == 2:
                out[at + 2 * _HEADS + first] = 1.0
            elif meld == 3:
                out[at + 2 * _HEADS + _K + first] = 1.0
            elif owner == player:
                out[at + 2 * _HEADS + 2 * _K + first] = 1.0
            else:
                hidden_kongs += 1
        at += 2 * _HEADS + (3 if owner == player else 2) * _K
    if row[TILE] >= 0:
        out[at + row[TILE]] = 1.0
    at += _K
    if row[DRAWN] >= 0 and row[PHASE] == _DISCARD_PHASE:
        out[at + row[DRAWN]] = 1.0
    at += _K
    for kind in range(_K):
        if row[WAITS + player] & (1 << kind):
            out[at + kind] = 1.0
    at += _K
    knowledge = out[at : at + _NUM_KNOWLEDGE]
    _write_knowledge(tables, options, memo, row, legal, unseen, knowledge)
    at += _NUM_KNOWLEDGE
    out[at] = 1.0 if row[PHASE] == _DISCARD_PHASE else 0.0
    out[at + 1] = 1.0 if row[PHASE] == _CLAIM_PHASE else 0.0
    out[at + 2] = player
    out[at + 3] = row[READY + player]
    out[at + 4] = row[READY + opponent]
    out[at + 5] = row[DECLARING]
    out[at + 6] = row[MAY_KONG]
    out[at + 7] = (row[END] - row[NEXT]) / 46.0
    out[at + 8] = row[FLOWERS + player] / 8.0
    out[at + 9] = row[FLOWERS + opponent] / 8.0
    out[at + 10] = row[NUM_MELDS + player] / 4.0
    out[at + 11] = row[NUM_MELDS + opponent] / 4.0
    out[at + 12] = hidden_kongs / 4.0
    out[at + 13] = row[RIVER_SIZE] / 46.0


@kernel
def write_all_features(
    tables: Any, options: Any, memo: Any, rows: Any, legal: Any, out: Any
) -> None:
    """`write_features` of every game that is not over ([g, NUM_FEATURES])."""
    for game in range(rows.shape[0]):
        if rows[game, PHASE] != _OVER:
            write_features(tables, options, memo, rows[game], legal[game], out[game])
