r"""How much players know: sizes of games and of their knowledge sets.

    python -m klss_spiel.run.game_stats --game=kuhn_poker --game=leduc_poker
    python -m klss_spiel.run.game_stats --preset=zs21_table2 --json

Two conventions are shown. The first reproduces ZS21's Table 2: the hypergraph
has decision nodes only, a player's infoset counts only while that player will
still move, the average runs over decision nodes and the balls of radius k around
them (so k = 1 is the union of both players' infosets), and nodes are left out
that have one legal action and that nobody mistakes for another. "Diameter" is
the largest distance. The second follows the words below that table: the average
over decision nodes of |I^k|, I being the mover's infoset, with all nodes of the
game in the hypergraph; "diameter" is then the smallest k with I^k = I^infinity.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel import plot as figures
from klss_spiel.algorithms.ball_sizes import infoset_ball_sizes, node_ball_sizes
from klss_spiel.algorithms.knowledge import ALL_NODES, DECISION_NODES, infoset_hypergraph
from klss_spiel.arrays import BoolArray
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.openspiel import DEFAULT_MAX_NODES, tree_from_game
from klss_spiel.run import job_flags, output
from klss_spiel.tree import PLAYERS, GameTree

MAX_ORDER = 4
ORDERS = (*(str(k) for k in range(1, MAX_ORDER + 1)), "inf")


@dataclasses.dataclass(frozen=True)
class PrintedRow:
    """A row of a table of game statistics as printed in a paper.

    Attributes:
      game: OpenSpiel's game string.
      nodes: nodes of the tree.
      infosets: decision infosets of both players.
      diameter: of the infoset hypergraph.
      average_knowledge: for each of ORDERS, to two decimals.
    """

    game: str
    nodes: int
    infosets: int
    diameter: int
    average_knowledge: tuple[float, float, float, float, float]


_GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order={},returns_type=win_loss)"

# ZS21, Table 2. Cells left empty there repeat the last one before them.
ZS21_TABLE2 = (
    PrintedRow(
        "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
        471,
        94,
        13,
        (5.23, 12.00, 18.17, 22.04, 29.58),
    ),
    PrintedRow(_GOOFSPIEL.format("random"), 26773, 3608, 4, (5.84, 8.90, 9.19, 9.20, 9.20)),
    PrintedRow(_GOOFSPIEL.format("ascending"), 1077, 162, 4, (5.83, 9.05, 9.31, 9.32, 9.32)),
    PrintedRow("kuhn_poker", 58, 12, 3, (2.50, 3.50, 4.00, 4.00, 4.00)),
    PrintedRow("leduc_poker", 9457, 936, 3, (6.14, 14.71, 15.40, 15.40, 15.40)),
    PrintedRow("liars_dice(dice_sides=5)", 51181, 5120, 2, (7.00, 15.00, 15.00, 15.00, 15.00)),
    PrintedRow("python_n_matching_pennies(n=100)", 701, 101, 99, (3.63, 4.29, 4.93, 5.57, 35.97)),
)

PRESETS = {"zs21_table2": ZS21_TABLE2}


@dataclasses.dataclass(frozen=True)
class Config:
    """What to measure.

    Attributes:
      games: OpenSpiel's game strings.
      max_nodes: refuse larger games.
    """

    games: tuple[str, ...]
    max_nodes: int = DEFAULT_MAX_NODES


def statistics(tree: GameTree) -> dict[str, Any]:
    """The statistics of one game, in both conventions."""
    decision = tree.player >= 0
    balls = node_ball_sizes(infoset_hypergraph(tree, DECISION_NODES), MAX_ORDER)
    # Without this, 2x2 dark hex differs from the table by its 24 forced last moves.
    forced = (balls.size[1] == 1) & (tree.num_children == 1)
    counted = decision & ~forced
    if not counted.any():
        counted = decision
    return {
        "nodes": tree.num_nodes,
        "infosets": tree.num_decision_infosets,
        "diameter": balls.diameter,
        "average_knowledge": _averages([*balls.size[1:, counted], balls.closure[counted]]),
        "as_worded": _as_worded(tree, decision),
    }


def _as_worded(tree: GameTree, decision: BoolArray) -> dict[str, Any]:
    graph = infoset_hypergraph(tree, ALL_NODES)
    sizes = np.zeros((len(ORDERS), tree.num_nodes))
    diameter = 0
    for p in PLAYERS:
        moves = tree.player == p
        balls = infoset_ball_sizes(graph, p, MAX_ORDER - 1)
        infoset = tree.infoset[p, moves]
        sizes[:-1, moves] = balls.size[:, infoset]
        sizes[-1, moves] = balls.closure[infoset]
        # Radius r is order r + 1.
        diameter = max(diameter, int(balls.eccentricity[infoset].max(initial=0)) + 1)
    return {"diameter": diameter, "average_knowledge": _averages(list(sizes[:, decision]))}


def _averages(sizes: list[Any]) -> dict[str, float]:
    return {
        order: float(np.mean(size)) if len(size) else 0.0
        for order, size in zip(ORDERS, sizes, strict=True)
    }


def make_jobs(config: Config) -> list[Job]:
    """A job for each game."""
    return [job_from_columns(compute_row, {"game": g}, config.max_nodes) for g in config.games]


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """Measures the games, one row each; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), **how)


def compute_row(columns: Mapping[str, Any], max_nodes: int) -> dict[str, Any]:
    """The statistics of the game of one row."""
    return statistics(tree_from_game(columns["game"], max_nodes=max_nodes))


def agrees(row: output.Row, printed: PrintedRow) -> bool:
    """Whether a measured row equals the printed one in every digit."""
    return (row["nodes"], row["infosets"], row["diameter"]) == (
        printed.nodes,
        printed.infosets,
        printed.diameter,
    ) and all(
        f"{row['average_knowledge'][order]:.2f}" == f"{value:.2f}"
        for order, value in zip(ORDERS, printed.average_knowledge, strict=True)
    )


def table(rows: list[dict[str, Any]], printed: tuple[PrintedRow, ...] = ()) -> str:
    """Both conventions as aligned text; rows known from a paper say whether they agree."""
    by_game = {row.game: row for row in printed}
    counted, worded = [], []
    for row in rows:
        size = {column: row[column] for column in ("game", "nodes", "infosets")}
        line = {**size, "diameter": row["diameter"], **row["average_knowledge"]}
        if row["game"] in by_game:
            line["as printed"] = agrees(row, by_game[row["game"]])
        counted.append(line)
        other = row["as_worded"]
        worded.append({**size, "diameter": other["diameter"], **other["average_knowledge"]})
    formats = dict.fromkeys(ORDERS, ".2f")
    return (
        "As counted in ZS21, Table 2\n"
        f"{output.format_table(counted, formats=formats)}\n\n"
        "As worded there: mean |I^k| of the mover's infoset\n"
        f"{output.format_table(worded, formats=formats)}"
    )


def plot(rows: list[dict[str, Any]], path: str) -> None:
    """Draws how many nodes each order of knowledge holds on average."""
    flat = [
        {"game": row["game"], **{f"order {k}": n for k, n in row["average_knowledge"].items()}}
        for row in rows
    ]
    orders = [f"order {k}" for k in ORDERS]
    figures.bars(flat, "game", orders, "nodes, on average", log=True, path=path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    output.define_flags()
    job_flags.define_flags()
    job_flags.define_plot_flag("knowledge by order")
    flags.DEFINE_multi_string("game", [], "OpenSpiel game string; may be given several times.")
    flags.DEFINE_enum("preset", None, sorted(PRESETS), "A list of games known from a paper.")
    flags.DEFINE_integer(
        "max_nodes", DEFAULT_MAX_NODES, "Refuse games with more nodes.", lower_bound=1
    )


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, runs, prints."""
    values = flags.FLAGS
    printed = PRESETS[values.preset] if values.preset else ()
    games = tuple(dict.fromkeys([*(row.game for row in printed), *values.game]))
    if not games:
        raise ValueError("expected at least one --game=... or a --preset=..., got none")
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(make_jobs(Config(games, values.max_nodes))) as rows:
        output.emit(rows, values.json, table(rows, printed))
        if values.plot:
            plot(rows, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
