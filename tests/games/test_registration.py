"""Registering, pickling and copying Python games."""

import copy
import pickle
import subprocess
import sys

import pyspiel
import pytest

from klss_spiel.games import registration
from klss_spiel.games.signal.n_matching_pennies import NMatchingPenniesGame
from tests.helpers import toy_games


def _ours() -> list[str]:
    return sorted(
        name
        for name, game_class in registration.registered_classes().items()
        if game_class.__module__.startswith("klss_spiel.")
    )


def test_all_games_of_the_package_are_known_to_openspiel_by_python_names():
    assert "python_n_matching_pennies" in _ours()
    assert set(_ours()) <= set(pyspiel.registered_names())
    assert all(name.startswith("python_") for name in _ours())


def test_registering_the_same_class_again_is_allowed():
    registration.register(toy_games.GAME_TYPE, toy_games.ToyGame)
    assert registration.registered_classes()["python_toy_game"] is toy_games.ToyGame


def test_a_name_of_another_class_is_refused_and_keeps_its_game():
    with pytest.raises(
        ValueError, match=r"'python_toy_game' belongs to tests\.helpers\.toy_games\.ToyGame"
    ):
        registration.register(toy_games.GAME_TYPE, toy_games.PlayerlessToyGame)
    assert type(pyspiel.load_game("python_toy_game")) is toy_games.ToyGame


def test_a_name_of_an_openspiel_game_is_refused():
    game_type = toy_games._game_type("kuhn_poker", players=2)
    with pytest.raises(ValueError, match="OpenSpiel already has a game called 'kuhn_poker'"):
        registration.register(game_type, toy_games.ToyGame)
    assert str(pyspiel.load_game("kuhn_poker")) == "kuhn_poker()"


def test_registered_classes_cannot_be_written_to():
    with pytest.raises(TypeError):
        registration.registered_classes()["python_toy_game"] = toy_games.ToyGame


@pytest.mark.parametrize(
    "duplicate", [lambda game: pickle.loads(pickle.dumps(game)), copy.copy, copy.deepcopy]
)
@pytest.mark.parametrize(
    "game",
    [
        pyspiel.load_game("python_n_matching_pennies(n=7,variant=section4)"),
        NMatchingPenniesGame({"n": 7, "variant": "section4"}),
    ],
    ids=["loaded", "constructed"],
)
def test_duplicates_keep_class_parameters_and_attributes(game, duplicate):
    other = duplicate(game)
    assert type(other) is NMatchingPenniesGame
    assert str(other) == "python_n_matching_pennies(n=7,players=2,variant=section4)"
    assert other.rules == game.rules


def test_a_pickled_game_and_state_load_in_a_process_that_never_named_the_package():
    game = pyspiel.load_game("python_n_matching_pennies(n=3)")
    state = game.new_initial_state().child(2).child(1)
    script = (
        "import pickle, sys\n"
        "game, state = pickle.load(sys.stdin.buffer)\n"
        "print(game, len(game.rules.outcomes), state, state.get_game().rules == game.rules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps((game, state)),
        capture_output=True,
        check=True,
    )
    expected = "python_n_matching_pennies(n=3,players=2,variant=appendix) 3 3 tails True"
    assert result.stdout.decode().strip() == expected


def test_loading_a_pickle_refuses_a_name_that_means_another_game():
    with pytest.raises(ValueError, match=r"expected 'python_toy_game' to be .*NMatchingPennies"):
        registration.load_registered(NMatchingPenniesGame, "python_toy_game", {})


@pytest.mark.parametrize("name", _ours())
def test_a_wrong_number_of_players_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} expects players=2, got players=3"):
        pyspiel.load_game(name, {"players": 3})


def test_unknown_parameters_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"among \['n', 'players', 'variant'\], got \['m'\]"):
        NMatchingPenniesGame({"m": 3})
