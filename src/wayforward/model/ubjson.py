"""UBJSON (https://ubjson.org, draft 12), as XGBoost writes it, read strictly: within the bytes, no name twice."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.plain_files import unique

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_WORDS: dict[bytes, Any] = {b"Z": None, b"T": True, b"F": False}
_DEPTH = 64


def read_ubjson(content: bytes) -> Any:
    """Return what one UBJSON value holds; arrays of one type are NumPy arrays. Raises: ValueError."""
    reader = _Reader(content)
    found = reader.value(reader.take(1), 0)
    if reader.at != len(content):
        raise ValueError("something follows its end")
    return found


class _Reader:
    """A place in bytes."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, n: int) -> bytes:
        """The next n bytes. Raises: ValueError where there are fewer."""
        if n < 0 or n > len(self.content) - self.at:
            raise ValueError("it ends in the middle")
        self.at += n
        return self.content[self.at - n : self.at]

    def ahead(self) -> bytes:
        """The next byte, which stays."""
        return self.content[self.at : self.at + 1]

    def value(self, kind: bytes, depth: int) -> Any:
        """A value whose type was read."""
        if depth > _DEPTH:
            raise ValueError("it is nested too deeply")
        if kind in _NUMBERS:
            return np.frombuffer(self.take(np.dtype(_NUMBERS[kind]).itemsize), _NUMBERS[kind])[0].item()
        if kind in _WORDS:
            return _WORDS[kind]
        if kind == b"C":
            return self.take(1).decode("ascii")
        if kind in (b"S", b"H"):
            return self.text()
        if kind == b"[":
            return self.array(depth)
        if kind == b"{":
            return unique(self.entries(depth))
        raise ValueError(f"it has the unknown type {kind!r}")

    def count(self) -> int:
        """A length."""
        found = self.value(self.take(1), 0)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise ValueError("a length is no whole number")
        return found

    def text(self) -> str:
        """A text with its length before it."""
        return self.take(self.count()).decode("utf-8")

    def container(self) -> tuple[bytes | None, int | None]:
        """The type and the length that a container declares."""
        kind = count = None
        if self.ahead() == b"$":
            self.take(1)
            kind = self.take(1)
        if self.ahead() == b"#":
            self.take(1)
            count = self.count()
        if (kind is not None and count is None) or (count is not None and count > len(self.content)):
            raise ValueError("a list declares what it cannot hold")
        return kind, count

    def array(self, depth: int) -> Any:
        """A list; of one declared type of numbers, an array."""
        kind, count = self.container()
        if kind in _NUMBERS and kind is not None and count is not None:
            kind_of = np.dtype(_NUMBERS[kind])
            found = np.frombuffer(self.take(count * kind_of.itemsize), kind_of)
            return found.astype(kind_of.newbyteorder("="))
        out: list[Any] = []
        while self.more(b"]", count, len(out)):
            out.append(self.value(kind or self.take(1), depth + 1))
        return out

    def entries(self, depth: int) -> list[tuple[str, Any]]:
        """The names and values of an object."""
        kind, count = self.container()
        out: list[tuple[str, Any]] = []
        while self.more(b"}", count, len(out)):
            name = self.text()
            out.append((name, self.value(kind or self.take(1), depth + 1)))
        return out

    def more(self, end: bytes, count: int | None, done: int) -> bool:
        """False at the end of a container, which is passed."""
        if count is not None:
            return done < count
        if self.ahead() == end:
            self.take(1)
            return False
        return True
