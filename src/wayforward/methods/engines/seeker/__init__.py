"""The seeker: a person's whole search as one compiled routine."""

from wayforward.methods.engines.seeker.seeker import Seeker

__all__ = ["Seeker"]
