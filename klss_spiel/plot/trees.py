"""The top of a tree as SVG, from left to right, with probabilities and values.

What is drawn is bounded: so many moves deep, so many children of a node (the likeliest),
and so many nodes in all. Whatever is left out is counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.games.rendering import Picture
from klss_spiel.openspiel import load_game, turn_based
from klss_spiel.plot import svg
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.tree import CHANCE, PLAYERS, TERMINAL, GameTree

Names = Callable[[int, int], str]
_ROW: Final = 24
_COLUMN: Final = 132
_MARGIN: Final = 16
_LEFT: Final = 34  # room for the first node's value
_MOST_NODES: Final = 400
_WHO: Final = {0: "player 0", 1: "player 1", CHANCE: "chance", TERMINAL: "end"}


@dataclasses.dataclass(frozen=True)
class Branch:
    """A node to draw, with what lies below it.

    Attributes:
      player: who moves: 0, 1, CHANCE or TERMINAL.
      edge: the action that led here; "" at the top.
      probability: of that action.
      value: player 0's expected payoff here.
      children: those that are drawn.
      left_out: how many are not.
    """

    player: int
    edge: str
    probability: float
    value: float
    children: tuple[Branch, ...] = ()
    left_out: int = 0

    @property
    def size(self) -> int:
        """Nodes drawn here and below."""
        return 1 + sum(child.size for child in self.children)


def search_tree(
    bot: Any,
    depth: int = 3,
    children: int = 4,
    names: Names | None = None,
) -> Picture:
    """The top of the tree that a searching bot has just built.

    Args:
      bot: a `SearchBot` after a decision, or a `Search`.
      depth: moves below the first node that is drawn.
      children: of each node, the likeliest.
      names: (player, action) -> text; by default the game's own names.

    Returns:
      A picture. Values are player 0's payoffs under the average strategies.
    """
    game = None
    search = bot
    if hasattr(bot, "search_player"):
        game = bot.search_player.game
        search = bot.search_player.search
        if search is None:
            raise ValueError("expected a bot that has searched, got one before its first search")
    tree = search.tree
    nodes = tree.nodes
    game = search.game if game is None else game
    scale, offset = game.utility_scale, game.utility_offset
    average = [tree.average(p) for p in PLAYERS]
    edge = np.ones(tree.num_nodes)
    value = nodes.value[: tree.num_nodes].astype(np.float64)
    for family in range(tree.num_families - 1, -1, -1):
        node = int(tree.families.node[family])
        first = int(tree.families.first_child[family])
        own = slice(first, first + int(tree.families.num_children[family]))
        mover = int(nodes.player[node])
        edge[own] = (
            average[mover][nodes.sequence[own, mover]] if mover in PLAYERS else nodes.chance[own]
        )
        value[node] = float(edge[own] @ value[own])
    value = value * scale + offset
    label = names or _names_of(game.name)

    def name(node: int) -> str:
        parent = int(nodes.parent[node])
        if parent == 0:
            return f"root {node - 1}"
        if parent <= tree.num_roots or nodes.player[parent] == CHANCE:
            return f"history {node - int(nodes.first_child[parent])}"
        return label(int(nodes.player[parent]), int(nodes.action[node]))

    def below(node: int) -> range:
        first = int(nodes.first_child[node])
        return range(first, first + int(nodes.num_children[node])) if first >= 0 else range(0)

    top = 0
    while len(below(top)) == 1 and nodes.depth[top] < 0:  # layers in which nothing is chosen
        top = below(top)[0]
    root = _branch(top, below, nodes.player, name, edge, value, depth, children, "")
    return _drawn(root, f"search of {game.name}: {tree.num_nodes} nodes")


def game_tree(
    tree: GameTree,
    policy: BehaviorPolicy | None = None,
    depth: int = 4,
    children: int = 6,
    names: Names | None = None,
) -> Picture:
    """The top of a game's tree with the probabilities and values of a policy.

    Args:
      tree: the game.
      policy: of both players; uniform by default.
      depth: moves below the root.
      children: of each node, the likeliest.
      names: (player, action) -> text; by default the game's own names.
    """
    policy = BehaviorPolicy.uniform(tree) if policy is None else policy
    edge = tree.chance.copy()
    mover = np.where(tree.parent >= 0, tree.player[tree.parent], CHANCE)
    for p in PLAYERS:
        own = mover == p
        edge[own] = policy.probabilities[p][tree.sequence[p][own]]
    value = tree.utility.copy()
    for node in range(tree.num_nodes - 1, 0, -1):
        value[tree.parent[node]] += edge[node] * value[node]
    value = value + tree.utility_offset
    first = np.searchsorted(tree.parent, np.arange(tree.num_nodes + 1))
    label = names or _names_of(tree.name)

    def name(node: int) -> str:
        return label(int(tree.player[tree.parent[node]]), int(tree.action[node]))

    def below(node: int) -> range:
        return range(int(first[node]), int(first[node + 1]))

    root = _branch(0, below, tree.player, name, edge, value, depth, children, "")
    return _drawn(root, f"{tree.name}: {tree.num_nodes} nodes")


def _names_of(game_name: str) -> Names:
    """The names a game gives its actions; numbers where it cannot be loaded or asked."""
    try:
        state = turn_based(load_game(game_name)).new_initial_state()
    except (ValueError, RuntimeError):
        return lambda player, action: str(action)

    def name(player: int, action: int) -> str:
        try:
            return str(state.action_to_string(player, action))
        except Exception:
            # Games may name actions only where they are legal.
            return str(action)

    return name


def _branch(
    node: int,
    below: Callable[[int], range],
    player: Any,
    name: Callable[[int], str],
    edge: FloatArray,
    value: FloatArray,
    depth: int,
    children: int,
    label: str,
) -> Branch:
    all_children = list(below(node))
    shown = sorted(all_children, key=lambda child: -edge[child])[: children if depth > 0 else 0]
    return Branch(
        player=int(player[node]),
        edge=label,
        probability=float(edge[node]),
        value=float(value[node]),
        children=tuple(
            _branch(c, below, player, name, edge, value, depth - 1, children, name(c))
            for c in sorted(shown)
        ),
        left_out=len(all_children) - len(shown),
    )


def _drawn(root: Branch, title: str) -> Picture:
    if root.size > _MOST_NODES:
        raise ValueError(
            f"expected at most {_MOST_NODES} nodes to draw, got {root.size}; "
            "lower depth or children"
        )
    parts: list[str] = []
    lines = [title]
    rows = 0
    widest = 0

    def place(branch: Branch, column: int) -> float:
        """Draws a node after its children; returns its height."""
        nonlocal rows, widest
        widest = max(widest, column)
        who = f" {_WHO.get(branch.player, '')}" if branch.children or branch.left_out else ""
        lines.append(
            f"{'  ' * column}{branch.edge or 'start'} {branch.probability:.3g} "
            f"[{branch.value:+.3f}]{who}"
            + (f" (+{branch.left_out} not shown)" if branch.left_out else "")
        )
        x = _LEFT + column * _COLUMN
        heights = []
        for child in branch.children:
            heights.append(place(child, column + 1))
        if heights:
            y = (heights[0] + heights[-1]) / 2
        else:
            y = 2 * _MARGIN + rows * _ROW
            rows += 1
        colour = svg.player_colour(branch.player)
        for child, height in zip(branch.children, heights, strict=True):
            parts.append(
                f'<path class="edge" d="M{x + 7:g} {y:g}C{x + 50:g} {y:g} {x + 60:g} {height:g} '
                f'{x + _COLUMN - 7:g} {height:g}" fill="none" stroke="{colour}" '
                f'stroke-width="{0.6 + 3.4 * child.probability:.2f}"/>'
            )
            words = f"{child.edge} {child.probability:.2f}"
            parts.append(svg.text(x + _COLUMN - 10, height - 4, words, anchor="end"))
        parts.append(
            f'<circle class="node" cx="{x:g}" cy="{y:g}" r="6" fill="{colour}"><title>'
            f"{_WHO.get(branch.player, '')}</title></circle>"
        )
        more = f" +{branch.left_out}" if branch.left_out else ""
        if branch.children:
            # Below the node: the edge that leads here has its label above.
            parts.append(svg.text(x, y + 18, f"{branch.value:+.2f}{more}", anchor="middle"))
        else:
            parts.append(svg.text(x + 10, y + 4, f"{branch.value:+.2f}{more}"))
        return y

    place(root, 0)
    width = _LEFT + widest * _COLUMN + 100
    height = 3 * _MARGIN + rows * _ROW
    head = svg.text(_MARGIN, _MARGIN, title, colour=svg.PALE)
    return Picture("\n".join(lines), svg.document(width, height, [head, *parts], title))
