"""The answer: up to k checked options for each of n people, and how each slot ended."""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.deadline import DEADLINE
from wayforward.errors import (
    DataError,
    FileFormatError,
    PreferencesError,
    ProblemError,
    WayforwardError,
    harmless,
    is_integer,
    is_one_of,
    is_whole,
    no_person,
    require,
    require_kind,
    require_switch,
    require_whole,
    shown,
)
from wayforward.lazy import cached_property, hook
from wayforward.plain_files import as_path, name_of, no_file, read_json, write_text, written
from wayforward.public import public
from wayforward.recourse_meta import require_meta
from wayforward.regions import Regions
from wayforward.schema import Origin, Schema, SchemaWarning, carried, decode_column, native_table
from wayforward.schema.notebook import small_table
from wayforward.schema.origin import find_own
from wayforward.shapes import Actions, Costs, Mask, People

if TYPE_CHECKING:
    from wayforward.preferences import Preferences

_FORMAT = "wayforward.recourse/1"
_HEADER = ("format", "schema", "method", "k", "meta", "preferences", "unchecked")
_MORE = ("regions",)  # of the header, only where there are any
_DIGESTED = (
    "x", "action", "after", "cost", "plain_cost", "chance", "score", "seconds", "score_before", "lasts", "months",
    "path", "bound",
)  # fmt: skip
_CHANGED = (
    "was changed after it was saved: its checksum is another. Use the file as it was saved, or ask again."
)
_PER_PERSON = (
    "x", "action", "after", "cost", "plain_cost", "chance", "score", "outcome", "seconds", "kind", "steps", "lasts",
    "known_margin", "reasons", "ended_by", "months", "bound",
)  # fmt: skip
_WHERE_KNOWN = ("chance", "lasts", "months", "known_margin", "bound")  # of options (n, k); NaN elsewhere
_TEXTS = ("kind", "steps")  # of options (n, k); '' where there is none
_OWN_TEXTS = ("reasons", "ended_by")  # of people (n,); '' where there is none
# of numbers of 0 or more, the greatest there is
_UP_TO = {
    "cost": np.inf, "plain_cost": np.inf, "seconds": np.inf, "months": np.inf, "chance": 1.0, "lasts": 1.0,
    "known_margin": 1.0,
}  # fmt: skip
_SLACK = 1e-9
PROVED_GAP = 1e-6  # an option that costs no more than this share above a bound is the cheapest: rounding
KINDS = ("cheapest", "fewest", "lasting")  # of options; see `Recourse.kind`
SAME = "SAME"  # in tables: the plan of a kind stands already as another kind
# what `Problem.check` says of each option
JUDGED = ("action", "after", "cost", "plain_cost", "score", "chance", "months")


class Outcome(Enum):
    """How one slot ended. Finding no way forward is an answer: it is returned, not raised."""

    FOUND = "This option was checked and reaches the decision you want."
    NONE_EXISTS = "No allowed change reaches the decision. This was proved."
    NOT_FOUND = "The search ended without an option; one may exist. Try another method."
    ACCEPTED = "The decision is already the one you want. Nothing needs to change."
    NOT_ASKED = "The model was not asked about this row. Its reason says why, and what to do."

    def __lt__(self, other: object) -> bool:
        """In the order above, so that arrays of outcomes can be sorted and counted."""
        if not isinstance(other, Outcome):
            return NotImplemented
        order = list(Outcome)
        return order.index(self) < order.index(other)


@public
@dataclass(frozen=True)
class Recourse:
    """Up to k options for n people, cheapest first; everyone keeps a row, found or not.

    x (n, d): people as they are, feature units. action (n, k, d): the value that each option sets, NaN where a
    feature is left alone. after (n, k, d): where that puts them, consequences included, NaN in empty slots.
    cost (n, k): unit of the problem's cost, with the person's own weights, inf in empty slots. plain_cost (n, k): the
    same without personal weights, as if everything were as hard for everybody; NaN where it is not known (answers
    saved by older versions). score (n, k): probability of the decision wanted
    (or the predicted number) after acting, from the model itself. outcome (n, k): `Outcome` members. chance (n, k): in
    an uncertain world, the share of what may follow that reaches the decision; NaN elsewhere and in empty slots.
    kind (n, k): texts: what an option is the best at, where kinds were asked for: 'cheapest', 'fewest' (changes),
    'lasting', or several with a + between them; '' elsewhere. lasts (n, k): the share of models trained again, none
    of which the search knew, that still say yes; NaN where nobody measured it. months (n, k): how long an option takes
    (`Problem.months`); NaN where no feature of the schema says how long its change takes.
    bound (n, k): proved of the first option: nothing that this problem allows this person, found or not, costs less;
    NaN where nobody proved anything, and of further options. `gap` says how far above it an option is.
    steps (n, k): texts: the names of an option's acts in order, one a line, where a method gives any; '' elsewhere.
    known_margin (n, k): `margin` as a file holds it; NaN in memory, where it is worked out when it is asked for.
    reasons (n,): why somebody was NOT_ASKED, '' for the others; their x is NaN in the cell at fault. ended_by (n,):
    'deadline' for whom the search ended because the time given was over (more time may find more, or cheaper options,
    and what they are hangs on the machine), '' for the others. origin: the names
    of the rows, by an id column or an index, and the table they came from. seconds (n,): share of the search time.
    meta: seed, versions, counts of model rows and calls. unchecked: they come from a file without a checksum, and no
    problem has judged them since. path (n, k, s, d): the profiles that a method led each
    option through, the last one is `after`, NaN behind it; s is 0 for methods that lead nobody through anything.
    """

    schema: Schema
    x: People
    action: Actions
    after: Actions
    cost: Costs
    score: Costs
    outcome: np.ndarray
    seconds: np.ndarray
    method: str = ""
    score_before: np.ndarray = field(default_factory=lambda: np.empty(0))  # (n,) as `score`, before acting
    plain_cost: Costs = field(default_factory=lambda: np.empty((0, 0)))
    chance: Costs = field(default_factory=lambda: np.empty((0, 0)))
    path: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0, 0)))
    kind: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=object))
    steps: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=object))
    lasts: Costs = field(default_factory=lambda: np.empty((0, 0)))
    known_margin: Costs = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    months: Costs = field(default_factory=lambda: np.empty((0, 0)))
    bound: Costs = field(default_factory=lambda: np.empty((0, 0)))
    preferences: Preferences | None = None
    reasons: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=object))
    ended_by: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=object))
    origin: Origin | None = field(default=None, repr=False, compare=False)
    meta: dict[str, Any] = field(default_factory=dict)
    unchecked: bool = False
    # the `Problem` that judged, for whoever goes on asking; kept in memory, not in files
    problem: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        n, k, d = self.action.shape
        for name, shape in {
            "x": (n, d),
            "after": (n, k, d),
            "cost": (n, k),
            "score": (n, k),
            "outcome": (n, k),
        }.items():
            if getattr(self, name).shape != shape:
                raise DataError(f"Recourse.{name} has shape {getattr(self, name).shape}; it must be {shape}.")
        if self.plain_cost.shape != (n, k):
            if self.plain_cost.size:
                raise DataError(
                    f"Recourse.plain_cost has shape {self.plain_cost.shape}; it must be {(n, k)}."
                )
            object.__setattr__(self, "plain_cost", self._plain_where_known())
        for name, empty in (*((name, np.nan) for name in _WHERE_KNOWN), *((name, "") for name in _TEXTS)):
            value = getattr(self, name)
            if value.shape != (n, k):
                if value.size and not (name == "known_margin" and np.isnan(value).all()):
                    raise DataError(f"Recourse.{name} has shape {value.shape}; it must be {(n, k)}.")
                object.__setattr__(self, name, np.full((n, k), empty, dtype=object if empty == "" else float))
        if self.path.ndim != 4 or self.path.shape[:2] != (n, k) or self.path.shape[3] != d:
            if self.path.size:
                raise DataError(f"Recourse.path has shape {self.path.shape}; it must be {(n, k, 's', d)}.")
            object.__setattr__(self, "path", np.empty((n, k, 0, d)))
        for name in _OWN_TEXTS:
            value = getattr(self, name)
            if value.shape != (n,):
                if value.size:
                    raise DataError(f"Recourse.{name} has shape {value.shape}; it must be {(n,)}.")
                object.__setattr__(self, name, np.full(n, "", dtype=object))

    def __getstate__(self) -> dict[str, Any]:
        """Return what files keep: everything but the problem; outcomes as one byte each."""
        order = {outcome: i for i, outcome in enumerate(Outcome)}
        code = np.array([order[o] for o in self.outcome.ravel()], dtype=np.uint8)
        worked_out = ("rounded", "margin", "_regions")
        fields = {name: value for name, value in vars(self).items() if name not in worked_out}
        return fields | {"outcome": code.reshape(self.outcome.shape), "problem": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        known: dict[str, Any] = {"origin": None}  # of earlier versions
        known |= {name: np.full(len(state["x"]), "", dtype=object) for name in _OWN_TEXTS}
        known |= {name: np.full(state["cost"].shape, np.nan) for name in ("known_margin", "bound")}
        outcome = np.array(list(Outcome), dtype=object)[state["outcome"]]
        vars(self).update({"unchecked": False} | known | state | {"outcome": outcome})

    def _plain_where_known(self) -> np.ndarray:
        """(n, k) `cost` where no acted feature has a weight of its own, NaN elsewhere."""
        if self.preferences is None:
            return self.cost
        acted = ~np.isnan(self.action)
        own = (acted & (self.preferences.weight != 1.0)[:, None, :]).any(-1)
        return np.where(own, np.nan, self.cost)

    @cached_property
    def margin(self) -> Costs:
        """(n, k) how far beyond the boundary: the share of plans alike that still get a yes if a figure is a bit off.

        Each number that is acted on is off by about half a meaningful step (see `wayforward.problem.margin`). Worked
        out when it is first asked for, by 40 rows of the model's fast path an option; NaN in empty slots, and where
        an answer read from an older file does not know.
        """
        if self.problem is None or np.isfinite(self.known_margin).any():
            return self.known_margin
        worked: Costs = hook("problem.margin:margins")(self)
        return worked

    def regions(self, sample: bool = True, leeway: float = 0.0) -> Regions:
        """Around each option a box of what works just as well; see `wayforward.problem.regions`. Worked out once.

        Files keep them where they were asked for before (to the last digit, leeway 0) and an answer read from one
        tells those; judged by a problem again, they are worked out anew.
        """
        require_switch(sample, "sample")
        if not isinstance(leeway, (int, float)) or not 0 <= leeway < 1:
            raise DataError(f"leeway={shown(leeway)} is no share of a side. Use 0 to below 1, such as 0.05.")
        known: dict[tuple[bool, float], Regions] = vars(self).setdefault("_regions", {})
        if (sample, leeway) not in known:
            known[sample, leeway] = hook("problem.regions:regions")(self, sample, leeway)
        return known[sample, leeway]

    @property
    def gap(self) -> Costs:
        """(n, k) by which share an option costs more than the least that any option can cost, at most: 0.04 is "at most
        4 % above the cheapest possible", 0 "the cheapest possible"; NaN where nothing was proved (see `bound`)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = self.cost / self.bound - 1
        return np.asarray(
            np.where(self.found, np.where(gap <= PROVED_GAP, np.fmax(gap, 0.0) * 0.0, gap), np.nan)
        )

    @property
    def proved_cheapest(self) -> Mask:
        """(n,) bool: the first option is the cheapest possible, proved."""
        return np.asarray(self.gap[:, 0] == 0.0, dtype=bool)

    def with_bound(self, least: np.ndarray) -> Recourse:
        """Return the answer with a proved bound (n,) on the cost of any option of each person, NaN where none is."""
        bound = np.full((self.n, self.k), np.nan)
        bound[:, 0] = np.where(np.isfinite(least) & (least > 0), least, np.nan)
        return replace(self, bound=bound)

    @property
    def weighted(self) -> bool:
        """True if somebody gave weights of their own, so that `cost` and `plain_cost` differ."""
        return self.preferences is not None and bool((self.preferences.weight != 1.0).any())

    @property
    def uncertain(self) -> bool:
        """True if some option tells its chance: what follows from acting is uncertain in this problem's world."""
        return bool(np.isfinite(self.chance).any())

    def is_kind(self, kind: str) -> Mask:
        """(n, k) bool: the option is of this kind. Raises: DataError for an unknown one."""
        if not is_one_of(kind, KINDS):
            raise DataError(f"There is no kind '{kind}' of options. Known: {', '.join(KINDS)}.")
        return np.array([[kind in text.split("+") for text in row] for row in self.kind], dtype=bool).reshape(
            self.n, self.k
        )

    @property
    def dearer(self) -> Costs:
        """(n, k) by which share an option costs more than the person's first; NaN in empty slots."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.found, self.cost / self.cost[:, :1] - 1, np.nan))

    @property
    def n(self) -> int:
        """Number of people."""
        return int(self.action.shape[0])

    @property
    def k(self) -> int:
        """Number of option slots a person."""
        return int(self.action.shape[1])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.action.shape[2])

    @property
    def found(self) -> Mask:
        """(n, k) bool: the slot holds a checked option."""
        return np.asarray(self.outcome == Outcome.FOUND, dtype=bool)

    @property
    def accepted(self) -> Mask:
        """(n,) bool: the person had the decision already."""
        return np.asarray(self.outcome[:, 0] == Outcome.ACCEPTED, dtype=bool)

    @property
    def readable(self) -> Mask:
        """(n,) bool: the row could be read, so that the model was asked."""
        return np.asarray(self.outcome[:, 0] != Outcome.NOT_ASKED, dtype=bool)

    @property
    def refused(self) -> Mask:
        """(n,) bool: the model was asked and said no."""
        return np.asarray(self.readable & ~self.accepted)

    @property
    def cut_short(self) -> Mask:
        """(n,) bool: the time given was over before the search for this person came to its end; see `ended_by`."""
        return np.asarray(self.ended_by == DEADLINE, dtype=bool)

    @property
    def acted(self) -> Mask:
        """(n, k, d) bool: the option asks the person to set this feature to another value."""
        return np.asarray(~np.isnan(self.action) & self.schema.differs(self.action, self.x[:, None, :]))

    @property
    def changed(self) -> Mask:
        """(n, k, d) bool: the feature differs afterwards, by action or as a consequence; False in empty slots."""
        return np.asarray(self.schema.differs(self.after, self.x[:, None, :]) & self.found[:, :, None])

    def outcomes(self) -> dict[str, int]:
        """How many people ended in each outcome, by their first slot."""
        return count_outcomes(self.outcome[:, 0])

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Recourse]:
        return (self[i] for i in range(self.n))

    def __getitem__(self, who: int | slice | np.ndarray) -> Recourse:
        """The answers of some of the people."""
        if is_integer(who):
            if not -self.n <= who < self.n:
                raise DataError(no_person(who, self.n))
            who = np.array([int(who) % self.n])
        elif not isinstance(who, slice):
            try:
                places = np.asarray(who)
            except ValueError:  # lists of several lengths
                places = np.empty(1, dtype=object)
            mask = places.dtype.kind == "b"
            of_people = places.dtype.kind in "biu" and (not mask or places.shape == (self.n,))
            if isinstance(who, tuple) or places.ndim != 1 or (places.size and not of_people):
                raise DataError(
                    f"{shown(who)} names no people. Give a number from 0 to {self.n - 1}, or several: [0, 3]."
                )
            beyond = places[:0] if mask else places[(places < -self.n) | (places >= self.n)]
            if beyond.size:
                raise DataError(no_person(int(beyond[0]), self.n))
        parts = {name: getattr(self, name)[who] for name in (*_PER_PERSON, "path")}
        before = self.score_before[who] if self.score_before.size else self.score_before
        wishes = None
        if self.preferences is not None:
            wishes = self.preferences.take(np.arange(self.n)[who])
        origin = None if self.origin is None else self.origin.take(who)
        some = replace(self, **parts, score_before=before, preferences=wishes, origin=origin)
        if "_regions" in vars(self):
            vars(some)["_regions"] = {key: found.take(who) for key, found in vars(self)["_regions"].items()}
        if "rounded" in vars(self):  # worked out for everybody at once: nobody is rounded again alone
            vars(some)["rounded"] = some if self.rounded is self else self.rounded[who]
        return some

    def among(self, x: People, reasons: dict[int, str], preferences: Preferences | None = None) -> Recourse:
        """The answers to the people x (n, d) of whom these are those that could be read; reasons: of the others."""
        n = len(x)
        there = np.ones(n, dtype=bool)
        there[list(reasons)] = False

        def spread(name: str, empty: Any) -> np.ndarray:
            values = getattr(self, name)
            out = np.full((n, *values.shape[1:]), empty, dtype=values.dtype)
            out[there] = values
            return out

        why = np.full(n, "", dtype=object)
        for i, reason in reasons.items():
            why[i] = reason
        parts: dict[str, Any] = {
            name: spread(name, np.nan) for name in ("action", "after", "score", "path", *_WHERE_KNOWN)
        }
        parts |= {name: spread(name, np.inf) for name in ("cost", "plain_cost")} | {
            name: spread(name, "") for name in (*_TEXTS, "ended_by")
        }
        before = self.score_before if self.score_before.size else np.full(self.n, np.nan)
        score_before = np.full(n, np.nan)
        score_before[there] = before
        return replace(
            self, x=x, outcome=spread("outcome", Outcome.NOT_ASKED), seconds=spread("seconds", 0.0), reasons=why,
            score_before=score_before, preferences=preferences, origin=None, **parts,
        )  # fmt: skip

    @classmethod
    def of_nobody(cls, schema: Schema, k: int, method: str = "") -> Recourse:
        """The answers to no people at all."""
        require_whole(k=k)
        slots = np.empty((0, k))
        return cls(
            schema=schema, x=np.empty((0, schema.d)), action=np.empty((0, k, schema.d)),
            after=np.empty((0, k, schema.d)), cost=slots, score=slots,
            outcome=np.empty((0, k), dtype=object), seconds=np.empty(0), method=method,
        )  # fmt: skip

    @classmethod
    def concat(cls, parts: list[Recourse]) -> Recourse:
        """Answers of several groups of people, one after the other; counts and times add up."""
        if not isinstance(parts, (list, tuple)) or not parts:
            raise DataError(f"parts={shown(parts)} is no list of answers. Give at least one Recourse.")
        for part in parts:
            require_kind(part, cls, "a part")
        first = parts[0]
        if len(parts) == 1:
            return first
        for i, part in enumerate(parts):
            if part.schema is not first.schema:
                first.schema.require_read_alike(
                    part.schema,
                    f"Part {i} is about other features than the first",
                    "Join answers about the same features and levels in the same order.",
                    DataError,
                )
            if part.k != first.k:
                raise DataError(
                    f"Part {i} has {part.k} options a person, the first {first.k}. Ask all of them with the same k."
                )
            for name in ("cost_unit", "needed"):  # what the numbers of an answer mean
                mine, its = first.meta.get(name), part.meta.get(name)
                if None not in (mine, its) and mine != its:
                    what = "costs are in another unit" if name == "cost_unit" else "yes takes something else"
                    raise DataError(
                        f"Part {i} is of another problem than the first: its {what}. Judge all parts by one problem "
                        "first: part.judged_by(problem)."
                    )
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in (*_PER_PERSON, "score_before")
        }
        # some were read from a file, the others know their problem
        if np.isfinite(joined["known_margin"]).any():
            joined["known_margin"] = np.concatenate([part.margin for part in parts])
        joined["origin"] = Origin.concat([part.origin for part in parts])
        longest = max(part.path.shape[2] for part in parts)
        joined["path"] = np.concatenate([_longer(part.path, longest) for part in parts])
        meta = dict(first.meta)
        methods = dict.fromkeys(part.method for part in parts if part.method)
        if len(methods) > 1:
            meta.pop("parameters", None)  # those of the first one
        for key in ("seconds_recommend", "model_rows", "model_calls", "native_rows", "n_shortened"):
            if key in meta:
                meta[key] = sum(part.meta.get(key, 0) for part in parts)
        if "room" in meta:
            rooms = [part.meta["room"] for part in parts if "room" in part.meta]
            moved = sum(room["moved"] for room in rooms)
            price = sum(room["moved"] * room["price"] for room in rooms) / max(moved, 1)
            meta["room"] = {**meta["room"], "moved": moved, "price": price}
        wishes = None
        if any(part.preferences is not None for part in parts):
            from wayforward.preferences import Preferences

            schema = next(part.preferences.schema for part in parts if part.preferences is not None)
            wishes = Preferences.concat(
                Preferences.none(schema, part.n) if part.preferences is None else part.preferences
                for part in parts
            )
        # of several problems none can speak for all
        problem = first.problem if all(part.problem is first.problem for part in parts) else None
        method = ", ".join(methods)
        if "method" in meta:
            meta["method"] = method
        return replace(first, **joined, method=method, preferences=wishes, meta=meta, problem=problem)

    # -- words and tables ----------------------------------------------------------------------------------

    @cached_property
    def rounded(self) -> Recourse:
        """The same options in numbers that people keep in mind: 2,050 and not 2,049.37, rounded outward, judged again.

        What is written or said of an answer is this: sentences, letters, tables, files. Itself where its problem is not
        known, as one read from a file.
        """
        rounding = hook("problem.rounding:rounded")  # the judge stands above recourse
        got: Recourse = self if self.problem is None else rounding(self.problem, self)
        return got

    def explain(
        self, i: int | None = None, option: int | None = None, *, id: Any = None, language: str | None = None
    ) -> str:
        """What person i can do, in plain sentences with units; all options, or one of them.

        id: the person by name instead of position, see `find`; a tuple where the index has several levels.
        language: "en" or "de"; left out, the one in use.

        Numbers are rounded for people and checked again after rounding, where the answer still knows its problem
        (one read from a file does not: it shows the numbers that were checked).
        """
        if (i is None) == (id is None):
            raise DataError("Say whom to explain: a position, explain(3), or a name, explain(id='C-17').")
        if i is None:
            who = self.find(id)
            if len(who) > 1:
                raise DataError(
                    f"{len(who)} people are called {id!r}: positions {', '.join(map(str, who[:8].tolist()))}. Ask for "
                    f"one of them by its position: explain({who[0]}), or --person {who[0]} in a shell."
                )
            i = int(who[0])
        # answers stand above recourse: found by name when somebody asks
        text: str = hook("answers:explain")(self, i, option, self.problem, language)
        return text

    def find(self, id: Any) -> np.ndarray:
        """Positions of the people of this name, by id column or index; without either, by their own texts and ids.

        Raises: DataError where there is none.
        """
        origin = self.origin or Origin()
        own = find_own(self.schema.features, self.x, id) if not origin.names else ()
        return np.asarray(own) if len(own) else origin.find(id)

    def people_after(self, option: int = 0) -> Any:
        """Everybody where this option leads, as the table they came from: its columns, types, order and index.

        n rows, ready for the model: whoever has no such option stays as they are, and so does every cell that no option
        changes, columns that the schema does not know included. People who came as an array, or from a file, are
        decoded by the schema. Raises: DataError if there is no such option.
        """
        require_option(self, option)
        changed = self.rounded.changed[:, option]
        x = np.where(changed, self.rounded.after[:, option], self.x)
        origin = self.origin
        if origin is None or origin.table is None:
            return self.schema.decode(x)
        return origin.with_values(self.schema.features, x, changed)

    def to_frame(self, like: Any = None, *, exact: bool = False) -> Any:
        """One row for each person and option: names, outcome, costs, score, and the values before and after.

        `like`: 'pandas', 'polars', 'pyarrow', or None for the first that is installed. exact: as found, to the last
        digit; otherwise in the numbers that people are told (`rounded`). Where kinds were asked for, the row of a kind
        whose plan stands already as another kind has the outcome 'SAME', and `same_as` says which option that is.
        """
        require_switch(exact, "exact")
        if not exact and self.rounded is not self:
            return self.rounded.to_frame(like, exact=True)
        n, k = self.n, self.k
        kind, same_as = self._slots_by_kind()
        ends = np.array([o.name for o in self.outcome.ravel()], dtype=object)
        columns: dict[str, np.ndarray] = {
            "person": np.repeat(np.arange(n), k),
            "option": np.tile(np.arange(k), n),
            "outcome": np.where(same_as.ravel() >= 0, SAME, ends),
            "cost": self.cost.ravel(),
            "plain_cost": self.plain_cost.ravel(),
            "score": self.score.ravel(),
        }
        if self.uncertain:
            columns["chance"] = self.chance.ravel()
        columns |= self._kind_columns() | ({"kind": kind.ravel()} if (kind != "").any() else {})
        if (same_as >= 0).any():
            columns["same_as"] = np.where(same_as >= 0, same_as, np.nan).ravel()
        if "bound" in columns:
            columns["gap"] = self.gap.ravel()
        if not self.readable.all():
            columns["reason"] = np.repeat(self.reasons, k)
        if self.cut_short.any():
            columns["ended_by"] = np.repeat(self.ended_by, k)
        columns = self._named(columns)
        before = np.repeat(self.x, k, axis=0)
        after = self.after.reshape(n * k, self.d)
        action = self.action.reshape(n * k, self.d)
        for j, feature in enumerate(self.schema.features):
            for name, values in (("before", before), ("action", action), ("after", after)):
                columns[f"{name}.{feature.name}"] = decode_column(values[:, j], feature)
        return native_table(columns, like)

    def _slots_by_kind(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, k) kinds, and (n, k) the option that a slot is the same as, -1 elsewhere.

        The empty slots of who has some option go to the kinds without a slot: found as another kind, or not found.
        """
        kind, same_as = self.kind.copy(), np.full((self.n, self.k), -1)
        wanted, rows = self.meta.get("kinds", ()), np.arange(self.n)
        used, owned = self.found.sum(1), np.zeros((self.n, self.k), dtype=bool)
        has_some = used > 0
        for name in KINDS if isinstance(wanted, (list, tuple)) else ():
            if name not in wanted:
                continue
            mine = self.is_kind(name)
            at, has = mine.argmax(1), mine.any(1)
            twice = has & owned[rows, at]
            put = has_some & (twice | ~has) & (used < self.k)
            kind[rows[put], used[put]] = name
            same_as[rows[put & twice], used[put & twice]] = at[put & twice]
            used = used + put
            owned[rows[has], at[has]] = True
        return kind, same_as

    def _kind_columns(self) -> dict[str, np.ndarray]:
        """Columns of kinds, of how long options last and take, one row for each slot; none where nobody asked."""
        texts = {"kind": self.kind, "steps": self.steps}
        out = {name: values.ravel() for name, values in texts.items() if (values != "").any()}
        return out | {name: values.ravel() for name, values in self._measured().items()}

    def _measured(self) -> dict[str, Costs]:
        """What is known of options only where somebody asked, by name; (n, k) each."""
        found = {"lasts": self.lasts, "months": self.months, "bound": self.bound}
        return {name: values for name, values in found.items() if np.isfinite(values).any()}

    def _named(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Put the names of people behind the first of the columns (n * k,)."""
        if self.origin is None or not self.origin.names:
            return columns
        own = self.origin.columns((*columns, "reason", "ended_by"))
        first, *rest = columns
        return (
            {first: columns[first]}
            | {name: np.repeat(v, self.k) for name, v in own.items()}
            | {name: columns[name] for name in rest}
        )

    # -- files ---------------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, exact: bool = False) -> Path:
        """Write to .json or .parquet; `Recourse.load` reads either back, value for value.

        exact: as found, to the last digit; otherwise in the numbers that people are told (`rounded`). Names that are
        no texts, whole numbers or days, as an index may have, are written as texts.
        """
        require_switch(exact, "exact")
        if not exact and self.rounded is not self:
            for sample, leeway in vars(self).get("_regions", {}):
                if leeway == 0:  # those of what is told
                    self.rounded.regions(sample)
            return self.rounded.save(path, exact=True)
        path = as_path(path)
        if path.suffix == ".json":
            write_text(path, json.dumps(self._to_plain(), allow_nan=False))
        elif path.suffix == ".parquet":
            self._to_parquet(path)
        else:
            raise FileFormatError(
                f"Recourse is saved as .json or .parquet; got '{name_of(path)}'. Change the ending."
            )
        return path

    @classmethod
    def load(cls, path: str | Path, problem: Any = None) -> Recourse:
        """Read what `save` wrote; with a `problem`, its judge looks at every option again (see `judged_by`).

        Files carry a checksum. One of an earlier version has none: they are then `unchecked`, and `explain` says
        so. Raises: FileFormatError for a file that is missing, broken, something else, or was changed afterwards.
        """
        got = cls._loaded(as_path(path))
        return got if problem is None else got.judged_by(problem)

    def require_problem(self, error: type[WayforwardError] = ProblemError) -> Any:
        """Return the problem that these are answers to. Raises: an error where it is not known."""
        if self.problem is None:
            raise error("This answer (of a file, or joined of several) does not know its problem. Ask again.")
        return self.problem

    def require_schema(self, schema: Schema) -> None:
        """Raise DataError where rows mean something else in this schema, which is a problem's or a population's."""
        self.schema.require_read_alike(
            schema,
            "These answers are about other features than the problem",
            "Give the problem that was asked, or one about the same features and levels in the same order.",
            DataError,
        )

    def judged_by(self, problem: Any) -> Recourse:
        """The same people and options, judged by a `Problem`: an option that does not hold is none any more.

        Options whose acts are named keep them, with their order and months; kinds, and how many models trained again
        said yes, stay with options to which this model gives the score they had. That nothing exists for somebody is
        proved again, by `wayforward.recommend`; where it is not, their outcome is `NOT_FOUND`.

        Raises: DataError for a problem with other features.
        """
        if not isinstance(getattr(problem, "schema", None), Schema) or not hasattr(problem, "judge_options"):
            raise DataError(f"problem is a {type(problem).__name__}. Give a Problem.")
        self.require_schema(problem.schema)
        there = np.flatnonzero(self.readable)
        wishes = self.preferences
        got = self
        if there.size:
            own = wishes if wishes is None else wishes.take(there)
            got = problem.check(
                self.x[there], self.action[there], self.k, preferences=own, prove=True, method=self.method
            )
            got = _proved_again(self.outcome[there], got)
        odd = {int(i): str(self.reasons[i]) for i in np.flatnonzero(~self.readable)}
        got = got.among(self.x, odd, wishes) if odd and there.size else got
        got, meta = _with_what_was_known(self, got), self.meta
        if (got.found & (got.kind == "")).any():  # nothing is known of the kinds of a part
            meta = {name: value for name, value in meta.items() if name != "kinds"}
        return replace(
            got, meta=meta, origin=self.origin, problem=problem, unchecked=False, ended_by=self.ended_by
        )

    def as_of(self, problem: Any) -> Recourse:
        """These answers as the problem's own: themselves where it judged them, or where it finds the same of everybody
        and every option, by its model, its limits, its world and its cost; else `judged_by` it. What is said of other
        rows, bounds and margins, is worked out by this problem: bounds where there were some, by as many boxes.

        For whoever is given answers and a problem: a file does not say which model it is of.
        Raises: DataError for a problem with other features.
        """
        if self.problem is problem and not self.unchecked:
            return self
        got = self.judged_by(problem)
        if self.unchecked or not self._agrees_with(got):
            return got
        # a model that says the same of these rows may say something else of all others
        unknown = np.full((self.n, self.k), np.nan)
        mine = replace(self, problem=problem, bound=unknown, known_margin=unknown)
        who = np.flatnonzero(np.isfinite(self.bound[:, 0]))
        if not who.size:
            return mine
        boxes = {"boxes": self.meta["certified"]} if is_whole(self.meta.get("certified"), 1) else {}
        bound = np.full(self.n, np.nan)
        bound[who] = hook("methods.certificates:certified")(mine[who], **boxes).bound[:, 0]
        return mine.with_bound(bound)

    def _agrees_with(self, got: Recourse) -> bool:
        """Do these answers say what a problem finds that judged the same people and options, `got`?"""
        known = (self.outcome == got.outcome) | (
            (self.outcome == Outcome.NOT_FOUND) & (got.outcome == Outcome.NONE_EXISTS)
        )
        if (
            not known.all()
            or self.meta.get("needed") not in (None, got.problem.bound_target.needed())
            or self.schema.to_dict() != got.problem.schema.to_dict()
            or self.schema.differs(self.after, got.after)[self.found].any()
        ):
            return False
        numbers = [
            (getattr(self, name)[self.found], getattr(got, name)[self.found])
            for name in ("cost", "score", "chance")
        ]
        if self.score_before.size:
            numbers.append((self.score_before[self.readable], got.score_before[self.readable]))
        # what files of an earlier version do not say is NaN
        return all(np.allclose(a[~np.isnan(a)], b[~np.isnan(a)], 1e-6, 1e-9) for a, b in numbers)

    @classmethod
    def _loaded(cls, path: Path) -> Recourse:
        if not path.is_file():
            raise FileFormatError(no_file(path))
        if path.suffix not in (".json", ".parquet"):
            raise FileFormatError(f"Recourse is read from .json or .parquet; got '{name_of(path)}'.")
        try:
            if path.suffix == ".json":
                got = cls._from_plain(read_json(path))
            else:
                got = cls._from_parquet(path)
            if got.k < 1:
                raise ValueError("k")
        except DataError as error:
            raise FileFormatError(f"'{name_of(path)}' does not hold a recourse: {error}") from None
        except (
            ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError, OSError, _arrow_error()
        ) as error:  # fmt: skip
            raise FileFormatError(
                f"'{name_of(path)}' does not hold a recourse ({type(error).__name__}). Save it again."
            ) from None
        except FileFormatError as error:
            raise FileFormatError(
                f"'{name_of(path)}' {error}" if str(error) == _CHANGED else str(error)
            ) from None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SchemaWarning)  # said when these people were asked about
                if got.readable.any():
                    got.schema.encode(got.x[got.readable], "saved people")
        except DataError as error:
            raise FileFormatError(
                f"'{name_of(path)}' does not hold people of its own schema. {error}"
            ) from None
        return got

    def _header(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "schema": self.schema.to_dict(),
            "method": self.method,
            "k": self.k,
            "meta": self.meta,
            "preferences": None if self.preferences is None else self.preferences.to_dict(),
            **({"unchecked": True} if self.unchecked else {}),
            **({"regions": self._kept_regions} if self._kept_regions else {}),
        }

    @property
    def _kept_regions(self) -> dict[str, Any]:
        """Regions as files hold them, those to the last digit: 'sampled' where the rest was drawn, 'proved'."""
        known = vars(self).get("_regions", {})
        keys = {"sampled": (True, 0.0), "proved": (False, 0.0)}
        return {name: known[key].to_plain(self.schema) for name, key in keys.items() if key in known}

    def _digest(self, header: dict[str, Any]) -> str:
        """SHA-256 of the answers as any file holds them: of what a header says and of every value, text and name."""
        order = {outcome: i for i, outcome in enumerate(Outcome)}
        texts: dict[str, Any] = {
            name: getattr(self, name).ravel().tolist() for name in (*_TEXTS, *_OWN_TEXTS)
        }
        if self.origin is not None and self.origin.names:
            texts["ids"] = [[str(v) for v in value.tolist()] for value in self.origin.values]
            texts["names"] = list(self.origin.names)
        held = {name: values for name, values in texts.items() if any(values)}
        known = {name: header.get(name) for name in _HEADER}
        known |= {name: header[name] for name in _MORE if name in header}
        found = hashlib.sha256(json.dumps(json.loads(json.dumps([known, held])), sort_keys=True).encode())
        numbers = {name: getattr(self, name) for name in _DIGESTED}
        numbers |= {"margin": self.margin, "outcome": np.array([order[o] for o in self.outcome.ravel()])}
        for name, values in numbers.items():
            plain = np.array(values, dtype=np.float64)
            if np.isfinite(
                plain
            ).any():  # what is not known is in no file, nor is what came with a later version
                plain[~np.isfinite(plain)] = np.nan
                found.update(f"{name} {plain.shape}".encode() + plain.tobytes())
        return found.hexdigest()

    def _to_plain(self) -> dict[str, Any]:
        numbers = {
            name: _plain(getattr(self, name))
            for name in ("x", "action", "after", "cost", "plain_cost", "score", "seconds", "score_before")
        }
        if self.uncertain:
            numbers["chance"] = _plain(self.chance)
        if self.path.size:
            numbers["path"] = _plain(self.path)
        if np.isfinite(self.margin).any():
            numbers["known_margin"] = _plain(self.margin)
        numbers |= {name: _plain(values) for name, values in self._measured().items()}
        numbers |= {
            name: values.tolist()
            for name, values in (("kind", self.kind), ("steps", self.steps))
            if (values != "").any()
        }
        more: dict[str, Any] = {}
        if self.schema.carried.any():  # rows hold keys of them
            more["carried"] = {
                f.name: carried.plain_values(self.x[:, j], f)
                for j, f in enumerate(self.schema.features)
                if f.carried
            }
        if not self.readable.all():
            more["reasons"] = self.reasons.tolist()
        if self.cut_short.any():
            more["ended_by"] = self.ended_by.tolist()
        if self.origin is not None and self.origin.names:
            values = [[_json_value(v) for v in value.tolist()] for value in self.origin.values]
            more["ids"] = {"names": list(self.origin.names), "values": values}
        header = self._header()
        return {
            **header, "sha256": self._digest(header), "outcome": [[o.name for o in row] for row in self.outcome],
            **numbers, **more,
        }  # fmt: skip

    @classmethod
    def _restored(
        cls, header: Any, numbers: dict[str, np.ndarray], outcome: np.ndarray, own: dict[str, Any],
        ids: tuple[Any, Any] | None = None,
    ) -> Recourse:  # fmt: skip
        """Put an answer together from its header and arrays of any shape. Raises: ValueError, KeyError, TypeError."""
        if (
            not isinstance(header, dict)
            or header.get("format") != _FORMAT
            or not is_whole(header["k"], 1)
            or not isinstance(header["method"], str)
        ):
            raise ValueError("format")
        schema = Schema.from_dict(header["schema"])
        require_meta(header["meta"], schema.names)
        n, k, d = len(numbers["x"]), header["k"], schema.d
        shapes = {"x": (n, d), "action": (n, k, d), "after": (n, k, d), "path": (n, k, -1, d)}
        shapes |= {"seconds": (n,), "score_before": (n if numbers["score_before"].size else 0,)}
        shapes |= dict.fromkeys(("cost", "plain_cost", "score", *_WHERE_KNOWN, *_TEXTS), (n, k))
        got = cls(
            schema=schema,
            outcome=outcome,
            method=str(header["method"]),
            preferences=_preferences(header.get("preferences"), schema, n),
            meta=header["meta"],
            unchecked=bool(header.get("unchecked", False)),
            **{
                name: np.array([str(t or "") for t in own.get(name) or ()], dtype=object)
                for name in _OWN_TEXTS
            },
            origin=None if not ids else _origin(*ids, n),
            **{
                name: values.reshape(shapes[name]) if name in shapes else values
                for name, values in numbers.items()
                if values.size or name not in ("plain_cost", "path", *_WHERE_KNOWN, *_TEXTS)
            },
        )
        _require_sound(got)
        for name in ("x", "action", "after", "path"):
            schema.check_levels(getattr(got, name).reshape(-1, d), "Save the answers again.")
        if "sha256" not in header:  # of an earlier version
            got = replace(got, unchecked=True)
        elif header["sha256"] != got._digest(header):
            raise FileFormatError(_CHANGED)
        if not got.unchecked:  # nobody believes a proof that anybody may have written
            found = header.get("regions", {})
            vars(got)["_regions"] = {
                (name == "sampled", 0.0): Regions.from_plain(found[name], schema, n, k)
                for name in ("sampled", "proved")
                if name in found
            }
        return got

    @classmethod
    def _from_plain(cls, data: Any) -> Recourse:
        needed = ("x", "action", "after", "cost", "score", "seconds", "score_before")
        numbers = {name: _array(data[name]) for name in needed}
        numbers |= {name: _array(data.get(name)) for name in ("plain_cost", "path", *_WHERE_KNOWN)}
        numbers["kind"], numbers["steps"] = _kinds(data.get("kind") or ()), _texts(data.get("steps") or ())
        # JSON has one null for inf (an empty slot) and NaN (not known): the weighted cost tells them apart
        empty = np.isnan(numbers["cost"])
        for name in ("cost", "plain_cost"):
            if numbers[name].size:
                numbers[name] = np.where(empty, np.inf, numbers[name])
        ids = data.get("ids")
        named = None if ids is None else (ids["names"], ids["values"])
        schema = Schema.from_dict(data["schema"])
        for name, values in data.get("carried", {}).items():
            carried.keys_of(values, schema[name], "saved", again=True)
        return cls._restored(data, numbers, _outcomes(data["outcome"], data["k"]), data, named)

    def _to_parquet(self, path: Path) -> None:
        pa = require("pyarrow", extra="frames")
        pq = require("pyarrow.parquet", extra="frames")
        n, k, d = self.action.shape
        before = self.score_before if self.score_before.size else np.full(n, np.nan)
        columns = {
            "person": np.repeat(np.arange(n), k),
            "option": np.tile(np.arange(k), n),
            "outcome": [o.name for o in self.outcome.ravel()],
            "cost": self.cost.ravel(),
            "plain_cost": self.plain_cost.ravel(),
            "score": self.score.ravel(),
            "seconds": np.repeat(self.seconds, k),
            "score_before": np.repeat(before, k),
        }
        if self.uncertain:
            columns["chance"] = self.chance.ravel()
        if np.isfinite(self.margin).any():
            columns["known_margin"] = self.margin.ravel()
        columns |= self._kind_columns()
        for j, name in enumerate(self.schema.names):
            own, before = self.schema.features[j], np.repeat(self.x[:, j], k)
            parts = {
                "before": before,
                "action": self.action[:, :, j].ravel(),
                "after": self.after[:, :, j].ravel(),
            }
            for part, values in parts.items():
                columns[f"{part}.{name}"] = carried.plain_values(values, own) if own.carried else values
            if self.path.size:  # one list a row
                columns[f"path.{name}"] = list(self.path[..., j].reshape(n * k, -1))
        if not self.readable.all():
            columns["reason"] = np.repeat(self.reasons, k).tolist()
        if self.cut_short.any():
            columns["ended_by"] = np.repeat(self.ended_by, k).tolist()
        header = self._header()
        header["sha256"] = self._digest(header)
        if self.origin is not None and self.origin.names:
            header["ids"] = list(self.origin.names)
            for name, value in zip(self.origin.names, self.origin.values, strict=True):
                columns[f"id.{name}"] = _arrow_values(value, pa).take(pa.array(np.repeat(np.arange(n), k)))
        table = pa.table(columns).replace_schema_metadata({"wayforward": json.dumps(header)})
        with written(path) as half:
            pq.write_table(table, half)

    @classmethod
    def _from_parquet(cls, path: Path) -> Recourse:
        pq = require("pyarrow.parquet", extra="frames")
        table = pq.read_table(path)
        header = json.loads((table.schema.metadata or {})[b"wayforward"])
        schema, k = Schema.from_dict(header["schema"]), header["k"]
        if not is_whole(k, 1):
            raise ValueError("k")
        for name, row in zip(("person", "option"), np.divmod(np.arange(table.num_rows), k), strict=True):
            if not np.array_equal(table.column(name).to_numpy(), row):  # whose plan it is, in other tools
                raise FileFormatError(_CHANGED)
        own_of = ("before.", "id.", "seconds", "score_before", "reason", "ended_by")
        if k > 1 and not all(
            _repeats(table, name, k) for name in table.column_names if name.startswith(own_of)
        ):
            raise FileFormatError(
                _CHANGED
            )  # what stands beside a person's later options is read by other tools alone

        def column(name: str) -> np.ndarray:
            return np.asarray(table.column(name).to_numpy(zero_copy_only=False))

        def stack(part: str) -> np.ndarray:
            parts = [
                carried.keys_of(table.column(f"{part}.{f.name}").to_pylist(), f, "saved", again=True)
                if f.carried
                else column(f"{part}.{f.name}")
                for f in schema.features
            ]
            return np.stack(parts, -1).reshape(-1, k, schema.d)

        numbers = {name: column(name)[::k] for name in ("seconds", "score_before")}
        numbers |= {"x": stack("before")[:, 0], "action": stack("action"), "after": stack("after")}
        carried.settled(numbers["x"], numbers["action"], numbers["after"], schema.carried)
        for name in ("cost", "plain_cost", "score", *_WHERE_KNOWN):
            if name in table.column_names or name in ("cost", "score"):
                numbers[name] = column(name)
        if "kind" in table.column_names:
            numbers["kind"] = _kinds(column("kind"))
        if "steps" in table.column_names:
            numbers["steps"] = _texts(column("steps"))
        if f"path.{schema.names[0]}" in table.column_names:
            lists = [np.stack(column(f"path.{name}").tolist()) for name in schema.names]
            numbers["path"] = np.stack(lists, -1)
        own = {
            name: column(held)[::k].tolist()
            for name, held in (("reasons", "reason"), ("ended_by", "ended_by"))
            if held in table.column_names
        }
        names = header.get("ids") or []
        ids = names, [table.column(f"id.{name}").to_pylist()[::k] for name in names]
        return cls._restored(
            header, numbers, _outcomes(column("outcome").reshape(-1, k), k), own, ids if names else None
        )

    def _repr_html_(self) -> str:
        first, steps = self[: min(self.n, 30)].rounded, hook("answers:steps")
        shown = [(i, o) for i in range(first.n) for o in range(self.k) if o == 0 or first.found[i, o]][:30]
        columns = {
            "person": np.repeat(np.arange(first.n), self.k),
            "option": np.tile(np.arange(self.k), first.n),
            "outcome": np.array([o.name for o in first.outcome.ravel()], dtype=object),
        }
        columns |= {"cost": first.cost.ravel(), "score": first.score.ravel()}
        table = first._named(columns) | {"plan": np.full(first.n * self.k, "", dtype=object)}
        for i, o in shown:
            if first.found[i, o]:
                table["plan"][i * self.k + o] = " ".join(steps(first, i, o))
        rows = [[column[i * self.k + o] for column in table.values()] for i, o in shown]
        left = self.n - (shown[-1][0] + 1 if shown else 0)
        return small_table(repr(self), list(table), rows, [f"... and {left:,} more people"] if left else [])

    def __repr__(self) -> str:
        ends = ", ".join(
            f"{count} {name.lower().replace('_', ' ')}" for name, count in self.outcomes().items() if count
        )
        cut = int(self.cut_short.sum())
        late = f"; {cut} ended by the deadline" if cut else ""
        return harmless(f"Recourse({self.n} people, up to {self.k} options, {self.method}: {ends}{late})")


def _repeats(table: Any, name: str, k: int) -> bool:
    """Does a column say the same in all k rows of every person?"""
    values = table.column(name).to_numpy(zero_copy_only=False)
    return all(
        np.array_equal(first, other, equal_nan=True)
        if values.dtype.kind == "f"
        else first.tolist() == other.tolist()
        for first, other in ((values[::k], values[at::k]) for at in range(1, k))
    )


def count_outcomes(outcome: np.ndarray) -> dict[str, int]:
    """Name -> people (n,) of `Outcome`; NOT_ASKED only where there are any."""
    counts = {o: int((outcome == o).sum()) for o in Outcome}
    return {o.name: count for o, count in counts.items() if count or o is not Outcome.NOT_ASKED}


def _plain(values: np.ndarray) -> list[Any]:
    """Nested lists with None for NaN and infinity, because JSON has neither."""
    hidden = values.astype(object)
    hidden[~np.isfinite(values)] = None
    return list(hidden.tolist())


def _json_value(value: Any) -> Any:
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def _arrow_values(values: np.ndarray, pa: Any) -> Any:
    """Names as Arrow holds them; those that it cannot give back alike are texts, as in JSON."""
    plain = values.tolist()
    try:
        made = pa.array(plain)
        if list(map(str, made.to_pylist())) == list(map(str, plain)):  # spans of time are written otherwise
            return made
    except (pa.ArrowException, OverflowError):  # of several types
        pass
    return pa.array([None if value is None else str(value) for value in plain], pa.string())


def _origin(names: Any, values: Any, n: int) -> Origin:
    if isinstance(names, str) or len(names) != len(values) or any(len(value) != n for value in values):
        raise ValueError("ids")
    for one in (*names, *(name for value in values for name in value)):
        if isinstance(one, (list, dict)):
            raise DataError(f"the name {shown(one)} of a person is no text or number. Ask again.")
        str(one).encode()  # half a character is none
    made = [np.empty(n, dtype=object) for _ in names]
    for array, value in zip(made, values, strict=True):
        array[:] = value
    return Origin(tuple(str(name) for name in names), tuple(made))


def _require_sound(got: Recourse) -> None:
    """Raise DataError for numbers and texts of a file that no answer holds."""
    for name, most in _UP_TO.items():
        values = np.asarray(getattr(got, name))
        wrong = values[(values < -_SLACK) | (values > most + _SLACK)]
        if wrong.size:
            raise DataError(f"'{name}' has {wrong[0]:g}, which it cannot be. Ask again.")
    if not np.isfinite(got.cost[got.found]).all():
        raise DataError("'cost' is missing of an option that was found. Ask again.")
    odd = [end for end in got.ended_by if end not in ("", DEADLINE)]
    odd += [why for why in got.reasons[got.readable] if why]
    if odd:
        raise DataError(f"{shown(odd[0])} is no end of a search for somebody who was read. Ask again.")


def _array(values: Any) -> np.ndarray:
    return np.array(values, dtype=object).astype(np.float64) if values else np.empty(0)


def _proved_again(claimed: np.ndarray, got: Recourse) -> Recourse:
    """Return answers with NONE_EXISTS where an earlier one, claimed (n, k), said so and it is proved anew."""
    none, lost = Outcome.NONE_EXISTS, Outcome.NOT_FOUND
    who = np.flatnonzero((claimed[:, 0] == none) & (got.outcome[:, 0] == lost))
    if not who.size:
        return got
    wishes = None if got.preferences is None else got.preferences.take(who)
    again = hook("methods:recommend")(got.problem, got.x[who], k=1, preferences=wishes)
    outcome = got.outcome.copy()
    outcome[who[again.outcome[:, 0] == none]] = none
    return replace(got, outcome=outcome)


def _with_what_was_known(old: Recourse, got: Recourse) -> Recourse:
    """Return answers to the same people with what old ones know of the same options: named acts with months and paths,
    and kinds with the share of models that said yes where the score is the same."""
    one, other = got.action[:, :, None], old.action[:, None]
    same = ((one == other) | (np.isnan(one) & np.isnan(other))).all(3)
    same &= got.found[:, :, None] & old.found[:, None]
    if (old.steps != "").any():
        who, slot, before = _pairs(same & (old.steps != "")[:, None])
        steps, months = np.full(got.outcome.shape, "", dtype=object), got.months.copy()
        path = np.full((*got.outcome.shape, *old.path.shape[2:]), np.nan)
        steps[who, slot], months[who, slot] = old.steps[who, before], old.months[who, before]
        path[who, slot] = old.path[who, before]
        got = replace(got, steps=steps, months=months, path=path)
    if (old.kind != "").any() and not old.unchecked:
        score = np.isclose(got.score[:, :, None], old.score[:, None], rtol=1e-9, atol=1e-9)
        who, slot, before = _pairs(same & score)
        kind, lasts = np.full(got.outcome.shape, "", dtype=object), np.full(got.outcome.shape, np.nan)
        kind[who, slot], lasts[who, slot] = old.kind[who, before], old.lasts[who, before]
        got = replace(got, kind=kind, lasts=lasts)
    return got


def _pairs(same: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return people, slots, and the first slot (n, k, k) that is the same, wherever one is."""
    who, slot = np.nonzero(same.any(2))
    return who, slot, same[who, slot].argmax(1)


def _longer(path: np.ndarray, longest: int) -> np.ndarray:
    """(n, k, s, d) -> (n, k, longest, d), filled up with NaN."""
    more = longest - path.shape[2]
    return np.pad(path, ((0, 0), (0, 0), (0, more), (0, 0)), constant_values=np.nan)


def _arrow_error() -> type[Exception]:
    """What pyarrow raises about a file, where it was needed at all."""
    found: type[Exception] = getattr(sys.modules.get("pyarrow"), "ArrowException", ValueError)
    return found


def _outcomes(names: Any, k: int) -> np.ndarray:
    if any(len(row) != k for row in names):  # before room is made for what nobody has
        raise ValueError("k")
    out = np.empty((len(names), k), dtype=object)
    for i, row in enumerate(names):
        out[i] = [Outcome[name] for name in row]
    return out


def _kinds(texts: Any) -> np.ndarray:
    """Kinds as files hold them, in any nesting. Raises: ValueError for one that is not known."""
    out = np.array(texts, dtype=object)
    for text in out.ravel():
        if text != "" and any(part not in KINDS for part in str(text).split("+")):
            raise ValueError("kind")
    return out


def _texts(texts: Any) -> np.ndarray:
    """Texts as files hold them, in any nesting. Raises: ValueError for what is none."""
    out = np.array(texts, dtype=object)
    if not all(isinstance(text, str) for text in out.ravel()):
        raise ValueError("texts")
    return out


def _preferences(data: Any, schema: Schema, n: int) -> Preferences | None:
    if data is None:
        return None
    from wayforward.preferences import Preferences

    try:
        return Preferences.from_dict(schema, data, n)
    except PreferencesError:
        raise ValueError("preferences") from None


def require_option(recourse: Recourse, option: object) -> None:
    """Raise DataError where there is no option of this number."""
    if not is_integer(option) or not 0 <= option < recourse.k:
        raise DataError(f"There is no option {shown(option)}; options are numbered 0 to {recourse.k - 1}.")
