"""Speed of the search on a growing tree: nodes and iterations per second, memory.

Two implementations of the same protocol are measured: `states`, any OpenSpiel game
through its state interface, and `packed`, dark chess on compiled positions. Times are
processor seconds of one core. Tasks:

    search      one search from the start of the game, CFR included; shares of its time;
                `ratio` is our nodes per second divided by the contender's: simulations,
                one node each, of OpenSpiel's ISMCTS on the same game
    iteration   one iteration of PCFR+ on the tree that the search ends with; `ratio` is
                the contender's time divided by that of the compiled kernel. The
                contender is the readable iteration with the core's jax minimisers
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyspiel
from open_spiel.python.algorithms import ismcts, mcts

from klss_spiel.algorithms.regret import PRM_PLUS
from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame, search_game
from klss_spiel.algorithms.search.search import Search, search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.budget import Budget
from klss_spiel.search_game import SearchGame

Row = dict[str, Any]

_SUITE: Final = "search"
_STATES: Final = "states"
_PACKED: Final = "packed"
COLUMNS: Final = (
    *("suite", "game", "implementation", "budget", "task", "contender", "seconds", "ratio"),
    *("nodes", "infosets", "nodes_per_second", "iterations", "expanding", "evaluating"),
    *("solving", "bytes_per_node", "iterations_per_second"),
)
_OURS: Final = "klss_spiel"
_REFERENCE: Final = "readable reference"
_PEER: Final = "OpenSpiel ISMCTS"

# Large enough for a million nodes; both deal hidden information.
_STATES_GAME: Final = "dark_hex(num_rows=4,num_cols=4)"
_PACKED_GAME: Final = "python_dark_chess"


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
      states_nodes: sizes of trees through states.
      packed_nodes: sizes of trees on packed positions.
      iterations: timed iterations of PCFR+.
      reference_nodes: largest tree on which the readable iteration is timed.
      simulations: of ISMCTS.
    """

    states_nodes: tuple[int, ...]
    packed_nodes: tuple[int, ...]
    iterations: int
    reference_nodes: int
    simulations: int


_QUICK: Final = Effort((10_000,), (10_000, 100_000), 5, 100_000, 200)
_FULL: Final = Effort(
    (10_000, 100_000, 1_000_000), (10_000, 100_000, 1_000_000), 20, 1_000_000, 2_000
)


def parts(quick: bool) -> list[str]:
    """The implementations."""
    del quick
    return [_STATES, _PACKED]


def rows(part: str, quick: bool) -> Iterator[Row]:
    """Yields one row per size, task and contender of an implementation."""
    effort = _QUICK if quick else _FULL
    if part == _STATES:
        peer = _ismcts_rate(_STATES_GAME, effort.simulations)
        states = OpenSpielSearchGame(_STATES_GAME)
        return _implementation(part, _STATES_GAME, states, effort.states_nodes, effort, peer)
    packed = search_game(_PACKED_GAME)
    return _implementation(part, _PACKED_GAME, packed, effort.packed_nodes, effort, None)


def _implementation(
    implementation: str,
    name: str,
    game: SearchGame,
    sizes: tuple[int, ...],
    effort: Effort,
    peer: float | None,
) -> Iterator[Row]:
    # Compiles the kernels, or loads them.
    search_from_start(game, OBSCURO).run(Budget(nodes=500))
    for nodes in sizes:
        search = search_from_start(game, OBSCURO)
        start = time.process_time()
        search.run(Budget(nodes=nodes))
        seconds = time.process_time() - start
        spent = search.effort
        common = {"suite": _SUITE, "game": name, "implementation": implementation, "budget": nodes}
        rate = search.tree.num_nodes / seconds
        yield {
            **common,
            "task": "search",
            "contender": _OURS,
            "seconds": seconds,
            "ratio": 1.0,
            "nodes": search.tree.num_nodes,
            "infosets": sum(search.tree.num_infosets) - 1,
            "nodes_per_second": rate,
            "iterations": spent.iterations,
            "expanding": spent.expanding / spent.seconds,
            "evaluating": spent.evaluating / spent.seconds,
            "solving": spent.solving / spent.seconds,
            "bytes_per_node": search.tree.memory() / search.tree.num_nodes,
        }
        if peer is not None:
            yield {
                **common,
                "task": "search",
                "contender": _PEER,
                "seconds": None,
                "ratio": rate / peer,
                "nodes_per_second": peer,
            }
        yield from _iterations(common, search, nodes, effort)


def _iterations(common: Row, search: Search, nodes: int, effort: Effort) -> Iterator[Row]:
    """Times iterations of PCFR+ on the tree of a search, which goes on by them."""
    ours = _seconds_per_iteration(search, effort.iterations)
    row = {**common, "task": "iteration", "nodes": search.tree.num_nodes}
    yield {
        **row,
        "contender": _OURS,
        "seconds": ours,
        "ratio": 1.0,
        "iterations_per_second": 1.0 / ours,
    }
    if nodes <= effort.reference_nodes:
        # The same minimiser under another name takes the readable way.
        minimizer = dataclasses.replace(PRM_PLUS, name="readable")
        search.settings = dataclasses.replace(search.settings, minimizer=minimizer)
        search.iterate(1)
        theirs = _seconds_per_iteration(search, 3)
        yield {
            **row,
            "contender": _REFERENCE,
            "seconds": theirs,
            "ratio": theirs / ours,
            "iterations_per_second": 1.0 / theirs,
        }


def _seconds_per_iteration(search: Search, count: int) -> float:
    start = time.process_time()
    search.iterate(count)
    return (time.process_time() - start) / count


def _ismcts_rate(name: str, simulations: int) -> float:
    """Simulations per second of OpenSpiel's Python ISMCTS from the start of a game."""
    game = pyspiel.load_game(name)
    rng = np.random.RandomState(1)
    bot = ismcts.ISMCTSBot(
        game, mcts.RandomRolloutEvaluator(1, rng), 2.0, simulations, random_state=rng
    )
    # At the start nothing is hidden yet.
    bot.set_resampler(lambda state, player: state.clone())
    start = time.process_time()
    bot.step(game.new_initial_state())
    return simulations / (time.process_time() - start)
