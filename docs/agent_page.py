"""The tables of the agent, from the files of its matches and of the benchmark."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Callable, Mapping, Sequence

from table_tools import ROOT, Line, commands_block, lines_of, markdown, percent, thousands

_DARK_CHESS = "python_dark_chess"


def _match(
    file: str, first: str, second: str, games: int, seed: int, game: str = _DARK_CHESS
) -> str:
    return (
        f"python -m klss_spiel.run.match --game={game} --games={games} --seed={seed}"
        f' --player="{first}" --player="{second}" --output=docs/results/agent/{file}.jsonl'
    )


def _search(preset: str, budget: str, *more: str) -> str:
    return f"search({','.join((f'preset={preset}', budget, *more))})"


_NODES_20K = ("nodes=20000", "limit=200000")
STRENGTH = {
    "`strong`, 2,000 nodes, v `random`": _match(
        "v_random", _search("strong", "nodes=2000", "limit=20000"), "random", 200, 5
    ),
    "`strong` v the first release (`obscuro`, hand-made evaluation), 20,000 nodes each": _match(
        "v_first_wide",
        _search("strong", *_NODES_20K),
        _search("obscuro", *_NODES_20K, "evaluator=handmade"),
        60,
        26,
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
    return _matches_table(STRENGTH)


def _matches_table(matches: Mapping[str, str]) -> str:
    """What commands of matches, by what to call them, say of their first player."""
    rows = []
    for name, command in matches.items():
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
    return markdown(rows) + commands_block(list(matches.values()))


# What else `strong` might be: settings, and the files of their matches against it.
_NODES_3K = ("nodes=3000", "limit=20000")
_CHOICES = {
    "purification=false": "choice_unpurified",
    "max_support=1": "choice_pure",
    "gifts=false": "choice_no_gifts",
    "gadget=resolve": "choice_resolve",
    "gadget=maxmargin": "choice_maxmargin",
    "alternate=best_response": "choice_best_response",
}
CHOICES = {
    f"`{change}`": _match(
        file, _search("strong", *_NODES_3K, change), _search("strong", *_NODES_3K), 100, 61
    )
    for change, file in _CHOICES.items()
}


def choices_table() -> str:
    """Matches of `strong` with a setting changed against `strong`."""
    return _matches_table(CHOICES)


# Growth at equal time: nodes that take as long as 5,000 with the growth of `strong`.
GROWTH = {
    f"`growth={growth}`, {thousands(nodes)} nodes": _match(
        file,
        _search("strong", f"nodes={nodes}", "limit=20000", f"growth={growth}"),
        _search("strong", "nodes=5000", "limit=20000"),
        100,
        81,
    )
    for growth, nodes, file in ((0.004, 4700, "growth_slow"), (0.02, 5250, "growth_fast"))
}


def growth_table() -> str:
    """Matches of `strong` with other rates of growth against `strong`, at equal time."""
    return _matches_table(GROWTH)


_BOARDS = {
    "`1k2/3R/K3`, 5 plies": "python_dark_chess(fen=1k2/3R/K3 w - -,horizon=5)",
    "`K3/2k1/R3`, 5 plies": "python_dark_chess(fen=K3/2k1/R3 w - -,horizon=5)",
    "`3k/R3/K3`, 6 plies": "python_dark_chess(fen=3k/R3/K3 w - -,horizon=6)",
    "Kriegspiel `2k1/R3/K3`, 6 plies and tries": (
        "python_kriegspiel(fen=2k1/R3/K3 w - -,horizon=6,count_tries=true)"
    ),
}
_BOARD_PRESETS = (
    "strong",
    "strong(purification=false)",
    "strong(play=recent,purification=false)",
    "strong(gadget=maxmargin)",
    "strong(gadget=maxmargin,purification=false)",
    "strong(gadget=resolve)",
    "strong(alternate=best_response)",
    "strong(loss_tolerance=0.01)",
)
_BOARD_SEEDS = range(3)


def _board_command(seed: int) -> str:
    games = " ".join(f'--game="{game}"' for game in _BOARDS.values())
    presets = " ".join(f'--preset="{preset}"' for preset in _BOARD_PRESETS)
    return (
        f"python -m klss_spiel.run.search_exploitability {games} {presets} --budget_nodes=200"
        f" --seed={seed} --output=docs/results/agent/board_exploitability.jsonl"
    )


def boards_table() -> str:
    """Exploitability of `strong` with settings changed on small boards, over seeds."""
    found: dict[tuple[str, str], list[float]] = {}
    for seed in _BOARD_SEEDS:
        for line in lines_of(_board_command(seed)):
            preset = line["preset"].partition("+seed=")[0]
            found.setdefault((preset, line["game"]), []).append(line["exploitability"])
    rows = []
    for preset in _BOARD_PRESETS:
        cells = {
            name: _mean_and_error(found.get((preset, game), ())) for name, game in _BOARDS.items()
        }
        rows.append({"": f"`{preset}`", **cells})
    return markdown(rows) + commands_block([_board_command(0)])


def _mean_and_error(values: Sequence[float]) -> str:
    """The mean and its standard error."""
    if len(values) < 2:
        return ""
    error = statistics.stdev(values) / len(values) ** 0.5
    return f"{statistics.mean(values):.2f} &plusmn; {error:.2f}"


_KRIEGSPIEL = "python_kriegspiel"
KRIEGSPIEL = {
    "`strong`, 4,000 nodes, v `random`": _match(
        "kriegspiel_v_random",
        _search("strong", "nodes=4000", "limit=20000"),
        "random",
        200,
        51,
        _KRIEGSPIEL,
    ),
    "`strong`, a second a move, v `random`": _match(
        "kriegspiel_second", _search("strong", "seconds=1"), "random", 4, 52, _KRIEGSPIEL
    ),
}


def kriegspiel_table() -> str:
    """Matches of the agent in Kriegspiel."""
    return _matches_table(KRIEGSPIEL)


_TRIED = "python_kriegspiel(board=minimal4x3,horizon={},count_tries=true)"
_TRIED_PLIES = (4, 5, 6)
_TRIED_NODES = (20, 100, 500)


def _tried_command(seed: int) -> str:
    games = " ".join(f'--game="{_TRIED.format(plies)}"' for plies in _TRIED_PLIES)
    budgets = " ".join(f"--budget_nodes={nodes}" for nodes in _TRIED_NODES)
    return (
        f"python -m klss_spiel.run.search_exploitability {games} --preset=strong {budgets}"
        f" --seed={seed} --output=docs/results/agent/kriegspiel_exploitability.jsonl"
    )


def kriegspiel_boards_table() -> str:
    """Exploitability in Kriegspiel on Minimal4x3 by budget, for three seeds."""
    found: dict[tuple[str, int], list[float]] = {}
    for seed in range(3):
        for line in lines_of(_tried_command(seed)):
            values = found.setdefault((line["game"], line["budget_nodes"]), [])
            values.append(abs(line["exploitability"]))  # never -0.00
    rows = []
    for plies in _TRIED_PLIES:
        cells = {
            f"{nodes} nodes": ", ".join(
                f"{value:.2f}" for value in found[_TRIED.format(plies), nodes]
            )
            for nodes in _TRIED_NODES
        }
        rows.append({"plies and tries": str(plies), **cells})
    return markdown(rows) + commands_block([_tried_command(0)])


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


TABLES: Mapping[str, Callable[[], str]] = {
    "agent-boards": boards_table,
    "agent-growth": growth_table,
    "agent-choices": choices_table,
    "agent-kriegspiel": kriegspiel_table,
    "agent-kriegspiel-boards": kriegspiel_boards_table,
    "agent-strength": strength_table,
    "agent-clock": clock_table,
    "agent-speed": search_speed_table,
    "agent-speed-others": other_speed_table,
    "agent-speed-evaluation": evaluation_speed_table,
}
