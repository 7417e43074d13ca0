"""Trees, forms and policies of games by name, each made once per process."""

import functools
from collections.abc import Iterator

import numpy as np
import pyspiel

from klss_spiel.openspiel import tree_from_game, turn_based
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import SequenceForm, sequence_form_from_tree
from klss_spiel.tree import GameTree


@functools.cache
def game_of(name: str) -> pyspiel.Game:
    """The game, turn-based if its players move simultaneously."""
    return turn_based(pyspiel.load_game(name))


@functools.cache
def tree_of(name: str) -> GameTree:
    return tree_from_game(name)


@functools.cache
def form_of(name: str) -> SequenceForm:
    return sequence_form_from_tree(tree_of(name))


def random_policy(game: str | GameTree, seed: int) -> BehaviorPolicy:
    tree = tree_of(game) if isinstance(game, str) else game
    return BehaviorPolicy.random(tree, np.random.default_rng(seed))


def random_decisions(
    name: str, seed: int, actions: int
) -> Iterator[tuple[pyspiel.State, int, str]]:
    """States of a random game, and the information state of who is to move."""
    game = pyspiel.load_game(name)
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    while not state.is_terminal() and actions:
        player = state.current_player()
        yield state, player, state.information_state_string(player)
        state.apply_action(int(rng.choice(state.legal_actions())))
        actions -= 1
