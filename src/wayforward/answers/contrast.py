"""Why somebody was refused: the nearest profile that would have been accepted, and how it differs.

It starts from accepted people that the problem knows and moves each of their values back to the person's own
as far as the model still says yes, so that it names no other person and differs in as little as it can. It
explains and does not advise: it may differ in what nobody can change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayforward.answers import words
from wayforward.answers.rounding import coarsest
from wayforward.errors import DataError
from wayforward.evaluate.distance import euclidean_columns, norms
from wayforward.evaluate.judge import ask_model

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.schema import Schema

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_STARTS = 4  # accepted people each search starts from
_HALVINGS = 12
_MOST_KNOWN = 20_000  # accepted people that are looked through; more are thinned out evenly


@dataclass(frozen=True)
class Contrast:
    """The nearest accepted profile of each person.

    x (n, d): the people. profile (n, d): NaN where the person is accepted already, or nobody ever is.
    accepted (n,) bool: the model says yes to the person as they are.
    """

    schema: Schema
    x: Array
    profile: Array
    accepted: Mask

    @property
    def known(self) -> Mask:
        """(n,) bool: a profile was found."""
        return np.asarray(~np.isnan(self.profile).all(-1))

    @property
    def differs(self) -> Mask:
        """(n, d) bool: where the profile and the person differ."""
        return np.asarray(self.schema.differs(self.profile, self.x) & self.known[:, None])

    def points(self, i: int) -> list[tuple[str, str, str]]:
        """Person i's differences as (label, value of the profile, the person's value), largest first."""
        size = np.abs(self.profile[i] - self.x[i]) / self.schema.span
        size = np.where(self.schema.is_categorical | np.isnan(size), 1.0, size)
        order = np.argsort(-np.where(self.differs[i], size, -1.0), kind="stable")
        found = []
        for j in order[: int(self.differs[i].sum())]:
            feature = self.schema.features[j]
            was, now = words.before_after(feature, self.x[i, j], self.profile[i, j])
            if not feature.has_levels and not np.isnan(self.x[i, j]):
                was = words.with_unit(was, feature, self.x[i, j])
            if feature.has_levels:
                was, now = words.quoted(was), words.quoted(now)
            found.append((words.label(feature), now, was))
        return found

    def text(self, i: int) -> str:
        """The explanation for person i in plain sentences."""
        if not -len(self.x) <= i < len(self.x):
            raise DataError(f"There is no person {i}; people are numbered 0 to {len(self.x) - 1}.")
        if self.accepted[i]:
            return "The answer is yes already."
        if not self.known[i]:
            return "We found no profile that gets a yes, so we cannot say what made the difference."
        points = self.points(i)
        if len(points) == 1:
            name, now, was = points[0]
            lead = f"The answer would have been yes with one difference: {name} {now}, not {was}."
        else:
            listed = "; ".join(f"{name} {now}, not {was}" for name, now, was in points)
            lead = f"The answer would have been yes with these {len(points)} differences: {listed}."
        return f"{lead} This explains the answer. It is not advice."


def why(problem: Problem, people: Any) -> Contrast:
    """The nearest accepted profile of every person, for all people at once.

    `people` is a table or an (n, d) array. The profile is legal and the model itself says yes to it. Distance
    is the sum of changes as shares of their ranges; the profile is near and not proved nearest.

    Raises: ProblemError if the problem knows no people; DataError if the people do not fit the schema.
    """
    schema = problem.schema
    x = np.asarray(people, dtype=np.float64) if isinstance(people, np.ndarray) else schema.encode(people)
    accepted, _ = ask_model(problem, x)
    profile = np.full(x.shape, np.nan)
    known = problem.reference_accepted
    known = known[schema.legal(known).all(-1)]
    todo = np.flatnonzero(~accepted)
    if len(todo) and len(known):
        if len(known) > _MOST_KNOWN:
            known = known[np.linspace(0, len(known) - 1, _MOST_KNOWN).astype(np.int64)]
        profile[todo] = _nearest(problem, x[todo], known)
    return Contrast(schema, x, profile, accepted)


def _nearest(problem: Problem, x: Array, known: Array) -> Array:
    from sklearn.neighbors import NearestNeighbors

    schema = problem.schema
    starts = min(_STARTS, len(known))
    index = NearestNeighbors(n_neighbors=starts).fit(euclidean_columns(schema, known))
    near = index.kneighbors(euclidean_columns(schema, x), return_distance=False)
    start = known[near].reshape(-1, schema.d)  # (n * starts, d)
    own = np.repeat(x, starts, axis=0)

    def yes(rows: Array) -> Mask:
        score = problem.bound_target.score(problem.model.outputs(rows))
        return np.asarray(score > problem.slack)

    row = _less_far(schema, own, _fewer(schema, own, start.copy(), yes), yes)
    # The fast model only searched; the model itself has the last word, and accepted every start.
    said, _ = ask_model(problem, row)
    row = np.where(said[:, None], row, start)
    row = coarsest(schema, own, row, lambda which, candidate: ask_model(problem, candidate)[0])
    length = norms(schema, own, row)["l1"] + 1e-3 * norms(schema, own, row)["l0"]
    best = length.reshape(len(x), starts).argmin(1)
    out: Array = row.reshape(len(x), starts, schema.d)[np.arange(len(x)), best]
    return out


def _fewer(schema: Schema, own: Array, row: Array, yes: Any) -> Array:
    """Give features back to the person's own value, the furthest first, where the answer stays yes."""
    far = np.abs(row - own) / schema.span
    far = np.where(schema.is_categorical, schema.differs(row, own).astype(float), far)
    far = np.where(np.isnan(far), 1.0, far)
    order = np.argsort(-far, axis=1, kind="stable")
    each = np.arange(len(row))
    for step in range(schema.d):
        j = order[:, step]
        candidate = row.copy()
        candidate[each, j] = own[each, j]
        ask = np.flatnonzero(schema.differs(candidate, row).any(-1))
        if len(ask):
            good = ask[yes(candidate[ask])]
            row[good] = candidate[good]
    return row


def _less_far(schema: Schema, own: Array, row: Array, yes: Any) -> Array:
    """Move what still differs and has an order back towards the person's value, by halving."""
    for j in np.flatnonzero(schema.ordered):
        near, far = own[:, j].copy(), row[:, j].copy()
        active = np.flatnonzero(schema.differs(row, own)[:, j] & ~np.isnan(near) & ~np.isnan(far))
        for _ in range(_HALVINGS):
            if not len(active):
                break
            middle = schema.snap((near[active] + far[active]) / 2, columns=int(j))
            new = (np.abs(middle - near[active]) > 1e-9) & (np.abs(middle - far[active]) > 1e-9)
            active, middle = active[new], middle[new]
            if not len(active):
                break
            candidate = row[active].copy()
            candidate[:, j] = middle
            good = yes(candidate)
            far[active[good]] = middle[good]
            near[active[~good]] = middle[~good]
            row[active[good], j] = middle[good]
    return row
