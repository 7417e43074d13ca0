"""Tables and JSON on standard output, and how binaries end."""

import json
import math
import subprocess
import sys
import textwrap

import numpy as np

from klss_spiel.run import output


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
    for name in ("--[no]json", "--count"):
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
