"""The play of dark chess as pure values: what happens, who sees what, how it ends."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Final, NamedTuple

from klss_spiel.games.chess import observation, rules
from klss_spiel.games.chess.actions import ActionTable, action_table
from klss_spiel.games.chess.play import (
    DRAW,
    NO_ACTION,
    NO_HORIZON,
    OUTCOME_TEXT,
    Course,
    Tensors,
    TensorShapes,
    illegal_action,
    longest_course,
    reduce_moment,
    win_for,
)


@dataclasses.dataclass(frozen=True)
class DarkChessRules:
    """What the sources of the game disagree about.

    Attributes:
        no_move_loses: a side without any move loses; otherwise it is a draw.
        observe_every_ply: both players look at the board after every ply; otherwise
            a player looks only when about to move and when the game is over.
        queen_only: a pawn can become nothing but a queen.
    """

    no_move_loses: bool = True
    observe_every_ply: bool = True
    queen_only: bool = False


# "paper": Obscuro, appendix A. "thesis": only so has Mate2 the 3.7 million nodes and 77
# public states that the thesis reports. "no_move_draws": what OpenSpiel's C++ game and
# Fairy-Stockfish do. "observe_on_turn": the beliefs of players who look less often.
RULES: Final = {
    "paper": DarkChessRules(),
    "thesis": DarkChessRules(queen_only=True),
    "no_move_draws": DarkChessRules(no_move_loses=False),
    "observe_on_turn": DarkChessRules(observe_every_ply=False),
}


@functools.lru_cache(maxsize=1 << 16)
def _legal_actions(position: rules.Position, queen_only: bool) -> tuple[int, ...]:
    numbers = action_table(position.width, position.height).numbers
    moves = rules.pseudo_legal_moves(position)
    if queen_only:
        moves = [m for m in moves if m.promotion in (rules.NO_PROMOTION, rules.QUEEN)]
    return tuple(sorted([numbers[move] for move in moves]))


@dataclasses.dataclass(frozen=True)
class DarkChessSetup:
    """A game of dark chess before its first move.

    Attributes:
        start: the starting position, known to both players.
        horizon: plies after which the game is drawn, or NO_HORIZON.
        variant: see `RULES`.
    """

    start: rules.Position
    horizon: int = NO_HORIZON
    variant: DarkChessRules = RULES["paper"]

    @property
    def table(self) -> ActionTable:
        """The numbering of actions."""
        return action_table(self.start.width, self.start.height)

    @property
    def remembered_plies(self) -> int:
        """Plies of an information state tensor, the start included; 0 for no tensor.

        Views tell every own move only if the player looks after each.
        """
        return self.horizon + 1 if self.horizon and self.variant.observe_every_ply else 0

    @property
    def max_game_length(self) -> int:
        """A bound on the number of actions in a game."""
        return self.horizon or longest_course(self.start)

    def first_moment(self) -> DarkChessMoment:
        """The start of the game."""
        return DarkChessMoment(self, Course(self.start), ("White", "Black"), None)

    def legal_actions(self, position: rules.Position) -> tuple[int, ...]:
        """Actions of the side to move, in increasing order."""
        return _legal_actions(position, self.variant.queen_only)

    def outcome(self, course: Course) -> float | None:
        """White's utility if the game is over, else None."""
        position = course.position
        if rules.king_square(position, position.side) is None:
            return win_for(1 - position.side)
        if not self.legal_actions(position):
            return win_for(1 - position.side) if self.variant.no_move_loses else DRAW
        if course.is_drawn or course.plies == self.horizon != NO_HORIZON:
            return DRAW
        return None


class DarkChessMoment(NamedTuple):
    """One point of a game by the plain rules; implements `play.Moment`.

    The reference of `packed.moments`, on which the game itself is played.

    Attributes:
        setup: the game.
        course: the true position and what draws depend on.
        told: [player] own moves and observations so far: the information state.
        outcome: White's utility once the game is over, else None.
        before: the moment one ply ago; None at the start.
        action: the last action; NO_ACTION at the start.
    """

    setup: DarkChessSetup
    course: Course
    told: tuple[str, str]
    outcome: float | None
    before: DarkChessMoment | None = None
    action: int = NO_ACTION

    def __deepcopy__(self, memo: dict[int, Any]) -> DarkChessMoment:
        # OpenSpiel deep-copies the attributes of a Python state with every clone.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_moment(self)

    @property
    def position(self) -> rules.Position:
        """The true position."""
        return self.course.position

    @property
    def side(self) -> int:
        """Who is to move."""
        return self.course.position.side

    @property
    def plies(self) -> int:
        """Moves made by both sides."""
        return self.course.plies

    def told_to(self, player: int) -> str:
        """One player's information state."""
        return self.told[player]

    def legal_actions(self) -> tuple[int, ...]:
        """Actions of the side to move, in increasing order."""
        return self.setup.legal_actions(self.course.position) if self.outcome is None else ()

    def after(self, action: int) -> DarkChessMoment:
        """The moment after an action of the side to move; ValueError if it is illegal."""
        setup = self.setup
        if action not in self.legal_actions():
            raise illegal_action(setup, self.legal_actions(), action)
        table = setup.table
        mover = self.course.position.side
        course = self.course.after(table.moves[action])
        outcome = setup.outcome(course)
        ending = "" if outcome is None else f" {OUTCOME_TEXT[outcome]}"
        told = list(self.told)
        told[mover] += f" {table.names[action]}"
        for player in (rules.WHITE, rules.BLACK):
            if setup.variant.observe_every_ply or player != mover or ending:
                told[player] += f" {observation.told_text(course.position, player)}{ending}"
        return DarkChessMoment(setup, course, (told[0], told[1]), outcome, self, action)

    def view(self, player: int) -> tuple[rules.Position, int]:
        """The position the player last looked at and the squares seen in it."""
        position = self._look(player)
        return position, rules.visible_squares(position, player)

    def _look(self, player: int) -> rules.Position:
        """The position the player last looked at."""
        looks_now = self.setup.variant.observe_every_ply or self.outcome is not None
        if looks_now or self.before is None or self.course.position.side == player:
            return self.course.position
        return self.before.course.position

    def public_text(self) -> str:
        """What is public in the thesis' sense; see `observation.mutual_attacks`."""
        return observation.board_text(self.course.position, self._public_squares())

    def _public_squares(self) -> int:
        # Players who look at different times share nothing.
        if not self.setup.variant.observe_every_ply:
            return 0
        return observation.mutual_attacks(self.course.position)

    def private_text(self, player: int) -> str:
        """Everything a player can use now: the visible board, castling, en passant."""
        position = self._look(player)
        castling = observation.own_castling_text(position, player)
        en_passant = observation.own_en_passant_text(position, player)
        return f"{observation.fog_text(position, player)} {castling} {en_passant}"

    def public_shapes(self) -> TensorShapes:
        """Names and shapes of the public tensors."""
        return {"public_board": observation.planes_shape(self.setup.start)}

    def write_public(self, tensors: Tensors) -> None:
        """Fills the public tensors."""
        seen = self._public_squares()
        observation.write_planes(tensors["public_board"], self.course.position, seen)

    def private_shapes(self) -> TensorShapes:
        """Names and shapes of a player's tensors."""
        return observation.fog_shapes(self.setup.start)

    def write_private(self, player: int, tensors: Tensors) -> None:
        """Fills a player's tensors."""
        position, seen = self.view(player)
        observation.write_fog(tensors, position, seen, player)
