"""Elo, intervals and sequential tests against players of known strength."""

import math
import tracemalloc

import numpy as np
import pytest

from klss_spiel.matches import ratings


def pairs_of_a_coin(rng, win, draw, pairs):
    """Results of a player who wins and draws with given probabilities, pairs of two games."""
    outcomes = rng.choice([1.0, 0.5, 0.0], p=[win, draw, 1 - win - draw], size=(pairs, 2))
    scores = {n: list(row) for n, row in enumerate(outcomes)}
    return ratings.tally(scores, scores)


def test_elo_and_score_are_inverse():
    for elo in (-300.0, 0.0, 17.5, 800.0):
        assert math.isclose(ratings.elo_of_score(ratings.score_of_elo(elo)), elo, abs_tol=1e-9)
    assert ratings.elo_of_score(0.75) == pytest.approx(190.848, abs=1e-3)  # 400 log10 3
    assert ratings.elo_of_score(0.0) == -math.inf


def test_a_tally_counts_games_and_pairs():
    scores = {0: [1.0, 0.0], 1: [1.0, 0.5], 2: [0.5, None]}
    result = ratings.tally(scores, scores)
    assert (result.wins, result.draws, result.losses) == (2, 2, 1)
    assert result.pentanomial == (0, 0, 1, 1, 0)
    assert result.single_scores == (0.5,)
    assert result.score == pytest.approx(3.0 / 5.0)
    # A game without its partner counts as one game, not as two.
    assert ratings.elo_interval(result).estimate == pytest.approx(ratings.elo_of_score(0.6))


@pytest.mark.parametrize("win, draw", [(0.5, 0.0), (0.6, 0.1), (0.3, 0.5)])
def test_the_interval_holds_the_true_elo_in_at_least_90_percent(win, draw):
    rng = np.random.default_rng(7)
    true = ratings.elo_of_score(win + draw / 2)
    held = 0
    for _ in range(200):
        interval = ratings.elo_interval(pairs_of_a_coin(rng, win, draw, 40))
        held += interval.low <= true <= interval.high
    assert held >= 180


def test_results_that_are_all_alike_still_leave_doubt():
    scores = {n: [1.0, 1.0] for n in range(10)}
    interval = ratings.elo_interval(ratings.tally(scores, scores))
    assert interval.estimate == interval.high == math.inf
    # Rule of three: up to 3 of 10 pairs might be lost.
    assert interval.low == pytest.approx(ratings.elo_of_score(0.85))
    assert ratings.mean_interval([0.5]).high == math.inf


def test_the_sequential_test_errs_as_rarely_as_it_says():
    rng = np.random.default_rng(3)
    sprt = ratings.Sprt(0.0, 40.0)
    wrong = {0.0: 0, 40.0: 0}
    undecided = 0
    for truth in wrong:
        win = ratings.score_of_elo(truth) - 0.15
        for _ in range(150):
            result = pairs_of_a_coin(rng, win, 0.3, 600)
            decided = sprt.first_decision(result.pair_scores)
            if decided is None:
                undecided += 1
                continue
            wrong[truth] += sprt.verdict(result.pair_scores[:decided]) != truth
    # alpha = beta = .05; with 150 trials the 99% bound is at 14.
    assert wrong[0.0] <= 14
    assert wrong[40.0] <= 14
    assert undecided <= 15


def test_bradley_terry_finds_the_strengths_behind_results():
    rng = np.random.default_rng(0)
    elos = [150.0, 0.0, -150.0]
    results = {}
    for first, second in ratings.all_pairings(3):
        win = ratings.score_of_elo(elos[first] - elos[second])
        results[first, second] = pairs_of_a_coin(rng, win, 0.0, 400)
    table = ratings.bradley_terry(["a", "b", "c"], results)
    for found, elo in zip(table, elos, strict=True):
        assert found.low - 10 <= elo <= found.high + 10
        assert found.high - found.low < 60
    assert sum(row.estimate for row in table) == pytest.approx(0.0, abs=1e-6)


def test_superiority_is_even_for_even_results_and_sure_for_clear_ones():
    even = {n: [1.0, 0.0] for n in range(10)}
    assert ratings.likelihood_of_superiority(ratings.tally(even, even)) == pytest.approx(0.5)
    clear = {n: [1.0, 0.5] for n in range(20)}
    assert ratings.likelihood_of_superiority(ratings.tally(clear, clear)) > 0.999
    few = {n: [1.0, 1.0] for n in range(2)}
    assert 0.9 < ratings.likelihood_of_superiority(ratings.tally(few, few)) < 0.995


def test_intervals_of_long_matches_need_little_memory():
    values = np.random.default_rng(0).normal(0.1, 1.0, size=20_000)
    tracemalloc.start()
    interval = ratings.mean_interval(values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6  # all draws at once are 640 MB
    error = 1.96 * values.std() / math.sqrt(len(values))
    assert interval.high - interval.low == pytest.approx(2 * error, rel=0.1)


def test_bad_hypotheses_are_refused():
    with pytest.raises(ValueError, match="elo0 below elo1"):
        ratings.Sprt(10.0, 0.0)
