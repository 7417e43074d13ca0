"""Curves of exploitability, scattered points and ratings, from rows of tables."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from klss_spiel.matches.ratings import mean_interval
from klss_spiel.plot.figures import colours, figure, legend_outside, short_game_name

Row = Mapping[str, Any]
_PEERS: Final = ("openspiel", "OpenSpiel")
_SEED: Final = re.compile(r"\+seed=\d+")
_WORDS: Final = {
    "budget_nodes": "nodes per decision",
    "iterations": "iterations",
    "seconds": "seconds",
    "exploitability": "exploitability",
    "nash_conv": "exploitability of both players together",
    "after": "exploitability of both players together",
}


def exploitability_curves(
    rows: Sequence[Row],
    x: str | Sequence[str] = "budget_nodes",
    y: str = "exploitability",
    line: str = "preset",
    floor: float = 1e-9,
    levels: Mapping[str, float] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Curves on logarithmic axes, one panel for each game.

    Rows of one game, line and place that differ in their seed (a column `seed`, or
    `+seed=N` in the line's name) make one point, the geometric mean, and a band: its
    95% bootstrap interval.

    Args:
      rows: with the columns `game`, x, y and line.
      x: column of the horizontal axis; several make a row of panels for each game.
      y: column of the vertical axis.
      line: column that names the curves. Those of other packages are dashed.
      floor: smaller values are drawn there, as a logarithm has no zero.
      levels: by game, a value to mark by a line across, such as the blueprint's.
      path: file to write (.svg, .pdf, .png), or None.

    Returns:
      The matplotlib figure.
    """
    if not rows:
        raise ValueError("expected rows to draw, got none")
    horizontal = (x,) if isinstance(x, str) else tuple(x)
    games = list(dict.fromkeys(str(row["game"]) for row in rows))
    labels = list(dict.fromkeys(_label(row, line) for row in rows))
    colour = colours(labels)
    shape = (len(games), len(horizontal)) if len(horizontal) > 1 else (1, len(games))
    size = (3.4 * shape[1] + 0.4, 2.6 * shape[0] + 0.2 * math.ceil(len(labels) / 4) + 0.3)
    with figure(size, path) as drawn:
        panels = drawn.subplots(*shape, squeeze=False)
        cells = [(game, axis) for game in games for axis in horizontal]
        for (game, axis), panel in zip(cells, panels.flat, strict=True):
            for label in labels:
                curve = [r for r in rows if str(r["game"]) == game and _label(r, line) == label]
                if curve:
                    _draw_curve(panel, curve, axis, y, label, colour[label], floor)
            panel.set_xscale("log")
            panel.set_yscale("log")
            if levels and game in levels:
                panel.axhline(levels[game], color="black", linestyle=":", label="blueprint")
            panel.set(xlabel=_WORDS.get(axis, axis.replace("_", " ")))
            panel.set_title(short_game_name(game))
            _readable_ticks(panel)
        for row_of_panels in panels:
            row_of_panels[0].set_ylabel(_WORDS.get(y, y.replace("_", " ")))
        legend_outside(drawn, panels[0][0])
    return drawn


def _label(row: Row, line: str) -> str:
    return _SEED.sub("", str(row[line]))


def _draw_curve(
    panel: Any, curve: Sequence[Row], x: str, y: str, label: str, colour: str, floor: float
) -> None:
    by_place: dict[float, list[float]] = {}
    for row in curve:
        place = max(float(row[x]), floor)
        by_place.setdefault(place, []).append(max(float(row[y]), floor))
    places = sorted(by_place)
    middle, low, high = [], [], []
    for place in places:
        interval = mean_interval(np.log(by_place[place]))
        middle.append(math.exp(interval.estimate))
        known = math.isfinite(interval.low)
        low.append(math.exp(interval.low) if known else middle[-1])
        high.append(math.exp(interval.high) if known else middle[-1])
    style = "--" if label.startswith(_PEERS) else "-"
    panel.plot(places, middle, style, marker="o", color=colour, label=label)
    if any(len(values) > 1 for values in by_place.values()):
        panel.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)


def _readable_ticks(panel: Any) -> None:
    """Powers of ten; between them too where a panel spans less than one."""
    from matplotlib import ticker

    for axis, (low, high) in ((panel.xaxis, panel.get_xlim()), (panel.yaxis, panel.get_ylim())):
        if axis.get_scale() != "log":
            continue
        decades = math.log10(high / low) if low > 0 else math.inf
        if decades < 1.5:
            axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(ticker.NullFormatter())


def scatter(
    rows: Sequence[Row],
    x: str,
    y: str,
    group: Sequence[str],
    floor: float = 1e-9,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Points on logarithmic axes, one colour for each value of the columns `group`."""
    labels = [" ".join(str(row[name]) for name in group) for row in rows]
    colour = colours(list(dict.fromkeys(labels)))
    with figure((4.4, 3.4), path) as drawn:
        panel = drawn.subplots()
        for label, shade in colour.items():
            points = [row for row, name in zip(rows, labels, strict=True) if name == label]
            panel.loglog(
                [max(float(row[x]), floor) for row in points],
                [max(float(row[y]), floor) for row in points],
                "o",
                color=shade,
                label=label,
            )
        panel.set(xlabel=x.replace("_", " "), ylabel=y.replace("_", " "))
        legend_outside(drawn, panel)
    return drawn


def bars(
    rows: Sequence[Row],
    label: str | Sequence[str],
    columns: Sequence[str],
    title: str = "",
    log: bool = False,
    half_widths: Mapping[str, str] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Bars beside each other for some columns of a table, a group for each row.

    Args:
      rows: of a table; where a column is missing or None there is no bar.
      label: columns that name a row.
      columns: what to draw, one colour for each.
      title: below the axis: what the numbers are.
      log: logarithmic axis.
      half_widths: for columns with an interval, the column of half its width.
      path: file to write, or None.
    """
    if not rows:
        raise ValueError("expected rows to draw, got none")
    names = (label,) if isinstance(label, str) else tuple(label)
    words = [
        " ".join(short_game_name(str(row[name])) for name in names if row.get(name) is not None)
        for row in rows
    ]
    thick = 0.8 / len(columns)
    with figure((6.0, 1.1 + (0.12 + 0.16 * len(columns)) * len(rows)), path) as drawn:
        panel = drawn.subplots()
        for number, (column, shade) in enumerate(colours(columns).items()):
            places = [
                i + (number - (len(columns) - 1) / 2) * thick
                for i, row in enumerate(rows)
                if row.get(column) is not None
            ]
            lengths = [float(row[column]) for row in rows if row.get(column) is not None]
            half = (half_widths or {}).get(column)
            errors = half and [float(r[half]) for r in rows if r.get(column) is not None]
            label = column.replace("_", " ")
            panel.barh(places, lengths, thick, xerr=errors, color=shade, label=label, capsize=2)
        panel.set_yticks(range(len(rows)), words)
        panel.invert_yaxis()
        panel.grid(axis="y", visible=False)
        panel.set_xlabel(title)
        if log:
            panel.set_xscale("log")
            _readable_ticks(panel)
        legend_outside(drawn, panel)
    return drawn


def ratings(
    rows: Sequence[Row],
    title: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Elo of players with 95% intervals, the strongest on top.

    Args:
      rows: of a match's table: player, elo, elo_low and elo_high, the strongest first.
      title: game string.
      path: file to write, or None.
    """
    if not rows:
        raise ValueError("expected rows to draw, got none")
    upwards = list(rows)[::-1]
    elo = [float(row["elo"]) for row in upwards]
    below = [_finite(e - float(row["elo_low"])) for e, row in zip(elo, upwards, strict=True)]
    above = [_finite(float(row["elo_high"]) - e) for e, row in zip(elo, upwards, strict=True)]
    with figure((6.0, 0.9 + 0.3 * len(rows)), path) as drawn:
        panel = drawn.subplots()
        places = range(len(upwards))
        panel.errorbar(elo, places, xerr=[below, above], fmt="o", capsize=3)
        panel.set_yticks(places, [str(row["player"]) for row in upwards])
        panel.margins(y=0.5 / len(upwards))
        panel.grid(axis="y", visible=False)
        panel.set_xlabel("Elo, mean of all players 0; bars are 95% intervals")
        panel.set_title(short_game_name(title))
    return drawn


def _finite(length: float) -> float:
    """The length of a bar; none where a bound is infinite."""
    return length if math.isfinite(length) else 0.0
