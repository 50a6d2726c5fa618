"""One file for each published method, and the table that names them."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, Any

from wayforward.errors import MethodError
from wayforward.methods.base import Budget, Method, Progress

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse

# name -> "file:Class"; files are imported on first use, because some need torch. A new method adds one line.
_METHODS = {
    "local-search": "local_search:LocalSearch",
    "nearest-observable": "nearest_observable:NearestObservable",
    "nice": "nice:Nice",
    "growing-spheres": "growing_spheres:GrowingSpheres",
    "face": "face:Face",
    "wachter": "wachter:Wachter",
    "dice": "dice:Dice",
    "lowprofool": "lowprofool:LowProFool",
    "actionable-recourse": "actionable_recourse:ActionableRecourse",
    "carma": "carma:Carma",
    "icarma": "icarma:ICarma",
    "causal-oracle": "causal_oracle:CausalOracle",
    "icarma-polished": "icarma_polished:Polished",
    "probabilistic": "probabilistic:Probabilistic",
    "revise": "revise:Revise",
    "cruds": "cruds:Cruds",
    "clue": "clue:Clue",
    "c-chvae": "c_chvae:CChvae",
    "cem": "cem:Cem",
    "ebr": "ebr:Ebr",
    "ibr": "ibr:Ibr",
    "guided-prototypes": "prototypes:GuidedPrototypes",
    "roar": "roar:Roar",
    "rbr": "rbr:Rbr",
    "probe": "probe:Probe",
    "trex": "trex:Trex",
}


def register(name: str, place: str) -> None:
    """Add a method of another package: ``register("mine", "my_package.mine:Mine")``."""
    if name in _METHODS:
        raise MethodError(f"There is a method '{name}' already. Choose another name.")
    _METHODS[name] = place


def names() -> tuple[str, ...]:
    """Names of all methods."""
    return tuple(_METHODS)


def _class_of(name: str) -> type[Method]:
    if name not in _METHODS:
        near = difflib.get_close_matches(str(name), _METHODS, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise MethodError(f"There is no method '{name}'.{hint} Known: {', '.join(_METHODS)}.")
    file, klass = _METHODS[name].split(":")
    module = import_module(file if "." in file else f"wayforward.methods.{file}")
    found: type[Method] = getattr(module, klass)
    return found


def method(name: str, **parameters: Any) -> Method:
    """A method by name, with its parameters. Raises: MethodError for an unknown name or parameter."""
    found = _class_of(name)
    try:
        return found(**parameters)
    except TypeError as error:
        known = ", ".join(getattr(found, "__dataclass_fields__", {})) or "none"
        raise MethodError(f"'{name}' does not take these parameters ({error}). It takes: {known}.") from None


def methods_table() -> list[dict[str, Any]]:
    """One row for each method: name, summary, needs (Access), needs_data, exact, citation."""
    rows = []
    for name in _METHODS:
        found = _class_of(name)
        rows.append(
            {
                "name": name,
                "summary": found.summary,
                "needs": found.needs,
                "needs_data": found.needs_data,
                "exact": found.exact,
                "citation": found.citation,
            }
        )
    return rows


def recommend(
    problem: Problem,
    people: Any,
    method: str | Method = "local-search",
    k: int = 1,
    *,
    preferences: Preferences | None = None,
    seed: int = 0,
    budget: Budget | int | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Recourse:
    """Options for everyone in `people`: fit a method to the problem and ask it.

    people: a table or an (n, d) array; those whom the model accepts already are marked ACCEPTED.
    Example: ``wf.recommend(problem, refused, method="local-search", k=3, seed=0)``.
    Raises: MethodError, UnsupportedModel, DataError, PreferencesError, each with the next step.
    """
    chosen = globals()["method"](method, **parameters) if isinstance(method, str) else method
    if not isinstance(chosen, Method):
        raise MethodError(
            f"method={method!r} is neither a name nor a Method. Known names: {', '.join(_METHODS)}."
        )
    return chosen.fit(problem).recommend(
        people, k, preferences=preferences, seed=seed, budget=budget, progress=progress
    )


__all__ = ["Budget", "Method", "Progress", "method", "methods_table", "names", "recommend", "register"]
