"""Matches of two or more players: many games in pairs, as jobs that become rows.

Game 2n and 2n + 1 are pair n: the same players with swapped seats. Chance has the same
seed in both, and so has each seat, so two equal players draw every pair exactly. A game
depends on the match's seed and its own number only: with budgets of nodes or iterations
the games are the same whatever executor plays them, and a match that was killed goes on
with the games that are missing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from klss_spiel.executors import IN_PROCESS, Executor
from klss_spiel.jobs import Job, finish_jobs, key_of, shard_stamp
from klss_spiel.jobs import shard as shard_of
from klss_spiel.matches import ratings
from klss_spiel.matches.players import Seat, check_specification, make_player
from klss_spiel.matches.records import score_of
from klss_spiel.matches.referee import TimeControl, close_player, play_game
from klss_spiel.openspiel import check_supported, load_game, turn_based

# What is called with the running results after every game.
Watcher = Callable[["Results"], None]

# By number of a pair, what its two games gave the first player.
_Legs = dict[int, list[float | None]]


@dataclasses.dataclass(frozen=True)
class Match:
    """What is to be played.

    Attributes:
      game: game string.
      players: specifications of two or more players; each meets each.
      games: games of every two players, an even number.
      seed: of everything.
      control: clocks, as `TimeControl.parse` reads them; None for unlimited time.
      seconds: per move, for players whose specification has no budget.
      openings: game strings to play in turn instead of `game`, a pair each (see
        `openings`); both players know them.
      reports: keep what players say about their decisions.
    """

    game: str
    players: tuple[str, ...]
    games: int = 100
    seed: int = 0
    control: str | None = None
    seconds: float | None = None
    openings: tuple[str, ...] = ()
    reports: bool = False

    def __post_init__(self) -> None:
        if len(self.players) < 2:
            raise ValueError(f"expected at least 2 players, got {len(self.players)}")
        if self.games < 2 or self.games % 2:
            raise ValueError(f"expected an even number of games from 2, got {self.games}")
        if self.seed < 0:
            raise ValueError(f"expected a seed from 0, got {self.seed}")
        if self.control is not None:
            TimeControl.parse(self.control)
        if self.seconds is not None and not self.seconds > 0.0:
            raise ValueError(f"expected more than 0 seconds per move, got {self.seconds}")
        for player in self.players:
            check_specification(player)
        for game in (self.game, *self.openings):
            check_supported(load_game(game))


def check_players(match: Match) -> None:
    """Lets everybody sit down once, so that a wrong argument ends a match before it begins.

    Raises:
      ValueError: somebody cannot play this game, or not with these arguments.
    """
    game = turn_based(load_game(match.game))
    for player in dict.fromkeys(match.players):
        for number in (0, 1):
            try:
                seated = make_player(player, Seat(game, number, 0, match.seconds))
            except Exception as error:
                raise ValueError(
                    f"expected a player of {match.game}, got {player}: {error}"
                ) from error
            close_player(seated)


def jobs_of(match: Match) -> list[Job]:
    """One job per game, pairs of all pairings in turn."""
    jobs = []
    for number in range(match.games):
        for first, second in ratings.all_pairings(len(match.players)):
            jobs.append(_job(match, number, first, second))
    return jobs


def _job(match: Match, number: int, first: int, second: int) -> Job:
    pair, leg = divmod(number, 2)
    seats = (first, second) if leg == 0 else (second, first)
    columns: dict[str, Any] = {
        "game": match.openings[pair % len(match.openings)] if match.openings else match.game,
        "first": match.players[first],
        "second": match.players[second],
        "pairing": f"{first}-{second}",
        "number": number,
        "player_0": match.players[seats[0]],
        "player_1": match.players[seats[1]],
        "seed": match.seed,
        "clock": match.control,
        "seconds_per_move": match.seconds,
    }
    return Job(key_of(columns), play, (columns, match.reports), columns)


def play(columns: Mapping[str, Any], reports: bool = False) -> dict[str, Any]:
    """Plays the game that the columns of a job describe, and returns its record."""
    game = turn_based(load_game(columns["game"]))
    pair, seed = columns["number"] // 2, columns["seed"]
    control = columns["clock"]
    with contextlib.ExitStack() as stack:
        players = []
        for number in (0, 1):
            draws = _draw_seed(seed, pair, number)
            seat = Seat(game, number, draws, columns["seconds_per_move"])
            players.append(make_player(columns[f"player_{number}"], seat))
            # At once: the other player may fail to sit down.
            stack.callback(close_player, players[-1])
        record = play_game(
            game,
            players,
            chance_seed=(seed, pair),
            control=None if control is None else TimeControl.parse(control),
            with_reports=reports,
        )
    return record.row()


def _draw_seed(seed: int, pair: int, seat: int) -> int:
    """Of one seat in both games of a pair."""
    digest = hashlib.sha256(f"{seed}/{pair}/{seat}".encode()).digest()
    return int.from_bytes(digest[:4], "little")


class Results:
    """Games that are finished. Mutable.

    Attributes:
      match: what is played.
      failed: games that could not be played at all, with the reason.
      rows: all finished games.
    """

    def __init__(self, match: Match) -> None:
        self.match = match
        self.failed: list[str] = []
        self.rows: list[Mapping[str, Any]] = []
        game = load_game(match.game)
        self._even = 0.5 * float(game.utility_sum() or 0.0)
        self._scores: dict[str, _Legs] = {}
        self._rewards: dict[str, _Legs] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """Counts a game."""
        self.rows.append(row)
        pair, leg = divmod(int(row["number"]), 2)
        payoff = float(row[f"return_{leg}"])
        for table, value in (
            (self._scores, score_of(payoff, self._even)),
            (self._rewards, payoff - self._even),
        ):
            table.setdefault(row["pairing"], {}).setdefault(pair, [None, None])[leg] = value

    def tally(self, first: int, second: int, pairs: int | None = None) -> ratings.Tally:
        """One player's result against another; of the first `pairs` pairs if given."""
        name = f"{first}-{second}"

        def chosen(table: dict[str, _Legs]) -> _Legs:
            return {
                n: values for n, values in table.get(name, {}).items() if pairs is None or n < pairs
            }

        return ratings.tally(chosen(self._scores), chosen(self._rewards))

    def leading_pairs(self, first: int, second: int) -> list[float]:
        """Scores of complete pairs, from pair 0 to the first that is not complete."""
        scores = self._scores.get(f"{first}-{second}", {})
        leading: list[float] = []
        while len(leading) in scores:
            legs = [s for s in scores[len(leading)] if s is not None]
            if len(legs) < 2:
                break
            leading.append(sum(legs) / 2)
        return leading

    def summary(self, first: int, second: int, pairs: int | None = None) -> dict[str, Any]:
        """One row about two players; Elo is None where it would be infinite."""
        result = self.tally(first, second, pairs)
        elo = ratings.elo_interval(result)
        reward = ratings.mean_interval(result.rewards)
        rows = [r for r in self.rows if r["pairing"] == f"{first}-{second}"]
        return {
            "game": self.match.game,
            "players": [self.match.players[first], self.match.players[second]],
            "games": result.games,
            "wins": result.wins,
            "draws": result.draws,
            "losses": result.losses,
            "score": round(result.score, 6),
            "elo": _finite(elo.estimate),
            "elo_low": _finite(elo.low),
            "elo_high": _finite(elo.high),
            "los": round(ratings.likelihood_of_superiority(result), 4),
            "pairs": list(result.pentanomial),
            "reward": _finite(reward.estimate, 6),
            "reward_low": _finite(reward.low, 6),
            "reward_high": _finite(reward.high, 6),
            "forfeits": sum(r.get("loser") is not None for r in rows),
            "seconds": round(sum(float(r["seconds_0"]) + float(r["seconds_1"]) for r in rows), 3),
        }

    def summaries(self) -> list[dict[str, Any]]:
        """One row for every two players."""
        return [self.summary(a, b) for a, b in ratings.all_pairings(len(self.match.players))]

    def table(self) -> list[dict[str, Any]]:
        """Bradley-Terry ratings of all players, the strongest first."""
        pairings = ratings.all_pairings(len(self.match.players))
        results = {(a, b): self.tally(a, b) for a, b in pairings}
        elos = ratings.bradley_terry(self.match.players, results)
        points = [0.0] * len(elos)
        games = [0] * len(elos)
        for (a, b), result in results.items():
            games[a] += result.games
            games[b] += result.games
            points[a] += result.games * result.score
            points[b] += result.games * (1.0 - result.score)
        rows = [
            {
                "player": name,
                "games": games[i],
                "score": round(points[i] / games[i], 4) if games[i] else None,
                "elo": round(elos[i].estimate, 1),
                "elo_low": round(elos[i].low, 1),
                "elo_high": round(elos[i].high, 1),
            }
            for i, name in enumerate(self.match.players)
        ]
        return sorted(rows, key=lambda row: -float(str(row["elo"])))


def _finite(value: float, digits: int = 1) -> float | None:
    return round(value, digits) if abs(value) < float("inf") and value == value else None


def play_match(
    match: Match,
    executor: str | Executor = IN_PROCESS,
    output: str | None = None,
    sprt: ratings.Sprt | None = None,
    watch: Watcher | None = None,
    setup: Callable[[], object] | None = None,
    resume: bool = True,
    strict: bool = False,
    shard: tuple[int, int] | None = None,
    progress: str | None = None,
) -> Results:
    """Plays a match, or what is missing of it.

    Args:
      match: what to play.
      executor: who plays the games; see `jobs`.
      output: .jsonl file that gets each game as it ends and from which a match goes on.
      sprt: ends a match of two players as soon as this test decides. The decision is made
        of pairs in their order, so that it does not depend on the executor.
      watch: called after every game.
      setup: called once in every process that plays.
      resume: go on with the games that are missing in `output`; else begin anew.
      strict: raise an error if a game cannot be played.
      shard: number and count: only this share of the games, for one of many machines.
      progress: what lines of progress call the games; None for no such lines.

    Raises:
      ValueError: a player cannot sit down; see `check_players`.
    """
    if sprt is not None and len(match.players) != 2:
        raise ValueError(f"expected 2 players for a sequential test, got {len(match.players)}")
    check_players(match)
    results = Results(match)
    tested = 0
    jobs = jobs_of(match)
    stamp = {}
    if shard is not None:
        stamp = shard_stamp(*shard, len(jobs))
        jobs = shard_of(jobs, *shard)
    with contextlib.closing(
        finish_jobs(jobs, executor, output, progress, resume, strict, setup=setup, stamp=stamp)
    ) as games:
        for game in games:
            if game.error is not None:
                results.failed.append(f"{game.job.key}: {game.error}")
                continue
            results.add(game.rows[0])
            if watch is not None:
                watch(results)
            if sprt is None:
                continue
            scores = results.leading_pairs(0, 1)
            untested = range(tested + 1, len(scores) + 1)
            if any(sprt.verdict(scores[:count]) is not None for count in untested):
                break
            tested = len(scores)
    return results


def sprt_row(results: Results, sprt: ratings.Sprt) -> dict[str, Any]:
    """What a sequential test says of a match of two players, and after how many pairs."""
    scores = results.leading_pairs(0, 1)
    decided = sprt.first_decision(scores)
    used: Sequence[float] = scores if decided is None else scores[:decided]
    verdict = sprt.verdict(used)
    low, high = sprt.bounds
    return {
        "elo0": sprt.elo0,
        "elo1": sprt.elo1,
        "pairs": len(used),
        "llr": round(sprt.log_likelihood_ratio(used), 3),
        "bounds": [round(low, 3), round(high, 3)],
        "accepted": verdict,
    }
