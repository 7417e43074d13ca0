"""What a player's search looks at: the own infosets, with models for all else.

OLSS paper, section 5.2 and appendix D: once the opponent plays by a model, he is part of the
environment, and the nodes of the search are infosets of the player: own hand, melds, both
rivers and how many tiles of each kind are unseen. The opponent's hand is never guessed. Only
discards are played; the player draws in proportion to what is unseen.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, FloatArray, LongArray
from klss_spiel.games.mahjong import actions, tiles, views
from klss_spiel.games.mahjong.compiled import layout, model_kernels
from klss_spiel.games.mahjong.compiled.distance_kernels import BASE, distance_tables
from klss_spiel.games.mahjong.compiled.environment import NUM_FEATURES, Features, options_of
from klss_spiel.games.mahjong.compiled.memo_kernels import HandMemo, new_memo
from klss_spiel.games.mahjong.rules import Phase, Position
from klss_spiel.games.mahjong.variant import Variant

Rows = npt.NDArray[np.int32]
_K: Final = tiles.NUM_KINDS
_NO_POINTS: Final = -1


def row_of_view(view: Position, player: int) -> npt.NDArray[np.int32]:
    """A row of the compiled environment from what a player knows (`views.own_view`)."""
    row = np.zeros(layout.ROW, np.int32)
    row[layout.PHASE] = view.phase
    row[layout.PLAYER] = player
    row[layout.TILE] = view.tile
    row[layout.DRAWN] = view.drawn
    row[layout.AFTER_KONG] = view.after_kong
    row[layout.MAY_WIN] = view.may_win
    row[layout.MAY_KONG] = view.may_kong
    row[layout.DECLARING] = view.declaring
    row[layout.END] = view.wall_left
    row[layout.RIVER_SIZE] = sum(len(side.river) for side in view.sides)
    for p, side in enumerate(view.sides):
        row[layout.NUM_MELDS + p] = len(side.melds)
        row[layout.FLOWERS + p] = side.flowers
        row[layout.READY + p] = side.ready
        row[layout.HEAVENLY + p] = side.heavenly
        row[layout.ACTED + p] = side.acted
        row[layout.WAITS + p] = sum(1 << kind for kind in side.waits) if p == player else 0
        hand = side.hand if p == player else (0,) * _K
        row[layout.HAND + _K * p : layout.HAND + _K * (p + 1)] = hand
        row[layout.SUIT_CODE + p] = sum(c * BASE**i for i, c in enumerate(hand[:9]))
        row[layout.HONOUR_CODE + p] = sum(c * BASE**i for i, c in enumerate(hand[9:]))
        for kind in side.river:
            row[layout.RIVER + _K * p + kind] += 1
        for i, meld in enumerate(side.melds):
            row[layout.MELD_KIND + 4 * p + i] = meld.kind
            row[layout.MELD_TILE + 4 * p + i] = max(meld.tile, 0)
    return row


def row_of_information_state(variant: Variant, text: str) -> npt.NDArray[np.int32]:
    """A row of what a player knows who is to move, from the information state alone."""
    view = views.own_view(variant, text)
    return row_of_view(view, view.player)


def can_search(row: npt.NDArray[np.int32], legal: BoolArray) -> bool:
    """Whether there is a choice of discards, of a hand that is not bound by Ting."""
    own_discard = row[layout.PHASE] == Phase.DISCARD
    bound = row[layout.READY + row[layout.PLAYER]]
    choices = legal[actions.DISCARD : actions.PONG].sum() > 1
    return bool(own_discard and not bound and choices and not legal[actions.HU])


class MahjongModelGame:
    """Infosets that follow others; see `algorithms.olss_search.model_game`.

    Attributes:
        variant: which Mahjong.
        num_roots: infosets searched side by side.
    """

    num_moves = _K

    def __init__(self, variant: Variant, rows: Rows, memo: HandMemo | None = None) -> None:
        """Starts from infosets in which the player to move has to discard.

        Args:
            variant: which Mahjong.
            rows: [r, ROW] or [ROW], see `row_of_information_state`; what the player cannot
                see in them is not looked at.
            memo: of hands of this variant, to be used again by later searches.
        """
        self.variant = variant
        self._roots: Rows = np.stack([_veiled(row) for row in np.atleast_2d(rows)], dtype=np.int32)
        self.num_roots = len(self._roots)
        self._options = options_of(variant)
        self._tables = distance_tables()
        self._memo = new_memo() if memo is None else memo

    def root_actions(self, root: int) -> LongArray:
        """[k] own discards."""
        return actions.DISCARD + np.flatnonzero(_own_hands(self._roots[root : root + 1])[0])

    def start(self, roots: LongArray) -> Rows:
        """[n, ROW] copies of infosets."""
        return self._roots[roots]

    def views(self, rows: Rows) -> tuple[Features, BoolArray]:
        """What a blueprint sees where the player has to discard: [n, f], [n, 105]."""
        features = np.empty((len(rows), NUM_FEATURES), np.float32)
        model_kernels.write_all_features_of(self._tables, self._options, self._memo, rows, features)
        legal = np.zeros((len(rows), actions.NUM_ACTIONS), np.bool_)
        legal[:, actions.DISCARD : actions.PONG] = _own_hands(rows) > 0
        return features, legal

    def own_move(self, rows: Rows, chosen: LongArray) -> None:
        """The player discards ([n] actions)."""
        model_kernels.discard_all(rows, chosen - actions.DISCARD)

    def opponent_features(self, rows: Rows) -> Features:
        """[n, f] what a learned model sees after the player's discard."""
        features = np.empty((len(rows), NUM_FEATURES), np.float32)
        model_kernels.view_features_all(self._tables, self._options, self._memo, rows, features)
        return features

    def unseen(self, rows: Rows) -> FloatArray:
        """[n, 16] tiles that the player does not see; none where the wall is empty."""
        unseen = np.zeros((len(rows), _K), np.int64)
        model_kernels.unseen_all(self._options, rows, unseen)
        return unseen.astype(np.float64)

    def opponent_move(self, rows: Rows, kinds: LongArray) -> None:
        """The opponent discards ([n] kinds)."""
        model_kernels.opponent_discards_all(rows, kinds)

    def draw(self, rows: Rows, kinds: LongArray) -> None:
        """The player draws ([n] kinds)."""
        model_kernels.draw_all(rows, kinds)

    def wins(self, rows: Rows) -> FloatArray:
        """[n] points that the tile just drawn wins, NaN where it does not."""
        points = np.zeros(len(rows), np.int64)
        model_kernels.wins_all(self._tables, self._options, rows, points)
        return np.where(points == _NO_POINTS, np.nan, points)


def _veiled(row: npt.NDArray[np.int32]) -> Rows:
    """What the player to move sees, who has to discard."""
    if row[layout.PHASE] != Phase.DISCARD:
        raise ValueError(
            f"expected a player who has to discard, got {Phase(int(row[layout.PHASE])).name}"
        )
    veiled: Rows = model_kernels.veil(row, int(row[layout.PLAYER]))
    return veiled


def _own_hands(rows: Rows) -> Rows:
    """[n, 16] hands of the players to move."""
    hands = rows[:, layout.HAND : layout.HAND + 2 * _K].reshape(-1, 2, _K)
    own: Rows = hands[np.arange(len(rows)), rows[:, layout.PLAYER]]
    return own
