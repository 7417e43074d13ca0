"""What a search decides, and what it says of how."""

from __future__ import annotations

import dataclasses
import html
import json

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.search_game import Belief

NO_GADGET = "none"


@dataclasses.dataclass(frozen=True)
class SearchReport:
    """What a search did for one decision.

    Attributes:
      forced: there was one legal action, and no search: the last tree was carried over.
      iterations: of the equilibrium algorithm.
      nodes: size of the tree, root layers included.
      new_nodes: nodes added by this search.
      infosets: decision infosets of both players in the tree.
      depth: moves from the roots to the deepest node.
      belief_size: positions that fit what the player knows.
      belief_complete: whether these are all of them.
      belief_effective: how many equally likely positions a weighted belief is worth
        (Kish's effective sample size).
      roots: root infosets of the opponent.
      gadget: "none" when there was one root, else "maxmargin" where the strategy is
        safe, "resolve" where not.
      margin: least gain over the alternate values, in the game's own payoffs.
      enter: largest probability with which the opponent enters in resolve.
      value: what the player expects, in the game's own payoffs.
      nash_gap: what both players together could gain by deviating on this tree.
      support: number of actions that may be played.
      seconds: in all, without `compiling`.
      compiling: seconds in which loops were compiled or loaded, once per process.
      expanding: share of `seconds` spent choosing leaves and making children.
      evaluating: share spent in the evaluator.
      solving: share spent on the equilibrium.
      degraded: what went wrong or was missing, in words.
    """

    forced: bool = False
    iterations: int = 0
    nodes: int = 0
    new_nodes: int = 0
    infosets: int = 0
    depth: int = 0
    belief_size: int = 0
    belief_complete: bool = True
    belief_effective: float = 0.0
    roots: int = 0
    gadget: str = NO_GADGET
    margin: float = 0.0
    enter: float = 0.0
    value: float = 0.0
    nash_gap: float = 0.0
    support: int = 1
    seconds: float = 0.0
    compiling: float = 0.0
    expanding: float = 0.0
    evaluating: float = 0.0
    solving: float = 0.0
    degraded: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The report as a JSON object."""
        return json.dumps(dataclasses.asdict(self))

    def _repr_html_(self) -> str:
        """All fields as a table, for notebooks."""
        cells = "".join(
            f"<tr><th>{name.replace('_', ' ')}</th><td>{html.escape(_html_text(value))}</td></tr>"
            for name, value in dataclasses.asdict(self).items()
        )
        return f"<p>SearchReport: {html.escape(str(self))}</p><table>{cells}</table>"

    def __str__(self) -> str:
        if self.forced:
            return "one legal action"
        compiled = f" and {self.compiling:.1f} s to compile" if self.compiling >= 0.1 else ""
        text = (
            f"value {self.value:+.3f}, gap {self.nash_gap:.4f}, {self.nodes} nodes "
            f"({self.new_nodes} new), depth {self.depth}, {self.iterations} iterations, "
            f"belief {_belief_text(self)}, "
            f"{self.roots} roots, gadget {self.gadget}, {self.seconds:.2f} s{compiled}"
        )
        return f"{text}; {'; '.join(self.degraded)}" if self.degraded else text


def effective_size(belief: Belief) -> float:
    """How many equally likely positions a belief is worth."""
    weights = belief.weights
    if weights is None or not len(weights):
        return float(len(belief.positions))
    return float(weights.sum() ** 2 / (weights**2).sum())


def _belief_text(report: SearchReport) -> str:
    if report.belief_complete:
        return str(report.belief_size)
    return f"{report.belief_size}+ (worth {report.belief_effective:.0f})"


def _html_text(value: object) -> str:
    if isinstance(value, tuple):
        return "; ".join(map(str, value)) or "nothing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclasses.dataclass(frozen=True, eq=False)
class Decision:
    """What to play.

    Attributes:
      actions: the legal actions.
      probabilities: [number of actions] with which to play them.
      report: how that was found.
    """

    actions: tuple[int, ...]
    probabilities: FloatArray
    report: SearchReport

    def sample(self, rng: np.random.Generator) -> int:
        """An action."""
        return int(self.actions[rng.choice(len(self.actions), p=self.probabilities)])
