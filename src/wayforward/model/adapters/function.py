"""A callable of rows: probabilities (m,), (m, 2) or (m, c), labels (m,), logits, or values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.errors import ModelError
from wayforward.model.adapted import Adapted, WrapOptions, as_probabilities, first_line
from wayforward.model.fast import padded
from wayforward.model.tables import Table, are_numbers
from wayforward.model.verify import sample_rows
from wayforward.schema import Schema
from wayforward.shapes import Floats


def adapt(function: Callable[[Any], Any], schema: Schema, options: WrapOptions) -> Adapted:
    """Look at two rows to see what it returns. Raises: ModelError."""
    carried = [feature.name for feature in schema.features if feature.carried]
    if carried and options.takes == "array":
        raise ModelError(
            f"{options.name} takes an array of numbers, and '{carried[0]}' is carried as it is. Use takes='frame', or "
            "schema.drop the column."
        )
    if carried:
        options = replace(options, takes="frame")
    if options.takes == "auto":
        try:
            return adapt(function, schema, replace(options, takes="array"))
        except ModelError as refused:
            for columns in ("frame", *(["numbered"] if are_numbers(schema.names) else [])):
                try:
                    return adapt(function, schema, replace(options, takes=columns))
                except ModelError:
                    pass
            raise refused from refused.__cause__
    size = options.batch_rows
    name, table = options.name, options.prepare or (lambda x: x)
    if options.takes in ("frame", "numbered"):
        numbered = options.takes == "numbered"
        table = Table(schema, list(schema.names), options.frame, name, options.prepare, numbered=numbered)

    def once(x: Floats) -> np.ndarray:
        try:
            got = _array(function(table(x.copy())), name)  # its own: it may write to what it is given
        except ModelError:
            raise
        except (Exception, SystemExit) as error:  # one that ends is no reason to end with it
            raise ModelError(
                f"{name} failed on {len(x)} rows: {type(error).__name__}: {first_line(error, 300)} "
                "It is given an (m, d) array in feature units; wrap(..., takes='frame') gives a table."
            ) from error
        if len(got) != len(x):
            raise ModelError(
                f"{name} returned {len(got)} results for {len(x)} rows. Return one for each row, in order."
            )
        return got

    def ask(x: Floats) -> np.ndarray:
        return once(x) if size is None else padded(once, x, size)

    first = ask(sample_rows(schema, 2, missing=False))
    if options.task == "regression":
        made = Adapted.of_values(lambda x: _numbers(ask(x), name), name)
    else:
        kind, classes = _kind(first, options)
        if kind == "label":
            made = Adapted.of_labels(ask, classes, name)
        else:
            made = Adapted.of_probabilities(
                lambda x: as_probabilities(_numbers(ask(x), name), kind, name), classes, name
            )
    return replace(made, batch=size)


def _array(got: Any, name: str) -> np.ndarray:
    if hasattr(got, "detach"):
        got = got.detach().cpu().numpy()
    if hasattr(got, "to_numpy"):
        got = got.to_numpy()
    if isinstance(got, np.ma.MaskedArray) and np.ma.is_masked(got):
        raise ModelError(f"{name} returned masked values. Return a number or a label for every row.")
    array = np.array(got)  # a copy: it may return the same array every time
    if array.dtype.kind in "cmM":  # as numbers they would lose a part, or be seconds
        raise ModelError(f"{name} returned {array.dtype} values. Return numbers or labels.")
    if array.ndim == 0:
        raise ModelError(
            f"{name} returned one value, {array.item()!r}, for a batch of rows. Return one for each row."
        )
    return array


def _numbers(got: Any, name: str) -> Floats:
    try:
        out: Floats = np.asarray(got, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f"{name} returned {np.asarray(got).ravel()[:1].tolist()} where a number was expected. "
            "For labels, give wrap(..., output='label', classes=...)."
        ) from None
    return out


def _kind(first: np.ndarray, options: WrapOptions) -> tuple[str, tuple[Any, ...]]:
    """What the first answer holds, and the classes."""
    name, output, classes = options.name, options.output, options.classes
    scores = "logit" if output == "logit" else "probability"
    if first.ndim == 2 and first.shape[1] > 1:
        return scores, options.classes_of(first.shape[1])
    if first.ndim > 2 or first.shape[1:] == (0,):
        raise ModelError(f"{name} returned shape {first.shape}; (m,) or (m, classes) is needed.")
    found = (0, 1) if classes is None else classes
    if output == "label" or (output == "auto" and (first.dtype.kind in "bOUSiu" or len(found) > 2)):
        if classes is None and first.dtype.kind not in "biu":
            raise ModelError(
                f"{name} returns labels such as {first[:1].tolist()[0]!r}. Give all of them: wrap(..., "
                "classes=(...))."
            )
        return "label", found
    if len(found) != 2:
        raise ModelError(
            f"{name} returns one number a row; classes has {len(found)} entries. Return one column a class."
        )
    return scores, found
