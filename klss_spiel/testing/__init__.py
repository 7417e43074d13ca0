"""Checks that a well-behaved OpenSpiel game passes, for any game.

    from klss_spiel import testing
    testing.check_game("python_my_game(size=3)")

`check_game` combines OpenSpiel's own tests, as far as they can be run on games
defined elsewhere, with checks of what this package relies on: information
states of every player at every state, perfect recall, strings that name their
player and leak nothing, copies and pickles that are the same game.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Collection, Iterator

import numpy as np
import pyspiel

from klss_spiel.openspiel import load_game
from klss_spiel.testing.checks import CHECKS, Node, Subject, describe, parse_flags

_NO_ACTION = -1  # A player's observation that follows somebody else's action.


def check_game(
    game: str | pyspiel.Game,
    *,
    max_nodes: int = 3000,
    simulations: int = 10,
    seed: int = 0,
    playthrough: str | os.PathLike[str] | None = None,
    skip: Collection[str] = (),
) -> None:
    """Runs every check in `CHECKS` on a sequential game.

    Args:
        game: a game or the string that loads it.
        max_nodes: a game with more states than this is walked breadth first up
            to this many, then by `simulations` random plays to the end; checks
            of the whole tree are left out.
        simulations: number of random plays.
        seed: seeds the random plays; the global generators are left as found.
        playthrough: a golden file that replaying the game must reproduce.
        skip: names of checks (keys of `CHECKS`) not to run.

    Raises:
        AssertionError: naming every failed check with what was expected and
            what came.
        ValueError: if the game is not sequential or `skip` names no check.
    """
    unknown = sorted(set(skip) - set(CHECKS))
    if unknown:
        raise ValueError(f"expected names of checks among {list(CHECKS)}, got {unknown}")
    loaded = load_game(game) if isinstance(game, str) else game
    dynamics = loaded.get_type().dynamics
    if dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(
            f"expected a sequential game, got {dynamics} in {loaded}; "
            "check pyspiel.convert_to_turn_based(game) instead"
        )
    with _seeded(seed):
        try:
            nodes, complete = _walk(loaded, max_nodes, simulations, random.Random(seed))
        except Exception as error:
            raise AssertionError(
                f"{loaded}: expected the information states of every player at every state, "
                f"got {describe(error)}"
            ) from error
    subject = Subject(loaded, nodes, complete, simulations, seed, playthrough)
    failures = []
    for name, check in CHECKS.items():
        if name in skip:
            continue
        try:
            with _seeded(seed):
                check(subject)
        except Exception as error:  # Whatever a foreign game raises is a finding.
            failures.append(f"  {name}: {describe(error)}")
    if failures:
        raise AssertionError(
            "\n".join([f"{loaded} fails {len(failures)} of {len(CHECKS)} checks", *failures])
        )


def write_playthrough(path: str | os.PathLike[str], game_string: str, seed: int = 0) -> None:
    """Writes a random playthrough of a game as a golden file for `check_game`."""
    parse_flags()
    from open_spiel.python.algorithms import generate_playthrough

    text = generate_playthrough.playthrough(game_string, [], seed=seed)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _walk(
    game: pyspiel.Game, max_nodes: int, simulations: int, rng: random.Random
) -> tuple[tuple[Node, ...], bool]:
    """Returns the game's states breadth first and whether these are all of them."""
    players = range(game.num_players())
    interned: dict[tuple[int, int, str], int] = {}

    def node(state: pyspiel.State, parent: Node | None, action: int) -> Node:
        strings = tuple(state.information_state_string(player) for player in players)
        if parent is None:
            mover, before, turns = pyspiel.PlayerId.CHANCE, (0,) * len(players), 0
        else:
            mover, before = parent.state.current_player(), parent.sequences
            turns = parent.turns + (mover != pyspiel.PlayerId.CHANCE)
        sequences = []
        for player in players:
            own = action if player == mover else _NO_ACTION
            unchanged = parent is not None and strings[player] == parent.strings[player]
            if own == _NO_ACTION and unchanged:
                sequences.append(before[player])
            else:
                key = (before[player], own, strings[player])
                sequences.append(interned.setdefault(key, len(interned) + 1))
        return Node(state, strings, tuple(sequences), turns)

    nodes = [node(game.new_initial_state(), None, _NO_ACTION)]
    for parent in nodes:  # Grows while it is walked.
        actions = parent.state.legal_actions()
        if len(nodes) + len(actions) > max_nodes:
            break
        nodes.extend(node(parent.state.child(action), parent, action) for action in actions)
    else:
        return tuple(nodes), True
    for _ in range(simulations):
        here = nodes[0]
        while not here.state.is_terminal():
            action = rng.choice(here.state.legal_actions())
            here = node(here.state.child(action), here, action)
            nodes.append(here)
    return tuple(nodes), False


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seeds the global generators that OpenSpiel's tests draw from, and puts them back."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
