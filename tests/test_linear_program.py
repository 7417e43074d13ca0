import numpy as np
import pyspiel
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel import linear_program
from klss_spiel.best_response import best_response_to, nash_conv
from klss_spiel.linear_program import (
    LinearSolver,
    Method,
    TieBreak,
    action_bounds,
    clean_behavior,
    equilibrium,
    floor_bounds,
    solve,
)
from klss_spiel.openspiel import policy_to_pyspiel, tree_from_game, turn_based
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import Treeplex, make_sequence_form, sequence_form_from_tree
from tests.helpers.games import form_of, tree_of

DARK_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"
GOOFSPIEL_ASCENDING = (
    "goofspiel(num_cards=4,imp_info=True,points_order=ascending,returns_type=win_loss)"
)
GOOFSPIEL_RANDOM = "goofspiel(num_cards=4,imp_info=True,points_order=random,returns_type=win_loss)"
PENNIES = "python_n_matching_pennies"
LEDUC = "leduc_poker"
KUHN = "kuhn_poker"
LIARS_DICE_5 = "liars_dice(dice_sides=5)"

KUHN_BET = 1
LEDUC_FOLD, LEDUC_RAISE = 0, 2

# Player 0's value. Kuhn: Kuhn 1950. Leduc and liar's dice with six sides: as other
# solvers print them. The other liar's dice: by the independent program below.
KNOWN_VALUES = {
    KUHN: -1 / 18,
    LEDUC: -0.085606424078,
    "liars_dice(dice_sides=2)": 1 / 2,
    "liars_dice(dice_sides=3)": 1 / 9,
    "liars_dice(dice_sides=4)": 1 / 16,
    LIARS_DICE_5: 1 / 125,
    DARK_HEX: 1 / 2,
    GOOFSPIEL_ASCENDING: 0.0,
}


def value_by_scipy(name):
    """The game's value by player 1's program, from a walk of its own over the states."""
    sequences = ({"": 0}, {"": 0})  # sequence -> column
    flows = ({}, {})  # infoset string -> (parent sequence, own sequences)
    payoffs = {}

    def walk(state, probability, last):
        if state.is_terminal():
            payoffs[last] = payoffs.get(last, 0.0) + probability * state.returns()[0]
            return
        if state.is_chance_node():
            for action, q in state.chance_outcomes():
                walk(state.child(action), probability * q, last)
            return
        player = state.current_player()
        infoset = state.information_state_string()
        own = []
        for action in state.legal_actions():
            key = (infoset, action)
            own.append(sequences[player].setdefault(key, len(sequences[player])))
            after = (own[-1], last[1]) if player == 0 else (last[0], own[-1])
            walk(state.child(action), probability, after)
        flows[player].setdefault(infoset, (last[player], own))

    walk(turn_based(pyspiel.load_game(name)).new_initial_state(), 1.0, (0, 0))
    num_x, num_y = len(sequences[0]), len(sequences[1])
    # min_{y, u} u_0 subject to A y <= E' u, F y = f; u_0 belongs to player 0's root.
    a = scipy.sparse.lil_matrix((num_x, num_y))
    for (row, column), payoff in payoffs.items():
        a[row, column] = payoff

    def flow_matrix(player, width):
        matrix = scipy.sparse.lil_matrix((1 + len(flows[player]), width))
        matrix[0, 0] = 1.0
        for i, (parent, own) in enumerate(flows[player].values()):
            matrix[1 + i, parent] = -1.0
            for sequence in own:
                matrix[1 + i, sequence] = 1.0
        return matrix

    e, f = flow_matrix(0, num_x), flow_matrix(1, num_y)
    cost = np.concatenate([np.zeros(num_y), [1.0], np.zeros(e.shape[0] - 1)])
    right = np.zeros(f.shape[0])
    right[0] = 1.0
    result = scipy.optimize.linprog(
        cost,
        A_ub=scipy.sparse.hstack([a, -e.T]).tocsr(),
        b_ub=np.zeros(num_x),
        A_eq=scipy.sparse.hstack([f, scipy.sparse.csr_matrix((f.shape[0], e.shape[0]))]).tocsr(),
        b_eq=right,
        bounds=[(0, None)] * num_y + [(None, None)] * e.shape[0],
    )
    assert result.status == 0
    return result.fun


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("name", KNOWN_VALUES)
def test_values_are_the_known_ones(name, method):
    form = form_of(name)
    assert solve(form, 0, method=method).value == pytest.approx(KNOWN_VALUES[name], abs=1e-9)
    assert solve(form, 1, method=method).value == pytest.approx(-KNOWN_VALUES[name], abs=1e-9)


@pytest.mark.slow
def test_value_of_liars_dice_with_six_sides():
    # -7/258, as other programs find.
    assert solve(form_of("liars_dice")).value == pytest.approx(-0.0271317829457364, abs=1e-9)


@pytest.mark.parametrize(
    "name", [KUHN, DARK_HEX, LEDUC, LIARS_DICE_5, "python_n_matching_pennies(n=7)"]
)
def test_value_agrees_with_an_independent_program(name):
    assert solve(form_of(name)).value == pytest.approx(value_by_scipy(name), abs=1e-9)


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("name", [KUHN, LEDUC, DARK_HEX, GOOFSPIEL_ASCENDING])
def test_openspiel_finds_an_equilibrium_unexploitable(name, method):
    tree, form = tree_of(name), form_of(name)
    found = equilibrium(form, method=method)
    policy = BehaviorPolicy(tree, found.behaviors)
    game = turn_based(pyspiel.load_game(name))
    assert pyspiel.exploitability(game, policy_to_pyspiel(policy)) == pytest.approx(0, abs=1e-9)
    assert form.expected_value(found.plans) == pytest.approx(found.value, abs=1e-9)


def floor(tree):
    return floor_bounds(sequence_form_from_tree(tree).treeplexes[0], 0.25)


def kuhn_bet(tree):
    return action_bounds(tree, 0, KUHN_BET, 0.25, share=True, opening=True)


def leduc_fold(tree):
    return action_bounds(tree, 0, LEDUC_FOLD, 0.25, share=True)


def leduc_bet(tree):
    return action_bounds(tree, 0, LEDUC_RAISE, 0.25, share=True)


# ZS21, Table 1, column "blueprint": game, restriction, exploitability.
ZS21_BLUEPRINTS = {
    "dark_hex": (DARK_HEX, floor, 0.068359),
    "goofspiel_ascending": (GOOFSPIEL_ASCENDING, floor, 0.171158),
    "goofspiel_random": (GOOFSPIEL_RANDOM, floor, 0.17183),
    "kuhn": (KUHN, floor, 0.012401),
    "kuhn_bet": (KUHN, kuhn_bet, 0.003472),
    "leduc": (LEDUC, floor, 0.02073),
    "leduc_fold": (LEDUC, leduc_fold, 0.006458),
    "leduc_bet": (LEDUC, leduc_bet, 0.009733),
    "liars_dice": (LIARS_DICE_5, floor, 0.18098),
    "n_matching_pennies": (PENNIES, floor, 0.001295),
}


@pytest.mark.parametrize("row", ZS21_BLUEPRINTS)
def test_least_exploitable_restricted_strategies_are_those_of_zs21(row):
    name, bounds_of, expected = ZS21_BLUEPRINTS[row]
    tree, form = tree_of(name), form_of(name)
    bounds = bounds_of(tree)
    blueprint = solve(form, 0, lower_bounds=bounds)
    # The strategy itself is worth what the program says, and obeys the bounds exactly.
    guaranteed = -best_response_to(form, 1, blueprint.plan).value
    assert guaranteed == pytest.approx(blueprint.value, abs=1e-9)
    assert np.all(blueprint.behavior >= bounds - 1e-15)
    np.testing.assert_allclose(form.treeplexes[0].infoset_sums(blueprint.behavior), 1.0)
    # The paper scales rewards to a range of 2.
    scale = 2.0 / np.ptp(tree.utility[tree.terminals])
    assert scale * (solve(form, 0).value - guaranteed) == pytest.approx(expected, abs=1e-5)


def test_action_bounds_are_where_the_action_is_legal():
    tree = tree_of(LEDUC)
    infosets = tree.infosets[1]
    everywhere = action_bounds(tree, 1, LEDUC_FOLD, 0.3)
    shared = action_bounds(tree, 1, LEDUC_FOLD, 0.3, share=True)
    opening = action_bounds(tree, 1, LEDUC_FOLD, 0.3, opening=True)
    for sequence in range(1, infosets.num_sequences):
        infoset = infosets.sequence_infoset[sequence]
        legal = infosets.sequence_action[sequence] == LEDUC_FOLD
        first = infosets.parent_sequence[infoset] == 0
        assert everywhere[sequence] == (0.3 if legal else 0.0)
        assert shared[sequence] == (0.3 / infosets.num_actions[infoset] if legal else 0.0)
        assert opening[sequence] == (0.3 if legal and first else 0.0)


@pytest.mark.parametrize("name", [KUHN, DARK_HEX, GOOFSPIEL_ASCENDING, PENNIES])
@pytest.mark.parametrize("epsilons", [(0.2, 0.0), (0.0, 0.3), (0.2, 0.3), (1.0, 0.5)])
def test_both_players_can_be_restricted(name, epsilons):
    form = form_of(name)
    bounds = tuple(
        floor_bounds(t, epsilon) for t, epsilon in zip(form.treeplexes, epsilons, strict=True)
    )
    found = equilibrium(form, lower_bounds=bounds)
    # Both players' own programs give the same value: strong duality.
    other = solve(form, 1, lower_bounds=bounds[1], opponent_lower_bounds=bounds[0])
    assert other.value == pytest.approx(-found.value, abs=1e-9)
    assert form.expected_value(found.plans) == pytest.approx(found.value, abs=1e-9)
    for behavior, bound in zip(found.behaviors, bounds, strict=True):
        assert np.all(behavior[1:] >= bound[1:] - 1e-15)
    # The value of a pair of optimal strategies that are found separately is the same.
    assert form.expected_value((found.plans[0], other.plan)) == pytest.approx(found.value, abs=1e-9)


def kuhn_sequence(label, action):
    infosets = tree_of(KUHN).infosets[0]
    infoset = infosets.index_of_label[label]
    return int(infosets.first_sequence[infoset]) + list(infosets.actions(infoset)).index(action)


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize(("sign", "bluff"), [(1.0, 1 / 3), (-1.0, 0.0)])
def test_tie_break_reaches_both_ends_of_kuhns_equilibria(sign, bluff, method):
    # Player 0's equilibria: bet the jack with a in [0, 1/3], never open with the queen,
    # bet the king with 3a, call with the queen with a + 1/3 (Kuhn 1950).
    form = form_of(KUHN)
    jack_bet = kuhn_sequence("0", KUHN_BET)
    weights = np.zeros(form.treeplexes[0].num_sequences)
    weights[jack_bet] = sign
    found = solve(form, 0, tie_break=TieBreak(plan_weights=weights), method=method)
    assert found.value == pytest.approx(-1 / 18, abs=1e-12)
    assert -best_response_to(form, 1, found.plan).value == pytest.approx(-1 / 18, abs=1e-12)
    assert found.behavior[jack_bet] == pytest.approx(bluff, abs=1e-12)
    assert found.behavior[kuhn_sequence("2", KUHN_BET)] == pytest.approx(3 * bluff, abs=1e-12)
    assert found.behavior[kuhn_sequence("1", KUHN_BET)] == 0.0
    assert found.behavior[kuhn_sequence("1pb", KUHN_BET)] == pytest.approx(bluff + 1 / 3, abs=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
@pytest.mark.parametrize("name", [KUHN, DARK_HEX, GOOFSPIEL_ASCENDING])
def test_tie_breaks_do_not_cost_value(name, seed):
    form = form_of(name)
    rng = np.random.default_rng(seed)
    player = int(rng.integers(2))
    bounds = floor_bounds(form.treeplexes[player], 0.1) if rng.integers(2) else None
    first = solve(form, player, lower_bounds=bounds)
    tie_break = TieBreak.random(form.treeplexes[player], rng)
    second = solve(form, player, lower_bounds=bounds, tie_break=tie_break)
    assert second.value == first.value
    guaranteed = -best_response_to(form, 1 - player, second.plan).value
    assert guaranteed == pytest.approx(first.value, abs=1e-9)
    gain = tie_break.plan_weights @ (second.plan - first.plan)
    assert gain >= -1e-9


def test_random_tie_breaks_find_different_optima():
    form = form_of(KUHN)
    rng = np.random.default_rng(7)
    bluffs = {
        round(
            solve(form, 0, tie_break=TieBreak.random(form.treeplexes[0], rng)).behavior[
                kuhn_sequence("0", KUHN_BET)
            ],
            6,
        )
        for _ in range(20)
    }
    assert bluffs == {0.0, round(1 / 3, 6)}


def entry_game():
    """Player 1 enters a room. Player 0 gets 0 in A, 7 in B if he plays a, 5 in C if b.

    One infoset of player 0 (sequences 1, 2 = a, b), four of player 1: the entry
    (sequences 1, 2, 3 = A, B, C) and a single dummy action in each room (4, 5, 6).
    """
    own = Treeplex(
        parent_sequence=np.array([0], dtype=np.int32),
        first_sequence=np.array([1], dtype=np.int32),
        num_actions=np.array([2], dtype=np.int32),
        num_sequences=3,
    )
    opponent = Treeplex(
        parent_sequence=np.array([0, 1, 2, 3], dtype=np.int32),
        first_sequence=np.array([1, 4, 5, 6], dtype=np.int32),
        num_actions=np.array([3, 1, 1, 1], dtype=np.int32),
        num_sequences=7,
    )
    return make_sequence_form(
        (own, opponent),
        row=np.array([1, 2], dtype=np.int32),
        column=np.array([5, 6], dtype=np.int32),
        value=np.array([7.0, 5.0]),
    )


@pytest.mark.parametrize(
    ("weights", "behavior", "margins"),
    [
        ([0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 7.0, 0.0]),
        ([0.0, 1.0, 1.0, 2.0], [1.0, 0.0, 1.0], [0.0, 0.0, 5.0]),
    ],
)
def test_value_weights_raise_margins_that_the_opponent_would_not_enter(weights, behavior, margins):
    # The least margin is 0 whatever player 0 does; 7 against 5, and against 2 * 5.
    found = solve(entry_game(), 0, tie_break=TieBreak(value_weights=np.array(weights)))
    assert found.value == 0.0
    np.testing.assert_allclose(found.behavior, behavior)
    np.testing.assert_allclose(found.opponent_infoset_values[1:], margins, atol=1e-12)


def test_a_persistent_solver_has_no_memory():
    solver = LinearSolver()
    names = [KUHN, LEDUC, DARK_HEX, KUHN, GOOFSPIEL_ASCENDING, LEDUC]
    for name in names:
        form = form_of(name)
        tie_break = TieBreak.random(form.treeplexes[0], np.random.default_rng(0))
        for arguments in ({}, {"tie_break": tie_break}, {"lower_bounds": floor(tree_of(name))}):
            reused = solve(form, solver=solver, **arguments)
            fresh = solve(form, **arguments)
            assert reused.value == fresh.value
            np.testing.assert_array_equal(reused.plan, fresh.plan)
            np.testing.assert_array_equal(reused.opponent_plan, fresh.opponent_plan)


def test_noise_of_a_solver_is_cleaned():
    treeplex = form_of(KUHN).treeplexes[0]
    exact = treeplex.uniform()
    first = int(treeplex.first_sequence[0])
    exact[[first, first + 1]] = [1.0, 0.0]
    plan = treeplex.realization_plan(exact)
    noisy = plan + 1e-9 * np.random.default_rng(0).standard_normal(len(plan))
    cleaned = clean_behavior(treeplex, noisy)
    assert cleaned[[first, first + 1]].tolist() == [1.0, 0.0]
    np.testing.assert_allclose(cleaned, exact, atol=1e-8)
    np.testing.assert_allclose(treeplex.infoset_sums(cleaned), 1.0, atol=1e-15)
    # With bounds, what is as good as on its bound is put there, and never below it.
    bounds = floor_bounds(treeplex, 0.5)
    exact[[first, first + 1]] = [0.75, 0.25]
    plan = treeplex.realization_plan(exact)
    noisy = plan + 1e-9 * np.random.default_rng(0).standard_normal(len(plan))
    cleaned = clean_behavior(treeplex, noisy, bounds)
    assert cleaned[[first, first + 1]].tolist() == [0.75, 0.25]
    assert np.all(cleaned[1:] >= bounds[1:])


def test_payoffs_of_rare_events_are_not_dropped():
    # Player 1 has a thousand infosets, each worth one or two units of 1e-10 for player 0,
    # beside a sure payoff of one.
    count = 1000
    nobody = Treeplex(*(np.zeros(0, dtype=np.int32),) * 3, num_sequences=1)
    opponent = Treeplex(
        parent_sequence=np.zeros(count, dtype=np.int32),
        first_sequence=1 + 2 * np.arange(count, dtype=np.int32),
        num_actions=np.full(count, 2, dtype=np.int32),
        num_sequences=1 + 2 * count,
    )
    payoff = np.concatenate([[1.0], 1e-10 * np.tile([1.0, 2.0], count)])
    column = np.arange(1 + 2 * count, dtype=np.int32)
    form = make_sequence_form((nobody, opponent), np.zeros_like(column), column, payoff)
    assert solve(form).value == pytest.approx(1.0 + count * 1e-10, abs=1e-12)


def test_unreached_infosets_take_the_fallback():
    tree, form = tree_of(KUHN), form_of(KUHN)
    weights = np.zeros(form.treeplexes[0].num_sequences)
    weights[kuhn_sequence("0", KUHN_BET)] = 1.0
    # With the largest bluff the king always bets, so "2pb" is never reached.
    unreached = tree.infosets[0].sequences(tree.infosets[0].index_of_label["2pb"])
    found = solve(form, 0, tie_break=TieBreak(plan_weights=weights))
    np.testing.assert_array_equal(found.behavior[unreached], [0.5, 0.5])
    fallback = form.treeplexes[0].uniform()
    fallback[unreached] = [0.125, 0.875]
    found = solve(form, 0, tie_break=TieBreak(plan_weights=weights), fallback=fallback)
    np.testing.assert_array_equal(found.behavior[unreached], [0.125, 0.875])
    np.testing.assert_array_equal(found.plan[unreached], [0.0, 0.0])


def test_unreached_infosets_obey_a_bound_by_default():
    # A bound on one action alone: uniform play would break it.
    tree, form = tree_of(KUHN), form_of(KUHN)
    bounds = action_bounds(tree, 0, KUHN_BET, 0.8)
    found = solve(form, 0, lower_bounds=bounds)
    assert np.all(found.behavior >= bounds - 1e-15)
    BehaviorPolicy.uniform(tree).replace(0, found.behavior)  # sums to one


@pytest.mark.parametrize("exponent", [-14, -12, -9, -6, 6, 9, 12])
@given(seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_payoffs_of_any_size_are_solved(exponent, seed):
    # A random matrix game, whose value is found after scaling by a power of ten too.
    rng = np.random.default_rng(seed)
    size = 4
    treeplex = Treeplex(
        parent_sequence=np.zeros(1, dtype=np.int32),
        first_sequence=np.ones(1, dtype=np.int32),
        num_actions=np.full(1, size, dtype=np.int32),
        num_sequences=1 + size,
    )
    row, column = (1 + index.ravel().astype(np.int32) for index in np.indices((size, size)))
    payoff = rng.standard_normal(size * size)
    scale = 10.0**exponent
    plain = solve(make_sequence_form((treeplex, treeplex), row, column, payoff))
    scaled = solve(make_sequence_form((treeplex, treeplex), row, column, scale * payoff))
    assert scaled.value / scale == pytest.approx(plain.value, abs=1e-9)
    np.testing.assert_allclose(scaled.plan, plain.plan, atol=1e-7)


def test_games_without_choices_or_payoffs_are_solved():
    nobody = Treeplex(*(np.zeros(0, dtype=np.int32),) * 3, num_sequences=1)
    zero = np.zeros(1, dtype=np.int32)
    constant = make_sequence_form((nobody, nobody), zero, zero, np.array([3.5]))
    for player, value in ((0, 3.5), (1, -3.5)):
        found = solve(constant, player)
        assert found.value == value
        np.testing.assert_array_equal(found.plan, [1.0])
    treeplex = form_of(KUHN).treeplexes[0]
    empty = np.zeros(0, dtype=np.int32)
    worthless = make_sequence_form((treeplex, nobody), empty, empty, np.zeros(0))
    assert solve(worthless, 0).value == 0.0
    assert solve(worthless, 1).value == 0.0


def test_a_policy_of_both_plans_has_no_nash_conv():
    tree, form = tree_of(PENNIES), form_of(PENNIES)
    found = equilibrium(form)
    assert nash_conv(BehaviorPolicy(tree, found.behaviors), form) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"player": 2}, "player 0 or 1, got 2"),
        ({"lower_bounds": np.zeros(3)}, r"lower_bounds of shape \(13,\), got \(3,\)"),
        ({"lower_bounds": np.full(13, -0.1)}, "not negative"),
        ({"lower_bounds": np.full(13, np.nan)}, "not negative"),
        ({"opponent_lower_bounds": np.full(13, 0.6)}, "opponent_lower_bounds sum to 1.2"),
        ({"tie_break": TieBreak(plan_weights=np.zeros(4))}, r"shape \(13,\), got \(4,\)"),
        ({"tie_break": TieBreak(value_weights=np.zeros(4))}, r"shape \(6,\), got \(4,\)"),
        ({"tie_break": TieBreak(value_weights=np.full(6, -1.0))}, "not negative"),
        (
            {
                "tie_break": TieBreak(value_weights=np.ones(6)),
                "opponent_lower_bounds": np.full(13, 0.1),
            },
            "cannot be used with opponent_lower_bounds",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(form_of(KUHN), **arguments)


def test_bad_restrictions_are_refused():
    with pytest.raises(ValueError, match=r"0 <= epsilon <= 1, got 1\.5"):
        floor_bounds(form_of(KUHN).treeplexes[0], 1.5)
    with pytest.raises(ValueError, match="action 9 is never legal for player 1"):
        action_bounds(tree_of(KUHN), 1, 9, 0.1)


def test_a_tie_break_that_fails_keeps_the_first_optimum(monkeypatch):
    form = sequence_form_from_tree(tree_from_game("kuhn_poker"))
    plain = linear_program.solve(form)
    tried = []

    def no_face(*arguments):
        tried.append(arguments)
        raise RuntimeError("infeasible")

    monkeypatch.setattr(linear_program.LinearSolver, "_break_tie", no_face)
    tie_break = linear_program.TieBreak(plan_weights=np.ones(len(plain.plan)))
    solution = linear_program.solve(form, tie_break=tie_break)
    assert len(tried) == 1
    np.testing.assert_array_equal(solution.plan, plain.plan)
