"""The games of "Value Functions for Depth-Limited Solving in Zero-Sum IIGs"."""

import numpy as np

from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import treeplex_from_tree
from klss_spiel.tree import CHANCE, NO_ACTION, NO_PARENT, TERMINAL
from klss_spiel.tree_builder import TreeBuilder

END = ("the end", "the end")


def example_13():
    """Chance picks A or B, player 0 does not see it and picks L or R."""
    builder = TreeBuilder("example 13")
    root = builder.add_node(NO_PARENT, NO_ACTION, CHANCE, ("", ""))
    for outcome, payoffs in enumerate(((0, 1), (1, 0))):
        node = builder.add_node(root, outcome, 0, ("I", "-"), (0, 1), chance=0.5)
        for action in (0, 1):
            builder.add_node(node, action, TERMINAL, END, utility=payoffs[action])
    return builder.build()


def figure_1():
    """Both players trade the values of two histories off without seeing either."""
    builder = TreeBuilder("figure 1")
    root = builder.add_node(NO_PARENT, NO_ACTION, CHANCE, ("", ""))
    matrix = ((0, 1), (-1, 0))
    for outcome, sign in enumerate((1, -1)):
        first = builder.add_node(root, outcome, 0, ("I", "-"), (0, 1), chance=0.5)
        for x in (0, 1):
            second = builder.add_node(first, x, 1, (f"I{x}", "J"), (0, 1))
            for y in (0, 1):
                builder.add_node(second, y, TERMINAL, END, utility=sign * matrix[x][y])
    return builder.build()


def figure_2a():
    """Player 0 knows whether A or B came, player 1 chooses L or R without knowing."""
    builder = TreeBuilder("figure 2a")
    root = builder.add_node(NO_PARENT, NO_ACTION, CHANCE, ("", ""))
    for outcome, payoffs in enumerate(((0, 1), (1, 0))):
        node = builder.add_node(root, outcome, 1, ("AB"[outcome], "J"), (0, 1), chance=0.5)
        for action in (0, 1):
            builder.add_node(node, action, TERMINAL, END, utility=payoffs[action])
    return builder.build()


def figure_2b():
    """Player 1 prepares for A or B, chance picks one, player 0 sees what chance did."""
    builder = TreeBuilder("figure 2b")
    root = builder.add_node(NO_PARENT, NO_ACTION, 1, ("", "prepare"), (0, 1))
    for prepared in (0, 1):
        draw = builder.add_node(root, prepared, CHANCE, ("", f"for {prepared}"))
        for outcome in (0, 1):
            node = builder.add_node(
                draw, outcome, 0, ("AB"[outcome], f"for {prepared}"), (0,), chance=0.5
            )
            builder.add_node(node, 0, TERMINAL, END, utility=float(prepared != outcome))
    return builder.build()


def figure_2c():
    """Player 0 plays L for 1, or R, after which player 1 plays G (0) or B (1)."""
    builder = TreeBuilder("figure 2c")
    root = builder.add_node(NO_PARENT, NO_ACTION, 0, ("start", ""), (0, 1))
    left = builder.add_node(root, 0, 1, ("L", "after L"), (0,))
    right = builder.add_node(root, 1, 1, ("R", "X"), (0, 1))
    builder.add_node(left, 0, TERMINAL, END, utility=1)
    builder.add_node(right, 0, TERMINAL, END, utility=0)
    builder.add_node(right, 1, TERMINAL, END, utility=1)
    return builder.build()


def nonconvex_at_zero_ranges():
    """Player 0 plays a, b or d, player 1 l or r unaware of it; after b player 0 guesses."""
    builder = TreeBuilder("not convex")
    root = builder.add_node(NO_PARENT, NO_ACTION, 0, ("start", ""), (0, 1, 2))
    for move, name in enumerate("abd"):
        node = builder.add_node(root, move, 1, (name, "J"), (0, 1))
        for answer in (0, 1):
            if name == "b":
                guess = builder.add_node(node, answer, 0, ("guess", f"J{answer}"), (0, 1))
                for action in (0, 1):
                    builder.add_node(guess, action, TERMINAL, END, utility=action == answer)
            else:
                builder.add_node(
                    node, answer, TERMINAL, END, utility=float(name == "d" and answer == 0)
                )
    return builder.build()


def theorem_12(reach, repaired):
    """The proof's game: histories h_0 to h_n (n odd) in a chain of shared infosets.

    Player 0 cannot tell h_0 from h_1, h_2 from h_3, ...; player 1 cannot tell h_1 from
    h_2, h_3 from h_4, ...; all but the last lead to matching pennies, the last to a free
    choice of player 0. Chance's probabilities are proportional to `reach`; `repaired`
    divides the payoffs below each history by its reach.
    """
    builder = TreeBuilder("theorem 12")
    root = builder.add_node(NO_PARENT, NO_ACTION, CHANCE, ("", ""))
    last = len(reach) - 1
    for i, probability in enumerate(np.asarray(reach) / np.sum(reach)):
        unit = 1.0 / reach[i] if repaired else 1.0
        names = (f"I{i // 2}", f"J{(i + 1) // 2}")
        first = builder.add_node(root, i, 0, names, (0, 1), chance=probability)
        for x in (0, 1):
            if i == last:
                builder.add_node(first, x, TERMINAL, END, utility=unit * x)
                continue
            second = builder.add_node(first, x, 1, (names[0] + f"{x}", names[1] + "move"), (0, 1))
            for y in (0, 1):
                builder.add_node(second, y, TERMINAL, END, utility=unit * (x == y))
    return builder.build()


def different_trembles():
    """Player 1 ends the game, or comes to player 0's one infoset by one move or by two."""
    builder = TreeBuilder("trembles")
    root = builder.add_node(NO_PARENT, NO_ACTION, 1, ("", "first"), (0, 1, 2))
    builder.add_node(root, 0, TERMINAL, END)
    near = builder.add_node(root, 1, 0, ("I", "near"), (0,))
    detour = builder.add_node(root, 2, 1, ("", "second"), (0, 1))
    builder.add_node(near, 0, TERMINAL, END, utility=1)
    builder.add_node(detour, 0, TERMINAL, END)
    far = builder.add_node(detour, 1, 0, ("I", "far"), (0,))
    builder.add_node(far, 0, TERMINAL, END, utility=3)
    return builder.build()


def sparse_policy(tree, rng, share=0.4):
    """A random policy in which about this share of the actions is never played."""
    drawn = BehaviorPolicy.random(tree, rng)
    sparse = []
    for p in (0, 1):
        treeplex = treeplex_from_tree(tree, p)
        probabilities = np.where(rng.random(treeplex.num_sequences) < share, 0, 1.0)
        probabilities *= drawn.probabilities[p]
        empty = treeplex.infoset_sums(probabilities) == 0
        probabilities[treeplex.first_sequence[empty]] = 1.0
        sums = treeplex.infoset_sums(probabilities)
        probabilities[1:] /= sums[treeplex.sequence_infoset[1:]]
        probabilities[0] = 1.0
        sparse.append(probabilities)
    return BehaviorPolicy(tree, (sparse[0], sparse[1]))
