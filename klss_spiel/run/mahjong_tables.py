r"""OLSS's Table 3: two-player Mahjong before and after OLSS-II.

    python -m klss_spiel.run.mahjong_tables --preset=olss_table3 --output=table3.jsonl
    python -m klss_spiel.run.mahjong_tables --opponent=ACH --setting=R --games=40000 \
        --output=table3.jsonl --executor=processes:2

The ACH blueprint plays against itself or the PPO blueprint, by itself or with OLSS-II and
opponent sets {R}, {ACH model} and both. Each deck is played twice with seats swapped; a
sample is the mean of the two games. Everybody plays the most likely action of the
blueprint, so that without search equal players cancel exactly. Jobs are blocks of decks:
runs resume by --output and can be sharded, and go on with more games where the earlier
number was a multiple of 250. A row is `undecided` where its 95% interval contains 0. The
paper has 200,000 games and an interval of 0.13; a preset plans 75,000 for the ACH model
against the ACH blueprint and 10,000 for every other row (--games for another number of
all). The first 10,000 games of every row are played first. A search ends when its move is
certain, so that most take fewer than --simulations. Seconds are CPU time.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from absl import flags

from klss_spiel import plot as figures
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.run import job_flags, output

GAME: Final = "python_two_player_mahjong"
OPPONENTS: Final = ("ACH", "PPO")
SETTINGS: Final = ("blueprint", "R", "ACH", "R+ACH")
_DECKS_PER_BLOCK: Final = 125
_PLANNED: Final = 10_000
_MOST_WANTED: Final = ("ACH", "ACH")  # the paper's largest effect
_PLANNED_OF_MOST_WANTED: Final = 75_000
# OLSS paper, table 3: fan per game and half the width of the 95% interval.
PAPER: Final[Mapping[tuple[str, str], tuple[float, float]]] = {
    ("ACH", "blueprint"): (0.00, 0.00),
    ("ACH", "R"): (0.14, 0.13),
    ("ACH", "ACH"): (0.18, 0.13),
    ("PPO", "blueprint"): (0.05, 0.13),
    ("PPO", "R"): (0.22, 0.13),
    ("PPO", "ACH"): (0.20, 0.13),
    ("PPO", "R+ACH"): (0.22, 0.13),
}
PRESETS: Final = {"olss_table3": (OPPONENTS, SETTINGS)}


@dataclasses.dataclass(frozen=True)
class Config:
    """What to play.

    Attributes:
      opponents: out of OPPONENTS.
      settings: out of SETTINGS.
      games: per row, a multiple of 2; None for what `planned_games` says.
      simulations: of a search.
      steps: of a simulation.
      exploration: of a search.
      allow_win: see `olss_search.search.Settings`.
      seed: of decks and searches.
      ach: file or shipped name of the ACH blueprint.
      ppo: file or shipped name of the PPO blueprint.
      model: file or shipped name of the ACH blueprint's environment model.
    """

    opponents: tuple[str, ...]
    settings: tuple[str, ...]
    games: int | None
    simulations: int
    steps: int
    exploration: float
    allow_win: bool
    seed: int
    ach: str
    ppo: str
    model: str


def planned_games(opponent: str, setting: str) -> int:
    """Games of a row of the table, fixed before it was played."""
    return _PLANNED_OF_MOST_WANTED if (opponent, setting) == _MOST_WANTED else _PLANNED


def make_jobs(config: Config) -> list[Job]:
    """One job per row of the table and block of decks, every row's first blocks first."""
    if config.games is not None and (config.games < 2 or config.games % 2):
        raise ValueError(f"expected an even number of games from 2 on, got {config.games}")
    pairs = [(opponent, setting) for opponent in config.opponents for setting in config.settings]
    blocks = []
    for row, pair in enumerate(sorted(pairs, key=lambda pair: pair != _MOST_WANTED)):
        decks = (config.games or planned_games(*pair)) // 2
        for block, first in enumerate(range(0, decks, _DECKS_PER_BLOCK)):
            later = first >= _PLANNED // 2
            number = min(_DECKS_PER_BLOCK, decks - first)
            blocks.append((later, row, block, number, pair))
    return [_job(config, pair, block, decks) for _, _, block, decks, pair in sorted(blocks)]


def _job(config: Config, pair: tuple[str, str], block: int, decks: int) -> Job:
    opponent, setting = pair
    columns = {
        "opponent": opponent,
        "setting": setting,
        "block": block,
        "decks": decks,
        "simulations": config.simulations,
        "steps": config.steps,
        "exploration": config.exploration,
        "allow_win": config.allow_win,
        "until_decided": True,
        "seed": config.seed,
        "ach": config.ach,
        "ppo": config.ppo,
        "model": config.model,
    }
    return job_from_columns(play_block, columns)


def play_block(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Plays the decks of one block from both seats."""
    import numpy as np

    from klss_spiel import openspiel
    from klss_spiel.algorithms.olss_search.search import Settings
    from klss_spiel.games.mahjong.compiled.environment import random_decks
    from klss_spiel.games.mahjong.compiled.trainable import duplicate_match
    from klss_spiel.matches import mahjong_players

    game = openspiel.load_game(GAME).trainable_game()
    files = {"ACH": columns["ach"], "PPO": columns["ppo"]}
    settings = Settings(
        simulations=columns["simulations"],
        steps=columns["steps"],
        exploration=columns["exploration"],
        allow_win=columns["allow_win"],
        until_decided=columns["until_decided"],
    )
    player = mahjong_players.MahjongPlayer(
        game.variant,
        mahjong_players.loaded(game, files["ACH"]),
        mahjong_players.models_of(game, columns["setting"], columns["model"]),
        settings,
    )
    blueprint = mahjong_players.loaded(game, files[columns["opponent"]])
    opponent = mahjong_players.MahjongPlayer(game.variant, blueprint)
    # Decks depend on seed and block only: every row of the table plays the same ones.
    rng = np.random.default_rng([columns["seed"], columns["block"]])
    decks = random_decks(game.variant, columns["decks"], rng)
    seed = 1000 * columns["seed"] + columns["block"]
    start = time.process_time()
    points = duplicate_match(
        game.variant, decks, player.batch_player(seed), opponent.batch_player(seed), seed
    )
    return {
        "sum": float(points.sum()),
        "sum_of_squares": float(np.square(points).sum()),
        "searches": player.count.searches,
        "search_seconds": player.count.seconds,
        "seconds": time.process_time() - start,
    }


def summarise(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per opponent and setting from those of blocks, beside the paper's."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["opponent"], row["setting"]), []).append(row)
    found = []
    order = [(opponent, setting) for opponent in OPPONENTS for setting in SETTINGS]
    for opponent, setting in (pair for pair in order if pair in groups):
        blocks = groups[opponent, setting]
        number = sum(block["decks"] for block in blocks)
        mean = sum(block["sum"] for block in blocks) / number
        square = sum(block["sum_of_squares"] for block in blocks)
        variance = max(square - number * mean**2, 0.0) / max(number - 1, 1)
        half = 1.96 * math.sqrt(variance / number)
        searches = sum(block["searches"] for block in blocks)
        seconds = sum(block["search_seconds"] for block in blocks)
        paper = PAPER.get((opponent, setting))
        found.append(
            {
                "opponent": opponent,
                "setting": setting,
                "games": 2 * number,
                "planned": planned_games(opponent, setting),
                "fan": mean,
                "half_width": half,
                "verdict": _verdict(mean, half, searches),
                "paper_fan": paper[0] if paper else None,
                "paper_half_width": paper[1] if paper else None,
                "searches_per_game": searches / (2 * number),
                "seconds_per_search": seconds / searches if searches else None,
                "minutes": sum(block["seconds"] for block in blocks) / 60,
            }
        )
    return found


def _verdict(mean: float, half: float, searches: int) -> str:
    if abs(mean) <= half:
        return "undecided" if half > 0 or searches else "equal"
    return "better" if mean > 0 else "worse"


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """Rows of the table; `how` as in `compute_rows`."""
    return summarise(compute_rows(make_jobs(config), **how))


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws fans per game with 95% intervals, beside the paper's."""
    halves = {"fan": "half_width", "paper_fan": "paper_half_width"}
    title = "fans per game; bars are 95% intervals"
    figures.bars(rows, ("opponent", "setting"), tuple(halves), title, half_widths=halves, path=path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    from klss_spiel.matches import mahjong_players

    flags.DEFINE_bool("json", False, "Print one JSON list instead of a table.")
    job_flags.define_flags()
    job_flags.define_plot_flag("fans per game")
    flags.DEFINE_enum("preset", "olss_table3", list(PRESETS), "Which table.")
    flags.DEFINE_multi_enum("opponent", [], OPPONENTS, "Only rows against these.")
    flags.DEFINE_multi_enum("setting", [], SETTINGS, "Only rows of these opponent sets.")
    flags.DEFINE_integer("games", None, "Games per row, two per deck; else as planned.")
    flags.DEFINE_integer("simulations", 1000, "Of a search.")
    flags.DEFINE_integer("steps", 8, "Moves of both players in a simulation.")
    flags.DEFINE_float("exploration", 20.0, "c of equation 30.")
    flags.DEFINE_bool("allow_win", True, "Whether own wins end simulations.")
    flags.DEFINE_integer("seed", 0, "Of decks and searches.")
    flags.DEFINE_string("ach", mahjong_players.ACH, "The ACH blueprint.")
    flags.DEFINE_string("ppo", mahjong_players.PPO, "The PPO blueprint.")
    flags.DEFINE_string("model", mahjong_players.ACH_MODEL, "Model of the ACH blueprint.")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, plays, prints."""
    values = flags.FLAGS
    opponents, settings = PRESETS[values.preset]
    config = Config(
        opponents=tuple(values.opponent) or opponents,
        settings=tuple(values.setting) or settings,
        games=values.games,
        simulations=values.simulations,
        steps=values.steps,
        exploration=values.exploration,
        allow_win=values.allow_win,
        seed=values.seed,
        ach=values.ach,
        ppo=values.ppo,
        model=values.model,
    )
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(make_jobs(config), progress="blocks of decks") as rows:
        table = summarise(rows)
        formats = {
            "fan": "+.3f",
            "half_width": ".3f",
            "seconds_per_search": ".3f",
            "minutes": ".1f",
        }
        output.emit(table, values.json, output.format_table(table, formats=formats))
        if values.plot:
            plot(table, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
