"""The rounds: people arrive, apply, get advice, act on it or not, and come back.

Everything about people is arrays of people. Every random draw belongs to a person and a round (`Streams`), so two
policies meet the same people with the same luck, and a run that stopped goes on as if it had not.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, FileFormatError, WayforwardError, numbers_in, require_kind
from wayforward.groups import Groups
from wayforward.impact.segregation.dimensions import DIMENSIONS, Areas, land, places, segregation
from wayforward.impact.society.checkpoint import read_checkpoint, write_checkpoint
from wayforward.impact.society.history import FLOWS, History
from wayforward.impact.society.scenario import Scenario
from wayforward.impact.society.setting import Setting, level_titles, setting_of
from wayforward.plain_files import as_path, make_folder
from wayforward.public import public
from wayforward.schema import SchemaWarning
from wayforward.shapes import Floats, Ints, Mask
from wayforward.streams import Streams, keys_of
from wayforward.workers import check_workers

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.problem import Problem
    from wayforward.workers import Kind

OPEN, ACTING, GRANTED, LEFT = range(4)

# What is drawn for a person in a round; `tag` keeps the draws apart.
_REAPPLY, _TIE, _LEAVE, _AGREE, _DELAY, _ERROR, _LEVEL = range(7)
_LUCK = 0xFFFF_FFFF
_FILE_KEYS = {"advised": "told"}  # where a checkpoint names an array otherwise


class Society:
    """The people and the lender between two rounds. `simulate` makes one and lets it go on.

    Arrays of N people, in order of arrival: x (N, d) where they stand; member (N,) group; status (N,): 0 open,
    1 acting, 2 granted, 3 left; act, goal (N, d) the action of their plan, and where it should lead; cost (N,) of it;
    due (N,) round of their return; version (N,) of the model that the plan is for (-1: none); advised (N,) ever; since
    (N,) round in which they were granted (-1: not); applied (N,) ever; fixed (N,) outcome that is a label.
    """

    _ARRAYS = (
        "x", "member", "status", "act", "goal", "cost", "due", "version", "advised", "since", "applied", "entered",
        "fixed",
    )  # fmt: skip

    def __init__(self, scenario: Scenario, setting: Setting, method: str | Method | None = None) -> None:
        from wayforward.methods import Method
        from wayforward.methods import method as named

        self.scenario, self.setting = scenario, setting
        timed = scenario.compliance.round_months is not None
        self._arrays = (*self._ARRAYS, "months") if timed else self._ARRAYS
        if scenario.arrivals and setting.newcomers is None:
            setting.draw(1, 0)  # raises for an attribute that is no feature, before any work
        if scenario.lender.retrain and (
            setting.train is None or setting.outcome is None or setting.train_x is None
        ):
            raise DataError(
                "The lender retrains, and the setting has no train, train_x and train_y, or nobody knows true outcomes "
                "(outcome: none). Give them, or set retrain: 0."
            )
        self._check_amount()
        made: Any = method
        if method is None:
            made = named(scenario.advice.method, **dict(scenario.advice.parameters))
            _check_parameters(made, scenario.advice.parameters)
            if getattr(made, "groups", ...) is None:  # balanced methods: between the groups that are counted
                made.groups = self._groups_of_reference()
        self.method: Method = named(made) if isinstance(made, str) else made
        if not isinstance(self.method, Method):
            raise DataError(f"method={method!r} is neither a name nor a Method.")
        self.fitted = False
        self._version_without_advice = -1  # the model under which the method cannot advise
        self.model_version = 0
        self.trained: tuple[Floats, np.ndarray] | None = None
        self.problem = self._problem_with(setting.problem.model)
        self.round = 0
        self._decided_by = 0
        self.d = setting.problem.schema.d
        self.x = np.empty((0, self.d))
        self.member, self.due, self.version, self.since, self.entered = (
            np.empty(0, np.int64) for _ in range(5)
        )
        self.status = np.empty(0, np.int8)
        self.act, self.goal = np.empty((0, self.d)), np.empty((0, self.d))
        self.cost, self.fixed, self.months = np.empty(0), np.empty(0), np.empty(0)
        self.advised, self.applied = np.empty(0, bool), np.empty(0, bool)
        labels = setting.outcome is not None and not callable(setting.outcome)
        fixed = np.asarray(setting.outcome, np.float64) if labels else np.full(len(setting.x), np.nan)
        self._enter(setting.x, setting.groups.member, fixed)
        self.history = History.empty(
            scenario, setting.groups.name, setting.groups.names, setting.outcome is not None
        )
        self.history.titles = level_titles(setting.groups, setting.problem.schema)
        self._fix_places()
        self._observe()

    # -- people --------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.x)

    def _enter(self, x: Floats, member: Ints, fixed: Floats) -> None:
        n = len(x)
        new: dict[str, Any] = {
            "x": x, "member": member, "status": np.zeros(n, np.int8), "act": np.full((n, self.d), np.nan),
            "goal": np.full((n, self.d), np.nan), "cost": np.full(n, np.nan), "due": np.full(n, -1),
            "version": np.full(n, -1), "advised": np.zeros(n, bool), "since": np.full(n, -1),
            "applied": np.zeros(n, bool), "entered": np.full(n, self.round), "fixed": fixed,
            "months": np.zeros(n),
        }  # fmt: skip
        for name in self._arrays:
            setattr(self, name, np.concatenate([getattr(self, name), new[name]]))
        # a person's luck hangs on when they came, not on what they are like
        self._streams = Streams(keys_of(np.arange(len(self.x), dtype=float)[:, None], self.scenario.seed), 0)

    def _draw(self, who: Ints, what: int, *shape: int) -> Floats:
        return self._streams.uniform(who, *shape, tag=self.round * 16 + what)

    def good(self, who: Ints) -> Mask:
        """Return (m,) bool: these people would do well if they were granted now. All False where nobody knows."""
        outcome = self.setting.outcome
        if outcome is None or not len(who):
            return np.zeros(len(who), dtype=bool)
        if callable(outcome):
            named = getattr(outcome, "__name__", type(outcome).__name__)
            chance = numbers_in(
                outcome(self.x[who]), f"What your outcome function {named} returns", DataError
            )
            if chance.shape != (len(who),) or not ((chance >= 0) & (chance <= 1)).all():
                raise DataError(
                    f"outcome must give one chance from 0 to 1 for each of {len(who)} people; got {chance.shape}."
                )
        else:
            chance = self.fixed[who]
        return np.asarray(self._streams.uniform(who, tag=_LUCK) < chance)

    # -- one round -----------------------------------------------------------------------------------------

    def step(self) -> None:
        """Play one round and write down what happened."""
        began = time.perf_counter()
        s, flow = self.scenario, dict.fromkeys(FLOWS, np.zeros(len(self.history.names) + 1))

        def count(name: str, who: np.ndarray, weight: Floats | None = None) -> None:
            flow[name] = self._by_group(who, weight)

        if s.arrivals and self.round:
            first = len(self)
            self._enter(*self.setting.draw(s.arrivals, s.seed * 1_000_003 + self.round))
            count("arrived", np.arange(first, len(self)))
        returning = np.flatnonzero((self.status == ACTING) & (self.due <= self.round))
        was_good = self.good(returning)
        self._carry_out(returning)

        applies = (self.status == OPEN) & (self._draw(np.arange(len(self)), _REAPPLY) < s.compliance.reapply)
        applies |= (self.status == OPEN) & (self.entered == self.round)
        applies[returning] = True
        applicants = np.flatnonzero(applies)
        yes, score = self._decide(applicants)
        self.applied[applicants] = True
        count("applied", applicants)
        count("eligible", applicants[yes])
        chosen = self._within_capacity(applicants[yes], score[yes], len(applicants))
        self.status[chosen], self.since[chosen] = GRANTED, self.round
        count("given", chosen)
        if self.history.truth:
            good = self.good(chosen)
            count("defaulted", chosen[~good])
            count("earned", chosen, np.where(good, s.lender.interest, -s.lender.loss) * self._amount(chosen))
        count("passed_over", np.setdiff1d(applicants[yes], chosen, assume_unique=True))

        self._count_returns(returning, was_good, applicants[yes], count)
        refused = applicants[~yes]
        count("refused", refused)
        gone = refused[self._draw(refused, _LEAVE) < s.compliance.leave]
        self.status[gone] = LEFT
        count("gone", gone)
        self._advise(np.setdiff1d(refused, gone, assume_unique=True), count)

        if s.lender.retrain and (self.round + 1) % s.lender.retrain == 0:
            self._retrain()
        self.round += 1
        for name, value in flow.items():
            self.history.flows[name] = np.concatenate([self.history.flows[name], value[None]])
        self._observe()
        self.history.seconds.append(round(time.perf_counter() - began, 3))

    def _by_group(self, who: np.ndarray, weight: Floats | None = None) -> Floats:
        """Return counts (or sums) over people by group; the last column has those without a label."""
        g = len(self.history.names)
        member = self.member[who]
        return np.bincount(np.where(member < 0, g, member), weight, minlength=g + 1).astype(np.float64)

    def _decide(self, who: Ints) -> tuple[Mask, Floats]:
        if not len(who):
            return np.empty(0, bool), np.empty(0)
        return self.problem.reached(self.x[who])

    def _within_capacity(self, who: Ints, score: Floats, applied: int) -> Ints:
        capacity = self.scenario.lender.capacity
        if capacity is None:
            return who
        room = int(capacity) if capacity >= 1 else int(capacity * applied)
        order = np.lexsort((self._draw(who, _TIE), -score))
        return np.sort(who[order[:room]])

    def _amount(self, who: Ints) -> Floats:
        """Return what the lender lends to each (m,): the feature that the scenario names, or 1; never below 0."""
        name = self.scenario.lender.amount
        if not name:
            return np.ones(len(who))
        return np.asarray(np.fmax(self.x[who, self.setting.problem.schema.index(name)], 0.0))

    def _check_amount(self) -> None:
        """Raises: DataError where what the lender lends is no number, or below zero for somebody."""
        name, schema = self.scenario.lender.amount, self.setting.problem.schema
        if not name:
            return
        j = schema.index(name)
        amount = self.setting.x[:, j]
        below = int((amount < 0).sum())
        if schema[name].has_levels or schema[name].carried or below:
            why = f"is below 0 for {below:,} of {len(amount):,} people" if below else "holds no numbers"
            raise DataError(
                f"amount is '{name}', which {why}, so nobody can lend as much. Name a feature that holds an amount of "
                "money, or leave it out: 1 is lent to each."
            )

    def _count_returns(self, who: Ints, before: Mask, yes: Ints, count: Callable[..., None]) -> None:
        count("returned", who)
        if not len(who):
            return
        says = np.isin(who, yes, assume_unique=True)
        count("yes", who[says])
        count("held", who[self.problem.reached(self.goal[who])[0]])
        if self.history.truth:
            now = self.good(who)
            count("improved", who[now & ~before])
            count("gamed", who[says & ~now])
            count("righted", who[says & now & before])
            count("harmed", who[before & ~now])

    # -- advice and what people make of it -----------------------------------------------------------------

    def _advise(self, refused: Ints, count: Callable[..., None]) -> None:
        s = self.scenario
        due = refused if s.advice.every else refused[~self.advised[refused]]
        # where neither the person nor the model has changed, the answer has not either
        self._find_plans(due[self.version[due] != self.model_version])
        self.advised[due] = True
        count("advised", due)
        served = due[np.isfinite(self.cost[due])]
        count("served", served)
        count("offered", served, self.cost[served])
        if s.compliance.by == "cost":
            size = self.cost[served]
        else:
            acted = ~np.isnan(self.act[served])
            size = (
                (acted & self.problem.schema.differs(self.act[served], self.x[served])).sum(1).astype(float)
            )
        agreed = served[self._draw(served, _AGREE) < s.compliance.willingness(size)]
        least, most = s.compliance.delay
        wait = least + np.floor(self._draw(agreed, _DELAY) * (most - least + 1)).astype(np.int64)
        length = s.compliance.round_months
        if length is not None:  # whose plan takes longer comes back when it is done
            wait = np.maximum(wait, np.ceil(self.months[agreed] / length - 1e-9).astype(np.int64))
        self.status[agreed], self.due[agreed] = ACTING, self.round + wait
        count("agreed", agreed)
        count("paid", agreed, self.cost[agreed])

    def _find_plans(self, who: Ints) -> None:
        if not len(who):
            return
        known = np.flatnonzero(self.version == self.model_version)
        self.version[who] = self.model_version
        self.act[who], self.goal[who], self.cost[who] = np.nan, np.nan, np.nan
        if not self.fitted and not self._fit_method():
            return
        # people who are alike get the same answer: it is worked out once while the model stays
        everyone = np.concatenate([known, who])
        x = np.ascontiguousarray(self.x[everyone])
        row = x.view(np.dtype((np.void, x.itemsize * self.d))).ravel()
        _, first, kind = np.unique(row, return_index=True, return_inverse=True)
        like = everyone[first[kind[len(known) :]]]
        new = who[like == who]
        if len(new):
            got = self.method.recommend(
                self.x[new], 1, seed=self.scenario.seed, budget=self.scenario.advice.budget
            )
            self.act[new], self.goal[new] = got.action[:, 0], got.after[:, 0]
            self.cost[new] = np.where(got.found[:, 0], got.cost[:, 0], np.nan)
            if self.scenario.compliance.round_months is not None:
                self.months[new] = np.nan_to_num(got.months[:, 0])
        if self.scenario.compliance.round_months is not None:
            self.months[who] = self.months[like]
        self.act[who], self.goal[who], self.cost[who] = self.act[like], self.goal[like], self.cost[like]

    def _fit_method(self) -> bool:
        """Return whether the method can advise under this model; that it never could is the scenario's mistake."""
        if self._version_without_advice == self.model_version:
            return False
        try:
            self.method.fit(self.problem)
        except WayforwardError as error:
            if not self.model_version:
                raise
            warnings.warn(
                f"In round {self.round + 1} nobody gets advice, until the model changes: {error}",
                SchemaWarning,
                stacklevel=2,
            )
            self._version_without_advice = self.model_version
            return False
        self.fitted = True
        return True

    def _carry_out(self, who: Ints) -> None:
        """Let people carry out what they set out to do, as far and as well as they do."""
        if not len(who):
            return
        s, schema = self.scenario.compliance, self.problem.schema
        x, act = self.x[who], self.act[who]
        part = s.part if s.kind == "partial" else 1.0
        if part < 1.0 or s.error > 0:
            number = ~schema.is_categorical
            meant = np.where(number & ~np.isnan(x), x + part * (act - x), act)
            if part < 1.0:
                skip = ~number & (self._draw(who, _LEVEL, self.d) >= part)
                meant = np.where(skip, np.nan, meant)
            if s.error > 0:
                off = self._streams.normal(who, self.d, tag=self.round * 16 + _ERROR)
                span = np.where(np.isfinite(schema.span), schema.span, 1.0)
                meant = np.where(schema.has_levels, meant, meant + s.error * span * off)
            act = self.problem.population(x).snap(np.arange(len(who)), meant)
        world = self.setting.world
        after = self.problem.consequences(x, act) if world is None else world.consequences(x, act)
        moved = ~np.isnan(after) & (
            after != x
        )  # a code that is a state, or a value beyond what was seen, stays
        self.x[who] = np.where(moved, np.clip(after, schema.low, schema.high), x)
        self.status[who], self.version[who] = OPEN, -1

    # -- the lender ----------------------------------------------------------------------------------------

    def _retrain(self) -> None:
        lender, setting = self.scenario.lender, self.setting
        seen = np.flatnonzero(self.status == GRANTED if lender.learns_from == "accepted" else self.applied)
        x, y = self.x[seen], self.good(seen).astype(np.int64)
        assert setting.train_x is not None and setting.train_y is not None
        if lender.keep:
            x = np.concatenate([setting.train_x, x])
            y = np.concatenate([np.asarray(setting.train_y).astype(np.int64), y])
        if len(np.unique(y)) < 2:
            return  # all did well, or all badly: there is nothing to tell apart
        self.trained = (x, y)
        self.model_version += 1
        self._fit_model()

    def _fit_model(self) -> None:
        from wayforward.model import wrap

        assert self.trained is not None
        model = self._train(*self.trained, self.scenario.seed)
        self.problem = self._problem_with(wrap(model, self.setting.problem.schema))
        self.fitted = False

    def _train(self, x: Floats, y: np.ndarray, seed: int) -> Any:
        assert self.setting.train is not None
        try:
            return self.setting.train(x, y, seed)
        except ValueError as error:
            raise DataError(
                f"In round {self.round + 1} no model could be trained on {len(y):,} people, of whom "
                f"{int(np.sum(y)):,} did well. Let the lender retrain later, or say keep: true; for robust: "
                "models, give more people."
            ) from error

    def _problem_with(self, model: Any) -> Problem:
        """Return the problem with this model and with what the scenario demands: balance, and that advice lasts."""
        from wayforward.problem import Balanced, Problem
        from wayforward.problem.robust import Robust, read

        problem, advice = self.setting.problem, self.scenario.advice
        plausibility, robust = problem.plausibility, problem.robust
        if advice.balanced is not None:
            if plausibility is not None:
                raise DataError(
                    "The problem already has a plausibility, and the scenario asks for balanced advice. Leave one out."
                )
            plausibility = Balanced(self._groups_of_reference(), advice.balanced)
        if advice.robust:
            more = read(advice.robust, None if self.setting.train is None else self._retrained_models)
            robust = more if robust is None else Robust.of([robust, more])
        if model is problem.model and plausibility is problem.plausibility and robust is problem.robust:
            return problem
        return Problem(
            problem.schema, model, problem.target, data=problem.reference, world=problem.world,
            cost=problem.cost, plausibility=plausibility, confidence=problem.confidence, robust=robust,
        )  # fmt: skip

    def _retrained_models(self, m: int) -> list[Any]:
        """Train m models on resamples of what the lender's model was trained on."""
        from wayforward.evaluate.robustness import retrained

        setting = self.setting
        if self.trained is not None:
            x, y = self.trained
        elif setting.train_x is not None and setting.train_y is not None:
            x, y = setting.train_x, np.asarray(setting.train_y)
        else:
            raise DataError(
                f"robust: {self.scenario.advice.robust} trains models again, and the setting has no train_x "
                "and train_y. Give them."
            )
        # by other seeds than the lender's own models have
        return retrained(self._train, x, y, m, seed=self.scenario.seed + 1009 * (self.model_version + 1))

    def _groups_of_reference(self) -> Groups | str:
        """Return groups of the people in the problem's table, for methods and rules that compare them."""
        setting = self.setting
        if setting.groups.feature is None:
            raise DataError(
                f"'{setting.groups.name}' is no feature, so nobody knows the groups of the people in the problem's "
                "table, between which advice would be balanced. Choose another method, and leave balanced out."
            )
        if not setting.edges:
            return setting.groups.name
        assert setting.problem.reference is not None
        member = setting.member_of(setting.problem.reference)
        return Groups(setting.groups.name, setting.groups.names, member, setting.groups.feature)

    # -- what is seen --------------------------------------------------------------------------------------

    def _fix_places(self) -> None:
        """Fix places, areas and neighbourhoods, which are those of the people at the start."""
        s, setting = self.scenario, self.setting
        self._leave = () if s.places or setting.groups.feature is None else (setting.groups.name,)
        self._areas: Areas | None = None
        self._radius: dict[int, float] = {}
        self._like = setting.x
        if s.measure:
            point = places(setting.problem, self._like, self._leave, like=self._like, keep=s.places)
            space = land(setting.problem, self._like, self._leave, keep=s.places)
            self._areas = Areas.fit(point, seed=s.seed, land=space)

    def _observe(self) -> None:
        seen = self.history
        stand = {
            name: np.flatnonzero(self.status == state)
            for name, state in zip(("open", "acting", "granted", "left"), range(4), strict=True)
        }
        here = np.flatnonzero(self.status != LEFT)
        stand["good"] = here[self.good(here)]
        for name, who in stand.items():
            seen.stocks[name] = np.concatenate([seen.stocks[name], self._by_group(who)[None]])
        value = np.full((len(DIMENSIONS), len(seen.names)), np.nan)
        if self._areas is not None and self.round % self.scenario.measure == 0:
            value = self._segregation(here)
        for name, row in zip(DIMENSIONS, value, strict=True):
            seen.segregation[name] = np.concatenate([seen.segregation[name], row[None]])
        if self.round:
            seen.models.append(self._decided_by)
        self._decided_by = self.model_version

    def _segregation(self, here: Ints) -> Floats:
        g = len(self.history.names)
        value = np.full((len(DIMENSIONS), g), np.nan)
        groups = Groups(
            self.history.attribute, self.history.names, self.member[here], self.setting.groups.feature
        )
        size = groups.sizes
        point = places(
            self.setting.problem, self.x[here], self._leave, like=self._like, keep=self.scenario.places
        )
        sample = self.scenario.sample if self.scenario.sample < len(here) else None
        for i in np.flatnonzero((size >= 2) & (size.sum() - size >= 2)).tolist():
            look = partial(
                segregation, point, groups, group=groups.names[i], areas=self._areas, sample=sample,
                seed=self.scenario.seed,
            )  # fmt: skip
            if (
                i not in self._radius
            ):  # samples have a radius each: the start is seen with the one of all rounds, too
                self._radius[i] = look().radius
            got = look(radius=self._radius[i])
            value[:, i] = [getattr(got, name) for name in DIMENSIONS]
        return value

    # -- files ---------------------------------------------------------------------------------------------

    def identity(self) -> str:
        """Return a hash of everything that fixes the run but its length and its name."""
        h = hashlib.sha256()
        plain = replace(self.scenario, rounds=0, name="society").to_dict()
        h.update(json.dumps(plain, sort_keys=True, default=str).encode())
        h.update(f"{self.method.name} {self.method.parameters()}".encode())
        some, problem = self.setting.x[:1000], self.setting.problem
        parts = (problem.target, problem.cost, problem.plausibility, problem.confidence)
        described = [None if one is None else one.describe() for one in parts]
        robust = None if problem.robust is None else problem.robust.fingerprint(some[:50])
        stored = [problem.schema.to_dict(), described, robust]
        h.update(json.dumps(stored, sort_keys=True, default=str).encode())
        for part in (self.setting.x, self.setting.groups.member, *self.setting.problem.reached(some)):
            h.update(np.ascontiguousarray(part).tobytes())
        return h.hexdigest()

    def save(self, path: str | Path) -> Path:
        """Write everything that is needed to go on to one .npz file (arrays and JSON, no code), whole or not at all."""
        arrays: dict[str, Any] = {_FILE_KEYS.get(name, name): getattr(self, name) for name in self._arrays}
        if self.trained is not None:
            arrays["trained_x"], arrays["trained_y"] = self.trained
        meta = {
            "identity": self.identity(),
            "round": self.round,
            "model_version": self.model_version,
            "decided_by": self._decided_by,
            "radius": {str(i): r for i, r in self._radius.items()},
            "history": self.history.to_dict(),
        }
        return write_checkpoint(as_path(path), arrays, meta)

    def restore(self, path: str | Path) -> None:
        """Go back to what `save` wrote. Raises: FileFormatError for a broken file, or the state of another run."""
        path = as_path(path)
        keys = {name: _FILE_KEYS.get(name, name) for name in self._arrays}
        arrays, meta = read_checkpoint(path, set(keys.values()))
        if meta["identity"] != self.identity():
            raise FileFormatError(
                f"'{path.name}' is the state of another scenario, model or people. Take it away, or name another file."
            )
        n, history = len(arrays["x"]), meta["history"]
        own = {key: getattr(self, name) for name, key in keys.items()}
        fits = all(
            arrays[key].shape == (n, *old.shape[1:]) and arrays[key].dtype == old.dtype
            for key, old in own.items()
        )
        if not fits or history.rounds != meta["round"] or history.people[-1].sum() != n:
            raise FileFormatError(f"'{path.name}' holds arrays that do not fit each other. Take it away.")
        odd = _odd_values(arrays, len(history.names))
        if odd:
            raise FileFormatError(
                f"'{path.name}' holds in '{odd}' values that no society has: not finite, or a state or group that is "
                "not there. Take it away, or name another file."
            )
        for name, key in keys.items():
            setattr(self, name, arrays[key])
        self._streams = Streams(keys_of(np.arange(n, dtype=float)[:, None], self.scenario.seed), 0)
        self.round, self.model_version = meta["round"], meta["model_version"]
        self._decided_by, self._radius = meta["decided_by"], meta["radius"]
        self.history = history
        self.history.scenario = self.scenario
        if "trained_x" in arrays:
            self.trained = (arrays["trained_x"], arrays["trained_y"])
            self._fit_model()


def _odd_values(arrays: Mapping[str, Any], groups: int) -> str:
    """The name of an array of a file whose values nobody writes; "" if there is none."""
    acting = arrays["status"] == ACTING
    sound = {"goal": np.isfinite(arrays["goal"][acting]).all()}
    sound |= {name: ((arrays[name] >= low) & (arrays[name] < high)).all() for name, low, high in (
        ("status", OPEN, LEFT + 1), ("member", -1, groups),
    )}  # fmt: skip
    for name in ("x", "months", "trained_x", "trained_y"):
        sound[name] = name not in arrays or np.isfinite(arrays[name]).all()
    return next((name for name, is_sound in sound.items() if not is_sound), "")


def _check_parameters(method: Method, given: Mapping[str, Any]) -> None:
    """Check that values are of the kind of the method's own defaults. Raises: DataError."""
    for name, value in given.items():
        default = getattr(type(method), name, None)
        for kind, takes, word in (
            (bool, (bool,), "true or false"),
            (int, (int,), "a whole number"),
            (float, (int, float), "a number"),
            (str, (str,), "a text"),
        ):
            if isinstance(default, kind):
                if not isinstance(value, takes) or (isinstance(value, bool) and kind is not bool):
                    raise DataError(
                        f"parameters of '{method.name}': {name} is {word}, such as {default!r}; got {value!r}."
                    )
                break


@public
def simulate(
    scenario: Scenario,
    setting: Setting | None = None,
    *,
    method: str | Method | None = None,
    checkpoint: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    workers: int = 1,
    on: Kind | None = None,
) -> History:
    """Play a scenario; return what was seen, round by round.

    setting: people, problem and truth; left out, `setting_of(scenario)`. method: instead of the scenario's, a `Method`
    of your own. checkpoint: a .npz file, kept up to date after every round; where it exists the run goes on from
    there, and ends as one that was never interrupted; a scenario with more rounds goes on, too (functions of your own
    setting must be the same as before, which nothing can check). progress: called with
    (rounds done, rounds in all). workers, on: who looks for plans, as of `Method.recommend`; the history stays the
    same. `history.society` holds the people at the end.

    In a round: newcomers arrive; those who have acted come back; people apply; the model decides, the best scores
    within the capacity are granted (once granted, nobody applies again); some of the refused leave; the others get
    advice and may set out; the lender may retrain. So advice of a round meets the model of a later one.

    Example: ``simulate(Scenario(rounds=3, people=500)).figure("acceptance")``.
    Raises: DataError for pieces that do not fit; FileFormatError for a checkpoint of another run.
    """
    require_kind(scenario, Scenario, "scenario")
    if setting is not None:
        require_kind(setting, Setting, "setting")
    check_workers(workers, on)
    society = Society(scenario, setting_of(scenario) if setting is None else setting, method)
    if workers != 1:
        society.method = society.method.with_workers(workers, on)
    if checkpoint is not None:
        path = as_path(checkpoint)
        if path.suffix != ".npz":
            raise FileFormatError(f"'{path.name}' should end in .npz. Change the ending.")
        if path.exists():
            society.restore(path)
        else:
            make_folder(path.parent)
    if society.round > scenario.rounds:
        raise DataError(
            f"The checkpoint is in round {society.round}, beyond rounds: {scenario.rounds}. Ask for more."
        )
    while society.round < scenario.rounds:
        society.step()
        if checkpoint is not None:
            society.save(checkpoint)
        if progress is not None:
            progress(society.round, scenario.rounds)
    society.history.society = society
    return society.history
