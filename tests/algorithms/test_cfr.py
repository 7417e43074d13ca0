"""CFR against OpenSpiel's C++ solvers, hand arithmetic and itself."""

import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel import openspiel
from klss_spiel.algorithms import cfr, cfr_jax, regret
from klss_spiel.algorithms.padded_form import blocks, pad_form
from klss_spiel.best_response import best_response_values, nash_conv
from klss_spiel.openspiel import policy_from_openspiel, tree_from_game, turn_based
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import (
    SequenceForm,
    Treeplex,
    make_sequence_form,
    sequence_form_from_tree,
)
from tests.helpers.games import form_of

GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=ascending,returns_type=win_loss)"
DARK_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"
# Not dark hex: in its symmetric positions regrets tie at 0 at reached infosets.
GAMES = ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=5)", GOOFSPIEL]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("plus", [False, True], ids=["CFR", "CFR+"])
def test_first_iterations_equal_openspiels(name, plus):
    game = turn_based(pyspiel.load_game(name))
    tree = tree_from_game(game)
    padded = pad_form(sequence_form_from_tree(tree))
    solver = pyspiel.CFRPlusSolver(game) if plus else pyspiel.CFRSolver(game)
    minimizer, averaging = (regret.RM_PLUS, cfr.LINEAR) if plus else (regret.RM, cfr.UNIFORM)
    solution = None
    compared = 0
    tie_broken = False
    for _ in range(6):
        solver.evaluate_and_update_policy()
        solution = cfr.solve(padded, 1, minimizer, averaging, start=solution)
        average = policy_from_openspiel(tree, game, solver.tabular_average_policy())
        last = policy_from_openspiel(tree, game, solver.current_policy())
        agrees = True
        for p in (0, 1):
            ours = solution.players[p]
            differs = np.abs(ours.average_behavior - average.probabilities[p]) > 1e-12
            agrees &= not np.any(differs & (ours.average_sum > 0.0))
        assert agrees or tie_broken
        if not agrees:
            break  # The two runs have answered different strategies.
        compared += 1
        for p in (0, 1):
            ours = solution.players[p]
            # Where all regrets are 0 up to rounding, rounding decides who is uniform.
            positive = ours.treeplex.infoset_sums(np.maximum(ours.regret, 0.0))
            tied = np.append(positive, 1.0)[ours.treeplex.sequence_infoset] <= 1e-12
            differs = np.abs(ours.last_behavior - last.probabilities[p]) > 1e-12
            assert tie_broken or not np.any(differs & ~tied)
            tie_broken |= bool(np.any(differs))
    assert compared >= (2 if name.startswith("liars_dice") else 6)


def _matrix_game(payoff: list[list[float]]) -> SequenceForm:
    """Both players pick at once: one infoset each."""
    matrix = np.array(payoff, dtype=float)
    treeplexes = tuple(
        Treeplex(np.zeros(1, np.int32), np.ones(1, np.int32), np.array([n], np.int32), n + 1)
        for n in matrix.shape
    )
    row, column = np.indices(matrix.shape)
    return make_sequence_form(
        (treeplexes[0], treeplexes[1]), row.ravel() + 1, column.ravel() + 1, matrix.ravel()
    )


def test_pcfr_plus_matches_two_steps_by_hand():
    # Payoffs [[2, -1], [-1, 1]] to player 0, simultaneous updates, both start uniform.
    # t=1: player 0's action values (1/2, 0), value 1/4, regrets (1/4, -1/4);
    #      R+ = (1/4, 0), prediction (1/4, -1/4): scores (1/2, -1/4) -> plays (1, 0).
    #      player 1's values (-1/2, 0), value -1/4, regrets (-1/4, 1/4) -> plays (0, 1).
    # t=2: player 0 against (0, 1): values (-1, 1), value -1, regrets (0, 2);
    #      R+ = (1/4, 2), scores (1/4, 4) -> plays (1/17, 16/17).
    #      player 1 against (1, 0): values (-2, 1), value 1, regrets (-3, 0);
    #      R+ = (0, 1/4), scores (-3, 1/4) -> plays (0, 1).
    form = _matrix_game([[2.0, -1.0], [-1.0, 1.0]])
    first = cfr.solve(form, 1, regret.PRM_PLUS, alternating=False)
    np.testing.assert_allclose(first.last_behavior[0][1:], [1, 0])
    np.testing.assert_allclose(first.last_behavior[1][1:], [0, 1])
    second = cfr.solve(form, 2, regret.PRM_PLUS, alternating=False)
    np.testing.assert_allclose(second.last_behavior[0][1:], [1 / 17, 16 / 17])
    np.testing.assert_allclose(second.last_behavior[1][1:], [0, 1])
    np.testing.assert_allclose(second.players[0].regret[1:], [1 / 4, 2])


def test_discounted_regrets_by_hand():
    # alpha=1.5, beta=0: at t=4 positive totals shrink by 8/9, negative ones by 1/2.
    total = regret.DISCOUNTED_RM.accumulate(
        jnp.array([1.0, -3.0]), jnp.array([2.0, 1.0]), jnp.array(4)
    )
    np.testing.assert_allclose(total, [3 * 8 / 9, -1.0])


@pytest.mark.parametrize("minimizer", regret.MINIMIZERS.values(), ids=regret.MINIMIZERS)
@pytest.mark.parametrize("averaging", [cfr.UNIFORM, cfr.LINEAR, cfr.QUADRATIC])
@pytest.mark.parametrize("alternating", [False, True])
def test_every_combination_converges(minimizer, averaging, alternating):
    form = _matrix_game([[2.0, -1.0], [-1.0, 1.0]])  # value 1/5, both play (2/5, 3/5)
    iterations = 20_000
    solution = cfr.solve(form, iterations, minimizer, averaging, alternating)
    # What regret matching guarantees: payoffs span 3, two actions, two players. With
    # alternation or prediction the rate is about 1 / iterations instead.
    bound = 2 * 3.0 * np.sqrt(2 / iterations)
    if alternating or minimizer is regret.PRM_PLUS:
        bound = 1e-3
    assert sum(best_response_values(form, solution.average)) < bound
    assert sum(best_response_values(form, cfr.solve(form, 1).average)) > 0.3


def test_leduc_value_and_exploitability_after_a_thousand_iterations():
    tree = tree_from_game("leduc_poker")
    form = sequence_form_from_tree(tree)
    solution = cfr.solve(form, 1000)
    assert form.expected_value(solution.average) == pytest.approx(-0.0856064, abs=1e-3)
    policy = BehaviorPolicy(tree, solution.average_behavior)
    assert nash_conv(policy, form) == pytest.approx(
        pyspiel.nash_conv(pyspiel.load_game("leduc_poker"), openspiel.policy_to_pyspiel(policy)),
        abs=1e-9,
    )
    assert nash_conv(policy, form) < 2e-3


def test_a_game_of_a_known_size_class_compiles_nothing():
    # 90 and 93 pennies have different numbers of everything, in equal classes.
    shapes = []
    for n in (90, 93):
        padded = pad_form(form_of(f"python_n_matching_pennies(n={n})"))
        shapes.append([b.mask.shape for p in padded.players for b in blocks(p)])
        before = cfr_jax.trace_count
        cfr.solve(padded, 3)
        traced = cfr_jax.trace_count - before
    assert shapes[0] == shapes[1]
    assert traced == 0
    cfr.solve(form_of("python_n_matching_pennies(n=300)"), 3, engine="jax")
    assert cfr_jax.trace_count > before  # the counter does count


def test_padding_is_inert():
    form = form_of(GOOFSPIEL)
    padded = pad_form(form)
    assert padded.length(0) > form.treeplexes[0].num_sequences
    plans = cfr.solve(padded, 5).last
    for p in (0, 1):
        sums = form.treeplexes[p].infoset_sums(plans[p])
        np.testing.assert_allclose(sums, plans[p][form.treeplexes[p].parent_sequence])


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_padded_payoffs_equal_the_sparse_product(seed):
    rng = np.random.default_rng(seed)
    form = _matrix_game(rng.integers(-2, 3, size=rng.integers(1, 12, size=2)).tolist())
    padded = pad_form(form)
    for p in (0, 1):
        plan = rng.random(form.treeplexes[1 - p].num_sequences)
        results = np.asarray(cfr_jax.payoffs(padded.players[p], padded.pad(1 - p, plan)))
        (level,) = padded.players[p].levels
        gathered = np.concatenate([[0.0], results[np.asarray(level[0].payoff)].reshape(-1)])
        np.testing.assert_allclose(padded.unpad(p, gathered), form.gradient(p, plan), atol=1e-12)


def test_resuming_equals_running_through(tmp_path):
    form = form_of(DARK_HEX)
    whole = cfr.solve(form, 20, regret.PRM_PLUS)
    half = cfr.solve(form, 8, regret.PRM_PLUS)
    half.save(tmp_path / "half.npz")
    resumed = cfr.solve(
        form, 12, regret.PRM_PLUS, start=cfr.Solution.load(tmp_path / "half.npz", form)
    )
    assert resumed.iterations == whole.iterations == 20
    for p in (0, 1):
        np.testing.assert_array_equal(resumed.average[p], whole.average[p])
        np.testing.assert_array_equal(resumed.last[p], whole.last[p])
    chunks = list(cfr.iterate(form, 20, chunk=7, minimizer=regret.PRM_PLUS))
    assert [chunk.iterations for chunk in chunks] == [7, 14, 20]
    np.testing.assert_array_equal(chunks[-1].average[0], whole.average[0])
    with pytest.raises(ValueError, match="another game's solution"):
        cfr.Solution.load(tmp_path / "half.npz", form_of("kuhn_poker"))


def test_a_batch_gives_the_results_of_solving_one_by_one():
    forms = [form_of(name) for name in ("kuhn_poker", DARK_HEX, "kuhn_poker")]
    batch = cfr.solve_batch(forms, 30)
    assert len(batch) == 3 and cfr.solve_batch([], 30) == []
    for form, together in zip(forms, batch, strict=True):
        alone = cfr.solve(form, 30)
        for p in (0, 1):
            np.testing.assert_allclose(together.average[p], alone.average[p], atol=1e-12)
            np.testing.assert_allclose(together.last[p], alone.last[p], atol=1e-12)


def test_float32_follows_float64():
    form = form_of("kuhn_poker")
    single = cfr.solve(form, 50, dtype=np.float32)
    double = cfr.solve(form, 50, dtype=np.float64)
    gaps = [sum(best_response_values(form, s.average)) for s in (single, double)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-3)
    assert gaps[0] != gaps[1]


def test_negative_iterations_are_refused():
    with pytest.raises(ValueError, match="at least 0, got -1"):
        cfr.solve(form_of("kuhn_poker"), -1)
