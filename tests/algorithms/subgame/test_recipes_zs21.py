"""ZS21 as tests: worked examples, proposition 3, theorems, Table 1."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from klss_spiel.algorithms.ball_sizes import infoset_ball_sizes
from klss_spiel.algorithms.knowledge import infoset_hypergraph
from klss_spiel.algorithms.subgame.affine import affine_equilibrium_gap
from klss_spiel.algorithms.subgame.recipes import KLSS, KLUSS, MAXMARGIN, Gadget
from klss_spiel.algorithms.subgame.refine import Schedule, refine
from klss_spiel.algorithms.subgame.solvers import LinearProgramming, Ties, sum_of_margins
from klss_spiel.algorithms.subgame.subgame import SubgameBuilder, build_subgame
from klss_spiel.best_response import best_response_to
from klss_spiel.linear_program import LinearSolver, equilibrium, floor_bounds, solve
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run import klss_tables
from klss_spiel.sequence_form import sequence_form_from_tree, treeplex_from_tree
from klss_spiel.tree import CHANCE, NO_PARENT, TERMINAL
from klss_spiel.tree_builder import TreeBuilder
from klss_spiel.tree_checks import check_tree
from tests.helpers.games import random_policy
from tests.helpers.random_trees import random_tree

SMALL = klss_tables.PRESETS["zs21_table1_small"]
CASES = st.tuples(st.integers(0, 10_000), st.sampled_from([0, 1]))


def loss(form, player, policy):
    """What the player's strategy leaves to a best response."""
    return best_response_to(form, 1 - player, policy.realization_plans[player]).value


# --- Appendix C: the payoff matrices A and B of two subgames. ---


def matrix_of(tree, subgame):
    """{(own action or "", opponent's root or action): value}, A and B apart."""
    own, theirs = tree.infosets[0], tree.infosets[1]
    region, game = subgame.region, subgame.game

    def signal(infosets, infoset, nodes_player):
        node = np.flatnonzero(tree.infoset[nodes_player] == infoset)[0]
        label = infosets.labels[infoset]
        if not label:  # Where the opponent does not move yet: look at what follows.
            below = np.flatnonzero(tree.parent == node)[0]
            label = infosets.labels[tree.infoset[nodes_player, below]]
        return label.split("signal:")[1].split()[0]

    names_row = [""] + [
        f"R{signal(own, own.sequence_infoset[s], 0)}{'ht'[own.sequence_action[s]]}"
        for s in region.sequences[1:]
    ]
    names_column = [f"c{signal(theirs, root, 1)}" for root in region.roots] + [
        f"C{signal(theirs, theirs.sequence_infoset[s], 1)}{'ht'[theirs.sequence_action[s]]}"
        for s in region.forest_sequence
    ]
    a, b = {}, {}
    for row, column, value in zip(game.row, game.column, game.value, strict=True):
        target = b if row == 0 else a
        key = (names_row[row], names_column[column])
        target[key] = target.get(key, 0.0) + value
    return {k: v for k, v in a.items() if v}, {k: v for k, v in b.items() if v}


def test_appendix_c_common_knowledge_matrices():
    tree = tree_from_game("python_klss_example")
    subgame = build_subgame(BehaviorPolicy.uniform(tree), "p0 ply:1 signal:1", MAXMARGIN)
    a, b = matrix_of(tree, subgame)
    # Signals of player 0: 1 is the paper's R_1, 2 its R_3; of player 1: 0, 1, 2 are
    # C_0, C_2, C_4. Entries are for the player who maximises.
    assert a == pytest.approx(
        {
            ("R1h", "C0h"): 1,
            ("R1t", "C0t"): 4,
            ("R1h", "C1h"): 1,
            ("R1t", "C1t"): 3 / 2,
            ("R2h", "C1h"): 3 / 2,
            ("R2t", "C1t"): 1,
            ("R2h", "C2h"): 4,
            ("R2t", "C2t"): 1,
        }
    )
    # Alternate values: best responses to the uniform blueprint are worth 1/2 at C_0 and
    # C_4 (the text's "2 from c'_4" and matrix agree on 1/2 only there) and, at C_2,
    # min(1/2 (1 + 3/2), 1/2 (3/2 + 1)) = 5/4, where the paper prints 5/2.
    assert b == pytest.approx({("", "c0"): -1 / 2, ("", "c1"): -5 / 4, ("", "c2"): -1 / 2})


def test_appendix_c_one_klss_matrices():
    tree = tree_from_game("python_klss_example")
    subgame = build_subgame(BehaviorPolicy.uniform(tree), "p0 ply:1 signal:1", KLSS(1))
    a, b = matrix_of(tree, subgame)
    assert a == pytest.approx(
        {("R1h", "C0h"): 1, ("R1t", "C0t"): 4, ("R1h", "C1h"): 2, ("R1t", "C1t"): 3}
    )
    # The missing subtree pays 3/2 for h and 1 for t. Scaled to the part that is left, the
    # alternate value at c_2 is 2 * 5/4 = 5/2, where the paper prints 3 and 5.
    assert b == pytest.approx(
        {("", "c0"): -1 / 2, ("", "c1"): -5 / 2, ("", "C1h"): 3 / 2, ("", "C1t"): 1}
    )


# --- Proposition 3. ---


@pytest.mark.parametrize(("n", "one"), [(10, 0.26), (50, 0.0584), (200, 0.0149)])
def test_proposition_3_one_klss_everywhere_is_exploitable_for_everything(n, one):
    tree = tree_from_game(f"python_hidden_pennies(n={n})")
    heads = 0.5 + 2.0 / n
    behavior = np.array([1.0] + [heads, 1.0 - heads] * n)
    blueprint = BehaviorPolicy.uniform(tree).replace(0, behavior)
    form = sequence_form_from_tree(tree)
    assert loss(form, 0, blueprint) == pytest.approx(4.0 / n)
    single = refine(blueprint, KLSS(1), where=tree.infosets[0].decisions[:1])
    assert loss(form, 0, single.policy) == pytest.approx(one, rel=5e-3)
    everywhere = refine(blueprint, KLSS(1))
    assert loss(form, 0, everywhere.policy) == pytest.approx(1.0)
    for recipe in (KLSS(3), MAXMARGIN) if n < 100 else (MAXMARGIN,):
        assert loss(form, 0, refine(blueprint, recipe).policy) <= 4.0 / n + 1e-9


# --- Invariants and theorems over random games and blueprints. ---


@given(CASES, st.sampled_from([KLSS(1), KLSS(3), MAXMARGIN, KLSS(1, Gadget.RESOLVE)]))
def test_one_single_solve_never_raises_exploitability(case, recipe):
    seed, player = case
    for timed in (True, False):
        tree = random_tree(seed, timed)
        blueprint = random_policy(tree, seed)
        form = sequence_form_from_tree(tree)
        before = loss(form, player, blueprint)
        for infoset in tree.infosets[player].decisions[:4].tolist():
            # Within the region everything changes, also what is not below the infoset.
            refined = refine(
                blueprint, recipe, player=player, where=[infoset], schedule=Schedule.UPDATED
            )
            assert loss(form, player, refined.policy) <= before + 1e-9


@given(CASES, st.sampled_from([1, 3]))
def test_theorem_4_updating_the_blueprint_never_raises_exploitability(case, k):
    seed, player = case
    tree = random_tree(seed)
    blueprint = random_policy(tree, seed)
    form = sequence_form_from_tree(tree)
    exploited = [loss(form, player, blueprint)]
    decisions = tree.infosets[player].decisions
    for infoset in np.random.default_rng(seed).permutation(decisions)[:6]:
        blueprint = refine(
            blueprint, KLSS(k), player=player, where=[infoset], schedule=Schedule.UPDATED
        ).policy
        exploited.append(loss(form, player, blueprint))
    assert np.all(np.diff(exploited) <= 1e-9)
    whole = refine(blueprint, KLSS(k), player=player, schedule=Schedule.UPDATED).policy
    assert loss(form, player, whole) <= exploited[-1] + 1e-9


@given(CASES, st.booleans())
def test_theorem_5_independent_sets_never_hurt(case, timed):
    seed, player = case
    tree = random_tree(seed, timed)
    blueprint = random_policy(tree, seed)
    form = sequence_form_from_tree(tree)
    for number in range(2):
        refined = refine(
            blueprint,
            KLSS(1),
            player=player,
            schedule=Schedule.INDEPENDENT_SET,
            seed=number,
            solver=LinearProgramming(Ties.RANDOM, number),
        )
        assert refined.solved
        assert loss(form, player, refined.policy) <= loss(form, player, blueprint) + 1e-9


def exact_setting(tree):
    form = sequence_form_from_tree(tree)
    found = equilibrium(form)
    return form, BehaviorPolicy(tree, found.behaviors), found.value


@given(CASES)
def test_theorem_9_nested_one_klss_of_an_equilibrium_is_an_affine_equilibrium(case):
    seed, player = case
    tree = random_tree(seed)
    form, blueprint, _ = exact_setting(tree)
    assert affine_equilibrium_gap(blueprint, player, form=form) == pytest.approx(0, abs=1e-7)
    refined = refine(blueprint, KLSS(1), player=player, solver=LinearProgramming(Ties.RANDOM, seed))
    gap = affine_equilibrium_gap(refined.policy, player, form=form)
    assert gap == pytest.approx(0.0, abs=1e-6)


@given(CASES)
def test_the_affine_gap_is_what_some_equilibrium_of_the_opponent_wins(case):
    seed, player = case
    tree = random_tree(seed)
    form, exact, value = exact_setting(tree)
    policy = random_policy(tree, seed)
    gap = affine_equilibrium_gap(policy, player, form=form)
    own_value = value if player == 0 else -value
    plan = policy.realization_plans[player]
    against_exact = plan @ form.gradient(player, exact.realization_plans[1 - player])
    assert gap >= own_value - against_exact - 1e-9
    assert -1e-9 <= gap <= loss(form, player, policy) + own_value + 1e-9


@given(CASES)
def test_order_k_beyond_the_diameter_is_common_knowledge(case):
    seed, player = case
    for timed in (True, False):
        tree = random_tree(seed, timed)
        blueprint = random_policy(tree, seed)
        builder = SubgameBuilder(blueprint, player)
        balls = infoset_ball_sizes(infoset_hypergraph(tree), player, 1)
        for infoset in tree.infosets[player].decisions[:4].tolist():
            k = int(balls.eccentricity[infoset]) + 1
            k += k % 2 == 0
            expected = builder.build(infoset, MAXMARGIN)
            for recipe in (KLSS(k), KLUSS(k), KLUSS(k + 1)):
                found = builder.build(infoset, recipe)
                np.testing.assert_array_equal(found.region.nodes, expected.region.nodes)
                np.testing.assert_array_equal(found.form.row, expected.form.row)
                np.testing.assert_array_equal(found.form.column, expected.form.column)
                np.testing.assert_allclose(found.form.value, expected.form.value, atol=1e-12)


# --- Gadget games as trees, built by hand from algorithm 12. ---


def gadget_tree(tree, blueprint, player, infoset, per_entry=True):
    """The maxmargin 1-KLSS gadget as an ordinary game tree.

    Nothing is folded: the opponent picks one of his infosets J that meet `infoset`,
    chance picks a node of J, and outside of `infoset` the player is chance. Payoffs
    are u minus the alternate value; `per_entry` multiplies them with N / D, so that
    picking J is worth its margin.
    """
    opponent = 1 - player
    sign = 1.0 if player == 0 else -1.0
    reach = tree.chance_reach * blueprint.reach(player)
    inside = tree.infoset[player] == infoset
    chosen = np.unique(tree.infoset[opponent, inside])
    below = tree.descendants(inside)
    builder = TreeBuilder("gadget")
    behavior = blueprint.probabilities[player]

    def observe(node, prefix):
        pair = [f"{p} {tree.infoset[p, node]}" for p in (0, 1)]
        if node_is_frozen(node):
            pair[player] = "frozen"
        pair[opponent] = f"{prefix} {pair[opponent]}"
        return tuple(pair)

    def node_is_frozen(node):
        return not below[node]

    def add(node, parent, action, chance, prefix, scale, offset):
        mover = int(tree.player[node])
        children = tree.first_child[node] + np.arange(tree.num_children[node])
        if mover == TERMINAL:
            value = sign * scale * (sign * tree.utility[node] - offset)
            told = tuple(f"{o} end" for o in observe(node, prefix))
            builder.add_node(parent, action, TERMINAL, told, chance=chance, utility=value)
            return
        frozen = mover == player and node_is_frozen(node)
        shown = CHANCE if frozen else mover
        legal = () if shown == CHANCE else tree.action[children].tolist()
        here = builder.add_node(parent, action, shown, observe(node, prefix), legal, chance=chance)
        for child in children:
            weight = tree.chance[child] if mover == CHANCE else 1.0
            if frozen:
                weight = behavior[tree.sequence[player, child]]
            if shown == CHANCE and weight == 0.0:
                continue
            add(child, here, int(tree.action[child]), weight, prefix, scale, offset)

    values = SubgameBuilder(blueprint, player).values.value
    told = ["start", "start"]
    root = builder.add_node(NO_PARENT, -1, opponent, told, list(range(len(chosen))))
    for number, picked in enumerate(chosen):
        nodes = np.flatnonzero((tree.infoset[opponent] == picked) & (reach > 0.0))
        total = reach[nodes].sum()
        entered = reach[nodes][inside[nodes]].sum()
        told = ["started", "started"]
        told[opponent] = f"picked {number}"
        pick = builder.add_node(root, number, CHANCE, told)
        for node in nodes.tolist():
            add(
                node,
                pick,
                node,
                reach[node] / total,
                f"picked {number}",
                total / entered if per_entry else 1.0,
                values[picked] / total,
            )
    gadget = builder.build()
    check_tree(gadget)
    return gadget


def same_infoset(gadget, tree, player, infoset):
    return gadget.infosets[player].index_of_label[f"{player} {infoset}"]


@given(CASES)
def test_subgames_are_the_gadget_trees_with_the_outside_folded(case):
    seed, player = case
    tree = random_tree(seed)
    blueprint = random_policy(tree, seed)
    for infoset in tree.infosets[player].decisions[:3].tolist():
        subgame = build_subgame(blueprint, infoset, KLSS(1), player)
        gadget = gadget_tree(tree, blueprint, player, infoset)
        expected = solve(sequence_form_from_tree(gadget), player).value
        assert solve(subgame.form, player).value == pytest.approx(expected, abs=1e-8)


@given(CASES)
def test_nested_gadgets_equal_flattened_ones(case):
    """A subgame of the gadget tree has the margins of the same subgame of the game."""
    seed, player = case
    tree = random_tree(seed, plies=4)
    blueprint = random_policy(tree, seed)
    table = tree.infosets[player]
    after = [int(i) for i in table.decisions if table.parent_sequence[i] != 0]
    for infoset in after[:3]:
        above = int(table.sequence_infoset[table.parent_sequence[infoset]])
        # Any strategy below the first infoset will do in place of a solution.
        first = build_subgame(blueprint, above, KLSS(1), player)
        drawn = random_policy(tree, seed + 1)
        behavior = drawn.probabilities[player][first.region.sequences]
        changed = blueprint.replace(
            player, first.on_tree(behavior, blueprint.probabilities[player])
        )
        flat = build_subgame(changed, infoset, KLSS(1), player)

        gadget = gadget_tree(tree, blueprint, player, above, per_entry=False)
        inner = BehaviorPolicy.uniform(gadget)
        probabilities = inner.probabilities[player].copy()
        for i in gadget.infosets[player].decisions.tolist():
            old = int(gadget.infosets[player].labels[i].split()[1])
            probabilities[gadget.infosets[player].sequences(i)] = changed.probabilities[player][
                table.sequences(old)
            ]
        inner = inner.replace(player, probabilities)
        nested = build_subgame(inner, same_infoset(gadget, tree, player, infoset), KLSS(1), player)
        assert nested.game.num_roots == flat.game.num_roots
        for trial in range(2):
            policy = random_policy(tree, trial)
            x = policy.probabilities[player][flat.region.sequences]
            # Both regions number sequences by infoset, but in orders of their own.
            y = np.ones_like(x)
            for number, i in enumerate(nested.region.infosets.tolist()):
                old = int(gadget.infosets[player].labels[i].split()[1])
                where = nested.region.treeplex.first_sequence[number]
                count = nested.region.treeplex.num_actions[number]
                y[where : where + count] = policy.probabilities[player][table.sequences(old)]
            np.testing.assert_allclose(
                np.sort(nested.margins(y)), np.sort(flat.margins(x)), atol=1e-12
            )


# --- Table 1. ---

# Blueprint, and after 1-KLSS with ties broken by the sum of margins.
EXPECTED = {
    "dark_hex": (0.068359, 0.0625),
    "goofspiel_ascending": (0.171158, 0.0),
    "kuhn": (0.012401, 0.001488),
    "kuhn_bet": (0.003472, 0.0),
    "n_matching_pennies": (0.001295, 0.009777),
}


@pytest.mark.parametrize("row", SMALL)
def test_table_1_small_rows(row):
    (result,) = klss_tables.run(klss_tables.Config(rows=(row,)))
    blueprint, after = EXPECTED[row]
    assert result["blueprint"] == pytest.approx(blueprint, abs=1e-5)
    assert result["after"] == pytest.approx(after, abs=1e-4)


# Range over optimal solutions, and the blueprint.
LARGE = {
    "leduc": (0.02073, 0.0189, 0.0193),
    "leduc_fold": (0.006458, 0.0052, 0.0057),
    "leduc_bet": (0.009733, 0.0086, 0.0100),
    "goofspiel_random": (0.17183, 0.073, 0.091),
    "liars_dice": (0.18098, 0.124, 0.133),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", LARGE)
def test_table_1_large_rows(row):
    (result,) = klss_tables.run(klss_tables.Config(rows=(row,)))
    blueprint, least, greatest = LARGE[row]
    assert result["blueprint"] == pytest.approx(blueprint, abs=1e-5)
    assert 0.98 * least <= result["after"] <= 1.02 * greatest


def check_theorem_9(row, seeds):
    setting = klss_tables.make_setting(row, 0.0)
    assert setting.exploitability(setting.blueprint) == 0.0
    for seed in seeds:
        ties = LinearProgramming(Ties.RANDOM, seed) if seed else LinearProgramming()
        refined = refine(setting.blueprint, KLSS(1), solver=ties).policy
        # u(x', y*) is the value of the game against every equilibrium strategy y*.
        gap = affine_equilibrium_gap(refined, form=setting.form)
        assert gap == pytest.approx(0.0, abs=1e-6)
        if row in (*SMALL, "n_matching_pennies"):
            assert setting.exploitability(refined) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("row", [row for row in SMALL if row != "kuhn_bet"])
def test_theorem_9_and_no_loss_from_exact_equilibria_of_small_rows(row):
    check_theorem_9(row, range(4))


@pytest.mark.slow
@pytest.mark.parametrize("row", ["leduc", "goofspiel_random", "liars_dice"])
def test_theorem_9_from_exact_equilibria_of_large_rows(row):
    check_theorem_9(row, range(2))


@pytest.mark.parametrize("row", SMALL)
def test_common_knowledge_methods_never_raise_exploitability(row):
    recipes = ("maxmargin", "resolve", "reach-maxmargin", "3-klss")
    for result in klss_tables.run(klss_tables.Config(rows=(row,), recipes=recipes)):
        assert result["after"] <= result["blueprint"] + 1e-9
        if row == "dark_hex" and result["recipe"] in ("maxmargin", "3-klss"):
            assert result["after"] == pytest.approx(0.00694, abs=1e-4)


def test_the_sum_of_margins_is_maximised_among_optimal_strategies():
    setting = klss_tables.make_setting("kuhn")
    tree, blueprint = setting.tree, setting.blueprint
    for recipe in (KLSS(1), KLSS(1, Gadget.RESOLVE), MAXMARGIN):
        for infoset in tree.infosets[0].decisions.tolist():
            subgame = build_subgame(blueprint, infoset, recipe)

            def total(tie_break, subgame=subgame):
                found = LinearSolver().solve(subgame.form, 0, tie_break=tie_break)
                return found.value, subgame.root_reach @ subgame.margins(found.behavior)

            value, first = total(None)
            same_value, largest = total(sum_of_margins(subgame))
            assert same_value == pytest.approx(value, abs=1e-9)
            assert largest >= first - 1e-9


def test_floors_hold_but_at_the_infoset_that_is_solved():
    setting = klss_tables.make_setting("leduc")
    tree = setting.tree
    floor = floor_bounds(treeplex_from_tree(tree, 0), 0.25)
    opening = int(tree.infosets[0].decisions[0])
    refined = refine(
        setting.blueprint, KLSS(1), where=[opening], lower_bounds=floor
    ).policy.probabilities[0]
    free = tree.infosets[0].sequences(opening)
    short = np.flatnonzero(refined < floor - 1e-9)
    assert set(short) <= set(range(free.start, free.stop))
