"""Matches of the Obscuro paper (section 4) and of ZS21 (section 6), beside what was printed.

Every game is a job of `klss_spiel.matches`, so that games of all rows are in one file.
Both players of a row have the same budget, except where doubling it is the question.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from klss_spiel import plot as figures
from klss_spiel.evaluators import EVALUATORS
from klss_spiel.jobs import Job
from klss_spiel.matches import ratings
from klss_spiel.matches.match import Match, Results, jobs_of
from klss_spiel.run.obscuro.budgets import PAPER_BUDGET, MoveBudget
from klss_spiel.specification import Specification, parse

GAME = "python_dark_chess"
SIMPLE_EVALUATOR = "simple"
EVEN = 0.5
AGREES, DIFFERS, UNDECIDED = "agrees", "differs", "undecided"

# Section 4.1: what each ablation turns off, as settings of the search. Without purification
# all stable actions are mixed, whatever the margin and however many they are.
_PURIFICATION_OFF = "margin_tolerance=4,max_support=1000"
_KLSS = "carry_over=klss"
_TWO_SIDED = "expansion=two_sided"
_UNIFORM_RESOLVE = "optimistic_prior=false"
_ALL_OFF = ",".join((_PURIFICATION_OFF, _KLSS, _TWO_SIDED, _UNIFORM_RESOLVE))
_SIMPLE = f"evaluator={SIMPLE_EVALUATOR}"
_ZS21 = "preset=zs21"


@dataclasses.dataclass(frozen=True)
class Printed:
    """The result of a match in a paper, from the first player's side.

    Attributes:
      score: share of the points.
      games: games played.
      budget: what each move was given.
    """

    score: float
    games: int
    budget: str = PAPER_BUDGET


def printed_counts(wins: int, draws: int, losses: int, budget: str = PAPER_BUDGET) -> Printed:
    """A result that is printed as numbers of games."""
    games = wins + draws + losses
    return Printed((wins + 0.5 * draws) / games, games, budget)


@dataclasses.dataclass(frozen=True)
class MatchRow:
    """A row of a table: two players and what the paper says of them.

    Attributes:
      name: what the row is about.
      first: specification of the player who scored the printed result.
      second: that of the opponent.
      budget: what the players have for a move, for people.
      printed: the paper's result; None where the paper has no such match.
    """

    name: str
    first: str
    second: str
    budget: str
    printed: Printed | None = None

    def match(self, games: int, seed: int) -> Match:
        """What is to be played."""
        return Match(game=GAME, players=(self.first, self.second), games=games, seed=seed)

    @property
    def missing(self) -> str | None:
        """Why the row cannot be played, or None."""
        for player in (self.first, self.second):
            name = parse(player).arguments.get("evaluator")
            if name is not None and Specification.nested(name).name not in EVALUATORS.names:
                return f"no evaluator {name}"
        return None


def searcher(budget: MoveBudget, *settings: str) -> str:
    """Specification of a searching player; settings such as "preset=zs21"."""
    if any(setting.startswith("evaluator=") for setting in settings):
        budget = dataclasses.replace(budget, evaluator=None)
    return f"search({','.join((*budget.arguments, *settings))})"


# What is matched: settings of both players and the printed result.
_ABLATIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Printed]] = {
    "purification off": ((), (_PURIFICATION_OFF,), printed_counts(662, 79, 259)),
    "KLSS instead of KLUSS": ((), (_KLSS,), printed_counts(532, 96, 372)),
    "two-sided expansion": ((), (_TWO_SIDED,), printed_counts(4535, 1583, 3882)),
    "uniform resolve": ((), (_UNIFORM_RESOLVE,), printed_counts(4595, 1478, 3927)),
    "two-sided GT-CFR only v ZS21": ((_ALL_OFF,), (_ZS21,), printed_counts(711, 30, 259)),
    "full v simple evaluation": ((), (_SIMPLE,), printed_counts(787, 63, 150)),
    "simple evaluation v ZS21": ((_SIMPLE,), (_ZS21,), printed_counts(5258, 486, 4256)),
}

# Section 4.2: each doubling from 1/16 s on, the longer time's result.
_FIRST_SECONDS = 1 / 16
_DOUBLINGS = (
    (5162, 943, 3895),
    (5031, 1231, 3738),
    (4923, 1503, 3574),
    (4617, 1566, 3817),
    (4589, 1561, 3850),
    (4463, 1530, 4007),
    (4501, 1482, 4017),
    (4448, 1563, 3989),
)
MAX_DOUBLINGS = len(_DOUBLINGS)


def ablation_rows(budget: MoveBudget) -> list[MatchRow]:
    """Obscuro against itself without one of its parts, and two more (section 4.1)."""
    return [
        MatchRow(name, searcher(budget, *first), searcher(budget, *second), str(budget), printed)
        for name, (first, second, printed) in _ABLATIONS.items()
    ]


def doubling_rows(start: MoveBudget, doublings: int) -> list[MatchRow]:
    """Twice the budget against once, from `start` on (section 4.2).

    The paper's result stands beside a row of the same seconds, whatever the cores.
    """
    if not 1 <= doublings <= MAX_DOUBLINGS:
        raise ValueError(f"expected from 1 to {MAX_DOUBLINGS} doublings, got {doublings}")
    rows = []
    for number in range(doublings):
        less, more = start.times(2**number), start.times(2 ** (number + 1))
        printed = None
        if less.seconds is not None:
            place = math.log2(less.seconds / _FIRST_SECONDS)
            if place.is_integer() and 0 <= place < MAX_DOUBLINGS:
                seconds = f"{more.seconds:g} s v {less.seconds:g} s, 5 cores"
                printed = printed_counts(*_DOUBLINGS[int(place)], seconds)
        name = f"{more.argument} v {less.argument}"
        budget = f"{name}, 1 core"
        rows.append(MatchRow(name, searcher(more), searcher(less), budget, printed))
    return rows


def versus_zs21_rows(budget: MoveBudget) -> list[MatchRow]:
    """Obscuro against ZS21's agent (section 4)."""
    printed = printed_counts(834, 33, 133)
    players = searcher(budget), searcher(budget, _ZS21)
    return [MatchRow("Obscuro v ZS21", *players, str(budget), printed)]


def zs21_baseline_rows(budget: MoveBudget) -> list[MatchRow]:
    """ZS21's agent against its baseline (ZS21, section 6: 59.5 to 40.5)."""
    printed = Printed(0.595, 100, "not said")
    players = searcher(budget, _ZS21), "zs21_baseline"
    return [MatchRow("ZS21 v its baseline", *players, f"{budget}; baseline depth 3", printed)]


def random_rows(budget: MoveBudget) -> list[MatchRow]:
    """Obscuro against random moves (section 4.2)."""
    return [
        MatchRow(
            "Obscuro v random", searcher(budget), "random", str(budget), printed_counts(1000, 0, 0)
        )
    ]


def make_jobs(rows: Sequence[MatchRow], games: int, seed: int) -> list[Job]:
    """A job for each game; the rows take turns, so that all of them grow."""
    lists = [jobs_of(row.match(games, seed)) for row in rows if row.missing is None]
    turns = itertools.zip_longest(*lists)
    return [job for turn in turns for job in turn if job is not None]


def score_interval(result: ratings.Tally) -> ratings.Interval:
    """Score with a 95% interval over pairs, never narrower than the rule of three allows."""
    elo = ratings.elo_interval(result)
    return ratings.Interval(*(ratings.score_of_elo(e) for e in (elo.estimate, elo.low, elo.high)))


def sign_verdict(interval: ratings.Interval, expected: float) -> str:
    """Whether a score is on the expected one's side of 1/2, if it is clear on which it is."""
    if interval.low <= EVEN <= interval.high:
        return UNDECIDED
    return AGREES if (interval.estimate > EVEN) == (expected > EVEN) else DIFFERS


def summarise(
    rows: Sequence[MatchRow], played: Sequence[Mapping[str, Any]], games: int, seed: int
) -> list[dict[str, Any]]:
    """A line for each match, from the rows of its games."""
    return [_summary(row, played, games, seed) for row in rows]


def _summary(
    row: MatchRow, played: Sequence[Mapping[str, Any]], games: int, seed: int
) -> dict[str, Any]:
    results = Results(row.match(games, seed))
    for game in played:
        if (game["first"], game["second"]) == (row.first, row.second):
            results.add(game)
    tally = results.tally(0, 1)
    line: dict[str, Any] = {"match": row.name, "games": tally.games}
    if tally.games:
        interval = score_interval(tally)
        # More should not be worse where the paper has no such match.
        expected = row.printed.score if row.printed is not None else 1.0
        line |= {
            "+": tally.wins,
            "=": tally.draws,
            "-": tally.losses,
            "score": round(interval.estimate, 4),
            "low": round(interval.low, 4),
            "high": round(interval.high, 4),
            "sign": sign_verdict(interval, expected),
            "plies": round(sum(game["plies"] for game in results.rows) / tally.games, 1),
            "forfeits": sum(game["loser"] is not None for game in results.rows),
        }
    else:
        line["sign"] = row.missing or "not played"
    line |= {
        "paper": None if row.printed is None else round(row.printed.score, 4),
        "paper_games": None if row.printed is None else row.printed.games,
        "budget": row.budget,
        "paper_budget": None if row.printed is None else row.printed.budget,
        "first": row.first,
        "second": row.second,
    }
    return line


def plot_doublings(lines: Sequence[Mapping[str, Any]], path: str) -> None:
    """Elo over the smallest budget by number of doublings, beside the paper's (Figure 3).

    The bar at a point is the interval of its last doubling alone. A curve ends where all
    games were won or none was, or no game was played.
    """
    from klss_spiel.plot.figures import figure

    with figure((4.6, 3.0), path) as drawn:
        panel = drawn.subplots()
        for label, columns in (("here", ("score", "low", "high")), ("paper", ("paper",) * 3)):
            heights, below, above = [0.0], [0.0], [0.0]
            for line in lines:
                if line.get(columns[0]) is None:
                    break
                gain, low, high = (ratings.elo_of_score(float(line[c])) for c in columns)
                if not math.isfinite(gain):
                    break
                heights.append(heights[-1] + gain)
                below.append(_bar(gain - low))
                above.append(_bar(high - gain))
            if len(heights) > 1:
                places = range(len(heights))
                bars = [below, above]
                panel.errorbar(places, heights, yerr=bars, label=label, capsize=2, marker="o")
        panel.set_xlabel("doublings of the budget")
        panel.set_ylabel("Elo over the smallest budget")
        panel.legend()


def _bar(length: float) -> float:
    """The length of a bar; none where a bound is infinite."""
    return max(0.0, length) if math.isfinite(length) else 0.0


def plot_scores(lines: Sequence[Mapping[str, Any]], path: str) -> None:
    """Scores of all matches that were played, beside the paper's."""
    shown = [
        {"match": line["match"], "here": line["score"], "paper": line["paper"] or 0.0}
        for line in lines
        if line["games"]
    ]
    figures.bars(shown, "match", ["here", "paper"], "score", path=path)
