"""Options none of which is beaten: what costs less takes more changes, more time, or is less like what people are.

Each option answers the same question under limits on the other objectives (the epsilon-constraint method): at most so
many changes, within so many months, at least so plausible. Together they are judged once, and what is beaten by another
one in every objective goes.

Source: Y. Haimes, L. Lasdon, D. Wismer (1971), On a bicriterion formulation of the problems of integrated system
identification and system optimization, IEEE Trans. SMC 1(3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import MethodError, is_list, names_in, shown
from wayforward.methods.base import answer_readable, check_k
from wayforward.methods.engines.fronts import crowding
from wayforward.methods.kinds import MethodQuestion, shared_seconds, summed_meta, timed
from wayforward.preferences import Preferences
from wayforward.problem.plausibility.base import Plausibility
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.shapes import Floats, Mask, People

if TYPE_CHECKING:
    from wayforward.methods.base import Method
    from wayforward.problem import Problem

OBJECTIVES = ("cost", "changes", "months", "plausibility")
_SHARES = (0.75, 0.5, 0.25)  # of the months that the cheapest option takes
_QUANTILES = (0.1, 0.3, 0.5, 0.7)  # of how plausible accepted people are
_SAME = 1e-9  # two values of an objective that differ by less, as a share, are the same


@public
def pareto_options(
    problem: Problem,
    method: Method,
    people: Any,
    objectives: Sequence[str],
    k: int,
    *,
    preferences: Preferences | None = None,
    plausibility: Plausibility | None = None,
    **how: Any,
) -> Recourse:
    """Return up to k options a person, cheapest first, none of which another one beats in every objective.

    objectives: of 'cost', 'changes', 'months' (a schema with pace or delay) and 'plausibility' (the problem's, or the
    one given, which is fitted to its accepted people). Where there are more than k, those at the ends stay, then those
    that lie farthest from others. With a method that finds the cheapest option under every limit, and with 'cost' and
    'changes', it is the whole front. how: seed, budget, workers ... as of `Method.recommend`.
    `objective_values` gives the numbers. Raises: MethodError for objectives that this problem does not have.
    """
    check_k(k)
    plausibility = problem.plausibility if plausibility is None else plausibility.fit_problem(problem)
    chosen = _checked(problem, objectives, plausibility)
    strict, id = how.pop("strict", False), how.pop("id", None)

    def answer(x: People, wishes: Preferences | None) -> Recourse:
        alone, others = timed(how, len(x), 1 / 2)
        question = MethodQuestion(problem, method, x, wishes, alone)
        first = question.answered(np.arange(len(x)))
        question.how.update(others)
        limited = list(_limited(question, first, chosen, plausibility))
        action = np.full((len(x), 1 + len(limited), problem.schema.d), np.nan)
        action[:, 0] = first.action[:, 0]
        for place, (who, one) in enumerate(limited, start=1):
            action[who, place] = one.action[:, 0]
        judged = problem.check(x, action, action.shape[1], preferences=wishes, decision=_decision(first))
        value = objective_values(judged, chosen, plausibility)
        keep = np.where(_crowded_out(value, unbeaten(value), k)[:, :, None], np.nan, judged.action)
        got = problem.check(
            x, keep, k, preferences=wishes, decision=_decision(first), method=first.method,
            proved=np.array([outcome.name == "NONE_EXISTS" for outcome in first.outcome[:, 0]]),
        )  # fmt: skip
        spent = [first, *(one for _, one in limited)]
        got.meta.update(summed_meta(spent) | {"objectives": list(chosen)})
        got = replace(got.with_bound(first.bound[:, 0]), seconds=shared_seconds(first.seconds, spent))
        return replace(got, ended_by=question.ended_by)

    nobody = Recourse.of_nobody(problem.schema, k, method.name)
    return answer_readable(problem, people, answer, nobody, preferences, id=id, strict=strict)


@public
def objective_values(
    recourse: Recourse, objectives: Sequence[str], plausibility: Plausibility | None = None
) -> Floats:
    """(n, k, o) what each option is worth in each objective, less is better; inf in empty slots."""
    worth = {"cost": recourse.cost, "changes": recourse.acted.sum(2).astype(float), "months": recourse.months}
    if plausibility is not None:
        worth["plausibility"] = -plausibility.score(recourse.after)
    objectives = names_in(objectives, "objectives", MethodError)
    unknown = [name for name in objectives if name not in worth]
    if unknown or not objectives:
        note = f"There is no objective {unknown[0]!r}" if unknown else "No objective is named"
        raise MethodError(f"{note}. Known: {', '.join(worth)}.")
    value = np.stack([worth[name] for name in objectives], axis=2)
    return np.where(recourse.found[:, :, None], value, np.inf)


@public
def unbeaten(value: Floats) -> Mask:
    """(n, k) bool: no other option of the person is as good in every objective (n, k, o) and better in one."""
    with np.errstate(invalid="ignore"):
        gap = value[:, :, None, :] - value[:, None, :, :]  # how much worse the first is than the second
    near = _SAME * np.maximum(1.0, np.abs(np.where(np.isfinite(value), value, 1.0)))[:, :, None, :]
    gap = np.nan_to_num(gap, nan=0.0)
    beaten = (gap >= -near).all(3) & (gap > near).any(3)
    return np.asarray(~beaten.any(2) & np.isfinite(value).all(2))


def _checked(
    problem: Problem, objectives: Sequence[str], plausibility: Plausibility | None
) -> tuple[str, ...]:
    if not is_list(objectives, texts=True):
        raise MethodError(
            f"pareto={shown(objectives)} is no list. Give two or more of {', '.join(OBJECTIVES)}, or leave it out."
        )
    given = (objectives,) if isinstance(objectives, str) else tuple(objectives)
    for name in given:
        if not (isinstance(name, str) and name in OBJECTIVES):
            raise MethodError(f"There is no objective {shown(name)}. Known: {', '.join(OBJECTIVES)}.")
    if len(set(given)) < 2:
        raise MethodError("One objective has no front. Name two or more, such as ('cost', 'changes').")
    if "months" in given and not problem.schema.timed:
        raise MethodError(
            "Nothing takes time in this schema: no feature has a pace or a delay. Declare them, or leave 'months' out."
        )
    if "plausibility" in given and plausibility is None:
        raise MethodError(
            "The problem judges no plausibility. Give one: plausibility=Lof(), or leave it out."
        )
    return tuple(name for name in OBJECTIVES if name in given)


def _limited(
    question: MethodQuestion, first: Recourse, chosen: tuple[str, ...], plausibility: Plausibility | None
) -> Iterator[tuple[np.ndarray, Recourse]]:
    """Row numbers of people (c,), and their cheapest options under limits on the other objectives."""
    has = np.flatnonzero(first.found[:, 0])
    if not has.size:
        return
    changes = first.acted[has, 0].sum(1)
    fewer = [None, *range(1, int(changes.max()))] if "changes" in chosen else [None]
    sooner = [None, *_SHARES] if "months" in chosen else [None]
    levels: list[float | None] = [None]
    if "plausibility" in chosen and plausibility is not None:
        levels += np.quantile(plausibility.score(question.problem.reference_accepted), _QUANTILES).tolist()
    for most, share, level in list(product(fewer, sooner, levels))[1:]:
        open_ = has if most is None else has[changes > most]
        if not open_.size:
            continue
        months = None if share is None else share * first.months[open_, 0]
        problem = question.problem
        if level is not None and plausibility is not None:
            problem = problem.with_(plausibility=plausibility.at(level))
        yield open_, question.answered(open_, problem, most, months)


def _decision(first: Recourse) -> tuple[np.ndarray, np.ndarray]:
    return first.accepted, first.score_before


def _crowded_out(value: Floats, front: Mask, k: int) -> Mask:
    """(n, k') bool: not on the front, or crowded out by others that lie farther apart."""
    far = crowding(np.where(front[:, :, None], value, np.inf), np.where(front, 0, 1))
    rank = np.argsort(np.argsort(np.where(front, -far, np.inf), axis=1, kind="stable"), axis=1, kind="stable")
    return ~front | (rank >= k)
