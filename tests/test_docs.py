"""The documentation names things that exist, and its examples run."""

import ast
import functools
import importlib
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

from klss_spiel.row_files import read_rows

_ROOT = pathlib.Path(__file__).parent.parent
_DOCS = _ROOT / "docs"
_PAGES = sorted(
    path
    for path in _DOCS.rglob("*.md")
    if not {"_build", "results"} & set(path.relative_to(_DOCS).parts)
)


def _ids(path):
    return str(path.relative_to(_DOCS))


@pytest.mark.parametrize("page", _PAGES, ids=_ids)
def test_pages_name_modules_files_and_pages_that_exist(page):
    text = page.read_text("utf-8")
    for module in re.findall(r"python -m (klss_spiel\.[\w.]+)", text):
        assert importlib.util.find_spec(module.rstrip(".")) is not None, module
    for path in re.findall(r"`((?:klss_spiel|tests|docs)/[\w/.]+)`", text):
        assert (_ROOT / path).exists(), path
    for path in re.findall(r"\]\(((?!http)[\w/.]+\.\w+)\)", text):
        assert (page.parent / path).exists(), path


def test_tables_say_what_the_files_of_results_say():
    command = [sys.executable, str(_DOCS / "tables.py"), "--check"]
    behind = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert (behind.returncode, behind.stdout) == (0, ""), behind.stderr


def test_the_table_of_evaluators_has_those_that_look_at_positions_one_by_one(monkeypatch):
    monkeypatch.syspath_prepend(str(_DOCS))
    agent_page = importlib.import_module("agent_page")
    rows = [
        {"contender": "simple", "ns_per_child": "80.6", "wall_seconds": ""},
        {"contender": "resolver(simple)", "ns_per_child": "862.4", "wall_seconds": ""},
        {"contender": "alphabeta(depth=3)", "ns_per_child": "1900000.0", "wall_seconds": ""},
        {"contender": 'uci("stockfish")', "ns_per_child": "1000000.0", "wall_seconds": "0.5"},
    ]
    monkeypatch.setattr(agent_page, "_speed_rows", lambda task: rows)
    assert agent_page.evaluation_speed_table().splitlines()[2:] == [
        "| `simple` | 81 | 862 |",
        "| `alphabeta(depth=3)` | 1,900,000 |  |",
        '| `uci("stockfish")` | 1,000,000 (by the wall) |  |',
    ]


def test_the_agents_page_says_of_its_matches_what_their_rows_say(monkeypatch, capsys):
    text = (_DOCS / "agent.md").read_text("utf-8")
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "longest" in b)
    monkeypatch.chdir(_ROOT)
    exec(block, {})
    assert capsys.readouterr().out.splitlines() == ["828 1 36", "1658 8 391"]
    # Games against `pimc` without repeats.
    rows = read_rows("docs/results/agent/v_pimc.jsonl")
    different = {(row["player_0"], row["moves"]): row for row in rows}.values()
    won = [row["return_0"] == (1 if "strong" in row["player_0"] else -1) for row in different]
    assert (len(rows) - len(different) + 1, len(won), sum(won)) == (6, 35, 30)


@functools.cache
def _names_in(path):
    """Names that a module defines: functions, classes, constants."""
    names = set()
    for node in ast.parse((_ROOT / path).read_text("utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        names |= {getattr(target, "name", getattr(target, "id", None)) for target in targets}
    return names


def test_pages_of_papers_name_functions_and_tests_that_exist():
    named = [
        pair
        for page in (_DOCS / "papers").glob("*.md")
        for pair in re.findall(r"`([\w/]+\.py)::(\w+)`", page.read_text("utf-8"))
    ]
    assert len(named) > 150
    wrong = [f"{path}::{name}" for path, name in named if name not in _names_in(path)]
    assert wrong == []


# What the papers number.
_NUMBERED = {
    "zs21": {
        "Definition": "1 2 6 7 10",
        "Proposition": "3 8",
        "Theorem": "4 5 9",
        "Lemma": "11",
        "Algorithm": "12 13 14 15",
        "Table": "1 2",
        "Figure": "1 2 3",
    },
    "obscuro": {"Theorem": "1", "Figure": "1 2 3 4 5 6 7 8 9 10 11 12", "Table": "1"},
    "olss": {
        "Definition": "3.1 3.2",
        "Theorem": "4.1 5.1",
        "Figure": "1 2 3 4 5 6 7",
        "Table": "1 2 3 4 5",
    },
    "kovarik_lisy": {
        "Remark": "1 16",
        "Definition": "2 3 5 6 8",
        "Proposition": "4 9 10 11",
        "Lemma": "7",
        "Theorem": "12 17 18",
        "Example": "13 14 15",
        "Figure": "1 2 3 4",
    },
    "sestak": {
        "Figure": "2.1 2.2 2.3 3.1 4.1 4.2 4.3 4.4 5.1 5.2",
        "Table": "4.1 5.1 5.2 A.1",
    },
}


@pytest.mark.parametrize("name", _NUMBERED)
def test_every_statement_table_and_figure_of_a_paper_has_a_row(name):
    text = (_DOCS / "papers" / f"{name}.md").read_text("utf-8")
    rows = "\n".join(row.split("|")[1] for row in text.splitlines() if row.startswith("| "))
    found = set()
    for kind, numbers in re.findall(r"([A-Z]\w+?)s? ((?:[A\d][.\d]*(?:, | and |-)?)+)", rows):
        for number in re.split(r", | and ", numbers):
            first, _, last = number.strip(".:,").partition("-")
            span = range(int(first), int(last) + 1) if last else [first]
            found |= {(kind, str(n)) for n in span}
    expected = {(kind, n) for kind, all_of in _NUMBERED[name].items() for n in all_of.split()}
    assert sorted(expected - found) == []


def test_every_page_is_in_a_table_of_contents():
    listed = {_DOCS / "index.md"}
    for page in _PAGES:
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    # Without this the site does not build; guides/index.md is the place for most.
    assert sorted(set(_PAGES) - listed) == []


def test_every_module_of_the_api_pages_exists():
    modules = [
        name
        for page in (_DOCS / "api").glob("*.md")
        for name in re.findall(r"automodule:: (\S+)", page.read_text("utf-8"))
    ]
    assert len(modules) > 50
    for name in modules:
        assert importlib.util.find_spec(name) is not None, name


@pytest.mark.parametrize("name", ["bot", "evaluator", "recipe"])
def test_examples_of_guides_run(name):
    text = (_DOCS / "guides" / f"{name}.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), {})


@pytest.mark.slow
def test_the_site_builds_offline_without_warnings(tmp_path):
    for module in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(module)
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(_DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=_ROOT, check=False)
    assert done.returncode == 0, done.stderr
    solved = (tmp_path / "tutorials" / "1_solve.html").read_text("utf-8")
    assert "-0.055556" in solved
