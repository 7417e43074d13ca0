"""What packed moments of dark chess and Kriegspiel share: a record and remembered texts.

Records are those of `kernels.states`. Importing this module imports numba.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Final, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.kriegspiel_play import KriegspielSetup
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.kernels import states
from klss_spiel.games.chess.play import NO_ACTION, Course

_Setup = TypeVar("_Setup", bound=DarkChessSetup | KriegspielSetup)
_COLOURS: Final = ("White", "Black")


@dataclasses.dataclass(frozen=True, eq=False)
class RecordedGame(Generic[_Setup]):
    """A setup with what kernels need to know of it.

    Attributes:
        setup: the game.
        board: which board.
        arguments: `game` of `kernels.states` or `kernels.umpire`.
    """

    setup: _Setup
    board: positions.Layout
    arguments: tuple[Any, ...]


class RecordedMoment(abc.ABC, Generic[_Setup]):
    """One point of a game. Immutable but for remembered texts.

    Attributes:
        side: to move.
        outcome: White's utility once the game is over, else None.
        before: the moment one action ago; None at the start.
        action: the last action; NO_ACTION at the start.
    """

    __slots__ = ("_actions", "_game", "_record", "_told", "action", "before", "outcome", "side")

    def __init__(
        self,
        game: RecordedGame[_Setup],
        record: U64Array,
        actions: npt.NDArray[np.int32],
        side: int,
        outcome: float | None = None,
        before: Self | None = None,
        action: int = NO_ACTION,
    ) -> None:
        self._game = game
        self._record = record
        self._actions = actions
        self._told: list[str | None] = [None, None]
        self.side = side
        self.outcome = outcome
        self.before = before
        self.action = action

    @classmethod
    @abc.abstractmethod
    def first(cls, setup: _Setup) -> Self:
        """The start of a game."""

    @abc.abstractmethod
    def after(self, action: int) -> Self:
        """The moment after an action of the side to move; ValueError if it is illegal."""

    @abc.abstractmethod
    def _news(self, player: int) -> str:
        """What is added to a player's information state here; not called at the start."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # OpenSpiel deep-copies the attributes of a Python state with every clone.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # As its actions: the chain of earlier moments is too deep for pickle.
        actions: list[int] = []
        moment = self
        while moment.before is not None:
            actions.append(moment.action)
            moment = moment.before
        return replay, (type(self), self.setup, actions[::-1])

    @property
    def setup(self) -> _Setup:
        """The game."""
        return self._game.setup

    @property
    def plies(self) -> int:
        """Moves made by both sides."""
        return int(self._record[states.PLIES])

    @property
    def position(self) -> rules.Position:
        """The true position."""
        start = self.setup.start
        (position,) = positions.unpack(self._game.board, self._record[None, :4], self.side)
        moved = (self.plies + (start.side == rules.BLACK)) // 2
        return position._replace(
            halfmove_clock=int(self._record[states.CLOCK]),
            fullmove_number=start.fullmove_number + moved,
        )

    @property
    def course(self) -> Course:
        """The true position and what draws depend on."""
        position = self.position
        first = self.plies - min(position.halfmove_clock, self.plies)
        earlier: list[rules.RepetitionKey] = []
        moment, last = self.before, self.plies
        while moment is not None and last > first:
            if moment.plies < last:  # else a failed try
                earlier.append(rules.repetition_key(moment.position))
                last = moment.plies
            moment = moment.before
        return Course(position, tuple(reversed(earlier)), self.plies)

    @property
    def told(self) -> tuple[str, str]:
        """[player] own actions and observations so far: the information state."""
        return self.told_to(rules.WHITE), self.told_to(rules.BLACK)

    def told_to(self, player: int) -> str:
        """One player's information state."""
        waiting = []
        moment: RecordedMoment[_Setup] | None = self
        while moment is not None and moment._told[player] is None:
            waiting.append(moment)
            moment = moment.before
        text = "" if moment is None else str(moment._told[player])
        for later in reversed(waiting):
            text += _COLOURS[player] if later.before is None else later._news(player)
            later._told[player] = text
        return text

    def own_castling_text(self, player: int) -> str:
        """The player's own castling rights, as in a FEN."""
        first, second, third = self._record[:3].tolist()
        rooks = first & second & third  # those with which a king may still castle
        corners = _corner_cells(self._game.board)[player]
        return boards.castling_letters(sum(right for right, cell in corners if rooks >> cell & 1))

    def legal_actions(self) -> Sequence[int]:
        """Actions of the side to move, in increasing order; none when the game is over."""
        actions: list[int] = self._actions.tolist()
        return actions


@functools.cache
def _corner_cells(board: positions.Layout) -> tuple[list[tuple[int, int]], ...]:
    """[player] the castling rights with the cells of their rooks."""
    corners = rules.geometry(board.width, board.height).corners
    return tuple(
        [
            (right, int(board.cell_of[corner]))
            for right, corner in corners.items()
            if right & rules.rights_of(colour)
        ]
        for colour in (rules.WHITE, rules.BLACK)
    )


def replay(
    kind: type[RecordedMoment[Any]], setup: Any, actions: Sequence[int]
) -> RecordedMoment[Any]:
    """The moment of that kind after these actions from the start."""
    moment = kind.first(setup)
    for action in actions:
        moment = moment.after(action)
    return moment
