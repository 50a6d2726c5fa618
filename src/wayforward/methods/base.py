"""What every method shares: fitting to a problem, streams, budgets, chunks, proofs, and the judge.

A method writes one private step, `_recommend`, that returns actions. What follows from them, what they cost, and
whether they are allowed and sufficient is decided by `Problem.check`, so a method can fail but cannot lie.
"""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.deadline import Deadline
from wayforward.errors import (
    MethodError,
    ProblemError,
    UnsupportedModel,
    is_integer,
    require_switch,
    shown,
)
from wayforward.language import in_english
from wayforward.methods.alike import Alike
from wayforward.methods.in_time import Turn, answered_in_time, everybody_in_time
from wayforward.methods.settings import CheckedSettings
from wayforward.portable import Portable
from wayforward.problem.disclosure import DisclosureWarning
from wayforward.public import public
from wayforward.recourse import JUDGED, Recourse
from wayforward.schema import Origin, Schema, SchemaWarning
from wayforward.schema.odd_rows import unread_note
from wayforward.shapes import Actions, Mask, People, PersonMask
from wayforward.streams import Streams
from wayforward.workers import Kind, as_done, check_workers

if TYPE_CHECKING:
    from wayforward.model.base import Counter
    from wayforward.preferences import Preferences
    from wayforward.problem import Population, Problem

MOST_OPTIONS = 5000  # a person: draws of a distribution at most; memory and time grow with it
_FARTHER = (1e-7, 1e-5, 1e-3)  # scores beyond the boundary at which a search is made again; see `_go_farther`
_NO_LIMIT = 1 << 40  # model rows that nobody spends, and that 64 bits can add up

Progress = Callable[[int, int], None]  # (people done, people in all)


def check_k(k: object) -> None:
    """Raise MethodError for a number of options that nobody can be given."""
    if not is_integer(k) or not 1 <= k <= MOST_OPTIONS:
        raise MethodError(
            f"k={shown(k)} options were asked for. Ask for k=1 or more, up to {MOST_OPTIONS:,}."
        )


def check_seed(seed: object) -> None:
    """Raise MethodError for a seed that is no whole number of 0 or more."""
    if not (is_integer(seed) and seed >= 0):
        raise MethodError(f"seed={shown(seed)} is no seed. Give a whole number of 0 or more.")


@public
@dataclass(frozen=True)
class Budget:
    """How much work a search may do for each person. rows: model rows; None for the method's own default.

    Budgets count work, never seconds, so that answers do not depend on the machine. Methods that search option after
    option spend it on each option; a search may look once more at what it has when the budget is gone.
    """

    rows: int | None = None

    def __post_init__(self) -> None:
        if self.rows is None:
            return
        if not is_integer(self.rows):
            raise MethodError(
                f"budget={self.rows!r} is no number of model rows. Give a whole number, such as 2000, or leave it out."
            )
        if self.rows < 1:
            raise MethodError(f"budget={self.rows} model rows a person leaves no work to do. Use 1 or more.")

    def rows_or(self, default: int) -> int:
        """Return the model rows for each person, or the method's own default where nobody set any."""
        return default if self.rows is None else min(int(self.rows), _NO_LIMIT)


@public
class Method(Portable, metaclass=CheckedSettings):
    """One published method. Subclasses are dataclasses whose fields are the method's parameters.

    name, summary, citation: words for tables. needs: the least access to the model. needs_data: the problem must
    hold observed people. copies_people: what it sets are values of observed people. exact: its answers are optimal
    on the action set that its documentation states, and it may return proofs. least_cost: it looks for the
    cheapest options there are, so that cheaper ones from elsewhere may replace its own. endless: settings that may
    be infinite. chunk: people searched at once, which bounds memory and changes no answer.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    citation: ClassVar[str] = ""
    needs: ClassVar[int] = 1  # Access.LABEL
    needs_data: ClassVar[bool] = False
    copies_people: ClassVar[bool] = False
    exact: ClassVar[bool] = False
    least_cost: ClassVar[bool] = False
    endless: ClassVar[tuple[str, ...]] = ()
    chunk: ClassVar[int] = 2048

    problem_: Problem
    seconds_fit_: float
    workers_: int = 1
    on_: Kind | None = None
    minimal_: bool | None = None  # None: where the method keeps no condition that the judge does not know

    def fit(self, problem: Problem) -> Self:
        """Check that the method fits the problem and prepare what all people share.

        Raises: UnsupportedModel if the model offers too little access, naming methods that would fit; ProblemError
        if the method needs observed people and the problem has none.
        """
        from wayforward.problem import Problem

        started = time.perf_counter()
        if not isinstance(problem, Problem):
            raise MethodError(
                f"'{self.name}' is fitted to a wf.Problem; got {type(problem).__name__}. Make one: "
                "wf.Problem(schema, model, wf.Target(favourable=...), data=table)."
            )
        access = int(problem.model.access)
        if access < int(self.needs):
            from wayforward.methods.registry import methods_table
            from wayforward.model import Access

            fit = [row["name"] for row in methods_table() if row["needs"] <= access]
            raise UnsupportedModel(
                f"'{self.name}' needs a model that offers {Access(self.needs).name.lower().replace('_', ' ')}; "
                f"this one offers {Access(access).name.lower().replace('_', ' ')}. "
                f"These methods would do: {', '.join(fit)}."
            )
        if self.needs_data:
            problem.require_reference()
            if not problem.reference_reached.any():
                raise ProblemError(
                    f"'{self.name}' starts from people whom the model accepts, and it accepts nobody in the table that "
                    "the problem was given. Check the target, or give a larger table."
                )
        if self._copies(problem) and not (problem.disclosure is not None and problem.disclosure.crowd):
            warnings.warn(
                f"'{self.name}' sets values that people of the table have, and may return somebody's whole row. Where "
                "strangers see the answers, ask for a crowd: Problem(..., disclosure=Disclosure(crowd=5)), or --crowd.",
                DisclosureWarning,
                stacklevel=2,
            )
        self.problem_ = problem
        self._fit(problem)
        self.seconds_fit_ = time.perf_counter() - started
        return self

    def recommend(
        self,
        x: Any,
        k: int = 1,
        *,
        preferences: Preferences | None = None,
        seed: int = 0,
        budget: Budget | int | None = None,
        deadline: Deadline | float | None = None,
        progress: Progress | None = None,
        workers: int | None = None,
        on: Kind | None = None,
        id: str | None = None,
        strict: bool = False,
        minimal: bool | None = None,
    ) -> Recourse:
        """Return up to k checked options for every person, cheapest first; n people in, n rows out.

        x: a table of people or an (n, d) array; equal rows with equal wishes are searched once. id: a column that names
        people, kept in every output; left out, an index that somebody chose is. A row that cannot be read is kept as
        NOT_ASKED, with a warning and its reason, and the others go on; strict=True raises instead. seed: one integer; a
        person's answer depends on it and on their own row only. budget: model rows a person. deadline: seconds in
        all, or a `Deadline`; what was found by then is returned, so that answers depend on the machine
        (`Recourse.ended_by` says whose), and no proof is claimed that was cut short. progress: called with
        (people done, people in all). workers: how many search at once; the answers are the same bits; left out, those
        of `with_workers`, else one. on: 'threads', 'processes' or 'ray' (a cluster); left out, threads where the search
        runs outside the interpreter, else processes. minimal: leave out of every option what it does not need;
        as `with_minimal` says, else True unless the method keeps conditions that the judge does not know.
        `meta["n_shortened"]` counts the options that this made shorter.
        Raises: MethodError for k < 1; DataError for people who do not fit the schema; WorkerError.
        """
        check_k(k)
        check_seed(seed)
        require_switch(strict, "strict", MethodError)
        if not (progress is None or callable(progress)):
            raise MethodError(
                f"progress={shown(progress)} cannot be called. Give a function of (done, in all)."
            )
        if minimal is not None:
            require_switch(minimal, "minimal", MethodError)
        if minimal is not None and minimal != self.minimal_:
            return self.with_minimal(minimal).recommend(
                x, k, preferences=preferences, seed=seed, budget=budget, deadline=deadline, progress=progress,
                workers=workers, on=on, id=id, strict=strict,
            )  # fmt: skip
        limit = budget if isinstance(budget, Budget) else Budget(budget)
        time_given = Deadline.of(deadline)
        problem = self._fitted_problem()
        workers, on = self.workers_ if workers is None else workers, self.on_ if on is None else on
        check_workers(workers, on)

        def answer(people: People, wishes: Preferences | None) -> Recourse:
            return self._everybody(
                people, int(k), wishes, int(seed), limit, time_given, progress, workers, on
            )

        nobody = Recourse.of_nobody(problem.schema, int(k), self.name)
        return answer_readable(problem, x, answer, nobody, preferences, id=id, strict=strict)

    def _everybody(
        self, people: People, k: int, wishes: Preferences | None, seed: int, limit: Budget, deadline: Deadline | None,
        progress: Progress | None, workers: int, on: Kind | None,
    ) -> Recourse:  # fmt: skip
        """Answer people (n, d) who can be read: piece by piece, equal ones once."""
        if deadline is None:
            got = self._pieces_answered(people, k, wishes, seed, limit, progress, workers, on)
        else:
            got = everybody_in_time(self, people, k, wishes, seed, limit, deadline, progress, workers, on)
        if got.accepted.all():
            warnings.warn(
                "The model accepts every one of these people already, so there is nothing to recommend. "
                "Check the target (which class is favourable?) and the table of people.",
                SchemaWarning,
                stacklevel=4,
            )
        return got

    def _pieces_answered(
        self, people: People, k: int, wishes: Preferences | None, seed: int, limit: Budget, progress: Progress | None,
        workers: int, on: Kind | None,
    ) -> Recourse:  # fmt: skip
        n = len(people)
        alike = Alike.of(people, wishes)
        parts: list[Recourse | None] = []
        pieces = []
        size = self.chunk if workers == 1 else min(self.chunk, max(16, -(-alike.n // (4 * workers))))
        for start in range(0, alike.n, size):
            who = alike.first[start : start + size]
            pieces.append((people[who], None if wishes is None else wishes.take(who), k, seed, limit))
            parts.append(None)
        done = 0
        for i, part in self.answered(pieces, min(workers, len(pieces)), on):
            parts[i] = part
            done += int(alike.count[i * size : (i + 1) * size].sum())
            if progress is not None:
                progress(done, n)
        return alike.everybody(Recourse.concat([part for part in parts if part is not None]), people, wishes)

    def warm(self, k: int = 3) -> Self:
        """Make ready for people who come one by one: the next answer takes as long as any after it.

        Answers one person and several, refused and accepted, with one option and with k, and forgets them: kernels are
        compiled or loaded, the model itself is touched, and what all people share is worked out. Counts as no query.
        Example: ``method = wf.method("local-search").fit(problem).warm()``.
        """
        problem = self._fitted_problem()
        with problem.model.counter.of_this_thread() as spent, warnings.catch_warnings():
            warnings.simplefilter("ignore", SchemaWarning)
            people = problem.typical_people()
            for some in (people[:1], people):
                for options in dict.fromkeys((1, k)):
                    self.recommend(some, options)
        problem.model.counter.add(-spent.rows, -spent.calls)
        problem.model.counter.add_native(-spent.native_rows, -spent.native_calls)
        return self

    def _fitted_problem(self) -> Problem:
        if not hasattr(self, "problem_"):
            raise MethodError(
                f"'{self.name}' knows no problem yet. Fit it to a problem first: method.fit(problem)."
            )
        return self.problem_

    def with_workers(self, workers: int, on: Kind | None = None) -> Self:
        """Return a copy that searches with so many workers wherever it is used: in an audit, a society, a dialogue.

        Example: ``audit(problem, people, groups, wf.method("local-search").with_workers(2))``. Raises: WorkerError.
        """
        check_workers(workers, on)
        other = copy(self)
        other.workers_, other.on_ = workers, on
        return other

    def with_minimal(self, minimal: bool) -> Self:
        """Return a copy that shortens its options wherever it is used, or with False returns them as published.

        Example: ``wf.method("wachter").with_minimal(False)``. Raises: MethodError.
        """
        require_switch(minimal, "minimal", MethodError)
        other = copy(self)
        other.minimal_ = bool(minimal)
        return other

    def _copies(self, problem: Problem) -> bool:
        """True if what it sets are values of observed people, and not of made-up ones."""
        return self.copies_people and not (problem.disclosure is not None and problem.disclosure.epsilon)

    @property
    def _keeps_more(self) -> bool:
        """True if options keep a condition that the judge does not know: an act it does not need may be what does."""
        return False

    @property
    def _shortens(self) -> bool:
        return not self._keeps_more if self.minimal_ is None else self.minimal_

    @property
    def _judge_shortens(self) -> bool:
        """True if the judge is to leave out what options do not need; no where the method does so by itself."""
        return self._shortens

    @property
    def frees_interpreter(self) -> bool:
        """True if most of the search runs outside the interpreter, so that threads work at the same time."""
        return False

    def answered(
        self, pieces: Iterable[tuple[Any, ...]], workers: int, on: Kind | None
    ) -> Iterator[tuple[int, Recourse]]:
        """Answer each piece, the arguments of `answer_piece`; yield (its number, the answers) as they get ready."""
        kind = self.workers_on(on)
        counter = self.problem_.model.counter
        apart = workers > 1 or kind == "ray"
        with (
            warnings.catch_warnings() if apart else nullcontext()
        ):  # threads would mix up each other's filters
            for i, part in as_done(self.answer_piece, pieces, workers=workers, on=kind):
                if apart:
                    part = replace(part, problem=self.problem_)
                    if kind != "threads":  # which have counted here
                        counter.add(part.meta["model_rows"], part.meta["model_calls"])
                        counter.add_native(part.meta["native_rows"], 0)
                yield i, part

    def workers_on(self, on: Kind | None) -> Kind:
        """Return where workers run of whom `on` is asked; None: where this method gains most."""
        return on or ("threads" if self.frees_interpreter else "processes")

    def answer_piece(
        self,
        x: People,
        wishes: Preferences | None,
        k: int,
        seed: int,
        budget: Budget,
        turn: Turn | None = None,
    ) -> Recourse:
        """Answer a piece of `recommend`: encoded people, all at once. turn: its time, where there is a deadline."""
        with nullcontext() if turn is None else turn.taken():
            return self._chunk(x, wishes, k, seed, budget)

    def _chunk(self, x: People, wishes: Preferences | None, k: int, seed: int, budget: Budget) -> Recourse:
        started = time.perf_counter()
        problem = self.problem_
        with problem.model.counter.of_this_thread() as spent:
            got = self._answer(problem.population(x, wishes), wishes, k, seed, budget, started)
        got.meta.update(self.about(seed, spent, time.perf_counter() - started))
        return got

    def about(self, seed: int, spent: Counter, seconds: float) -> dict[str, Any]:
        """Return what answers say of how they were made (`Recourse.meta`)."""
        problem = self.problem_
        return {
            "method": self.name,
            "parameters": self.parameters(),
            "seed": seed,
            "target": problem.target.describe(),
            "needed": problem.bound_target.needed(),
            "cost_unit": problem.cost.unit,
            **({} if problem.confidence is None else {"confidence": problem.confidence.describe()}),
            **({} if problem.robust is None else {"robust": problem.robust.describe()}),
            "seconds_fit": self.seconds_fit_,
            "seconds_recommend": seconds,
            "model_rows": spent.rows,
            "model_calls": spent.calls,
            "native_rows": spent.native_rows,
            **({} if problem.disclosure is None else {"disclosure": in_english(problem.disclosure.describe)}),
            **({"copies_people": True} if self._copies(problem) else {}),
            **({} if problem.model.askings == 1 else {"askings": problem.model.askings}),
            "versions": versions(),
        }

    def _answer(
        self,
        everyone: Population,
        wishes: Preferences | None,
        k: int,
        seed: int,
        budget: Budget,
        started: float,
    ) -> Recourse:
        """Search for those who are refused, and have everybody judged; started: a time of `time.perf_counter`.

        The fast path says who is refused, where there is one, so that the model itself is asked once, about people and
        options together. Whom only the fast path accepts is searched for afterwards.
        """
        turn = Turn.running()
        if turn is not None:
            return answered_in_time(
                everyone, turn, k, partial(self._search_refused, everyone, k=k, seed=seed, budget=budget),
                wishes=wishes, method=self.name, prove=self._judge_proves, minimal=self._judge_shortens,
            )  # fmt: skip
        problem = self.problem_
        presumed, decision = problem.presumed(everyone.x), None
        if presumed is None:
            decision = problem.reached(everyone.x)
            presumed = decision[0]
        refused = ~presumed
        action, proved = self._search_refused(everyone, refused, k, seed, budget)
        check = partial(
            problem.check,
            everyone.x,
            k=k,
            preferences=wishes,
            people=everyone,
            prove=self._judge_proves,
            minimal=self._judge_shortens,
            method=self.name,
        )
        got = check(action=action, proved=proved, decision=decision, seconds=time.perf_counter() - started)
        overlooked = ~refused if refused.all() else ~refused & ~got.accepted
        if overlooked.any():
            more, none = self._search_refused(everyone, overlooked, k, seed, budget)
            got = check(
                action=np.concatenate([action, more], axis=1), proved=proved | none,
                decision=(got.accepted, got.score_before), seconds=time.perf_counter() - started,
            )  # fmt: skip
        if self.least_cost and problem.robust is None and not problem.demanding:
            self._go_farther(everyone, action, got, k, seed, budget)
        return got

    def _go_farther(
        self, everyone: Population, action: Actions, got: Recourse, k: int, seed: int, budget: Budget
    ) -> None:
        """Search again where the model itself refused the cheapest of the actions (n, k', d): its fast path is too
        generous there, so scores must lie farther beyond the boundary. What is better goes into the answers."""
        problem, lead, best = self.problem_, action[:, 0], got.action[:, 0]
        if ((lead == best) | (np.isnan(lead) & np.isnan(best))).all():
            return
        for aim in _FARTHER:
            tried = np.flatnonzero(~np.isnan(lead).all(1) & ~got.accepted)
            refused = tried[got.cost[tried, 0] > everyone.cost(tried, lead[tried]) * (1 + 1e-9) + 1e-9]
            if not refused.size:
                return
            people = everyone.take(refused)
            people.aim = np.full(refused.size, aim)
            more, _ = self._search_refused(people, np.ones(refused.size, dtype=bool), k, seed, budget)
            lead = np.full_like(lead, np.nan)
            lead[refused] = more[:, 0]
            people.aim = None
            again = problem.check(
                people.x, more, k, preferences=people.preferences, people=people, minimal=self._judge_shortens,
                decision=(got.accepted[refused], got.score_before[refused]),
            )  # fmt: skip
            better = np.flatnonzero(again.cost[:, 0] < got.cost[refused, 0])
            for part in (*JUDGED, "outcome"):
                getattr(got, part)[refused[better]] = getattr(again, part)[better]

    def _search_refused(
        self, everyone: Population, refused: PersonMask, k: int, seed: int, budget: Budget
    ) -> tuple[Actions, PersonMask]:
        """Search for those who are refused and may act; return actions (n, k', d) and (n,) proofs that none exists."""
        n, d = everyone.x.shape
        action, proved = np.full((n, k, d), np.nan), np.zeros(n, dtype=bool)
        search = np.flatnonzero(refused)
        if not search.size:
            return action, proved
        people = everyone if search.size == n else everyone.take(search)
        go = np.flatnonzero(people.free.any(1))
        if go.size < people.n:  # nothing that this person may act on, and the model says no as they are
            proved[search] = ~people.may.any(1)
        if not go.size:
            return action, proved
        people = people if go.size == people.n else people.take(go)
        disclosure = self.problem_.disclosure
        found = self._recommend(people, k, Streams.of(people.x, seed), budget)
        none = np.zeros(go.size, dtype=bool)
        if isinstance(found, tuple):
            found, none = found
        if self.problem_.plausibility is not None:
            found = self.problem_.plausibility.more_options(
                people, found, seed, everybody=self.least_cost and k == 1
            )
        if disclosure is not None:
            found = disclosure.more_options(people, found)
        if self.problem_.demanding:
            found = self._confident(people, found, k, seed, budget)
        if found.ndim != 3 or found.shape[0] != go.size or found.shape[2] != d:
            raise MethodError(f"'{self.name}' returned actions of shape {found.shape} for {go.size} people.")
        action = np.full((n, found.shape[1], d), np.nan)
        action[search[go]] = found
        # a proof about less than what may be done is none
        proved[search[go]] = none & ~people.endless.any(1) if none.any() else False
        return action, proved

    def _confident(self, people: Population, action: Actions, k: int, seed: int, budget: Budget) -> Actions:
        """Return options that are as sure as the problem asks, from options that are expected to work."""
        from wayforward.methods.engines.confidence_search import confident_options

        def again(some: Population, who: np.ndarray) -> np.ndarray:
            return self.unjudged_actions(some, k, Streams.of(some.x, seed), budget)

        return confident_options(people, action, again)

    def unjudged_actions(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        """Return actions (n, k', d) for another method to build on: neither judged nor padded, and without proofs."""
        found = self._recommend(people, k, streams, budget)
        return found[0] if isinstance(found, tuple) else found

    def parameters(self) -> dict[str, Any]:
        """Return the method's own settings as plain data."""
        if not hasattr(self, "__dataclass_fields__"):
            return {}
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)  # type: ignore[arg-type]
            if isinstance(getattr(self, f.name), (int, float, str, bool, type(None)))
        }

    @property
    def _prove(self) -> bool:
        """True if a proof that no recourse exists is looked for where this method finds none."""
        return True

    @property
    def _judge_proves(self) -> bool:
        """True if the judge is to look for proofs; no where the method has done so."""
        return self._prove

    def _fit(self, problem: Problem) -> None:
        """Prepare what all people share; optional."""

    @abstractmethod
    def _recommend(
        self, people: Population, k: int, streams: Streams, budget: Budget
    ) -> Actions | tuple[Actions, Mask]:
        """Return proposals (n, k', d), any k'; exact methods may add (n,) bool 'proved that none exists'.

        Only people whom the model refuses and who may act on something arrive here. NaN: left alone.
        """


def answer_readable(
    problem: Problem, table: Any, answer: Callable[[People, Preferences | None], Recourse], nobody: Recourse,
    wishes: Preferences | None, *, id: str | None, strict: bool,
) -> Recourse:  # fmt: skip
    """Answer the people of a table who can be read; keep the others as NOT_ASKED, with a warning and the reason.

    answer: (people (m, d), their wishes) -> their answers. nobody: the answers to no people. strict: raise for the
    first row that cannot be read. Raises: DataError, PreferencesError.
    """
    people, reasons = (problem.encode(table), {}) if strict else problem.read(table)
    n = len(people)
    origin = Origin.of(table, n, id, problem.column_types)
    _warn_of_unknown_columns(table, problem.schema, id)
    if wishes is not None:
        _check_wishes(wishes)
        problem.population(people[:1], wishes.take(np.arange(1)))  # shape errors before any work
        if wishes.frozen.shape[0] != n:
            from wayforward.errors import PreferencesError

            raise PreferencesError(
                f"The preferences are for {wishes.frozen.shape[0]} people; there are {n}. Give one row a person."
            )
    there = np.setdiff1d(np.arange(n), list(reasons))
    got = nobody
    if there.size:
        own = wishes if wishes is None or not reasons else wishes.take(there)
        got = answer(people if not reasons else people[there], own)
    if reasons:
        warnings.warn(unread_note(reasons, n), SchemaWarning, stacklevel=3)
        got = replace(got.among(people, reasons, wishes), problem=problem)
    return got if origin is None else replace(got, origin=origin)


def _check_wishes(wishes: Any) -> None:
    from wayforward.errors import PreferencesError
    from wayforward.preferences import Preferences

    if not isinstance(wishes, Preferences):
        raise PreferencesError(
            f"preferences is a {type(wishes).__name__}. Give wf.Preferences: wf.Preferences.none(schema, n) has "
            "freeze, limit, weigh and more."
        )


def _warn_of_unknown_columns(table: Any, schema: Schema, id: str | None = None) -> None:
    """Warn of a table's columns that the schema does not know: a misspelled optional one would go unnoticed."""
    if isinstance(table, np.ndarray):
        return
    names = getattr(table, "columns" if hasattr(table, "iloc") else "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    known = {*schema.names, id}
    unused = [name for name in map(str, [] if names is None else names) if name not in known]
    if unused:
        shown = ", ".join(repr(name) for name in unused[:5]) + (", ..." if unused[5:] else "")
        warnings.warn(
            f"The schema does not know {shown}, so nobody looks at it.", SchemaWarning, stacklevel=3
        )


def versions() -> dict[str, str]:
    """Return the versions of the packages that produced an answer."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, distribution

    out = {"python": platform.python_version()}
    for package in ("wayforward", "numpy", "scipy", "scikit-learn", "numba", "torch", "xgboost", "lightgbm"):
        try:
            found = distribution(package)
        except PackageNotFoundError:
            continue
        head = (found.read_text("METADATA") or "").partition("\n\n")[0]  # parsed whole it takes milliseconds
        line = next((one for one in head.splitlines() if one.startswith("Version: ")), "")
        out[package] = line.removeprefix("Version: ").strip() or found.version
    return out
