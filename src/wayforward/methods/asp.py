"""asp: as few changes as can be, then as little as can be, by trying every value of ever larger sets of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from wayforward.deadline import look
from wayforward.errors import UnsupportedModel, require
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.answer_sets import AnswerSets
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.seeker.packing import trees_score
from wayforward.methods.engines.tree_regions import TreeRegions, forest_of
from wayforward.methods.settings import check_choices, check_least, check_switches
from wayforward.model import Access
from wayforward.problem.batching import ask, tidy
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_SOLVES, _CONFLICTS = 60, 1_000_000  # programs of a person; conflicts in each


@public
@dataclass
class Asp(Method):
    """Find the options with the fewest changes, and of these the cheapest; say how responsible each feature is.

    Domains are finite: a feature has its levels, or its lattice; one with more than `values` values is seen at so many
    of them, evenly from one end of what the person may do to the other. Every assignment to every set of one feature is
    asked about, then of two, until some set turns the decision: on these domains no option changes fewer features, and
    none of that size is cheaper. That is what the published program computes with weak constraints; here it is
    enumerated, for everybody at once, and any model will do.

    `responsibility(x)` tells the x-responsibility of each feature's value for a no: 1 / (1 + the fewest other features
    that have to change with it), 0 where changing it with up to `most` - 1 others never matters.

    most: features changed together at most. solver: 'clingo' (extra `asp`) solves the published program itself, trees
    as rules, one person after another, for forests and boosted trees. Its first option changes as few features and
    costs as little, costs added up feature by feature; later ones change others, as few of them. Not part of the
    published method: complete, which goes on by single changes for whom the budget ended first; shrink, which moves
    values on between those of a coarse domain.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.method("asp").fit(problem).responsibility(refused)``.
    Source: L. Bertossi (2020), An ASP-Based Approach to Counterfactual Explanations for Classification, RuleML+RR;
    arXiv:2004.13237.
    """

    name: ClassVar[str] = "asp"
    summary: ClassVar[str] = (
        "as few changes as can be, then the cheapest of these, by enumeration; responsibilities"
    )
    citation: ClassVar[str] = "Bertossi (2020), RuleML+RR, arXiv:2004.13237"
    needs: ClassVar[int] = Access.LABEL

    values: int = 16
    most: int = 4
    complete: bool = True
    shrink: bool = True
    solver: Literal["enumeration", "clingo"] = "enumeration"

    def __post_init__(self) -> None:
        check_choices(self, solver=("enumeration", "clingo"))
        check_least(self, values=2, most=1)
        check_switches(self, "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        if self.solver != "clingo":
            return
        require("clingo", extra="asp")
        flat = forest_of(problem, "asp(solver='clingo')")
        score = trees_score(problem, flat)
        if score is None:
            raise UnsupportedModel(
                f"asp(solver='clingo') adds up one score; {problem.model.name} has several for this target. Leave "
                "solver out: any model will do."
            )
        mix, margins = score
        self.trees_, self.leaf_ = TreeRegions(flat, problem.schema), flat.scale * flat.value @ mix
        self.need_ = margins[0] - float(flat.base @ mix)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        if self.solver == "clingo":
            found = [self._solved(people, i, k) for i in range(people.n)]
            who = np.repeat(np.arange(people.n), [len(rows) for rows in found])
            action = np.concatenate([np.zeros((0, people.d)), *found])
            return finished(people, who, action, k, cap=cap, go_on=self.complete, shrink=self.shrink)
        owners, rows = [np.zeros(0, dtype=np.int64)], [np.zeros((0, people.d))]
        open_ = np.arange(people.n)
        for size in range(1, min(self.most, people.d) + 1):
            for who, action in self._assignments(people, open_, size, cap, np.zeros(people.n, dtype=bool)):
                good = ask(people, who, action)[1]
                owners.append(who[good])
                rows.append(action[good])
            open_ = np.setdiff1d(open_, np.concatenate(owners))
            if not open_.size:
                break
        who, action = np.concatenate(owners), np.concatenate(rows)
        return finished(people, who, action, k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _solved(self, people: Population, i: int, k: int) -> Floats:
        """Actions (m, d) of person i: the best of the program, then those that change others, as few of them."""
        look()
        person, (feature, value) = people.take(np.array([i])), ([], [])
        for j, domain in self._domain(person).items():
            feature += [j] * domain.shape[1]
            value += domain[0].tolist()
        single = np.full((len(value), people.d), np.nan)
        single[np.arange(len(value)), feature] = value
        single = np.unique(tidy(person, np.zeros(len(value), dtype=np.int64), single), axis=0)
        single = single[~np.isnan(single).all(1)]
        at, each = (~np.isnan(single)).argmax(1), np.arange(len(single))
        price = person.cost(np.zeros(len(single), dtype=np.int64), single)
        most = min(self.most, int(person.max_changes[0]))
        program = AnswerSets(people.schema, person.x[0], at, single[each, at], price, most)
        program.forest(self.trees_, self.leaf_, self.need_)
        out: list[Floats] = []
        for _ in range(_SOLVES):
            look()
            chosen = program.solve(_CONFLICTS)
            if chosen is None or not chosen.any():
                break
            action = np.full((1, people.d), np.nan)
            action[0, at[chosen]] = single[each, at][chosen]
            if not people.evaluate(np.array([i]), action).reached[0]:
                program.forbid(chosen)
                continue
            out.append(action[0])
            if len(out) == k:
                break
            program.other_features(chosen)
        return np.array(out).reshape(-1, people.d)

    def _assignments(
        self, people: Population, who: np.ndarray, size: int, cap: np.ndarray, ended: Mask
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows who (m,), action (m, d): all assignments to sets of so many features, set by set, as rows last;
        note in ended (n,) for whom they did not."""
        domain = self._domain(people)
        for some in combinations(np.flatnonzero(people.free.any(0)).tolist(), size):
            sizes = [domain[j].shape[1] for j in some]
            each = int(np.prod(sizes))
            at = who[people.free[who][:, some].all(1) & (people.max_changes[who] >= size)]
            paid = people.rows[at] + each <= cap[at]
            ended[at[~paid]] = True
            at = at[paid]
            if not at.size:
                continue
            index = np.unravel_index(np.arange(each), sizes)
            action = np.full((len(at), each, people.d), np.nan)
            for j, place in zip(some, index, strict=True):
                action[:, :, j] = domain[j][at][:, place]
            owner, flat = np.repeat(at, each), action.reshape(-1, people.d)
            flat = tidy(people, owner, flat)
            whole = (~np.isnan(flat)).sum(1) == size
            yield owner[whole], flat[whole]

    def _domain(self, people: Population) -> dict[int, Floats]:
        """Return the values (n, v) of each feature that somebody may act on; NaN where there are fewer."""
        schema, out = people.schema, {}
        for j in np.flatnonzero(people.free.any(0)).tolist():
            if schema.has_levels[j]:
                ok = people.level_ok[j]
                out[j] = np.where(ok, np.arange(ok.shape[1], dtype=np.float64), np.nan)
                continue
            low, high = people.low[:, [j]], people.high[:, [j]]
            step = schema.step[j]
            many = self.values
            if np.isfinite(step) and step > 0:  # the whole lattice where it is small enough for everybody
                lattice = int(np.ceil((schema.span[j] + step) / step - 1e-9))
                if lattice <= self.values:
                    value = schema.round(low + step * np.arange(lattice), columns=j)
                    out[j] = np.where(value <= high + schema.slack[j], value, np.nan)
                    continue
            out[j] = low + (high - low) * np.linspace(0, 1, many)
        return out

    def responsibility(self, x: Any, *, budget: int = 200_000) -> Floats:
        """Return (n, d) the x-responsibility of people's values for the decision: 1 / size of the smallest set with it.

        Such a set turns the decision for some values, which without this feature's change do not. Sets of up to `most`
        features, of values as in the search; 0 where there is none among them, and for whom the model accepts; NaN
        where the budget ended before that was known. budget: model rows a person.
        """
        problem: Problem = self._fitted_problem()
        rows = problem.schema.encode(x) if not isinstance(x, np.ndarray) else np.asarray(x, dtype=np.float64)
        people = problem.population(rows)
        out = np.zeros(rows.shape)
        open_ = np.flatnonzero(~problem.reached(rows)[0])
        cap, ended = people.rows + budget, np.zeros(people.n, dtype=bool)
        for size in range(1, min(self.most, people.d) + 1):
            left = open_[(out[open_] == 0).any(1)]
            for who, action in self._assignments(people, left, size, cap, ended):
                good = ask(people, who, action)[1]
                who, action = who[good], action[good]
                for j in np.flatnonzero(~np.isnan(action).all(0)).tolist():
                    rest = action.copy()
                    rest[:, j] = np.nan
                    there = np.flatnonzero(~np.isnan(rest).all(1))
                    needed = np.ones(len(who), dtype=bool)
                    needed[there] = ~ask(people, who[there], rest[there])[1]
                    out[who[needed], j] = np.maximum(out[who[needed], j], 1.0 / size)
            out[(out == 0) & people.free & ended[:, None]] = np.nan
            open_ = open_[~ended[open_]]  # of larger sets one may be found before a smaller one
        return out
