"""Moments of dark chess on packed positions: the states of `python_dark_chess`.

A `PackedMoment` is the compiled counterpart of `dark_chess_play.DarkChessMoment`, which is
its readable reference: moves, views and endings come from `kernels.states`, texts are made
when they are asked for.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import boards, observation, rules
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.kernels import states
from klss_spiel.games.chess.play import (
    NO_ACTION,
    OUTCOME_TEXT,
    Course,
    Tensors,
    TensorShapes,
    illegal_action,
)

_COLOURS: Final = ("White", "Black")


@dataclasses.dataclass(frozen=True, eq=False)
class _Game:
    """A setup with what kernels need to know of it."""

    setup: DarkChessSetup
    board: positions.Layout
    arguments: tuple[Any, ...]

    @classmethod
    def of(cls, setup: DarkChessSetup) -> _Game:
        board = positions.layout(setup.start.width, setup.start.height)
        variant = setup.variant
        words = [positions.pack_move(board, move) for move in setup.table.moves]
        arguments = (
            board.masks,
            np.array(words, dtype=np.uint16),
            positions.action_numbers(board),
            variant.queen_only,
            variant.no_move_loses,
            setup.horizon,
        )
        return cls(setup, board, arguments)


class PackedMoment:
    """One point of a game; implements `play.Moment`. Immutable but for remembered texts.

    Attributes:
        side: to move.
        outcome: White's utility once the game is over, else None.
        before: the moment one ply ago; None at the start.
        action: the last action; NO_ACTION at the start.
    """

    __slots__ = ("_actions", "_game", "_record", "_told", "action", "before", "outcome", "side")

    def __init__(
        self,
        game: _Game,
        record: U64Array,
        actions: npt.NDArray[np.int32],
        side: int,
        outcome: float | None = None,
        before: PackedMoment | None = None,
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

    def __copy__(self) -> PackedMoment:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PackedMoment:
        # OpenSpiel deep-copies the attributes of a Python state with every clone.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # As its actions: the chain of earlier moments is too deep for pickle.
        actions: list[int] = []
        moment: PackedMoment = self
        while moment.before is not None:
            actions.append(moment.action)
            moment = moment.before
        return replay, (self.setup, actions[::-1])

    @property
    def setup(self) -> DarkChessSetup:
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
        earlier: list[rules.RepetitionKey] = []
        moment = self.before
        for _ in range(min(position.halfmove_clock, self.plies)):
            assert moment is not None
            earlier.append(rules.repetition_key(moment.position))
            moment = moment.before
        return Course(position, tuple(reversed(earlier)), self.plies)

    @property
    def told(self) -> tuple[str, str]:
        """[player] own moves and observations so far: the information state."""
        return self.told_to(rules.WHITE), self.told_to(rules.BLACK)

    def told_to(self, player: int) -> str:
        """One player's information state."""
        waiting = []
        moment: PackedMoment | None = self
        while moment is not None and moment._told[player] is None:
            waiting.append(moment)
            moment = moment.before
        text = "" if moment is None else str(moment._told[player])
        for later in reversed(waiting):
            text += later._news(player)
            later._told[player] = text
        return text

    def _news(self, player: int) -> str:
        """What is added to a player's information state here."""
        if self.before is None:
            return _COLOURS[player]
        own = self.before.side == player
        text = f" {self.setup.table.names[self.action]}" if own else ""
        if self.setup.variant.observe_every_ply or not own or self.outcome is not None:
            view, right = self._see(player)
            text += f" {view}"
            if right != observation.NO_SQUARE:
                text += f" {observation.EN_PASSANT_MARK}{right}"
        return text if self.outcome is None else f"{text} {OUTCOME_TEXT[self.outcome]}"

    def _see(self, player: int) -> tuple[str, str]:
        """A player's view of the true position now, and the en-passant square or NO_SQUARE."""
        board = self._game.board
        text, onto = states.write_view(
            self._record, self.side, player, self._game.arguments, board.width, board.height
        )
        right = observation.NO_SQUARE
        if onto >= 0:
            right = boards.square_name(int(board.square_of[onto]), board.width)
        return text.tobytes().decode(), right

    def legal_actions(self) -> Sequence[int]:
        """Actions of the side to move, in increasing order; none when the game is over."""
        actions: list[int] = self._actions.tolist()
        return actions

    def after(self, action: int) -> PackedMoment:
        """The moment after an action of the side to move; ValueError if it is illegal."""
        record, actions, code = states.advance(
            self._record, self._actions, action, self.side, self._game.arguments
        )
        if code == states.ILLEGAL:
            raise illegal_action(self.setup, self.legal_actions(), action)
        outcome = None if code == states.GOES_ON else float(code - states.DRAWN)
        return PackedMoment(self._game, record, actions, 1 - self.side, outcome, self, action)

    def view(self, player: int) -> tuple[rules.Position, int]:
        """The position the player last looked at and the squares seen in it."""
        looked = self._looked(player)
        cells = int(states.sight(looked._record, looked.side, player, self._game.arguments))
        cell_of = self._game.board.cell_of.tolist()
        return looked.position, sum((cells >> cell & 1) << s for s, cell in enumerate(cell_of))

    def _looked(self, player: int) -> PackedMoment:
        """The moment of the player's last look at the board."""
        looks_now = self.setup.variant.observe_every_ply or self.outcome is not None
        if looks_now or self.before is None or self.side == player:
            return self
        return self.before

    def public_text(self) -> str:
        """What is public in the thesis' sense; see `observation.mutual_attacks`."""
        position = self.position
        return observation.board_text(position, self._public_squares(position))

    def _public_squares(self, position: rules.Position) -> int:
        # Players who look at different times share nothing.
        if not self.setup.variant.observe_every_ply:
            return 0
        return observation.mutual_attacks(position)

    def private_text(self, player: int) -> str:
        """Everything a player can use now: the visible board, castling, en passant."""
        looked = self._looked(player)
        view, right = looked._see(player)
        castling = observation.own_castling_text(looked.position, player)
        return f"{view} {castling} {right}"

    def public_shapes(self) -> TensorShapes:
        """Names and shapes of the public tensors."""
        return {"public_board": observation.planes_shape(self.setup.start)}

    def write_public(self, tensors: Tensors) -> None:
        """Fills the public tensors."""
        position = self.position
        seen = self._public_squares(position)
        observation.write_planes(tensors["public_board"], position, seen)

    def private_shapes(self) -> TensorShapes:
        """Names and shapes of a player's tensors."""
        return observation.fog_shapes(self.setup.start)

    def write_private(self, player: int, tensors: Tensors) -> None:
        """Fills a player's tensors."""
        position, seen = self.view(player)
        observation.write_fog(tensors, position, seen, player)


@functools.lru_cache(maxsize=64)
def first_moment(setup: DarkChessSetup) -> PackedMoment:
    """The start of a game."""
    game = _Game.of(setup)
    (words,) = positions.pack([setup.start])
    start = setup.start
    record, actions = states.begin(words, start.side, start.halfmove_clock, game.arguments)
    return PackedMoment(game, record, actions, start.side)


def replay(setup: DarkChessSetup, actions: Sequence[int]) -> PackedMoment:
    """The moment after these actions from the start."""
    moment = first_moment(setup)
    for action in actions:
        moment = moment.after(action)
    return moment
