"""A whole game tree of dark chess, in seconds for millions of nodes.

The same tree that walking the states of `python_dark_chess` gives: nodes breadth first,
children of a node in the order of their action numbers, both players' infosets at every
node. Infosets are told apart by 64-bit keys of the whole own action-observation sequence
and made into texts only once each.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import boards, observation, rules
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.kernels import trees as tree_kernels
from klss_spiel.games.chess.packed.transition import Transition
from klss_spiel.progress import Progress
from klss_spiel.tree import NO_ACTION, NO_PARENT, TERMINAL, GameTree
from klss_spiel.tree_builder import assemble_tree

# A position cannot stand for the third time earlier than this.
_FIRST_REPETITION: Final = 8

IntArray = npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class _Level:
    """Nodes of one depth; `open` are the indices of those at which the game goes on."""

    first: int
    side: int
    positions: U64Array
    parent: IntArray
    action: IntArray
    utility: npt.NDArray[np.float32]
    clock: IntArray
    keys: U64Array
    open: npt.NDArray[np.int64]


def game_tree(
    setup: DarkChessSetup, name: str, max_nodes: int, progress: Progress | None = None
) -> GameTree:
    """Enumerates a game of dark chess.

    Args:
        setup: the game; without a horizon its tree is likely to be too large.
        name: what the tree is called.
        max_nodes: refuse a game with more nodes than this.
        progress: what to report the number of nodes to.

    Raises:
        ValueError: the tree is larger than `max_nodes`.
    """
    start = setup.start
    root = _Level(
        first=0,
        side=start.side,
        positions=positions.pack([start]),
        parent=np.array([NO_PARENT], dtype=np.int32),
        action=np.array([NO_ACTION], dtype=np.int32),
        utility=np.zeros(1, dtype=np.float32),
        clock=np.array([start.halfmove_clock], dtype=np.int32),
        keys=np.zeros((2, 1), dtype=np.uint64),
        open=np.zeros(1, dtype=np.int64),
    )
    levels = [root]
    step = Transition.of(setup)
    while len(levels[-1].open):
        levels.append(_next_level(step, levels, max_nodes))
        if progress is not None:
            progress.update(levels[-1].first + len(levels[-1].parent))
    infoset, labels = _infosets(setup, levels)
    sizes = [len(level.parent) for level in levels]
    player = np.full(sum(sizes), TERMINAL, dtype=np.int8)
    for level in levels:
        player[level.first + level.open] = level.side
    return assemble_tree(
        name=name,
        chance=np.ones(sum(sizes)),
        parent=np.concatenate([level.parent for level in levels]),
        action=np.concatenate([level.action for level in levels]),
        player=player,
        utility=np.concatenate([level.utility for level in levels]).astype(np.float64),
        infoset=infoset,
        level_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        labels=labels,
    )


def _next_level(step: Transition, levels: list[_Level], max_nodes: int) -> _Level:
    """All children of the last level."""
    last, depth = levels[-1], len(levels)
    parents = np.ascontiguousarray(last.positions[last.open])
    moves = step.moves(parents, last.side)
    reached = last.first + len(last.parent)
    if reached + len(moves) > max_nodes:
        raise ValueError(
            f"the game has more than max_nodes={max_nodes} nodes ({reached} reached, "
            f"{len(moves)} more at depth {depth}); raise it with the argument max_nodes"
        )
    after = step.successors(parents, last.side, depth - 1, last.clock[last.open], moves)
    parent = np.repeat(last.open, np.diff(moves.starts))
    over = after.over
    if depth >= _FIRST_REPETITION:
        over |= _repeated(levels, after.positions, parent, after.clock)
    return _Level(
        first=reached,
        side=1 - last.side,
        positions=after.positions,
        parent=(last.first + parent).astype(np.int32),
        action=moves.actions,
        utility=after.utility,
        clock=after.clock,
        keys=step.infoset_ids(last.keys[:, last.open], last.side, after, over),
        open=np.flatnonzero(~over),
    )


def _repeated(
    levels: list[_Level], children: U64Array, parent: npt.NDArray[np.int64], clock: IntArray
) -> npt.NDArray[np.bool_]:
    """[m] which children stand for the third time."""
    last = levels[-1]
    start = last.first + len(last.parent)
    everything = np.concatenate([*(level.positions for level in levels), children])
    parents = np.concatenate([*(level.parent for level in levels), last.first + parent])
    clocks = np.zeros(len(everything), dtype=np.int32)
    clocks[start:] = np.minimum(clock, len(levels))
    answer: npt.NDArray[np.bool_] = tree_kernels.is_third_occurrence(
        everything, parents.astype(np.int64), clocks, start
    )
    return answer


def _infosets(
    setup: DarkChessSetup, levels: list[_Level]
) -> tuple[IntArray, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Infosets of both players at all nodes, and the texts of those with a decision."""
    nodes = levels[-1].first + len(levels[-1].parent)
    infoset = np.empty((2, nodes), dtype=np.int32)
    labels = []
    for player in (rules.WHITE, rules.BLACK):
        texts: list[str] = []
        labelled: list[str] = []
        for depth, level in enumerate(levels):
            numbers, first = tree_kernels.intern(np.ascontiguousarray(level.keys[player]))
            here = slice(level.first, level.first + len(numbers))
            offset = len(labelled)
            infoset[player, here] = offset + numbers
            # Only infosets from which the game goes on are made into texts.
            goes_on = np.zeros(len(numbers), dtype=np.bool_)
            goes_on[level.open] = True
            wanted = np.flatnonzero(goes_on[first])
            new = np.full(len(first), "", dtype=object)
            decides = level.side == player
            # The other player's text is only the beginning of later ones.
            needed = decides or (len(wanted) and len(levels[depth + 1].open))
            if depth == 0:
                new[:] = "White" if player == rules.WHITE else "Black"
            elif len(wanted) and needed:
                before = infoset[player, level.parent[first[wanted]]]
                new[wanted] = _texts(setup, level, player, first[wanted], texts, before)
            # Texts of earlier levels are looked up by infoset number.
            texts.extend(new)
            labelled.extend(new if decides else [""] * len(new))
        labels.append(tuple(labelled))
    return infoset, (labels[0], labels[1])


def _texts(
    setup: DarkChessSetup,
    level: _Level,
    player: int,
    nodes: npt.NDArray[np.int64],
    texts: list[str],
    before: IntArray,
) -> list[str]:
    """Information state strings of a player at some nodes of a level."""
    mover = 1 - level.side
    names = setup.table.names
    heads = [texts[i] for i in before]
    if mover == player:
        heads = [f"{h} {names[a]}" for h, a in zip(heads, level.action[nodes], strict=True)]
        if not setup.variant.observe_every_ply:
            return heads
    views = _told_texts(setup, level.positions[nodes], level.side, player)
    return [f"{head} {view}" for head, view in zip(heads, views, strict=True)]


def _told_texts(setup: DarkChessSetup, words: U64Array, side: int, player: int) -> list[str]:
    """`observation.told_text` of packed positions."""
    board = positions.layout(setup.start.width, setup.start.height)
    seen = positions.observations(board, words, side, player)
    marks = f"{observation.VACANT}PNBRQKR{'pP'[side]}pnbrqkr"
    letters = np.array(list(marks)).astype("S1")
    codes = positions.codes_of(board, np.ascontiguousarray(seen[:, :4]))
    shown = seen[:, 4:] >> board.cell_of.astype(np.uint64) & np.uint64(1)
    squares = np.where(shown.astype(np.bool_), letters[codes], observation.UNSEEN.encode())
    ranks = squares.reshape(len(words), board.height, board.width)[:, ::-1]
    lines = np.full((len(words), board.height, board.width + 1), b"/")
    lines[:, :, :-1] = ranks
    whole = lines.reshape(len(words), -1)[:, :-1]
    texts = [row.tobytes().decode() for row in np.ascontiguousarray(whole)]
    # Shown as such only to the side to move, which can capture it.
    for row, victim in zip(*np.nonzero(codes == positions.PASSING_PAWN), strict=True):
        onto = int(victim) + (board.width if side == rules.WHITE else -board.width)
        right = boards.square_name(onto, board.width)
        texts[row] += f" {observation.EN_PASSANT_MARK}{right}"
    return texts
