"""Games and borders that several tests cut."""

import functools

from klss_spiel.algorithms.values.cuts import (
    cut_after_rounds,
    cut_after_turns,
    make_border,
)
from tests.helpers.games import tree_of as tree_of

DARK_CHESS = "python_dark_chess(board=minimal4x3,horizon=6)"
KRIEGSPIEL = "python_kriegspiel(board=minimal4x3,horizon=6,tries=possible)"


@functools.cache
def border_of(name):
    """kuhn, leduc, dark_2, dark_4 or kriegspiel, cut where the thesis and tests cut it."""
    if name == "kuhn":
        return make_border(tree_of("kuhn_poker"), 3)
    if name == "leduc":
        tree = tree_of("leduc_poker")
        return make_border(tree, cut_after_rounds(tree, 1))
    if name == "kriegspiel":
        tree = tree_of(KRIEGSPIEL)
        return make_border(tree, cut_after_turns(tree, 2))
    return make_border(tree_of(DARK_CHESS), {"dark_2": 2, "dark_4": 4}[name])
