"""Positions that the Obscuro paper discusses, searched with a budget (E.2, E.3).

Of Figure 7 only (A), after 1.c4 d5, is given by moves; the others are pictures of positions
deep in games. E.3 prints eight short games whole; in each the last move loses the king,
which the paper takes to be likely a part of optimal play. A player comes to
the decision along the printed moves, with a search at each own decision before it, and
knows what such a player would know.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from klss_spiel.jobs import Job, job_from_columns
from klss_spiel.run.obscuro.budgets import MoveBudget, budget_from_columns
from klss_spiel.run.obscuro.match_tables import GAME
from klss_spiel.run.obscuro.shares import share_interval

# Moves that are shown although the paper does not name them: the likeliest ones.
_OTHERS_SHOWN = 2


@dataclasses.dataclass(frozen=True)
class Decision:
    """A decision the paper speaks of.

    Attributes:
      line: UCI moves before it.
      named: moves that the paper names, with what it says of them.
    """

    line: str
    named: Mapping[str, str]


_LOSES = "loses the king; may be optimal"
DECISIONS: Mapping[str, Decision] = {
    "7(A): 1.c4 d5, White": Decision(
        "c2c4 d7d5",
        {
            "b1c3": "high probability",
            "d1a4": "low probability",
            "g1f3": "included, too",
            "e2e3": "included, too",
        },
    ),
    "7(A): 1.c4 d5 2.Nc3 (or Qa4), Black": Decision(
        "c2c4 d7d5 b1c3", {"c7c6": "does not save the pawn", "d5d4": "loses to Qa4"}
    ),
    "7(A): 1.c4 d5 2.Nc3 c6, White": Decision("c2c4 d7d5 b1c3 c7c6", {"c4d5": "wins a pawn"}),
    "7(A): 1.c4 d5 2.Nc3 c6 3.cxd5, Black": Decision(
        "c2c4 d7d5 b1c3 c7c6 c4d5",
        {"c6d5": "risks the king or the queen", "d8d5": "risks the king or the queen"},
    ),
    "1.c4 d5 2.Qa4": Decision("c2c4 d7d5 d1a4", {"d5d4": _LOSES}),
    "1.c4 c6 2.d4 d5 3.cxd5 Qa5": Decision("c2c4 c7c6 d2d4 d7d5 c4d5 d8a5", {"d1a4": _LOSES}),
    "1.c4 Nc6 2.d4 d5 3.Qa4 dxc4 4.d5": Decision(
        "c2c4 b8c6 d2d4 d7d5 d1a4 d5c4 d4d5", {"c6b8": _LOSES}
    ),
    "1.d4 c6 2.c4 d5 3.cxd5 Bf5 4.Qa4": Decision(
        "d2d4 c7c6 c2c4 d7d5 c4d5 c8f5 d1a4", {"c6d5": _LOSES}
    ),
    "1.d4 c6 2.c3 e6 3.e4 d5 4.e5 c5 5.Qa4": Decision(
        "d2d4 c7c6 c2c3 e7e6 e2e4 d7d5 e4e5 c6c5 d1a4", {"c5d4": _LOSES}
    ),
    "1.c4 e6 2.d4 c5 3.d5 Qa5 4.Nd2 Nf6 5.e4 Nxe4": Decision(
        "c2c4 e7e6 d2d4 c7c5 d4d5 d8a5 b1d2 g8f6 e2e4 f6e4", {"d2e4": _LOSES}
    ),
    "1.d4 c6 2.Nc3 d5 3.Qd3 Nf6 4.e4 dxe4 5.Nxe4 Qa5": Decision(
        "d2d4 c7c6 b1c3 d7d5 d1d3 g8f6 e2e4 d5e4 c3e4 d8a5", {"e4f6": _LOSES}
    ),
    "1.c4 d5 2.Qa4 c6 3.cxd5 Nf6 4.dxc6 Nxc6 5.Nf3 e5 6.Nxe5": Decision(
        "c2c4 d7d5 d1a4 c7c6 c4d5 g8f6 d5c6 b8c6 g1f3 e7e5 f3e5", {"c6e5": _LOSES}
    ),
}


def make_jobs(budget: MoveBudget, seeds: int, seed: int, names: Sequence[str] = ()) -> list[Job]:
    """A job for each decision and seed; of the decisions with these names, or of all."""
    for name in names:
        if name not in DECISIONS:
            raise ValueError(f"expected a row among {', '.join(DECISIONS)}, got {name!r}")
    return [
        job_from_columns(position_row, {"position": name, **budget.columns, "seed": seed + number})
        for name in DECISIONS
        if not names or name in names
        for number in range(seeds)
    ]


def position_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Probabilities at one decision, and the value in payoffs of whoever decides."""
    from klss_spiel.algorithms.search.bot import SearchBot
    from klss_spiel.openspiel import load_game

    line = DECISIONS[columns["position"]].line.split()
    player = len(line) % 2
    budget = budget_from_columns(columns)
    bot = SearchBot(
        GAME, player, budget.of_search(), seed=columns["seed"], evaluator=budget.evaluator
    )
    searching = bot.search_player
    state = load_game(GAME).new_initial_state()
    for move in line:
        action = {state.action_to_string(a): a for a in state.legal_actions()}[move]
        if state.current_player() == player:
            told = state.information_state_string(player)
            searching.decide(told, state.legal_actions())
            searching.record_action(told, action)
        state.apply_action(action)
    decision = searching.decide(state.information_state_string(player), state.legal_actions())
    shares = zip(decision.actions, decision.probabilities, strict=True)
    return {
        "probabilities": [
            [state.action_to_string(a), round(float(p), 6)] for a, p in shares if p > 0.0
        ],
        "value": decision.report.value,
        "gap": decision.report.nash_gap,
        "belief": decision.report.belief_size,
        "gadget": decision.report.gadget,
    }


def summarise(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line for each decision, budget and move that the paper names or the search likes."""
    groups: dict[tuple[str, MoveBudget], list[Mapping[str, Any]]] = {}
    for row in rows:
        budget = budget_from_columns(row)
        groups.setdefault((row["position"], budget), []).append(row)
    lines = []
    for (name, budget), group in groups.items():
        named = DECISIONS[name].named
        found: dict[str, float] = dict.fromkeys(named, 0.0)
        mixtures = [dict(row["probabilities"]) for row in group]
        for mixture in mixtures:
            for move, share in mixture.items():
                found[move] = found.get(move, 0.0) + share
        others = sorted((m for m in found if m not in named), key=lambda m: (-found[m], m))
        for move in (*named, *others[:_OTHERS_SHOWN]):
            shares = np.array([mixture.get(move, 0.0) for mixture in mixtures])
            interval = share_interval(shares)
            lines.append(
                {
                    "position": name,
                    "budget": str(budget),
                    "seeds": len(group),
                    "move": move,
                    "probability": round(interval.estimate, 4),
                    "low": round(interval.low, 4),
                    "high": round(interval.high, 4),
                    "value": round(float(np.mean([row["value"] for row in group])), 4),
                    "gap": round(float(np.mean([row["gap"] for row in group])), 4),
                    "belief": group[0]["belief"],
                    "paper": named.get(move),
                }
            )
    return lines
