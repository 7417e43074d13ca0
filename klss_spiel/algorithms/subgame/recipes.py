"""Methods of subgame solving, as values.

A method refines the strategy of one player (the papers' plus, or P1; here "the
player") at an infoset I. Every method known to us maximises

    AGG over opponent infosets J of  M(J; x)

where the margin M(J; x) is how much worse off the opponent is at J than against
the blueprint. Methods differ in the region in which x may change, in what the
player is assumed to do elsewhere, in how a margin is put together, and in AGG:

    region    the nodes at or below the order-k knowledge set I^k, up to common
              knowledge (ZS21, definition 2)
    margin    what of the opponent's payoff outside the region counts:
                FOLDED     all of it; the player plays the blueprint there (ZS21,
                           section 4). Over common knowledge nothing is outside
                CUT        none; outside nodes do not exist (Obscuro, C.6)
                SAFE_GIFT  its share of the gift only (OLSS, equation 7)
    gadget    who picks J:
                MAXMARGIN  the opponent (Moravcik et al. 2016)
                RESOLVE    chance, and the opponent may leave (Burch et al. 2014)
                UNSAFE     chance, by the blueprint (Gilpin and Sandholm 2006)
                REACHING   the opponent picks a strategy, which reaches J with
                           some probability (OLSS-I, equation 9)
                PLAYING    the opponent picks a strategy and plays on by it (OLSS-II,
                           equation 11)
    reach     gifts on the way to J raise its margin (Brown and Sandholm 2017)

The names below that look like constants are either recipes or functions that
return one; calling a recipe gives the same recipe with some options changed:
`MAXMARGIN(reach=True)`.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from typing import Any

from klss_spiel.algorithms.knowledge import COMMON_KNOWLEDGE
from klss_spiel.policy import BehaviorPolicy


class Margin(enum.Enum):
    """What of the game outside the region enters a margin."""

    FOLDED = "folded"
    CUT = "cut"
    SAFE_GIFT = "safe_gift"


class Gadget(enum.Enum):
    """How margins are put together to one objective."""

    MAXMARGIN = "maxmargin"
    RESOLVE = "resolve"
    UNSAFE = "unsafe"
    REACHING = "reaching"
    PLAYING = "playing"


class RootWeights(enum.Enum):
    """With what probability chance picks opponent infosets in a resolve gadget.

    REACH is proportional to how often chance and the player reach them (Burch et
    al. 2014; ZS21, section 3). UNIFORM is ZS21's algorithm 12. OPPONENT is half
    uniform, half proportional to how often the opponent's blueprint plays there
    (Obscuro, appendix C.3).
    """

    REACH = "reach"
    UNIFORM = "uniform"
    OPPONENT = "opponent"


@dataclasses.dataclass(frozen=True)
class SubgameRecipe:
    """A method of subgame solving; see the module's text.

    Attributes:
      name: for tables.
      order: k, or COMMON_KNOWLEDGE.
      gadget: who picks the opponent infoset.
      margin: what counts outside the region.
      reach: whether gifts on the way to an opponent infoset are added to its margin.
      root_weights: chance's choice in a resolve gadget.
      gift_scale: eta, by which SAFE_GIFT margins multiply the gift. Above 1 the
        method is not safe.
      opponent_strategies: what REACHING and PLAYING let the opponent choose from: his
        side of each policy. None means the blueprint alone.
      merge_transpositions: keep one of several root nodes that nobody can tell
        apart by anything that follows (ZS21, section 4, item 3); only at order 1.
    """

    name: str
    order: float = COMMON_KNOWLEDGE
    gadget: Gadget = Gadget.MAXMARGIN
    margin: Margin = Margin.FOLDED
    reach: bool = False
    root_weights: RootWeights = RootWeights.REACH
    gift_scale: float = 1.0
    opponent_strategies: tuple[BehaviorPolicy, ...] | None = None
    merge_transpositions: bool = False

    def __post_init__(self) -> None:
        if self.order != COMMON_KNOWLEDGE and (self.order < 1 or self.order != int(self.order)):
            raise ValueError(f"expected an order 1, 2, ... or COMMON_KNOWLEDGE, got {self.order}")
        if self.margin == Margin.FOLDED and self.order % 2 == 0:
            raise ValueError(
                f"k-KLSS needs an odd k (the player's infosets must lie wholly inside or outside "
                f"the region), got k={self.order}; KLUSS takes even k too"
            )
        one_infoset = self.margin == Margin.SAFE_GIFT or self.gadget == Gadget.PLAYING
        if one_infoset and self.order != 1:
            raise ValueError(f"{self.name} is defined for order 1, got {self.order}")
        if self.merge_transpositions and self.order != 1:
            raise ValueError(f"transpositions can be merged at order 1, got order {self.order}")
        if self.gift_scale < 0.0:
            raise ValueError(f"expected a gift scale of at least 0, got {self.gift_scale}")
        limited = self.gadget in (Gadget.REACHING, Gadget.PLAYING)
        if self.opponent_strategies is not None:
            if not limited:
                raise ValueError(f"{self.name} does not limit the opponent to strategies")
            if not len(self.opponent_strategies):
                raise ValueError("expected at least one opponent strategy, got none")

    def __call__(self, **options: Any) -> SubgameRecipe:
        """The same recipe with some attributes changed."""
        return dataclasses.replace(self, **options)


# Over the common-knowledge closure. Safe, but for UNSAFE.
UNSAFE = SubgameRecipe("unsafe", gadget=Gadget.UNSAFE)
RESOLVE = SubgameRecipe("resolve", gadget=Gadget.RESOLVE)
MAXMARGIN = SubgameRecipe("maxmargin", gadget=Gadget.MAXMARGIN)


def KLSS(
    k: float = 1,
    gadget: Gadget = Gadget.MAXMARGIN,
    *,
    reach: bool = False,
    root_weights: RootWeights = RootWeights.UNIFORM,
    merge_transpositions: bool = False,
) -> SubgameRecipe:
    """Order-k knowledge-limited subgame solving, k odd (ZS21, algorithm 12)."""
    return SubgameRecipe(
        f"{k}-klss",
        order=k,
        gadget=gadget,
        margin=Margin.FOLDED,
        reach=reach,
        root_weights=root_weights,
        merge_transpositions=merge_transpositions,
    )


def KLUSS(
    k: float = 2,
    gadget: Gadget = Gadget.MAXMARGIN,
    *,
    reach: bool = False,
    root_weights: RootWeights = RootWeights.UNIFORM,
) -> SubgameRecipe:
    """Order-k knowledge-limited unfrozen subgame solving (Obscuro, appendix C.6)."""
    return SubgameRecipe(
        f"{k}-kluss",
        order=k,
        gadget=gadget,
        margin=Margin.CUT,
        reach=reach,
        root_weights=root_weights,
    )


def SAFE_1_KLSS(
    gift_scale: float = 1.0, gadget: Gadget = Gadget.MAXMARGIN, *, reach: bool = False
) -> SubgameRecipe:
    """Safe-1-KLSS (OLSS, section 4.3).

    Theorem 4.1 covers a solve at one infoset. Solved everywhere from the original
    blueprint (`Schedule.SEPARATE`) it is covered by none, and in four of 90 random
    cases the strategy lost more than before; nested, in none of the same 90, but in
    Leduc poker from 50 iterations of CFR+ (exploitability .0341 before, .0356 after;
    `Schedule.UPDATED`, which theorems cover: .0246).

    Args:
      gift_scale: eta; the paper's theorem 4.1 needs at most 1, its experiments use 2.
      gadget: how the Safe-1-KLSS margins are aggregated.
      reach: whether to add gifts made on the way.
    """
    return SubgameRecipe(
        "safe-1-klss",
        order=1,
        gadget=gadget,
        margin=Margin.SAFE_GIFT,
        reach=reach,
        gift_scale=gift_scale,
    )


def OLSS_1(
    opponent_strategies: tuple[BehaviorPolicy, ...] | None = None, gift_scale: float = 1.0
) -> SubgameRecipe:
    """OLSS-I: the opponent's way to the subgame is limited (OLSS, section 5.1)."""
    recipe = SAFE_1_KLSS(gift_scale, Gadget.REACHING)
    return recipe(name="olss-1", opponent_strategies=opponent_strategies)


def OLSS_2(
    opponent_strategies: tuple[BehaviorPolicy, ...] | None = None, gift_scale: float = 1.0
) -> SubgameRecipe:
    """OLSS-II: the opponent's whole strategy is limited (OLSS, section 5.2)."""
    recipe = SAFE_1_KLSS(gift_scale, Gadget.PLAYING)
    return recipe(name="olss-2", opponent_strategies=opponent_strategies)


def recipe_from(recipe: SubgameRecipe | str) -> SubgameRecipe:
    """A recipe, given itself or by its name.

    Raises:
      ValueError: it is neither; names what came.
    """
    if isinstance(recipe, str):
        return parse_recipe(recipe)
    if not isinstance(recipe, SubgameRecipe):
        name = getattr(recipe, "__name__", None)
        hint = f"; call it: {name}()" if callable(recipe) and name else ""
        raise ValueError(f"expected a SubgameRecipe or the name of one, got {recipe!r:.80}{hint}")
    return recipe


_NAME = re.compile(
    r"(?P<reach>reach-)?"
    r"(?P<base>unsafe|resolve|maxmargin|safe-1-klss|olss-1|olss-2|(?P<k>\d+)-(?P<kind>klss|kluss))"
    r"(-(?P<gadget>resolve|unsafe))?"
)


def parse_recipe(name: str) -> SubgameRecipe:
    """The recipe of a name.

    Names are `unsafe`, `resolve`, `maxmargin`, `3-klss`, `2-kluss`, `safe-1-klss`,
    `olss-1` and `olss-2`; a gadget other than maxmargin may be appended to those of
    finite order (`1-klss-resolve`) and `reach-` put in front.
    """
    match = _NAME.fullmatch(name.strip().lower())
    if match is None:
        raise ValueError(
            "expected a recipe such as unsafe, resolve, maxmargin, 1-klss, 2-kluss, safe-1-klss, "
            f"olss-1, olss-2, 1-klss-resolve or reach-maxmargin, got {name!r}"
        )
    base = match["base"]
    named = {
        "unsafe": UNSAFE,
        "resolve": RESOLVE,
        "maxmargin": MAXMARGIN,
        "safe-1-klss": SAFE_1_KLSS(),
        "olss-1": OLSS_1(),
        "olss-2": OLSS_2(),
    }
    if base in named:
        recipe = named[base]
    else:
        k = int(match["k"])
        recipe = KLSS(k) if match["kind"] == "klss" else KLUSS(k)
    if match["gadget"]:
        if recipe.gadget != Gadget.MAXMARGIN or recipe.order == COMMON_KNOWLEDGE:
            raise ValueError(f"{base} has its own gadget, got {name!r}")
        recipe = recipe(gadget=Gadget(match["gadget"]))
    return recipe(name=match[0], reach=bool(match["reach"]))
