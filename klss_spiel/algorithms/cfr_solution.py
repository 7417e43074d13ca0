"""What CFR returns: regrets and strategies in the numbers of the form's sequences."""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any, Protocol

import numpy as np

from klss_spiel.algorithms.regret import RegretMinimizer
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.npz_files import load_arrays
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.search_game import ValueFunction
from klss_spiel.sequence_form import SequenceForm, Treeplex
from klss_spiel.tree import PLAYERS, GameTree


@dataclasses.dataclass(frozen=True, eq=False)
class PlayerSolution:
    """Where one player stands; all vectors [S] over the form's sequences.

    Attributes:
      treeplex: the player's strategies.
      regret: the minimiser's cumulative regrets.
      last_behavior: behaviour probabilities of the last iterate.
      last: realization plan of the last iterate.
      average_sum: weighted sum of the plans played so far.
    """

    treeplex: Treeplex
    regret: FloatArray
    last_behavior: FloatArray
    last: FloatArray
    average_sum: FloatArray

    @functools.cached_property
    def average_behavior(self) -> FloatArray:
        """[S] behaviour of the average strategy; uniform where it never plays to."""
        return self.treeplex.behavior(self.average_sum)

    @functools.cached_property
    def average(self) -> FloatArray:
        """[S] realization plan of the average strategy."""
        return self.treeplex.realization_plan(self.average_behavior)


PlayerSolutions = tuple[PlayerSolution, PlayerSolution]

VECTORS = ("regret", "last_behavior", "last", "average_sum")


@dataclasses.dataclass(frozen=True)
class Method:
    """Which CFR is run.

    Attributes:
      minimizer: the regret minimiser at every infoset.
      averaging: iteration t weighs t to this power in the average.
      alternating: player 1 answers player 0's newest strategy.
    """

    minimizer: RegretMinimizer
    averaging: int
    alternating: bool


class PreparedForm(Protocol):
    """A sequence form laid out for one engine, and the engine's loop on it.

    States are the engine's own; `run` returns a new one and leaves the old alone, unless
    it is told otherwise.
    """

    @property
    def form(self) -> SequenceForm:
        """The sequence form itself."""

    def initial_state(self) -> Any:
        """No regrets, uniform strategies."""

    def state_of(self, players: PlayerSolutions) -> Any:
        """The state of a solution of the same game."""

    def players_of(self, state: Any) -> PlayerSolutions:
        """A state in the numbers of the form's sequences."""

    def average_of(self, state: Any, player: int) -> FloatArray:
        """[S] the weighted sum of a player's plans, as in `players_of`."""

    def run(
        self, state: Any, iteration: int, count: int, method: Method, owned: bool = False
    ) -> Any:
        """The state after `count` more iterations; there were `iteration` before.

        If it is `owned`, nobody else looks at the old state, which may be overwritten.
        """

    def run_trunk(
        self,
        state: Any,
        iteration: int,
        count: int,
        method: Method,
        border: tuple[IntArray, IntArray],
        values: ValueFunction,
    ) -> Any:
        """`run` for a trunk: reaching a border infoset pays what `values` says."""


class Solution:
    """Where CFR stands after `iterations` iterations; `cfr.solve` can go on from it.

    `average` is the strategy pair that converges to an equilibrium, `last` the
    current one; both are realization plans.

    Attributes:
      iterations: how many were run in all.
      tree: the game, if it is a whole one and is known.
    """

    def __init__(
        self,
        iterations: int,
        players: PlayerSolutions | None = None,
        state: tuple[PreparedForm, Any] | None = None,
        tree: GameTree | None = None,
    ) -> None:
        self.iterations = iterations
        self.tree = state[0].form.tree if state is not None else tree
        # Read off the engine's state when somebody asks: resuming needs only the state.
        self._players = players
        self._state = state

    def __repr__(self) -> str:
        of = "" if self.tree is None else f" of {self.tree.name}"
        return f"<Solution{of}: {self.iterations} iterations>"

    @functools.cached_property
    def players(self) -> PlayerSolutions:
        """Where each player stands."""
        if self._players is not None:
            return self._players
        assert self._state is not None
        prepared, state = self._state
        return prepared.players_of(state)

    def state_on(self, prepared: PreparedForm) -> Any:
        """An engine's state on a form that it prepared of the same game."""
        if self._state is not None and self._state[0] == prepared:
            return self._state[1]
        for p in PLAYERS:
            expected = prepared.form.treeplexes[p].num_sequences
            if len(self.players[p].regret) != expected:
                raise ValueError(
                    f"expected a start with {expected} sequences of player {p}, got "
                    f"{len(self.players[p].regret)}: another game's solution"
                )
        return prepared.state_of(self.players)

    @property
    def average(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] realization plan of the average strategy."""
        return self.players[0].average, self.players[1].average

    @property
    def average_behavior(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] behaviour of the average strategy."""
        return self.players[0].average_behavior, self.players[1].average_behavior

    def average_sum_of(self, player: int) -> FloatArray:
        """[S] the weighted sum of a player's plans so far."""
        if self._state is None:
            return self.players[player].average_sum
        prepared, state = self._state
        return prepared.average_of(state, player)

    def average_behavior_of(self, player: int) -> FloatArray:
        """One player's part of `average_behavior`, not kept: for games that fill the memory."""
        if self._state is None:
            return self.players[player].average_behavior
        return self._state[0].form.treeplexes[player].behavior(self.average_sum_of(player))

    @property
    def policy(self) -> BehaviorPolicy:
        """The average strategies in a whole game."""
        if self.tree is None:
            raise ValueError("expected a solution of a whole game, got one of a part of a game")
        return BehaviorPolicy(self.tree, self.average_behavior)

    @property
    def last(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] realization plan of the last iterate."""
        return self.players[0].last, self.players[1].last

    @property
    def last_behavior(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] behaviour of the last iterate."""
        return self.players[0].last_behavior, self.players[1].last_behavior

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything needed to go on from here, as npz."""
        arrays = {
            f"{field}{p}": getattr(self.players[p], field) for p in PLAYERS for field in VECTORS
        }
        with open(path, "wb") as file:
            np.savez_compressed(file, iterations=np.array(self.iterations), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], form: SequenceForm) -> Solution:
        """Reads a solution of `form` written by `save`.

        Raises:
          BrokenFileError: the file is not a whole npz file of a solution.
          ValueError: it is the solution of another game.
        """
        names = [f"{field}{p}" for p in PLAYERS for field in VECTORS]
        data = load_arrays(path, ("iterations", *names), "a solution")
        players = []
        for p in PLAYERS:
            treeplex = form.treeplexes[p]
            vectors = {field: data[f"{field}{p}"] for field in VECTORS}
            for vector in vectors.values():
                if vector.shape != (treeplex.num_sequences,):
                    raise ValueError(
                        f"expected {treeplex.num_sequences} sequences of player {p}, got "
                        f"{vector.size} in {path}: another game's solution"
                    )
            players.append(PlayerSolution(treeplex, **vectors))
        return cls(int(data["iterations"]), (players[0], players[1]), tree=form.tree)


def checked_values(
    values: tuple[Any, Any], border: tuple[IntArray, IntArray]
) -> tuple[FloatArray, FloatArray]:
    """What a value function returned, if it is one finite number per border infoset."""
    checked = []
    for p in PLAYERS:
        of_player = np.asarray(values[p], dtype=np.float64)
        if of_player.shape != border[p].shape:
            raise ValueError(
                f"expected values of {len(border[p])} border infosets of player {p} from the "
                f"value function, got an array of shape {of_player.shape}"
            )
        if not np.all(np.isfinite(of_player)):
            where = int(np.flatnonzero(~np.isfinite(of_player))[0])
            raise ValueError(
                f"expected finite values from the value function, got {of_player[where]} for "
                f"player {p} at border infoset {where}"
            )
        checked.append(of_player)
    return checked[0], checked[1]
