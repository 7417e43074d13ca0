"""Evaluators by name: the list, their composition, and what they are worth."""

import dataclasses
import subprocess
import sys

import numpy as np
import pyspiel
import pytest

from klss_spiel import evaluators
from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame, search_game
from klss_spiel.evaluators import Evaluator, make_evaluator
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.search_game import DarkChess
from klss_spiel.specification import Specification

_KUHN = "kuhn_poker"
_DARK = "python_dark_chess"
_SMALL = "python_dark_chess(board=minimal4x3,horizon=6)"


def _states(game: str, *histories: list[int]) -> np.ndarray:
    found = np.empty(len(histories), dtype=object)
    for i, history in enumerate(histories):
        found[i] = pyspiel.load_game(game).new_initial_state()
        for action in history:
            found[i].apply_action(action)
    return found


def _opposite(game, inner):
    """The opposite of another evaluator."""
    asked = make_evaluator(game, Specification.nested(inner))
    return dataclasses.replace(asked, function=lambda positions: -asked(positions))


@pytest.fixture
def opposite(monkeypatch):
    """An evaluator that asks another, in a list of its own."""
    makers = dict(evaluators.EVALUATORS._makers)
    monkeypatch.setattr(evaluators.EVALUATORS, "_makers", makers)
    evaluators.EVALUATORS.register("opposite", _opposite)


def test_the_list_is_known_without_importing_kernels():
    script = (
        "import sys, klss_spiel\n"
        "from klss_spiel.evaluators import EVALUATORS\n"
        "print(*EVALUATORS.names, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    *names, numba = done.stdout.split()
    assert numba == "False"
    assert {"zero", "exact", "rollout", "handmade", "resolver"} <= set(names)
    assert {"network", "nnue", "simple", "alphabeta", "uci"} <= set(names)


def test_evaluators_compose_by_name(opposite):
    game = search_game(_DARK, "opposite(opposite(handmade))")
    mirrored = search_game(_DARK, "opposite(handmade)")
    start = game.initial()
    children = game.expand(start.position, start.infoset_ids).position
    assert isinstance(game, DarkChess)
    np.testing.assert_array_equal(game.evaluate(children), -mirrored.evaluate(children))
    assert make_evaluator(_DARK, "opposite(handmade)").name == "opposite(handmade)"


def test_handmade_is_the_packed_evaluation():
    game = "python_dark_chess(fen=4k3/8/8/8/8/8/4P3/4K3 b - - 0 1)"
    searched = search_game(game)
    start = searched.initial()
    children = searched.expand(start.position, start.infoset_ids).position
    expected = packed.evaluate(searched.board, children[:, :4].copy(), 0)
    np.testing.assert_allclose(make_evaluator(game, "handmade")(children), expected)
    # Nothing can be captured.
    np.testing.assert_allclose(make_evaluator(game, "resolver(handmade)")(children), expected)
    assert (expected > 0).all()


def test_games_take_names_and_functions():
    loaded = pyspiel.load_game(_DARK)
    start = loaded.search_game("zero").initial().position
    assert loaded.search_game("zero").evaluate(start) == 0.0
    assert loaded.search_game(lambda positions: np.full(len(positions), 0.5)).evaluate(start) == 0.5
    assert loaded.search_game().evaluate(start) != 0.5


@pytest.mark.parametrize("name", ["rollout(2)", "exact"])
def test_evaluators_of_states_are_searched_through_states(name):
    game = search_game(_SMALL, name)
    assert isinstance(game, OpenSpielSearchGame)
    values = game.evaluate(game.initial().position)
    assert -1.0 <= values[0] <= 1.0


def test_exact_values_are_those_of_an_equilibrium():
    exact = make_evaluator(_KUHN, "exact")
    # Kuhn poker is worth -1/18 to the first player, and payoffs are divided by 2.
    deals = [[a, b] for a in range(3) for b in range(3) if a != b]
    dealt = exact(_states(_KUHN, *deals))
    assert exact(_states(_KUHN, [])) == pytest.approx([-1 / 36])
    assert dealt.mean() == pytest.approx(-1 / 36)
    # King against queen, bet and call: the first player wins 2, the largest payoff.
    assert exact(_states(_KUHN, [2, 1, 1, 1])) == pytest.approx([1.0])
    assert make_evaluator(_SMALL, "exact")(_states(_SMALL, [])) == pytest.approx([1.0])


def test_rollouts_depend_on_seed_and_history_only():
    evaluate = make_evaluator(_KUHN, "rollout(rollouts=20,seed=3)")
    states = _states(_KUHN, [0, 1], [2, 1])
    together = evaluate(states)
    np.testing.assert_array_equal(together[1:], evaluate(states[1:]))
    assert together[1] > together[0]


@pytest.mark.parametrize(
    ("game", "name", "message"),
    [
        (_KUHN, "hand", "expected a evaluator among zero.*did you mean handmade"),
        (_KUHN, "zero(1)", "cannot make evaluator zero"),
        (_KUHN, "handmade", "expected python_dark_chess"),
        ("python_kriegspiel(tries=possible)", "handmade", "python_kriegspiel with all tries"),
        ("python_kriegspiel", "uci(nothing)", "expected python_dark_chess for"),
        ("python_dark_chess(rules=observe_on_turn)", "handmade", "after every ply"),
        ("python_dark_chess", "exact", None),
    ],
)
def test_what_cannot_be_made_is_refused(game, name, message):
    if message is None:
        with pytest.raises(ValueError, match="max_nodes"):
            make_evaluator(game, name)(_states(game, []))
        return
    with pytest.raises(ValueError, match=message):
        make_evaluator(game, name)


def test_an_evaluator_is_called_like_its_function():
    evaluator = Evaluator("ones", lambda positions: np.ones(len(positions)))
    assert evaluator(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]
