"""Random small games for property tests.

The mover of each ply, the number of actions and what the other player notices of
them are drawn per game. In an untimed game a player who notices nothing stays in
one infoset for several plies, the deals and moves of others included.
"""

import numpy as np

from klss_spiel.tree import CHANCE, NO_PARENT, TERMINAL, GameTree
from klss_spiel.tree_builder import TreeBuilder
from klss_spiel.tree_checks import check_tree

NOTHING = "-"


def random_tree(seed: int, timed: bool = True, plies: int = 3) -> GameTree:
    rng = np.random.default_rng(seed)
    outcomes = int(rng.integers(2, 5))
    deal = rng.dirichlet(np.ones(outcomes) * 3)
    signals = rng.integers(0, 2, size=(outcomes, 2))
    movers = [int(rng.integers(2)) for _ in range(plies)]
    if len(set(movers)) == 1:
        movers[int(rng.integers(plies))] ^= 1
    if rng.random() < 0.4:  # Another chance event in the middle.
        movers.insert(int(rng.integers(1, plies)), CHANCE)
    widths = rng.integers(2, 4, size=len(movers))
    # What each player notices of each action at each ply; -1 is nothing.
    notices = rng.integers(-1, 2, size=(len(movers), 3, 2))
    integral = rng.random() < 0.5

    builder = TreeBuilder(f"random game {seed}")

    def add(parent, action, ply, seen, chance):
        """`seen` is what each player has been told and has done."""
        if ply == len(movers):
            utility = float(rng.integers(-3, 4)) if integral else float(rng.normal())
            told = tuple(str((*s, "end")) for s in seen)
            builder.add_node(parent, action, TERMINAL, told, chance=chance, utility=utility)
            return
        mover = movers[ply]
        told = tuple(str(s) for s in seen)
        actions = range(int(widths[ply]))
        node = builder.add_node(
            parent, action, mover, told, () if mover == CHANCE else actions, chance=chance
        )
        chances = rng.dirichlet(np.ones(len(actions)) * 3)
        for a in actions:
            after = []
            for p in (0, 1):
                more = (f"t{ply}",) if timed else ()
                if mover == p:
                    more = (*more, f"a{ply}:{a}")
                elif notices[ply, a, p] >= 0:
                    more = (*more, f"o{ply}:{notices[ply, a, p]}")
                after.append((*seen[p], *more))
            add(node, a, ply + 1, tuple(after), chances[a] if mover == CHANCE else 1.0)

    root = builder.add_node(NO_PARENT, -1, CHANCE, ("root", "root"))
    for outcome in range(outcomes):
        seen = tuple((f"p{p}", f"s{signals[outcome, p]}") for p in (0, 1))
        add(root, outcome, 0, seen, deal[outcome])
    tree = builder.build()
    check_tree(tree)
    return tree
