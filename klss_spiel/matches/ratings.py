"""What results of games say about strength.

Games come in *pairs*: the same two players with swapped seats, the same chance and the
same seeds of each seat. The two games of a pair are not independent, pairs are; so every
interval here is made of pairs (pentanomial statistics, as chess engines are tested).
Scores are 1, 1/2 and 0 for a win, a draw and a loss.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

from klss_spiel.arrays import FloatArray

BOOTSTRAP_SAMPLES = 4000
CONFIDENCE = 0.95
_ELO_SCALE = 400.0
# Of a variance estimated from few pairs; keeps the ratio of likelihoods finite.
_LEAST_VARIANCE = 1e-4
# Fewer equal results than this say nothing about how much results differ.
_FEW = 20
# Draws of the bootstrap that are in memory at a time.
_DRAWS_AT_ONCE = 1 << 20


def elo_of_score(score: float) -> float:
    """Elo difference at which this share of the points is expected; infinite at 0 and 1."""
    if score <= 0.0:
        return -math.inf
    if score >= 1.0:
        return math.inf
    return _ELO_SCALE * math.log10(score / (1.0 - score))


def score_of_elo(elo: float) -> float:
    """Expected score of a player who is stronger by `elo`."""
    return float(1.0 / (1.0 + 10.0 ** (-elo / _ELO_SCALE)))


@dataclasses.dataclass(frozen=True)
class Interval:
    """An estimate with an interval of 95%."""

    estimate: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Tally:
    """The result of one player against another, from the first player's side.

    Attributes:
      wins: games won.
      draws: games drawn.
      losses: games lost.
      pair_scores: mean score of each complete pair of games, in order.
      single_scores: scores of games whose partner is missing.
      rewards: mean payoff of each pair, or of a game whose partner is missing.
    """

    wins: int
    draws: int
    losses: int
    pair_scores: tuple[float, ...]
    single_scores: tuple[float, ...]
    rewards: tuple[float, ...]

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of the points; 1/2 before the first game."""
        return (self.wins + 0.5 * self.draws) / self.games if self.games else 0.5

    @property
    def pentanomial(self) -> tuple[int, int, int, int, int]:
        """Pairs with 0, 1/2, 1, 3/2 and 2 points."""
        counts = [0] * 5
        for score in self.pair_scores:
            counts[round(4 * score)] += 1
        return (counts[0], counts[1], counts[2], counts[3], counts[4])

    @property
    def units(self) -> FloatArray:
        """Scores of the independent units: pairs, and games without a partner."""
        return np.array([*self.pair_scores, *self.single_scores])

    @property
    def unit_games(self) -> FloatArray:
        """How many games each of the units is: 2 or 1."""
        return np.repeat([2.0, 1.0], [len(self.pair_scores), len(self.single_scores)])


def tally(
    scores: Mapping[int, Sequence[float | None]], rewards: Mapping[int, Sequence[float | None]]
) -> Tally:
    """Counts the games of a match.

    Args:
      scores: by number of the pair, the first player's scores in its two games; None for
        a game that is missing.
      rewards: likewise the first player's payoffs.
    """
    played = [s for pair in scores.values() for s in pair if s is not None]
    complete = [[s for s in scores[n] if s is not None] for n in sorted(scores)]
    paid = [[r for r in rewards[n] if r is not None] for n in sorted(rewards)]
    return Tally(
        wins=sum(s == 1.0 for s in played),
        draws=sum(s == 0.5 for s in played),
        losses=sum(s == 0.0 for s in played),
        pair_scores=tuple(sum(pair) / 2 for pair in complete if len(pair) == 2),
        single_scores=tuple(pair[0] for pair in complete if len(pair) == 1),
        rewards=tuple(sum(pair) / len(pair) for pair in paid if pair),
    )


def mean_interval(
    units: Sequence[float] | FloatArray, seed: int = 0, weights: FloatArray | None = None
) -> Interval:
    """Mean of independent units with a bootstrap interval; endless if there are too few."""
    values = np.asarray(units, dtype=np.float64)
    weights = np.ones(len(values)) if weights is None else weights
    if not len(values):
        return Interval(math.nan, -math.inf, math.inf)
    if len(values) == 1 or (len(values) < _FEW and not np.ptp(values)):
        return Interval(float(values[0]), -math.inf, math.inf)  # nothing known of the spread
    means = _bootstrap_means(values, weights, np.random.default_rng(seed))
    tail = 50.0 * (1.0 - CONFIDENCE)
    low, high = np.percentile(means, [tail, 100.0 - tail])
    # The bootstrap takes the sample's spread for the whole's, which is n / (n - 1) wider.
    widening = math.sqrt(len(values) / (len(values) - 1))
    mean = float(np.average(values, weights=weights))
    return Interval(mean, mean - widening * (mean - low), mean + widening * (high - mean))


def _bootstrap_means(
    values: FloatArray, weights: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """[BOOTSTRAP_SAMPLES] means of values drawn with replacement, little memory at a time."""
    at_once = max(1, _DRAWS_AT_ONCE // len(values))
    means = np.empty(BOOTSTRAP_SAMPLES)
    for start in range(0, BOOTSTRAP_SAMPLES, at_once):
        rows = min(at_once, BOOTSTRAP_SAMPLES - start)
        drawn = rng.integers(len(values), size=(rows, len(values)))
        total = weights[drawn].sum(axis=1)
        means[start : start + rows] = (weights * values)[drawn].sum(axis=1) / total
    return means


def elo_interval(result: Tally, seed: int = 0) -> Interval:
    """Elo difference with its interval; bounds may be infinite."""
    scores = mean_interval(result.units, seed, result.unit_games)
    if result.games and not np.ptp(result.units):
        # All pairs ended alike: the rule of three bounds what was not seen.
        missing = min(1.0, 3.0 / len(result.units))
        middle = scores.estimate
        low, high = max(0.0, middle - missing / 2), min(1.0, middle + missing / 2)
        scores = Interval(middle, low, high)
    return Interval(*(elo_of_score(s) for s in (scores.estimate, scores.low, scores.high)))


def _cautious_variance(scores: FloatArray) -> float:
    """Of pair scores, with one imagined pair of every result: few that are alike prove little."""
    padded = np.concatenate([scores, [0.0, 0.25, 0.5, 0.75, 1.0]])
    weights = np.concatenate([np.ones(len(scores)), np.full(5, 0.2)])
    mean = float(np.average(padded, weights=weights))
    return max(float(np.average((padded - mean) ** 2, weights=weights)), _LEAST_VARIANCE)


def likelihood_of_superiority(result: Tally) -> float:
    """Probability that the first player is the stronger one, by the normal approximation."""
    units = result.units
    if len(units) < 2:
        return 0.5
    spread = math.sqrt(_cautious_variance(units) / len(units))
    return NormalDist().cdf((float(units.mean()) - 0.5) / spread)


@dataclasses.dataclass(frozen=True)
class Sprt:
    """A sequential test of "stronger by elo1" against "stronger by elo0".

    The generalised likelihood ratio of pair scores under a normal approximation, with
    Wald's bounds.

    Attributes:
      elo0: the hypothesis that is accepted at the lower bound.
      elo1: the one accepted at the upper bound.
      alpha: probability of accepting elo1 where elo0 holds.
      beta: probability of accepting elo0 where elo1 holds.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise ValueError(f"expected elo0 below elo1, got {self.elo0} and {self.elo1}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Log-likelihood ratios at which the test ends."""
        return (
            math.log(self.beta / (1.0 - self.alpha)),
            math.log((1.0 - self.beta) / self.alpha),
        )

    def log_likelihood_ratio(self, pair_scores: Sequence[float]) -> float:
        """Of elo1 over elo0, after some pairs."""
        if len(pair_scores) < 2:
            return 0.0
        scores = np.asarray(pair_scores)
        s0, s1 = score_of_elo(self.elo0), score_of_elo(self.elo1)
        ratio = (s1 - s0) * (2.0 * float(scores.mean()) - s0 - s1)
        return len(scores) * ratio / (2.0 * _cautious_variance(scores))

    def verdict(self, pair_scores: Sequence[float]) -> float | None:
        """The Elo difference that is accepted, or None while the test goes on."""
        ratio = self.log_likelihood_ratio(pair_scores)
        low, high = self.bounds
        if ratio <= low:
            return self.elo0
        return self.elo1 if ratio >= high else None

    def first_decision(self, pair_scores: Sequence[float]) -> int | None:
        """After how many pairs the test ends, or None if it has not."""
        for count in range(1, len(pair_scores) + 1):
            if self.verdict(pair_scores[:count]) is not None:
                return count
        return None


def bradley_terry(
    players: Sequence[str], results: Mapping[tuple[int, int], Tally], seed: int = 0
) -> list[Interval]:
    """Elo ratings of several players whose mean is 0, with bootstrap intervals.

    The Bradley-Terry model with draws as half a win for both, by Hunter's iteration
    (Annals of Statistics 32, 2004). One imagined draw between any two who have met keeps
    ratings of players who won or lost everything finite.

    Args:
      players: names.
      results: by numbers of two players, the first one's result.
      seed: of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    units = {pair: result.units for pair, result in results.items() if len(result.units)}
    ratings = _ratings(len(players), {pair: (2 * u.sum(), 2 * len(u)) for pair, u in units.items()})
    samples = []
    for _ in range(BOOTSTRAP_SAMPLES // 10):
        drawn = {}
        for pair, scores in units.items():
            sample = scores[rng.integers(len(scores), size=len(scores))]
            drawn[pair] = (2 * sample.sum(), 2 * len(sample))
        samples.append(_ratings(len(players), drawn))
    tail = 50.0 * (1.0 - CONFIDENCE)
    low, high = np.percentile(np.array(samples), [tail, 100.0 - tail], axis=0)
    rows = zip(ratings, low, high, strict=True)
    return [Interval(float(rating), float(a), float(b)) for rating, a, b in rows]


def _ratings(count: int, points: Mapping[tuple[int, int], tuple[float, int]]) -> FloatArray:
    """[players] Elo by maximum likelihood; points: of the first of two, and games."""
    won = np.zeros((count, count))
    for (first, second), (score, games) in points.items():
        won[first, second] += score + 0.5
        won[second, first] += games - score + 0.5
    met = won + won.T
    strength = np.ones(count)
    for _ in range(10_000):
        shares = met / (strength[:, None] + strength[None, :])
        new = won.sum(axis=1) / np.maximum(shares.sum(axis=1), 1e-12)
        new = np.where(met.sum(axis=1) > 0.0, new, 1.0)
        new /= np.exp(np.mean(np.log(new)))
        if np.max(np.abs(np.log(new / strength))) < 1e-9:
            break
        strength = new
    elo: FloatArray = _ELO_SCALE * np.log10(strength)
    centred: FloatArray = elo - elo.mean()
    return centred


def all_pairings(count: int) -> list[tuple[int, int]]:
    """Every two of `count` players once: a round-robin."""
    return list(itertools.combinations(range(count), 2))
