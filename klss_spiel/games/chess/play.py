"""The course of a chess game, and what an OpenSpiel adapter needs to know of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.actions import ActionTable

DEFAULT_BOARD: Final = "standard"
NO_HORIZON: Final = 0
NO_ACTION: Final = -1

# Player numbers of OpenSpiel are the colours: White is player 0.
WHITE_WINS: Final = 1.0
DRAW: Final = 0.0
BLACK_WINS: Final = -1.0
OUTCOME_TEXT: Final = {WHITE_WINS: "1-0", DRAW: "1/2", BLACK_WINS: "0-1"}

TensorShapes = dict[str, tuple[int, ...]]
Tensors = Mapping[str, npt.NDArray[np.float32]]


def win_for(colour: int) -> float:
    """White's utility when that colour wins."""
    return WHITE_WINS if colour == rules.WHITE else BLACK_WINS


class Course(NamedTuple):
    """A game as far as it has been played, with what draws depend on.

    Attributes:
        position: the true position.
        earlier: positions since the last capture or pawn move, before this one.
        plies: moves made by both sides.
    """

    position: rules.Position
    earlier: tuple[rules.RepetitionKey, ...] = ()
    plies: int = 0

    def after(self, move: rules.Move) -> Course:
        """The course after one more move."""
        position = rules.apply_move(self.position, move)
        earlier: tuple[rules.RepetitionKey, ...] = ()
        if position.halfmove_clock:
            earlier = (*self.earlier, rules.repetition_key(self.position))
        return Course(position, earlier, self.plies + 1)

    @property
    def is_drawn(self) -> bool:
        """Whether the position stands for the third time or fifty moves have passed."""
        return (
            self.position.halfmove_clock >= rules.FIFTY_MOVES
            or self.earlier.count(rules.repetition_key(self.position)) >= 2
        )


class Setup(Protocol):
    """A game before its first move."""

    @property
    def table(self) -> ActionTable:
        """The numbering of actions."""

    @property
    def remembered_plies(self) -> int:
        """Plies of an information state tensor, the start included; 0 for no tensor."""

    @property
    def max_game_length(self) -> int:
        """A bound on the number of actions in a game."""

    def first_moment(self) -> Moment:
        """The start of the game."""


class Moment(Protocol):
    """One point of a game: an immutable value.

    A player's texts and tensors depend only on what the player has been told.
    """

    @property
    def setup(self) -> Setup:
        """The game."""

    @property
    def course(self) -> Course:
        """The true position and what draws depend on."""

    @property
    def position(self) -> rules.Position:
        """The true position."""

    @property
    def side(self) -> int:
        """Who is to move."""

    @property
    def plies(self) -> int:
        """Moves made by both sides."""

    def told_to(self, player: int) -> str:
        """A player's own actions and observations so far: the information state."""

    @property
    def outcome(self) -> float | None:
        """White's utility once the game is over, else None."""

    @property
    def before(self) -> Moment | None:
        """The moment one action ago; None at the start."""

    @property
    def action(self) -> int:
        """The last action; NO_ACTION at the start."""

    def legal_actions(self) -> Sequence[int]:
        """Actions of the side to move, in increasing order; none when the game is over."""

    def after(self, action: int) -> Moment:
        """The moment after an action of the side to move; ValueError if it is illegal."""

    def view(self, player: int) -> tuple[rules.Position, int]:
        """A position and the bit set of its squares that the player sees now."""

    def public_text(self) -> str:
        """The latest public observation."""

    def private_text(self, player: int) -> str:
        """A player's view now, which includes the public observation."""

    def public_shapes(self) -> TensorShapes:
        """Names and shapes of the public tensors."""

    def write_public(self, tensors: Tensors) -> None:
        """Fills the public tensors, which are zero."""

    def private_shapes(self) -> TensorShapes:
        """Names and shapes of a player's tensors."""

    def write_private(self, player: int, tensors: Tensors) -> None:
        """Fills a player's tensors, which are zero."""


def illegal_action(setup: Setup, legal: Sequence[int], action: int) -> ValueError:
    """What to raise for an action that is none of the legal ones."""
    names = ", ".join(setup.table.names[known] for known in legal)
    return ValueError(f"expected an action among {names}, got {action}")


def chain(moment: Moment) -> list[Moment]:
    """The moments of a game up to this one, from the first."""
    moments = [moment]
    while (before := moments[-1].before) is not None:
        moments.append(before)
    return moments[::-1]


def replay(setup: Setup, actions: Sequence[int]) -> Moment:
    """The moment after these actions from the start."""
    moment = setup.first_moment()
    for action in actions:
        moment = moment.after(action)
    return moment


def reduce_moment(moment: Moment) -> tuple[Any, ...]:
    """Pickles a moment as its actions: the chain of earlier moments is too deep for pickle."""
    return replay, (moment.setup, [earlier.action for earlier in chain(moment)[1:]])


def longest_course(position: rules.Position) -> int:
    """A bound on the number of plies a game from this position can last.

    The game is drawn after FIFTY_MOVES plies without a capture or a pawn move, and
    there are only so many of these.
    """
    last_rank = rules.geometry(position.width, position.height).last_rank
    irreversible = 0
    for square, code in enumerate(position.squares):
        kind = rules.kind_of(code)
        if kind == rules.PAWN:
            irreversible += abs(last_rank[code >> 3] - square // position.width)
        if kind not in (rules.EMPTY, rules.KING):
            irreversible += 1
    return (irreversible + 1) * rules.FIFTY_MOVES


def start_from_parameters(parameters: Mapping[str, Any]) -> rules.Position:
    """Starting position named by the parameters `fen` or, if that is empty, `board`.

    A complete set of parameters has a board even if the user gave none, so that the
    default beside a FEN means nothing; any other board beside one is refused.
    """
    fen, board = str(parameters["fen"]), str(parameters["board"])
    if fen and board != DEFAULT_BOARD:
        raise ValueError(f"expected fen or board, got both: fen={fen!r}, board={board!r}")
    return boards.position_from_fen(fen) if fen else boards.position_of(board)


def horizon_from_parameters(parameters: Mapping[str, Any]) -> int:
    """The parameter `horizon`: plies after which the game is a draw, NO_HORIZON for none."""
    horizon = int(parameters["horizon"])
    if horizon < NO_HORIZON:
        raise ValueError(f"expected horizon={NO_HORIZON} (none) or more plies, got {horizon}")
    return horizon
