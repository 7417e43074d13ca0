"""Deliberate faults in the search, each of which a test must notice.

    python -m tests.mutants            # all of them: about half an hour
    python -m tests.mutants graft      # those with this word in their file or text

Each mutant is one replaced piece of text in a copy of the package; the tests that are to
kill it run there. Survivors are printed at the end; the exit code is their number.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
SEARCH = "klss_spiel/algorithms/search/"
TESTS = "tests/algorithms/search/"


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault.

    Attributes:
      file: module of the search.
      old: text that occurs once in it.
      new: what stands there instead.
      killers: words by which pytest selects tests (-k) in the folder of the search.
    """

    file: str
    old: str
    new: str
    killers: str


CARRY = "test_carry_over"
COPIES = "test_copies"
PLAY = "test_self_play"
MUTANTS = (
    # Grafting.
    Mutant("graft.py", '"regret", "instant", ', '"instant", ', "learnt"),
    Mutant("graft.py", '"instant", "value"', '"value"', "learnt"),
    Mutant("graft.py", '"picks", "sum"', '"sum"', "learnt"),
    Mutant("graft.py", "sequences.strategy[own] = behavior[old_sequences]", "pass", "learnt"),
    Mutant("graft.py", "* scale[lower_root] * product[old_lower]", "* scale[lower_root]", CARRY),
    Mutant("graft.py", "* scale[lower_root] * product", "* product", CARRY),
    Mutant("graft.py", "nodes.player[new[is_past[rows]]] = CHANCE", "pass", CARRY),
    Mutant(
        "graft.py",
        "before.chance[old_lower] * factor[old_lower]",
        "before.chance[old_lower]",
        CARRY,
    ),
    Mutant("graft.py", "tree.past_strategies.update(", "dict(", f"{CARRY} or {PLAY}"),
    Mutant(
        "graft.py", "infosets.visits[new] = source.infosets[p].visits[chosen]", "pass", "learnt"
    ),
    Mutant("graft.py", "free[i] = i == own or follows", "free[i] = i == own", CARRY),
    Mutant("graft.py", "infosets.frozen[: len(free)] = ~free", "pass", CARRY),
    # Carrying over.
    Mutant("carry_over.py", "while distance < order:", "while distance < order - 1:", CARRY),
    Mutant(
        "carry_over.py",
        "for p in PLAYERS:\n            grown |=",
        "for p in (0,):\n            grown |=",
        CARRY,
    ),
    Mutant("carry_over.py", "divisor = reach\n", "divisor = np.ones(m)\n", CARRY),
    Mutant(
        "carry_over.py",
        "alternate = alternate - gifts[sequence]",
        "alternate = alternate + gifts[sequence]",
        CARRY,
    ),
    Mutant("carry_over.py", "gifts[sequence] * reach / divisor", "gifts[sequence]", CARRY),
    Mutant("carry_over.py", "past[infoset] = True", "pass", f"{CARRY} or {PLAY}"),
    Mutant("carry_over.py", "np.minimum(sign * evaluation, limit)", "sign * evaluation", CARRY),
    Mutant("carry_over.py", "0.5 * (reach / total + uniform)", "reach / total", CARRY),
    Mutant(
        "carry_over.py",
        "behaviors[opponent] = search_equilibrium.best_response_behavior(",
        "search_equilibrium.best_response_behavior(",
        CARRY,
    ),
    Mutant("carry_over.py", "key not in known for key", "True for key", CARRY),
    Mutant("carry_over.py", "behavior[sequence] = 1.0", "pass", f"{CARRY} or {COPIES} or {PLAY}"),
    # Beliefs.
    Mutant(
        "history_belief.py",
        "if action in state.legal_actions()",
        "",
        "test_history_belief or test_copies",
    ),
    Mutant(
        "history_belief.py",
        "state.information_state_string(self.player) == information_state",
        "True",
        "test_history_belief",
    ),
    Mutant(
        "history_belief.py",
        "self.complete, sampling = False, True",
        "sampling = True",
        "test_history_belief",
    ),
    Mutant(
        "history_belief.py",
        "if mover == self.player:",
        "if mover == self.player or mover == 1 - self.player:",
        "test_history_belief",
    ),
    Mutant(
        "history_belief.py", "other._rng = copy.deepcopy(self._rng)", "pass", "test_history_belief"
    ),
    # Not listed: going on past "what fits was left out of the sample", which only takes longer.
    # Purification and play.
    Mutant("player.py", "<= search.halfway", "<= 10**9", "test_purification"),
    Mutant(
        "player.py", ": settings.max_support - 1", ": settings.max_support", "test_purification"
    ),
    Mutant(
        "player.py", "played[best] += probabilities[~allowed].sum()", "pass", "test_purification"
    ),
    Mutant(
        "player.py",
        "if search.safe:",
        "if True:",
        "test_purification",
    ),
    Mutant(
        "player.py",
        "self._search, self._pending = self._pending, None",
        "self._pending = None",
        "continues",
    ),
    Mutant(
        "player.py",
        "self._pending, _ = self._next_search(information_state, belief, timer)",
        "self._pending, _ = self._search, 0",
        "forced",
    ),
    Mutant(
        "player.py",
        "self._search: Search | None = None",
        "self._search: Search | None = getattr(self, '_search', None)",
        "remember or same_observations",
    ),
    Mutant(
        "player.py",
        'f"{seed}/{player}/{information_state}"',
        'f"{player}/{information_state}"',
        "same_seed",
    ),
    Mutant("search.py", ">= -self.settings.margin_tolerance", ">= 0.0", "test_purification"),
    Mutant("search.py", "if clock.fraction < 0.5:", "if True:", "settling"),
    Mutant("search.py", "settings.minimizer == PRM_PLUS", "settings.minimizer is PRM_PLUS", COPIES),
    Mutant("search.py", "tree.nodes.first_child[pending] = UNEXPANDED", "pass", "every_leaf"),
    Mutant("search.py", "clock.fraction >= 1.0 - settings.settling", "False", "settling"),
    Mutant("bot.py", "self.game_number += 1", "pass", "mixed_strategy or remember"),
    Mutant("bot.py", "self._player.player, number]", "self._player.player]", "mixed_strategy"),
    Mutant("evaluation.py", "self.timed_out = True", "pass", "test_evaluation"),
    Mutant(
        "evaluation.py", "return np.clip(values, -1.0, 1.0)", "return values", "test_evaluation"
    ),
    # The tree and the game.
    Mutant(
        "tree_kernels.py", "1.0 / played if plays else 0.0", "1.0 / (last - start)", "best_child"
    ),
    Mutant(
        "tree_kernels.py",
        "plays = not best_child or sequences.value[first + k] == best",
        "plays = k == 0",
        "best_child",
    ),
    Mutant("infoset_index.py", "self.size += last - first", "pass", "test_growth"),
    Mutant("search.py", "max(wanted, at_once)", "wanted", "test_growth"),
    Mutant("search.py", "+ added / growth if at_once", "+ 0.0 if at_once", "test_growth"),
    # Time and repetition.
    Mutant("timing.py", "self.remaining -= self.elapsed", "pass", "test_timing"),
    Mutant("timing.py", "self.remaining += self._paid", "pass", "test_timing"),
    Mutant("timing.py", "self.remaining -= self._paid", "pass", "test_timing"),
    Mutant("timing.py", "- (self._now() - self._start)", "", "test_timing"),
    Mutant("player.py", "timer.part(_OPENING_SHARE)", "timer.budget", "test_timing"),
    Mutant("repetition.py", "drawn &= children.player != TERMINAL", "pass", "test_repetition"),
    Mutant(
        "repetition.py", "inside = path > tree.num_roots", "inside = path < 0", "test_repetition"
    ),
    Mutant("repetition.py", "(sign * values > -contempt)", "True", "test_repetition"),
    Mutant("search.py", "loss <= self.settings.loss_tolerance", "True", "test_purification"),
    Mutant("search.py", "sequences.average[:] = 0.0", "pass", "test_purification"),
    Mutant(
        "openspiel_game.py",
        "repr((p, *content)).encode()",
        "repr((len(self._told), *content)).encode()",
        "identifiers or same_observations",
    ),
    Mutant(
        "openspiel_game.py",
        "action if moved else NO_ACTION",
        "NO_ACTION",
        "remembered",
    ),
    Mutant(
        "openspiel_game.py",
        "if not moved and not moves and self._told[before] == told:",
        "if False:",
        CARRY,
    ),
)


def survives(mutant: Mutant, copy: pathlib.Path) -> bool:
    """Whether the tests pass with the fault."""
    path = copy / SEARCH / mutant.file
    original = path.read_text()
    if original.count(mutant.old) != 1:
        raise ValueError(f"expected {mutant.old!r} once in {mutant.file}")
    path.write_text(original.replace(mutant.old, mutant.new))
    command = [sys.executable, "-m", "pytest", TESTS, "-x", "-q", "-m", "not slow"]
    command += ["-k", mutant.killers, "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=1800, check=False
        )
    except subprocess.TimeoutExpired:
        return False  # a loop without end is noticed, too
    finally:
        path.write_text(original)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout.decode()[-2000:])
    return done.returncode == 0


def main(words: list[str]) -> int:
    chosen = [m for m in MUTANTS if all(word in m.file + m.old for word in words)]
    alive = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for name in ("klss_spiel", "tests"):
            shutil.copytree(ROOT / name, copy / name)
        for name in ("setup.cfg", "pyproject.toml"):
            shutil.copy(ROOT / name, copy / name)
        for mutant in chosen:
            alive += [mutant] if survives(mutant, copy) else []
            state = "survived" if mutant in alive else "killed"
            print(f"{state}: {mutant.file}: {mutant.old!r} -> {mutant.new!r}", flush=True)
    print(f"{len(alive)} of {len(chosen)} survived")
    return len(alive)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
