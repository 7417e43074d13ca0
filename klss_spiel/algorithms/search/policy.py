"""Strategies found by searching, as policies on the tree of a small game.

`policy` tabulates what a searching player does at every infoset it can be in,
by searching there after the searches that lead there. Its exploitability is that of
the search agent itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.search import Search
from klss_spiel.algorithms.search.settings import Iterate, SearchSettings
from klss_spiel.arrays import FloatArray
from klss_spiel.budget import Budget
from klss_spiel.openspiel import load_game, tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.progress import Progress
from klss_spiel.search_game import SearchGame
from klss_spiel.tree import EMPTY_SEQUENCE, NO_INFOSET, PLAYERS, GameTree


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


def search_policy(
    game: Any,
    settings: SearchSettings,
    budget: Budget,
    seed: int = 0,
    searched: SearchGame | None = None,
    tree: GameTree | None = None,
) -> BehaviorPolicy:
    """What a `SearchPlayer` on either side plays at every infoset of a small game.

    Each infoset is searched after the player has been through all his earlier decisions
    on the way there, so the time needed is that of one search per infoset.

    Args:
      game: a `pyspiel.Game` or a game string; small enough to be enumerated.
      settings: how to search.
      budget: of each decision.
      seed: of the random choices.
      searched: the game as the search sees it; by default `search_game(game)`.
      tree: the game's tree, if it is at hand.
    """
    if isinstance(game, str):
        game = load_game(game)
    tree = tree_from_game(game) if tree is None else tree
    searched = search_game(game) if searched is None else searched
    progress = Progress("searching infosets", tree.num_decision_infosets)
    first, second = (
        _tabulate(tree, SearchPlayer(searched, p, settings, budget, seed), progress)
        for p in PLAYERS
    )
    return BehaviorPolicy(tree, (first, second))


def _tabulate(tree: GameTree, player: SearchPlayer, progress: Progress) -> FloatArray:
    """[S] one player's probabilities, depth first, so that few searches are alive."""
    infosets = tree.infosets[player.player]
    following: dict[int, list[int]] = {}
    for infoset in infosets.decisions.tolist():
        following.setdefault(int(infosets.parent_sequence[infoset]), []).append(infoset)
    probabilities = np.ones(infosets.num_sequences)
    waiting = [(infoset, player) for infoset in reversed(following.get(EMPTY_SEQUENCE, []))]
    done = 0
    while waiting:
        infoset, before = waiting.pop()
        own = infosets.sequences(infoset)
        label = infosets.labels[infoset]
        here = before.fork()
        probabilities[own] = here.decide(label, infosets.actions(infoset).tolist()).probabilities
        # The opening is searched once for all.
        player.share_opening(here)
        for sequence in range(own.start, own.stop):
            later = following.get(sequence, [])
            if later:
                after = here.fork()
                after.record_action(label, int(infosets.sequence_action[sequence]))
                waiting.extend((infoset, after) for infoset in later)
        done += 1
        progress.update(done)
    return probabilities
