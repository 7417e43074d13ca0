"""Draws by repetition, as far as a search can see them.

Two things are seen, in games that say which positions are the same (`RepeatingGame`):

* A position that has stood before on the path from the roots of the tree, and not all the
  time since: a try that the umpire of Kriegspiel refuses repeats nothing. Rules of chess
  wait for the third time; whoever can force the second can force the third.
* A view that the searching player has had twice already after moves of his own. He does
  not know whether all of the position is the same, so he takes it for a draw where he
  expects more than that, and for nothing else: a hope is not a draw.

Such nodes are leaves with the value of a draw that are not expanded.
"""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.search.tree import SearchTree
from klss_spiel.arrays import BoolArray, FloatArray, IntArray
from klss_spiel.search_game import Children, InfosetIds, RepeatingGame
from klss_spiel.tree import TERMINAL

# Earlier occurrences of a view that make the next one a draw.
_TWICE = 2


def views_seen_twice(game: RepeatingGame, player: int, information_state: str) -> InfosetIds:
    """Keys of views that the player has had twice or more often after own moves."""
    views, count = np.unique(game.past_views(player, information_state), return_counts=True)
    twice: InfosetIds = views[count >= _TWICE]
    return twice


def repeats_on_path(
    game: RepeatingGame, tree: SearchTree, leaves: IntArray, children: Children
) -> BoolArray:
    """[c] whether a child's position has come again on the path from the tree's roots.

    Args:
      game: the game.
      tree: the tree.
      leaves: [n] the children's parents.
      children: c children.
    """
    above = [leaves]
    while np.any(above[-1] > tree.num_roots):
        above.append(np.where(above[-1] > tree.num_roots, tree.nodes.parent[above[-1]], 0))
    path = np.array(above)  # [depth, n]
    inside = path > tree.num_roots
    known = np.zeros(path.shape, dtype=np.uint64)
    known[inside] = game.position_keys(tree.positions[path[inside]])
    same = np.repeat(known, children.count, axis=1) == game.position_keys(children.position)
    same &= np.repeat(inside, children.count, axis=1)
    # Where nothing has moved (an illegal try), the parent's position still stands.
    repeats: BoolArray = np.any(same, axis=0) & ~same[0]
    return repeats


def draws(
    game: RepeatingGame,
    tree: SearchTree,
    leaves: IntArray,
    children: Children,
    values: FloatArray,
    seen_twice: InfosetIds,
    contempt: float,
) -> tuple[BoolArray, FloatArray]:
    """Which children count as draws, and the values of all.

    Args:
      game: the game.
      tree: the tree.
      leaves: [n] the children's parents.
      children: c children.
      values: [c] player 0's payoff at each.
      seen_twice: keys of views; see `views_seen_twice`.
      contempt: how much less than 0 a repetition is worth to the searching player.

    Returns:
      [c] whether a child is such a draw, [c] player 0's payoff.
    """
    player = tree.player
    sign = 1.0 if player == 0 else -1.0
    drawn = repeats_on_path(game, tree, leaves, children)
    if len(seen_twice):
        own = np.repeat(tree.nodes.player[leaves] == player, children.count)
        asked = np.flatnonzero(own & (sign * values > -contempt))
        views = game.views(player, children.position[asked])
        drawn[asked[np.isin(views, seen_twice)]] = True
    drawn &= children.player != TERMINAL
    return drawn, np.where(drawn, -sign * contempt, values)
