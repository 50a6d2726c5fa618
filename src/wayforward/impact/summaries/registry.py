"""Summarisers by name."""

from __future__ import annotations

from wayforward.errors import DataError
from wayforward.impact.summaries.base import Summariser
from wayforward.public import public
from wayforward.registry import Registry

#: A new summariser adds one line.
SUMMARISERS = Registry(
    "summariser",
    "wayforward.impact.summaries",
    DataError,
    {"tree": "tree:Tree", "ares": "ares:Ares", "globe-ce": "globe_ce:GlobeCe"},
)

register = SUMMARISERS.register


@public
def summariser(name: str) -> Summariser:
    """Return a summariser with its usual settings. Raises: DataError for an unknown one."""
    made: Summariser = SUMMARISERS.find(name)()
    return made
