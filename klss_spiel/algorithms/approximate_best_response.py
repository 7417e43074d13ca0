"""Lower bounds on exploitability in games too large to enumerate (ISMCTS-BR).

Timbers et al., "Approximate Exploitability: Learning a Best Response" (2022): the agent is
part of the rules, so that whoever responds plays a game of one player, in which
information-set Monte Carlo tree search finds good play. Differences here: every
simulation starts at the start of the game, so that histories come from the right
distribution whatever the agent is (it is only ever asked to play, no probabilities are
needed), and a *fallback* strategy takes the place of learned networks: it proposes
actions (half of the prior of PUCT) and plays on where the tree ends.

    response = approximate_best_response(game, 0, agent, settings)
    estimate = evaluate_response(game, response, agent, games=1000)

Any strategy earns at most what a best response does. The response is frozen, and then
measured in games it has not seen, so that `Estimate.low` is a lower bound of the best
response's value up to the stated confidence, however well or badly the search went.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray
from klss_spiel.progress import Progress
from klss_spiel.tree import CHANCE, PLAYERS
from klss_spiel.veiled_state import veil

CONFIDENCE: Final = 0.95
# Streams of random numbers; games that measure are none of those that were learned from.
_SEARCH: Final = 0
_MEASUREMENT: Final = 1


class Bot(Protocol):
    """Plays one game for one player."""

    def step(self, state: Any) -> int:
        """The action to play at a (veiled) state."""


class Follower(Protocol):
    """A strategy that can be asked at any decision of a game, whoever made the earlier ones."""

    def probabilities(self, state: Any) -> FloatArray:
        """[number of legal actions] at a (veiled) state of the player."""

    def record(self, state: Any, action: int) -> None:
        """Notes what was played at a state."""


# Makes a bot for a new game, of the seed of its draws.
Agent = Callable[[int], Bot]
# Makes a follower for a new game.
Fallback = Callable[[], Follower]


class Uniform:
    """The fallback that knows nothing."""

    def probabilities(self, state: Any) -> FloatArray:
        """Every legal action equally likely."""
        count = len(state.legal_actions())
        return np.full(count, 1.0 / count)

    def record(self, state: Any, action: int) -> None:
        """Nothing to note."""


class FollowingBot:
    """A bot that plays as a follower says."""

    def __init__(self, follower: Follower, seed: int) -> None:
        self._follower = follower
        self._rng = np.random.default_rng(seed)

    def step(self, state: Any) -> int:
        """An action drawn from the follower's probabilities."""
        action = _draw(self._follower, state, self._rng)
        self._follower.record(state, action)
        return action


@dataclasses.dataclass(frozen=True)
class ResponseSettings:
    """How to look for a response.

    Attributes:
      simulations: games played against the agent.
      exploration: the constant of PUCT, in units of the range of payoffs.
      least_visits: how often, for each of its actions, the search must have been at an
        infoset for its choice there to count.
      max_agent_cost: no simulation starts once the agent has cost so much; see
        `approximate_best_response`.
    """

    simulations: int = 10_000
    exploration: float = 1.0
    least_visits: float = 2.0
    max_agent_cost: float = math.inf

    def __post_init__(self) -> None:
        if self.simulations < 1:
            raise ValueError(f"expected at least 1 simulation, got {self.simulations}")
        if not self.exploration > 0.0:
            raise ValueError(f"expected exploration above 0, got {self.exploration}")
        if self.least_visits < 0.0:
            raise ValueError(f"expected least_visits of at least 0, got {self.least_visits}")


@dataclasses.dataclass(frozen=True, eq=False)
class Response:
    """A frozen strategy.

    Attributes:
      player: who responds.
      actions: by information state, the action that is played.
      fallback: plays everywhere else.
      simulations: that were made to find it.
    """

    player: int
    actions: Mapping[str, int]
    fallback: Fallback
    simulations: int

    def choose(self, state: Any, follower: Follower, rng: np.random.Generator) -> int:
        """The action at a (veiled) state."""
        known = self.actions.get(state.information_state_string())
        return _draw(follower, state, rng) if known is None else known


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a response earned in fresh games.

    Attributes:
      mean: mean payoff of the responding player.
      standard_error: of the mean.
      low: lower end of the two-sided interval of 95% by the normal approximation.
      high: upper end.
      sure_low: lower bound that holds with 95% for any distribution of payoffs (Maurer
        and Pontil 2009, theorem 4); wider, and true for few games or equal results.
      games: how many.
    """

    mean: float
    standard_error: float
    low: float
    high: float
    sure_low: float
    games: int


class _Infoset:
    """Statistics of the search at an infoset. Mutable.

    What an action is worth is the mean of the games that left the tree after it and of
    the values of the infosets it led to, each as often as it was met. An infoset is
    worth what its most tried action is (the robust maximum of Coulom 2006):
    games that explored something bad do not count against it.

    Letter: a legal actions.

    Attributes:
      actions: [a] the legal actions.
      visits: [a] how often each was tried.
    """

    __slots__ = ("_below", "_prior", "_rest", "actions", "visits")

    def __init__(self, actions: list[int], proposed: FloatArray) -> None:
        self.actions = actions
        self.visits = np.zeros(len(actions))
        self._prior = 0.5 * proposed + 0.5 / len(actions)
        # [a] sum of payoffs of games that left the tree, and of values of infosets below.
        self._rest = np.zeros(len(actions))
        self._below = np.zeros(len(actions))

    def select(self, exploration: float) -> int:
        """Number of the action with the best PUCT score; untried ones count as the mean."""
        count = self.visits.sum()
        totals = self._rest + self._below
        mean = totals.sum() / count if count else 0.0
        values = np.where(self.visits > 0, totals / np.maximum(self.visits, 1.0), mean)
        bonus = exploration * self._prior * math.sqrt(max(count, 1.0)) / (1.0 + self.visits)
        return int(np.argmax(values + bonus))

    @property
    def best(self) -> int:
        """Number of the action that was tried most often."""
        return int(np.argmax(self.visits))

    @property
    def worth(self) -> float:
        """The infoset's value times its visits."""
        best = self.best
        if not self.visits[best]:
            return 0.0
        value = (self._rest[best] + self._below[best]) / self.visits[best]
        return float(value * self.visits.sum())

    def add(self, number: int, payoff: float = 0.0, worth_below: float = 0.0) -> None:
        """Counts a game: its payoff if it left the tree here, else what changed below."""
        self.visits[number] += 1.0
        self._rest[number] += payoff
        self._below[number] += worth_below


def approximate_best_response(
    game: Any,
    player: int,
    agent: Agent,
    settings: ResponseSettings | None = None,
    fallback: Fallback = Uniform,
    seed: int = 0,
    agent_cost: Callable[[], float] | None = None,
) -> Response:
    """Searches for a strategy that does well against an agent, and freezes it.

    The search is deterministic for a seed if the agent is for its own seeds.

    Args:
      game: a sequential two-player zero-sum `pyspiel.Game`.
      player: who responds; the agent plays for the other one.
      agent: makes the agent's bot for each simulated game.
      settings: how to search.
      fallback: what to play outside of the tree, and what to try first inside.
      seed: of everything random.
      agent_cost: what the agent has cost so far, e.g. the nodes of its searches.
    """
    settings = settings or ResponseSettings()
    if player not in PLAYERS:
        raise ValueError(f"expected player 0 or 1, got {player}")
    tree: dict[str, _Infoset] = {}
    exploration = settings.exploration * float(game.max_utility() - game.min_utility())
    progress = Progress(f"games to learn a response of player {player}", settings.simulations)
    done = 0
    while done < settings.simulations:
        if agent_cost is not None and agent_cost() >= settings.max_agent_cost:
            break
        _simulate(game, player, agent, fallback(), tree, exploration, (seed, _SEARCH, done))
        done += 1
        progress.update(done)
    actions = {
        told: infoset.actions[infoset.best]
        for told, infoset in tree.items()
        if infoset.visits.sum() >= settings.least_visits * len(infoset.actions)
    }
    return Response(player, actions, fallback, done)


def evaluate_response(
    game: Any, response: Response, agent: Agent, games: int = 1000, seed: int = 0
) -> Estimate:
    """Plays fresh games of a frozen response against the agent.

    Args:
      game: as in the search.
      response: what was found.
      agent: the agent.
      games: how many.
      seed: of the games; with any seed they differ from those of the search.
    """
    if games < 2:
        raise ValueError(f"expected at least 2 games, got {games}")
    progress = Progress(f"games to measure player {response.player}", games)
    payoffs = np.empty(games)
    for number in range(games):
        rng = np.random.default_rng((seed, _MEASUREMENT, number))
        follower = response.fallback()

        def respond(
            state: Any, follower: Follower = follower, rng: np.random.Generator = rng
        ) -> int:
            return response.choose(state, follower, rng)

        payoffs[number] = _play(game, response.player, agent, follower, respond, rng)
        progress.update(number + 1)
    return estimate_mean(payoffs, float(game.max_utility() - game.min_utility()))


def estimate_mean(payoffs: npt.ArrayLike, payoff_range: float) -> Estimate:
    """The mean of independent payoffs, with its bounds.

    Args:
      payoffs: [n] of the games, n at least 2.
      payoff_range: the largest possible payoff less the least.
    """
    values = np.asarray(payoffs, dtype=np.float64)
    count = len(values)
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    error = math.sqrt(variance / count)
    reach = NormalDist().inv_cdf(0.5 + 0.5 * CONFIDENCE) * error
    surprise = math.log(2.0 / (1.0 - CONFIDENCE))
    slack = math.sqrt(2.0 * variance * surprise / count)
    slack += 7.0 * payoff_range * surprise / (3.0 * (count - 1))
    return Estimate(mean, error, mean - reach, mean + reach, mean - slack, count)


def exploitability_bound(first: Estimate, second: Estimate, utility_sum: float = 0.0) -> Estimate:
    """What responses to both seats of an agent say of its exploitability.

    Exploitability is half the sum of what best responses gain: (value of the response as
    player 0 + value as player 1 - sum of payoffs) / 2. It is never negative, so bounds
    below 0 say nothing. `sure_low` holds if both seats' bounds do, with 90%.

    Args:
      first: what the response of player 0 earned.
      second: what the response of player 1 earned.
      utility_sum: constant sum of both players' payoffs.
    """
    mean = 0.5 * (first.mean + second.mean - utility_sum)
    error = 0.5 * math.hypot(first.standard_error, second.standard_error)
    reach = NormalDist().inv_cdf(0.5 + 0.5 * CONFIDENCE) * error
    sure = 0.5 * (first.sure_low + second.sure_low - utility_sum)
    games = first.games + second.games
    return Estimate(mean, error, mean - reach, mean + reach, sure, games)


def _simulate(
    game: Any,
    player: int,
    agent: Agent,
    follower: Follower,
    tree: dict[str, _Infoset],
    exploration: float,
    seed: tuple[int, int, int],
) -> None:
    """Plays a game and notes its result in the tree, which grows by at most one infoset."""
    rng = np.random.default_rng(seed)
    chosen: list[tuple[_Infoset, int]] = []
    in_tree = True

    def respond(state: Any) -> int:
        nonlocal in_tree
        if not in_tree:
            return _draw(follower, state, rng)
        told = state.information_state_string()
        if told not in tree:
            in_tree = False
            tree[told] = _Infoset(state.legal_actions(), follower.probabilities(state))
        number = tree[told].select(exploration)
        chosen.append((tree[told], number))
        return tree[told].actions[number]

    payoff = _play(game, player, agent, follower, respond, rng)
    change = 0.0
    for infoset, number in reversed(chosen):
        before = infoset.worth
        infoset.add(number, payoff, change)
        payoff, change = 0.0, infoset.worth - before


def _play(
    game: Any,
    player: int,
    agent: Agent,
    follower: Follower,
    respond: Callable[[Any], int],
    rng: np.random.Generator,
) -> float:
    """What `player` earns in one game against the agent, choosing by `respond`."""
    bot = agent(int(rng.integers(2**31)))
    state = game.new_initial_state()
    while not state.is_terminal():
        mover = int(state.current_player())
        if mover == CHANCE:
            outcomes, weights = zip(*state.chance_outcomes(), strict=True)
            action = int(rng.choice(outcomes, p=np.array(weights) / sum(weights)))
        elif mover == player:
            shown = veil(state, mover)
            legal = shown.legal_actions()
            action = int(legal[0]) if len(legal) == 1 else respond(shown)
            follower.record(shown, action)
        else:
            shown = state if getattr(bot, "sees_everything", False) else veil(state, mover)
            action = int(bot.step(shown))
            if action not in state.legal_actions():
                raise ValueError(
                    f"expected one of the legal actions {state.legal_actions()} from the agent, "
                    f"got {action}"
                )
        state.apply_action(action)
    getattr(bot, "close", _nothing_to_close)()
    return float(state.returns()[player])


def _nothing_to_close() -> None:
    """For bots without a method `close`."""


def _draw(follower: Follower, state: Any, rng: np.random.Generator) -> int:
    weights = np.asarray(follower.probabilities(state), dtype=np.float64)
    return int(rng.choice(state.legal_actions(), p=weights / weights.sum()))
