"""What a model itself said about rows, for a server whose pages ask about the same few plans again and again."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from wayforward.shapes import Floats, Ints

Native = Callable[[Floats], tuple[Floats, Ints]]


@dataclass
class RowMemory:
    """The last answers of a model that answers each row alike every time. most: how many; few: rows of a question that
    is looked up, larger ones are asked as they are. Rows are not held, only hashes of them under a key that is drawn.
    """

    most: int = 20_000
    few: int = 64
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _known: OrderedDict[bytes, tuple[Floats, int]] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def answer(self, rows: Floats, native: Native) -> tuple[Floats, Ints]:
        """(m, d) -> (m, c), (m,) as `native` answers, which is asked about what is new."""
        if len(rows) > self.few:
            return native(rows)
        keys = [hashlib.blake2b(row, key=self._key, digest_size=16).digest() for row in rows]
        with self._lock:
            known = {key: self._known[key] for key in keys if key in self._known}
        new = list({key: i for i, key in enumerate(keys) if key not in known}.items())
        if new:
            out, labels = native(rows[[i for _, i in new]])
            known |= {key: (out[at].copy(), int(labels[at])) for at, (key, _) in enumerate(new)}
        with self._lock:
            for key in keys:
                self._known[key] = known[key]
                self._known.move_to_end(key)
            while len(self._known) > self.most:
                self._known.popitem(last=False)
        return np.stack([known[key][0] for key in keys]), np.array([known[key][1] for key in keys], np.int64)
