"""Two-player Mahjong as an OpenSpiel game.

Rules: `rules`; fans: `fans` and `scoring`; actions: `actions`. The default is the game of
the OLSS paper (section 7.2 and appendix D): 72 tiles, no minimum of fans, the winner gets
what the loser pays. Parameters are the fields of `variant.Variant`.

`python_two_player_mahjong(ranks=3,honours=1,copies=3,sets=1,flowers=0,wall_limit=3,
ting=False,kongs=False)` is small enough to be solved exactly.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyspiel

from klss_spiel.games import registration
from klss_spiel.games.mahjong import actions, rules, tiles, views
from klss_spiel.games.mahjong.rules import Phase, Position
from klss_spiel.games.mahjong.variant import Variant, hand_probability, variant_from_parameters

SHORT_NAME: Final = "python_two_player_mahjong"
# No hand is worth more: the sum of all fans.
_MAX_UTILITY: Final = 1917.0
_PARAMETERS: Final = {
    **{field.name: field.default for field in dataclasses.fields(Variant)},
    "players": 2,
}
_OWN_PREFIX: Final = {0: "own0_", 1: "own1_"}


def _game_type(variant: Variant | None = None) -> pyspiel.GameType:
    return pyspiel.GameType(
        short_name=SHORT_NAME,
        long_name="Two-player Mahjong",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=(
            variant is not None and views.has_information_tensor(variant)
        ),
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification=_PARAMETERS,
    )


_GAME_TYPE = _game_type()


class MahjongGame(registration.RegisteredGame):
    """Mahjong of one variant."""

    def __init__(self, params: Mapping[str, Any] | None = None):
        parameters = registration.complete_parameters(_GAME_TYPE, params)
        self.variant = variant_from_parameters(parameters)
        kinds = len(self.variant.deck)
        outcomes = len(self.variant.hands) if self.variant.deals_multisets else kinds
        game_info = pyspiel.GameInfo(
            num_distinct_actions=actions.NUM_ACTIONS,
            max_chance_outcomes=max(outcomes, kinds),
            num_players=2,
            min_utility=-_MAX_UTILITY,
            max_utility=_MAX_UTILITY,
            utility_sum=0.0,
            max_game_length=self.variant.max_game_length,
        )
        super().__init__(_game_type(self.variant), game_info, parameters)

    def new_initial_state(self) -> MahjongState:
        """Returns the state before the deal."""
        return MahjongState(self)

    def make_py_observer(
        self,
        iig_obs_type: pyspiel.IIGObservationType | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> MahjongObserver:
        """Returns an object that observes states of this game."""
        if params:
            raise ValueError(f"expected no observation parameters, got {params}")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        return MahjongObserver(kind, self.variant)

    def trainable_game(self) -> Any:
        """The game as training of blueprints sees it; see `compiled.trainable`."""
        from klss_spiel.games.mahjong.compiled import trainable

        return trainable.MahjongTraining(str(self), self.variant)


class MahjongState(pyspiel.State):  # type: ignore[misc]  # pyspiel has no type stubs.
    """A state holds one immutable position, so cloning it copies nothing."""

    def __init__(self, game: MahjongGame):
        super().__init__(game)
        self.position: Position = rules.first_position(game.variant)

    def current_player(self) -> int:
        """Returns the player to move, CHANCE or TERMINAL."""
        if self.position.phase == Phase.OVER:
            return int(pyspiel.PlayerId.TERMINAL)
        if self.position.phase in rules.CHANCE_PHASES:
            return int(pyspiel.PlayerId.CHANCE)
        return self.position.player

    def _deals_a_hand(self) -> bool:
        position = self.position
        return position.phase == Phase.DEAL and position.variant.deals_multisets

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns hands (by their number in `Variant.hands`) or kinds, with probabilities."""
        unseen = self.position.unseen
        if self._deals_a_hand():
            return [
                (number, hand_probability(hand, unseen))
                for number, hand in enumerate(self.position.variant.hands)
                if all(have <= left for have, left in zip(hand, unseen, strict=True))
            ]
        total = sum(unseen)
        return [(kind, left / total) for kind, left in enumerate(unseen) if left]

    def _legal_actions(self, player: int) -> list[int]:
        return rules.legal_actions(self.position) if player == self.current_player() else []

    def _apply_action(self, action: int) -> None:
        position = self.position
        if position.phase not in rules.CHANCE_PHASES:
            legal = rules.legal_actions(position)
            if action not in legal:
                names = ", ".join(actions.NAMES[a] for a in legal)
                raise ValueError(f"expected an action among {names}, got {action}")
            self.position = rules.after(position, action)
        elif self._deals_a_hand():
            self.position = rules.deal_hand(position, position.variant.hands[action])
        elif not position.unseen[action]:
            raise ValueError(f"expected a kind that is left, got {tiles.NAMES[action]}")
        elif position.phase == Phase.DEAL:
            counts = [int(kind == action) for kind in range(len(position.unseen))]
            self.position = rules.deal_hand(position, counts)
        else:
            self.position = rules.draw(position, action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return actions.NAMES[action]
        if self._deals_a_hand():
            return f"deal {tiles.text_of(self.position.variant.hands[action])}"
        verb = "deal" if self.position.phase == Phase.DEAL else "draw"
        return f"{verb} {tiles.NAMES[action]}"

    def is_terminal(self) -> bool:
        """Returns whether the game is over."""
        return self.position.phase == Phase.OVER

    def returns(self) -> list[float]:
        """Returns both players' utilities: 0 until the game is over."""
        points = float(self.position.points)
        return [points, 0.0 - points]  # no -0.0

    def __str__(self) -> str:
        position = self.position
        hands = "; ".join(
            f"P{player}: {tiles.text_of(side.hand)}"
            + "".join(f" {meld.text()}" for meld in side.melds)
            + f" river {' '.join(tiles.NAMES[kind] for kind in side.river)}"
            for player, side in enumerate(position.sides)
        )
        return f"{position.phase.name} P{position.player} wall {position.wall_left}; {hands}"

    def information_state_string(self, player: int | None = None) -> str:
        """Returns everything the player has been told, in order."""
        if player in (0, 1):
            return views.information_state(self.position, player)
        # Knows which player is meant by default and how to refuse a wrong one.
        arguments = () if player is None else (player,)
        return str(super().information_state_string(*arguments))


class MahjongObserver:
    """Texts and tensors for OpenSpiel's observer interface (PyObserver).

    With perfect recall the text is the information state, and the tensor, of variants
    short enough to have one, the list of events.
    """

    def __init__(self, kind: pyspiel.IIGObservationType, variant: Variant):
        private = kind.private_info
        self._own = private == pyspiel.PrivateInfoType.SINGLE_PLAYER
        self._all = private == pyspiel.PrivateInfoType.ALL_PLAYERS
        self._public = kind.public_info
        self._recall = kind.perfect_recall
        self.tensor: npt.NDArray[np.float32] | None = None
        self.dict: dict[str, npt.NDArray[np.float32]] = {}
        shapes: views.Shapes = {}
        if self._recall:
            if self._own and views.has_information_tensor(variant):
                shapes = views.information_shapes(variant)
        else:
            if self._public or self._own or self._all:
                shapes |= views.public_shapes()
            if self._own:
                shapes |= {"player": (2,), **views.private_shapes()}
            for player in (0, 1) if self._all else ():
                prefix = _OWN_PREFIX[player]
                shapes |= {prefix + name: shape for name, shape in views.private_shapes().items()}
        if not shapes:
            return
        ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
        self.tensor = np.zeros(ends[-1], np.float32)
        pieces = np.split(self.tensor, ends[:-1])
        for (name, shape), piece in zip(shapes.items(), pieces, strict=True):
            self.dict[name] = piece.reshape(shape)

    def set_from(self, state: MahjongState, player: int) -> None:
        """Updates `tensor` and `dict` to show `state` to `player`."""
        if self.tensor is None:
            raise ValueError("expected a game short enough for an information state tensor")
        self.tensor.fill(0.0)
        position = state.position
        if self._recall:
            views.write_information(position, player, self.dict)
            return
        views.write_public(position, self.dict)
        if self._own:
            self.dict["player"][player] = 1.0
            views.write_private(position, player, self.dict)
        for owner in (0, 1) if self._all else ():
            prefix = _OWN_PREFIX[owner]
            own = {name: self.dict[prefix + name] for name in views.private_shapes()}
            views.write_private(position, owner, own)

    def string_from(self, state: MahjongState, player: int) -> str:
        """What `state` shows to `player`, as a text."""
        position = state.position
        show = views.information_state if self._recall else views.observation
        if self._own:
            return show(position, player)
        if self._all:
            return " || ".join(show(position, owner) for owner in (0, 1))
        return views.public_text(position) if self._public else ""


registration.register(_GAME_TYPE, MahjongGame)
