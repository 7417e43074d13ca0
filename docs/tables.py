"""Writes the tables of pages from the files in docs/results, with the commands beside them.

    python docs/tables.py            # after files of results have changed
    python docs/tables.py --check    # says which pages are behind their files

A page has a table between the lines `<!-- table NAME -->` and `<!-- end of table -->`. All
figures come from what a binary prints with `--report --json`, so that a table can only say
what the command under it says.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence

import agent_page
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
    "obscuro-matches": lambda: match_table(OBSCURO_MATCHES),
    "obscuro-times": lambda: match_table(OBSCURO_TIMES),
    "obscuro-first-moves": first_moves_table,
    "obscuro-white": white_score,
    "obscuro-position-7a": lambda: positions_table(POSITIONS[0]),
    "obscuro-positions": lambda: positions_table(POSITIONS[1]),
    **agent_page.TABLES,
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
