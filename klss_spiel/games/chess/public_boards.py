"""Public states of dark chess and Kriegspiel by what both players are shown.

Common knowledge is the finest public partition but costs a look at the whole tree. A
coarser one can be read off a single game: the sequence of public observations after
each ply. In dark chess that is the board with only the pieces that could capture each
other (Sestak's thesis, section 4.1.2), in Kriegspiel what the umpire announces. Illegal
tries are told to nobody but the player and count for no ply.
"""

from __future__ import annotations

import numpy as np

from klss_spiel.arrays import BoolArray, FloatArray, LongArray
from klss_spiel.games.chess.play import Moment
from klss_spiel.tree import NO_PARENT, GameTree

NO_LABEL = -1


def public_partition(first: Moment, tree: GameTree, nodes: BoolArray | None = None) -> LongArray:
    """[N] a label for each node, equal where the public observations so far are.

    Args:
      first: the start of the game.
      tree: the game's tree.
      nodes: [N] which nodes to label, e.g. a border; others get NO_LABEL. By default
        all, which takes a while in large games.
    """
    chosen = np.ones(tree.num_nodes, dtype=np.bool_) if nodes is None else nodes
    numbers: dict[tuple[str, ...], int] = {}
    labels = np.full(tree.num_nodes, NO_LABEL, dtype=np.int64)
    for node, moments in _public_moments(first, tree, chosen):
        texts = tuple(moment.public_text() for moment in moments)
        labels[node] = numbers.setdefault(texts, len(numbers))
    return labels


def public_planes(first: Moment, tree: GameTree, nodes: BoolArray) -> FloatArray:
    """[nodes, F, ...] the public tensors of all plies before each of some nodes.

    Args:
      first: the start of the game.
      tree: the game's tree.
      nodes: [N] the nodes, all after equally many plies.

    Returns:
      Boards [nodes, plies * planes, ranks, files] where the game's public tensor is one
      stack of boards, otherwise all public tensors flattened, [nodes, F].
    """
    shapes = first.public_shapes()
    found = []
    for _, moments in _public_moments(first, tree, nodes):
        parts = []
        for moment in moments:
            tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
            moment.write_public(tensors)
            if len(shapes) == 1:
                parts.append(next(iter(tensors.values())))
            else:
                parts.append(np.concatenate([tensor.reshape(-1) for tensor in tensors.values()]))
        found.append(np.concatenate(parts))
    if len({planes.shape for planes in found}) > 1:
        raise ValueError("expected nodes after equally many plies, got different numbers")
    return np.stack(found).astype(np.float64)


def _public_moments(
    first: Moment, tree: GameTree, nodes: BoolArray
) -> list[tuple[int, list[Moment]]]:
    """For each marked node in order, the moments after each ply on the way to it."""
    wanted = tree.any_below(nodes)
    moments: dict[int, Moment] = {}
    found = []
    for node in np.flatnonzero(wanted):
        above = int(tree.parent[node])
        moment = first if above == NO_PARENT else moments[above].after(int(tree.action[node]))
        moments[int(node)] = moment
        if nodes[node]:
            found.append((int(node), _plies(moment)))
    return found


def _plies(moment: Moment) -> list[Moment]:
    """The moments at which a ply was complete, from the first ply on."""
    plies: list[Moment] = []
    here: Moment | None = moment
    while here is not None and here.before is not None:
        if here.plies != here.before.plies:
            plies.append(here)
        here = here.before
    return plies[::-1]
