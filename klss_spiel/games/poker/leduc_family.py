"""Two-round limit poker: Leduc(suits, ranks, hole cards) and flop hold'em.

The benchmark games of OLSS (appendix B): rules, names, and how large they are. All
are OpenSpiel's `universal_poker` with some numbers changed. `rank_trees` builds
their trees, of two kinds:

    cards   with one hole card: what OpenSpiel enumerates
    ranks   with two or three: cards of one rank are one

Betting actions are OpenSpiel's: FOLD, CALL (also check) and RAISE.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re

import numpy as np

from klss_spiel.tree import CHANCE, TERMINAL

FOLD = 0
CALL = 1
RAISE = 2
ACTIONS = (FOLD, CALL, RAISE)

CARDS = "cards"
RANKS = "ranks"
# Straights and flushes take five cards; below that only pairs and ranks count.
MOST_CARDS_WITHOUT_SUITS = 4
# The tree, its index for both players, blueprints and batches of subgames: measured 290
# at 7.6 million nodes, more in small games, whose memory is the compiler's.
BYTES_PER_NODE = 400
_GIGABYTE = 1e9

NO_ONE = -1
_LETTERS = {FOLD: "f", CALL: "c", RAISE: "r"}


@dataclasses.dataclass(frozen=True)
class PokerGame:
    """A two-player limit poker game of two betting rounds.

    Attributes:
      name: for tables and flags.
      suits: number of suits.
      ranks: number of ranks.
      hole_cards: private cards of each player.
      board_cards: community cards, dealt between the rounds.
      blinds: what each player puts in before the first round.
      raise_sizes: of each round.
      first_players: who begins each round.
      max_raises: of each round.
    """

    name: str
    suits: int
    ranks: int
    hole_cards: int
    board_cards: int = 1
    blinds: tuple[int, int] = (1, 1)
    raise_sizes: tuple[int, int] = (2, 4)
    first_players: tuple[int, int] = (0, 0)
    max_raises: tuple[int, int] = (2, 2)

    def __post_init__(self) -> None:
        for field in ("suits", "ranks", "hole_cards", "board_cards"):
            if getattr(self, field) < 1:
                raise ValueError(f"expected {field} of at least 1, got {getattr(self, field)}")
        if self.num_cards < 2 * self.hole_cards + self.board_cards:
            raise ValueError(
                f"{self.name} has {self.num_cards} cards, of which {2 * self.hole_cards} hole "
                f"cards and {self.board_cards} community cards cannot be dealt"
            )

    @property
    def num_cards(self) -> int:
        """Cards of the deck."""
        return self.suits * self.ranks

    @property
    def game_string(self) -> str:
        """The game as OpenSpiel loads it."""
        parameters = {
            "betting": "limit",
            "numPlayers": 2,
            "numRounds": 2,
            "blind": f"{self.blinds[0]} {self.blinds[1]}",
            "raiseSize": f"{self.raise_sizes[0]} {self.raise_sizes[1]}",
            "firstPlayer": f"{self.first_players[0] + 1} {self.first_players[1] + 1}",
            "maxRaises": f"{self.max_raises[0]} {self.max_raises[1]}",
            "numSuits": self.suits,
            "numRanks": self.ranks,
            "numHoleCards": self.hole_cards,
            "numBoardCards": f"0 {self.board_cards}",
        }
        inside = ",".join(f"{key}={value}" for key, value in parameters.items())
        return f"universal_poker({inside})"

    @property
    def kind(self) -> str:
        """Which kind of tree stands for the game: CARDS or RANKS."""
        cards = self.hole_cards + self.board_cards
        has_ranks_tree = self.board_cards == 1 and cards <= MOST_CARDS_WITHOUT_SUITS
        return RANKS if self.hole_cards > 1 and has_ranks_tree else CARDS


def leduc(suits: int, ranks: int, hole_cards: int) -> PokerGame:
    """Leduc(suits, ranks, hole cards); Leduc(2, 3, 1) is OpenSpiel's leduc_poker."""
    return PokerGame(f"leduc{suits}{ranks}{hole_cards}", suits, ranks, hole_cards)


FLOP_HOLDEM = PokerGame(
    "fhp",
    suits=4,
    ranks=13,
    hole_cards=2,
    board_cards=3,
    blinds=(50, 100),
    raise_sizes=(100, 100),
    first_players=(0, 1),
    max_raises=(3, 3),
)

# OLSS's appendix B has both players put in 50, where others play blinds of 50 and 100.
FLOP_HOLDEM_ANTE = dataclasses.replace(FLOP_HOLDEM, name="fhp_ante", blinds=(50, 50))

_LEDUC = re.compile(r"leduc(?:(\d)(\d+)(\d)|\((\d+),\s*(\d+),\s*(\d+)\))")


def parse_game(name: str) -> PokerGame:
    """The game of a name: `leduc2131` or `leduc(2,13,1)`, `fhp` or `fhp_ante`."""
    name = name.strip().lower()
    for flop_game in (FLOP_HOLDEM, FLOP_HOLDEM_ANTE):
        if name == flop_game.name:
            return flop_game
    match = _LEDUC.fullmatch(name)
    if match is None:
        raise ValueError(
            "expected fhp or a name made of suits, ranks and hole cards such as leduc231 or "
            f"leduc2131, got {name!r}"
        )
    suits, ranks, hole_cards = (int(number) for number in match.groups() if number is not None)
    return leduc(suits, ranks, hole_cards)


@dataclasses.dataclass(frozen=True)
class PublicNode:
    """What everybody sees of a position, cards apart.

    Attributes:
      player: who moves: 0, 1, CHANCE (deals the board) or TERMINAL.
      actions: the legal actions of a player.
      children: the node after each of them; one for CHANCE.
      paid: what each player has put in.
      folded: who has folded, or -1.
      has_board: whether the board has been dealt.
      history: letters of the actions, a slash for the board.
    """

    player: int
    actions: tuple[int, ...]
    children: tuple[int, ...]
    paid: tuple[int, int]
    folded: int
    has_board: bool
    history: str


def public_tree(game: PokerGame) -> tuple[PublicNode, ...]:
    """All betting, cards apart; the first node follows the deal."""
    nodes: list[PublicNode | None] = []

    def add(paid: tuple[int, int], turn: int, raises: int, acted: int, history: str) -> int:
        """A decision of player `turn`; `raises` and `acted` count since the round began."""
        number = len(nodes)
        nodes.append(None)
        betting_round = int("/" in history)
        faces_bet = paid[1 - turn] > paid[turn]
        may_raise = raises < game.max_raises[betting_round]
        actions = ((FOLD,) if faces_bet else ()) + (CALL,) + ((RAISE,) if may_raise else ())
        children = []
        for action in actions:
            after = history + _LETTERS[action]
            if action == FOLD:
                children.append(add_other(TERMINAL, (), paid, turn, after))
                continue
            stake = paid[1 - turn]
            if action == RAISE:
                stake += game.raise_sizes[betting_round]
            new_paid = (stake, paid[1]) if turn == 0 else (paid[0], stake)
            if action == CALL and acted > 0:
                children.append(end_round(new_paid, after))
            else:
                children.append(add(new_paid, 1 - turn, raises + action // RAISE, acted + 1, after))
        nodes[number] = PublicNode(
            turn, actions, tuple(children), paid, NO_ONE, "/" in history, history
        )
        return number

    def end_round(paid: tuple[int, int], history: str) -> int:
        if "/" in history:
            return add_other(TERMINAL, (), paid, NO_ONE, history)
        number = add_other(CHANCE, (), paid, NO_ONE, history)
        below = add(paid, game.first_players[1], 0, 0, history + "/")
        nodes[number] = PublicNode(CHANCE, (), (below,), paid, NO_ONE, False, history)
        return number

    def add_other(
        player: int, children: tuple[int, ...], paid: tuple[int, int], folded: int, history: str
    ) -> int:
        nodes.append(PublicNode(player, (), children, paid, folded, "/" in history, history))
        return len(nodes) - 1

    add(game.blinds, game.first_players[0], 0, 0, "")
    return tuple(node for node in nodes if node is not None)


@dataclasses.dataclass(frozen=True)
class GameSize:
    """How large a game is.

    Attributes:
      nodes: of its tree of either kind. Of cards and several of them at a time, as
        many as if they came at once.
      gigabytes: estimate of the memory that tables need.
      infoset: histories in an infoset right after the board, in cards.
      closure: histories in its common-knowledge closure, in cards.
    """

    nodes: int
    gigabytes: float
    infoset: int
    closure: int


def game_size(game: PokerGame) -> GameSize:
    """Sizes by counting, without building anything."""
    public = public_tree(game)
    before = sum(not node.has_board for node in public)
    after = len(public) - before
    cards, hole, board = game.num_cards, game.hole_cards, game.board_cards
    infoset = math.comb(cards - hole - board, hole)
    closure = math.comb(cards - board, hole) * infoset
    if game.kind == RANKS:
        deals = _count_rank_deals(game, 0)
        nodes = 1 + deals * before + _count_rank_deals(game, board) * after
    else:
        deals = math.comb(cards, hole) * math.comb(cards - hole, hole)
        boards = math.comb(cards - 2 * hole, board)
        nodes = 1 + math.comb(cards, hole) + deals * (before + boards * after)
    return GameSize(nodes, nodes * BYTES_PER_NODE / _GIGABYTE, infoset, closure)


def _count_rank_deals(game: PokerGame, board_cards: int) -> int:
    """In how many ways ranks can be dealt to both players and to the board."""
    shape = (game.hole_cards + 1, game.hole_cards + 1, board_cards + 1)
    # Number of ways to deal so many cards of the ranks seen so far, rank by rank.
    ways = {(0, 0, 0): 1}
    steps = [step for step in np.ndindex(shape) if sum(step) <= game.suits]
    for _ in range(game.ranks):
        longer: dict[tuple[int, int, int], int] = {}
        for (a, b, c), count in ways.items():
            for da, db, dc in steps:
                key = (a + da, b + db, c + dc)
                if all(have < most for have, most in zip(key, shape, strict=True)):
                    longer[key] = longer.get(key, 0) + count
        ways = longer
    return ways.get((game.hole_cards, game.hole_cards, board_cards), 0)


def machine_gigabytes() -> float:
    """Memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIGABYTE


def check_size(game: PokerGame, gigabytes: float | None = None) -> GameSize:
    """The game's size, if it fits.

    Args:
      game: the game.
      gigabytes: memory there is; by default this machine's.

    Raises:
      ValueError: it does not, with the estimate.
    """
    size = game_size(game)
    limit = machine_gigabytes() if gigabytes is None else gigabytes
    if size.gigabytes > limit:
        raise ValueError(
            f"{game.name} is too large: its tree has {size.nodes:,} nodes (in {game.kind}), which "
            f"need about {size.gigabytes:,.1f} GB of memory, and there are {limit:.1f} GB "
            f"(infosets after the board have {size.infoset:,} histories, common-knowledge closures "
            f"{size.closure:,})"
        )
    return size
