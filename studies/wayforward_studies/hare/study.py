"""One stage a question: base plans, wishes, and talks about them, each kept; what is kept is one number a person.

Source: HARE, section 4; our readings of what it leaves open are in `docs/replication/hare`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from wayforward.errors import MethodError
from wayforward.evaluate import actions as act
from wayforward.evaluate.distance import changed
from wayforward.people.elicitor import converse
from wayforward.people.ideal_profiles import draw_wanted
from wayforward.people.simulated import IdealProfile, ReplyNoise
from wayforward.preferences import Preferences
from wayforward.problem import Problem
from wayforward.schema import Schema
from wayforward_studies.checkpoints import Arrays, Checkpoints
from wayforward_studies.hare.published import MEASURES, Asking, HareCase, radius
from wayforward_studies.hare.setting import HareData, HareSetting, make_setting, make_table

#: How people err; 'drifting' ones have the near wish in mind at first and the asked one at the end.
NOISES: dict[str, ReplyNoise] = {
    "exact": ReplyNoise(),
    "flip-10": ReplyNoise(flip=0.1),
    "flip-25": ReplyNoise(flip=0.25),
    "bradley-terry": ReplyNoise(kappa=10.0),
    "lazy": ReplyNoise(lazy=0.3),
    "fickle": ReplyNoise(fickle=0.2),
    "drifting": ReplyNoise(),
}


class ByDirection(IdealProfile):
    """People who prefer the plan that leads more nearly their way, however far: by GTD, where HARE's go by GTP."""

    def dislike(self, who: np.ndarray, action: np.ndarray, after: np.ndarray) -> np.ndarray:
        """(m,) 1 - the cosine between the plan's change and the wished one."""
        people = self.people
        return act.ground_truth(people.schema, people.x[who], after, self.wanted[who])[1]


#: Base methods as the paper has them: numbers only where its sparsity says so, nothing taken back afterwards.
_NUMBERS = ("wachter", "wachter-small", "growing-spheres", "face", "face-strict")
#: Bases whose plans go back in all that they change once people are asked, as in the printed calibration: binaries, and
#: the immutables of FACE, may end anywhere on the way.
_BETWEEN = ("c-chvae-between", "cruds-between", "face-between")
#: The methods behind bases that are named otherwise.
_VARIANTS = {
    "face-strict": "face",
    "face-alike": "face",
    "face-between": "face",
    "wachter-small": "wachter",
    "c-chvae-between": "c-chvae",
    "cruds-between": "cruds",
}
_OBSERVED = ("face", "face-alike", "face-between")  # rows as they are, immutables and all
_PLAIN: dict[str, dict[str, Any]] = {
    "wachter": {"norm": "l2"},
    "wachter-small": {"norm": "l2", "lam": 0.1, "rate": 0.01, "steps": 100, "aim": 0.001},
    "c-chvae": {"partial": 0.0, "further": 0},
    "clue": {"adopt": "all"},
    "cruds": {"adopt": "all"},
}
_PLAIN |= {name: _PLAIN[_VARIANTS[name]] for name in _BETWEEN if _VARIANTS[name] in _PLAIN}
_ALIKE, _FEW = 100, 30  # rows at least, and values of an immutable at most, for walks among people alike


@lru_cache(maxsize=4)
def table_of(name: str) -> HareData:
    """A data set of the study, read once."""
    return make_table(name)


@dataclass(frozen=True)
class Plans:
    """What a base method proposes: action and after (n, d), found (n,); the problem and the wishes it did it in."""

    problem: Problem
    action: np.ndarray
    after: np.ndarray
    found: np.ndarray
    wishes: Preferences | None


@dataclass
class HareStudy:
    """Measures cases of one classifier, data set and seed. n: people. checkpoints: finished stages.

    table: the data, where it is not the study's own.
    """

    dataset: str
    classifier: str
    seed: int
    n: int
    checkpoints: Checkpoints
    world: str = ""
    table: HareData | None = None
    _plans: dict[str, Plans] = field(default_factory=dict, repr=False)
    _wanted: dict[tuple[str, bool, float], np.ndarray] = field(default_factory=dict, repr=False)
    _search: list[Any] = field(default_factory=list, repr=False)  # the method behind the askers, by problem

    @cached_property
    def setting(self) -> HareSetting:
        """The classifier and the people; made only when a stage is not there yet."""
        return make_setting(self._table, self.classifier, self.seed, self.n, world=self.world)

    @cached_property
    def between(self) -> Problem:
        """The setting's problem with numbers from 0 to 1 for binaries."""
        return _between(self.setting)

    def quality(self) -> dict[str, float]:
        """Accuracy of the classifier on those held back, and the share of them that it refuses."""
        got = self.checkpoints.arrays(
            f"hare-classifier-{self.dataset}-{self.classifier}-{self.seed}",
            [self._table.checksum, self.world, self.n, _RELEASE],
            lambda: {name: np.array(value) for name, value in self.setting.chosen.items()},
        )
        return {name: float(value) for name, value in got.items()}

    @property
    def _table(self) -> HareData:
        return table_of(self.dataset) if self.table is None else self.table

    def measured(self, case: HareCase, way: Asking) -> Arrays:
        """The measures of everybody, (n,) each, NaN where a person has no plan; 'found', 'questions', 'cpu' ().

        Raises: MethodError where the base method is not there.
        """
        decides = {
            "data": self.dataset,
            "checksum": self._table.checksum,
            "classifier": case.classifier,
            "base": parameters_of(case.base),
            "case": case.key,
            "way": way.key,
            "seed": self.seed,
            "n": self.n,
            "release": _RELEASE,
        }
        return self.checkpoints.arrays(
            f"hare-{case.key}-{way.key}-{self.seed}", decides, lambda: self._measure(case, way)
        )

    def _measure(self, case: HareCase, way: Asking) -> Arrays:
        started = time.process_time()
        after, questions = self._ends(case, way)
        other = self.between if case.base in _BETWEEN else None
        out = measures(self.setting, after, self.wanted(case), other)
        found = ~np.isnan(after).any(1)
        return {**out, "found": found, "questions": questions, "cpu": np.array(time.process_time() - started)}

    def ends(self, case: HareCase, way: Asking) -> np.ndarray:
        """(n, d) where everybody's plan leads, NaN without one."""
        return self._ends(case, way)[0]

    def _ends(self, case: HareCase, way: Asking) -> tuple[np.ndarray, np.ndarray]:
        """Where plans lead, (n, d), and how many questions were asked, (n,)."""
        plans = self.plans(case.base)
        after, found = plans.after, plans.found
        questions = np.zeros(len(after))
        if way.budget:
            session = self._session(plans, case, way, self.wanted(case))
            got = session.recourse()
            questions = session.questions.astype(np.float64)
            found, after = got.found[:, 0], got.after[:, 0]
        return np.where(found[:, None], after, np.nan), questions

    # -- stages ---------------------------------------------------------------------------------------------

    def wanted(self, case: HareCase) -> np.ndarray:
        """(n, d) the profiles that people have in mind: boundary points that differ in numbers."""
        key = (case.scale, case.pinned, case.reach)
        if key not in self._wanted:
            setting = self.setting
            stated = radius(case.dataset, case.published.classifier, case.scale)
            far = stated * case.reach if case.pinned else None
            scale: Any = case.scale
            self._wanted[key] = draw_wanted(
                setting.problem, setting.people, scale, radius=far, numbers_only=True, seed=self.seed
            )
        return self._wanted[key]

    def plans(self, base: str) -> Plans:
        """The base method's plans for everybody. Raises: MethodError where there is no such method."""
        if base not in self._plans:
            self._plans[base] = self._propose(base)
        return self._plans[base]

    def _propose(self, base: str) -> Plans:
        from wayforward.methods import method

        setting = self.setting
        if base in _OBSERVED:
            return self._as_observed(alike=base == "face-alike", between=base in _BETWEEN)
        name = _VARIANTS.get(base, base)
        wishes = setting.numbers if base in _NUMBERS else None
        made = method(name, **parameters_of(base)).with_minimal(False)  # as published
        got = made.fit(setting.problem).recommend(setting.x, 1, preferences=wishes, seed=self.seed)
        problem = self.between if base in _BETWEEN else setting.problem
        return Plans(problem, got.action[:, 0], got.after[:, 0], got.found[:, 0], wishes)

    def _as_observed(self, alike: bool = False, between: bool = False) -> Plans:
        """FACE as published: the nearest row, whoever it is; immutables that it changes may go there and no further.

        alike: it walks among people with the same immutables but for the numbers that all differ in (age, weight), as
        public code of the benchmark does for one of them. between: what it changes goes back with the plan.
        """
        from wayforward.methods import method

        setting = self.setting
        problem, schema, x = setting.problem, setting.problem.schema, setting.x
        face: Any = method("face", **parameters_of("face")).fit(problem)
        after = face.observed(x, 1).target[:, 0]
        if alike:
            rows = problem.require_reference()
            few = [j for j in np.flatnonzero(schema.immutable) if len(np.unique(rows[:, j])) <= _FEW]
            for group in np.unique(x[:, few], axis=0):
                same, who = (np.flatnonzero((some[:, few] == group).all(1)) for some in (rows, x))
                if same.size < _ALIKE or not problem.reached(rows[same])[0].any():
                    continue
                part = Problem(schema, problem.model, problem.target, data=rows[same], least_change=None)
                one: Any = method("face", **parameters_of("face")).fit(part)
                there = one.observed(x[who], 1).target[:, 0]
                after[who] = np.where(np.isnan(there), after[who], there)
        found = ~np.isnan(after).any(1)
        found[found] = problem.reached(after[found])[0]
        changing = self.between.schema if between else schema
        free = Schema(tuple(replace(f, actionability="actionable") for f in changing.features))
        model = setting.model if between else problem.model
        relaxed = Problem(free, model, problem.target, data=problem.reference, least_change=None)
        here = np.where(found[:, None], after, x)
        wishes = Preferences.none(free, len(x))
        pinned = schema.immutable & ~schema.has_levels & (not between)
        fixed = changed(schema, x, here)
        wishes = replace(
            wishes,
            frozen=schema.immutable & ~fixed,
            low=np.where(pinned & fixed, here, wishes.low),
            high=np.where(pinned & fixed, here, wishes.high),
        )
        action = np.where(fixed & found[:, None], after, np.nan)
        return Plans(relaxed, action, after, found, wishes)

    def _session(self, plans: Plans, case: HareCase, way: Asking, wanted: np.ndarray) -> Any:
        from wayforward.people.elicitors import elicitor

        more: dict[str, Any] = {}
        if way.asker == "hare":
            more = {
                "iterations": way.iterations,
                "calibrate": way.calibrate,
                "keep_incumbent": way.keep,
                "gamma": way.step,
                "numbers_only": True,
                "give_back": True,
            }
        base = self._first_plans(plans.problem)
        asker: Any = elicitor(way.asker, base=base, budget=way.budget, **more).fit(plans.problem)
        if (
            case.base in _BETWEEN
        ):  # directions are of what people can change, in numbers; the rest only goes back
            own = self.setting.problem.schema
            asker.sampler_.sampled = asker.sampler_.sampled & own.actionable & ~own.has_levels
        start = np.where(plans.found[:, None], plans.action, np.nan)
        session = asker.begin(self.setting.x, start, preferences=plans.wishes, seed=self.seed)
        before, later = wanted, None
        if case.answers == "drifting":
            near = self.wanted(replace(case, scale="near"))
            before, later = np.where(np.isnan(near), wanted, near), wanted
        if case.answers == "by-direction":
            return converse(session, ByDirection(session.people, wanted, seed=self.seed))
        somebody = IdealProfile(
            session.people, before, noise=NOISES[case.answers], later=later, over=way.budget, seed=self.seed
        )
        return converse(session, somebody)

    def _first_plans(self, problem: Problem) -> Any:
        """A fitted method for askers to fall back on; the plans that they begin with are given to them."""
        from wayforward.methods import method

        for search in self._search:
            if search.problem_ is problem:
                return search
        self._search.append(method("local-search").with_minimal(False).fit(problem))
        return self._search[-1]


_RELEASE = 1  # of the stages: raise it when what they hold changes


def parameters_of(base: str) -> dict[str, Any]:
    """Parameters of a base method as published: without our polishing afterwards, where it has any."""
    from dataclasses import fields

    from wayforward.methods import method

    if base in _OBSERVED:
        return {"immutables": "ignore"}
    name = _VARIANTS.get(base, base)
    made: Any = method(name)
    known = {f.name for f in fields(made)}
    return {key: value for key, value in {"shrink": False, **_PLAIN.get(base, {})}.items() if key in known}


def _between(setting: HareSetting) -> Problem:
    """The setting's problem with numbers from 0 to 1 for binaries."""
    problem = setting.problem
    features = [
        replace(f, kind="real", levels=(), low=0, high=1) if f.kind == "binary" else f
        for f in problem.schema.features
    ]
    rows = problem.require_reference()
    return Problem(Schema(tuple(features)), setting.model, problem.target, data=rows, least_change=None)


def measures(
    setting: HareSetting, after: np.ndarray, wanted: np.ndarray, problem: Problem | None = None
) -> Arrays:
    """The paper's seven measures of plans that lead to `after` (n, d), NaN without one; success is 0 or 1.

    proximity is the square of the distance, as in the benchmark whose measures the paper took: with the distance
    itself its proximities, GTPs and GTDs contradict each other (see the tests). problem: left out, the setting's own.
    """
    problem = setting.problem if problem is None else problem
    schema, x = problem.schema, setting.x
    none = np.isnan(after).all(1)
    gtp, gtd = act.ground_truth(schema, x, after, wanted)
    broken = act.violations(schema, x, after)["immutables"]
    spare = act.redundancy(schema, x, after, lambda rows: problem.reached(rows)[0])
    got = {
        "gtp": gtp,
        "gtd": gtd,
        "success": (~none).astype(np.float64),
        "violations": broken,
        "redundancy": spare,
        "proximity": act.proximity(schema, x, after) ** 2,
        "sparsity": np.where(none, np.nan, changed(schema, x, after).sum(1).astype(np.float64)),
    }
    return {name: np.asarray(got[name]) for name in MEASURES}


def known_base(base: str) -> str | None:
    """None where there is such a base method, else why not."""
    from wayforward.methods import method

    try:
        method(_VARIANTS.get(base, base))
    except (MethodError, ImportError) as error:
        return str(error)
    return None
