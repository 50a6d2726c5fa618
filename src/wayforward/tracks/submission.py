"""What can be handed in: a method of the library, a Python file, or rows in Parquet; read as bytes, named by a hash."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wayforward.errors import DataError, MethodError
from wayforward.methods import Method, names
from wayforward.methods.registry import METHODS
from wayforward.plain_files import no_file

Kind = Literal["method", "code", "rows"]

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
_MOST_CODE = 1_000_000  # bytes
_MOST_ROWS = 50_000_000


@dataclass(frozen=True)
class Submission:
    """Something that answers tasks. place: a method's name, a Python file, or a folder of `<task>.parquet`.

    attribute: the class in the file; '' for the function `recommend`, or else the only method in it.
    Raises: DataError for a name that is none, or a place without anything to judge.
    """

    name: str
    place: str
    attribute: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise DataError(
                f"'{self.name}' is no name of an entry. Use 1 to 40 small letters, digits, dots and hyphens."
            )
        if self.kind == "method" and self.place not in names():
            raise DataError(
                f"'{self.place}' is no Python file, no folder of Parquet files and no method. "
                "Give file.py, file.py:Class, a folder, or a name of `wayforward methods`."
            )
        if self.kind == "code" and not Path(self.place).is_file():
            raise DataError(no_file(self.place))

    @classmethod
    def of(cls, text: str, name: str = "") -> Submission:
        """Read 'local-search', 'own.py', 'own.py:Mine' or a folder; name: of the entry, left out, made of the place."""
        file, colon, attribute = text.rpartition(":")
        place, attribute = (file, attribute) if colon and file.endswith(".py") else (text, "")
        return cls(name or Path(place).stem.lower().replace("_", "-"), place, attribute)

    @property
    def kind(self) -> Kind:
        """What sort of thing it is."""
        if self.place.endswith(".py"):
            return "code"
        return "rows" if Path(self.place).is_dir() else "method"

    def content(self, task: str) -> bytes | None:
        """The bytes that are judged on a task; None where there are no rows for it. Raises: DataError if too many."""
        place = Path(self.place)
        if self.kind == "method":
            return Path(inspect.getfile(METHODS.find(self.place))).read_bytes()
        if self.kind == "rows":
            place = place / f"{task}.parquet"
            if not place.is_file():
                return None
        most = _MOST_CODE if self.kind == "code" else _MOST_ROWS
        if place.stat().st_size > most:
            raise DataError(f"'{place.name}' has {place.stat().st_size:,} bytes; at most {most:,} are read.")
        return place.read_bytes()

    def digest(self, content: bytes) -> str:
        """Of what is judged."""
        return hashlib.sha256(self.attribute.encode() + bytes([0]) + content).hexdigest()[:16]


def method_in(file: str | Path, attribute: str) -> Method:
    """A method that somebody wrote, as file and class. Runs the file. Raises: MethodError."""
    made = getattr(_module(Path(file)), attribute, None)
    if not (isinstance(made, type) and issubclass(made, Method)):
        raise MethodError(
            f"'{Path(file).name}' holds no method '{attribute}': a class that inherits from Method."
        )
    return made()


def answerer_in(file: Path, attribute: str) -> Method | Callable[..., Any]:
    """The method or the function of a submission. Runs the file. Raises: MethodError."""
    if attribute:
        return method_in(file, attribute)
    module = _module(file)
    function: Callable[..., Any] | None = getattr(module, "recommend", None)
    if function is not None and callable(function):
        try:
            inspect.signature(function).bind(None, None, 1)
        except (TypeError, ValueError):
            raise MethodError(
                "The function `recommend` does not take (problem, people, k). Give it these three arguments."
            ) from None
        return function
    own = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Method) and one.__module__ == module.__name__
    ]
    if len(own) != 1:
        raise MethodError(
            f"The file holds no function `recommend(problem, people, k)` and {len(own)} methods. "
            "Write the function, or one class that inherits from Method; of several name one: file.py:Class."
        )
    made: Method = own[0]()
    return made


def _module(file: Path) -> Any:
    if not file.is_file():
        raise MethodError(f"There is no file '{file}'. Give a method as file.py:Class.")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
