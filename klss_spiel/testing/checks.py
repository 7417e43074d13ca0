"""The checks that `klss_spiel.testing.check_game` runs, one function each.

A check takes a `Subject` and raises when the game is at fault; the first line
of its docstring says what holds for a good game.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import itertools
import os
import pickle
import random
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

_TOLERANCE = 1e-9
_LONGEST_DESCRIPTION = 500
_COPIED_STATES = 50


@dataclasses.dataclass(frozen=True)
class Node:
    """A state met while walking the game, with what each of the P players has seen.

    Attributes:
        state: the state; never changed by a check.
        strings: [P] information state strings.
        sequences: [P] ids of observation sequences: what the player saw and
            did up to here, without repetitions of an unchanged string.
        turns: number of actions by players, chance excluded, up to here.
    """

    state: pyspiel.State
    strings: tuple[str, ...]
    sequences: tuple[int, ...]
    turns: int


@dataclasses.dataclass(frozen=True)
class Subject:
    """What a check looks at.

    Attributes:
        game: the game under test.
        nodes: the states walked, parents first.
        complete: whether `nodes` is the whole tree.
        simulations: how many random plays OpenSpiel's simulations make.
        seed: of every random choice.
        playthrough: a golden file, or None.
    """

    game: pyspiel.Game
    nodes: tuple[Node, ...]
    complete: bool
    simulations: int
    seed: int
    playthrough: str | os.PathLike[str] | None

    @property
    def type(self) -> pyspiel.GameType:
        """The game's OpenSpiel type."""
        return self.game.get_type()

    @property
    def players(self) -> range:
        """The players' numbers, P of them."""
        return range(self.game.num_players())


def _check_parameters(subject: Subject) -> None:
    """The game loads from its own string."""
    game = subject.game
    again = pyspiel.load_game(str(game))
    _expect(str(again) == str(game), f"load_game({str(game)!r}) to give it back", again)


def _check_players(subject: Subject) -> None:
    """The number of players is a parameter."""
    specification = subject.type.parameter_specification
    _expect(
        "players" in specification,
        "a parameter `players`, which OpenSpiel's examples pass",
        f"parameters {sorted(specification)}",
    )
    count = subject.game.num_players()
    parameters = {**subject.game.get_parameters(), "players": count}
    counted = pyspiel.load_game(subject.type.short_name, parameters).num_players()
    _expect(counted == count, f"players={count} to give {count} players", counted)


def _check_random_simulation(subject: Subject) -> None:
    """OpenSpiel's `random_sim_test`."""
    pyspiel.random_sim_test(
        subject.game, num_sims=subject.simulations, serialize=True, verbose=False
    )


def _check_openspiel_simulation(subject: Subject) -> None:
    """OpenSpiel's `sim_game`, with cloning and both kinds of serialization."""
    parse_flags()
    from open_spiel.python.tests import games_sim_test

    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(subject.simulations):
            games_sim_test.GamesSimTest().sim_game(subject.game)


def _check_openspiel_partial_tree(subject: Subject) -> None:
    """OpenSpiel's API test on sampled states."""
    parse_flags()
    from open_spiel.integration_tests import api_test

    _run_test_case(api_test.EnforceAPIOnPartialTreeBase, subject)


def _check_openspiel_full_tree(subject: Subject) -> None:
    """OpenSpiel's API test on all states; needs a small game with tensors."""
    if not (subject.complete and subject.type.provides_information_state_tensor):
        return
    parse_flags()
    from open_spiel.integration_tests import api_test

    # The test compares with tables of known sizes; ours come from our own walk.
    kinds = [node.state.get_type() for node in subject.nodes]
    order = (pyspiel.StateType.CHANCE, pyspiel.StateType.DECISION, pyspiel.StateType.TERMINAL)
    infosets = {
        (node.state.current_player(), node.strings[node.state.current_player()])
        for node in _decisions(subject)
    }
    name = str(subject.game)
    api_test.TOTAL_NUM_STATES[name] = tuple(kinds.count(kind) for kind in order)
    api_test.PERFECT_RECALL_NUM_STATES[name] = len(infosets)
    try:
        _run_test_case(api_test.EnforceAPIOnFullTreeBase, subject)
    finally:
        del api_test.TOTAL_NUM_STATES[name], api_test.PERFECT_RECALL_NUM_STATES[name]


def _check_copies(subject: Subject) -> None:
    """Copies and pickles of the game and of its states are the same game."""
    game = subject.game
    ways: dict[str, Callable[[Any], Any]] = {
        "pickle": lambda value: pickle.loads(pickle.dumps(value)),
        "copy.copy": copy.copy,
        "copy.deepcopy": copy.deepcopy,
    }
    for way, duplicate in ways.items():
        other = duplicate(game)
        _expect(type(other) is type(game), f"{way} to keep the class {type(game)}", type(other))
        _expect(str(other) == str(game), f"{way} to keep {game}", other)
        attributes, kept = (sorted(getattr(g, "__dict__", {})) for g in (game, other))
        _expect(kept == attributes, f"{way} to keep the attributes {attributes}", kept)
        other.new_initial_state()
    del ways["copy.copy"]  # OpenSpiel gives states no shallow copy.
    ways["clone"] = lambda state: state.clone()
    rng = random.Random(subject.seed)
    # Fresh states: those of the walk have been cloned, and so harmed if they can be.
    state = game.new_initial_state()
    for _ in range(_COPIED_STATES):
        before = _snapshot(state)
        for way, duplicate in ways.items():
            other = duplicate(state)
            after = _snapshot(other)
            _expect(after == before, f"{way} of a state to keep {before}", after)
            owner = type(other.get_game())
            _expect(owner is type(game), f"{way} of a state to keep its {type(game)}", owner)
            if not other.is_terminal():
                other.apply_action(rng.choice(other.legal_actions()))
                after = _snapshot(state)
                _expect(after == before, f"moving on in a {way} to leave {before} alone", after)
        if state.is_terminal():
            state = game.new_initial_state()
        else:
            state.apply_action(rng.choice(state.legal_actions()))


def _check_actions(subject: Subject) -> None:
    """Legal actions are sorted, within bounds and have distinct names that read back."""
    for node in subject.nodes:
        state, where = node.state, _where(node)
        length = subject.game.max_game_length()
        _expect(node.turns <= length, f"at most {length} moves of players", f"{node.turns} {where}")
        if state.is_terminal():
            continue
        mover, actions = state.current_player(), list(state.legal_actions())
        _expect(len(actions) > 0, "a legal action unless the game is over", f"none {where}")
        if mover != pyspiel.PlayerId.CHANCE:
            _expect(actions == sorted(set(actions)), f"sorted actions {where}", actions)
        bound = subject.game.num_distinct_actions()
        if mover == pyspiel.PlayerId.CHANCE:
            bound = subject.game.max_chance_outcomes()
        _expect(
            min(actions) >= 0 and max(actions) < bound,
            f"actions in range({bound}) {where}",
            actions,
        )
        names = [state.action_to_string(mover, action) for action in actions]
        _expect(len(set(names)) == len(names), f"a name of its own per action {where}", names)
        back = [state.string_to_action(mover, name) for name in names]
        _expect(back == actions, f"string_to_action to invert action_to_string {where}", back)


def _check_chance(subject: Subject) -> None:
    """Chance outcomes are the legal actions, with positive probabilities that sum to one."""
    for node in subject.nodes:
        if not node.state.is_chance_node():
            continue
        outcomes, where = node.state.chance_outcomes(), _where(node)
        probabilities = [probability for _, probability in outcomes]
        _expect(min(probabilities) > 0, f"positive probabilities {where}", probabilities)
        total = sum(probabilities)
        _expect(abs(total - 1) <= _TOLERANCE, f"probabilities summing to 1 {where}", total)
        drawn, legal = [outcome for outcome, _ in outcomes], list(node.state.legal_actions())
        _expect(drawn == legal, f"legal actions {drawn} at a chance node {where}", legal)


def _check_utilities(subject: Subject) -> None:
    """Returns are in the stated range, sum as stated, and come when the type says."""
    game, kind = subject.game, subject.type
    low, high = game.min_utility(), game.max_utility()
    constant = kind.utility in (
        pyspiel.GameType.Utility.ZERO_SUM,
        pyspiel.GameType.Utility.CONSTANT_SUM,
    )
    for node in subject.nodes:
        returns, where = list(node.state.returns()), _where(node)
        if not node.state.is_terminal():
            if kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL:
                _expect(not any(returns), f"returns of 0 before the end {where}", returns)
            continue
        inside = all(low - _TOLERANCE <= value <= high + _TOLERANCE for value in returns)
        _expect(inside, f"returns within [{low}, {high}] {where}", returns)
        if constant:
            total = game.utility_sum()
            fits = abs(sum(returns) - total) <= _TOLERANCE
            _expect(fits, f"returns that sum to {total} {where}", returns)


def _check_information_states(subject: Subject) -> None:
    """An information state string decides its player, its legal actions and its tensor."""
    owners: dict[str, int] = {}
    actions: dict[str, list[int]] = {}
    for node in _decisions(subject):
        player = node.state.current_player()
        string, there = node.strings[player], _inside(node, player)
        owner = owners.setdefault(string, player)
        _expect(owner == player, f"player {owner} to move {there}", f"player {player}")
        legal = list(node.state.legal_actions())
        known = actions.setdefault(string, legal)
        _expect(legal == known, f"legal actions {known} {there}", legal)
    if not subject.type.provides_information_state_tensor:
        return
    tensors: dict[tuple[int, str], list[float]] = {}
    for node, player in itertools.product(subject.nodes, subject.players):
        tensor = list(node.state.information_state_tensor(player))
        first = tensors.setdefault((player, node.strings[player]), tensor)
        what = f"information state tensor {_inside(node, player)}"
        _expect_equal_tensors(first, tensor, what)


def _check_tensors(subject: Subject) -> None:
    """Information state tensors tell a player's decisions apart and match their named pieces."""
    if not subject.type.provides_information_state_tensor:
        return
    from open_spiel.python.observation import make_observation

    observer = make_observation(subject.game, pyspiel.IIGObservationType(perfect_recall=True))
    strings: dict[tuple[int, bytes], str] = {}
    for node in _decisions(subject):
        player = node.state.current_player()
        tensor = np.asarray(node.state.information_state_tensor(player), np.float32)
        string = strings.setdefault((player, tensor.tobytes()), node.strings[player])
        _expect(
            string == node.strings[player],
            f"different tensors for different information states {_where(node)}",
            f"one for {string!r} and {node.strings[player]!r}",
        )
        if observer is None or observer.tensor is None:
            continue
        observer.set_from(node.state, player)
        pieces = [piece.ravel() for piece in observer.dict.values()]
        joined = np.concatenate(pieces) if pieces else np.zeros(0, np.float32)
        for whole in (tensor, observer.tensor):
            what = f"the joined pieces of the observer {_where(node)}"
            _expect_equal_tensors(whole, joined, what)


def _check_observations(subject: Subject) -> None:
    """A player's observations hold nothing that its information state lacks."""
    from open_spiel.python.observation import make_observation

    kind = subject.type
    views: dict[str, Callable[[pyspiel.State, int], Any]] = {}
    if kind.provides_observation_string:
        views["observation string"] = lambda state, player: state.observation_string(player)
    if kind.provides_observation_tensor:
        views["observation tensor"] = lambda state, player: list(state.observation_tensor(player))
    if kind.provides_factored_observation_string:
        public = make_observation(
            subject.game,
            pyspiel.IIGObservationType(
                public_info=True, perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE
            ),
        )
        if public is not None:  # Transformed games may claim strings and have no observer.
            views["public observation"] = lambda state, player: public.string_from(state, player)
    for name, view in views.items():
        known: dict[str, Any] = {}
        for node in _decisions(subject):
            player = node.state.current_player()
            string, seen = node.strings[player], view(node.state, player)
            first = known.setdefault(string, seen)
            there = _inside(node, player)
            if isinstance(seen, list):
                _expect_equal_tensors(first, seen, f"{name} {there}")
            else:
                _expect(seen == first, f"{name} {first!r} {there}", repr(seen))


def _check_perfect_recall(subject: Subject) -> None:
    """At a player's decision, its string remembers all that it has seen and done."""
    known: dict[str, Node] = {}
    for node in _decisions(subject):
        player = node.state.current_player()
        first = known.setdefault(node.strings[player], node)
        _expect(
            first.sequences[player] == node.sequences[player],
            f"what player {player} saw and did to be the same in all states of information "
            f"state {node.strings[player]!r}",
            f"a difference between histories {first.state.history()} and {node.state.history()}",
        )


def _check_playthrough(subject: Subject) -> None:
    """Replaying the golden file reproduces it line by line."""
    if subject.playthrough is None:
        return
    parse_flags()
    from open_spiel.python.algorithms import generate_playthrough

    with open(subject.playthrough, encoding="utf-8") as file:
        recorded = file.readline().strip().removeprefix("game: ")
    replayed = pyspiel.load_game(recorded)
    _expect(
        str(replayed) == str(subject.game), f"a playthrough of {subject.game}", f"one of {replayed}"
    )
    golden, again = generate_playthrough.replay(os.fspath(subject.playthrough))
    lines = itertools.zip_longest(golden.splitlines(), again.splitlines())
    for number, (expected, came) in enumerate(lines, start=1):
        _expect(
            expected == came, f"line {number} of {subject.playthrough}: {expected!r}", repr(came)
        )


class _Failures(unittest.TestResult):
    """Keeps the exceptions of a unittest run as one-line descriptions."""

    def __init__(self) -> None:
        super().__init__()
        self.descriptions: list[str] = []

    def addFailure(self, test: Any, err: Any) -> None:
        self.descriptions.append(f"{test.id().split()[0].rpartition('.')[2]}: {describe(err[1])}")

    addError = addFailure


def _run_test_case(base: type[unittest.TestCase], subject: Subject) -> None:
    """Runs one of OpenSpiel's test bases on the game."""
    case = type(base.__name__, (base,), {"game": subject.game, "game_name": str(subject.game)})
    failures = _Failures()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(failures)
    _expect(failures.testsRun > 0 or bool(failures.descriptions), "tests to run", "none")
    if failures.descriptions:
        raise AssertionError("; ".join(failures.descriptions))


def _decisions(subject: Subject) -> Iterator[Node]:
    return (node for node in subject.nodes if node.state.is_player_node())


def _snapshot(state: pyspiel.State) -> tuple[str, list[int], int, list[int]]:
    return str(state), list(state.history()), state.current_player(), list(state.legal_actions())


def _where(node: Node) -> str:
    return f"at history {list(node.state.history())}"


def _inside(node: Node, player: int) -> str:
    return f"in information state {node.strings[player]!r} {_where(node)}"


def _expect(holds: bool, expected: str, came: object) -> None:
    if not holds:
        raise AssertionError(f"expected {expected}, got {came}")


def _expect_equal_tensors(expected: npt.ArrayLike, came: npt.ArrayLike, what: str) -> None:
    one, other = np.asarray(expected), np.asarray(came)
    _expect(one.shape == other.shape, f"shape {one.shape} of {what}", other.shape)
    if not np.array_equal(one, other):
        index = int(np.flatnonzero(one != other)[0])
        _expect(False, f"entry {index} of {what} to be {one[index]}", other[index])


def describe(error: BaseException) -> str:
    """Returns what went wrong in at most a few lines."""
    text = str(error)
    if len(text) > _LONGEST_DESCRIPTION:  # OpenSpiel's tests may print whole tensors.
        text = text[:_LONGEST_DESCRIPTION] + "..."
    return text if isinstance(error, AssertionError) else f"{type(error).__name__}: {text}"


def parse_flags() -> None:
    """Lets OpenSpiel's test modules read their absl flags outside an absl binary."""
    from absl import flags

    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()


CHECKS: dict[str, Callable[[Subject], None]] = {
    "parameters": _check_parameters,
    "players": _check_players,
    "copies": _check_copies,
    "actions": _check_actions,
    "chance": _check_chance,
    "utilities": _check_utilities,
    "information_states": _check_information_states,
    "tensors": _check_tensors,
    "observations": _check_observations,
    "perfect_recall": _check_perfect_recall,
    "random_simulation": _check_random_simulation,
    "openspiel_simulation": _check_openspiel_simulation,
    "openspiel_partial_tree": _check_openspiel_partial_tree,
    "openspiel_full_tree": _check_openspiel_full_tree,
    "playthrough": _check_playthrough,
}
"""Every check by name, in the order in which `check_game` runs them."""
