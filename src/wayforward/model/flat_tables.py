"""FlatBuffers read without their schema, every offset held against the bytes that are there."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FlatTable:
    """A table of a buffer: fields by their place in its schema. Raises: ValueError for what leads out of the buffer."""

    content: bytes
    at: int

    @classmethod
    def root(cls, content: bytes) -> FlatTable:
        """The table that a buffer is about."""
        return cls(content, _number(content, "<I", 0))

    def _place(self, field: int) -> int | None:
        layout = self.at - _number(self.content, "<i", self.at)
        size, slot = _number(self.content, "<H", layout), 4 + 2 * field
        offset = _number(self.content, "<H", layout + slot) if slot + 2 <= size else 0
        return self.at + offset if offset else None

    def number(self, field: int, form: str, default: int = 0) -> int:
        """A whole number; form: as of `struct`, such as "<i"."""
        place = self._place(field)
        return default if place is None else _number(self.content, form, place)

    def array(self, field: int, dtype: str) -> np.ndarray:
        """A vector of numbers or structs; (0,) where there is none."""
        start, count = self._vector(field, np.dtype(dtype).itemsize)
        return np.frombuffer(self.content, dtype, count, start)

    def table(self, field: int) -> FlatTable:
        """A table within this one. Raises: ValueError, where there is none."""
        place = self._place(field)
        if place is None:
            raise ValueError("a part of it is missing")
        return FlatTable(self.content, place + _number(self.content, "<I", place))

    def tables(self, field: int) -> list[FlatTable]:
        """A vector of tables."""
        start, count = self._vector(field, 4)
        places = start + 4 * np.arange(count, dtype=np.int64)
        return [FlatTable(self.content, int(p) + _number(self.content, "<I", int(p))) for p in places]

    def texts(self, field: int) -> list[bytes]:
        """A vector of texts."""
        found = []
        for text in self.tables(field):  # a text is reached as a table is
            size = _number(self.content, "<I", text.at)
            _within(self.content, text.at + 4, size)
            found.append(self.content[text.at + 4 : text.at + 4 + size])
        return found

    def _vector(self, field: int, each: int) -> tuple[int, int]:
        place = self._place(field)
        if place is None:
            return 0, 0
        start = place + _number(self.content, "<I", place)
        count = _number(self.content, "<I", start)
        _within(self.content, start + 4, count * each)
        return start + 4, count


def _number(content: bytes, form: str, at: int) -> int:
    _within(content, at, struct.calcsize(form))
    return int(struct.unpack_from(form, content, at)[0])


def _within(content: bytes, at: int, size: int) -> None:
    if not 0 <= at <= at + size <= len(content):
        raise ValueError("an offset leads out of the file")
