"""A support vector machine whose refused groups are, in the mean, equally far from a yes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from wayforward.shapes import Floats, Mask
from wayforward.training.linear import LinearRecourse, check_counts, check_settings

_ROUNDS, _STEPS, _EXACT = 20, 100, 1e-10


class EqualizingRecourse(LinearRecourse):
    """Support vector machine with an even burden: refused people of two groups are about as far from the boundary.

    Minimise ``|w|^2 / 2 + C sum_i max(0, 1 - y_i f(x_i))^2 + lam * max(0, |R_0 - R_1| - tau)``, where R_g is the mean
    of -f over the refused of group g. Whom the model refuses depends on f, so the problem, convex for given people, is
    solved again until they stay the same; of all rounds the best is kept: the least loss among those with a gap in
    distance of at most tau, otherwise the smallest gap. `lam=0`, or training without groups, is the plain machine
    (scikit-learn's LinearSVC with squared hinge, here without a penalty on the intercept).

    lam: the price of a unit of gap in f, in units of the loss; infinite: the gap must go. tau: the gap in distance
    (units of X) that is left in peace. C: weight of a training row's loss. rounds: at most so many.
    Fitted: `gap_`, the gap in distance on the training data; `plain_gap_`, that of the plain machine; `n_rounds_`.
    Probabilities are a logistic of the score, scaled on the training data; at .5 lies the boundary.

    Example: ``EqualizingRecourse(tau=0.05).fit(X, y, groups=sex)``.
    Raises: ValueError, as scikit-learn does, and for more than two groups.
    Source: V. Gupta, P. Nokhiz, C. D. Roy & S. Venkatasubramanian (2019), Equalizing Recourse across Groups,
    arXiv:1909.03166, section 4; there with the plain hinge.
    """

    def __init__(self, lam: float = np.inf, tau: float = 0.0, C: float = 1.0, rounds: int = _ROUNDS) -> None:
        self.lam, self.tau, self.C, self.rounds = lam, tau, C, rounds

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> EqualizingRecourse:
        """Train on rows (n, e), labels (n,), and the two groups (n,) that the burden is even between."""
        check_settings(self, "lam", "tau", "C", endless=("lam", "tau"))
        check_counts(self, rounds=0)
        X, sign = self._begin(X, y)
        weight = np.full(len(X), float(self.C))
        if sample_weight is not None:
            given = np.asarray(sample_weight, dtype=np.float64)
            if given.shape not in ((), sign.shape):
                raise ValueError(
                    f"sample_weight has shape {given.shape}; X has {len(X)} rows. Give one weight a row."
                )
            weight = self.C * np.broadcast_to(given, sign.shape)
            if not (np.isfinite(weight) & (weight >= 0)).all() or not weight.any():
                raise ValueError(
                    "sample_weight must be finite numbers of 0 or more, and not all of them zero."
                )
        member = _two_groups(groups, len(X))
        machine = _Machine(np.column_stack([X, np.ones(len(X))]), sign, weight)
        theta = machine.solve(np.zeros(X.shape[1] + 1))
        self.plain_gap_, self.n_rounds_ = (np.nan, 0) if member is None else (machine.gap(theta, member), 0)
        self.gap_ = self.plain_gap_
        if member is not None and self.lam > 0 and self.gap_ > self.tau:
            theta = self._even(machine, theta, member)
        self._set(theta)
        self.slope_ = _slope(sign * (machine.rows @ theta), weight)
        return self

    def _even(self, machine: _Machine, theta: Floats, member: Mask) -> Floats:
        """Solve again until the refused stay the same; keep the best round."""
        best, rank = theta, (True, self.gap_)
        seen: set[bytes] = set()
        for round_ in range(int(self.rounds)):
            refused = machine.rows @ theta <= 0
            if not (refused & member).any() or not (refused & ~member).any():
                break  # a group of nobody refused has no distance
            if (key := np.packbits(refused).tobytes()) in seen:
                break
            seen.add(key)
            apart = machine.rows[refused & ~member].mean(0) - machine.rows[refused & member].mean(0)
            room = self.tau * float(np.linalg.norm(theta[:-1]))
            theta = machine.solve_even(theta, apart, room, float(self.lam))
            gap = machine.gap(theta, member)
            done = gap > self.tau
            mine = (done, gap if done else machine.loss(theta))
            if mine < rank:
                best, rank, self.gap_ = theta, mine, gap
            self.n_rounds_ = round_ + 1
        return best


class _Machine:
    """The training loss on rows (n, e + 1) whose last column is one; theta (e + 1,) are weights and intercept."""

    def __init__(self, rows: Floats, sign: Floats, weight: Floats) -> None:
        self.rows, self.sign, self.weight = rows, sign, weight
        self.ridge = np.append(np.ones(rows.shape[1] - 1), 1e-9)

    def loss(self, theta: Floats, tilt: Floats | float = 0.0) -> float:
        short = np.maximum(0.0, 1 - self.sign * (self.rows @ theta))
        return float(0.5 * self.ridge @ theta**2 + self.weight @ short**2 + np.sum(tilt * theta))

    def gap(self, theta: Floats, member: Mask) -> float:
        """Difference in mean distance of the refused of both groups; infinite where one has none."""
        score = self.rows @ theta
        length, refused = float(np.linalg.norm(theta[:-1])), score <= 0
        one, two = refused & member, refused & ~member
        if not one.any() or not two.any() or length <= _EXACT:
            return np.inf
        return float(abs(score[one].mean() - score[two].mean()) / length)

    def solve(self, theta: Floats, tilt: Floats | float = 0.0, along: Floats | None = None) -> Floats:
        """Newton's method from theta; tilt (e + 1,): a linear term. along (e + 1,): steps keep along @ theta."""
        value = self.loss(theta, tilt)
        for _ in range(_STEPS):
            short = np.maximum(0.0, 1 - self.sign * (self.rows @ theta))
            active = short > 0
            gradient = self.ridge * theta - 2 * self.rows.T @ (self.weight * short * self.sign) + tilt
            part = self.rows[active]
            curve = np.diag(self.ridge) + 2 * part.T @ (self.weight[active, None] * part)
            right = -gradient
            if along is not None:
                edge = along[:, None]
                curve = np.block([[curve, edge], [edge.T, np.zeros((1, 1))]])
                right = np.append(right, 0.0)
            step = np.linalg.lstsq(curve, right, rcond=None)[0][: len(theta)]
            fall = float(gradient @ step)
            if fall > -_EXACT * (1 + abs(value)):
                break
            size = 1.0
            while (
                lower := self.loss(theta + size * step, tilt)
            ) > value + 1e-4 * size * fall and size > 1e-8:
                size /= 2
            if lower >= value:
                break
            theta, value = theta + size * step, lower
        return theta

    def solve_even(self, theta: Floats, apart: Floats, room: float, price: float) -> Floats:
        """Minimise loss + price * max(0, |apart @ theta| - room): free, at its edge, or with the full price paid."""
        free = self.solve(theta)
        excess = float(apart @ free)
        length = float(apart @ apart)
        if abs(excess) <= room or length <= _EXACT:
            return free
        side = np.sign(excess)
        at_edge = self.solve(free + apart * (side * room - excess) / length, along=apart)
        short = np.maximum(0.0, 1 - self.sign * (self.rows @ at_edge))
        gradient = self.ridge * at_edge - 2 * self.rows.T @ (self.weight * short * self.sign)
        if -side * float(apart @ gradient) / length <= price:  # what the edge costs for each unit of gap
            return at_edge
        return self.solve(free, side * price * apart)


def _two_groups(groups: Any, n: int) -> Mask | None:
    """(n,) bool: who is of the second group; None without groups."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups has shape {groups.shape}; X has {n} rows. Give one group a row.")
    gone = np.flatnonzero([one is None or one != one for one in groups.tolist()])  # NaN is not itself
    if gone.size:
        raise ValueError(
            f"groups has no group in row {gone[0]}. Give each row one, or leave such people out."
        )
    names = np.unique(groups)
    if len(names) != 2:
        raise ValueError(
            f"groups holds {len(names)} groups: {names[:5].tolist()}. The burden is evened between two: join "
            "some, such as one group and everybody else."
        )
    return np.asarray(groups == names[1])


def _slope(margin: Floats, weight: Floats) -> float:
    """Return the scale under which the logistic of the scores is likeliest; margin (n,): score times sign."""
    slope = 1.0
    for _ in range(50):
        p = expit(-slope * margin)
        gradient, curve = float(weight * margin @ p), float(weight * margin**2 @ (p * (1 - p))) + 1e-12
        new = min(max(slope + gradient / curve, slope / 4), slope * 4, 1e3)
        if abs(new - slope) <= 1e-9 * slope:
            break
        slope = new
    return slope
