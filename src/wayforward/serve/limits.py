"""How often somebody may do something, against guessing codes and passwords."""

from __future__ import annotations

import hashlib
import secrets

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from wayforward.errors import WayforwardError
from wayforward.language import gettext


class TooOften(WayforwardError):
    """Too many requests in a short time."""


class RateLimits:
    """How often one visitor may do something. Addresses are kept as hashes, in memory, for a minute."""

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._salt = secrets.token_bytes(16)

    def spend(self, what: str, who: str, per_minute: int) -> None:
        """Raises: TooOften."""
        hidden = hashlib.blake2b(who.encode(), key=self._salt, digest_size=16).hexdigest()
        if not self._limiter.hit(RateLimitItemPerMinute(per_minute), what, hidden):
            raise TooOften(gettext("That was too often in a short time. Wait a minute, and try again."))
