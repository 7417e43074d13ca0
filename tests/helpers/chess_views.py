"""A test of what players of the chess games can tell apart."""

import random
from typing import Any

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
    # The observers themselves: the same tensors by way of a state become lists, slowly.
    observers = [
        game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=recall))
        for recall in (False, True)
    ]
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
        expected = _looks(state, player, observers)
        for other in others:
            assert _looks(other, player, observers) == expected
            compared += str(other).split()[0] != str(state).split()[0]
    return compared


def _tells(state: pyspiel.State, player: int, told: str) -> bool:
    return bool(state.information_state_string(player) == told)


def _looks(state: pyspiel.State, player: int, observers: list[Any]) -> list[Any]:
    looks = [state.observation_string(player), state.observation_json(player), state.is_terminal()]
    for observer in observers:
        if observer.tensor is not None:
            observer.set_from(state, player)
            looks.append(observer.tensor.tobytes())
    if state.current_player() == player:
        looks.append(state.legal_actions())
    return looks
