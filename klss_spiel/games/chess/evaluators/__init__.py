"""Values of unfinished chess positions, added to the package's list by name.

Importing this package is light: kernels are imported when an evaluator is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from klss_spiel.evaluators import EVALUATORS, STATES, Evaluator, make_evaluator
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.kriegspiel_play import KriegspielSetup, Tries
from klss_spiel.specification import Specification, Value

if TYPE_CHECKING:
    from klss_spiel.games.chess.evaluators.packed_evaluation import PackedEvaluation

# Of a game for which none is chosen. What the resolver asks depends on the board: see
# `default_inner`.
DEFAULT: Final = "resolver"


def dark_chess_setup(game: Any, name: str) -> DarkChessSetup:
    """The setup of a game that is dark chess on packed positions; else ValueError."""
    setup = packed_setup(game, name)
    if not isinstance(setup, DarkChessSetup):
        raise ValueError(f"expected python_dark_chess for the evaluator {name}, got {game}")
    return setup


def packed_setup(game: Any, name: str) -> DarkChessSetup | KriegspielSetup:
    """The setup of a chess game that is searched on packed positions; else ValueError."""
    setup = getattr(game, "setup", None)
    if isinstance(setup, DarkChessSetup) and setup.variant.observe_every_ply:
        return setup
    if isinstance(setup, KriegspielSetup) and setup.tries is Tries.ALL:
        return setup
    raise ValueError(
        "expected python_dark_chess with views after every ply or python_kriegspiel with all "
        f"tries for the evaluator {name}, got {game}"
    )


def default_static(width: int, height: int) -> str:
    """What says who is better if nothing is said: the network on the board it was made for."""
    return "network" if (width, height) == (8, 8) else "handmade"


def default_inner(setup: DarkChessSetup | KriegspielSetup) -> str:
    """What `resolver` asks if nothing is said: in Kriegspiel, how to mate a bare king, too."""
    static = default_static(setup.start.width, setup.start.height)
    is_standard_kriegspiel = isinstance(setup, KriegspielSetup) and static == "network"
    return "hunt" if is_standard_kriegspiel else static


def _make_handmade(game: Any) -> Evaluator:
    from klss_spiel.games.chess.evaluators.handmade import handmade_evaluator

    return handmade_evaluator(packed_setup(game, "handmade"))


def _make_simple(game: Any) -> Evaluator:
    from klss_spiel.games.chess.evaluators.simple import simple_evaluator

    return simple_evaluator(packed_setup(game, "simple"))


def _make_network(game: Any, path: str | None = None) -> Evaluator:
    """The package's own network, or that of a file; 8x8 only."""
    from klss_spiel.games.chess.evaluators.neural import network_evaluator

    return network_evaluator(packed_setup(game, "network"), path)


def _make_nnue(game: Any, path: str, scale: float | None = None) -> Evaluator:
    """A network of a chess program, of the kind HalfKAv2_hm; 8x8 only."""
    from klss_spiel.games.chess.evaluators.neural import nnue_evaluator
    from klss_spiel.games.chess.networks.nnue import SCALE

    setup = packed_setup(game, "nnue")
    return nnue_evaluator(setup, path, SCALE if scale is None else scale)


def _make_resolver(
    game: Any, inner: Value | Specification | None = None, node_limit: int | None = None
) -> Evaluator:
    """Resolves captures first, then asks `inner` (see `default_inner`) once."""
    from klss_spiel.games.chess.evaluators.packed_evaluation import on_positions
    from klss_spiel.games.chess.evaluators.resolver import NODE_LIMIT, resolver

    setup = packed_setup(game, "resolver")
    limit = NODE_LIMIT if node_limit is None else node_limit
    inner = default_inner(setup) if inner is None else inner
    return on_positions("resolver", resolver(_asked(game, setup, "resolver", inner), limit), setup)


def _make_hunt(game: Any, inner: Value | Specification | None = None) -> Evaluator:
    """How near a bare king is to being mated; what else there is says `inner`."""
    from klss_spiel.games.chess.evaluators.hunt import Hunt
    from klss_spiel.games.chess.evaluators.packed_evaluation import on_positions

    setup = packed_setup(game, "hunt")
    if inner is None:
        inner = default_static(setup.start.width, setup.start.height)
    return on_positions("hunt", Hunt(_asked(game, setup, "hunt", inner)), setup)


def _asked(
    game: Any, setup: DarkChessSetup | KriegspielSetup, name: str, inner: Value | Specification
) -> PackedEvaluation:
    """What the evaluator `name` asks about boards; ValueError if it looks at states."""
    from klss_spiel.games.chess.evaluators.packed_evaluation import on_boards

    evaluator = make_evaluator(game, Specification.nested(inner))
    if evaluator.positions == STATES:
        raise ValueError(f"expected an evaluator of packed positions in {name}, got {inner}")
    return on_boards(evaluator, setup)


def _make_alphabeta(game: Any, depth: int = 3, nodes: int = 20_000) -> Evaluator:
    """Searches each position as if everything could be seen."""
    from klss_spiel.games.chess.evaluators.alphabeta import alphabeta_evaluator

    return alphabeta_evaluator(packed_setup(game, "alphabeta"), depth, nodes)


def _make_uci(
    game: Any,
    command: str,
    depth: int | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    deadline: float | None = None,
) -> Evaluator:
    """Asks a program of ordinary chess; one ply deep unless something else is said."""
    from klss_spiel.games.chess.evaluators.uci import SECONDS_TO_THINK, uci_evaluator

    if depth is None and nodes is None and seconds is None:
        depth = 1
    longest = SECONDS_TO_THINK if deadline is None else deadline
    return uci_evaluator(dark_chess_setup(game, "uci"), command, depth, nodes, seconds, longest)


EVALUATORS.register("alphabeta", _make_alphabeta)
EVALUATORS.register("handmade", _make_handmade)
EVALUATORS.register("hunt", _make_hunt)
EVALUATORS.register("network", _make_network)
EVALUATORS.register("nnue", _make_nnue)
EVALUATORS.register("resolver", _make_resolver)
EVALUATORS.register("simple", _make_simple)
EVALUATORS.register("uci", _make_uci)
