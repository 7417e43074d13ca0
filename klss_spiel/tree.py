"""A finite two-player zero-sum game of perfect recall as flat arrays.

`GameTree` is what everything else enumerates and reasons about; `tree_builder`
makes one. Letters used for shapes throughout the package:

    N  nodes, in breadth-first order: parents before children, the nodes of one
       depth contiguous, the children of one node contiguous
    I  infosets of one player, each after the infoset it grew out of
    S  sequences of one player; sequence 0 is the empty one, and the actions of
       an infoset own the contiguous range first_sequence + [0, num_actions)

An *infoset* is a class of nodes with the same observation sequence (own actions
and what the player was told), and every node has one for BOTH players, also for
the one who does not move there (ZS21, section 2). An infoset at which its player
moves is a *decision infoset*; only those have actions and sequences.
"""

from __future__ import annotations

import dataclasses
import functools
import html
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, FloatArray, IntArray, read_only

# The values of pyspiel.PlayerId, repeated here so that the core needs no pyspiel.
CHANCE = -1
TERMINAL = -4

ROOT = 0
NO_PARENT = -1
NO_ACTION = -1
NO_INFOSET = -1
EMPTY_SEQUENCE = 0

PLAYERS = (0, 1)


class _ReadOnlyArrays:
    """A frozen dataclass whose arrays cannot be written to, nor those of its copies."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, read_only(value))

    def __getstate__(self) -> dict[str, Any]:
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle does not say that an array is read-only.
        self.__dict__.update(state)
        self.__post_init__()


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Infosets(_ReadOnlyArrays):
    """The infosets and sequences of one player.

    Attributes:
      parent: [I] the infoset this one grew out of by one observation or own
        action; NO_INFOSET at the root.
      parent_sequence: [I] the last own sequence before this infoset.
      first_sequence: [I] first of the infoset's own sequences.
      num_actions: [I] number of actions; 0 where the player does not move.
      sequence_infoset: [S] infoset of each sequence; NO_INFOSET for sequence 0.
      sequence_action: [S] OpenSpiel action of each sequence; NO_ACTION for 0.
      labels: [I] the information state string of each decision infoset, "" elsewhere.
    """

    parent: IntArray
    parent_sequence: IntArray
    first_sequence: IntArray
    num_actions: IntArray
    sequence_infoset: IntArray
    sequence_action: IntArray
    labels: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Infosets: {self.num_infosets}, {len(self.decisions)} with a decision>"

    @property
    def num_infosets(self) -> int:
        """I, decision infosets and others."""
        return len(self.parent)

    @property
    def num_sequences(self) -> int:
        """S, the empty sequence included."""
        return len(self.sequence_infoset)

    @functools.cached_property
    def decisions(self) -> IntArray:
        """Indices of the infosets at which the player moves, in order."""
        return read_only(np.flatnonzero(self.num_actions).astype(np.int32))

    @functools.cached_property
    def index_of_label(self) -> dict[str, int]:
        """Decision infoset of each information state string."""
        return {self.labels[i]: int(i) for i in self.decisions}

    def sequences(self, infoset: int) -> slice:
        """The contiguous range of sequences that start with a move at `infoset`."""
        first = int(self.first_sequence[infoset])
        return slice(first, first + int(self.num_actions[infoset]))

    def actions(self, infoset: int) -> IntArray:
        """OpenSpiel's legal actions at `infoset`."""
        return self.sequence_action[self.sequences(infoset)]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GameTree(_ReadOnlyArrays):
    """A finite two-player zero-sum game.

    Its arrays are read-only: policies, forms and subgames of one tree share them.

    Attributes:
      name: OpenSpiel's name of the game with its parameters, or a free text.
      parent: [N] parent node; NO_PARENT at the root.
      action: [N] OpenSpiel action that led here from the parent.
      player: [N] who moves: 0, 1, CHANCE or TERMINAL.
      chance: [N] probability of the edge to this node if chance moved, else 1.
      utility: [N] player 0's payoff at terminal nodes, 0 elsewhere.
      infoset: [2, N] infoset of each player at each node.
      sequence: [2, N] last own sequence of each player before each node.
      level_start: [depth + 2] nodes of depth d are level_start[d]:level_start[d + 1].
      infosets: the infosets of player 0 and of player 1.
      utility_offset: half the constant sum of both payoffs. Utilities here are
        shifted to sum to zero; add it to get the game's own figures.
    """

    name: str
    parent: IntArray
    action: IntArray
    player: npt.NDArray[np.int8]
    chance: FloatArray
    utility: FloatArray
    infoset: IntArray
    sequence: IntArray
    level_start: IntArray
    infosets: tuple[Infosets, Infosets]
    utility_offset: float = 0.0

    def __repr__(self) -> str:
        return (
            f"<GameTree {self.name}: {self.num_nodes} nodes, {self.num_decision_infosets} decision "
            f"infosets, depth {self.max_depth}>"
        )

    def _repr_html_(self) -> str:
        """The sizes of the game as a table, for notebooks."""
        rows = [
            ("nodes", self.num_nodes),
            ("terminal nodes", len(self.terminals)),
            ("depth", self.max_depth),
        ]
        for p in PLAYERS:
            rows.append((f"decision infosets of player {p}", len(self.infosets[p].decisions)))
            rows.append((f"sequences of player {p}", self.infosets[p].num_sequences))
        cells = "".join(f"<tr><th>{what}</th><td>{count:,}</td></tr>" for what, count in rows)
        return f"<p>GameTree {html.escape(self.name)}</p><table>{cells}</table>"

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.parent)

    @property
    def max_depth(self) -> int:
        """Edges on the longest path from the root."""
        return len(self.level_start) - 2

    @functools.cached_property
    def terminals(self) -> IntArray:
        """Indices of the terminal nodes."""
        return read_only(np.flatnonzero(self.player == TERMINAL).astype(np.int32))

    @functools.cached_property
    def num_children(self) -> IntArray:
        """[N] number of children."""
        counts = np.bincount(self.parent[1:], minlength=self.num_nodes)
        return read_only(counts.astype(np.int32))

    @functools.cached_property
    def first_child(self) -> IntArray:
        """[N] first child; the children are first_child + [0, num_children)."""
        first = 1 + np.cumsum(self.num_children) - self.num_children
        return read_only(first.astype(np.int32))

    @functools.cached_property
    def chance_reach(self) -> FloatArray:
        """[N] probability that chance plays all its moves on the way to a node: p(h)."""
        reach = self.chance.copy()
        for level in self.levels(skip_root=True):
            reach[level] *= reach[self.parent[level]]
        return read_only(reach)

    @property
    def num_decision_infosets(self) -> int:
        """Decision infosets of both players together."""
        return sum(len(infosets.decisions) for infosets in self.infosets)

    def levels(self, skip_root: bool = False) -> Iterator[slice]:
        """Slices of the nodes of each depth, from the root down."""
        for depth in range(1 if skip_root else 0, self.max_depth + 1):
            yield slice(int(self.level_start[depth]), int(self.level_start[depth + 1]))

    def descendants(self, nodes: BoolArray) -> BoolArray:
        """[N] whether a node lies at or below one of the marked `nodes` ([N])."""
        below = nodes.copy()
        for level in self.levels(skip_root=True):
            below[level] |= below[self.parent[level]]
        return below

    def any_below(self, nodes: BoolArray) -> BoolArray:
        """[N] whether one of the marked `nodes` ([N]) lies at or below a node."""
        above = nodes.copy()
        for depth in range(self.max_depth, 0, -1):
            level = np.arange(self.level_start[depth], self.level_start[depth + 1])
            above[self.parent[level[above[level]]]] = True
        return above


def recall_error(name: str, player: int, label: str) -> str:
    """What to say of a game in which one information state has several pasts."""
    return (
        f"{name} is not of perfect recall: player {player} reaches the information "
        f"state {label!r} by different own actions or observations"
    )
