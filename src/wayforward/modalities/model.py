"""What adapters of models of raw things share: one clear error, and functions that give probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.errors import ModelError, numbers_in
from wayforward.model import Adapted, WrapOptions
from wayforward.model.adapted import as_probabilities, labels_in, without_warnings
from wayforward.model.base import Decision
from wayforward.schema import Schema
from wayforward.shapes import Floats

_FROM_0_TO_1 = (
    "Return numbers from 0 to 1: one a thing, how likely the second answer is, or one for each answer."
)


def of_function(
    model: Any, read: Callable[[Floats], Any], schema: Schema, options: WrapOptions, what: str, advice: str
) -> Adapted:
    """Adapt a function of raw things that gives probabilities, (m,), (m, 1) or (m, c).

    read: rows (m, d) -> the things that it is given. what: in errors, "a list of strings". advice: what to give.
    Raises: ModelError.
    """
    if not callable(model):
        raise ModelError(f"{options.name} has no predict and cannot be called. {advice}")

    def ask(rows: Floats) -> Floats:
        things = read(rows)
        answer = safely(
            lambda: numbers_in(model(things), f"the answer of {options.name}", ModelError),
            options.name,
            what,
            advice,
        )
        out = np.atleast_1d(answer)
        if len(out) != len(rows):
            raise ModelError(
                f"{options.name} returned {len(out)} results for {len(rows)} {what.split()[-1]}. Return one each."
            )
        return as_probabilities(out, "probability", options.name, _FROM_0_TO_1)

    width = ask(np.zeros((1, schema.d))).shape[1]
    made = Adapted.of_probabilities(ask, options.classes_of(width), options.name)
    return replace(made, decision=Decision(exact=False))


def listed(classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Return labels as a tuple, or None. Raises: ModelError for what is no list of them."""
    return None if classes is None else labels_in(classes)


def safely(ask: Callable[[], Any], name: str, what: str, advice: str) -> Any:
    """Ask, with one clear error for whatever is raised, and nobody's thing in it. Raises: ModelError."""
    try:
        with without_warnings():
            return ask()
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{name} failed on {what}: {type(error).__name__}. {advice}") from error
