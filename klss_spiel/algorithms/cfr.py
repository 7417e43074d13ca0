"""Counterfactual regret minimisation on the sequence form.

One loop for full games, gadgets and depth-limited trees. An iteration needs no
interior histories: payoffs of all sequences are one product with the opponent's
realization plan, and only a player's own infosets are passed through, once
bottom-up for values and once top-down for the new plan.

CFR (Zinkevich et al. 2007) is `minimizer=RM, averaging=UNIFORM`; CFR+ (Tammelin
2014) is `RM_PLUS, LINEAR`; PCFR+ (Farina, Kroer and Sandholm 2021) is
`REEVALUATED_PRM_PLUS, QUADRATIC`, and `PRM_PLUS` is its cheaper prediction, each
infoset's last instant regret, as Obscuro has it; DCFR (Brown and Sandholm 2019) is
`DISCOUNTED_RM, QUADRATIC`.

Two engines run the same loop with the same results up to rounding (which decides
what is played where all regrets are 0 in theory):

- `compiled`: numba over the sparse rows of the payoff matrix, from the first
  second; kept on disk between processes.
- `jax`: vectorised over all infosets of a level; for accelerators, and for very long
  runs on games with dense payoffs.

Depth-limited solving: `solve(trunk, iterations, border=(b0, b1), values=function)`,
where `b0` and `b1` name the sequences of each player that lead to his border infosets.
In every iteration `function((r0, r1))` is told the plans of those sequences and
returns a counterfactual value for each, which is added to the sequences' payoffs. The
compiled engine calls any Python function; jax's must run inside jit. A bottom is a form
whose treeplexes have further root sequences, owned by no infoset: see
`values.bottoms`.
"""

from __future__ import annotations

import numbers
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.cfr_compiled import CompiledForm, compile_form
from klss_spiel.algorithms.cfr_solution import (
    VECTORS,
    Method,
    PlayerSolution,
    PreparedForm,
    Solution,
)
from klss_spiel.algorithms.regret import RM_PLUS, RegretMinimizer
from klss_spiel.arrays import IntArray
from klss_spiel.progress import Progress
from klss_spiel.search_game import ValueFunction
from klss_spiel.sequence_form import SequenceForm, join_forms
from klss_spiel.tree import PLAYERS

if TYPE_CHECKING:
    # jax takes a while to import, which only its own engine need wait for.
    from klss_spiel.algorithms.cfr_jax import JaxForm
    from klss_spiel.algorithms.padded_form import PaddedForm

__all__ = [
    "LINEAR",
    "QUADRATIC",
    "UNIFORM",
    "PlayerSolution",
    "Solution",
    "iterate",
    "prepare",
    "solve",
    "solve_batch",
]

# Averaging: iteration t weighs t to this power.
UNIFORM = 0
LINEAR = 1
QUADRATIC = 2

ENGINES = ("auto", "compiled", "jax")

# What `engine="auto"` reckons with, measured on one core: starting jax and compiling a
# large game, and what its dense blocks save per payoff and iteration over sparse rows.
# They save nothing where sequences have fewer payoffs each than this.
_JAX_START_SECONDS = 8.0
_JAX_SAVES_PER_PAYOFF = 0.7e-9
_JAX_LEAST_PAYOFFS = 16

# A call into compiled code cannot be interrupted; it is kept this short.
_SECONDS_PER_CALL = 0.1


def prepare(
    form: SequenceForm,
    engine: str = "auto",
    dtype: npt.DTypeLike | None = None,
    iterations: int = 0,
) -> CompiledForm | JaxForm:
    """Lays out a form for an engine, to be solved more than once.

    Args:
      form: the game.
      engine: "compiled", "jax" or "auto", which is the one that will be done first with
        all `iterations`, compiling counted: "compiled" unless very many are to be run on
        a large game with many payoffs per sequence.
      dtype: float32 or float64, which is the default; for "jax" the default is what jax
        is set to.
      iterations: how many will be run in all, as far as is known.
    """
    if engine not in ENGINES:
        raise ValueError(f"expected an engine out of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "jax" or (engine == "auto" and _jax_is_done_first(form, dtype, iterations)):
        from klss_spiel.algorithms import cfr_jax

        return cfr_jax.prepare(form, dtype)
    return compile_form(form, np.float64 if dtype is None else dtype)


def _jax_is_done_first(form: SequenceForm, dtype: npt.DTypeLike | None, iterations: int) -> bool:
    """Whether jax makes up for its start within so many iterations, as precisely."""
    if form.operator is not None:
        return False
    num_sequences = sum(treeplex.num_sequences for treeplex in form.treeplexes)
    payoffs = 2 * form.num_entries  # each is read once for each player
    if payoffs < _JAX_LEAST_PAYOFFS * num_sequences:
        return False
    if iterations * payoffs * _JAX_SAVES_PER_PAYOFF < _JAX_START_SECONDS:
        return False
    if dtype is not None and np.dtype(dtype) != np.float64:
        return True
    import jax.numpy as jnp

    return bool(jnp.result_type(float) == np.float64)


def solve(
    game: SequenceForm | PaddedForm | PreparedForm | Any,
    iterations: int,
    minimizer: RegretMinimizer = RM_PLUS,
    averaging: int = LINEAR,
    alternating: bool = True,
    start: Solution | None = None,
    dtype: npt.DTypeLike | None = None,
    engine: str = "auto",
    border: tuple[IntArray, IntArray] | None = None,
    values: ValueFunction | None = None,
    use_up_start: bool = False,
) -> Solution:
    """Runs CFR for a number of iterations.

    Ctrl-C ends it within a fraction of a second; binaries show its progress.

    Args:
      game: the sequence form, or one already laid out by `prepare` or `pad_form`,
        which saves that work when the same game is solved again; also a `GameTree`,
        an OpenSpiel game or a game string.
      iterations: how many more iterations to run.
      minimizer: the regret minimiser at every infoset.
      averaging: UNIFORM, LINEAR or QUADRATIC.
      alternating: player 1 answers player 0's newest strategy (as OpenSpiel's
        solvers do); otherwise both update against each other's last one.
      start: an earlier solution of the same game to go on from, of any engine.
      dtype: as in `prepare`; for a `SequenceForm` only.
      engine: "compiled", "jax", or "auto" for the one that will be done first: see
        `prepare`.
      border: for a trunk, the sequences of each player ([b]) that lead to the border
        infosets below it.
      values: what reaching them is worth, asked in every iteration; depth-limited
        solving, and CFR-D (Burch, Johanson and Bowling 2014) where values are exact.
      use_up_start: overwrite `start`, which is of no use afterwards, instead of copying
        it: for games that fill the memory.

    Returns:
      The solution; its `average` is the strategy with the guarantee.
    """
    _check_iterations(iterations)
    if (border is None) != (values is None):
        raise ValueError("expected a border and a value function, got one without the other")
    if border is not None and engine == "auto":
        engine = "compiled"  # which takes any value function
    prepared = _prepared(game, engine, dtype, iterations)
    method = Method(minimizer, averaging, alternating)
    state = prepared.initial_state() if start is None else start.state_on(prepared)
    done = 0 if start is None else start.iterations
    goal = done + int(iterations)
    progress = Progress("CFR iterations", total=iterations)
    owned = start is None or use_up_start
    for count in _calls(int(iterations)):
        if border is None or values is None:
            state = prepared.run(state, done, count, method, owned)
            owned = True
        else:
            state = prepared.run_trunk(state, done, count, method, border, values)
        done += count
        progress.update(done + int(iterations) - goal)
    return Solution(done, state=(prepared, state))


def iterate(
    game: SequenceForm | PaddedForm | PreparedForm | Any,
    iterations: int,
    chunk: int,
    **arguments: Any,
) -> Iterator[Solution]:
    """Yields a solution after every `chunk` iterations, up to `iterations` more.

    Takes the keyword arguments of `solve`.
    """
    _check_iterations(iterations)
    solution = arguments.pop("start", None)
    engine, dtype = arguments.pop("engine", "auto"), arguments.pop("dtype", None)
    prepared = _prepared(game, engine, dtype, iterations)
    for done in range(0, iterations, chunk):
        step = min(chunk, iterations - done)
        solution = solve(prepared, step, start=solution, **arguments)
        yield solution


def solve_batch(forms: Sequence[SequenceForm], iterations: int, **arguments: Any) -> list[Solution]:
    """Solves many small games in one call, with the same results as one by one.

    The games are laid side by side in one block-diagonal form, which on a CPU
    beats mapping over padded games. Takes the keyword arguments of `solve`
    except `start`.
    """
    if not forms:
        return []
    union, sequences = join_forms(forms)
    joint = solve(union, iterations, **arguments)
    solutions = []
    for i, form in enumerate(forms):
        players = tuple(
            PlayerSolution(
                form.treeplexes[p],
                **{field: getattr(joint.players[p], field)[sequences[p][i]] for field in VECTORS},
            )
            for p in PLAYERS
        )
        solutions.append(Solution(iterations, (players[0], players[1])))
    return solutions


def _calls(total: int) -> Iterator[int]:
    """Numbers of iterations whose sum is `total`, each about `_SECONDS_PER_CALL` of work.

    Measures the time between its own yields.
    """
    count = 1
    while total > 0:
        count = min(count, total)
        start = time.perf_counter()
        yield count
        total -= count
        growth = _SECONDS_PER_CALL / max(time.perf_counter() - start, 1e-9)
        # The first call may have compiled, which says nothing about the next.
        count = max(1, int(count * min(growth, 8.0)))


def _check_iterations(iterations: int) -> None:
    if not isinstance(iterations, numbers.Integral) or isinstance(iterations, bool):
        raise ValueError(
            f"expected a whole number of iterations (an int such as 1000), got {iterations!r}"
        )
    if iterations < 0:
        raise ValueError(f"expected a number of iterations of at least 0, got {iterations}")


def _prepared(game: Any, engine: str, dtype: npt.DTypeLike | None, iterations: int) -> PreparedForm:
    """The game laid out for an engine."""
    if isinstance(game, CompiledForm):
        return game
    # Nobody has a form laid out for jax without these modules.
    if "klss_spiel.algorithms.padded_form" in sys.modules:
        from klss_spiel.algorithms import cfr_jax, padded_form

        if isinstance(game, padded_form.PaddedForm):
            return cfr_jax.JaxForm(game)
        if isinstance(game, cfr_jax.JaxForm):
            return game
    if not isinstance(game, SequenceForm):
        from klss_spiel.openspiel import sequence_form_of

        game = sequence_form_of(game)
    return prepare(game, engine, dtype, iterations)
