"""One file for each published method, and the table that names them."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from wayforward.deadline import Deadline, now
from wayforward.errors import DataError, MethodError, shown
from wayforward.methods.base import Budget, Method, Progress
from wayforward.methods.registry import METHODS, methods_table, names, register
from wayforward.public import public
from wayforward.registry import parameters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse
    from wayforward.workers import Kind


@public
def method(name: str, **parameters: Any) -> Method:
    """Return a method by name, with its parameters. Raises: MethodError for an unknown name or parameter."""
    found = METHODS.find(name)
    try:
        made: Method = found(**parameters)
    except TypeError as error:
        known = parameters_of(found) or "none"
        raise MethodError(f"'{name}' does not take these parameters ({error}). It takes: {known}.") from None
    return made


def chosen_method(method: str | Method, **parameters: Any) -> Method:
    """Return the method of that name, or the method itself. Raises: MethodError for what is neither."""
    chosen = globals()["method"](method, **parameters) if isinstance(method, str) else method
    if not isinstance(chosen, Method):
        raise MethodError(
            f"method={shown(method)} is neither a name nor a Method. Use a name such as 'local-search', or "
            "a method that wf.method made; wf.methods_table() lists the names."
        )
    return chosen


@public
def recommend(
    problem: Problem,
    people: Any,
    method: str | Method = "local-search",
    k: int = 1,
    *,
    kinds: Sequence[str] | None = None,
    pareto: Sequence[str] | None = None,
    preferences: Preferences | None = None,
    seed: int = 0,
    budget: Budget | int | None = None,
    deadline: Deadline | float | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
    on: Kind | None = None,
    id: str | None = None,
    strict: bool = False,
    minimal: bool | None = None,
    certify: bool | int = False,
    **parameters: Any,
) -> Recourse:
    """Fit a method to the problem and return options for everyone in `people`.

    people: a table or an (n, d) array; those whom the model accepts already are marked ACCEPTED, and rows that cannot
    be read NOT_ASKED, with a warning; strict=True raises for the first of these. id: a column that names people, kept
    in every output. deadline, workers, on: as of `Method.recommend`; the answers do not depend on the last two.
    kinds: instead of the k cheapest, one option of each of 'cheapest', 'fewest' (changes) and 'lasting' (likely to
    hold when the model is trained again, which the problem's `Retraining` says how to do); `Recourse.kind` names them,
    `Recourse.lasts` says how often each holds. Two to three searches instead of one; models are trained once a
    problem. pareto: two or more of 'cost', 'changes', 'months' and 'plausibility': up to k options none of which
    another one beats in all of these (`wayforward.methods.pareto`). minimal: False returns options as the search
    proposed them, with changes that they may not need. certify: prove how much cheaper an option can be than the first
    (`Recourse.bound`, `Recourse.gap`), whatever the method; a number says how many boxes are looked at for a person
    (see `certified`).
    Example: ``wf.recommend(problem, refused, method="local-search", k=3, seed=0)``.
    Raises: MethodError, UnsupportedModel, DataError, PreferencesError, each with the next step.
    """
    chosen = chosen_method(method, **parameters)
    from wayforward.problem import Problem

    if isinstance(people, Problem) and not isinstance(problem, Problem):
        raise MethodError(
            "The problem comes first, then the people: wf.recommend(problem, people). Swap the two."
        )
    _warn_if_all_is_actionable(problem)
    how: dict[str, Any] = {
        "preferences": preferences, "seed": seed, "budget": budget, "deadline": deadline, "progress": progress,
        "workers": workers, "on": on, "id": id, "strict": strict, "minimal": minimal,
    }  # fmt: skip
    started, time_given = now(), Deadline.of(deadline)
    if pareto is not None:
        from wayforward.methods.pareto import pareto_options

        if kinds is not None:
            raise MethodError(f"kinds={kinds!r} and pareto={pareto!r} are both given. Leave one of them out.")
        got = pareto_options(problem, chosen, people, pareto, k, **how)
        return got if certify is False else _certified(got, certify, started, time_given)
    if kinds is None:
        fitted, started = chosen.fit(problem), now()
        got = fitted.recommend(people, k, **how)
        return got if certify is False else _certified(got, certify, started, time_given)
    if k != 1:
        raise MethodError(
            f"k={k} and kinds={kinds!r} are both given. Kinds say how many options there are: leave k out."
        )
    from wayforward.methods.kinds import options_by_kind

    got = options_by_kind(problem, chosen.fit(problem), people, kinds, **how)
    return got if certify is False else _certified(got, certify, started, time_given)


def _certified(got: Recourse, certify: bool | int, started: float, deadline: Deadline | None) -> Recourse:
    from wayforward.methods.certificates import certified

    end = math.inf if deadline is None else started + deadline.seconds(got.n)
    return certified(got, end=end) if certify is True else certified(got, boxes=certify, end=end)


def _warn_if_all_is_actionable(problem: Any) -> None:
    """Warn once a schema: where nobody said what people cannot change, plans may ask for another age or sex."""
    from wayforward.schema import Schema, SchemaWarning

    schema = getattr(problem, "schema", None)
    if not isinstance(schema, Schema) or not schema.actionable.all() or "warned_of_acts" in vars(schema):
        return
    vars(schema)["warned_of_acts"] = True
    warnings.warn(
        "Nothing in this schema is declared immutable, so plans may ask people to change anything. Say what nobody can "
        "change: schema.revise(age={'actionability': 'immutable'}).",
        SchemaWarning,
        stacklevel=3,
    )


__all__ = ["Budget", "Method", "Progress", "method", "methods_table", "names", "recommend", "register"]
