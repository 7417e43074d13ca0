"""Means of probabilities over seeds, with intervals that admit what was not seen."""

from __future__ import annotations

from collections.abc import Sequence

from klss_spiel.arrays import FloatArray
from klss_spiel.matches import ratings


def share_interval(values: Sequence[float] | FloatArray) -> ratings.Interval:
    """Mean of values between 0 and 1 with a 95% interval within these bounds.

    Where all values are equal the rule of three says how many others may have been missed.
    """
    found = [float(value) for value in values]
    if not found:
        raise ValueError("expected at least one value, got none")
    if min(found) == max(found):
        missed = min(1.0, 3.0 / len(found))
        low, high = found[0] - missed, found[0] + missed
    else:
        interval = ratings.mean_interval(found)
        low, high = interval.low, interval.high
    return ratings.Interval(sum(found) / len(found), max(0.0, low), min(1.0, high))
