"""Who belongs to which group: labels that are checked once, for everything that compares groups."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, is_number, is_one_of, is_whole, shown
from wayforward.language import Translatable, gettext, marks, pgettext, translated
from wayforward.public import public
from wayforward.schema import Schema, SchemaWarning
from wayforward.schema.tables import legible_column

if TYPE_CHECKING:
    from wayforward.shapes import People

_BARE = ("yes", "no", "true", "false", "nan")  # levels that say nothing by themselves
_MOST = 20  # more different labels than this are no groups but a quantity


@public
@dataclass(frozen=True)
class Groups:
    """A group for each of n people. member (n,) int: position in `names`, -1 where the label is missing.

    name: of the attribute, such as 'sex'. names: of the groups. feature: the attribute's position in the schema, or
    None where the model does not see it.

    Example: ``Groups.of("sex", people, schema)`` or ``Groups.of("region", labels)``.
    Raises: DataError for labels that are no groups: a continuous quantity, fewer than two groups, two of one name, or
    another length.
    """

    name: str
    names: tuple[str, ...]
    member: np.ndarray
    feature: int | None = None

    def __post_init__(self) -> None:
        member = np.asarray(self.member)
        if member.ndim != 1 or member.dtype.kind not in "iu":
            raise DataError(
                f"Groups of '{self.name}' need one whole number a person; got {member.dtype} {member.shape}."
            )
        if member.size and (member.max() >= len(self.names) or member.min() < -1):
            raise DataError(
                f"A member of '{self.name}' has no name: {int(member.max())} with {len(self.names)} names."
            )
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise DataError(
                f"'{self.name}' has two groups called '{twice[0]}', so that one would answer for the other. Name each "
                "group once."
            )
        if len(self.names) < 2:
            groups = "group" if len(self.names) == 1 else "groups"
            lacking = int((member < 0).sum())
            others = f" ({lacking:,} of {member.size:,} people have no label)" if lacking else ""
            raise DataError(
                f"'{self.name}' has {len(self.names)} {groups}{others}, so there is nothing to compare. "
                "Give an attribute with two groups or more."
            )

    @classmethod
    def of(
        cls,
        name: Any,
        labels: Any,
        schema: Schema | None = None,
        *,
        cut: Sequence[float] | None = None,
    ) -> Groups:
        """Groups from labels (n,), or from people and their schema, where `name` is a feature.

        People are a table, or encoded (n, d); a row of a table that cannot be read belongs to no group. cut: edges
        that make groups of a quantity, and of no feature with levels: ``cut=[30, 60]`` gives 'below 30', '30 to 60',
        '60 and above'.
        Missing labels (None, NaN, '') belong to no group, with a warning. Raises: DataError, see the class.
        """
        name, feature = str(name), None
        if schema is not None:
            if not hasattr(schema, "features"):
                raise DataError(f"schema={shown(schema)} is none. Give a Schema, or leave it out for labels.")
            if name not in schema.names:
                raise DataError(
                    f"There is no feature '{name}' to make groups of. Known: {', '.join(schema.names)}. "
                    "For an attribute that the model does not see, give its labels instead of the people."
                )
            feature = schema.index(name)
            one = schema.features[feature]
            if one.carried:
                raise DataError(
                    f"'{name}' is carried as each person has it, which makes no groups. Give labels of your own "
                    "instead: Groups.of(name, labels)."
                )
            encoded = isinstance(labels, (np.ndarray, list, tuple))
            try:
                rows: People = np.asarray(labels, dtype=np.float64) if encoded else schema.read(labels)[0]
            except (TypeError, ValueError):
                raise DataError(
                    f"The people of '{name}' are {shown(labels)}. Give a table, or rows of numbers."
                ) from None
            if rows.ndim != 2 or rows.shape[1] != schema.d:
                raise DataError(
                    f"The people of '{name}' have shape {rows.shape}. Give a table, or rows of {schema.d} values each."
                )
            column = rows[:, feature]
            if one.has_levels and cut is not None:
                raise DataError(f"'{name}' has levels, which are its groups. Leave cut out.")
            if one.has_levels:
                member = np.where(np.isnan(column), -1, np.nan_to_num(column)).astype(np.int64)
                return cls(name, tuple(str(level) for level in one.levels), member, feature)._warned()
            labels = column
        if hasattr(labels, "to_pylist"):
            labels = legible_column(labels, name).to_pylist()
        values = np.asarray(labels, dtype=object)
        if values.ndim == 0:
            raise DataError(
                f"The labels of '{name}' are {shown(labels)}. Give one for each person, in a list."
            )
        values = values.reshape(-1)
        gone = np.array([v is None or v != v or v == "" for v in values], dtype=bool)
        if cut is not None:
            return cls._cut(name, values, gone, _edges(cut), feature)._warned()
        known = sorted({str(v) for v in values[~gone]}, key=_natural)
        if len(known) > _MOST:
            raise DataError(
                f"'{name}' has {len(known)} different values, which makes a quantity, not groups. "
                f"Cut it into groups, for example cut=[{_middle(values[~gone])}]."
            )
        at = {label: i for i, label in enumerate(known)}
        member = np.array(
            [-1 if g else at[str(v)] for v, g in zip(values, gone, strict=True)], dtype=np.int64
        )
        return cls(name, tuple(known), member, feature)._warned()

    @classmethod
    def _cut(
        cls, name: str, values: np.ndarray, gone: np.ndarray, edges: np.ndarray, feature: int | None
    ) -> Groups:
        try:
            number = np.array([np.nan if g else float(v) for v, g in zip(values, gone, strict=True)])
        except (TypeError, ValueError):
            raise DataError(f"'{name}' cannot be cut: its values are no numbers. Leave cut out.") from None
        if not edges.size or (np.diff(edges) <= 0).any():
            raise DataError(
                f"cut={edges.tolist()} has no rising edges. Give them in order, such as [30, 60]."
            )
        names = (
            Translatable(lambda: gettext("below {edge}", edge=_edge(edges[0]))),
            *(Translatable(partial(_between, a, b)) for a, b in itertools.pairwise(edges)),
            Translatable(lambda: gettext("{edge} and above", edge=_edge(edges[-1]))),
        )
        member = np.where(np.isnan(number), -1, np.searchsorted(edges, number, side="right"))
        return cls(name, names, member.astype(np.int64), feature)

    def _warned(self) -> Groups:
        """Warn of people without a label; return the groups as they are."""
        lost = int((self.member < 0).sum())
        if lost:
            warnings.warn(
                f"{lost} of {len(self.member)} people have no label for '{self.name}': they belong to no group.",
                SchemaWarning,
                stacklevel=3,
            )
        return self

    def __len__(self) -> int:
        return len(self.member)

    @property
    def n_groups(self) -> int:
        """Number of groups, empty ones included."""
        return len(self.names)

    @property
    def sizes(self) -> np.ndarray:
        """(g,) people in each group."""
        return np.bincount(self.member[self.member >= 0], minlength=len(self.names))

    def mask(self, group: int | str) -> np.ndarray:
        """(n,) bool: who belongs to a group. Raises: DataError for an unknown one."""
        return np.asarray(self.member == self.place(group))

    def place(self, group: int | str) -> int:
        """The place of a group among `names`. Raises: DataError for an unknown one."""
        if is_one_of(group, self.names):
            return self.names.index(str(group))
        if not is_whole(group, 0, self.n_groups - 1):
            raise DataError(f"'{self.name}' has no group {shown(group)}. Known: {', '.join(self.names)}.")
        return int(group)

    def take(self, rows: np.ndarray) -> Groups:
        """The groups of some of the people."""
        return Groups(self.name, self.names, self.member[rows], self.feature)

    def cross(self, other: Groups) -> Groups:
        """Intersections of two attributes: 'female and under 30', 'female and foreign worker: yes'."""
        if len(other) != len(self):
            raise DataError(
                f"'{self.name}' is known of {len(self)} people and '{other.name}' of {len(other)}. "
                "Give the same people."
            )
        pairs = itertools.product(self._told_alone(), other._told_alone())
        names = [Translatable(partial(_both, a, b)) for a, b in pairs]
        for place, name in enumerate(names):  # of names that hold an "and" themselves two may read alike
            if name in names[:place]:
                names[place] = Translatable(partial(_numbered, name, place + 1))
        both = (self.member >= 0) & (other.member >= 0)
        member = np.where(both, self.member * len(other.names) + other.member, -1)
        return Groups(f"{self.name} and {other.name}", tuple(names), member)

    def _told_alone(self) -> tuple[str, ...]:
        """Names that say what they are of where the attribute stands elsewhere: of a bare 'yes', 'no' or number."""
        what = self.name.replace("_", " ")
        return tuple(
            Translatable(partial(_of, what, name))
            if name.lower() in _BARE or name.replace(".", "").isdigit()
            else name
            for name in self.names
        )

    def minority(self) -> int:
        """The smallest group that has anybody."""
        sizes = self.sizes
        return int(np.where(sizes > 0, sizes, sizes.max() + 1).argmin())


def attributes(groups: Sequence[Groups] | Groups, n: int) -> list[Groups]:
    """Return one or more attributes of n people as a list. Raises: DataError for what is no group, or of others."""
    if not isinstance(groups, (Groups, Sequence)) or isinstance(groups, (str, bytes)):
        raise DataError(
            f"groups={shown(groups)} is no list of groups. Make some: Groups.of('sex', people, schema)."
        )
    found = [groups] if isinstance(groups, Groups) else list(groups)
    for one in found:
        if not isinstance(one, Groups):
            raise DataError(
                f"groups holds a {type(one).__name__}. Make groups with Groups.of(name, labels) or "
                "Groups.of(name, people, schema)."
            )
        if len(one) != n:
            raise DataError(
                f"'{one.name}' has labels of {len(one)} people; there are {n}. Give the same people."
            )
    return found


def _edges(cut: Any) -> np.ndarray:
    """Return edges (m,) as numbers. Raises: DataError."""
    numbers = (
        isinstance(cut, (Sequence, np.ndarray)) and getattr(cut, "ndim", 1) == 1 and all(map(is_number, cut))
    )
    if not numbers:
        raise DataError(f"cut={shown(cut)} is no list of numbers. Give edges in order, such as [30, 60].")
    return np.asarray(cut, dtype=np.float64)


def _edge(value: float) -> str:
    return marks(f"{value:g}" if float(f"{value:g}") == value else f"{value:.12g}")


def _between(low: float, high: float) -> str:
    return gettext("{low} to {high}", low=_edge(low), high=_edge(high))


def _both(first: str, second: str) -> str:
    return pgettext(
        "where two groups meet", "{first} and {second}", first=translated(first), second=translated(second)
    )


def _numbered(name: str, place: int) -> str:
    return f"{translated(name)} ({place})"


def _of(what: str, name: str) -> str:
    return f"{what}: {translated(name)}"


def _natural(label: str) -> tuple[int, float, str]:
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)


def _middle(values: np.ndarray) -> str:
    try:
        return f"{float(np.median([float(v) for v in values])):g}"
    except (TypeError, ValueError):
        return "30"


def cuts_near_thirds(column: np.ndarray) -> list[float]:
    """Return one or two round numbers near the thirds of the finite values of a quantity (n,).

    Raises: DataError where there is no finite value.
    """
    known = column[np.isfinite(column)]
    if not known.size:
        raise DataError("A quantity without values makes no groups. Choose another one.")
    raw = np.quantile(known, (1 / 3, 2 / 3))
    span = float(np.quantile(known, 0.9) - np.quantile(known, 0.1)) or 1.0
    size = 10.0 ** np.floor(np.log10(span / 4))
    unit = size * (5 if span / 4 >= 5 * size else 1)
    cut = np.unique(np.round(np.round(raw / unit) * unit, 12)).tolist()
    least, greatest = float(known.min()), float(known.max())
    return [float(c) for c in cut if least < c <= greatest] or [float(np.median(known))]
