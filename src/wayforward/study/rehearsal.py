"""Made-up participants who walk through a whole protocol, so that its export is seen before anybody real comes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from wayforward.errors import DataError
from wayforward.streams import generator
from wayforward.study.course import ENDED, ParticipantCourse, Standing, StudyStep
from wayforward.study.participants import ACCEPTANCE, ACTION, HIGH, LOW, Rater
from wayforward.study.pool import ProfilePool
from wayforward.study.population import draw
from wayforward.study.protocol import PROFILE, StudyProtocol

_START = datetime(2030, 1, 7, 9, tzinfo=UTC)
_RATERS = {"acceptance": ACCEPTANCE, "action": ACTION}


def rehearse(
    protocol: StudyProtocol, participants: int, *, seed: int = 0, pool: ProfilePool | None = None
) -> dict[str, dict[str, Any]]:
    """Return the states of so many made-up participants by pseudonym, those who were turned away included.

    Answers come by chance; ratings of plans called acceptance and action have the statistics of the published study.
    Raises: DataError where hardly anybody gets through the screening.
    """
    if protocol.plans is not None and pool is None:
        pool = ProfilePool.synthetic(protocol.seed)
    rng, found, admitted = generator(seed), dict[str, dict[str, Any]](), 0
    alike: dict[Any, int] = {}
    while admitted < participants:
        if len(found) > 200 * participants + 1000:
            raise DataError(
                f"Of {len(found):,} made-up participants {admitted} were admitted. Check the screening."
            )
        course = ParticipantCourse.begin(protocol, pool=pool)
        _Rehearsed(course, rng).walk(admitted, alike)
        if course.standing is Standing.FULL and admitted >= protocol.quota.most:
            break
        if "number" in course.state:
            admitted += 1
            for one in (course.cell, course.stratum):
                alike[one] = alike.get(one, 0) + 1
        found[f"S{len(found) + 1:05d}"] = course.state
    return found


class _Rehearsed:
    def __init__(self, course: ParticipantCourse, rng: np.random.Generator) -> None:
        self.course, self.rng, self.now = course, rng, _START
        profile, income = draw(1, rng)
        self.profile, self.income = profile[0].tolist(), int(income[0])
        self.raters = {name: self._own(rater) for name, rater in _RATERS.items()}

    def _own(self, rater: Rater) -> tuple[Rater, float, float]:
        return rater, self.rng.normal(0, rater.intercept), self.rng.normal(0, rater.slope)

    def walk(self, number: int, alike: dict[Any, int]) -> None:
        """Go from the consent to the end. alike: how many were admitted before, by cell of the quota and by stratum."""
        course = self.course
        course.consent(self.now)
        while course.standing not in ENDED:
            if course.standing is Standing.ADMISSION:
                place = alike.get(course.stratum, 0) if course.stratum else None
                course.admit(number, number, alike.get(course.cell, 0), self.now, place)
                continue
            step = course.step()
            assert step is not None
            self.now = max(self.now, course.waits_until() or self.now) + timedelta(minutes=1)
            seconds = float(self.rng.lognormal(3, 0.5))
            if step.screen.task:
                course.finish_task(step.key, self._task(step), self.now, seconds)
            else:
                raw = {i: self._typed(step, item) for i, item in enumerate(step.items)}
                course.answer(step.key, raw, self.now, seconds)

    def _task(self, step: StudyStep) -> dict[str, Any]:
        """What comes of a task, by chance: the columns that the web application stores, without a model behind them."""
        rng, by_dialogue = self.rng, step.screen.task == "dialogue"
        vignette = self.course.protocol.vignette or {}
        able = [name for name, value in vignette.items() if isinstance(value, float | int)]
        acted = list(rng.permutation(able)[: rng.integers(1, 3)]) if able else []
        chosen, screens = bool(rng.random() < 0.95), int(rng.integers(2, 10))
        plan = {
            str(name): [vignette[str(name)], round(float(vignette[str(name)] or 1) * 1.2, 2)]
            for name in acted
        }
        return {
            "model": "rehearsed", "chosen": chosen, "plan": plan if chosen else {},
            "changes": len(plan) if chosen else None,
            "cost": round(float(rng.uniform(0.1, 0.4)), 6) if chosen else None, "cheapest_cost": 0.1,
            "questions": screens - 1 if by_dialogue else 0, "limits": {}, "screens": screens,
            "what_ifs": 0 if by_dialogue else int(rng.integers(0, 5)), "undone": 0,
        }  # fmt: skip

    def _typed(self, step: StudyStep, item: Any) -> list[str]:
        """What they type for an item."""
        protocol, plan = self.course.protocol, step.copy and self.course.state["plans"][step.copy - 1]
        if getattr(item, "expect", None) is not None:
            return [str(item.expect)]
        if step.screen.ready == PROFILE and item.id.startswith("item-"):
            return [str(self.profile[int(item.id[5:]) - 1])]
        if protocol.plans is not None and item.id == protocol.plans.income and step.part is None:
            return [str(min(self.income, len(item.options)))]
        if item.kind == "likert" and plan and item.id in self.raters:
            rater, level, slope = self.raters[item.id]
            x = plan["sparsity"]
            hidden = rater.mean + rater.height * (np.exp(-(x - 1) / rater.fall) - 0.1) + level + slope * x
            rated = np.clip(np.round(hidden + self.rng.normal(0, rater.error)), LOW, HIGH)
            return [str(int(rated))]
        return self._by_chance(step, item)

    def _by_chance(self, step: StudyStep, item: Any) -> list[str]:
        rng = self.rng
        if item.kind == "likert":
            return [str(rng.integers(1, item.points + 1))]
        if item.kind == "choice":
            able = [code for code in item.codes if step.part is not None or not item.excludes(code)]
            if item.several and item.id == "impossible":
                return [str(code) for code in able if rng.random() < 0.01]
            return [str(rng.choice(able))]
        if item.kind == "ranking":
            return [str(i + 1) for i in rng.permutation(len(item.options))]
        if item.kind == "text":
            return ["made up"]
        low, high = max(item.low, item.exclude_below), min(item.high, item.exclude_above)
        value = rng.uniform(low, high)
        return [str(round(value) if item.whole else round(value, 2))]
