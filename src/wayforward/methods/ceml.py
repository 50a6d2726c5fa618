"""ceml: counterfactuals of lines, Gaussian classes and prototypes by convex programs; in dense places if asked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from wayforward.errors import UnsupportedModel
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.class_scores import class_scores
from wayforward.methods.engines.convex import Conditions, least_change
from wayforward.methods.engines.finish import farther, finished
from wayforward.methods.settings import check_choices, check_least, check_positive, check_switches
from wayforward.model import Access
from wayforward.problem import MadL1
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Ints

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_LEVELS = 64  # combinations of levels of a person
_BEYOND = (0.0, 1e-6, 1e-3, 0.03)  # of its way: so much farther a row is tried, too
_TOGETHER = 4096  # programs


class _Ellipsoids(NamedTuple):
    """Rows x with (x - centre) inverse (x - centre) <= radius, of c components: (c, f), (c, f, f), (c,)."""

    centre: Floats
    inverse: Floats
    radius: Floats


@public
@dataclass
class Ceml(Method):
    """Solve for the least change at which one of the wished classes scores more than every other one.

    Of linear and logistic models, linear discriminant analysis and nearest prototypes, one of them for each class or
    several (GLVQ, with a metric of its own: GMLVQ), the conditions are lines and the answer the least change: for one
    line in closed form, for several by their multipliers. Of quadratic discriminant analysis and Gaussian naive Bayes
    they are quadratic: tangents are taken again and again, from the middle of the wished class on, so that what is
    found is a local least. Levels are tried in their combinations, 64 for each person at most. Rows are rounded onto
    what is allowed, judged by the model, and polished; for whom that is too little, single changes go on.

    norm: 'l1' or 'l2', in median absolute deviations. margin: by how much the score must be more. plausible: options
    lie in one of the ellipsoids that a mixture of Gaussians, fitted to accepted people, draws around half of them, in
    the numbers that the model reads; components: at most so many, chosen by BIC. Nothing is polished then.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="ceml", k=2)``.
    Raises: UnsupportedModel for any other model.
    Source: A. Artelt, B. Hammer (2019), On the computation of counterfactual explanations, arXiv:1911.07749; (2020),
    Convex Density Constraints for Computing Plausible Counterfactual Explanations, ICANN, arXiv:2002.04862.
    """

    name: ClassVar[str] = "ceml"
    summary: ClassVar[str] = "lines, Gaussian classes, prototypes: the least change by convex programs"
    citation: ClassVar[str] = "Artelt & Hammer (2019), arXiv:1911.07749; (2020), ICANN, arXiv:2002.04862"
    needs: ClassVar[int] = Access.LABEL

    norm: str = "l1"
    margin: float = 1e-6
    plausible: bool = False
    components: int = 5

    def __post_init__(self) -> None:
        check_choices(self, norm=("l1", "l2"))
        check_switches(self, "plausible")
        check_positive(self, "margin")
        check_least(self, components=1)

    @property
    def _keeps_more(self) -> bool:
        return self.plausible  # the judge knows no ellipsoid

    def _fit(self, problem: Problem) -> None:
        scores = class_scores(problem.model)
        if scores is None or problem.target.interval is not None:
            raise UnsupportedModel(
                f"'{self.name}' reads linear models, discriminant analysis, Gaussian naive Bayes and prototypes; "
                f"{problem.model.name} is none of them. local-search takes any model."
            )
        self.scores_, schema = scores, problem.schema
        columns = scores.encoder.columns
        self.numbers_: Ints = np.unique([c.feature for c in columns if c.table is None and c.factor != 0.0])
        self.slope_ = np.zeros((len(columns), len(self.numbers_)))
        for e, column in enumerate(columns):
            if column.table is None and column.factor != 0.0:
                self.slope_[e, np.searchsorted(self.numbers_, column.feature)] = (
                    column.factor / column.divisor
                )
        self.levels_ = [int(j) for j in np.flatnonzero(schema.has_levels & schema.actionable)]
        mad = MadL1().fit(schema, problem.reference).fitted_scales
        self.unit_ = 1.0 / np.asarray(mad.divisor)[self.numbers_]
        self.near_ = self._ellipsoids(problem) if self.plausible else None

    def _ellipsoids(self, problem: Problem) -> _Ellipsoids:
        """A mixture of Gaussians on accepted people; each component as far as it explains those who are usual."""
        from sklearn.mixture import GaussianMixture

        problem.require_reference()
        rows = problem.reference_accepted[:, self.numbers_]
        rows = rows[~np.isnan(rows).any(1)]
        span = problem.schema.span[self.numbers_]
        most = max(1, min(self.components, len(rows) // (2 * (len(span) + 1))))
        fits = [
            GaussianMixture(count, reg_covar=1e-4, random_state=0).fit(rows / span)
            for count in range(1, most + 1)
        ]
        best = min(fits, key=lambda one: float(one.bic(rows / span)))
        inverse = best.precisions_ / (span[:, None] * span)
        centre = best.means_ * span
        apart = rows[:, None] - centre
        far = np.einsum("ncf,cfg,ncg->nc", apart, inverse, apart)
        penalty = far - 2 * np.log(best.weights_) - np.linalg.slogdet(best.precisions_)[1]
        usual, whose = penalty.min(1) <= np.median(penalty.min(1)), penalty.argmin(1)
        radius = np.array([far[usual & (whose == c), c].max(initial=-1.0) for c in range(len(centre))])
        keep = radius > 0
        return _Ellipsoids(centre[keep], inverse[keep], radius[keep])

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        who, after = self._programs(people)
        who, row = farther(people, who, np.where(people.free[who], after, np.nan), _BEYOND)
        action = np.where(people.schema.differs(row, people.x[who]), row, np.nan)
        some = np.flatnonzero(~np.isnan(action).all(1))
        who, action = who[some], action[some]
        good = people.evaluate(who, action).reached if len(who) else np.zeros(0, dtype=bool)
        if self.near_ is not None:
            good &= self._inside(people.after(who, action))
        cap = people.rows + budget.rows_or(20_000)
        plain = self.near_ is None
        return finished(people, who[good], action[good], k, cap=cap, go_on=plain, shrink=plain)

    def _inside(self, rows: Floats) -> np.ndarray:
        """(m,) bool: rows lie in one of the ellipsoids, by a billionth."""
        assert self.near_ is not None
        apart = rows[:, None, self.numbers_] - self.near_.centre
        far = np.einsum("mcf,cfg,mcg->mc", apart, self.near_.inverse, apart)
        return np.asarray((far <= self.near_.radius * (1 + 1e-9)).any(1))

    def _programs(self, people: Population) -> tuple[Ints, Floats]:
        """Return whose they are (m,), and rows (m, d): the least change of every combination of levels, class and piece
        of it, and ellipsoid."""
        scores, yes = self.scores_, self.problem_.bound_target.columns
        who, start = self._combinations(people)
        rows, owners = [], []
        aim = self.margin
        if (
            scores.odds
            and self.problem_.target.threshold is not None
            and self.problem_.bound_target.n_classes == 2
        ):
            level = self.problem_.bound_target.level
            aim += float(np.log(level / (1 - level)))
        for piece in np.flatnonzero(np.isin(scores.label, yes)):
            others = np.flatnonzero(~np.isin(scores.label, yes))
            for near in range(1 if self.near_ is None else len(self.near_.radius)):
                for part in np.array_split(np.arange(len(who)), -(-len(who) // _TOGETHER)):
                    u, good = self._solved(people, who[part], start[part], int(piece), others, aim, near)
                    after = start[part].copy()
                    after[:, self.numbers_] += u
                    rows.append(after[good])
                    owners.append(who[part][good])
        return np.concatenate(owners), np.concatenate(rows)

    def _solved(
        self, people: Population, who: Ints, start: Floats, piece: int, others: Ints, aim: float, near: int
    ) -> tuple[Floats, np.ndarray]:
        """Return changes of numbers (m, f) from the rows start (m, d), and (m,) bool where the conditions are met."""
        scores, slope = self.scores_, self.slope_
        z = scores.encoder.encode(start)
        bow = scores.bow[piece] - scores.bow[others]
        tilt = scores.slope[piece] - scores.slope[others]
        value = (
            scores.value[piece]
            - scores.value[others]
            + z @ tilt.T
            - np.einsum("me,lef,mf->ml", z, bow, z) / 2
        )
        first = (tilt - np.einsum("lef,mf->mle", bow, z)) @ slope
        lines = Conditions(value - aim, first, np.einsum("ef,leg,gh->lfh", slope, bow, slope))
        x = start[:, self.numbers_]
        home = scores.centre[piece] - z  # of the encoded row; its numbers, as near as they come
        inner = np.einsum("fe,me->mf", np.linalg.pinv(slope), np.nan_to_num(home))
        if self.near_ is not None:
            apart, inverse = x - self.near_.centre[near], self.near_.inverse[near]
            room = self.near_.radius[near] - np.einsum("mf,fg,mg->m", apart, inverse, apart)
            scale = self.near_.radius[near]
            lines = Conditions(
                np.concatenate([lines.value, room[:, None] / scale], axis=1),
                np.concatenate(
                    [lines.slope, -2 * np.einsum("mf,fg->mg", apart, inverse)[:, None] / scale], axis=1
                ),
                np.concatenate([lines.bow, 2 * inverse[None] / scale]),
            )
            inner = -apart
        gone = np.isnan(x) | ~people.free[who][:, self.numbers_]
        low = np.where(gone, 0.0, np.minimum(people.low[who][:, self.numbers_] - x, 0.0))
        high = np.where(gone, 0.0, np.maximum(people.high[who][:, self.numbers_] - x, 0.0))
        weight = self.unit_ * people.weight[who][:, self.numbers_]
        return least_change(lines, weight, low, high, self.norm, np.nan_to_num(inner))

    def _combinations(self, people: Population) -> tuple[Ints, Floats]:
        """Return whose they are (m,), and rows (m, d): people with each combination of levels that they may have.

        Those that change fewest come first, at most `_LEVELS` for each person.
        """
        x, n = people.x, people.n
        free = [j for j in self.levels_ if people.free[:, j].any()]
        options = [[None, *range(int(people.schema.n_levels[j]))] for j in free]
        single = [
            tuple(level if j == at else None for j in free) for at, more in zip(free, options, strict=True)
            for level in more[1:]
        ]  # fmt: skip
        many = np.prod([float(len(more)) for more in options])
        combos = [(None,) * len(free), *single]
        if many <= 4096:
            combos = sorted(product(*options), key=lambda one: sum(level is not None for level in one))
        owners, rows, count = [], [], np.zeros(n, np.int64)
        for combo in combos:
            ok, row = count < _LEVELS, x.copy()
            for j, level in zip(free, combo, strict=True):
                if level is not None:
                    ok = ok & people.free[:, j] & people.level_ok[j][:, level] & (x[:, j] != level)
                    row[:, j] = level
            owners.append(np.flatnonzero(ok))
            rows.append(row[ok])
            count += ok
        return np.concatenate(owners), np.concatenate(rows)
