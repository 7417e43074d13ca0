"""The lines of a protocol by which programs play games of hidden information.

It is UCI with one difference: a program is never told a position, only what its player
sees. After every ply the referee sends

    position fog_fen <board> <castling> <en passant> [move OWN] [umpire TEXT]

    board       the ranks from the last one down, `.` or a number for empty squares, `?` or
                `*` for squares that are not seen; in Kriegspiel the own pieces only
    castling    the own rights as in a FEN, `-` for none; counts when it is the own turn
    en passant  the square onto which an own pawn may capture en passant now, or `-`
    move        the own move, if this ply was one; in Kriegspiel also a try
    umpire      what the umpire of Kriegspiel said: `illegal` after a try that was, else
                the announcement in the words of `python_kriegspiel`, `-` if there was none

and `go infinite|movetime|nodes|wtime|btime|winc|binc ...` when it is the program's turn, which it
answers by `info` lines and `bestmove`. The options `Game` (a game string) and `Colour`
(white or black) say what is played.

From these lines the player's information state is put together, word by word as the game
itself tells it, and the own legal moves follow from the board.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from klss_spiel.games.chess import boards, observation, rules
from klss_spiel.games.chess import kriegspiel_umpire as umpire

ILLEGAL = "illegal"
COLOURS = ("white", "black")
_TOLD_NAMES = ("White", "Black")
_HIDDEN = "?*"
_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?")
_DARK, _KRIEGSPIEL = "python_dark_chess", "python_kriegspiel"


@dataclasses.dataclass(frozen=True)
class View:
    """One ply as a player is told of it.

    Attributes:
      board: ranks from the last one down, `?` for what is not seen, `.` for empty squares.
      castling: own rights.
      en_passant: square, or `-`.
      move: own move or try of this ply, or None.
      umpire: what the umpire said, or None.
    """

    board: str
    castling: str = "-"
    en_passant: str = "-"
    move: str | None = None
    umpire: str | None = None

    def line(self) -> str:
        """The command that tells it."""
        words = ["position fog_fen", self.board, self.castling, self.en_passant]
        words += [] if self.move is None else ["move", self.move]
        words += [] if self.umpire is None else ["umpire", self.umpire]
        return " ".join(words)


def parse_view(words: list[str], width: int, height: int) -> View:
    """Reads what follows `position fog_fen`.

    Raises:
      ValueError: says what was expected and what came.
    """
    if len(words) < 3:
        raise ValueError("expected board, castling rights and en-passant square")
    board = _plain_board(words[0], width, height)
    castling, en_passant, *rest = words[1:]
    if castling != "-" and not re.fullmatch("[KQkq]+", castling):
        raise ValueError(f"expected castling rights such as KQ or -, got {castling!r}")
    if en_passant != "-":
        boards.square_from_name(en_passant, width, height)
    move = said = None
    if rest and rest[0] == "move":
        if len(rest) < 2 or not _MOVE.fullmatch(rest[1]):
            raise ValueError(f"expected a move such as e2e4, got {' '.join(rest[1:2])!r}")
        move, rest = rest[1], rest[2:]
    if rest and rest[0] == "umpire":
        said, rest = " ".join(rest[1:]), []
        if not said:
            raise ValueError("expected the umpire's words after 'umpire'")
    if rest:
        raise ValueError(f"expected 'move' or 'umpire', got {rest[0]!r}")
    return View(board, castling, en_passant, move, said)


def _plain_board(text: str, width: int, height: int) -> str:
    """A board with `?` for all that is hidden and `.` for every empty square."""
    plain = re.sub(r"\d", lambda match: "." * int(match.group()), text)
    plain = re.sub(rf"[{re.escape(_HIDDEN)}]", observation.UNSEEN, plain)
    ranks = plain.split("/")
    if [len(rank) for rank in ranks] != [width] * height:
        raise ValueError(f"expected a {width}x{height} board, got {text!r}")
    if not set(plain) <= set("PNBRQKpnbrqk./?"):
        raise ValueError(f"expected pieces, '.', '?' and '*', got {text!r}")
    return plain


class ToldGame:
    """One player's game, put together from views. Mutable.

    Attributes:
      game: the `pyspiel.Game`.
      player: whose views these are.
      told: the information state string so far.
      view: the latest one; None before the first.
      mover: who makes the next ply.
    """

    def __init__(self, game: Any, player: int) -> None:
        """The start of a game.

        Raises:
          ValueError: the game is not one of chess, or its players are told too little.
        """
        name = game.get_type().short_name
        if name not in (_DARK, _KRIEGSPIEL):
            raise ValueError(f"expected {_DARK} or {_KRIEGSPIEL}, got {name}")
        self.game = game
        self.player = player
        self.told = _TOLD_NAMES[player]
        self.view: View | None = None
        self._is_kriegspiel = name == _KRIEGSPIEL
        start = game.new_initial_state()
        self._start = start.moment.position
        self.mover = int(self._start.side)
        self._table = start.moment.setup.table
        self._setup = start.moment.setup
        if not self._is_kriegspiel and not self._setup.variant.observe_every_ply:
            raise ValueError(f"expected rules with a view after every ply, got {game}")
        self._failed: list[rules.Move] = []

    @property
    def size(self) -> tuple[int, int]:
        """Files and ranks."""
        return self._start.width, self._start.height

    def see(self, view: View) -> None:
        """Takes in one ply.

        Raises:
          ValueError: the view lacks what this game tells; nothing is taken in then.
        """
        width, height = self.size
        told = self.told
        is_own_ply = self.mover == self.player
        if is_own_ply and view.move is None:
            raise ValueError("expected 'move' with the own move of this ply, got nothing")
        if not is_own_ply and view.move is not None:
            raise ValueError(f"expected a ply of the opponent, got the own move {view.move}")
        if view.move is not None:
            if view.move not in self._table.names:
                raise ValueError(f"expected a move of a {width}x{height} board, got {view.move!r}")
            told += f" {view.move}"
        is_made = True
        if self._is_kriegspiel:
            if view.umpire is None:
                raise ValueError("expected 'umpire' and what he said, got nothing")
            if view.umpire == ILLEGAL:
                if view.move is None:
                    raise ValueError("expected 'move' with the try that was illegal")
                is_made = False
                self._failed.append(boards.move_from_uci(view.move, width, height))
                told += "?"
            else:
                self._failed.clear()
                told += f" {view.umpire}"
        else:
            told += f" {view.board}"
            if view.en_passant != "-":
                told += f" {observation.EN_PASSANT_MARK}{view.en_passant}"
        self.told, self.view = told, view
        if is_made:
            self.mover = 1 - self.mover

    def legal_actions(self) -> dict[int, str]:
        """Own legal actions and their names, being to move; in the order of actions."""
        position = self._visible_position()
        if self._is_kriegspiel:
            closed = {(move.source, move.target) for move in self._failed}
            moves = [m for m in umpire.all_tries(position) if (m.source, m.target) not in closed]
        else:
            # Not asking for kings: the enemy's is mostly out of sight.
            moves = list(rules.moves_of(position, self.player))
            if self._setup.variant.queen_only:
                kept = (rules.NO_PROMOTION, rules.QUEEN)
                moves = [move for move in moves if move.promotion in kept]
        actions = sorted(self._table.numbers[move] for move in moves)
        return {action: self._table.names[action] for action in actions}

    def _visible_position(self) -> rules.Position:
        """What is seen, the own side to move; something unseen blocks each blocked pawn."""
        if self.view is None:
            start: rules.Position = self._start._replace(side=self.player)
            return start
        width, height = self.size
        marks = "".join(reversed(self.view.board.split("/")))
        codes = bytearray(boards.piece_code(mark) for mark in marks)
        pawn = rules.piece(rules.PAWN, self.player)
        forward = width if self.player == rules.WHITE else -width
        if not self._is_kriegspiel:
            for square, code in enumerate(bytes(codes)):
                ahead = square + forward
                if code == pawn and 0 <= ahead < len(codes):
                    self._block(codes, marks, square, forward)
        castling = boards.castling_rights(self.view.castling) & rules.rights_of(self.player)
        en_passant = None
        if self.view.en_passant != "-":
            en_passant = boards.square_from_name(self.view.en_passant, width, height)
        return rules.Position(width, height, bytes(codes), self.player, castling, en_passant, 0, 1)

    def _block(self, codes: bytearray, marks: str, square: int, forward: int) -> None:
        """Puts a piece on the unseen square that a pawn could step onto if it were empty."""
        width, height = self.size
        blocker = rules.piece(rules.KNIGHT, 1 - self.player)
        ahead = square + forward
        if marks[ahead] == observation.UNSEEN:
            codes[ahead] = blocker
            return
        home = 1 if self.player == rules.WHITE else height - 2
        two = ahead + forward
        steps_twice = rules.has_double_step(height) and square // width == home
        if steps_twice and codes[ahead] == rules.EMPTY and marks[two] == observation.UNSEEN:
            codes[two] = blocker


def views_of_state(told: str, observed: str, seen: int) -> Iterator[View]:
    """The plies of an information state from word number `seen` on, as views.

    Args:
      told: the player's information state string in a chess game of this package.
      observed: the observation string now: colour, board, own castling rights, en passant.
      seen: words of `told` that were sent before.
    """
    _, board, castling, last, *_ = observed.split()
    words = told.split()
    in_fog = "/" in told  # where players of dark chess are told boards, an umpire speaks
    plies: list[View] = []
    move: str | None = None
    for word in words[max(seen, 1) :]:
        if word.endswith("?") and "/" not in word:
            plies.append(View(board, move=word[:-1], umpire=ILLEGAL))
        elif _MOVE.fullmatch(word):
            move = word
        elif word.startswith(observation.EN_PASSANT_MARK):
            right = word.removeprefix(observation.EN_PASSANT_MARK)
            plies[-1] = dataclasses.replace(plies[-1], en_passant=right)
        elif in_fog:
            plies.append(View(word, move=move))
            move = None
        else:
            plies.append(View(board, move=move, umpire=word))
            move = None
    if plies:
        en_passant = last if in_fog else "-"
        plies[-1] = dataclasses.replace(plies[-1], castling=castling, en_passant=en_passant)
    yield from plies
