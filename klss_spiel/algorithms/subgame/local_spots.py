"""One player's part of a closure of a public game, in numbers of its own."""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.arrays import IntArray
from klss_spiel.public_game import Closure, PublicGame
from klss_spiel.sequence_form import Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE

AT_ROOT = -1


@dataclasses.dataclass(frozen=True, eq=False)
class LocalSpots:
    """One player's spots in a closure, numbered from 0 whatever the number of hands.

    With H hands the sequence of hand h and action a at spot k is shift[k] H + h
    num_actions[k] + a, to which callers add what comes before.

    Attributes:
      num_actions: [K].
      shift: [K] actions of the spots before.
      parent: [K] the own spot before, or -1 at the root.
      parent_action: [K] its action.
    """

    num_actions: IntArray
    shift: IntArray
    parent: IntArray
    parent_action: IntArray

    @classmethod
    def of(cls, game: PublicGame, closure: Closure, player: int) -> LocalSpots:
        """The player's spots in a closure."""
        own = [k for k in closure.spots if game.spots[k].player == player]
        place = {k: number for number, k in enumerate(own)}
        spots = [game.spots[k] for k in own]
        num_actions = np.array([len(spot.actions) for spot in spots], dtype=np.int64)
        return cls(
            num_actions=num_actions,
            shift=np.cumsum(num_actions) - num_actions,
            parent=np.array([place.get(spot.before, AT_ROOT) for spot in spots]),
            parent_action=np.array([spot.action_before for spot in spots]),
        )

    @property
    def total(self) -> int:
        """Actions of all spots."""
        return int(self.num_actions.sum())

    def sequence(self, spot: IntArray, hand: IntArray, action: IntArray, hands: int) -> IntArray:
        """Local sequences with so many hands."""
        sequence: IntArray = self.shift[spot] * hands + hand * self.num_actions[spot] + action
        return sequence

    def infosets(self, hands: int) -> tuple[IntArray, IntArray, IntArray]:
        """[K H] spot by spot: first local sequence, number of actions, parent or -1 - hand."""
        spot = np.repeat(np.arange(len(self.num_actions)), hands)
        hand = np.tile(np.arange(hands), len(self.num_actions))
        first = self.sequence(spot, hand, np.zeros_like(spot), hands)
        above = self.sequence(self.parent[spot], hand, self.parent_action[spot], hands)
        parent = np.where(self.parent[spot] == AT_ROOT, -1 - hand, above)
        return first, self.num_actions[spot], parent

    def hand_of(self, hands: int) -> IntArray:
        """[total H] the hand of each local sequence."""
        of_spots = [np.repeat(np.arange(hands), count) for count in self.num_actions]
        return np.concatenate(of_spots)

    def forest(self, roots: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Parent, first and number of actions of infosets below so many roots; [F] the root.

        As `gadgets.MarginGame` has them: every root has one hand.
        """
        first, num_actions, parent = self.infosets(roots)
        parent = np.where(parent < 0, -1 - parent, parent + roots)
        root = np.concatenate([np.arange(roots), self.hand_of(roots)])
        return parent, first + roots, num_actions, root

    def treeplex(self, hands: int) -> Treeplex:
        """The player's strategies: local sequences after the empty one."""
        first, num_actions, parent = self.infosets(hands)
        return Treeplex(
            parent_sequence=np.where(parent < 0, EMPTY_SEQUENCE, parent + 1).astype(np.int32),
            first_sequence=(first + 1).astype(np.int32),
            num_actions=num_actions.astype(np.int32),
            num_sequences=1 + self.total * hands,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class HandLayout:
    """A subgame of one hand without its payoffs: attributes as of `gadgets.MarginGame`.

    Rows and columns are those of each outcome with each root.
    """

    parent: IntArray
    first: IntArray
    num_actions: IntArray
    root: IntArray
    row: IntArray
    column: IntArray


def hand_layout(
    own: LocalSpots,
    theirs: LocalSpots,
    ends: tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]],
    roots: int,
) -> HandLayout:
    """The layout with some roots.

    Args:
      own: the player's spots.
      theirs: the opponent's.
      ends: of the player and of the opponent, [T] spot and action at each outcome.
      roots: how many.
    """
    (own_spot, own_action), (spot, action) = ends
    row = 1 + own.sequence(own_spot, np.zeros_like(own_spot), own_action, 1)
    column = roots + theirs.sequence(
        spot[:, np.newaxis], np.arange(roots), action[:, np.newaxis], roots
    )
    return HandLayout(*theirs.forest(roots), np.repeat(row, roots), column.reshape(-1))
