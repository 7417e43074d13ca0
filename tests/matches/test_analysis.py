"""What the searching player says of a decision."""

import json

import numpy as np
import pyspiel
import pytest

from klss_spiel.budget import Budget
from klss_spiel.games.chess import boards
from klss_spiel.matches.analysis import analyse, analyse_record
from klss_spiel.matches.pgn import pgn_of, rows_from_pgn
from klss_spiel.run import analyse as run_analyse

MOVES = "e2e4 d7d5 e4d5 d8d5 b1c3".split()  # noqa: SIM905
NODES = Budget(nodes=3_000)


def record(game="python_dark_chess", moves=MOVES):
    state = pyspiel.load_game(game).new_initial_state()
    actions = []
    for move in moves:
        actions.append(state.string_to_action(move))
        state.apply_action(actions[-1])
    return {"game": game, "actions": actions}, state


@pytest.fixture(scope="module")
def analysis():
    row, _ = record()
    return analyse_record(row, 5, NODES)


def test_candidates_are_the_legal_moves_with_what_the_search_says(analysis):
    _, state = record()
    assert analysis.player == 1
    legal = {state.action_to_string(a): a for a in state.legal_actions()}
    assert {c.move: c.action for c in analysis.candidates} == legal
    assert sum(c.probability for c in analysis.candidates) == pytest.approx(1.0)
    first = analysis.candidates[0]
    assert first.probability == max(c.probability for c in analysis.candidates)
    # The queen would be lost for a pawn.
    values = {c.move: c.value for c in analysis.candidates}
    assert values[first.move] > values["d5d2"] + 0.3


def test_the_belief_is_a_map_of_the_enemys_pieces(analysis):
    assert analysis.belief_complete and analysis.belief_size > 1
    heat = {kind: np.array(shares) for kind, shares in analysis.heat.items()}
    for kind, count in {"K": 1, "Q": 1, "R": 2, "B": 2, "N": 2}.items():
        assert heat[kind].sum() == pytest.approx(count, abs=0.02)
    _, state = record()
    position = state.moment.position
    for square, code in enumerate(position.squares):
        letter = boards.piece_letter(code) if code else "."
        if letter.isupper():
            assert heat[letter][square] > 0.0  # the truth is possible


def test_what_moves_would_tell_is_said(analysis):
    told = {c.move: (c.bits, c.left, c.takes) for c in analysis.candidates}
    assert all(bits >= 0.0 and 0.0 < left <= 1.0 for bits, left, _ in told.values())
    assert told["d5g2"][2] == 1.0  # a pawn has stood there from the start
    assert told["a7a6"][2] == 0.0


def test_a_view_history_is_enough(analysis):
    """The same analysis from what the player was told, without the game."""
    row, state = record()
    past = pyspiel.load_game(row["game"]).new_initial_state()
    history = []
    for action in row["actions"]:
        if past.current_player() == 1:
            history.append((past.information_state_string(1), action))
        past.apply_action(action)
    again = analyse(row["game"], history, state.information_state_string(1), 1, NODES)
    assert again.candidates == analysis.candidates
    assert again.heat == analysis.heat


def test_text_and_json_say_it_all(analysis):
    text = str(analysis)
    assert all(candidate.move in text for candidate in analysis.candidates)
    assert f"({analysis.belief_size} positions)" in text
    data = json.loads(analysis.to_json())
    assert data["candidates"][0]["move"] == analysis.candidates[0].move
    assert data["report"]["nodes"] == analysis.report.nodes


def test_games_without_a_board_are_analysed_too():
    row = {"game": "kuhn_poker", "actions": [0, 1, 0, 1]}
    found = analyse_record(row, 2, Budget(nodes=200))
    assert found.player == 0 and not found.heat
    assert {c.move for c in found.candidates} == {"Pass", "Bet"}
    assert found.belief_size == 2


def test_a_forced_first_decision_has_no_value():
    game = "liars_dice(dice_sides=3)"
    row = {"game": game, "actions": [0, 1, 5]}  # after the highest bid only doubt is left
    found = analyse_record(row, 1, Budget(nodes=200))
    (only,) = found.candidates
    assert (only.move, only.probability, only.value) == ("Liar", 1.0, None)
    assert found.report.forced and "Liar" in str(found)


def test_decisions_that_are_not_there_are_refused():
    row, _ = record()
    with pytest.raises(ValueError, match="ply from 0 to 5"):
        analyse_record(row, 6, NODES)
    with pytest.raises(ValueError, match="at which player 0 moves"):
        analyse_record(row, 5, NODES, player=0)


def test_pgn_is_read_back():
    rows = []
    with_rules = "python_dark_chess(board=minimal4x3,horizon=7)"
    ending = "python_dark_chess(fen=k7/8/8/8/8/8/P7/K7 w - - 0 1)"
    for game in ("python_dark_chess", ending, with_rules):
        moves = {ending: ["a2a4", "a8a7"], with_rules: []}.get(game, MOVES)
        row, _ = record(game, moves)
        rows.append({**row, "return_0": 0.0, "number": 0, "player_0": 'a "b"', "player_1": "c",
                     "termination": "rules"})  # fmt: skip
    read = rows_from_pgn("\n".join(pgn_of(row) for row in rows))
    assert [row["actions"] for row in read] == [row["actions"] for row in rows]
    assert [row["game"] for row in read] == [row["game"] for row in rows]
    assert read[0]["tags"]["White"] == 'a "b"'
    text = pgn_of(rows[0])
    with pytest.raises(ValueError, match="expected a Variant"):
        rows_from_pgn(text.replace("Fog of War", "Chess"))
    with pytest.raises(ValueError, match="expected a Game of Kriegspiel"):
        rows_from_pgn(text.replace("Fog of War", "Kriegspiel"))
    with pytest.raises(ValueError, match="tag UCI"):
        rows_from_pgn(text.replace("[UCI ", "[Moves "))
    with pytest.raises(ValueError, match="got e7e8 as number 2"):
        rows_from_pgn(text.replace('"e2e4 d7d5', '"e2e4 e7e8'))


def test_the_command_reads_a_file(tmp_path):
    row, _ = record()
    full = {**row, "return_0": 0.0, "number": 0, "player_0": "a", "player_1": "b",
            "termination": "rules"}  # fmt: skip
    path = tmp_path / "game.pgn"
    path.write_text(pgn_of(full), "utf-8")
    found = run_analyse.run(run_analyse.Config(str(path), 0, 2, 0, Budget(nodes=300)))
    assert found.player == 0
    with pytest.raises(ValueError, match="game from 0 to 0"):
        run_analyse.run(run_analyse.Config(str(path), 1, 2, 0, Budget(nodes=300)))


def test_kriegspiel_has_a_map_of_the_enemys_pieces_and_what_tries_would_tell():
    game = "python_kriegspiel(board=microchess)"
    state = pyspiel.load_game(game).new_initial_state()
    actions = []
    for _ in range(2):
        actions.append(state.legal_actions()[0])
        state.apply_action(actions[-1])
    mover = state.current_player()
    found = analyse_record({"game": game, "actions": actions}, 2, Budget(nodes=200))
    assert found.player == mover
    assert found.width == 4
    for kind, count in {"K": 1, "R": 1, "B": 1, "N": 1}.items():
        assert sum(found.heat[kind]) == pytest.approx(count, abs=0.02)
    assert {c.action for c in found.candidates} == set(state.legal_actions())
    assert all(c.bits is not None for c in found.candidates)
    assert "where enemy pieces may stand" in str(found)


def test_a_belief_that_died_out_earlier_is_named(monkeypatch):
    row, _ = record()
    monkeypatch.setattr(
        "klss_spiel.games.chess.packed.chess_belief.ChessBelief.positions",
        property(lambda self: np.empty((0, 5), dtype=np.uint64)),
    )
    with pytest.raises(ValueError, match=r"cannot analyse .* for player 1 who was told"):
        analyse_record(row, 5, NODES)
