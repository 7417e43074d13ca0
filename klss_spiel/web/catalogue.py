"""What a server offers: games, opponents, strengths and clocks, all fixed when it starts.

Clients choose by name and never send a game string or a player's specification: those
can read files and start programs. The one free choice is a starting position as a FEN,
which is checked here before it becomes a parameter of a game.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from klss_spiel.games.chess import boards
from klss_spiel.matches.players import check_specification, sees_everything
from klss_spiel.openspiel import check_supported, load_game, turn_based

# Families of games: how they are shown.
DARK: Final = "dark"
KRIEGSPIEL: Final = "kriegspiel"
TEXT: Final = "text"
CHESS: Final = (DARK, KRIEGSPIEL)
_SHORT_NAMES: Final = {"python_dark_chess": DARK, "python_kriegspiel": KRIEGSPIEL}

CLOCKS: Final = {
    "1+1": "1 minute + 1 second",
    "3+2": "3 minutes + 2 seconds",
    "10+5": "10 minutes + 5 seconds",
    "none": "no clock",
}
DEFAULT_CLOCK: Final = "3+2"
COLOURS: Final = ("first", "second", "random")

_BOARD_TITLES: Final = {
    "standard": "8x8, the usual start",
    "demichess": "4x8, Demi-chess",
    "microchess": "4x5, Microchess",
    "silverman4x4": "4x4, Silverman",
    "openspiel4x4": "4x4, OpenSpiel's",
    "mate2": "5x5, mate in two",
    "minimal4x3": "4x3, king and rook",
}
_THREE_BY_THREE: Final = "rk1/3/1KR w - - 0 1"
_FEN: Final = re.compile(
    r"[PNBRQKpnbrqk1-8/]{1,71} [wb] (?:-|[KQkq]{1,4}) (?:-|[a-h][1-8])(?: \d{1,3} \d{1,4})?"
)


class RefusedError(Exception):
    """A client asked for what it cannot have; named so that programs can tell why."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
        self.text = text


@dataclasses.dataclass(frozen=True)
class GameOffer:
    """A game that can be played.

    Attributes:
      name: what clients call it.
      title: what people read.
      family: DARK, KRIEGSPIEL or TEXT.
      game: game string.
      takes_fen: whether the client names the starting position.
    """

    name: str
    title: str
    family: str
    game: str
    takes_fen: bool = False


@dataclasses.dataclass(frozen=True)
class Strength:
    """How hard a bot thinks: seconds per move unless the clock leaves less."""

    name: str
    title: str
    seconds: float


STRENGTHS: Final = (
    Strength("quick", "quick", 0.3),
    Strength("normal", "normal", 1.5),
    Strength("strong", "strong", 5.0),
)


@dataclasses.dataclass(frozen=True)
class BotOffer:
    """A player of the match runner that can be an opponent.

    Attributes:
      name: what clients call it.
      title: what people read.
      specifications: for each of STRENGTHS in turn, or one for all.
      families: of games it is offered for.
      games: names of the only games it is offered for; all of the families if empty.
      but_games: names of games it is not offered for.
    """

    name: str
    title: str
    specifications: tuple[str, ...]
    families: tuple[str, ...] = (DARK, KRIEGSPIEL, TEXT)
    games: tuple[str, ...] = ()
    but_games: tuple[str, ...] = ()

    def specification(self, strength: Strength) -> str:
        """The player's specification."""
        if len(self.specifications) == 1:
            return self.specifications[0]
        return self.specifications[STRENGTHS.index(strength)]

    def plays(self, offer: GameOffer) -> bool:
        """Whether the bot is offered for a game."""
        named = offer.name in self.games or not self.games
        return offer.family in self.families and named and offer.name not in self.but_games


def _chess_offers() -> list[GameOffer]:
    offers = []
    for short_name, family in _SHORT_NAMES.items():
        kind = "Dark chess" if family == DARK else "Kriegspiel"
        for board, title in _BOARD_TITLES.items():
            game = f"{short_name}(board={board})"
            offers.append(GameOffer(f"{family}-{board}", f"{kind}, {title}", family, game))
        small = f"{short_name}(fen={_THREE_BY_THREE})"
        offers.append(GameOffer(f"{family}-3x3", f"{kind}, 3x3", family, small))
        offers.append(
            GameOffer(f"{family}-fen", f"{kind}, a position of yours", family, short_name, True)
        )
    return offers


_TEXT_OFFERS: Final = (
    GameOffer("kuhn", "Kuhn poker", TEXT, "kuhn_poker"),
    GameOffer("leduc", "Leduc poker", TEXT, "leduc_poker"),
    GameOffer("liars-dice", "Liar's dice, one die each", TEXT, "liars_dice(numdice=1)"),
    GameOffer("mahjong", "Mahjong for two", TEXT, "python_two_player_mahjong"),
    GameOffer("dark-hex", "Dark hex, 3x3", TEXT, "dark_hex(num_rows=3,num_cols=3)"),
)

DEFAULT_BOTS: Final = (
    # Nobody can list what is possible in Mahjong, as these searches have to.
    BotOffer("strong", "Search (strong)", ("search(preset=strong)",), but_games=("mahjong",)),
    BotOffer(
        "search",
        "Search (Obscuro's)",
        ("search(preset=obscuro)",),
        but_games=("mahjong",),
    ),
    BotOffer(
        "pimc",
        "Monte Carlo worlds",
        (
            "pimc(worlds=16,depth=2)",
            "pimc(worlds=48,depth=3)",
            "pimc(worlds=128,depth=4)",
        ),
        (DARK,),
    ),
    BotOffer("greedy", "Greedy", ("greedy(worlds=64)",), (DARK,)),
    BotOffer("listener", "Greedy", ("greedy(worlds=16,limit=300)",), (KRIEGSPIEL,)),
    BotOffer("equilibrium", "Equilibrium (CFR+)", ("cfr(1000)",), (TEXT,), ("kuhn", "leduc")),
    BotOffer(
        "mahjong-search",
        "Search (OLSS-II)",
        (
            "mahjong_search(simulations=100)",
            "mahjong_search(simulations=400)",
            "mahjong_search(simulations=1000)",
        ),
        (TEXT,),
        ("mahjong",),
    ),
    BotOffer("mahjong-blueprint", "Blueprint (ACH)", ("mahjong_blueprint",), (TEXT,), ("mahjong",)),
    BotOffer("mahjong-greedy", "Greedy", ("mahjong_greedy",), (TEXT,), ("mahjong",)),
    BotOffer("random", "Random", ("random",)),
)


@dataclasses.dataclass(frozen=True)
class Choice:
    """What a client has chosen, checked.

    Attributes:
      offer: the game.
      game: its string, the FEN included.
      seats: bots for players 0 and 1; None where the human sits.
      strength: of the bots.
      clock: as `TimeControl.parse` reads it; None for no clock.
      seed: of chance and of the bots.
    """

    offer: GameOffer
    game: str
    seats: tuple[BotOffer | None, BotOffer | None]
    strength: Strength
    clock: str | None
    seed: int

    @property
    def human(self) -> int | None:
        """For whom the human plays, if there is one."""
        return self.seats.index(None) if None in self.seats else None


class Catalogue:
    """Everything a server offers."""

    def __init__(
        self, bots: Sequence[BotOffer] = DEFAULT_BOTS, more_games: Sequence[str] = ()
    ) -> None:
        """Checks what is offered.

        Args:
          bots: opponents.
          more_games: strings of further two-player games.
        """
        offers = [*_chess_offers(), *_TEXT_OFFERS]
        for game in more_games:
            loaded = turn_based(load_game(game))
            check_supported(loaded)
            family = _SHORT_NAMES.get(loaded.get_type().short_name, TEXT)
            offers.append(GameOffer(game, game, family, game))
        for bot in bots:
            for specification in bot.specifications:
                check_specification(specification)
        self.games: Mapping[str, GameOffer] = {offer.name: offer for offer in offers}
        self.bots: Mapping[str, BotOffer] = {bot.name: bot for bot in bots}
        self.strengths: Mapping[str, Strength] = {one.name: one for one in STRENGTHS}

    def as_json(self) -> dict[str, Any]:
        """What clients may choose from."""
        return {
            "games": [
                {
                    "name": offer.name,
                    "title": offer.title,
                    "family": offer.family,
                    "takes_fen": offer.takes_fen,
                    "bots": [bot.name for bot in self.bots.values() if bot.plays(offer)],
                }
                for offer in self.games.values()
            ],
            "bots": [{"name": bot.name, "title": bot_title(bot)} for bot in self.bots.values()],
            "strengths": [{"name": s.name, "title": s.title} for s in STRENGTHS],
            "clocks": [{"name": name, "title": title} for name, title in CLOCKS.items()],
            "default_clock": DEFAULT_CLOCK,
        }

    def choose(self, wanted: Any) -> Choice:
        """Checks a client's wish.

        Args:
          wanted: an object with `game`, `bot`, and optionally `opponent` (a second bot, to
            watch them), `colour`, `clock`, `strength`, `seed`, `fen`.

        Raises:
          RefusedError: something is not among what is offered.
        """
        if not isinstance(wanted, dict):
            raise RefusedError("bad_message", "expected an object")
        offer = _among(self.games, wanted.get("game"), "game")
        strength = _among(self.strengths, wanted.get("strength", "normal"), "strength")
        clock = wanted.get("clock", DEFAULT_CLOCK)
        if not isinstance(clock, str) or clock not in CLOCKS:
            raise RefusedError("unknown_clock", f"expected a clock among {', '.join(CLOCKS)}")
        seed = wanted.get("seed")
        if seed is None:  # nobody can work out the deals beforehand
            seed = secrets.randbelow(2**31)
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
            raise RefusedError("bad_seed", "expected a seed from 0 to 2147483647")
        bot = self._bot(wanted.get("bot"), offer)
        if wanted.get("opponent") is not None:
            seats: tuple[BotOffer | None, BotOffer | None] = (
                bot,
                self._bot(wanted["opponent"], offer),
            )
        else:
            colour = wanted.get("colour", "first")
            if not isinstance(colour, str) or colour not in COLOURS:
                raise RefusedError("unknown_colour", f"expected one of {', '.join(COLOURS)}")
            if colour == "random":
                # Not from the seed, which the player has chosen and may have used before.
                colour = secrets.choice(COLOURS[:2])
            seats = (None, bot) if colour == "first" else (bot, None)
        game = _with_fen(offer, wanted.get("fen"))
        return Choice(offer, game, seats, strength, None if clock == "none" else clock, seed)

    def _bot(self, name: Any, offer: GameOffer) -> BotOffer:
        bot: BotOffer = _among(self.bots, name, "bot")
        if not bot.plays(offer):
            raise RefusedError("unknown_bot", f"{bot.name} is not offered for {offer.title}")
        return bot


def bot_title(bot: BotOffer) -> str:
    """What people read; players that are told the truth are marked."""
    seeing = any(sees_everything(specification) for specification in bot.specifications)
    return f"{bot.title} *" if seeing else bot.title


def bot_from_flag(text: str) -> BotOffer:
    """The bot of a flag such as `search(nodes=1000)` or `fast=search(nodes=1000)`."""
    named = re.match(r"([A-Za-z0-9_ .-]{1,40})=(.+)", text)
    if named and "(" not in named[1]:
        name, specification = named[1].strip(), named[2]
    else:
        name = specification = text
    check_specification(specification)
    return BotOffer(name, name, (specification,))


def _among(offered: Mapping[str, Any], name: Any, kind: str) -> Any:
    if not isinstance(name, str) or name not in offered:
        raise RefusedError(f"unknown_{kind}", f"expected a {kind} among those offered")
    return offered[name]


def _with_fen(offer: GameOffer, fen: Any) -> str:
    if not offer.takes_fen:
        if fen:
            raise RefusedError("bad_fen", f"{offer.title} has its own starting position")
        return offer.game
    if not isinstance(fen, str) or not _FEN.fullmatch(fen.strip()):
        raise RefusedError("bad_fen", "expected a position as a FEN")
    try:
        position = boards.position_from_fen(fen.strip())
        game = f"{offer.game}(fen={boards.fen_of(position)})"
        load_game(game)
    except ValueError as error:
        raise RefusedError("bad_fen", str(error)[:300]) from error
    return game
