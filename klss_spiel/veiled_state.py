"""A state of a game as one of its players may see it.

Bots take a `pyspiel.State`, which knows everything. A `VeiledState` stands in its place:
it answers what the player to move is told and raises `HiddenInformationError` on all else,
so that a bot that reads the history or the other player's cards is caught in the act.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn


class HiddenInformationError(Exception):
    """Somebody asked a veiled state for what its player is not told."""


@dataclasses.dataclass(frozen=True)
class ClockReading:
    """What a player's clock shows when it is the player's turn.

    Attributes:
      remaining: seconds left.
      increment: seconds added after each own move; tries that are refused earn nothing.
    """

    remaining: float
    increment: float = 0.0


class VeiledState:
    """What a player who is to move is told, under the names of `pyspiel.State`.

    Everything is copied: the true state cannot be reached from here.

    Attributes:
      clock: the player's own clock; None where nobody counts time.
    """

    def __init__(
        self,
        game: Any,
        player: int,
        told: str,
        names: Mapping[int, str],
        observed: str | None = None,
        tensor: Sequence[float] | None = None,
        clock: ClockReading | None = None,
    ) -> None:
        """What a player is told; `veil` makes one of a state.

        Args:
          game: the `pyspiel.Game`.
          player: who looks, being to move.
          told: the information state string.
          names: own legal actions and what they are called.
          observed: the observation string, if the game has one.
          tensor: the information state tensor, if the game has one.
          clock: the player's clock.
        """
        self.clock = clock
        self._game = game
        self._player = player
        self._told = told
        self._names = dict(names)
        self._legal = tuple(self._names)
        self._observed = observed
        self._tensor = None if tensor is None else tuple(tensor)

    def current_player(self) -> int:
        """The player who looks."""
        return self._player

    def is_terminal(self) -> bool:
        """No: somebody is to move."""
        return False

    def is_chance_node(self) -> bool:
        """No: a player is to move."""
        return False

    def is_simultaneous_node(self) -> bool:
        """No: one player is to move."""
        return False

    def get_game(self) -> Any:
        """The game: its rules are no secret."""
        return self._game

    def num_players(self) -> int:
        """Two."""
        return int(self._game.num_players())

    def num_distinct_actions(self) -> int:
        """Number of actions of the game."""
        return int(self._game.num_distinct_actions())

    def legal_actions(self, player: int | None = None) -> list[int]:
        """The own legal actions."""
        self._check(player, "legal_actions")
        return list(self._legal)

    def legal_actions_mask(self, player: int | None = None) -> list[int]:
        """[actions] 1 where an action is legal."""
        mask = [0] * self.num_distinct_actions()
        for action in self.legal_actions(player):
            mask[action] = 1
        return mask

    def information_state_string(self, player: int | None = None) -> str:
        """What the player has been told so far."""
        self._check(player, "information_state_string")
        return self._told

    def information_state_tensor(self, player: int | None = None) -> list[float]:
        """The same as numbers."""
        self._check(player, "information_state_tensor")
        if self._tensor is None:
            self._refuse("information_state_tensor, which the game does not offer")
        return list(self._tensor)

    def observation_string(self, player: int | None = None) -> str:
        """What the player sees now."""
        self._check(player, "observation_string")
        if self._observed is None:
            self._refuse("observation_string, which the game does not offer")
        return self._observed

    def action_to_string(self, *arguments: int) -> str:
        """The name of an own legal action: `(action)` or `(player, action)`."""
        *player, action = arguments
        self._check(player[0] if player else None, "action_to_string")
        if action not in self._names:
            self._refuse(f"action_to_string({action}), which is not legal now")
        return self._names[action]

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # so that copying and pickling work
            raise AttributeError(name)
        self._refuse(name)

    def __str__(self) -> str:
        return self._told

    def _check(self, player: int | None, name: str) -> None:
        if player is not None and player != self._player:
            self._refuse(f"{name} of player {player}")

    def _refuse(self, what: str) -> NoReturn:
        raise HiddenInformationError(
            f"player {self._player} may ask for the own information state and legal actions, "
            f"asked for {what}"
        )


def veil(state: Any, player: int, clock: ClockReading | None = None) -> VeiledState:
    """What `player`, who is to move at a `pyspiel.State`, may see of it."""
    if state.current_player() != player:
        raise ValueError(
            f"expected a state in which player {player} moves, got one of player "
            f"{state.current_player()}"
        )
    game = state.get_game()
    kind = game.get_type()
    tensor = None
    if kind.provides_information_state_tensor:
        # Some games promise a tensor and have it with some of their parameters only.
        with contextlib.suppress(RuntimeError):
            tensor = state.information_state_tensor(player)
    return VeiledState(
        game,
        player,
        state.information_state_string(player),
        {a: state.action_to_string(player, a) for a in state.legal_actions(player)},
        state.observation_string(player) if kind.provides_observation_string else None,
        tensor,
        clock,
    )
