"""What every world that is learned along a graph asks of its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, WorldError

if TYPE_CHECKING:
    from wayforward.schema import Schema
    from wayforward.world.graph import CausalGraph


def whole_rows(schema: Schema, graph: CausalGraph, table: Any, fewest: int, learner: str) -> np.ndarray:
    """(n, d) rows to learn from; `learner` names what gives numbers for effects, in errors.

    Raises: DataError that names the column (missing values, the same in every row) or too few rows; WorldError for
    a categorical effect.
    """
    x = schema.encode(table, "training")
    if len(x) < fewest:
        raise DataError(
            f"The training table has {len(x)} rows; a world is learned from at least {fewest}. Give more people."
        )
    for j, feature in enumerate(schema.features):
        if feature.kind == "categorical" and graph.parents[feature.name]:
            raise WorldError(
                f"'{feature.name}' is categorical and has causes in the graph, but {learner} gives numbers. "
                "Make it ordinal or binary, or take its causes out of the graph."
            )
        gone = np.isnan(x[:, j])
        if gone.any():
            raise DataError(
                f"Column '{feature.name}' of the training table has {int(gone.sum())} missing values, the first in "
                f"row {int(np.argmax(gone))}. A world is learned from whole rows: leave these out or fill them in."
            )
        if np.ptp(x[:, j]) == 0:
            raise DataError(
                f"Column '{feature.name}' of the training table is {x[0, j]:g} in every row, so nothing can be "
                "learned about its causes or effects. Leave it out of the graph and the schema."
            )
    return x
