"""Kinds of options: the cheapest, the one with the fewest changes, the one that lasts; each told with its price.

Every kind is a question to the same method: `fewest` under a limit on changes, `lasting` under one more condition, a
yes that is likely from the next model (`NextModel`). The problem's judge has the last word on all of them together.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.deadline import DEADLINE, Deadline
from wayforward.errors import MethodError, is_list, is_one_of, shown
from wayforward.methods.base import answer_readable
from wayforward.preferences import Preferences
from wayforward.problem.robust import with_robust
from wayforward.problem.room import with_room
from wayforward.problem.rounding import rounded
from wayforward.problem.survival import with_survival
from wayforward.recourse import KINDS, Outcome, Recourse
from wayforward.schema import SchemaWarning
from wayforward.shapes import Actions, Mask, People

if TYPE_CHECKING:
    from wayforward.methods.base import Budget, Method
    from wayforward.problem import Problem


@dataclass(frozen=True)
class MethodQuestion:
    """One question to a method: people x (n, d), their wishes, and how the method is to search.

    lasting_budget: for the search for lasting options, in place of the budget of all searches. late (n,) bool: whose
    searches a deadline has ended by now.
    """

    problem: Problem
    method: Method
    x: People
    wishes: Preferences | None
    how: dict[str, Any]
    lasting_budget: Budget | int | None = None
    late: Mask = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "late", np.zeros(len(self.x), dtype=bool))

    @property
    def ended_by(self) -> np.ndarray:
        """(n,) as of `Recourse.ended_by`, of all searches together."""
        return np.where(self.late, DEADLINE, "").astype(object)

    def answered(
        self,
        who: np.ndarray,
        problem: Problem | None = None,
        most: int | None = None,
        months: np.ndarray | None = None,
        budget: Budget | int | None = None,
    ) -> Recourse:
        """Options of people who (c,): of another problem, with at most so many changes, within so many months (c,),
        where that is given."""
        wishes = None if self.wishes is None else self.wishes.take(who)
        if wishes is None and not (most is None and months is None):
            wishes = Preferences.none(self.problem.schema, len(who))
        if wishes is not None and most is not None:
            wishes = wishes.at_most(np.minimum(most, wishes.most))
        if wishes is not None and months is not None:
            wishes = wishes.within(np.minimum(months, wishes.time))
        method = self.method if problem is None else _fitted_to_twin(self.method, problem)
        if problem is None and getattr(method, "problem_", None) is not self.problem:
            method = copy(method).fit(self.problem)
        with warnings.catch_warnings():  # that everybody is accepted already is seen from the outcomes
            warnings.simplefilter("ignore", SchemaWarning)
            how = self.how if budget is None else self.how | {"budget": budget}
            got = method.recommend(self.x[who], 1, preferences=wishes, **how)
        self.late[who] |= got.cut_short
        return got


def _fitted_to_twin(method: Method, twin: Problem) -> Method:
    """Return the method fitted to a twin of the problem; the last one is kept with it, for who asks again."""
    held: tuple[Method, Method] | None = vars(twin).get("_lasting_method")
    if held is None or held[0] is not method:
        held = vars(twin)["_lasting_method"] = method, copy(method).fit(twin)
    return held[1]


def options_by_kind(
    problem: Problem,
    method: Method,
    people: Any,
    kinds: Sequence[str],
    *,
    preferences: Preferences | None = None,
    lasting_budget: Budget | int | None = None,
    **how: Any,
) -> Recourse:
    """Return for every person one option of each kind, cheapest first; an option that is of several is there once.

    method: one that is fitted to the problem is not fitted again. kinds: of 'cheapest', 'fewest' and 'lasting'. how:
    seed, budget, workers ... as of `Method.recommend`; lasting_budget: another budget for the search for lasting
    options, which goes on until it is spent for whoever has none. Whoever has no option of a kind has none:
    `Recourse.is_kind` says who. Where the problem knows its retraining, every option says in how many models trained
    again it holds (`Recourse.lasts`).
    Raises: MethodError for an unknown kind; ProblemError where 'lasting' is asked for and nobody can train the model.
    """
    chosen = _checked(problem, kinds)
    strict, id = how.pop("strict", False), how.pop("id", None)

    def answer(x: People, wishes: Preferences | None) -> Recourse:
        first, others = timed(how, len(x), 1 / len(chosen))
        question = MethodQuestion(problem, method, x, wishes, first, lasting_budget)
        found = question.answered(np.arange(len(x)))
        question.how.update(others)
        return _of_kinds(question, found, chosen)

    nobody = Recourse.of_nobody(problem.schema, len(chosen), method.name)
    return answer_readable(problem, people, answer, nobody, preferences, id=id, strict=strict)


def timed(how: dict[str, Any], n: int, share: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how the first of several questions about n people is asked, and what differs for the others: where there
    is a deadline, the first has a share of the time, the others what is left of it."""
    given = Deadline.of(how.get("deadline"))
    if given is None:
        return dict(how), {}
    whole = given.begun(n)
    return {**how, "deadline": whole.part(share)}, {"deadline": whole}


def _of_kinds(question: MethodQuestion, first: Recourse, chosen: tuple[str, ...]) -> Recourse:
    """As `options_by_kind`, of people who can be read, beside the cheapest options that are known of them."""
    problem, wishes = question.problem, question.wishes
    has = np.flatnonzero(first.found[:, 0])
    found = {"cheapest": first.action[:, 0]}
    spent = [first]
    if "fewest" in chosen:
        found["fewest"] = _fewest(question, first, has, spent)
    if "lasting" in chosen:
        found["lasting"] = _lasting(question, found, has, spent)
    got = problem.check(
        question.x, np.stack([found[kind] for kind in chosen], axis=1), len(chosen), preferences=wishes,
        proved=np.asarray(first.outcome[:, 0] == Outcome.NONE_EXISTS, dtype=bool),
        decision=(first.accepted, first.score_before), method=first.method,
    )  # fmt: skip
    got = replace(got, seconds=shared_seconds(first.seconds, spent), kind=_labels(got, chosen, found))
    got = replace(got, ended_by=question.ended_by)
    got = got.with_bound(first.bound[:, 0])  # nothing that is allowed costs less, of whatever kind
    got.meta.update(summed_meta(spent) | {"kinds": list(chosen)})
    return with_survival(problem, got)


def kinds_beside(
    problem: Problem,
    recourse: Recourse,
    who: Sequence[int] | np.ndarray,
    kinds: Sequence[str] = ("cheapest", "lasting"),
) -> Recourse:
    """Return one option of each kind for some people of an answer: 'cheapest' is the first option that it holds, the
    others are searched for with the same method, wishes and room.

    For letters and pages about a few people of many. Raises: as `options_by_kind`.
    """
    from wayforward.methods.registry import METHODS

    chosen, some = _checked(problem, kinds), recourse[np.asarray(who, dtype=np.int64)].as_of(problem)
    if not some.readable.any():
        return some
    method = METHODS.find(recourse.method)(**recourse.meta.get("parameters", {}))
    seed, room = int(recourse.meta.get("seed", 0)), recourse.meta.get("room")
    first, odd = some[np.flatnonzero(some.readable)], np.flatnonzero(~some.readable)
    got = _of_kinds(
        MethodQuestion(problem, method, first.x, first.preferences, {"seed": seed}), first, chosen
    )
    held = got.is_kind("cheapest")  # what the answer holds stays as it is, in its room and its numbers
    got = replace(got, meta={**got.meta, "rounded": False})
    got = with_room(got, room["share"], room["most"], held) if room else got
    got = rounded(problem, got, held) if recourse.meta.get("rounded") else got
    if odd.size:
        reasons = {int(i): str(some.reasons[i]) for i in odd}
        got = replace(got.among(some.x, reasons, some.preferences), problem=problem)
    return replace(got, origin=some.origin)


def _checked(problem: Problem, kinds: Sequence[str]) -> tuple[str, ...]:
    if not is_list(kinds, texts=True):
        raise MethodError(
            f"kinds={shown(kinds)} is no list. Give some of {', '.join(KINDS)}, or leave it out."
        )
    given = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in given:
        if not is_one_of(kind, KINDS):
            raise MethodError(f"There is no kind {kind!r} of options. Known: {', '.join(KINDS)}.")
    if not given:
        raise MethodError(f"kinds is empty. Give some of {', '.join(KINDS)}, or leave it out.")
    if "lasting" in given and problem.retraining is None:
        raise MethodError(
            "A lasting option holds in models that are trained again, and this problem does not say how: "
            "Problem(..., data=train, retraining=wf.Retraining(labels)). Or leave 'lasting' out."
        )
    return tuple(kind for kind in KINDS if kind in given)


def _fewest(question: MethodQuestion, first: Recourse, has: np.ndarray, spent: list[Recourse]) -> Actions:
    """Return (n, d) the cheapest option with the fewest changes: limits of 1, 2, ... below what is known are tried."""
    action = first.action[:, 0].copy()
    changes = first.acted[:, 0].sum(1)
    for most in range(1, int(changes[has].max(initial=1))):
        open_ = has[changes[has] > most]
        if not open_.size:
            break
        got = question.answered(open_, most=most)
        spent.append(got)
        better = open_[got.found[:, 0]]
        action[better] = got.action[got.found[:, 0], 0]
        changes[better] = most
    return action


def _lasting(
    question: MethodQuestion, found: dict[str, Actions], has: np.ndarray, spent: list[Recourse]
) -> Actions:
    """Return (n, d) the cheapest option found that is likely to hold in the next model; NaN where there is none."""
    problem = question.problem
    out = np.full_like(question.x, np.nan)
    if not has.size:
        return out
    assert problem.retraining is not None
    condition = problem.retraining.condition(problem)
    key = ("lasting", condition, problem.robust, problem.model, problem.target)
    twin = problem.shared(key, lambda: with_robust(problem, condition))
    got = question.answered(has, twin, budget=question.lasting_budget)
    spent.append(got)
    proposals = np.stack([*(action[has] for action in found.values()), got.action[:, 0]], axis=1)
    best = twin.check(
        question.x[has],
        proposals,
        1,
        preferences=None if question.wishes is None else question.wishes.take(has),
    )
    out[has] = best.action[:, 0]
    return out


def _labels(got: Recourse, chosen: tuple[str, ...], found: dict[str, Actions]) -> np.ndarray:
    """(n, k) what each option is the best at; what is cheapest, and fewest, is seen from all options together."""
    of_kind: dict[str, Mask] = {}
    if "cheapest" in chosen:
        of_kind["cheapest"] = got.found & (np.arange(got.k) == 0)
    if "fewest" in chosen:
        changes = np.where(got.found, got.acted.sum(2), got.d + 1)
        of_kind["fewest"] = got.found & (np.arange(got.k) == changes.argmin(1)[:, None])
    if "lasting" in chosen:
        same = ~got.schema.differs(got.action, found["lasting"][:, None, :]).any(2)
        of_kind["lasting"] = got.found & same
    out = np.full((got.n, got.k), "", dtype=object)
    for kind, mask in of_kind.items():
        out[mask] = [f"{text}+{kind}" if text else kind for text in out[mask]]
    return out


def shared_seconds(of_first: np.ndarray, spent: list[Recourse]) -> np.ndarray:
    """(n,) the time of all searches, shared like that of the first."""
    whole, more = float(of_first.sum()), sum(float(one.seconds.sum()) for one in spent[1:])
    return np.asarray(of_first * (1 + more / whole if whole > 0 else 1))


def summed_meta(spent: list[Recourse]) -> dict[str, Any]:
    """What the first search says of itself, with the work of all searches together."""
    counts = ("seconds_fit", "seconds_recommend", "model_rows", "model_calls", "native_rows")
    return {**spent[0].meta, **{name: sum(one.meta.get(name, 0) for one in spent) for name in counts}}
