"""King against king (Obscuro, E.8): exact values with a horizon, bounds without one.

A king sees the squares around it, so kings see each other only when one can capture. The
game with a draw after `horizon` plies is solved exactly by linear programming. The game
without a horizon lies between two more programs, of the same tree with other leaves:

    lower   at a leaf with White to move White gets 1 if the black king can be captured, 0
            if White is sure of a draw by claim 1 (two adjacent squares to go to, neither
            next to a square where the black king may be), and else -1
    upper   the same with the colours exchanged

Leaves must have the right side to move, so each bound uses the largest such horizon. The
fiftieth move and repetitions give draws, which claim 1's argument allows.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel import linear_program
from klss_spiel.arrays import BoolArray, FloatArray, IntArray, LongArray, U64Array
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.actions import action_table
from klss_spiel.jobs import Job, job_from_columns
from klss_spiel.openspiel import tree_from_game
from klss_spiel.run.obscuro.budgets import MoveBudget, budget_from_columns
from klss_spiel.tree import TERMINAL, GameTree

LINEAR_PROGRAM, SEARCH = "linear program", "search"
PROVED, CONTRADICTED, OPEN = "proved", "contradicted", "open"
DEFAULT_MAX_NODES = 2_000_000
_ROUNDING = 1e-7


@dataclasses.dataclass(frozen=True)
class Ending:
    """Two kings, and what the paper says of their game.

    Attributes:
      fen: the position.
      claim: what White's value is, in the paper's words; `above` or `equal`.
      above: White's value is above this, or
      equal: equal to this; None if the claim is the other one.
    """

    fen: str
    claim: str
    above: float | None = None
    equal: float | None = None


_CLAIM_1 = "claim 1: both can draw"
_CLAIM_2 = "claim 2: above 0"
_CORNER = "corner: above 1/2"
ENDINGS: Mapping[str, Ending] = {
    "6x6, Kc2 v Kd5, Black": Ending("6/3k2/6/6/2K3/6 b - - 0 1", _CLAIM_1, equal=0.0),
    "4x4, Ka2 v Ka4, White": Ending("k3/4/K3/4 w - - 0 1", _CLAIM_2, above=0.0),
    "4x4, Ka2 v Ka4, Black": Ending("k3/4/K3/4 b - - 0 1", _CLAIM_2, above=0.0),
    "4x4, Kb2 v Ka4, White": Ending("k3/4/1K2/4 w - - 0 1", _CORNER, above=0.5),
    "4x4, Kc3 v Ka4, White": Ending("k3/2K1/4/4 w - - 0 1", _CORNER, above=0.5),
    "4x4, Kc2 v Ka4, White": Ending("k3/4/2K1/4 w - - 0 1", _CORNER, above=0.5),
    "5x5, Ka3 v Ka5, White": Ending("k4/5/K4/5/5 w - - 0 1", _CLAIM_2, above=0.0),
    "5x5, Kb3 v Ka5, White": Ending("k4/5/1K3/5/5 w - - 0 1", _CORNER, above=0.5),
    "8x8, Kd3 v Kd6, Black": Ending("8/8/3k4/8/8/3K4/8/8 b - - 0 1", _CLAIM_1, equal=0.0),
    "8x8, Ka6 v Ka8, White": Ending("k7/8/K7/8/8/8/8/8 w - - 0 1", _CLAIM_2, above=0.0),
    "8x8, Ka6 v Ka8, Black": Ending("k7/8/K7/8/8/8/8/8 b - - 0 1", _CLAIM_2, above=0.0),
    "8x8, Kb6 v Ka8, White": Ending("k7/8/1K6/8/8/8/8/8 w - - 0 1", _CORNER, above=0.5),
    "8x8, Kc7 v Ka8, White": Ending("k7/2K5/8/8/8/8/8/8 w - - 0 1", _CORNER, above=0.5),
    "8x8, Kc6 v Ka8, White": Ending("k7/8/2K5/8/8/8/8/8 w - - 0 1", _CORNER, above=0.5),
}


def make_jobs(
    horizons: Sequence[int], budget: MoveBudget, seed: int, max_nodes: int = DEFAULT_MAX_NODES
) -> list[Job]:
    """A job for each ending and horizon, and a search of each ending."""
    if any(horizon < 2 for horizon in horizons):
        raise ValueError(f"expected horizons of at least 2 plies, got {list(horizons)}")
    budget = dataclasses.replace(budget, evaluator=None)  # leaves are worth a draw
    empty = {"horizon": None, "nodes": None, "seconds_per_move": None, "seed": None}
    programs = [
        job_from_columns(
            program_row,
            {"ending": name, "method": LINEAR_PROGRAM, **empty, "horizon": horizon},
            max_nodes,
        )
        for name in ENDINGS
        for horizon in horizons
    ]
    searches = [
        job_from_columns(
            search_row,
            {"ending": name, "method": SEARCH, **empty, **budget.columns, "seed": seed},
        )
        for name in ENDINGS
    ]
    return programs + searches


def program_row(columns: Mapping[str, Any], max_nodes: int) -> dict[str, Any]:
    """Exact value with a draw at the horizon, and bounds of the game without one.

    A tree of more than `max_nodes` is not built: the row says so and has no values.
    """
    fen, horizon = ENDINGS[columns["ending"]].fen, columns["horizon"]
    start = time.monotonic()
    row: dict[str, Any] = dict.fromkeys(("value", "lower", "upper", "tree", "reason"))
    try:
        tree = _tree(fen, horizon, max_nodes)
    except ValueError as error:
        if "max_nodes" not in str(error):
            raise
        return {**row, "reason": f"more than {max_nodes} nodes", "time": 0.0}
    shorter = _tree(fen, horizon - 1, max_nodes)
    row |= {"value": linear_program.solve(tree).value, "tree": tree.num_nodes}
    for side, name in ((rules.WHITE, "lower"), (rules.BLACK, "upper")):
        ends_right = (boards.position_from_fen(fen).side + horizon) % 2 == side
        row[name] = horizonless_bound(tree if ends_right else shorter, fen, side)
    return {**row, "time": round(time.monotonic() - start, 2)}


def _tree(fen: str, horizon: int, max_nodes: int) -> GameTree:
    return tree_from_game(f"python_dark_chess(fen={fen},horizon={horizon})", max_nodes=max_nodes)


def horizonless_bound(tree: GameTree, fen: str, side: int) -> float:
    """White's value without a horizon is at least (White) or at most (Black) this.

    Args:
      tree: down to a horizon at which `side` would be to move.
      fen: its start.
      side: for whom leaves are counted as they surely are, and no better.
    """
    start = boards.position_from_fen(fen)
    squares = king_squares(tree, start)
    depth = tree.max_depth
    cut = np.zeros(tree.num_nodes, dtype=np.bool_)
    cut[tree.level_start[depth] :] = True
    cut &= (tree.player == TERMINAL) & (tree.utility == 0.0)
    leaves = np.flatnonzero(cut)
    neighbours = king_moves(start.width, start.height)
    own, other = squares[side, leaves], squares[1 - side, leaves]
    captures = (neighbours[own] >> other.astype(np.uint64) & np.uint64(1)).astype(np.bool_)
    _, infoset = np.unique(tree.infoset[side, leaves], return_inverse=True)
    danger = np.zeros(int(infoset.max(initial=-1)) + 1, dtype=np.uint64)
    np.bitwise_or.at(danger, infoset, neighbours[other])
    safe = neighbours[own] & ~danger[infoset]
    guaranteed: FloatArray = np.where(captures, 1.0, np.where(_has_pair(safe, neighbours), 0, -1))
    utility = np.array(tree.utility)
    utility[leaves] = guaranteed if side == rules.WHITE else -guaranteed
    return linear_program.solve(dataclasses.replace(tree, utility=utility)).value


def king_squares(tree: GameTree, start: rules.Position) -> IntArray:
    """[2, N] where the white and the black king stand; a captured one where it stood."""
    moves = action_table(start.width, start.height).moves
    target = np.array([move.target for move in moves], dtype=np.int32)
    squares = np.empty((2, tree.num_nodes), dtype=np.int32)
    for colour in (rules.WHITE, rules.BLACK):
        squares[colour, 0] = start.squares.index(rules.piece(rules.KING, colour))
    for level in tree.levels(skip_root=True):
        parent = tree.parent[level]
        for colour in (rules.WHITE, rules.BLACK):
            moved = tree.player[parent] == colour
            squares[colour, level] = np.where(
                moved, target[tree.action[level]], squares[colour, parent]
            )
    return squares


def king_moves(width: int, height: int) -> U64Array:
    """[squares] bit set of the squares next to each."""
    square: LongArray = np.arange(width * height)
    file, rank = square % width, square // width
    near = (np.abs(file[:, None] - file) <= 1) & (np.abs(rank[:, None] - rank) <= 1)
    near &= ~np.eye(len(square), dtype=np.bool_)
    bits = np.left_shift(np.uint64(1), square.astype(np.uint64))
    sets: U64Array = np.where(near, bits, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return sets


def _has_pair(sets: U64Array, neighbours: U64Array) -> BoolArray:
    """Whether each bit set has two squares next to each other."""
    found: npt.NDArray[np.bool_] = np.zeros(len(sets), dtype=np.bool_)
    for square, near in enumerate(neighbours):
        inside = (sets >> np.uint64(square) & np.uint64(1)).astype(np.bool_)
        found |= inside & ((sets & near) != 0)
    return found


def search_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Value of a search of the game without a horizon, its leaves worth a draw."""
    from klss_spiel.algorithms.search.bot import SearchBot
    from klss_spiel.openspiel import load_game

    game = load_game(f"python_dark_chess(fen={ENDINGS[columns['ending']].fen})")
    state = game.new_initial_state()
    mover = state.current_player()
    budget = budget_from_columns(columns).of_search()
    bot = SearchBot(game, mover, budget, seed=columns["seed"], evaluator="zero")
    bot.step(state)
    report = bot.report
    assert report is not None
    value = report.value if mover == rules.WHITE else -report.value
    return {
        **dict.fromkeys(("lower", "upper", "reason")),
        "value": value,
        "gap": report.nash_gap,
        "depth": report.depth,
        "tree": report.nodes,
        "time": round(report.seconds, 2),
    }


def verdict(ending: Ending, lower: float | None, upper: float | None) -> str:
    """What bounds of the game without a horizon say about the paper's claim."""
    if lower is None or upper is None:
        return OPEN
    if ending.above is not None:
        if lower > ending.above + _ROUNDING:
            return PROVED
        return CONTRADICTED if upper < ending.above - _ROUNDING else OPEN
    assert ending.equal is not None
    if lower > ending.equal + _ROUNDING or upper < ending.equal - _ROUNDING:
        return CONTRADICTED
    return PROVED if upper - lower <= 2 * _ROUNDING else OPEN


def summarise(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every row beside the paper's claim."""
    lines = []
    for row in rows:
        ending = ENDINGS[row["ending"]]
        if row["method"] == LINEAR_PROGRAM:
            method = f"LP, {row['horizon']} plies"
        else:
            method = f"search, {MoveBudget(row['nodes'], row['seconds_per_move'])}"
        lines.append(
            {
                "ending": row["ending"],
                "method": method,
                "value": _rounded(row["value"]),
                "lower": _rounded(row["lower"]),
                "upper": _rounded(row["upper"]),
                "gap": _rounded(row.get("gap")),
                "paper": ending.claim,
                "verdict": verdict(ending, row["lower"], row["upper"]),
                "tree": row["tree"] if row["tree"] is not None else row["reason"],
                "seconds": row["time"],
            }
        )
    return lines


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6) + 0.0
