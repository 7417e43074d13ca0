"""What bots on a game's tree share: reading the infoset off a state, drawing a move."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
import pyspiel

from klss_spiel.arrays import FloatArray
from klss_spiel.tree import GameTree


class TreeBot(pyspiel.Bot):  # type: ignore[misc]  # pyspiel has no type stubs.
    """A bot that knows the tree of its game and sees only its own information states."""

    def __init__(self, tree: GameTree, player: int, rng: np.random.Generator) -> None:
        """A bot for one seat.

        Args:
          tree: the game.
          player: the bot's seat.
          rng: draws the moves.
        """
        super().__init__()
        self._tree = tree
        self._player = player
        self._rng = rng

    def __reduce__(self) -> tuple[Any, ...]:
        """Bots pickle and copy with everything they remember."""
        return _bare_bot, (type(self),), self.__dict__.copy()

    @abc.abstractmethod
    def behavior_at(self, infoset: int) -> FloatArray:
        """[actions] probabilities at one of the bot's decision infosets of the tree."""

    def player_id(self) -> int:
        """The bot's seat."""
        return self._player

    def provides_policy(self) -> bool:
        """The bot can tell with what probability it plays each action."""
        return True

    def restart(self) -> None:
        """Starts a new game; nothing to forget, since infosets know their past."""

    def restart_at(self, state: Any) -> None:
        """Continues from a state."""

    def inform_action(self, state: Any, player: int, action: int) -> None:
        """Ignored: it would tell the bot hidden moves."""

    def get_policy(self, state: Any) -> list[tuple[int, float]]:
        """Actions and probabilities at a state in which the bot is to move."""
        label = state.information_state_string(self._player)
        infosets = self._tree.infosets[self._player]
        infoset = infosets.index_of_label.get(label)
        if infoset is None:
            raise ValueError(
                f"player {self._player} of {self._tree.name} has no information state {label!r}; "
                "the bot was made for another game"
            )
        probabilities = self.behavior_at(infoset)
        return [
            (int(a), float(q))
            for a, q in zip(infosets.actions(infoset), probabilities, strict=True)
        ]

    def step(self, state: Any) -> int:
        """Draws an action."""
        return self.step_with_policy(state)[1]

    def step_with_policy(self, state: Any) -> tuple[list[tuple[int, float]], int]:
        """Probabilities of the actions, and one drawn from them."""
        policy = self.get_policy(state)
        probabilities = np.array([q for _, q in policy])
        choice = int(self._rng.choice(len(policy), p=probabilities / probabilities.sum()))
        return policy, policy[choice][0]


def _bare_bot(kind: type[TreeBot]) -> TreeBot:
    """A bot whose attributes are still to be set."""
    bot = kind.__new__(kind)
    pyspiel.Bot.__init__(bot)
    return bot
