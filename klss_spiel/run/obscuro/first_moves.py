"""First moves of both sides over many seeds, and White's score in self-play (Obscuro, E.3).

Two kinds of jobs. `opening`: one seed's probabilities at White's first decision, and at
Black's first after the move that White drew; they say more than single draws. `game`: a
whole game of two equal players; a pair's second game would be its first again, so only
first ones are played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from klss_spiel import plot as figures
from klss_spiel.jobs import Job, job_from_columns
from klss_spiel.matches.match import Match, jobs_of
from klss_spiel.matches.records import score_of
from klss_spiel.run.obscuro.budgets import MoveBudget, budget_from_columns
from klss_spiel.run.obscuro.match_tables import GAME, printed_counts, searcher, sign_verdict
from klss_spiel.run.obscuro.shares import share_interval

OPENING = "opening"
SCORE_OF_WHITE = "White's score"
COLOURS = ("White", "Black")
# Table 1: shares of 10,000 games.
PRINTED: Mapping[str, Mapping[str, float]] = {
    "White": {
        "d2d4": 0.664,
        "c2c4": 0.296,
        "e2e4": 0.019,
        "b1c3": 0.014,
        "c2c3": 0.004,
        "g1f3": 0.002,
    },
    "Black": {
        "b8c6": 0.325,
        "c7c6": 0.251,
        "e7e6": 0.207,
        "g8f6": 0.159,
        "c7c5": 0.048,
        "d7d5": 0.009,
    },
}
_PRINTED_WHITE = printed_counts(4935, 1623, 3442)


def make_jobs(budget: MoveBudget, seeds: int, games: int, seed: int) -> list[Job]:
    """A job for each seed's opening, then one for each game."""
    openings = [
        job_from_columns(opening_row, {"kind": OPENING, **budget.columns, "seed": seed + number})
        for number in range(seeds)
    ]
    if not games:
        return openings
    player = searcher(budget)
    match = Match(game=GAME, players=(player, player), games=2 * games, seed=seed)
    return openings + [job for job in jobs_of(match) if job.columns["number"] % 2 == 0]


def opening_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Both sides' probabilities at their first decision, as pairs of a UCI move and its share."""
    from klss_spiel.algorithms.search.bot import SearchBot
    from klss_spiel.openspiel import load_game

    budget = budget_from_columns(columns)
    state = load_game(GAME).new_initial_state()
    row: dict[str, Any] = {}
    for player, colour in enumerate(COLOURS):
        bot = SearchBot(
            GAME, player, budget.of_search(), seed=columns["seed"], evaluator=budget.evaluator
        )
        policy, action = bot.step_with_policy(state)
        row[colour.lower()] = [
            [state.action_to_string(a), round(float(p), 6)] for a, p in policy if p > 0.0
        ]
        assert bot.report is not None
        row[f"{colour.lower()}_value"] = bot.report.value
        state.apply_action(action)
    return row


def summarise(rows: Sequence[Mapping[str, Any]], budget: MoveBudget) -> list[dict[str, Any]]:
    """A line for each first move that is printed or likely, and one for White's score."""
    openings = [row for row in rows if row.get("kind") == OPENING]
    games = [row for row in rows if row.get("kind") != OPENING]
    lines = []
    for colour in COLOURS:
        shares = [dict(row[colour.lower()]) for row in openings]
        moves = dict(PRINTED[colour])
        for share in shares:
            for move in share:
                moves.setdefault(move, 0.0)
        found = {m: np.array([share.get(m, 0.0) for share in shares]) for m in moves}
        for move in sorted(moves, key=lambda m: (-moves[m], -float(found[m].sum()), m)):
            if not shares:
                break
            interval = share_interval(found[move])
            lines.append(
                {
                    "what": f"{colour} {move}",
                    "games": len(shares),
                    "share": round(interval.estimate, 4),
                    "low": round(interval.low, 4),
                    "high": round(interval.high, 4),
                    "paper": PRINTED[colour].get(move),
                    "budget": str(budget),
                }
            )
    if games:
        lines.append(_score_of_white(games, budget))
    return lines


def _score_of_white(games: Sequence[Mapping[str, Any]], budget: MoveBudget) -> dict[str, Any]:
    scores = [score_of(float(game["return_0"])) for game in games]
    interval = share_interval(scores)
    return {
        "what": SCORE_OF_WHITE,
        "games": len(scores),
        "share": round(interval.estimate, 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
        "paper": round(_PRINTED_WHITE.score, 4),
        "budget": str(budget),
        "sign": sign_verdict(interval, _PRINTED_WHITE.score),
        "draws": round(scores.count(0.5) / len(scores), 4),
        "plies": round(sum(game["plies"] for game in games) / len(games), 1),
    }


def plot(lines: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws the shares of first moves beside the paper's."""
    shown = [
        {"move": line["what"], "here": line["share"], "paper": line["paper"]}
        for line in lines
        if line["paper"] is not None and line["what"] != SCORE_OF_WHITE
    ]
    figures.bars(shown, "move", ["here", "paper"], "share of first moves", path=path)
