"""Which Mahjong is played: tiles, size of hands, length, and which rules are on."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping
from typing import Any, Final

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.shapes import SETS_WITH_SEVEN_PAIRS

WHOLE_WALL: Final = -1
MAX_FLOWERS: Final = 8
DEALS: Final = ("auto", "multiset", "tiles")
# Beyond this many hands they are dealt tile by tile.
_MANY_HANDS: Final = 5_000


@dataclasses.dataclass(frozen=True)
class Variant:
    """A game of the family; the default is the full game of 72 tiles.

    Attributes:
        ranks: kinds of the suit.
        honours: kinds of dragons and winds, dragons first.
        copies: tiles of each of these kinds.
        sets: sets of a complete hand, which also has a pair; a hand has 3 * sets + 1 tiles.
        flowers: flower tiles.
        wall_limit: tiles that can be drawn after the deal, or WHOLE_WALL.
        forced_hu: whether a win must be taken.
        ting: whether a ready hand can be declared.
        kongs: whether four equal tiles can be laid out.
        separate_pass_hu: whether passing a win is an action of its own.
        deal: "multiset" (one chance outcome per hand), "tiles", or "auto" by size.
    """

    ranks: int = 9
    honours: int = 7
    copies: int = 4
    sets: int = 4
    flowers: int = 8
    wall_limit: int = WHOLE_WALL
    forced_hu: bool = False
    ting: bool = True
    kongs: bool = True
    separate_pass_hu: bool = False
    deal: str = "auto"

    def __post_init__(self) -> None:
        _expect(
            3 <= self.ranks <= tiles.NUM_RANKS or self.ranks == 0,
            "ranks from 3 to 9, as a chow needs three, or 0 for honours only",
            self.ranks,
        )
        _expect(0 <= self.honours <= tiles.NUM_HONOURS, "honours from 0 to 7", self.honours)
        _expect(1 <= self.copies <= tiles.MAX_COPIES, "copies from 1 to 4", self.copies)
        _expect(1 <= self.sets <= 4, "sets from 1 to 4", self.sets)
        _expect(0 <= self.flowers <= MAX_FLOWERS, "flowers from 0 to 8", self.flowers)
        _expect(self.deal in DEALS, f"deal among {', '.join(DEALS)}", self.deal)
        for name in ("kongs", "ting"):
            _expect(
                not getattr(self, name) or self.copies == tiles.MAX_COPIES,
                f"{name}=False unless copies=4, as the rules of {name} reckon with four tiles "
                "of a kind",
                f"{name}=True with copies={self.copies}",
            )
        needed = 2 * self.hand_size + 1
        _expect(
            self.num_tiles - self.flowers >= needed,
            f"at least {needed} tiles beside flowers for two hands of {self.hand_size} and a draw",
            self.num_tiles - self.flowers,
        )
        most = self.num_tiles - 2 * self.hand_size
        _expect(
            self.wall_limit == WHOLE_WALL or 1 <= self.wall_limit <= most,
            f"wall_limit from 1 to the {most} tiles left after the deal, or -1 for all",
            self.wall_limit,
        )
        _expect(
            self.deal != "multiset" or self.num_hands <= 100 * _MANY_HANDS,
            "deal=tiles or auto for a game of so many hands",
            f"deal=multiset with {self.num_hands} hands",
        )

    @property
    def hand_size(self) -> int:
        """Tiles of a hand between turns."""
        return 3 * self.sets + 1

    @property
    def num_tiles(self) -> int:
        """Tiles of the game."""
        return self.copies * (self.ranks + self.honours) + self.flowers

    @property
    def wall_size(self) -> int:
        """Tiles that can be drawn after the deal."""
        left = self.num_tiles - 2 * self.hand_size
        return left if self.wall_limit == WHOLE_WALL else self.wall_limit

    @property
    def seven_pairs(self) -> bool:
        """Whether seven pairs win."""
        return self.sets == SETS_WITH_SEVEN_PAIRS

    @property
    def deck(self) -> tuple[int, ...]:
        """[17] tiles of each kind."""
        counts = [0] * (tiles.NUM_KINDS + 1)
        for kind in range(self.ranks):
            counts[kind] = self.copies
        for honour in range(self.honours):
            counts[tiles.NUM_RANKS + honour] = self.copies
        counts[tiles.FLOWER] = self.flowers
        return tuple(counts)

    @property
    def num_hands(self) -> int:
        """Multisets of tiles that a hand can be, flowers included."""
        ways = [1] + [0] * self.hand_size
        for count in self.deck:
            ways = [
                sum(ways[size - taken] for taken in range(min(count, size) + 1))
                for size in range(self.hand_size + 1)
            ]
        return ways[self.hand_size]

    @property
    def deals_multisets(self) -> bool:
        """Whether a hand is one chance outcome."""
        return self.deal == "multiset" or (self.deal == "auto" and self.num_hands <= _MANY_HANDS)

    @functools.cached_property
    def hands(self) -> tuple[tuple[int, ...], ...]:
        """[H, 17] every multiset a hand can be, for deals by multiset."""
        choices = (range(min(count, self.hand_size) + 1) for count in self.deck)
        return tuple(
            counts for counts in itertools.product(*choices) if sum(counts) == self.hand_size
        )

    @property
    def max_game_length(self) -> int:
        """No game has more decisions: a draw leads to at most five, a claim to four."""
        return 5 * self.wall_size + 10 * self.sets + 10


def _expect(holds: bool, what: str, came: Any) -> None:
    if not holds:
        raise ValueError(f"expected {what}, got {came}")


def hand_probability(counts: tuple[int, ...], unseen: tuple[int, ...]) -> float:
    """The probability that a hand dealt from `unseen` is `counts`."""
    ways = math.prod(math.comb(left, taken) for left, taken in zip(unseen, counts, strict=True))
    return ways / math.comb(sum(unseen), sum(counts))


def variant_from_parameters(parameters: Mapping[str, Any]) -> Variant:
    """The variant that a complete set of OpenSpiel parameters describes."""
    names = {field.name for field in dataclasses.fields(Variant)}
    return Variant(**{name: value for name, value in parameters.items() if name in names})
