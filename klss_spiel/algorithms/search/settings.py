"""The parameters of the search, and those of the papers as presets.

Every deviation from the papers is in docs/deviations.md; `opening_search`, `growth`,
`settling`, `margin_tolerance` and `worker` are fields that the papers do not have.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping

from klss_spiel.algorithms.regret import MINIMIZERS, PRM_PLUS, RegretMinimizer
from klss_spiel.algorithms.search.expansion import (
    EXPANSIONS,
    ITERATIVE_DEEPENING,
    ONE_SIDED,
    Expansion,
)
from klss_spiel.algorithms.search.root import RootGadget


class EquilibriumMethod(enum.Enum):
    """How the strategies on the tree are found."""

    CFR = "cfr"
    LINEAR_PROGRAM = "lp"


class Iterate(enum.Enum):
    """Which strategies of CFR are played and carried over."""

    LAST = "last"
    AVERAGE = "average"
    RECENT = "recent"  # the average since half the budget was spent


class AlternateValue(enum.Enum):
    """What the opponent was worth at a root infoset before."""

    EXPECTED = "expected"  # u(x, y | J): both players' strategies
    BEST_RESPONSE = "best_response"  # u*(x | J): the opponent plays a best response


@dataclasses.dataclass(frozen=True)
class CarryOver:
    """What a search keeps of the tree of the player's last search.

    Attributes:
      name: for reports.
      order: k of the region I^k that is kept (Obscuro, B.2); 0 keeps nothing.
      frozen: own strategies at infosets that do not descend from I stay as they are.
    """

    name: str
    order: float
    frozen: bool = False

    def __post_init__(self) -> None:
        if self.order < 0 or (self.order != math.inf and self.order != int(self.order)):
            raise ValueError(f"expected an order of 0, 1, 2, ... or infinity, got {self.order}")


def free_region(order: float = 2) -> CarryOver:
    """The order-k region, all of it free: k-KLUSS (Obscuro, C.6)."""
    return CarryOver(f"{order:g}-kluss", order)


# What 2-KLUSS keeps; what 1-KLSS keeps, with own strategies frozen in the rest of the
# order-2 region (Obscuro, C.6, points 1 and 2); and nothing at all.
FREE_REGION = free_region(2)
FROZEN_REGION = CarryOver("1-klss", 2, frozen=True)
NO_REGION = CarryOver("fresh", 0)
CARRY_OVERS = {"kluss": FREE_REGION, "klss": FROZEN_REGION, "fresh": NO_REGION}


@dataclasses.dataclass(frozen=True)
class SearchSettings:
    """Everything about a search but the game, the budget and the seed.

    Attributes:
      equilibrium: how strategies are found.
      minimizer: the regret minimiser at every infoset. PRM_PLUS runs compiled.
      averaging: iteration t weighs t to this power in the average strategy.
      pruning: do not update infosets to which the opponent does not play.
      expansion: how the tree grows.
      exploration: C of the upper bounds in `expansion`.
      best_child: new infosets start on the child with the best evaluation.
      growth: nodes added per iteration of CFR, as a share of the tree.
      batch: nodes to add at once at least, so that compiled code stays busy; then as many
        iterations follow as `growth` asks for. 1 for one iteration at a time.
      batch_share: but no more than this share of the tree at once.
      settling: last share of the budget, in which the tree does not grow.
      worker: make children in a second thread while CFR iterates. Pays where expansion
        or evaluation releases Python's lock (compiled games, engines, networks);
        results differ from those without it, but can be repeated as well.
      opening_search: search from the start of the game before the first decision.
      carry_over: what is kept of the last search.
      min_infoset_size: positions the own infoset should have at least; if there are
        fewer they are sampled from the belief.
      gadget: the gadget game at the root.
      alternate: the alternate values of root infosets that the last tree contains.
      gifts: lower them by the estimated gifts of the opponent.
      optimistic_prior: weigh root infosets in resolve half by the opponent's last
        strategy, half uniformly; else uniformly.
      limit_at_infoset: the alternate value of a sampled position is limited by what
        the player was worth at his infoset, not in the whole of the last search.
      belief_weights: new positions are sampled from the belief by how likely the opponent's
        moves are that lead there, in games that know that (`WeighingGame`); else all alike.
      information_scale: M of ZS21's reward for actions that tell much; infinite for none.
      repetitions: positions that repeat on a path, and views that the player has had twice,
        count as draws, and so does a long time without progress; see `repetition`.
      contempt: how much less than a draw a repetition is worth to the searching player.
      play: which iterate is played and carried over.
      purification: play at most `max_support` actions.
      max_support: how many actions may be mixed when the strategy is safe.
      margin_tolerance: a strategy is safe if no margin is below minus this, in units of
        the largest payoff. CFR leaves margins that should be 0 a little off it.
      loss_tolerance: a strategy is safe, too, if what is lost against the alternate values,
        expected over the root infosets by their prior, is no more than this.
    """

    equilibrium: EquilibriumMethod = EquilibriumMethod.CFR
    minimizer: RegretMinimizer = PRM_PLUS
    averaging: int = 2
    pruning: bool = True
    expansion: Expansion = ONE_SIDED
    exploration: float = 1.0
    best_child: bool = True
    growth: float = 0.002
    batch: int = 1
    batch_share: float = 0.02
    settling: float = 0.1
    worker: bool = False
    opening_search: bool = True
    carry_over: CarryOver = FREE_REGION
    min_infoset_size: int = 256
    gadget: RootGadget = RootGadget.BLEND
    alternate: AlternateValue = AlternateValue.EXPECTED
    gifts: bool = True
    optimistic_prior: bool = True
    limit_at_infoset: bool = False
    belief_weights: bool = False
    information_scale: float = math.inf
    repetitions: bool = False
    contempt: float = 0.0
    play: Iterate = Iterate.LAST
    purification: bool = True
    max_support: int = 3
    margin_tolerance: float = 1e-3
    loss_tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not self.growth > 0.0:
            raise ValueError(f"expected growth above 0, got {self.growth}")
        if self.batch < 1 or not self.batch_share > 0.0:
            raise ValueError(
                "expected a batch of at least 1 and a batch_share above 0, got "
                f"{self.batch} and {self.batch_share}"
            )
        if not 0.0 <= self.settling < 1.0:
            raise ValueError(f"expected settling between 0 and 1, got {self.settling}")
        if self.max_support < 1 or self.min_infoset_size < 1:
            raise ValueError(
                "expected max_support and min_infoset_size of at least 1, got "
                f"{self.max_support} and {self.min_infoset_size}"
            )
        if not (self.margin_tolerance >= 0.0 and self.loss_tolerance >= 0.0):
            raise ValueError(
                "expected a margin_tolerance and a loss_tolerance of at least 0, got "
                f"{self.margin_tolerance} and {self.loss_tolerance}"
            )
        if self.expansion.in_rounds != (self.equilibrium == EquilibriumMethod.LINEAR_PROGRAM):
            raise ValueError(
                f"expected {self.expansion.name} with the other kind of equilibrium: iterative "
                f"deepening looks at exact supports, got {self.equilibrium}"
            )


# Zhang and Sandholm 2025.
OBSCURO = SearchSettings(
    equilibrium=EquilibriumMethod.CFR,  # section 3.2
    minimizer=PRM_PLUS,  # section 3.2
    pruning=True,  # Figure 11, line 13
    expansion=ONE_SIDED,  # C.4
    exploration=1.0,  # C.4: "C is a tuneable parameter", 1
    best_child=True,  # C.5
    carry_over=FREE_REGION,  # C.6
    min_infoset_size=256,  # Figure 9, line 10
    gadget=RootGadget.BLEND,  # Figure 10, lines 11-12
    alternate=AlternateValue.EXPECTED,  # C.2
    gifts=True,  # C.2
    optimistic_prior=True,  # C.3
    limit_at_infoset=False,  # C.1: "expected value in the previous search"
    play=Iterate.LAST,  # C.7
    purification=True,  # C.8
    max_support=3,  # Figure 8, line 15
)

# Zhang and Sandholm 2021.
ZS21 = SearchSettings(
    equilibrium=EquilibriumMethod.LINEAR_PROGRAM,  # appendix E: exact, for its supports
    expansion=ITERATIVE_DEEPENING,  # D.2
    carry_over=FROZEN_REGION,  # section 5: 1-KLSS
    min_infoset_size=200,  # D.3: L
    gadget=RootGadget.BLEND,  # D.4: maxmargin while all margins are positive
    alternate=AlternateValue.BEST_RESPONSE,  # Algorithm 12, line 21
    gifts=True,  # D.4: reach
    optimistic_prior=False,  # Algorithm 12, line 30
    limit_at_infoset=True,  # Algorithm 15, line 13
    information_scale=1e7,  # D.3: M
    purification=False,  # Algorithm 15, line 39
)

# What was measured best on the standard board of dark chess, or is undecided: docs/agent.md
# has the match behind each value.
STRONG = dataclasses.replace(
    OBSCURO,
    growth=0.01,
    batch=2048,
    batch_share=0.05,
    repetitions=True,
)

PRESETS = {"obscuro": OBSCURO, "zs21": ZS21, "strong": STRONG}


# Fields whose values have names.
_NAMES: dict[str, Mapping[str, object]] = {
    "equilibrium": {method.value: method for method in EquilibriumMethod},
    "minimizer": MINIMIZERS,
    "expansion": EXPANSIONS,
    "carry_over": CARRY_OVERS,
    "gadget": {gadget.name.lower(): gadget for gadget in RootGadget},
    "alternate": {alternate.value: alternate for alternate in AlternateValue},
    "play": {iterate.value: iterate for iterate in Iterate},
}


def parse_settings(preset: str, **changes: object) -> SearchSettings:
    """A preset with some fields changed; what is not a number may be given by name.

    Raises:
      ValueError: an unknown preset, field or name.
    """
    if preset not in PRESETS:
        raise ValueError(f"expected a preset among {', '.join(PRESETS)}, got {preset!r}")
    known = {field.name for field in dataclasses.fields(SearchSettings)}
    for name, value in changes.items():
        if name not in known:
            raise ValueError(f"expected settings among {sorted(known)}, got {name!r}")
        table = _NAMES.get(name)
        if table is not None and isinstance(value, str):
            if value not in table:
                raise ValueError(f"expected {name} among {', '.join(table)}, got {value!r}")
            changes[name] = table[value]
    return dataclasses.replace(PRESETS[preset], **changes)  # type: ignore[arg-type]
