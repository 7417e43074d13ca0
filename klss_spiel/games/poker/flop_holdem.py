"""Flop hold'em as a public tree times hands: two hole cards, three community cards.

Suits are interchangeable. Flops that an exchange of suits turns into each other are one
(1,755 instead of 22,100 with 52 cards), and so are hands behind a flop (1,286,792 pairs
of hand and flop instead of 25,989,600) and before it (169 instead of 1,326): nothing is
lost, since every optimum of the game or of a subgame is reached by strategies that treat
them alike. A card is rank * suits + suit.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.games.poker.leduc_family import PokerGame, public_tree
from klss_spiel.games.poker.public_poker import assemble
from klss_spiel.games.poker.sorted_hands import SortedHands
from klss_spiel.hand_payoffs import MatrixPairs
from klss_spiel.public_game import PublicGame, Stage

_RANK_LETTERS = "23456789TJQKA"
_SUIT_LETTERS = "cdhs"
_STRAIGHT_CARDS = 5
_WHEEL = (0, 1, 2, 3, 12)


def flop_public_game(game: PokerGame, flops: IntArray | None = None) -> PublicGame:
    """A game of two hole cards and a flop.

    Args:
      game: its rules.
      flops: [F, 3] flops to deal, with equal probability and none the same up to suits as
        another, for a smaller game; all of them unless given.
    """
    if (game.hole_cards, game.board_cards) != (2, 3):
        raise ValueError(
            f"expected two hole cards and a flop of three, got {game.hole_cards} and "
            f"{game.board_cards} in {game.name}"
        )
    cards = np.array(list(itertools.combinations(range(game.num_cards), 2)))
    kind = _hand_kinds(game, cards)
    apart = _apart(cards, cards)
    deals = math.comb(game.num_cards, 2) * math.comb(game.num_cards - 2, 2)
    member = np.zeros((int(kind.max()) + 1, len(cards)))
    member[kind, np.arange(len(cards))] = 1.0
    pairs = member @ apart @ member.T / deals
    stages = [Stage("", MatrixPairs(pairs, np.zeros_like(pairs)), np.arange(len(member)))]
    if flops is None:
        flops, copies = distinct_flops(game)
        dealt = float(copies.sum())
    else:
        copies = np.ones(len(flops), dtype=np.int64)
        dealt = float(len(flops))
    for flop, count in zip(flops, copies, strict=True):
        stages.append(_flop_stage(game, flop, count / dealt, cards, kind))
    return assemble(f"{game.name} by hands", public_tree(game), stages)


def _flop_stage(
    game: PokerGame, flop: IntArray, share: float, cards: IntArray, kind: IntArray
) -> Stage:
    """What a flop leaves; `share` of all flops are like it."""
    possible = np.flatnonzero(~np.any(np.isin(cards, flop), axis=1))
    hands = cards[possible]
    class_of = _classes_behind(game, flop, hands)
    strength = hand_strengths(game, np.hstack([hands, np.tile(flop, (len(hands), 1))]))
    left = game.num_cards - len(flop)
    deals = math.comb(left, 2) * math.comb(left - 2, 2)
    before = np.zeros(int(class_of.max()) + 1, dtype=np.int64)
    before[class_of] = kind[possible]
    pairs = SortedHands.create(hands, strength, class_of, game.num_cards, share / deals)
    name = " ".join(card_name(game, card) for card in flop.tolist())
    return Stage(name, pairs, before)


def card_name(game: PokerGame, card: int) -> str:
    """Such as Th."""
    return _RANK_LETTERS[card // game.suits] + _SUIT_LETTERS[card % game.suits]


def _apart(first: IntArray, second: IntArray) -> FloatArray:
    """[n, m] 1 where two sets of cards share none."""
    shared = first[:, np.newaxis, :, np.newaxis] == second[:, np.newaxis, :]
    return np.where(np.any(shared, axis=(2, 3)), 0.0, 1.0)


def _hand_kinds(game: PokerGame, cards: IntArray) -> IntArray:
    """[n] a number per hand that is equal for hands that differ by suits alone."""
    rank, suit = np.sort(cards // game.suits, axis=1), cards % game.suits
    code = (rank[:, 0] * game.ranks + rank[:, 1]) * 2 + (suit[:, 0] == suit[:, 1])
    return np.unique(code, return_inverse=True)[1]


def _suit_exchanges(game: PokerGame) -> IntArray:
    """[suits!, cards] what each exchange of suits makes of each card."""
    card = np.arange(game.num_cards)
    exchanges = itertools.permutations(range(game.suits))
    return np.array(
        [card - card % game.suits + np.array(suits)[card % game.suits] for suits in exchanges]
    )


def _codes(game: PokerGame, cards: IntArray) -> IntArray:
    """[n] a number per set of cards ([n, k])."""
    ordered = np.sort(cards, axis=-1)
    weights = game.num_cards ** np.arange(cards.shape[-1])[::-1]
    codes: IntArray = ordered @ weights
    return codes


def distinct_flops(game: PokerGame) -> tuple[IntArray, IntArray]:
    """[F, 3] one flop of each kind, and [F] how many there are of it."""
    flops = np.array(list(itertools.combinations(range(game.num_cards), 3)))
    least = np.min([_codes(game, swap[flops]) for swap in _suit_exchanges(game)], axis=0)
    _, first, count = np.unique(least, return_index=True, return_counts=True)
    return flops[first], count


def _classes_behind(game: PokerGame, flop: IntArray, hands: IntArray) -> IntArray:
    """[n] a number per hand, equal where an exchange of suits that keeps the flop maps them."""
    own = _codes(game, flop)
    keeps = [swap for swap in _suit_exchanges(game) if _codes(game, swap[flop]) == own]
    least = np.min([_codes(game, swap[hands]) for swap in keeps], axis=0)
    return np.unique(least, return_inverse=True)[1]


def hand_strengths(game: PokerGame, cards: IntArray) -> IntArray:
    """[n] of five cards ([n, 5]): the better hand has the larger number.

    Straight flush, four of a kind, full house, flush, straight, three of a kind, two
    pairs, a pair, high cards; then the ranks, those of larger groups first.
    """
    rank, suit = cards // game.suits, cards % game.suits
    count = np.zeros((len(cards), len(_RANK_LETTERS)), dtype=np.int64)
    np.add.at(count, (np.arange(len(cards))[:, np.newaxis], rank), 1)
    grouped = np.sort(np.where(count > 0, count * 16 + np.arange(count.shape[1]), 0), axis=1)
    groups = grouped[:, :-6:-1]  # Five at most, largest first.
    shape = groups // 16
    is_flush = np.all(suit == suit[:, :1], axis=1)
    lowest, highest = rank.min(axis=1), rank.max(axis=1)
    is_distinct = shape[:, 0] == 1
    is_wheel = is_distinct & np.all(np.sort(rank, axis=1) == np.array(_WHEEL), axis=1)
    is_straight = (is_distinct & (highest - lowest == _STRAIGHT_CARDS - 1)) | is_wheel
    kinds = [
        is_flush & is_straight,
        shape[:, 0] == 4,
        (shape[:, 0] == 3) & (shape[:, 1] == 2),
        is_flush,
        is_straight,
        shape[:, 0] == 3,
        (shape[:, 0] == 2) & (shape[:, 1] == 2),
        shape[:, 0] == 2,
    ]
    category = np.select(kinds, np.arange(len(kinds), 0, -1), 0)
    ranks = groups % 16
    # The ace of the wheel is its lowest card.
    ranks[is_wheel] = [3, 2, 1, 0, 0]
    weights = 16 ** np.arange(_STRAIGHT_CARDS)[::-1]
    strengths: IntArray = category * 16**_STRAIGHT_CARDS + ranks @ weights
    return strengths
