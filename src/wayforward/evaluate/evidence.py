"""What a metric may ask about an answer: people, options, the verdicts on them, and what they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, flags_in, numbers_in
from wayforward.evaluate.actions import out_of_domain
from wayforward.evaluate.actions import violations as violations_of
from wayforward.evaluate.distance import ReferenceScale, norms
from wayforward.evaluate.diversity import diversity
from wayforward.evaluate.foreign import read_rows
from wayforward.evaluate.judge import Judged, ask_model, judge
from wayforward.evaluate.plausible import Reference, at_least_as_likely
from wayforward.language import N_, Translatable, gettext
from wayforward.lazy import cached_property
from wayforward.public import public
from wayforward.recourse import Outcome, Recourse
from wayforward.shapes import Actions, Costs, Ints, Mask, OptionMask, People, PerPerson, PersonMask

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.schema import Schema
    from wayforward.world import World

_FEWEST_ACCEPTED = 6  # reference people that plausibility can be judged by


@public
@dataclass(frozen=True, eq=False)
class Evidence:
    """One answer and all that can be said about it; each part is worked out when a metric first asks for it.

    x (n, d), action and after (n, k, d), judged: the verdicts. wishes: preferences of these people. The rest are the
    arguments of `evaluate`. Arrays (n, ...) hold NaN where somebody has no option.
    """

    problem: Problem
    x: People
    action: Actions
    after: Actions
    judged: Judged
    wishes: Preferences | None = None
    reference: Any = None
    seed: int = 0
    density: Any = None
    oracle: Any = None
    other_model: Any = None
    true_world: World | None = None
    wanted: Any = None
    reference_labels_right: Any = None
    bound: PerPerson | None = None  # (n,) as `Recourse.bound` of the first option

    @classmethod
    def about(
        cls, recourse: Recourse, problem: Problem, preferences: Preferences | None = None, **more: Any
    ) -> Evidence:
        """Judge a recourse again; more: the fields from `reference` on. Raises: DataError for another problem's."""
        recourse.require_schema(problem.schema)
        wishes = recourse.preferences if preferences is None else preferences
        x, action, after = recourse.x, recourse.action, recourse.after
        judged, bound = judge(problem, x, action, after, wishes), recourse.bound[:, 0]
        return cls(problem, x, action, after, judged, wishes, bound=bound, **more)

    @property
    def schema(self) -> Schema:
        """The problem's schema."""
        return self.problem.schema

    @property
    def n(self) -> int:
        """Number of people."""
        return int(self.action.shape[0])

    @property
    def k(self) -> int:
        """Number of options a person."""
        return int(self.action.shape[1])

    @property
    def refused(self) -> PersonMask:
        """(n,) bool: the model itself refuses them, so that they asked for recourse."""
        return self.judged.refused

    @property
    def usable(self) -> OptionMask:
        """(n, k) bool: the option holds in every respect."""
        return self.judged.usable

    @property
    def given(self) -> OptionMask:
        """(n, k) bool: an option was returned to somebody who asked."""
        return np.asarray(self.judged.returned & self.refused[:, None])

    # -- the options, each by itself -----------------------------------------------------------------------

    @cached_property
    def cost(self) -> Costs:
        """(n, k) the problem's cost without personal weights; inf where there is none."""
        return option_costs(self.problem, self.x, self.action, self.after, None)

    @cached_property
    def weighted_cost(self) -> Costs:
        """(n, k) the problem's cost with personal weights; the unweighted one where all are 1."""
        if self.wishes is None or not (self.wishes.weight != 1.0).any():
            return self.cost
        return option_costs(self.problem, self.x, self.action, self.after, self.wishes.weight)

    @cached_property
    def norms(self) -> dict[str, Costs]:
        """l0, l1, l2, l2_squared and linf (n, k) of the changes in shares of ranges."""
        returned = np.where(self.judged.returned[..., None], self.after, np.nan)
        return norms(self.schema, self.x[:, None, :], returned)

    @cached_property
    def plausible(self) -> OptionMask | None:
        """(n, k) bool: no further from accepted people than most of them are; None without enough of these."""
        known, accepted = self.known, self.known_accepted
        if known is None or accepted is None or accepted.sum() < _FEWEST_ACCEPTED:
            return None
        from wayforward.problem import Neighbours

        test = Neighbours().fit(self.schema, known, accepted)
        out = np.zeros(self.after.shape[:2], dtype=bool)
        exist = ~out_of_domain(self.schema, self.after).any(-1)
        who, slot = np.nonzero(self.judged.returned & exist)
        if len(who):
            out[who, slot] = np.asarray(test.holds(self.x[who], self.after[who, slot]), dtype=bool)
        return out

    @cached_property
    def copies(self) -> OptionMask | None:
        """(n, k) bool: the option is the whole row of somebody among the reference people; None without any."""
        if self.known is None:
            return None
        known, after = (self.schema.round(rows) + 0.0 for rows in (self.known, self.after))
        whole = np.dtype((np.void, known.shape[-1] * known.itemsize))
        alike = np.isin(
            np.ascontiguousarray(after).view(whole)[..., 0], np.ascontiguousarray(known).view(whole)[:, 0]
        )
        return np.asarray(alike & self.judged.returned)

    @property
    def usable_plausible(self) -> OptionMask:
        """(n, k) bool: usable and plausible."""
        return self.usable & (False if self.plausible is None else self.plausible)

    # -- the option that stands for each person ------------------------------------------------------------

    @cached_property
    def chosen(self) -> Ints:
        """(n,) the usable option that is cheapest for the person, the first of equals; -1 where none is usable."""
        return cheapest(self.weighted_cost, self.usable)

    @cached_property
    def has(self) -> PersonMask:
        """(n,) bool: the person has a usable option."""
        return np.asarray(self.chosen >= 0)

    @cached_property
    def end(self) -> People:
        """(n, d) the profile of the chosen option."""
        return self.pick(self.after)

    @cached_property
    def acts(self) -> People:
        """(n, d) what the chosen option sets."""
        return self.pick(self.action)

    @cached_property
    def real_acts(self) -> People:
        """(n, d) the same, without acts that leave everything as it is."""
        if not self.problem.independent:
            return self.acts
        return np.where(self.schema.differs(self.acts, self.x), self.acts, np.nan)

    def pick(self, values: np.ndarray, which: Ints | None = None) -> np.ndarray:
        """Take (n, k, ...) of the chosen option, or of the one that `which` (n,) names; NaN where it names none."""
        which = self.chosen if which is None else which
        taken = values[np.arange(self.n), np.maximum(which, 0)]
        none = (which < 0).reshape(-1, *[1] * (taken.ndim - 1))
        return np.where(none, np.nan, taken)

    def cheapest_of(self, good: OptionMask) -> Ints:
        """(n,) the cheapest option of these, without personal weights; -1 where there is none."""
        return cheapest(self.cost, good)

    # -- whom they are compared with -----------------------------------------------------------------------

    @cached_property
    def known(self) -> People | None:
        """(R, d) reference people, None without any."""
        if self.reference is not None:
            known = read_rows(self.schema, self.reference, "reference")
        elif self.problem.reference is not None:
            known = self.problem.reference
        else:
            return None
        return known if len(known) else None

    @cached_property
    def known_accepted(self) -> Mask | None:
        """(R,) bool: the model accepts them."""
        if self.known is None:
            return None
        return (
            self.problem.reference_reached
            if self.reference is None
            else ask_model(self.problem, self.known)[0]
        )

    @cached_property
    def scale(self) -> ReferenceScale | None:
        """Medians and distributions of the reference people."""
        return None if self.known is None else ReferenceScale.fit(self.schema, self.known)

    @cached_property
    def around(self) -> Reference | None:
        """The reference people as neighbours."""
        if self.known is None or self.known_accepted is None:
            return None
        return Reference(self.schema, self.known, self.known_accepted, self.labels_right(), seed=self.seed)

    def labels_right(self) -> Mask | None:
        """(R,) bool: the model is right about each reference person; None where nobody said. Raises: DataError."""
        if self.reference_labels_right is None:
            return None
        right = flags_in(self.reference_labels_right, "reference_labels_right")
        wanted = () if self.known is None else (len(self.known),)
        if right.shape != wanted:
            raise DataError(
                f"reference_labels_right has shape {right.shape}; there are {wanted or 'no'} reference people. Give "
                "True or False for each, or leave it out."
            )
        return np.asarray(right)

    @cached_property
    def diversity(self) -> dict[str, PerPerson]:
        """Measures of each person's set of usable options; empty for one option a person or without reference."""
        if self.k < 2 or self.scale is None:
            return {}
        sets = np.where(self.usable[..., None], self.after, np.nan)
        return {
            name: np.where(self.refused, values, np.nan)
            for name, values in diversity(self.schema, self.x, sets, self.usable, self.scale).items()
        }

    @cached_property
    def violations(self) -> dict[str, PerPerson]:
        """How many limits the cheapest option breaks, usable or not, kind by kind."""
        option = np.where(self.given.any(1), self.cheapest_of(self.judged.returned), -1)
        return violations_of(self.schema, self.x, self.pick(self.after, option))

    @cached_property
    def likelihood(self) -> tuple[PerPerson, PerPerson] | None:
        """At least as likely after as before (1, 0, NaN), and the gain in log-density; None without a density."""
        if self.density is None:
            return None
        before = np.where(self.refused[:, None], self.x, np.nan)
        return at_least_as_likely(self._density(), before, self.end)

    def _density(self) -> Any:
        """Return what says how likely people are: any density, a world bound here, or the problem's own."""
        from wayforward.world import World

        if isinstance(self.density, str):
            if self.density != "world":
                raise DataError(f"density={self.density!r}; it must be a density, a world, or 'world'.")
            return self.problem.world
        return self.density.bind(self.schema) if isinstance(self.density, World) else self.density

    @cached_property
    def best(self) -> tuple[PerPerson, PersonMask] | None:
        """The oracle's cost of each person in their own terms, inf where none, and who has any option at all."""
        if self.oracle is None:
            return None
        return oracle_costs(self.problem, self.oracle, self.n, self.x)

    # -- what the chosen options are held against ----------------------------------------------------------

    def accepted_when(self, answer: Callable[[People, People, People], Mask]) -> PersonMask:
        """(n,) bool: what `answer` says of x, acts and end (m, d) of people with a usable option, False of others."""
        yes = np.zeros(self.n, dtype=bool)
        if self.has.any():
            yes[self.has] = answer(self.x[self.has], self.acts[self.has], self.end[self.has])
        return yes

    def notes(self) -> list[str]:
        """Return what could not be measured and why."""
        out: list[partial[str]] = []
        if self.known is None:
            left_out = N_("no reference people: MAD, percentiles, plausibility and neighbours are left out")
            out.append(partial(gettext, left_out))
        elif self.plausible is None and self.known_accepted is not None:
            few = N_("only {n} accepted reference people: too few to judge plausibility")
            out.append(partial(gettext, few, n=int(self.known_accepted.sum())))
        if self.scale is not None and self.scale.mad_was_zero.any():
            flat = ", ".join(self.schema.names[j] for j in np.flatnonzero(self.scale.mad_was_zero))
            out.append(partial(gettext, N_("the MAD of {names} is 0 and counts as 1"), names=flat))
        if self.oracle is None:
            no_oracle = N_("coverage needs an oracle; success and usable are over everyone who asked")
            out.append(partial(gettext, no_oracle))
        return [Translatable(note) for note in out]


def proved_here(recourse: Recourse, problem: Problem, preferences: Preferences | None = None) -> Recourse:
    """Return answers with the proofs of this problem and these wishes alone: those of another problem, of a file, or
    under other preferences (left out, the answers' own) count where they are proved again."""
    from wayforward.preferences import Preferences
    from wayforward.problem.verification import same_wishes

    if isinstance(preferences, Preferences) and len(preferences.frozen) != recourse.n:
        return recourse  # the judge says what is wrong
    wishes = preferences if isinstance(preferences, Preferences) else recourse.preferences
    other = preferences is not recourse.preferences and not same_wishes(recourse.preferences, wishes)
    none = recourse.outcome[:, 0] == Outcome.NONE_EXISTS
    outcome, bound = recourse.outcome.copy(), recourse.bound.copy()
    who = np.flatnonzero(none | np.isfinite(bound[:, 0]))
    if not len(who) or (recourse.problem is problem and not other):
        return recourse
    some = recourse[who]
    if other:
        again = replace(some, preferences=None if wishes is None else wishes.take(who)).judged_by(problem)
    else:
        again = some.as_of(problem)
    outcome[none] = again.outcome[none[who]]
    bound[who] = again.bound
    return replace(recourse, outcome=outcome, bound=bound)


def option_costs(
    problem: Problem, x: People, action: Actions, after: Actions, weight: np.ndarray | None
) -> Costs:
    """Return the problem's cost of every option (n, k); inf where there is none or where it cannot be priced."""
    out = np.full(action.shape[:2], np.inf)
    moved = problem.schema.differs(after, x[:, None, :])  # somebody may stand outside what was observed
    beyond = (out_of_domain(problem.schema, after) & moved).any(-1)
    who, slot = np.nonzero(~np.isnan(action).all(-1) & ~beyond)
    if len(who):
        weights = None if weight is None else np.asarray(weight, dtype=np.float64)[who]
        out[who, slot] = problem.cost.total(x[who], action[who, slot], weights)
    return out


def cheapest(cost: Costs, good: OptionMask) -> Ints:
    """Return the position of each person's cheapest good option (n,), -1 where there is none."""
    priced = np.where(good, np.where(np.isnan(cost), np.inf, cost), np.inf)
    best = priced.argmin(1)
    # An option that is good and cannot be priced still counts: argmin over inf would miss it.
    best = np.where(good[np.arange(len(cost)), best], best, good.argmax(1))
    return np.where(good.any(1), best, -1).astype(np.int64)


def oracle_costs(
    problem: Problem, oracle: Any, n: int, x: People | None = None
) -> tuple[PerPerson, PersonMask]:
    """Return the best cost of each person in their own terms (n,), inf where none, and who has any option (n,)."""
    if isinstance(oracle, Recourse):
        if oracle.n != n:
            raise DataError(
                f"The oracle answers {oracle.n} people; the recourse has {n}. Use the same people."
            )
        theirs = Evidence.about(oracle, problem)
        if x is not None and not np.array_equal(x, oracle.x, equal_nan=True):
            raise DataError(
                "The oracle is about other people: rows differ. Use the same people in the same order."
            )
        best = np.where(theirs.usable, theirs.weighted_cost, np.inf).min(1)
        return best, np.isfinite(best)
    best = numbers_in(oracle, "oracle")
    if best.shape != (n,):
        raise DataError(
            f"The oracle has shape {best.shape}; give one cost a person: ({n},), inf where none exists."
        )
    return best, np.isfinite(best)
