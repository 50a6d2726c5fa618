"""Protocols that come with the package: the published study, and two of our own."""

from __future__ import annotations

from importlib.resources import files

from wayforward.errors import DataError, did_you_mean, is_one_of
from wayforward.study.protocol import StudyProtocol

NAMES = ("car-loan", "dialogue-or-sliders", "point-or-region")


def ready_made_text(name: str) -> str:
    """The YAML text of a protocol, to be edited. Raises: DataError for a name that is not there."""
    if not is_one_of(name, NAMES):
        raise DataError(
            f"There is no protocol '{name}'.{did_you_mean(str(name), NAMES)} There are: {', '.join(NAMES)}."
        )
    return files("wayforward.study").joinpath("protocols", f"{name}.yaml").read_text(encoding="utf-8")


def ready_made(name: str) -> StudyProtocol:
    """A protocol by its name.

    >>> from wayforward.study.ready_made import ready_made
    >>> ready_made("car-loan").quota.most
    362
    """
    return StudyProtocol.parse(ready_made_text(name), f"protocol '{name}'")
