"""Moments of Kriegspiel on packed positions: the states of `python_kriegspiel`.

The compiled counterpart of `kriegspiel_play.KriegspielMoment`, which is its readable
reference and plays the games that offer only possible tries. Importing this module
imports numba.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from klss_spiel.games.chess import kriegspiel_umpire as umpire
from klss_spiel.games.chess import play, rules
from klss_spiel.games.chess.kriegspiel_play import (
    ILLEGAL,
    OVERHEARD,
    KriegspielMoment,
    KriegspielSetup,
    tries_text,
)
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.kernels import states
from klss_spiel.games.chess.packed.kernels import umpire as kernels
from klss_spiel.games.chess.packed.kriegspiel_sets import rising_diagonals
from klss_spiel.games.chess.packed.recorded_moment import RecordedGame, RecordedMoment


class PackedKriegspielMoment(RecordedMoment[KriegspielSetup]):
    """One point of a game of Kriegspiel; implements `play.Moment`.

    Attributes:
        report: what happened in the last legal move (`kernels.umpire`); None before it.
        failed: illegal tries of the side to move since then.
        num_tries: illegal tries in the whole game.
    """

    __slots__ = ("failed", "num_tries", "report")

    report: npt.NDArray[np.int64] | None
    failed: tuple[rules.Move, ...]
    num_tries: int

    @classmethod
    def first(cls, setup: KriegspielSetup) -> PackedKriegspielMoment:
        """The start of a game."""
        start = setup.start
        board = positions.layout(start.width, start.height)
        arguments = (
            board.masks,
            positions.move_words(board),
            positions.action_numbers(board),
            False,
            False,
            setup.horizon,
            rising_diagonals(board),
        )
        (words,) = positions.pack([start])
        record = states.new_record(words, start.halfmove_clock)
        tries = kernels.offer_tries(record, start.side, arguments)
        moment = cls(RecordedGame(setup, board, arguments), record, tries, start.side)
        moment.report, moment.failed, moment.num_tries = None, (), 0
        return moment

    def after(self, action: int) -> PackedKriegspielMoment:
        """The moment after a try of the side to move; ValueError if it is not offered."""
        setup = self.setup
        counted = self.num_tries if setup.count_tries else 0
        record, tries, report, answer = kernels.try_move(
            self._record, self._actions, action, self.side, counted, self._game.arguments
        )
        if answer == kernels.NOT_OFFERED:
            raise play.illegal_action(setup, self.legal_actions(), action)
        if answer == kernels.ILLEGAL_TRY:
            late = setup.count_tries and self.plies + counted + 1 == setup.horizon
            moment = PackedKriegspielMoment(
                self._game,
                record,
                tries[:0] if late else tries,
                self.side,
                play.DRAW if late else None,
                self,
                action,
            )
            moment.report = self.report
            moment.failed = (*self.failed, setup.table.moves[action])
            moment.num_tries = self.num_tries + 1
            return moment
        outcome = None if answer == states.GOES_ON else float(answer - states.DRAWN)
        moment = PackedKriegspielMoment(
            self._game, record, tries, 1 - self.side, outcome, self, action
        )
        moment.report, moment.failed, moment.num_tries = report, (), self.num_tries
        return moment

    @property
    def announcement(self) -> umpire.Announcement:
        """What the umpire said after the last legal move."""
        if self.report is None:
            return umpire.SILENCE
        setup, board = self.setup, self._game.board
        cell = int(self.report[kernels.CELL])
        captures: tuple[rules.Move, ...] = ()
        if setup.are_there_any is not umpire.AreThereAny.NONE:
            pairs = kernels.pawn_captures(self._record, self.side, self._game.arguments)
            captures = tuple(sorted(positions.unpack_move(board, pair) for pair in pairs))
        facts = umpire.Facts(
            gone=umpire.Gone(int(self.report[kernels.GONE])),
            square=None if cell < 0 else int(board.square_of[cell]),
            checks=rules.CheckDirection(int(self.report[kernels.CHECKS])),
            is_stuck=bool(self.report[kernels.STUCK]),
            is_dead=bool(self.report[kernels.DEAD]),
            pawn_captures=captures,
        )
        return umpire.announce(facts, setup.are_there_any, self.side, board.width)

    def _news(self, player: int) -> str:
        assert self.before is not None
        own = self.before.side == player
        text = f" {self.setup.table.names[self.action]}" if own else ""
        if not self.failed:
            text += f" {self.announcement.heard[player]}"
        elif own:
            text += ILLEGAL
        elif self.setup.announce_tries:
            text += OVERHEARD
        return text if self.outcome is None else f"{text} {play.OUTCOME_TEXT[self.outcome]}"

    def possible_positions(self, player: int) -> frozenset[rules.Position]:
        """Every position (without clocks) that fits what the player has been told."""
        _, (_, setup, actions) = self.__reduce__()
        plain = play.replay(setup, actions)
        assert isinstance(plain, KriegspielMoment)
        return plain.possible_positions(player)

    @property
    def _plain(self) -> KriegspielMoment:
        """This moment by the plain rules, as far as views of it need."""
        return KriegspielMoment(
            self.setup,
            play.Course(self.position),
            ("", ""),
            self.outcome,
            None,
            self.announcement,
            self.action,
            self.failed,
            self.num_tries,
        )

    def view(self, player: int) -> tuple[rules.Position, int]:
        """The true position and the squares of the own pieces."""
        return self._plain.view(player)

    def public_text(self) -> str:
        """The latest announcement as both players hear it, and whose move it is."""
        return self._plain.public_text()

    def private_text(self, player: int) -> str:
        """The own pieces, castling rights, announcement, and the own failed tries."""
        board = self._game.board
        own = states.write_own(self._record, self.side, player, board.width, board.height)
        words = [
            own.tobytes().decode(),
            self.own_castling_text(player),
            self.announcement.heard[player],
            *tries_text(self.setup, self.failed, own_tries=player == self.side),
        ]
        return " ".join(words)

    def public_shapes(self) -> play.TensorShapes:
        """Names and shapes of the public tensors."""
        return self.setup.first_moment().public_shapes()

    def write_public(self, tensors: play.Tensors) -> None:
        """Fills the public tensors."""
        self._plain.write_public(tensors)

    def private_shapes(self) -> play.TensorShapes:
        """Names and shapes of a player's tensors."""
        return self.setup.first_moment().private_shapes()

    def write_private(self, player: int, tensors: play.Tensors) -> None:
        """Fills a player's tensors; the own failed tries are numbered 1, 2, ..."""
        self._plain.write_private(player, tensors)
