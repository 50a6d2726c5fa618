"""What people can do as steps of a plan: what must hold first, what a step changes, what it costs, how long it takes.

A step changes some features of the state that a person is in; the next step starts from the state that it leads to. In
a file an act is a mapping, such as::

    - name: get a degree
      sets: {education: bachelor}
      needs: ["before.age <= 40"]
      cost: 3
      months: 30
    - name: take the better job
      adds: {income: 800}
      needs: ["before.education == 'bachelor'"]
    - name: save
      moves: savings
      by: [100, 10000]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from wayforward.errors import DataError, FileFormatError, SchemaError, did_you_mean, suggest
from wayforward.lazy import cached_property
from wayforward.plain_files import parse_yaml, read_text
from wayforward.public import public
from wayforward.schema.tables import encode_column, faults
from wayforward.shapes import Floats, Ints, Mask, Rows

if TYPE_CHECKING:
    from wayforward.rules import RuleSet
    from wayforward.schema.schema import Schema


@public
@dataclass(frozen=True)
class PlannedAct:
    """One thing that a person can do.

    name: what it is called, for people. sets: feature -> the value that it has afterwards. adds: feature -> by how much
    it grows, in its unit. moves: a feature that the person moves as far as they want; by (least, most): by so much, in
    its unit, negative is down, None is as far as the schema lets them. needs: conditions in the language of rules;
    `before` is the state that the act starts from, `after` the one that it leads to. cost: what it costs, in the unit
    of the problem's cost; None: what the problem's cost says of this step. months: how long it takes; None: as long as
    the schema says. eases: name of another act -> what the other's cost is multiplied by once this one is done.
    """

    name: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    adds: Mapping[str, float] = field(default_factory=dict)
    moves: str | None = None
    by: tuple[float | None, float | None] = (None, None)
    needs: tuple[str, ...] = ()
    cost: float | None = None
    months: float | None = None
    eases: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SchemaError(f"An act has the name {self.name!r}. Give it one that people read.")
        if isinstance(self.needs, str):
            object.__setattr__(self, "needs", (self.needs,))
        for what, value in (("cost", self.cost), ("months", self.months)):
            if value is not None and not _number(value, 0):
                raise SchemaError(
                    f"The act '{self.name}' has {what}={value!r}. Use a number of at least 0, or leave it out."
                )
        for what, numbers, least in (("adds", self.adds, -math.inf), ("eases", self.eases, 0)):
            for name, value in numbers.items():
                if not _number(value, least):
                    raise SchemaError(
                        f"The act '{self.name}' has {value!r} for '{name}' in {what}. Use a number"
                        + (" of at least 0." if least == 0 else ".")
                    )
        ends = tuple(self.by)
        sound = len(ends) == 2 and all(end is None or _number(end, -math.inf) for end in ends)
        if not sound or (None not in ends and ends[0] > ends[1]):  # type: ignore[operator]
            raise SchemaError(
                f"The act '{self.name}' has by={list(ends)!r}. Give the least and the most that it moves, such as "
                "by: [100, 5000]; negative numbers move down."
            )
        named = [*self.sets, *self.adds, *([] if self.moves is None else [self.moves])]
        if not named:
            raise SchemaError(
                f"The act '{self.name}' changes nothing. Say what it sets, what it adds to, or which feature it moves."
            )
        double = next((name for name in named if named.count(name) > 1), None)
        if double is not None:
            raise SchemaError(f"The act '{self.name}' changes '{double}' in two ways. Keep one of them.")


@public
class ActModel(Sequence[PlannedAct]):
    """The acts that are open to people, read against a schema.

    Example: ``ActModel.from_yaml("acts.yaml", schema)``.
    Raises: SchemaError for a feature, a level or an act that nobody knows; RuleError that points into a condition.
    """

    def __init__(self, acts: Sequence[PlannedAct], schema: Schema) -> None:
        from wayforward.rules import RuleSet

        self.schema, self._acts = schema, tuple(acts)
        names = [act.name for act in self._acts]
        if not names:
            raise SchemaError("There are no acts. Give at least one thing that people can do.")
        for act in self._acts:
            if names.count(act.name) > 1:
                raise SchemaError(f"Two acts are called '{act.name}'. Give each a name of its own.")
            for other in act.eases:
                if other not in names:
                    raise SchemaError(
                        f"The act '{act.name}' eases '{other}', which is no act.{suggest(other, names)}"
                    )
            for feature in (*act.sets, *act.adds, *([] if act.moves is None else [act.moves])):
                self._check_feature(act, feature)
        self._needs: tuple[RuleSet, ...] = tuple(
            RuleSet.parse(act.needs, schema.features) for act in self._acts
        )
        for act, rules in zip(self._acts, self._needs, strict=True):
            if rules.links:
                raise SchemaError(
                    f"The act '{act.name}' needs '{rules.rules[0].text}', which is a link and no condition. State it "
                    "as a rule of the schema."
                )

    @classmethod
    def of_schema(cls, schema: Schema) -> Self:
        """One act for each feature that people may act on: it moves as far as the schema lets them."""
        may = [f for f, acts in zip(schema.features, schema.actionable, strict=True) if acts]
        return cls([PlannedAct(name=f.name, moves=f.name) for f in may], schema)

    @classmethod
    def from_yaml(cls, source: str | Path, schema: Schema) -> Self:
        """Read acts from a YAML file, or from YAML text: a list of mappings with the fields of `PlannedAct`.

        Raises: FileFormatError for a file that is missing or broken; SchemaError, RuleError for wrong content.
        """
        if isinstance(source, str) and "\n" in source:
            text, name = source, "text of acts"
        else:
            text, name = read_text(source, "file of acts"), f"file of acts '{Path(source).name}'"
        rows = parse_yaml(text, name)
        if isinstance(rows, dict) and set(rows) == {"acts"}:
            rows = rows["acts"]
        return cls.from_plain(rows, schema, name)

    @classmethod
    def from_plain(cls, rows: Any, schema: Schema, name: str = "list of acts") -> Self:
        """Read acts from plain data, a list of mappings with the fields of `PlannedAct`; name: of it, for errors.

        Raises: FileFormatError for another form; SchemaError, RuleError for wrong content.
        """
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise FileFormatError(f"The {name} is no list of acts. Write '- name: ...' for each of them.")
        return cls([_act_of(row, name) for row in rows], schema)

    def __len__(self) -> int:
        return len(self._acts)

    def __getitem__(self, at: Any) -> Any:
        return self._acts[at]

    def to_plain(self) -> list[dict[str, Any]]:
        """Plain data, as the file holds it."""
        return [
            {
                name: dict(value)
                if isinstance(value, Mapping)
                else list(value)
                if isinstance(value, tuple)
                else value
                for name, value in vars(act).items()
                if value not in (None, {}, (), (None, None))
            }
            for act in self._acts
        ]

    @cached_property
    def columns(self) -> tuple[Ints, ...]:
        """For each act: the positions of the features that it changes."""
        index = self.schema.index
        return tuple(
            np.array([index(n) for n in (*a.sets, *a.adds, *([a.moves] if a.moves else []))], dtype=np.int64)
            for a in self._acts
        )

    @cached_property
    def moved(self) -> Ints:
        """(a,) position of the feature that the person moves as far as they want; -1 where there is none."""
        return np.array([self.schema.index(a.moves) if a.moves else -1 for a in self._acts], dtype=np.int64)

    @cached_property
    def eased(self) -> Floats:
        """(a, a) what the cost of the column's act is multiplied by once the row's act is done."""
        names = [act.name for act in self._acts]
        return np.array([[float(act.eases.get(name, 1.0)) for name in names] for act in self._acts])

    def targets(self, a: int, state: Rows, value: Floats) -> Rows:
        """What act a sets from states (m, d), moving its feature to value (m,): (m, d), NaN where left alone."""
        act, index = self._acts[a], self.schema.index
        out = np.full_like(state, np.nan)
        for name, level in act.sets.items():
            out[:, index(name)] = self._value(name, level)
        for name, amount in act.adds.items():
            out[:, index(name)] = state[:, index(name)] + amount
        if act.moves is not None:
            out[:, index(act.moves)] = value
        return out

    def span(self, a: int, start: Floats) -> tuple[Floats, Floats]:
        """How far act a moves its feature from values (m,): the least and the greatest value that it may lead to."""
        least, most = self._acts[a].by
        return (
            start + (-np.inf if least is None else least),
            start + (np.inf if most is None else most),
        )

    def possible(self, a: int, before: Rows, after: Rows) -> Mask:
        """(m,) bool: what act a needs holds in the states that it starts from and leads to, (m, d) each."""
        return np.asarray(self._needs[a].satisfied(before, after))

    def _value(self, name: str, value: Any) -> float:
        return float(encode_column([value], self.schema[name], "acts")[0])

    def _check_feature(self, act: PlannedAct, name: str) -> None:
        if name not in self.schema.names:
            raise SchemaError(
                f"The act '{act.name}' changes '{name}', which is no feature.{suggest(name, self.schema.names)}"
            )
        feature = self.schema[name]
        if not self.schema.actionable[self.schema.index(name)]:
            raise SchemaError(
                f"The act '{act.name}' changes '{name}', which nobody may act on. Declare it actionable in the schema, "
                "or drop the act."
            )
        if name in act.sets:
            try:
                value = self._value(name, act.sets[name])
            except DataError:
                value = np.nan
            if np.isnan(value) or faults(np.array([value]), feature).any():
                known = ", ".join(repr(level) for level in feature.levels[:8])
                raise SchemaError(
                    f"The act '{act.name}' sets '{name}' to {act.sets[name]!r}, which is no legal value"
                    + (f" ({known})." if known else ".")
                    + did_you_mean(str(act.sets[name]), [str(level) for level in feature.levels])
                )
        if name in act.adds and not feature.ordered:
            raise SchemaError(f"The act '{act.name}' adds to '{name}', whose levels have no order. Use sets.")


def _act_of(row: dict[str, Any], name: str) -> PlannedAct:
    known = tuple(PlannedAct.__dataclass_fields__)
    for key in row:
        if key not in known:
            raise FileFormatError(
                f"The {name} has an act with the entry '{key}', which is none.{suggest(str(key), known)} "
                f"Known: {', '.join(known)}."
            )
    for key, kind in (("sets", dict), ("adds", dict), ("eases", dict), ("by", list), ("needs", (list, str))):
        if key in row and not isinstance(row[key], kind):
            raise FileFormatError(
                f"The {name} has {key}: {row[key]!r}, which is of the wrong form. See `PlannedAct`."
            )
    if "name" not in row:
        raise FileFormatError(f"The {name} has an act without a name. Give it one that people read.")
    more = {key: tuple(row[key]) for key in ("by", "needs") if isinstance(row.get(key), list)}
    return PlannedAct(**{**row, **more})


def _number(value: Any, least: float) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= least
    )
