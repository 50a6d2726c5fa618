"""A text model asked about rows: it is given the exact strings, and read where it adds up weights of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.errors import ModelError
from wayforward.modalities.text.documents import texts_of
from wayforward.modalities.text.weights import read_weights
from wayforward.model import Access, Adapted, WrapOptions, register_adapter
from wayforward.model.adapted import (
    DOUBLE,
    as_probabilities,
    label_indices,
    two_columns,
    without_warnings,
)
from wayforward.model.adapters.sklearn_estimator import check_fitted
from wayforward.model.adapters.sklearn_inside import decision_of
from wayforward.model.base import Decision
from wayforward.model.fast import padded, take
from wayforward.model.kernels import sigmoid, softmax
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Outputs

_TIE = 1e-9  # nearer than this the estimator's own predict is asked for the label


class TextModel:
    """A fitted scikit-learn pipeline on raw strings, or a function of a list of strings that gives probabilities.

    classes: of a function, its labels in column order; left out, 0 and 1.
    """

    def __init__(self, model: Any, classes: Sequence[Any] | None = None) -> None:
        self.model, self.classes = model, classes

    def __repr__(self) -> str:
        return f"TextModel({type(self.model).__name__})"


def adapt(given: TextModel, schema: Schema, options: WrapOptions) -> Adapted:
    """See `TextModel`. Raises: ModelError."""
    model = given.model
    name = f"The text model {type(model).__name__}"
    if not hasattr(model, "predict"):
        return _of_function(model, schema, replace(options, name=name, classes=_listed(given.classes)))
    check_fitted(model, name)
    classes = tuple(c.item() if isinstance(c, np.generic) else c for c in np.asarray(model.classes_).tolist())
    steps = getattr(model, "steps", None)
    front, head = (None, model) if not steps or len(steps) < 2 else (model[:-1], steps[-1][1])

    def prepared(rows: Floats) -> Any:
        texts = texts_of(rows, schema)
        return np.array(texts, dtype=object) if front is None else front.transform(texts)

    if hasattr(head, "predict_proba"):
        score = head.predict_proba
    elif hasattr(head, "decision_function"):
        score = lambda made: _squashed(head.decision_function(made))
    else:
        return Adapted.of_labels(
            lambda rows: _safely(lambda: head.predict(prepared(rows)), name), classes, name
        )
    decision = decision_of(model)

    def predict(rows: Floats) -> tuple[Outputs, Ints]:
        made = _safely(lambda: prepared(rows), name)
        out = np.asarray(_safely(lambda: padded(score, made), name), dtype=np.float64)
        if decision is None:
            return out, label_indices(_safely(lambda: padded(head.predict, made), name), classes, name)
        label = decision.label(out)
        close = np.flatnonzero(~decision.clear(out, _TIE))
        if close.size:
            label[close] = label_indices(
                _safely(lambda: padded(head.predict, take(made, close)), name), classes, name
            )
        return out, label

    made = Adapted(predict, "classification", classes, Access.PROBABILITY, name, decision=decision)
    return replace(made, tolerance=DOUBLE, read=lambda: read_weights(model, schema, predict))


def _of_function(model: Callable[[list[str]], Any], schema: Schema, options: WrapOptions) -> Adapted:
    if not callable(model):
        raise ModelError(
            f"{options.name} has no predict and cannot be called. Give a fitted pipeline on raw strings, or a function "
            "of a list of strings that gives probabilities."
        )

    def ask(rows: Floats) -> Floats:
        texts = texts_of(rows, schema)
        out = np.atleast_1d(_safely(lambda: np.asarray(model(texts), dtype=np.float64), options.name))
        if len(out) != len(texts):
            raise ModelError(
                f"{options.name} returned {len(out)} results for {len(texts)} texts. Return one each."
            )
        return as_probabilities(out, "probability", options.name)

    width = ask(np.zeros((1, schema.d))).shape[1]
    made = Adapted.of_probabilities(ask, options.classes_of(width), options.name)
    return replace(made, decision=Decision(exact=False))


def _listed(classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if classes is None else tuple(classes)


def _safely(ask: Callable[[], Any], name: str) -> Any:
    """Ask, with one clear error for whatever is raised, and nobody's text in it."""
    try:
        with without_warnings():
            return ask()
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"{name} failed on a list of strings: {type(error).__name__}. Give a pipeline that was fitted on raw "
            "strings, vectoriser and classifier in one, or a function that gives probabilities."
        ) from error


def _squashed(score: Any) -> Floats:
    score = np.asarray(score, dtype=np.float64)
    return two_columns(sigmoid(score)) if score.ndim == 1 else softmax(score)


register_adapter(f"{TextModel.__module__}.{TextModel.__qualname__}", adapt)
