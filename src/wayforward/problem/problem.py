"""The question that every method answers, and the only judge of the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from wayforward.errors import DataError, ProblemError, require_kind
from wayforward.language import one_line
from wayforward.lazy import cached_property
from wayforward.portable import Portable
from wayforward.problem.confidence import Confidence
from wayforward.problem.disclosure import Disclosure
from wayforward.problem.margin import small_errors
from wayforward.problem.minimal import minimal_options
from wayforward.problem.options import Options, cheapest
from wayforward.problem.population import Population
from wayforward.problem.proofs import out_of_reach
from wayforward.problem.reach import CommonReach
from wayforward.problem.robust import Retraining, Robust
from wayforward.problem.robust.base import Together
from wayforward.problem.target import BoundTarget, Target
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.recourse import Outcome, Recourse
from wayforward.schema import Schema, pandas_types
from wayforward.schema.notebook import small_table
from wayforward.shapes import (
    Actions,
    FeatureMask,
    Mask,
    People,
    PerFeature,
    PerPerson,
    PersonMask,
    Points,
    Rows,
    Who,
)
from wayforward.streams import keys_of
from wayforward.world.base import leads_nowhere

if TYPE_CHECKING:
    from wayforward.model import Model
    from wayforward.preferences import Preferences
    from wayforward.problem.cost import Cost
    from wayforward.problem.plausibility import Plausibility
    from wayforward.world import World

_NATIVE_CHUNK = 65_536
_INSTANT = 1e-6  # months: rounding
_CLEAR = 0.01  # log-odds; far beyond what a verified fast path may be off
_TYPICAL = 512  # reference people among whom refused ones are looked for
_BY_CONDITION, _BY_SCHEMA = (
    ("reference_accepted",),
    ("descendants", "never_moves", "range_widths"),
)  # cached, and what they hang on
T = TypeVar("T")


@public
class Problem(Portable):
    """Schema, model, target, world, cost and plausibility: what a person wants and what the world allows.

    schema: the features, who may change what, the rules. model: anything that `wf.wrap` takes. target: what a yes is.
    data: a table of people (extra columns such as the label are ignored) or an (N, d) array; methods that start from
    observed people, percentile costs and plausibility need it. world: what follows from an action; left out, nothing
    else moves. cost: effort of an action; left out, the sum of changes, each as a share of its range. plausibility:
    left out, only the domain counts; given, every option must satisfy it. confidence: in a world that is uncertain,
    how sure an option must be: 0.95 for "succeeds with probability at least 0.95", or a `Confidence`. robust: what an
    option must withstand besides: other weights, other models, errors in carrying it out (`WithinDelta`, `AllModels`,
    `UnderNoise`, `Stable`, or a list of them). Whom the model accepts as they are needs nothing. retraining: how the
    model is trained again on `data`, for options that last (`wf.recommend(kinds=...)`); of it alone nothing follows.

    margin: the share of plans alike in which an option must still be a yes, if a figure is a little off, such as 0.9
    (see `wayforward.problem.margin`). least_change: no option changes a feature by less than the schema says is worth
    an effort; None: every change counts. disclosure: what options must not give away (`Disclosure`).

    Example: ``Problem(schema, pipeline, wf.Target(favourable=1), data=train)``.
    Raises: ProblemError, DataError, ModelError, WorldError.
    """

    least_change_source: Literal["schema"] | None = "schema"  # also of problems stored by earlier versions
    disclosure: Disclosure | None = None

    def __init__(
        self,
        schema: Schema,
        model: Any,
        target: Target,
        data: Any = None,
        *,
        world: World | None = None,
        cost: Cost | None = None,
        plausibility: Plausibility | None = None,
        confidence: float | Confidence | None = None,
        robust: Robust | Sequence[Robust] | None = None,
        least_change: Literal["schema"] | None = "schema",
        margin: float | None = None,
        retraining: Retraining | None = None,
        disclosure: Disclosure | None = None,
    ) -> None:
        from wayforward.model import wrap
        from wayforward.problem.cost import LpMix
        from wayforward.world import Independent

        if not isinstance(schema, Schema):
            raise ProblemError(
                f"schema is a {type(schema).__name__}. Give a wayforward.Schema; Schema.infer(table) makes one."
            )
        if not isinstance(target, Target):
            raise ProblemError(
                f"target is {target!r}. Give a wayforward.Target, such as Target(favourable=1)."
            )
        for name, part, able, example in (
            ("world", world, "bind", "wf.SCM({...}); wf.world.load_world opens a saved one"),
            ("cost", cost, "fit", "wayforward.problem.cost.LpMix(l1=1.0)"),
            ("plausibility", plausibility, "fit_problem", "wayforward.problem.Neighbours()"),
        ):
            if part is not None and (isinstance(part, type) or not hasattr(part, able)):
                raise ProblemError(f"{name}={part!r:.60} is no {name}. Give one, such as {example}.")
        if least_change not in ("schema", None):
            raise ProblemError(
                f"least_change={least_change!r} is not known. Use 'schema', which names the least changes of "
                "features, or None, with which every change counts."
            )
        self.schema = schema
        self.least_change_source = least_change
        self.table_left = False  # True: the table of observed people was left in another process
        self._reference: People | None = None if data is None else schema.encode(data, "reference")
        self.column_types: dict[str, Any] = pandas_types(
            data
        )  # of the observed table, for what goes back out
        self.model: Model = target.decided_by(wrap(model, schema, verify_on=_some(self.reference)))
        self.model.schema.require_read_alike(
            schema, "The model was wrapped with another schema", "Wrap it again with this one.", ProblemError
        )
        self.target = target
        self.bound_target: BoundTarget = target.bind(self.model)
        self.world: World = (Independent() if world is None else world).bind(schema)
        self.independent = self.world.nothing_follows and not (schema.rules and schema.compiled_rules.links)
        self.cost: Cost = (LpMix(l1=1.0) if cost is None else cost).fit(schema, self.reference)
        self._shared: dict[Hashable, Any] = {}
        self.confidence = Confidence.of(confidence)
        self.robust: Robust | None = None
        self.plausibility: Plausibility | None = None
        if plausibility is not None:
            self.plausibility = plausibility.fit_problem(self)
        condition = Robust.of(robust)
        self.robust = None if condition is None else condition.fit(self)
        if margin is not None:
            self.robust = self.with_(margin=margin).robust
        if retraining is not None:
            require_kind(retraining, Retraining, "retraining", ProblemError)
        self.retraining = (
            None if retraining is None else retraining.bound(self, data)
        )  # of people as observed
        if disclosure is not None:
            self._withhold(disclosure)

    def with_(
        self,
        *,
        schema: Schema | None = None,
        further: Robust | None = None,
        margin: float | None = None,
        plausibility: Plausibility | None = None,
        device: str | None = None,
        disclosure: Disclosure | None = None,
        cost: Cost | None = None,
    ) -> Problem:
        """Return a copy with other parts; this problem stays as it is.

        schema: the same columns with other rules of who may change what. further: one more condition that options must
        withstand. margin: the share of plans alike in which they must hold. plausibility: a fitted one. device: where
        torch evaluates the model's network for searches (see `Model.on`); the model itself judges as before.
        disclosure: what options must not give away, besides what they must not already. cost: another effort of an
        action. What was shared (see `shared`) stays shared unless schema or cost change.
        """
        other = copy(self)
        same = schema is None and disclosure is None and cost is None
        for name in _BY_CONDITION if same else (*_BY_CONDITION, *_BY_SCHEMA):
            vars(other).pop(name, None)  # worked out anew
        if not same:
            other._shared = {}
        if schema is not None:
            self.schema.require_read_alike(
                schema, "The problem has another schema", "Make a Problem with this one.", ProblemError
            )
            other.schema = schema
        if cost is not None:
            other.cost = cost.fit(other.schema, self._reference)
        if plausibility is not None:
            other.plausibility = plausibility
        if device is not None:
            other.model = self.model.on(device)
        for condition in (further, None if margin is None else small_errors(self, margin)):
            if condition is None:
                continue
            other._ask_for(condition)
        if disclosure is not None:
            other._withhold(disclosure)
        return other

    def _ask_for(self, condition: Robust) -> None:
        fitted = condition.fit(self)
        self.robust = fitted if self.robust is None else Together((self.robust, fitted))

    def _withhold(self, disclosure: Disclosure) -> None:
        """Hold every option to what it must not give away: by a coarser schema, and by conditions."""
        if not isinstance(disclosure, Disclosure):
            raise ProblemError(
                f"disclosure={disclosure!r:.60} is no Disclosure. Use wayforward.problem.Disclosure(crowd=5)."
            )
        self.schema = disclosure.on_grid(self.schema, self._reference)
        self.disclosure = disclosure.fit(self)
        if self._reference is not None and disclosure.epsilon:
            self._reference = disclosure.starts(self.schema, self._reference)
            for name in ("_reference_decision", "reference_reached", "reference_accepted"):
                vars(self).pop(name, None)
        for condition in self.disclosure.conditions():
            self._ask_for(condition)

    def asking_no_more(self) -> Problem:
        """Return a copy that asks for the decision alone: no robustness, no plausibility, no confidence. Whatever is an
        option here is one there, at the same cost, so that a bound on the costs there is one here."""
        other = copy(self)
        for name in _BY_CONDITION:
            vars(other).pop(name, None)
        other.robust = other.plausibility = other.confidence = other.disclosure = None
        return other

    def decided_by(self, model: Model, target: Target) -> Problem:
        """Return a copy with another model and target; who of the observed people was accepted stays as it is.

        For a model that stands in for the real one in a search.
        """
        other = copy(self)
        vars(other).pop("slack", None)
        other.model, other.target, other.bound_target = model, target, target.bind(model)
        return other

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that this key was asked for: models that several methods share."""
        if key not in self._shared:
            self._shared[key] = make()
        got: T = self._shared[key]
        return got

    # -- other processes -----------------------------------------------------------------------------------

    def without_table(self) -> Problem:
        """Return a copy that judges and searches as this one, without the observed people, for another process.

        It knows the range of each feature, whose ends are somebody's own values, and what cost and plausibility know of
        people: it is for processes of one's own. Whoever asks for the people themselves gets a ProblemError.
        """
        other = copy(self)
        if self._reference is not None:
            vars(other)["observed_range"] = self.observed_range
            vars(other)["range_widths"] = self.range_widths  # of small errors, and so of room
            for name in ("_reference_decision", "reference_reached", "reference_accepted"):
                vars(other).pop(name, None)
            other._reference, other.table_left = None, True
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Return the question without what can be worked out anew, and without what only its own process trains."""
        state = {k: v for k, v in vars(self).items() if k != "reference_accepted"}
        return state | {"_shared": {}, "retraining": None}

    def _repr_html_(self) -> str:
        parts = {
            "model": self.model.name, "target": self.target.describe(), "features": self.schema.d,
            "world": "independent" if self.independent else type(self.world).__name__, "cost": self.cost.unit,
            "plausibility": type(self.plausibility).__name__ if self.plausibility else "domain only",
        }  # fmt: skip
        return small_table("Problem", ("part", "is"), list(parts.items()))

    def __repr__(self) -> str:
        n = None if self._reference is None else len(self._reference)
        people = "no people" if n is None else f"{n:,} people"
        model, target = one_line(self.model.name), self.target.describe()
        return f"Problem({self.schema.d} features, model {model}, target {target}, {people})"

    # -- reference people ----------------------------------------------------------------------------------

    @property
    def reference(self) -> People | None:
        """(N, d) observed people, or None. Raises: ProblemError where the table was left behind."""
        if self.table_left:
            raise ProblemError(
                "This problem came from another process without its table of observed people. Fit the method where "
                "the table is, or send the problem itself."
            )
        return self._reference

    def require_reference(self) -> People:
        """Return the (N, d) observed people. Raises: ProblemError where the problem was given no table."""
        if self.reference is None:
            raise ProblemError(
                "This needs observed people. Give the problem a table: Problem(..., data=train)."
            )
        return self.reference

    @cached_property
    def reference_reached(self) -> Mask:
        """(N,) bool: reference people that the model accepts; predicted once.

        By the fast path of a classifier where there is one and it is clear; the model itself decides the others.
        """
        rows = self.require_reference()
        if not self.model.has_fast_path or self.model.task == "regression":
            return self._reference_decision[0]
        score = self.bound_target.score(self.model.outputs(rows))
        yes, close = score > 0, np.flatnonzero(~(np.abs(score) > _CLEAR))
        if close.size:
            yes[close] = self.reached(rows[close])[0]
        return np.asarray(yes)

    @property
    def reference_value(self) -> PerPerson:
        """(N,) probability or prediction of reference people, by the model itself; predicted once."""
        return self._reference_decision[1]

    @cached_property
    def _reference_decision(self) -> tuple[Mask, PerPerson]:
        return self.reached(self.require_reference())

    @cached_property
    def reference_accepted(self) -> People:
        """(R, d) reference people that the model accepts; those whose yes is robust, if it asks and some are."""
        rows = np.asarray(self.require_reference()[self.reference_reached])
        if self.robust is not None and len(rows):
            people, who = self.population(rows), np.arange(len(rows))
            lasting = self.robust.screen(
                people, who, rows, self.bound_target.score(people.outputs(who, rows))
            )
            rows = rows[lasting] if lasting.any() else rows
        return rows

    @cached_property
    def observed_range(self) -> tuple[np.ndarray, np.ndarray]:
        """(d,) least and greatest value seen in the reference (the schema's bounds where there is none)."""
        if self.reference is None:
            return np.where(np.isfinite(self.schema.low), self.schema.low, np.nan), np.where(
                np.isfinite(self.schema.high), self.schema.high, np.nan
            )
        least, most = np.fmin.reduce(self.reference, axis=0), np.fmax.reduce(self.reference, axis=0)
        empty = np.isnan(least)  # a column of nothing else
        return np.where(empty, 0.0, least), np.where(empty, 0.0, most)

    def typical_people(self, each: int = 2) -> People:
        """(n, d) a few people whom the model refuses, refused ones first, then a few whom it accepts, to try things on.

        Taken from the reference; without one, or where nobody there is refused, anybody whom the schema allows.
        """
        from wayforward.model.verify import sample_rows

        pools = [] if self.reference is None else [self.reference[:_TYPICAL]]
        pools.append(sample_rows(self.schema, 64))
        for rows in pools:
            accepted = self.reached(rows)[0]
            if not accepted.all():
                break
        return np.concatenate([rows[~accepted][:each], rows[accepted][:each]])

    # -- the model and the world ---------------------------------------------------------------------------

    @cached_property
    def slack(self) -> float:
        """How far beyond zero a fast score must be to count, so that the native model agrees."""
        return self.model.tolerance

    @cached_property
    def descendants(self) -> np.ndarray:
        """(d, d) bool: acting on the row feature can move the column feature (by the world or by a linkage)."""
        moved = np.asarray(self.world.descendants, dtype=bool).copy()
        if self.schema.rules:
            for link in self.schema.compiled_rules.links:
                moved[link.source_index, link.target_index] = True
        while moved.any():  # transitive closure
            more = moved | (moved.astype(np.float32) @ moved.astype(np.float32) > 0)
            if (more == moved).all():
                break
            moved = more
        return moved

    @property
    def least_change(self) -> PerFeature:
        """(d,) options change a feature by so much at least, or not at all; 0 where every change counts."""
        return self.schema.least_change if self.least_change_source else np.zeros(self.schema.d)

    @property
    def effects(self) -> np.ndarray:
        """(d, d) bool: acting on the row's feature may move the column's, another one."""
        return np.asarray(self.descendants & ~np.eye(self.schema.d, dtype=bool))

    @cached_property
    def range_widths(self) -> PerFeature:
        """(d,) the width of each feature's range, as the `LpMix` distance measures it."""
        from wayforward.problem.cost import LpMix

        return LpMix().fit(self.schema, self.reference).fitted_scales.span

    @property
    def leads(self) -> dict[str, Any]:
        """What follows from what, by name, for answers that no longer know their problem; empty where nothing does."""
        if self.independent:
            return {}
        led, names = self.effects, self.schema.names
        return {
            "leads": {
                names[j]: [names[i] for i in np.flatnonzero(led[j])] for j in np.flatnonzero(led.any(1))
            }
        }

    @cached_property
    def never_moves(self) -> FeatureMask:
        """(d,) bool: features that no act changes, neither directly nor as a consequence."""
        actionable = self.schema.actionable
        moved = (actionable.astype(np.int64) @ self.descendants.astype(np.int64)) > 0
        return np.asarray(~actionable & ~moved)

    def consequences(self, before: Points, action: Points, world: World | None = None) -> np.ndarray:
        """before (..., d) and action (..., d), NaN where left alone -> after (..., d) with everything that follows.

        world: another one over the same schema, in place of the problem's.
        """
        if world is None and self.independent:
            return np.where(np.isnan(action), before, action)
        after = (self.world if world is None else world).consequences(before, action)
        after = np.where(np.isinf(after), np.nan, after)
        if self.schema.rules and self.schema.compiled_rules.links:
            acted = ~np.isnan(action)
            dragged = self.schema.compiled_rules.drag(before, after, acted)
            moved = self.schema.differs(dragged, after) & ~acted
            after = np.where(moved, self.schema.round(dragged), after)
        return np.asarray(after)

    def standing(self, before: Points, after: Points) -> Points:
        """(..., d) each -> after, or before where the act leads nowhere: what a model may be shown of it."""
        return np.where(leads_nowhere(before, after)[..., None], before, after)

    def read(self, table: Any, what: str = "people") -> tuple[People, dict[int, str]]:
        """As `Schema.read`; a row that the world cannot have brought forth cannot be read either.

        That is who has a value from which its noise cannot be worked out, where an act of theirs may need it.
        """
        return self.set_aside(*self.schema.read(table, what))

    def set_aside(self, x: People, reasons: dict[int, str]) -> tuple[People, dict[int, str]]:
        """What `Schema.read` gave, (n, d) and row number -> reason, with whom the world cannot have brought forth."""
        found = self._impossible(x, reasons)
        if found:
            x = x.copy()
            x[list(found), [j for j, _ in found.values()]] = np.nan
        return x, reasons | {i: reason for i, (_, reason) in found.items()}

    def encode(self, table: Any, what: str = "people") -> People:
        """As `Schema.encode`. Raises: DataError for a row that the world cannot have brought forth, too."""
        x = self.schema.encode(table, what)
        for i, (_, reason) in self._impossible(x).items():
            raise DataError(f"Row {i} of the {what} table: {reason}")
        return x

    def _impossible(self, x: People, unread: Collection[int] = ()) -> dict[int, tuple[int, str]]:
        """Row number -> the feature at fault and why: rows (n, d), besides those not read, that cannot be."""
        if self.world.nothing_follows:
            return {}
        needed = self.schema.actionable.astype(np.int64) @ self.effects.astype(np.int64) > 0
        found = self.world.impossible(x, needed) if needed.any() else {}
        return {i: found[i] for i in sorted(found) if i not in unread}

    def months(self, before: Points, action: Points, after: Points) -> np.ndarray:
        """(..., d) each -> (...) months until a plan is done: acts run side by side, what follows waits for its causes.

        By the pace and the delay of the features; what says neither takes no time.
        """
        schema = self.schema
        done = schema.months(before, action)
        if schema.delay.any() and not self.independent:
            follows = np.isnan(action) & schema.differs(after, before)
            causes = self.effects
            for j in np.argsort(causes.sum(0), kind="stable"):  # causes first
                wait = np.where(causes[:, j], done, 0.0).max(-1)
                done[..., j] = np.where(follows[..., j], wait + schema.delay[j], done[..., j])
        return np.asarray(done.max(-1))

    def reached(self, x: Any) -> tuple[Mask, np.ndarray]:
        """(m, d) or a table -> (m,) bool and (m,) probability or prediction, by the model itself, in its precision."""
        # A table, or an array with parts that are hidden.
        if type(x) is not np.ndarray or x.dtype != np.float64 or x.ndim != 2:
            x = self.schema.encode(x, "people")
        yes, value = np.empty(len(x), dtype=bool), np.empty(len(x))
        for start in range(0, len(x), _NATIVE_CHUNK):
            part = slice(start, start + _NATIVE_CHUNK)
            outputs, labels = self.model.native(x[part])
            yes[part] = self.bound_target.reached(outputs, labels)
            value[part] = self.bound_target.value(outputs)
        return yes, value

    def presumed(self, x: Rows) -> Mask | None:
        """(m, d) -> (m,) bool: `reached` as the fast path sees it, which is nearly always right.

        None where there is no fast path. For who would begin before the model itself has spoken, and looks later.
        """
        if not self.model.has_fast_path:
            return None
        return self.bound_target.turned(self.model.outputs(x))

    @property
    def demanding(self) -> bool:
        """True if options must keep a promise that the world makes uncertain."""
        return self.confidence is not None and self.world.uncertain

    def drawn(self, before: Rows, action: np.ndarray, m: int, keys: np.ndarray) -> np.ndarray:
        """before and action (q, d), keys (q,) -> (m, q, d): what may follow, linked features included."""
        after = np.asarray(self.world.draws(before, action, m, keys))
        after = np.where(np.isinf(after), np.nan, after)
        if self.schema.rules and self.schema.compiled_rules.links:
            acted = ~np.isnan(action)
            for i in range(m):
                dragged = self.schema.compiled_rules.drag(before, after[i], acted)
                moved = self.schema.differs(dragged, after[i]) & ~acted
                after[i] = np.where(moved, self.schema.round(dragged), after[i])
        return after

    def chance(self, before: Rows, action: Rows) -> tuple[np.ndarray, Mask]:
        """before and action (q, d) -> (q,) share of the draws that reach the target, (q,) bool: the promise is kept.

        Every row has draws of its own, which hang on the person's values and on the action alone. In a certain world
        the share is NaN and every promise is kept.
        """
        q = len(before)
        share, holds = np.full(q, np.nan), np.ones(q, dtype=bool)
        if not self.world.uncertain or not q:
            return share, holds
        demand = self.confidence or Confidence(0.5)
        m = demand.draws
        keys = keys_of(np.concatenate([before, action], axis=1), 0)
        step = max(1, _NATIVE_CHUNK // m)
        for start in range(0, q, step):
            part = slice(start, start + step)
            after = self.drawn(before[part], action[part], m, keys[part])
            nowhere = leads_nowhere(before[part], after)
            yes, value = self.reached(self.standing(before[part], after).reshape(-1, self.schema.d))
            yes, value = yes.reshape(m, -1) & ~nowhere, value.reshape(m, -1)
            share[part] = yes.mean(0)
            if self.confidence is not None:
                holds[part] = self.confidence.holds(yes, value, self.bound_target)
        return share, holds

    def no_preferences(self, n: int) -> Preferences:
        """Return the wishes of n people who have none; those of one person are kept, for whoever asks alone."""
        from wayforward.preferences import Preferences

        return (
            self.shared("no preferences", lambda: Preferences.none(self.schema, 1))
            if n == 1
            else Preferences.none(self.schema, n)
        )

    @property
    def reach(self) -> CommonReach:
        """How far actions may go, before anybody's place and wishes."""
        return self.shared("reach", lambda: CommonReach(self.schema, self.observed_range))

    def population(self, x: People, preferences: Preferences | None = None) -> Population:
        """The problem for some people, as a search sees it."""
        return Population(self, x, preferences)

    # -- the judge -----------------------------------------------------------------------------------------

    @cached_property
    def soft(self) -> Mask:
        """(d,) bool: the features on which an act is a shift on top of what its causes give; see `World.soft`."""
        return np.array([name in self.world.soft for name in self.schema.names], dtype=bool)

    def judge_rows(self, people: Population, who: np.ndarray, action: Rows, after: Rows) -> dict[str, Mask]:
        """(m,) bool for each question about rows that needs no model: legal, rules, wishes.

        legal: values exist (schema; a step binds what is set, not what follows) and are known (what follows may not be,
        see `World.consequences`), nothing immutable differs, no special state and no missing value that stays missing
        is left, only actionable features are acted on, in their direction, and by their least change at least. rules:
        no rule is surely broken. wishes: personal limits, frozen features, allowed levels and the number of changes are
        kept. A feature that a person froze may still move as a consequence. Of a soft act, which ends elsewhere than it
        is set, bounds, limits and levels hold for both.
        """
        schema, wish = self.schema, people.wishes
        before = people.x[who]
        acted = ~np.isnan(action)
        with np.errstate(invalid="ignore"):
            slack = schema.slack
            differs = schema.differs(after, before)
            judged = [(after, differs)]  # values that limits hold for, and where they are new
            fixed = acted & ~self.soft if self.world.soft else acted
            good = (schema.legal(after, acted=fixed) & np.isfinite(after)) | ~differs
            if self.world.soft:
                shifted = acted & self.soft & schema.differs(action, before)
                good &= ~shifted | schema.legal(action)
                judged.append((action, shifted))
            backward = (action - before) * schema.direction < -slack
            good &= ~((differs & schema.immutable) | (acted & (backward | ~schema.actionable)))
            if schema.may_be_stuck.size:
                good &= ~(schema.stuck(before) & differs)
            if self.independent:
                good &= ~differs | acted
            good &= ~people.too_little(who, action)
            legal = good.all(1)
            wishes = np.ones(len(who), dtype=bool)
            if wish is not None:
                moved = acted & schema.differs(action, before)
                low, high = wish.low[who] - slack, wish.high[who] + slack
                broken = acted & wish.frozen[who]
                for value, new in judged:
                    broken |= new & ((value < low) | (value > high))
                wishes = ~broken.any(1)
                wishes &= moved.sum(1) <= people.max_changes[who]
                if wish.hurried:
                    wishes &= self.months(before, action, after) <= wish.time[who] + _INSTANT
        for j, ok in {} if wish is None else wish.levels.items():
            for value, new in ((values[:, j], news[:, j]) for values, news in judged):
                index = np.where(np.isnan(value), 0, value).astype(np.int64).clip(0, ok.shape[1] - 1)
                wishes &= (ok[who, index] & ~np.isnan(value)) | ~new
        rules = np.ones(len(who), dtype=bool)
        if schema.rules:
            rules = np.asarray(schema.compiled_rules.satisfied(before, after))
        return {"legal": legal, "rules": rules, "wishes": wishes}

    def check(
        self,
        x: People,
        action: Actions,
        k: int = 1,
        *,
        preferences: Preferences | None = None,
        proved: PersonMask | None = None,
        decision: tuple[PersonMask, PerPerson] | None = None,
        people: Population | None = None,
        prove: bool = False,
        minimal: bool = False,
        method: str = "",
        seconds: float = 0.0,
        meta: dict[str, Any] | None = None,
    ) -> Recourse:
        """Judge proposals (n, k', d) on the exact rows they lead to; keep the k cheapest distinct ones of each person.

        The only place that says FOUND: the native model decides the returned row to be a yes, the row is legal, no
        rule and no wish is broken, it is plausible where the problem asks for it, and as sure and as robust as it
        asks. proved (n,): nothing exists for this person (an exact method's claim). decision: what `reached(x)`
        returned; left out, the model is asked about people and options in one call. prove: look for proofs that
        nothing exists where nothing was found. minimal: leave out what an option does not need (see `problem.minimal`);
        a slot that this would make a duplicate goes to the next proposal; `meta["n_shortened"]` counts the options.
        """
        started = time.perf_counter()
        n, _, d = action.shape
        if x.shape != (n, d) or d != self.schema.d:
            raise DataError(
                f"check needs people (n, d) and actions (n, k, d); got {x.shape} and {action.shape}."
            )
        people = self.population(x, preferences) if people is None else people
        options, (accepted, value_before) = self._judged(people, action, decision)
        shortened = 0
        if minimal:
            options, shortened = minimal_options(self, options, people, k)
        best = self._best(options, people, k)
        at = best.who, rank_in_run(best.who)
        found = np.zeros(n, dtype=bool)
        found[best.who] = True
        impossible = np.zeros(n, dtype=bool) if proved is None else proved & ~found
        open_ = np.flatnonzero(~(found | impossible | accepted)) if prove else best.who[:0]
        if open_.size:
            impossible[open_[out_of_reach(people.take(open_))]] = True
        outcome = np.full((n, k), Outcome.NOT_FOUND, dtype=object)
        outcome[at] = Outcome.FOUND
        outcome[impossible] = Outcome.NONE_EXISTS
        outcome[accepted] = Outcome.ACCEPTED

        def filled(value: np.ndarray, empty: float) -> np.ndarray:
            out = np.full((n, k, *value.shape[1:]), empty)
            out[at] = value
            return out

        plain = best.cost if people.plain_weight else people.plain_cost(best.who, best.action)
        after, score = filled(best.after, np.nan), filled(best.value, np.nan)
        cost, plain_cost = filled(best.cost, np.inf), filled(plain, np.inf)
        months = np.empty((0, 0))
        if self.schema.timed:
            months = filled(self.months(x[best.who], best.action, best.after), np.nan)
        if accepted.any():
            after[accepted, 0], cost[accepted, 0], plain_cost[accepted, 0] = x[accepted], 0.0, 0.0
            score[accepted, 0] = value_before[accepted]
        return Recourse(
            schema=self.schema,
            x=x,
            action=filled(best.action, np.nan),
            after=after,
            cost=cost,
            plain_cost=plain_cost,
            chance=filled(best.chance, np.nan),
            months=months,
            score=score,
            outcome=outcome,
            seconds=np.full(n, (seconds + time.perf_counter() - started) / n),
            score_before=value_before,
            method=method,
            preferences=preferences,
            meta=({"n_shortened": shortened} if minimal else {})
            | self.leads
            | ({} if meta is None else meta),
            problem=self,
        )

    def _judged(
        self, people: Population, action: Actions, decision: tuple[PersonMask, PerPerson] | None
    ) -> tuple[Options, tuple[PersonMask, PerPerson]]:
        """Judge the proposals (n, k', d) of those who are refused; return the good ones, and everybody's decision."""
        proposed = ~np.isnan(action).all(2)
        if decision is not None:
            proposed &= ~decision[0][:, None]
        who, slot = np.nonzero(proposed)
        every, good, decision = self.judge_options(people, who, action[who, slot], decision)
        return (every if good.all() else every.take(np.flatnonzero(good))), decision

    def judge_options(
        self,
        people: Population,
        who: Who,
        rows: Rows,
        decision: tuple[PersonMask, PerPerson] | None,
    ) -> tuple[Options, Mask, tuple[PersonMask, PerPerson]]:
        """Judge actions (m, d) of refused people: the options that they are, (m,) bool: good, everybody's decision."""
        x = people.x[who]
        if self.independent:  # setting a value that is there already is not an act in this world
            rows = np.where(self.schema.differs(rows, x), rows, np.nan)
        after = self.consequences(x, rows)
        judged = self.judge_rows(people, who, rows, after)
        good = judged["legal"] & judged["rules"] & judged["wishes"] & ~np.isnan(rows).all(1)
        value, chance = np.full(len(who), np.nan), np.full(len(who), np.nan)
        ask = np.flatnonzero(good)
        if decision is None:
            yes, seen = self.reached(np.concatenate([people.x, after[ask]]))
            decision, yes, seen = (yes[: people.n], seen[: people.n]), yes[people.n :], seen[people.n :]
            good[ask], value[ask] = yes & ~decision[0][who[ask]], seen
        elif ask.size:
            good[ask], value[ask] = self.reached(after[ask])
        if self.plausibility is not None and good.any():
            good[good] = people.plausible(who[good], after[good])
        if self.robust is not None and good.any():
            ask = np.flatnonzero(good)
            good[ask] = self.robust.holds(self, x[ask], rows[ask], after[ask])
        if self.demanding and good.any():
            ask = np.flatnonzero(good)
            chance[ask], good[ask] = self.chance(x[ask], rows[ask])
        return Options(who, rows, after, value, chance, people.cost(who, rows)), good, decision

    def _best(self, options: Options, people: Population, k: int) -> Options:
        """Keep each person's k cheapest distinct options, cheapest first, with their chance in an uncertain world."""
        best = options
        if (np.diff(options.who) == 0).any():  # somebody has several
            best = options.take(cheapest(options, k, self.independent))
        if self.world.uncertain and not self.demanding:
            best = replace(best, chance=self.chance(people.x[best.who], best.action)[0])
        return best


def _some(reference: People | None) -> People | None:
    """A few hundred of the reference people, evenly; None where there are none."""
    return None if reference is None or not len(reference) else reference[:: -(-len(reference) // 512)]
