"""A table of people with everything that a problem needs to know about it, and every choice made visible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.data.files import Known
from wayforward.errors import DataError
from wayforward.lazy import cached_property
from wayforward.public import public
from wayforward.schema import Feature, Schema
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.world import World

Task = Literal["classification", "regression"]

# The short marks of an actionability set -> the two fields of a feature.
_MARKS: dict[str, dict[str, str]] = {
    "I": {"actionability": "immutable", "direction": "any"},
    "M": {"actionability": "mutable", "direction": "any"},
    "A": {"actionability": "actionable", "direction": "any"},
    "A+": {"actionability": "actionable", "direction": "increase"},
    "A-": {"actionability": "actionable", "direction": "decrease"},
}

# The same marks in the words of a card.
_MEANING = {"I": "fixed", "M": "follows", "A": "either way", "A+": "only up", "A-": "only down"}


@public
@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a table comes from and under which terms; `url` is the page to start from."""

    origin: str
    citation: str
    terms: str
    url: str


@public
@dataclass(frozen=True)
class Step:
    """One thing that was done to the raw rows; `rows` is how many are left after it."""

    what: str
    rows: int


@public
@dataclass(frozen=True)
class Acts:
    """Who may change what, as one source says.

    marks: feature -> 'I' immutable, 'M' mutable, 'A' actionable, 'A+' and 'A-' in one direction only.
    rules: conditions that belong to this reading, in the grammar of `wayforward.rules`. least: feature -> the least
    change that is worth an effort.
    """

    source: str
    marks: Mapping[str, str]
    rules: tuple[str, ...] = ()
    least: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def except_for(
        source: str, features: Iterable[Feature], immutable: Iterable[str], mutable: Iterable[str] = ()
    ) -> Acts:
        """The usual set of a paper: a few features are fixed, everything else moves either way."""
        fixed, follows = set(immutable), set(mutable)
        return Acts(
            source,
            {f.name: "I" if f.name in fixed else "M" if f.name in follows else "A" for f in features},
        )

    def but(self, source: str, marks: Mapping[str, str]) -> Acts:
        """The same set with a few features read differently."""
        return Acts(source, {**self.marks, **marks}, self.rules)

    def apply(self, schema: Schema) -> Schema:
        """The schema with this set's actionability, directions, least changes and rules in place of its own."""
        marks = {
            name: {**_MARKS[self.marks[name]], "least_change": self.least.get(name)} for name in schema.names
        }
        return Schema(schema.revise(marks).features, self.rules)


@public
@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """People, their labels and what is known about both.

    x: (n, d) in feature units, level indices for levels, NaN where missing. y: (n,) the label; in every
    classification set 1 is the favourable label, whatever the raw file says (`notes` name the raw value).
    variant: the choices that made this copy. steps: what was done to the raw rows, with the rows left.
    acts: the actionability sets, by name; `actionability` is the one in the schema.
    fold: (n,) int, the split that the source published (0 is training), or None.
    graph: (cause, effect) pairs that the literature uses, or empty. extra: arrays with one row a person.
    world_of: schema -> the causal world that the rows were drawn from, or None where nobody knows it.
    """

    name: str
    title: str
    variant: tuple[str, ...]
    actionability: str
    schema: Schema
    x: np.ndarray
    y: np.ndarray
    label: str
    label_text: Mapping[int, str]
    source: Source
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    dropped: Mapping[str, str]
    acts: Mapping[str, Acts]
    task: Task = "classification"
    favourable: int | tuple[float, float] = 1
    fold: np.ndarray | None = None
    fold_names: tuple[str, ...] = ()
    graph: tuple[tuple[str, str], ...] = ()
    extra: Mapping[str, np.ndarray] = field(default_factory=dict)
    world_of: Callable[[Schema], World] | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n(self) -> int:
        """Number of people."""
        return len(self.y)

    @property
    def d(self) -> int:
        """Number of features."""
        return self.schema.d

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the features along which groups are compared."""
        return self.schema.sensitive

    @property
    def is_favourable(self) -> np.ndarray:
        """(n,) bool: the label is the one a person wants."""
        if isinstance(self.favourable, tuple):
            low, high = self.favourable
            return np.asarray((self.y > low) & (self.y <= high))
        return np.asarray(self.y == self.favourable)

    @cached_property
    def frame(self) -> Any:
        """The features as a table (pandas where installed, else polars or pyarrow), without the label."""
        return self.schema.decode(self.x)

    def table(self, like: Any = None) -> Any:
        """The features and the label as one table; `like` names a library, None takes the first installed."""
        import narwhals.stable.v2 as nw

        frame = nw.from_native(self.schema.decode(self.x, like), eager_only=True)
        label = nw.new_series(self.label, self.y, backend=frame.implementation)
        return frame.with_columns(label).to_native()

    @property
    def world(self) -> World | None:
        """The causal world the rows were drawn from, bound to the schema; None where nobody knows it."""
        return None if self.world_of is None else self.world_of(self.schema)

    def take(self, rows: np.ndarray) -> Dataset:
        """Some of the people: row indices or a (n,) mask."""
        rows = np.asarray(rows)
        return replace(
            self,
            x=self.x[rows],
            y=self.y[rows],
            fold=None if self.fold is None else self.fold[rows],
            extra={name: value[rows] for name, value in self.extra.items()},
        )

    def split(self, test: float | Literal["published"] = 0.3, seed: int = 0) -> tuple[Dataset, Dataset]:
        """Train and test people, stratified by label, the same for the same seed; rows keep their order.

        test: the share of people held back, or 'published' for the split that the source ships.
        Raises: DataError for a share outside (0, 1), or where the source published no split.
        """
        if test == "published":
            if self.fold is None:
                raise DataError(
                    f"The source of '{self.name}' published no split. Use split(test=0.3, seed=0)."
                )
            return self.take(self.fold == 0), self.take(self.fold == self.fold.max())
        if isinstance(test, str) or not 0.0 < test < 1.0:
            raise DataError(
                f"split got test={test!r}. Give a share between 0 and 1, such as 0.3, or 'published'."
            )
        rng = generator(seed)
        held = np.zeros(self.n, dtype=bool)
        for group in (self.is_favourable, ~self.is_favourable):
            rows = np.flatnonzero(group)
            held[rng.permutation(rows)[: round(test * rows.size)]] = True
        if held.all() or not held.any():
            raise DataError(f"split(test={test}) of {self.n} people leaves one side empty. Use more people.")
        return self.take(~held), self.take(held)

    def with_actionability(self, name: str) -> Dataset:
        """The same people under another actionability set. Raises: DataError that lists the sets."""
        if name not in self.acts:
            raise DataError(
                f"'{self.name}' has no actionability set '{name}'. Known: {', '.join(sorted(self.acts))}."
            )
        return replace(self, schema=self.acts[name].apply(self.schema), actionability=name)

    def card(self) -> str:
        """The data card in markdown: source, terms, what was done to the rows, features, label, traps.

        It holds no person's row.
        """
        share = float(self.is_favourable.mean())
        base = self.acts["recommended"]
        chosen = f" (variant {'+'.join(self.variant)})" if self.variant else ""
        lines = [
            f"## {self.name}: {self.title}{chosen}",
            "",
            f"{self.n:,} people, {self.d} features; {share:.1%} have the favourable label.",
            "",
            f"- Source: {self.source.origin}",
            f"- Cite: {self.source.citation}",
            f"- Terms: {self.source.terms}",
            f"- Home: <{self.source.url}>",
        ]
        if self.task == "classification":
            words = "; ".join(f"{value}: {text}" for value, text in self.label_text.items())
            lines.append(f"- Label `{self.label}`: {words}. 1 is favourable.")
        else:
            low, high = self.favourable if isinstance(self.favourable, tuple) else (0.0, 0.0)
            lines.append(f"- Label `{self.label}`: a number; favourable above {low:g} up to {high:g}.")
        lines.append(f"- Sensitive: {', '.join(f'`{name}`' for name in self.sensitive)}")
        if self.fold is not None:
            sizes = ", ".join(
                f"{name} {int((self.fold == i).sum()):,}" for i, name in enumerate(self.fold_names)
            )
            lines.append(f"- Published split: {sizes}")
        if self.graph:
            lines.append(f"- Causal graph: {', '.join(f'{a} -> {b}' for a, b in self.graph)}")
        lines += ["", "What was done to the rows:", ""]
        before = self.steps[0].rows
        for step in self.steps:
            lost = f" ({step.rows - before:+,})" if step.rows != before else ""
            lines.append(f"1. {step.what}: {step.rows:,} rows{lost}")
            before = step.rows
        lines += ["", "Choices and traps:", "", *(f"- {note}" for note in self.notes)]
        lines += [f"- Dropped `{name}`: {why}." for name, why in self.dropped.items()]
        lines += ["", f"Features (actionability set '{self.actionability}'):", ""]
        rows = []
        for feature in self.schema.features:
            mark = self.acts[self.actionability].marks[feature.name]
            gaps = "; may be missing" if feature.missing else ""
            rows.append(
                (
                    f"`{feature.name}`",
                    feature.text_label,
                    feature.kind,
                    _range(feature) + gaps,
                    _MEANING[mark],
                )
            )
        lines += _table(("feature", "label", "kind", "values", "may change"), rows)
        for rule in self.schema.rules:
            lines += ["", f"Rule: `{rule}`"]
        lines += ["", "Actionability sets, and where they differ from 'recommended':", ""]
        for name, acts in self.acts.items():
            differs = "" if name == "recommended" else f" Differs: {_differences(acts, base)}."
            lines.append(f"- `{name}`: {acts.source}{differs}")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        chosen = "+".join((*self.variant, self.actionability))
        return f"Dataset({self.name}: {self.n:,} people, {self.d} features, {chosen})"


@public
@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is known about a data set before it is read.

    variants: word -> what it changes; `exclusive` groups of words that cannot be combined.
    acts: names of the actionability sets. files: 'folder/file' that the loader reads -> what is known of it.
    needs_files: False where the default form is drawn and only variants read files.
    """

    name: str
    title: str
    rows: int
    favourable: str
    sensitive: tuple[str, ...]
    source: Source
    acts: tuple[str, ...]
    variants: Mapping[str, str] = field(default_factory=dict)
    exclusive: tuple[tuple[str, ...], ...] = ()
    files: Mapping[str, Known] = field(default_factory=dict)
    needs_files: bool = True


@public
def made(
    entry: Entry,
    *,
    chosen: frozenset[str],
    features: tuple[Feature, ...],
    columns: Mapping[str, Any],
    y: np.ndarray,
    acts: Mapping[str, Acts],
    **more: Any,
) -> Dataset:
    """Put a data set together from its columns; every value is checked against the schema on the way."""
    schema = acts["recommended"].apply(Schema(features))
    x = schema.encode(columns, what=entry.name)
    return Dataset(
        name=entry.name,
        title=entry.title,
        variant=tuple(word for word in entry.variants if word in chosen),
        actionability="recommended",
        schema=schema,
        x=x,
        y=y,
        acts=dict(acts),
        source=entry.source,
        **more,
    )


def _range(feature: Feature) -> str:
    if feature.has_levels:
        shown = [feature.level_text(i) for i in range(min(feature.n_levels, 6))]
        more = f", ... ({feature.n_levels} levels)" if feature.n_levels > 6 else ""
        return ("; ".join(shown) + more).replace("|", "/")
    return f"{feature.low:,.10g} to {feature.high:,.10g} {feature.unit}".rstrip()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _differences(acts: Acts, base: Acts) -> str:
    changed = [f"`{name}` {_MEANING[mark]}" for name, mark in acts.marks.items() if base.marks[name] != mark]
    return "; ".join(changed) or "the same features"
