"""Mixed-integer programs over grids: each feature stays or takes one of its values; models, rules and cuts as rows.

Everything that hangs on the row is an affine function of binaries, one for each value on the grid: a number `start` for
the person as they are, and what each value adds. Dense layers of rectified units need their own binaries where a unit
may be on or off; a tree needs a share for each of its leaves, which is whole where the values are. HiGHS solves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wayforward.methods.engines.exact.selection import Among, ChangedTo, Clause, Most
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.methods.engines.tree_regions import TreeRegions
    from wayforward.model.forms import DenseForm
    from wayforward.schema import Schema


class Affine(NamedTuple):
    """start (q,) of q numbers for the person as they are, more (q, o): what each value on the grid adds."""

    start: Floats
    more: Floats

    def take(self, which: Any) -> Affine:
        """Some of the numbers."""
        return Affine(self.start[which], self.more[which])


class GridProgram:
    """A program for one person x (d,): feature, value (o,) are what they may set. Binaries 0 to o are these values."""

    def __init__(self, schema: Schema, x: Floats, feature: Ints, value: Floats, most: int) -> None:
        self.schema, self.x, self.feature, self.value = schema, x, feature, value
        self.low: list[Floats] = []
        self.high: list[Floats] = []
        self.whole: list[Mask] = []
        self.price: list[Floats] = []
        self.size = 0
        self.columns: list[Ints] = []
        self.weights: list[Floats] = []
        self.least: list[float] = []
        self.greatest: list[float] = []
        self.options = self.new(len(feature), 0.0, 1.0, whole=True)
        for j in np.unique(feature):
            at = self.options[feature == j]
            self.row(at, np.ones(len(at)), -np.inf, 1.0)
        self.row(self.options, np.ones(len(feature)), -np.inf, float(most))

    def rows_of_options(self) -> Floats:
        """(o, d) the person with each value alone."""
        rows = np.repeat(self.x[None], len(self.feature), axis=0)
        rows[np.arange(len(rows)), self.feature] = self.value
        return rows

    # -- parts ---------------------------------------------------------------------------------------------

    def new(
        self,
        count: int,
        low: float,
        high: float | Floats,
        *,
        whole: bool = False,
        price: float | Floats = 0.0,
    ) -> Ints:
        """Add variables; return their numbers."""
        at = np.arange(self.size, self.size + count)
        for parts, value in ((self.low, low), (self.high, high), (self.whole, whole), (self.price, price)):
            parts.append(np.broadcast_to(np.asarray(value), count))
        self.size += count
        return at

    def row(self, columns: Any, weights: Any, least: float, greatest: float) -> None:
        """Demand least <= sum of weights x variables <= greatest."""
        weights = np.asarray(weights, dtype=np.float64)
        some = np.flatnonzero(weights)
        self.columns.append(np.asarray(columns, dtype=np.int64)[some])
        self.weights.append(weights[some])
        self.least.append(least)
        self.greatest.append(greatest)

    def ends(self, affine: Affine) -> tuple[Floats, Floats]:
        """Return the least and the greatest (q,) that affine numbers may be: one value a feature, or none."""
        low, high = affine.start.copy(), affine.start.copy()
        for j in np.unique(self.feature):
            part = affine.more[:, self.feature == j]
            low += np.minimum(part.min(1), 0.0)
            high += np.maximum(part.max(1), 0.0)
        return low, high

    def at_most_sizes(self, affine: Affine) -> None:
        """Add the sizes |number| of affine numbers to what is paid."""
        size = self.new(len(affine.start), 0.0, np.inf, price=1.0)
        for q, at in enumerate(size):
            for sign in (1.0, -1.0):
                self.row(
                    [at, *self.options], [1.0, *(-sign * affine.more[q])], sign * affine.start[q], np.inf
                )

    def named(self, affine: Affine) -> Ints:
        """Add variables that are affine numbers."""
        low, high = self.ends(affine)
        at = self.new(len(low), -np.inf, np.inf)
        for q, v in enumerate(at):
            self.row([v, *self.options], [1.0, *-affine.more[q]], affine.start[q], affine.start[q])
        self.low[-1], self.high[-1] = low, high
        return at

    # -- models --------------------------------------------------------------------------------------------

    def dense(self, form: DenseForm, mix: Floats, need: float) -> None:
        """Demand that a linear score or a network of rectified units, mixed by mix (q,), reaches `need`."""
        w, b = np.asarray(form.weights[0]), np.asarray(form.biases[0])
        layers = list(zip(form.weights[1:], form.biases[1:], strict=True))
        if not layers:
            w, b = w @ mix[:, None], np.atleast_1d(b @ mix)
        own = form.encoder.encode(self.x[None])
        first = Affine((own @ w + b)[0], ((form.encoder.encode(self.rows_of_options()) - own) @ w).T)
        low, high = self.ends(first)
        if not layers:
            self.row(self.options, first.more[0], need - first.start[0], np.inf)
            return
        into = self.named(first)
        for depth, (weight, bias) in enumerate(layers):
            into = self._rectified(into, low, high) if form.activations[depth] == "relu" else into
            if form.activations[depth] == "relu":
                low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
            weight, bias = np.asarray(weight, float), np.asarray(bias, float)
            if depth == len(layers) - 1:
                weight, bias = weight @ mix[:, None], np.atleast_1d(bias @ mix)
                self.row(into, weight[:, 0], need - bias[0], np.inf)
                return
            up, down = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
            low, high = low @ up + high @ down + bias, high @ up + low @ down + bias
            out = self.new(len(bias), -np.inf, np.inf)
            for q, at in enumerate(out):
                self.row([at, *into], [1.0, *-weight[:, q]], bias[q], bias[q])
            into = out

    def _rectified(self, into: Ints, low: Floats, high: Floats) -> Ints:
        """Add max(0, number) of variables that lie between low and high."""
        out = self.new(len(into), 0.0, np.maximum(high, 0.0))
        for s, y, least, most in zip(into, out, low, high, strict=True):
            if least >= 0:
                self.row([y, s], [1.0, -1.0], 0.0, 0.0)
            elif most > 0:
                on = int(self.new(1, 0.0, 1.0, whole=True)[0])
                self.row([y, s], [1.0, -1.0], 0.0, np.inf)
                self.row([y, on], [1.0, -most], -np.inf, 0.0)
                self.row([y, s, on], [1.0, -1.0, -least], -np.inf, -least)
        return out

    def forest(self, regions: TreeRegions, value: Floats, need: float) -> None:
        """Demand that the values (l,) of the leaves that a row falls into, one a tree, add up to `need`.

        A leaf has a share; of the leaves of a tree whose values of one feature lie in a set, the shares are at most
        what is chosen of that set.
        """
        inside = regions.leaves.holds(self.schema, self.feature, self.value)
        own = regions.leaves.holds(self.schema, np.arange(len(self.x)), self.x)
        bound = [
            j for j in np.unique(self.feature) if not (inside[:, self.feature == j].all() and own[:, j].all())
        ]
        fixed = np.setdiff1d(np.arange(len(self.x)), np.unique(self.feature))
        open_ = own[:, fixed].all(1)
        for j in bound:
            open_ &= own[:, j] | inside[:, self.feature == j].any(1)
        leaf = np.flatnonzero(open_)
        share = self.new(len(leaf), 0.0, 1.0)
        self.row(share, value[leaf], need, np.inf)
        for tree in np.unique(regions.tree):
            mine = np.flatnonzero(regions.tree[leaf] == tree)
            self.row(share[mine], np.ones(len(mine)), 1.0, 1.0)
            for j in bound:
                at = self.options[self.feature == j]
                member = np.column_stack([inside[leaf[mine]][:, at], own[leaf[mine], j]])
                for pattern in np.unique(member, axis=0):
                    if pattern.all():
                        continue
                    within = share[mine[(member <= pattern).all(1)]]
                    stays = float(pattern[-1])  # 1 - all values that are chosen: as the person is
                    self.row([*within, *at], [*np.ones(len(within)), *(stays - pattern[:-1])], -np.inf, stays)

    # -- rules and cuts ------------------------------------------------------------------------------------

    def rule(self, clause: Clause) -> None:
        """Demand that one of the atoms of a clause holds."""
        atoms = [self._atom(atom) for atom in clause]
        if any(self.ends(atom)[1][0] <= 0 for atom in atoms):
            return
        if len(atoms) == 1:
            self.row(self.options, atoms[0].more[0], -np.inf, -atoms[0].start[0] + 1e-9)
            return
        holds = self.new(len(atoms), 0.0, 1.0, whole=True)
        for atom, flag in zip(atoms, holds, strict=True):
            top = float(self.ends(atom)[1][0])
            self.row([*self.options, flag], [*atom.more[0], top], -np.inf, top - atom.start[0] + 1e-9)
        self.row(holds, np.ones(len(holds)), 1.0, np.inf)

    def _atom(self, atom: Most | Among | ChangedTo) -> Affine:
        """A number that is at most 0 exactly where an atom holds."""
        start, more = 0.0, np.zeros(len(self.feature))
        if isinstance(atom, Most):
            start = sum(w * self.x[j] for j, w in atom.values) - atom.most
            for j, w in atom.values:
                more += np.where(self.feature == j, w * (self.value - self.x[j]), 0.0)
            for j, w in atom.changes:
                more += np.where(self.feature == j, w, 0.0)
        elif isinstance(atom, Among):
            own = bool(np.isnan(self.x[atom.feature])) or self.x[atom.feature] in atom.allowed
            inside = np.isin(self.value, list(atom.allowed))
            start = 0.0 if own else 1.0
            more += np.where(self.feature == atom.feature, float(own) - inside, 0.0)
        else:
            start = 1.0 if atom.wanted else 0.0
            more += np.where(self.feature == atom.feature, -1.0 if atom.wanted else 1.0, 0.0)
        return Affine(np.array([start]), more[None])

    def forbid(self, chosen: Mask, *, features: bool = False) -> None:
        """Forbid the choice (o,) alone, or all that change exactly its features."""
        if features:
            chosen = np.isin(self.feature, self.feature[chosen])
        count = len(np.unique(self.feature[chosen]))
        self.row(self.options, np.where(chosen, 1.0, -1.0), -np.inf, count - 1.0)

    # -- solving -------------------------------------------------------------------------------------------

    def solve(self, nodes: int) -> tuple[Mask | None, bool]:
        """Return the cheapest choice (o,), None without one, and whether nothing is left to prove."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        indptr = np.cumsum([0] + [len(columns) for columns in self.columns], dtype=np.int32)
        entries = np.concatenate(self.weights), np.concatenate(self.columns).astype(np.int32), indptr
        matrix = csr_array(entries, shape=(len(self.columns), self.size))
        got = milp(
            np.concatenate(self.price),
            integrality=np.concatenate(self.whole).astype(int),
            bounds=Bounds(np.concatenate(self.low), np.concatenate(self.high)),
            constraints=LinearConstraint(matrix, np.asarray(self.least), np.asarray(self.greatest)),
            options={"mip_rel_gap": 0.0, "node_limit": nodes},
        )
        chosen = None if got.x is None else got.x[: len(self.feature)] > 0.5
        return chosen, got.status in (0, 2)
