"""`python -m benchmarks.region_rules`: regions around options beside rules of one surrogate tree for everybody.

The reference is in the manner of T-CREx (T. Bewley and others, 2024, ICML, arXiv:2405.18875): a tree fitted to what
the model says of the past people, its largest node boxes with at least 95 % yes and 1 % of the people as rules, and for
each person the rule that asks for the fewest changes within their reach. Points are drawn in both kinds of boxes,
legal and within reach, and the model itself is asked. covers: of the accepted people of the past,
the share whose values of what the person changes lie in the box. Results go to benchmarks/results/region_rules.json.
"""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.cells import RESULTS, SEED
from benchmarks.nobody_left import problem_of

ACCURATE, FEASIBLE, LEAVES = 0.95, 0.01, 64
POINTS, PEOPLE = 300, 60


def rules_of(x: np.ndarray, yes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The maximal node boxes of a tree, from low (excluded) to high, with enough yes and enough people."""
    from sklearn.tree import DecisionTreeClassifier

    filled = np.nan_to_num(x, nan=-1.0)
    fitted = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=SEED).fit(filled, yes).tree_
    found, d = [], x.shape[1]
    todo = [(0, np.full(d, -np.inf), np.full(d, np.inf))]
    while todo:
        node, low, high = todo.pop()
        share = fitted.value[node, 0] / fitted.value[node, 0].sum()
        if share[-1] >= ACCURATE and fitted.n_node_samples[node] >= FEASIBLE * len(x):
            found.append((low, high))
        elif fitted.children_left[node] >= 0:
            f, cut = fitted.feature[node], fitted.threshold[node]
            left, right = high.copy(), low.copy()
            left[f], right[f] = min(high[f], cut), max(low[f], cut)
            todo += [(fitted.children_left[node], low, left), (fitted.children_right[node], right, high)]
    return found


def measure(cell: str) -> dict[str, Any]:
    """Both kinds of boxes for some people of a cell."""
    import wayforward as wf
    from wayforward.problem.regions import rows_in

    problem, refused = problem_of(*cell.split("/"))
    x, schema, rng = refused[:PEOPLE], problem.schema, np.random.default_rng(SEED)
    people, past = problem.population(x), problem.reference
    accepted = problem.reference_accepted

    def said(who: np.ndarray, action: np.ndarray) -> np.ndarray:
        after = people.after(who, action)
        return np.asarray(problem.reached(after)[0] & people.allowed(who, action, after))

    def summary(yes: dict[int, float], covers: list[float], seconds: float) -> dict[str, Any]:
        shares = np.array(list(yes.values()))
        return {
            "have_one": len(yes) / len(x),
            "points_that_are_a_yes": float(shares.mean()) if len(shares) else None,
            "regions_all_yes": float((shares == 1).mean()) if len(shares) else None,
            "covers": float(np.mean(covers)) if covers else None,
            "ms_a_person": 1000 * seconds / len(x),
        }

    started = time.process_time()
    got = wf.recommend(problem, x, seed=SEED)
    found = got.regions()
    seconds = time.process_time() - started
    yes, covers = {}, []
    for i in np.flatnonzero(found.known[:, 0] != ""):
        who = np.full(POINTS, i)
        action = rows_in(got, found, who, np.zeros(POINTS, int), rng.random((POINTS, schema.d)))
        yes[int(i)] = float(said(who, action).mean())
        inside = np.ones(len(accepted), dtype=bool)
        for f in np.flatnonzero(got.acted[i, 0]):
            if schema.has_levels[f]:
                inside &= found.levels[f][i, 0][np.nan_to_num(accepted[:, f]).astype(int)]
            else:
                inside &= (accepted[:, f] >= found.low[i, 0, f]) & (accepted[:, f] <= found.high[i, 0, f])
        covers.append(float(inside.mean()))
    ours = summary(yes, covers, seconds)
    started = time.process_time()
    rules = rules_of(past, problem.reference_reached)
    fitted = time.process_time() - started
    yes, covers, seconds = {}, [], 0.0
    for i in range(len(x)):
        started = time.process_time()
        best: tuple[int, Any] = (schema.d + 1, None)
        for low, high in rules:
            own = np.nan_to_num(x[i], nan=-1.0)
            out = ~((own > low) & (own <= high))
            first, last = np.maximum(low, people.least[i]), np.minimum(high, people.greatest[i])
            can = people.may[i] & (first <= last)
            if out.any() and not (out & ~can).any() and out.sum() < best[0]:
                best = (int(out.sum()), (out, first, last, low, high))
        seconds += time.process_time() - started
        if best[1] is None:
            continue
        out, first, last, low, high = best[1]
        finite = (
            np.where(np.isfinite(first), first, x[i]),
            np.where(np.isfinite(last), last, x[i] + schema.span),
        )
        drawn = finite[0] + rng.random((POINTS, schema.d)) * (finite[1] - finite[0])
        who = np.full(POINTS, i)
        action = people.snap(who, np.where(out, drawn, np.nan))
        inside = ~((np.nan_to_num(action, nan=0.0) <= low) & out).any(1)
        action = np.where(schema.differs(action, x[who]), action, np.nan)
        if inside.any():
            yes[i] = float(said(who[inside], action[inside]).mean())
            there = (accepted > low) & (accepted <= high)
            covers.append(float(there[:, out].all(1).mean()))
    tree = summary(yes, covers, seconds) | {"rules": len(rules), "fit_ms": 1000 * fitted}
    return {"people": len(x), "regions": ours, "surrogate_tree": tree}


def main() -> None:
    """Measure, and write what was measured."""
    warnings.filterwarnings("ignore")
    out = {cell: measure(cell) for cell in ("german/rf", "adult/rf", "gmsc/gb")}
    print(json.dumps(out, indent=1))
    (RESULTS / "region_rules.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
