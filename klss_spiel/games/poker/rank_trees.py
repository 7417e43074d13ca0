"""Trees of the poker games of `leduc_family`.

With one hole card it is OpenSpiel's tree. With more, OpenSpiel deals cards one by
one, and players who remember the order of their cards know things that mean nothing;
a tree in which hands come at once is smaller. Nor do suits mean anything while a hand
has at most four cards: exchanging two cards of one rank for each other changes
nothing. So the tree deals ranks, with the probabilities that cards give them. A
strategy that looks at ranks alone has the same value and the same exploitability in
both games, and every optimum of a game or subgame is reached by such a strategy.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import numpy as np

from klss_spiel.arrays import FloatArray, IntArray, first_places, number_by_appearance
from klss_spiel.games.poker.leduc_family import (
    CARDS,
    MOST_CARDS_WITHOUT_SUITS,
    NO_ONE,
    PokerGame,
    PublicNode,
    game_size,
    public_tree,
)
from klss_spiel.openspiel import tree_from_game
from klss_spiel.tree import CHANCE, NO_ACTION, NO_PARENT, PLAYERS, TERMINAL, GameTree
from klss_spiel.tree_builder import assemble_tree
from klss_spiel.tree_checks import check_tree


@functools.lru_cache(maxsize=1)
def poker_tree(game: PokerGame) -> GameTree:
    """The tree of a game, of the kind that suits it."""
    if game.kind != CARDS:
        return ranks_tree(game)
    if game.hole_cards > 1:
        raise ValueError(
            f"expected one hole card or hands of at most {MOST_CARDS_WITHOUT_SUITS} cards with "
            f"one community card, got {game.hole_cards} and {game.board_cards} cards in {game.name}"
        )
    return tree_from_game(game.game_string, max_nodes=game_size(game).nodes)


def hand_strength(hand: tuple[int, ...], board: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of two hands the better one has the larger strength.

    More cards of one rank count first (three of a kind, two pairs, a pair, none), then
    the ranks of such groups, then those of the cards left over.

    Args:
      hand: ranks of the hole cards.
      board: rank of the community card.
    """
    cards = (*hand, board)
    if len(cards) > MOST_CARDS_WITHOUT_SUITS:
        raise ValueError(f"expected at most {MOST_CARDS_WITHOUT_SUITS} cards, got {len(cards)}")
    groups = sorted(((cards.count(rank), rank) for rank in set(cards)), reverse=True)
    return tuple(count for count, _ in groups), tuple(rank for _, rank in groups)


@dataclasses.dataclass(frozen=True, eq=False)
class RankDeals:
    """All ways to deal ranks to both players; H hands, D deals, r ranks.

    Attributes:
      hands: the ranks of each hand.
      hand: [2, D] the hand of each player.
      probability: [D] of each deal.
      left: [D, r] cards of each rank that are left for the board.
      strength: [H, r] place of a hand with a community card among all others.
    """

    hands: tuple[tuple[int, ...], ...]
    hand: IntArray
    probability: FloatArray
    left: IntArray
    strength: IntArray


def rank_deals(game: PokerGame) -> RankDeals:
    """The hands of a game, what they are worth and how likely two of them are dealt."""
    ranks = range(game.ranks)
    hands = tuple(
        hand
        for hand in itertools.combinations_with_replacement(ranks, game.hole_cards)
        if all(hand.count(rank) <= game.suits for rank in hand)
    )
    count = np.array([[hand.count(rank) for rank in ranks] for hand in hands])
    pair = np.indices((len(hands), len(hands))).reshape(2, -1)
    left = game.suits - count[pair[0]] - count[pair[1]]
    possible = np.all(left >= 0, axis=1)
    pair, left = pair[:, possible], left[possible]
    factorial = np.array([math.factorial(k) for k in range(game.suits + 1)], dtype=np.float64)
    # Of each rank, in how many ways its cards go to one, to the other and stay.
    shared = factorial[count[pair[0]]] * factorial[count[pair[1]]] * factorial[left]
    ways = np.prod(factorial[game.suits] / shared, axis=1)
    strengths = [[hand_strength(hand, rank) for rank in ranks] for hand in hands]
    place = {value: number for number, value in enumerate(sorted(set(itertools.chain(*strengths))))}
    return RankDeals(
        hands=hands,
        hand=pair,
        probability=ways / ways.sum(),
        left=left,
        strength=np.array([[place[value] for value in row] for row in strengths]),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Nodes:
    """Nodes of one depth, or all below the root, as columns of equal length.

    Attributes:
      parent: number of the node above in the whole tree.
      action: that led here; a rank if chance dealt the board.
      chance: probability of that, if it was chance's.
      deal: which deal it was.
      public: position in the betting.
      board: rank of the community card; the number of ranks before it is dealt.
    """

    parent: IntArray
    action: IntArray
    chance: FloatArray
    deal: IntArray
    public: IntArray
    board: IntArray


def _levels(game: PokerGame, public: tuple[PublicNode, ...], deals: RankDeals) -> list[_Nodes]:
    """The nodes below the root, depth by depth, children in the order of their parents."""
    is_chance = np.array([node.player == CHANCE for node in public])
    num_children = np.array([len(node.children) for node in public])
    first_child = np.cumsum(num_children) - num_children
    child = np.array([child for node in public for child in node.children])
    # Chance's one child stands for all boards, whose ranks are the actions.
    action_of = [node.actions or (NO_ACTION,) * len(node.children) for node in public]
    child_action = np.array(list(itertools.chain(*action_of)))
    deal_of_board, board = np.nonzero(deals.left)
    num_boards = np.bincount(deal_of_board, minlength=len(deals.left))
    first_board = np.cumsum(num_boards) - num_boards
    undealt = game.num_cards - 2 * game.hole_cards

    count = len(deals.probability)
    levels = [
        _Nodes(
            parent=np.zeros(count, dtype=np.int64),
            action=np.arange(count),
            chance=deals.probability,
            deal=np.arange(count),
            public=np.zeros(count, dtype=np.int64),
            board=np.full(count, game.ranks),
        )
    ]
    number_of_first = 1
    while True:
        last = levels[-1]
        deals_board = is_chance[last.public]
        width = np.where(deals_board, num_boards[last.deal], num_children[last.public])
        if not np.any(width):
            return levels
        above = np.repeat(np.arange(len(width)), width)
        nth = np.arange(len(above)) - np.repeat(np.cumsum(width) - width, width)
        by_chance = deals_board[above]
        edge = first_child[last.public[above]] + np.where(by_chance, 0, nth)
        deal = last.deal[above]
        dealt = board[np.where(by_chance, first_board[deal] + nth, 0)]
        levels.append(
            _Nodes(
                parent=number_of_first + above,
                action=np.where(by_chance, dealt, child_action[edge]),
                chance=np.where(by_chance, deals.left[deal, dealt] / undealt, 1.0),
                deal=deal,
                public=child[edge],
                board=np.where(by_chance, dealt, last.board[above]),
            )
        )
        number_of_first += len(width)


def ranks_tree(game: PokerGame) -> GameTree:
    """The tree that deals ranks instead of cards."""
    if game.board_cards != 1:
        raise ValueError(f"expected one community card, got {game.board_cards} in {game.name}")
    public = public_tree(game)
    deals = rank_deals(game)
    levels = _levels(game, public, deals)
    sizes = [1, *(len(level.parent) for level in levels)]
    nodes = _Nodes(
        **{
            field.name: np.concatenate([getattr(level, field.name) for level in levels])
            for field in dataclasses.fields(_Nodes)
        }
    )
    del levels
    player = np.array([node.player for node in public], dtype=np.int8)[nodes.public]
    infosets, labels = zip(*(_infosets(p, public, deals, nodes) for p in PLAYERS), strict=True)
    tree = assemble_tree(
        name=f"{game.name} by ranks",
        parent=np.concatenate([[NO_PARENT], nodes.parent]).astype(np.int32),
        action=np.concatenate([[NO_ACTION], nodes.action]).astype(np.int32),
        player=np.concatenate([[CHANCE], player]).astype(np.int8),
        chance=np.concatenate([[1.0], nodes.chance]),
        utility=np.concatenate([[0.0], _payoffs(game, public, deals, nodes)]),
        infoset=np.stack(infosets),
        level_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        labels=(labels[0], labels[1]),
    )
    check_tree(tree)
    return tree


def _payoffs(
    game: PokerGame, public: tuple[PublicNode, ...], deals: RankDeals, nodes: _Nodes
) -> FloatArray:
    """[N - 1] player 0's payoff at terminal nodes: the loser's stake."""
    board = np.minimum(nodes.board, game.ranks - 1)  # Without a board somebody has folded.
    mine, yours = (deals.strength[deals.hand[p, nodes.deal], board] for p in PLAYERS)
    folded = np.array([node.folded for node in public])[nodes.public]
    sign = np.where(folded == NO_ONE, np.sign(mine - yours), np.where(folded == 0, -1, 1))
    stake = np.array([min(node.paid) for node in public])[nodes.public]
    ends = np.array([node.player == TERMINAL for node in public])[nodes.public]
    payoffs: FloatArray = np.where(ends, sign * stake, 0).astype(np.float64)
    return payoffs


def _infosets(
    player: int, public: tuple[PublicNode, ...], deals: RankDeals, nodes: _Nodes
) -> tuple[IntArray, tuple[str, ...]]:
    """[N] a player's infosets in order of appearance, the root's first, and their labels.

    Everything but the opponent's hand is seen by everybody.
    """
    hand = deals.hand[player, nodes.deal]
    key = (hand * (nodes.board.max() + 1) + nodes.board) * len(public) + nodes.public
    number, _ = number_by_appearance(key)
    labels = [""]
    for at in first_places(number).tolist():
        here = public[nodes.public[at]]
        own = " ".join(str(card) for card in deals.hands[hand[at]])
        board = f"[board: {nodes.board[at]}]" if here.has_board else ""
        text = f"[player: {player}][hand: {own}]{board}[betting: {here.history}]"
        labels.append(text if here.player == player else "")
    return np.concatenate([[0], 1 + number]).astype(np.int32), tuple(labels)
