"""Two-step matrix games with private signals: the shape of the papers' small examples.

Chance draws an outcome; each player is shown a signal that depends on it (and
may be the same for several outcomes). Player 0 then picks a row, player 1 a
column, neither seeing the other's choice, and the outcome's payoff table says
what player 0 receives and player 1 pays. The tree has four levels:

    ply 0   chance deals the outcome      1 node
    ply 1   player 0 picks a row          one node per outcome
    ply 2   player 1 picks a column       outcomes * rows nodes
    ply 3   terminal                      outcomes * rows * columns nodes

The ply is public: everybody sees when a choice has been made, not which. An
action is the index of a chance outcome, a row or a column.

A game is a value, `SignalRules`; a registered game is a `SignalGame` that makes
its rules from its parameters.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyspiel

from klss_spiel.games.registration import RegisteredGame

NUM_PLAYERS = 2
HEADS_TAILS = ("heads", "tails")

_NUM_PLIES = 3
_NO_OUTCOME = -1  # The position's outcome before chance has dealt one.


@dataclasses.dataclass(frozen=True)
class SignalRules:
    """One game of the family. T outcomes, R rows, C columns.

    Attributes:
        outcomes: [T] names of the chance outcomes.
        probabilities: [T] their probabilities.
        signals: [T, 2] what each player is shown, as text without spaces.
        moves: ([R], [C]) names of player 0's and player 1's choices.
        payoffs: [T, R, C] what player 0 receives; player 1 receives the negative.
    """

    outcomes: tuple[str, ...]
    probabilities: tuple[float, ...]
    signals: tuple[tuple[str, str], ...]
    moves: tuple[tuple[str, ...], tuple[str, ...]]
    payoffs: tuple[tuple[tuple[float, ...], ...], ...]

    def __post_init__(self) -> None:
        count = len(self.outcomes)
        for field in ("probabilities", "signals", "payoffs"):
            if len(getattr(self, field)) != count:
                raise ValueError(
                    f"expected {count} {field}, one per outcome, got {len(getattr(self, field))}"
                )
        if min(self.probabilities) <= 0 or abs(sum(self.probabilities) - 1) > 1e-9:
            raise ValueError(
                "expected positive probabilities that sum to 1, got a least one of "
                f"{min(self.probabilities)} and a sum of {sum(self.probabilities)}"
            )
        shape = (len(self.moves[0]), len(self.moves[1]))
        for outcome, table in zip(self.outcomes, self.payoffs, strict=True):
            if len(table) != shape[0] or any(len(row) != shape[1] for row in table):
                raise ValueError(
                    f"expected payoff tables of {shape[0]} rows and {shape[1]} columns, got "
                    f"{table} for outcome {outcome!r}"
                )

    @functools.cached_property
    def signal_indices(self) -> tuple[dict[str, int], dict[str, int]]:
        """Each player's signals, numbered in the order of the outcomes."""
        first, second = (
            {signal: index for index, signal in enumerate(dict.fromkeys(column))}
            for column in zip(*self.signals, strict=True)
        )
        return first, second

    def utility_range(self) -> tuple[float, float]:
        """The least and the greatest payoff of either player."""
        values = [value for table in self.payoffs for row in table for value in row]
        greatest = max(max(values), -min(values))
        return -greatest, greatest

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # OpenSpiel deep-copies a Python state's attributes at every step.
        return self


def uniform_rules(
    signals: Sequence[tuple[str, str]],
    payoffs: Sequence[Sequence[Sequence[float]]],
    *,
    outcomes: Sequence[str] | None = None,
    moves: tuple[tuple[str, ...], tuple[str, ...]] = (HEADS_TAILS, HEADS_TAILS),
) -> SignalRules:
    """Returns rules whose outcomes are equally likely.

    Args:
        signals: [T, 2] what each player is shown.
        payoffs: [T, R, C] what player 0 receives.
        outcomes: [T] names; by default "1" to "T".
        moves: names of the rows and of the columns.
    """
    count = len(signals)
    return SignalRules(
        outcomes=tuple(outcomes or map(str, range(1, count + 1))),
        probabilities=(1 / count,) * count,
        signals=tuple(signals),
        moves=moves,
        payoffs=tuple(
            tuple(tuple(float(value) for value in row) for row in table) for table in payoffs
        ),
    )


def signal_game_type(short_name: str, long_name: str, **parameters: Any) -> pyspiel.GameType:
    """Returns the OpenSpiel type of a signal game; keyword arguments are parameter defaults."""
    return pyspiel.GameType(
        short_name=short_name,
        long_name=long_name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=NUM_PLAYERS,
        min_num_players=NUM_PLAYERS,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification={"players": NUM_PLAYERS, **parameters},
    )


class SignalGame(RegisteredGame):
    """An OpenSpiel game that follows some `SignalRules`."""

    rules: SignalRules

    def __init__(
        self,
        game_type: pyspiel.GameType,
        rules: SignalRules,
        parameters: Mapping[str, Any] | None = None,
    ):
        min_utility, max_utility = rules.utility_range()
        game_info = pyspiel.GameInfo(
            num_distinct_actions=max(map(len, rules.moves)),
            max_chance_outcomes=len(rules.outcomes),
            num_players=NUM_PLAYERS,
            min_utility=min_utility,
            max_utility=max_utility,
            utility_sum=0.0,
            max_game_length=NUM_PLAYERS,
        )
        super().__init__(game_type, game_info, parameters)
        self.rules = rules

    def new_initial_state(self) -> SignalState:
        """Returns the state before chance deals."""
        return SignalState(self)

    def make_py_observer(
        self,
        iig_obs_type: pyspiel.IIGObservationType | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> SignalObserver:
        """Returns an observer; see `SignalObserver`."""
        return SignalObserver(
            self.rules, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _Position:
    """What has happened so far; shared by copies of a state, never changed."""

    rules: SignalRules
    outcome: int = _NO_OUTCOME
    moves: tuple[int, ...] = ()  # Player 0's row, then player 1's column.

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @property
    def ply(self) -> int:
        return len(self.moves) + (self.outcome != _NO_OUTCOME)


class SignalState(pyspiel.State):  # type: ignore[misc]  # pyspiel has no type stubs.
    """A state of a signal game."""

    def __init__(self, game: SignalGame):
        super().__init__(game)
        self.position = _Position(game.rules)

    def current_player(self) -> int:
        """Returns who moves at this ply."""
        ply = self.position.ply
        if ply == 0:
            return int(pyspiel.PlayerId.CHANCE)
        if ply == _NUM_PLIES:
            return int(pyspiel.PlayerId.TERMINAL)
        return ply - 1

    def _legal_actions(self, player: int) -> list[int]:
        return list(range(len(self.position.rules.moves[player])))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns every outcome of the deal with its probability."""
        return list(enumerate(self.position.rules.probabilities))

    def _apply_action(self, action: int) -> None:
        position = self.position
        count = len(
            position.rules.probabilities
            if position.outcome == _NO_OUTCOME
            else position.rules.moves[len(position.moves)]
        )
        if not 0 <= action < count:
            raise ValueError(f"expected an action from 0 to {count - 1}, got {action}")
        if position.outcome == _NO_OUTCOME:
            self.position = dataclasses.replace(position, outcome=int(action))
        else:
            self.position = dataclasses.replace(position, moves=(*position.moves, int(action)))

    def _action_to_string(self, player: int, action: int) -> str:
        rules = self.position.rules
        if player == pyspiel.PlayerId.CHANCE:
            return f"Deal:{rules.outcomes[action]}"
        return rules.moves[player][action]

    def is_terminal(self) -> bool:
        """Returns whether both players have chosen."""
        return self.position.ply == _NUM_PLIES

    def returns(self) -> list[float]:
        """Returns the outcome's payoff at the chosen row and column, zeros before the end."""
        position = self.position
        if not self.is_terminal():
            return [0.0, 0.0]
        row, column = position.moves
        payoff = position.rules.payoffs[position.outcome][row][column]
        return [payoff, -payoff]

    def __str__(self) -> str:
        position = self.position
        if position.outcome == _NO_OUTCOME:
            return "before the deal"
        rules = position.rules
        chosen = [rules.moves[player][move] for player, move in enumerate(position.moves)]
        return " ".join([rules.outcomes[position.outcome], *chosen])


class SignalObserver:
    """Observer, conforming to OpenSpiel's PyObserver interface.

    Public information is the ply. Private information is the observing player,
    its signal and its own choice. Nothing is ever forgotten or replaced, so the
    observation of a state is also its information state.

    Attributes:
        tensor: the flat observation.
        dict: named views of it: `ply` [4], `player` [2], `signal` [most signals
            of a player], `choice` [most moves of a player].
    """

    def __init__(
        self,
        rules: SignalRules,
        iig_obs_type: pyspiel.IIGObservationType,
        params: Mapping[str, Any] | None,
    ):
        if params:
            raise ValueError(f"expected no observation parameters, got {params}")
        private_info = iig_obs_type.private_info
        if private_info == pyspiel.PrivateInfoType.ALL_PLAYERS:
            raise ValueError("expected private_info NONE or SINGLE_PLAYER, got ALL_PLAYERS")
        self._rules = rules
        sizes: dict[str, int] = {}
        if iig_obs_type.public_info:
            sizes["ply"] = _NUM_PLIES + 1
        if private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
            sizes["player"] = NUM_PLAYERS
            sizes["signal"] = max(map(len, rules.signal_indices))
            sizes["choice"] = max(map(len, rules.moves))
        self.tensor: npt.NDArray[np.float32] = np.zeros(sum(sizes.values()), np.float32)
        pieces = np.split(self.tensor, np.cumsum(list(sizes.values()))[:-1]) if sizes else []
        self.dict = dict(zip(sizes, pieces, strict=True))

    def set_from(self, state: SignalState, player: int) -> None:
        """Writes what `player` observes in `state` into `tensor` (and so into `dict`)."""
        self.tensor.fill(0)
        position = state.position
        if "ply" in self.dict:
            self.dict["ply"][position.ply] = 1
        if "player" not in self.dict:
            return
        self.dict["player"][player] = 1
        if position.outcome != _NO_OUTCOME:
            signal = self._rules.signals[position.outcome][player]
            self.dict["signal"][self._rules.signal_indices[player][signal]] = 1
        if len(position.moves) > player:
            self.dict["choice"][position.moves[player]] = 1

    def string_from(self, state: SignalState, player: int) -> str:
        """Returns what `player` observes in `state` as text, for example "p0 ply:1 signal:3"."""
        position = state.position
        private = "player" in self.dict
        pieces = [f"p{player}"] if private else []
        if "ply" in self.dict:
            pieces.append(f"ply:{position.ply}")
        if private and position.outcome != _NO_OUTCOME:
            pieces.append(f"signal:{self._rules.signals[position.outcome][player]}")
        if private and len(position.moves) > player:
            pieces.append(f"choice:{self._rules.moves[player][position.moves[player]]}")
        return " ".join(pieces)
