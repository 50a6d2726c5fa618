"""The target of a linear model as inequalities over single features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import ProblemError, UnsupportedModel

if TYPE_CHECKING:
    from wayforward.problem import Problem


@dataclass(frozen=True)
class LinearTarget:
    """The target as r linear inequalities: bias + sum of parts >= 0, each part a function of one feature."""

    bias: np.ndarray  # (r,)
    weight: np.ndarray  # (r, d)
    tables: dict[int, np.ndarray]  # j -> (r, L)
    missing: np.ndarray  # (r, d)

    @property
    def rows(self) -> int:
        """How many inequalities there are."""
        return len(self.bias)

    @classmethod
    def of(cls, problem: Problem, name: str) -> LinearTarget:
        """Write a problem's target as inequalities; name: of the method, for errors.

        Raises: UnsupportedModel for a model that is not linear, ProblemError for a target that is not linear.
        """
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
        """Return what values (...) of feature j add: (r, ...)."""
        absent = np.isnan(value)
        known = np.where(absent, 0.0, value)
        table = self.tables.get(j)
        if table is None:
            out = known * _stretch(self.weight[:, j], value.ndim)
        else:
            out = table[:, known.astype(np.int64)]
        return np.asarray(np.where(absent, _stretch(self.missing[:, j], value.ndim), out))

    def total(self, x: np.ndarray) -> np.ndarray:
        """Return the sums (r, n) of people (n, d)."""
        out = np.repeat(self.bias[:, None], len(x), axis=1)
        for j in range(x.shape[1]):
            out = out + self.part(j, x[:, j])
        return out


def _stretch(row: np.ndarray, ndim: int) -> np.ndarray:
    """Return a row with `ndim` trailing axes of length 1."""
    return row.reshape(row.shape + (1,) * ndim)


def _target_rows(problem: Problem, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return how the linear margins (q) combine into r inequalities: matrix (r, q) and offset (r,)."""
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
        return np.array([[sign]]), np.array([-_margin_at(problem, bound.level, name)])
    if target.threshold is not None or target.margin > 0 or len(bound.columns) > 1:
        raise ProblemError(
            f"'{name}' on {classes} classes takes one favourable class without threshold or margin: anything else is "
            "not linear in the scores. Use local-search, or a model of two classes."
        )
    wanted = int(bound.columns[0])
    combine = -np.eye(classes)
    combine[:, wanted] += 1.0
    return np.delete(combine, wanted, axis=0), np.zeros(classes - 1)


def _margin_at(problem: Problem, level: float, name: str) -> float:
    """Return the margin at which the model's output crosses `level`: its logit, or 0 for a model of labels only."""
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
