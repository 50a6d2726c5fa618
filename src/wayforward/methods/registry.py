"""The table of methods: names, and where their classes are. Files are imported on first use; some need torch."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from wayforward.errors import MethodError

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


def class_of(name: str) -> Any:
    """Return the class of a method. Raises: MethodError for an unknown name."""
    if name not in _METHODS:
        near = difflib.get_close_matches(str(name), _METHODS, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise MethodError(f"There is no method '{name}'.{hint} Known: {', '.join(_METHODS)}.")
    file, klass = _METHODS[name].split(":")
    module = import_module(file if "." in file else f"wayforward.methods.{file}")
    return getattr(module, klass)


def methods_table() -> list[dict[str, Any]]:
    """One row for each method: name, summary, needs (Access), needs_data, exact, citation."""
    rows = []
    for name in _METHODS:
        found = class_of(name)
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
