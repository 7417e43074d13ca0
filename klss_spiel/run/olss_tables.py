r"""OLSS's Table 2 and Figures 4 to 7: subgame solving right after the community card.

    python -m klss_spiel.run.olss_tables --preset=olss_table2 --games=leduc231 --seeds=5
    python -m klss_spiel.run.olss_tables --games=leduc231,leduc2131 --output=table2.csv
    python -m klss_spiel.run.olss_tables --games=leduc231 --recipe=olss-1 --curve \
        --opponent_strategies=1,4,7 --gift_scale=0,1,2,4

The blueprint is stopped at the paper's exploitability, then both players refine it
by themselves at every infoset right after the community card, each subgame on its
own. Exploitability is the sum over both players (OpenSpiel's nash_conv), in chips.

Blueprints come from OpenSpiel's external-sampling MCCFR, one per seed; in games
whose trees deal ranks (`rank_trees`), which OpenSpiel does not know, from our CFR
without chance, so that there is one seed only. `blueprint_by` says which.

Games of ranks with more than a million nodes are laid out as a public tree times hands
(`--layout=hands`), which takes minutes where a tree of nodes takes an hour or the whole
memory; what memory and time a row needs is estimated before it is begun.

The opponent strategies of OLSS-I are the blueprint and, for each of fold, call and
raise, a copy that plays it 5 times as often (n=4), and 20 times as often (n=7).

Deviations: subgames are solved by CFR+ (or exactly, `--solver=lp`; by hands those of order
1 are, `solver` says so), not by CFR with sampled chance, so that iterations are not the
paper's. The gift scale is 1, with which
Safe-1-KLSS is safe; the paper's experiments use 2. The paper prints a second line
called Leduc(2,3,1), which is left out.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

from absl import flags, logging

from klss_spiel.algorithms.subgame.cutting_planes import CuttingPlanes
from klss_spiel.algorithms.subgame.recipes import (
    Gadget,
    Margin,
    SubgameRecipe,
    parse_recipe,
)
from klss_spiel.algorithms.subgame.solvers import Cfr, LinearProgramming, SubgameSolver
from klss_spiel.best_response import nash_conv
from klss_spiel.games.poker.hand_sizes import check_hand_size
from klss_spiel.games.poker.leduc_family import (
    PokerGame,
    check_size,
    game_size,
    parse_game,
)
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.run import (
    hand_blueprints,
    job_flags,
    olss_by_hands,
    olss_report,
    output,
    stopped_blueprints,
)
from klss_spiel.run.olss_by_nodes import BIASES, make_setting, refined
from klss_spiel.run.olss_report import OLSS_TABLE2, RECIPES
from klss_spiel.run.stopped_blueprints import MCCFR, METHODS

PRESETS = {"olss_table2": tuple(OLSS_TABLE2)}
DEFAULT_TARGET = 0.15
# How games are laid out: as a tree of nodes, or as a public tree times hands.
NODES = "nodes"
HANDS = "hands"
_MOST_NODES = 1_000_000
# A night.
MOST_MINUTES = 600.0
CFR = "cfr"
LP = "lp"
# Exact where a hand has few plans (`cutting_planes`), CFR elsewhere.
AUTO = "auto"
SOLVERS = (AUTO, CFR, LP)


@dataclasses.dataclass(frozen=True)
class Config:
    """What to compute.

    Attributes:
      games: names of `leduc_family`.
      recipes: names of methods.
      seeds: number of blueprints by MCCFR.
      solver: one of SOLVERS.
      iterations: of CFR in each subgame; a row for each number.
      gift_scales: eta of the recipes that have gifts; a row for each.
      opponent_strategies: how many those recipes have that limit the opponent; a row
        for each.
      target: exploitability to stop blueprints at; None is the paper's.
      blueprint: MCCFR or CFR; None is MCCFR where OpenSpiel knows the game.
      gigabytes: memory there is; None is this machine's.
      layout: NODES or HANDS; None is what suits each game.
      minutes: rows by hands that take longer on a core, by estimate, are refused.
      state: folder that is told every few minutes how far a row by hands is, to go on
        from after a kill; None for none.
      boards: refine so many boards, drawn at random, in rows by hands; None for all.
    """

    games: tuple[str, ...]
    recipes: tuple[str, ...] = RECIPES
    seeds: int = 3
    solver: str = AUTO
    iterations: tuple[int, ...] = (1000,)
    gift_scales: tuple[float, ...] = (1.0,)
    opponent_strategies: tuple[int, ...] = (4,)
    target: float | None = None
    blueprint: str | None = None
    gigabytes: float | None = None
    layout: str | None = None
    minutes: float = MOST_MINUTES
    state: str | None = None
    boards: int | None = None

    def __post_init__(self) -> None:
        if not self.games:
            raise ValueError("expected at least one game, got none")
        recipes = [parse_recipe(recipe) for recipe in self.recipes]
        if self.layout not in (None, NODES, HANDS):
            raise ValueError(f"expected the layout {NODES} or {HANDS}, got {self.layout!r}")
        for name in self.games:
            game = parse_game(name)
            layout = self.layout or default_layout(game)
            _check_fits(game, layout, self.gigabytes)
            method = self.blueprint or _default_method(game, layout)
            if layout == NODES:
                stopped_blueprints.check_method(game, method)
                if self.boards is not None:
                    raise ValueError(f"samples of boards need the layout {HANDS}, got {game.name}")
            elif method != stopped_blueprints.CFR:
                raise ValueError(f"by hands blueprints are made by cfr, got {method!r}")
            elif not all(olss_by_hands.has_subgames(recipe) for recipe in recipes):
                raise ValueError(
                    f"{game.name} is laid out by hands, where olss-2 and reach- recipes have no "
                    f"subgames; expected --layout={NODES} or other recipes"
                )
        if self.seeds < 1:
            raise ValueError(f"expected at least one seed, got {self.seeds}")
        if self.solver not in SOLVERS:
            raise ValueError(f"expected the solver {' or '.join(SOLVERS)}, got {self.solver!r}")
        if not self.iterations or min(self.iterations) < 1:
            raise ValueError(f"expected at least one iteration, got {self.iterations}")
        for count in self.opponent_strategies:
            if count not in BIASES:
                raise ValueError(f"expected 1, 4 or 7 opponent strategies, got {count}")
        if any(scale < 0.0 for scale in self.gift_scales):
            raise ValueError(f"expected gift scales of at least 0, got {self.gift_scales}")
        if self.target is not None and not self.target > 0.0:
            raise ValueError(f"expected a target above 0, got {self.target}")
        for columns in _columns(self):
            if columns["layout"] == HANDS:
                olss_by_hands.check_boards(columns)
                olss_by_hands.check_time(columns, self.minutes)


def default_layout(game: PokerGame) -> str:
    """What suits a game."""
    large = game_size(game).nodes > _MOST_NODES
    return HANDS if game.hole_cards > 1 and large else NODES


def _check_fits(game: PokerGame, layout: str, gigabytes: float | None) -> None:
    if layout == HANDS:
        check_hand_size(game, gigabytes)
    else:
        check_size(game, gigabytes)


def _default_method(game: PokerGame, layout: str) -> str:
    """Of blueprints."""
    return stopped_blueprints.CFR if layout == HANDS else stopped_blueprints.default_method(game)


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """Computes the rows: one per game, seed, recipe and option; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), setup=output.use_double_precision, **how)


def make_jobs(config: Config) -> list[Job]:
    """A job for each row; those with the same blueprint are a group."""
    return [
        job_from_columns(
            compute_row, columns, config.state, group=f"{columns['game']} {columns['seed']}"
        )
        for columns in _columns(config)
    ]


def _columns(config: Config) -> list[dict[str, Any]]:
    columns = []
    for name in config.games:
        game = parse_game(name)
        printed = OLSS_TABLE2.get(game.name)
        target = config.target or (printed.blueprint if printed else DEFAULT_TARGET)
        layout = config.layout or default_layout(game)
        method = config.blueprint or _default_method(game, layout)
        for seed in range(config.seeds if method == MCCFR else 1):
            for recipe in config.recipes:
                parsed = parse_recipe(recipe)
                solver = _solver_of(config.solver, layout, parsed)
                has_gift = parsed.margin == Margin.SAFE_GIFT
                limited = parsed.gadget in (Gadget.REACHING, Gadget.PLAYING)
                columns += [
                    {
                        "game": game.name,
                        "recipe": parsed.name,
                        "seed": seed,
                        "layout": layout,
                        "blueprint_by": method,
                        "target": target,
                        "solver": solver,
                        "iterations": steps,
                        "gift_scale": scale,
                        "opponent_strategies": count,
                        "boards": config.boards if layout == HANDS else None,
                    }
                    for scale in (config.gift_scales if has_gift else (None,))
                    for count in (config.opponent_strategies if limited else (None,))
                    for steps in (config.iterations if solver == CFR else (None,))
                ]
    return columns


def _solver_of(solver: str, layout: str, recipe: SubgameRecipe) -> str:
    if solver != AUTO:
        return solver
    return LP if layout == HANDS and olss_by_hands.has_few_plans(recipe) else CFR


def compute_row(columns: Mapping[str, Any], state: str | None = None) -> dict[str, Any]:
    """The results of one row: the blueprint refined by one recipe; `state` as in `Config`."""
    recipe = parse_recipe(columns["recipe"])
    if columns["gift_scale"] is not None:
        recipe = recipe(gift_scale=columns["gift_scale"])
    solver: SubgameSolver
    if columns["solver"] != LP:
        solver = Cfr(columns["iterations"])
    elif columns["layout"] == HANDS and olss_by_hands.has_few_plans(recipe):
        solver = CuttingPlanes()
    else:
        solver = LinearProgramming()
    if columns["layout"] == HANDS:
        results = _results_by_hands(columns, recipe, solver, state)
    else:
        results = _results_by_nodes(columns, recipe, solver)
    printed = OLSS_TABLE2.get(columns["game"])
    if printed is not None and printed.blueprint != columns["target"]:
        printed = None
    return {
        "blueprint": results["blueprint"],
        "after": results["after"],
        "after_low": results.get("after_low"),
        "after_high": results.get("after_high"),
        "paper_blueprint": printed.blueprint if printed else None,
        "paper_after": printed.after.get(columns["recipe"]) if printed else None,
        "boards_refined": results.get("boards_refined"),
        "blueprint_iterations": results["blueprint_iterations"],
        "blueprint_seconds": results["blueprint_seconds"],
        "blueprint_cpu_seconds": results["blueprint_cpu_seconds"],
        "seconds": results["seconds"],
        "cpu_seconds": results["cpu_seconds"],
    }


def _results_by_nodes(
    columns: Mapping[str, Any], recipe: SubgameRecipe, solver: SubgameSolver
) -> dict[str, Any]:
    setting = make_setting(
        columns["game"], columns["blueprint_by"], columns["target"], columns["seed"]
    )
    start, cpu_start = time.monotonic(), time.process_time()
    policy = refined(setting, recipe, solver, columns["opponent_strategies"])
    return {
        "seconds": time.monotonic() - start,
        "cpu_seconds": time.process_time() - cpu_start,
        "blueprint": setting.blueprint.nash_conv,
        "after": nash_conv(policy, setting.form),
        "blueprint_iterations": setting.blueprint.iterations,
        "blueprint_seconds": setting.seconds,
        "blueprint_cpu_seconds": setting.cpu_seconds,
    }


def _results_by_hands(
    columns: Mapping[str, Any], recipe: SubgameRecipe, solver: SubgameSolver, state: str | None
) -> dict[str, Any]:
    count = columns["opponent_strategies"]
    olss_by_hands.log_estimate(columns)
    setting = hand_blueprints.make_setting(columns["game"], columns["target"], state)
    factors = None if count is None else BIASES[count]
    found = olss_by_hands.refined(
        setting, recipe, solver, factors, columns["boards"], columns["seed"], state
    )
    is_sample = found.boards < setting.boards.count
    return {
        "blueprint": setting.nash_conv,
        "after": found.nash_conv.value,
        "after_low": found.nash_conv.low if is_sample else None,
        "after_high": found.nash_conv.high if is_sample else None,
        "boards_refined": found.boards,
        "blueprint_iterations": setting.iterations,
        "blueprint_seconds": setting.seconds,
        "blueprint_cpu_seconds": setting.cpu_seconds,
        "seconds": found.seconds,
        "cpu_seconds": found.cpu_seconds,
    }


def half_decades(most: int) -> tuple[int, ...]:
    """1, 3, 10, 30, ... below `most`, and `most` itself."""
    steps = [step * 10**power for power in range(len(str(most))) for step in (1, 3)]
    return (*(step for step in steps if step < most), most)


def define_flags() -> None:
    """Defines the binary's flags."""
    flags.DEFINE_enum(
        "preset", "olss_table2", sorted(PRESETS), "Games, unless --games or --game says which."
    )
    flags.DEFINE_list("games", [], "Names such as leduc231,leduc2131 (suits, ranks, hole cards).")
    flags.DEFINE_multi_string("game", [], "One more name; may be given several times.")
    flags.DEFINE_multi_string(
        "recipe",
        list(RECIPES),
        "Method: unsafe, maxmargin, resolve, 1-klss, safe-1-klss, olss-1, olss-2, ...; may be "
        "given several times.",
    )
    flags.DEFINE_integer("seeds", 3, "Number of blueprints to take means over.", lower_bound=1)
    flags.DEFINE_enum(
        "solver",
        AUTO,
        list(SOLVERS),
        "Of the subgames: cfr, lp (exact), or auto: exact for order 1 by hands, cfr elsewhere.",
    )
    flags.DEFINE_integer("iterations", 1000, "Of CFR in every subgame.", lower_bound=1)
    flags.DEFINE_list("gift_scale", ["1"], "Scales of the gift (eta), e.g. 1,2; above 1 unsafe.")
    flags.DEFINE_list("opponent_strategies", ["4"], "Numbers of strategies in OLSS: 1, 4, 7.")
    flags.DEFINE_float("target", None, "Stop blueprints at this exploitability, not the paper's.")
    flags.DEFINE_enum(
        "blueprint", None, list(METHODS), "How to make blueprints; by default mccfr if possible."
    )
    flags.DEFINE_enum("layout", None, [NODES, HANDS], "Trees of nodes or public trees times hands.")
    flags.DEFINE_float(
        "max_minutes", MOST_MINUTES, "Refuse rows by hands that take longer on a core."
    )
    flags.DEFINE_integer(
        "boards",
        None,
        "Refine so many boards, drawn at random, in rows by hands, and estimate what all would "
        "give, with an interval; by default all.",
        lower_bound=2,
    )
    flags.DEFINE_float("max_gigabytes", None, "Refuse games that need more memory than this.")
    flags.DEFINE_string(
        "state",
        None,
        "Folder in which rows by hands save every few minutes how far they are; the same command "
        "goes on from there after a kill, and other rows take the blueprint from there.",
    )
    flags.DEFINE_bool(
        "curve",
        False,
        "Compute rows for 1, 3, 10, ... iterations up to --iterations and write a curve as CSV "
        "and PNG, beside --output or in the current directory.",
    )
    output.define_flags()
    job_flags.define_flags()
    job_flags.define_plot_flag("exploitability before and after, or its curve")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Parses flags, computes, prints."""
    values = flags.FLAGS
    names = tuple(dict.fromkeys(parse_game(n).name for n in [*values.games, *values.game]))
    footer: list[str] = []
    if not names:
        names, footer = _games_that_fit(PRESETS[values.preset], values)
    if values.curve and values.solver == LP:
        raise ValueError("a curve needs iterations: expected --solver=cfr, got lp")
    config = Config(
        games=names,
        recipes=tuple(values.recipe),
        seeds=values.seeds,
        solver=values.solver,
        iterations=half_decades(values.iterations) if values.curve else (values.iterations,),
        gift_scales=tuple(_number(float, text, "gift_scale") for text in values.gift_scale),
        opponent_strategies=tuple(
            _number(int, text, "opponent_strategies") for text in values.opponent_strategies
        ),
        target=values.target,
        blueprint=values.blueprint,
        gigabytes=values.max_gigabytes,
        layout=values.layout,
        minutes=values.max_minutes,
        state=values.state,
        boards=values.boards,
    )
    if values.curve:
        curve = olss_report.curve_file(values.output)
        job_flags.check_writable(curve)
        if olss_report.check_can_draw():
            job_flags.check_writable(curve.with_suffix(".png"))
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(make_jobs(config), setup=output.use_double_precision) as rows:
        if values.curve:
            footer += olss_report.write_curve(rows, values.output)
        output.emit(rows, values.json, olss_report.table(rows, footer))
        if values.plot:
            olss_report.draw(rows, values.plot)


def _games_that_fit(
    names: Sequence[str], values: flags.FlagValues
) -> tuple[tuple[str, ...], list[str]]:
    """Those of the names whose games fit memory and time, and a line for each other."""
    fitting, notes = [], []
    for name in names:
        try:
            Config(
                games=(name,),
                recipes=tuple(values.recipe),
                solver=values.solver,
                iterations=(values.iterations,),
                gigabytes=values.max_gigabytes,
                layout=values.layout,
                minutes=values.max_minutes,
                boards=values.boards,
            )
            fitting.append(name)
        except ValueError as error:
            logging.warning("left out: %s", error)
            notes.append(f"left out: {error}")
    return tuple(fitting), notes


def _number(kind: Any, text: str, flag: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"expected numbers in --{flag}, got {text!r}") from None


if __name__ == "__main__":
    output.run_binary(define_flags, main)
