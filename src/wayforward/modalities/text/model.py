"""A text model asked about rows: it is given the exact strings, and read where it adds up weights of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from wayforward.modalities.model import listed, of_function, safely
from wayforward.modalities.text.documents import texts_of
from wayforward.modalities.text.weights import read_weights
from wayforward.model import Access, Adapted, WrapOptions, register_adapter
from wayforward.model.adapted import DOUBLE, Predict, label_indices, two_columns
from wayforward.model.adapters.sklearn_estimator import check_fitted
from wayforward.model.adapters.sklearn_inside import decision_of
from wayforward.model.fast import padded, take
from wayforward.model.kernels import sigmoid, softmax
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Outputs

_WHAT = "a list of strings"
_ADVICE = (
    "Give a pipeline that was fitted on raw strings, vectoriser and classifier in one, or a function of a list of "
    "strings that gives probabilities."
)
_AT_ONCE = 4096  # texts of which counts are made at once
_TIE = 1e-9  # nearer than this the estimator's own predict is asked for the label


@public
class TextModel:
    """A fitted scikit-learn pipeline on raw strings, or a function of a list of strings that gives probabilities.

    classes: of a function, its labels in column order; left out, 0 and 1.
    """

    def __init__(self, model: Any, classes: Sequence[Any] | None = None) -> None:
        self.model, self.classes = model, listed(classes)

    def __repr__(self) -> str:
        return f"TextModel({type(self.model).__name__})"


def adapt(given: TextModel, schema: Schema, options: WrapOptions) -> Adapted:
    """See `TextModel`. Raises: ModelError."""
    model = given.model
    name = f"The text model {type(model).__name__}"
    if not hasattr(model, "predict"):
        options = replace(options, name=name, classes=given.classes)
        return of_function(model, lambda rows: texts_of(rows, schema), schema, options, _WHAT, _ADVICE)
    check_fitted(model, name)
    safe = partial(safely, name=name, what=_WHAT, advice=_ADVICE)
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
        return Adapted.of_labels(lambda rows: safe(lambda: head.predict(prepared(rows))), classes, name)
    decision = decision_of(model)

    def asked_about(rows: Floats, prepare: Callable[[Floats], Any]) -> tuple[Outputs, Ints]:
        made = safe(lambda: prepare(rows))
        out = np.asarray(safe(lambda: padded(score, made)), dtype=np.float64)
        if decision is None:
            return out, label_indices(safe(lambda: padded(head.predict, made)), classes, name)
        label = decision.label(out)
        close = np.flatnonzero(~decision.clear(out, _TIE))
        if close.size:
            own = safe(lambda: padded(head.predict, take(made, close)))
            label[close] = label_indices(own, classes, name)
        return out, label

    def predict(rows: Floats) -> tuple[Outputs, Ints]:
        return asked_about(rows, prepared)

    def counted(counts: Any, rows: Floats | None) -> Predict | None:
        if rows is not None and not counts.agrees(rows, front):
            return None

        def quick(rows: Floats) -> tuple[Outputs, Ints]:
            plain = counts.plain(rows)
            parts = [(np.flatnonzero(plain), counts.ready), (np.flatnonzero(~plain), prepared)]
            out, label = np.zeros((len(rows), len(classes))), np.zeros(len(rows), dtype=np.int64)
            for place, prepare in parts:
                for begin in range(0, len(place), _AT_ONCE):
                    some = place[begin : begin + _AT_ONCE]
                    out[some], label[some] = asked_about(rows[some], prepare)
            return out, label

        return quick

    made = Adapted(predict, "classification", classes, Access.PROBABILITY, name, decision=decision)
    return replace(made, tolerance=DOUBLE, read=lambda: read_weights(model, schema, predict), encoded=counted)


def _squashed(score: Any) -> Floats:
    score = np.asarray(score, dtype=np.float64)
    return two_columns(sigmoid(score)) if score.ndim == 1 else softmax(score)


register_adapter(f"{TextModel.__module__}.{TextModel.__qualname__}", adapt)
