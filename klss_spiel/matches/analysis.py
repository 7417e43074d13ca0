"""What a searching player thinks of a decision: candidates, belief, what moves would tell.

    analyse("python_dark_chess", history, told, player=0, budget=Budget(nodes=100_000))
    analyse_record(row, ply=20, budget=Budget(nodes=100_000))

The first knows what the player was told and did, and nothing else; the second looks that up
in the record of a game.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.report import SearchReport
from klss_spiel.algorithms.search.settings import STRONG, SearchSettings
from klss_spiel.budget import Budget
from klss_spiel.matches.beliefs import BeliefAt, dark_chess_belief, kriegspiel_belief
from klss_spiel.openspiel import load_game, turn_based
from klss_spiel.search_game import Belief, SearchGame
from klss_spiel.tree import CHANCE, NO_INFOSET

# Probabilities below this are not worth a place in a text.
_LEAST_SHOWN = 0.005


@dataclasses.dataclass(frozen=True)
class Candidate:
    """An action that the player may choose.

    Attributes:
      action: OpenSpiel's number.
      move: its name.
      probability: with which the search plays it.
      value: what the player expects of it, in the game's own payoffs; None if the search
        did not get there.
      bits: entropy of what the player would see after it; None where that is not known.
      left: expected share of the positions that would still be possible after it; likewise.
      takes: probability that it captures something; likewise.
    """

    action: int
    move: str
    probability: float
    value: float | None
    bits: float | None = None
    left: float | None = None
    takes: float | None = None


@dataclasses.dataclass(frozen=True)
class Analysis:
    """What a search says of one decision.

    Attributes:
      game: game string.
      player: who decides.
      told: the player's information state.
      candidates: all legal actions, the likeliest first.
      belief_size: positions that fit what the player knows.
      belief_complete: whether these are all of them.
      heat: letter of a kind -> [squares] probability that an enemy piece of that kind
        stands there, the first rank first; empty for games other than chess.
      width: files of the board; 0 without a board.
      report: of the search.
    """

    game: str
    player: int
    told: str
    candidates: tuple[Candidate, ...]
    belief_size: int
    belief_complete: bool
    heat: Mapping[str, tuple[float, ...]]
    width: int
    report: SearchReport

    def to_json(self) -> str:
        """Everything as a JSON object."""
        return json.dumps(dataclasses.asdict(self))

    def __str__(self) -> str:
        last = self.told.split()[-1] if self.told.split() else ""
        lines = [f"player {self.player}, told last: {last}", str(self.report), ""]
        lines.append(f"{'move':8} {'plays':>7} {'value':>7} {'bits':>6} {'left':>7} {'takes':>6}")
        for candidate in self.candidates:
            lines.append(_line_of(candidate))
        if self.heat:
            size = f"{self.belief_size}{'' if self.belief_complete else ' or more'}"
            lines += ["", f"where enemy pieces may stand, in percent ({size} positions):"]
            lines += _heat_lines(self.heat, self.width)
        return "\n".join(lines)


def _line_of(candidate: Candidate) -> str:
    def number(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    return (
        f"{candidate.move:8} {candidate.probability:7.1%} {number(candidate.value, '+.3f'):>7} "
        f"{number(candidate.bits, '.2f'):>6} {number(candidate.left, '.1%'):>7} "
        f"{number(candidate.takes, '.0%'):>6}"
    )


def _heat_lines(heat: Mapping[str, tuple[float, ...]], width: int) -> list[str]:
    """A board for each kind that may stand anywhere, the last rank first, three in a row."""
    boards = []
    for letter, shares in heat.items():
        if max(shares) < _LEAST_SHOWN:
            continue
        ranks = [shares[i : i + width] for i in range(0, len(shares), width)][::-1]
        cells = [" ".join(_percent(share) for share in rank) for rank in ranks]
        boards.append([letter.ljust(len(cells[0])), *cells])
    lines = []
    for first in range(0, len(boards), 3):
        shown = boards[first : first + 3]
        lines += ["   ".join(parts).rstrip() for parts in zip(*shown, strict=True)]
    return lines


def _percent(share: float) -> str:
    return " ." if share < _LEAST_SHOWN else f"{min(99, round(100 * share)):2d}"


def analyse(
    game: Any,
    history: Sequence[tuple[str, int]],
    told: str,
    player: int,
    budget: Budget,
    settings: SearchSettings = STRONG,
    seed: int = 0,
) -> Analysis:
    """Searches at a decision.

    The player's last decision before it is searched, too, because a search goes on from the
    one before.

    Args:
      game: a `pyspiel.Game` or a game string.
      history: the player's decisions so far: information states and actions.
      told: the player's information state now, being to move.
      player: who decides.
      budget: of each of the two searches.
      settings: how to search.
      seed: of the random choices.
    """
    game = turn_based(load_game(game) if isinstance(game, str) else game)
    searched = search_game(game)
    actor = SearchPlayer(searched, player, settings, budget, seed)
    for number, (state, action) in enumerate(history):
        if number == len(history) - 1:
            actor.decide(
                state, _legal_actions(searched, player, state, actor.advance_belief(state))
            )
        actor.record_action(state, action)
    belief = actor.advance_belief(told)
    legal = _legal_actions(searched, player, told, belief)
    decision = actor.decide(told, legal)
    values = _values(actor, told, len(decision.actions))
    board = _chess_belief(searched, belief, player, legal)
    reveals = {} if board is None else {reveal.move: reveal for reveal in board.reveals}
    candidates = []
    for action, probability, value in zip(
        decision.actions, decision.probabilities.tolist(), values, strict=True
    ):
        name = _name(game, belief, player, action)
        shown = reveals.get(name)
        known = {} if shown is None else {k: getattr(shown, k) for k in ("bits", "left", "takes")}
        candidates.append(Candidate(action, name, probability, value, **known))
    candidates.sort(key=lambda c: (-c.probability, -np.inf if c.value is None else -c.value))
    return Analysis(
        game=str(game),
        player=player,
        told=told,
        candidates=tuple(candidates),
        belief_size=len(belief.positions),
        belief_complete=belief.complete,
        heat={} if board is None else board.heat,
        width=0 if board is None else game.setup.start.width,
        report=decision.report,
    )


def analyse_record(
    row: Mapping[str, Any],
    ply: int,
    budget: Budget,
    player: int | None = None,
    settings: SearchSettings = STRONG,
    seed: int = 0,
) -> Analysis:
    """Searches at a decision of a recorded game, as the player who made it.

    Args:
      row: has `game` and `actions`, as files of matches do.
      ply: actions of players before the decision.
      budget: of each of two searches; see `analyse`.
      player: who is to decide; ValueError if it is another's turn. None for whoever it is.
      settings: how to search.
      seed: of the random choices.
    """
    game = turn_based(load_game(row["game"]))
    state = game.new_initial_state()
    past: dict[int, list[tuple[str, int]]] = {0: [], 1: []}
    plies = 0
    for action in row["actions"]:
        mover = int(state.current_player())
        if mover != CHANCE:
            if plies == ply:
                break
            past[mover].append((state.information_state_string(mover), int(action)))
            plies += 1
        state.apply_action(int(action))
    if plies != ply or state.is_terminal():
        raise ValueError(f"expected a ply from 0 to {plies} with a decision to make, got {ply}")
    mover = int(state.current_player())
    if player is not None and player != mover:
        raise ValueError(f"expected a ply at which player {player} moves, got {ply}")
    told = state.information_state_string(mover)
    return analyse(game, past[mover], told, mover, budget, settings, seed)


def _legal_actions(searched: SearchGame, player: int, told: str, belief: Belief) -> tuple[int, ...]:
    """The legal actions, which are the same in every position that fits.

    Raises:
      ValueError: there is none.
    """
    if not len(belief.positions):
        why = "nothing fits" if belief.complete else "its sampled belief has died out"
        raise ValueError(
            f"cannot analyse {searched.name} for player {player} who was told {told!r}: {why}"
        )
    own = int(searched.infosets(player, told)[0])
    positions = belief.positions[:1]
    children = searched.expand(positions, searched.informed(player, own, positions))
    return tuple(children.action.tolist())


def _values(actor: SearchPlayer, told: str, count: int) -> list[float | None]:
    """What the player expects of each action, in the game's own payoffs."""
    if actor.search is None:  # a first decision that is forced is not searched
        return [None] * count
    tree, game = actor.search.tree, actor.game
    for identifier in game.infosets(actor.player, told):
        infoset = tree.infoset_of(actor.player, int(identifier))
        if infoset != NO_INFOSET:
            first = int(tree.infosets[actor.player].first_sequence[infoset])
            values = tree.sequences[actor.player].value[first : first + count]
            return [game.utility_scale * float(v) + game.utility_offset for v in values]
    return [None] * count


def _name(game: Any, belief: Belief, player: int, action: int) -> str:
    """What an action is called where the player decides."""
    setup = getattr(game, "setup", None)
    if setup is not None and hasattr(setup, "table"):
        return str(setup.table.names[action])
    state = belief.positions[0]  # games without packed positions have states
    return str(state.action_to_string(player, action))


def _chess_belief(
    searched: SearchGame, belief: Belief, player: int, legal: Sequence[int]
) -> BeliefAt | None:
    """What is believed of a game on packed positions; None of others."""
    from klss_spiel.games.chess.packed.counted_positions import boards_of
    from klss_spiel.games.chess.packed.kriegspiel_search_game import Kriegspiel
    from klss_spiel.games.chess.packed.position_sets import PositionSet
    from klss_spiel.games.chess.packed.search_game import DarkChess

    if isinstance(searched, Kriegspiel):
        return kriegspiel_belief(searched.setup, belief, player, legal, 0)
    if not isinstance(searched, DarkChess):
        return None
    words = boards_of(belief.positions)
    held = PositionSet(
        searched.transition, player, player, words, belief.complete, weights=belief.weights
    )
    return dark_chess_belief(held, 0, with_reveals=True)
