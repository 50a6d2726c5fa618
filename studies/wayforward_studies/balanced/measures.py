"""What is measured of one method in one setting: the paper's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from wayforward.evaluate.distance import euclidean_columns
from wayforward.impact.segregation import DIMENSIONS
from wayforward.methods import Method, method
from wayforward_studies.balanced.published import INDICES
from wayforward_studies.balanced.setting import BalancedStudy

#: The paper's methods, as near to the benchmark's versions as ours come: nothing is polished afterwards. Wachter's
#: descent stops where it crosses the boundary, to which `shrink` takes ours back.
_FORMS: dict[str, dict[str, Any]] = {
    "c-chvae": {"shrink": False, "partial": 0.0, "further": 0},
    "growing-spheres": {"shrink": False},
    "wachter": {"shrink": True},
    "cruds": {"shrink": False, "adopt": "all", "complete": False},
    "causal": {"grid": "around", "bins": 41},
}
#: What a beta of IBR in Table 5 weighs in nats, if the published one weighs a squared error: 1 / (2 x .1 x .1).
NATS = 50.0
METHODS = ("ibr", "ebr", "c-chvae", "growing-spheres", "wachter", "cruds", "causal")
#: Beyond the paper: recourse at the least cost, and the same asked to be likely in both groups.
OURS = ("local-search", "balanced local-search")


def method_of(name: str, study: BalancedStudy) -> Method:
    """The method behind a name such as 'wachter', 'causal' or 'ebr beta=0.1'."""
    called, _, beta = name.partition(" beta=")
    if called in ("ebr", "ibr"):
        chosen: dict[str, Any] = {"beta": float(beta) * (NATS if called == "ibr" else 1)} if beta else {}
        if called == "ebr" and not study.name.startswith("synthetic"):
            chosen["beta_scale"] = "absolute"  # as printed; on four normals beta would not bite
        return method(called, groups=study.groups, train_seed=study.seed, **chosen)
    if called == "causal":
        return method("causal-oracle", **_FORMS[called])
    if called in OURS:
        return method("local-search")
    more = {"train_seed": study.seed} if called == "c-chvae" else {}
    return method(called, **_FORMS[called], **more)


def answer(
    name: str, study: BalancedStudy, by: Method | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(refused (n,) bool, found (n,) bool, everybody afterwards (n, d)): whoever has no option stays.

    by: a method in place of the one behind the name.
    """
    from wayforward.methods import recommend
    from wayforward.problem import Balanced, Problem

    problem = study.problem
    if name == "balanced local-search":
        problem = Problem(
            study.schema,
            problem.model,
            problem.target,
            data=study.x,
            plausibility=Balanced(study.groups),
            least_change=None,
        )
    refused = ~problem.reached(study.x)[0]
    by = method_of(name, study) if by is None else by
    got = recommend(problem, study.x[refused], method=by, seed=study.seed, minimal=False)
    found = np.zeros(len(study.x), dtype=bool)
    found[refused] = got.found[:, 0]
    after = study.x.copy()
    after[found] = got.after[got.found[:, 0], 0]
    return refused, found, after


def measured(
    study: BalancedStudy, refused: np.ndarray, found: np.ndarray, after: np.ndarray
) -> dict[str, float]:
    """Indices before ('origin ...') and after, L2 cost and its gap, yNN with 5 neighbours, invalidation, increases.

    The radius of a neighbourhood is the origin's, before and after, as in the public code.
    """
    origin, end = study.origin, study.indices(after, radius=study.before.radius)
    here, there = (euclidean_columns(study.schema, rows[found]) for rows in (study.x, after))
    cost = np.sqrt(((there - here) ** 2).sum(1))
    side = study.groups.member[found]
    means = [float(cost[side == g].mean()) if (side == g).any() else np.nan for g in (0, 1)]
    ynn = np.nan
    if found.any():
        near = cKDTree(euclidean_columns(study.schema, study.x)).query(there, k=5)[1]
        ynn = float((~refused)[near].mean())
    worse = [DIMENSIONS[name] * (end[name] - origin[name]) > 1e-12 for name in INDICES]
    return {
        **{f"origin {name}": value for name, value in origin.items()},
        **end,
        "cost": float(cost.mean()) if found.any() else np.nan,
        "gap": abs(means[0] - means[1]),
        "ynn": ynn,
        "invalid": float(1 - found.sum() / max(refused.sum(), 1)),
        "increases": float(np.sum(worse)),
        "refused": float(refused.sum()),
    }
