"""The rows of `olss_tables` as the paper shows them: tables, curves, claims."""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from absl import logging

from klss_spiel import plot as figures
from klss_spiel.row_files import write_rows
from klss_spiel.run import output

Rows = Sequence[Mapping[str, Any]]

# The columns of the table after the blueprint's.
RECIPES = ("unsafe", "maxmargin", "resolve", "1-klss", "safe-1-klss", "olss-1")

_OPTIONS = ("gift_scale", "opponent_strategies")
_CURVE = ("game", "recipe", *_OPTIONS, "iterations")
_DEFAULT_STEM = "olss_curve"
# Figure 5 counts the iterations that a reduction by this share takes.
REDUCTION = 0.2


@dataclasses.dataclass(frozen=True)
class PrintedRow:
    """A line of OLSS's Table 2.

    Attributes:
      blueprint: exploitability of the blueprint.
      after: exploitability after each recipe.
    """

    blueprint: float
    after: Mapping[str, float]


def _printed(blueprint: float, *after: float) -> PrintedRow:
    return PrintedRow(blueprint, dict(zip(RECIPES, after, strict=True)))


OLSS_TABLE2 = {
    "leduc231": _printed(0.150, 0.195, 0.109, 0.089, 0.190, 0.120, 0.091),
    "leduc2131": _printed(0.150, 0.044, 0.084, 0.065, 0.453, 0.127, 0.097),
    "leduc2132": _printed(0.150, 0.077, 0.127, 0.089, 1.091, 0.128, 0.107),
    "leduc2133": _printed(0.150, 0.089, 0.113, 0.090, 1.108, 0.117, 0.104),
    "fhp": _printed(10.640, 5.077, 6.153, 6.142, 97.313, 8.334, 6.659),
}


def means(rows: Rows) -> list[dict[str, Any]]:
    """One row for all seeds of a game, recipe, options and number of iterations."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in _CURVE), []).append(row)
    result = []
    for key, group in groups.items():
        after = [row["after"] for row in group]
        result.append(
            {
                **dict(zip(_CURVE, key, strict=True)),
                "seeds": len(group),
                "blueprint": _mean([row["blueprint"] for row in group]),
                "after": _mean(after),
                "least": min(after),
                "greatest": max(after),
                "after_low": _mean_end(group, "after_low"),
                "after_high": _mean_end(group, "after_high"),
                "boards": group[0].get("boards_refined"),
                "paper_after": group[0]["paper_after"],
                "seconds": sum(row["seconds"] for row in group),
                "blueprint_seconds": sum(row["blueprint_seconds"] for row in group),
            }
        )
    return result


def _mean_end(group: Rows, column: str) -> float | None:
    """Of intervals, which rows of all boards do not have."""
    ends = [row.get(column) for row in group]
    return None if None in ends else _mean([end for end in ends if end is not None])


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def claims(rows: Rows) -> list[dict[str, Any]]:
    """What the paper says about the methods, and whether it holds in these rows.

    Claims about recipes that are not among the rows, or that are there with several
    options, are left out. So is safety where the gift is scaled up.
    """
    found: list[dict[str, Any]] = []
    for game in dict.fromkeys(row["game"] for row in rows):
        by_recipe: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            if row["game"] == game:
                by_recipe.setdefault(row["recipe"], []).append(row)
        single = {
            recipe: of_recipe
            for recipe, of_recipe in by_recipe.items()
            if len({tuple(row[column] for column in _CURVE) for row in of_recipe}) == 1
        }
        after = {recipe: _mean([row["after"] for row in single[recipe]]) for recipe in single}

        def claim(text: str, holds: bool, game: str = game) -> None:
            found.append({"game": game, "claim": text, "holds": holds})

        for recipe in ("safe-1-klss", "olss-1"):
            if recipe in single and single[recipe][0]["gift_scale"] <= 1.0:
                below = all(row["after"] < row["blueprint"] for row in single[recipe])
                claim(f"{recipe} below the blueprint with every seed", below)
        if {"safe-1-klss", "olss-1"} <= set(after):
            claim("olss-1 below safe-1-klss on average", after["olss-1"] < after["safe-1-klss"])
        if "1-klss" in after:
            blueprint = _mean([row["blueprint"] for row in single["1-klss"]])
            claim("1-klss above the blueprint on average", after["1-klss"] > blueprint)
    return found


def table(rows: Rows, footer: Sequence[str] = ()) -> str:
    """The paper's table if every recipe has one row per game and seed, else all means."""
    averages = means(rows)
    keys = [(row["game"], row["recipe"]) for row in averages]
    if len(set(keys)) < len(keys):
        hidden = ["paper_after", "blueprint_seconds"]
        for column in ("after_low", "after_high", "boards"):
            if all(row[column] is None for row in averages):
                hidden.append(column)
        columns = [c for c in output.columns_of(averages) if c not in hidden]
        text = output.format_table(averages, columns, {"seconds": ".0f"})
    else:
        text = _paper_table(averages)
    notes = [_note(rows)]
    notes += [f"{c['game']}: {c['claim']}: {'yes' if c['holds'] else 'NO'}" for c in claims(rows)]
    return "\n".join([text, "", *notes, *footer])


def _paper_table(averages: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for game in dict.fromkeys(row["game"] for row in averages):
        of_game = [row for row in averages if row["game"] == game]
        seeds = max(row["seeds"] for row in of_game)
        head = {"game": game, "what": f"mean of {seeds}" if seeds > 1 else "one seed"}
        blueprint = {"blueprint": of_game[0]["blueprint"]}
        lines.append({**head, **blueprint, **{row["recipe"]: row["after"] for row in of_game}})
        if seeds > 1:
            for what in ("least", "greatest"):
                values = {row["recipe"]: row[what] for row in of_game}
                lines.append({"game": game, "what": what, "blueprint": None, **values})
        if any(row["after_low"] is not None for row in of_game):
            for what, column in (("95% from", "after_low"), ("95% to", "after_high")):
                ends = {row["recipe"]: row[column] for row in of_game}
                lines.append({"game": game, "what": what, "blueprint": None, **ends})
            boards = {row["recipe"]: row["boards"] for row in of_game}
            lines.append({"game": game, "what": "boards", "blueprint": None, **boards})
        if game in OLSS_TABLE2:
            printed = OLSS_TABLE2[game]
            values = {row["recipe"]: printed.after.get(row["recipe"]) for row in of_game}
            lines.append({"game": game, "what": "paper", "blueprint": printed.blueprint, **values})
        seconds = {"blueprint": of_game[0]["blueprint_seconds"]}
        seconds |= {row["recipe"]: row["seconds"] for row in of_game}
        lines.append({"game": game, "what": "seconds", **seconds})
    return _rounded_table(lines)


def _rounded_table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Exploitabilities to four decimals, seconds to none."""
    texts = []
    for line in lines:
        digits = 0 if line["what"] == "seconds" else 4
        texts.append({c: f"{v:.{digits}f}" if isinstance(v, float) else v for c, v in line.items()})
    return output.format_table(texts)


def _note(rows: Rows) -> str:
    """What holds for all rows."""

    def values(column: str) -> str:
        found = dict.fromkeys(row[column] for row in rows if row[column] is not None)
        return ", ".join(
            f"{value:g}" if isinstance(value, float) else str(value) for value in found
        )

    parts = ["exploitability is the sum over both players"]
    for text, column in (
        ("blueprints by", "blueprint_by"),
        ("subgames by", "solver"),
        ("iterations", "iterations"),
        ("gift scale", "gift_scale"),
        ("opponent strategies", "opponent_strategies"),
    ):
        if values(column):
            parts.append(f"{text} {values(column)}")
    return "; ".join(parts)


def iterations_needed(rows: Rows, reduction: float = REDUCTION) -> list[dict[str, Any]]:
    """The first number of iterations that lowers exploitability enough (OLSS, Figure 5).

    Args:
      rows: rows with several numbers of iterations.
      reduction: share of the blueprint's exploitability.
    """
    needed: dict[tuple[Any, ...], int | None] = {}
    for row in sorted(means(rows), key=lambda row: row["iterations"]):
        key = tuple(row[column] for column in _CURVE[:-1])
        if needed.setdefault(key, None) is None and row["after"] <= (
            (1.0 - reduction) * row["blueprint"]
        ):
            needed[key] = row["iterations"]
    return [
        {**dict(zip(_CURVE[:-1], key, strict=True)), "iterations": steps}
        for key, steps in needed.items()
    ]


def check_can_draw() -> bool:
    """Whether figures can be drawn; says how if not, before hours are spent."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        logging.warning("no PNG without matplotlib: pip install 'klss_spiel[plot]'")
        return False
    return True


def curve_file(path: str | None) -> pathlib.Path:
    """Where `write_curve` writes the curve of rows in a file, or of rows in none."""
    if path is None:
        return pathlib.Path(f"{_DEFAULT_STEM}.csv")
    return pathlib.Path(path).with_name(f"{pathlib.Path(path).stem}_curve.csv")


def write_curve(rows: Rows, path: str | None) -> list[str]:
    """Writes exploitability against iterations as CSV and, with matplotlib, as PNG.

    Args:
      rows: rows with several numbers of iterations.
      path: the file of all rows; the curve is put beside it.

    Returns:
      Lines that say what was written and what the curve shows.
    """
    file = curve_file(path)
    averages = means(rows)
    write_rows(file, averages)
    lines = [f"wrote {file}"]
    if check_can_draw():
        draw(rows, file.with_suffix(".png"))
        lines.append(f"wrote {file.with_suffix('.png')}")
    for row in iterations_needed(rows):
        steps = f"{row['iterations']} iterations" if row["iterations"] else "not reached"
        lines.append(f"{row['game']}: {REDUCTION:.0%} below the blueprint, {_label(row)}: {steps}")
    return lines


def _label(row: Mapping[str, Any]) -> str:
    """A recipe with its options, as lines of a figure are called."""
    text = str(row["recipe"])
    if row["opponent_strategies"] is not None:
        text += f" n={row['opponent_strategies']}"
    if row["gift_scale"] is not None:
        text += f" eta={row['gift_scale']:g}"
    return text


def draw(rows: Rows, file: str | pathlib.Path) -> None:
    """Draws curves of rows with several numbers of iterations, else bars beside the paper's."""
    if len({row["iterations"] for row in rows}) == 1:
        named = [{**row, "line": _label(row)} for row in means(rows)]
        shown = ("blueprint", "after", "paper_after")
        title = "exploitability of both players together"
        figures.bars(named, ("game", "line"), shown, title, path=file)
        return
    named = [{**row, "line": _label(row)} for row in rows]
    blueprints = {str(row["game"]): float(row["blueprint"]) for row in means(rows)}
    figures.exploitability_curves(
        named, "iterations", "after", line="line", levels=blueprints, path=file
    )
