"""What a searching player plays: the strategy that was found, with few actions mixed."""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.search.search import Search
from klss_spiel.arrays import FloatArray


def play_probabilities(search: Search, infoset: int) -> FloatArray:
    """Probabilities to play at an own infoset, purified as the settings say.

    Obscuro, 3.5, C.8 and Figure 8: the likeliest action always counts; others count if
    the strategy is safe (`Search.safe`), if they were played in every iteration
    since half the budget was spent, and if they are among the likeliest `max_support`.
    The mass of all others goes to the likeliest.
    """
    tree, settings, player = search.tree, search.settings, search.tree.player
    first = int(tree.infosets[player].first_sequence[infoset])
    own = slice(first, first + int(tree.infosets[player].num_actions[infoset]))
    probabilities = search.behavior(player)[own]
    if not settings.purification:
        return probabilities
    best = int(np.argmax(probabilities))
    allowed = np.zeros(len(probabilities), dtype=np.bool_)
    if search.safe:
        stable = tree.sequences[player].last_absent[own] <= search.halfway
        candidates = np.flatnonzero(stable & (probabilities > 0.0))
        candidates = candidates[candidates != best]
        likeliest = candidates[np.argsort(-probabilities[candidates], kind="stable")]
        allowed[likeliest[: settings.max_support - 1]] = True
    allowed[best] = True
    played = np.where(allowed, probabilities, 0.0)
    played[best] += probabilities[~allowed].sum()
    purified: FloatArray = played / played.sum()
    return purified
