"""Moments of dark chess on packed positions: the states of `python_dark_chess`.

A `PackedMoment` is the compiled counterpart of `dark_chess_play.DarkChessMoment`, which is
its readable reference: moves, views and endings come from `kernels.states`, texts are made
when they are asked for.

Importing this module imports numba.
"""

from __future__ import annotations

from klss_spiel.games.chess import boards, observation, rules
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.kernels import states
from klss_spiel.games.chess.packed.recorded_moment import RecordedGame, RecordedMoment
from klss_spiel.games.chess.play import (
    OUTCOME_TEXT,
    Tensors,
    TensorShapes,
    illegal_action,
)


class PackedMoment(RecordedMoment[DarkChessSetup]):
    """One point of a game of dark chess; implements `play.Moment`."""

    __slots__ = ()

    @classmethod
    def first(cls, setup: DarkChessSetup) -> PackedMoment:
        """The start of a game."""
        board = positions.layout(setup.start.width, setup.start.height)
        variant = setup.variant
        arguments = (
            board.masks,
            positions.move_words(board),
            positions.action_numbers(board),
            variant.queen_only,
            variant.no_move_loses,
            setup.horizon,
        )
        (words,) = positions.pack([setup.start])
        start = setup.start
        record, actions = states.begin(words, start.side, start.halfmove_clock, arguments)
        game = RecordedGame(setup, board, arguments)
        return cls(game, record, actions, start.side)

    def _news(self, player: int) -> str:
        """What is added to a player's information state here."""
        own = self.before is not None and self.before.side == player
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
        return f"{view} {looked.own_castling_text(player)} {right}"

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
