"""What the umpire of Kriegspiel says, and which tries there are.

The announcements are those of the thesis (section 4.1.1): whose move it is, pawn or
piece gone with its square, the directions of a check, and how the game ended. Both
players hear them. Whether a try is legal is told to the player who tried.

All functions ignore the clocks of a position; `without_clocks` removes them, so that
positions which differ in nothing else are found in the caches.
"""

from __future__ import annotations

import enum
import functools
from typing import Final, NamedTuple

from klss_spiel.games.chess import boards, rules

QUIET: Final = "-"
CHECK_TEXT: Final = {
    rules.CheckDirection.VERTICAL: "check:vertical",
    rules.CheckDirection.HORIZONTAL: "check:horizontal",
    rules.CheckDirection.LONG_DIAGONAL: "check:long",
    rules.CheckDirection.SHORT_DIAGONAL: "check:short",
    rules.CheckDirection.KNIGHT: "check:knight",
}


class Gone(enum.IntEnum):
    """What the umpire says about a capture."""

    NOTHING = 0
    PAWN = 1
    PIECE = 2


class AreThereAny(enum.Enum):
    """What the umpire says about legal pawn captures when a move begins."""

    NONE = "none"  # nothing
    ANY = "any"  # whether there is one, to both players
    COUNT = "count"  # how many, to both players
    ALL = "all"  # each of them, to the side to move (the thesis' description)


class Announcement(NamedTuple):
    """What the umpire says after a legal move.

    Attributes:
        gone: whether a pawn or a piece was captured.
        square: where it stood, or None.
        checks: directions of the check given.
        pawn_captures: legal captures by pawns of the side now to move, whatever the
            pawn becomes, if anything is said about them; else empty.
        heard: [player] the announcement as that player hears it.
    """

    gone: Gone
    square: int | None
    checks: rules.CheckDirection
    pawn_captures: tuple[rules.Move, ...]
    heard: tuple[str, str]


SILENCE: Final = Announcement(Gone.NOTHING, None, rules.NO_CHECK, (), (QUIET, QUIET))


class Facts(NamedTuple):
    """What has happened in a legal move, as far as an umpire may speak of it.

    Attributes:
        gone: whether a pawn or a piece was captured.
        square: where it stood, or None.
        checks: directions of the check given.
        is_stuck: whether the side now to move has no legal move.
        is_dead: whether nobody can mate any more.
        pawn_captures: legal captures by its pawns, if anything is said about them.
    """

    gone: Gone
    square: int | None
    checks: rules.CheckDirection
    is_stuck: bool
    is_dead: bool
    pawn_captures: tuple[rules.Move, ...]


class Step(NamedTuple):
    """A legal move with its consequences."""

    move: rules.Move
    after: rules.Position
    announcement: Announcement


def without_clocks(position: rules.Position) -> rules.Position:
    """The position with its clocks at the start."""
    return position._replace(halfmove_clock=0, fullmove_number=1)


@functools.lru_cache(maxsize=1 << 16)
def step_of(position: rules.Position, move: rules.Move, any_rule: AreThereAny) -> Step | None:
    """The consequences of a try, or None if it is illegal.

    Args:
        position: a position without clocks; so is the one in the result.
        move: the try.
        any_rule: what is said about pawn captures.
    """
    if move not in _pseudo_legal_moves(position) or not rules.is_legal(position, move):
        return None
    after = without_clocks(rules.apply_move(position, move))
    return Step(move, after, _announce(position, move, after, any_rule))


@functools.lru_cache(maxsize=1 << 14)
def legal_steps(position: rules.Position, any_rule: AreThereAny) -> dict[rules.Move, Step]:
    """Every legal move with the position it leads to and what the umpire says."""
    steps = {move: step_of(position, move, any_rule) for move in _pseudo_legal_moves(position)}
    return {move: step for move, step in steps.items() if step is not None}


@functools.lru_cache(maxsize=1 << 16)
def is_stuck(position: rules.Position) -> bool:
    """Whether the side to move of a position without clocks is mated or stalemated."""
    return not any(rules.is_legal(position, move) for move in _pseudo_legal_moves(position))


@functools.lru_cache(maxsize=1 << 14)
def _pseudo_legal_moves(position: rules.Position) -> tuple[rules.Move, ...]:
    return tuple(rules.pseudo_legal_moves(position))


def _announce(
    before: rules.Position, move: rules.Move, after: rules.Position, any_rule: AreThereAny
) -> Announcement:
    square = rules.captured_square(before, move)
    gone = Gone.NOTHING
    if square is not None:
        is_pawn = rules.kind_of(before.squares[square]) == rules.PAWN
        gone = Gone.PAWN if is_pawn else Gone.PIECE
    facts = Facts(
        gone=gone,
        square=square,
        checks=rules.check_directions(after, after.side),
        is_stuck=is_stuck(after),
        is_dead=rules.is_dead(after),
        pawn_captures=() if any_rule is AreThereAny.NONE else _pawn_captures(after),
    )
    return announce(facts, any_rule, after.side, after.width)


@functools.lru_cache(maxsize=1 << 12)
def announce(facts: Facts, any_rule: AreThereAny, side: int, width: int) -> Announcement:
    """What the umpire says of a move after which `side` is to move."""
    gone, square, checks, stuck, dead, captures = facts
    words = []
    if square is not None:
        words.append(f"{gone.name.lower()}:{boards.square_name(square, width)}")
    words += [text for direction, text in CHECK_TEXT.items() if direction in checks]
    if stuck:
        words.append("mate" if checks else "stalemate")
    elif dead:
        words.append("draw")
    if any_rule is AreThereAny.ANY:
        words.append("try" if captures else "no")
    elif any_rule is AreThereAny.COUNT:
        words.append(f"tries:{len(captures)}")
    public = ",".join(words) or QUIET
    heard = [public, public]
    if any_rule is AreThereAny.ALL:
        names = [boards.move_to_uci(capture, width) for capture in captures]
        heard[side] += f",tries:{'+'.join(names) or QUIET}"
    return Announcement(gone, square, checks, captures, (heard[0], heard[1]))


def _pawn_captures(position: rules.Position) -> tuple[rules.Move, ...]:
    """Legal captures by pawns, one for all the pieces a pawn may become."""
    found = {
        rules.Move(move.source, move.target)
        for move in _pseudo_legal_moves(position)
        if rules.kind_of(position.squares[move.source]) == rules.PAWN
        and rules.captured_square(position, move) is not None
        and rules.is_legal(position, move)
    }
    return tuple(sorted(found))


def all_tries(position: rules.Position) -> list[rules.Move]:
    """Moves of the side to move that the own pieces alone do not rule out.

    The other side's pieces are ignored: pawns may try to step ahead and to capture
    on both sides, lines are open up to the first own piece.
    """
    side = position.side
    table = rules.geometry(position.width, position.height)
    own = bytes(code if rules.is_own(code, side) else rules.EMPTY for code in position.squares)
    alone = position._replace(squares=own, en_passant=None)
    tries = list(rules.moves_of(alone, side))
    for square, code in enumerate(own):
        if rules.kind_of(code) != rules.PAWN:
            continue
        for target in table.pawn_captures[side][square]:
            if own[target] == rules.EMPTY:
                last = target // table.width == table.last_rank[side]
                kinds = rules.PROMOTIONS if last else (rules.NO_PROMOTION,)
                tries += [rules.Move(square, target, kind) for kind in kinds]
    return tries
