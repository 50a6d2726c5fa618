"""Tables of parts: a name, and where its class or function is. One line adds a part; outsiders register theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from wayforward.errors import WayforwardError, did_you_mean, is_one_of


class Registry:
    """Parts of one kind by name; their files are imported on first use, because some need an extra.

    what: the kind in words, for errors ("method"). package: where the places of our own parts are. places: name ->
    "file:Class" below it; a part of another package is registered with its whole place,
    "their_package.file:Class". error: raised for unknown names.
    """

    def __init__(
        self, what: str, package: str, error: type[WayforwardError], places: Mapping[str, str]
    ) -> None:
        self.what, self.error = what, error
        self._places = {
            name: place if "." in place.split(":")[0] else f"{package}.{place}"
            for name, place in places.items()
        }

    def register(self, name: str, place: str) -> None:
        """Add a part of another package, such as ``register("mine", "my_package.mine:Mine")``.

        Raises: the registry's error for a name that is taken by another place, or a place that is none.
        """
        if self._places.get(name, place) != place:
            raise self.error(f"There is a {self.what} '{name}' already. Choose another name.")
        if place.count(":") != 1 or not all(
            part.isidentifier() for part in place.replace(":", ".").split(".")
        ):
            raise self.error(
                f"'{place}' is no place of a {self.what}. Write the module and the name in it: 'my_package.mine:Mine'."
            )
        self._places[name] = place

    def find(self, name: str) -> Any:
        """Return the class or function of a name. Raises: the registry's error, which lists the names."""
        if not is_one_of(name, self._places):
            hint = did_you_mean(str(name), self._places)
            raise self.error(f"There is no {self.what} '{name}'.{hint} Known: {', '.join(self)}.")
        module, part = self._places[name].split(":")
        try:
            return getattr(import_module(module), part)
        except (ModuleNotFoundError, AttributeError) as error:
            if isinstance(error, ModuleNotFoundError) and not module.startswith(str(error.name)):
                raise  # something that the part itself needs
            raise self.error(
                f"The {self.what} '{name}' is not at '{self._places[name]}' ({error})."
            ) from error

    def __contains__(self, name: object) -> bool:
        return is_one_of(name, self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)


def parameters_of(part: Any) -> str:
    """The names of what a part takes, for errors; "none" where it takes nothing."""
    return ", ".join(field.name for field in fields(part) if field.init) if is_dataclass(part) else "none"
