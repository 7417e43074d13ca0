"""Tables, CSV, JSON, and result files that outlive a killed run."""

import json
import math
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klss_spiel
from klss_spiel.run import output

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)
names = st.text("abcdefg_ +%", min_size=1, max_size=6)
rows_of_one_shape = st.lists(names, min_size=1, max_size=4, unique=True).flatmap(
    lambda columns: st.lists(
        st.fixed_dictionaries({column: scalars for column in columns}), min_size=1, max_size=4
    )
)


@given(rows_of_one_shape)
def test_csv_returns_the_values_and_types_it_was_given(rows):
    back = output.from_csv(output.to_csv(rows))
    assert back == rows
    for row, original in zip(back, rows, strict=True):
        assert {c: type(v) for c, v in row.items()} == {c: type(v) for c, v in original.items()}


def test_csv_keeps_strings_that_look_like_something_else():
    tricky = [
        "1",
        "1e5",
        "NaN",
        "null",
        "true",
        '"',
        "[1]",
        "a,b",
        "a\nb",
        "",
        " 1",
        "-Infinity",
        "\r",
    ]
    rows = [{"text": text, "number": 1} for text in tricky]
    assert output.from_csv(output.to_csv(rows)) == rows
    assert "0.1.0\n" in output.to_csv([{"version": "0.1.0"}])  # plain text stays plain


def test_csv_gives_nested_values_a_column_each():
    rows = [{"game": "g", "size": {"1": 2.0, "deep": {"x": None}}, "list": [1, 2]}]
    text = output.to_csv(rows)
    assert text.splitlines()[0] == "game,size.1,size.deep.x,list"
    assert output.from_csv(text) == rows
    with pytest.raises(ValueError, match="without dots"):
        output.to_csv([{"a.b": 1}])


def test_json_is_strict_and_knows_numpy():
    rows = [
        {"a": np.float64(0.5), "b": np.int32(3), "c": np.array([1.0, np.inf]), "d": math.nan},
        {"a": {"inf": float("-inf")}, "b": np.bool_(True), "c": (1, 2), "d": None},
    ]

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    assert json.loads(output.to_json(rows), parse_constant=refuse) == [
        {"a": 0.5, "b": 3, "c": [1.0, None], "d": None},
        {"a": {"inf": None}, "b": True, "c": [1, 2], "d": None},
    ]
    assert json.loads(output.to_json([])) == []


def test_table_aligns_numbers_to_the_right_and_text_to_the_left():
    rows = [
        {"game": "kuhn_poker", "nodes": 58, "seconds": 0.123456789, "ok": True},
        {"game": "leduc", "nodes": 9457, "seconds": None, "ok": False},
    ]
    assert output.format_table(rows, formats={"seconds": ".2f"}) == textwrap.dedent(
        """\
        game        nodes  seconds  ok
        ----------  -----  -------  ---
        kuhn_poker     58     0.12  yes
        leduc        9457           no"""
    )
    assert output.format_table(rows, columns=["ok", "nodes"]).splitlines()[0] == "ok   nodes"
    assert output.format_table([{"a": 1}, {"b": 2}]).splitlines()[0] == "a  b"


def test_versions_name_the_packages_that_matter():
    found = output.versions()
    assert found["klss_spiel_version"] == klss_spiel.__version__
    assert found["numpy_version"] == np.__version__
    assert set(found) >= {"python_version", "open_spiel_version", "jax_version"}


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_finished_rows_are_not_computed_again(tmp_path, suffix):
    path = tmp_path / "deeper" / f"rows{suffix}"
    computed = []

    def compute(task):
        computed.append(task["k"])
        if task["k"] == 3 and len(computed) < 4:
            raise KeyboardInterrupt
        return {"square": task["k"] ** 2, "half": task["k"] / 2}

    tasks = [{"game": "g", "k": k} for k in (1, 2, 3, 4)]
    with pytest.raises(KeyboardInterrupt):
        output.compute_rows(tasks, compute, path)
    assert [row["k"] for row in output.read_rows(path)] == [1, 2]
    rows = output.compute_rows(tasks, compute, path)
    assert computed == [1, 2, 3, 3, 4]
    assert rows == [{"game": "g", "k": k, "square": k**2, "half": k / 2} for k in (1, 2, 3, 4)]
    assert output.compute_rows(tasks, compute, path) == rows
    assert computed == [1, 2, 3, 3, 4]
    # Other tasks are added to the same file; what is in it stays.
    output.compute_rows([{"game": "other", "k": 1}], compute, path)
    stored = output.read_rows(path)
    assert [(row["game"], row["k"]) for row in stored] == [
        ("g", 1),
        ("g", 2),
        ("g", 3),
        ("g", 4),
        ("other", 1),
    ]
    assert all(row["klss_spiel_version"] == klss_spiel.__version__ for row in stored)
    assert os.listdir(path.parent) == [path.name]  # no partial files


def test_a_task_of_several_rows_is_written_in_one_step(tmp_path):
    path = tmp_path / "curve.csv"
    calls = []

    def compute(task):
        calls.append(task["game"])
        return [{"iteration": i, "gap": 1 / i} for i in (1, 2, 4)]

    tasks = [{"game": "a"}, {"game": "b"}]
    rows = output.compute_rows(tasks, compute, path)
    assert output.compute_rows(tasks, compute, path) == rows
    assert calls == ["a", "b"]
    assert [(row["game"], row["iteration"]) for row in rows] == [
        (game, i) for game in "ab" for i in (1, 2, 4)
    ]


def test_equal_tasks_are_computed_once_without_a_file():
    calls = []

    def compute(task):
        calls.append(task)
        return {"x": 1}

    assert len(output.compute_rows([{"game": "a"}] * 3, compute)) == 3
    assert len(calls) == 1


def test_a_killed_run_leaves_whole_rows_and_goes_on(tmp_path):
    path = tmp_path / "rows.csv"
    script = textwrap.dedent(
        f"""
        import os, signal
        from klss_spiel.run import output

        def compute(task):
            if task["k"] == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return {{"text": "row\\n" * 1000}}

        output.compute_rows([{{"k": k}} for k in range(5)], compute, {str(path)!r})
        """
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [row["k"] for row in output.read_rows(path)] == [0, 1]
    fresh = []
    output.compute_rows(
        [{"k": k} for k in range(5)],
        lambda task: fresh.append(task["k"]) or {"text": "row\n" * 1000},
        path,
    )
    assert fresh == [2, 3, 4]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "rows.json"
    output.write_rows(path, [{"a": 1}])

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        output.write_rows(path, [{"a": 1}, {"a": 2}])
    assert output.read_rows(path) == [{"a": 1}]
    assert os.listdir(tmp_path) == ["rows.json"]


def test_files_that_are_not_results_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.csv or \.json"):
        output.compute_rows([{"a": 1}], dict, tmp_path / "rows.txt")
    broken = tmp_path / "broken.json"
    broken.write_text("[{")
    with pytest.raises(ValueError, match="not a result file"):
        output.read_rows(broken)
    broken.write_text("3")
    with pytest.raises(ValueError, match="list of rows"):
        output.read_rows(broken)
    uneven = tmp_path / "uneven.csv"
    uneven.write_text("a,b\n1\n")
    with pytest.raises(ValueError, match="not a result file"):
        output.read_rows(uneven)
    other = tmp_path / "other.csv"
    output.write_rows(other, [{"board": "8x8", "perft": 20}])
    with pytest.raises(ValueError, match="another command"):
        output.compute_rows([{"game": "g"}], lambda task: {"x": 1}, other)
    assert output.read_rows(other) == [{"board": "8x8", "perft": 20}]


def run_binary(body: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = textwrap.dedent(
        """
        from absl import flags
        from klss_spiel.run import output

        def define_flags():
            output.define_flags()
            flags.DEFINE_integer("count", 2, "how many")

        def main():
        """
    ) + textwrap.indent(textwrap.dedent(body), "    ")
    script += "\noutput.run_binary(define_flags, main)\n"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], check=False, capture_output=True, text=True
    )


def test_bad_input_ends_in_one_line():
    body = 'raise ValueError("expected a game, got a stone")'
    failed = run_binary(body)
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.startswith("error: expected a game, got a stone")
    assert len(failed.stderr.splitlines()) == 1
    assert "Traceback" in run_binary(body, "--verbosity=1").stderr
    stray = run_binary("pass", "kuhn_poker")
    assert stray.returncode == 1
    assert "kuhn_poker" in stray.stderr


def test_interruption_is_quiet():
    stopped = run_binary("raise KeyboardInterrupt")
    assert stopped.returncode == 130
    assert "Traceback" not in stopped.stderr


def test_help_shows_shared_and_own_flags():
    text = run_binary("pass", "--help").stdout
    for name in ("--[no]json", "--output", "--count"):
        assert name in text


def test_standard_output_holds_nothing_but_the_result():
    body = """
    from absl import logging
    logging.info("on the way")
    values = flags.FLAGS
    output.emit([{"k": k} for k in range(values.count)], values.json)
    """
    done = run_binary(body, "--json", "--count=3")
    assert json.loads(done.stdout) == [{"k": 0}, {"k": 1}, {"k": 2}]
    assert "on the way" in done.stderr
    assert run_binary(body).stdout == "k\n-\n0\n1\n"
