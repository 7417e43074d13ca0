"""How this package's Python games join OpenSpiel.

OpenSpiel keeps one table of games per process. Two of its habits are traps for
Python games, and both are closed here: registering a taken short name silently
replaces the earlier game (`register` refuses instead), and pickling or copying
a Python game loses the Python half of the object (`RegisteredGame` is rebuilt
from its short name and parameters instead).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pyspiel

_classes: dict[str, type[pyspiel.Game]] = {}


def register(game_type: pyspiel.GameType, game_class: type[pyspiel.Game]) -> None:
    """Registers a Python game under its short name.

    Registering the same class again does nothing harmful, so a module may be
    reloaded.

    Args:
        game_type: the OpenSpiel type whose `short_name` is claimed.
        game_class: called with a dictionary of all parameters to make a game.

    Raises:
        ValueError: if the short name belongs to another game.
    """
    name = game_type.short_name
    owner = _classes.get(name)
    if owner is None and name in pyspiel.registered_names():
        raise ValueError(
            f"expected a free short name for {_full_name(game_class)}, but OpenSpiel already has a "
            f"game called {name!r}"
        )
    if owner is not None and _full_name(owner) != _full_name(game_class):
        raise ValueError(
            f"expected a free short name for {_full_name(game_class)}, but {name!r} belongs to "
            f"{_full_name(owner)}"
        )
    _classes[name] = game_class
    pyspiel.register_game(game_type, game_class)


def registered_classes() -> Mapping[str, type[pyspiel.Game]]:
    """Returns the games registered through `register`, by short name (a read-only view)."""
    return MappingProxyType(_classes)


def complete_parameters(
    game_type: pyspiel.GameType, parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Returns `parameters` with the defaults of `game_type` filled in.

    `pyspiel.load_game` does this by itself; a class called directly does not.

    Raises:
        ValueError: if a parameter is unknown to the game.
    """
    defaults = game_type.parameter_specification
    given = dict(parameters or {})
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise ValueError(
            f"{game_type.short_name} expects parameters among {sorted(defaults)}, got {unknown}"
        )
    return {**defaults, **given}


class RegisteredGame(pyspiel.Game):  # type: ignore[misc]  # pyspiel has no type stubs.
    """A Python game that survives pickling and copying.

    Subclasses must be registered with `register`. A game of this class is
    equal to its short name and parameters, so `pickle`, `copy.copy` and
    `copy.deepcopy` load it anew from those; every attribute that `__init__`
    sets comes back with it.
    """

    def __init__(
        self,
        game_type: pyspiel.GameType,
        game_info: pyspiel.GameInfo,
        parameters: Mapping[str, Any] | None = None,
    ):
        complete = complete_parameters(game_type, parameters)
        players = complete.get("players", game_info.num_players)
        if players != game_info.num_players:
            raise ValueError(
                f"{game_type.short_name} expects players={game_info.num_players}, "
                f"got players={players}"
            )
        super().__init__(game_type, game_info, complete)

    def __reduce__(self) -> tuple[Any, ...]:
        # The class travels along (by reference) so that unpickling in another
        # process imports its module, which is what registers it.
        return load_registered, (type(self), self.get_type().short_name, self.get_parameters())


def load_registered(
    game_class: type[pyspiel.Game], short_name: str, parameters: Mapping[str, Any]
) -> pyspiel.Game:
    """Loads a game on behalf of `pickle` and `copy`.

    Args:
        game_class: the class the game had when it was pickled.
        short_name: its name in OpenSpiel.
        parameters: all its parameters.

    Raises:
        ValueError: if the name has come to mean another game.
    """
    game = pyspiel.load_game(short_name, dict(parameters))
    if _full_name(type(game)) != _full_name(game_class):
        raise ValueError(
            f"expected {short_name!r} to be {_full_name(game_class)}, got {_full_name(type(game))}"
        )
    return game


def _full_name(game_class: type) -> str:
    return f"{game_class.__module__}.{game_class.__qualname__}"
