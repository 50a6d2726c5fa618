"""Audits of the same people at other thresholds: what one tells less what another tells must not tell of few.

Whoever is refused at a threshold is refused at every higher one, so that the difference of two counts is a count of
people between the two. An audit in which such a difference would be of fewer than `FEWEST` people is not told.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.language import gettext
from wayforward.serve.audits import EVERYBODY, FEWEST

_MARK = "asked-about.mark"  # beside the numbers of an audit: of which model and people they are


def refuse_few_between(folder: Path, model_id: str, x: np.ndarray, numbers: Mapping[str, Any]) -> None:
    """Compare an audit of people x (n, d) with those of the same people and model in the folders beside it, and leave a
    mark in its own. Raises: WayforwardError where one of them differs by a few people.
    """
    rows = np.ascontiguousarray(x[np.lexsort(x.T)] + 0.0)
    mark = hashlib.sha256(model_id.encode() + str(rows.shape).encode() + rows.tobytes()).hexdigest()
    mine = dict(_refused(numbers))
    for other in sorted(folder.parent.glob(f"*/{_MARK}")):
        report = other.with_name("audit.json")
        if other.parent == folder or other.read_text() != mark or not report.is_file():
            continue
        before = dict(_refused(json.loads(report.read_text(encoding="utf-8"))))
        if any(0 < abs(mine[name] - before[name]) < FEWEST for name in mine.keys() & before.keys()):
            raise WayforwardError(
                gettext(
                    "At this threshold fewer than {n} people fare otherwise than in an audit of the same people that "
                    "is there already, in all or in some group: the two together would tell of each. Choose a "
                    "threshold farther away.",
                    n=FEWEST,
                )
            )
    (folder / _MARK).write_text(mark)


def _refused(numbers: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], int]]:
    """(attribute, group) -> how many of it are refused, wherever an audit tells that."""
    yield (EVERYBODY, EVERYBODY), int(numbers["refused"])
    for attribute in numbers["attributes"]:
        for group in attribute["groups"]:
            share = group["figures"].get("refused")
            if share is not None and share["value"] is not None:
                yield (attribute["name"], group["group"]), round(share["value"] * share["n"])
