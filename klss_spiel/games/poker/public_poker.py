"""The poker games of `leduc_family` as public trees times hands.

Leduc hands are multisets of ranks with the probabilities that cards give them (see
`rank_trees`): Leduc(2,13,3) has 442 of them, 13 boards and 985 public states. Pairs of
hands are matrices there; the cards that block each other are in the probabilities.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.games.poker.leduc_family import NO_ONE, PokerGame, PublicNode, public_tree
from klss_spiel.games.poker.rank_trees import rank_deals
from klss_spiel.hand_payoffs import HandOutcomes, MatrixPairs, join_outcomes
from klss_spiel.public_game import FIRST_STAGE, NO_SPOT, Closure, PublicGame, Spot, Stage
from klss_spiel.tree import CHANCE, EMPTY_SEQUENCE, PLAYERS, TERMINAL


def leduc_public_game(game: PokerGame) -> PublicGame:
    """A game of one community card and hands by ranks."""
    if game.board_cards != 1:
        raise ValueError(f"expected one community card, got {game.board_cards} in {game.name}")
    deals = rank_deals(game)
    count = len(deals.hands)
    pair = np.zeros((count, count))
    pair[deals.hand[0], deals.hand[1]] = deals.probability
    names = tuple(" ".join(str(rank) for rank in hand) for hand in deals.hands)
    # Before the board nobody shows his hand.
    unordered = MatrixPairs(pair, np.zeros_like(pair))
    stages = [Stage("", unordered, np.arange(count), names)]
    for rank in range(game.ranks):
        board = np.zeros((count, count))
        left = deals.left[:, rank] / (game.num_cards - 2 * game.hole_cards)
        board[deals.hand[0], deals.hand[1]] = deals.probability * left
        possible = np.flatnonzero(board.any(axis=1))
        pairs = MatrixPairs.of_strengths(
            board[np.ix_(possible, possible)], deals.strength[possible, rank]
        )
        stages.append(Stage(str(rank), pairs, possible, tuple(names[h] for h in possible)))
    return assemble(f"{game.name} by hands", public_tree(game), stages)


@dataclasses.dataclass(frozen=True)
class _Came:
    """A player's last sequence before a public state: of which spot and action."""

    spot: int = NO_SPOT
    action: int = 0


class _Assembler:
    """Walks the betting once per stage and numbers sequences. Mutable."""

    def __init__(self, betting: Sequence[PublicNode], stages: Sequence[Stage]) -> None:
        self.betting = betting
        self.stages = stages
        self.spots: list[Spot] = []
        self.next_sequence = [EMPTY_SEQUENCE + 1, EMPTY_SEQUENCE + 1]
        # Betting nodes after which public cards come, with how both players got there.
        self.deals: list[tuple[int, tuple[_Came, _Came]]] = []
        self._ones: dict[int, FloatArray] = {}

    def walk(self, root: int, stage: int, came: tuple[_Came, _Came]) -> HandOutcomes:
        """All spots and outcomes of a stage at or below a betting node, parents first."""
        ends: list[tuple[int, tuple[_Came, _Came]]] = []
        waiting = [(root, came)]
        for number, ways in waiting:
            node = self.betting[number]
            if node.player == TERMINAL:
                ends.append((number, ways))
            elif node.player == CHANCE:
                self.deals.append((node.children[0], ways))
            else:
                spot = self._add(node, stage, ways[node.player])
                for action, child in enumerate(node.children):
                    after = list(ways)
                    after[node.player] = _Came(spot, action)
                    waiting.append((child, (after[0], after[1])))
        return self._outcomes(stage, ends)

    def _add(self, node: PublicNode, stage: int, came: _Came) -> int:
        p = node.player
        hands = self.stages[stage].num_hands
        self.spots.append(
            Spot(p, stage, node.history, node.actions, self.next_sequence[p], *_pair(came))
        )
        self.next_sequence[p] += hands * len(node.actions)
        return len(self.spots) - 1

    def _outcomes(
        self, stage: int, ends: Sequence[tuple[int, tuple[_Came, _Came]]]
    ) -> HandOutcomes:
        ends = sorted(ends, key=lambda end: self.betting[end[0]].folded == NO_ONE)
        nodes = [self.betting[number] for number, _ in ends]
        starts, strides = [], []
        for p in PLAYERS:
            place = [self._place(stage, ways[p]) for _, ways in ends]
            starts.append(np.array([start for start, _ in place], dtype=np.int64))
            strides.append(np.array([stride for _, stride in place], dtype=np.int64))
        ones = self._ones.setdefault(stage, np.ones((1, self.stages[stage].num_hands)))
        return HandOutcomes(
            pairs=self.stages[stage].pairs,
            num_folds=sum(node.folded != NO_ONE for node in nodes),
            stake=np.array([_stake(node) for node in nodes], dtype=np.float64),
            start=(starts[0], starts[1]),
            stride=(strides[0], strides[1]),
            scale=(ones, ones),
        )

    def _place(self, stage: int, came: _Came) -> tuple[int, int]:
        """First sequence and stride over hands."""
        if came.spot == NO_SPOT:
            return EMPTY_SEQUENCE, 0
        spot = self.spots[came.spot]
        if spot.stage != stage:
            raise ValueError("expected both players to move after public cards")
        return spot.first_sequence + came.action, len(spot.actions)


def _pair(came: _Came) -> tuple[int, int]:
    return came.spot, came.action


def _stake(node: PublicNode) -> float:
    """What player 0 gets by a fold, or what a better hand wins."""
    stake = float(min(node.paid))
    return -stake if node.folded == PLAYERS[0] else stake


def assemble(name: str, betting: Sequence[PublicNode], stages: Sequence[Stage]) -> PublicGame:
    """A game of two rounds.

    Args:
      name: of the game.
      betting: as `public_tree` has it; folds need not be sorted.
      stages: without public cards, then each board.
    """
    walker = _Assembler(betting, stages)
    outcomes = [walker.walk(0, FIRST_STAGE, (_Came(), _Came()))]
    deals, walker.deals = walker.deals, []
    closures = []
    for stage in range(FIRST_STAGE + 1, len(stages)):
        of_stage = []
        for node, came in deals:
            begin, first_spot = tuple(walker.next_sequence), len(walker.spots)
            ends = walker.walk(node, stage, came)
            closures.append(
                Closure(
                    stage=stage,
                    history=betting[node].history,
                    spots=tuple(range(first_spot, len(walker.spots))),
                    begin=(begin[0], begin[1]),
                    end=(walker.next_sequence[0], walker.next_sequence[1]),
                    outcomes=ends,
                )
            )
            of_stage.append(ends)
        outcomes.append(join_outcomes(of_stage))
    return PublicGame(
        name=name,
        stages=tuple(stages),
        spots=tuple(walker.spots),
        outcomes=tuple(outcomes),
        closures=tuple(closures),
    )
