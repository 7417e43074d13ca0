"""Whole games of the searching agent without an exception.

Whoever plays many sets `KLSS_SPIEL_GAMES` to a folder: games are kept there as .jsonl files, a
file for each match, and a test that was killed goes on with the games that are missing.
`KLSS_SPIEL_EXECUTOR` says who plays, e.g. `processes:2`; else this process does.
"""

import os
import pathlib
import re

from klss_spiel.executors import IN_PROCESS
from klss_spiel.games.chess import boards
from klss_spiel.matches.match import Match, play_match

SMALL_BOARDS = [board for board in boards.BOARDS if board != "standard"]
_PLAYER = "search(preset=strong,nodes={nodes},limit=20000)"


def check_self_play(game, games, nodes, seed=51):
    """Plays a match of the agent with itself, in which every game ends by the rules.

    Returns:
        The `Results`.
    """
    # The second sees roots differently, so that games of a pair are not the same.
    return _check(game, games, [_PLAYER.format(nodes=n) for n in (nodes, nodes + 1)], seed)


def carried_over(results):
    """The share of nodes that searches took over from earlier ones."""
    reports = [report for row in results.rows for report in row["reports"]]
    searched = [report for report in reports if not report["forced"]]
    new = sum(report["new_nodes"] for report in searched)
    return 1.0 - new / sum(report["nodes"] for report in searched)


def score_against_random(game, games, nodes, seed=51):
    """Plays a match of the agent with a random player; returns the agent's share of points."""
    results = _check(game, games, [_PLAYER.format(nodes=nodes), "random"], seed)
    return results.summary(0, 1)["score"]


def _check(game, games, players, seed):
    match = Match(game, tuple(players), games, seed=seed, reports=True)
    executor = os.environ.get("KLSS_SPIEL_EXECUTOR") or IN_PROCESS
    results = play_match(match, executor, output=_file_of(match), strict=True)
    assert not results.failed
    assert [row["termination"] for row in results.rows] == ["rules"] * games
    for report in (report for row in results.rows for report in row["reports"]):
        if isinstance(report, dict):  # random players say nothing
            # A belief is never empty, so that no move is left to chance.
            assert not any("uniformly" in reason for reason in report["degraded"]), report
            assert report["forced"] or report["belief_size"] > 0
            assert report["belief_effective"] <= report["belief_size"] + 1e-6
    return results


def _file_of(match):
    """Where the games of a match are kept; None for nowhere."""
    folder = os.environ.get("KLSS_SPIEL_GAMES")
    if not folder:
        return None
    parts = (match.game, *match.players, f"{match.games} games", f"seed {match.seed}")
    slug = re.sub(r"[^\w.=-]+", "_", " ".join(parts)).strip("_")
    return str(pathlib.Path(folder) / f"{slug}.jsonl")
