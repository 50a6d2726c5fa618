"""How often somebody may do something, against guessing codes and passwords."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import deque

from wayforward.errors import WayforwardError
from wayforward.language import gettext

_MINUTE = 60.0  # seconds


class TooOften(WayforwardError):
    """Too many requests in a short time."""


class RateLimits:
    """How often one visitor may do something within any minute. Addresses are kept as hashes, in memory, so long.

    By a clock that nobody can set: libraries for this go by the time of day, and a minute would last an hour where
    that is set back by one.
    """

    def __init__(self) -> None:
        self._times: dict[tuple[str, int, str], deque[float]] = {}
        self._lock, self._swept = threading.Lock(), 0.0
        self._salt = secrets.token_bytes(16)

    def spend(self, what: str, who: str, per_minute: int) -> None:
        """Raises: TooOften; that try does not count."""
        key = what, per_minute, hashlib.blake2b(who.encode(), key=self._salt, digest_size=16).hexdigest()
        with self._lock:
            now = time.monotonic()
            if now - self._swept >= _MINUTE:
                self._times = {k: t for k, t in self._times.items() if now - t[-1] < _MINUTE}
                self._swept = now
            times = self._times.setdefault(key, deque())
            while times and now - times[0] >= _MINUTE:
                times.popleft()
            if len(times) >= per_minute:
                raise TooOften(gettext("That was too often in a short time. Wait a minute, and try again."))
            times.append(now)
