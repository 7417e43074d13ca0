"""The folder of jax's compiled programs, each case in a process of its own."""

import os
import subprocess
import sys

import pytest

from klss_spiel.algorithms import compilation_cache

ENABLE = """
import sys
{first}
from klss_spiel.algorithms import compilation_cache
print(compilation_cache.enable())
assert "{first}" or "jax" not in sys.modules
import jax
print(jax.config.jax_compilation_cache_dir)
{then}
"""
COMPILE = "jax.jit(lambda x: jax.numpy.linalg.svd(x @ x.T + 1))(jax.numpy.ones((9, 9)))"


def _run(environment, first="", then=""):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "KLSS_SPIEL_COMPILATION")) and name != "XDG_CACHE_HOME"
    }
    done = subprocess.run(
        [sys.executable, "-c", ENABLE.format(first=first, then=then)],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("first", ["", "import jax"])
def test_programs_are_kept_in_the_users_cache_folder(tmp_path, first):
    folder = tmp_path / "klss_spiel" / "jax"
    then = f"jax.config.update('jax_persistent_cache_min_compile_time_secs', 0.0); {COMPILE}"
    assert _run({"XDG_CACHE_HOME": str(tmp_path)}, first, then) == [str(folder)] * 2
    assert any(folder.iterdir())


def test_it_can_be_switched_off(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path), compilation_cache.SWITCH: "0"}
    assert _run(environment) == ["None", "None"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_jax_was_told_to_use_is_respected(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path), "JAX_COMPILATION_CACHE_DIR": "/nowhere"}
    assert _run(environment) == ["/nowhere"] * 2


def test_without_a_folder_to_write_to_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.delitem(os.environ, compilation_cache.SWITCH, raising=False)
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_the_way))
    assert compilation_cache._writable_folder() is None
    monkeypatch.delenv("XDG_CACHE_HOME")

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(compilation_cache.pathlib.Path, "home", no_home)
    assert compilation_cache._writable_folder() is None
