"""Public games board by board, and exploitability from a sample of boards."""

import numpy as np
import pytest

from klss_spiel.algorithms.subgame.cutting_planes import CuttingPlanes
from klss_spiel.algorithms.subgame.public_refine import refine_by_hands
from klss_spiel.algorithms.subgame.recipes import parse_recipe
from klss_spiel.board_samples import draw_boards, estimated
from klss_spiel.games.poker.flop_holdem import flop_public_game
from klss_spiel.games.poker.leduc_family import PokerGame, leduc
from klss_spiel.games.poker.public_poker import leduc_public_game
from klss_spiel.public_boards import Boards
from klss_spiel.tree import PLAYERS

FLOP = PokerGame(
    "small",
    suits=3,
    ranks=4,
    hole_cards=2,
    board_cards=3,
    blinds=(1, 2),
    raise_sizes=(2, 2),
    first_players=(0, 1),
    max_raises=(1, 1),
)


def random_behaviors(game, seed=0):
    rng = np.random.default_rng(seed)
    behaviors = []
    for treeplex in game.form.treeplexes:
        behavior = 0.2 + rng.random(treeplex.num_sequences)
        behavior[1:] /= treeplex.infoset_sums(behavior)[treeplex.sequence_infoset[1:]]
        behavior[0] = 1.0
        behaviors.append(behavior)
    return tuple(behaviors)


def all_answers(boards, behaviors):
    """For each responder, [B, P]."""
    return [
        np.array(
            [
                boards.answer(
                    boards.game_at(b), boards.behaviors_at(b, behaviors)[1 - responder], responder
                )
                for b in range(boards.count)
            ]
        )
        for responder in PLAYERS
    ]


@pytest.mark.parametrize(
    "game", [leduc_public_game(leduc(2, 3, 1)), flop_public_game(FLOP)], ids=["leduc", "flop"]
)
def test_answers_of_all_boards_are_exploitability(game):
    boards = Boards(game)
    behaviors = random_behaviors(game)
    answers = all_answers(boards, behaviors)
    total = sum(boards.response_value(p, answers[p].sum(axis=0), behaviors) for p in PLAYERS)
    assert total == pytest.approx(game.nash_conv(behaviors), abs=1e-9)
    assert boards.count == len(game.stages) - 1
    assert boards.probabilities.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_board_alone_is_refined_as_in_the_whole_game():
    game = leduc_public_game(leduc(2, 4, 2))
    boards = Boards(game)
    behaviors = random_behaviors(game)
    board, recipe = 2, parse_recipe("safe-1-klss")
    closures = [closure for closure in game.closures if closure.stage == 1 + board]
    whole = refine_by_hands(
        game, behaviors, recipe, player=1, solver=CuttingPlanes(), closures=closures
    )
    alone = refine_by_hands(
        boards.game_at(board),
        boards.behaviors_at(board, behaviors),
        recipe,
        player=1,
        solver=CuttingPlanes(),
    )
    expected = boards.behaviors_at(board, (behaviors[0], whole))[1]
    np.testing.assert_allclose(alone, expected, atol=1e-9)
    assert not np.allclose(alone, boards.behaviors_at(board, behaviors)[1])


class Population:
    """A small flop game whose refined answers are known behind all flops."""

    def __init__(self):
        self.boards = Boards(flop_public_game(FLOP))
        self.behaviors = random_behaviors(self.boards.game)
        self.before = all_answers(self.boards, self.behaviors)
        refined = tuple(
            refine_by_hands(
                self.boards.game,
                self.behaviors,
                parse_recipe("safe-1-klss"),
                player=p,
                solver=CuttingPlanes(),
            )
            for p in PLAYERS
        )
        self.after = all_answers(self.boards, refined)
        self.exact = self.boards.game.nash_conv(refined)
        self.blueprint = self.boards.game.nash_conv(self.behaviors)

    def estimate(self, count, seed, repetitions=400):
        sample = draw_boards(self.boards.probabilities, count, seed)
        values = [
            lambda total, p=p: self.boards.response_value(p, total, self.behaviors) for p in PLAYERS
        ]
        return estimated(
            sample,
            [before.sum(axis=0) for before in self.before],
            [
                after[sample.boards] - before[sample.boards]
                for after, before in zip(self.after, self.before, strict=True)
            ],
            values,
            repetitions,
        )


@pytest.fixture(scope="module")
def population():
    return Population()


def test_a_sample_of_all_boards_is_exact(population):
    found = population.estimate(population.boards.count, 0)
    assert found.low == found.value == found.high
    assert found.value == pytest.approx(population.exact, abs=1e-9)
    assert population.exact < population.blueprint - 0.1


def test_intervals_cover_what_all_boards_give(population):
    count = population.boards.count // 3
    found = [population.estimate(count, seed) for seed in range(100)]
    covered = sum(e.low <= population.exact <= e.high for e in found)
    assert 85 <= covered <= 100
    widths = np.array([e.high - e.low for e in found])
    errors = np.array([e.value for e in found]) - population.exact
    # As wide as estimates differ, and without the bias of a best response to them.
    assert 2.0 * errors.std() < widths.mean() < 8.0 * errors.std()
    assert abs(errors.mean()) < 3.0 * errors.std() / np.sqrt(len(errors))
    more = [population.estimate(2 * count, seed) for seed in range(20)]
    assert np.mean([e.high - e.low for e in more]) < 0.7 * widths.mean()


def test_boards_are_drawn_by_kinds_and_larger_samples_contain_smaller(population):
    probabilities = population.boards.probabilities
    kinds = np.unique(np.round(probabilities, 9))
    assert len(kinds) > 1
    before = []
    for count in range(2 * len(kinds), len(probabilities) + 1):
        sample = draw_boards(probabilities, count, seed=3)
        assert len(set(sample.boards.tolist())) == count
        assert sample.boards[: len(before)].tolist() == before
        assert sample.weights.sum() == pytest.approx(len(probabilities))
        assert np.all(sample.counts >= 2)
        before = sample.boards.tolist()
    other = draw_boards(probabilities, 8, seed=4).boards
    assert not np.array_equal(other, draw_boards(probabilities, 8, seed=3).boards)
    np.testing.assert_array_equal(other, draw_boards(probabilities, 8, seed=4).boards)
    for count in (len(kinds), len(probabilities) + 1):
        with pytest.raises(ValueError, match="expected a sample of"):
            draw_boards(probabilities, count, 0)
