"""What a win is worth: the best reading of the hand, fan by fan.

Some fans are narrower or wider than their names: shifted pungs do not see kongs, concealed
pungs lose one if the tile won by a discard is that of a triplet, even where it also
completes a chow. This is how the environment counts whose scores the tests hold
against; `reference_quirks` turns on the one point in which it does not do what it means to:
its count of visible tiles for "last tile" looks past the river.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.fans import Fan, counted, value_of
from klss_spiel.games.mahjong.melds import KONGS, Meld, MeldKind
from klss_spiel.games.mahjong.shapes import SETS_WITH_SEVEN_PAIRS, Shape, shapes

_FOUR: Final = 4
_ALL_FLOWERS: Final = 8
_FIRST_PLAYER: Final = 0
_NO_RIVER: Final = (0,) * tiles.NUM_KINDS


@dataclasses.dataclass(frozen=True)
class Win:
    """A hand that has won, and how.

    Attributes:
        winner: 0 or 1.
        hand: [16] concealed tiles, the winning one among them.
        melds: of both players.
        win_tile: the tile that completed the hand.
        self_drawn: whether the winner drew it.
        robbed: whether it was taken from an opponent's added kong.
        wall_left: tiles left to draw.
        flowers: flowers of the winner.
        ready: whether the winner had declared Ting.
        heavenly_ready: whether at the first own action.
        after_kong: whether the tile was drawn in place of a kong's.
        river: [16] discards on the table, the winning one not among them.
        river_size: their number, for records that do not say which they are.
        sets: sets of a complete hand.
    """

    winner: int
    hand: tiles.Counts
    melds: tuple[tuple[Meld, ...], tuple[Meld, ...]]
    win_tile: int
    self_drawn: bool
    robbed: bool
    wall_left: int
    flowers: int
    ready: bool
    heavenly_ready: bool
    after_kong: bool
    river: tiles.Counts
    river_size: int
    sets: int = 4

    @property
    def own(self) -> tuple[Meld, ...]:
        """The winner's melds."""
        return self.melds[self.winner]


@dataclasses.dataclass(frozen=True)
class _Reading:
    """A win in one reading, with what the fans ask about.

    Attributes:
        win: the win.
        shape: the reading of its concealed part.
        chows: all chows by lowest tile, melds included, ascending.
        pungs: kinds of all triplets, melds included, without kongs, ascending.
        kongs: kinds of all kongs.
        open_melds: number of melds that are not concealed kongs.
    """

    win: Win
    shape: Shape
    chows: tuple[int, ...]
    pungs: tuple[int, ...]
    kongs: tuple[int, ...]
    open_melds: int

    @property
    def triplets(self) -> tuple[int, ...]:
        """Kinds of all triplets and kongs."""
        return self.pungs + self.kongs

    @property
    def pairs(self) -> tuple[int, ...]:
        """Kinds of the pair, or of the seven pairs."""
        return self.shape.pairs

    @property
    def kinds(self) -> set[int]:
        """All kinds of the hand."""
        of_chows = {chow + offset for chow in self.chows for offset in range(3)}
        return of_chows | set(self.triplets) | set(self.pairs)

    def melds_of(self, kind: MeldKind) -> int:
        """Number of the winner's melds of one kind."""
        return sum(meld.kind == kind for meld in self.win.own)


def _read(win: Win, shape: Shape) -> _Reading:
    tile_of = {kind: tuple(m.tile for m in win.own if m.kind == kind) for kind in MeldKind}
    return _Reading(
        win=win,
        shape=shape,
        chows=tuple(sorted(tile_of[MeldKind.CHOW] + shape.chows)),
        pungs=tuple(sorted(tile_of[MeldKind.PONG] + shape.triplets)),
        kongs=tile_of[MeldKind.KONG] + tile_of[MeldKind.CONCEALED_KONG],
        open_melds=sum(meld.kind != MeldKind.CONCEALED_KONG for meld in win.own),
    )


def _among(kinds: Sequence[int], wanted: Sequence[int]) -> int:
    """How many of `kinds` are among `wanted`."""
    return sum(kind in wanted for kind in kinds)


def _has_run(kinds: Sequence[int], length: int, step: int) -> bool:
    """Whether some kind and those `step`, 2 `step`, ... above it are all there."""
    return any(all(k + step * i in kinds for i in range(length)) for k in kinds)


def _concealed_pungs(reading: _Reading) -> int:
    """Concealed triplets and kongs, less one that a discard completed."""
    number = len(reading.shape.triplets) + reading.melds_of(MeldKind.CONCEALED_KONG)
    from_discard = not reading.win.self_drawn and reading.win.win_tile in reading.shape.triplets
    return number - from_discard


def _edge_wait(reading: _Reading) -> bool:
    tile, chows = reading.win.win_tile, reading.shape.chows
    # The 3 of 1-2-3 and in no other chow, or the 7 of 7-8-9.
    if tile == 2:
        return 0 in chows and 1 not in chows and 2 not in chows
    return tile == 6 and 6 in chows and 5 not in chows and 4 not in chows


def _closed_wait(reading: _Reading) -> bool:
    tile, chows = reading.win.win_tile, reading.shape.chows
    return tile - 1 in chows and tile not in chows and tile - 2 not in chows


def _single_wait(reading: _Reading) -> bool:
    tile, shape = reading.win.win_tile, reading.shape
    if shape.is_seven_pairs or tile not in shape.pairs or _heavenly_hand(reading):
        return False
    in_sets = tile in shape.triplets or any(tile - offset in shape.chows for offset in range(3))
    # Next to a chow the hand also waited for the chow's other end.
    beside = tiles.is_suited(tile) and (tile + 1 in shape.chows or tile - 3 in shape.chows)
    return not in_sets and not beside


def _tile_hog(reading: _Reading) -> bool:
    loose = list(reading.win.hand)
    for meld in reading.win.own:
        if meld.kind not in KONGS:
            for tile in meld.tiles:
                loose[tile] += 1
    return _FOUR in loose


def _outside_hand(reading: _Reading) -> bool:
    return all(chow in (0, 6) for chow in reading.chows) and all(
        tiles.is_terminal(kind) or tiles.is_honour(kind)
        for kind in reading.triplets + reading.pairs
    )


def _all_terminals_and_honours(reading: _Reading) -> bool:
    return len(reading.triplets) >= _FOUR and _outside_hand(reading)


def _nine_gates(reading: _Reading) -> bool:
    before = tiles.with_change(reading.win.hand, [(reading.win.win_tile, -1)])
    return before == (3, 1, 1, 1, 1, 1, 1, 1, 3) + (0,) * tiles.NUM_HONOURS


def _whole_hand(reading: _Reading) -> bool:
    """Whether the winner has laid out no meld, not even a concealed kong."""
    return not reading.win.own


def _no_open_melds(reading: _Reading) -> bool:
    """Whether neither player has claimed a tile."""
    return all(
        meld.kind == MeldKind.CONCEALED_KONG for melds in reading.win.melds for meld in melds
    )


def _heavenly_hand(reading: _Reading) -> bool:
    win = reading.win
    first = win.winner == _FIRST_PLAYER and win.river_size == 0
    return first and _whole_hand(reading) and win.self_drawn


def _last_tile(reading: _Reading) -> bool:
    win = reading.win
    open_tiles = [
        tile
        for melds in win.melds
        for meld in melds
        if meld.kind != MeldKind.CONCEALED_KONG
        for tile in meld.tiles
    ]
    return open_tiles.count(win.win_tile) + win.river[win.win_tile] == tiles.MAX_COPIES - 1


def _second_player_unclaimed(reading: _Reading) -> bool:
    return reading.win.winner != _FIRST_PLAYER and _whole_hand(reading) and _no_open_melds(reading)


# When a hand has a fan; whether the fan counts is decided by `fans.counted`.
_CONDITIONS: Final[dict[Fan, Callable[[_Reading], bool]]] = {
    Fan.PURE_DOUBLE_CHOW: lambda r: len(set(r.chows)) < len(r.chows),
    Fan.SHORT_STRAIGHT: lambda r: _has_run(r.chows, 2, 3),
    Fan.TWO_TERMINAL_CHOWS: lambda r: 0 in r.chows and 6 in r.chows,
    Fan.MELDED_KONG: lambda r: r.melds_of(MeldKind.KONG) > 0,
    Fan.EDGE_WAIT: _edge_wait,
    Fan.CLOSED_WAIT: _closed_wait,
    Fan.SINGLE_WAIT: _single_wait,
    Fan.SELF_DRAW: lambda r: r.win.self_drawn,
    Fan.FLOWER_TILES: lambda r: r.win.flowers > 0,
    Fan.READY_HAND: lambda r: r.win.ready,
    Fan.DRAGON_PUNG: lambda r: _among(r.triplets, tiles.DRAGONS) > 0,
    Fan.CONCEALED_HAND: lambda r: r.open_melds == 0 and not r.win.self_drawn,
    Fan.ALL_CHOWS: lambda r: len(r.chows) == _FOUR and tiles.is_suited(r.pairs[0]),
    Fan.TILE_HOG: _tile_hog,
    Fan.TWO_CONCEALED_PUNGS: lambda r: _concealed_pungs(r) >= 2,
    Fan.CONCEALED_KONG: lambda r: r.melds_of(MeldKind.CONCEALED_KONG) > 0,
    Fan.ALL_SIMPLES: lambda r: not any(tiles.is_terminal(k) or tiles.is_honour(k) for k in r.kinds),
    Fan.OUTSIDE_HAND: _outside_hand,
    Fan.FULLY_CONCEALED_HAND: lambda r: r.open_melds == 0 and r.win.self_drawn,
    Fan.TWO_MELDED_KONGS: lambda r: r.melds_of(MeldKind.KONG) == 2,
    Fan.LAST_TILE: _last_tile,
    Fan.LITTLE_THREE_WINDS: lambda r: (
        _among(r.triplets, tiles.WINDS) >= 2 and _among(r.pairs, tiles.WINDS) > 0
    ),
    Fan.ALL_PUNGS: lambda r: len(r.triplets) >= _FOUR,
    Fan.HALF_FLUSH: lambda r: len({tiles.is_suited(kind) for kind in r.kinds}) == 2,
    Fan.TWO_DRAGON_PUNGS: lambda r: _among(r.triplets, tiles.DRAGONS) >= 2,
    Fan.TWO_CONCEALED_KONGS: lambda r: r.melds_of(MeldKind.CONCEALED_KONG) == 2,
    Fan.MELDED_HAND: lambda r: r.open_melds == _FOUR and not r.win.self_drawn,
    Fan.OUT_WITH_REPLACEMENT_TILE: lambda r: r.win.after_kong,
    Fan.ROB_KONG: lambda r: r.win.robbed,
    Fan.LAST_TILE_CLAIM: lambda r: r.win.wall_left == 0,
    Fan.PURE_STRAIGHT: lambda r: _has_run(r.chows, 3, 3),
    Fan.PURE_SHIFTED_CHOWS: lambda r: _has_run(r.chows, 3, 1) or _has_run(r.chows, 3, 2),
    Fan.ALL_FLOWERS: lambda r: r.win.flowers == _ALL_FLOWERS,
    Fan.THREE_CONCEALED_PUNGS: lambda r: _concealed_pungs(r) >= 3,
    Fan.FOUR_HONOUR_PUNGS: lambda r: sum(map(tiles.is_honour, r.triplets)) == _FOUR,
    Fan.BIG_THREE_WINDS: lambda r: _among(r.triplets, tiles.WINDS) >= 3,
    Fan.SEVEN_PAIRS: lambda r: r.shape.is_seven_pairs,
    Fan.PURE_TRIPLE_CHOW: lambda r: any(r.chows.count(chow) >= 3 for chow in r.chows),
    Fan.PURE_SHIFTED_PUNGS: lambda r: _has_run([k for k in r.pungs if tiles.is_suited(k)], 3, 1),
    Fan.FOUR_PURE_SHIFTED_CHOWS: lambda r: _has_run(r.chows, 4, 1) or _has_run(r.chows, 4, 2),
    Fan.THREE_KONGS: lambda r: len(r.kongs) >= 3,
    Fan.ALL_TERMINALS_AND_HONOURS: _all_terminals_and_honours,
    Fan.HEAVENLY_READY_HAND: lambda r: r.win.heavenly_ready,
    Fan.QUADRUPLE_CHOW: lambda r: len(r.chows) == _FOUR and len(set(r.chows)) == 1,
    Fan.FOUR_PURE_SHIFTED_PUNGS: lambda r: _has_run(
        [k for k in r.pungs if tiles.is_suited(k)], 4, 1
    ),
    Fan.FOUR_WINDS_SEVEN_PAIRS: lambda r: (
        r.shape.is_seven_pairs and set(tiles.WINDS) <= set(r.pairs)
    ),
    Fan.THREE_DRAGONS_SEVEN_PAIRS: lambda r: (
        r.shape.is_seven_pairs and set(tiles.DRAGONS) <= set(r.pairs)
    ),
    Fan.LITTLE_FOUR_WINDS: lambda r: (
        _among(r.triplets, tiles.WINDS) >= 3 and r.pairs[0] in tiles.WINDS
    ),
    Fan.LITTLE_THREE_DRAGONS: lambda r: (
        _among(r.triplets, tiles.DRAGONS) >= 2 and r.pairs[0] in tiles.DRAGONS
    ),
    Fan.ALL_HONOURS: lambda r: not r.shape.is_seven_pairs and all(map(tiles.is_honour, r.kinds)),
    Fan.FOUR_CONCEALED_PUNGS: lambda r: _concealed_pungs(r) == _FOUR,
    Fan.PURE_TERMINAL_CHOWS: lambda r: r.chows == (0, 0, 6, 6) and r.pairs == (4,),
    Fan.BIG_FOUR_WINDS: lambda r: _among(r.triplets, tiles.WINDS) == _FOUR,
    Fan.BIG_THREE_DRAGONS: lambda r: set(tiles.DRAGONS) <= set(r.triplets),
    Fan.NINE_GATES: _nine_gates,
    Fan.FOUR_KONGS: lambda r: len(r.kongs) == _FOUR,
    Fan.SEVEN_SHIFTED_PAIRS: lambda r: (
        r.shape.is_seven_pairs
        and all(map(tiles.is_suited, r.kinds))
        and len(r.kinds) == 7
        and max(r.kinds) - min(r.kinds) == 6
    ),
    Fan.UPPER_FOUR: lambda r: r.kinds <= {5, 6, 7, 8},
    Fan.LOWER_FOUR: lambda r: r.kinds <= {0, 1, 2, 3},
    Fan.BIG_SEVEN_HONOURS: lambda r: (
        r.shape.is_seven_pairs and len(r.kinds) == 7 and all(map(tiles.is_honour, r.kinds))
    ),
    Fan.HEAVENLY_HAND: _heavenly_hand,
    Fan.EARTHLY_HAND: lambda r: (
        _second_player_unclaimed(r) and r.win.self_drawn and r.win.river_size == 1
    ),
    Fan.HUMANLY_HAND: lambda r: (
        _second_player_unclaimed(r) and not r.win.self_drawn and r.win.river_size == 0
    ),
    Fan.FULL_FLUSH: lambda r: all(map(tiles.is_suited, r.kinds)),
}


def score(win: Win, reference_quirks: bool = False) -> tuple[int, tuple[Fan, ...]]:
    """Points of a win and the fans that count, in the reading worth most (the first such).

    Raises:
        ValueError: if the hand has not won.
    """
    if reference_quirks:
        win = dataclasses.replace(win, river=_NO_RIVER)
    readings = shapes(win.hand, win.sets - len(win.own), win.sets == SETS_WITH_SEVEN_PAIRS)
    if not readings:
        raise ValueError(
            f"expected {win.sets} sets and a pair or seven pairs, got {tiles.text_of(win.hand)} "
            f"with {len(win.own)} melds"
        )
    best: tuple[int, tuple[Fan, ...]] = (-1, ())
    for shape in readings:
        reading = _read(win, shape)
        kept = counted({fan for fan, holds in _CONDITIONS.items() if holds(reading)})
        points = sum(value_of(fan, win.flowers) for fan in kept)
        if points > best[0]:
            best = (points, kept)
    return best


def win_from_record(record: Mapping[str, Any]) -> Win:
    """A win from a row of a file of scored wins.

    Fields: winner, hand ([16] counts with the winning tile), melds (per player four pairs of
    kind and tile, zeros beyond `n_melds`), n_melds, win_tile, self_drawn, robbed, wall_left,
    flowers, ting, sky (Ting at the first action), after_kong, river_left (discards on the
    table without the winning one) and, if known, river ([16] counts of these).
    """
    try:
        flat, numbers = list(record["melds"]), record["n_melds"]
        melds = tuple(
            tuple(
                Meld(MeldKind(flat[8 * player + 2 * i]), int(flat[8 * player + 2 * i + 1]))
                for i in range(numbers[player])
            )
            for player in (0, 1)
        )
        return Win(
            winner=int(record["winner"]),
            hand=tuple(int(count) for count in record["hand"]),
            melds=(melds[0], melds[1]),
            win_tile=int(record["win_tile"]),
            self_drawn=bool(record["self_drawn"]),
            robbed=bool(record["robbed"]),
            wall_left=int(record["wall_left"]),
            flowers=int(record["flowers"]),
            ready=bool(record["ting"]),
            heavenly_ready=bool(record["sky"]),
            after_kong=bool(record["after_kong"]),
            river=tuple(int(count) for count in record.get("river", _NO_RIVER)),
            river_size=int(record["river_left"]),
        )
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"expected a record of a win, got {record!r}: {error!r}") from error


def score_record(
    record: Mapping[str, Any], reference_quirks: bool = False
) -> tuple[int, list[str]]:
    """Points and names of fans of a record of a win; see `win_from_record`.

    Args:
        record: the row; `score`, `fans` and `values` are not looked at.
        reference_quirks: count as the environment does that made the file.
    """
    points, fans = score(win_from_record(record), reference_quirks)
    return points, [fan.name for fan in fans]
