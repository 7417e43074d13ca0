"""N-matching pennies: a family of games without common knowledge (ZS21, section 4).

Chance picks n from 1 to N, and each player is told half of it, rounded in
different ways, so that what one player knows overlaps with what the other knows
all along the line of numbers: no proper subset of 1..N is ever common
knowledge, yet few numbers are possible for each player. Both players then name
heads or tails, player 0 first in the tree, player 1 without seeing it. Player 0
(the player whose strategy the papers refine, their "plus") receives n when both
say heads, a complement of n when both say tails, and nothing otherwise.

The two descriptions in ZS21 differ; its Tables 1 and 2 come from the first:

    variant    player 0 is told   player 1 is told   both tails pay
    appendix   floor((n+1)/2)     floor(n/2)         N+1-n            (appendix C)
    section4   floor(n/2)         floor((n+1)/2)     N-n              (section 4)
"""

from collections.abc import Mapping
from typing import Any

from klss_spiel.games.registration import complete_parameters, register
from klss_spiel.games.signal.game import SignalGame, SignalRules, signal_game_type, uniform_rules

APPENDIX = "appendix"
SECTION4 = "section4"

_GAME_TYPE = signal_game_type(
    "python_n_matching_pennies", "Python N-Matching Pennies", n=100, variant=APPENDIX
)


# The tree has 7 n + 1 nodes, and the rules are tables in memory.
MAX_PENNIES = 1_000_000


def check_number_of_pennies(n: int) -> None:
    """Raises ValueError unless there are between 1 and MAX_PENNIES pennies."""
    if not 1 <= n <= MAX_PENNIES:
        raise ValueError(f"expected 1 <= n <= {MAX_PENNIES} pennies, got n={n}")


def n_matching_pennies_rules(n: int, variant: str = APPENDIX) -> SignalRules:
    """Returns the rules of `n`-matching pennies in one of the two variants."""
    check_number_of_pennies(n)
    numbers = range(1, n + 1)
    if variant == APPENDIX:
        signals = [(str((number + 1) // 2), str(number // 2)) for number in numbers]
        tails = [n + 1 - number for number in numbers]
    elif variant == SECTION4:
        signals = [(str(number // 2), str((number + 1) // 2)) for number in numbers]
        tails = [n - number for number in numbers]
    else:
        raise ValueError(f"expected variant {APPENDIX} or {SECTION4}, got {variant!r}")
    payoffs = [((number, 0), (0, both)) for number, both in zip(numbers, tails, strict=True)]
    return uniform_rules(signals, payoffs)


class NMatchingPenniesGame(SignalGame):
    """`python_n_matching_pennies(n=100,variant=appendix,players=2)`."""

    def __init__(self, params: Mapping[str, Any] | None = None):
        parameters = complete_parameters(_GAME_TYPE, params)
        rules = n_matching_pennies_rules(parameters["n"], parameters["variant"])
        super().__init__(_GAME_TYPE, rules, parameters)


register(_GAME_TYPE, NMatchingPenniesGame)
