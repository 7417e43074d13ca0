"""Rows as CSV and JSON lines, and files of them that grow and survive."""

import json
import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel import row_files, row_formats
from klss_spiel.row_files import RowFile, latest_by_key, read_rows

SUFFIXES = [".csv", ".jsonl"]

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
names = st.text("abcdefg_ +%", min_size=1, max_size=6)
rows_of_one_shape = st.lists(names, min_size=1, max_size=4, unique=True).flatmap(
    lambda columns: st.lists(
        st.fixed_dictionaries({column: scalars for column in columns}), min_size=1, max_size=4
    )
)


def types(rows):
    return [{column: type(value) for column, value in row.items()} for row in rows]


@given(rows_of_one_shape)
def test_csv_returns_the_values_and_types_it_was_given(rows):
    text = row_formats.to_csv(rows)
    back = row_formats.from_csv(text)
    assert back == rows
    assert types(back) == types(rows)
    # A row is a line, or torn rows could not be told from whole ones.
    assert text.count("\n") == len(rows) + 1


@given(rows_of_one_shape)
def test_json_lines_return_the_values_and_types_they_were_given(rows):
    numbers = {"NaN", "Infinity", "-Infinity"}
    rows = [{c: "" if v in numbers else v for c, v in row.items()} for row in rows]
    text = row_formats.to_jsonl(rows)
    assert row_formats.from_jsonl(text) == rows
    assert types(row_formats.from_jsonl(text)) == types(rows)
    assert text.count("\n") == len(rows)


def test_csv_keeps_strings_that_look_like_something_else():
    tricky = ["1", "1e5", "NaN", "null", "true", '"', "[1]", "a,b", "a\nb", "", " 1", "\r"]
    rows = [{"text": text, "number": 1} for text in tricky]
    assert row_formats.from_csv(row_formats.to_csv(rows)) == rows
    assert "0.1.0\n" in row_formats.to_csv([{"version": "0.1.0"}])  # plain text stays plain


def test_csv_gives_nested_values_a_column_each():
    rows = [{"game": "g", "size": {"1": 2.0, "deep": {"x": None}}, "list": [1, 2]}]
    text = row_formats.to_csv(rows)
    assert text.splitlines()[0] == "game,size.1,size.deep.x,list"
    assert row_formats.from_csv(text) == rows
    with pytest.raises(ValueError, match="without dots"):
        row_formats.to_csv([{"a.b": 1}])


def test_csv_tells_none_from_nothing():
    rows = [{"a": None, "b": 1}, {"b": 2}, {"a": 3, "b": None}]
    assert row_formats.from_csv(row_formats.to_csv(rows)) == rows


def test_csv_holds_long_cells():
    rows = [{"moves": "e2e4 " * 100_000}]
    assert row_formats.from_csv(row_formats.to_csv(rows)) == rows


def test_json_lines_are_strict_json_and_keep_infinities():
    rows = [{"a": math.inf, "b": [-math.inf, math.nan], "c": {"d": np.float64(0.5)}}]

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    text = row_formats.to_jsonl(rows)
    json.loads(text, parse_constant=refuse)
    (back,) = row_formats.from_jsonl(text)
    assert back["a"] == math.inf and back["b"][0] == -math.inf and math.isnan(back["b"][1])
    assert back["c"] == {"d": 0.5}


def test_values_that_no_file_holds_are_refused():
    with pytest.raises(ValueError, match="got set"):
        row_formats.plain({"a": [{1, 2}]})
    assert row_formats.plain({1: (np.int8(3), np.zeros(2))}) == {"1": [3, [0.0, 0.0]]}


# Files that grow.


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_are_appended_to_and_never_rewritten(tmp_path, suffix):
    path = tmp_path / "deeper" / f"rows{suffix}"
    with RowFile(path, ["game"], stamp={"version": "1"}) as file:
        assert file.rows == []
        file.append([{"key": "a", "game": "g", "x": 1}])
    before, number = path.read_bytes(), path.stat().st_ino
    with RowFile(path, ["game"], stamp={"version": "2"}) as file:
        assert [row["key"] for row in file.rows] == ["a"]
        file.append([{"key": "b", "game": "g", "x": 2.5}])
    assert path.read_bytes().startswith(before)
    assert path.stat().st_ino == number
    stored = read_rows(path)
    assert [(row["key"], row["x"], row["version"]) for row in stored] == [
        ("a", 1, "1"),
        ("b", 2.5, "2"),
    ]
    assert os.listdir(path.parent) == [path.name]
    with RowFile(path, ["game"], resume=False) as file:
        assert file.rows == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_line_torn_anywhere_is_cut_off(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    rows = [{"key": key, "text": 'a "quoted", b\nc', "x": 0.5} for key in "abc"]
    with RowFile(path) as file:
        for row in rows:
            file.append([row])
    content = path.read_bytes()
    last = len(content.splitlines(keepends=True)[-1])
    for cut in range(len(content) - last, len(content)):
        path.write_bytes(content[:cut])
        assert len(read_rows(path)) == 2
        with RowFile(path) as file:
            assert [row["key"] for row in file.rows] == ["a", "b"]
            file.append([rows[2]])
        assert path.read_bytes() == content


def test_a_torn_header_is_written_anew(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"key,ga")
    with RowFile(path, ["game"]) as file:
        file.append([{"key": "a", "game": "g"}])
    assert [row["game"] for row in read_rows(path)] == ["g"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_two_writers_of_one_file_are_refused(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    with (
        RowFile(path),
        pytest.raises(ValueError, match="being written by another process"),
    ):
        RowFile(path)
    RowFile(path).close()


def test_csv_has_the_columns_of_its_first_result(tmp_path):
    path = tmp_path / "rows.csv"
    with RowFile(path, ["game"]) as file:
        # An error does not tell which columns results will have: it waits for one.
        file.append([{"key": "a", "game": "g", "error": "ValueError: no"}])
        file.append([{"key": "b", "game": "g", "x": {"deep": 1}}])
        file.append([{"key": "c", "game": "g"}])
        with pytest.raises(ValueError, match=r"new columns \['y'\].*jsonl"):
            file.append([{"key": "d", "game": "g", "y": 1}])
    assert path.read_text().splitlines()[0] == "key,game,x.deep,error"
    assert {row["key"]: row.get("x") for row in read_rows(path)} == {
        "a": None,
        "b": {"deep": 1},
        "c": None,
    }


def test_csv_has_the_columns_that_were_declared(tmp_path):
    path = tmp_path / "rows.csv"
    with RowFile(path, ["game"], ["x", "y.deep"]) as file:
        file.append([{"key": "b", "game": "g", "x": 1}])
        file.append([{"key": "c", "game": "g", "y": {"deep": 2}}])
        with pytest.raises(ValueError, match=r"new columns \['z'\]"):
            file.append([{"key": "d", "game": "g", "z": 1}])
    assert path.read_text().splitlines()[0] == "key,game,x,y.deep,error"


def test_a_csv_file_of_errors_only_is_begun_anew(tmp_path):
    path = tmp_path / "rows.csv"
    with RowFile(path, ["game"]) as file:
        file.append([{"key": "a", "game": "g", "error": "ValueError: no"}])
    assert [row["error"] for row in read_rows(path)] == ["ValueError: no"]
    with RowFile(path, ["game"]) as file:
        file.append([{"key": "a", "game": "g", "x": 1}])
    assert read_rows(path) == [{"key": "a", "game": "g", "x": 1}]


def test_files_of_something_else_are_refused_before_any_work(tmp_path):
    with pytest.raises(ValueError, match=r"\.csv or \.jsonl"):
        RowFile(tmp_path / "rows.json")
    for name, content, reason in (
        ("broken.jsonl", "{\n", "not a file of rows"),
        ("numbers.jsonl", "3\n", "JSON object"),
        ("uneven.csv", "a,b\n1\n", "not a file of rows"),
        ("binary.csv", b"\xff\xfe\n", "not a file of rows"),
        ("other.csv", "board,perft\n8x8,20\n", "another command"),
        ("other.jsonl", '{"key": "a", "board": "8x8"}\n', "another command"),
        ("no_key.csv", "game,x\ng,1\n", "another command"),
    ):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        before = path.read_bytes()
        with pytest.raises(ValueError, match=reason):
            RowFile(path, ["game"])
        assert path.read_bytes() == before
    with pytest.raises(ValueError, match="cannot write rows"):
        RowFile(tmp_path / "other.csv" / "rows.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="cannot write rows"):
        RowFile(tmp_path / "folder.csv")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_write_leaves_whole_rows(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"rows{suffix}"
    real = os.write

    def fails_halfway(file, data):
        if len(data) < 30:
            raise OSError(28, "No space left on device")
        return real(file, data[:-20])

    with RowFile(path) as file:
        file.append([{"key": "a", "text": "x" * 100}])
        content = path.read_bytes()
        monkeypatch.setattr(os, "write", fails_halfway)
        with pytest.raises(OSError, match="No space"):
            file.append([{"key": "b", "text": "x" * 100}])
        monkeypatch.undo()
        assert path.read_bytes() == content
        file.append([{"key": "b", "text": "x" * 100}])
    assert [row["key"] for row in read_rows(path)] == ["a", "b"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_replacement_keeps_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "rows.jsonl"
    row_files.write_rows(path, [{"a": 1}])

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        row_files.write_rows(path, [{"a": 1}, {"a": 2}])
    assert read_rows(path) == [{"a": 1}]
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_the_last_complete_rows_of_a_key_count():
    rows = [
        {"key": "a", "part": "1/2", "x": 1},
        {"key": "b", "x": 2},
        {"key": "a", "part": "1/2", "x": 3},
        {"key": "a", "part": "2/2", "x": 4},
        {"key": "a", "part": "1/2", "x": 5},
        {"key": "c", "part": "2/2", "x": 6},
        {"key": "b", "x": 7, "part": None},
    ]
    found = {key: [row["x"] for row in group] for key, group in latest_by_key(rows).items()}
    assert found == {"a": [3, 4], "b": [7]}
    with pytest.raises(ValueError, match="a column 'key' in every row"):
        latest_by_key([{"x": 1}])


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize("content", ["a note of mine", "day,text\n1,first\n2,second"])
def test_a_file_that_is_not_ours_stays_as_it_is(tmp_path, suffix, content):
    path = tmp_path / f"notes{suffix}"
    path.write_text(content)
    with pytest.raises(ValueError, match="rows"):
        RowFile(path, columns=["game"])
    assert path.read_text() == content
