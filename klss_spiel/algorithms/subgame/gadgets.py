"""What stands at the root of a subgame: from margins to a sequence form.

A `MarginGame` is the part that all gadgets share: the player's treeplex, the
opponent's forest, and payoffs such that entering at root r is worth the margin
M(r; x) to the player once the opponent has answered. A gadget decides how a root
is picked. Putting another gadget on the same margins is all that ZS21's functions
MaxmarginToResolve and ResolveToMaxmargin (algorithm 12) do.

Shapes as in `regions`: R roots, F sequences of the forest, K opponent infosets,
E payoff entries, n opponent strategies.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.best_response import best_response
from klss_spiel.payoff_operator import PayoffOperator
from klss_spiel.sequence_form import SequenceForm, Treeplex, make_sequence_form
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS

# Actions of the opponent at a root of the resolve gadget.
PLAY = 0
EXIT = 1


@dataclasses.dataclass(frozen=True, eq=False)
class MarginGame:
    """Margins of a subgame as a function of the player's strategy.

    Attributes:
      player: whose strategy is refined.
      treeplex: his strategies in the subgame.
      num_roots: R.
      parent: [K] the sequence of the forest each opponent infoset follows.
      first: [K] its first own sequence.
      num_actions: [K] number of its actions.
      root: [F] the root each sequence of the forest is under.
      row: [E] the player's sequence.
      column: [E] the opponent's sequence of the forest.
      value: [E] the player's own payoff.
      operator: further payoffs between his sequences and those of the forest, none of
        them at a root; None for none.
    """

    player: int
    treeplex: Treeplex
    num_roots: int
    parent: IntArray
    first: IntArray
    num_actions: IntArray
    root: IntArray
    row: IntArray
    column: IntArray
    value: FloatArray
    operator: PayoffOperator | None = None

    @functools.cached_property
    def _maxmargin(self) -> SequenceForm:
        return maxmargin_form(self)

    def margins(self, plan: FloatArray) -> FloatArray:
        """[R] the margin of each root when the player's realization plan is `plan`."""
        form = self._maxmargin
        opponent = 1 - self.player
        answer = best_response(form.treeplexes[opponent], form.gradient(opponent, plan))
        # Sequences 1 to R of the maxmargin gadget are the roots.
        return -answer.sequence_values[1 : 1 + self.num_roots]


def maxmargin_form(game: MarginGame) -> SequenceForm:
    """The opponent picks the root: the smallest margin counts."""
    roots = game.num_roots
    return _form(
        game,
        parent=np.concatenate([[EMPTY_SEQUENCE], game.parent + 1]),
        first=np.concatenate([[1], game.first + 1]),
        num_actions=np.concatenate([[roots], game.num_actions]),
        column=game.column + 1,
        value=game.value,
        operator=_moved(game, np.arange(len(game.root)) + 1),
    )


def resolve_form(game: MarginGame, weights: FloatArray) -> SequenceForm:
    """Chance picks the root, the opponent plays or exits: weighted negative margins count.

    Args:
      game: the margins.
      weights: [R] chance's probabilities.
    """
    roots = game.num_roots
    # Root r owns sequences 1 + 2 r (PLAY) and 2 + 2 r (EXIT); the rest follows.
    number = np.arange(len(game.root)) + roots + 1
    number[:roots] = 1 + 2 * np.arange(roots) + PLAY
    return _form(
        game,
        parent=np.concatenate([np.full(roots, EMPTY_SEQUENCE), number[game.parent]]),
        first=np.concatenate([1 + 2 * np.arange(roots), number[game.first]]),
        num_actions=np.concatenate([np.full(roots, 2), game.num_actions]),
        column=number[game.column],
        value=game.value * weights[game.root[game.column]],
        operator=_moved(game, number, weights),
    )


def unsafe_form(game: MarginGame, weights: FloatArray) -> SequenceForm:
    """Chance picks the root: the weighted mean of the margins counts.

    Args:
      game: the margins.
      weights: [R] chance's probabilities.
    """
    number = np.arange(len(game.root)) - game.num_roots + 1
    number[: game.num_roots] = EMPTY_SEQUENCE
    return _form(
        game,
        parent=number[game.parent],
        first=number[game.first],
        num_actions=game.num_actions,
        column=number[game.column],
        value=game.value * weights[game.root[game.column]],
        operator=_moved(game, number, weights),
    )


def reaching_form(game: MarginGame, weights: FloatArray) -> SequenceForm:
    """The opponent picks a strategy, chance a root by it: the smallest mean counts.

    The opponent remembers his strategy, which gains him nothing (the best answer
    below a root is the same for all) and makes his strategies a treeplex.

    Args:
      game: the margins.
      weights: [n, R] probability of each root under each strategy.
    """
    count, roots = weights.shape
    actions = len(game.root) - roots
    parents, firsts, columns, values, operators = [], [], [], [], []
    for strategy in range(count):
        number = np.arange(len(game.root)) - roots + 1 + count + strategy * actions
        number[:roots] = 1 + strategy
        parents.append(number[game.parent])
        firsts.append(number[game.first])
        columns.append(number[game.column])
        values.append(game.value * weights[strategy, game.root[game.column]])
        operators.append(_moved(game, number, weights[strategy]))
    return _form(
        game,
        parent=np.concatenate([[EMPTY_SEQUENCE], *parents]),
        first=np.concatenate([[1], *firsts]),
        num_actions=np.concatenate([[count], *[game.num_actions] * count]),
        column=np.concatenate(columns),
        value=np.concatenate(values),
        row=np.tile(game.row, count),
        operator=_joined([operator for operator in operators if operator is not None]),
    )


def _moved(
    game: MarginGame, number: IntArray, weights: FloatArray | None = None
) -> PayoffOperator | None:
    """The game's operator where the forest's sequences have other numbers ([F]).

    Payoffs below each root are multiplied by its weight ([R]).
    """
    if game.operator is None:
        return None
    own = np.arange(game.treeplex.num_sequences)
    factor = np.ones(len(game.root)) if weights is None else weights[game.root]
    if game.player == PLAYERS[0]:
        return game.operator.renumbered((own, number), (np.ones(len(own)), factor))
    return game.operator.renumbered((number, own), (factor, np.ones(len(own))))


def _joined(operators: Sequence[PayoffOperator]) -> PayoffOperator | None:
    return operators[0].joined(operators[1:]) if operators else None


def _form(
    game: MarginGame,
    parent: IntArray,
    first: IntArray,
    num_actions: IntArray,
    column: IntArray,
    value: FloatArray,
    row: IntArray | None = None,
    operator: PayoffOperator | None = None,
) -> SequenceForm:
    opponent = Treeplex(
        parent_sequence=parent.astype(np.int32),
        first_sequence=first.astype(np.int32),
        num_actions=num_actions.astype(np.int32),
        num_sequences=1 + int(num_actions.sum()),
    )
    rows = (game.row if row is None else row).astype(np.int32)
    columns = column.astype(np.int32)
    if game.player == PLAYERS[0]:
        pair = (game.treeplex, opponent)
        return make_sequence_form(pair, rows, columns, value, operator=operator)
    pair = (opponent, game.treeplex)
    return make_sequence_form(pair, columns, rows, -value, operator=operator)
