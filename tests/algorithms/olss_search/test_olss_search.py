"""OLSS-II by sampling: against exact values, by hand, and blind to what is hidden."""

import dataclasses

import numpy as np
import pytest

from klss_spiel.algorithms.olss_search.choice_kernels import choose_batch, margin, sample_columns
from klss_spiel.algorithms.olss_search.enumeration import exact_values
from klss_spiel.algorithms.olss_search.model_game import LearnedModel, RandomModel, normalised
from klss_spiel.algorithms.olss_search.search import (
    LITERAL,
    OLSS_II,
    Settings,
    search,
    search_all,
)


class CoinGame:
    """Two own moves (actions 5 and 6), two moves of the opponent, three draws.

    A state is (sum, round): the own move adds 0 or 1, the opponent's takes its number twice
    away, a draw adds its number; draw 2 in the first round wins 10.
    """

    num_moves = 3
    num_roots = 1

    def __init__(self, rounds: int = 9) -> None:
        self.rounds = rounds

    def root_actions(self, root):
        return np.array([5, 6])

    def start(self, roots):
        return np.zeros((len(roots), 3))

    def views(self, states):
        legal = np.zeros((len(states), 7), np.bool_)
        legal[:, 5:] = True
        return states.astype(np.float32), legal

    def own_move(self, states, chosen):
        states[:, 0] += chosen - 5

    def unseen(self, states):
        weights = np.tile([1.0, 2.0, 1.0], (len(states), 1))
        weights[states[:, 1] >= self.rounds] = 0
        return weights

    def opponent_features(self, states):
        return states.astype(np.float32)

    def opponent_move(self, states, moves):
        states[:, 0] -= 2 * moves

    def draw(self, states, moves):
        states[:, 0] += moves
        states[:, 1] += 1
        states[:, 2] = moves

    def wins(self, states):
        return np.where((states[:, 1] == 1) & (states[:, 2] == 2), 10.0, np.nan)


class Half:
    """Plays action 6 with probability 3/4; the value is the sum."""

    def evaluate(self, features, legal):
        probabilities = np.zeros(legal.shape)
        probabilities[:, 5], probabilities[:, 6] = 0.25, 0.75
        return probabilities, features[:, 0]


@dataclasses.dataclass(frozen=True)
class Always:
    """A model that always makes one move."""

    move: int
    name: str = "always"

    def probabilities(self, game, states):
        found = np.zeros((len(states), game.num_moves))
        found[:, self.move] = 1.0
        return found


def test_exact_values_by_hand():
    # One round against R: the own move gives 0 or 1, the opponent takes 2 * 1 on average,
    # draws of 0 and 1 (weights 1 and 2) give 2/3 on average where they do not win 10.
    settings = Settings(steps=2)
    found = exact_values(CoinGame(), Half(), [RandomModel(), Always(0)], settings)
    against_r = [0.25 * 10 + 0.75 * (own - 2 + 2 / 3) for own in (0, 1)]
    against_zero = [0.25 * 10 + 0.75 * (own + 2 / 3) for own in (0, 1)]
    np.testing.assert_allclose(found, [against_r, against_zero])
    literal = exact_values(
        CoinGame(), Half(), [RandomModel()], dataclasses.replace(LITERAL, steps=2)
    )
    np.testing.assert_allclose(literal, [[-1.0, 0.0]])


@pytest.mark.parametrize("settings", [OLSS_II, LITERAL], ids=["allow_win", "literal"])
def test_simulated_values_approach_the_exact_ones(settings):
    game, blueprint, models = CoinGame(), Half(), [RandomModel(), Always(0)]
    exact = exact_values(game, blueprint, models, settings)
    errors = []
    for simulations in (200, 20_000):
        more = dataclasses.replace(settings, simulations=simulations, batch=200)
        report = search(game, blueprint, models, more, np.random.default_rng(0))
        assert report.visits.sum() == simulations
        # Moves that the search leaves alone are known badly: weighed by visits.
        errors.append((report.visits * np.abs(report.values - exact)).sum() / simulations)
    assert errors[1] < 0.1
    assert errors[1] < 0.5 * errors[0]
    exact_baseline = exact @ [0.25, 0.75]
    np.testing.assert_allclose(report.baseline, exact_baseline, atol=0.25)
    np.testing.assert_allclose(report.prior, [0.25, 0.75])


def test_the_better_move_is_found_against_the_prior():
    class Timid(Half):
        def evaluate(self, features, legal):
            probabilities, values = super().evaluate(features, legal)
            probabilities[:, 5:] = [0.9, 0.1]
            return probabilities, 40 * values

    report = search(
        CoinGame(), Timid(), [RandomModel()], Settings(simulations=2000), np.random.default_rng(1)
    )
    assert report.action == 6


def test_a_decided_search_ends_with_the_move_of_all_simulations():
    whole = Settings(simulations=600, batch=20)
    early = dataclasses.replace(whole, until_decided=True)
    numbers = []
    for seed in range(10):
        found, short = (
            search(CoinGame(), Half(), [RandomModel()], one, np.random.default_rng(seed))
            for one in (whole, early)
        )
        assert short.action == found.action
        assert found.visits.sum() == 600
        by_move = np.sort(short.visits.sum(axis=0))
        assert by_move[-1] - by_move[-2] > 600 - by_move.sum()  # nothing else can be most
        numbers.append(by_move.sum())
    assert max(numbers) < 600


def test_undecided_searches_go_on_beside_decided_ones():
    settings = Settings(simulations=400, batch=20, until_decided=True)
    reports = search_all(ThreeCoins(), Half(), [RandomModel()], settings, np.random.default_rng(0))
    numbers = [report.visits.sum() for report in reports]
    assert len(set(numbers)) > 1
    for report, number in zip(reports, numbers, strict=True):
        most, second = np.sort([0, *report.visits.sum(axis=0)])[-1:-3:-1]
        assert len(report.actions) == 1 or number == 400 or most - second > 400 - number


def test_a_game_that_ends_is_worth_nothing_more():
    report = search(
        CoinGame(rounds=0),
        Half(),
        [RandomModel()],
        Settings(simulations=10),
        np.random.default_rng(0),
    )
    assert np.nansum(np.abs(report.values)) == 0


def test_the_opponent_picks_the_model_with_the_smallest_margin():
    # Against model 0 the tried moves do 2 better than the blueprint, against model 1 as well.
    prior = np.array([0.5, 0.5])
    done = np.array([[3, 1], [1, 3]])
    total = np.array([[12.0, 0.0], [10.0, 6.0]])
    # Model 0: mean 3, baseline (4 + 0) / 2 = 2. Model 1: mean 4, baseline (10 + 2) / 2 = 6.
    assert margin(prior, done, total, 0) == pytest.approx(1.0)
    assert margin(prior, done, total, 1) == pytest.approx(-2.0)
    models, moves = np.zeros(1, np.int64), np.zeros(1, np.int64)
    choose_batch(prior, done.copy(), done, total, 1e-9, models, moves)
    # The player sees both models' returns together: (12 + 10) / 4 against 6 / 4.
    assert (models[0], moves[0]) == (1, 0)


def test_puct_by_hand():
    # Equation 30 with Q = (1, 0), sigma = (0.2, 0.8), N = (4, 1), c = 1:
    # 1 + 0.2 * sqrt(5) / 5 = 1.089; 0 + 0.8 * sqrt(5) / 2 = 0.894. With c = 2: 1.179, 1.789.
    prior, done = np.array([0.2, 0.8]), np.array([[4, 1]])
    total = np.array([[4.0, 0.0]])
    for exploration, expected in ((1.0, 0), (2.0, 1)):
        models, moves = np.zeros(1, np.int64), np.zeros(1, np.int64)
        choose_batch(prior, done.copy(), done, total, exploration, models, moves)
        assert moves[0] == expected


def test_moves_chosen_for_a_batch_count_as_visited_at_once():
    prior, done = np.array([0.6, 0.4]), np.zeros((1, 2), np.int64)
    visits = done.copy()
    models, moves = np.zeros(10, np.int64), np.zeros(10, np.int64)
    choose_batch(prior, visits, done, np.zeros((1, 2)), 20.0, models, moves)
    assert visits.sum() == 10
    assert set(moves) == {0, 1}


class ThreeCoins(CoinGame):
    """Three roots, each with 100 more than the one before and another move to choose from."""

    num_roots = 3

    def root_actions(self, root):
        return np.array([5, 6])[: 2 if root else 1]

    def start(self, roots):
        states = super().start(roots)
        states[:, 0] = 100 * roots
        return states


def test_roots_searched_side_by_side_do_not_mix():
    settings = dataclasses.replace(LITERAL, simulations=4000, batch=500)
    rng = np.random.default_rng(0)
    reports = search_all(ThreeCoins(), Half(), [RandomModel()], settings, rng)
    exact = exact_values(CoinGame(), Half(), [RandomModel()], settings)[0]
    assert [len(report.actions) for report in reports] == [1, 2, 2]
    for root, report in enumerate(reports):
        assert report.visits.sum() == 4000
        expected = 100 * root + exact[: len(report.actions)]
        np.testing.assert_allclose(report.values[0], expected, atol=0.4)


def test_one_root_is_expected_where_one_report_is_given():
    with pytest.raises(ValueError, match="expected one infoset to search, got 3"):
        search(ThreeCoins(), Half(), [RandomModel()], Settings(), np.random.default_rng(0))


def test_equal_seeds_give_equal_reports():
    reports = [
        search(
            CoinGame(), Half(), [RandomModel()], Settings(simulations=300), np.random.default_rng(s)
        )
        for s in (3, 3, 4)
    ]
    np.testing.assert_array_equal(reports[0].values, reports[1].values)
    assert not np.array_equal(reports[0].values, reports[2].values)


def test_a_learned_model_gives_nothing_to_impossible_moves():
    class Network:
        def evaluate(self, features, legal):
            return np.full(legal.shape, 0.25), np.zeros(len(legal))

    found = LearnedModel(Network()).probabilities(
        CoinGame(), CoinGame().start(np.zeros(2, np.int64))
    )
    np.testing.assert_allclose(found, 1 / 3)
    over = LearnedModel(Network()).probabilities(
        CoinGame(rounds=0), CoinGame().start(np.zeros(2, np.int64))
    )
    assert not over.any()
    assert normalised(np.array([[0.0, 0.0], [1.0, 3.0]])).tolist() == [[0, 0], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"steps": 3}, "even number of steps"), ({"simulations": 0}, "at least one simulation")],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Settings(**changes)


def test_no_model_is_refused():
    with pytest.raises(ValueError, match="expected at least one environment model"):
        search(CoinGame(), Half(), [], Settings(), np.random.default_rng(0))


def test_columns_are_sampled_in_proportion_to_weights():
    weights = np.array([[0.0, 2.0, 0.0, 6.0], [0.0] * 4, [0.5, 0.0, 0.0, 0.0]])
    points = (np.arange(1000) + 0.5) / 1000
    columns = np.zeros(3000, np.int64)
    sample_columns(np.repeat(weights, 1000, axis=0), np.tile(points, 3), columns)
    first, nothing, last = columns.reshape(3, 1000)
    assert [(first == column).sum() for column in range(4)] == [0, 250, 0, 750]
    assert (nothing == -1).all()
    assert (last == 0).all()


def test_a_model_is_asked_once_about_equal_first_moves():
    asked = []

    class Counted(Always):
        def probabilities(self, game, states):
            asked.append(len(states))
            return super().probabilities(game, states)

    settings = Settings(simulations=80, steps=4, batch=40, exploration=1e9, allow_win=False)
    search(CoinGame(), Half(), [Counted(0)], settings, np.random.default_rng(0))
    # Two own moves; one round later everybody is somewhere else.
    assert asked == [2, 40, 2, 40]
