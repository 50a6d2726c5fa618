"""What every world that is learned along a graph shares: whole rows to learn from, its file, its schema."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import DataError, FileFormatError, WorldError
from wayforward.plain_files import as_path, name_of, no_file
from wayforward.schema import Feature, Schema
from wayforward.shapes import Rows
from wayforward.tensor_files import read, write
from wayforward.world.base import World, soft_names, unknown_nodes
from wayforward.world.graph import CausalGraph

if TYPE_CHECKING:
    from typing import Self


class FittedWorld(World):
    """A world learned from a table along a causal graph, by `fit`; saved to one file, and bound to a schema.

    A new one says what its file holds (`stored`) and makes itself of that (`restored`), and makes itself anew over
    other columns (`over`). title: what errors call it.
    """

    title: ClassVar[str]
    schema: Schema

    def _know(self, graph: CausalGraph, soft: bool | Collection[str], names: Sequence[str]) -> None:
        """Keep the graph of the fit and the features on which actions are shifts."""
        self._graph, self.soft = graph, soft_names(soft, names)

    @property
    def graph(self) -> CausalGraph:
        """The causal graph of the fit."""
        return self._graph

    @abstractmethod
    def over(self, schema: Schema, soft: bool | Collection[str]) -> Self:
        """The same world over a schema that holds its features, acts on `soft` being shifts."""

    @abstractmethod
    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a file holds: the header, plain data for JSON, and arrays by name."""

    @classmethod
    @abstractmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """The world of what `stored` gave. Raises: any exception that says what is wrong with it."""

    def fitted_names(self) -> Sequence[str]:
        """The features that the world knows; others of its schema stand alone."""
        return self.graph.names

    def bind(self, schema: Schema) -> Self:
        """The same world over another schema's columns, matched by name; others stand alone.

        Limits, rules and actionability may differ. Raises: WorldError for a feature of the world that the schema does
        not have, or one of another kind or other levels.
        """
        if schema == self.schema:
            return self
        unknown_nodes(self.fitted_names(), schema.names, "world")
        for name in self.fitted_names():
            _require_same(self.schema[name], schema[name])
        return self.over(schema, self.soft)

    def softly(self, soft: bool | Collection[str] = True) -> Self:
        """The same world where acts on these features (True: on all) are shifts on top of what follows."""
        return self.over(self.schema, soft)

    def save(self, path: str | Path) -> Path:
        """Write to one safetensors file: numbers as arrays, the rest as JSON; return the path."""
        header, arrays = self.stored()
        return write(path, {name: np.ascontiguousarray(array) for name, array in arrays.items()}, header)

    @classmethod
    def load(cls, path: str | Path, schema: Schema | None = None) -> Self:
        """Read what `save` wrote, bound to the schema if one is given.

        Raises: FileFormatError for a file that is missing, broken or something else; WorldError for another schema.
        """
        file = as_path(path)
        if not file.is_file():
            raise FileFormatError(no_file(file))
        try:
            world = cls.restored(*read(file))
        except Exception as error:
            raise FileFormatError(
                f"'{name_of(file)}' holds no readable {cls.title} ({type(error).__name__}: {error!s:.160}). "
                "Save it again with world.save."
            ) from None
        return world if schema is None else world.bind(schema)

    def _require_whole(self, what: str) -> None:
        """Raise WorldError if a feature of the schema stands outside the world."""
        known = set(self.fitted_names())
        alone = [name for name in self.schema.names if name not in known]
        if alone:
            raise WorldError(
                f"'{alone[0]}' is no node of the world, so {what} of whole people is unknown. Fit the world to a table "
                "and a graph that hold it."
            )


def _require_same(fitted: Feature, here: Feature) -> None:
    """Raise WorldError unless a feature is what the world was fitted to: another kind of number will do."""
    known, now = (((f.kind, tuple(f.levels)) if f.has_levels else ("a number", ())) for f in (fitted, here))
    if known != now:
        was, is_now = (
            f"{kind} with the levels {', '.join(map(str, levels[:6]))}" if levels else kind
            for kind, levels in (known, now)
        )
        raise WorldError(
            f"The world was fitted with '{fitted.name}' as {was}, but in this schema it is {is_now}. Use the schema of "
            "the fit, or fit the world again."
        )


def inferred_schema(graph: CausalGraph, table: Any) -> Schema:
    """The schema of a table; an array (n, d) takes its names from the graph, and its features are real numbers.

    Raises: DataError for an array of another width.
    """
    if not isinstance(table, np.ndarray):
        return Schema.infer(table, propose=False)
    if table.ndim != 2 or table.shape[1] != graph.d:
        raise DataError(
            f"The rows have shape {table.shape}, but the graph has {graph.d} nodes. Give a table with column names, or "
            "a schema."
        )
    return Schema(tuple(Feature(name=name, kind="real") for name in graph.names))


def whole_rows(schema: Schema, graph: CausalGraph, table: Any, fewest: int, learner: str) -> Rows:
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
