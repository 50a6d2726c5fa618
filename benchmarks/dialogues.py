"""`python -m benchmarks.dialogues`: dialogues with simulated people, and what their screens are worth.

Every person has secret costs of three kinds, one a dialogue: `linear` (a weight for each feature on the problem's
cost), `threshold` (past a limit of their own a change is much dearer) and `noisy` (linear, and one choice in ten is the
wrong way round). Each feature is out of the question for about one person in seven, who says so when asked, or when a
plan needs it. A person is content with a plan that costs them a tenth more than the best that is known for them. That
best has neither room nor round numbers, as plans on a screen have (`as_told`); what these add to it is told beside.

Every dialogue that was held is kept (`.cache/dialogues`) for the library's source as it stands: what was stopped goes
on.

`--kinds noisy-until-last`: people who err as `noisy` ones do, but not on the last screen.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import CACHE, digest, source_digest
from wayforward import recommend
from wayforward.cli.inputs import Inputs
from wayforward.people.dialogue import Dialogue, Question
from wayforward.preferences import Preferences
from wayforward.problem import Problem, as_told

CELLS = (("german", "rf"), ("gmsc", "gb"), ("adult", "gb"), ("compas:benchmark", "lr"), ("loan", "gb"))
KINDS = ("linear", "threshold", "noisy")
UNTIL_LAST = "noisy-until-last"  # errs as "noisy", and not on the last screen
AT = (0, 1, 2, 3, 4, 6, 8)  # questions about plans after which the regret is read
DRAWS = 24  # tastes whose cheapest plans stand for all that there is
CONTENT, FLIP, NEVER, MOST = 1.1, 0.1, 0.15, 2.0
RESULT = Path(__file__).parent / "results" / "dialogues.json"


@dataclass
class Person:
    """One simulated person: x (d,), weight (d,), never (d,) bool: out of the question, best: cost of the best known."""

    problem: Problem
    x: np.ndarray
    kind: str
    weight: np.ndarray
    limit: np.ndarray
    never: np.ndarray
    seed: tuple[int, int]
    best: float = np.inf
    told: float = np.inf  # the same of plans as they are told
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    seen: list[np.ndarray] = field(default_factory=list)

    def dislike(self, action: np.ndarray) -> np.ndarray:
        """Actions (m, d) -> (m,) what they cost this person; inf for what they cannot do."""
        who = np.zeros(len(action), dtype=np.int64)
        parts = self.problem.population(self.x[None]).parts(who, action)
        if self.kind == "threshold":
            parts = parts + np.where(parts > self.limit, 2 * self.limit, 0.0)
        cost = (self.weight * parts).sum(1)
        return np.asarray(np.where((~np.isnan(action) & self.never).any(1), np.inf, cost))

    def reply(self, question: Question) -> Any:
        """What they type."""
        if question.stage == "limits":
            j = self.problem.schema.index(question.feature) if question.feature else -1
            if j >= 0:
                return "no" if self.never[j] else "1"
            hit = [option.key for option in question.options if self._named(option.text)]
            return ", ".join(hit) if hit else "none"
        if question.stage == "reconsider":
            return question.options[-1].key
        rows = actions(question)
        cost = self.dislike(rows)
        known = self.dislike(np.stack(self.seen)).min(initial=np.inf)
        if not np.isfinite(cost).any():
            acted = ~np.isnan(rows[0]) & self.never
            return {"cannot": self.problem.schema.names[int(acted.argmax())]}
        if question.kind == "accept":
            final = question.left == 1
            return "yes" if cost[0] <= max(CONTENT * self.best, known if final else 0) * (1 + 1e-9) else "no"
        order = np.argsort(cost)
        sure = self.kind == UNTIL_LAST and question.left == 1
        wrong = self.kind in ("noisy", UNTIL_LAST) and not sure and self.rng.random() < FLIP
        return question.options[order[1 if wrong else 0]].key

    def _named(self, text: str) -> bool:
        from wayforward.answers import words

        features = self.problem.schema.features
        return any(self.never[j] and words.label(features[j]) in text for j in range(len(features)))


def actions(question: Question) -> np.ndarray:
    """(m, d) the plans on a screen."""
    shown = [o for o in (*question.options, question.plan) if o is not None and o.action is not None]
    return np.array([[np.nan if v is None else v for v in o.action or ()] for o in shown], dtype=np.float64)


def people(problem: Problem, x: np.ndarray, seed: int) -> list[tuple[Person, ...]]:
    """Each row for whom some plan exists as simulated people, one of every kind; the same whoever else is asked."""
    schema, (n, d) = problem.schema, x.shape
    draws, never, share = np.empty((n, DRAWS + 1, d)), np.empty((n, d), dtype=bool), np.empty((n, d))
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        draws[i], never[i] = rng.exponential(size=(DRAWS + 1, d)) + 0.02, rng.random(d) < NEVER
        share[i] = rng.random(d)
    never &= schema.actionable
    first = recommend(problem, x)
    limit = share * np.where(first.found[:, :1], first.cost[:, :1], 1.0)
    wishes = Preferences.none(schema, n * (DRAWS + 1))
    frozen = wishes.frozen | np.repeat(never, DRAWS + 1, axis=0)
    wishes = replace(wishes, weight=draws.reshape(-1, d), frozen=frozen)
    known = recommend(problem, np.repeat(x, DRAWS + 1, axis=0), preferences=wishes)
    action = known.action[:, 0].reshape(n, DRAWS + 1, d)
    found = known.found[:, 0].reshape(n, DRAWS + 1)
    told = as_told(known).action[:, 0].reshape(n, DRAWS + 1, d)
    out = []
    for i in np.flatnonzero(found.any(1)).tolist():
        same = [
            Person(problem, x[i], kind, draws[i, 0], limit[i], never[i], (seed, i))
            for kind in (*KINDS, UNTIL_LAST)
        ]
        for one in same:
            one.best = float(one.dislike(action[i, found[i]]).min())
            one.told = float(one.dislike(told[i, found[i]]).min())
        out.append(tuple(same))
    return out


def held(person: Person, **settings: Any) -> dict[str, Any]:
    """One dialogue from the first screen to the last, and what was seen in it."""
    problem = person.problem
    person.seen, person.rng = [], np.random.default_rng([*person.seed, 1])
    began = time.process_time()
    dialogue = Dialogue(problem, person.x, **settings)
    screens, limits, plans, padded, dominated, regret = 0, 0, 0, 0, 0, list[float]()
    repeated, pairs = 0, set[bytes]()
    word = dict[frozenset[bytes], bytes]()  # of two plans, the one that they preferred when last asked
    while (question := dialogue.ask()) is not None and screens < 99:
        screens += 1
        about = question.stage in ("plan", "choices", "accept")
        limits += question.stage == "limits"
        if about:
            rows = actions(question)
            if question.stage == "choices":
                key = b"".join(sorted(row.tobytes() for row in rows))
                repeated += key in pairs
                pairs.add(key)
            for row in rows:
                if any(np.array_equal(row, old, equal_nan=True) for old in person.seen):
                    continue
                plans += 1
                padded += idle(problem, person.x, row)
                dominated += any(within(problem, person.x, old, row) for old in person.seen)
                person.seen.append(row)
            if not regret:
                regret.append(_regret(person, dialogue))
        reply = person.reply(question)
        picked = [option.action is not None and option.key == reply for option in question.options]
        if question.kind == "choice" and any(picked):
            taken = rows[picked.index(True)].tobytes()
            word |= {frozenset((taken, row.tobytes())): taken for row in rows if row.tobytes() != taken}
        elif (
            question.kind == "accept" and reply == "no"
        ):  # it will not do: that it was preferred is taken back
            word = {two: taken for two, taken in word.items() if taken != rows[0].tobytes()}
        dialogue.answer(reply, question.id)
        if about:
            regret.append(_regret(person, dialogue))
    end = dialogue.end
    last = None if end is None or end.plan is None else _row(end.plan.action)
    seen = person.dislike(np.stack(person.seen)) if person.seen else np.zeros(0)
    cost = np.inf if last is None else float(person.dislike(last[None])[0])
    return {
        "person": person.seed[1], "kind": person.kind,
        "screens": screens, "limits": limits, "plans": plans, "padded": padded,
        "dominated": dominated, "repeated": repeated, "ended": None if end is None else end.how,
        "dearer": bool(seen.size and cost > seen.min() * (1 + 1e-9)),
        "against": last is not None and _against(person, last, word),
        "dearer_dominated": last is not None and any(within(problem, person.x, old, last) for old in person.seen),
        "without": last is None, "regret": regret, "seconds": time.process_time() - began,
        "told": person.told / person.best - 1,
    }  # fmt: skip


def _against(person: Person, last: np.ndarray, word: dict[frozenset[bytes], bytes]) -> bool:
    """Whether by their own last word on each two plans another one that they can do is preferred to the last plan, and
    the last plan not, by way of others, to that one."""
    better, todo = {last.tobytes()}, [last.tobytes()]  # what the last plan is preferred to
    while todo:
        now = todo.pop()
        new = [b for two, taken in word.items() if taken == now for b in two - {taken} if b not in better]
        better |= set(new)
        todo += new
    lost = [taken for two, taken in word.items() if last.tobytes() in two and taken not in better]
    return any(np.isfinite(person.dislike(np.frombuffer(row)[None]))[0] for row in lost)


def _row(values: Any) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _regret(person: Person, dialogue: Dialogue) -> float:
    plan = dialogue.plan
    cost = np.inf if plan is None else float(person.dislike(plan.action[:, 0])[0])
    return min(cost / person.best - 1, MOST)


def idle(problem: Problem, x: np.ndarray, action: np.ndarray) -> bool:
    """Whether one act can be taken back alone and the answer stays yes; holding a value is not counted."""
    acts = np.flatnonzero(~np.isnan(action) & (action != x))
    less = np.repeat(action[None], len(acts), axis=0)
    less[np.arange(len(acts)), acts] = np.nan
    less = less[~np.isnan(less).all(1)]
    return bool(len(less) and problem.check(np.repeat(x[None], len(less), 0), less[:, None]).found.any())


def within(problem: Problem, x: np.ndarray, old: np.ndarray, new: np.ndarray) -> bool:
    """Whether the plan `old` asks for less than `new` somewhere and for more nowhere."""
    if np.array_equal(old, new, equal_nan=True):
        return False
    acts = ~np.isnan(old)
    same = problem.schema.is_categorical | np.isnan(x)
    with np.errstate(invalid="ignore"):
        far = np.where(same, old == new, (np.sign(old - x) * (new - x)) >= np.abs(old - x) - 1e-9)
    return bool((~acts | (far & ~np.isnan(new))).all())


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of one data set and one way of asking."""
    plans, screens = sum(row["plans"] for row in rows), [row["screens"] for row in rows]
    curves = [[r[min(q, len(r) - 1)] for q in AT] for row in rows if (r := row["regret"])]
    exact = [row for row in rows if row["kind"] not in ("noisy", UNTIL_LAST)]
    return {
        "people": len({row["person"] for row in rows}), "dialogues": len(rows), "plans": plans,
        "padded": sum(row["padded"] for row in rows) / max(plans, 1),
        "dominated": sum(row["dominated"] for row in rows) / max(plans, 1),
        "repeated_pairs": sum(row["repeated"] for row in rows),
        "dearer": sum(row["dearer"] for row in exact), "of": len(exact),
        "noisy": len(rows) - len(exact),
        "dearer_noisy": sum(row["dearer"] for row in rows) - sum(row["dearer"] for row in exact),
        "against": sum(row["against"] for row in rows),
        "strictly_dominated": sum(row["dearer_dominated"] for row in rows),
        "without_a_plan": sum(row["without"] for row in rows),
        "ended": {how: sum(row["ended"] == how for row in rows) for how in sorted({str(r["ended"]) for r in rows})},
        "screens_median": float(np.median(screens)), "screens_most": max(screens),
        "limits_most": max(row["limits"] for row in rows),
        "regret": {str(q): round(float(np.mean([c[i] for c in curves])), 4) for i, q in enumerate(AT)},
        "told": round(float(np.mean([row["told"] for row in rows])), 4),
        "seconds": round(float(np.median([row["seconds"] for row in rows])), 3),
    }  # fmt: skip


@cache
def _crowd(data: str, model: str, many: int) -> list[tuple[Person, ...]]:
    ready = Inputs(data=data, model=model, n=2 * many).ready()
    return people(ready.problem, ready.x, seed=13)[:many]


def cell(
    data: str, model: str, elicitor: str, many: int, settings: dict[str, Any], kinds: Sequence[str] = KINDS
) -> list[dict[str, Any]]:
    """Hold the dialogues of one table, model and elicitor that were not held yet; return all of them."""
    key = digest(source_digest(), Path(__file__), data, model, elicitor, settings)
    place = CACHE / "dialogues" / f"{data.replace(':', '-')}-{model}-{elicitor}-{key}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []
    done = {(row["person"], row["kind"]) for row in rows}
    ready = Inputs(data=data, model=model, n=2 * many).ready()
    crowd = [
        one for same in people(ready.problem, ready.x, seed=13)[:many] for one in same if one.kind in kinds
    ]
    asked = {(one.seed[1], one.kind) for one in crowd}
    own = settings if elicitor == "default" else {**settings, "elicitor": elicitor}
    with place.open("a") as file:
        for person in crowd:
            if (person.seed[1], person.kind) not in done:
                rows.append(held(person, **own))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    return [row for row in rows if (row["person"], row["kind"]) in asked]


def main() -> None:
    """Hold the dialogues and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument(
        "--elicitors", default="favourite,multi-hare,learned", help="names with commas between"
    )
    parser.add_argument("--cells", default="", help="such as german-rf,loan-gb; left out: all")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of people, names with commas between")
    parser.add_argument("--questionnaire", default="")
    parser.add_argument(
        "--as", dest="heading", default="now", help="under which heading the figures are kept"
    )
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    settings = {"questionnaire": given.questionnaire} if given.questionnaire else {}
    for name in given.elicitors.split(","):
        for data, model in CELLS:
            if given.cells and f"{data}-{model}" not in given.cells.split(","):
                continue
            found = summary(cell(data, model, name, given.people, settings, given.kinds.split(",")))
            found |= {"source": source_digest(), "when": date.today().isoformat()}
            kept = json.loads(given.out.read_text()) if given.out.exists() else {}
            kept.setdefault(given.heading, {}).setdefault(name, {})[f"{data}, {model}"] = found
            print(data, model, name, json.dumps(found), flush=True)
            given.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
