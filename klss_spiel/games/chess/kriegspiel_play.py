"""The play of Kriegspiel as pure values: tries, answers, what each player knows."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
from typing import Any, Final, NamedTuple

from klss_spiel.games.chess import kriegspiel_umpire as umpire
from klss_spiel.games.chess import observation, rules
from klss_spiel.games.chess.actions import ActionTable, action_table
from klss_spiel.games.chess.memory import Memory
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

ILLEGAL: Final = "?"
OVERHEARD: Final = " tried"
_MAX_KNOWLEDGE: Final = 1 << 17  # information states whose positions are remembered


class Tries(enum.Enum):
    """Which tries are offered to the side to move.

    ALL are the moves that the own pieces alone do not rule out. POSSIBLE are only
    those that are legal in some position the player holds possible. The others would
    be answered "illegal" for certain and teach nothing, so the value of the game is
    the same (unless tries count towards the horizon) and its tree far smaller. Every
    set of possible positions is kept exactly, which is meant for small boards. Draws
    by repetition or fifty moves are not used to exclude positions, so past those a
    superset is offered.
    """

    ALL = "all"
    POSSIBLE = "possible"


@dataclasses.dataclass(frozen=True, eq=False)
class KriegspielSetup:
    """A game of Kriegspiel before its first move.

    Attributes:
        start: the starting position, known to both players.
        horizon: plies after which the game is drawn, or NO_HORIZON.
        announce_tries: whether the other player hears of an illegal try.
        are_there_any: what is said about pawn captures.
        count_tries: whether illegal tries count towards the horizon.
        tries: which tries are offered.
        knowledge: positions held possible, by information state: a memory of
            `KriegspielMoment.possible_positions` and no part of the value.
        offers: likewise the tries offered, if these are the possible ones.
    """

    start: rules.Position
    horizon: int = NO_HORIZON
    announce_tries: bool = False
    are_there_any: umpire.AreThereAny = umpire.AreThereAny.NONE
    count_tries: bool = False
    tries: Tries = Tries.ALL
    knowledge: Memory[str, frozenset[rules.Position]] = dataclasses.field(
        default_factory=lambda: Memory(_MAX_KNOWLEDGE), repr=False
    )
    offers: Memory[str, tuple[int, ...]] = dataclasses.field(
        default_factory=lambda: Memory(_MAX_KNOWLEDGE), repr=False
    )

    @property
    def table(self) -> ActionTable:
        """The numbering of actions."""
        return action_table(self.start.width, self.start.height)

    @property
    def remembered_plies(self) -> int:
        """Plies of an information state tensor, the start included; 0 for no tensor."""
        return self.horizon + 1 if self.horizon else 0

    @property
    def max_game_length(self) -> int:
        """A bound on the number of actions in a game, tries included."""
        plies = self.horizon or longest_course(self.start)
        return plies if self.count_tries and self.horizon else plies * len(self.table.moves)

    def first_moment(self) -> KriegspielMoment:
        """The start of the game."""
        return KriegspielMoment(
            self, Course(self.start), ("White", "Black"), None, None, umpire.SILENCE
        )

    def outcome(self, course: Course, num_tries: int) -> float | None:
        """White's utility if the game is over, else None."""
        position = course.position
        if umpire.is_stuck(umpire.without_clocks(position)):
            mated = rules.in_check(position, position.side)
            return win_for(1 - position.side) if mated else DRAW
        counted = course.plies + (num_tries if self.count_tries else 0)
        if rules.is_dead(position) or course.is_drawn or counted == self.horizon != NO_HORIZON:
            return DRAW
        return None


@functools.lru_cache(maxsize=1 << 14)
def _all_tries(position: rules.Position) -> tuple[int, ...]:
    numbers = action_table(position.width, position.height).numbers
    return tuple(sorted(numbers[move] for move in umpire.all_tries(position)))


def tries_text(
    setup: KriegspielSetup, failed: tuple[rules.Move, ...], own_tries: bool
) -> list[str]:
    """Words on the illegal tries since the last move, to who made them or to the other."""
    if own_tries:
        names, numbers = setup.table.names, setup.table.numbers
        return [f"{names[numbers[move]]}{ILLEGAL}" for move in failed]
    return [f"{OVERHEARD.strip()}:{len(failed)}"] if setup.announce_tries else []


class KriegspielMoment(NamedTuple):
    """One point of a game; implements `play.Moment`.

    Attributes:
        setup: the game.
        course: the true position and what draws depend on.
        told: [player] own tries and announcements so far: the information state.
        outcome: White's utility once the game is over, else None.
        before: the moment one action ago; None at the start.
        announcement: what the umpire said after the last legal move.
        action: the last try; NO_ACTION at the start.
        failed: illegal tries of the side to move since then.
        num_tries: illegal tries in the whole game.
    """

    setup: KriegspielSetup
    course: Course
    told: tuple[str, str]
    outcome: float | None
    before: KriegspielMoment | None
    announcement: umpire.Announcement
    action: int = NO_ACTION
    failed: tuple[rules.Move, ...] = ()
    num_tries: int = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> KriegspielMoment:
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
        """Tries of the side to move, in increasing order."""
        if self.outcome is not None:
            return ()
        if self.setup.tries is Tries.POSSIBLE:
            return self._possible_tries()
        # The answer is the same whatever a pawn would become.
        closed = {(move.source, move.target) for move in self.failed}
        moves = self.setup.table.moves
        tries = _all_tries(umpire.without_clocks(self.course.position))
        return tuple(a for a in tries if moves[a][:2] not in closed)

    def _possible_tries(self) -> tuple[int, ...]:
        setup, side = self.setup, self.course.position.side
        offered = setup.offers.get(self.told[side])
        if offered is None:
            steps = (
                umpire.legal_steps(position, setup.are_there_any)
                for position in self.possible_positions(side)
            )
            numbers = setup.table.numbers
            offered = tuple(sorted(numbers[move] for move in set(itertools.chain(*steps))))
            setup.offers.put(self.told[side], offered)
        return offered

    def after(self, action: int) -> KriegspielMoment:
        """The moment after a try of the side to move; ValueError if it is not offered."""
        setup = self.setup
        if action not in self.legal_actions():
            raise illegal_action(setup, self.legal_actions(), action)
        position = umpire.without_clocks(self.course.position)
        move = setup.table.moves[action]
        step = umpire.step_of(position, move, setup.are_there_any)
        told = list(self.told)
        told[position.side] += f" {setup.table.names[action]}"
        if step is None:
            course, announcement = self.course, self.announcement
            failed, num_tries = (*self.failed, move), self.num_tries + 1
            told[position.side] += ILLEGAL
            told[1 - position.side] += OVERHEARD if setup.announce_tries else ""
        else:
            course, announcement = self.course.after(move), step.announcement
            failed, num_tries = (), self.num_tries
            for player, heard in enumerate(announcement.heard):
                told[player] += f" {heard}"
        outcome = setup.outcome(course, num_tries)
        ending = "" if outcome is None else f" {OUTCOME_TEXT[outcome]}"
        return KriegspielMoment(
            setup,
            course,
            (told[0] + ending, told[1] + ending),
            outcome,
            self,
            announcement,
            action,
            failed,
            num_tries,
        )

    def possible_positions(self, player: int) -> frozenset[rules.Position]:
        """Every position (without clocks) that fits what the player has been told."""
        knowledge = self.setup.knowledge
        unlearned = []
        positions = None
        moment: KriegspielMoment | None = self
        while moment is not None and (positions := knowledge.get(moment.told[player])) is None:
            unlearned.append(moment)
            moment = moment.before
        if positions is None:
            positions = frozenset([umpire.without_clocks(self.setup.start)])
        for later in reversed(unlearned):
            positions = later._learn(player, positions)
            knowledge.put(later.told[player], positions)
        return positions

    def _learn(
        self, player: int, positions: frozenset[rules.Position]
    ) -> frozenset[rules.Position]:
        """The positions a player holds possible now, given those of one action ago."""
        if self.before is None:
            return positions
        move = self.setup.table.moves[self.action]
        mover = self.before.course.position.side
        steps = [umpire.legal_steps(q, self.setup.are_there_any) for q in positions]
        if self.failed:
            if player != mover:
                return positions
            illegal = (move not in s for s in steps)
            return frozenset(itertools.compress(positions, illegal))
        heard = self.announcement.heard[player]
        own = player == mover
        return frozenset(
            step.after
            for s in steps
            for step in ([s[move]] if own and move in s else () if own else s.values())
            if step.announcement.heard[player] == heard
        )

    def view(self, player: int) -> tuple[rules.Position, int]:
        """The true position and the squares of the own pieces."""
        position = self.course.position
        return position, observation.own_squares(position, player)

    def public_text(self) -> str:
        """The latest announcement as both players hear it, and whose move it is."""
        public = self.announcement.heard[1 - self.course.position.side]
        tries = f"{OVERHEARD}:{len(self.failed)}" if self.setup.announce_tries else ""
        return f"{'wb'[self.course.position.side]} {public}{tries}"

    def private_text(self, player: int) -> str:
        """The own pieces, castling rights, announcement, and the own failed tries."""
        position = self.course.position
        words = [
            observation.own_text(position, player),
            observation.own_castling_text(position, player),
            self.announcement.heard[player],
            *tries_text(self.setup, self.failed, own_tries=player == position.side),
        ]
        return " ".join(words)

    def public_shapes(self) -> TensorShapes:
        """Names and shapes of the public tensors."""
        start = self.setup.start
        shapes: TensorShapes = {
            "gone": (len(umpire.Gone) - 1, start.height, start.width),
            "checks": (len(rules.CheckDirection),),
        }
        if self.setup.announce_tries:
            shapes["overheard"] = (1,)
        if self.setup.are_there_any in (umpire.AreThereAny.ANY, umpire.AreThereAny.COUNT):
            shapes["pawn_captures"] = (1,)
        return shapes

    def write_public(self, tensors: Tensors) -> None:
        """Fills the public tensors."""
        gone, square, checks, captures, _ = self.announcement
        if square is not None:
            width = self.course.position.width
            tensors["gone"][gone - 1, square // width, square % width] = 1.0
        tensors["checks"][:] = [direction in checks for direction in rules.CheckDirection]
        if self.setup.announce_tries:
            tensors["overheard"][0] = len(self.failed)
        if self.setup.are_there_any is umpire.AreThereAny.ANY:
            tensors["pawn_captures"][0] = bool(captures)
        elif self.setup.are_there_any is umpire.AreThereAny.COUNT:
            tensors["pawn_captures"][0] = len(captures)

    def private_shapes(self) -> TensorShapes:
        """Names and shapes of a player's tensors."""
        num_actions = len(self.setup.table.moves)
        shapes: TensorShapes = {
            "board": observation.planes_shape(self.setup.start),
            "castling": (2,),
            "failed": (num_actions,),
            **self.public_shapes(),
        }
        if self.setup.are_there_any is umpire.AreThereAny.ALL:
            shapes["pawn_captures"] = (num_actions,)
        return shapes

    def write_private(self, player: int, tensors: Tensors) -> None:
        """Fills a player's tensors; the own failed tries are numbered 1, 2, ..."""
        position, seen = self.view(player)
        numbers = self.setup.table.numbers
        observation.write_planes(tensors["board"], position, seen)
        observation.write_castling(tensors["castling"], position, player)
        self.write_public(tensors)
        if player != position.side:
            return
        for order, move in enumerate(self.failed, start=1):
            tensors["failed"][numbers[move]] = order
        if self.setup.are_there_any is umpire.AreThereAny.ALL:
            tensors["pawn_captures"][[numbers[m] for m in self.announcement.pawn_captures]] = 1.0
