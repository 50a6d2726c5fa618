"""Which groups densities are learnt for, and which features would give them away."""

from __future__ import annotations

import warnings

import numpy as np

from wayforward.errors import DataError, ProblemError
from wayforward.groups import Groups
from wayforward.schema import Schema, SchemaWarning
from wayforward.shapes import FeatureMask, Rows


def resolve_groups(groups: Groups | str | None, schema: Schema, rows: Rows) -> Groups:
    """Return the groups of rows (N, d): given as such, by the name of a feature, or the one sensitive feature.

    Raises: DataError where labels and rows do not go together or a quantity is no group; ProblemError where there is
    not exactly one sensitive feature to fall back on.
    """
    if isinstance(groups, Groups):
        if len(groups) != len(rows):
            raise DataError(
                f"'{groups.name}' groups {len(groups)} people, and the problem's table has {len(rows)}. "
                "Give one label for each person of Problem(..., data=train)."
            )
        return groups
    if groups is None:
        sensitive = [f.name for f in schema.features if f.sensitive]
        if len(sensitive) != 1:
            found = (
                f"the sensitive features are {', '.join(sensitive)}"
                if sensitive
                else "no feature is sensitive"
            )
            raise ProblemError(
                f"Balance between which groups? Here {found}. Give groups='name of a feature', or Groups of the "
                "people in Problem(..., data=train)."
            )
        groups = sensitive[0]
    if not isinstance(groups, str):
        raise DataError(
            f"groups={groups!r:.60} is neither the name of a feature nor Groups. Use Groups.of(name, labels)."
        )
    return Groups.of(groups, rows, schema)


def revealing(groups: Groups, schema: Schema, rows: Rows, given: FeatureMask) -> FeatureMask:
    """Find the groups' attribute, and what never moves and gives it away: a title gives away sex, and sex belongs to
    groups of sex and race crossed.

    Given in another coding, a group would be asked about people whom it does not have.
    """
    out = np.zeros(schema.d, dtype=bool)
    if groups.feature is not None:
        out[groups.feature] = True
    known = groups.member >= 0
    for j in np.flatnonzero(given & schema.has_levels & ~out):
        seen = known & ~np.isnan(rows[:, j])
        table = np.zeros((int(schema.n_levels[j]), groups.n_groups), dtype=np.int64)
        np.add.at(table, (rows[seen, j].astype(np.int64), groups.member[seen]), 1)
        lived = table[table.sum(1) > 0] > 0
        if len(lived) > 1 and lived.any(0).sum() > 1:
            one_group = bool((lived.sum(1) == 1).all())  # each level has people of one group
            out[j] = one_group or bool((lived.sum(0) <= 1).all())  # or each group people of one level
    return out


def present_groups(groups: Groups) -> Groups:
    """Drop the groups that have nobody, and warn of them by name. Raises: DataError where fewer than two remain."""
    empty = groups.sizes == 0
    if not empty.any():
        return groups
    gone = ", ".join(f"'{name}'" for name, none in zip(groups.names, empty, strict=True) if none)
    warnings.warn(
        f"Nobody in the problem's table belongs to {gone} of '{groups.name}': balance is between the others.",
        SchemaWarning,
        stacklevel=3,
    )
    place = np.where(empty, -1, np.cumsum(~empty) - 1)
    member = np.where(groups.member >= 0, place[groups.member], -1)
    names = tuple(name for name, none in zip(groups.names, empty, strict=True) if not none)
    return Groups(groups.name, names, member.astype(np.int64), groups.feature)
