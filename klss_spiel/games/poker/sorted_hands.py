"""Pairs of two-card hands behind a flop, without a matrix of pairs.

Hands sorted by strength are passed through once upwards and once downwards; what the
opponent plays with hands that share a card is subtracted from running sums per card
(Johanson, Waugh, Bowling and Zinkevich 2011). For n hands that is O(n) additions per
outcome instead of n^2, and all outcomes of a board go side by side.

Hands that an exchange of suits turns into each other, the flop staying what it is, are
one class: everything is given and returned by classes.

Shapes: H classes of hands, n hands, T outcomes.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.kernels import kernel


@dataclasses.dataclass(frozen=True, eq=False)
class SortedHands:
    """Hands behind one flop, worst first: see `hand_payoffs.HandPairs`.

    Attributes:
      cards: [n, 2] cards of each hand.
      tie: [n] number of the first hand as strong as this one.
      class_of: [n] its class.
      num_hands: H.
      num_cards: of the deck.
      probability: of each pair of hands that share no card, with the flop.
    """

    cards: IntArray
    tie: IntArray
    class_of: IntArray
    num_hands: int
    num_cards: int
    probability: float

    @classmethod
    def create(
        cls,
        cards: IntArray,
        strength: IntArray,
        class_of: IntArray,
        num_cards: int,
        probability: float,
    ) -> SortedHands:
        """Sorts hands by strength ([n], larger is better); other arguments as above."""
        order = np.argsort(strength, kind="stable")
        ordered = strength[order]
        return cls(
            cards=cards[order].astype(np.int64),
            tie=np.searchsorted(ordered, ordered).astype(np.int64),
            class_of=class_of[order].astype(np.int64),
            num_hands=int(class_of.max()) + 1,
            num_cards=num_cards,
            probability=probability,
        )

    def meet(self, plans: FloatArray) -> FloatArray:
        """See `HandPairs`."""
        met = np.zeros((self.num_hands, len(plans)))
        _meet(plans, self.cards, self.class_of, self.num_cards, met)
        return self.probability * met.T

    def beat(self, plans: FloatArray) -> FloatArray:
        """See `HandPairs`."""
        beaten = np.zeros((self.num_hands, len(plans)))
        _beat(plans, self.cards, self.tie, self.class_of, self.num_cards, beaten)
        return self.probability * beaten.T

    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """See `HandPairs`; n^2 work, for order-1 subgames and checks."""
        own, other = self.cards[:, np.newaxis, :, np.newaxis], self.cards[:, np.newaxis, :]
        apart = ~np.any(own == other, axis=(2, 3))
        sign = np.sign(self.tie[:, np.newaxis] - self.tie)
        member = np.zeros((self.num_hands, len(self.cards)))
        member[self.class_of, np.arange(len(self.cards))] = 1.0
        met = self.probability * (member @ apart @ member.T)
        beaten = self.probability * (member @ (apart * sign) @ member.T)
        return met, beaten


@kernel
def _meet(plans: Any, cards: Any, class_of: Any, num_cards: int, met: Any) -> None:
    """Adds what each class ([H, T]) meets of `plans` ([T, H])."""
    outcomes = plans.shape[0]
    by_class = plans.T.copy()
    total = np.zeros(outcomes)
    of_card = np.zeros((num_cards, outcomes))
    for i in range(len(cards)):
        c, first, second = class_of[i], cards[i, 0], cards[i, 1]
        for t in range(outcomes):
            played = by_class[c, t]
            total[t] += played
            of_card[first, t] += played
            of_card[second, t] += played
    for i in range(len(cards)):
        c, first, second = class_of[i], cards[i, 0], cards[i, 1]
        for t in range(outcomes):
            # The hand itself was subtracted with both of its cards.
            met[c, t] += total[t] - of_card[first, t] - of_card[second, t] + by_class[c, t]


@kernel
def _beat(plans: Any, cards: Any, tie: Any, class_of: Any, num_cards: int, beaten: Any) -> None:
    """Adds what each class ([H, T]) beats less what beats it, of `plans` ([T, H])."""
    outcomes = plans.shape[0]
    count = len(cards)
    by_class = plans.T.copy()
    total = np.zeros(outcomes)
    of_card = np.zeros((num_cards, outcomes))
    start = 0
    while start < count:
        end = start
        while end < count and tie[end] == start:
            c, first, second = class_of[end], cards[end, 0], cards[end, 1]
            for t in range(outcomes):
                beaten[c, t] += total[t] - of_card[first, t] - of_card[second, t]
            end += 1
        _add_hands(start, end, by_class, cards, class_of, total, of_card)
        start = end
    total[:] = 0.0
    of_card[:] = 0.0
    end = count
    while end > 0:
        start = tie[end - 1]
        for i in range(start, end):
            c, first, second = class_of[i], cards[i, 0], cards[i, 1]
            for t in range(outcomes):
                beaten[c, t] -= total[t] - of_card[first, t] - of_card[second, t]
        _add_hands(start, end, by_class, cards, class_of, total, of_card)
        end = start


@kernel
def _add_hands(
    start: int, end: int, by_class: Any, cards: Any, class_of: Any, total: Any, of_card: Any
) -> None:
    """Adds the hands [start, end) to the running sums."""
    for i in range(start, end):
        c, first, second = class_of[i], cards[i, 0], cards[i, 1]
        for t in range(len(total)):
            played = by_class[c, t]
            total[t] += played
            of_card[first, t] += played
            of_card[second, t] += played
