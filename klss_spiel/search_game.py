"""What a game offers to a search: protocols and dataclasses, no code.

A `SearchGame` works on batches of *positions*: arrays whose first axis counts
positions and whose elements only the game itself understands (objects for
OpenSpiel's states, words of packed boards for a compiled game). What a player knows
is an identifier: two histories with the same `infoset_ids` of a player are in the
same infoset of that player, at every node and not only where the player moves.

A game that can be searched faster than through its states says so by a method
`search_game(evaluator)` on the `pyspiel.Game`, which returns a `SearchGame`, or None if
its parameters leave no other way than through the states. A game with compiled code that
its first moves do not use may have a method `warm_up()` that makes it ready.

Letters: n positions given, c children of all of them together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import BoolArray, FloatArray, IntArray

Positions = npt.NDArray[Any]
InfosetIds = npt.NDArray[np.uint64]
Players = npt.NDArray[np.int8]

# Player 0's expected payoff at each position, between -1 and 1: [n] -> [n].
LeafEvaluator = Callable[[Positions], FloatArray]


class EvaluatorError(RuntimeError):
    """What an evaluator raises when it has no values to give, through no fault of code.

    A search survives it and TimeoutError, and says so; other errors end it.
    """


@dataclasses.dataclass(frozen=True, eq=False)
class Children:
    """The children of several positions, one position's after another's.

    Attributes:
      count: [n] number of children of each position.
      action: [c] OpenSpiel action, ascending within a position.
      chance: [c] probability of the edge if chance moved, else 1.
      player: [c] who moves at the child: 0, 1, CHANCE or TERMINAL.
      infoset_ids: [2, c] what each player knows at the child.
      utility: [c] player 0's payoff between -1 and 1 at terminal children, else 0.
      position: [c] the positions themselves.
      forcing: [c] whether the move should be looked at before quiet ones.
    """

    count: IntArray
    action: IntArray
    chance: FloatArray
    player: Players
    infoset_ids: InfosetIds
    utility: FloatArray
    position: Positions
    forcing: BoolArray


@dataclasses.dataclass(frozen=True, eq=False)
class RootPositions:
    """Positions a tree may start from.

    Attributes:
      position: [n].
      player: [n] who moves.
      infoset_ids: [2, n] what each player knows.
    """

    position: Positions
    player: Players
    infoset_ids: InfosetIds


class Belief(Protocol):
    """Every position a player has to reckon with, from his own observations only."""

    @property
    def complete(self) -> bool:
        """Whether no consistent position is missing."""

    @property
    def positions(self) -> Positions:
        """[n] the positions."""

    @property
    def weights(self) -> FloatArray | None:
        """[n] how likely the positions are, in any unit; None if all alike."""

    def advance(self, action: int | None, information_state: str) -> None:
        """Moves on to the player's next decision.

        Args:
          action: the own action taken at the last decision; None before the first.
          information_state: what the player is told now, being to move.
        """

    def copy(self) -> Belief:
        """A belief that can be advanced on its own."""


@runtime_checkable
class TimedBelief(Protocol):
    """What a `Belief` offers that may be large enough to take noticeable time."""

    def allow(self, seconds: float | None, now: Callable[[], float], longest: float = 0.0) -> None:
        """Says how long `advance` may take from now on, by a clock; None for any time.

        If exactness would take longer, the belief becomes a sample, which it says. If no
        position were left of that, it may take up to `longest` seconds in all.
        """


@runtime_checkable
class GuessingBelief(Protocol):
    """What a `Belief` says that goes on with guesses where nothing is left of a sample."""

    @property
    def guessed(self) -> bool:
        """Whether positions may not fit what was told long ago."""


@runtime_checkable
class SearchGame(Protocol):
    """A two-player zero-sum game, seen by a search. Letters as above."""

    @property
    def name(self) -> str:
        """For reports and errors."""

    @property
    def utility_scale(self) -> float:
        """Payoffs of the search times this, plus the offset, are the game's own."""

    @property
    def utility_offset(self) -> float:
        """Half the constant sum of both players' payoffs."""

    def initial(self) -> RootPositions:
        """The start of the game, n = 1."""

    def expand(self, positions: Positions, infoset_ids: InfosetIds) -> Children:
        """All children of positions ([n], not terminal) at which players know [2, n]."""

    def evaluate(self, positions: Positions) -> FloatArray:
        """[n] the evaluator's values; see `LeafEvaluator`."""

    def infosets(self, player: int, information_state: str) -> InfosetIds:
        """Every identifier under which `expand` may have reported a decision infoset.

        At least one; the first serves for positions that a tree does not contain.
        """

    def informed(self, player: int, own: int, positions: Positions) -> InfosetIds:
        """[2, n] identifiers at positions of which the opponent of `player` knows all.

        Args:
          player: knows only the infoset `own`.
          own: an identifier from `infosets` or `expand`.
          positions: [n].
        """

    def keys(self, positions: Positions) -> Sequence[Hashable]:
        """[n] equal for positions that are the same."""

    def belief(self, player: int) -> Belief:
        """What the player has to reckon with before the game starts."""


@runtime_checkable
class RepeatingGame(Protocol):
    """What a `SearchGame` offers in which positions may come again, which makes a draw."""

    def position_keys(self, positions: Positions) -> InfosetIds:
        """[n] equal where it is the same position with the same player to move.

        A child with its parent's key repeats nothing: the position still stands.
        """

    def views(self, player: int, positions: Positions) -> InfosetIds:
        """[n] equal where the player sees the same, whatever was before.

        Views after own moves differ from those at the player's own turn if there are own
        actions that move nothing.
        """

    def past_views(self, player: int, information_state: str) -> InfosetIds:
        """[k] `views` that the player has had after own moves and that may come again."""

    def with_quiet_plies(
        self, player: int, information_state: str, positions: Positions
    ) -> Positions:
        """The positions, with as many plies towards a draw as the player has to fear."""


@runtime_checkable
class WeighingGame(Protocol):
    """What a `SearchGame` offers that knows which moves opponents are likely to make."""

    def weighted_belief(self, player: int) -> Belief:
        """Like `SearchGame.belief`, with weights by how likely the opponent's moves were."""


@runtime_checkable
class RetryingGame(Protocol):
    """What a `SearchGame` offers in which a player may have to try again.

    Clocks pay for moves and not for tries, and a player learns only by being asked again
    which of both the last action was.
    """

    def refused(self, information_state: str) -> bool:
        """Whether the last thing the player was told is that the own try is illegal."""


@dataclasses.dataclass(frozen=True, eq=False)
class Leaves:
    """The unexpanded nodes of a search's tree, as long as it does not grow.

    Attributes:
      position: [n] the game's positions.
      infoset_ids: [2, n] what each player knows there.
      weight: [n] probability of chance, and of whatever else neither player chooses any
        more: the own past, and the positions of a root infoset.
    """

    position: Positions
    infoset_ids: InfosetIds
    weight: FloatArray


class LeafValues(Protocol):
    """What the leaves of one search are worth, given how both players come there."""

    def start(self, leaves: Leaves) -> None:
        """The tree has grown: these are its leaves from now on."""

    def values(self, reach: FloatArray) -> FloatArray:
        """[n] player 0's payoff at the leaves, between -1 and 1.

        Args:
          reach: [2, n] the probability with which each player's own actions lead to each
            leaf; the same at all leaves of an infoset.
        """


@runtime_checkable
class RangeValuedGame(Protocol):
    """What a `SearchGame` offers whose leaves are worth what the ranges there make of them."""

    def leaf_values(self, player: int) -> LeafValues:
        """Values for a new search of a player, in place of `evaluate`."""


@runtime_checkable
class Blueprint(Protocol):
    """What to play and what to expect at a batch of infosets, given by rows of features.

    Searches that follow a blueprint and bots that play one ask it in this way.
    """

    def evaluate(
        self, features: npt.NDArray[np.float32], legal: BoolArray
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Strategy and values. Letters: n infosets, f features, a actions of the game.

        Args:
          features: [n, f] what the player to move knows, as the game encodes it.
          legal: [n, a] which actions are legal.

        Returns:
          [n, a] probabilities, 0 where an action is not legal, and [n] the expected payoff of
          the player to move, in units of the game, if both play on by the blueprint.
        """


class ValueFunction(Protocol):
    """What reaching the border of a cut game is worth, given how both players reach it.

    Letters: b_p border infosets of player p. Arrays are numpy's, or jax's where the
    function is called inside a jitted loop; it is then a pytree itself.
    """

    def __call__(self, ranges: tuple[Any, Any]) -> tuple[Any, Any]:
        """From ranges to counterfactual values.

        Args:
          ranges: ([b_0], [b_1]) the probability with which each player's own actions lead
            to each of the own border infosets.

        Returns:
          ([b_0], [b_1]) counterfactual values of the border infosets: the player's
          expected payoff from there on, weighted by the reach of chance and the opponent.
        """
