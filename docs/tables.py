"""Writes the tables of pages from the files in docs/results, with the commands beside them.

    python docs/tables.py            # after files of results have changed
    python docs/tables.py --check    # says which pages are behind their files

A page has a table between the lines `<!-- table NAME -->` and `<!-- end of table -->`. All
figures come from what a binary prints with `--report --json`, so that a table can only say
what the command under it says.
"""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from absl import logging

from klss_spiel.run import benchmark, mahjong_tables, match, obscuro_tables

ROOT = pathlib.Path(__file__).parent.parent
_BLOCK = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

Line = Mapping[str, Any]

_OBSCURO = "python -m klss_spiel.run.obscuro_tables"
_MATCH = "python -m klss_spiel.run.match --game=python_dark_chess"
MAHJONG = (
    "python -m klss_spiel.run.mahjong_tables --preset=olss_table3"
    " --output=docs/results/mahjong/table3.jsonl"
)
MAHJONG_SPEED = (
    "python -m klss_spiel.run.benchmark --suite=mahjong --output=docs/results/speed/mahjong.csv"
)
_BINARIES = {
    _OBSCURO.split()[2]: obscuro_tables.main,
    _MATCH.split()[2]: match.main,
    MAHJONG.split()[2]: mahjong_tables.main,
    MAHJONG_SPEED.split()[2]: benchmark.main,
}


def lines_of(command: str) -> list[dict[str, Any]]:
    """What a command prints about the file it wrote."""
    _, _, module, *arguments = shlex.split(command)
    arguments = [
        re.sub(r"^--output=", f"--output={ROOT}/", argument)
        for argument in arguments
        if not argument.startswith(("--executor", "--plot"))
    ]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _BINARIES[module]([*arguments, "--report", "--json"])
    lines: list[dict[str, Any]] = json.loads(printed.getvalue())
    return lines


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows with the same columns as a table."""
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([row[c] for c in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def commands_block(commands: Sequence[str]) -> str:
    """Commands as a person would type them, long ones on two lines."""
    parts = []
    for command in commands:
        head, _, file = command.rpartition(" --output=")
        parts.append(f"{head} \\\n    --output={file}")
    return "\n```\n" + "\n".join(parts) + "\n```\n"


def percent(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.1f}"


def with_interval(line: Line, name: str) -> str:
    """A share in percent with its interval."""
    return f"{percent(line[name])} ({percent(line['low'])} to {percent(line['high'])})"


def thousands(value: int) -> str:
    """A whole number for people."""
    return f"{value:,}"


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


def _fan(value: float, half_width: float) -> str:
    """Fan with the half width of an interval."""
    return f"{value:+.2f} &plusmn; {half_width:.2f}"


_MAHJONG_NAMES = {"blueprint": "no search", "ACH": "ACH model"}


def mahjong_table() -> str:
    """Table 3 of OLSS as far as it has been played, beside the paper's."""
    played = {(line["opponent"], line["setting"]): line for line in lines_of(MAHJONG)}
    rows, behind = [], []
    for opponent in mahjong_tables.OPPONENTS:
        for setting in mahjong_tables.SETTINGS:
            line = played.get((opponent, setting))
            planned = mahjong_tables.planned_games(opponent, setting)
            games = line["games"] if line else 0
            name = _MAHJONG_NAMES.get(setting, setting)
            if games < planned:
                behind.append(f"{name} v {opponent} {thousands(games)} of {thousands(planned)}")
            paper = mahjong_tables.PAPER.get((opponent, setting))
            searched = line is not None and line["seconds_per_search"] is not None
            rows.append(
                {
                    "ACH with": name,
                    "against": opponent,
                    "games": thousands(games),
                    "fan a game (95%)": _fan(line["fan"], line["half_width"]) if line else "",
                    "verdict": line["verdict"] if line else "not played",
                    "paper": _fan(*paper) if paper else "",
                    "seconds a search": f"{line['seconds_per_search']:.3f}" if searched else "",
                }
            )
    minutes = sum(line["minutes"] for line in played.values())
    said = f"{minutes:.0f} minutes of CPU time."
    if behind:
        said += f" Fewer games than planned: {', '.join(behind)}."
    return markdown(rows) + f"\n{said}\n" + commands_block([MAHJONG])


def mahjong_speed_table() -> str:
    """Speed of Mahjong."""
    rows = [
        {
            "what": line["task"],
            "by": line["contender"],
            "per CPU second": thousands(round(line["per_second"])),
            "ratio": "" if line["ratio"] is None else f"{line['ratio']:.3g}",
        }
        for line in lines_of(MAHJONG_SPEED)
    ]
    return markdown(rows) + commands_block([MAHJONG_SPEED])


TABLES: Mapping[str, Callable[[], str]] = {
    "mahjong-table3": mahjong_table,
    "mahjong-speed": mahjong_speed_table,
    "agent-strength": strength_table,
    "obscuro-matches": lambda: match_table(OBSCURO_MATCHES),
    "obscuro-times": lambda: match_table(OBSCURO_TIMES),
    "obscuro-first-moves": first_moves_table,
    "obscuro-white": white_score,
    "obscuro-position-7a": lambda: positions_table(POSITIONS[0]),
    "obscuro-positions": lambda: positions_table(POSITIONS[1]),
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
