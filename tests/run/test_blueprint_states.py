"""Rows by hands that are killed and go on: blueprints and refinements in single steps."""

import dataclasses

import numpy as np
import pytest

from klss_spiel.algorithms.cfr_compiled import compile_form
from klss_spiel.games.poker.leduc_family import parse_game
from klss_spiel.run import (
    blueprint_states,
    hand_blueprints,
    olss_by_hands,
    olss_tables,
    stopped_blueprints,
)
from klss_spiel.run.blueprint_states import SavedArrays

GAME = "leduc232"


class KilledError(Exception):
    """Stands for a kill."""


@pytest.fixture
def small_is_large(monkeypatch):
    """Solved as flop hold'em is: single precision, few looks."""
    monkeypatch.setattr(stopped_blueprints, "_MANY_SEQUENCES", 10)
    monkeypatch.setattr(stopped_blueprints, "_BETWEEN_SAVES", 3)


def kill_after(monkeypatch, module, name, calls):
    """Raises at one of the calls of a function."""
    original, done = getattr(module, name), []

    def dying(*arguments, **named):
        done.append(arguments)
        if len(done) > calls:
            raise KilledError
        return original(*arguments, **named)

    monkeypatch.setattr(module, name, dying)


def test_a_blueprint_goes_on_where_it_was_killed(tmp_path, monkeypatch, small_is_large):
    form = hand_blueprints.public_game(parse_game(GAME)).form
    expected, reached = stopped_blueprints.stopped_cfr(form, GAME, 0.3)
    state = SavedArrays(tmp_path / "state.npz", seconds=0.0)
    with monkeypatch.context() as context:
        kill_after(context, blueprint_states, "save_solution", 4)
        with pytest.raises(KilledError):
            stopped_blueprints.stopped_cfr(form, GAME, 0.3, state)
    prepared = compile_form(form, np.float32)
    there = blueprint_states.restored_solution(state, prepared)
    assert 0 < there.iterations < expected.iterations
    again, reached_again = stopped_blueprints.stopped_cfr(form, GAME, 0.3, state)
    # Looks at exploitability come at other iterations, and single precision rounds sums.
    assert again.iterations >= there.iterations and reached_again <= 0.3
    more = again.iterations - expected.iterations
    assert abs(more) <= 0.1 * expected.iterations and reached_again == pytest.approx(
        reached, rel=0.1
    )
    # Once it is done nothing is computed again.
    kill_after(monkeypatch, blueprint_states, "save_solution", 1)
    done, _ = stopped_blueprints.stopped_cfr(form, GAME, 0.3, state)
    assert done.iterations == again.iterations


def test_restored_states_go_on_bit_by_bit(tmp_path):
    from klss_spiel.algorithms import cfr, regret

    form = hand_blueprints.public_game(parse_game(GAME)).form
    prepared = compile_form(form, np.float32)
    first = cfr.solve(prepared, 5, regret.RM, cfr.UNIFORM)
    saved = SavedArrays(tmp_path / "state.npz")
    blueprint_states.save_solution(saved, first, prepared)
    restored = blueprint_states.restored_solution(saved, prepared)
    ends = [cfr.solve(prepared, 5, regret.RM, cfr.UNIFORM, start=s) for s in (first, restored)]
    for p in range(2):
        np.testing.assert_array_equal(*(end.average_sum_of(p) for end in ends))
    other = compile_form(hand_blueprints.public_game(parse_game("leduc231")).form, np.float32)
    with pytest.raises(ValueError, match="another game's state"):
        blueprint_states.restored_solution(saved, other)
    with pytest.raises(ValueError, match="another game's state"):
        blueprint_states.restored_solution(saved, compile_form(form, np.float64))


@pytest.mark.parametrize("recipe", ["maxmargin", "safe-1-klss"])
def test_a_row_goes_on_where_its_refinement_was_killed(tmp_path, monkeypatch, recipe):
    config = olss_tables.Config(
        games=(GAME,), recipes=(recipe,), iterations=(20,), target=0.5, layout=olss_tables.HANDS
    )
    (job,) = olss_tables.make_jobs(config)
    expected = job.function(*job.arguments)
    monkeypatch.setattr(SavedArrays, "is_due", True)
    folder = str(tmp_path)
    with monkeypatch.context() as context:
        kill_after(context, olss_by_hands._Work, "_save", 1)
        with pytest.raises(KilledError):
            job.function(job.columns, folder)
    solved = []
    solve = type(_solver(recipe)).solve

    def counting(self, subgames, bounds):
        solved.extend(subgames)
        return solve(self, subgames, bounds)

    monkeypatch.setattr(type(_solver(recipe)), "solve", counting)
    hand_blueprints.make_setting.cache_clear()
    row = job.function(job.columns, folder)
    assert row["after"] == pytest.approx(expected["after"], abs=1e-12) != row["blueprint"]
    resumed = len(solved)
    job.function(*job.arguments)
    assert 0 < resumed < len(solved) - resumed  # A part of it was there.


def _solver(recipe):
    from klss_spiel.algorithms.subgame.cutting_planes import CuttingPlanes
    from klss_spiel.algorithms.subgame.solvers import Cfr

    return Cfr() if recipe == "maxmargin" else CuttingPlanes()


def test_rows_of_several_processes_share_one_blueprint(tmp_path):
    """Whoever comes second waits for it and takes it from the folder."""
    config = olss_tables.Config(
        games=(GAME,),
        recipes=("unsafe", "maxmargin"),
        iterations=(5,),
        target=0.5,
        layout=olss_tables.HANDS,
        state=str(tmp_path),
    )
    rows = olss_tables.run(config, executor="processes:2")
    assert len({row["blueprint_seconds"] for row in rows}) == 1
    (record,) = tmp_path.glob("*.json")
    assert not record.with_suffix(".npz").exists()
    hand_blueprints.make_setting.cache_clear()
    alone = olss_tables.run(dataclasses.replace(config, state=None))
    for one, other in zip(rows, alone, strict=True):
        assert one["after"] == pytest.approx(other["after"], abs=1e-12)
        assert one["blueprint"] == other["blueprint"]


def test_boards_that_are_there_serve_larger_samples(tmp_path, monkeypatch):
    refined = []
    refine = olss_by_hands.refine_by_hands

    def counting(game, *arguments, **named):
        refined.append(game.name)
        return refine(game, *arguments, **named)

    monkeypatch.setattr(olss_by_hands, "refine_by_hands", counting)
    rows = []
    for boards in (2, 3, None):
        (job,) = olss_tables.make_jobs(
            olss_tables.Config(
                games=("leduc242",),
                recipes=("olss-1",),
                target=0.5,
                layout=olss_tables.HANDS,
                boards=boards,
                state=str(tmp_path),
            )
        )
        rows.append(job.function(*job.arguments))
    assert [row["boards_refined"] for row in rows] == [2, 3, 4]
    assert len(refined) == 2 * 4  # Of two players; no board twice.
    for row in rows[:2]:
        assert row["after_low"] < row["after"] < row["after_high"]
    assert rows[2]["after_low"] is rows[2]["after_high"] is None
    assert rows[2]["seconds"] > rows[0]["seconds"]  # All that was spent on it.
    assert rows[0]["after"] == pytest.approx(rows[2]["after"], rel=0.3)
