"""Several models that are asked about the same rows: checked once, finished together, the same numbers as alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wayforward.model.base import Model
from wayforward.model.fast import DenseFast, LinearFast, apply_link
from wayforward.model.forms import Link
from wayforward.model.trees import ForestFast
from wayforward.shapes import Floats


def panel_outputs(models: Sequence[Model], x: Floats) -> Floats:
    """(m, d) -> (models, m, c) what each model's `outputs` is. They must be about the same features and classes.

    Raises: ModelError.
    """
    rows = models[0].as_rows(x)
    if not len(rows):
        return np.empty((len(models), 0, models[0].width))
    link, margins = _margins(models)
    if link is None:
        return np.stack([model.outputs(rows) for model in models])
    for model in models:
        model.count(len(rows))
    margin = np.stack([of_rows(rows) for of_rows in margins])
    out = apply_link(margin.reshape(-1, margin.shape[2]), link)
    return models[0].checked(out, len(out)).reshape(len(models), len(rows), -1)


def _margins(models: Sequence[Model]) -> tuple[Link | None, list[Callable[[Floats], Floats]]]:
    """What is linked to outputs of each model, and the link; None where they do not have the same one."""
    read = [getattr(model, "fast", None) for model in models]
    known = [fast for fast in read if isinstance(fast, (DenseFast, ForestFast, LinearFast))]
    if len(known) < len(models) or len({fast.link for fast in known}) > 1:
        return None, []
    return known[0].link, [fast.margin for fast in known]
