"""What a belief needs to know of a game of chess: protocols, and how large it may become."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

from klss_spiel.arrays import FloatArray, U64Array


@dataclasses.dataclass(frozen=True)
class BeliefLimits:
    """How large beliefs may become.

    Attributes:
        exact: most positions of an exact belief.
        sample: most positions of a sample.
        sampling: past the limit go on with a sample; else that is an error.
    """

    exact: int
    sample: int
    sampling: bool = True

    def __post_init__(self) -> None:
        if self.exact < 1 or self.sample < 1:
            least = min(self.exact, self.sample)
            raise ValueError(f"expected a belief_limit of 1 or more positions, got {least}")


class Told(Protocol):
    """What a player has been told up to a step."""

    @property
    def steps(self) -> int:
        """How many steps there were."""

    def since(self, steps: int) -> Sequence[Any]:
        """What was told after so many steps up to this one, in order."""


class BelievableGame(Protocol):
    """What a belief needs to know of a game of chess."""

    name: str
    limits: BeliefLimits

    def read(self, player: int, information_state: str) -> Any:
        """A `Told`."""

    def first_held(self, player: int) -> Any:
        """A `collected_positions.HeldPositions`: the start of the game."""

    def follow(self, held: Any, told: Any, limit: int, salt: int) -> Any:
        """What is held one step later; a sample if it is more than the limit."""

    def foresight(self, held: Any, later: Sequence[Any]) -> FloatArray | None:
        """[n] how far what is told later speaks for the positions, as logarithms.

        None if the game cannot say, or nothing more is told.
        """

    def scattered(self, held: Any, size: int, salt: int) -> Any:
        """So many guesses at what else might be held, the player being to move; see `guesses`."""

    def is_move(self, told: Any) -> bool:
        """Whether somebody has moved at this step, and not only tried to."""

    def going_on(self, held: Any) -> Any:
        """Those at which the game is not over, if the player is to move."""

    def rows(self, held: Any, told: Any) -> U64Array:
        """The positions as a search holds them; `told` is None before the first step."""
