"""Speed of poker as a public tree times hands.

- `iterations`: CFR+ against OpenSpiel's C++ CFR+ on the same game of `universal_poker`,
  where that can be run, and against the tree of nodes.
- `growth`: iterations and exploitability as the number of hands grows.
- `showdowns`: what all hands win behind a flop, hands sorted against a matrix of pairs.

`ratio` says how many times faster klss_spiel by hands is than the contender of the row.
Contenders take turns, and each time is the best of several rounds.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel

from klss_spiel.algorithms import cfr
from klss_spiel.games.poker.flop_holdem import hand_strengths
from klss_spiel.games.poker.leduc_family import PokerGame, leduc
from klss_spiel.games.poker.public_poker import leduc_public_game
from klss_spiel.games.poker.rank_trees import poker_tree
from klss_spiel.games.poker.sorted_hands import SortedHands
from klss_spiel.hand_payoffs import MatrixPairs
from klss_spiel.sequence_form import sequence_form_from_tree

SUITE = "poker"
COLUMNS = (
    *("suite", "game", "task", "contender", "seconds", "ratio"),
    *("hands", "sequences", "setup_seconds", "skipped"),
)
_OURS = "klss_spiel by hands"
_NODES = "klss_spiel by nodes"
_OPENSPIEL = "openspiel_cpp"
_MATRIX = "matrix of pairs"

_ITERATION = "CFR+ iteration"
# Leduc with one hole card, which OpenSpiel's strings tell apart rightly, by ranks.
_RANKS = (3, 6, 13)
# OpenSpiel takes seconds per iteration there.
_MOST_ROUNDS = {13: 2}
_ROUNDS = 8
# Suits, ranks and hole cards of games that grow.
_GROWTH = ((2, 13, 1), (2, 6, 3), (2, 13, 2), (2, 10, 3), (2, 13, 3))
_DECKS = (5, 7, 9, 11, 13)
_OUTCOMES = 49


def parts(quick: bool) -> list[str]:
    """What can be measured by itself; the same for `quick`, with smaller games."""
    del quick
    return ["iterations", "growth", "showdowns"]


def rows(part: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Measures a part."""
    if part == "iterations":
        for ranks in _RANKS[: 2 if quick else None]:
            yield from iteration_rows(ranks, _MOST_ROUNDS.get(ranks, _ROUNDS))
    elif part == "growth":
        for numbers in _GROWTH[: 3 if quick else None]:
            yield from growth_rows(leduc(*numbers))
    else:
        for ranks in _DECKS[: 3 if quick else None]:
            yield from showdown_rows(ranks)


def _row(game: str, task: str, contender: str, seconds: float, **more: Any) -> dict[str, Any]:
    return {
        "suite": SUITE if task == _ITERATION else f"{SUITE}/{task}",
        "game": game,
        "task": task,
        "contender": contender,
        "seconds": seconds,
        **more,
    }


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _best(works: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """The least seconds of each, taking turns."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for i, work in enumerate(works):
            best[i] = min(best[i], _seconds(work))
    return best


def _advance(prepared: Any) -> Callable[[int], None]:
    """Runs CFR+ on from where it stands."""
    solution = cfr.solve(prepared, 1)

    def advance(iterations: int) -> None:
        nonlocal solution
        solution = cfr.solve(prepared, iterations, start=solution, use_up_start=True)

    return advance


def iteration_rows(ranks: int, rounds: int) -> Iterator[dict[str, Any]]:
    """One game of one hole card by all contenders."""
    game = leduc(2, ranks, 1)
    public = leduc_public_game(game)
    form = sequence_form_from_tree(poker_tree(game))
    solver = pyspiel.CFRPlusSolver(pyspiel.load_game(game.game_string))
    by_hands, by_nodes = (_advance(cfr.prepare(f, "compiled")) for f in (public.form, form))
    many = 20
    hands, nodes, theirs = _best(
        [
            functools.partial(by_hands, many),
            functools.partial(by_nodes, many),
            solver.evaluate_and_update_policy,
        ],
        rounds,
    )
    baseline = hands / many
    sizes = [sum(t.num_sequences for t in f.treeplexes) for f in (public.form, form)]
    for contender, seconds, size in (
        (_OURS, baseline, sizes[0]),
        (_NODES, nodes / many, sizes[1]),
        (_OPENSPIEL, theirs, sizes[1]),
    ):
        yield _row(
            game.name,
            _ITERATION,
            contender,
            seconds,
            ratio=seconds / baseline,
            hands=public.stages[0].num_hands,
            sequences=size,
        )


def growth_rows(game: PokerGame) -> Iterator[dict[str, Any]]:
    """An iteration, and an exploitability, of one game by hands."""
    start = time.perf_counter()
    public = leduc_public_game(game)
    prepared = cfr.prepare(public.form)
    advance = _advance(prepared)
    setup = time.perf_counter() - start
    behaviors = public.form.treeplexes[0].uniform(), public.form.treeplexes[1].uniform()
    step, judged = _best(
        [functools.partial(advance, 5), functools.partial(public.nash_conv, behaviors)], 4
    )
    sizes = {
        "hands": public.stages[0].num_hands,
        "sequences": sum(t.num_sequences for t in public.form.treeplexes),
    }
    yield _row(game.name, "growth: iteration", _OURS, step / 5, setup_seconds=setup, **sizes)
    yield _row(game.name, "growth: nash_conv", _OURS, judged, **sizes)


def showdown_rows(ranks: int) -> Iterator[dict[str, Any]]:
    """All hands behind one flop of a deck of four suits."""
    game = PokerGame("flop", suits=4, ranks=ranks, hole_cards=2, board_cards=3)
    flop = np.array([0, 5, 4 * (ranks - 1)])
    cards = np.array(list(itertools.combinations(np.setdiff1d(range(4 * ranks), flop), 2)))
    strength = hand_strengths(game, np.hstack([cards, np.tile(flop, (len(cards), 1))]))
    pairs = SortedHands.create(cards, strength, np.arange(len(cards)), game.num_cards, 1.0)
    matrix = MatrixPairs(*pairs.matrices())
    plans = np.random.default_rng(0).random((_OUTCOMES, len(cards)))
    works = [functools.partial(pairs.beat, plans), functools.partial(matrix.beat, plans)]
    for work in works:
        work()  # compiles, where anything is compiled
    ours, theirs = _best(works, 3 * _ROUNDS)
    name = f"flop of {4 * ranks} cards"
    for contender, seconds in ((_OURS, ours), (_MATRIX, theirs)):
        yield _row(
            name,
            f"{_OUTCOMES} showdowns",
            contender,
            seconds,
            ratio=seconds / ours,
            hands=len(cards),
        )
