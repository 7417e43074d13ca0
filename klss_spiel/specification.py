"""Things named by a short text: `search(preset=obscuro,nodes=1000)`, `resolver(handmade)`.

One grammar for evaluators, players of matches and whatever else is chosen by a flag:

    specification := name [ "(" [ argument { "," argument } ] ")" ]
    argument      := [ key "=" ] ( specification | value )

Values are booleans, integers, numbers, or text; text that holds a comma, a bracket or an
equals sign is put in double quotes. A bare word is text until somebody asks for a
specification (`Specification.nested`).
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

Value = bool | int | float | str
_Made = TypeVar("_Made", covariant=True)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]*")
_PLAIN = re.compile(r'[^,()="]+')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclasses.dataclass(frozen=True)
class Specification:
    """A name with arguments.

    Attributes:
      name: what is asked for.
      positional: arguments without a key, in order.
      keyword: arguments with a key, in order.
    """

    name: str
    positional: tuple[Value | Specification, ...] = ()
    keyword: tuple[tuple[str, Value | Specification], ...] = ()

    def __str__(self) -> str:
        arguments = [_text_of(value) for value in self.positional]
        arguments += [f"{key}={_text_of(value)}" for key, value in self.keyword]
        return f"{self.name}({','.join(arguments)})" if arguments else self.name

    @property
    def arguments(self) -> dict[str, Value | Specification]:
        """The arguments that have a key."""
        return dict(self.keyword)

    @staticmethod
    def nested(value: Value | Specification) -> Specification:
        """An argument as a specification: a bare word is a name without arguments."""
        if isinstance(value, Specification):
            return value
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            raise ValueError(f"expected a name such as zero or material(2), got {value!r}")
        return Specification(value)


def parse(text: str) -> Specification:
    """Reads a specification.

    Raises:
      ValueError: the text does not follow the grammar; says where.
    """
    value, end = _parse_value(text, 0)
    if text[end:].strip():
        raise ValueError(f"expected the end of {text!r} at {text[end:]!r}")
    return Specification.nested(value)


def _parse_value(text: str, start: int) -> tuple[Value | Specification, int]:
    """The value that starts at `start`, and where it ends."""
    at = _skip(text, start)
    quoted = _QUOTED.match(text, at)
    if quoted:
        return re.sub(r"\\(.)", r"\1", quoted.group(1)), _skip(text, quoted.end())
    plain = _PLAIN.match(text, at)
    if plain is None:
        raise ValueError(f"expected a name or a value in {text!r} at {text[at:]!r}")
    word, at = plain.group().strip(), plain.end()
    if at == len(text) or text[at] != "(":
        return _literal(word), at
    if not _NAME.fullmatch(word):
        raise ValueError(f"expected a name before the bracket in {text!r}, got {word!r}")
    return _parse_arguments(text, at + 1, word)


def _parse_arguments(text: str, at: int, name: str) -> tuple[Specification, int]:
    """The arguments after a name's bracket, and where the bracket is closed."""
    positional: list[Value | Specification] = []
    keyword: dict[str, Value | Specification] = {}
    at = _skip(text, at)
    if text[at : at + 1] == ")":
        return Specification(name), _skip(text, at + 1)
    while True:
        value, at = _parse_value(text, at)
        if text[at : at + 1] == "=":
            if not isinstance(value, str) or value in keyword:
                raise ValueError(f"expected a new key before '=' in {text!r}, got {value!r}")
            keyword[value], at = _parse_value(text, at + 1)
        elif keyword:
            raise ValueError(f"expected key=value after the first one in {text!r}, got {value}")
        else:
            positional.append(value)
        mark = text[at : at + 1]
        if mark == ")":
            return Specification(name, tuple(positional), tuple(keyword.items())), _skip(
                text, at + 1
            )
        if mark != ",":
            raise ValueError(f"expected ',' or ')' in {text!r} at {text[at:]!r}")
        at += 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _literal(word: str) -> Value:
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word


def _text_of(value: Value | Specification) -> str:
    if isinstance(value, str) and (not _PLAIN.fullmatch(value) or _literal(value) != value):
        escaped = value.replace("\\", r"\\").replace('"', r"\"")
        return f'"{escaped}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


class Registry(Generic[_Made]):
    """Makers by name. Mutable: users add their own.

    A maker is called with what the registry's owner passes on, then with the
    specification's arguments.
    """

    def __init__(self, kind: str) -> None:
        """A registry of things called `kind` in errors."""
        self._kind = kind
        self._makers: dict[str, Callable[..., _Made]] = {}

    def register(self, name: str, maker: Callable[..., _Made]) -> None:
        """Adds a maker; a name that is taken by another is refused."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"expected a name of letters, digits and underscores, got {name!r}")
        if self._makers.get(name, maker) is not maker:
            raise ValueError(f"expected a free name for a new {self._kind}, got {name!r}")
        self._makers[name] = maker

    @property
    def names(self) -> Iterable[str]:
        """All names, in the order in which they came."""
        return tuple(self._makers)

    def make(self, specification: str | Specification, *context: object, **more: object) -> _Made:
        """Makes what a specification asks for.

        Args:
          specification: text or parsed.
          *context: passed to the maker before the arguments.
          **more: passed to the maker beside the arguments.

        Raises:
          ValueError: an unknown name, or arguments that the maker does not take.
        """
        if isinstance(specification, str):
            specification = parse(specification)
        maker = self._makers.get(specification.name)
        if maker is None:
            near = difflib.get_close_matches(specification.name, self._makers, n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ValueError(
                f"expected a {self._kind} among {', '.join(self._makers)}, got "
                f"{specification.name!r}{hint}"
            )
        arguments: Mapping[str, object] = {**specification.arguments, **more}
        try:
            return maker(*context, *specification.positional, **arguments)
        except TypeError as error:
            raise ValueError(f"cannot make {self._kind} {specification}: {error}") from error
