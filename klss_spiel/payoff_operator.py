"""Payoffs of a sequence form that are computed instead of stored.

The seam through which games too large for a list of payoffs are solved: a
`SequenceForm` has payoff entries and, besides them, may have a `PayoffOperator`, whose
payoffs are added. An operator answers one question, what each sequence of a player
earns against a realization plan of the other. Nothing else of a game is asked for in
an iteration of CFR, in a best response or in an exploitability, so that these run on
it unchanged:

- the compiled engine of CFR adds the operator's payoffs to the `bonus` that its kernels
  already take for depth-limited trees;
- `SequenceForm.gradient` adds them to the product with the entries;
- gadgets and games laid side by side renumber an operator's sequences (`renumbered`)
  and put several into one (`joined`), as they do with entries;
- the jax engine and linear programs, which need numbers to lay out, take the entries
  that an operator writes out (`SequenceForm.expanded`).

`hand_payoffs.HandPayoffs` is the operator of poker: a public tree times hands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray


class PayoffOperator(Protocol):
    """Payoffs of pairs of sequences, S of player 0 and S of player 1."""

    def add_gradient(
        self, player: int, opponent_plan: npt.NDArray[Any], gradient: npt.NDArray[Any]
    ) -> None:
        """Adds the player's own payoff per unit of each of his sequences to `gradient`.

        Args:
          player: whose payoffs; both players maximise.
          opponent_plan: [S of the other player] realization plan.
          gradient: [S] changed in place.
        """

    def renumbered(
        self,
        numbers: tuple[IntArray, IntArray],
        factors: tuple[FloatArray, FloatArray] | None = None,
    ) -> PayoffOperator:
        """The same payoffs between sequences with other numbers.

        Args:
          numbers: for each player, [S] the new number of each sequence.
          factors: for each player, [S] what payoffs of each sequence are multiplied by.
        """

    def joined(self, others: Sequence[PayoffOperator]) -> PayoffOperator:
        """The sum of this operator and others over the same sequences."""

    def entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """[E] sequence of player 0, of player 1, and player 0's payoff, in any order."""
