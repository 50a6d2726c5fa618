"""`python -m benchmarks.solver_race`: would HiGHS or CP-SAT beside our own search prove more of networks?

The usual mixed-integer program: a binary a unit, bounds of units by intervals within what `local-search`'s option costs
at most, level choices, numbers on their lattices, no dearer than that option. HiGHS, as SciPy has it, and CP-SAT where
`ortools` is installed (it is in no extra of ours), which scales what is continuous to whole numbers; one thread each.
The people are those whom `certify=True` leaves with a gap (gmsc), and the first ones (german); actionable-recourse,
whose programs are solved by HiGHS too, and the exact search of lines on the same people. Results go to
benchmarks/results/solver_race.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cells import RESULTS, SEED
from benchmarks.nobody_left import problem_of


class Program(NamedTuple):
    """Variables between low and high, whole or not, of which each costs its price; rows of coefficients by variable."""

    price: list[float]
    whole: list[bool]
    low: list[float]
    high: list[float]
    rows: list[tuple[dict[int, float], float, float]]


def program(problem: Any, people: Any, i: int, cost: float) -> Program:
    """One person's program: what is cheaper than `cost`."""
    from wayforward.methods.engines.seeker import packing
    from wayforward.model.affine_net import AffineNet
    from wayforward.model.rounding import DOUBLE_UNIT

    form, schema, x = problem.model.dense, problem.schema, people.x[i]
    mix = packing.one_output(problem, form.weights[-1].shape[1], form.link)
    need = packing.margin_range(problem, form.link, mix)[0]
    net = AffineNet.of(form, schema.level_columns, mix[:, None], DOUBLE_UNIT)
    low, high, whole, price = [], [], [], []  # of each variable
    rows: list[tuple[dict[int, float], float, float]] = []

    def variable(least: float, most: float, integer: bool, each: float = 0.0) -> int:
        low.append(least), high.append(most), whole.append(integer), price.append(each)
        return len(low) - 1

    near = problem.cost.reach_for(people.x[[i]], np.array([cost]), people.weight[[i]])
    first: dict[int, np.ndarray] = {}  # variable -> what it adds to the first layer
    layer = net.base_of(x[None])[0].copy()
    least, most = layer.copy(), layer.copy()
    for f in range(schema.d):
        if schema.has_levels[f]:
            at = schema.level_columns[f]
            ok = people.levels[i][at] & people.may[i, f]
            ok[int(x[f])] = True
            action = np.full((ok.sum(), schema.d), np.nan)
            action[:, f] = np.flatnonzero(ok)
            action[:, f] = np.where(action[:, f] == x[f], np.nan, action[:, f])
            paid = people.cost(np.full(len(action), i), action)
            ys = [variable(0, 1, True, float(c)) for c, _ in zip(np.nan_to_num(paid), action, strict=True)]
            rows.append((dict.fromkeys(ys, 1.0), 1.0, 1.0))
            parts = net.table[at][ok]
            first |= dict(zip(ys, parts, strict=True))
            least, most = least + parts.min(0), most + parts.max(0)
            continue
        if np.isnan(x[f]):
            continue
        a, b = x[f], x[f]
        if people.may[i, f]:
            a = min(x[f], max(people.least[i, f], near[0][0, f]))
            b = max(x[f], min(people.greatest[i, f], near[1][0, f]))
        step = 1.0 if np.isnan(schema.step[f]) else schema.step[f]
        lattice = not np.isnan(schema.step[f])
        ends = (np.ceil((a - x[f]) / step - 1e-9), np.floor((b - x[f]) / step + 1e-9))
        ends = ends if lattice else ((a - x[f]) / step, (b - x[f]) / step)
        each = float(people.weight[i, f] * step / problem.cost.fitted_scales.divisor[f])
        t = variable(min(ends[0], 0), max(ends[1], 0), lattice)
        up, down = variable(0, max(ends[1], 0), False, each), variable(0, max(-ends[0], 0), False, each)
        rows.append(({t: 1.0, up: -1.0, down: 1.0}, 0.0, 0.0))
        first[t] = net.slope[f] * step
        shift = net.slope[f] * x[f]
        layer, least, most = layer + shift, least + shift, most + shift
        way = np.outer([low[t], high[t]], first[t])
        least, most = least + way.min(0), most + way.max(0)
    coming, weight, bias = list(first), np.array(list(first.values())), layer
    for rectified, (following, offset) in zip(net.rectified, net.layers, strict=True):
        units = []
        for u in range(weight.shape[1]):
            ways = {v: float(w) for v, w in zip(coming, weight[:, u], strict=True) if w}
            a, b = float(least[u]), float(most[u])
            h = variable(max(a, 0.0) if rectified else a, max(b, 0.0) if rectified else b, False)
            units.append(h)
            if not rectified or a >= 0:
                rows.append(({h: 1.0} | {v: -w for v, w in ways.items()}, float(bias[u]), float(bias[u])))
            elif b > 0:
                on = variable(0, 1, True)
                below = {h: 1.0} | {v: -w for v, w in ways.items()}
                rows.append((below, float(bias[u]), np.inf))
                rows.append((below | {on: -a}, -np.inf, float(bias[u]) - a))
                rows.append(({h: 1.0, on: -b}, -np.inf, 0.0))
        ends = np.array([[low[h] for h in units], [high[h] for h in units]])
        plus, minus = np.maximum(following, 0), np.minimum(following, 0)
        least, most = ends[0] @ plus + ends[1] @ minus + offset, ends[1] @ plus + ends[0] @ minus + offset
        coming, weight, bias = units, following, offset
    rows.append((dict(zip(coming, weight[:, 0].tolist(), strict=True)), float(need - bias[0]), np.inf))
    rows.append(({v: c for v, c in enumerate(price) if c}, -np.inf, cost * (1 - 1e-7)))
    return Program(price, whole, low, high, rows)


def by_highs(of: Program, seconds: float) -> tuple[bool, bool, float | None]:
    """Whether the search ended, whether it found something, and the bound; see `raced`."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    at = [(r, v, c) for r, (ways, _, _) in enumerate(of.rows) for v, c in ways.items()]
    matrix = csr_array(
        ([c for *_, c in at], ([r for r, *_ in at], [v for _, v, _ in at])), (len(of.rows), len(of.low))
    )
    got = milp(
        np.array(of.price), integrality=np.array(of.whole, int), bounds=Bounds(of.low, of.high),
        constraints=LinearConstraint(matrix, [r[1] for r in of.rows], [r[2] for r in of.rows]),
        options={"time_limit": seconds},
    )  # fmt: skip
    ended = got.status in (0, 2)
    return ended, got.x is not None, got.fun if got.status == 0 else getattr(got, "mip_dual_bound", None)


def by_cp_sat(of: Program, seconds: float) -> tuple[bool, bool, float | None]:
    """The same."""
    from ortools.linear_solver.python import model_builder

    model = model_builder.Model()
    columns = zip(of.low, of.high, of.whole, strict=True)
    variables = [model.new_var(low, high, whole, None) for low, high, whole in columns]
    for ways, least, most in of.rows:
        line = sum(c * variables[v] for v, c in ways.items())
        model.add_linear_constraint(line, least, most)
    model.minimize(sum(c * v for c, v in zip(of.price, variables, strict=True) if c))
    solver = model_builder.Solver("sat")
    solver.set_time_limit_in_seconds(seconds)
    solver.set_solver_specific_parameters("num_workers:1")
    status = solver.solve(model).name
    found = status in ("OPTIMAL", "FEASIBLE")
    return status in ("OPTIMAL", "INFEASIBLE"), found, solver.best_objective_bound if found else None


def raced(of: Program, cost: float, seconds: float) -> dict[str, Any]:
    """Each solver on one program: processor seconds, whether it ended, whether it found something cheaper, the gap."""
    out: dict[str, Any] = {"binaries": int(np.sum(of.whole))}
    for name, solve in (("highs", by_highs), ("cp-sat", by_cp_sat)):
        started = time.process_time()
        try:
            ended, found, bound = solve(of, seconds)
        except ImportError:
            continue
        bound = cost if ended and not found else bound
        gap = 1.0 if not bound or bound <= 0 else cost / min(bound, cost) - 1.0
        spent = time.process_time() - started
        out[name] = {"seconds": spent, "ended": ended, "cheaper": found, "gap": gap}
    return out


def nets(data: str, n: int, seconds: float) -> dict[str, Any]:
    """People of one table against two layers of 64 units: those with a gap first."""
    import wayforward as wf

    problem, refused = problem_of(data, "mlp")
    got = wf.recommend(problem, refused[:60], seed=SEED, certify=2_000)
    found = np.flatnonzero(got.found[:, 0])
    who = found[np.argsort(-got.gap[found, 0], kind="stable")][:n]
    people = problem.population(refused[who])
    started = time.process_time()
    milp_like = wf.recommend(problem, refused[who], method="relu-milp", seed=SEED, certify=2_000)
    ours = time.process_time() - started
    cost = got.cost[who, 0].tolist()
    solved = [raced(program(problem, people, i, c), c, seconds) for i, c in enumerate(cost)]
    return {
        "people": len(who),
        "gap_before": got.gap[who, 0].tolist(),
        "solvers": solved,
        "relu_milp_seconds": ours / len(who),
        "relu_milp_gap": milp_like.gap[:, 0].tolist(),
        "relu_milp_cheaper": int((milp_like.cost[:, 0] < got.cost[who, 0] * (1 - 1e-7)).sum()),
    }


def lines(data: str, n: int) -> dict[str, Any]:
    """People of one table against a line: programs of HiGHS, and the exact search."""
    import wayforward as wf

    problem, refused = problem_of(data, "lr")
    out: dict[str, Any] = {"people": n}
    for name in ("local-search", "actionable-recourse"):
        method = wf.method(name).fit(problem)
        method.recommend(refused[:2])
        started = time.process_time()
        got = method.recommend(refused[:n])
        out[name] = {
            "ms_a_person": 1000 * (time.process_time() - started) / n,
            "mean_cost": float(got.cost[got.found[:, 0], 0].mean()),
        }
    return out


def main() -> None:
    """Measure, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    out = {f"{data}/mlp": nets(data, args.people, args.seconds) for data in ("german", "gmsc")}
    out |= {f"{data}/lr": lines(data, 60) for data in ("german", "gmsc")}
    print(json.dumps(out, indent=1))
    (RESULTS / "solver_race.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
