"""Public trees times hands: the same games as trees of nodes."""

import numpy as np
import pytest

from klss_spiel.algorithms import cfr, regret
from klss_spiel.best_response import nash_conv
from klss_spiel.games.poker.hand_sizes import check_hand_size, hand_size
from klss_spiel.games.poker.leduc_family import leduc, parse_game
from klss_spiel.games.poker.public_poker import leduc_public_game
from klss_spiel.hand_payoffs import HandPayoffs, MatrixPairs
from klss_spiel.linear_program import equilibrium
from klss_spiel.sequence_form import join_forms
from klss_spiel.tree import PLAYERS
from tests.helpers.poker import TwoLayouts

GAMES = [(2, 3, 1), (2, 3, 2), (3, 3, 2), (2, 4, 3)]


@pytest.fixture(scope="module", params=GAMES, ids=str)
def layouts(request):
    return TwoLayouts(*request.param)


def test_every_infoset_of_the_tree_is_a_hand_at_a_spot(layouts):
    for p in PLAYERS:
        count = layouts.form.treeplexes[p].num_sequences
        assert np.array_equal(np.sort(layouts.numbers[p]), np.arange(count))


def test_payoffs_are_the_trees(layouts):
    behaviors = layouts.behaviors(layouts.policy)
    plans = layouts.public.plans(behaviors)
    for p in PLAYERS:
        expected = layouts.form.gradient(p, layouts.policy.realization_plans[1 - p])
        got = layouts.public.form.gradient(p, plans[1 - p])
        np.testing.assert_allclose(got, expected[layouts.numbers[p]], atol=1e-13)
    value = layouts.form.expected_value(layouts.policy.realization_plans)
    assert layouts.public.form.expected_value(plans) == pytest.approx(value, abs=1e-12)


def test_exploitability_is_the_trees(layouts):
    expected = nash_conv(layouts.policy, layouts.form)
    got = layouts.public.nash_conv(layouts.behaviors(layouts.policy))
    assert got == pytest.approx(expected, abs=1e-9)


def random_start(layouts):
    """The same solution after 3 iterations in both layouts, made up so that nothing ties."""
    rng = np.random.default_rng(5)
    by_hands, by_nodes = [], []
    for p in PLAYERS:
        treeplex, number = layouts.public.form.treeplexes[p], layouts.numbers[p]
        behavior = layouts.behaviors(layouts.policy)[p]
        plan = treeplex.realization_plan(behavior)
        vectors = [rng.random(len(plan)), behavior, plan, 3.0 * plan]
        of_tree = [np.zeros(len(plan)) for _ in vectors]
        for vector, moved in zip(vectors, of_tree, strict=True):
            moved[number] = vector
        by_hands.append(cfr.PlayerSolution(treeplex, *vectors))
        by_nodes.append(cfr.PlayerSolution(layouts.form.treeplexes[p], *of_tree))
    return cfr.Solution(3, tuple(by_hands)), cfr.Solution(3, tuple(by_nodes))


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("minimizer", list(regret.MINIMIZERS))
def test_cfr_takes_the_same_steps(layouts, minimizer, alternating):
    by_hands, by_nodes = random_start(layouts)
    arguments = {
        "minimizer": regret.MINIMIZERS[minimizer],
        "averaging": cfr.QUADRATIC,
        "alternating": alternating,
        "engine": "compiled",
    }
    by_hands = cfr.solve(layouts.public.form, 6, start=by_hands, **arguments)
    by_nodes = cfr.solve(layouts.form, 6, start=by_nodes, **arguments)
    for p in PLAYERS:
        expected = by_nodes.players[p].average_sum[layouts.numbers[p]]
        np.testing.assert_allclose(by_hands.average_sum_of(p), expected, atol=1e-9)
        expected = by_nodes.last[p][layouts.numbers[p]]
        np.testing.assert_allclose(by_hands.last[p], expected, atol=1e-9)


def test_a_start_is_left_alone_unless_it_may_be_used_up():
    form = leduc_public_game(leduc(2, 3, 1)).form
    first = cfr.solve(form, 5)
    before = first.average_sum_of(0).copy()
    second = cfr.solve(form, 5, start=first)
    assert np.array_equal(first.average_sum_of(0), before)
    in_place = cfr.solve(form, 5, start=first, use_up_start=True)
    np.testing.assert_array_equal(in_place.average_sum_of(0), second.average_sum_of(0))
    np.testing.assert_array_equal(in_place.average_behavior_of(1), second.average_behavior[1])


def test_entries_written_out_are_the_trees():
    layouts = TwoLayouts(2, 3, 2)
    expanded = layouts.public.form.expanded()
    assert expanded.operator is None
    assert expanded.num_entries == layouts.form.num_entries
    value = equilibrium(layouts.form).value
    assert equilibrium(layouts.public.form).value == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
def test_jax_solves_the_entries_written_out():
    layouts = TwoLayouts(2, 3, 2)
    by_jax = cfr.solve(layouts.public.form, 20, engine="jax")
    by_compiled = cfr.solve(layouts.public.form, 20)
    np.testing.assert_allclose(by_jax.average[0], by_compiled.average[0], atol=1e-4)


def test_games_laid_side_by_side_pay_what_they_pay_alone():
    forms = [leduc_public_game(leduc(2, 3, hole)).form for hole in (1, 2)]
    joint, numbers = join_forms([forms[0], forms[1], forms[0]])
    rng = np.random.default_rng(1)
    for p in PLAYERS:
        plan = rng.random(joint.treeplexes[1 - p].num_sequences)
        gradient = joint.gradient(p, plan)
        for i, form in enumerate([forms[0], forms[1], forms[0]]):
            alone = form.gradient(p, plan[numbers[1 - p][i]])
            np.testing.assert_allclose(gradient[numbers[p][i]][1:], alone[1:], atol=1e-12)


def test_factors_multiply_and_numbers_move_payoffs():
    public = leduc_public_game(leduc(2, 3, 1))
    operator = public.form.operator
    sizes = [treeplex.num_sequences for treeplex in public.form.treeplexes]
    rng = np.random.default_rng(0)
    factors = tuple(rng.random(size) for size in sizes)
    numbers = tuple(np.arange(size) + 7 for size in sizes)
    moved = operator.renumbered(numbers, factors)
    plan = rng.random(sizes[1] + 7)
    gradient, expected = np.zeros(sizes[0] + 7), np.zeros(sizes[0])
    moved.add_gradient(0, plan, gradient)
    operator.add_gradient(0, plan[7:] * factors[1], expected)
    np.testing.assert_allclose(gradient[7:], expected * factors[0], atol=1e-14)
    assert not gradient[:7].any()
    shuffled = rng.permutation(sizes[0])
    with pytest.raises(ValueError, match="keep their distances"):
        operator.renumbered((shuffled, np.arange(sizes[1])))


def test_outcomes_with_the_same_hands_become_one():
    public = leduc_public_game(leduc(2, 3, 1))
    parts = [HandPayoffs((closure.outcomes,)) for closure in public.closures]
    joined = parts[0].joined(parts[1:])
    assert len(joined.parts) == 3  # One for each board.
    plan = np.random.default_rng(0).random(public.form.treeplexes[1].num_sequences)
    together, alone = (np.zeros(public.form.treeplexes[0].num_sequences) for _ in range(2))
    joined.add_gradient(0, plan, together)
    for part in parts:
        part.add_gradient(0, plan, alone)
    np.testing.assert_allclose(together, alone, atol=1e-14)


def test_equal_hands_win_nothing():
    pairs = MatrixPairs.of_strengths(np.full((3, 3), 1.0), np.array([5, 7, 7]))
    # Against the plan (1, 1, 1): the worst hand loses to two, each other beats one.
    np.testing.assert_array_equal(pairs.beat(np.ones((1, 3))), [[-2.0, 1.0, 1.0]])
    np.testing.assert_array_equal(pairs.meet(np.ones((1, 3))), [[3.0, 3.0, 3.0]])


def test_sizes_are_counted_right(layouts):
    size = hand_size(layouts.game)
    public = layouts.public
    assert size.hands == public.stages[0].num_hands
    assert size.boards == len(public.stages) - 1
    assert size.pairs == sum(stage.num_hands for stage in public.stages[1:])
    assert size.closures == len(public.closures)
    assert size.sequences == sum(t.num_sequences - 1 for t in public.form.treeplexes)


def test_counts_of_large_games():
    # Rank multisets: C(13, 2) + 13, and C(13, 3) + 13 * 12 of three cards in two suits.
    assert hand_size(parse_game("leduc2132")).hands == 91
    assert hand_size(parse_game("leduc2133")).hands == 442
    # Well known: starting hands, flops, and flops with a hand up to suits.
    size = hand_size(parse_game("fhp"))
    assert (size.hands, size.boards, size.pairs) == (169, 1755, 1_286_792)
    with pytest.raises(ValueError, match=r"1,755 boards.* GB of memory, and there are 1\.0 GB"):
        check_hand_size(parse_game("fhp"), 1.0)
