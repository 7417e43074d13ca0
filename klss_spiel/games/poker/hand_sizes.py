"""How large the poker games are as public trees times hands, by counting."""

from __future__ import annotations

import dataclasses
import itertools
import math

from klss_spiel.games.poker.leduc_family import PokerGame, machine_gigabytes, public_tree
from klss_spiel.tree import CHANCE, TERMINAL

# Measured on one core: a product of matrices per pair of hands, a sorted pass per hand
# and outcome, and what CFR does at a sequence.
_SECONDS_PER_PRODUCT = 0.2e-9
_SECONDS_PER_SORTED_HAND = 4e-9
_SECONDS_PER_SEQUENCE = 5e-9
# Regrets, strategies, plans, averages in single precision, and what a look at exploitability
# takes besides: measured with 251 flops.
_BYTES_PER_SEQUENCE = 58
_BYTES_PER_PAIR_OF_HANDS = 16
_GIGABYTE = 1e9


@dataclasses.dataclass(frozen=True)
class HandSize:
    """How large a game is as a public tree times hands (`public_poker`).

    Attributes:
      hands: before the board, those that mean the same counted once.
      boards: likewise.
      pairs: pairs of a hand and a board, likewise.
      public_states: of the whole game.
      closures: public states right after a board.
      sequences: of both players.
      gigabytes: estimate of the memory that solving needs.
      iteration_seconds: estimate of the time of one iteration of CFR on one core.
    """

    hands: int
    boards: int
    pairs: int
    public_states: int
    closures: int
    sequences: int
    gigabytes: float
    iteration_seconds: float


def hand_size(game: PokerGame) -> HandSize:
    """Sizes of a game, without building anything."""
    by_ranks = game.board_cards == 1
    if by_ranks:
        hands, boards = _rank_hands(game, 0), game.ranks
        pairs = boards * _rank_hands(game, 1)
    else:
        hands, boards, pairs = (
            _kinds(game, *cards)
            for cards in (
                (game.hole_cards, 0),
                (0, game.board_cards),
                (game.hole_cards, game.board_cards),
            )
        )
    public = public_tree(game)
    rounds = [[node for node in public if node.has_board == after] for after in (False, True)]
    actions = [sum(len(node.actions) for node in nodes) for nodes in rounds]
    ends = [sum(node.player == TERMINAL for node in nodes) for nodes in rounds]
    sequences = hands * actions[0] + pairs * actions[1]
    if by_ranks:
        squares = hands**2 + pairs**2 // boards
        products = hands**2 * ends[0] + pairs**2 // boards * ends[1]
        seconds = products * _SECONDS_PER_PRODUCT
    else:
        squares = hands**2
        cards = math.comb(game.num_cards - game.board_cards, game.hole_cards)
        seconds = boards * cards * ends[1] * _SECONDS_PER_SORTED_HAND
    memory = sequences * _BYTES_PER_SEQUENCE + squares * _BYTES_PER_PAIR_OF_HANDS
    return HandSize(
        hands=hands,
        boards=boards,
        pairs=pairs,
        public_states=len(rounds[0]) + boards * len(rounds[1]),
        closures=boards * sum(node.player == CHANCE for node in public),
        sequences=sequences,
        gigabytes=memory / _GIGABYTE,
        iteration_seconds=2 * seconds + sequences * _SECONDS_PER_SEQUENCE,
    )


def check_hand_size(game: PokerGame, gigabytes: float | None = None) -> HandSize:
    """The game's size, if it fits.

    Args:
      game: the game.
      gigabytes: memory there is; by default this machine's.

    Raises:
      ValueError: it does not, with the estimate.
    """
    size = hand_size(game)
    limit = machine_gigabytes() if gigabytes is None else gigabytes
    if size.gigabytes > limit:
        raise ValueError(
            f"{game.name} is too large: {size.hands:,} hands and {size.boards:,} boards make "
            f"{size.sequences:,} sequences, which need about {size.gigabytes:,.1f} GB of memory, "
            f"and there are {limit:.1f} GB"
        )
    return size


def _rank_hands(game: PokerGame, board_cards: int) -> int:
    """Hands by ranks that one player can have, so many cards of one rank gone."""
    ways = [1] + [0] * game.hole_cards
    for rank in range(game.ranks):
        most = game.suits - (board_cards if rank == 0 else 0)
        ways = [
            sum(ways[total - here] for here in range(min(most, total) + 1))
            for total in range(game.hole_cards + 1)
        ]
    return ways[game.hole_cards]


def _kinds(game: PokerGame, hole_cards: int, board_cards: int) -> int:
    """Hands together with boards, those that an exchange of suits makes equal counted once.

    By Burnside's lemma: the mean over exchanges of how many an exchange leaves alone,
    which are unions of its cycles.
    """
    total = 0
    for exchange in itertools.permutations(range(game.suits)):
        ways = {(0, 0): 1}
        for length in _cycles(exchange) * game.ranks:
            longer = dict(ways)
            for (hole, board), count in ways.items():
                for key in ((hole + length, board), (hole, board + length)):
                    if key[0] <= hole_cards and key[1] <= board_cards:
                        longer[key] = longer.get(key, 0) + count
            ways = longer
        total += ways.get((hole_cards, board_cards), 0)
    return total // math.factorial(game.suits)


def _cycles(exchange: tuple[int, ...]) -> list[int]:
    """Lengths of the cycles of a permutation."""
    lengths, seen = [], set()
    for start in exchange:
        length, here = 0, start
        while here not in seen:
            seen.add(here)
            here = exchange[here]
            length += 1
        if length:
            lengths.append(length)
    return lengths
