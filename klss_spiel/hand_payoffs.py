"""The payoff operator of poker: hands of both players behind each public outcome.

In a game in which players see everything but each other's hand, the payoffs behind one
public outcome are a matrix over pairs of hands, and there are few different ones:
somebody folded (the probability of the pair) or the hands are shown (the same, with a
sign). What all hands earn is one product of such a matrix with the opponent's
probabilities of playing there, hand by hand, and a `HandPairs` may know a faster way
to it than n^2 multiplications (Johanson, Waugh, Bowling and Zinkevich 2011).

Shapes: H hands, T outcomes (public terminal nodes), S sequences of a player.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.kernels import kernel
from klss_spiel.payoff_operator import PayoffOperator
from klss_spiel.tree import PLAYERS


class HandPairs(Protocol):
    """Pairs of hands that can be dealt together, the same hands for both players."""

    @property
    def num_hands(self) -> int:
        """H."""

    def meet(self, plans: FloatArray) -> FloatArray:
        """[T, H] sum over the other's hands of the pair's probability times `plans` ([T, H])."""

    def beat(self, plans: FloatArray) -> FloatArray:
        """[T, H] the same where better hands count 1, equal ones 0 and worse ones -1."""

    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """[H, H] twice: what `meet` and `beat` multiply with."""


@dataclasses.dataclass(frozen=True, eq=False)
class MatrixPairs:
    """Pairs as matrices.

    Attributes:
      probability: [H, H] of each pair; symmetric.
      order: [H, H] the same times the sign of who wins; antisymmetric.
    """

    probability: FloatArray
    order: FloatArray

    @classmethod
    def of_strengths(cls, probability: FloatArray, strength: IntArray) -> MatrixPairs:
        """Pairs of hands of which the one with the larger strength ([H]) wins."""
        sign = np.sign(strength[:, np.newaxis] - strength[np.newaxis, :])
        return cls(probability, probability * sign)

    @property
    def num_hands(self) -> int:
        """H."""
        return len(self.probability)

    def meet(self, plans: FloatArray) -> FloatArray:
        """See `HandPairs`."""
        product: FloatArray = plans @ self.probability
        return product

    def beat(self, plans: FloatArray) -> FloatArray:
        """See `HandPairs`."""
        product: FloatArray = plans @ self.order
        return np.negative(product, out=product)

    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """See `HandPairs`."""
        return self.probability, self.order


@dataclasses.dataclass(frozen=True, eq=False)
class HandOutcomes:
    """Public outcomes that share their pairs of hands, folds before showdowns.

    With hand h a player's sequence at outcome t is start + stride * h; a stride of 0
    stands for one sequence of all hands.

    Attributes:
      pairs: the hands.
      num_folds: how many of the outcomes are folds.
      stake: [T] what player 0 gets by a fold (negative if it is his), and what the better
        hand wins.
      start: for each player, [T].
      stride: for each player, [T].
      scale: for each player, [T, H], or [1, H] for all outcomes alike, what payoffs with
        each of his hands are multiplied by.
    """

    pairs: HandPairs
    num_folds: int
    stake: FloatArray
    start: tuple[IntArray, IntArray]
    stride: tuple[IntArray, IntArray]
    scale: tuple[FloatArray, FloatArray]

    def sequences(self, player: int) -> IntArray:
        """[T, H] the player's sequence at each outcome with each hand."""
        hands = np.arange(self.pairs.num_hands)
        start, stride = self.start[player], self.stride[player]
        sequences: IntArray = start[:, np.newaxis] + stride[:, np.newaxis] * hands
        return sequences

    def add_gradient(
        self, player: int, opponent_plan: npt.NDArray[Any], gradient: npt.NDArray[Any]
    ) -> None:
        """See `PayoffOperator`."""
        other = 1 - player
        plans = np.empty((len(self.stake), self.pairs.num_hands))
        _gather(opponent_plan, self.start[other], self.stride[other], self.scale[other], plans)
        folds = self.num_folds
        place = self.start[player], self.stride[player], self.scale[player]
        if folds:
            earned = self.pairs.meet(plans[:folds])
            stake = self.stake if player == PLAYERS[0] else -self.stake
            _scatter(earned, 0, stake, *place, gradient)
        if folds < len(self.stake):
            earned = self.pairs.beat(plans[folds:])
            _scatter(earned, folds, self.stake, *place, gradient)

    def renumbered(
        self,
        numbers: tuple[IntArray, IntArray],
        factors: tuple[FloatArray, FloatArray] | None,
    ) -> HandOutcomes:
        """See `PayoffOperator`; hands must stay in a row."""
        start, scale = [], []
        for p in PLAYERS:
            old = self.sequences(p)
            new = numbers[p][old]
            if not np.array_equal(new - new[:, :1], old - old[:, :1]):
                raise ValueError("expected sequences of one outcome to keep their distances")
            start.append(new[:, 0].astype(np.int64))
            scale.append(self.scale[p] if factors is None else self.scale[p] * factors[p][old])
        return dataclasses.replace(self, start=(start[0], start[1]), scale=(scale[0], scale[1]))

    def entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """See `PayoffOperator`."""
        meet, beat = self.pairs.matrices()
        row, column = self.sequences(0), self.sequences(1)
        shape = (len(self.stake), *meet.shape)
        matrix = np.where((np.arange(shape[0]) < self.num_folds)[:, None, None], meet, beat)
        value = self.stake[:, None, None] * matrix
        value = value * self.scale[0][:, :, np.newaxis] * self.scale[1][:, np.newaxis, :]
        kept = value != 0.0
        rows = np.broadcast_to(row[:, :, np.newaxis], shape)
        columns = np.broadcast_to(column[:, np.newaxis, :], shape)
        return rows[kept], columns[kept], value[kept]


def join_outcomes(parts: Sequence[HandOutcomes]) -> HandOutcomes:
    """Outcomes with the same pairs of hands as one: larger products are faster."""
    if len(parts) == 1:
        return parts[0]
    is_fold = np.concatenate([np.arange(len(part.stake)) < part.num_folds for part in parts])
    order = np.argsort(~is_fold, kind="stable")

    def joined(arrays: Sequence[npt.NDArray[Any]]) -> Any:
        return np.concatenate(list(arrays))[order]

    def joined_scale(player: int) -> FloatArray:
        scales = [part.scale[player] for part in parts]
        if all(scale is scales[0] for scale in scales) and len(scales[0]) == 1:
            return scales[0]
        shapes = [(len(part.stake), part.pairs.num_hands) for part in parts]
        full = [np.broadcast_to(s, shape) for s, shape in zip(scales, shapes, strict=True)]
        return np.ascontiguousarray(joined(full))

    return HandOutcomes(
        pairs=parts[0].pairs,
        num_folds=int(is_fold.sum()),
        stake=joined([part.stake for part in parts]),
        start=(joined([part.start[0] for part in parts]), joined([p.start[1] for p in parts])),
        stride=(joined([part.stride[0] for part in parts]), joined([p.stride[1] for p in parts])),
        scale=(joined_scale(0), joined_scale(1)),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class HandPayoffs:
    """Payoffs behind public outcomes: see `payoff_operator.PayoffOperator`.

    Attributes:
      parts: outcomes by what they share, e.g. by boards.
    """

    parts: tuple[HandOutcomes, ...]

    def add_gradient(
        self, player: int, opponent_plan: npt.NDArray[Any], gradient: npt.NDArray[Any]
    ) -> None:
        """See `PayoffOperator`."""
        for part in self.parts:
            part.add_gradient(player, opponent_plan, gradient)

    def renumbered(
        self,
        numbers: tuple[IntArray, IntArray],
        factors: tuple[FloatArray, FloatArray] | None = None,
    ) -> HandPayoffs:
        """See `PayoffOperator`."""
        return HandPayoffs(tuple(part.renumbered(numbers, factors) for part in self.parts))

    def joined(self, others: Sequence[PayoffOperator]) -> HandPayoffs:
        """See `PayoffOperator`; the others are of this kind too."""
        more = [part for other in others for part in cast(HandPayoffs, other).parts]
        of_pairs: dict[int, list[HandOutcomes]] = {}
        for part in (*self.parts, *more):
            of_pairs.setdefault(id(part.pairs), []).append(part)
        return HandPayoffs(tuple(join_outcomes(parts) for parts in of_pairs.values()))

    def entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """See `PayoffOperator`."""
        parts = [part.entries() for part in self.parts]
        row, column, value = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return row, column, value


@kernel
def _gather(plan: Any, start: Any, stride: Any, scale: Any, plans: Any) -> None:
    """Fills `plans` ([T, H]) with each hand's probability at each outcome."""
    alike = scale.shape[0] == 1
    for t in range(plans.shape[0]):
        place = start[t]
        row = 0 if alike else t
        for h in range(plans.shape[1]):
            plans[t, h] = plan[place] * scale[row, h]
            place += stride[t]


@kernel
def _scatter(
    earned: Any, offset: int, stake: Any, start: Any, stride: Any, scale: Any, gradient: Any
) -> None:
    """Adds what hands earn at outcomes from `offset` on to the payoffs of their sequences."""
    alike = scale.shape[0] == 1
    for i in range(earned.shape[0]):
        t = offset + i
        place = start[t]
        row = 0 if alike else t
        for h in range(earned.shape[1]):
            gradient[place] += stake[t] * scale[row, h] * earned[i, h]
            place += stride[t]
