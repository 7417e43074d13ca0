"""The infoset hypergraph of a small game, coloured by orders of knowledge.

Each node of the game lies in one infoset of either player. Drawn as a grid, rows are
player 0's infosets and columns player 1's, so a hyperedge is a straight bar, and one
walks from a node to what it may be confused with along rows and columns in turn. With
a first infoset I given, colours say at which order a node enters: I itself is I^1, what
the opponent may then think is I^2, and so on (ZS21, definition 2 and Figure 1).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from klss_spiel.algorithms import knowledge
from klss_spiel.arrays import BoolArray, LongArray
from klss_spiel.games.rendering import Picture
from klss_spiel.plot import svg
from klss_spiel.tree import PLAYERS, GameTree

_CELL: Final = 30
_LEFT: Final = 150
_TOP: Final = 96
_MOST: Final = 60
_MARGIN: Final = 12
# From near to far; the last for everything further away. Grey is never reached.
_ORDERS: Final = ("#fde725", "#7ad151", "#22a884", "#2a788e", "#414487", "#440154")
_NEVER: Final = "#d5d8dc"


def knowledge_graph(
    tree: GameTree,
    player: int = 0,
    infoset: int | str | None = None,
    nodes: BoolArray | None = None,
) -> Picture:
    """Draws who may confuse what.

    Args:
      tree: a small game.
      player: whose infoset the orders are counted from.
      infoset: that infoset, by number or by its information state string; None for no
        orders.
      nodes: [N] which nodes to draw; by default all of the infoset's depth, or without
        an infoset all at which a player moves.

    Returns:
      A picture; its text lists the nodes that each order adds.

    Raises:
      ValueError: more infosets than can be seen, or no such infoset.
    """
    chosen = None if infoset is None else _infoset_number(tree, player, infoset)
    if nodes is None:
        nodes = tree.player >= 0 if chosen is None else _level_of(tree, player, chosen)
    graph = knowledge.infoset_hypergraph(tree, nodes=nodes)
    members = np.flatnonzero(nodes)
    row, rows = _numbered(tree.infoset[0, members])
    column, columns = _numbered(tree.infoset[1, members])
    if max(len(rows), len(columns)) > _MOST:
        raise ValueError(
            f"expected at most {_MOST} infosets of each player, got {len(rows)} and "
            f"{len(columns)}; choose nodes"
        )
    order = np.zeros(len(members), dtype=np.int64)
    if chosen is not None:
        order = _orders(graph, (tree.infoset[player] == chosen) & nodes)[members]
    return _drawn(tree, row, rows, column, columns, members, order, chosen is not None)


def _infoset_number(tree: GameTree, player: int, infoset: int | str) -> int:
    if player not in PLAYERS:
        raise ValueError(f"expected player 0 or 1, got {player}")
    if isinstance(infoset, str):
        known = tree.infosets[player].index_of_label
        if infoset not in known:
            raise ValueError(f"player {player} never decides at {infoset!r} in {tree.name}")
        return known[infoset]
    if not 0 <= infoset < tree.infosets[player].num_infosets:
        raise ValueError(f"player {player} has no infoset {infoset} in {tree.name}")
    return int(infoset)


def _level_of(tree: GameTree, player: int, infoset: int) -> BoolArray:
    """[N] the nodes as deep as the infoset's first."""
    first = int(np.argmax(tree.infoset[player] == infoset))
    depth = int(np.searchsorted(tree.level_start, first, side="right")) - 1
    inside = np.zeros(tree.num_nodes, dtype=np.bool_)
    inside[tree.level_start[depth] : tree.level_start[depth + 1]] = True
    return inside


def _orders(graph: knowledge.InfosetHypergraph, start: BoolArray) -> LongArray:
    """[N] the first k with the node in S^k; 0 for nodes that are in none."""
    found = np.zeros(len(start), dtype=np.int64)
    reached = start
    k = 1
    while True:
        found[reached & (found == 0)] = k
        grown = knowledge.ball(graph, reached, 1)
        if np.array_equal(grown, reached):
            return found
        reached = grown
        k += 1


def _numbered(infosets: LongArray) -> tuple[LongArray, LongArray]:
    """Each infoset's place in order of appearance, and the infosets in that order."""
    values, first, inverse = np.unique(infosets, return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    place = np.empty(len(values), dtype=np.int64)
    place[appearance] = np.arange(len(values))
    return place[inverse], values[appearance]


def _drawn(
    tree: GameTree,
    row: LongArray,
    rows: LongArray,
    column: LongArray,
    columns: LongArray,
    members: LongArray,
    order: LongArray,
    with_orders: bool,
) -> Picture:
    parts = []
    for p, places, others, names in ((0, row, column, rows), (1, column, row, columns)):
        for place, infoset in enumerate(names.tolist()):
            own = others[places == place]
            parts.append(_bar(p, place, int(own.min()), int(own.max())))
            parts.append(_bar_label(p, place, tree.infosets[p].labels[infoset] or f"({infoset})"))
    for x, y in sorted(set(zip(column.tolist(), row.tolist(), strict=True))):
        here = (column == x) & (row == y)
        k = int(order[here].min())
        fill = "#ffffff" if not with_orders else _NEVER
        if k > 0:
            fill = _ORDERS[min(k, len(_ORDERS)) - 1]
        cx, cy = _LEFT + (x + 0.5) * _CELL, _TOP + (y + 0.5) * _CELL
        count = int(here.sum())
        what = f"node {', '.join(map(str, members[here][:6].tolist()))}"
        parts.append(
            f'<circle class="vertex order-{k}" cx="{cx:g}" cy="{cy:g}" r="9" fill="{fill}" '
            f'stroke="{svg.INK}"><title>{what}{f", order {k}" if k else ""}</title></circle>'
        )
        if count > 1:
            parts.append(svg.text(cx + 8, cy - 7, f"×{count}"))
    bottom = _TOP + len(rows) * _CELL + 14
    lines = [f"{tree.name}: {len(members)} nodes, {len(rows)} and {len(columns)} infosets"]
    if with_orders:
        x = _MARGIN
        for k in sorted(set(order.tolist()), key=lambda k: (k == 0, k)):
            fill = _ORDERS[min(k, len(_ORDERS)) - 1] if k else _NEVER
            words = f"order {k}" if k else "no order"
            parts.append(f'<rect x="{x}" y="{bottom}" width="12" height="12" fill="{fill}"/>')
            parts.append(svg.text(x + 16, bottom + 10, words))
            x += 76
            lines.append(f"{words}: {int((order == k).sum())} nodes")
        bottom += 20
    width = max(_LEFT + len(columns) * _CELL + _MARGIN, 480)
    title = lines[0]
    parts.insert(0, svg.text(_MARGIN, 16, title, colour=svg.PALE))
    return Picture("\n".join(lines), svg.document(width, bottom + 10, parts, title))


def _bar(player: int, place: int, first: int, last: int) -> str:
    """A hyperedge: player 0's lie across, player 1's upright."""
    length = (last - first) * _CELL
    thick = _CELL - 8
    if player == 0:
        x, y, w, h = _LEFT + first * _CELL + 4, _TOP + place * _CELL + 4, length + thick, thick
    else:
        x, y, w, h = _LEFT + place * _CELL + 4, _TOP + first * _CELL + 4, thick, length + thick
    return (
        f'<rect class="infoset player-{player}" x="{x}" y="{y}" width="{w}" height="{h}" rx="11" '
        f'fill="{svg.PLAYER_COLOURS[player]}" fill-opacity="0.16" '
        f'stroke="{svg.PLAYER_COLOURS[player]}"/>'
    )


def _bar_label(player: int, place: int, label: str) -> str:
    words = " ".join(label.split())
    words = words if len(words) <= 22 else f"…{words[-21:]}"
    colour = svg.PLAYER_COLOURS[player]
    if player == 0:
        return svg.text(
            _LEFT - 6, _TOP + (place + 0.5) * _CELL + 4, words, anchor="end", colour=colour
        )
    x, y = _LEFT + (place + 0.5) * _CELL + 4, _TOP - 6
    slanted = svg.text(x, y, words[-14:], colour=colour)
    return slanted.replace("<text ", f'<text transform="rotate(-50 {x:g} {y:g})" ', 1)
