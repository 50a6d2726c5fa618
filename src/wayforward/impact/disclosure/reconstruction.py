"""Reconstruction: how much of what is returned stands in the training table, value by value and row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.evaluate.stats import Estimate, rate
from wayforward.problem.crowd import Crowd
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.schema import Schema
from wayforward.shapes import Floats, Mask, Rows

FEW = 5  # people: a value that fewer hold tells of one of them


@public
@dataclass(frozen=True)
class Reconstruction:
    """Shares of what was returned, each of three: by the first `among` people of the training table, by as many whom
    the model never saw, and by the whole table.

    values: returned numbers that some training person has. rare: returned numbers that 1 to 4 training people have.
    options: options whose set values some training person has all at once. rows: options that are some training
    person's whole row.
    """

    values: tuple[Estimate, Estimate, Estimate]
    rare: tuple[Estimate, Estimate, Estimate]
    options: tuple[Estimate, Estimate, Estimate]
    rows: tuple[Estimate, Estimate, Estimate]
    among: int = 0  # people on either side of the comparison

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        parts: dict[str, Any] = {
            name: {
                side: one.to_dict()
                for side, one in zip(("members", "outsiders", "table"), shares, strict=True)
            }
            for name, shares in vars(self).items()
            if name != "among"
        }
        return {**parts, "among": self.among}


def reconstruction(answer: Recourse, members: Floats, outsiders: Floats) -> Reconstruction:
    """Look every returned value and row up among members (m, d), and among others (m', d) for comparison.

    Compared are as many as there are on either side: among more people more is found by chance.
    """
    found, among = answer.found, min(len(members), len(outsiders))
    action, after = np.where(answer.acted, answer.action, np.nan)[found], answer.after[found]
    sides = [
        _looked_up(answer.schema, action, after, rows)
        for rows in (members[:among], outsiders[:among], members)
    ]
    values, rare, options, rows = zip(*sides, strict=True)
    return Reconstruction(values, rare, options, rows, among)


def _looked_up(
    schema: Schema, action: Rows, after: Rows, rows: Floats
) -> tuple[Estimate, Estimate, Estimate, Estimate]:
    crowd = Crowd.of(schema, rows, jointly=True)
    number = ~np.isnan(action) & ~schema.has_levels
    holders = crowd.values(action)[number]
    return (
        rate(holders > 0),
        rate((holders > 0) & (holders < FEW)),
        rate(_somebody(crowd.jointly(action))),
        rate(_somebody(crowd.jointly(after, np.ones(after.shape, dtype=bool)))),
    )


def _somebody(count: np.ndarray) -> Mask:
    return np.asarray(count > 0)


__all__ = ["FEW", "Reconstruction", "reconstruction"]
