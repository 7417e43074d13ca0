"""States and observers that dark chess and Kriegspiel share: thin OpenSpiel adapters.

Player 0 is White. All rules live in the `play.Moment` a state holds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyspiel

from klss_spiel.games import registration
from klss_spiel.games.chess import boards, play, public_boards, rules

PARAMETERS: Final[Mapping[str, Any]] = {
    "board": play.DEFAULT_BOARD,
    "fen": "",
    "horizon": play.NO_HORIZON,
    "players": 2,
}
_TERMINAL: Final = int(pyspiel.PlayerId.TERMINAL)
_COLOURS: Final = ("White", "Black")

# Whose view an observer shows; White's and Black's are their player numbers.
_OBSERVING_PLAYER: Final = -1
_PUBLIC: Final = -2
_PREFIX: Final = {_OBSERVING_PLAYER: "", _PUBLIC: "", rules.WHITE: "white_", rules.BLACK: "black_"}


def game_type(
    short_name: str, long_name: str, parameters: Mapping[str, Any], setup: play.Setup | None = None
) -> pyspiel.GameType:
    """OpenSpiel's description of a game, or of one with this `setup`.

    The information state tensor holds the views of all plies, so only short games
    have one.
    """
    return pyspiel.GameType(
        short_name=short_name,
        long_name=long_name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=setup is not None and setup.remembered_plies > 0,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification={**PARAMETERS, **parameters},
    )


class ChessGame(registration.RegisteredGame):
    """A game given by its `setup`."""

    def __init__(self, description: pyspiel.GameType, setup: play.Setup, params: Mapping[str, Any]):
        self.setup = setup
        game_info = pyspiel.GameInfo(
            num_distinct_actions=len(setup.table.moves),
            max_chance_outcomes=0,
            num_players=2,
            min_utility=play.BLACK_WINS,
            max_utility=play.WHITE_WINS,
            utility_sum=0.0,
            max_game_length=setup.max_game_length,
        )
        super().__init__(description, game_info, params)

    def first_moment(self) -> play.Moment:
        """The start of the game; what is heavy is imported when it is first asked for."""
        return self.setup.first_moment()

    def new_initial_state(self) -> ChessState:
        """Returns the state at the start of the game."""
        return ChessState(self)

    def public_partition(self, tree: Any, nodes: Any = None) -> Any:
        """[N] labels of public states; see `public_boards.public_partition`."""
        return public_boards.public_partition(self.first_moment(), tree, nodes)

    def public_planes(self, tree: Any, nodes: Any) -> Any:
        """[nodes, F, ...] public tensors; see `public_boards.public_planes`."""
        return public_boards.public_planes(self.first_moment(), tree, nodes)

    def make_py_observer(
        self,
        iig_obs_type: pyspiel.IIGObservationType | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> ChessObserver:
        """Returns an object that observes states of this game."""
        if params:
            raise ValueError(f"expected no observation parameters, got {params}")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        return ChessObserver(kind, self.setup)


class ChessState(pyspiel.State):  # type: ignore[misc]  # pyspiel has no type stubs.
    """A state holds one immutable moment of the game, so cloning it copies nothing."""

    def __init__(self, game: ChessGame):
        super().__init__(game)
        self.moment: play.Moment = game.first_moment()

    def current_player(self) -> int:
        """Returns the player to move, or TERMINAL when the game is over."""
        moment = self.moment
        return moment.side if moment.outcome is None else _TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.moment.legal_actions()) if player == self.current_player() else []

    def _apply_action(self, action: int) -> None:
        self.moment = self.moment.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return self.moment.setup.table.names[action]

    def is_terminal(self) -> bool:
        """Returns whether the game is over."""
        return self.moment.outcome is not None

    def returns(self) -> list[float]:
        """Returns both players' utilities: 0 until the game is over."""
        outcome = self.moment.outcome or play.DRAW
        return [outcome, 0.0 - outcome]  # no -0.0

    def __str__(self) -> str:
        return boards.fen_of(self.moment.position)

    def information_state_string(self, player: int | None = None) -> str:
        """Returns everything the player has done and been told, in order."""
        if player in (rules.WHITE, rules.BLACK):
            return self.moment.told_to(player)
        # The inherited method gives the same text through an observer, more slowly. It
        # knows which player is meant by default and how to refuse a wrong one.
        arguments = () if player is None else (player,)
        return str(super().information_state_string(*arguments))

    def observation_string(self, player: int | None = None) -> str:
        """Returns what the player sees now."""
        if player in (rules.WHITE, rules.BLACK):
            return f"{_COLOURS[player]} {self.moment.private_text(player)}"
        # As above.
        arguments = () if player is None else (player,)
        return str(super().observation_string(*arguments))

    def observation_json(self, player: int) -> str:
        """Returns what the player sees now, as JSON."""
        if player not in (rules.WHITE, rules.BLACK):
            raise ValueError(f"expected player 0 (White) or 1 (Black), got {player}")
        view = {
            "player": player,
            "colour": _COLOURS[player],
            "to_move": self.current_player() == player,
            "view": self.moment.private_text(player),
            "legal_moves": [self.moment.setup.table.names[a] for a in self._legal_actions(player)],
        }
        return json.dumps(view)


class ChessObserver:
    """Texts and tensors for OpenSpiel's observer interface (PyObserver).

    A private view includes the public one, so the public parts appear by themselves
    only where private information is not asked for. With perfect recall the text is
    the information state, and the tensors have a leading axis over plies, if the game
    has an information state tensor.
    """

    def __init__(self, kind: pyspiel.IIGObservationType, setup: play.Setup):
        self._views = {
            pyspiel.PrivateInfoType.SINGLE_PLAYER: (_OBSERVING_PLAYER,),
            pyspiel.PrivateInfoType.ALL_PLAYERS: (rules.WHITE, rules.BLACK),
        }.get(kind.private_info, (_PUBLIC,) if kind.public_info else ())
        self._recall = kind.perfect_recall
        self.tensor: npt.NDArray[np.float32] | None = None
        self.dict: dict[str, npt.NDArray[np.float32]] = {}
        if self._recall and not setup.remembered_plies:
            return
        first = setup.first_moment()
        plies = (setup.remembered_plies,) if self._recall else ()
        shapes: play.TensorShapes = {"to_move": (2,)}
        if self._views == (_OBSERVING_PLAYER,):
            shapes["player"] = (2,)
        for view in self._views:
            parts = first.public_shapes() if view == _PUBLIC else first.private_shapes()
            shapes |= {_PREFIX[view] + name: plies + shape for name, shape in parts.items()}
        ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
        self.tensor = np.zeros(ends[-1], np.float32)
        pieces = np.split(self.tensor, ends[:-1])
        for (name, shape), piece in zip(shapes.items(), pieces, strict=True):
            self.dict[name] = piece.reshape(shape)

    def set_from(self, state: ChessState, player: int) -> None:
        """Updates `tensor` and `dict` to show `state` to `player`."""
        if self.tensor is None:
            raise ValueError("expected a game with an information state tensor (set a horizon)")
        self.tensor.fill(0.0)
        if not state.is_terminal():
            self.dict["to_move"][state.current_player()] = 1.0
        if "player" in self.dict:
            self.dict["player"][player] = 1.0
        written = -1
        for moment in reversed(play.chain(state.moment)) if self._recall else [state.moment]:
            ply = moment.plies
            if ply == written:  # a failed try: the ply's last moment knows it, too
                continue
            written = ply
            for view in self._views:
                prefix = _PREFIX[view]
                tensors = {
                    name[len(prefix) :]: array[ply] if self._recall else array
                    for name, array in self.dict.items()
                    if name.startswith(prefix) and name not in ("to_move", "player")
                }
                if view == _PUBLIC:
                    moment.write_public(tensors)
                else:
                    moment.write_private(player if view == _OBSERVING_PLAYER else view, tensors)

    def string_from(self, state: ChessState, player: int) -> str:
        """What `state` shows to `player`, as a text."""
        texts = []
        for view in self._views:
            if view == _PUBLIC:
                moments = play.chain(state.moment) if self._recall else [state.moment]
                texts.append(" ".join(moment.public_text() for moment in moments))
                continue
            owner = player if view == _OBSERVING_PLAYER else view
            if self._recall:
                texts.append(state.moment.told_to(owner))
            else:
                texts.append(f"{_COLOURS[owner]} {state.moment.private_text(owner)}")
        return "; ".join(texts)
