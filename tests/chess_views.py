"""A test of what players of the chess games can tell apart."""

import random
from typing import Any

import numpy as np
import pyspiel

_MOST_STATES = 8
_MOST_REPLIES = 10


def assert_same_knowledge_looks_the_same(
    game: pyspiel.Game, player: int, rng: random.Random, plies: int
) -> int:
    """Plays a random game beside other histories that the player cannot tell from it.

    After every action all these states must give the player the same texts, tensors,
    JSON and legal actions.

    Returns:
        The number of comparisons made with a different true position.
    """
    state = game.new_initial_state()
    others = [state]
    compared = 0
    for _ in range(plies):
        if state.is_terminal():
            break
        mover = state.current_player()
        action = rng.choice(state.legal_actions())
        state = state.child(action)
        told = state.information_state_string(player)
        later = []
        for other in others:
            actions = [action]
            if mover != player:
                replies = other.legal_actions()
                actions = rng.sample(replies, min(len(replies), _MOST_REPLIES))
            later += [child for a in actions if _tells(child := other.child(a), player, told)]
        rng.shuffle(later)
        others = later[:_MOST_STATES]
        expected = _looks(state, player)
        for other in others:
            assert _looks(other, player) == expected
            compared += str(other).split()[0] != str(state).split()[0]
    return compared


def _tells(state: pyspiel.State, player: int, told: str) -> bool:
    return bool(state.information_state_string(player) == told)


def _looks(state: pyspiel.State, player: int) -> dict[str, Any]:
    looks = {
        "observation": state.observation_string(player),
        "tensor": np.asarray(state.observation_tensor(player)).tobytes(),
        "json": state.observation_json(player),
        "terminal": state.is_terminal(),
    }
    if state.get_game().get_type().provides_information_state_tensor:
        looks["recall"] = np.asarray(state.information_state_tensor(player)).tobytes()
    if state.current_player() == player:
        looks["actions"] = state.legal_actions()
    return looks
