"""actionable-recourse: the cheapest actions against a linear model, exactly, or a proof that none exist."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from wayforward.errors import ProblemError, UnsupportedModel
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact import selection
from wayforward.methods.engines.exact.selection import Among, Changes, Clause, Cut, Menu, Most, Pick, Program
from wayforward.methods.engines.polish import revert, shrink
from wayforward.methods.settings import check_choices, check_least
from wayforward.model import Access
from wayforward.problem.batching import distinct_changes, tidy
from wayforward.shapes import Actions, Mask

if TYPE_CHECKING:
    from wayforward.problem import Cost, Population, Problem
    from wayforward.rules.normal_form import NormalForm
    from wayforward.streams import Streams

Preset = Literal["problem", "total", "local", "max"]
Options = Literal["distinct", "different", "exclusive", "exact"]
_TABLE = 64  # a lattice with more values becomes one run where its cost is linear
_GUESSED = 256  # people whose single acts go through the world at once
_AIMS = (1.0, 1.05, 1.15, 1.35, 1.7, 2.5, 4.0)  # how far beyond the boundary an additive guess aims


@dataclass
class ActionableRecourse(Method):
    """Find the cheapest actions that turn a linear model's decision, in order of cost, or prove that there are none.

    Exact on this action set: every level, every value of an integer or stepped feature, and for a real feature without
    a step every value where the cost is linear in it (L0, L1, L-infinity, MAD), else `grid` quantiles of the reference
    and the ends of the person's reach, with the last value moved back to what exactly suffices. So costs are optimal on
    that set, and `NONE_EXISTS` is a proof for all actions. Direction, personal limits, the number of changes and the
    schema's rules are part of the search: rules that are linear or logical enter the program, others are cut off one
    by one. Where nothing couples features the optimum comes from closed forms for all people at once (fractional
    knapsack for L1, sorted water-filling for L2, bisection on the level for maxima, a Lagrangian bound for tables);
    a mixed-integer program (HiGHS) answers for whom the bound stays open.

    In a causal world, or with linkage rules, effects are taken as additive, every guess is judged in the world, and
    nothing is claimed: the method is then a heuristic. So are costs that are no sum or maximum over features
    (Mahalanobis, L2 mixed with others): the search ranks by the sum of the parts; proofs still hold.

    cost: 'problem', or 'total', 'local' (log, towards the top), 'max' (then total) percentile shift to search by.
    options: what later options may not do: 'distinct' change the same features as an earlier one; 'different' change
    all features of an earlier one, and more (used for continuous features, where tiny extra changes are no new
    option); 'exclusive' change any feature of an earlier one; 'exact' be the same. grid: see above. workers: processes
    for the programs. solves: programs a person at most. nodes: of branch and bound, a program.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="actionable-recourse", k=3)``.
    Raises: UnsupportedModel from `fit` for a model that is not linear, ProblemError for a target that is not linear.
    Source: B. Ustun, A. Spangher, Y. Liu (2019), Actionable Recourse in Linear Classification, FAT*; arXiv:1809.06514.
    """

    name: ClassVar[str] = "actionable-recourse"
    summary: ClassVar[str] = (
        "linear models: the cheapest actions in order of cost, exactly, or a proof that none exist"
    )
    citation: ClassVar[str] = "Ustun, Spangher & Liu (2019), FAT*, arXiv:1809.06514"
    needs: ClassVar[int] = Access.WHITE_BOX
    exact: ClassVar[bool] = True

    cost: Preset = "problem"
    options: Options = "distinct"
    grid: int = 100
    workers: int = 1
    solves: int = 40
    nodes: int = 100_000

    def __post_init__(self) -> None:
        check_choices(self, cost=get_args(Preset), options=get_args(Options))
        check_least(self, grid=1, workers=1, solves=1, nodes=1)

    def _fit(self, problem: Problem) -> None:
        self.scores_ = _Scores.of(problem, self.name)
        self.effort_ = _Effort.of(problem, self.cost)
        self.quantiles_ = _quantiles(problem, self.grid)

    def _recommend(
        self, people: Population, k: int, streams: Streams, budget: Budget
    ) -> Actions | tuple[Actions, Mask]:
        if not people.problem.independent or people.problem.robust is not None:
            return _additive(self, people, k)
        smooth = self._is_smooth(people)
        action, proved = np.full((people.n, k, people.d), np.nan), np.zeros(people.n, dtype=bool)
        for some, search in ((np.flatnonzero(smooth), _Euclidean), (np.flatnonzero(~smooth), _Search)):
            if some.size:
                part = people if some.size == people.n else people.take(some)
                action[some], proved[some] = search(self, part, k).run()
        return action, proved

    def _is_smooth(self, people: Population) -> np.ndarray:
        """(n,) bool: the person's problem is a hyperplane, a box and the Euclidean norm, and nothing else."""
        schema, problem = people.schema, people.problem
        real = np.isnan(schema.step) & ~schema.missing
        if (
            self.effort_.kind != "square"
            or self.scores_.rows > 1
            or schema.rules
            or problem.plausibility is not None
        ):
            return np.zeros(people.n, dtype=bool)
        inside = (people.x >= people.low) & (people.x <= people.high)
        return np.asarray(
            ((real & inside) | ~people.free).all(1) & (people.max_changes >= people.free.sum(1))
        )


# -- what the model and the cost are, as tables over single features ---------------------------------------


@dataclass(frozen=True)
class _Scores:
    """The target as r linear inequalities: bias + sum of parts >= 0, each part a function of one feature."""

    bias: np.ndarray  # (r,)
    weight: np.ndarray  # (r, d)
    tables: dict[int, np.ndarray]  # j -> (r, L)
    missing: np.ndarray  # (r, d)

    @property
    def rows(self) -> int:
        return len(self.bias)

    @classmethod
    def of(cls, problem: Problem, name: str) -> _Scores:
        form = problem.model.linear
        if form is None:
            raise UnsupportedModel(
                f"'{name}' needs a linear model; {problem.model.name} is not one. local-search takes any model; "
                "nearest-observable, nice and growing-spheres would do as well."
            )
        combine, offset = _target_rows(problem, name)
        return cls(
            combine @ form.bias + offset,
            combine @ form.weight.T,
            {j: combine @ table.T for j, table in form.tables.items()},
            combine @ form.missing.T,
        )

    def part(self, j: int, value: np.ndarray) -> np.ndarray:
        """What values (...) of feature j add: (r, ...)."""
        absent = np.isnan(value)
        known = np.where(absent, 0.0, value)
        table = self.tables.get(j)
        if table is None:
            out = known * _stretch(self.weight[:, j], value.ndim)
        else:
            out = table[:, known.astype(np.int64)]
        return np.asarray(np.where(absent, _stretch(self.missing[:, j], value.ndim), out))

    def total(self, x: np.ndarray) -> np.ndarray:
        """(n, d) -> (r, n)."""
        out = np.repeat(self.bias[:, None], len(x), axis=1)
        for j in range(x.shape[1]):
            out = out + self.part(j, x[:, j])
        return out


def _stretch(row: np.ndarray, ndim: int) -> np.ndarray:
    return row.reshape(row.shape + (1,) * ndim)


def _target_rows(problem: Problem, name: str) -> tuple[np.ndarray, np.ndarray]:
    """How the linear margins (q) combine into r inequalities: matrix (r, q) and offset (r,)."""
    target, bound, form = problem.target, problem.bound_target, problem.model.linear
    assert form is not None
    if target.interval is not None:
        low, high = target.edges()
        rows = [(1.0, -low - target.margin)] if np.isfinite(low) else []
        rows += [(-1.0, high - target.margin)] if np.isfinite(high) else []
        if not rows:
            raise ProblemError(f"'{name}' got the interval {target.interval}, which every prediction meets.")
        return np.array([[sign] for sign, _ in rows]), np.array([offset for _, offset in rows])
    classes = bound.n_classes
    if classes == 2 and len(form.bias) == 1:
        sign = 1.0 if bound.columns[0] == 1 else -1.0
        level = (0.5 if target.threshold is None else target.threshold) + target.margin
        return np.array([[sign]]), np.array([-_logit_where_it_counts(problem, level, name)])
    if target.threshold is not None or target.margin > 0 or len(bound.columns) > 1:
        raise ProblemError(
            f"'{name}' on {classes} classes takes one favourable class without threshold or margin: anything else is "
            "not linear in the scores. Use local-search, or a model of two classes."
        )
    wanted = int(bound.columns[0])
    combine = -np.eye(classes)
    combine[:, wanted] += 1.0
    return np.delete(combine, wanted, axis=0), np.zeros(classes - 1)


def _logit_where_it_counts(problem: Problem, level: float, name: str) -> float:
    """The margin at which the model's output crosses `level`: its logit, or 0 for a model of labels only."""
    form = problem.model.linear
    assert form is not None
    if level == 0.5:
        return 0.0
    if problem.reference is not None:
        rows = problem.reference[:32]
    else:
        schema = problem.schema
        low, high = (np.where(np.isfinite(edge), edge, 0.0) for edge in (schema.low, schema.high))
        rows = schema.snap(np.stack([low, (low + high) / 2, high]))
    output, margin = problem.model.outputs(rows)[:, 1], form.margin(rows)[:, 0]
    if np.allclose(output, 1 / (1 + np.exp(-np.clip(margin, -700, 700))), atol=1e-6):
        return float(np.log(level / (1 - level)))
    if np.isin(output, (0.0, 1.0)).all():
        return 0.0
    raise UnsupportedModel(
        f"'{name}' needs the probability to be the logistic of the linear score where the target has a threshold or a "
        "margin. Leave threshold and margin out, or use local-search."
    )


@dataclass(frozen=True)
class _Effort:
    """What the search minimises. kind: 'sum'; 'peak' (then sum); 'mix' (sum + peak); 'square' (root of a sum).

    linear: along a numeric feature, sum and peak grow linearly with the change. ranks: the order of totals is the
    order of this measure.
    """

    kind: Literal["sum", "peak", "mix", "square"]
    total: Cost  # whose parts add up
    peak: Cost | None
    peak_weight: float
    linear: bool
    ranks: bool

    @classmethod
    def of(cls, problem: Problem, preset: Preset) -> _Effort:
        from wayforward.problem import LpMix, MadL1, PercentileShift

        cost = problem.cost
        if preset != "problem":
            shift = PercentileShift(kind="total", log=preset == "local", mirror=preset == "local")
            fitted = shift.fit(problem.schema, problem.reference)
            peak = fitted if preset == "max" else None
            return cls("peak" if peak is not None else "sum", fitted, peak, 1.0, False, True)
        if isinstance(cost, MadL1):
            return cls("sum", cost, None, 0.0, True, True)
        if isinstance(cost, PercentileShift):
            return cls(
                "sum" if cost.kind == "total" else "peak",
                cost,
                cost if cost.kind == "max" else None,
                1.0,
                False,
                True,
            )
        if not isinstance(cost, LpMix):
            return cls("sum", cost, None, 0.0, False, cost.separable)
        plain = cost.l0 or cost.l1 or cost.l2_squared
        steps = replace(cost, l0=0.0, l1=1.0, l2=0.0, linf=0.0, l2_squared=0.0, per_feature=False)
        if cost.l2 and not plain and not cost.linf:
            return cls("square", steps, None, 0.0, False, True)
        if cost.linf and not plain and not cost.l2:
            return cls("peak", steps, steps, 1.0, True, True)
        added = replace(cost, l2=0.0, linf=0.0, l1=cost.l1 if plain else 1.0)
        return cls(
            "mix" if cost.linf else "sum",
            added,
            steps if cost.linf else None,
            cost.linf,
            not cost.l2_squared,
            not cost.l2,
        )

    def added(self, j: int, before: np.ndarray, value: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """What setting feature j adds to the sum; arrays broadcast."""
        part = np.asarray(self.total.part(j, before, value) * weight)
        return np.asarray(part**2) if self.kind == "square" else part

    def peaks(self, j: int, before: np.ndarray, value: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """What setting feature j makes of the maximum."""
        if self.peak is None:
            return np.zeros(np.broadcast_shapes(before.shape, value.shape))
        return np.asarray(self.peak.part(j, before, value) * weight)


def _quantiles(problem: Problem, grid: int) -> list[np.ndarray]:
    """For each feature, values at evenly spaced ranks of the reference (bounds of the schema where there is none)."""
    out = []
    schema = problem.schema
    for j in range(schema.d):
        known = np.empty(0)
        if problem.reference is not None:
            known = problem.reference[~np.isnan(problem.reference[:, j]), j]
        if known.size:
            out.append(np.unique(np.quantile(known, np.linspace(0, 1, grid), method="inverted_cdf")))
        elif np.isfinite(schema.low[j]) and np.isfinite(schema.high[j]):
            out.append(np.linspace(schema.low[j], schema.high[j], grid))
        else:
            out.append(np.empty(0))
    return out


# -- menus -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Menus:
    """full: everything that the person may choose. helpful: only what gains. whole_set (n,): nothing was left out."""

    full: Menu
    whole_set: np.ndarray

    def helpful(self, ruled: np.ndarray) -> Menu:
        """Without what cannot help: entries that lose score in every inequality, unless a rule reads the feature."""
        menu = self.full
        keep = (menu.gain > 0).any(0) | ruled[None, :, None]
        ends = menu.run_gain[..., 0] + menu.run_gain[..., 1] * np.maximum(menu.count, 0)
        run = (ends > 0).any(0) | ruled[None, :, None]
        return replace(menu, cost=np.where(keep, menu.cost, np.inf), count=np.where(run, menu.count, -1.0))


def _menus(method: ActionableRecourse, people: Population, tabled: np.ndarray) -> _Menus:
    """Build everybody's menu, one feature after another. tabled (d,): features that must be tables (odd rules)."""
    schema, scores, effort = people.schema, method.scores_, method.effort_
    n, d, r = people.n, people.d, scores.rows
    tables: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    run = {name: np.zeros((n, d, 2)) for name in ("start", "step")}
    run["count"] = np.full((n, d, 2), -1.0)
    run_gain, run_cost, run_peak = np.zeros((r, n, d, 2, 2)), np.zeros((n, d, 2, 2)), np.zeros((n, d, 2, 2))
    whole_set = np.ones(n, dtype=bool)
    for j in range(d):
        x, weight, free = people.x[:, j], people.weight[:, j], people.free[:, j]
        here = scores.part(j, x)
        runs = _as_runs(method, people, j, bool(tabled[j]))
        if runs is not None:
            start, step, count = runs
            for s in (0, 1):
                has = count[:, s] >= 0
                first = np.where(has, start[:, s], x)
                then = np.where(has, start[:, s] + step[:, s], x)
                run["start"][:, j, s], run["step"][:, j, s], run["count"][:, j, s] = (
                    first,
                    np.where(has, step[:, s], 0),
                    count[:, s],
                )
                run_gain[:, :, j, s, 0] = scores.part(j, first) - here
                run_gain[:, :, j, s, 1] = scores.part(j, then) - scores.part(j, first)
                for target, measure in ((run_cost, effort.added), (run_peak, effort.peaks)):
                    target[:, j, s] = _line(partial(measure, j), x, first, then, weight)
            values = np.full((n, 0), np.nan)
        else:
            values, full = _values(method, people, j)
            whole_set &= full | ~free
        stays = np.abs(values - x[:, None]) <= 1e-9 * schema.span[j]
        ok = ~np.isnan(values) & free[:, None] & ~stays
        value = np.where(ok, values, np.nan)
        safe = np.where(ok, values, np.nan_to_num(x)[:, None])
        gain = scores.part(j, safe) - here[..., None]
        cost = np.where(ok, effort.added(j, x[:, None], safe, weight[:, None]), np.inf)
        peak = np.where(ok, effort.peaks(j, x[:, None], safe, weight[:, None]), 0.0)
        tables.append((value, np.where(ok, gain, 0.0), cost, peak))
    v = max((t[0].shape[1] for t in tables), default=0)

    def side_by_side(part: int, fill: float) -> np.ndarray:
        rows = []
        for t in tables:
            array = t[part]
            pad = [(0, 0)] * (array.ndim - 1) + [(0, v - array.shape[-1])]
            rows.append(np.pad(array, pad, constant_values=fill))
        return np.stack(rows, axis=-2)

    menu = Menu(
        value=side_by_side(0, np.nan),
        gain=side_by_side(1, 0.0),
        cost=side_by_side(2, np.inf),
        peak=side_by_side(3, 0.0),
        start=run["start"],
        step=run["step"],
        count=run["count"],
        whole=~np.isnan(schema.step),
        run_gain=run_gain,
        run_cost=run_cost,
        run_peak=run_peak,
        need=-scores.total(people.x),
        most=np.minimum(people.max_changes, d),
    )
    return _Menus(menu, whole_set)


def _line(
    measure: partial[np.ndarray], x: np.ndarray, first: np.ndarray, then: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """(n, 2) a linear measure at a run's start and per step, read off beyond the start, where a fixed part is paid."""
    at_then = measure(x, then, weight)
    at_next = measure(x, then + (then - first), weight)
    slope = np.where(then != first, at_next - at_then, 0.0)
    return np.stack([np.where(then != first, at_then - slope, 0.0), slope], axis=-1)


def _edges(people: Population, j: int) -> tuple[np.ndarray, np.ndarray]:
    """(n,) lowest and highest lattice value within each person's reach (the reach itself without a lattice)."""
    schema = people.schema
    low, high = people.low[:, j], people.high[:, j]
    step = schema.step[j]
    if np.isnan(step):
        return low, high
    slack = 1e-9 * schema.span[j]
    first, last = schema.snap(low, columns=j), schema.snap(high, columns=j)
    first = np.where(first < low - slack, schema.snap(first + step, columns=j), first)
    last = np.where(last > high + slack, schema.snap(last - step, columns=j), last)
    return first, last


def _as_runs(
    method: ActionableRecourse, people: Population, j: int, tabled: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Start, step and count (n, 2) upwards and downwards, if feature j is worth a run; a rule of the feature alone.

    People whose value is missing get no run; their table has the ends of their reach.
    """
    schema = people.schema
    if tabled or schema.has_levels[j] or schema.missing[j] or not method.effort_.linear:
        return None
    step = schema.step[j]
    if not np.isnan(step) and schema.span[j] / step <= _TABLE:
        return None
    x, free = people.x[:, j], people.free[:, j]
    low, high = _edges(people, j)
    slack = 1e-9 * schema.span[j]
    if np.isnan(step):
        start = np.stack([x, x], axis=1)
        width = np.stack([high - x, low - x], axis=1)
        # Outside the reach already: the way back starts at its edge, which the person may choose as well.
        start = np.where(np.stack([x < low, x > high], axis=1), np.stack([low, high], axis=1), start)
        width = np.where(
            np.stack([x < low, x > high], axis=1), (high - low)[:, None] * np.array([1.0, -1.0]), width
        )
        there = (width * np.array([1.0, -1.0]) > slack) & free[:, None]
        return start, width, np.where(there, 1.0, -1.0)
    up, down = schema.snap(x, columns=j), schema.snap(x, columns=j)
    up = np.maximum(np.where(up <= x + slack, schema.snap(up + step, columns=j), up), low)
    down = np.minimum(np.where(down >= x - slack, schema.snap(down - step, columns=j), down), high)
    count = np.stack([np.round((high - up) / step), np.round((down - low) / step)], axis=1)
    beyond = np.stack([up > x + slack, down < x - slack], axis=1) & free[:, None]
    return (
        np.stack([up, down], axis=1),
        np.broadcast_to(np.array([step, -step]), (len(x), 2)),
        np.where(beyond & (count >= 0), count, -1.0),
    )


def _values(method: ActionableRecourse, people: Population, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (n, v) of feature j for a table, NaN where a person may not choose one, and (n,) all of them are there."""
    schema, n = people.schema, people.n
    if schema.has_levels[j]:
        ok = people.level_ok[j]
        return np.where(ok, np.arange(ok.shape[1], dtype=np.float64), np.nan), np.ones(n, dtype=bool)
    low, high = _edges(people, j)
    step, slack = schema.step[j], 1e-9 * schema.span[j]
    if not np.isnan(step):
        count = np.where(people.free[:, j], np.round((high - low) / step), -1)
        if np.isfinite(schema.span[j]) and schema.span[j] / step <= max(_TABLE, 4 * method.grid):
            width = int(count.max(initial=-1)) + 1
            value = schema.snap(low[:, None] + step * np.arange(width), columns=j)
            return np.where(np.arange(width) <= count[:, None], value, np.nan), np.ones(n, dtype=bool)
    knots = method.quantiles_[j]
    value = np.concatenate([np.broadcast_to(knots, (n, len(knots))), low[:, None], high[:, None]], axis=1)
    if not np.isnan(step):
        value = schema.snap(value, columns=j)
    value = np.sort(
        np.where((value < low[:, None] - slack) | (value > high[:, None] + slack), np.nan, value), axis=1
    )
    value[:, 1:][value[:, 1:] == value[:, :-1]] = np.nan
    return value, np.zeros(n, dtype=bool)


# -- rules -------------------------------------------------------------------------------------------------


class _Rules:
    """The schema's conditions as clauses for one person; those that have no normal form are cut off when broken."""

    def __init__(self, people: Population) -> None:
        schema = people.schema
        self.people = people
        self.involved = np.zeros((0, people.d), dtype=bool)
        self.forms: list[NormalForm | None] = []
        if schema.rules:
            rules = schema.compiled_rules
            self.involved = rules.involved
            self.forms = list(rules.normal_form())
        self.odd = np.array([form is None for form in self.forms], dtype=bool)

    @property
    def ruled(self) -> np.ndarray:
        """(d,) features that some rule reads, in a way that a move against the score could ever help to keep it."""
        reads = [row for row, form in zip(self.involved, self.forms, strict=True) if not _counts_only(form)]
        return np.any(reads, axis=0) if reads else np.zeros(self.people.d, dtype=bool)

    @property
    def tabled(self) -> np.ndarray:
        """(d,) features that a rule without a normal form reads: tables, so that single values can be cut off."""
        return (
            np.asarray(self.involved[self.odd].any(0))
            if self.odd.any()
            else np.zeros(self.people.d, dtype=bool)
        )

    def clauses(self, i: int) -> tuple[Clause, ...]:
        """The clauses of person i. One that hangs on a missing value that the person may fill in is left out here."""
        from wayforward.rules import normal_form

        x, free = self.people.x[i], self.people.free[i]
        out: list[Clause] = []
        for form in self.forms:
            if form is None:
                continue
            for clause in form.clauses:
                atoms: list[Most | Among | Changes] = []
                for atom in clause:
                    if isinstance(atom, normal_form.Moved):
                        atoms.append(Changes(atom.index, atom.changed))
                    elif isinstance(atom, normal_form.Levels):
                        if atom.side == "after":
                            atoms.append(Among(atom.index, atom.allowed))
                        elif np.isnan(x[atom.index]) or int(x[atom.index]) in atom.allowed:
                            break  # true already
                    else:
                        if any(np.isnan(x[j]) for _, j, _ in atom.terms):
                            break  # unknown, hence not broken; filled in, the judge decides
                        most = atom.bound - sum(w * x[j] for side, j, w in atom.terms if side == "before")
                        values = tuple((j, w) for side, j, w in atom.terms if side == "after")
                        fixed = sum(w * x[j] for j, w in values if not free[j])
                        values = tuple((j, w) for j, w in values if free[j])
                        changes = tuple((j, w) for j, w in atom.changed if free[j])
                        atoms.append(Most(values, changes, float(most - fixed)))
                else:
                    out.append(tuple(atoms))
        return tuple(out)

    def broken(self, who: np.ndarray, after: np.ndarray) -> np.ndarray:
        """(m, r) bool."""
        if not len(self.forms):
            return np.zeros((len(who), 0), dtype=bool)
        return ~np.asarray(self.people.schema.compiled_rules.holds(self.people.x[who], after))


def _counts_only(form: NormalForm | None) -> bool:
    """A rule such as 'at most 3 changes', which fewer changes can only help."""
    from wayforward.rules.normal_form import Linear

    return form is not None and all(
        len(clause) == 1
        and isinstance(clause[0], Linear)
        and not clause[0].terms
        and all(weight > 0 for _, weight in clause[0].changed)
        for clause in form.clauses
    )


# -- the exact search --------------------------------------------------------------------------------------


class _Search:
    """Options of everyone in order of cost: a relaxation for all at once, then programs with cuts, judged in rounds."""

    def __init__(self, method: ActionableRecourse, people: Population, k: int) -> None:
        self.method, self.people, self.k = method, people, k
        self.problem = people.problem
        self.rules = _Rules(people)
        menus = _menus(method, people, self.rules.tabled)
        self.whole_set = menus.whole_set
        self.menu = menus.helpful(self.rules.ruled)
        self.loose = menus.helpful(np.zeros(people.d, dtype=bool))
        n = people.n
        self.action = np.full((n, k, people.d), np.nan)
        self.got = np.zeros(n, dtype=np.int64)
        self.cuts: list[list[Cut]] = [[] for _ in range(n)]
        self.sound = np.ones(n, dtype=bool)  # no cut so far took away anything that might have been valid
        self.spent = np.zeros(n, dtype=np.int64)
        self.nudge = np.zeros(n)
        self.tight = np.zeros(n)
        self.proved = ~selection.reachable(self._needing(self.loose, -1e-9))
        self.done = self.proved.copy()

    def _needing(self, menu: Menu, extra: np.ndarray | float) -> Menu:
        """The menu with every need raised by `extra`, measured in sizes of the sums involved."""
        size = np.abs(menu.need) + menu.best_gain().sum(-1)
        return replace(menu, need=menu.need + extra * size)

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, k, d) actions and (n,) proved that none exists."""
        self._relaxed()
        clauses = [self.rules.clauses(i) if not self.done[i] else () for i in range(self.people.n)]
        while True:
            open_ = np.flatnonzero(~self.done & (self.spent < self.method.solves))
            if not open_.size:
                return self.action, self.proved
            menu = self._needing(self.menu.take(open_), self.nudge[open_])
            programs = [self._program(menu, at, int(i), clauses[i]) for at, i in enumerate(open_)]
            solved = selection.solve_all(programs, self.method.workers)
            self.spent[open_] += 1
            gone = np.array([s.column is None for s in solved])
            for i, answer in zip(open_[gone], [s for s in solved if s.column is None], strict=True):
                self._exhausted(int(i), answer.status)
            some = open_[~gone]
            if some.size:
                columns = [s.column for s in solved if s.column is not None]
                amounts = [s.amount for s in solved if s.amount is not None]
                pick = Pick(np.stack(columns), np.stack(amounts))
                self._judge(some, self._sharpened(menu.take(np.flatnonzero(~gone)), pick))

    def _relaxed(self) -> None:
        """First options without any coupling, for everyone at once; kept where they are optimal and allowed."""
        if self.method.scores_.rows > 1 or self.method.effort_.kind == "mix":
            return
        who = np.flatnonzero(~self.done)
        if not who.size:
            return
        solver = selection.cheapest_peak if self.method.effort_.kind == "peak" else selection.cheapest_sum
        for extra in (0.0, 1e-9):  # the boundary itself, then just beyond it where the model wants more
            menu = self._needing(self.loose.take(who), extra)
            chosen = selection.in_chunks(menu, solver)
            good = np.flatnonzero(chosen.optimal)
            if good.size:
                self._judge(who[good], (menu.take(good), chosen.pick.take(good)), relaxed=True)
            who = who[self.got[who] == 0]
            if not who.size:
                return

    def _program(self, menu: Menu, at: int, i: int, clauses: tuple[Clause, ...]) -> Program:
        effort = self.method.effort_
        kind = "sum" if effort.kind == "square" else effort.kind
        return Program(
            menu.take(np.array([at])),
            self.people.x[i],
            kind,
            effort.peak_weight,
            tuple(self.cuts[i]),
            clauses,
            float(self.tight[i]),
            self.method.nodes,
        )

    def _sharpened(self, menu: Menu, pick: Pick) -> tuple[Menu, Pick]:
        """Move the continuous amount of each pick: the need is met to the last bit, not to a solver's tolerance."""
        smooth = (pick.column >= menu.width) & ~menu.whole
        if self.method.scores_.rows > 1 or not smooth.any():
            return menu, pick
        side = np.clip(pick.column - menu.width, 0, 1)
        slope = np.where(smooth, selection._at(menu.run_gain[0, ..., 1], side), 0.0)
        count = selection._at(menu.count, side)
        short = menu.need[0] - menu.totals(pick)[0][0]
        j = np.where(np.abs(slope) > 0, np.abs(slope), -1.0).argmax(1)
        rows = np.arange(len(j))
        with np.errstate(divide="ignore", invalid="ignore"):
            move = np.where(slope[rows, j] != 0, short / slope[rows, j], 0.0)
        move = np.where(np.abs(move) < 1e-6, move, 0.0)  # a rounding error of the solver, nothing larger
        amount = pick.amount.copy()
        amount[rows, j] = np.clip(
            amount[rows, j] + move, 0.0, np.where(smooth[rows, j], count[rows, j], amount[rows, j])
        )
        return menu, Pick(pick.column, amount)

    def _judge(self, who: np.ndarray, found: tuple[Menu, Pick], relaxed: bool = False) -> None:
        """Keep what the real model and all rules accept; cut off the rest."""
        people, (menu, pick) = self.people, found
        action = self._realised(who, menu, pick)
        after = people.after(who, action)
        allowed = people.allowed(who, action, after)
        yes = np.zeros(len(who), dtype=bool)
        if allowed.any():
            yes[allowed] = self.problem.reached(after[allowed])[0]
        plausible = yes.copy()
        if yes.any():
            plausible[yes] = people.plausible(who[yes], after[yes])
        good = plausible
        at = np.flatnonzero(good)
        self.action[who[at], self.got[who[at]]] = action[at]
        self.got[who[at]] += 1
        self.done[who[at]] |= self.got[who[at]] >= self.k
        for row in at:
            self._after_option(int(who[row]), pick.column[row], menu)
        if relaxed:
            return
        broken = self.rules.broken(who, after)
        for row in np.flatnonzero(~good):
            i = int(who[row])
            if allowed[row] and not yes[row] and self.nudge[i] < 1e-7:
                # On the boundary and the model says no: aim a rounding error beyond. A later dead end is no proof.
                self.nudge[i] = max(1e-9, self.nudge[i] * 8)
                self.sound[i] = False
                continue
            self._cut_off(i, pick.column[row], menu, broken[row] if not allowed[row] else None)

    def _realised(self, who: np.ndarray, menu: Menu, pick: Pick) -> np.ndarray:
        """Values of picks, on the lattice; a value from a grid moves back to what exactly suffices."""
        people = self.people
        action = tidy(people, who, menu.values(pick))
        if self.method.scores_.rows > 1 or not np.isnan(people.schema.step).any() or self.rules.ruled.any():
            return action
        smooth = np.isnan(people.schema.step) & (pick.column >= 0) & (pick.column < menu.width)
        if not smooth.any():
            return action
        surplus = -menu.need[0] + menu.totals(pick)[0][0]
        cost = np.nan_to_num(people.parts(who, action))
        order = np.argsort(-np.where(smooth, cost, -1.0), axis=1, kind="stable")
        rows = np.arange(len(who))
        for place in range(int(smooth.sum(1).max(initial=0))):
            j = order[:, place]
            slope, value, x = self.method.scores_.weight[0, j], action[rows, j], people.x[who, j]
            gain = slope * (value - x)
            go = smooth[rows, j] & (gain > 0) & (surplus > 0) & ~np.isnan(gain)
            back = np.minimum(surplus, gain) / np.where(slope == 0, 1.0, slope)
            new = action.copy()
            new[rows[go], j[go]] = (value - back)[go]
            new = tidy(people, who, new)
            moved = ~np.isnan(new[rows, j]) & go
            surplus = np.where(moved, surplus - slope * (value - new[rows, j]), surplus)
            action = np.where(moved[:, None], new, action)
        return action

    # -- cuts ----------------------------------------------------------------------------------------------

    def _after_option(self, i: int, column: np.ndarray, menu: Menu) -> None:
        """Forbid an option that was found, in the style that was asked for."""
        used = np.flatnonzero(column >= 0)
        style = self.method.options
        run = column[used] >= menu.width
        if (style == "distinct" and (run & ~menu.whole[used]).any()) or (style == "exact" and run.any()):
            style = "different"
        if style == "exact":
            self.cuts[i].append(_pattern(column, range(len(column))))
        elif style == "distinct":
            terms = tuple((j, None, -1.0 if column[j] >= 0 else 1.0) for j in range(len(column)))
            self.cuts[i].append(Cut(terms, 1.0 - len(used)))
        elif style == "different":
            self.cuts[i].append(Cut(tuple((int(j), None, -1.0) for j in used), 1.0 - len(used)))
        else:
            self.cuts[i].extend(Cut(((int(j), None, -1.0),), 0.0) for j in used)

    def _cut_off(self, i: int, column: np.ndarray, menu: Menu, broken: np.ndarray | None) -> None:
        """Forbid a choice that was judged and failed; no wider than is certain, where the features are tables."""
        used = np.flatnonzero(column >= 0)
        in_run = column >= menu.width
        if broken is not None and broken.any():
            free = self.people.free[i]
            for rule in np.flatnonzero(broken):
                reads = np.flatnonzero(self.rules.involved[rule] & free)
                if not in_run[reads].any():
                    self.cuts[i].append(_pattern(column, reads))
                    return
            if self.tight[i] < 1e-5:  # a linear rule missed by the solver's tolerance
                self.tight[i] = max(1e-8, self.tight[i] * 10)
                self.sound[i] = False
                return
        if not in_run.any():
            self.cuts[i].append(_pattern(column, range(len(column))))
            return
        self.sound[i] = False  # other amounts of the same features might have done
        self.cuts[i].append(Cut(tuple((int(j), None, -1.0) for j in used), 1.0 - len(used)))

    def _exhausted(self, i: int, status: str) -> None:
        """Nothing is left for this person: a proof, if nothing was found and no cut was a guess."""
        self.done[i] = True
        # A grid has the ends of the reach, so for one inequality and no rule its greatest gain is the greatest of all.
        alone = (
            self.method.scores_.rows == 1 and not self.rules.ruled.any() and self.problem.plausibility is None
        )
        whole = bool(self.whole_set[i]) or alone
        self.proved[i] = status == "infeasible" and self.got[i] == 0 and bool(self.sound[i]) and whole


def _pattern(column: np.ndarray, features: Iterable[int]) -> Cut:
    """Not all of these features as they are chosen now (staying counts as a choice)."""
    terms: list[tuple[int, int | None, float]] = []
    chosen = 0
    for j in features:
        if column[j] < 0:
            terms.append((int(j), None, 1.0))
        else:
            terms.append((int(j), int(column[j]), -1.0))  # 0 for other entries: they make the pattern differ
            chosen += 1
    return Cut(tuple(terms), 1.0 - chosen)


# -- the Euclidean norm on continuous features -------------------------------------------------------------


class _Euclidean:
    """Closed-form options by cost; each leaves out at least one feature of every cheaper one (Lawler's split)."""

    def __init__(self, method: ActionableRecourse, people: Population, k: int) -> None:
        from wayforward.problem import LpMix

        self.people, self.method, self.k = people, method, k
        cost = people.problem.cost
        assert isinstance(cost, LpMix)
        slope = method.scores_.weight[0]
        low, high = np.minimum(people.low - people.x, 0.0), np.maximum(people.high - people.x, 0.0)
        self.room = np.where(people.free, np.where(slope > 0, high, -low), 0.0)
        self.sign = np.sign(slope)
        self.slope = np.broadcast_to(np.abs(slope), self.room.shape)
        self.effort = people.weight / cost.fitted_scales.divisor
        need = -method.scores_.total(people.x)[0]
        self.size = np.abs(need) + (self.slope * self.room).sum(1)
        self.need = need

    def _solve(self, who: np.ndarray, banned: np.ndarray, extra: float) -> tuple[np.ndarray, np.ndarray]:
        room = np.where(banned, 0.0, self.room[who])
        need = self.need[who] + extra * self.size[who]
        step, found = selection.water_filling(self.slope[who], self.effort[who], room, need)
        action = np.where(step > 0, self.people.x[who] + self.sign * step, np.nan)
        cost = np.where(found, np.sqrt(np.square(step * self.effort[who]).sum(1)), np.inf)
        return tidy(self.people, who, action), cost

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, k, d) and (n,) proved that none exists: even the far corner of the box falls short."""
        people = self.people
        n, d, k = people.n, people.d, self.k
        everyone = np.arange(n)
        out = np.full((n, k, d), np.nan)
        proved = (self.slope * self.room).sum(1) < self.need - 1e-9 * self.size
        extra = np.zeros(n)
        action, _ = self._solve(everyone, np.zeros((n, d), dtype=bool), 0.0)
        yes, _ = people.problem.reached(np.where(np.isnan(action), people.x, action))
        extra[~yes] = 1e-9  # the boundary itself is a no
        for level in (0.0, 1e-9):
            at = np.flatnonzero(extra == level)
            if at.size:
                self._enumerate(at, level, k, out)
        return out, proved

    def _enumerate(self, who: np.ndarray, extra: float, k: int, out: np.ndarray) -> None:
        d, m = self.people.d, len(who)
        banned = np.zeros((m, 1, d), dtype=bool)
        action, cost = self._solve(who, banned[:, 0], extra)
        actions, costs = action[:, None], cost[:, None]
        rows = np.arange(m)
        for option in range(k):
            best = costs.argmin(1)
            there = np.isfinite(costs[rows, best])
            out[who[there], option] = actions[rows, best][there]
            if option + 1 == k or not there.any():
                return
            used = ~np.isnan(actions[rows, best])
            children = banned[rows, best][:, None] | np.eye(d, dtype=bool)[None]
            child_action, child_cost = self._solve(np.repeat(who, d), children.reshape(-1, d), extra)
            child_cost = np.where(used & there[:, None], child_cost.reshape(m, d), np.inf)
            costs[rows, best] = np.inf
            # The same set of changes can be reached through two branches: keep it once.
            banned = np.concatenate([banned, children], axis=1)
            actions = np.concatenate([actions, child_action.reshape(m, d, d)], axis=1)
            costs = np.concatenate([costs, child_cost], axis=1)
            taken = ~np.isnan(out[who, : option + 1])
            same = (~np.isnan(actions)[:, :, None] == taken[:, None]).all(3).any(2)
            costs = np.where(same, np.inf, costs)


# -- worlds in which other things follow -------------------------------------------------------------------


def _additive(method: ActionableRecourse, people: Population, k: int) -> np.ndarray:
    """Guess as if the effects of single acts added up, judge every guess in the world, and polish what holds."""
    n, d = people.n, people.d
    if n > _GUESSED:  # every single act of everybody goes through the world at once
        parts = [
            _additive(method, people.take(np.arange(at, min(at + _GUESSED, n))), k)
            for at in range(0, n, _GUESSED)
        ]
        return np.concatenate(parts)
    scores = method.scores_
    start = scores.total(people.x)
    menu = _menus(method, people, np.ones(d, dtype=bool)).full  # tables only
    who, j, v = np.nonzero(np.isfinite(menu.cost))
    action = np.full((len(who), d), np.nan)
    action[np.arange(len(who)), j] = menu.value[who, j, v]
    gain = np.zeros_like(menu.gain)
    gain[:, who, j, v] = scores.total(people.after(who, action)) - start[:, who]
    worst = start.argmin(0)  # with several inequalities, the one that is missed most
    menu = replace(
        menu,
        gain=np.take_along_axis(gain, worst[None, :, None, None], axis=0),
        run_gain=menu.run_gain[:1],
        need=-start.min(0)[None],
    )
    menu = replace(menu, cost=np.where(menu.gain[0] > 0, menu.cost, np.inf))
    owner, found = [np.empty(0, dtype=np.int64)], [np.empty((0, d))]
    frozen = np.zeros((n, d), dtype=bool)
    for _ in range(k):
        best = _first_that_holds(
            people, replace(menu, cost=np.where(frozen[..., None], np.inf, menu.cost)), method
        )
        at = np.flatnonzero(~np.isnan(best).all(1))
        if not at.size:
            break
        sparser = revert(people, at, best[at], people.parts(at, best[at]), sweeps=2)
        sparser = shrink(people, at, sparser)
        owner.append(at)
        found.append(sparser)
        dearest = np.where(np.isnan(sparser), -np.inf, people.parts(at, sparser)).argmax(1)
        frozen[at, dearest] = True
    return distinct_changes(people, np.concatenate(owner), np.concatenate(found), k)


def _first_that_holds(people: Population, menu: Menu, method: ActionableRecourse) -> np.ndarray:
    best = np.full((people.n, people.d), np.nan)
    solver = selection.cheapest_peak if method.effort_.kind == "peak" else selection.cheapest_sum
    left = np.arange(people.n)
    for aim in _AIMS:
        some = menu.take(left)
        chosen = selection.in_chunks(replace(some, need=some.need * aim), solver)
        at = np.flatnonzero(chosen.found)
        if at.size:
            action = tidy(people, left[at], some.take(at).values(chosen.pick.take(at)))
            good = people.evaluate(left[at], action).reached
            best[left[at[good]]] = action[good]
        left = left[np.isnan(best[left]).all(1)]
        if not left.size:
            break
    return best
