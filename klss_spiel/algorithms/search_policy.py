"""Strategies found by searching, as policies on the tree of a small game."""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.search import Search
from klss_spiel.algorithms.search_settings import Iterate
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.tree import NO_INFOSET, PLAYERS, GameTree


def policy_of_search(search: Search, tree: GameTree, play: Iterate) -> BehaviorPolicy:
    """The strategies of both players on a search's tree.

    Args:
      search: a search from the start of the game.
      tree: the whole game.
      play: the last iterate or the average.

    Returns:
      The policy; uniform at infosets that the search has not expanded.
    """
    probabilities = []
    uniform = BehaviorPolicy.uniform(tree)
    for player in PLAYERS:
        known = search.tree.infosets[player]
        if play == Iterate.AVERAGE:
            behavior = search.tree.average(player)
        else:
            behavior = search.tree.sequences[player].strategy
        row = uniform.probabilities[player].copy()
        for label, infoset in tree.infosets[player].index_of_label.items():
            for identifier in search.game.infosets(player, label):
                found = search.tree.infoset_of(player, int(identifier))
                if found != NO_INFOSET:
                    first = int(known.first_sequence[found])
                    count = int(known.num_actions[found])
                    row[tree.infosets[player].sequences(infoset)] = behavior[first : first + count]
        probabilities.append(np.asarray(row))
    return BehaviorPolicy(tree, (probabilities[0], probabilities[1]))
