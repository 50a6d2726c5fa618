"""What a run hangs on, as hashes: equal for equal questions in every process, others where answers could differ."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from copy import copy
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from wayforward.lazy import cached_property
from wayforward.methods import Method
from wayforward.model import Model
from wayforward.model.base import Counter
from wayforward.model.verify import sample_rows

_ROWS = 4096  # that a model is told by


def digest(*things: Any) -> str:
    """SHA-256 of objects by what is in them: arrays, plain data, and any object by what it would pickle."""
    found = hashlib.sha256()
    for thing in things:
        _feed(found, thing, ())
    return found.hexdigest()


def model_digest(model: Model) -> str:
    """SHA-256 of a model's name and of its own answers on rows drawn from its schema.

    Answers say what matters whatever library the model is of; they are taken in single precision, so that another
    machine gets the same.
    """
    own = copy(model)
    own.counter = Counter()  # nobody's search pays for this
    rows = sample_rows(model.schema, _ROWS, seed=1, thresholds=model.thresholds())
    out, label = own.native(rows)
    return digest(model.name, [str(c) for c in model.classes], np.asarray(out, dtype=np.float32), label)


def method_digest(method: Method) -> dict[str, str]:
    """SHA-256 of each part of what a fitted method was asked: model, schema, problem, observed people, settings."""
    problem = method.problem_
    settings = {name: value for name, value in vars(method).items() if not name.endswith("_")}
    parts = {"target": problem.target, "world": problem.world, "cost": problem.cost}
    parts |= {
        "confidence": problem.confidence,
        "robust": problem.robust,
        "plausibility": problem.plausibility,
    }
    return {
        "model": model_digest(problem.model),
        "schema": digest(problem.schema.to_dict()),
        "problem": digest(parts),
        "observed people": digest(None if problem.table_left else problem.reference),
        "settings": digest(method.name, settings),
    }


def _feed(found: Any, thing: Any, above: tuple[int, ...]) -> None:
    found.update(f"<{type(thing).__name__}>".encode())
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes, bytearray)):
        found.update(thing if isinstance(thing, (bytes, bytearray)) else repr(thing).encode())
    elif isinstance(thing, np.ndarray):
        _feed_array(found, thing, above)
    elif isinstance(thing, np.generic):
        _feed(found, thing.item(), above)
    elif isinstance(thing, Enum):
        found.update(thing.name.encode())
    elif isinstance(thing, ModuleType):
        found.update(thing.__name__.encode())
    elif isinstance(thing, type):
        found.update(f"{thing.__module__}.{thing.__qualname__}".encode())
    elif isinstance(thing, FunctionType):
        code = thing.__code__
        found.update(f"{thing.__module__}.{thing.__qualname__}".encode() + code.co_code)
    elif id(thing) in above:
        found.update(b"above")
    elif isinstance(thing, dict):
        for key in sorted(thing, key=repr):
            _feed(found, key, (*above, id(thing)))
            _feed(found, thing[key], (*above, id(thing)))
    elif isinstance(thing, (set, frozenset)):
        _feed(found, sorted(digest(one) for one in thing), above)
    elif isinstance(thing, (list, tuple)):
        for one in thing:
            _feed(found, one, (*above, id(thing)))
    elif isinstance(thing, Model):
        found.update(model_digest(thing).encode())
    elif hasattr(thing, "detach") and hasattr(thing, "cpu"):
        _feed_array(found, thing.detach().cpu().numpy(), above)
    else:
        _feed_object(found, thing, (*above, id(thing)))


def _feed_array(found: Any, array: np.ndarray, above: tuple[int, ...]) -> None:
    found.update(f"{array.shape}{array.dtype}".encode())
    if array.dtype == object:
        _feed(found, array.ravel().tolist(), above)
    elif array.dtype.names:  # the bytes between the fields mean nothing
        for name in array.dtype.names:
            _feed_array(found, array[name], above)
    else:
        found.update(np.ascontiguousarray(array).tobytes())


def _feed_object(found: Any, thing: Any, above: tuple[int, ...]) -> None:
    made = thing.__reduce_ex__(4)
    if isinstance(made, str):
        found.update(made.encode())
        return
    for part in made:
        if isinstance(part, dict):  # what an object worked out and can work out again is no part of it
            part = {
                name: value
                for name, value in part.items()
                if not isinstance(getattr(type(thing), str(name), None), cached_property)
            }
        elif isinstance(part, Iterator):
            part = list(part)
        _feed(found, part, above)
