"""An elicitor, fitted once for everybody, the method of its first plans, and how a file names them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from wayforward.errors import DialogueError
from wayforward.people.dialogue.plan_by_plan import PlanByPlan
from wayforward.people.elicitor import Elicitor

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.problem import Problem

_PLAIN = (int, float, str, bool, type(None))


def fitted_elicitor(
    problem: Problem,
    elicitor: str | Elicitor | None,
    base: str | Method | None = None,
    budget: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    acts: Sequence[dict[str, Any]] | None = None,
    resumes: bool = False,
) -> tuple[Elicitor, str | Method, dict[str, Any]]:
    """Return a fitted elicitor, the method of first plans or its name, and their description as plain data.

    acts: as plain data, of an `action-sequences` that is the base then. resumes: what only a search needs may be fitted
    later (`Elicitor.attach`). What is known by name is fitted once for each problem and shared by its dialogues.
    'object' in the description says that the elicitor cannot be made again from it. Raises: MethodError for an unknown
    name, DialogueError.
    """
    if acts is not None:
        if base is not None or elicitor not in (None, PlanByPlan.name, "favourite"):
            raise DialogueError(
                "Plans of acts are those of action-sequences, shown one after another, and another base or an elicitor "
                "that puts plans together itself is given. Leave both out."
            )
        elicitor = None
        base = problem.shared(("dialogue", "acts", repr(acts)), lambda: _walker(problem, acts))
    given: dict[str, Any] = {k: v for k, v in (("base", base), ("budget", budget)) if v is not None}
    if isinstance(elicitor, Elicitor):
        if given:
            raise DialogueError(
                "An elicitor that is given whole has its own base and budget. Leave them out here."
            )
        unfitted, key = elicitor, ("elicitor", id(elicitor))
    else:
        unfitted = _named(elicitor, {**(parameters or {}), **given})
        same = None if base is None or isinstance(base, str) else id(base)  # a name is among the parameters
        key = ("elicitor", type(unfitted).__name__, same, repr(sorted(_plain(unfitted)[0].items())))  # type: ignore[assignment]

    def fit() -> Elicitor:
        own = isinstance(elicitor, Elicitor) and getattr(unfitted, "problem_", None) is problem
        if own:
            return unfitted
        return unfitted.attach(problem) if resumes else unfitted.fit(problem)

    asker = problem.shared(("dialogue", *key), fit)
    chosen = getattr(asker, "base", None) or "local-search"
    plain, whole = _plain(asker)
    others = {k: v for k, v in plain.items() if k not in ("base", "budget")}
    description = {
        "elicitor": None if elicitor is None else str(getattr(asker, "name", type(asker).__name__)),
        "object": not (
            (isinstance(chosen, str) or acts is not None)
            and (not isinstance(elicitor, Elicitor) or (whole and _known(asker)))
        ),
        "parameters": others,
        "base": chosen if isinstance(chosen, str) else chosen.name,
        **({} if acts is None else {"acts": list(acts)}),
        "budget": plain.get("budget"),
    }
    return asker, chosen, description


def elicitor_again(
    problem: Problem, description: Mapping[str, Any], elicitor: Elicitor | None
) -> tuple[Elicitor, str | Method]:
    """Make what `fitted_elicitor` described, for a problem; elicitor: the same object as then, where it is needed.

    Raises: DialogueError if it is needed and not given, or another one is.
    """
    if elicitor is None and description["object"]:
        raise DialogueError(
            f"The dialogue was held with an elicitor of your own, '{description['elicitor']}' around "
            f"'{description['base']}'. Give it "
            "again: elicitor=..."
        )
    if elicitor is None:
        asker, method, _ = fitted_elicitor(
            problem,
            description["elicitor"],
            None if "acts" in description else description["base"],
            description["budget"],
            description["parameters"],
            description.get("acts"),
            resumes=True,
        )
        return asker, method
    asker, method, now = fitted_elicitor(problem, elicitor, resumes=True)
    for key in ("elicitor", "base", "budget"):
        if now[key] != description[key]:
            raise DialogueError(
                f"The dialogue was held with {key}={description[key]!r}, and the elicitor given has "
                f"{now[key]!r}. Give the same one."
            )
    return asker, method


def refitted(
    problem: Problem, description: Mapping[str, Any], elicitor: Elicitor
) -> tuple[Elicitor, str | Method]:
    """Fit the same elicitor to another problem; the one given stays as it is."""
    if not description["object"]:
        return elicitor_again(problem, description, None)
    asker, method, _ = fitted_elicitor(problem, copy.copy(elicitor).fit(problem))
    return asker, method


def _walker(problem: Problem, acts: Sequence[dict[str, Any]]) -> Method:
    from wayforward.methods.action_sequences import ActionSequences

    return ActionSequences(list(acts)).fit(problem)


def _named(name: str | None, given: dict[str, Any]) -> Elicitor:
    from wayforward.people.elicitors import elicitor

    return PlanByPlan(**given) if name in (None, PlanByPlan.name) else elicitor(str(name), **given)


def _plain(asker: Any) -> tuple[dict[str, Any], bool]:
    """Return the parameters that JSON holds, and whether the others have their defaults."""
    every = {f.name: getattr(asker, f.name, None) for f in fields(asker) if f.init}
    plain = {name: value for name, value in every.items() if isinstance(value, _PLAIN)}
    usual = {f.name: f.default for f in fields(asker) if f.default is not MISSING}
    return plain, all(name in plain or value is usual.get(name, MISSING) for name, value in every.items())


def _known(asker: Any) -> bool:
    from wayforward.people.elicitors import names

    return getattr(asker, "name", None) in (*names(), PlanByPlan.name)
