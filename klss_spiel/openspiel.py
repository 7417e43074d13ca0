"""The bridge to OpenSpiel: games to trees, policies both ways.

The only walk over `pyspiel.State` in the package (`testing` apart, which checks
games and not their trees).
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyspiel

from klss_spiel.arrays import first_places
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.progress import Progress
from klss_spiel.sequence_form import SequenceForm, sequence_form_from_tree
from klss_spiel.tree import (
    CHANCE,
    NO_ACTION,
    NO_PARENT,
    PLAYERS,
    TERMINAL,
    GameTree,
)
from klss_spiel.tree_builder import TreeBuilder
from klss_spiel.tree_checks import check_tree

if TYPE_CHECKING:
    # It registers all games that OpenSpiel has in Python, which takes a while.
    from open_spiel.python import policy as openspiel_policy

DEFAULT_MAX_NODES = 5_000_000
_NODES_BETWEEN_PROGRESS = 4096
_SUM_TOLERANCE = 1e-9

# What a callable policy looks like: state -> {action: probability}.
PolicyFunction = Callable[[Any], Mapping[int, float]]


def load_game(name: str) -> Any:
    """`pyspiel.load_game` with an error that helps: near names, and how to register ours."""
    if not isinstance(name, str):
        raise ValueError(f"expected the name of a game, got {name!r}")
    short_name = name.split("(")[0].strip()
    known = pyspiel.registered_names()
    if short_name not in known:
        importlib.import_module("open_spiel.python.games")  # registers more
        known = pyspiel.registered_names()
    # Asked for an unknown game, OpenSpiel would list all its games on standard error.
    if short_name not in known:
        near = _near_names(short_name, known)
        hint = f"; near names: {', '.join(near)}" if near else ""
        raise ValueError(
            f"unknown game {short_name!r} (the games of this package are registered by "
            f"`import klss_spiel`){hint}"
        )
    try:
        return pyspiel.load_game(name)
    except pyspiel.SpielError as error:
        raise ValueError(f"OpenSpiel cannot load {name!r}: {error}") from error


def _near_names(name: str, known: Sequence[str]) -> list[str]:
    """Up to three names that may have been meant: those that contain it, then similar ones."""
    longer = [other for other in known if name and name.lower() in other]
    # The less is added to what was typed, the likelier it was meant.
    longer.sort(key=lambda other: (not other.startswith(name.lower()), len(other)))
    similar = difflib.get_close_matches(name, known, n=3)
    return list(dict.fromkeys(longer + similar))[:3]


def game_from(game: Any) -> Any:
    """A game, given itself or by its name.

    Raises:
      ValueError: it is neither, or no game has the name.
    """
    if isinstance(game, str):
        return load_game(game)
    if not isinstance(game, pyspiel.Game):
        raise ValueError(f"expected a pyspiel.Game or the name of one, got {game!r:.80}")
    return game


def turn_based(game: Any) -> Any:
    """The game itself, or its turn-based version if players move simultaneously."""
    dynamics = game.get_type().dynamics
    if dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    if dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(f"expected a sequential or simultaneous-move game, got {dynamics}")
    return game


def check_supported(game: Any) -> None:
    """Raises ValueError unless the game is two-player zero-sum with information states."""
    game_type = game.get_type()
    if game.num_players() != 2:
        raise ValueError(f"expected a two-player game, got {game.num_players()} players in {game}")
    utility = game_type.utility
    if utility not in (pyspiel.GameType.Utility.ZERO_SUM, pyspiel.GameType.Utility.CONSTANT_SUM):
        raise ValueError(f"expected a zero-sum or constant-sum game, got {utility} in {game}")
    if game_type.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(f"expected chance outcomes that can be listed, got {game}, which samples")
    if not game_type.provides_information_state_string:
        hint = " (python_dark_chess has one)" if game_type.short_name == "dark_chess" else ""
        raise ValueError(
            f"{game} has no information state string, which is needed to tell apart what "
            f"players know{hint}"
        )


def tree_from_game(
    game: Any,
    max_nodes: int = DEFAULT_MAX_NODES,
    progress: Progress | None = None,
    from_states: bool = False,
) -> GameTree:
    """Enumerates an OpenSpiel game.

    Args:
      game: a `pyspiel.Game` or a game string; two players, zero- or constant-sum,
        of perfect recall. Simultaneous moves are made turn-based.
      max_nodes: refuse a game with more nodes than this.
      progress: what to report the number of nodes to; by default a log line
        every few seconds.
      from_states: walk the game's states even if it can enumerate itself faster,
        to check that enumeration.

    Returns:
      The checked tree (`check_tree`).

    Raises:
      ValueError: the game is unknown, too large, or not of the supported kind.
    """
    game = game_from(game)
    check_supported(game)
    game = turn_based(game)
    progress = progress or Progress(f"building the tree of {game.get_type().short_name}")
    if hasattr(game, "game_tree") and not from_states:
        # Such a game enumerates itself, or raises ValueError past `max_nodes` nodes.
        tree: GameTree = game.game_tree(max_nodes, progress)
    else:
        tree = _tree_from_states(game, max_nodes, progress)
    check_tree(tree)
    return tree


def sequence_form_of(game: SequenceForm | GameTree | Any) -> SequenceForm:
    """The sequence form of a game in any shape: a form, a tree, a game or a game string."""
    if isinstance(game, SequenceForm):
        return game
    if isinstance(game, GameTree):
        return sequence_form_from_tree(game)
    if not isinstance(game, str | pyspiel.Game):
        raise ValueError(
            "expected a SequenceForm, a GameTree, a pyspiel.Game or the name of one, got "
            f"{game!r:.80}"
        )
    return sequence_form_from_tree(tree_from_game(game))


def _tree_from_states(game: Any, max_nodes: int, progress: Progress) -> GameTree:
    """The tree of any game, one state at a time."""
    builder = TreeBuilder(str(game))
    # A node waits here with its parent's number, the action and its chance probability.
    waiting = [(game.new_initial_state(), NO_PARENT, NO_ACTION, 1.0)]
    declared_sum = game.utility_sum()
    offset = None if declared_sum is None else 0.5 * declared_sum
    while waiting:
        state, parent, action, probability = waiting.pop()
        if len(builder) >= max_nodes:
            raise ValueError(
                f"{game} has more than max_nodes={max_nodes} nodes ({len(builder)} reached, "
                f"{len(waiting) + 1} more waiting); raise it with the argument max_nodes"
            )
        if len(builder) % _NODES_BETWEEN_PROGRESS == 0:
            progress.update(len(builder))
        player = int(state.current_player())
        observations = _information_states(game, state)
        if player == TERMINAL:
            returns = state.returns()
            half_sum = 0.5 * (returns[0] + returns[1])
            offset = half_sum if offset is None else offset
            # Written so that NaN is wrong, too.
            if not abs(half_sum - offset) <= _SUM_TOLERANCE:
                raise ValueError(
                    f"{game} is declared {game.get_type().utility}: expected payoffs that sum to "
                    f"{2 * offset}, got {returns} after the actions {state.history()}"
                )
            builder.add_node(
                parent,
                action,
                TERMINAL,
                observations,
                chance=probability,
                utility=returns[0] - half_sum,
            )
            continue
        if player == CHANCE:
            outcomes = state.chance_outcomes()
            node = builder.add_node(parent, action, CHANCE, observations, chance=probability)
            children = [(state.child(a), node, a, q) for a, q in outcomes]
        else:
            actions = state.legal_actions()
            node = builder.add_node(
                parent, action, player, observations, actions, chance=probability
            )
            children = [(state.child(a), node, a, 1.0) for a in actions]
        # Last in, first out: the first action's child must be visited first.
        waiting.extend(reversed(children))
    return builder.build(utility_offset=offset or 0.0)


def _information_states(game: Any, state: Any) -> tuple[str, str]:
    """What both players know at a state.

    Raises:
      ValueError: the game does not say, or says something that is no text.
    """
    try:
        told = (state.information_state_string(0), state.information_state_string(1))
    except Exception as error:
        raise ValueError(
            f"{game} does not tell both players' information states after the actions "
            f"{state.history()}: {error}"
        ) from error
    for player in PLAYERS:
        if not isinstance(told[player], str):
            raise ValueError(
                f"{game} tells player {player} {told[player]!r} after the actions "
                f"{state.history()}, expected an information state string"
            )
    return told


def history_of(tree: GameTree, node: int) -> list[int]:
    """The actions, chance's included, from the root to `node`."""
    history = []
    while tree.parent[node] != NO_PARENT:
        history.append(int(tree.action[node]))
        node = int(tree.parent[node])
    return history[::-1]


def infoset_states(tree: GameTree, game: Any) -> Iterator[tuple[int, int, Any]]:
    """Yields (player, decision infoset, one state in it), replayed from the tree's paths."""
    game = turn_based(game)
    for player in PLAYERS:
        first_node = first_places(tree.infoset[player])
        for infoset in tree.infosets[player].decisions:
            state = game.new_initial_state()
            for action in history_of(tree, int(first_node[infoset])):
                state.apply_action(action)
            yield player, int(infoset), state


def policy_table(policy: BehaviorPolicy) -> dict[str, list[tuple[int, float]]]:
    """Actions and probabilities by information state string.

    Raises:
      ValueError: a string names infosets of both players, so that OpenSpiel's
        tables, which are keyed by the string alone, would merge them.
    """
    table: dict[str, list[tuple[int, float]]] = {}
    for player in PLAYERS:
        infosets = policy.tree.infosets[player]
        for label, infoset in infosets.index_of_label.items():
            if label in table:
                raise ValueError(
                    f"both players of {policy.tree.name} have an information state {label!r}, "
                    "which OpenSpiel's tabular policies cannot tell apart"
                )
            probabilities = policy.probabilities[player][infosets.sequences(infoset)]
            table[label] = [
                (int(a), float(q))
                for a, q in zip(infosets.actions(infoset), probabilities, strict=True)
            ]
    return table


def policy_to_pyspiel(policy: BehaviorPolicy) -> Any:
    """The policy as OpenSpiel's C++ `pyspiel.TabularPolicy`."""
    return pyspiel.TabularPolicy(policy_table(policy))


def policy_to_openspiel(policy: BehaviorPolicy, game: Any) -> openspiel_policy.TabularPolicy:
    """The policy as OpenSpiel's Python `TabularPolicy` of `game`, a game or its name."""
    game = game_from(game)
    from open_spiel.python import policy as openspiel_policy

    tabular = openspiel_policy.TabularPolicy(turn_based(game))
    table = policy_table(policy)
    if set(tabular.state_lookup) != set(table):
        raise ValueError(
            f"{game} has {len(tabular.state_lookup)} information states that are not those of "
            f"{policy.tree.name} ({len(table)}): the policy belongs to another game"
        )
    tabular.action_probability_array[:] = 0.0
    for label, row in tabular.state_lookup.items():
        for action, probability in table[label]:
            tabular.action_probability_array[row, action] = probability
    return tabular


def policy_to_function(policy: BehaviorPolicy) -> PolicyFunction:
    """The policy as a function from a state to {action: probability}."""

    def action_probabilities(state: Any) -> dict[int, float]:
        player = state.current_player()
        infosets = policy.tree.infosets[player]
        label = state.information_state_string(player)
        infoset = infosets.index_of_label.get(label)
        if infoset is None:
            raise ValueError(f"player {player} has no information state {label!r}")
        probabilities = policy.probabilities[player][infosets.sequences(infoset)]
        return {
            int(a): float(q) for a, q in zip(infosets.actions(infoset), probabilities, strict=True)
        }

    return action_probabilities


def policy_from_openspiel(tree: GameTree, game: Any, source: Any) -> BehaviorPolicy:
    """A policy of OpenSpiel's as probabilities on `tree`.

    Args:
      tree: the tree of `game`.
      game: the game, or its name.
      source: an OpenSpiel Python policy, a C++ one (`pyspiel.Policy`), or a
        function from a state to {action: probability}.
    """
    game = game_from(game)
    action_probabilities: PolicyFunction
    from open_spiel.python import policy as openspiel_policy

    if isinstance(source, openspiel_policy.Policy | pyspiel.Policy):
        action_probabilities = source.action_probabilities
    elif callable(source):
        action_probabilities = source
    else:
        raise ValueError(
            "expected an OpenSpiel policy or a function from a state to a dict, got "
            f"{type(source).__name__}"
        )
    probabilities = [np.ones(infosets.num_sequences) for infosets in tree.infosets]
    for player, infoset, state in infoset_states(tree, game):
        infosets = tree.infosets[player]
        row = action_probabilities(state)
        unknown = set(row) - set(infosets.actions(infoset).tolist())
        if any(row[action] > 0.0 for action in unknown):
            raise ValueError(
                f"the policy plays {sorted(unknown)} at {infosets.labels[infoset]!r}, where the "
                f"legal actions are {infosets.actions(infoset).tolist()}"
            )
        probabilities[player][infosets.sequences(infoset)] = [
            row.get(int(action), 0.0) for action in infosets.actions(infoset)
        ]
    return BehaviorPolicy(tree, (probabilities[0], probabilities[1]))
