"""Sequence forms laid out for jit: padded blocks of equal shape.

XLA compiles one program per set of array shapes and runs best on dense blocks:

- The decision infosets that follow equally many own decisions form a level; those
  of one level and (nearly) one number of actions form a block [A, I]. A player's
  padded vector is the empty sequence followed by all blocks, flattened; P denotes
  its length.
- Sequences of the two players that meet in payoffs form small matrices [R, C] (in
  poker: all hands of both players behind one betting sequence). Matrices of
  (nearly) one shape are stacked into a block [n, R, C], multiplied as one batch.

Every dimension is rounded up to a size class, so that games of similar size
share shapes and hence compiled programs. Padding is inert: padded actions have
mask 0, padded infosets and payoffs see only zeros.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray, connected_labels
from klss_spiel.sequence_form import SequenceForm, Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS

# One more XLA operation costs about as much as this many padded cells, so blocks
# are merged when padding them to one shape adds fewer. In large games fewer blocks
# are worth an eighth more cells, because they compile faster.
_MERGE_PAYOFFS = 2048
_MERGE_DECISIONS = 512
_MERGE_SHARE = 8

# Cost of fetching one opponent probability, in multiplications.
_FETCH_COST = 3.0


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DecisionBlock:
    """Infosets of one level. Shapes: I infosets, A actions.

    Attributes:
      parent: [I] the sequence each infoset follows, counted within the padded
        sequences of the level before (the empty sequence for the first level).
      mask: [A, I] 1 for real actions, 0 for padding.
      uniform: [A, I] the uniform strategy over real actions.
      payoff: [A, I] which result of the player's products is the sequence's payoff.
    """

    parent: jax.Array
    mask: jax.Array
    uniform: jax.Array
    payoff: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ProductBlock:
    """n payoff matrices of one shape [R, C].

    Attributes:
      source: [n, C] positions in the opponent's padded vector.
      value: [n, R, C] the player's own payoffs.
    """

    source: jax.Array
    value: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PaddedPlayer:
    """One player's treeplex and payoffs.

    Attributes:
      levels: for each level its blocks of infosets, first decisions first.
      products: blocks of payoff matrices.
    """

    levels: tuple[tuple[DecisionBlock, ...], ...]
    products: tuple[ProductBlock, ...]


PaddedPlayers = tuple[PaddedPlayer, PaddedPlayer]


@dataclasses.dataclass(frozen=True, eq=False)
class PaddedForm:
    """A sequence form ready for jit.

    Attributes:
      form: the sequence form itself.
      players: what jitted functions take as their argument.
      position: for each player, [S] position of each sequence in the padded vector.
      dtype: floating-point type of all payoffs.
    """

    form: SequenceForm
    players: PaddedPlayers
    position: tuple[IntArray, IntArray]
    dtype: np.dtype[Any]

    def length(self, player: int) -> int:
        """P, the length of a player's padded vector."""
        return 1 + sum(b.mask.size for b in blocks(self.players[player]))

    def pad(self, player: int, values: FloatArray) -> jax.Array:
        """[P] the padded vector of a vector over sequences ([S]); zeros elsewhere."""
        padded = np.zeros(self.length(player), dtype=self.dtype)
        padded[self.position[player]] = values
        return jnp.asarray(padded)

    def unpad(self, player: int, padded: npt.ArrayLike) -> FloatArray:
        """[S] the entries of a padded vector ([P]) that stand for sequences."""
        values: FloatArray = np.asarray(padded, dtype=np.float64)[self.position[player]]
        return values


def blocks(player: PaddedPlayer) -> tuple[DecisionBlock, ...]:
    """All decision blocks, in the order of the padded vector."""
    return tuple(itertools.chain.from_iterable(player.levels))


def payoffs(player: PaddedPlayer, opponent_plan: jax.Array) -> jax.Array:
    """Own payoffs of all matrix rows against a padded plan ([P]), after a leading zero.

    `DecisionBlock.payoff` says where each sequence finds its own.
    """
    zero = jnp.zeros(1, opponent_plan.dtype)
    results = [
        jnp.einsum("nrc,nc->nr", block.value, opponent_plan[block.source]).reshape(-1)
        for block in player.products
    ]
    return jnp.concatenate([zero, *results])


def pad_form(form: SequenceForm, dtype: npt.DTypeLike | None = None) -> PaddedForm:
    """Lays out a sequence form for jit.

    Args:
      form: the game.
      dtype: float32 or float64 (which needs jax_enable_x64); by default what jax
        is set to.
    """
    chosen: np.dtype[Any] = np.dtype(jnp.result_type(float) if dtype is None else dtype)
    if chosen == np.float64 and jnp.result_type(float) != np.float64:
        raise ValueError("float64 needs jax.config.update('jax_enable_x64', True); it is off")
    form = form.expanded()
    position = (_positions(form.treeplexes[0]), _positions(form.treeplexes[1]))
    players = []
    for p in PLAYERS:
        products, payoff = _lay_out_products(*form.entries(p), position[1 - p], chosen)
        of_sequence = np.zeros(form.treeplexes[p].num_sequences, dtype=np.int32)
        of_sequence[payoff.sequence] = payoff.place
        players.append(
            PaddedPlayer(_lay_out_decisions(form.treeplexes[p], of_sequence, chosen), products)
        )
    return PaddedForm(form, (players[0], players[1]), position, chosen)


def size_class(count: int) -> int:
    """`count` rounded up: to a power of two up to 32, in steps of an eighth beyond."""
    if count <= 32:
        return 1 << (count - 1).bit_length()
    step = 1 << ((count - 1).bit_length() - 3)
    return -(-count // step) * step


def _width_class(size: int) -> int:
    """Widths are exact up to 6, even up to 32, size classes beyond."""
    if size <= 6:
        return size
    return -(-size // 2) * 2 if size <= 32 else size_class(size)


def _level_blocks(treeplex: Treeplex) -> list[list[tuple[int, int, IntArray]]]:
    """For each level its blocks: padded rows, padded actions, [I] infosets."""
    levels = []
    for level in treeplex.levels:
        num_actions = treeplex.num_actions[level.infosets]
        shapes, counts = np.unique(num_actions[:, None], axis=0, return_counts=True)
        widths = _merge_shapes(shapes, counts, _MERGE_DECISIONS)[:, 0]
        width_of = widths[np.searchsorted(shapes[:, 0], num_actions)]
        levels.append(
            [
                (size_class(int(np.sum(width_of == w))), int(w), level.infosets[width_of == w])
                for w in np.unique(widths)
            ]
        )
    return levels


def _positions(treeplex: Treeplex) -> IntArray:
    """[S] position of each sequence in the padded vector."""
    position = np.zeros(treeplex.num_sequences, dtype=np.int32)
    start = 1
    for level in _level_blocks(treeplex):
        for rows, columns, infosets in level:
            row, column = np.nonzero(np.arange(columns) < treeplex.num_actions[infosets][:, None])
            sequences = treeplex.first_sequence[infosets][row] + column
            position[sequences] = start + column * rows + row
            start += rows * columns
    return position


def _lay_out_decisions(
    treeplex: Treeplex, payoff: IntArray, dtype: np.dtype[Any]
) -> tuple[tuple[DecisionBlock, ...], ...]:
    """Args: treeplex; payoff: [S] which product result is a sequence's payoff; dtype."""
    position = _positions(treeplex)
    levels = []
    level_start, next_start = EMPTY_SEQUENCE, 1
    for level in _level_blocks(treeplex):
        level_blocks = []
        size = 0
        for rows, columns, infosets in level:
            parent = np.zeros(rows, dtype=np.int32)
            parent[: len(infosets)] = position[treeplex.parent_sequence[infosets]] - level_start
            mask = np.zeros((columns, rows), dtype=dtype)
            mask[:, : len(infosets)] = np.arange(columns)[:, None] < treeplex.num_actions[infosets]
            column, row = np.nonzero(mask)
            place = np.zeros((columns, rows), dtype=np.int32)
            place[column, row] = payoff[treeplex.first_sequence[infosets][row] + column]
            uniform = mask / np.maximum(mask.sum(axis=0), 1.0)
            level_blocks.append(
                DecisionBlock(
                    parent=jnp.asarray(parent),
                    mask=jnp.asarray(mask),
                    uniform=jnp.asarray(uniform.astype(dtype)),
                    payoff=jnp.asarray(place),
                )
            )
            size += rows * columns
        levels.append(tuple(level_blocks))
        level_start, next_start = next_start, next_start + size
    return tuple(levels)


@dataclasses.dataclass(frozen=True)
class _Payoffs:
    """[rows] which product result (`place`) belongs to which own sequence."""

    sequence: IntArray
    place: IntArray


def _lay_out_products(
    target: IntArray,
    source: IntArray,
    value: FloatArray,
    source_position: IntArray,
    dtype: np.dtype[Any],
) -> tuple[tuple[ProductBlock, ...], _Payoffs]:
    """Splits a payoff matrix into dense matrices and stacks those of similar shape.

    Args:
      target: [E] own sequence of each entry, sorted.
      source: [E] the opponent's sequence.
      value: [E] own payoff.
      source_position: [S of the opponent] padded position of the opponent's sequences.
      dtype: of the values.
    """
    if not len(target):
        empty = np.zeros(0, dtype=np.int32)
        return (), _Payoffs(empty, empty)
    matrix = _dense_groups(target, source)
    rows, row_of = _local_index(matrix, target)
    columns, column_of = _local_index(matrix, source)
    shape = np.stack([np.bincount(rows.matrix), np.bincount(columns.matrix)], axis=1)
    distinct, kind, counts = np.unique(shape, axis=0, return_inverse=True, return_counts=True)
    merged = _merge_shapes(distinct, counts, _MERGE_PAYOFFS)[kind.reshape(-1)]

    place = np.zeros(len(rows.matrix), dtype=np.int32)
    product_blocks = []
    offset = 1
    for height, width in np.unique(merged, axis=0):
        chosen = np.flatnonzero((merged[:, 0] == height) & (merged[:, 1] == width))
        count = size_class(len(chosen))
        slot = np.full(len(merged), -1)
        slot[chosen] = np.arange(len(chosen))
        sources = np.zeros((count, width), dtype=np.int32)
        here = slot[columns.matrix] >= 0
        sources[slot[columns.matrix[here]], columns.local[here]] = source_position[
            columns.sequence[here]
        ]
        values = np.zeros((count, height, width), dtype=dtype)
        here = slot[matrix] >= 0
        values[slot[matrix[here]], row_of[here], column_of[here]] = value[here]
        product_blocks.append(ProductBlock(jnp.asarray(sources), jnp.asarray(values)))
        here = slot[rows.matrix] >= 0
        place[here] = offset + slot[rows.matrix[here]] * height + rows.local[here]
        offset += count * int(height)
    return tuple(product_blocks), _Payoffs(rows.sequence, place)


@dataclasses.dataclass(frozen=True)
class _LocalIndex:
    """The distinct (matrix, sequence) pairs and each one's place within its matrix."""

    matrix: IntArray
    sequence: IntArray
    local: IntArray


def _local_index(matrix: IntArray, sequence: IntArray) -> tuple[_LocalIndex, IntArray]:
    """Numbers the sequences within each matrix; also [E] the number of each entry's."""
    span = int(sequence.max()) + 1
    pairs, inverse = np.unique(matrix.astype(np.int64) * span + sequence, return_inverse=True)
    owner = pairs // span
    starts = np.searchsorted(owner, np.arange(int(owner[-1]) + 1))
    local = np.arange(len(pairs)) - starts[owner]
    return _LocalIndex(owner, pairs % span, local), local[inverse]


def _dense_groups(target: IntArray, source: IntArray) -> IntArray:
    """[E] which dense matrix each payoff entry goes to, numbered from 0.

    Sequences connected by payoffs make one matrix if that is mostly full;
    otherwise rows are grouped only with rows that meet exactly the same columns.
    """
    component = _components(target, source)
    # Equal sums of random numbers over a row's columns: equal columns.
    codes = np.random.default_rng(0).integers(2**62, size=int(source.max()) + 1, dtype=np.uint64)
    row_code = np.zeros(int(target.max()) + 1, dtype=np.uint64)
    np.add.at(row_code, target, codes[source])
    _, pattern = np.unique(row_code[target], return_inverse=True)
    by_component = _group_costs(component, target, source)
    by_pattern = _group_costs(pattern, target, source)
    pattern_component = np.zeros(len(by_pattern), dtype=np.int64)
    pattern_component[pattern] = component
    pattern_total = np.bincount(pattern_component, weights=by_pattern, minlength=len(by_component))
    dense = by_component <= pattern_total
    label = np.where(dense[component], component, len(by_component) + pattern)
    _, numbered = np.unique(label, return_inverse=True)
    return numbered.astype(np.int32)


def _group_costs(group: IntArray, target: IntArray, source: IntArray) -> FloatArray:
    """[groups] estimated cost of multiplying each group as a dense matrix."""
    rows, _ = _local_index(group, target)
    columns, _ = _local_index(group, source)
    height = np.bincount(rows.matrix)
    width = np.bincount(columns.matrix)
    cost: FloatArray = width * (height + _FETCH_COST)
    return cost


def _components(target: IntArray, source: IntArray) -> IntArray:
    """[E] connected component of each entry of a bipartite graph, numbered from 0."""
    _, component = np.unique(connected_labels(target, source), return_inverse=True)
    return component.astype(np.int32)


def _merge_shapes(shapes: IntArray, counts: IntArray, merge_cells: int) -> IntArray:
    """Pads shapes to few distinct ones, merging rare shapes into larger ones.

    Args:
      shapes: [K, rank] distinct shapes.
      counts: [K] how many items have each.
      merge_cells: how many padded cells may always be added to save one block.

    Returns:
      [K, rank] the padded shape of each.
    """
    final = np.array([[_width_class(int(size)) for size in shape] for shape in shapes])
    merge_cells = max(merge_cells, int(counts @ final.prod(axis=1)) // _MERGE_SHARE)
    while True:
        distinct, kind = np.unique(final, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        cells = distinct.prod(axis=1)
        totals = np.bincount(kind, weights=counts)
        best = None
        for small in range(len(distinct)):
            for other in np.flatnonzero(np.all(distinct >= distinct[small], axis=1)):
                added = totals[small] * (cells[other] - cells[small])
                if other != small and (best is None or added < best[0]):
                    best = (added, small, other)
        if best is None or best[0] > merge_cells:
            return final
        final[kind == best[1]] = distinct[best[2]]
