"""Speed of what agents of dark chess stand on: leaf evaluation and alpha-beta.

Positions to evaluate are the children of positions of games between careless one-ply
players from the standard start. Times are processor seconds of one core. Tasks:

    evaluation   each evaluator on all children at once: `ns_per_child`; `ratio` is its time
                 per child divided by that of `handmade`, `nodes` what the resolver looks at
                 per child. `alphabeta` looks at positions one by one: once, at a sample of the
                 children in which the game is not over. With an installed `stockfish` also its
                 network, read by `nnue`, and the program itself, asked by `uci` about a sample;
                 it works in a process of its own, so that `ns_per_child` and `ratio` of this
                 row are by `wall_seconds`, and `seconds` are those of the process that asks
    alpha-beta   searches from fixed positions to a fixed depth: `nodes_per_second`; `ratio`
                 is the row's time divided by that with a transposition table

and those of `agent_search`: search, threads, belief and first move.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pyspiel

from klss_spiel.arrays import U64Array
from klss_spiel.evaluators import Evaluator, make_evaluator
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.evaluators import resolver
from klss_spiel.games.chess.networks import nnue, teacher
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.alphabeta import DEFAULT_TABLE_ENTRIES, AlphaBeta
from klss_spiel.games.chess.packed.counted_positions import with_counts
from klss_spiel.run.suites import agent_search

Row = dict[str, Any]

COLUMNS: Final = (
    "suite",
    "game",
    "task",
    "contender",
    "seconds",
    "ratio",
    "nodes",
    "nodes_per_second",
    "children",
    "ns_per_child",
    "iterations",
    "bytes_per_node",
    "seconds_per_million",
    "wall_seconds",
)

_SUITE: Final = "agent"
_OURS: Final = "klss_spiel"
_GAME: Final = "python_dark_chess"
_SEED: Final = 2024
_EVALUATORS: Final = (
    "handmade",
    "resolver(handmade)",
    "simple",
    "resolver(simple)",
    "network",
    "resolver(network)",
)
_ALPHABETA: Final = "alphabeta(depth=3)"
_UCI: Final = 'uci("stockfish",depth=1)'
_LONGEST_GAME: Final = 80
_CARELESSNESS: Final = 0.2  # utility that a move of the games may cost

# The opening, a middle game full of captures, and an endgame.
_ALPHABETA_FENS: Final = {
    "opening": boards.BOARDS["standard"],
    "middle game": "r1bqk1r1/2p2ppp/p1pb1n2/3p2Q1/4p2P/2N1P3/PPPP1PP1/R1B1K1NR w - - 0 1",
    "endgame": "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
}


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
        games: games whose positions' children are evaluated.
        sample: of these, looked at by evaluators that take a millisecond for each.
        repeats: measurements of which the best counts.
        depth: plies of alpha-beta.
    """

    games: int
    sample: int
    repeats: int
    depth: int


_QUICK: Final = Effort(10, 200, 3, 6)
_FULL: Final = Effort(40, 1000, 5, 7)


def parts(quick: bool) -> list[str]:
    """What there is to measure; quickly less than a minute, else some minutes."""
    measured = ["evaluation", "alpha-beta", "search", "threads", "belief"]
    return measured if quick else [*measured, "first move"]


def rows(part: str, quick: bool) -> Iterator[Row]:
    """Measures a part."""
    effort = _QUICK if quick else _FULL
    searching = agent_search.QUICK if quick else agent_search.FULL
    match part:
        case "evaluation":
            return _evaluations(effort)
        case "alpha-beta":
            return _searches(effort)
        case "search":
            return _named(agent_search.searches(searching))
        case "threads":
            return _named(agent_search.threads(searching))
        case "belief":
            return _named(agent_search.beliefs(searching))
        case "first move":
            return _named(agent_search.first_moves())
    raise ValueError(f"expected one of {parts(quick)}, got {part!r}")


def _named(rows: Iterator[Row]) -> Iterator[Row]:
    return ({"suite": _SUITE, **row} for row in rows)


def _children(games: int) -> tuple[U64Array, packed.SideArray]:
    """[m, 4] children of positions of careless games, and who is to move there.

    Random moves would leave pieces hanging everywhere and flatter no resolver.
    """
    rng = np.random.default_rng(_SEED)
    board = packed.layout(8, 8)
    engine = AlphaBeta(board, table_entries=0)
    met: list[rules.Position] = []
    for _ in range(games):
        position = boards.position_of("standard")
        for _ in range(_LONGEST_GAME):
            if not rules.pseudo_legal_moves(position):
                break
            met.append(position)
            (words,) = packed.pack([position])
            found = engine.search(words, position.side, depth=1, all_scores=True)
            assert found.scores is not None
            good = found.moves[found.scores >= found.score - _CARELESSNESS]
            move = packed.unpack_move(board, int(rng.choice(good)))
            position = rules.apply_move(position, move)
    sides = np.array([p.side for p in met], dtype=np.uint8)
    starts, _, children = packed.successors(board, packed.pack(met), sides)
    return children, np.repeat(1 - sides, np.diff(starts))


def _seconds(work: Callable[[], object], repeats: int) -> float:
    """Processor seconds of the fastest run after one that compiles."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def _evaluators(game: Any) -> Iterator[tuple[str, Evaluator]]:
    """Evaluators with what to call them."""
    for name in _EVALUATORS:
        yield name, make_evaluator(game, name)
    program = teacher.find_stockfish()
    if program is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "its_own.nnue")
        teacher.export_network(program, path)
        width = nnue.load(path).width
        for name in ("nnue", "resolver(nnue)"):
            made = make_evaluator(game, name.replace("nnue", f'nnue("{path}")'))
            yield name.replace("nnue", f"nnue, {width} wide"), made


def _evaluations(effort: Effort) -> Iterator[Row]:
    game = pyspiel.load_game(_GAME)
    children, sides = _children(effort.games)
    positions = with_counts(children, sides)  # White moves first: plies as few as possible
    looked = resolver.resolve(packed.layout(8, 8), children, sides).nodes
    first: float | None = None
    for name, evaluator in _evaluators(game):
        seconds = _seconds(lambda: evaluator(positions), effort.repeats)  # noqa: B023 (called here)
        first = first or seconds / len(positions)
        row = _evaluation(name, len(positions), seconds, seconds, first)
        yield {**row, "nodes": float(looked.mean()) if name.startswith("resolver") else None}
    assert first is not None
    sample = _sample(children, sides, effort.sample)
    yield _one_by_one(game, _ALPHABETA, _ALPHABETA, sample, first)
    program = teacher.find_stockfish()
    if program is not None:
        specification = f'uci("{shlex.quote(program)}",depth=1)'
        yield _one_by_one(game, _UCI, specification, sample, first, by_the_wall=True)


def _evaluation(name: str, children: int, seconds: float, counted: float, first: float) -> Row:
    """A row of the task `evaluation`.

    Args:
        name: of the evaluator.
        children: that were evaluated.
        seconds: of the processor.
        counted: seconds that the evaluator is said to take.
        first: those of the first evaluator per child.
    """
    return {
        "suite": _SUITE,
        "game": _GAME,
        "task": "evaluation",
        "contender": name,
        "seconds": seconds,
        "ratio": counted / children / first,
        "children": children,
        "ns_per_child": counted / children * 1e9,
    }


def _sample(children: U64Array, sides: packed.SideArray, count: int) -> U64Array:
    """[count + 1 at most, 5] children at random in which the game is not over.

    The first is for compiling: what is measured must not be in a table already.
    """
    order = np.random.default_rng(_SEED).permutation(len(children))[: 2 * count]
    unpacked = packed.unpack(packed.layout(8, 8), children[order], sides[order])
    goes_on = [
        rules.king_square(position, position.side) is not None
        and bool(rules.pseudo_legal_moves(position))
        for position in unpacked
    ]
    chosen = order[goes_on][: count + 1]
    return with_counts(children[chosen], sides[chosen])


def _one_by_one(
    game: Any,
    name: str,
    specification: str,
    sample: U64Array,
    first: float,
    by_the_wall: bool = False,
) -> Row:
    """Measures an evaluator once."""
    evaluator = make_evaluator(game, specification)
    evaluator(sample[:1])  # compiles
    positions = sample[1:]
    start, wall_start = time.process_time(), time.perf_counter()
    evaluator(positions)
    seconds, wall_seconds = time.process_time() - start, time.perf_counter() - wall_start
    if not by_the_wall:
        return _evaluation(name, len(positions), seconds, seconds, first)
    row = _evaluation(name, len(positions), seconds, wall_seconds, first)
    return {**row, "wall_seconds": wall_seconds}


def _searches(effort: Effort) -> Iterator[Row]:
    for name, fen in _ALPHABETA_FENS.items():
        position = boards.position_from_fen(fen)
        board, (words,) = packed.layout(position.width, position.height), packed.pack([position])
        first: float | None = None
        for contender, entries in ((_OURS, DEFAULT_TABLE_ENTRIES), ("without table", 0)):
            engine = AlphaBeta(board, table_entries=entries)

            def work(engine: AlphaBeta = engine, words: U64Array = words) -> int:
                return engine.search(words, position.side, depth=effort.depth).nodes  # noqa: B023

            nodes = work()
            seconds = _seconds(work, 1)
            first = first or seconds
            yield {
                "suite": _SUITE,
                "game": f"{name}, depth {effort.depth}",
                "task": "alpha-beta",
                "contender": contender,
                "seconds": seconds,
                "ratio": seconds / first,
                "nodes": nodes,
                "nodes_per_second": nodes / seconds,
            }
