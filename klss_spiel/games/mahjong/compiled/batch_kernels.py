"""Loops over many games: shuffling, steps, legal actions, random and greedy players."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled.analysis_kernels import (
    discard_quality,
    lacking_after_claim,
    unseen_by,
)
from klss_spiel.games.mahjong.compiled.layout import (
    PHASE,
    PLAYER,
    POINTS,
)
from klss_spiel.games.mahjong.compiled.rules_kernels import (
    apply,
    deal,
    distance_with,
    legal_actions,
)
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import kernel

_K: Final = tiles.NUM_KINDS
_OVER: Final = int(Phase.OVER)
_CLAIM_PHASE: Final = int(Phase.CLAIM)
_DISCARD_PHASE: Final = int(Phase.DISCARD)
_DISCARD: Final = actions.DISCARD
_KONG: Final = actions.KONG
_CONCEALED_KONG: Final = actions.CONCEALED_KONG
_CHOW: Final = actions.CHOW
_HU: Final = actions.HU
_PASS: Final = actions.PASS
_PASS_HU: Final = actions.PASS_HU
_TING: Final = actions.TING
_PONG: Final = actions.PONG
_NUM_ACTIONS: Final = actions.NUM_ACTIONS
_NO_TILE: Final = tiles.NO_TILE


@kernel
def next_random(state: Any, slot: int) -> Any:
    """The next 64 random bits of one of several xorshift64* generators."""
    x = state[slot]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[slot] = x
    return x * np.uint64(0x2545F4914F6CDD1D)


@kernel
def random_below(state: Any, slot: int, bound: int) -> Any:
    """A random number from 0 to bound - 1 (bound far below 2^32)."""
    high = next_random(state, slot) >> np.uint64(32)
    return np.int64((high * np.uint64(bound)) >> np.uint64(32))


@kernel
def shuffle(state: Any, slot: int, deck: Any) -> None:
    """Shuffles a deck in place."""
    for i in range(deck.shape[0] - 1, 0, -1):
        j = random_below(state, slot, i + 1)
        deck[i], deck[j] = deck[j], deck[i]


@kernel
def deal_all(options: Any, rows: Any, decks: Any, generators: Any, shuffled: bool) -> None:
    """Starts every game, with a shuffled deck or the one that is there."""
    for game in range(rows.shape[0]):
        if shuffled:
            shuffle(generators, game, decks[game])
        deal(options, rows[game], decks[game])
        # A wall too short for the flowers of the deal ends a game before it begins.
        while shuffled and rows[game, PHASE] == _OVER:
            shuffle(generators, game, decks[game])
            deal(options, rows[game], decks[game])


@kernel
def step_all(
    tables: Any,
    options: Any,
    rows: Any,
    decks: Any,
    generators: Any,
    chosen: Any,
    restart: Any,
    done: Any,
    points: Any,
) -> None:
    """Plays one action in every game that is not over.

    Args:
        tables: see `rules_kernels`.
        options: see `rules_kernels`.
        rows: [g, ROW] games.
        decks: [g, tiles].
        generators: [g] random generators.
        chosen: [g] actions.
        restart: whether games that end are followed by new ones.
        done: [g] gets whether the game ended now.
        points: [g] gets what player 0 won in games that ended now.
    """
    scratch = np.zeros(_NUM_ACTIONS, np.bool_)
    for game in range(rows.shape[0]):
        done[game] = False
        points[game] = 0
        if rows[game, PHASE] == _OVER:
            continue
        apply(tables, options, rows[game], decks[game], chosen[game], scratch)
        if rows[game, PHASE] == _OVER:
            done[game] = True
            points[game] = rows[game, POINTS]
            while restart and rows[game, PHASE] == _OVER:
                shuffle(generators, game, decks[game])
                deal(options, rows[game], decks[game])


@kernel
def legal_all(tables: Any, options: Any, rows: Any, legal: Any) -> None:
    """Writes [g, 105] masks of legal actions; none in games that are over."""
    for game in range(rows.shape[0]):
        legal_actions(tables, options, rows[game], legal[game])


@kernel
def random_actions(legal: Any, generators: Any, chosen: Any) -> None:
    """Chooses uniformly among legal actions ([g, 105]); 0 where there are none."""
    for game in range(legal.shape[0]):
        number = 0
        for action in range(_NUM_ACTIONS):
            number += legal[game, action]
        chosen[game] = 0
        if number == 0:
            continue
        left = random_below(generators, game, number)
        for action in range(_NUM_ACTIONS):
            if legal[game, action]:
                if left == 0:
                    chosen[game] = action
                    break
                left -= 1


@kernel
def play_randomly(
    tables: Any, options: Any, rows: Any, decks: Any, generators: Any, steps: int
) -> int:
    """Plays `steps` random actions in every game, restarting those that end; games ended."""
    games = rows.shape[0]
    legal = np.zeros((games, _NUM_ACTIONS), np.bool_)
    chosen = np.zeros(games, np.int64)
    done = np.zeros(games, np.bool_)
    points = np.zeros(games, np.int64)
    ended = 0
    for _ in range(steps):
        legal_all(tables, options, rows, legal)
        random_actions(legal, generators, chosen)
        step_all(tables, options, rows, decks, generators, chosen, np.bool_(1), done, points)
        for game in range(games):
            ended += done[game]
    return ended


@kernel
def greedy_action(tables: Any, options: Any, row: Any, legal: Any) -> int:
    """What a player does who only wants to complete the hand soon.

    Wins when possible, declares Ting when something is left to wait for, lays out kongs and
    claims tiles if that leaves fewer tiles lacking (kongs: not more), and discards what
    leaves the fewest lacking, then the most unseen tiles that help, then honours before
    ranks.
    """
    if legal[_HU]:
        return _HU
    player = row[PLAYER]
    unseen = np.zeros(_K, np.int64)
    if row[PHASE] == _DISCARD_PHASE:
        lacking = np.zeros(_K, np.int64)
        accepted = np.zeros(_K, np.int64)
        unseen_by(options, row, player, unseen)
        discard_quality(tables, options, row, player, unseen, lacking, accepted)
        best, best_value = -1, -1
        for kind in range(_K):
            if legal[_DISCARD + kind]:
                value = 1000 * (20 - lacking[kind]) + 10 * accepted[kind] + (1 if kind >= 9 else 0)
                if value > best_value:
                    best, best_value = kind, value
        for action in range(_CONCEALED_KONG, _CHOW):
            kind = (action - _DISCARD) % _K
            if legal[action] and (
                lacking_after_claim(tables, options, row, player, action) <= lacking[best]
            ):
                return action
        if legal[_TING] and accepted[best] > 0:
            return _TING
        return _DISCARD + best
    now = distance_with(tables, options, row, player, _NO_TILE, 0, _NO_TILE, 0)
    best_claim, best_lacking = _PASS, now
    if row[PHASE] == _CLAIM_PHASE:
        for action in range(_PONG, _NUM_ACTIONS):
            if not legal[action] or _CONCEALED_KONG <= action < _CHOW:
                continue
            left = lacking_after_claim(tables, options, row, player, action)
            kong = _KONG <= action < _CONCEALED_KONG
            if left < best_lacking or (kong and left <= best_lacking):
                best_claim, best_lacking = action, left
    if not legal[best_claim]:
        return _PASS_HU
    return best_claim


@kernel
def greedy_actions(tables: Any, options: Any, rows: Any, legal: Any, chosen: Any) -> None:
    """`greedy_action` in every game that is not over."""
    for game in range(rows.shape[0]):
        chosen[game] = 0
        if rows[game, PHASE] != _OVER:
            chosen[game] = greedy_action(tables, options, rows[game], legal[game])
