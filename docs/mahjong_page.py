"""The tables of Mahjong, from the files of their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from table_tools import commands_block, lines_of, markdown, thousands

from klss_spiel.run import mahjong_tables

MAHJONG = (
    "python -m klss_spiel.run.mahjong_tables --preset=olss_table3"
    " --output=docs/results/mahjong/table3.jsonl"
)
MAHJONG_SPEED = (
    "python -m klss_spiel.run.benchmark --suite=mahjong --output=docs/results/speed/mahjong.csv"
)


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
}
