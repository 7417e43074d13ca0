r"""The experiments of the Obscuro paper and ZS21's matches, beside what the papers print.

    python -m klss_spiel.run.obscuro_tables --preset=knowledge_distance
    python -m klss_spiel.run.obscuro_tables --preset=ablations --row="purification off" \
        --games=100 --nodes=1000 --output=purification.jsonl --executor=processes:2

Presets:

    ablations           section 4.1: Obscuro against itself without one of its parts
    time_scaling        section 4.2: twice the budget against once, --doublings times
    versus_zs21         section 4: Obscuro against ZS21's agent
    zs21_baseline       ZS21, section 6: that agent against its baseline
    random              section 4.2: Obscuro against random moves
    first_moves         Table 1: first moves over --seeds seeds; White's score in --games games
    positions           E.2, E.3: probabilities of moves that the text discusses
    knowledge_distance  E.1: distances in knowledge, exactly; --plot draws the path of Figure 6
    king_v_king         E.8: exact values with --horizons plies, bounds without a horizon

Scores are the first player's, with 95% intervals over pairs of games. `sign` says whether a
score is on the printed one's side of 1/2; `undecided` while the interval contains 1/2. The
paper gave each side five cores and 5 s a move; here a player has one core and --nodes or
--seconds. Games of --output are kept: the same command goes on where it stopped, and with
more --games it adds games.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.jobs import Job, compute_rows
from klss_spiel.run import job_flags, output
from klss_spiel.run.obscuro import (
    first_moves,
    king_endings,
    knowledge_distance,
    match_tables,
    positions,
)
from klss_spiel.run.obscuro.budgets import MoveBudget

DEFAULT_NODES = 2000
FIRST_SECONDS = 1 / 16
DEFAULT_HORIZONS = (4, 6, 7)
MATCHES = ("ablations", "time_scaling", "versus_zs21", "zs21_baseline", "random")
PRESETS = (*MATCHES, "first_moves", "positions", "knowledge_distance", "king_v_king")

Rows = list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Config:
    """What to compute.

    Attributes:
      preset: see the module.
      budget: of every decision; None for the preset's own.
      games: of every match, an even number; games of self-play.
      seeds: searches of each position or opening.
      seed: the first one.
      doublings: of `time_scaling`.
      horizons: of `king_v_king`.
      max_nodes: largest tree there.
      rows: only matches or positions with these names; empty for all.
    """

    preset: str
    budget: MoveBudget | None = None
    games: int = 100
    seeds: int = 20
    seed: int = 0
    doublings: int = 3
    horizons: tuple[int, ...] = DEFAULT_HORIZONS
    max_nodes: int = king_endings.DEFAULT_MAX_NODES
    rows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise ValueError(f"expected a preset among {', '.join(PRESETS)}, got {self.preset!r}")
        if self.seeds < 1 and self.preset == "positions":
            raise ValueError(f"expected at least 1 seed, got {self.seeds}")
        if self.rows and self.preset not in (*MATCHES, "positions"):
            raise ValueError(f"expected rows of matches or positions, got one of {self.preset}")

    @property
    def effective_budget(self) -> MoveBudget:
        """The budget, or the preset's own."""
        return default_budget(self.preset) if self.budget is None else self.budget

    def match_rows(self) -> list[match_tables.MatchRow]:
        """The matches of a preset."""
        budget = self.effective_budget
        makers: Mapping[str, Callable[[], list[match_tables.MatchRow]]] = {
            "ablations": lambda: match_tables.ablation_rows(budget),
            "time_scaling": lambda: match_tables.doubling_rows(budget, self.doublings),
            "versus_zs21": lambda: match_tables.versus_zs21_rows(budget),
            "zs21_baseline": lambda: match_tables.zs21_baseline_rows(budget),
            "random": lambda: match_tables.random_rows(budget),
        }
        found = makers[self.preset]()
        names = [row.name for row in found]
        for name in self.rows:
            if name not in names:
                raise ValueError(f"expected a row among {', '.join(names)}, got {name!r}")
        return [row for row in found if not self.rows or row.name in self.rows]


def default_budget(preset: str) -> MoveBudget:
    """What a decision may cost unless somebody says so."""
    if preset == "time_scaling":
        return MoveBudget(seconds=FIRST_SECONDS)
    return MoveBudget(nodes=DEFAULT_NODES)


def make_jobs(config: Config) -> list[Job]:
    """All jobs of a preset."""
    budget = config.effective_budget
    if config.preset == "first_moves":
        return first_moves.make_jobs(budget, config.seeds, config.games, config.seed)
    if config.preset == "positions":
        return positions.make_jobs(budget, config.seeds, config.seed, config.rows)
    if config.preset == "knowledge_distance":
        return knowledge_distance.make_jobs()
    if config.preset == "king_v_king":
        return king_endings.make_jobs(config.horizons, budget, config.seed, config.max_nodes)
    return match_tables.make_jobs(config.match_rows(), config.games, config.seed)


def summarise(config: Config, rows: Sequence[Mapping[str, Any]]) -> Rows:
    """The lines of a preset's table from the rows of its jobs."""
    if config.preset == "first_moves":
        return first_moves.summarise(rows, config.effective_budget)
    if config.preset == "positions":
        return positions.summarise(rows)
    if config.preset == "knowledge_distance":
        return knowledge_distance.summarise(rows)
    if config.preset == "king_v_king":
        return king_endings.summarise(rows)
    return match_tables.summarise(config.match_rows(), rows, config.games, config.seed)


def run(config: Config, **how: Any) -> Rows:
    """The table's lines; `how` as in `compute_rows`."""
    rows = compute_rows(make_jobs(config), setup=output.use_double_precision, **how)
    return summarise(config, rows)


def plot(config: Config, rows: Sequence[Mapping[str, Any]], lines: Rows, path: str) -> None:
    """Draws what a preset has to show."""
    if config.preset == "knowledge_distance":
        picture = knowledge_distance.path_picture(rows[0])
        pathlib.Path(path).write_text(picture, "utf-8")
    elif config.preset == "time_scaling":
        match_tables.plot_doublings(lines, path)
    elif config.preset in MATCHES:
        match_tables.plot_scores(lines, path)
    elif config.preset == "first_moves":
        first_moves.plot(lines, path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_enum("preset", None, PRESETS, "Which experiment.", required=True)
    flags.DEFINE_integer("games", 100, "Games of every match; even.", lower_bound=0)
    flags.DEFINE_integer("nodes", None, f"Nodes for each decision; {DEFAULT_NODES} by default.")
    flags.DEFINE_float("seconds", None, "Seconds for each decision instead.")
    flags.DEFINE_integer(
        "belief_limit", None, "Positions above which a player's belief in a match is a sample."
    )
    flags.DEFINE_string(
        "evaluator", None, "What values leaves of all players, except where a row says otherwise."
    )
    flags.DEFINE_integer("seeds", 20, "Searches of each position or opening.", lower_bound=0)
    flags.DEFINE_integer("seed", 0, "Seed of games, or the first of --seeds.", lower_bound=0)
    flags.DEFINE_integer(
        "doublings", 3, "Doublings of time_scaling, from --seconds (1/16) or --nodes on."
    )
    flags.DEFINE_multi_string("row", [], "Only matches or positions with these names.")
    flags.DEFINE_list("horizons", [str(h) for h in DEFAULT_HORIZONS], "Plies of king_v_king.")
    flags.DEFINE_integer(
        "max_nodes", king_endings.DEFAULT_MAX_NODES, "Largest tree of king_v_king."
    )
    output.define_flags()
    job_flags.define_flags()
    job_flags.define_plot_flag("scores, Elo by doublings, first moves, or Figure 6 (.svg)")


def config_from_flags() -> Config:
    """What the flags ask for."""
    values = flags.FLAGS
    budget = default_budget(values.preset)
    if values.nodes is not None or values.seconds is not None:
        budget = MoveBudget(values.nodes, values.seconds)
    budget = dataclasses.replace(
        budget, belief_limit=values.belief_limit, evaluator=values.evaluator
    )
    try:
        horizons = tuple(int(text) for text in values.horizons)
    except ValueError:
        got = ",".join(values.horizons)
        raise ValueError(f"expected --horizons=4,6 with whole numbers, got {got}") from None
    return Config(
        preset=values.preset,
        budget=budget,
        games=values.games,
        seeds=values.seeds,
        seed=values.seed,
        doublings=values.doublings,
        horizons=horizons,
        max_nodes=values.max_nodes,
        rows=tuple(values.row),
    )


def _check_plot(preset: str, path: str | None) -> None:
    if path is None:
        return
    if preset in ("positions", "king_v_king"):
        raise ValueError(f"expected no --plot: {preset} has no figure")
    if preset == "knowledge_distance":
        if pathlib.Path(path).suffix != ".svg":
            raise ValueError(f"expected an .svg file for boards, got {path!r}")
        job_flags.check_writable(path)
    else:
        job_flags.check_plot(path)


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, computes, prints."""
    values = flags.FLAGS
    config = config_from_flags()
    _check_plot(config.preset, values.plot)
    mixed = config.preset in ("first_moves", "king_v_king")
    if mixed and (values.output or "").endswith(".csv"):
        raise ValueError(f"expected a .jsonl file: rows of {config.preset} differ in columns")
    jobs = make_jobs(config)
    with job_flags.computed_rows(jobs, output.use_double_precision) as rows:
        lines = summarise(config, rows)
        output.emit(lines, values.json)
        if values.plot is not None:
            plot(config, rows, lines, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
