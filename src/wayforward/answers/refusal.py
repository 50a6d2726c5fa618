"""The principal reasons of a no: irreducible sets of features that by themselves kept the yes away.

A set of features is a reason if the model says yes to the person with these features different and everything else
the same, and to no part of it alone. Where a plan changes something, a part of what it changes is a reason, with the
values of the plan, so that reasons and plans agree. The others are searched for: one feature over the values that
people have, then two, then as few as a greedy search needs. What is found is a reason; that there is no other is not
proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayforward.answers import words
from wayforward.language import gettext
from wayforward.problem.rounding import coarsest

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse
    from wayforward.schema import Schema

Array = NDArray[np.float64]

MOST = 4  # reasons, as notices of adverse action give them
_VALUES = 24  # tried for each number, evenly among what people have
_HALVINGS = 12


@dataclass(frozen=True)
class Reason:
    """features: their positions. profile (d,): the person with these features different, which the model accepts."""

    features: tuple[int, ...]
    profile: Array

    def text(self, schema: Schema, x: Array) -> str:
        """What would have had to be different, without a capital or a full stop: "savings 2,050 EUR, not 1,200 EUR"."""
        text = ""
        for place, j in enumerate(self.features):
            name, now, was = words.difference(schema.features[j], x[j], self.profile[j])
            if words.is_state(schema.features[j], x[j]):
                one = gettext("{name}: {now} (today: {was})", name=name, now=now, was=was)
            else:
                one = gettext("{name}: {now}, not {was}", name=name, now=now, was=was)
            if place == 1:
                text = gettext("{first}; together with {last}", first=text, last=one)
            else:
                text = gettext("{first}; and {last}", first=text, last=one) if text else one
        return text


def reasons(problem: Problem, recourse: Recourse, i: int, most: int = MOST) -> list[Reason]:
    """Return person i's principal reasons, those that the plans change first, then the smallest sets; at most `most`.

    [] for somebody who is accepted, and where the search finds no profile that is. The values were rounded for people
    and every profile is a yes of the model itself, which gives away no more than an option may. Rules, worlds and
    actionability are about acting and play no part.
    """
    one = recourse[int(i)]
    one.require_schema(problem.schema)
    if one.accepted[0] or not one.readable[0]:
        return []
    search = _Search(problem, one.x[0])
    found: list[Reason] = []
    of_plans = [part for part in search.of_plans(one) if problem.reached(part.profile[None])[0][0]]
    for reason in (*_smallest(of_plans), *search.of_others()):
        known = [set(other.features) for other in found]
        if any(got <= set(reason.features) or set(reason.features) <= got for got in known):
            continue
        profile = reason.profile[None]
        if problem.reached(profile)[0][0] and search.tells(profile)[0]:  # the model itself has the last word
            found.append(reason)
        if len(found) == most:
            break
    return found


def _smallest(parts: list[Reason]) -> list[Reason]:
    """Leave out the reasons of plans that hold a smaller one of another plan, which goes farther in fewer things."""
    sets = [set(one.features) for one in parts]
    return [one for one, mine in zip(parts, sets, strict=True) if not any(other < mine for other in sets)]


class _Search:
    """What differs from one person x (d,), and whether the model accepts it."""

    def __init__(self, problem: Problem, x: Array) -> None:
        self.problem, self.schema, self.x = problem, problem.schema, x

    def yes(self, rows: Array) -> NDArray[np.bool_]:
        """(m, d) -> (m,) bool, by the fast path where there is one."""
        fast = self.problem.presumed(rows)
        yes = np.asarray(self.problem.reached(rows)[0] if fast is None else fast)
        return yes if self.problem.disclosure is None else yes & self.tells(rows)

    def tells(self, rows: Array) -> NDArray[np.bool_]:
        """(m,) bool: the rows give away no more than an option may (`Problem.disclosure`)."""
        disclosure = self.problem.disclosure
        if disclosure is None:
            return np.ones(len(rows), dtype=np.bool_)
        return disclosure.tells(self.problem, np.tile(self.x, (len(rows), 1)), rows)

    def score(self, rows: Array) -> Array:
        """(m, d) -> (m,) how near a yes, higher is nearer."""
        return np.asarray(self.problem.bound_target.score(self.problem.model.outputs(rows)))

    def with_(self, features: Sequence[int], values: Array) -> Array:
        """(d,) the person with the values of another row in these features."""
        row = self.x.copy()
        row[list(features)] = values[list(features)]
        return row

    def irreducible(self, features: Sequence[int], values: Array) -> Reason | None:
        """Return the reason that is left when features that are not needed are taken back; None if it is a no."""
        remaining = list(features)
        if not remaining or not self.yes(self.with_(remaining, values)[None])[0]:
            return None
        while len(remaining) > 1:
            fewer = [[f for f in remaining if f != j] for j in remaining]
            good = self.yes(np.stack([self.with_(part, values) for part in fewer]))
            if not good.any():
                break
            remaining = fewer[int(np.flatnonzero(good)[0])]
        return Reason(tuple(remaining), self.with_(remaining, values))

    def of_plans(self, one: Recourse) -> Iterator[Reason]:
        """Yield a part of what each option changes."""
        for option in np.flatnonzero(one.found[0]):
            changed = np.flatnonzero(one.changed[0, option])
            size = np.abs(one.after[0, option] - self.x)[changed] / self.schema.span[changed]
            reason = self.irreducible(changed[np.argsort(size, kind="stable")].tolist(), one.after[0, option])
            if reason is not None:
                yield reason

    def of_others(self) -> Iterator[Reason]:
        """Yield single features, then pairs, then one set by a greedy search."""
        rows = [self._values(j) for j in range(self.schema.d)]
        owner = np.repeat(np.arange(self.schema.d), [len(part) for part in rows])
        if not owner.size:
            return
        every = np.concatenate(rows)
        good, score = self.yes(every), self.score(every)
        alone = [j for j in range(self.schema.d) if good[owner == j].any()]
        size = np.abs(every - self.x)[np.arange(len(every)), owner] / self.schema.span[owner]
        size = np.where(np.isnan(size) | self.schema.is_categorical[owner], 1.0, size)
        nearest = {j: int(np.argmin(np.where(good & (owner == j), size, np.inf))) for j in alone}
        for j in sorted(alone, key=lambda j: size[nearest[j]]):
            yield self._nearer((j,), every[nearest[j]])
        best = self.x.copy()
        rest = [j for j in range(self.schema.d) if j not in alone and (owner == j).any()]
        for j in rest:
            best[j] = every[np.argmax(np.where(owner == j, score, -np.inf)), j]
        gain = {j: float(score[owner == j].max()) for j in rest}
        rest.sort(key=lambda j: -gain[j])
        pairs = list(combinations(rest[:8], 2))
        if pairs:
            good = self.yes(np.stack([self.with_(pair, best) for pair in pairs]))
            for pair, does in zip(pairs, good, strict=True):
                if does:
                    yield self._nearer(pair, best)
        for size_ in range(3, len(rest) + 1):
            reason = self.irreducible(rest[:size_][::-1], best)
            if reason is not None:
                yield self._nearer(reason.features, best)
                return

    def _values(self, j: int) -> Array:
        """(m, d): the person with other values of feature j, those that people have."""
        feature = self.schema.features[j]
        if feature.carried:
            return np.empty((0, self.schema.d))
        if feature.has_levels:
            values = np.arange(feature.n_levels, dtype=np.float64)
        else:
            values = self.problem.shared(("values that people have", j), lambda: self._seen(j))
        values = values[(values != self.x[j]) & ~np.isnan(values)]
        rows = np.tile(self.x, (len(values), 1))
        rows[:, j] = values
        return rows[self.schema.legal(rows)[:, j]] if len(rows) else rows

    def _seen(self, j: int) -> Array:
        """Values of a quantity over the middle of those that people have, in order."""
        low, high = self.problem.observed_range
        seen = np.array([low[j], high[j]])
        if self.problem.reference is not None:
            seen = np.concatenate([seen, self.problem.reference[:, j]])
        seen = seen[np.isfinite(seen)]
        if not len(seen):
            return np.empty(0)
        disclosure = self.problem.disclosure
        held = None if disclosure is None else disclosure.held(j)
        if held is not None:
            seen = held[(held >= seen.min()) & (held <= seen.max())]
            return (
                np.unique(np.quantile(seen, np.linspace(0, 1, _VALUES), method="nearest"))
                if len(seen)
                else seen
            )
        middle = np.quantile(seen, np.linspace(0.01, 0.99, _VALUES))
        return np.asarray(np.unique(self.schema.snap(middle, columns=j)))

    def _nearer(self, features: Sequence[int], values: Array) -> Reason:
        """Return the reason with values nearer to the person's, by halving, and round where that is still a yes."""
        columns = [j for j in features if not self.schema.has_levels[j] and not np.isnan(self.x[j])]
        row, near, far = self.with_(features, values), 0.0, 1.0
        for _ in range(_HALVINGS if columns else 0):
            middle = (near + far) / 2
            tried = row.copy()
            tried[columns] = self.x[columns] + middle * (values[columns] - self.x[columns])
            tried[columns] = [self.schema.snap(np.array([tried[j]]), columns=j)[0] for j in columns]
            if self.yes(tried[None])[0]:
                far, row = middle, tried
            else:
                near = middle
        before = np.where(np.isin(np.arange(self.schema.d), columns), self.x, row)
        row = coarsest(self.schema, before[None], row[None], lambda _, rows: self.yes(rows))[0]
        return self._common(tuple(features), row)

    def _common(self, features: tuple[int, ...], row: Array) -> Reason:
        """Return the reason with the level that most people have of those that do, or the nearest of an order.

        A rare level explains little.
        """
        for j in (j for j in features if self.schema.has_levels[j]):
            rows = np.tile(row, (self.schema.features[j].n_levels, 1))
            rows[:, j] = np.arange(len(rows))
            rows = rows[(rows[:, j] != self.x[j]) & self.schema.legal(rows)[:, j]]
            rows = rows[self.yes(rows)]
            if len(rows):
                far = -np.abs(rows[:, j] - self.x[j])
                many = self._people_at(j)[rows[:, j].astype(int)] if self.schema.is_categorical[j] else far
                row = rows[np.argmax(many)]
        return self.irreducible(features, row) or Reason(features, row)

    def _people_at(self, j: int) -> Array:
        """(levels,) how many people have each level."""
        table, many = self.problem.reference, self.schema.features[j].n_levels
        if table is None:
            return np.zeros(many)

        def count() -> Array:
            seen = table[:, j]
            return np.bincount(seen[seen >= 0].astype(int), minlength=many).astype(np.float64)

        return self.problem.shared(("people at levels", j), count)
