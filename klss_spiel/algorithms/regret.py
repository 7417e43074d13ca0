"""Regret minimisers for simplices, as values that both engines of CFR interpret.

A minimiser keeps one number per action, its *regret*, and sees each iteration
the *instant regret* of every action: the value of the action minus the value of
the strategy that was played. Its next strategy is proportional to the positive
part of its *scores*, uniform where no score is positive.

The methods here are elementwise and work on numpy and on jax arrays, so one call
serves all infosets at once in any layout; `regret_kernels` does the same infoset
by infoset in compiled loops.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any


class Prediction(enum.Enum):
    """What a minimiser takes the next instant regret to be."""

    NONE = "none"
    # The last instant regret, once more.
    LAST = "last"
    # The last payoffs, re-evaluated bottom-up under the next strategies of the
    # infosets below, minus what the last strategy would get of them.
    REEVALUATED = "reevaluated"


@dataclasses.dataclass(frozen=True)
class RegretMinimizer:
    """One rule for turning regrets into strategies.

    Attributes:
      name: for tables and error messages.
      truncated: negative regrets are raised to 0 (the + of RM+).
      prediction: what is added to the regrets to make scores.
      discounts: (alpha, beta) of Brown and Sandholm 2019, section 4: after iteration
        t positive regrets are multiplied by t^alpha / (t^alpha + 1) and the others by
        t^beta / (t^beta + 1); None keeps all regrets as they are.
    """

    name: str
    truncated: bool = False
    prediction: Prediction = Prediction.NONE
    discounts: tuple[float, float] | None = None

    def accumulate(self, regret: Any, instant: Any, iteration: Any) -> Any:
        """The new regrets.

        Args:
          regret: the old ones, a numpy or jax array of any shape.
          instant: instant regrets of the same shape.
          iteration: which iteration this is; the first is number 1.
        """
        namespace = regret.__array_namespace__()
        total = regret + instant
        if self.discounts is not None:
            number = namespace.asarray(iteration, dtype=total.dtype)
            gain, loss = (number**power / (number**power + 1.0) for power in self.discounts)
            total = total * namespace.where(total > 0.0, gain, loss)
        return namespace.maximum(total, 0.0) if self.truncated else total

    def scores(self, regret: Any, predicted: Any) -> Any:
        """Scores of the next strategy.

        Args:
          regret: the new regrets.
          predicted: what `prediction` says the next instant regrets will be.
        """
        return regret if self.prediction is Prediction.NONE else regret + predicted


def discounted_rm(alpha: float = 1.5, beta: float = 0.0) -> RegretMinimizer:
    """Discounted regret matching (Brown and Sandholm 2019, section 4).

    Their gamma weights the average: see the averaging schemes of `cfr`.
    """
    return RegretMinimizer(f"DCFR({alpha:g},{beta:g})", discounts=(alpha, beta))


# Regret matching (Hart and Mas-Colell 2000), the minimiser of CFR.
RM = RegretMinimizer("RM")

# Regret matching+ (Tammelin 2014), the minimiser of CFR+.
RM_PLUS = RegretMinimizer("RM+", truncated=True)

# Predictive regret matching+ (Farina, Kroer and Sandholm 2021, algorithm PRM+)
# with the last instant regret as the prediction of the next; PCFR+ of Obscuro.
PRM_PLUS = RegretMinimizer("PRM+", truncated=True, prediction=Prediction.LAST)

# The same with the prediction of their PCFR+: the whole vector of payoffs is
# predicted to stay, and what that means at an infoset depends on the strategies
# that the infosets below it will play.
REEVALUATED_PRM_PLUS = RegretMinimizer(
    "PRM+ re-evaluated", truncated=True, prediction=Prediction.REEVALUATED
)

# The parameters recommended by Brown and Sandholm, with quadratic averaging.
DISCOUNTED_RM = discounted_rm()

MINIMIZERS = {
    "rm": RM,
    "rm+": RM_PLUS,
    "prm+": PRM_PLUS,
    "prm+reevaluated": REEVALUATED_PRM_PLUS,
    "dcfr": DISCOUNTED_RM,
}
