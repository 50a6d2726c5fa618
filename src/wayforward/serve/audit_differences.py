"""Audits of nearly the same people, or at other thresholds: what one tells less what another tells is not of few.

Whoever is refused at a threshold is refused at every higher one, so that the difference of two counts is a count of
people between the two; and of two tables that differ by a row, the difference of two counts is how that person fared.
An audit in which such a difference would be of fewer than `FEWEST` people is not told.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.groups import Groups
from wayforward.language import gettext
from wayforward.plain_files import write_text, written
from wayforward.serve.audits import EVERYBODY, FEWEST

_MARK = "asked-about.npz"  # beside the numbers of an audit: of which model and people they are
_KEY = ".asked-about.key"  # of the marks of rows; who has a mark and not the key learns nothing of a row


def refuse_few_between(
    folder: Path, model_id: str, x: np.ndarray, attributes: Sequence[Groups], numbers: Mapping[str, Any]
) -> None:
    """Compare an audit of people x (n, d) in groups with those of the same model in the folders beside it, and leave a
    mark in its own. Raises: WayforwardError where one of them differs by a few people, in all or in some group.
    """
    rows, here = _marks(folder.parent, x), dict(_refused(numbers))
    cells = {name: rows[mask] for name, mask in _cells(attributes, len(x))}
    for other in sorted(folder.parent.glob(f"*/{_MARK}")):
        report = other.with_name("audit.json")
        if other.parent == folder or not report.is_file():
            continue
        with np.load(other, allow_pickle=False) as mark:
            if str(mark["model"]) != model_id:
                continue
            names, theirs, of_cell = mark["names"].tolist(), mark["rows"], mark["cells"]
        before = dict(_refused(json.loads(report.read_text(encoding="utf-8"))))
        apart = [
            _only_in_one(cells[name], theirs[place])
            for name, place in zip(names, of_cell, strict=True)
            if name in cells and min(len(cells[name]), place.sum()) >= FEWEST
        ]
        if any(0 < count < FEWEST for count in apart):
            raise WayforwardError(
                gettext(
                    "These people are those of an audit that is there already but for fewer than {n}, in all or in "
                    "some group: the two together would tell of each. Read that one, or wait until more have changed.",
                    n=FEWEST,
                )
            )
        if not any(apart) and any(
            0 < abs(here[name] - before[name]) < FEWEST for name in here.keys() & before.keys()
        ):
            raise WayforwardError(
                gettext(
                    "At this threshold fewer than {n} people fare otherwise than in an audit of the same people that "
                    "is there already, in all or in some group: the two together would tell of each. Choose a "
                    "threshold farther away.",
                    n=FEWEST,
                )
            )
    every = dict(_cells(attributes, len(x)))
    with written(folder / _MARK, private=True) as half, half.open("wb") as file:
        np.savez_compressed(
            file, model=np.array(model_id), rows=rows, names=np.array(list(every)),
            cells=np.stack(list(every.values())),
        )  # fmt: skip


def _marks(folder: Path, x: np.ndarray) -> np.ndarray:
    """(n,) a mark of each row, under a key of the deployment."""
    file = folder / _KEY
    if not file.exists():
        write_text(file, secrets.token_hex(32), private=True)
    key = bytes.fromhex(file.read_text())
    marks = b"".join(
        hashlib.blake2b(row, key=key, digest_size=8).digest() for row in np.ascontiguousarray(x + 0.0)
    )
    return np.frombuffer(marks, dtype=np.uint64)


def _cells(attributes: Sequence[Groups], n: int) -> Iterator[tuple[str, np.ndarray]]:
    """Name and members (n,) bool of everybody, of each group and of where two groups meet."""
    yield EVERYBODY, np.ones(n, dtype=bool)
    groups = [
        [(f"{one.name}={name}", one.member == i) for i, name in enumerate(one.names)] for one in attributes
    ]
    yield from itertools.chain.from_iterable(groups)
    for some, others in itertools.combinations(groups, 2):
        for (a, mine), (b, theirs) in itertools.product(some, others):
            yield f"{a}, {b}", mine & theirs


def _only_in_one(mine: np.ndarray, theirs: np.ndarray) -> int:
    """How many rows are in one of the two tables only; of equal rows each counts."""
    _, place = np.unique(np.concatenate([mine, theirs]), return_inverse=True)
    counts = [np.bincount(part, minlength=place.max(initial=0) + 1) for part in np.split(place, [len(mine)])]
    return int(np.abs(counts[0] - counts[1]).sum())


def _refused(numbers: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], int]]:
    """(attribute, group) -> how many of it are refused, wherever an audit tells that."""
    yield (EVERYBODY, EVERYBODY), int(numbers["refused"])
    for attribute in numbers["attributes"]:
        for group in attribute["groups"]:
            share = group["figures"].get("refused")
            if share is not None and share["value"] is not None:
                yield (attribute["name"], group["group"]), round(share["value"] * share["n"])
