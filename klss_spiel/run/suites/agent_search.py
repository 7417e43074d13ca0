"""Speed of the searching agent on the standard board of dark chess.

Positions are those of a game that the agent played against itself. Rows of the suite
`agent`:

    search       a decision that goes on from the search of the last one: new nodes per
                 processor second by phase and size of the tree, and what a node takes in
                 memory that was allocated; `ratio` is the first contender's time per node
                 divided by the row's. The same decision is made three times in the full effort
                 (here and in `threads`), and the fastest counts
    threads      the same decision in the middle game in one thread and with a second one that
                 makes children (`SearchSettings.worker`): here `nodes_per_second` and `ratio`
                 are by `wall_seconds`, `seconds` are those of all processors
    belief       the update of a belief after an unseen move: `seconds_per_million` positions
                 that it then holds, in Kriegspiel too; also the fastest of three
    first move   processes that make a bot and let it move: what is needed before the first
                 move's clock starts, with an empty folder for compiled code and with a full
                 one; `wall_seconds` is what a user waits, the move itself included
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyspiel

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.report import SearchReport
from klss_spiel.algorithms.search.settings import PRESETS, SearchSettings
from klss_spiel.algorithms.search.tree import SearchTree
from klss_spiel.budget import Budget
from klss_spiel.run import cold_starts
from klss_spiel.search_game import SearchGame
from klss_spiel.tree import PLAYERS

Row = dict[str, Any]

_GAME: Final = "python_dark_chess"
_SEED: Final = 3
# 2,000 nodes per move; no middle game is quiet.
_LINE: Final = (
    "d2d4 e7e6 d1d3 d8f6 c1d2 a7a5 g2g3 f8d6 g1f3 b8c6 b2b3 h7h5 a2a3 g7g6 d2g5 f6g7 b1c3 f7f6 "
    "g5f4 d6f4 g3f4 f6f5 f3e5 g8f6 f1g2 f6g4 h2h3 g4e5 d4e5 h5h4 e1d2 a5a4 b3a4 d7d5 e5d6 c7d6 "
    "g2c6 b7c6 d3d6 a8a6 a1b1 g7e7 d6e7 e8e7 b1b4 e7f7 d2c1 c6c5 b4b2 a6c6 e2e3 c5c4 h1g1 c6a6 "
    "c1b1 h8d8 f2f3 f7f6 b1a1 f6g7 a1b1 a6a7 b1a1 a7b7 e3e4 b7b2"
)
# Plies played before the decision that is measured.
_PHASES: Final = {"opening": 8, "middle game": 30, "late middle game": 40, "endgame": 60}
# White sees nothing of what Black does.
_UNSEEN_LINE: Final = "a2a3 a7a6 h2h3 h7h6 b2b3 b7b6 g2g3 g7g6 c2c3 c7c6 f2f3 f7f6"
# More than are held after it: no sample is to be measured.
_BELIEF_LIMIT: Final = 5_000_000

_FIRST_MOVE: Final = """
import sys, time
import pyspiel
import klss_spiel
from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.settings import PRESETS
from klss_spiel.budget import Budget

game = pyspiel.load_game(sys.argv[1])
bot = SearchBot(game, 0, Budget(seconds=float(sys.argv[2])), PRESETS["strong"])
bot.step(game.new_initial_state())
"""
_FIRST_MOVE_SECONDS: Final = 0.1


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
        nodes: sizes of trees.
        unseen: moves of the opponent after which a belief is updated; one less in
            Kriegspiel, where more positions are possible.
        repeats: measurements of which the best counts.
    """

    nodes: tuple[int, ...]
    unseen: int
    repeats: int


QUICK: Final = Effort((10_000, 100_000), 5, 1)
FULL: Final = Effort((10_000, 100_000, 1_000_000), 6, 3)


def searches(effort: Effort) -> Iterator[Row]:
    """Rows of the task `search`."""
    game = search_game(_GAME)
    _decision_after(game, 8, PRESETS["strong"], 2_000)  # loads or compiles
    for phase, plies in _PHASES.items():
        for nodes in effort.nodes:
            first: float | None = None
            for preset in ("strong", "obscuro"):
                settings = dataclasses.replace(PRESETS[preset], opening_search=False)
                measured = min(
                    _decisions_after(game, plies, settings, nodes, effort.repeats),
                    key=lambda m: m.seconds,
                )
                per_node = measured.seconds / measured.report.new_nodes
                first = first or per_node
                yield {
                    "game": f"{phase}, {nodes} nodes",
                    "task": "search",
                    "contender": preset,
                    "seconds": measured.seconds,
                    "ratio": first / per_node,
                    "nodes": measured.nodes,
                    "nodes_per_second": 1.0 / per_node,
                    "iterations": measured.report.iterations,
                    "bytes_per_node": measured.allocated / measured.nodes,
                    "wall_seconds": measured.wall_seconds,
                }


def threads(effort: Effort) -> Iterator[Row]:
    """Rows of the task `threads`."""
    game = search_game(_GAME)
    phase, nodes = "middle game", effort.nodes[-1]
    first: float | None = None
    for contender, worker in (("one thread", False), ("a second thread", True)):
        settings = dataclasses.replace(PRESETS["strong"], opening_search=False, worker=worker)
        _decision_after(game, 8, settings, 2_000)  # loads or compiles
        measured = min(
            _decisions_after(game, _PHASES[phase], settings, nodes, effort.repeats),
            key=lambda m: m.wall_seconds,
        )
        per_node = measured.wall_seconds / measured.report.new_nodes
        first = first or per_node
        yield {
            "game": f"{phase}, {nodes} nodes",
            "task": "threads",
            "contender": contender,
            "seconds": measured.seconds,
            "ratio": first / per_node,
            "nodes": measured.nodes,
            "nodes_per_second": 1.0 / per_node,
            "iterations": measured.report.iterations,
            "wall_seconds": measured.wall_seconds,
        }


class _Measured(NamedTuple):
    """What a decision says of itself and took without its belief, and the size of its tree.

    The tree itself is let go: three of a million nodes take much of a small machine.
    """

    report: SearchReport
    seconds: float
    wall_seconds: float
    nodes: int
    allocated: int


def _decisions_after(
    game: SearchGame, plies: int, settings: SearchSettings, nodes: int, repeats: int
) -> Iterator[_Measured]:
    """The same decision, measured so many times."""
    return (_decision_after(game, plies, settings, nodes) for _ in range(repeats))


def _decision_after(
    game: SearchGame, plies: int, settings: SearchSettings, nodes: int
) -> _Measured:
    """A decision after so many plies of the game."""
    player = SearchPlayer(game, plies % 2, settings, Budget(nodes=nodes), _SEED)
    state = pyspiel.load_game(_GAME).new_initial_state()
    for ply, move in enumerate(_LINE.split()[:plies]):
        action = state.string_to_action(move)
        if state.current_player() == player.player:
            told = state.information_state_string(player.player)
            if ply == plies - 2:
                player.decide(told, state.legal_actions())
            player.record_action(told, action)
        state.apply_action(action)
    told = state.information_state_string(player.player)
    player.advance_belief(told)
    start, wall_start = time.process_time(), time.perf_counter()
    decision = player.decide(told, state.legal_actions())
    seconds, wall_seconds = time.process_time() - start, time.perf_counter() - wall_start
    assert player.search is not None
    tree = player.search.tree
    return _Measured(decision.report, seconds, wall_seconds, tree.num_nodes, _allocated(tree))


def _allocated(tree: SearchTree) -> int:
    """Bytes of all arrays of a tree, rows that are not in use included."""
    rows: list[Sequence[Any]] = [tree.nodes, tree.families, (tree.positions,)]
    for p in PLAYERS:
        rows += [tree.infosets[p], tree.sequences[p], (tree.index[p].table,)]
    return sum(array.nbytes for arrays in rows for array in arrays)


def beliefs(effort: Effort) -> Iterator[Row]:
    """Rows of the task `belief`."""
    for name, what, unseen in (
        (_GAME, "", effort.unseen),
        ("python_kriegspiel", " in Kriegspiel", effort.unseen - 1),
    ):
        seconds, size = _update_after(name, unseen, effort.repeats)
        yield {
            "game": f"{unseen} unseen moves{what}",
            "task": "belief",
            "contender": "klss_spiel",
            "seconds": seconds,
            "ratio": 1.0,
            "nodes": size,
            "seconds_per_million": seconds / size * 1e6,
        }


def _update_after(name: str, unseen: int, repeats: int) -> tuple[float, int]:
    """Seconds of White's update after the last of so many unseen moves, and what is then held."""
    game = search_game(name, belief_limit=_BELIEF_LIMIT, sample_belief=False)
    state = pyspiel.load_game(name).new_initial_state()
    belief = game.belief(0)
    belief.advance(None, state.information_state_string(0))
    line = _UNSEEN_LINE.split()
    for number, move in enumerate(line[: 2 * unseen]):
        state.apply_action(state.string_to_action(move))
        if number % 2 and number < 2 * unseen - 1:
            belief.advance(None, state.information_state_string(0))
    told, times = state.information_state_string(0), []
    for _ in range(1 + repeats):
        after = belief.copy()
        start = time.process_time()
        after.advance(None, told)
        times.append(time.process_time() - start)
    # The first update compiles or loads what large sets need.
    return min(times[1:]), len(after.positions)


def first_moves() -> Iterator[Row]:
    """Rows of the task `first move`; `seconds` are the processor's."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"NUMBA_CACHE_DIR": os.path.join(folder, "numba")}
        first: float | None = None
        for contender in ("nothing compiled", "all compiled"):
            arguments = (_GAME, str(_FIRST_MOVE_SECONDS))
            process = cold_starts.run_script(contender, _FIRST_MOVE, arguments, environment)
            first = first or process.seconds
            yield {
                "game": _GAME,
                "task": "first move",
                "contender": contender,
                "seconds": process.seconds,
                "wall_seconds": process.wall_seconds,
                "ratio": first / process.seconds,
            }
