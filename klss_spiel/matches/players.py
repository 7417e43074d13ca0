"""Players by specification: `search(preset=obscuro,nodes=100000)`, `random`, ...

    register_player("mine", lambda seat, depth=3: MyBot(seat.game, seat.player, depth))

makes `mine(depth=4)` a player like all others. A maker is called once per game with the
`Seat` and the specification's arguments, and returns anything with `step(state)`, such as
a `pyspiel.Bot`, at the start of a new game.

Specifications are for the owner of the machine: `policy` reads files, `engine` and `uci`
start programs, so nothing that listens to strangers may accept them.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from klss_spiel.budget import Budget
from klss_spiel.budget import seconds_by_clock as seconds_by_clock
from klss_spiel.matches.referee import Player
from klss_spiel.openspiel import load_game, tree_from_game, turn_based
from klss_spiel.specification import Registry, Specification, parse

# Names of players that are told the truth; the mark goes wherever results are shown.
SEEING = ("trusted", "cheating")
_DEFAULT_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class Seat:
    """Where a player is to sit.

    Attributes:
      game: the `pyspiel.Game`, sequential.
      player: 0 or 1.
      seed: of the player's draws in this game.
      seconds: per move, for players whose specification has no budget; None if the
        match does not say.
    """

    game: Any
    player: int
    seed: int = 0
    seconds: float | None = None


_PLAYERS: Registry[Player] = Registry("player")


def register_player(name: str, maker: Any) -> None:
    """Adds a player: `maker(seat, *arguments, **keywords)` returns a bot for one game."""
    _PLAYERS.register(name, maker)


def player_names() -> tuple[str, ...]:
    """Names of all players."""
    _load_all()
    return tuple(_PLAYERS.names)


def make_player(specification: str | Specification, seat: Seat) -> Player:
    """The player that a specification describes, for one seat of one game."""
    _load_all()
    player = _PLAYERS.make(specification, seat)
    if not callable(getattr(player, "step", None)):
        raise ValueError(f"expected player {specification} to have a method step, got {player!r}")
    if getattr(player, "sees_everything", False) and not sees_everything(specification):
        # Who is told the truth is known by name, so that no table can hide it.
        raise ValueError(
            f"expected a player without the mark sees_everything, got {specification}; "
            f"trusted({specification}) is told the truth"
        )
    return player


def check_specification(text: str) -> Specification:
    """The specification of a player; ValueError if nobody is called like that."""
    specification = parse(text)
    if specification.name not in player_names():
        _PLAYERS.make(specification)  # raises the error with near names
    return specification


def sees_everything(specification: str | Specification) -> bool:
    """Whether a player is told the truth instead of its own observations."""
    if isinstance(specification, str):
        specification = parse(specification)
    return specification.name in SEEING


@functools.cache
def _load_all() -> None:
    """Registers the players of this package, whose modules import much."""
    from klss_spiel.matches import (
        chess_players,
        mahjong_seats,
        process_player,
        sampling_players,
        search_players,
    )

    del chess_players, mahjong_seats, process_player, sampling_players, search_players


class RandomPlayer:
    """Plays every legal action with the same probability."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def step(self, state: Any) -> int:
        """A legal action."""
        legal = state.legal_actions()
        return int(legal[self._rng.integers(len(legal))])


class PolicyPlayer:
    """Draws from a table of probabilities by information state."""

    def __init__(self, table: dict[str, list[tuple[int, float]]], seed: int) -> None:
        self._table = table
        self._rng = np.random.default_rng(seed)

    def step(self, state: Any) -> int:
        """An action drawn from the policy."""
        told = state.information_state_string()
        if told not in self._table:
            raise ValueError(f"the policy has no information state {told!r}")
        actions, weights = zip(*self._table[told], strict=True)
        return int(self._rng.choice(actions, p=np.array(weights) / sum(weights)))


def seat_budget(
    seat: Seat,
    nodes: int | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
) -> Budget:
    """The budget of a specification, else the match's, else a second per move."""
    if nodes is None and seconds is None and iterations is None:
        seconds = _DEFAULT_SECONDS if seat.seconds is None else seat.seconds
    return Budget(seconds=seconds, nodes=nodes, iterations=iterations)


@functools.lru_cache(maxsize=4)
def blueprint_of(game_string: str, source: str) -> Any:
    """A policy on a game's tree: `cfr:100` (iterations of CFR+), `uniform`, or an .npz file."""
    from klss_spiel.algorithms import cfr
    from klss_spiel.policy import BehaviorPolicy
    from klss_spiel.sequence_form import sequence_form_from_tree

    tree = tree_from_game(turn_based(load_game(game_string)))
    kind, _, iterations = source.partition(":")
    if kind == "uniform":
        return BehaviorPolicy.uniform(tree)
    if kind == "cfr" and iterations.isdigit() and int(iterations) > 0:
        solution = cfr.solve(sequence_form_from_tree(tree), iterations=int(iterations))
        return BehaviorPolicy(tree, solution.average_behavior)
    if source.endswith(".npz"):
        return BehaviorPolicy.load(source, tree)
    raise ValueError(f"expected a policy such as cfr:100, uniform or file.npz, got {source!r}")


def _make_random(seat: Seat) -> Player:
    return RandomPlayer(seat.seed)


@functools.lru_cache(maxsize=4)
def _table_of(game_string: str, source: str) -> dict[str, list[tuple[int, float]]]:
    from klss_spiel.openspiel import policy_table

    return policy_table(blueprint_of(game_string, source))


def _make_policy(seat: Seat, source: str) -> Player:
    return PolicyPlayer(_table_of(str(seat.game), source), seat.seed)


def _make_cfr(seat: Seat, iterations: int = 1000) -> Player:
    return _make_policy(seat, f"cfr:{iterations}")


register_player("random", _make_random)
register_player("policy", _make_policy)
register_player("cfr", _make_cfr)
