"""Why somebody was refused: the nearest profile that would have been accepted, and how it differs.

The profile is searched for as recourse is, but without asking what the person could do about it: every
feature may differ, in any direction. So it explains and does not advise. It names no other person: it is the
person themselves with as little changed as the search could manage.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayforward.answers import words
from wayforward.errors import DataError, no_person
from wayforward.language import gettext, ngettext
from wayforward.public import public
from wayforward.schema import Schema, SchemaWarning

if TYPE_CHECKING:
    from wayforward.problem import Problem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@public
@dataclass(frozen=True)
class Contrast:
    """The nearest accepted profile of each person.

    x (n, d): the people. profile (n, d): NaN where the person is accepted already, or none was found.
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
        return [
            words.difference(self.schema.features[j], self.x[i, j], self.profile[i, j])
            for j in self._largest_first(i)
        ]

    def _largest_first(self, i: int) -> list[int]:
        size = np.abs(self.profile[i] - self.x[i]) / self.schema.span
        size = np.where(self.schema.is_categorical | np.isnan(size), 1.0, size)
        order = np.argsort(-np.where(self.differs[i], size, -1.0), kind="stable")
        return [int(j) for j in order[: int(self.differs[i].sum())]]

    def text(self, i: int) -> str:
        """The explanation for person i in plain sentences. Raises: DataError if there is no such person."""
        if not -len(self.x) <= i < len(self.x):
            raise DataError(no_person(i, len(self.x)))
        if self.accepted[i]:
            return gettext("The answer is yes already.")
        if not self.known[i]:
            return gettext("We found no profile that gets a yes, so we cannot say what made the difference.")
        listed = [
            gettext("{name} {now} (today: {was})", name=name, now=now, was=was)
            if words.is_state(self.schema.features[j], self.x[i, j])
            else gettext("{name} {now}, not {was}", name=name, now=now, was=was)
            for j, (name, now, was) in zip(self._largest_first(i), self.points(i), strict=True)
        ]
        lead = ngettext(
            "The answer would have been yes with one difference: {listed}.",
            "The answer would have been yes with these {n} differences: {listed}.",
            len(listed),
            listed="; ".join(listed),
        )
        note = gettext("This explains the answer. It is not advice.")
        return f"{lead} {note}"


@public
def why(problem: Problem, people: Any, *, seed: int = 0) -> Contrast:
    """The nearest accepted profile of every person, for all people at once.

    `people` is a table or an (n, d) array. Every value of the profile is legal and the model itself says yes
    to it, after its numbers were rounded for people. Distance is the sum of changes as shares of their
    ranges; the profile is near and not proved nearest. Rules, worlds and actionability are about acting and
    play no part.

    Raises: DataError if the people do not fit the schema.
    """
    from wayforward.methods import recommend
    from wayforward.problem import Problem as NewProblem

    schema = problem.schema
    free = tuple(replace(f, actionability="actionable", direction="any") for f in schema.features)
    with warnings.catch_warnings():
        # That a value lies outside what was observed was said when the people were first read.
        warnings.simplefilter("ignore", SchemaWarning)
        x = schema.encode(people)
        accepted, _ = problem.reached(x)
        profile = np.full(x.shape, np.nan)
        if not accepted.all():
            question = NewProblem(
                Schema(free),
                problem.model,
                problem.target,
                data=problem.reference,
                least_change=problem.least_change_source,
            )
            if problem.reference is not None:
                # The same people before the same model: what it says about them is known.
                question.reference_reached = problem.reference_reached
            answer = recommend(question, x[~accepted], k=1, seed=seed).rounded
            profile[~accepted] = np.where(answer.found, answer.after[:, 0], np.nan)
    return Contrast(schema, x, profile, accepted)
