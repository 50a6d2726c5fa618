"""`python -m benchmarks.wished`: with random rules and wishes, of whom is a plan neither found nor proved away?

For each data set and model, the first refused people, those held out first, in lots of 200 with rules of their own: a
limit on changes, two numbers that must stay together, acts that exclude or need each other, beside those of the data
set. Wishes: features that somebody would not touch, limits, few changes, weights. Whoever `local-search` leaves open is
searched for again, with more boxes, by `ocean`, `relu-milp` or, of a line, `actionable-recourse`. Processor time, the
model's own included. Results go to benchmarks/results/wished.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.cells import RESULTS, SEED
from benchmarks.nobody_left import problem_of

LOT = 200
CELLS = tuple(f"{data}/{model}" for data in ("gmsc",) for model in ("lgbm", "xgb", "gb"))


def rules_for(schema: Any, rows: np.ndarray, rng: np.random.Generator) -> tuple[str, ...]:
    """One to three rules about what people may act on, drawn at random."""
    can = [j for j in range(schema.d) if schema.features[j].actionability == "actionable"]
    numbers = [j for j in can if not schema.has_levels[j]]
    i, j = rng.permutation(numbers)[:2]
    a, b = rng.permutation(can)[:2]
    name, span = schema.names, schema.span.tolist()
    top = float(np.nanquantile(rows[:, i] / schema.span[i] + rows[:, j] / schema.span[j], 0.9))
    made = [
        f"at most {rng.integers(1, 4)} changes",
        f"after.{name[i]} / {span[i]!r} + after.{name[j]} / {span[j]!r} <= {top!r}",
        f"not (changed({name[a]}) and changed({name[b]}))",
        f"if changed({name[a]}) then changed({name[b]})",
        f"abs(after.{name[i]} - before.{name[i]}) <= {float(0.1 * schema.span[i])!r}",
    ]
    return tuple(made[r] for r in rng.permutation(len(made))[: rng.integers(1, 4)])


def wishes_of(schema: Any, x: np.ndarray, rng: np.random.Generator) -> Any:
    """Frozen features, limits, at most so many changes, weights; each for some of the people."""
    from wayforward.preferences import Preferences

    n, wish = len(x), Preferences.none(schema, len(x))
    for j, feature in enumerate(schema.features):
        if feature.actionability != "actionable":
            continue
        wish = wish.freeze(feature.name, who=np.flatnonzero(rng.random(n) < 0.15))
        wish = wish.weigh({feature.name: 3.0}, who=np.flatnonzero(rng.random(n) < 0.3))
        if not feature.has_levels:
            near = np.flatnonzero(rng.random(n) < 0.3)
            far = rng.uniform(0.05, 0.5, near.size) * schema.span[j]
            low, high = x[near, j] - far, x[near, j] + far
            wish = wish.limit(feature.name, low=low, high=high, who=near)
    few = np.flatnonzero(rng.random(n) < 0.4)
    return wish.at_most(rng.integers(1, schema.d, few.size), who=few)


def measure(cell: str, people: int) -> dict[str, Any]:
    """One cell: how many are found, proved to have nothing, open at first and in the end; milliseconds a person."""
    import wayforward as wf
    from wayforward.recourse import Outcome

    data, model = cell.split("/")
    plain, refused = problem_of(data, model)
    refused = refused[:people]
    counts = dict.fromkeys(("people", "found", "none_exists", "open", "open_after_a_second"), 0)
    seconds, again = 0.0, 0.0
    for lot in range(0, len(refused), LOT):
        rng = np.random.default_rng([SEED, lot])
        x = refused[lot : lot + LOT]
        schema = plain.schema.revise()
        schema = type(schema)(schema.features, (*schema.rules, *rules_for(schema, plain.reference, rng)))
        problem = wf.Problem(
            schema, plain.model, wf.Target(favourable=1), data=plain.reference, least_change=None
        )
        wish = wishes_of(schema, x, rng)
        lead = wf.method("local-search").fit(problem)
        lead.recommend(
            x[:2], 1, seed=SEED, preferences=wish.take(np.arange(min(2, len(x))))
        )  # machine code is read
        started = time.process_time()
        got = lead.recommend(x, 1, seed=SEED, preferences=wish)
        seconds += time.process_time() - started
        ends = got.outcome[:, 0]
        left = np.flatnonzero(ends == Outcome.NOT_FOUND)
        counts["people"] += len(x)
        counts["found"] += int((ends == Outcome.FOUND).sum())
        counts["none_exists"] += int((ends == Outcome.NONE_EXISTS).sum())
        counts["open"] += left.size
        if left.size:
            name, settings = "relu-milp", {"boxes": 20_000}
            if problem.model.forest is not None:
                name, settings = "ocean", {"boxes": 200_000}
            elif len(problem.model.dense.weights) == 1:
                name, settings = "actionable-recourse", {}
            started = time.process_time()
            more = wf.recommend(problem, x[left], name, preferences=wish.take(left), seed=SEED, **settings)
            again += time.process_time() - started
            counts["open_after_a_second"] += int((more.outcome[:, 0] == Outcome.NOT_FOUND).sum())
    return counts | {
        "ms_a_person": 1000 * seconds / counts["people"],
        "ms_a_person_left": 1000 * again / max(counts["open"], 1),
    }


def main() -> None:
    """Measure cells, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="*", default=CELLS)
    parser.add_argument("--people", type=int, default=2_000)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    path = RESULTS / "wished.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for cell in args.cells:
        kept[cell] = measure(cell, args.people)
        print(cell, kept[cell], flush=True)
        path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
