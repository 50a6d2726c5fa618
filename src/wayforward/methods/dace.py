"""dace: the cheapest option along the correlations of people that is no outlier among accepted ones, by programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from wayforward.deadline import look
from wayforward.errors import ProblemError, UnsupportedModel
from wayforward.methods.actionable_recourse.rule_clauses import RuleClauses
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.grid_program import Affine, GridProgram
from wayforward.methods.engines.exact.grids import grids_of, options_of
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.seeker import packing
from wayforward.methods.engines.tree_regions import TreeRegions
from wayforward.methods.settings import check_least, check_switches, check_whole
from wayforward.model import Access
from wayforward.neighbours import NeighbourIndex
from wayforward.problem import Mahalanobis
from wayforward.public import public
from wayforward.scaling import thinned
from wayforward.shapes import Actions, Floats, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.schema import Schema
    from wayforward.streams import Streams

_SEEN = 1000  # accepted people among whom prototypes are chosen


class Isolation(NamedTuple):
    """How isolated a row is among prototypes (p, d): the density of the nearest one times how far it is to reach.

    reach (p,): how far each prototype's neighbours are. density (p,): one over how far it is to reach them, on average.
    squared: distances are sums of squared changes, else of their sizes, in ranges; another category counts one.
    """

    schema: Schema
    rows: Floats
    reach: Floats
    density: Floats
    squared: bool

    @classmethod
    def of(cls, schema: Schema, rows: Rows, neighbours: int, squared: bool) -> Isolation:
        """Measure prototypes by their `neighbours` nearest others."""
        apart = distances(schema, rows, rows, squared)
        np.fill_diagonal(apart, np.inf)
        near = np.argsort(apart, axis=1, kind="stable")[:, : max(1, min(neighbours, len(rows) - 1))]
        far = np.take_along_axis(apart, near, axis=1)
        reach = far[:, -1]
        return cls(schema, rows, reach, 1 / (np.maximum(far, reach[near]).mean(1) + 1e-10), squared)

    def __call__(self, rows: Rows) -> Floats:
        """(m,) local outlier factors by one neighbour; of equally near prototypes the one that says least."""
        apart = distances(self.schema, rows, self.rows, self.squared)
        factor = self.density * np.maximum(apart, self.reach)
        near = apart <= apart.min(axis=1, keepdims=True) * (1 + 1e-9)
        return np.asarray(np.where(near, factor, np.inf).min(axis=1))


@public
@dataclass
class Dace(Method):
    """Solve for the least of distance + alpha x outlier factor: both know how features hang together among people.

    The distance is the sum of the sizes of a change along the axes in which people's features are uncorrelated, an
    upper bound on its Mahalanobis length (`Mahalanobis` says what categories count). The outlier factor is
    that of one neighbour, among `prototypes` accepted people whom MMD-critic chooses. Each feature takes values of a
    grid: all of its levels or of its lattice, else at most `values`, quantiles of accepted people and evenly between
    them, and, where trees decide, one value on each side of thresholds. A mixed-integer program chooses; rules with a
    normal form are part of it, what the judge refuses is cut off and the program solved again, at most `solves` times.
    A later option changes other features.

    Exact on its grid where the program ends within `nodes` and nothing follows from an act; in causal worlds options
    are guessed as if nothing did. Whoever has nothing goes on by single changes. Options are kept as they are found:
    fewer changes may be more of an outlier.

    neighbours: of prototypes among each other. squared: distances add up squared changes, as published; False: sizes.
    changes: at most so many. units: of a network, at most; programs of larger ones take minutes. Default budget: 20,000
    model rows a person, for single changes. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="dace", alpha=0.1)``.
    Raises: UnsupportedModel for models other than lines, networks of rectified units, forests and boosted trees.
    Source: K. Kanamori, T. Takagi, K. Kobayashi, H. Arimura (2020), DACE: Distribution-Aware Counterfactual Explanation
    by Mixed-Integer Linear Optimization, IJCAI. Prototypes: B. Kim, R. Khanna, O. Koyejo (2016), Examples are not
    Enough, Learn to Criticize!, NeurIPS.
    """

    name: ClassVar[str] = "dace"
    summary: ClassVar[str] = (
        "cheap along people's correlations and no outlier among accepted people, by programs"
    )
    citation: ClassVar[str] = "Kanamori, Takagi, Kobayashi & Arimura (2020), IJCAI"
    needs: ClassVar[int] = Access.LABEL
    needs_data: ClassVar[bool] = True

    alpha: float = 0.01
    prototypes: int = 20
    neighbours: int = 10
    squared: bool = True
    changes: int = 4
    values: int = 100
    solves: int = 30
    nodes: int = 2000
    units: int = 32

    def __post_init__(self) -> None:
        check_least(self, alpha=0.0)
        check_whole(self, prototypes=2, neighbours=1, changes=1, values=2, solves=1, nodes=1, units=0)
        check_switches(self, "squared")

    @property
    def _keeps_more(self) -> bool:
        return True  # the judge knows no outlier factor

    def _fit(self, problem: Problem) -> None:
        flat, form = problem.model.forest, problem.model.dense
        self.trees_, self.need_ = None, -np.inf
        link = "" if flat is None and form is None else (flat or form).link  # type: ignore[union-attr]
        if flat is not None and link == "identity" and problem.target.interval is None:
            link = "probability"
        width = 0 if not link else flat.value.shape[1] if flat is not None else form.weights[-1].shape[1]  # type: ignore[union-attr]
        mix = packing.one_output(problem, width, link) if link else None
        margins = None if mix is None else packing.margin_range(problem, link, mix)  # type: ignore[arg-type]
        if flat is None and form is not None:
            units = sum(len(bias) for bias in form.biases[:-1])
            if units > self.units or not set(form.activations[:-1]) <= {"relu", "identity"}:
                mix = None
        if mix is None or margins is None or np.isfinite(margins[1]):
            raise UnsupportedModel(
                f"'{self.name}' reads one score of a linear model, a network of up to {self.units} rectified units "
                f"(units=), a forest or boosted trees; {problem.model.name} shows none for this target. local-search "
                "takes any model."
            )
        self.mix_, self.need_ = mix, margins[0]
        if flat is not None:
            self.trees_ = TreeRegions(flat, problem.schema)
            self.leaf_ = flat.scale * flat.value @ mix
            self.need_ -= float(flat.base @ mix)
        accepted = problem.reference_accepted
        if len(accepted) < 2:
            raise ProblemError(
                f"'{self.name}' compares with accepted people, at least 2, and there are {len(accepted)}. Give a "
                "larger table."
            )
        accepted = accepted[thinned(len(accepted), _SEEN, 0)]
        chosen = mmd_critic(problem.schema, accepted, self.prototypes)
        self.isolation_ = Isolation.of(problem.schema, accepted[chosen], self.neighbours, self.squared)
        self.distance_ = Mahalanobis().fit(problem.schema, problem.reference)
        self.grids_ = grids_of(problem, self.values, accepted)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        rules, who, rows = RuleClauses(people), [], []
        person, feature, value = options_of(people, self.grids_)
        for i in range(people.n):  # a program each
            look()
            mine = person == i
            found = self._solved(people, i, feature[mine], value[mine], k, rules) if mine.any() else []
            who += [i] * len(found)
            rows += found
        action = np.array(rows).reshape(-1, people.d)
        cap = people.rows + budget.rows_or(20_000)
        return finished(people, np.array(who, dtype=np.int64), action, k, cap=cap, go_on=True, shrink=False)

    def _solved(
        self, people: Population, i: int, feature: np.ndarray, value: Floats, k: int, rules: RuleClauses
    ) -> list[Floats]:
        """Actions of one person, the best k, each of other features."""
        most = min(self.changes, int(people.max_changes[i]))
        program = GridProgram(people.schema, people.x[i], feature, value, most)
        if self.trees_ is not None:
            program.forest(self.trees_, self.leaf_, self.need_ - 1e-9 * (1 + abs(self.need_)))
        else:
            form = people.problem.model.dense
            assert form is not None
            program.dense(form, self.mix_, self.need_ - 1e-9 * (1 + abs(self.need_)))
        for clause in rules.clauses(i):
            program.rule(clause)
        program.at_most_sizes(self._turned(program, people.weight[i]))
        if self.alpha:
            self._stay_near(program)
        out: list[Floats] = []
        for _ in range(self.solves):
            chosen, _ = program.solve(self.nodes)
            if chosen is None or not chosen.any():
                break
            action = np.full((1, people.d), np.nan)
            action[0, feature[chosen]] = value[chosen]
            good = bool(people.evaluate(np.array([i]), action).reached[0])
            if good:
                out.append(action[0])
                if len(out) == k:
                    break
            program.forbid(chosen, features=good)
        return out

    def _turned(self, program: GridProgram, weight: Floats) -> Affine:
        """Changes along the axes in which people's features are uncorrelated."""
        root = self.distance_.root
        assert root is not None
        x, feature, value = program.x, program.feature, program.value
        step = np.empty(len(feature))
        for o, (j, v) in enumerate(zip(feature.tolist(), value.tolist(), strict=True)):
            size = float(self.distance_.part(j, x[j], v)) / float(np.linalg.norm(root[:, j]))
            step[o] = size * weight[j] * (-1.0 if v < x[j] and not program.schema.is_categorical[j] else 1.0)
        return Affine(np.zeros(len(root)), root[:, feature] * step)

    def _stay_near(self, program: GridProgram) -> None:
        """Pay alpha x the outlier factor: of one prototype, which no other is nearer than."""
        near, x = self.isolation_, program.x[None]
        own = distances(near.schema, x, near.rows, near.squared)[0]
        each = distances(near.schema, program.rows_of_options(), near.rows, near.squared).T - own[:, None]
        far = Affine(own, each)
        apart, farthest = program.named(far), program.ends(far)[1]
        count = len(own)
        which = program.new(count, 0.0, 1.0, whole=True)
        pays = program.new(count, 0.0, np.inf, price=self.alpha * near.density)
        program.row(which, np.ones(count), 1.0, 1.0)
        for n in range(count):
            program.row([pays[n], which[n]], [1.0, -near.reach[n]], 0.0, np.inf)
            program.row([pays[n], apart[n], which[n]], [1.0, -1.0, -farthest[n]], -farthest[n], np.inf)
            for m in range(count):
                if m != n:
                    beyond = float(program.ends(Affine(own[[n]] - own[m], each[[n]] - each[m]))[1][0])
                    if beyond > 0:
                        program.row([apart[n], apart[m], which[n]], [1.0, -1.0, beyond], -np.inf, beyond)


def distances(schema: Schema, rows: Floats, others: Floats, squared: bool) -> Floats:
    """(m, p) sums over features of changes in ranges, or of their squares; one for another category."""
    if not squared:
        return NeighbourIndex(schema, others, metric="l1").distances(rows)
    return np.asarray(np.square(NeighbourIndex(schema, others, metric="l2").distances(rows)))


def mmd_critic(schema: Schema, rows: Rows, count: int) -> np.ndarray:
    """Positions of the rows that, one after another, most lower the maximum mean discrepancy to all of them.

    By a Gaussian kernel of the range-scaled L2 distance, as wide as the median distance.
    """
    apart = distances(schema, rows, rows, True)
    usual = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
    kernel = np.exp(-apart / usual)
    mean, within = kernel.mean(1), np.zeros(len(rows))  # within: sums to those who are chosen
    chosen: list[int] = []
    total = linked = 0.0
    for size in range(1, min(count, len(rows)) + 1):
        gain = 2 * (linked + mean) / size - (total + 2 * within + 1) / size**2
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        total, linked = total + 2 * within[best] + 1, linked + mean[best]
        within += kernel[best]
        chosen.append(best)
    return np.array(chosen)
