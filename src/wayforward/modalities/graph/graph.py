"""Graphs of people, items and whatever stands between them: who did what, and what is like what."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import DataError, is_list, require_switch, require_whole, shown
from wayforward.model.frames import column_values, is_table
from wayforward.plain_files import read_text
from wayforward.public import public
from wayforward.shapes import Floats, Ints, Mask
from wayforward.streams import generator

_WEIGHTS = "None is below 0: give 0 where there is no edge, or a number from 1e-100 to 1e100."
_EMPTY = ("nan", "NaT", "<NA>")  # of numbers, days, and pandas


@public
@dataclass(frozen=True, eq=False)
class ActionGraph:
    """Nodes of any kind with weighted edges, some of which are what people did.

    names (N,): of the nodes, each once. weights: a scipy sparse matrix (N, N), from row to column, of 0 for no edge or
    1e-100 to 1e100, so that sums of them are numbers.
    people, items: names of those to whom something is recommended, and of what may be. A person's actions are their
    edges to items.
    Raises: DataError.
    """

    names: Sequence[str]
    weights: Any
    people: Collection[str]
    items: Collection[str]
    place: dict[str, int] = field(init=False, repr=False)
    item_nodes: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from scipy.sparse import csr_array

        names = _texts(self.names, "names")
        place = {name: i for i, name in enumerate(names)}
        if len(place) != len(names):
            twice = next(name for i, name in enumerate(names) if place[name] != i)
            raise DataError(f"Two nodes are called {twice!r}. Give each node a name of its own.")
        try:
            if getattr(self.weights, "dtype", np.dtype(float)).kind not in "biuf":
                raise TypeError  # a complex one would lose a part
            matrix = csr_array(self.weights, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"weights={shown(self.weights)} is no matrix of numbers. Give a scipy sparse matrix (N, N)."
            ) from None
        matrix.sum_duplicates()
        if matrix.shape != (len(names), len(names)):
            raise DataError(f"weights has shape {matrix.shape}; there are {len(names)} names. Give (N, N).")
        odd = np.flatnonzero(~_fair(matrix.data))
        if odd.size:
            start = int(np.searchsorted(matrix.indptr, odd[0], side="right")) - 1
            raise DataError(
                f"The edge from {names[start]!r} to {names[matrix.indices[odd[0]]]!r} has the weight "
                f"{matrix.data[odd[0]]:g}. {_WEIGHTS}"
            )
        matrix.eliminate_zeros()
        for kind in ("people", "items"):
            # columns of tables name them again and again
            given = list(dict.fromkeys(_texts(getattr(self, kind), kind)))
            missing = [name for name in given if name not in place]
            if missing or not given:
                raise DataError(
                    f"{kind} names {missing[0]!r}, which is no node." if missing else f"There are no {kind}."
                )
            object.__setattr__(self, kind, tuple(given))
        both = set(self.people) & set(self.items)
        if both:
            raise DataError(f"{sorted(both)[0]!r} is a person and an item. Give them names of their own.")
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "weights", matrix)
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "item_nodes", np.sort([place[name] for name in self.items]).astype(np.int64))

    def edges(self, node: int) -> tuple[Ints, Floats]:
        """Return where the edges of a node lead, ascending, and their weights."""
        part = slice(self.weights.indptr[node], self.weights.indptr[node + 1])
        return self.weights.indices[part].astype(np.int64), self.weights.data[part]

    def actions(self, person: str) -> Ints:
        """Return the items (m,) that a person acted on, as nodes in ascending order."""
        ends = self.edges(self.place[person])[0]
        return ends[np.isin(ends, self.item_nodes)]

    @classmethod
    def from_edges(
        cls,
        table: Any,
        source: str = "source",
        target: str = "target",
        weight: str | None = None,
        *,
        people: Collection[str],
        items: Collection[str],
        both_ways: bool = True,
    ) -> ActionGraph:
        """Return the graph of a plain table with one edge a row.

        table: of pandas, polars or pyarrow, or the path of a CSV file with a header. source, target, weight: its
        columns; without a weight every edge counts 1, edges that come twice count twice. both_ways: an edge leads back,
        too. people, items: as of the graph. Raises: DataError.
        """
        sides = {"people": _texts(people, "people"), "items": _texts(items, "items")}
        require_switch(both_ways, "both_ways")
        columns = _columns(table, [source, target, *([] if weight is None else [weight])])
        gone = [i for i, pair in enumerate(zip(*columns[:2], strict=True)) if any(map(_missing, pair))]
        if gone:
            raise DataError(f"Row {gone[0]} of the edges lacks an end. Fill it in, or leave the row out.")
        ends = [[str(value) for value in column] for column in columns[:2]]
        try:
            size = np.ones(len(ends[0])) if weight is None else np.array([_number(one) for one in columns[2]])
        except (TypeError, ValueError, OverflowError):
            raise DataError(f"Column '{weight}' of the edges has a weight that is no number.") from None
        odd = np.flatnonzero(~_fair(size))
        if odd.size:
            raise DataError(
                f"Row {odd[0]} of the edges has {size[odd[0]]:g} in column '{weight}'. {_WEIGHTS}"
            )
        seen = {*ends[0], *ends[1]}
        for kind, given in sides.items():
            if seen and given and seen.isdisjoint(given):
                raise DataError(
                    f"None of the {kind} is an end of an edge: {given[0]!r} is wanted, and there is "
                    f"{min(seen)!r}. Names are compared as text: give them as they stand in the edges."
                )
        names = sorted(seen.union(*sides.values()))
        place = {name: i for i, name in enumerate(names)}
        start, end = (np.array([place[name] for name in some], dtype=np.int64) for some in ends)
        if both_ways:
            start, end, size = np.append(start, end), np.append(end, start), np.append(size, size)
        from scipy.sparse import coo_array

        return cls(names, coo_array((size, (start, end)), shape=(len(names), len(names))), **sides)


@public
def shop(people: int = 60, items: int = 120, kinds: int = 8, seed: int = 0) -> ActionGraph:
    """Return a made-up graph: people who bought and rated items (3 to 10 each), each item of one or two kinds.

    People like some kinds more than others, so that what is recommended hangs on what they bought.
    The fewest are ten items and two kinds.
    """
    require_whole(least=1, people=people)
    require_whole(least=10, items=items)
    require_whole(least=2, kinds=kinds)
    rng = generator(seed)
    of = [rng.choice(kinds, rng.integers(1, 3), replace=False) for _ in range(items)]
    rows = [(f"item {i}", f"kind {kind}", 1.0) for i in range(items) for kind in of[i]]
    for p in range(people):
        taste = rng.dirichlet(np.full(kinds, 0.4))
        like = np.array([taste[some].sum() for some in of]) + 1e-3
        for i in rng.choice(items, rng.integers(3, 11), replace=False, p=like / like.sum()):
            rows.append((f"person {p}", f"item {i}", float(rng.integers(1, 6))))
    import pandas as pd

    return ActionGraph.from_edges(
        pd.DataFrame(rows, columns=["source", "target", "weight"]),
        weight="weight",
        people=[f"person {p}" for p in range(people)],
        items=[f"item {i}" for i in range(items)],
    )


def _texts(given: Any, kind: str) -> list[str]:
    if not is_list(given):
        raise DataError(f"{kind}={shown(given)} is no list of names. Give a list.")
    return [str(one) for one in given]


def _fair(weight: Floats) -> Mask:
    """Whether weights are such that sums of them, and shares of these sums, are numbers."""
    return np.asarray((weight == 0) | ((weight >= 1e-100) & (weight <= 1e100)))


def _number(value: Any) -> float:
    """Raises: TypeError, ValueError, OverflowError for what is none; NaN where a cell is empty."""
    if isinstance(value, complex | np.complexfloating):
        raise TypeError
    return float("nan") if _missing(value) else float(value)


def _missing(value: Any) -> bool:
    """Whether a cell is empty, as tables say it; a text is what it says, "nan" and "None" too."""
    return value is None or value == "" if isinstance(value, str | None) else str(value) in _EMPTY


def _columns(table: Any, wanted: list[str]) -> list[Any]:
    if isinstance(table, (str, Path)):
        text = read_text(table, "edges").removeprefix("\ufeff")
        try:
            rows = list(csv.reader(io.StringIO(text)))
        except csv.Error as error:
            raise DataError(f"The file of edges is no CSV: {error}.") from None
        if not rows:
            raise DataError("The file of edges is empty. Give a header and one edge a row.")
        names, body = rows[0], [row for row in rows[1:] if row]
        odd = next((i for i, row in enumerate(body) if len(row) != len(names)), None)
        if odd is not None:
            raise DataError(
                f"Row {odd} of the edges has {len(body[odd])} values; the header has {len(names)}."
            )
        at = {name: [row[i] for row in body] for i, name in enumerate(names)}
    elif is_table(table):
        names = list(table.column_names) if hasattr(table, "column_names") else list(table.columns)
        at = {name: column_values(table, i).tolist() for i, name in enumerate(names)}
        twice = [name for name in wanted if names.count(name) > 1]
        if twice:
            raise DataError(f"The edges have the column '{twice[0]}' twice. Keep one of them.")
    else:
        raise DataError(f"The edges are a {type(table).__name__}. Give a table, or the path of a CSV file.")
    for name in wanted:
        if not isinstance(name, (str, int)) or name not in at:
            raise DataError(f"The edges have no column '{name}'; there are {', '.join(map(str, names))}.")
    return [at[name] for name in wanted]
