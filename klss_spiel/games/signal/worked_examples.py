"""The papers' small worked examples, each a value of `SignalRules`.

In all of them player 0 is the player whose strategy is refined (ZS21's "plus",
OLSS's P1), player 1 the opponent ("minus", P2). Payoffs below are written for
player 0; where the paper writes them for the opponent the sign is changed here.

    python_hidden_pennies(n=100)   ZS21 Proposition 3; OLSS Figure 1
    python_klss_example            ZS21 appendix C, Figure 1
    python_olss_example            OLSS section 6, Figure 2
    python_gift_example            smallest game where a gift scale of 2 is unsafe
"""

from collections.abc import Mapping
from typing import Any

from klss_spiel.games.registration import complete_parameters, register
from klss_spiel.games.signal.game import SignalGame, SignalRules, signal_game_type, uniform_rules
from klss_spiel.games.signal.n_matching_pennies import (
    check_number_of_pennies,
    n_matching_pennies_rules,
)

_HIDDEN_PENNIES_TYPE = signal_game_type("python_hidden_pennies", "Python Hidden Pennies", n=100)
_KLSS_EXAMPLE_TYPE = signal_game_type("python_klss_example", "Python KLSS Example")
_OLSS_EXAMPLE_TYPE = signal_game_type("python_olss_example", "Python OLSS Example")
_GIFT_EXAMPLE_TYPE = signal_game_type("python_gift_example", "Python Gift Example")

_NOTHING = "-"  # The signal of a player who is told nothing.


def hidden_pennies_rules(n: int) -> SignalRules:
    """Returns matching pennies after a number that only player 0 sees.

    Player 1 wins one unit when the pennies match, player 0 when they differ;
    the number changes nothing. A blueprint of player 0 that leans to heads is
    exploitable a little, and correcting it at every number independently makes
    it exploitable a lot: ZS21 Proposition 3 (heads with 1/2 + 2/n) and OLSS
    Figure 1 (n = 100, heads with 0.55).
    """
    check_number_of_pennies(n)
    return uniform_rules(
        signals=[(str(number), _NOTHING) for number in range(1, n + 1)],
        payoffs=[((-1, 1), (1, -1))] * n,
    )


def klss_example_rules() -> SignalRules:
    """Returns ZS21's appendix C game: 4-matching pennies and an unrelated fifth outcome.

    The paper leaves the subgame after the fifth outcome open and only needs
    that nobody confuses it with the others; here it is matching pennies for
    one unit, and both players see that it has begun. Player 0's infosets are
    the paper's R_1 (signal 1: outcomes 1, 2) and R_3 (signal 2: outcomes 3, 4);
    player 1's are C_0, C_2, C_4 (signals 0, 1, 2).
    """
    pennies = n_matching_pennies_rules(4)
    return uniform_rules(
        signals=[*pennies.signals, ("e", "e")],
        payoffs=[*pennies.payoffs, ((1, 0), (0, 1))],
    )


def olss_example_rules() -> SignalRules:
    """Returns the example of OLSS section 6 (Figure 2).

    The figure's payoffs are reconstructed from the numbers that the section
    states about it: a uniform blueprint has exploitability 1/6, OLSS-I at `a`
    plays tails with 0.6 and gains 1/15, at both infosets 11/90; OLSS-II at `a`
    loses 1/15. Player 0 sees a or a', player 1 sees c or d.
    """
    return uniform_rules(
        signals=[("a'", "c"), ("a", "c"), ("a", "d")],
        payoffs=[
            ((-1, 1), (0, -1)),
            ((-2, 1), (1, -1)),
            ((2, 1), (1, 0)),
        ],
        outcomes=("a'c", "ac", "ad"),
    )


def gift_example_rules() -> SignalRules:
    """Returns a game of one history in which scaling gifts by two is not safe.

    From the blueprint heads = 0.75 (exploitability 0.25), Safe-1-KLSS (OLSS
    equation 7) reaches exploitability 0 with a gift scale of 1 and 0.75 with 2.
    """
    return uniform_rules(signals=[(_NOTHING, _NOTHING)], payoffs=[((0, 2), (1, -1))])


class HiddenPenniesGame(SignalGame):
    """`python_hidden_pennies(n=100,players=2)`; see `hidden_pennies_rules`."""

    def __init__(self, params: Mapping[str, Any] | None = None):
        parameters = complete_parameters(_HIDDEN_PENNIES_TYPE, params)
        super().__init__(_HIDDEN_PENNIES_TYPE, hidden_pennies_rules(parameters["n"]), parameters)


class KlssExampleGame(SignalGame):
    """`python_klss_example(players=2)`; see `klss_example_rules`."""

    def __init__(self, params: Mapping[str, Any] | None = None):
        super().__init__(_KLSS_EXAMPLE_TYPE, klss_example_rules(), params)


class OlssExampleGame(SignalGame):
    """`python_olss_example(players=2)`; see `olss_example_rules`."""

    def __init__(self, params: Mapping[str, Any] | None = None):
        super().__init__(_OLSS_EXAMPLE_TYPE, olss_example_rules(), params)


class GiftExampleGame(SignalGame):
    """`python_gift_example(players=2)`; see `gift_example_rules`."""

    def __init__(self, params: Mapping[str, Any] | None = None):
        super().__init__(_GIFT_EXAMPLE_TYPE, gift_example_rules(), params)


register(_HIDDEN_PENNIES_TYPE, HiddenPenniesGame)
register(_KLSS_EXAMPLE_TYPE, KlssExampleGame)
register(_OLSS_EXAMPLE_TYPE, OlssExampleGame)
register(_GIFT_EXAMPLE_TYPE, GiftExampleGame)
