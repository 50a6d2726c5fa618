"""An audit: who has recourse, what it costs each group, how sure the numbers are, and one page that says so."""

from typing import TYPE_CHECKING

from wayforward.lazy import face

_HOME = {"Audit": "run", "audit": "run", "both_ways": "run"}

__all__ = ["Audit", "audit", "both_ways"]

__getattr__ = face(__name__, _HOME)

if TYPE_CHECKING:
    from wayforward.impact.audit.run import Audit, audit, both_ways
