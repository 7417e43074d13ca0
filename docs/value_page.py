"""The tables of docs/values.md."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from table_tools import Line, lines_of, markdown

_TABLES = "python -m klss_spiel.run.value_tables"
_RESULTS = "docs/results/values"
_NAMES = {
    "kuhn": "Kuhn poker",
    "leduc": "Leduc poker",
    "kriegspiel_2": "Kriegspiel Minimal4x3, 2 plies",
    "dark_2": "dark chess Minimal4x3, depth 2",
    "dark_4": "dark chess Minimal4x3, depth 4",
    "mate2": "dark chess Mate2, depth 2",
}
_GAMES = {**_NAMES, "dark_2": "dark chess Minimal4x3", "kriegspiel_2": "Kriegspiel Minimal4x3"}
NETWORKS = (
    f"{_TABLES} --preset=sestak_table52 --output={_RESULTS}/sestak_table52.csv",
    f"{_TABLES} --preset=sestak_table52 --mate2 --domain=mate2 --recipe=ours"
    f" --first_seed=2000 --output={_RESULTS}/mate2.csv",
    f"{_TABLES} --preset=leduc --output={_RESULTS}/leduc.csv",
)
SPEED = "python -m klss_spiel.run.benchmark --suite=values --output=docs/results/speed/values.csv"


def _preset(name: str, *more: str) -> str:
    return " ".join([_TABLES, f"--preset={name}", *more, f"--output={_RESULTS}/{name}.csv"])


def figure(value: float) -> str:
    """A small number as people write it: .0031, 4e-6."""
    if abs(value) < 1e-9:
        return "0"
    if abs(value) < 1e-4:
        digits, _, exponent = f"{value:.0e}".partition("e")
        return f"{digits}e{int(exponent)}"
    places = 4 if abs(value) < 0.01 else 3 if abs(value) < 0.1 else 2
    text = f"{value:.{places}f}"
    return text.removeprefix("0") if value < 1.0 else text


def spread(rows: Sequence[Line], column: str = "exploitability") -> str:
    """Best, median and worst."""
    found = [float(row[column]) for row in rows]
    if not found:
        return ""
    return " / ".join(figure(v) for v in (min(found), statistics.median(found), max(found)))


def _chosen(rows: Sequence[Line], **columns: object) -> list[Line]:
    return [row for row in rows if all(row.get(k) == v for k, v in columns.items())]


def exact_table() -> str:
    """CFR-D beside its targets."""
    rows, lines = [], lines_of(SPEED)
    for name in dict.fromkeys(line["game"] for line in lines):
        program, *_ = _chosen(lines, game=name, task="optimal values")
        first, last = _chosen(lines, game=name, task="CFR-D")
        rows.append(
            {
                "game": _NAMES[name]
                + (", depth 3" if name == "kuhn" else "")
                + (", round 1" if name == "leduc" else ""),
                f"after {first['iterations']}": figure(first["gap"]),
                f"after {last['iterations']}": figure(last["gap"]),
                "seconds": f"{last['seconds']:.2g}",
                "target": f"{figure(last['target'])} in {last['target_seconds']:g} s",
                "optimal values, seconds": f"{program['seconds']:.2g}",
                "their gap": f"{program['gap']:.0e}",
            }
        )
    return markdown(rows)


def network_table() -> str:
    """Networks beside the thesis' best."""
    lines = [line for command in NETWORKS for line in lines_of(command)]
    rows = []
    for name in dict.fromkeys(line["domain"] for line in lines):
        of_domain = _chosen(lines, domain=name)
        raw, ours = (_chosen(of_domain, recipe=recipe) for recipe in ("raw", "ours"))
        thesis = of_domain[0]["thesis_exploitability"]
        minutes = min(line["seconds"] for line in ours) / 60
        rows.append(
            {
                "best / median / worst": _NAMES[name] + (", round 1" if name == "leduc" else ""),
                "thesis, best of 20": "" if thesis is None else f"{thesis:.4f}".removeprefix("0"),
                "raw": spread(raw),
                "ours": spread(ours),
                "ours, last round": spread(ours, "last_exploitability"),
                "networks": str(len(ours)),
                "minutes, quickest": f"{minutes:.1f}",
            }
        )
    return markdown(rows)


def cnn_table() -> str:
    """Convolutions by both recipes."""
    lines = lines_of(_preset("cnn"))
    return markdown(
        [
            {
                "recipe": recipe,
                "best / median / worst of 5": spread(_chosen(lines, recipe=recipe)),
                "after the last round": spread(
                    _chosen(lines, recipe=recipe), "last_exploitability"
                ),
            }
            for recipe in ("raw", "ours")
        ]
    )


def reach_weighted_table() -> str:
    """Errors weighted by reach beside plain ones."""
    plain, weighted = lines_of(NETWORKS[0]), lines_of(_preset("reach_weighted"))
    return markdown(
        [
            {
                "best / median / worst of 5": _NAMES[name],
                "plain errors": spread(_chosen(plain, domain=name, recipe="raw")),
                "weighted by reach": spread(_chosen(weighted, domain=name)),
            }
            for name in dict.fromkeys(line["domain"] for line in weighted)
        ]
    )


def stacked_table() -> str:
    """Networks taught by other networks."""
    rows, lines = [], lines_of(_preset("stacked"))
    for quality in ("good", "bad"):
        chosen = _chosen(lines, stacked=quality)
        rows.append(
            {
                "lower network": quality,
                "its trunk at depth 4": spread(chosen, "bottom_exploitability"),
                "networks": str(len(chosen)),
                "the upper one's trunk": spread(chosen),
                "after the last round": spread(chosen, "last_exploitability"),
            }
        )
    return markdown(rows)


def continuation_table() -> str:
    """Multi-valued states in Leduc poker."""
    lines = lines_of(_preset("continuations"))
    names = {"equilibrium": "equilibrium blueprint", "cfr_100": "100 iterations of CFR+"}
    rows = []
    for blueprint, name in names.items():
        cells = {
            str(line["continuations"]): f"{figure(max(line['trunk_exploitability'], 0.0))} / "
            f"{figure(max(line['full_exploitability'], 0.0))}"
            for line in _chosen(lines, blueprint=blueprint)
        }
        rows.append({"continuations": name, **cells})
    return markdown(rows)


def leaf_table() -> str:
    """What searches with different leaves have given away."""
    lines = lines_of(_preset("leaves", "--seeds=3"))
    kinds = {
        "zero": "zero",
        "exact": "equilibrium payoffs",
        "blueprint": "blueprint, K = 1",
        "continuations": "continuations, K = 4",
        "network": "network",
        "values": "values",
    }
    rows = []
    for name, nodes in dict.fromkeys((line["domain"], line["nodes"]) for line in lines):
        found = {
            title: [
                max(line["exploitability"], 0.0)
                for line in _chosen(lines, domain=name, nodes=nodes, leaves=kind)
            ]
            for kind, title in kinds.items()
        }
        rows.append(
            {"nodes": f"{_GAMES[name]}, {nodes:,}"}
            | {title: figure(statistics.median(v)) if v else "" for title, v in found.items()}
        )
    return markdown(rows)


def resolving_table() -> str:
    """Continual re-solving between what the trunk has lost and the bound."""
    lines = lines_of(_preset("resolving"))
    rows = []
    for name, player in dict.fromkeys((line["domain"], line["player"]) for line in lines):
        by_gadget = {
            gadget: _chosen(lines, domain=name, player=player, gadget=gadget)[0]
            for gadget in ("maxmargin", "resolve")
        }
        margin = by_gadget["maxmargin"]
        rows.append(
            {
                "exploitability, 200 iterations": f"{_GAMES[name]}, player {player}",
                "safe completion": figure(margin["safe"]),
                "maxmargin": figure(margin["exploitability"]),
                "resolve": figure(by_gadget["resolve"]["exploitability"]),
                "bound": figure(margin["bound"]),
            }
        )
    return markdown(rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "values-exact": exact_table,
    "values-networks": network_table,
    "values-cnn": cnn_table,
    "values-reach-weighted": reach_weighted_table,
    "values-stacked": stacked_table,
    "values-continuations": continuation_table,
    "values-leaves": leaf_table,
    "values-resolving": resolving_table,
}
