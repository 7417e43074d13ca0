"""How far apart positions after two moves each are in what players know (Obscuro, E.1).

Exact: all 197,742 sequences of four plies are enumerated, and distances are those of
`klss_spiel.algorithms.knowledge_paths` among them.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from klss_spiel.algorithms.knowledge import InfosetHypergraph, infoset_hypergraph
from klss_spiel.algorithms.knowledge_paths import KnowledgePath, farthest_pair, shortest_path
from klss_spiel.jobs import Job, job_from_columns
from klss_spiel.openspiel import history_of, load_game, tree_from_game
from klss_spiel.tree import GameTree

BOARD = "python_dark_chess"
PLIES = 4
# The positions of Figure 1, and what is printed about them and all others (footnote 22).
FIGURE_1 = ("b1c3 g7g5 g1h3 d7d5", "g1f3 e7e5 h2h3 d8h4")
PRINTED = {"Figure 1": 9, "largest": 10}
_PLAYERS = ("White", "Black")
_GAP = 10
_TITLE_HEIGHT = 26
_SCALE = 0.5


def make_jobs(game: str = BOARD, plies: int = PLIES) -> list[Job]:
    """One job for the two positions of Figure 1, one for all pairs."""
    questions = PRINTED if (game, plies) == (BOARD, PLIES) else ("largest",)
    return [
        job_from_columns(distance_row, {"question": question, "game": game, "plies": plies})
        for question in questions
    ]


def distance_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """A shortest path with the distance that is asked for; its positions by UCI moves."""
    start = time.monotonic()
    tree, graph = _knowledge(columns["game"], columns["plies"])
    if columns["question"] == "Figure 1":
        game = load_game(columns["game"])
        first, last = (_node(tree, game, moves) for moves in FIGURE_1)
        found = shortest_path(graph, first, last)
    else:
        found = farthest_pair(graph)
    lines, players = _in_words(tree, load_game(columns["game"]), found)
    component = None if found is None else int(graph.component[found.nodes[0]])
    return {
        "distance": None if found is None else found.length,
        "nodes": int(graph.vertex.sum()),
        "component": int(np.sum(graph.component == component)),
        "components": graph.num_components,
        "path": lines,
        "same_for": players,
        "seconds": round(time.monotonic() - start, 2),
    }


@functools.lru_cache(maxsize=1)
def _knowledge(name: str, plies: int) -> tuple[GameTree, InfosetHypergraph]:
    """The tree down to `plies`, and the hypergraph of its nodes at that depth."""
    inside = name[:-1] + "," if name.endswith(")") else f"{name}("
    tree = tree_from_game(f"{inside}horizon={plies})")
    nodes = np.zeros(tree.num_nodes, dtype=np.bool_)
    nodes[tree.level_start[plies] : tree.level_start[plies + 1]] = True
    return tree, infoset_hypergraph(tree, nodes=nodes)


def _node(tree: GameTree, game: Any, moves: str) -> int:
    """The node after some UCI moves."""
    node, state = 0, game.new_initial_state()
    for move in moves.split():
        action = state.string_to_action(move)
        first = int(tree.first_child[node])
        children = np.arange(first, first + int(tree.num_children[node]))
        (node,) = children[tree.action[children] == action].tolist()
        state.apply_action(action)
    return node


def _in_words(tree: GameTree, game: Any, path: KnowledgePath | None) -> tuple[list[str], list[str]]:
    """The moves that lead to each node of a path, and who cannot tell it from the next."""
    if path is None:
        return [], []
    lines = []
    for node in path.nodes:
        state = game.new_initial_state()
        words = []
        for action in history_of(tree, node):
            words.append(state.action_to_string(action))
            state.apply_action(action)
        lines.append(" ".join(words))
    return lines, [_PLAYERS[player] for player in path.players]


def summarise(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line for each question; the paths are in the file of rows and in the picture."""
    lines = []
    for row in rows:
        printed = PRINTED[row["question"]] if row["game"] == BOARD else None
        lines.append(
            {
                "question": row["question"],
                "distance": row["distance"],
                "paper": printed,
                "agrees": None if printed is None else row["distance"] == printed,
                "from": row["path"][0] if row["path"] else None,
                "to": row["path"][-1] if row["path"] else None,
                **{name: row[name] for name in ("nodes", "component", "seconds")},
            }
        )
    return lines


def path_picture(row: Mapping[str, Any]) -> str:
    """A path as an SVG document: every position with both views, as Figure 6."""
    from klss_spiel.games.chess import render

    game = load_game(row["game"])
    pictures = []
    for number, line in enumerate(row["path"]):
        state = game.new_initial_state()
        for move in line.split():
            state.apply_action(state.string_to_action(move))
        title = f"{number + 1}.  {line}"
        if number < len(row["same_for"]):
            title += f": {row['same_for'][number]} cannot tell this from the next"
        pictures.append((title, render.svg_views(state)))
    width, height = _size(pictures[0][1])
    step = _SCALE * height + _TITLE_HEIGHT + _GAP
    total = (_SCALE * width, len(pictures) * step)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total[0]:g} {total[1]:g}" '
        f'width="{total[0]:g}" height="{total[1]:g}">',
        f'<rect width="{total[0]:g}" height="{total[1]:g}" fill="#ffffff"/>',
    ]
    for number, (title, picture) in enumerate(pictures):
        y = number * step
        parts.append(
            f'<text x="{_GAP}" y="{y + _TITLE_HEIGHT - 8:g}" font-family="sans-serif" '
            f'font-size="13">{title}</text>'
        )
        inner = picture.replace(
            f'width="{width}" height="{height}">',
            f'x="0" y="{y + _TITLE_HEIGHT:g}" width="{_SCALE * width:g}" '
            f'height="{_SCALE * height:g}">',
            1,
        )
        parts.append(inner.rstrip())
    return "\n".join([*parts, "</svg>\n"])


def _size(picture: str) -> tuple[int, int]:
    """Width and height of an SVG document that begins with its view box."""
    box = picture.split('viewBox="', 1)[1].split('"', 1)[0]
    _, _, width, height = box.split()
    return int(width), int(height)
