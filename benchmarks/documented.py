"""Honest calls of what the reference documents, made from the names of arguments; `benchmarks.sweep` spoils them."""

from __future__ import annotations

import importlib
import inspect
import re
import time
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

import wayforward as wf
from benchmarks.fuzz import Target, with_junk
from wayforward.evaluate import evaluate
from wayforward.groups import Groups
from wayforward.impact.audit import audit
from wayforward.impact.segregation.change import before_after
from wayforward.impact.society import Scenario, simulate
from wayforward.preferences import Preferences
from wayforward.testing.problems import case
from wayforward.world import CausalGraph, LinearWorld

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
LONGEST = 0.03  # processor seconds of an honest call
POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)


def documented() -> Iterator[tuple[str, Any]]:
    """Yield the full name and the object of every function and class of the reference."""
    for page in sorted(REFERENCE.glob("*.md")):
        module = ""
        for line in page.read_text().splitlines():
            if found := re.search(r"currentmodule:: (\S+)", line):
                module = found[1]
            elif found := re.search(r"auto(?:function|class):: (\S+)", line):
                name = found[1] if found[1].startswith("wayforward.") else f"{module}.{found[1]}"
                held = _object(name)
                kind = held if inspect.isclass(held) else type(None)
                if not (issubclass(kind, Enum | BaseException) or getattr(kind, "_is_protocol", False)):
                    yield name, held


def _object(name: str) -> Any:
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            held = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            held = getattr(held, part)
        return held
    raise ImportError(name)


class Honest:
    """Arguments that can be used, by their names; `made` are objects whose methods are called, by their class."""

    def __init__(self, folder: Path):
        it = case("linear", "independent", 0, 60)
        self.problem, self.x, self.schema = it.problem, it.x, it.problem.schema
        table = self.schema.decode(self.x, "dict")
        groups = Groups.of("region", table, self.schema)
        got = wf.recommend(self.problem, self.x[:6], k=2)
        wishes = Preferences.none(self.schema, 6)
        judged = evaluate(got, self.problem)
        graph = CausalGraph.read({"savings": ["income"]}, nodes=self.schema.names)
        world = LinearWorld.fit(graph, table, self.schema)
        one = got.x.astype(float)
        scenario = Scenario(rounds=2, people=60, data="loan")
        rng = np.random.default_rng(0)
        self.named: dict[str, Any] = {
            "problem": self.problem, "x": one, "people": one, "schema": self.schema, "recourse": got,
            "i": 0, "option": 0, "action": got.action[:, 0], "after": got.after[:, 0], "before": one,
            "who": np.arange(6), "seed": 0, "k": 1, "n": 5, "rng": rng, "table": table, "groups": groups, "rows": one,
            "world": world, "graph": graph,
            "model": self.problem.model, "method": "local-search", "path": folder / "made", "y": np.arange(60) % 2,
            "name": "income", "evaluation": judged, "evaluations": {"a": judged}, "x_all": self.x, "value": 1.0,
            "values": one[:, 0], "points": self.x[:, :2], "labels": np.arange(60) % 2, "p": np.array([0.1, 0.2]),
            "one": one[:, 0], "two": one[:, 1], "x1": one, "x2": one, "x3": one, "x4": one, "a": 1.0, "b": 1.0,
            "c": 1.0, "u": 0.5, "share": 0.5, "scenario": scenario, "months": 3.0, "levels": 3,
            "features": self.schema.names,
            "income": one[:, 0], "score": 2.0, "objectives": ("cost", "changes"), "outcome": got.outcome[0],
            "names": ("income", "savings"), "preferences": wishes, "feature": "income", "level": 1.0, "data": self.x,
            "source": {"savings": ["income"]}, "column": "income", "x_plan": one, "columns": self.schema.names,
            "group": 0, "label": 1, "parts": [got, got], "changes": 1, "eps": 0.1, "delta": 0.1, "outputs": None,
            "distance": one[:, 0], "region": one, "most": 2, "reasons": None, "offered": got, "methods": ("nice",),
            "models": [self.problem.model], "X": self.x, "equations": {"income": "u"}, "noise": None, "like": "dict",
            "directed": [("income", "savings")], "undirected": [("age", "income")], "m": 3, "code": 0, "history": None,
            "measure": one[:, 0], "to": one, "pool": one, "far": one[:, 0], "other": one[:, 0], "weight": one[0],
            "folder": folder, "out": folder / "out", "id": "a", "white": np.array([True, False]), "language": "de",
            "hit": np.array([True, False]), "raw": table, "favoured": ["income"], "size": 3, "settings": {},
            "client": "a", "target": self.problem.target, "cost": "l1", "text": "x", "categories": ("sci.med",),
        }  # fmt: skip
        few: dict[str, Any] = {"most": 12, "twins_of": 0, "society": False, "lasting_of": 5, "proved_of": 5}
        self.made = {
            "Recourse": got, "Schema": self.schema, "Problem": self.problem, "Preferences": wishes, "Groups": groups,
            "Population": self.problem.population(one), "Evaluation": judged, "CausalGraph": graph,
            "LinearWorld": world,            "Audit": audit(self.problem, self.x, [groups], **few),
            "Change": before_after(self.problem, self.x, got, groups, who=np.arange(6)),
            "History": simulate(scenario), "RuleSet": self.schema.compiled_rules, "Model": self.problem.model,
            "Cost": self.problem.cost, "Target": self.problem.target,
            "Method": wf.method("local-search").fit(self.problem),
        }  # fmt: skip


def calls(folder: Path) -> tuple[list[Target], list[str]]:
    """Return targets, and the names of what no honest call was made for."""
    honest, out, left = Honest(folder), [], []
    for full, held in documented():
        if full.startswith("wayforward.testing."):
            continue  # for pytest
        short = full.removeprefix("wayforward.")
        if inspect.isfunction(held):
            _add(out, left, short, held, honest)
            continue
        if not inspect.isclass(held):
            left.append(short)
            continue
        own = honest.made.get(held.__name__)
        _add(out, left, short, held, honest)
        for name, kind in vars(held).items():
            if name.startswith("_"):
                continue
            if isinstance(kind, classmethod | staticmethod) or (inspect.isfunction(kind) and own is not None):
                _add(out, left, f"{short}.{name}", getattr(held if own is None else own, name), honest)
    return out, left


def _add(out: list[Target], left: list[str], name: str, function: Callable[..., Any], honest: Honest) -> None:
    given = {}
    try:
        arguments = inspect.signature(function).parameters.values()
    except ValueError:
        left.append(name)
        return
    for one in arguments:
        if one.kind in POSITIONAL:
            continue
        if one.default is one.empty:
            if one.name not in honest.named:
                left.append(f"{name} ({one.name})")
                return
            given[one.name] = honest.named[one.name]
        else:
            given[one.name] = one.default
    if not given:
        return
    begun = time.process_time()
    try:
        function(**given)
    except Exception as error:
        left.append(f"{name}: {type(error).__name__}: {error}"[:150])
        return
    if time.process_time() - begun > LONGEST:
        left.append(f"{name}: too long")
        return
    out.append(with_junk(name, function, given))
