"""Keeps what jax compiles on disk, so that later processes need not compile it again.

    from klss_spiel.algorithms import compilation_cache

    compilation_cache.enable()

Binaries of this package do so; libraries are left to their users. The files are in
`klss_spiel/jax` of the user's cache folder (XDG_CACHE_HOME, else ~/.cache). Setting
the environment variable KLSS_SPIEL_COMPILATION_CACHE to 0 turns it off. Compiled
kernels of numba have a cache of their own: see `kernels`.
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile

SWITCH = "KLSS_SPIEL_COMPILATION_CACHE"
_OFF = ("0", "off", "false", "no")

# Programs that compile faster are not worth a file; jax's own limit is a second.
_LEAST_COMPILE_SECONDS = 0.2

_FOLDER_OPTION = "jax_compilation_cache_dir"
_OPTIONS = {"jax_persistent_cache_min_compile_time_secs": _LEAST_COMPILE_SECONDS}


def enable() -> pathlib.Path | None:
    """Turns the cache on, before or after jax is imported; does not import jax.

    Returns:
      The folder in use, one that jax was already told to use included; None if the
      cache is switched off or there is no folder that can be written to.
    """
    if os.environ.get(SWITCH, "").strip().lower() in _OFF:
        return None
    already = _current_folder()
    if already:
        return pathlib.Path(already)
    folder = _writable_folder()
    if folder is None:
        return None
    for option, value in {_FOLDER_OPTION: str(folder), **_OPTIONS}.items():
        if "jax" in sys.modules:
            import jax

            jax.config.update(option, value)  # type: ignore[no-untyped-call]
        else:
            # What jax reads when it is imported, perhaps never.
            os.environ.setdefault(option.upper(), str(value))
    return folder


def _current_folder() -> str | None:
    """The folder that jax has been told to use."""
    if "jax" in sys.modules:
        import jax

        current: str | None = getattr(jax.config, _FOLDER_OPTION)
        return current
    return os.environ.get(_FOLDER_OPTION.upper())


def _writable_folder() -> pathlib.Path | None:
    """Our folder in the user's cache folder, made if need be; None if that fails."""
    try:
        base = os.environ.get("XDG_CACHE_HOME")
        cache = pathlib.Path(base) if base else pathlib.Path.home() / ".cache"
        folder = cache / "klss_spiel" / "jax"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return folder
