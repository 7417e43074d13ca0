"""The README's example runs, and its tables name things that exist."""

import csv
import doctest
import importlib.util
import json
import pathlib
import re

import pytest

_README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_example_prints_what_it_says():
    failed, tried = doctest.testfile(str(_README), module_relative=False)
    assert tried > 5
    assert failed == 0


def test_every_module_and_test_named_in_the_tables_exists():
    text = _README.read_text("utf-8")
    modules = set(re.findall(r"python -m (klss_spiel\.run\.\w+)", text))
    assert len(modules) >= 5
    for module in modules:
        assert importlib.util.find_spec(module) is not None, module
    assert len(_paths_in(text)) >= 10


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_file_that_is_named_exists(name):
    paths = _paths_in((_README.parent / name).read_text("utf-8"))
    assert len(paths) >= 10
    for path in paths:
        root = _README.parent
        # Folders of the package may be named without it.
        assert (root / path).exists() or (root / "klss_spiel" / path).exists(), path


def _paths_in(text: str) -> set[str]:
    folders = "klss_spiel|algorithms|games|run|matches|tests|docs"
    return set(re.findall(rf"[`(]((?:{folders})/[\w/]+\.\w+)[`)]", text))


def _speed_rows(name: str, **wanted: str) -> list[dict[str, str]]:
    with (_README.parent / "docs" / "results" / "speed" / name).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def test_speeds_are_those_of_the_rows_that_the_commands_made():
    text = _README.read_text("utf-8")
    iteration = {"game": "leduc", "task": "CFR+ iteration"}
    (compiled,) = _speed_rows("cfr.csv", contender="klss_spiel", **iteration)
    (jax,) = _speed_rows("cfr.csv", contender="klss_spiel jax", **iteration)
    assert (
        f"{float(compiled['ratio']):.0f} times OpenSpiel's C++ (compiled engine), "
        f"{float(jax['ratio']):.0f} (jax)"
    ) in text
    update = {"task": "successors in a belief update", "contender": "klss_spiel"}
    (belief,) = _speed_rows("chess_search.csv", **update)
    assert f"{float(belief['per_second']) / 1e6:.0f} million successors a second" in text
    search = {"game": "python_dark_chess", "task": "search", "budget": "100000"}
    (nodes,) = _speed_rows("chess_search.csv", **search)
    assert (
        f"{float(nodes['nodes_per_second']) / 1e3:.0f} thousand a second with the preset "
        "`obscuro`, 100,000 nodes"
    ) in text


def test_the_distance_in_knowledge_is_that_of_the_rows():
    text = _README.read_text("utf-8")
    path = _README.parent / "docs" / "results" / "obscuro" / "knowledge_distance.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    found = {row["question"]: row["distance"] for row in rows}
    assert f"| {found['Figure 1']}, at most {found['largest']} for any two: as printed |" in text
