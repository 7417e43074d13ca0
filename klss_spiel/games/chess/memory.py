"""A bounded memory that threads may share."""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Memory(Generic[_Key, _Value]):
    """Remembers the latest values by key. Mutable, thread-safe; copies start empty."""

    def __init__(self, size: int) -> None:
        """A memory of at most `size` values."""
        self._size = size
        self._values: dict[_Key, _Value] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Memory, (self._size,)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: _Key) -> _Value | None:
        """What was remembered last, or None."""
        return self._values.get(key)

    def put(self, key: _Key, value: _Value) -> None:
        """Remembers a value; the oldest one is forgotten when there is no room."""
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = value
            while len(self._values) > self._size:
                del self._values[next(iter(self._values))]
