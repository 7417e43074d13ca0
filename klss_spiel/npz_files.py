"""Reading npz files that may be broken, cut short or something else altogether."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class BrokenFileError(ValueError):
    """A file that cannot be what it was opened as."""


def load_arrays(
    path: str | os.PathLike[str], names: Sequence[str], what: str
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the given names in an npz file, read at once; never a pickle.

    Args:
      path: the file.
      names: arrays it must hold.
      what: what the file should be, for errors: "a policy".

    Raises:
      FileNotFoundError: there is no such file.
      BrokenFileError: it is no npz file, is damaged, or lacks one of the arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as data:
            if not isinstance(data, np.lib.npyio.NpzFile):
                raise BrokenFileError(f"expected {what} in {path}, got a single array")
            missing = [name for name in names if name not in data]
            if missing:
                raise BrokenFileError(
                    f"expected {what} in {path}, which lacks {', '.join(missing)}"
                )
            return {name: data[name] for name in names}
    except (BrokenFileError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except (OSError, EOFError, ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise BrokenFileError(f"cannot read {what} from {path}: {error}") from error
    except (zipfile.BadZipFile, zlib.error, SyntaxError, RuntimeError) as error:
        raise BrokenFileError(f"cannot read {what} from {path}: {error}") from error
