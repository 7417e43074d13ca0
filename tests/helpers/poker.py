"""A poker game twice: as a tree by ranks and as a public tree times hands."""

import numpy as np

from klss_spiel.games.poker.leduc_family import leduc
from klss_spiel.games.poker.public_poker import leduc_public_game
from klss_spiel.games.poker.rank_trees import ranks_tree
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import PLAYERS


class TwoLayouts:
    """Leduc(suits, ranks, hole cards) in both layouts, with a random policy."""

    def __init__(self, suits, ranks, hole_cards, seed=0):
        self.game = leduc(suits, ranks, hole_cards)
        self.public = leduc_public_game(self.game)
        self.tree = ranks_tree(self.game)
        self.form = sequence_form_from_tree(self.tree)
        # For each player, the tree's number of each sequence of the public game.
        self.numbers = tuple(self._numbers(p) for p in PLAYERS)
        self.policy = BehaviorPolicy.random(self.tree, np.random.default_rng(seed))

    def _numbers(self, player):
        numbers = np.zeros(self.public.form.treeplexes[player].num_sequences, dtype=np.int64)
        infosets = self.tree.infosets[player]
        for spot in self.public.spots:
            if spot.player != player:
                continue
            for hand in range(self.public.stages[spot.stage].num_hands):
                infoset = infosets.index_of_label[self.public.label(spot, hand)]
                count = len(spot.actions)
                first = spot.first_sequence + hand * count
                old = infosets.sequences(infoset)
                assert infosets.actions(infoset).tolist() == list(spot.actions)
                numbers[first : first + count] = np.arange(old.start, old.stop)
        return numbers

    def behaviors(self, policy):
        """A policy of the tree in the public game."""
        return tuple(policy.probabilities[p][self.numbers[p]] for p in PLAYERS)

    def on_tree(self, behaviors):
        """The other way round."""
        probabilities = []
        for p in PLAYERS:
            of_tree = np.ones(len(self.numbers[p]))
            of_tree[self.numbers[p]] = behaviors[p]
            probabilities.append(of_tree)
        return BehaviorPolicy(self.tree, tuple(probabilities))
