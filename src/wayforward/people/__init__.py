"""People in the loop: dialogues, ways of asking what somebody wants, and simulated people for experiments."""

from wayforward.lazy import face
from wayforward.preferences import __all__ as _MOVED  # what people want has a package of its own

__getattr__ = face(__name__, {}, dict.fromkeys(_MOVED, "wayforward.preferences"))
