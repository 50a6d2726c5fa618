"""`python -m benchmarks.solver_race`: would HiGHS or CP-SAT beside our own search prove more of networks?

The usual mixed-integer program: a binary a unit, bounds of units by intervals within what may be paid, level choices,
numbers on their lattices. Each is asked for what costs at most 1.02 times what `relu-milp` proved to be the least cost,
where something is, and .98 times, where nothing is. HiGHS, as SciPy has it, and CP-SAT where `ortools` is installed (it
is in no extra of ours); one thread each. CP-SAT knows whole numbers alone, so what is continuous is counted in 2^-20,
and every row lets pass what its rounding can do: what it proves is then proved. (Its bridge for mixed-integer programs
rounds rows without that, and calls programs infeasible that have solutions.) Besides, actionable-recourse, whose
programs are solved by HiGHS, and the exact search of lines on the same people. Results go to
benchmarks/results/solver_race.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cells import RESULTS, SEED
from benchmarks.nobody_left import problem_of

SHARES = (1.02, 0.98)  # of the least cost: so much may be paid
FINE = 2.0**-20  # what CP-SAT counts in


class Program(NamedTuple):
    """Variables between low and high, whole or not, of which each costs its price; rows of coefficients by variable;
    read: the row of the person's features that values of the variables stand for."""

    price: list[float]
    whole: list[bool]
    low: list[float]
    high: list[float]
    rows: list[tuple[dict[int, float], float, float]]
    read: Callable[[np.ndarray], np.ndarray]


def program(problem: Any, people: Any, i: int, cost: float) -> Program:
    """One person's program: what costs no more than `cost`."""
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
    places: list[tuple[int, list[int], Any]] = []  # feature, variables, their levels or the step
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
            places.append((f, ys, np.flatnonzero(ok)))
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
        places.append((f, [t], step))
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

    def read(value: np.ndarray) -> np.ndarray:
        row = x.copy()
        for f, variables, what in places:
            several = isinstance(what, np.ndarray)
            row[f] = what[value[variables].argmax()] if several else x[f] + what * value[variables[0]]
        return row

    return Program(price, whole, low, high, rows, read)


def by_highs(of: Program, seconds: float, wall: float) -> tuple[bool, np.ndarray | None]:
    """Whether the search ended, and the values that it found; None for none. HiGHS knows the wall's clock alone."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    at = [(r, v, c) for r, (ways, _, _) in enumerate(of.rows) for v, c in ways.items()]
    matrix = csr_array(
        ([c for *_, c in at], ([r for r, *_ in at], [v for _, v, _ in at])), (len(of.rows), len(of.low))
    )
    got = milp(
        np.array(of.price), integrality=np.array(of.whole, int), bounds=Bounds(of.low, of.high),
        constraints=LinearConstraint(matrix, [r[1] for r in of.rows], [r[2] for r in of.rows]),
        options={"time_limit": wall},
    )  # fmt: skip
    return got.status in (0, 2), got.x


def by_cp_sat(of: Program, seconds: float, wall: float) -> tuple[bool, np.ndarray | None]:
    """The same; seconds of the solver's own steady clock."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    unit = np.where(of.whole, 1.0, FINE)
    low, high = np.floor(np.array(of.low) / unit), np.ceil(np.array(of.high) / unit)
    variables = [
        model.new_int_var(int(a), int(b), f"v{v}") for v, (a, b) in enumerate(zip(low, high, strict=True))
    ]
    most = np.maximum(np.abs(low), np.abs(high))
    for ways, least, greatest in of.rows:
        at, each = np.array(list(ways)), np.array(list(ways.values()))
        scale = 2.0 ** np.floor(np.log2(2.0**60 / max((np.abs(each) * unit[at]) @ most[at], 1e-300)))
        scale = min(scale, 2.0**56 / np.abs(each * unit[at]).max())
        whole = np.rint(scale * each * unit[at])
        # what rounding the values to their units, and the coefficients, can move the sum by
        pass_ = scale * (np.abs(each) * unit[at]) @ (0.5 * (unit[at] < 1.0)) + 0.5 * most[at].sum() + 2.0
        line = cp_model.LinearExpr.weighted_sum([variables[v] for v in at], [int(c) for c in whole])
        if np.isfinite(least):
            model.add(line >= int(np.floor(scale * least - pass_)))
        if np.isfinite(greatest):
            model.add(line <= int(np.ceil(scale * greatest + pass_)))
    price = np.rint(np.array(of.price) * unit / FINE / FINE)
    model.minimize(cp_model.LinearExpr.weighted_sum(variables, [int(c) for c in price]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = seconds
    solver.parameters.max_time_in_seconds = wall
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    value = np.array([solver.value(v) for v in variables]) * unit if found else None
    return status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), value


def raced(problem: Any, people: Any, i: int, cost: float, seconds: float, wall: float) -> dict[str, Any]:
    """Each solver on one person's program: processor seconds, whether it ended, whether it says that there is
    something, and what the row that it found costs; None: the model refuses it, within rounding of its boundary."""
    of = program(problem, people, i, cost)
    out: dict[str, Any] = {"binaries": int(np.sum(of.whole)), "cost": cost}
    for name, solve in (("highs", by_highs), ("cp-sat", by_cp_sat)):
        started = time.process_time()
        try:
            ended, value = solve(of, seconds, wall)
        except ImportError:
            continue
        out[name] = {"seconds": time.process_time() - started, "ended": ended, "cheaper": value is not None}
        if value is not None:
            row = problem.schema.round(of.read(value))[None]
            got = people.evaluate(
                np.array([i]), np.where(problem.schema.differs(row, people.x[i]), row, np.nan)
            )
            out[name]["its_cost"] = float(got.cost[0]) if got.reached[0] and got.allowed[0] else None
    return out


def nets(data: str, n: int, seconds: float, wall: float) -> dict[str, Any]:
    """The first people of one table against two layers of 64 units, a little above and below the proved least cost."""
    import wayforward as wf

    problem, refused = problem_of(data, "mlp")
    x = refused[: 4 * n]
    got = wf.recommend(problem, x, method="relu-milp", seed=SEED, certify=2_000)
    who = np.flatnonzero(got.gap[:, 0] == 0)[:n].tolist()
    people, least = problem.population(x), got.cost[:, 0]
    asked = [(i, share, float(least[i]) * share) for i in who for share in SHARES]
    return {
        "people": len(who),
        "asked": [{"share": share} | raced(problem, people, i, c, seconds, wall) for i, share, c in asked],
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
    parser.add_argument("--people", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument(
        "--wall", type=float, default=8.0, help="seconds of the wall, where others compute, too"
    )
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    out = {
        f"{data}/mlp around": nets(data, args.people, args.seconds, args.wall) for data in ("german", "gmsc")
    }
    out |= {f"{data}/lr": lines(data, 60) for data in ("german", "gmsc")}
    file = RESULTS / "solver_race.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(kept | out, indent=1) + "\n")


if __name__ == "__main__":
    main()
