"""What people cannot change, how far they can go, and what is harder for them: hard limits, soft weights.

A frozen feature is never acted on, but may move as a consequence of other actions. A limit binds wherever a
value changes, by an action or as a consequence; nobody has to act because they stand outside. Soft weights
make a feature dearer in the problem's cost. `wayforward.preferences.sampling` draws preferences for experiments.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wayforward.errors import (
    FileFormatError,
    PreferencesError,
    flags_in,
    is_integer,
    is_whole,
    names_in,
    no_person,
    numbers_in,
    require_kind,
    shown,
)
from wayforward.plain_files import read_json, write_text
from wayforward.preferences.reading import (
    WISH_ABOUT,
    are_orders,
    cells_of,
    check_ranks,
    feature_index,
    gather_wishes,
    named_features,
    people_numbers,
    read_answers,
    read_orders,
    split_levels,
    stored_people,
    stored_rows,
    table_rows,
    too_sparse,
    typed_number,
)
from wayforward.preferences.scores import Profile, check_scores, score_weights
from wayforward.public import public
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema

Who: TypeAlias = int | Sequence[int] | Sequence[bool] | npt.NDArray[Any] | None
Bound: TypeAlias = float | int | str | bool | npt.ArrayLike | None

_FORMAT, _VERSION = "wayforward/preferences", 1


@public
@dataclass(frozen=True, eq=False)
class Preferences:
    """Limits and weights of n people over the d features of a schema. It checks itself and never changes.

    frozen (n, d) bool: the person cannot act on it. low, high (n, d): the least and the greatest value that
    it can change to, feature units; infinite where there is no limit. weight (n, d) above 0: 2 is twice as
    hard. levels: for a feature with levels, by position, the levels that they can take, (n, L) bool;
    absent: all. max_changes (n,): how many features they will change at most; d for no limit. score (n, d):
    the elicited actionability scores, 1 for the easiest to `score_levels` for the hardest, one more for
    "cannot", 0 where the schema lets nobody act, NaN where nobody asked; None if there are none. months (n,): in how
    many months the person wants to be done, by the pace and the delay of the schema; inf for no hurry. refused: acts of
    an `ActModel` that they will not do, by name, (n,) bool; methods of single changes know no acts.

    Example: ``Preferences.none(schema, n).freeze("age").limit("pay", high="+10%", x=x).weigh(savings=3)``.
    Raises: PreferencesError that names the feature, the person's row, the value and the next step.
    """

    schema: Schema
    frozen: Mask
    low: Floats
    high: Floats
    weight: Floats
    levels: Mapping[int, Mask] = field(default_factory=dict)
    max_changes: npt.NDArray[Any] | None = None
    score: Floats | None = None
    score_levels: int | None = None
    months: npt.NDArray[Any] | None = None
    refused: Mapping[str, Mask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        d = self.schema.d
        frozen = np.array(flags_in(self.frozen, "frozen", PreferencesError))
        n = len(frozen) if frozen.ndim else 0
        most = np.full(n, d) if self.max_changes is None else _counted(self.max_changes)
        arrays: dict[str, npt.NDArray[Any]] = {"frozen": frozen} | {
            name: np.array(numbers_in(getattr(self, name), name, PreferencesError))
            for name in ("low", "high", "weight")
        }
        if self.score_levels is not None:
            whole = is_integer(self.score_levels)
            if not whole or self.score_levels < 1:
                raise PreferencesError(
                    f"score_levels={shown(self.score_levels)} is no number of levels. Give 1 or more."
                )
            object.__setattr__(self, "score_levels", int(self.score_levels))
        if self.score is not None:
            arrays["score"] = np.array(numbers_in(self.score, "score", PreferencesError))
        for name, array in arrays.items():
            if array.shape != (n, d):
                raise PreferencesError(
                    f"Preferences have {name} of shape {array.shape}; for {n} people and the {d} features "
                    f"of the schema it must be ({n}, {d})."
                )
        if most.shape != (n,):
            raise PreferencesError(
                f"max_changes has shape {most.shape}. Give one whole number for each of {n} people."
            )
        time = (
            np.full(n, np.inf)
            if self.months is None
            else np.array(numbers_in(self.months, "months", PreferencesError))
        )
        if time.shape != (n,):
            raise PreferencesError(f"months has shape {time.shape}. Give one number for each of {n} people.")
        self._check(arrays, most)
        for i in np.flatnonzero(~(time >= 0))[:1]:
            raise PreferencesError(f"months is {time[i]:g} for person {i}. Give a number of at least 0.")
        levels = {int(j): self._checked_levels(j, ok, n) for j, ok in self.levels.items()}
        refused = {
            str(act): np.array(flags_in(will_not, f"refused of '{act}'", PreferencesError))
            for act, will_not in self.refused.items()
        }
        for act, will_not in refused.items():
            if will_not.shape != (n,):
                raise PreferencesError(
                    f"The act '{act}' is refused with shape {will_not.shape}. Give one bool for each of {n} people."
                )
        arrays["max_changes"] = np.minimum(most, d).astype(np.int64)
        arrays["months"] = time
        for name, array in arrays.items():
            object.__setattr__(self, name, array)
        for array in (*arrays.values(), *levels.values(), *refused.values()):
            array.setflags(write=False)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "refused", dict(sorted(refused.items())))

    def _check(self, arrays: Mapping[str, npt.NDArray[Any]], most: npt.NDArray[Any]) -> None:
        names = self.schema.names
        weight, low, high = arrays["weight"], arrays["low"], arrays["high"]
        for i, j in np.argwhere(~(np.isfinite(weight) & (weight > 0)))[:1]:
            raise PreferencesError(
                f"'{names[j]}' has weight {weight[i, j]:g} for person {i}. Give a finite number above 0; "
                f"freeze('{names[j]}') says that they cannot change it."
            )
        for i, j in np.argwhere(np.isnan(low) | np.isnan(high) | (low == np.inf) | (high == -np.inf))[:1]:
            raise PreferencesError(
                f"'{names[j]}' has the limits {low[i, j]:g} and {high[i, j]:g} for person {i}. Use -inf "
                "and inf where there is no limit."
            )
        for i, j in np.argwhere(low > high)[:1]:
            raise PreferencesError(
                f"'{names[j]}' has low={low[i, j]:g} above high={high[i, j]:g} for person {i}. Swap the "
                f"two; freeze('{names[j]}') says that they cannot change it."
            )
        wrong = np.flatnonzero(~((most >= 0) & (most == np.floor(most))))
        if wrong.size:
            raise PreferencesError(
                f"max_changes is {most[wrong[0]]} for person {wrong[0]}. Give a whole number of at least 0."
            )
        if "score" in arrays:
            top = math.inf if self.score_levels is None else self.score_levels + 1
            score = arrays["score"]
            for i, j in np.argwhere((score < 0) | (score > top) | np.isinf(score))[:1]:
                raise PreferencesError(
                    f"'{names[j]}' has score {score[i, j]:g} for person {i}. Give 1 (easiest) to "
                    f"{top - 1:g} (hardest), {top:g} for 'cannot', or NaN where nobody asked."
                )

    def _checked_levels(self, j: int, ok: Mask, n: int) -> Mask:
        if not is_integer(j):
            raise PreferencesError(
                f"levels are given for {shown(j)}. Give the position of a feature, from 0."
            )
        if not 0 <= j < self.schema.d or not self.schema.features[j].has_levels:
            seen = f"'{self.schema.names[j]}'" if 0 <= j < self.schema.d else f"position {j}"
            raise PreferencesError(
                f"levels are given for {seen}, which has none. Use low and high for a number."
            )
        feature = self.schema.features[j]
        allowed = np.array(flags_in(ok, f"levels of '{feature.name}'", PreferencesError))
        if allowed.shape != (n, feature.n_levels):
            raise PreferencesError(
                f"'{feature.name}' has levels of shape {allowed.shape}; for {n} people and "
                f"{feature.n_levels} levels it must be ({n}, {feature.n_levels})."
            )
        return allowed

    # -- nouns ---------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of people."""
        return len(self.frozen)

    @property
    def d(self) -> int:
        """Number of features."""
        return self.schema.d

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Preferences(n={self.n}, d={self.d}, {self.describe()})"

    def describe(self) -> str:
        """How many wishes there are, in words; nobody's own wishes."""
        limits = int((np.isfinite(self.low) | np.isfinite(self.high)).sum())
        levels = sum(int((~ok).any(axis=1).sum()) for ok in self.levels.values())
        weights, few = int((self.weight != 1).sum()), int((self.most < self.d).sum())
        counts = ((int(self.frozen.sum()), "frozen"), (limits, "limited"), (levels, "with fewer levels"))
        words = [f"{count} {word}" for count, word in (*counts, (weights, "weighted")) if count]
        if few:
            words.append(f"{few} people with at most so many changes")
        if self.hurried:
            words.append(f"{int(np.isfinite(self.time).sum())} people with a deadline")
        if refused := int(sum(no.sum() for no in self.refused.values())):
            words.append(f"{refused} refused acts")
        return ", ".join(words) or "no wishes"

    @property
    def most(self) -> Ints:
        """(n,) how many features each person will change at most; the same as max_changes, never None."""
        assert self.max_changes is not None
        return self.max_changes

    @property
    def time(self) -> Floats:
        """(n,) in how many months each person wants to be done; the same as months, never None."""
        assert self.months is not None
        return self.months

    @property
    def hurried(self) -> bool:
        """True if somebody has a deadline."""
        return bool(np.isfinite(self.time).any())

    @property
    def any_wish(self) -> bool:
        """True if somebody has a limit or a weight."""
        return self.describe() != "no wishes"

    def level_ok(self, feature: int) -> Mask:
        """(n, L) bool: the levels that each person can take; `feature` is its position."""
        if feature in self.levels:
            return self.levels[feature]
        return np.ones((self.n, self.schema.features[feature].n_levels), dtype=np.bool_)

    # -- making --------------------------------------------------------------------------------------------

    @classmethod
    def none(cls, schema: Schema, n: int) -> Preferences:
        """No wishes: n people who can do whatever the schema lets anybody do. Raises: PreferencesError."""
        from wayforward.schema import Schema

        require_kind(schema, Schema, "schema", PreferencesError)
        if not is_whole(n):
            raise PreferencesError(f"n={shown(n)} is no number of people. Give a whole number of at least 0.")
        shape = (n, schema.d)
        return cls(
            schema, np.zeros(shape, np.bool_), np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape)
        )

    @classmethod
    def from_scores(
        cls,
        schema: Schema,
        scores: Any,
        levels: int,
        *,
        profile: Profile = "linear",
        w_min: float = 1.0,
        w_max: float = 10.0,
        gamma: float | None = None,
    ) -> Preferences:
        """From actionability scores: 1 the easiest, `levels` the hardest, `levels` + 1 "I cannot" (frozen).

        `scores` is (n, d), or (n, a) over the actionable features in order, or a table or mapping by name.
        A feature that is not there was not asked about: it stays free at the least weight. `gamma`
        overrides the profile's.

        Source: iCARMA, eqs. 3, 4 and 12 (see `score_weights`).
        """
        if isinstance(levels, bool) or levels != int(levels) or levels < 1:
            raise PreferencesError(
                f"A scale of {levels!r} levels is none. Give a whole number of at least 1."
            )
        top = int(levels)
        given, queried = read_answers(schema, scores, "scores")
        fixed = ~schema.actionable
        neutral = np.isnan(given) | (given == 0) | (given == top + 1)
        check_scores(schema, given, top, misplaced=fixed & ~neutral, scored=queried & ~fixed)
        score = np.where(fixed, 0.0, given)
        weight = score_weights(score, top, profile=profile, w_min=w_min, w_max=w_max, gamma=gamma)
        blank = cls.none(schema, len(score))
        return replace(blank, frozen=score == top + 1, weight=weight, score=score, score_levels=top)

    @classmethod
    def from_likert(
        cls,
        schema: Schema,
        answers: Any,
        levels: int = 5,
        *,
        profile: Profile = "linear",
        w_min: float = 1.0,
        w_max: float = 10.0,
        gamma: float | None = None,
    ) -> Preferences:
        """From a Likert scale of difficulty: 1 very easy ... `levels` very hard, one more for "cannot".

        Shapes and the other arguments as in `from_scores`.
        """
        return cls.from_scores(
            schema, answers, levels, profile=profile, w_min=w_min, w_max=w_max, gamma=gamma
        )

    @classmethod
    def from_rankings(
        cls,
        schema: Schema,
        ranks: Any,
        *,
        profile: Profile = "linear",
        w_min: float = 1.0,
        w_max: float = 10.0,
        gamma: float | None = None,
    ) -> Preferences:
        """From each person's ranking: 1 for what they would change first, no ties, no gaps.

        `ranks` holds numbers (shapes as in `from_scores`; NaN or one more than the number of actionable
        features for "cannot"), or one list of names a person, easiest first, where a feature that is not
        named is one they cannot change. Weights use the number of all actionable features as the scale,
        also for a person who ranks fewer.
        """
        top = int(schema.actionable.sum())
        if are_orders(ranks):
            given, queried = (
                read_orders(schema, ranks, top),
                np.broadcast_to(schema.actionable, (len(ranks), schema.d)),
            )
        else:
            given, queried = read_answers(schema, ranks, "ranks")
            given = np.where(queried & np.isnan(given) & schema.actionable, top + 1.0, given)
        ranked = queried & schema.actionable & (given != top + 1)
        many = ranked.sum(axis=1)
        ordered = np.sort(np.where(ranked, given, np.inf), axis=1)
        expected = np.where(np.arange(schema.d) < many[:, None], np.arange(schema.d) + 1.0, np.inf)
        for i in np.flatnonzero((ordered != expected).any(axis=1))[:1]:
            values = given[i][ranked[i]]
            for j in np.flatnonzero(ranked[i]):
                if not 1 <= given[i, j] <= many[i] or given[i, j] % 1 or (values == given[i, j]).sum() > 1:
                    raise PreferencesError(
                        f"'{schema.names[j]}' has rank {given[i, j]:g} for person {i}, who ranks {many[i]} "
                        f"features. Use each whole number from 1 to {many[i]} once, and {top + 1} for "
                        "'cannot'."
                    )
        columns = {
            name: given[:, j] for j, name in enumerate(schema.names) if queried[:, j].any() or not len(given)
        }
        return cls.from_scores(schema, columns, top, profile=profile, w_min=w_min, w_max=w_max, gamma=gamma)

    @classmethod
    def from_yes_no(cls, schema: Schema, can: Any) -> Preferences:
        """From "can you change it?": True or 1 for yes, False or 0 for no (frozen); all weights are 1.

        Shapes as in `from_scores`.
        """
        given, queried = read_answers(schema, can, "answers", yes_no=True)
        for i, j in np.argwhere(named_features(schema, can) & ~schema.actionable & (given == 1))[:1]:
            raise PreferencesError(
                f"'{schema.names[j]}' has the answer yes for person {i}, but it is "
                f"{schema.features[j].actionability} in the schema. Leave it out, or revise its actionability."
            )
        for i, j in np.argwhere(queried & schema.actionable & ~np.isin(given, (0.0, 1.0)))[:1]:
            raise PreferencesError(
                f"'{schema.names[j]}' has the answer {given[i, j]:g} for person {i}. Give True or False."
            )
        columns = {
            name: np.where(given[:, j] == 1, 1.0, 2.0)
            for j, name in enumerate(schema.names)
            if queried[:, j].any() and schema.actionable[j]
        }
        if not columns:
            return cls.none(schema, len(given))
        return cls.from_scores(schema, columns, 1, profile="constant")

    # -- adding wishes -------------------------------------------------------------------------------------

    def freeze(self, *names: str, who: Who = None) -> Preferences:
        """These features cannot be acted on, by the people `who` (rows or a mask; None: everybody)."""
        frozen, rows = self.frozen.copy(), self._rows(who)
        for name in names:
            frozen[rows, self._at(name)] = True
        return replace(self, frozen=frozen)

    def limit(
        self, name: str, *, low: Bound = None, high: Bound = None, x: Any = None, who: Who = None
    ) -> Preferences:
        """The least and the greatest value that `name` can change to; of two limits the tighter one holds.

        A limit is a number (or one a person), a level of an ordinal feature, or text relative to where the
        person stands in `x`, a table or (n, d): "+500", "-500", "now-500" (the same), "+10%" or "+10% of range".

        A plain percentage is of the size of what the person has, so "+10%" is always upwards: from 2,000 to
        2,200, and from -20 to -18. Where zero stands for nothing in particular (a centred income) it means
        little, and from zero it leads nowhere: there, say "+10% of range", a share of the schema's range.
        """
        j, rows = self._at(name), self._rows(who)
        self._can_move(j, "limit")
        if not self.schema.features[j].ordered:
            raise PreferencesError(
                f"'{name}' is categorical, so it has no low or high. Use allow('{name}', ...) or "
                f"forbid('{name}', ...)."
            )
        new_low, new_high = self.low.copy(), self.high.copy()
        with np.errstate(invalid="ignore"):  # what is NaN is refused below, by name
            if low is not None:
                np.maximum.at(new_low[:, j], rows, self._bound(j, low, x, rows))
            if high is not None:
                np.minimum.at(new_high[:, j], rows, self._bound(j, high, x, rows))
        return replace(self, low=new_low, high=new_high)

    def allow(self, name: str, *levels: Any, who: Who = None) -> Preferences:
        """Only these levels of `name` can be chosen (and the one that the person has)."""
        return self._with_levels(name, levels, who, keep=True)

    def forbid(self, name: str, *levels: Any, who: Who = None) -> Preferences:
        """These levels of `name` cannot be chosen."""
        return self._with_levels(name, levels, who, keep=False)

    def weigh(
        self,
        weights: Mapping[str, npt.ArrayLike] | None = None,
        /,
        *,
        who: Who = None,
        **more: npt.ArrayLike,
    ) -> Preferences:
        """How hard a change is: 1 as for anybody, 2 twice as hard; a number or one a person.

        Example: ``preferences.weigh(income=3)``; ``preferences.weigh({"hours-per-week": 2}, who=[0, 4])``.
        """
        weight, rows = self.weight.copy(), self._rows(who)
        for name, value in {**(weights or {}), **more}.items():
            j, given = self._at(name), _as_numbers(value, f"'{name}' has weight")
            if not self.schema.actionable[j] and (given != 1).any():
                raise PreferencesError(
                    f"'{name}' has weight {given[given != 1].flat[0]:g}, but it is "
                    f"{self.schema.features[j].actionability} in the schema, so nobody acts on it. Leave it "
                    "out, or revise its actionability."
                )
            if given.ndim and given.shape != (len(rows),):
                raise PreferencesError(
                    f"'{name}' has weights of shape {given.shape}. Give a number, or one for each of "
                    f"{len(rows)} people."
                )
            weight[rows, j] = given
        return replace(self, weight=weight)

    def at_most(self, changes: npt.ArrayLike, who: Who = None) -> Preferences:
        """Nobody of `who` changes more than so many features; of two numbers the later holds."""
        most = self.most.astype(np.float64)
        rows = self._rows(who)
        most[rows] = _as_numbers(changes, "max_changes is", len(rows))
        return replace(self, max_changes=most)

    def within(self, months: npt.ArrayLike, who: Who = None) -> Preferences:
        """They want to be done in so many months (a number or one a person): what takes longer is out of reach.

        How long a change takes is said by the pace and the delay of its feature in the schema. Acts run side by side,
        and what follows from them waits for them. Raises: PreferencesError where the schema says nothing about time.
        """
        if not self.schema.timed:
            raise PreferencesError(
                "There is a deadline, and no feature of the schema says how long its change takes. Give some of them "
                "pace (units a month) or delay (months): schema.revise(savings={'pace': 300})."
            )
        time = self.time.copy()
        rows = self._rows(who)
        time[rows] = _as_numbers(months, "months is", len(rows))
        return replace(self, months=time)

    def refuse(self, *acts: str, who: Who = None) -> Preferences:
        """They will not do these acts, by the names that the acts have in a method's `ActModel`."""
        refused, rows = dict(self.refused), self._rows(who)
        for act in names_in(acts, "acts", PreferencesError):
            will_not = np.array(refused.get(act, np.zeros(self.n, dtype=np.bool_)))
            will_not[rows] = True
            refused[act] = will_not
        return replace(self, refused=refused)

    # -- people --------------------------------------------------------------------------------------------

    def as_rows(self) -> Floats:
        """(n, w) everything that anybody wishes, a row a person: people with equal rows wish the same."""
        parts = [self.frozen, self.low, self.high, self.weight, np.asarray(self.max_changes)[:, None]]
        parts += [self.time[:, None]]
        parts += [ok for _, ok in sorted(self.levels.items())]
        parts += [] if self.score is None else [self.score]
        parts += [no[:, None] for no in self.refused.values()]
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts], axis=1)

    def take(self, rows: npt.ArrayLike) -> Preferences:
        """The preferences of some people: row numbers (repeats allowed) or a mask."""
        index = self._rows(np.asanyarray(rows))
        return replace(
            self,
            frozen=self.frozen[index],
            low=self.low[index],
            high=self.high[index],
            weight=self.weight[index],
            levels={j: ok[index] for j, ok in self.levels.items()},
            max_changes=self.most[index],
            months=self.time[index],
            score=None if self.score is None else self.score[index],
            refused={act: no[index] for act, no in self.refused.items()},
        )

    @staticmethod
    def concat(parts: Iterable[Preferences]) -> Preferences:
        """Several groups of people as one, in order; all of the same schema."""
        require_kind(parts, Iterable, "parts", PreferencesError)
        all_parts = list(parts)
        for part in all_parts:
            require_kind(part, Preferences, "a part", PreferencesError)
        if not all_parts:
            raise PreferencesError(
                "There is nothing to join: the list of preferences is empty. Give at least one."
            )
        first = all_parts[0]
        for part in all_parts[1:]:
            part.schema.require_read_alike(
                first.schema,
                "The preferences follow different schemas",
                "Join those of one schema.",
                PreferencesError,
            )
        stacked = {
            name: np.concatenate([getattr(part, name) for part in all_parts])
            for name in ("frozen", "low", "high", "weight")
        }
        scored = any(part.score is not None for part in all_parts)
        scores = [
            np.full((part.n, part.d), np.nan) if part.score is None else part.score for part in all_parts
        ]
        tops = {part.score_levels for part in all_parts if part.score is not None}
        return Preferences(
            first.schema,
            **stacked,
            levels={
                j: np.concatenate([part.level_ok(j) for part in all_parts])
                for j in sorted({j for part in all_parts for j in part.levels})
            },
            max_changes=np.concatenate([part.most for part in all_parts]),
            months=np.concatenate([part.time for part in all_parts]),
            score=np.concatenate(scores) if scored else None,
            score_levels=tops.pop() if len(tops) == 1 else None,
            refused={
                act: np.concatenate(
                    [part.refused.get(act, np.zeros(part.n, dtype=np.bool_)) for part in all_parts]
                )
                for act in {act for part in all_parts for act in part.refused}
            },
        )

    # -- files ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: only the wishes, level names instead of positions; where many people have few, a sign
        for each of them, since a file could name any number of people otherwise."""
        columns: dict[str, Any] = {}
        for j, feature in enumerate(self.schema.features):
            entry: dict[str, Any] = {}
            if self.frozen[:, j].any():
                entry["frozen"] = np.flatnonzero(self.frozen[:, j]).tolist()
            for name, default in (("low", -np.inf), ("high", np.inf), ("weight", 1.0)):
                rows = np.flatnonzero(getattr(self, name)[:, j] != default)
                if rows.size:
                    entry[name] = [rows.tolist(), getattr(self, name)[rows, j].tolist()]
            if j in self.levels:
                few = np.flatnonzero(~self.levels[j].all(axis=1))
                chosen = [[feature.levels[k] for k in np.flatnonzero(self.levels[j][i])] for i in few]
                entry["levels"] = [few.tolist(), chosen]
            if self.score is not None:
                rows = np.flatnonzero(~np.isnan(self.score[:, j]))
                entry["score"] = [rows.tolist(), self.score[rows, j].tolist()]
            if entry:
                columns[feature.name] = entry
        stored = {"format": _FORMAT, "version": _VERSION, "n": self.n, "features": columns}
        few = np.flatnonzero(self.most < self.d)
        if few.size:
            stored["max_changes"] = [few.tolist(), self.most[few].tolist()]
        soon = np.flatnonzero(np.isfinite(self.time))
        if soon.size:
            stored["months"] = [soon.tolist(), self.time[soon].tolist()]
        refused = {act: np.flatnonzero(no).tolist() for act, no in self.refused.items() if no.any()}
        if refused:
            stored["refused"] = refused
        if self.score is not None:
            stored["scored"] = True
            stored["score_levels"] = self.score_levels
        if too_sparse(self.schema, stored):
            stored["crowd"] = "." * self.n
        return stored

    @classmethod
    def from_dict(cls, schema: Schema, stored: Mapping[str, Any], people: int | None = None) -> Preferences:
        """The reverse of `to_dict`; features are found by name. people: of how many the wishes must be.

        Raises: FileFormatError if it is not such a dictionary, or names far more people than it has wishes for;
        PreferencesError if it does not fit the schema or the people.
        """
        if not isinstance(stored, Mapping) or stored.get("format") != _FORMAT:
            raise FileFormatError(
                f"These are not stored preferences: 'format' is not {_FORMAT!r}. Save them with save()."
            )
        if stored.get("version") != _VERSION:
            raise FileFormatError(
                f"The preferences have version {stored.get('version')!r}; this release reads {_VERSION}. "
                "Update wayforward."
            )
        try:
            n = stored_people(schema, stored, people)
            blank = cls.none(schema, n)
            frozen = blank.frozen.copy()
            grids = {name: getattr(blank, name).copy() for name in ("low", "high", "weight")}
            score = np.full((blank.n, schema.d), np.nan)
            levels: dict[int, Mask] = {}
            for name, entry in stored["features"].items():
                j = blank._at(name)
                frozen[stored_rows(entry.get("frozen", []), n), j] = True
                for key, grid in (*grids.items(), ("score", score)):
                    if key in entry:
                        rows, values = entry[key]
                        grid[stored_rows(rows, n), j] = values
                if "levels" in entry:
                    levels[j] = np.ones((blank.n, schema.features[j].n_levels), dtype=np.bool_)
                    rows, chosen_levels = entry["levels"]
                    for row, chosen in zip(stored_rows(rows, n), chosen_levels, strict=True):
                        levels[j][row] = False
                        levels[j][row, [blank._level(j, level) for level in chosen]] = True
            most = blank.most.copy()
            if "max_changes" in stored:
                rows, values = stored["max_changes"]
                most = most.astype(np.float64)  # a whole number may be beyond int64
                most[stored_rows(rows, n)] = values
            time = blank.time.copy()
            if "months" in stored:
                rows, values = stored["months"]
                time[stored_rows(rows, n)] = values
            refused = {}
            for act, rows in stored.get("refused", {}).items():
                refused[act] = np.zeros(n, dtype=np.bool_)
                refused[act][stored_rows(rows, n)] = True
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise FileFormatError(
                f"The stored preferences are broken ({type(error).__name__}: {error}). Save them again "
                "with save()."
            ) from error
        return cls(
            schema,
            frozen,
            **grids,
            levels=levels,
            max_changes=most,
            months=time,
            score=score if stored.get("scored") else None,
            score_levels=stored.get("score_levels"),
            refused=refused,
        )

    def save(self, path: str | Path) -> None:
        """Write the wishes as JSON, for replay with `load`."""
        write_text(path, json.dumps(self.to_dict(), allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path, schema: Schema, people: int | None = None) -> Preferences:
        """Read what `save` wrote. people: as of `from_dict`. Raises: FileFormatError, PreferencesError."""
        try:
            stored = read_json(path)
        except (OSError, ValueError) as error:
            raise FileFormatError(
                f"'{path}' cannot be read as preferences ({error}). Give a file from save()."
            ) from error
        return cls.from_dict(schema, stored, people)

    @classmethod
    def from_table(
        cls,
        schema: Schema,
        table: Any,
        n: int | None = None,
        *,
        people: Sequence[Any] | None = None,
        x: Floats | None = None,
        levels: int = 5,
        profile: Profile = "linear",
        w_min: float = 1.0,
        w_max: float = 10.0,
    ) -> Preferences:
        """From a tidy table or a CSV file, one wish a row.

        Columns `person` (row number from 0, or an entry of `people`) and `feature`, and any of: `can` (yes or
        no), `low`, `high` (as in `limit`), `allow`, `forbid` (levels, with | between them), `weight`, `score`
        (on a scale of `levels`), `rank`, `max_changes` and `within` (months; both with an empty feature). Empty
        cells say nothing. A person or a feature without a row has no wish; a person who ranks some features and
        not others has not been asked about the others. In a file a negative limit is a number; write "now-500"
        for 500 below where the person stands. `n` is the number of people; None: as many as `people`, or as the
        largest row number says.
        """
        rows = table_rows(table)
        number = people_numbers(rows, people)
        size = n if n is not None else len(people) if people is not None else max(number, default=-1) + 1
        out = cls.none(schema, size)
        gathered = gather_wishes(schema, rows, number, size)
        scores = {key: np.full((size, schema.d), np.nan) for key in ("score", "rank")}
        for (cell, name, text), (who, values) in gathered.items():
            if cell in scores:
                scores[cell][who, out._at(name)] = values
            elif cell == "max_changes":
                out = out.at_most(values, who=who)
            elif cell == "within":
                out = out.within(values, who=who)
            elif cell == "can":
                out = out.freeze(name, who=[i for i, can in zip(who, values, strict=True) if not can])
            elif cell == "weight":
                out = out.weigh({name: values}, who=who)
            elif cell in ("low", "high"):
                bound: Any = text or np.asarray(values, dtype=np.float64)
                out = out.limit(
                    name,
                    low=bound if cell == "low" else None,
                    high=bound if cell == "high" else None,
                    x=x,
                    who=who,
                )
            else:
                out = out._with_levels(
                    name, tuple(split_levels(text or values[0])), who, keep=cell == "allow"
                )
        given = {key for key, grid in scores.items() if not np.isnan(grid).all()}
        if len(given) == 2:
            raise PreferencesError("The wishes have both 'score' and 'rank'. Give one of the two columns.")
        top = int(schema.actionable.sum()) if "rank" in given else levels
        check_ranks(schema, scores["rank"], top)
        for key in given:
            out = out._scored(scores[key], top, profile, w_min, w_max)
        return out

    # -- private -------------------------------------------------------------------------------------------

    def _scored(self, score: Floats, top: int, profile: Profile, w_min: float, w_max: float) -> Preferences:
        """Lay scores with gaps (NaN: not asked) over the other wishes; weights given outright stay."""
        scored = ~np.isnan(score)
        check_scores(self.schema, score, top, misplaced=scored & ~self.schema.actionable, scored=scored)
        weight = score_weights(score, top, profile=profile, w_min=w_min, w_max=w_max)
        return replace(
            self,
            frozen=self.frozen | (score == top + 1),
            weight=np.where(np.isnan(score) | (self.weight != 1), self.weight, weight),
            score=np.where(self.schema.actionable, score, 0.0),
            score_levels=top,
        )

    def _at(self, name: str) -> int:
        return feature_index(self.schema, name, WISH_ABOUT)

    def _can_move(self, j: int, what: str) -> None:
        """Raise if no value of the feature ever changes, so that a wish about where to means nothing."""
        if self.schema.immutable[j]:
            raise PreferencesError(
                f"'{self.schema.names[j]}' has a wish ({what}), but it is immutable in the schema, so it never "
                "changes. Leave the wish out, or revise its actionability."
            )

    def _rows(self, who: Who) -> Ints:
        if who is None:
            return np.arange(self.n)
        if np.ma.is_masked(who):
            raise PreferencesError(
                f"who, a {type(who).__name__}, holds masked people. Give the numbers of their rows, or True and "
                "False for everybody."
            )
        rows = np.atleast_1d(np.asarray(who))
        if rows.dtype == np.bool_:
            if rows.shape != (self.n,):
                raise PreferencesError(
                    f"The mask of people has shape {rows.shape}, and there are {self.n} people. Give "
                    f"({self.n},)."
                )
            return np.flatnonzero(rows)
        if rows.size == 0:
            return np.empty(0, dtype=np.int64)
        if rows.dtype.kind not in "iu" or rows.ndim != 1:
            raise PreferencesError(
                f"People are row numbers or a mask; got an array of {rows.dtype}, {rows.shape}."
            )
        if rows.min() < 0 or rows.max() >= self.n:
            odd = rows.min() if rows.min() < 0 else rows.max()
            raise PreferencesError(no_person(int(odd), self.n))
        return rows.astype(np.int64)

    def _bound(self, j: int, bound: Any, x: Any, rows: Ints) -> Floats:
        feature = self.schema.features[j]
        if feature.has_levels:
            return np.array([float(self._level(j, one)) for one in np.atleast_1d(cells_of(bound))])
        if isinstance(bound, str):
            return self._relative(j, bound, x, rows)
        values = _as_numbers(bound, f"The limit of '{feature.name}' is")
        if values.ndim and values.shape != (len(rows),):
            raise PreferencesError(
                f"The limit of '{feature.name}' has shape {values.shape}. Give a number, or one for each "
                f"of {len(rows)}."
            )
        return np.broadcast_to(values, (len(rows),))

    def _relative(self, j: int, bound: str, x: Any, rows: Ints) -> Floats:
        feature = self.schema.features[j]
        text = bound.strip().replace("−", "-").replace(" ", "").removeprefix("now")
        of_range = text.endswith("%ofrange")
        text = text.removesuffix("ofrange") if of_range else text
        share = text.endswith("%")
        try:
            change = typed_number(text.removesuffix("%"))
        except ValueError:
            change = math.nan
        if not math.isfinite(change) or (text[:1] not in "+-"):
            raise PreferencesError(
                f"'{feature.name}' has the limit {bound!r}. Give a number, or text such as '+10%', '-500' or "
                "'+10% of range'."
            )
        if of_range and (feature.low is None or feature.high is None):
            raise PreferencesError(
                f"'{feature.name}' has the limit {bound!r}, and the schema gives it no range. Give it low and "
                "high in the schema, or a limit such as '+500'."
            )
        if x is None:
            raise PreferencesError(
                f"'{feature.name}' has the limit {bound!r}, relative to where people stand. Add x=x, the "
                "(n, d) people."
            )
        is_table = hasattr(x, "columns")
        current, odd = self.schema.read(x) if is_table else (numbers_in(x, "x", PreferencesError), {})
        if current.shape != (self.n, self.d):
            raise PreferencesError(
                f"x has shape {current.shape}; for these wishes it must be ({self.n}, {self.d})."
            )
        unread = np.isin(rows, list(odd))  # nobody is asked about them, so that any limit will do
        now = np.where(unread, np.nan_to_num(self.schema.low[j], neginf=0.0), current[rows, j])
        if np.isnan(now).any():
            person = rows[int(np.argmax(np.isnan(now)))]
            raise PreferencesError(
                f"'{feature.name}' is missing for person {person}, so the limit {bound!r} has nothing to "
                "start from. Give a number for them."
            )
        size = self.schema.span[j] if of_range else np.abs(now)
        return np.asarray(now + (size * change / 100 if share else change))

    def _level(self, j: int, level: Any) -> int:
        feature = self.schema.features[j]
        if isinstance(level, (str, int, float, bool, np.generic)) and level in feature.levels:
            return feature.levels.index(level)
        texts = [str(known) for known in feature.levels]
        if isinstance(level, str) and texts.count(level) == 1:
            return texts.index(level)
        near = difflib.get_close_matches(str(level), texts, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Its levels are {', '.join(texts[:12])}."
        raise PreferencesError(f"'{feature.name}' has no level {level!r}. {hint}")

    def _with_levels(self, name: str, chosen: tuple[Any, ...], who: Who, *, keep: bool) -> Preferences:
        j, rows = self._at(name), self._rows(who)
        self._can_move(j, "levels")
        if not self.schema.features[j].has_levels:
            raise PreferencesError(
                f"'{name}' is a number and has no levels. Use limit('{name}', low=..., high=...)."
            )
        if not chosen:
            raise PreferencesError(
                f"No level of '{name}' is given. Name some: {'allow' if keep else 'forbid'}('{name}', ...)."
            )
        mask = np.zeros(self.schema.features[j].n_levels, dtype=np.bool_)
        mask[[self._level(j, level) for level in chosen]] = True
        ok = self.level_ok(j).copy()
        ok[rows] &= mask if keep else ~mask
        return replace(self, levels={**self.levels, j: ok})


def _counted(most: Any) -> Floats:
    """Return numbers of changes; True is none."""
    if np.asanyarray(most).dtype.kind == "b":
        raise PreferencesError("max_changes holds True or False. Give one whole number for each person.")
    return np.array(numbers_in(most, "max_changes", PreferencesError))


def _as_numbers(value: Any, what: str, people: int | None = None) -> Floats:
    some = value if isinstance(value, (list, tuple)) else (value,)
    try:
        if any(isinstance(one, (bool, np.bool_)) for one in some) or np.asanyarray(value).dtype.kind == "b":
            raise TypeError  # True is no 1 here: whoever writes it means something else
        found = numbers_in(value, what, PreferencesError)
    except (TypeError, ValueError, OverflowError, PreferencesError):
        raise PreferencesError(
            f"{what} {shown(value, 60)}, which is not a number. Give a number, or one for each person."
        ) from None
    if people is not None and found.ndim and found.shape != (people,):
        raise PreferencesError(
            f"{what} of shape {found.shape}. Give a number, or one for each of {people} people."
        )
    return found
