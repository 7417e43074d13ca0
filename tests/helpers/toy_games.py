"""A correct little game, and the same game with one deliberate fault at a time.

Chance deals a bit that only player 0 sees. Players 0, 1 and 0 again name a bit
each, openly. Player 0 wins one unit if the three named bits and the dealt one
have an even sum. 31 states; infosets 2 + 2 * 2 * 2 of player 0, 2 of player 1.

`python_toy_game(fault=...)` breaks the game in the way its name says; see FAULTS.
"""

import numpy as np
import pyspiel

from klss_spiel.games.registration import RegisteredGame, complete_parameters, register

FAULTS = (
    "none",
    "parameters_drift",  # str(game) loads another game
    "shared_state",  # clones share what they should copy
    "unsorted_actions",
    "no_actions",  # no legal action, yet not over
    "large_actions",  # actions beyond num_distinct_actions
    "same_names",  # two actions with one name
    "too_long",  # more moves than max_game_length
    "chance_sum",  # probabilities do not sum to one
    "chance_zero",  # an outcome that never happens
    "large_returns",  # beyond max_utility
    "general_sum",  # returns do not sum to zero
    "shifted_sum",  # returns sum to one always, which is not what the type says
    "undefined_returns",  # not a number
    "early_returns",  # returns before the end
    "nameless_strings",  # strings that do not say whose they are
    "actions_leak",  # player 1's legal actions show the dealt bit
    "tensor_leaks",  # player 1's tensor shows the dealt bit, the string does not
    "tensor_blind",  # player 0's tensor lacks the dealt bit
    "pieces_differ",  # the observer's named pieces are not its tensor
    "observation_leaks",  # player 1's observation shows the dealt bit
    "forgets",  # player 0's second decision has forgotten the dealt bit
    "wordless",  # None for an information state string
    "silent_off_turn",  # no information state for the player not to move
)

_INFO = dict(num_distinct_actions=2, max_chance_outcomes=2, num_players=2, utility_sum=0.0)


def _game_type(short_name: str, **parameters) -> pyspiel.GameType:
    return pyspiel.GameType(
        short_name=short_name,
        long_name=short_name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification=parameters,
    )


def _game_info(fault: str) -> pyspiel.GameInfo:
    return pyspiel.GameInfo(
        **_INFO, min_utility=-1.0, max_utility=1.0, max_game_length=2 if fault == "too_long" else 3
    )


GAME_TYPE = _game_type("python_toy_game", players=2, fault="none", loaded=0)
PLAYERLESS_TYPE = _game_type("python_playerless_toy_game")
FORGETFUL_TYPE = _game_type("python_forgetful_toy_game", players=2)


class _ToyMethods:
    def new_initial_state(self):
        return ToyState(self)

    def make_py_observer(self, iig_obs_type=None, params=None):
        return ToyObserver(
            self.fault, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        )


class ToyGame(_ToyMethods, RegisteredGame):
    def __init__(self, params=None):
        parameters = complete_parameters(GAME_TYPE, params)
        self.fault = parameters["fault"]
        assert self.fault in FAULTS, self.fault
        if self.fault == "parameters_drift":
            parameters["loaded"] += 1
        super().__init__(GAME_TYPE, _game_info(self.fault), parameters)


class PlayerlessToyGame(_ToyMethods, RegisteredGame):
    """Has no parameter `players`."""

    fault = "none"

    def __init__(self, params=None):
        super().__init__(PLAYERLESS_TYPE, _game_info(self.fault), params)


class ForgetfulToyGame(_ToyMethods, pyspiel.Game):
    """Loses its attributes in a pickle, as any plain Python game does."""

    def __init__(self, params=None):
        self.fault = "none"
        super().__init__(FORGETFUL_TYPE, _game_info(self.fault), params or {})


class _SharedList(list):
    def __deepcopy__(self, memo):
        return self


class ToyState(pyspiel.State):
    def __init__(self, game):
        super().__init__(game)
        self.fault = game.fault
        self.bits = _SharedList() if self.fault == "shared_state" else []

    def current_player(self):
        return (pyspiel.PlayerId.CHANCE, 0, 1, 0, pyspiel.PlayerId.TERMINAL)[len(self.bits)]

    def _legal_actions(self, player):
        if self.fault == "unsorted_actions":
            return [1, 0]
        if self.fault == "no_actions" and len(self.bits) == 3:
            return []
        if self.fault == "large_actions":
            return [0, 2]
        if self.fault == "actions_leak" and player == 1:
            return [self.bits[0]]
        return [0, 1]

    def chance_outcomes(self):
        if self.fault == "chance_sum":
            return [(0, 0.5), (1, 0.4)]
        if self.fault == "chance_zero":
            return [(0, 1.0), (1, 0.0)]
        return [(0, 0.5), (1, 0.5)]

    def _apply_action(self, action):
        self.bits.append(int(action))

    def _action_to_string(self, player, action):
        return "bit" if self.fault == "same_names" else f"bit{action}"

    def is_terminal(self):
        return len(self.bits) == 4

    def returns(self):
        value = 1.0 if sum(self.bits) % 2 == 0 else -1.0
        if not self.is_terminal():
            return [1.0, -1.0] if self.fault == "early_returns" else [0.0, 0.0]
        if self.fault == "large_returns":
            value *= 5
        if self.fault == "general_sum":
            return [value, 0.5]
        if self.fault == "shifted_sum":
            return [value, 1.0 - value]
        if self.fault == "undefined_returns":
            return [float("nan"), float("nan")]
        return [value, -value]

    def __str__(self):
        return "".join(map(str, self.bits))


class ToyObserver:
    """Pieces: the player, the named bits so far (public), and the dealt bit (private)."""

    def __init__(self, fault, iig_obs_type):
        self.fault = fault
        self.public = iig_obs_type.public_info
        self.private = iig_obs_type.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        self.recall = iig_obs_type.perfect_recall
        sizes = {"player": 2, "named": 6 if self.public else 0, "dealt": 2 if self.private else 0}
        self.tensor = np.zeros(sum(sizes.values()), np.float32)
        pieces = np.split(self.tensor, np.cumsum(list(sizes.values()))[:-1])
        self.dict = {name: piece for name, piece in zip(sizes, pieces, strict=True) if piece.size}
        if fault == "pieces_differ":
            self.dict["player"] = self.dict["player"].copy()

    def _sees_dealt_bit(self, state, player, as_tensor):
        if not self.private or not state.bits:
            return False
        if self.fault == "tensor_leaks" and as_tensor and self.recall:
            return True
        if self.fault == "tensor_blind" and as_tensor and self.recall:
            return False
        if self.fault == "observation_leaks" and not self.recall:
            return True
        if self.fault == "forgets" and len(state.bits) == 3:
            return False
        return player == 0

    def set_from(self, state, player):
        self.tensor.fill(0)
        self.tensor[player] = 1
        if self.public:
            for turn, bit in enumerate(state.bits[1:]):
                self.dict["named"][2 * turn + bit] = 1
        if self._sees_dealt_bit(state, player, as_tensor=True):
            self.dict["dealt"][state.bits[0]] = 1

    def string_from(self, state, player):
        if self.fault == "silent_off_turn" and player == 1 - state.current_player():
            raise RuntimeError("it is not your turn")
        if self.fault == "wordless":
            return None
        named = "".join(map(str, state.bits[1:])) if self.public else ""
        dealt = state.bits[0] if self._sees_dealt_bit(state, player, as_tensor=False) else "?"
        if self.fault == "nameless_strings":  # As if only the number of moves were seen.
            return f"named:{'?' * (len(named) // 2)}"
        return f"p{player} dealt:{dealt} named:{named}"


register(GAME_TYPE, ToyGame)
register(PLAYERLESS_TYPE, PlayerlessToyGame)
register(FORGETFUL_TYPE, ForgetfulToyGame)
