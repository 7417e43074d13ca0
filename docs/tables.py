"""Writes the tables of pages from the files in docs/results, with the commands beside them.

    python docs/tables.py            # after files of results have changed
    python docs/tables.py --check    # says which pages are behind their files

A page has a table between the lines `<!-- table NAME -->` and `<!-- end of table -->`. All
figures come from what a binary prints with `--report --json`, so that a table can only say
what the command under it says.
"""

from __future__ import annotations

import csv
import json
import pathlib
import re
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence

import mahjong_page
import value_page
from absl import logging
from table_tools import (
    ROOT,
    Line,
    commands_block,
    lines_of,
    markdown,
    percent,
    thousands,
    with_interval,
)

_BLOCK = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

_OBSCURO = "python -m klss_spiel.run.obscuro_tables"
_MATCH = "python -m klss_spiel.run.match --game=python_dark_chess"


def _obscuro(preset: str, file: str, *flags: str) -> str:
    return " ".join(
        [_OBSCURO, f"--preset={preset}", *flags, f"--output=docs/results/obscuro/{file}.jsonl"]
    )


_BUDGET = "--nodes=2000 --belief_limit=20000"
OBSCURO_MATCHES = (
    _obscuro("ablations", "purification", '--row="purification off"', "--games=100", _BUDGET),
    _obscuro("ablations", "klss", '--row="KLSS instead of KLUSS"', "--games=400", _BUDGET),
    _obscuro(
        "ablations",
        "expansion_resolve",
        '--row="two-sided expansion" --row="uniform resolve"',
        "--games=40",
        _BUDGET,
    ),
    _obscuro(
        "ablations",
        "zs21_simple",
        '--row="two-sided GT-CFR only v ZS21" --row="simple evaluation v ZS21"',
        '--row="full v simple evaluation"',
        "--games=40",
        _BUDGET,
    ),
    _obscuro("versus_zs21", "versus_zs21", "--games=40", _BUDGET),
    _obscuro("zs21_baseline", "zs21_baseline", "--games=2", _BUDGET),
    _obscuro("random", "random", "--games=40", _BUDGET),
)
OBSCURO_TIMES = (_obscuro("time_scaling", "time_scaling", "--doublings=2", "--games=20"),)
FIRST_MOVES = (
    _obscuro("first_moves", "first_moves", "--seeds=50", "--games=40", _BUDGET),
    _obscuro("first_moves", "first_moves_20k", "--seeds=50", "--games=0", "--nodes=20000"),
)
POSITIONS = (
    _obscuro(
        "positions",
        "positions_7a",
        '--row="7(A): 1.c4 d5, White"',
        "--seeds=10",
        "--nodes=100000",
    ),
    _obscuro("positions", "positions", "--seeds=6", "--nodes=20000"),
)


def _match(file: str, first: str, second: str, games: int, seed: int) -> str:
    return (
        f'{_MATCH} --games={games} --seed={seed} --player="{first}" --player="{second}"'
        f" --output=docs/results/agent/{file}.jsonl"
    )


def _search(preset: str, budget: str, *more: str) -> str:
    return f"search({','.join((f'preset={preset}', budget, *more))})"


_NODES_20K = ("nodes=20000", "limit=200000")
STRENGTH = {
    "`strong`, 2,000 nodes, v `random`": _match(
        "v_random", _search("strong", "nodes=2000", "limit=20000"), "random", 200, 5
    ),
    "`strong` v the first release (`obscuro`, hand-made evaluation), 20,000 nodes each": _match(
        "v_first",
        _search("strong", *_NODES_20K),
        _search("obscuro", *_NODES_20K, "evaluator=handmade"),
        40,
        6,
    ),
    "`strong`, a second a move, v `pimc` with 64 worlds and alpha-beta of depth 4": _match(
        "v_pimc",
        _search("strong", "seconds=1", "limit=200000"),
        "pimc(worlds=64,depth=4,engine=alphabeta,limit=200000)",
        40,
        7,
    ),
    "`obscuro` v `zs21`, a budget of half a second a move": _match(
        "obscuro_v_zs21",
        _search("obscuro", "seconds=0.5", "limit=200000"),
        _search("zs21", "seconds=0.5", "limit=200000"),
        40,
        8,
    ),
}


def strength_table() -> str:
    """Matches of the agent."""
    rows = []
    for name, command in STRENGTH.items():
        (line,) = lines_of(command)
        bounds = [line["elo_low"], line["elo_high"]]
        low, high = ("none" if bound is None else f"{bound:+.0f}" for bound in bounds)
        estimate = "unbounded" if line["elo"] is None else f"{line['elo']:+.0f}"
        rows.append(
            {
                "match": name,
                "games": str(line["games"]),
                "+ = -": f"{line['wins']} {line['draws']} {line['losses']}",
                "score in %": percent(line["score"]),
                "Elo (95%)": f"{estimate} [{low}, {high}]",
            }
        )
    return markdown(rows) + commands_block(list(STRENGTH.values()))


_CLOCKED = "search(preset=strong)"
CLOCKS = {
    "9 s and .1 s a move": ("clock_9s", 50, "9s+0.1"),
    "3 minutes and 2 s a move": ("clock_3m", 4, "3+2"),
}


def clock_table() -> str:
    """Games of the agent with itself by the clock."""
    rows, commands = [], []
    for name, (file, games, clock) in CLOCKS.items():
        command = _match(file, _CLOCKED, _CLOCKED, games, 5)
        commands.append(command.replace(" --player", f" --clock={clock} --player", 1))
        path = ROOT / "docs" / "results" / "agent" / f"{file}.jsonl"
        played = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        rows.append(
            {
                "clock": name,
                "games": str(len(played)),
                "lost on time": str(sum(row["termination"] == "time" for row in played)),
                "moves": thousands(sum(row["plies"] for row in played)),
                "longest thought in s": f"{_extreme(played, 'longest', max):.2f}",
                "least time left in s": f"{_extreme(played, 'least_left', min):.2f}",
            }
        )
    return markdown(rows) + commands_block(commands)


def _extreme(rows: Sequence[Line], name: str, choose: Callable[..., float]) -> float:
    return choose(float(row[f"{name}_{player}"]) for row in rows for player in (0, 1))


_SPEED_FILE = "docs/results/speed/agent.csv"
_SPEED = f"python -m klss_spiel.run.benchmark --suite=agent --output={_SPEED_FILE}"


def _speed_rows(task: str) -> list[dict[str, str]]:
    with (ROOT / _SPEED_FILE).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["task"] == task]


def search_speed_table() -> str:
    """New nodes per processor second by size of the tree and phase of the game."""
    table: dict[tuple[str, str], dict[str, str]] = {}
    carried: dict[tuple[str, str], list[float]] = {}
    used: dict[tuple[str, str], list[float]] = {}
    phases = []
    for row in _speed_rows("search"):
        phase, nodes = row["game"].removesuffix(" nodes").split(", ")
        phases.append(phase)
        speeds = table.setdefault((row["contender"], nodes), {})
        speeds[phase] = f"{float(row['nodes_per_second']) / 1e3:.0f}"
        used.setdefault((row["contender"], nodes), []).append(float(row["bytes_per_node"]))
        new = float(row["seconds"]) * float(row["nodes_per_second"])
        carried.setdefault((row["contender"], nodes), []).append(1.0 - new / float(row["nodes"]))
    rows = [
        {
            "preset": f"`{preset}`",
            "nodes": thousands(int(nodes)),
            **{phase: speeds[phase] for phase in dict.fromkeys(phases)},
            "bytes per node": f"{max(used[preset, nodes]):.0f} at most",
            "carried over in %": percent(statistics.mean(carried[preset, nodes])),
        }
        for (preset, nodes), speeds in table.items()
    ]
    return markdown(rows) + commands_block([_SPEED])


def other_speed_table() -> str:
    """Second threads, beliefs and first moves."""
    rows = []
    for row in _speed_rows("threads"):
        speed = f"{float(row['nodes_per_second']) / 1e3:.0f} thousand nodes per second of the wall"
        rows.append({"what": f"{row['game']}, {row['contender']}", "measured": speed})
    for row in _speed_rows("belief"):
        what = f"belief after {row['game']}, {thousands(int(float(row['nodes'])))} positions"
        speed = f"{float(row['seconds_per_million']):.2f} processor seconds per million"
        rows.append({"what": what, "measured": speed})
    for row in _speed_rows("first move"):
        speed = f"{float(row['seconds']):.1f} processor seconds, {float(row['wall_seconds']):.1f} s"
        rows.append({"what": f"first move, {row['contender']}", "measured": speed})
    return markdown(rows)


def evaluation_speed_table() -> str:
    """What evaluators take per child; those that look at positions one by one only alone."""
    times = {row["contender"]: row for row in _speed_rows("evaluation")}

    def shown(row: dict[str, str] | None) -> str:
        if row is None:
            return ""
        by_the_wall = " (by the wall)" if row["wall_seconds"] else ""
        return thousands(round(float(row["ns_per_child"]))) + by_the_wall

    rows = [
        {
            "": f"`{name}`",
            "alone": shown(row),
            "behind the resolver": shown(times.get(f"resolver({name})")),
        }
        for name, row in times.items()
        if not name.startswith("resolver")
    ]
    return markdown(rows)


def match_table(commands: Sequence[str]) -> str:
    """Matches beside the paper's."""
    rows = []
    for command in commands:
        for line in lines_of(command):
            paper = ""
            if line["paper"] is not None:
                paper = f"{percent(line['paper'])} ({thousands(line['paper_games'])})"
            rows.append(
                {
                    "match": line["match"],
                    "games": str(line["games"]),
                    "+ = -": f"{line['+']} {line['=']} {line['-']}",
                    "score in %": with_interval(line, "score"),
                    "sign": line["sign"],
                    "paper": paper,
                    "plies": str(line["plies"]),
                }
            )
    return markdown(rows) + commands_block(commands)


def first_moves_table() -> str:
    """Shares of first moves at two budgets beside the paper's."""
    tables = [{line["what"]: line for line in lines_of(command)} for command in FIRST_MOVES]
    rows = []
    score = "White's score"
    for what in dict.fromkeys(name for table in tables for name in table):
        shown = [table.get(what) for table in tables]
        paper = next(line["paper"] for line in shown if line is not None)
        is_rare = all(line is None or line["share"] < 0.05 for line in shown)
        if (paper is None and is_rare) or what == score:
            continue
        cells = ["0" if line is None else with_interval(line, "share") for line in shown]
        rows.append(
            {
                "first move": what,
                "2,000 nodes": cells[0],
                "20,000 nodes": cells[1],
                "paper": "" if paper is None else percent(paper),
            }
        )
    return markdown(rows)


def white_score() -> str:
    """White's score in self-play, a sentence."""
    (line,) = (line for line in lines_of(FIRST_MOVES[0]) if "plies" in line)
    return (
        f"White's score in {line['games']} games of self-play with 2,000 nodes is "
        f"{with_interval(line, 'share')}%, beside the printed {percent(line['paper'])}: "
        f"{line['sign']}. Draws are {percent(line['draws'])}% (paper 16.2), games last "
        f"{line['plies']} plies (paper 116.6).\n" + commands_block(FIRST_MOVES)
    )


def positions_table(command: str) -> str:
    """Probabilities of the moves that the paper names, and of the likeliest others."""
    groups: dict[str, list[Line]] = {}
    for line in lines_of(command):
        groups.setdefault(line["position"], []).append(line)
    rows = []
    for name, lines in groups.items():
        named = [line for line in lines if line["paper"] is not None]
        others = [line for line in lines if line["paper"] is None and line["probability"] > 0.05]
        rows.append(
            {
                "decision": name,
                "moves the paper names, in %": "; ".join(
                    f"{line['move']} {with_interval(line, 'probability')}" for line in named
                ),
                "likeliest others": ", ".join(
                    f"{line['move']} {percent(line['probability'])}" for line in others
                ),
                "value": f"{lines[0]['value']:+.3f}",
            }
        )
    return markdown(rows) + commands_block([command])


TABLES: Mapping[str, Callable[[], str]] = {
    "agent-strength": strength_table,
    "agent-clock": clock_table,
    "agent-speed": search_speed_table,
    "agent-speed-others": other_speed_table,
    "agent-speed-evaluation": evaluation_speed_table,
    "obscuro-matches": lambda: match_table(OBSCURO_MATCHES),
    "obscuro-times": lambda: match_table(OBSCURO_TIMES),
    "obscuro-first-moves": first_moves_table,
    "obscuro-white": white_score,
    "obscuro-position-7a": lambda: positions_table(POSITIONS[0]),
    "obscuro-positions": lambda: positions_table(POSITIONS[1]),
    **mahjong_page.TABLES,
    **value_page.TABLES,
}


def pages() -> list[pathlib.Path]:
    """The pages that have tables of this kind."""
    return [
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if "_build" not in page.parts and _BLOCK.search(page.read_text("utf-8"))
    ]


def renewed(page: pathlib.Path) -> str:
    """A page with its tables as the files of results have them."""
    return _BLOCK.sub(
        lambda found: found[1] + TABLES[found[2]]() + found[3], page.read_text("utf-8")
    )


def main(arguments: Sequence[str]) -> int:
    """Writes pages, or only says which are behind."""
    logging.set_verbosity(logging.ERROR)
    only_check = "--check" in arguments
    behind = 0
    for page in pages():
        text = renewed(page)
        if text == page.read_text("utf-8"):
            continue
        behind += 1
        print(page.relative_to(ROOT))
        if not only_check:
            page.write_text(text, "utf-8")
    return behind if only_check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
