"""Objects that other processes are given: they go by pickle, between processes of one's own and never by file.

A pickle can run any code when it is read, so nothing is ever unpickled that somebody else could have written.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class _Module:
    """A library by its name, which is imported again where the object arrives."""

    name: str


class Portable:
    """An object that pickles small: libraries go by name, and a problem leaves its table of observed people behind.

    table_needed: the table goes along, because answering (not only fitting) asks for observed people.
    """

    table_needed: ClassVar[bool] = False

    def __getstate__(self) -> dict[str, Any]:
        return {name: self._packed(value) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(
            {name: import_module(v.name) if isinstance(v, _Module) else v for name, v in state.items()}
        )

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        return other

    def _packed(self, value: Any) -> Any:
        if isinstance(value, ModuleType):
            return _Module(value.__name__)
        leave = None if self.table_needed else getattr(value, "without_table", None)
        return value if leave is None else leave()
