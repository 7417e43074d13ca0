"""N-matching pennies and the papers' worked examples."""

import itertools
import pathlib
import re

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from open_spiel.python.algorithms import get_all_states

from klss_spiel.games import registration
from klss_spiel.games.signal import game as signal_game
from klss_spiel.testing import CHECKS, check_game
from tests.helpers.paths import PLAYTHROUGHS

_SMALL_GAMES = [
    "python_n_matching_pennies",
    "python_n_matching_pennies(n=4,variant=section4)",
    "python_hidden_pennies",
    "python_hidden_pennies(n=1)",
    "python_klss_example",
    "python_olss_example",
    "python_gift_example",
]


def _states(game):
    return get_all_states.get_all_states(
        game, include_terminals=True, include_chance_states=True
    ).values()


def _payoff(game, outcome, row, column):
    return game.new_initial_state().child(outcome).child(row).child(column).returns()[0]


def _loss_of_player_0(game, heads):
    """Exploitability of player 0 alone: game value minus worst case, from OpenSpiel.

    `heads` maps player 0's signals to its probability of heads. All values of
    the games used here are known: 0 unless stated.
    """
    policy = openspiel_policy.TabularPolicy(game)
    for key, index in policy.state_lookup.items():
        if key.startswith("p0"):
            probability = heads[key.partition("signal:")[2]]
            policy.action_probability_array[index] = [probability, 1 - probability]
    worst = openspiel_exploitability.best_response(game, policy, player_id=1)
    return worst["best_response_value"]


@pytest.mark.parametrize("name", _SMALL_GAMES)
def test_small_games_pass_every_check(name):
    check_game(name)


def test_100_matching_pennies_has_the_size_of_zs21_table_2():
    states = _states(pyspiel.load_game("python_n_matching_pennies"))
    assert len(states) == 701
    assert len({s.information_state_string() for s in states if s.is_player_node()}) == 101


@pytest.mark.parametrize(
    ("variant", "told_0", "told_1", "tails"),
    [
        ("appendix", [1, 1, 2, 2, 3], [0, 1, 1, 2, 2], [5, 4, 3, 2, 1]),
        ("section4", [0, 1, 1, 2, 2], [1, 1, 2, 2, 3], [4, 3, 2, 1, 0]),
    ],
)
def test_the_two_variants_of_n_matching_pennies(variant, told_0, told_1, tails):
    game = pyspiel.load_game(f"python_n_matching_pennies(n=5,variant={variant})")
    for outcome in range(5):
        dealt = game.new_initial_state().child(outcome)
        assert dealt.information_state_string(0) == f"p0 ply:1 signal:{told_0[outcome]}"
        assert dealt.information_state_string(1) == f"p1 ply:1 signal:{told_1[outcome]}"
        assert _payoff(game, outcome, 0, 0) == outcome + 1
        assert _payoff(game, outcome, 1, 1) == tails[outcome]
        assert _payoff(game, outcome, 0, 1) == _payoff(game, outcome, 1, 0) == 0


@pytest.mark.parametrize("parameters", ["n=0", "n=-3", "n=20000000", "variant=appendix_c"])
def test_impossible_pennies_are_refused(parameters):
    with pytest.raises(ValueError, match=r"expected (1 <= n <= 1000000|variant appendix)"):
        pyspiel.load_game(f"python_n_matching_pennies({parameters})")


def test_klss_example_has_the_matrix_of_zs21_appendix_c():
    game = pyspiel.load_game("python_klss_example")
    # The printed matrix A of the 1-KLSS subgame at R_1, then the rest of 4-matching pennies.
    heads, tails = [1, 2, 3, 4], [4, 3, 2, 1]
    assert [_payoff(game, outcome, 0, 0) for outcome in range(4)] == heads
    assert [_payoff(game, outcome, 1, 1) for outcome in range(4)] == tails
    # Player 1's counterfactual values against uniform play: min over its moves of the
    # mean over player 0's. At C_0: min(1/2, 4/2) = 1/2, at C_4: min(4/2, 1/2) = 1/2; at C_2,
    # summed over both histories: min(2/2 + 3/2, 3/2 + 2/2) = 5/2.
    values = {}
    for signal, outcomes in {"0": [0], "1": [1, 2], "2": [3]}.items():
        columns = [
            sum(0.5 * _payoff(game, outcome, row, column) for outcome in outcomes for row in (0, 1))
            for column in (0, 1)
        ]
        values[signal] = min(columns)
        for outcome in outcomes:
            string = game.new_initial_state().child(outcome).information_state_string(1)
            assert string.endswith(f"signal:{signal}")
    assert values == {"0": 0.5, "1": 2.5, "2": 0.5}


def test_fifth_outcome_of_klss_example_is_apart_from_the_others():
    game = pyspiel.load_game("python_klss_example")
    dealt = [game.new_initial_state().child(outcome) for outcome in range(5)]
    for player, outcome in itertools.product((0, 1), range(4)):
        fifth = dealt[4].information_state_string(player)
        assert dealt[outcome].information_state_string(player) != fifth


@pytest.mark.parametrize("n", [10, 50, 200])
def test_hidden_pennies_behave_as_in_zs21_proposition_3(n):
    game = pyspiel.load_game(f"python_hidden_pennies(n={n})")
    blueprint = {str(number): 0.5 + 2 / n for number in range(1, n + 1)}
    assert _loss_of_player_0(game, blueprint) == pytest.approx(4 / n)
    one_solved = _loss_of_player_0(game, blueprint | {"3": 0.0})
    assert one_solved == pytest.approx(abs(2 * (0.5 + 2 / n) * (1 - 1 / n) - 1))
    assert one_solved == pytest.approx({10: 0.26, 50: 0.0584, 200: 0.0149}[n], abs=5e-5)
    assert _loss_of_player_0(game, dict.fromkeys(blueprint, 0.0)) == pytest.approx(1)


def test_hidden_pennies_behave_as_in_olss_figure_1():
    game = pyspiel.load_game("python_hidden_pennies")
    blueprint = {str(number): 0.55 for number in range(1, 101)}
    assert _loss_of_player_0(game, blueprint) == pytest.approx(0.1)
    assert _loss_of_player_0(game, blueprint | {"1": 0.0}) == pytest.approx(0.089)


def test_olss_example_has_the_exploitabilities_of_section_6():
    game = pyspiel.load_game("python_olss_example")
    # The game's value for player 1 cancels in differences; 1/6 needs it, from a grid of
    # player 0's strategies fine enough to hold the exact equilibrium.
    grid = np.linspace(0, 1, 7)
    value = min(_loss_of_player_0(game, {"a": a, "a'": b}) for a in grid for b in grid)
    uniform = _loss_of_player_0(game, {"a": 0.5, "a'": 0.5})
    assert uniform - value == pytest.approx(1 / 6)
    solved_at_a = _loss_of_player_0(game, {"a": 0.4, "a'": 0.5})  # Tails with 0.6 at a.
    assert uniform - solved_at_a == pytest.approx(1 / 15)


def test_gift_example_has_the_exploitabilities_of_its_docstring():
    game = pyspiel.load_game("python_gift_example")
    # Payoffs to player 0: [[0, 2], [1, -1]]. Heads with p gives min(1 - p, 3p - 1), at
    # best 1/2 at p = 1/2.
    for heads, loss in [(0.75, 0.25), (0.5, 0.0), (1 / 4, 0.75)]:
        worst = -_loss_of_player_0(game, {"-": heads})
        assert 0.5 - worst == pytest.approx(loss)


@pytest.mark.parametrize("name", _SMALL_GAMES)
def test_every_string_names_its_player_at_every_state(name):
    for state in _states(pyspiel.load_game(name)):
        for player in (0, 1):
            assert state.information_state_string(player).startswith(f"p{player} ")


def test_copies_of_a_state_share_their_position():
    state = pyspiel.load_game("python_n_matching_pennies").new_initial_state()
    assert state.clone().position is state.position
    assert state.child(0).position is not state.position


@given(
    table=st.lists(st.integers(-5, 5), min_size=6, max_size=6),
    probability=st.floats(0.01, 0.99),
)
def test_signal_rules_pay_what_their_table_says(table, probability):
    rules = signal_game.SignalRules(
        outcomes=("x", "y"),
        probabilities=(probability, 1 - probability),
        signals=(("s", "s"), ("s", "t")),
        moves=(("up",), ("left", "middle", "right")),
        payoffs=((tuple(table[:3]),), (tuple(table[3:]),)),
    )
    game_type = signal_game.signal_game_type("python_unregistered", "")
    if not any(table):
        return  # OpenSpiel wants a range of utilities.
    game = signal_game.SignalGame(game_type, rules)
    assert game.new_initial_state().chance_outcomes() == [(0, probability), (1, 1 - probability)]
    for outcome, column in itertools.product((0, 1), range(3)):
        assert _payoff(game, outcome, 0, column) == table[3 * outcome + column]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("probabilities", (0.5, 0.4), "sum to 1, got .* 0.9"),
        ("probabilities", (1.0, 0.0), "positive probabilities"),
        ("probabilities", (1.0,), "expected 2 probabilities, one per outcome, got 1"),
        ("signals", (("s", "t"),), "expected 2 signals"),
        ("payoffs", (((1.0, 2.0),), ((1.0,),)), "1 rows and 2 columns, got .* for outcome 'y'"),
    ],
)
def test_inconsistent_rules_are_refused(field, value, message):
    fields = dict(
        outcomes=("x", "y"),
        probabilities=(0.5, 0.5),
        signals=(("s", "s"), ("s", "t")),
        moves=(("up",), ("left", "right")),
        payoffs=(((1.0, 2.0),), ((3.0, 4.0),)),
    )
    signal_game.SignalRules(**fields)
    with pytest.raises(ValueError, match=message):
        signal_game.SignalRules(**fields | {field: value})


def test_observers_refuse_what_they_do_not_offer():
    game = pyspiel.load_game("python_olss_example")
    with pytest.raises(ValueError, match="got ALL_PLAYERS"):
        game.make_py_observer(
            pyspiel.IIGObservationType(
                perfect_recall=True, private_info=pyspiel.PrivateInfoType.ALL_PLAYERS
            )
        )
    with pytest.raises(ValueError, match="expected no observation parameters"):
        game.make_py_observer(None, {"size": 3})


def _golden_files() -> list[pathlib.Path]:
    return sorted(PLAYTHROUGHS.glob("*.txt"))


def test_every_game_of_the_package_has_a_playthrough():
    recorded = {
        re.search(r'^GameType\.short_name = "(.*)"$', path.read_text("utf-8"), re.MULTILINE)[1]
        for path in _golden_files()
    }
    ours = {
        name
        for name, game_class in registration.registered_classes().items()
        if game_class.__module__.startswith("klss_spiel.")
    }
    assert ours - recorded == set(), "write them with klss_spiel.testing.write_playthrough"


@pytest.mark.parametrize("path", _golden_files(), ids=lambda path: path.stem)
def test_playthroughs_are_reproduced(path):
    game = path.read_text("utf-8").splitlines()[0].removeprefix("game: ")
    check_game(game, playthrough=path, skip=set(CHECKS) - {"playthrough"}, max_nodes=1)
