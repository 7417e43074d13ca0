"""The network that positions are labelled by: a file, or that of an installed Stockfish.

Debian's package `stockfish` (15.1) carries nn-ad9b42354671 inside its program; the
package's copyright file puts the network under CC0. Only the program's own command
`export_net` is used to get at it.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Final

from klss_spiel.games.chess.networks import nnue

_SECONDS: Final = 60.0
_NAME_DIGITS: Final = 12
NOT_STATED: Final = "not stated"
# Of networks that are known by their name: that of Debian's stockfish 15.1, by the package's
# copyright file.
LICENCES: Final = {"nn-ad9b42354671": "CC0-1.0"}
# Where Debian puts games, which is not in everybody's path.
_FOLDERS: Final = ("/usr/games", "/usr/local/games")


@dataclasses.dataclass(frozen=True, eq=False)
class Teacher:
    """A network and what to call it.

    Attributes:
        network: that labels.
        name: "nn-" and the first digits of the file's SHA-256, as Stockfish names them.
        source: where it came from, for the file of what was trained.
        licence: of the network, for that file too; NOT_STATED if nobody says.
    """

    network: nnue.Nnue
    name: str
    source: str
    licence: str


def find_stockfish() -> str | None:
    """The program `stockfish`, or None."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *_FOLDERS])
    return shutil.which("stockfish", path=path)


def load_teacher(path: str | None = None, licence: str | None = None) -> Teacher:
    """The teacher of a file, or of the installed Stockfish.

    Args:
        path: of the file, or None.
        licence: what the user says of the network's, or None.

    Raises:
        ValueError: there is none, it is of another kind, or known to have another licence.
    """
    if path is not None:
        network, source = nnue.load(path), f"the file {pathlib.Path(path).name}"
        name = _name_of(path)
        return Teacher(network, name, source, licence_of(name, licence))
    program = find_stockfish()
    if program is None:
        raise ValueError(
            "expected an installed stockfish whose network can be the teacher, found none: "
            "install it (Debian, Ubuntu: apt-get install stockfish) or name a network file of "
            "the kind HalfKAv2_hm by --teacher=FILE.nnue"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "teacher.nnue")
        version = export_network(program, file)
        name, source = _name_of(file), f"export_net of {version}"
        return Teacher(nnue.read(file), name, source, licence_of(name, licence))


def licence_of(name: str, stated: str | None = None) -> str:
    """The licence of a network: the one known of its name, else what is stated.

    Raises:
        ValueError: they differ.
    """
    known = LICENCES.get(name)
    if known is not None and stated not in (None, known):
        raise ValueError(f"expected {known}, the licence of {name}, got {stated!r}")
    return known or stated or NOT_STATED


def export_network(program: str, path: str) -> str:
    """Lets a program write its network to a file; returns what it calls itself.

    Raises:
        ValueError: it does not.
    """
    try:
        done = subprocess.run(
            [program],
            input=f"uci\nexport_net {path}\nquit\n",
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"expected {program} to write its network, got: {error}") from error
    if not os.path.isfile(path):
        last = (done.stdout.strip().splitlines() or ["nothing"])[-1]
        raise ValueError(
            f"expected {program} to write its network by export_net, it said {last!r}; "
            "name a network file by --teacher=FILE.nnue"
        )
    names = [line for line in done.stdout.splitlines() if line.startswith("id name ")]
    return names[0].removeprefix("id name ") if names else program


def _name_of(path: str) -> str:
    digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    return f"nn-{digest[:_NAME_DIGITS]}"
