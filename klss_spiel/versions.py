"""Versions of Python and of the packages that results depend on."""

from __future__ import annotations

import functools
import importlib.metadata
import platform

_PACKAGES = ("klss_spiel", "open_spiel", "numpy", "jax")


@functools.cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = [("python_version", platform.python_version())]
    for package in _PACKAGES:
        try:
            found.append((f"{package}_version", importlib.metadata.version(package)))
        except importlib.metadata.PackageNotFoundError:
            found.append((f"{package}_version", "missing"))
    return tuple(found)


def versions() -> dict[str, str]:
    """The versions by column name (`numpy_version`); read without importing anything."""
    return dict(_versions())
