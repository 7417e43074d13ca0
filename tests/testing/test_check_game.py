"""check_game passes good games and finds every fault of the broken ones."""

import inspect
import random

import numpy as np
import pyspiel
import pytest

from klss_spiel import testing
from klss_spiel.testing import check_game
from klss_spiel.testing import checks as testing_checks
from tests.helpers import toy_games

# (fault, the check that must find it, what the message must say)
_FAULTS = [
    ("parameters_drift", "parameters", r"loaded=1.* to give it back, got .*loaded=2"),
    ("shared_state", "copies", "moving on in a clone to leave .* alone"),
    ("unsorted_actions", "actions", r"expected sorted actions at history \[0\], got \[1, 0\]"),
    ("no_actions", "actions", r"expected a legal action .* got none at history \[0, 0, 0\]"),
    ("large_actions", "actions", r"expected actions in range\(2\) .* got \[0, 2\]"),
    ("same_names", "actions", r"a name of its own per action .* got \['bit', 'bit'\]"),
    ("too_long", "actions", "expected at most 2 moves of players, got 3"),
    ("chance_sum", "chance", r"probabilities summing to 1 at history \[\], got 0.9"),
    ("chance_zero", "chance", r"expected positive probabilities .* got \[1.0, 0.0\]"),
    ("large_returns", "utilities", r"within \[-1.0, 1.0\] .* got \[5.0, -5.0\]"),
    ("general_sum", "utilities", r"returns that sum to 0.0 .* got \[1.0, 0.5\]"),
    ("shifted_sum", "utilities", r"returns that sum to 0.0 .* got \[1.0, 0.0\]"),
    ("undefined_returns", "utilities", r"returns within \[-1.0, 1.0\] .* got \[nan, nan\]"),
    ("early_returns", "utilities", r"returns of 0 before the end .* got \[1.0, -1.0\]"),
    ("nameless_strings", "information_states", "expected player 0 to move .* got player 1"),
    ("actions_leak", "information_states", r"legal actions \[0\] in .* got \[1\]"),
    ("tensor_leaks", "information_states", "entry 8 of information state tensor in .*p1"),
    ("tensor_blind", "tensors", "one for 'p0 dealt:0 named:' and 'p0 dealt:1 named:'"),
    ("pieces_differ", "tensors", "joined pieces of the observer"),
    ("observation_leaks", "observations", "observation string 'p1 dealt:0.* got 'p1 dealt:1"),
    ("forgets", "perfect_recall", r"histories \[0, 0, 0\] and \[1, 0, 0\]"),
    ("large_returns", "random_simulation", "MinUtility"),
    ("chance_sum", "openspiel_simulation", "probabilities do not sum to 1"),
    ("no_actions", "openspiel_partial_tree", "setUpClass: Empty actions"),
    ("general_sum", "openspiel_full_tree", "test_constant_sum: -?[0-9.]+ != 0.0"),
]


def _check_only(game: str, name: str) -> None:
    check_game(game, skip=set(testing.CHECKS) - {name})


@pytest.mark.parametrize("game", ["python_toy_game", "kuhn_poker", "leduc_poker", "liars_dice"])
def test_good_games_pass(game):
    check_game(game, max_nodes=1000, simulations=3)


@pytest.mark.parametrize(("fault", "name", "message"), _FAULTS)
def test_every_fault_is_found_by_its_check(fault, name, message):
    with pytest.raises(AssertionError, match=f"{name}: (?s:.)*{message}"):
        _check_only(f"python_toy_game(fault={fault})", name)


def test_a_game_without_the_players_parameter_is_found():
    with pytest.raises(AssertionError, match=r"players: expected a parameter `players`.*got.*\[\]"):
        _check_only("python_playerless_toy_game", "players")


def test_a_game_that_loses_its_attributes_in_a_pickle_is_found():
    with pytest.raises(
        AssertionError, match=r"pickle to keep the attributes \['fault'\], got \[\]"
    ):
        _check_only("python_forgetful_toy_game", "copies")


def test_a_game_without_information_states_off_turn_is_found():
    with pytest.raises(AssertionError, match=r"every player at every state, got .*not your turn"):
        check_game("python_toy_game(fault=silent_off_turn)")


def test_a_game_without_information_states_is_found():
    with pytest.raises(AssertionError, match="InformationStateString is not implemented"):
        check_game("dark_chess")


def test_imperfect_recall_of_an_openspiel_game_is_found():
    with pytest.raises(AssertionError, match=r"what player . saw and did"):
        _check_only("dark_hex_ir(num_rows=2,num_cols=2)", "perfect_recall")


def test_every_check_and_every_fault_has_a_test():
    checks = {name for _, name, _ in _FAULTS} | {"players", "playthrough"}
    assert checks == set(testing.CHECKS)
    faults = {fault for fault, _, _ in _FAULTS} | {"none", "silent_off_turn", "wordless"}
    assert faults == set(toy_games.FAULTS)
    defined = {
        function
        for name, function in inspect.getmembers(testing_checks, inspect.isfunction)
        if name.startswith("_check_")
    }
    assert defined == set(testing.CHECKS.values())


def test_all_failures_are_reported_together():
    with pytest.raises(AssertionError) as caught:
        check_game("python_toy_game(fault=general_sum)")
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(f"fails 3 of {len(testing.CHECKS)} checks")
    assert [name for name in testing.CHECKS if f"\n  {name}: " in str(caught.value)] == [
        "utilities",
        "random_simulation",
        "openspiel_full_tree",
    ]


def test_large_games_are_checked_in_part():
    # 100 states of the 9457 hold no terminal; the simulations do.
    check_game("leduc_poker", max_nodes=100, simulations=2)
    with pytest.raises(AssertionError, match="utilities: expected returns within"):
        check_game("python_toy_game(fault=large_returns)", max_nodes=5, simulations=2)


def test_playthroughs_are_replayed_and_differences_found(tmp_path):
    path = tmp_path / "toy.txt"
    testing.write_playthrough(path, "python_toy_game", seed=1)
    check_game("python_toy_game", playthrough=path)
    golden = path.read_text(encoding="utf-8")
    path.write_text(golden.replace("MaxUtility() = 1.0", "MaxUtility() = 2.0"), encoding="utf-8")
    with pytest.raises(
        AssertionError, match=r"playthrough: .*'MaxUtility\(\) = 2.0', got 'MaxUtility\(\) = 1.0'"
    ):
        check_game("python_toy_game", playthrough=path)
    path.write_text(golden[: golden.index("# State 2")], encoding="utf-8")
    with pytest.raises(AssertionError, match=r"playthrough: expected line \d+ .* None, got "):
        check_game("python_toy_game", playthrough=path)
    with pytest.raises(AssertionError, match=r"a playthrough of kuhn_poker\(\), got one of python"):
        check_game("kuhn_poker", playthrough=path)


def test_game_objects_are_taken_and_simultaneous_games_refused():
    game = pyspiel.load_game("goofspiel(num_cards=3,imp_info=True,points_order=descending)")
    with pytest.raises(ValueError, match="convert_to_turn_based"):
        check_game(game)
    check_game(pyspiel.convert_to_turn_based(game), skip=["players"])


def test_unknown_names_of_checks_are_refused():
    with pytest.raises(ValueError, match=r"expected names of checks among .* got \['speed'\]"):
        check_game("kuhn_poker", skip=["speed"])


def test_global_generators_are_left_as_found():
    legacy = np.random.get_state()  # noqa: NPY002
    standard = random.getstate()
    check_game("python_toy_game")
    assert random.getstate() == standard
    assert np.array_equal(np.random.get_state()[1], legacy[1])  # noqa: NPY002
