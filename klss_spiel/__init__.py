"""Search in imperfect-information games without common knowledge, for OpenSpiel.

Importing the package registers its games with OpenSpiel and nothing more: each of the
names below is imported when it is first used, and jax and numba with those that need
them.

    import klss_spiel as ks

Games as arrays. Any two-player zero-sum OpenSpiel game of perfect recall:

    >>> import klss_spiel as ks
    >>> tree = ks.tree_from_game("kuhn_poker")
    >>> tree
    <GameTree kuhn_poker(): 58 nodes, 12 decision infosets, depth 5>

Solving them. A tree, a game or its name will do wherever a sequence form is asked for;
strategies of both players are a `ks.BehaviorPolicy`:

    >>> print(f"{ks.solve_lp(tree).value:.6f}")  # exactly
    -0.055556
    >>> blueprint = ks.cfr.solve(tree, iterations=100).policy  # CFR+; `ks.regret` has others
    >>> ks.exploitability(blueprint) < 0.01
    True

Subgame solving. `ks.recipes` holds the methods as values, `ks.refine` applies one over
a whole game, `ks.build_subgame` at one infoset, `ks.SubgameBot` while it plays:

    >>> refined = ks.refine(blueprint, ks.recipes.MAXMARGIN).policy  # player 0's side
    >>> ks.exploitability(refined) <= ks.exploitability(blueprint)
    True

Search without a tree. `ks.SearchBot` plays any game; `ks.search_policy` tabulates what
it plays in a small one; `ks.play_match` lets players named by a text meet; evaluators of
unfinished positions are functions, or names for `ks.make_evaluator`:

    >>> bot = ks.SearchBot("kuhn_poker", player=0, budget=ks.Budget(nodes=100))
    >>> match = ks.Match("kuhn_poker", players=("search(nodes=50)", "random"), games=2)
    >>> results = ks.play_match(match)

Values. `ks.make_border` cuts a game, `ks.optimal_values` says what it is worth there for
any `ks.ranges`, `ks.solve_trunk` solves what is above by CFR-D with a value function such
as `ks.Bottoms`, `ks.ResolvingBot` re-solves while it plays:

    >>> leduc = ks.tree_from_game("leduc_poker")
    >>> border = ks.make_border(leduc, ks.cut_after_rounds(leduc, 1))
    >>> trunk = ks.solve_trunk(border, ks.Bottoms(border, 5, warm=True), 100)
    >>> ks.trunk_exploitability(border, trunk.average_behavior) < 0.01
    True

OpenSpiel's side. `ks.load_game` is `pyspiel.load_game` with better errors,
`ks.policy_to_openspiel` and `ks.policy_from_openspiel` convert policies, `ks.check_game`
tests anybody's game, `ks.render` shows a state as one player sees it:

    >>> state = ks.load_game("python_dark_chess(board=microchess)").new_initial_state()
    >>> print(ks.render(state, player=0))
    5 ? ? ? ?
    4 p ? ? .
    3 . . ? .
    2 . ? . P
    1 R B N K
      a b c d
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from klss_spiel import games as games

if TYPE_CHECKING:
    # The same names as in _HOME, for type checkers and editors.
    from klss_spiel.algorithms import cfr as cfr
    from klss_spiel.algorithms import knowledge as knowledge
    from klss_spiel.algorithms import regret as regret
    from klss_spiel.algorithms.approximate_best_response import (
        ResponseSettings as ResponseSettings,
    )
    from klss_spiel.algorithms.approximate_best_response import (
        approximate_best_response as approximate_best_response,
    )
    from klss_spiel.algorithms.approximate_best_response import (
        evaluate_response as evaluate_response,
    )
    from klss_spiel.algorithms.approximate_best_response import (
        exploitability_bound as exploitability_bound,
    )
    from klss_spiel.algorithms.search.bot import SearchBot as SearchBot
    from klss_spiel.algorithms.search.policy import search_policy as search_policy
    from klss_spiel.algorithms.search.settings import OBSCURO as OBSCURO
    from klss_spiel.algorithms.search.settings import ZS21 as ZS21
    from klss_spiel.algorithms.search.settings import SearchSettings as SearchSettings
    from klss_spiel.algorithms.subgame import recipes as recipes
    from klss_spiel.algorithms.subgame import solvers as solvers
    from klss_spiel.algorithms.subgame.affine import (
        affine_equilibrium_gap as affine_equilibrium_gap,
    )
    from klss_spiel.algorithms.subgame.bot import SubgameBot as SubgameBot
    from klss_spiel.algorithms.subgame.recipes import SubgameRecipe as SubgameRecipe
    from klss_spiel.algorithms.subgame.refine import Refinement as Refinement
    from klss_spiel.algorithms.subgame.refine import Schedule as Schedule
    from klss_spiel.algorithms.subgame.refine import refine as refine
    from klss_spiel.algorithms.subgame.subgame import Subgame as Subgame
    from klss_spiel.algorithms.subgame.subgame import SubgameBuilder as SubgameBuilder
    from klss_spiel.algorithms.subgame.subgame import build_subgame as build_subgame
    from klss_spiel.algorithms.values.bot import ResolvingBot as ResolvingBot
    from klss_spiel.algorithms.values.bottoms import Bottoms as Bottoms
    from klss_spiel.algorithms.values.completion import trunk_exploitability as trunk_exploitability
    from klss_spiel.algorithms.values.cuts import cut_after_rounds as cut_after_rounds
    from klss_spiel.algorithms.values.cuts import make_border as make_border
    from klss_spiel.algorithms.values.depth_limited import solve_trunk as solve_trunk
    from klss_spiel.algorithms.values.optimal import optimal_values as optimal_values
    from klss_spiel.algorithms.values.ranges import ranges as ranges
    from klss_spiel.best_response import best_response_to as best_response_to
    from klss_spiel.best_response import exploitability as exploitability
    from klss_spiel.best_response import loss_of_player as loss_of_player
    from klss_spiel.best_response import nash_conv as nash_conv
    from klss_spiel.budget import Budget as Budget
    from klss_spiel.budget import Clock as Clock
    from klss_spiel.evaluators import make_evaluator as make_evaluator
    from klss_spiel.games.rendering import render as render
    from klss_spiel.linear_program import solve as _solve
    from klss_spiel.matches.match import Match as Match
    from klss_spiel.matches.match import play_match as play_match
    from klss_spiel.openspiel import load_game as load_game
    from klss_spiel.openspiel import policy_from_openspiel as policy_from_openspiel
    from klss_spiel.openspiel import policy_to_function as policy_to_function
    from klss_spiel.openspiel import policy_to_openspiel as policy_to_openspiel
    from klss_spiel.openspiel import policy_to_pyspiel as policy_to_pyspiel
    from klss_spiel.openspiel import tree_from_game as tree_from_game
    from klss_spiel.policy import BehaviorPolicy as BehaviorPolicy
    from klss_spiel.sequence_form import SequenceForm as SequenceForm
    from klss_spiel.sequence_form import sequence_form_from_tree as sequence_form_from_tree
    from klss_spiel.testing import check_game as check_game
    from klss_spiel.tree import GameTree as GameTree
    from klss_spiel.tree_builder import TreeBuilder as TreeBuilder

    solve_lp = _solve

__version__ = "0.1.0"

# Where each public name lives: a module, or a name in a module after a colon.
_HOME = {
    "OBSCURO": "algorithms.search.settings:OBSCURO",
    "ZS21": "algorithms.search.settings:ZS21",
    "BehaviorPolicy": "policy:BehaviorPolicy",
    "Bottoms": "algorithms.values.bottoms:Bottoms",
    "Budget": "budget:Budget",
    "Clock": "budget:Clock",
    "GameTree": "tree:GameTree",
    "Match": "matches.match:Match",
    "Refinement": "algorithms.subgame.refine:Refinement",
    "ResolvingBot": "algorithms.values.bot:ResolvingBot",
    "ResponseSettings": "algorithms.approximate_best_response:ResponseSettings",
    "Schedule": "algorithms.subgame.refine:Schedule",
    "SearchBot": "algorithms.search.bot:SearchBot",
    "SearchSettings": "algorithms.search.settings:SearchSettings",
    "SequenceForm": "sequence_form:SequenceForm",
    "Subgame": "algorithms.subgame.subgame:Subgame",
    "SubgameBot": "algorithms.subgame.bot:SubgameBot",
    "SubgameBuilder": "algorithms.subgame.subgame:SubgameBuilder",
    "SubgameRecipe": "algorithms.subgame.recipes:SubgameRecipe",
    "TreeBuilder": "tree_builder:TreeBuilder",
    "affine_equilibrium_gap": "algorithms.subgame.affine:affine_equilibrium_gap",
    "approximate_best_response": "algorithms.approximate_best_response:approximate_best_response",
    "best_response_to": "best_response:best_response_to",
    "build_subgame": "algorithms.subgame.subgame:build_subgame",
    "cfr": "algorithms.cfr",
    "check_game": "testing:check_game",
    "cut_after_rounds": "algorithms.values.cuts:cut_after_rounds",
    "evaluate_response": "algorithms.approximate_best_response:evaluate_response",
    "exploitability": "best_response:exploitability",
    "exploitability_bound": "algorithms.approximate_best_response:exploitability_bound",
    "knowledge": "algorithms.knowledge",
    "load_game": "openspiel:load_game",
    "loss_of_player": "best_response:loss_of_player",
    "make_border": "algorithms.values.cuts:make_border",
    "make_evaluator": "evaluators:make_evaluator",
    "nash_conv": "best_response:nash_conv",
    "optimal_values": "algorithms.values.optimal:optimal_values",
    "play_match": "matches.match:play_match",
    "policy_from_openspiel": "openspiel:policy_from_openspiel",
    "policy_to_function": "openspiel:policy_to_function",
    "policy_to_openspiel": "openspiel:policy_to_openspiel",
    "policy_to_pyspiel": "openspiel:policy_to_pyspiel",
    "ranges": "algorithms.values.ranges:ranges",
    "recipes": "algorithms.subgame.recipes",
    "refine": "algorithms.subgame.refine:refine",
    "regret": "algorithms.regret",
    "render": "games.rendering:render",
    "search_policy": "algorithms.search.policy:search_policy",
    "sequence_form_from_tree": "sequence_form:sequence_form_from_tree",
    "solve_lp": "linear_program:solve",
    "solve_trunk": "algorithms.values.depth_limited:solve_trunk",
    "solvers": "algorithms.subgame.solvers",
    "tree_from_game": "openspiel:tree_from_game",
    "trunk_exploitability": "algorithms.values.completion:trunk_exploitability",
}

__all__ = [*_HOME, "games"]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module_name, _, attribute = _HOME[name].partition(":")
    value = importlib.import_module(f"{__name__}.{module_name}")
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for `dir` and tab completion, besides what is loaded already."""
    return sorted({*globals(), *__all__})
