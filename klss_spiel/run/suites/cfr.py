"""Speed of solving: CFR+ iterations, cold starts, time to an exploitability, best responses.

Ratios are OpenSpiel C++'s time over the contender's, both measured in this run. Contenders
take turns, so that a busy moment of the machine does not hit only one of them; a time is
the best of several rounds, and the ratio of iterations the median of five such runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyspiel

from klss_spiel.best_response import nash_conv
from klss_spiel.openspiel import policy_to_pyspiel, tree_from_game, turn_based
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run import cold_starts, contenders, peers
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import GameTree

SUITE = "cfr"
COLUMNS = (
    *("suite", "game", "task", "contender", "seconds", "ratio"),
    *("ratio_low", "ratio_high", "nodes", "setup_seconds", "wall_seconds"),
    *("microseconds_per_node", "iterations", "skipped"),
)
_ITERATION = "CFR+ iteration"

_GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order={},returns_type=win_loss)"
_LEDUC_13 = (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,"
    "firstPlayer=1 1,maxRaises=2 2,numSuits=2,numRanks=13,numHoleCards=1,numBoardCards=0 1)"
)

# Game string by the name shown. The last two take minutes and are left out of quick runs.
GAMES = {
    "goofspiel 4 ascending": _GOOFSPIEL.format("ascending"),
    "leduc": "leduc_poker",
    "goofspiel 4 random": _GOOFSPIEL.format("random"),
    "liars dice 5": "liars_dice(dice_sides=5)",
    "liars dice 6": "liars_dice",
    "Leduc(2,13,1)": _LEDUC_13,
}
_QUICK_GAMES = 4

# The slow contenders run on games up to this many nodes.
_SLOW_CONTENDERS = {"openspiel_python": 60_000, "openspiel_jax": 60_000, "LiteEFG": 400_000}
_SLOW_TO_TARGET = {"openspiel_python": 10_000}
_RUNS = 5
_ROUNDS = 5
_SECONDS_PER_MEASUREMENT = 0.05
_TARGET_NASH_CONV = 0.02
_COLD_GAMES = ("leduc", "liars dice 5")
_COLD_ITERATIONS = 150
_MAX_NODES_FOR_TARGET = 60_000

_CONTENDERS = (
    contenders.OPENSPIEL_CPP,
    contenders.KLSS_SPIEL,
    contenders.KLSS_SPIEL_FLOAT32,
    contenders.KLSS_SPIEL_JAX,
    contenders.KLSS_SPIEL_JAX_FLOAT32,
    contenders.OPENSPIEL_PYTHON,
)


# Run in a process of their own after the others, by the name shown.
_PEERS = tuple(peers.PEERS)


def parts(quick: bool) -> list[str]:
    """The games; `quick` leaves out the two largest."""
    return list(GAMES)[: _QUICK_GAMES if quick else None]


def rows(part: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Measures a game."""
    del quick  # There are fewer games then, not less effort.
    game = turn_based(pyspiel.load_game(GAMES[part]))
    start = time.perf_counter()
    tree = tree_from_game(game)
    build_seconds = time.perf_counter() - start
    if part in _COLD_GAMES:
        yield from _cold(part)
    yield from _iterations(part, game, tree)
    yield _row(
        part,
        "build the tree",
        "klss_spiel",
        build_seconds,
        None,
        nodes=tree.num_nodes,
        microseconds_per_node=1e6 * build_seconds / tree.num_nodes,
    )
    yield from _best_responses(part, game, tree)
    if tree.num_nodes <= _MAX_NODES_FOR_TARGET:
        yield from _to_target(part, game, tree)


def _row(
    game: str, task: str, contender: str, seconds: float | None, baseline: float | None, **more: Any
) -> dict[str, Any]:
    ratio = baseline / seconds if baseline and seconds else None
    return {
        # One row per game and contender in the suite itself; other tasks stand apart.
        "suite": SUITE if task == _ITERATION else f"{SUITE}/{task}",
        "game": game,
        "task": task,
        "contender": contender,
        "seconds": seconds,
        "ratio": ratio,
        **more,
    }


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _iterations(shown: str, game: Any, tree: GameTree) -> Iterator[dict[str, Any]]:
    """Seconds per CFR+ iteration of both players, and of everything before the first."""
    too_slow = f"too slow on {tree.num_nodes} nodes"
    runs: dict[str, contenders.Run] = {}
    setup: dict[str, float] = {}
    chunk: dict[str, int] = {}
    skipped: dict[str, str] = {}
    for contender in _CONTENDERS:
        if tree.num_nodes > _SLOW_CONTENDERS.get(contender.name, tree.num_nodes):
            skipped[contender.name] = too_slow
            continue
        start = time.perf_counter()
        run = contender.start(game, tree)
        run.advance(1)  # compiles, where anything is compiled
        setup[contender.name] = time.perf_counter() - start
        chunk[contender.name] = _chunk(run)
        runs[contender.name] = run
    best = {name: np.full(_RUNS, np.inf) for name in runs}
    for i in range(_RUNS):
        for _ in range(_ROUNDS):
            for name, run in runs.items():
                best[name][i] = min(best[name][i], _advance_seconds(run, chunk[name]))
    baseline = best["openspiel_cpp"]
    for name, seconds in best.items():
        ratios = baseline / seconds
        yield {
            **_row(shown, _ITERATION, name, float(np.median(seconds)), None),
            "ratio": float(np.median(ratios)),
            "ratio_low": float(ratios.min()),
            "ratio_high": float(ratios.max()),
            "nodes": tree.num_nodes,
            "setup_seconds": setup[name],
        }
    for peer in _PEERS:
        if tree.num_nodes > _SLOW_CONTENDERS[peer]:
            skipped[peer] = too_slow
            continue
        try:
            theirs = peers.measure(peer, GAMES[shown], _ROUNDS)
        except peers.Unavailable as error:
            skipped[peer] = str(error)
            continue
        yield _row(
            *(shown, _ITERATION, peer, theirs.seconds, float(np.median(baseline))),
            nodes=tree.num_nodes,
            setup_seconds=theirs.setup_seconds,
        )
    for name, reason in skipped.items():
        yield _row(shown, _ITERATION, name, None, None, skipped=reason)


def _cold(shown: str) -> Iterator[dict[str, Any]]:
    """Processor seconds of a fresh process, from starting Python to the average strategy."""
    baseline = None
    for start in cold_starts.measure(GAMES[shown], _COLD_ITERATIONS):
        baseline = baseline or start.seconds
        yield _row(
            shown,
            f"cold, {_COLD_ITERATIONS} iterations",
            start.contender,
            start.seconds,
            baseline,
            wall_seconds=start.wall_seconds,
        )


def _chunk(run: contenders.Run) -> int:
    """How many iterations make one measurement."""
    iterations = 1
    while True:
        seconds = _advance_seconds(run, iterations) * iterations
        if seconds >= _SECONDS_PER_MEASUREMENT:
            return iterations
        # Doubling at least: calls cost more than iterations of small games.
        iterations = max(2 * iterations, int(0.5 * iterations * _SECONDS_PER_MEASUREMENT / seconds))


def _advance_seconds(run: contenders.Run, iterations: int) -> float:
    return _seconds(lambda: run.advance(iterations)) / iterations


def _best_responses(shown: str, game: Any, tree: GameTree) -> Iterator[dict[str, Any]]:
    """Seconds of one exact nash_conv of a random policy."""
    form = sequence_form_from_tree(tree)
    policy = BehaviorPolicy.random(tree, np.random.default_rng(0))
    theirs = policy_to_pyspiel(policy)
    ours = min(_seconds(lambda: nash_conv(policy, form)) for _ in range(_RUNS * _ROUNDS))
    baseline = _seconds(lambda: pyspiel.nash_conv(game, theirs))
    yield _row(shown, "nash_conv", "openspiel_cpp", baseline, baseline, nodes=tree.num_nodes)
    yield _row(shown, "nash_conv", "klss_spiel", ours, baseline, nodes=tree.num_nodes)


def _to_target(shown: str, game: Any, tree: GameTree) -> Iterator[dict[str, Any]]:
    """Seconds of CFR+ until nash_conv is below the target, judging not counted."""
    form = sequence_form_from_tree(tree)
    task = f"CFR+ to nash_conv {_TARGET_NASH_CONV}"
    baseline = None
    for contender in _CONTENDERS:
        if tree.num_nodes > _SLOW_TO_TARGET.get(contender.name, tree.num_nodes):
            reason = f"too slow on {tree.num_nodes} nodes"
            yield _row(shown, task, contender.name, None, None, skipped=reason)
            continue
        contender.start(game, tree).advance(1)  # compile apart, as in the other rows
        run = contender.start(game, tree)
        seconds, done = 0.0, 0
        while done == 0 or nash_conv(run.policy(), form) > _TARGET_NASH_CONV:
            step = max(10, done // 4)
            seconds += step * _advance_seconds(run, step)
            done += step
        baseline = baseline or seconds
        yield _row(shown, task, contender.name, seconds, baseline, iterations=done)
