"""Game trees against brute force over OpenSpiel's states, and what is refused."""

import dataclasses
import functools
import sys

import numpy as np
import pyspiel
import pytest

from klss_spiel.openspiel import check_supported, load_game, tree_from_game, turn_based
from klss_spiel.tree import (
    EMPTY_SEQUENCE,
    NO_ACTION,
    NO_INFOSET,
    NO_PARENT,
    PLAYERS,
    ROOT,
    TERMINAL,
    GameTree,
)
from tests.helpers import toy_games
from tests.helpers.games import tree_of

GAMES = [
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3,imp_info=True,points_order=random)",
    "goofspiel(num_cards=3,imp_info=False,points_order=ascending)",
    "oshi_zumo(coins=3,size=1,horizon=4)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=cdh)",
    "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2,"
    "allow_repeated_shots=False)",
    "matrix_rps",
    "nim(pile_sizes=1;2;2)",
    "python_kuhn_poker",
    "python_n_matching_pennies(n=7)",
    "python_toy_game",
]
GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=random)"
assert toy_games.GAME_TYPE.short_name == "python_toy_game"  # registered by the import

parametrize_games = pytest.mark.parametrize("name", GAMES)


@functools.cache
def states_of(name: str) -> tuple[pyspiel.State, ...]:
    """A state for every node of the tree, reached by playing the tree's actions."""
    tree = tree_of(name)
    states = [turn_based(load_game(name)).new_initial_state()]
    for node in range(1, tree.num_nodes):
        state = states[tree.parent[node]].clone()
        state.apply_action(int(tree.action[node]))
        states.append(state)
    return tuple(states)


def count_states(state: pyspiel.State) -> int:
    if state.is_terminal():
        return 1
    return 1 + sum(count_states(state.child(action)) for action in state.legal_actions())


@parametrize_games
def test_nodes_are_the_games_states(name):
    tree = tree_of(name)
    states = states_of(name)
    assert tree.num_nodes == count_states(turn_based(load_game(name)).new_initial_state())
    assert len({tuple(state.history()) for state in states}) == tree.num_nodes
    for node, state in enumerate(states):
        assert tree.player[node] == state.current_player()
        if state.is_terminal():
            assert tree.num_children[node] == 0
            assert tree.utility[node] == pytest.approx(state.returns()[0], abs=1e-12)
            continue
        assert tree.utility[node] == 0.0
        first = tree.first_child[node]
        children = np.arange(first, first + tree.num_children[node])
        assert np.all(tree.parent[children] == node)
        assert tree.action[children].tolist() == list(state.legal_actions())
        if state.is_chance_node():
            expected = [probability for _, probability in state.chance_outcomes()]
            assert tree.chance[children].tolist() == expected
        else:
            assert np.all(tree.chance[children] == 1.0)


@parametrize_games
def test_nodes_are_in_breadth_first_order(name):
    tree = tree_of(name)
    assert tree.parent[ROOT] == NO_PARENT
    assert np.all(tree.parent[1:] < np.arange(1, tree.num_nodes))
    assert np.all(np.diff(tree.parent[1:]) >= 0)  # children of a node lie together
    depth = np.array([len(state.full_history()) for state in states_of(name)])
    assert tree.max_depth == depth.max()
    assert np.array_equal(np.diff(tree.level_start), np.bincount(depth))
    for number, level in enumerate(tree.levels()):
        assert np.all(depth[level] == number)
    assert len(tree.terminals) == np.sum(tree.player == TERMINAL)


def observation_sequence(state: pyspiel.State, player: int) -> tuple:
    """What `player` did and was told on the way to `state`, replayed from the start.

    An entry per own action, and one per new information: when the string
    changes, after an own move, and when it is the own turn.
    """
    at = state.get_game().new_initial_state()
    seen = [(at.current_player() == player, at.information_state_string(player))]
    for action in state.history():
        mover = at.current_player()
        at.apply_action(action)
        told = at.information_state_string(player)
        moves = at.current_player() == player
        if mover == player:
            seen += [action, (moves, told)]
        elif moves or told != seen[-1][1]:
            seen.append((moves, told))
    return tuple(seen)


@parametrize_games
def test_infosets_of_both_players_are_observation_sequences(name):
    tree = tree_of(name)
    states = states_of(name)
    rng = np.random.default_rng(0)
    nodes = np.arange(tree.num_nodes)
    if len(nodes) > 2500:  # replaying is slow
        nodes = rng.choice(nodes, 2500, replace=False)
    for p in PLAYERS:
        sequence_of_infoset: dict[int, tuple] = {}
        infoset_of_sequence: dict[tuple, int] = {}
        for node in nodes:
            sequence = observation_sequence(states[node], p)
            infoset = int(tree.infoset[p, node])
            assert sequence_of_infoset.setdefault(infoset, sequence) == sequence
            assert infoset_of_sequence.setdefault(sequence, infoset) == infoset


@parametrize_games
def test_decision_infosets_are_openspiels_information_states(name):
    # The number and the strings of information states, by the raw states alone.
    tree = tree_of(name)
    states = states_of(name)
    for p in PLAYERS:
        infosets = tree.infosets[p]
        strings: dict[str, tuple[int, list[int]]] = {}
        for node, state in enumerate(states):
            if state.current_player() == p:
                value = (int(tree.infoset[p, node]), list(state.legal_actions()))
                assert strings.setdefault(state.information_state_string(p), value) == value
        assert len(strings) == len(infosets.decisions)
        assert infosets.index_of_label == {label: i for label, (i, _) in strings.items()}
        for infoset, actions in strings.values():
            assert infosets.actions(infoset).tolist() == actions
            assert infosets.num_actions[infoset] == len(actions)


@parametrize_games
def test_sequences_are_the_own_actions(name):
    tree = tree_of(name)
    states = states_of(name)
    for p in PLAYERS:
        infosets = tree.infosets[p]
        assert infosets.num_sequences == 1 + infosets.num_actions.sum()
        assert infosets.sequence_infoset[EMPTY_SEQUENCE] == NO_INFOSET
        assert infosets.sequence_action[EMPTY_SEQUENCE] == NO_ACTION
        owned = [infosets.sequences(int(i)) for i in infosets.decisions]
        flat = [s for span in owned for s in range(span.start, span.stop)]
        assert flat == list(range(1, infosets.num_sequences))  # contiguous, none shared
        for i, span in zip(infosets.decisions, owned, strict=True):
            assert np.all(infosets.sequence_infoset[span] == i)
            # A sequence comes before those that extend it.
            assert infosets.parent_sequence[i] < span.start
        # Infosets grow out of earlier ones.
        assert np.all(infosets.parent[1:] < np.arange(1, infosets.num_infosets))
        assert infosets.parent[0] == NO_INFOSET
        # From a node's last sequence backwards one reads the own actions of its history.
        for node in range(0, tree.num_nodes, max(1, tree.num_nodes // 300)):
            actions = []
            sequence = int(tree.sequence[p, node])
            while sequence != EMPTY_SEQUENCE:
                actions.append(int(infosets.sequence_action[sequence]))
                sequence = int(infosets.parent_sequence[infosets.sequence_infoset[sequence]])
            history = [s.action for s in states[node].full_history() if s.player == p]
            assert actions[::-1] == history
        assert np.array_equal(infosets.parent_sequence[tree.infoset[p]], tree.sequence[p])


@parametrize_games
def test_reach_and_marks_travel_along_the_tree(name):
    tree = tree_of(name)
    rng = np.random.default_rng(3)
    marked = rng.random(tree.num_nodes) < 0.05
    below, above = marked.copy(), marked.copy()
    reach = np.ones(tree.num_nodes)
    for node in range(1, tree.num_nodes):
        below[node] |= below[tree.parent[node]]
        reach[node] = reach[tree.parent[node]] * tree.chance[node]
    for node in range(tree.num_nodes - 1, 0, -1):
        above[tree.parent[node]] |= above[node]
    assert np.array_equal(tree.descendants(marked), below)
    assert np.array_equal(tree.any_below(marked), above)
    assert np.allclose(tree.chance_reach, reach, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["liars_dice(dice_sides=5)", "leduc_poker"])
def test_memory_stays_under_100_bytes_per_node(name):
    tree = tree_of(name)
    derived = [tree.num_children, tree.first_child, tree.chance_reach, tree.terminals]
    owners = [tree, *tree.infosets]
    arrays = derived + [
        value
        for owner in owners
        for field in dataclasses.fields(owner)
        if isinstance(value := getattr(owner, field.name), np.ndarray)
    ]
    size = sum(array.nbytes for array in arrays)
    for infosets in tree.infosets:
        size += sys.getsizeof(infosets.labels)
        size += sum(sys.getsizeof(label) for label in infosets.labels if label)
    assert size / tree.num_nodes < 100


def test_private_retries_leave_the_opponent_where_he_was():
    # Phantom tic-tac-toe from a late position (x x o / o o x / x . .): after a refused
    # try the same player moves again, and OpenSpiel tells the opponent nothing.
    tree = tree_from_game("start_at(history=0;2;1;3;5;4;6,game=phantom_ttt())")
    parent = tree.parent[1:]
    again = 1 + np.flatnonzero((tree.player[1:] == tree.player[parent]) & (tree.player[1:] >= 0))
    assert len(again) > 100
    for node in again:
        before = tree.parent[node]
        mover = tree.player[node]
        assert tree.infoset[1 - mover, node] == tree.infoset[1 - mover, before]
        assert tree.infoset[mover, node] != tree.infoset[mover, before]
        assert tree.sequence[1 - mover, node] == tree.sequence[1 - mover, before]
    # So the opponent's next decision does not show how many tries there were.
    depth = np.repeat(np.arange(tree.max_depth + 1), np.diff(tree.level_start))
    depths = [
        set(depth[tree.infoset[p] == infoset].tolist())
        for p in PLAYERS
        for infoset in tree.infosets[p].decisions
    ]
    assert max(len(found) for found in depths) > 1


def test_in_classical_dark_hex_openspiel_tells_the_opponent_of_tries():
    # Its information states hold the number of moves made, refused tries included, and the
    # tree keeps what OpenSpiel tells: no infoset holds nodes of different depths.
    tree = tree_of("dark_hex(num_rows=2,num_cols=2,gameversion=cdh)")
    depth = np.repeat(np.arange(tree.max_depth + 1), np.diff(tree.level_start))
    parent = tree.parent[1:]
    assert np.any((tree.player[1:] == tree.player[parent]) & (tree.player[1:] >= 0))
    for p in PLAYERS:
        depth_of_infoset = np.zeros(tree.infosets[p].num_infosets, dtype=int)
        depth_of_infoset[tree.infoset[p]] = depth
        assert np.array_equal(depth_of_infoset[tree.infoset[p]], depth)


def test_constant_sum_games_are_shifted_and_say_by_how_much():
    rows, columns = [[3.0, 1.0, 0.0], [1.0, 3.0, 2.0]], [[1.0, 3.0, 4.0], [3.0, 1.0, 2.0]]
    game = pyspiel.create_matrix_game(
        "c", "Constant sum", ["a", "b"], ["c", "d", "e"], rows, columns
    )
    tree = tree_from_game(game)
    assert tree.utility_offset == 2.0  # half of 4
    payoffs = tree.utility[tree.terminals] + tree.utility_offset
    assert payoffs.tolist() == [payoff for row in rows for payoff in row]
    assert tree_of("kuhn_poker").utility_offset == 0.0


# What is refused.


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kuhn_poker(players=3)", "expected a two-player game, got 3 players"),
        ("matching_pennies_3p", "expected a two-player game, got 3 players"),
        ("matrix_pd", "expected a zero-sum or constant-sum game, got Utility.GENERAL_SUM"),
        ("tiny_hanabi", "expected a zero-sum or constant-sum game, got Utility.IDENTICAL"),
        ("dark_chess", "no information state.*python_dark_chess"),
        ("dark_hex_ir(num_rows=2,num_cols=2)", "not of perfect recall: player"),
        ("liars_dice_ir(dice_sides=3)", "not of perfect recall: player"),
        ("kuhn_pokker", "unknown game 'kuhn_pokker'.*`import klss_spiel`.*near.*kuhn_poker"),
        ("python_n_matching_penies(n=3)", "near names: python_n_matching_pennies"),
        ("kuhn", "unknown game 'kuhn'.*near names: kuhn_poker"),
        ("Leduc", "near names: leduc_poker"),
        ("xyzzy", "unknown game 'xyzzy' .*`import klss_spiel`.$"),
        ("kuhn_poker(cards=3)", "cannot load 'kuhn_poker.cards=3.'"),
        # Deliberate faults, see toy_games.py.
        (
            "python_toy_game(fault=general_sum)",
            "expected payoffs that sum to 0.0, got \\[1.0, 0.5\\]",
        ),
        ("python_toy_game(fault=shifted_sum)", "declared Utility.ZERO_SUM: .* sum to 0.0, got"),
        ("python_toy_game(fault=undefined_returns)", "sum to 0.0, got \\[nan, nan\\]"),
        ("python_toy_game(fault=wordless)", "both players' information states.*NoneType"),
        ("python_toy_game(fault=forgets)", "not of perfect recall: player 0"),
        ("python_toy_game(fault=actions_leak)", "different legal actions in one infoset"),
        ("python_toy_game(fault=chance_sum)", "sum to 0.9, expected 1"),
        ("python_toy_game(fault=chance_zero)", "probability zero"),
        ("python_toy_game(fault=no_actions)", "terminal node"),
        ("python_toy_game(fault=silent_off_turn)", "both players' information states.*\\[0\\]"),
    ],
)
def test_games_of_other_kinds_are_refused_with_a_reason(name, message):
    with pytest.raises(ValueError, match=message):
        tree_from_game(name)


@pytest.mark.parametrize("wrong", [5, None, ["kuhn_poker"], b"kuhn_poker"])
def test_what_is_no_game_is_refused(wrong):
    with pytest.raises(ValueError, match=r"expected a pyspiel.Game or the name of one, got"):
        tree_from_game(wrong)
    with pytest.raises(ValueError, match="expected the name of a game, got"):
        load_game(wrong)


def test_information_states_that_are_no_text_are_refused(monkeypatch):
    monkeypatch.setattr(
        toy_games.ToyState, "information_state_string", lambda state, player: None, raising=False
    )
    with pytest.raises(ValueError, match=r"tells player 0 None after the actions \[\], expected"):
        tree_from_game("python_toy_game")


def test_unknown_games_do_not_flood_standard_error(capfd):
    with pytest.raises(ValueError, match="unknown game"):
        tree_from_game("kuhn_pokker")
    assert capfd.readouterr().err == ""


def test_sampled_chance_is_refused():
    class Sampling:
        def get_type(self):
            return toy_games._game_type("python_sampling_game")

        def num_players(self):
            return 2

    game = Sampling()
    check_supported(game)
    sampled = pyspiel.GameType(
        **{
            **_type_arguments(game.get_type()),
            "chance_mode": pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC,
        }
    )
    game.get_type = lambda: sampled
    with pytest.raises(ValueError, match="chance outcomes that can be listed"):
        check_supported(game)


def _type_arguments(game_type: pyspiel.GameType) -> dict:
    names = (
        "short_name long_name dynamics chance_mode information utility reward_model "
        "max_num_players min_num_players provides_information_state_string "
        "provides_information_state_tensor provides_observation_string "
        "provides_observation_tensor parameter_specification"
    )
    return {name: getattr(game_type, name) for name in names.split()}


def test_max_nodes_says_how_far_it_came_and_what_raises_it():
    message = r"more than max_nodes=100 nodes \(100 reached, \d+ more waiting\); .*max_nodes"
    with pytest.raises(ValueError, match=message):
        tree_from_game("leduc_poker", max_nodes=100)
    assert tree_from_game("kuhn_poker", max_nodes=58).num_nodes == 58
    with pytest.raises(ValueError, match="max_nodes=57"):
        tree_from_game("kuhn_poker", max_nodes=57)


class Interrupting:
    """A progress that presses Ctrl-C at its n-th report."""

    def __init__(self, reports: int) -> None:
        self.left = reports

    def update(self, done: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("reports", [1, 2])
def test_an_interrupted_build_leaves_nothing_behind(reports):
    game = load_game("liars_dice(dice_sides=4)")
    whole = tree_from_game(game)
    progress = Interrupting(reports)
    with pytest.raises(KeyboardInterrupt):
        tree_from_game(game, progress=progress)
    assert progress.left == 0
    again = tree_from_game(game)
    for field in dataclasses.fields(GameTree):
        if field.name != "infosets":
            assert np.array_equal(getattr(whole, field.name), getattr(again, field.name))
    for p in PLAYERS:
        assert whole.infosets[p].labels == again.infosets[p].labels
