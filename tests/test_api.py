"""The names that `import klss_spiel as ks` offers."""

import ast
import doctest
import importlib
import inspect
import json
import pathlib
import pkgutil
import pydoc
import subprocess
import sys
import types

import numpy as np
import pytest

import klss_spiel as ks

_PACKAGE = pathlib.Path(ks.__file__).parent

MODULES = {"cfr", "games", "knowledge", "recipes", "regret", "solvers"}
WANTED = tuple(
    [
        "tree_from_game",
        "load_game",
        "BehaviorPolicy",
        "sequence_form_from_tree",
        "exploitability",
        "nash_conv",
        "solve_lp",
        "cfr",
        "recipes",
        "refine",
        "build_subgame",
        "SubgameBot",
        "SearchBot",
        "search_policy",
        "Budget",
        "check_game",
        "render",
    ]
)


def _run(script: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=_PACKAGE.parent,
        capture_output=True,
        check=True,
        text=True,
    )
    return result.stdout


@pytest.mark.parametrize("name", WANTED)
def test_what_a_user_looks_for_is_there(name):
    assert name in ks.__all__
    assert name in dir(ks)
    value = getattr(ks, name)
    assert isinstance(value, types.ModuleType) == (name in MODULES)
    assert callable(value) != (name in MODULES)


def test_names_mean_the_same_after_all_submodules_were_imported():
    script = """
import importlib, json, pkgutil, types
import klss_spiel as ks
skipped = []
for module in pkgutil.walk_packages(ks.__path__, "klss_spiel."):
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        skipped.append(str(error))
kinds = {name: isinstance(getattr(ks, name), types.ModuleType) for name in ks.__all__}
homes = {}
for name, home in ks._HOME.items():
    module, _, attribute = home.partition(":")
    value = importlib.import_module("klss_spiel." + module)
    homes[name] = getattr(ks, name) is (getattr(value, attribute) if attribute else value)
print(json.dumps([kinds, homes, skipped]))
"""
    kinds, homes, skipped = json.loads(_run(script).splitlines()[-1])
    assert {name for name, is_module in kinds.items() if is_module} == MODULES
    assert [name for name, same in homes.items() if not same] == []
    # Only extras that are not installed may be missing.
    assert [error for error in skipped if "klss_spiel" in error] == []


def test_no_public_name_is_a_submodule_of_another_thing():
    submodules = {module.name for module in pkgutil.iter_modules(ks.__path__)}
    assert submodules & set(ks.__all__) == {"games"}


def test_type_checkers_see_the_same_names():
    tree = ast.parse((_PACKAGE / "__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {}
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                seen[alias.asname] = (node.module, alias.name)
    assert seen.pop("_solve") == ("klss_spiel.linear_program", "solve")  # solve_lp
    expected = {}
    for name, home in ks._HOME.items():
        module, _, attribute = f"klss_spiel.{home}".partition(":")
        expected[name] = (module, attribute) if attribute else tuple(module.rsplit(".", 1))
    del expected["solve_lp"]
    assert seen == expected


def test_nothing_heavy_is_imported_before_it_is_used():
    script = """
import json, sys
import klss_spiel as ks
dir(ks)
heavy = ["jax", "numba", "highspy"]
before = [name for name in heavy if name in sys.modules]
ks.exploitability, ks.tree_from_game, ks.recipes, ks.Budget, ks.check_game, ks.render
light = [name for name in heavy if name in sys.modules]
ks.solve_lp
after = [name for name in heavy if name in sys.modules]
print(json.dumps([before, light, after]))
"""
    assert json.loads(_run(script)) == [[], [], ["highspy"]]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'solve_pl'"):
        ks.solve_pl  # noqa: B018
    assert not hasattr(ks, "best_response") or inspect.ismodule(ks.best_response)


def test_help_is_a_tour_that_runs():
    failed, tried = doctest.testmod(ks)
    assert (failed, tried >= 10) == (0, True)
    text = pydoc.render_doc(ks)
    for name in WANTED:
        assert f"ks.{name}" in text or name in ("nash_conv", "sequence_form_from_tree"), name


GAME = "python_klss_example"


def test_solvers_take_a_form_a_tree_a_game_and_its_name():
    tree = ks.tree_from_game(GAME)
    shapes = (ks.sequence_form_from_tree(tree), tree, ks.load_game(GAME), GAME)
    values = [ks.solve_lp(game).value for game in shapes]
    assert values == [values[0]] * 4
    plans = [ks.cfr.solve(game, 7).average for game in shapes]
    for plan in plans[1:]:
        np.testing.assert_array_equal(plan[0], plans[0][0])
    assert next(ks.cfr.iterate(GAME, 7, 7)).iterations == 7
    for wrong in (5, None, [tree]):
        with pytest.raises(ValueError, match="expected a SequenceForm, a GameTree, a pyspiel"):
            ks.solve_lp(wrong)
        with pytest.raises(ValueError, match="expected a SequenceForm, a GameTree, a pyspiel"):
            ks.cfr.solve(wrong, 1)


@pytest.mark.parametrize("player", [0, 1])
def test_an_exact_solution_knows_both_strategies(player):
    solution = ks.solve_lp("kuhn_poker", player)
    assert ks.exploitability(solution.policy) == pytest.approx(0.0, abs=1e-9)
    assert solution.policy.tree.name == "kuhn_poker()"
    subgame = ks.build_subgame(
        ks.BehaviorPolicy.uniform(solution.policy.tree), "0pb", ks.recipes.MAXMARGIN
    )
    with pytest.raises(ValueError, match="whole game"):
        ks.solve_lp(subgame.form).policy  # noqa: B018
    with pytest.raises(ValueError, match="whole game"):
        ks.cfr.solve(subgame.form, 1).policy  # noqa: B018


def test_a_solution_by_cfr_is_a_policy_of_its_game(tmp_path):
    solution = ks.cfr.solve("kuhn_poker", 50)
    policy = solution.policy
    assert policy.tree.name == "kuhn_poker()"
    for player in (0, 1):
        np.testing.assert_array_equal(
            policy.probabilities[player], solution.average_behavior[player]
        )
    path = tmp_path / "solution.npz"
    solution.save(path)
    form = ks.sequence_form_from_tree(policy.tree)
    again = ks.cfr.Solution.load(path, form)
    assert again.policy.tree is policy.tree
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"cannot read a solution from .*solution\.npz"):
        ks.cfr.Solution.load(path, form)


def test_recipes_are_taken_by_name():
    tree = ks.tree_from_game("kuhn_poker")
    blueprint = ks.BehaviorPolicy.uniform(tree)
    by_name = ks.refine(blueprint, "maxmargin").policy
    by_value = ks.refine(blueprint, ks.recipes.MAXMARGIN).policy
    np.testing.assert_array_equal(by_name.probabilities[0], by_value.probabilities[0])
    with pytest.raises(ValueError, match="expected a recipe such as"):
        ks.refine(blueprint, "maxmargins")


def test_importlib_reload_keeps_the_names():
    module = importlib.reload(ks)
    assert module.exploitability is ks.exploitability


def test_trees_and_policies_show_themselves_in_notebooks():
    tree = ks.tree_from_game("kuhn_poker")
    assert repr(tree) == "<GameTree kuhn_poker(): 58 nodes, 12 decision infosets, depth 5>"
    html = tree._repr_html_()
    assert "<td>58</td>" in html
    assert "decision infosets of player 1" in html
    policy = ks.BehaviorPolicy.uniform(tree)
    assert repr(policy) == "<BehaviorPolicy of kuhn_poker(): 12 decision infosets>"
    html = policy._repr_html_()
    assert html.count("<tr>") == 1 + 12
    assert "<code>0pb</code></td><td>0: 0.5, 1: 0.5</td>" in html
    assert "more" not in html
    large = ks.BehaviorPolicy.uniform(ks.tree_from_game("python_n_matching_pennies(n=50)"))
    assert large._repr_html_().count("<tr>") == 1 + 20
    assert f"and {large.tree.num_decision_infosets - 20} more" in large._repr_html_()


def test_text_of_a_game_is_escaped_in_notebooks():
    builder = ks.TreeBuilder("<b>bold</b>")
    builder.add_node(-1, -1, 0, ("<i>", "y"), [0])
    builder.add_node(0, 0, -4, ("z", "z"), utility=1.0)
    tree = builder.build()
    assert "<b>" not in tree._repr_html_()
    assert "<i>" not in ks.BehaviorPolicy.uniform(tree)._repr_html_()


def test_render_shows_a_chess_state_with_a_players_fog():
    state = ks.load_game("python_dark_chess(board=microchess)").new_initial_state()
    white, black, true = (ks.render(state, player) for player in (0, 1, None))
    assert str(white).count("?") == 8
    assert "?" not in str(true)
    assert str(white) != str(black)
    for picture in (white, black, true):
        assert picture._repr_svg_().startswith("<svg ")
        assert repr(picture) == str(picture)
    # Fog is drawn in its own colour, and nothing under it.
    assert white._repr_svg_().count("<path") < true._repr_svg_().count("<path")


def test_render_shows_other_games_as_the_player_knows_them():
    state = ks.load_game("kuhn_poker").new_initial_state()
    state.apply_action(2)
    state.apply_action(1)
    assert str(ks.render(state, 0)) == state.information_state_string(0) == "2"
    assert str(ks.render(state, 1)) == "1"
    assert str(ks.render(state)) == str(state)
    assert ks.render(state, 0)._repr_svg_() is None
    for wrong in (2, -1, "0"):
        with pytest.raises(ValueError, match="player from 0 to 1 or None"):
            ks.render(state, wrong)
    with pytest.raises(ValueError, match="expected a state of a game, got str"):
        ks.render("kuhn_poker")
