"""All that a person may do on a lattice, by brute force: plain arrays, and none of the library's judging."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.lattices.cases import Lattice
from benchmarks.lattices.models import lattice_start

_NEAR = 1e-9  # nearer to the threshold than this, a row is asked about alone as well


@dataclass(frozen=True)
class Truth:
    """The allowed actions of one person that turn the decision.

    action, after (m, d), cost (m,), sure (m,): every way of asking the model says yes; a row whose answer hangs on the
    last bit of a matrix product is not sure. allowed: how many actions are allowed at all.
    """

    action: np.ndarray
    after: np.ndarray
    cost: np.ndarray
    sure: np.ndarray
    allowed: int

    @property
    def exists(self) -> bool:
        """Whether there is a way for sure."""
        return bool(self.sure.any())

    @property
    def impossible(self) -> bool:
        """Whether there is none for sure."""
        return not len(self.sure)

    @property
    def optimum(self) -> float:
        """The least cost of a sure way; infinite without one."""
        return float(self.cost[self.sure].min()) if self.exists else np.inf


def truth_of(case: Lattice, person: int) -> Truth:
    """Enumerate everything that one person may do."""
    action = every_action(case, person)
    before = np.broadcast_to(case.people[person], action.shape)
    after = consequences(case, before, action)
    ok = allowed(case, person, before, action, after)
    action, after = action[ok], after[ok]
    sure, maybe = decided(case, after)
    weight = None if case.wishes is None else np.broadcast_to(case.wishes.weight[person], action.shape)
    paid = cost(case, before[ok], action, weight)
    return Truth(action[maybe], after[maybe], paid[maybe], sure[maybe], int(ok.sum()))


def every_action(case: Lattice, person: int) -> np.ndarray:
    """(m, d): each feature left alone or set to a legal value; where something follows, also held where it is."""
    x = case.people[person]
    still = case.wishes is None
    axes = []
    for j, feature in enumerate(case.schema.features):
        ways = [np.nan]
        frozen = not still and bool(case.wishes.frozen[person, j])
        if feature.actionability == "actionable" and not frozen:
            ways += [v for v in case.lot.values[j].tolist() if v != x[j]]
            if not independent(case) and not np.isnan(x[j]):
                ways.append(float(x[j]))
        axes.append(ways)
    every = np.array(list(itertools.product(*axes)))
    return every[1:]  # the first one does nothing


def independent(case: Lattice) -> bool:
    """Whether nothing follows from anything."""
    return not case.equations and not case.links


def consequences(case: Lattice, before: np.ndarray, action: np.ndarray) -> np.ndarray:
    """(m, d), (m, d) -> (m, d): equations with the person's own noise, then linked features."""
    acted = ~np.isnan(action)
    after = np.where(acted, action, before)
    for j in case.order:
        if j not in case.equations:
            continue
        terms = case.equations[j]
        moved = np.zeros(len(before), dtype=bool)
        for i in {i for term in terms for i in term.causes}:
            moved |= after[:, i] != before[:, i]
        noise = before[:, j].copy()
        for term in terms:
            noise -= term.value(before)
        natural = sum((term.value(after) for term in terms), np.zeros(len(before))) + noise
        feature = case.schema.features[j]
        if feature.has_levels or feature.kind == "integer":
            low, high = (0, feature.n_levels - 1) if feature.has_levels else (feature.low, feature.high)
            natural = np.clip(np.rint(natural), low, high)
        after[:, j] = np.where(moved & ~acted[:, j], natural, after[:, j])
    return _dragged(case, before, after, acted) if case.links else after


def _dragged(case: Lattice, before: np.ndarray, after: np.ndarray, acted: np.ndarray) -> np.ndarray:
    end = after.copy()  # before rounding to a step, as it is handed on
    out = after.copy()
    for j in case.order:
        links = [link for link in case.links if link.target == j]
        if not links:
            continue
        feature = case.schema.features[j]
        move = sum(
            (link.rate * (end[:, link.source] - before[:, link.source]) for link in links), np.zeros(len(end))
        )
        new = after[:, j] + move
        if feature.has_levels:
            new = np.clip(np.rint(new), 0, feature.n_levels - 1)
        elif feature.kind == "integer":
            new = np.rint(new)
        end[:, j] = np.where(acted[:, j] | (move == 0), after[:, j], new)
        rounded = end[:, j]
        if not feature.has_levels:
            start = lattice_start(feature)
            rounded = start + np.round((end[:, j] - start) / feature.step) * feature.step
        dragged = (np.abs(end[:, j] - after[:, j]) > 1e-9 * feature.span) & ~acted[:, j]
        out[:, j] = np.where(dragged, rounded, after[:, j])
    return out


def allowed(
    case: Lattice, person: int, before: np.ndarray, action: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """(m,) bool: values exist, nothing moves that may not, in the right direction, within rules and wishes."""
    ok = np.ones(len(action), dtype=bool)
    changes = np.zeros(len(action), dtype=np.int64)
    wish = case.wishes
    for j, feature in enumerate(case.schema.features):
        b, a, e = before[:, j], action[:, j], after[:, j]
        slack = 1e-9 * feature.span
        acted = ~np.isnan(a)
        with np.errstate(invalid="ignore"):
            differs = (np.abs(e - b) > slack) | (np.isnan(e) != np.isnan(b))
            low, high = (0, feature.n_levels - 1) if feature.has_levels else (feature.low, feature.high)
            exists = (e >= low - slack) & (e <= high + slack)
            whole = np.abs(e - np.rint(e)) <= 1e-6
            if feature.has_levels:
                exists &= whole
            else:
                start = lattice_start(feature)
                steps = (e - start) / feature.step
                on_step = np.abs(steps - np.rint(steps)) <= 1e-6
                exists &= np.where(acted, on_step, whole if feature.kind == "integer" else True)
            ok &= exists | ~differs
            if feature.actionability == "immutable":
                ok &= ~differs
            if feature.actionability != "actionable":
                ok &= ~acted
            way = {"any": 0, "increase": 1, "decrease": -1}[feature.direction]
            ok &= ~(acted & ((a - b) * way < -slack))
            changes += acted & ((np.abs(a - b) > slack) | np.isnan(b))
            if wish is not None:
                ok &= ~(acted & wish.frozen[person, j])
                beyond = (e < wish.low[person, j] - slack) | (e > wish.high[person, j] + slack)
                ok &= ~(beyond & differs)
                if j in wish.levels:
                    ok &= wish.levels[j][person][np.nan_to_num(e).astype(int).clip(0, int(high))] | ~differs
    if wish is not None:
        ok &= changes <= int(wish.max_changes[person])
    for rule in case.rules:
        ok &= rule.holds(before, after)
    return ok


def decided(case: Lattice, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m,) bool surely a yes, (m,) bool perhaps a yes: the native model, and row by row where that is close."""
    yes, gap = _yes(case, *case.lot.native(rows))
    sure, maybe = yes.copy(), yes.copy()
    for i in np.flatnonzero(gap < _NEAR):
        ways = [_yes(case, *ask(rows[i : i + 1]))[0][0] for ask in (case.lot.raw, case.lot.wrapped.native)]
        sure[i] &= all(ways)
        maybe[i] |= any(ways)
    return sure, maybe


def _yes(case: Lattice, outputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m,) bool, and (m,) how near the decision is to turning; infinite where labels alone say."""
    target = case.problem.target
    if target.interval is not None:
        low, high = (
            edge if given is None else given
            for edge, given in zip((-np.inf, np.inf), target.interval, strict=True)
        )
        value = outputs[:, 0]
        return (value >= low) & (value <= high), np.minimum(np.abs(value - low), np.abs(high - value))
    wanted = [i for i, c in enumerate(case.lot.wrapped.classes) if c in target.labels]
    if target.threshold is None:
        top = np.sort(outputs, axis=1)
        return np.isin(labels, wanted), top[:, -1] - top[:, -2]
    value = outputs[:, wanted].sum(1)
    return value >= target.threshold, np.abs(value - target.threshold)


def cost(case: Lattice, before: np.ndarray, action: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """(m,) cost of actions: norms worked out here, others by the problem's own cost."""
    name = case.tags["cost"]
    own: Any = case.problem.cost
    if name not in ("l1", "l0", "mix", "l2", "linf"):
        return np.asarray(own.total(before, action, weight))
    step = np.zeros(action.shape)
    for j, feature in enumerate(case.schema.features):
        gap = np.where(np.isnan(action[:, j]), 0.0, np.abs(action[:, j] - before[:, j])) / feature.span
        gap = np.where(np.isnan(before[:, j]) & ~np.isnan(action[:, j]), 1.0, gap)
        step[:, j] = (gap > 0) if feature.kind == "categorical" else gap
    w = np.ones(step.shape) if weight is None else weight
    part = step * w
    return np.asarray(
        own.l0 * ((step > 1e-9) * w).sum(1) + own.l1 * part.sum(1) + own.l2 * np.sqrt((part**2).sum(1))
        + own.linf * part.max(1)
    )  # fmt: skip


def least(case: Lattice, person: int, found: Truth) -> np.ndarray:
    """(m,) bool: no other way asks for less: the same features, or fewer, each in the same direction or level."""
    action, x = found.action, case.people[person]
    m = len(action)
    acts = ~np.isnan(action)
    far = np.where(acts, np.abs(action - x), 0.0)
    far = np.where(acts & np.isnan(x), 1.0, far)
    way = np.where(acts, np.sign(np.nan_to_num(action - x)), 0.0)
    label = np.array([f.kind == "categorical" for f in case.schema.features]) | np.isnan(x)
    out = np.ones(m, dtype=bool)
    for start in range(0, m, 256):
        part = slice(start, start + 256)
        worse = np.ones((len(out[part]), m), dtype=bool)  # row i does all that column i' does
        more = np.zeros_like(worse)
        for j in range(action.shape[1]):
            mine, other = acts[part, j][:, None], acts[:, j][None]
            if label[j]:
                as_far = action[part, j][:, None] == action[:, j][None]
                farther = np.zeros_like(as_far)
            else:
                same = way[part, j][:, None] == way[:, j][None]
                as_far = same & (far[part, j][:, None] >= far[:, j][None] - 1e-12)
                farther = far[part, j][:, None] > far[:, j][None] + 1e-12
            worse &= ~other | (mine & as_far)
            more |= (mine & ~other) | (mine & other & farther)
        out[part] = ~(worse & more).any(1)
    return out
