"""Exploitability estimated from a sample of boards, with an interval.

A strategy that was refined behind some boards only is answered there; what the answer to
the blueprint is worth is known behind all. The estimate of a best response's sum over
boards (see `public_boards`) is the blueprint's sum plus the sampled differences, each
times the number of boards that it stands for (a difference estimator with the blueprint
as control variate). Boards are drawn without replacement, by themselves among those of
equal probability (strata), as many of a stratum as its share of all deals.

The responder's choices before the board are made on the estimated sums. The best of
several estimates is too good on average, so that the estimate is too high; the bootstrap
over boards says by how much, and that is subtracted. The interval is the basic bootstrap
interval (twice the estimate less quantiles of resampled ones), which is shifted likewise.
With all boards in the sample the estimate is exact and the interval a point.

Shapes: B boards, n in the sample, P sequences of a responder in the first round.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from klss_spiel.arrays import FloatArray, IntArray

REPETITIONS = 2000
CONFIDENCE = 0.95
# Fewer boards of a stratum say nothing about how different its boards are.
_LEAST = 2
_DIGITS = 9


@dataclasses.dataclass(frozen=True, eq=False)
class BoardSample:
    """Some of the boards.

    Attributes:
      boards: [n] their numbers, in the order in which they were drawn.
      stratum: [n] which stratum each is of.
      sizes: boards of each stratum, in the sample or not.
    """

    boards: IntArray
    stratum: IntArray
    sizes: IntArray

    @property
    def counts(self) -> IntArray:
        """Boards of each stratum in the sample."""
        return np.bincount(self.stratum, minlength=len(self.sizes))

    @property
    def weights(self) -> FloatArray:
        """[n] how many boards each stands for."""
        weights: FloatArray = (self.sizes / self.counts)[self.stratum]
        return weights


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number that is known from a sample.

    Attributes:
      value: the estimate.
      low: lower end of the interval.
      high: upper end.
    """

    value: float
    low: float
    high: float


def draw_boards(probabilities: FloatArray, count: int, seed: int) -> BoardSample:
    """A random sample; a larger one of the same seed begins with it.

    Args:
      probabilities: [B] of the boards.
      count: how many, at least two of every stratum with two.
      seed: of the draw.
    """
    relative = np.round(probabilities / probabilities.max(), _DIGITS)
    _, stratum = np.unique(relative, return_inverse=True)
    sizes = np.bincount(stratum)
    shares = np.bincount(stratum, weights=probabilities)
    chosen = np.minimum(sizes, _LEAST)
    if not chosen.sum() <= count <= len(probabilities):
        raise ValueError(
            f"expected a sample of {chosen.sum()} (two of each kind) to {len(probabilities)} "
            f"boards, got {count}"
        )
    rng = np.random.default_rng(seed)
    order = [rng.permutation(np.flatnonzero(stratum == s)) for s in range(len(sizes))]
    boards = [int(board) for of, number in zip(order, chosen, strict=True) for board in of[:number]]
    while len(boards) < count:
        # Sainte-Lague's rule: near to the shares, and nobody loses when there are more.
        claim = np.where(chosen < sizes, shares / (2.0 * chosen + 1.0), 0.0)
        best = int(np.argmax(claim))
        boards.append(int(order[best][chosen[best]]))
        chosen[best] += 1
    drawn = np.array(boards)
    return BoardSample(drawn, stratum[drawn], sizes)


def estimated(
    sample: BoardSample,
    totals: Sequence[FloatArray],
    differences: Sequence[FloatArray],
    values: Sequence[Callable[[FloatArray], float]],
    repetitions: int = REPETITIONS,
) -> Estimate:
    """The sum over responders of what their best responses get.

    Args:
      sample: the boards.
      totals: for each responder, [P] the blueprint's sum over all boards.
      differences: for each responder, [n, P] by how much the refined strategy's answers
        differ from the blueprint's at the boards of the sample.
      values: for each responder, from a sum over boards ([P]) to what he gets.
      repetitions: of the bootstrap.
    """
    weights = sample.weights
    sums = [total + weights @ change for total, change in zip(totals, differences, strict=True)]
    direct = sum(value(answers) for value, answers in zip(values, sums, strict=True))
    if np.array_equal(sample.counts, sample.sizes):
        return Estimate(direct, direct, direct)
    shifts = _resampled(sample, repetitions)
    resampled = np.zeros(repetitions)
    for value, answers, change in zip(values, sums, differences, strict=True):
        moved = (shifts * weights) @ change
        resampled += [value(answers + row) for row in moved]
    tail = 0.5 * (1.0 - CONFIDENCE)
    above, below = np.quantile(resampled, [1.0 - tail, tail])
    return Estimate(
        value=float(2.0 * direct - resampled.mean()),
        low=float(2.0 * direct - above),
        high=float(2.0 * direct - below),
    )


def _resampled(sample: BoardSample, repetitions: int) -> FloatArray:
    """[repetitions, n] by how much the bootstrap changes the weight of each board.

    Boards are drawn with replacement from those of their stratum; the factor makes the
    variance that of drawing without replacement from a stratum of its size.
    """
    rng = np.random.default_rng(0)
    shifts = np.zeros((repetitions, len(sample.boards)))
    for stratum, (size, count) in enumerate(zip(sample.sizes, sample.counts, strict=True)):
        if count < size:
            drawn = rng.multinomial(count, np.full(count, 1.0 / count), size=repetitions)
            factor = np.sqrt((1.0 - count / size) * count / (count - 1.0))
            shifts[:, sample.stratum == stratum] = factor * (drawn - 1.0)
    return shifts
