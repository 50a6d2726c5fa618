"""Methods, plain or with balance in the problem, and what is measured of each: judged, costed, before and after."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.impact.segregation import DIMENSIONS
from wayforward.impact.segregation.change import compliant
from wayforward.methods import Method, method
from wayforward.preferences import Preferences
from wayforward.problem import Balanced, Problem
from wayforward.recourse import Recourse
from wayforward_studies.balanced.measures import method_of
from wayforward_studies.balanced.published import INDICES
from wayforward_studies.balanced.setting import BalancedStudy

STRICT = 0.3  # the beta by which every answer is judged, balanced or not
SHARES = tuple(i / 10 for i in range(11))
_DRAWS = 2  # who follows, drawn so often
_LEAST = 5  # people of a group with an option, for a mean cost that says something
_NETWORKS = (1000,)  # of the amortised methods


@dataclass(frozen=True)
class AtBeta:
    """A method, and the beta of the balance that is asked of it; None: nothing is asked."""

    method: str
    beta: float | None = None

    @property
    def name(self) -> str:
        """In a table."""
        return self.method if self.beta is None else f"{self.method}, balanced {self.beta:g}"

    def made(self, study: BalancedStudy) -> Method:
        """The method, not yet fitted."""
        if self.method == "ebr":  # which asks by itself
            beta = STRICT if self.beta is None else self.beta  # of mass, as `Balanced` counts it
            return method("ebr", groups=study.groups, train_seed=study.seed, beta=beta)
        if self.method in ("carma", "icarma"):
            return method(self.method, seeds=_NETWORKS, split_seed=study.seed)
        if self.method in ("ibr", "c-chvae"):
            return method_of(self.method, study)
        return method(self.method)

    @property
    def asks(self) -> bool:
        """Is balance asked for by the problem?"""
        return self.beta is not None and self.method != "ebr"

    def problem(self, study: BalancedStudy, *, lead: bool = True) -> Problem:
        """The question that is put to it. lead: who is advised elsewhere is led to a balanced place.

        The densities of a study are fitted once.
        """
        if not self.asks:
            return study.problem
        assert self.beta is not None
        problem = copy.copy(study.problem)
        problem.plausibility = judge(study, self.beta, lead=lead)
        return problem


def judge(study: BalancedStudy, beta: float = STRICT, *, lead: bool = True) -> Balanced:
    """The fitted demand by itself."""
    from wayforward.problem.learned import problem_density

    fitted = problem_density(study.problem, study.groups, "mixture", seed=study.seed)
    return Balanced(study.groups, beta, fitted, lead=lead).fit_problem(study.problem)


@dataclass(frozen=True)
class StudyAdvice:
    """Answers for the refused people of a study. fit, ask: processor seconds."""

    study: BalancedStudy
    problem: Problem
    refused: np.ndarray
    recourse: Recourse
    fit: float
    ask: float
    made: Method

    @property
    def found(self) -> np.ndarray:
        """(n,) bool: who of everybody has an option."""
        out = np.zeros(len(self.study.x), dtype=bool)
        out[self.refused] = self.recourse.found[:, 0]
        return out

    def after(self, follows: np.ndarray | None = None) -> np.ndarray:
        """(n, d): everybody, where those of the refused (r,) bool who follow have moved; None: all who can."""
        out = self.study.x.copy()
        some = self.recourse.found[:, 0] if follows is None else follows & self.recourse.found[:, 0]
        out[np.flatnonzero(self.refused)[some]] = self.recourse.after[some, 0]
        return out


def advise(study: BalancedStudy, chosen: AtBeta, wishes: Preferences | None = None) -> StudyAdvice:
    """Ask a method for the refused people of a study."""
    problem = chosen.problem(study)
    refused = ~problem.reached(study.x)[0]
    started = time.process_time()
    made = chosen.made(study).fit(problem)
    fit, started = time.process_time() - started, time.process_time()
    got = made.recommend(study.x[refused], preferences=wishes, seed=study.seed, minimal=False)
    return StudyAdvice(study, problem, refused, got, fit, time.process_time() - started, made)


def worse(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    """Indices that say that people are more segregated than before."""
    return [name for name in INDICES if DIMENSIONS[name] * (after[name] - before[name]) > 1e-12]


def judged(advice: StudyAdvice, wishes: Preferences | None = None) -> dict[str, float]:
    """Shares and costs by `evaluate`, which believes no method; 'broken' counts options that break something."""
    from wayforward.evaluate import evaluate

    study, got = advice.study, advice.recourse
    seen = evaluate(got, advice.problem, preferences=wishes, metrics="headline", bootstrap=0)
    cost, member = seen.people["cost"], study.groups.member[advice.refused]
    known = np.isfinite(cost)
    by = [
        cost[known & (member == g)].mean() if (known & (member == g)).sum() >= _LEAST else np.nan
        for g in range(study.groups.n_groups)
    ]
    some, returned = got.found[:, 0], seen.options["returned"]
    level = judge(study).score(got.after[some, 0])
    valid = seen.options["legal"] & seen.options["rules"] & seen.options["wishes"] & seen.options["follows"]
    return {
        "refused": float(got.n),
        "found": float(some.mean()),
        "usable": float(seen["usable"].value),
        "cost": float(cost[known].mean()) if known.any() else np.nan,
        "gap": float(np.nanmax(by) - np.nanmin(by)) if np.isfinite(by).sum() > 1 else np.nan,
        "in balance": float((level >= 0).sum() / got.n),
        "broken": float((returned & ~valid).sum()),
        "fit": advice.fit,
        "speed": got.n / max(advice.ask, 1e-3),
    }


def option(study: BalancedStudy, chosen: AtBeta) -> dict[str, float]:
    """The row of a method in the table of options; 'alone' is the share with an option if nobody is led."""
    advice = advise(study, chosen)
    out = judged(advice)
    alone = advice.recourse
    if chosen.asks:  # the same fitted method, and nobody to lead people where it does not
        made = unproved(advice.made)
        made.problem_ = chosen.problem(study, lead=False)
        alone = made.recommend(study.x[advice.refused], seed=study.seed, minimal=False)
    out["alone"] = float(alone.found[:, 0].mean())
    return out | _moved(study.origin, study.indices(advice.after()))


def unproved(made: Method) -> Method:
    """A copy of a fitted method that looks for no proofs that nothing exists: they would cost more than all else."""
    other = copy.copy(made)
    other.__class__ = type(type(made).__name__, (type(made),), {"_prove": False})
    return other


def _moved(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    origin = {f"origin {name}": value for name, value in before.items()}
    return {**origin, **after, "worse": float(len(worse(before, after)))}


def followed(study: BalancedStudy, chosen: AtBeta) -> dict[str, float]:
    """'share index' for every share that follows, mean over draws of who does, and for those who are willing."""
    from wayforward.impact.society.scenario import Compliance

    advice = advise(study, chosen)
    own, got = study.x[advice.refused], advice.recourse
    changes = (~np.isnan(got.action[:, 0])).sum(1)
    willing = Compliance(kind="willing").willingness(changes.astype(np.float64))
    out: dict[str, float] = {"refused": float(got.n), "found": float(got.found[:, 0].mean())}
    chances: list[tuple[str, Any]] = [*((f"{s:g}", s) for s in SHARES), ("willing", willing)]
    for name, chance in chances:
        sure = name in ("0", "1")
        drawn, took = [], []
        for draw in range(1 if sure else _DRAWS):
            follows = compliant(own, chance, seed=1000 * study.seed + draw)
            drawn.append(study.indices(advice.after(follows)))
            took.append((follows & got.found[:, 0]).sum() / max(got.found[:, 0].sum(), 1))
        out |= {f"{name} {index}": float(np.mean([one[index] for one in drawn])) for index in INDICES}
        out[f"{name} took"] = float(np.mean(took))
    return out


def grouped(study: BalancedStudy, chosen: AtBeta) -> dict[str, float]:
    """'group | measure' for every group against the rest."""
    advice = advise(study, chosen)
    cost, found = advice.recourse.cost[:, 0], advice.recourse.found[:, 0]
    member, after = study.groups.member[advice.refused], advice.after()
    out: dict[str, float] = {}
    for g, name in enumerate(study.groups.names):
        mine = member == g
        one: dict[str, float] = {
            "people": float((study.groups.member == g).sum()),
            "refused": float(mine.sum()),
            "found": float(found[mine].mean()) if mine.any() else np.nan,
            "cost": float(cost[mine & found].mean()) if (mine & found).any() else np.nan,
        }
        one |= _moved(study.indices(study.x, name), study.indices(after, name))
        out |= {f"{name} | {key}": value for key, value in one.items()}
    return out


def limited(study: BalancedStudy, chosen: AtBeta, wishes: Preferences | None) -> dict[str, float]:
    """The row of a method under rules and personal limits."""
    advice = advise(study, chosen, wishes)
    out = judged(advice, wishes)
    return out | _moved(study.origin, study.indices(advice.after()))
