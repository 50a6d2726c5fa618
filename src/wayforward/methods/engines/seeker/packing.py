"""What the seeker's kernels read: the model as ranks or layers with one output, the cost, the lattice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.seeker.records import CellForest, LayeredNet, Terrain
from wayforward.model import kernels
from wayforward.model.fast import apply_link
from wayforward.rules.normal_form import Linear

if TYPE_CHECKING:
    from wayforward.model.forms import DenseForm, FlatForest, Link
    from wayforward.problem import Problem
    from wayforward.schema import Schema

_UFUNCS = ("", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "expm1", "arctan", "tanh")
_MOST_GRID = 32  # values a side that a profile tries
_MOST_LEVELS = 62  # a bit each, and one for a missing value


def one_output(problem: Problem, q: int, link: Link) -> np.ndarray | None:
    """Return (q,) coefficients whose sum of margins alone decides; None where there are none."""
    bound = problem.bound_target
    if problem.target.interval is not None:
        return np.ones(1) if q == 1 and link == "identity" else None
    if bound.n_classes == 2 and len(bound.columns) == 1:
        sign = 1.0 if bound.columns[0] == 1 else -1.0
        if q == 1 and link in ("logistic", "probability"):
            return np.array([sign])
        return sign * np.array([-1.0, 1.0]) if q == 2 and link == "softmax" else None
    if problem.target.threshold is not None and link == "probability" and q == bound.n_classes:
        return np.isin(np.arange(q), bound.columns).astype(np.float64)
    return None


def trees_score(problem: Problem, flat: FlatForest) -> tuple[np.ndarray, tuple[float, float, float]] | None:
    """Return what one score of a forest is mixed from (`one_output`) and its `margin_range`; None where it has none, or
    where more may be too much."""
    link = flat.link if flat.link != "identity" or problem.target.interval is not None else "probability"
    mix = one_output(problem, flat.value.shape[1], link)
    margins = None if mix is None else margin_range(problem, link, mix)
    return None if mix is None or margins is None or np.isfinite(margins[1]) else (mix, margins)


def margin_range(problem: Problem, link: Link, mix: np.ndarray) -> tuple[float, float, float] | None:
    """Return (lowest, highest, gap): mixed margins from lowest to highest may be a yes, those more than gap inside are.

    None where no margin reaches the target.
    """
    slack, target = problem.slack, problem.target
    if target.interval is not None:
        low, high = target.edges()
        return low + target.margin - slack, high - target.margin + slack, 2.0 * slack * (1.0 + 1e-9)

    def score(mixed: np.ndarray) -> np.ndarray:
        if len(mix) == 1:
            margin = mixed[:, None] * mix[0]
        elif link == "softmax":
            margin = np.stack([np.zeros(len(mixed)), mixed * mix[1]], axis=1)
        else:
            margin = np.zeros((len(mixed), len(mix)))
            margin[:, int(mix.argmax())] = mixed
        return problem.bound_target.score(apply_link(margin, link))

    maybe = _first_true(lambda m: score(m) >= -slack)
    surely = _first_true(lambda m: score(m) > slack)
    return None if maybe is None or surely is None else (maybe, np.inf, surely - maybe)


def _first_true(holds: object) -> float | None:
    """Return the least number at which a rising condition holds; None where it never does."""
    low, high = -1e6, 1e6
    for _ in range(12):
        grid = np.linspace(low, high, 201)
        yes = holds(grid)  # type: ignore[operator]
        if not yes[-1]:
            return None
        first = int(yes.argmax())
        low, high = float(grid[max(first - 1, 0)]), float(grid[first])
        if not low < high:
            break
    return high


def terrain(
    problem: Problem, used: np.ndarray, margins: tuple[float, float, float], forest: tuple[float, float]
) -> Terrain:
    """Lay out the features and the cost of a problem whose cost is a sum of steps. forest: its base and unit."""
    schema, scales = problem.schema, problem.cost.fitted_scales
    fixed, slope, square = problem.cost.step_sum() or (0.0, 0.0, 0.0)
    origin, _, per_unit = schema.lattice
    levels = schema.n_levels.astype(np.int64)
    feature = np.array(
        [
            np.where(schema.is_categorical, 2, np.where(schema.has_levels, 1, 0)),
            origin,
            schema.step,
            per_unit,
            1e-9 * schema.span,
            np.where(schema.has_levels, 1e-9, np.maximum(0.01 * schema.span, np.nan_to_num(schema.step))),
            schema.span,
            1.0 / np.asarray(scales.divisor),
            scales.span / scales.divisor,
            levels,
            np.cumsum(levels) - levels,
            used,
            problem.least_change,
        ],
        dtype=np.float64,
    )
    number = np.array([fixed, slope, square, *margins, *forest], dtype=np.float64)
    return Terrain(feature, number, np.empty((0, 2 * schema.d + 1)))


def level_rules(schema: Schema) -> tuple[list[tuple[int, np.ndarray]], bool]:
    """Return the rules about levels of one feature, and whether these are all.

    Each rule is (feature, (levels + 1, levels) bool: what may follow what, the last row a missing value).
    """
    found: list[tuple[int, np.ndarray]] = []
    if not schema.rules:
        return found, True
    rules, every = schema.compiled_rules, True
    for r, involved in enumerate(rules.involved):
        j = int(involved.argmax())
        if involved.sum() != 1 or not schema.has_levels[j]:
            every = False
            continue
        count = int(schema.n_levels[j])
        before = np.full((count + 1, count, schema.d), np.nan)
        after = before.copy()
        before[:count, :, j] = np.arange(count)[:, None]
        after[:, :, j] = np.arange(count)
        found.append((j, np.asarray(rules.holds(before, after))[:, :, r]))
    return found, every


def linear_rules(schema: Schema) -> tuple[np.ndarray, bool]:
    """Return the rules that are sums of numbers below a bound, and whether these and `level_rules` are all.

    Each row (2 d + 1,): what the values after the change count, what those before it count, the bound.
    """
    lines, every = [], True
    if not schema.rules:
        return np.empty((0, 2 * schema.d + 1)), True
    rules = schema.compiled_rules
    for involved, form in zip(rules.involved, rules.normal_form(), strict=True):
        if involved.sum() == 1 and schema.has_levels[involved].all():
            continue
        clauses = () if form is None else form.clauses
        if not clauses or schema.has_levels[involved].any():
            every = False
            continue
        for clause in clauses:
            atom = clause[0] if len(clause) == 1 else None
            if not isinstance(atom, Linear) or atom.changed or atom.strict:
                every = False
                continue
            line = np.zeros(2 * schema.d + 1)
            for side, j, weight in atom.terms:
                line[j if side == "after" else schema.d + j] += weight
            line[-1] = atom.bound
            lines.append(line)
    return np.array(lines).reshape(-1, 2 * schema.d + 1), every


def cell_forest(
    flat: FlatForest, schema: Schema, mix: np.ndarray
) -> tuple[CellForest, np.ndarray, tuple[float, float]] | None:
    """Return the forest with one output and splits as ranks, (d,) bool: features it splits on, and its base and unit;
    None where a feature has too many levels."""
    inner = flat.feature >= 0
    level = inner & (flat.level_set >= 0)
    numeric = inner & ~level
    d = schema.d
    used = np.isin(np.arange(d), flat.feature[inner])
    if (schema.n_levels[used] > _MOST_LEVELS).any() or schema.has_levels[flat.feature[numeric]].any():
        return None
    rank = np.zeros(len(inner), np.int64)
    cuts, least, most = [], [], []
    for j in range(d):
        at = np.flatnonzero(numeric & (flat.feature == j))
        finite = flat.threshold[at][np.isfinite(flat.threshold[at])]
        cut = np.unique(finite)
        rank[at] = np.where(
            np.isfinite(flat.threshold[at]),
            np.searchsorted(cut, flat.threshold[at]),
            np.where(flat.threshold[at] > 0, len(cut), -1),
        )
        cuts.append(cut)
        above, below = legal_neighbours(schema, j, cut)
        width = max(int(schema.n_levels[j]) + 2, len(cut) + 2)  # levels, a missing one, and one to spare
        width = -(-width // 64) * 64 - len(cut) - 1  # whole words of bits
        least.append(np.concatenate([[-np.inf], above, np.zeros(width)]))
        most.append(np.concatenate([below, [np.inf], np.zeros(width)]))
    rank[level] = flat.level_set[level]
    bits = (
        np.uint64(1) << np.arange(flat.left_levels.shape[1], dtype=np.uint64)
        if flat.left_levels.size
        else None
    )
    sides = (
        np.zeros(1, np.uint64) if bits is None else (flat.left_levels * bits).sum(axis=1).astype(np.uint64)
    )
    value, leaf = flat.value @ mix, flat.leaf >= 0
    tree = np.cumsum(np.isin(np.arange(len(leaf)), flat.roots)) - 1
    largest = np.zeros(len(flat.roots))
    np.maximum.at(largest, tree[leaf], np.abs(value[flat.leaf[leaf]]))
    total = float(largest.sum())
    shift = int(np.floor(60 - np.log2(total))) if total > 0 else 0
    whole = np.zeros(len(inner), np.int64)
    whole[leaf] = np.rint(np.ldexp(value[flat.leaf[leaf]], shift)).astype(np.int64)
    nodes = np.stack(
        [np.where(inner, flat.feature, -1), rank, np.where(inner, flat.left, 0), flat.missing_left], axis=1
    )
    index = np.cumsum([[0] + [len(c) for c in cuts], [0] + [len(c) for c in least]], axis=1)
    return (
        CellForest(
            nodes.astype(np.int32),
            whole,
            sides,
            flat.roots.astype(np.int64),
            index,
            np.concatenate([*cuts, np.zeros(1)]),
            np.array([np.concatenate(least), np.concatenate(most)]),
            np.zeros(index[1, -1] + 2, np.int64),
            np.zeros((_depth(flat) + 2, 5), np.int64),
            np.full(3, -1, np.int64),
            np.zeros((len(inner), 4), np.int32),
            np.zeros(len(inner), np.int64),
            np.zeros(len(flat.roots), np.int64),
            np.zeros(index[1, -1] // 64 + 2, np.uint64),
            np.zeros((index[1, -1] + 2, 2), np.int64),
        ),
        used,
        (float(flat.base @ mix), float(np.ldexp(flat.scale, -shift))),
    )


def legal_neighbours(schema: Schema, j: int, cut: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least legal values of feature j above each cut, and the greatest at or below it."""
    above, below, step = np.nextafter(cut, np.inf), cut, schema.step[j]
    if not np.isnan(step):
        above, below = schema.round(cut, columns=j), schema.round(cut, columns=j)
        above = np.where(above > cut, above, schema.round(above + step, columns=j))
        below = np.where(below <= cut, below, schema.round(below - step, columns=j))
    return above, below


def _depth(flat: FlatForest) -> int:
    node, depth = flat.roots, 0
    while True:
        node = node[flat.feature[node] >= 0]
        if not node.size:
            return depth
        node, depth = np.concatenate([flat.left[node], flat.right[node]]), depth + 1


def layered_net(form: DenseForm, schema: Schema, mix: np.ndarray) -> tuple[LayeredNet, np.ndarray]:
    """Return the net with one output, and (d,) bool: features whose weights are not all 0."""
    weights = [np.asarray(w, dtype=np.float64) for w in form.weights]
    biases = [np.asarray(b, dtype=np.float64) for b in form.biases]
    weights[-1], biases[-1] = weights[-1] @ mix[:, None], np.atleast_1d(biases[-1] @ mix)
    first, encoder = weights[0], form.encoder
    width, d = first.shape[1], schema.d
    bias, used = biases[0].copy(), np.zeros(d, dtype=bool)
    tables: dict[int, np.ndarray] = {}
    for e in encoder.tables:
        column = encoder.columns[e]
        if column.feature < 0:
            bias += column.table[0] * first[e]
            continue
        part = column.table[:, None] * first[e]
        tables[column.feature] = tables.get(column.feature, 0.0) + part
    at, table_at, rows = 0, np.full(d, -1, np.int64), [np.zeros((1, width))]
    for j, table in tables.items():
        table_at[j], at = at + 1, at + len(table)
        used[j] = bool((table[:-1] != table[0]).any() or (table[-1] != table[0]).any())
        rows.append(table)
    order = sorted(encoder.numeric, key=lambda e: encoder.columns[e].feature)
    columns = [encoder.columns[e] for e in order]
    source = np.array([c.feature for c in columns], np.int64)
    weight = first[order].reshape(-1, width)
    used[source[(weight != 0).any(axis=1)]] = True
    rows[0][0] = bias
    code = [
        (c.centre, c.divisor, c.factor, c.shift, c.missing, float(_UFUNCS.index(c.ufunc))) for c in columns
    ]
    shapes = [[w.shape[1] for w in weights], [kernels.ACTIVATIONS[a] for a in form.activations]]
    return (
        LayeredNet(
            np.array([np.searchsorted(source, np.arange(d + 1)), np.append(table_at, -1)], np.int64),
            np.array(code, dtype=np.float64).reshape(-1, 6),
            np.ascontiguousarray(weight),
            np.concatenate(rows),
            np.concatenate([np.zeros(0), *(w.ravel() for w in weights[1:])]),
            np.concatenate([np.zeros(0), *biases[1:]]),
            np.array(shapes, np.int64),
            np.zeros((2, max(shapes[0]))),
            np.zeros((d + 1, width)),
            np.zeros((2 * d, 5)),
            np.zeros(max(shapes[0]), np.int64),
            np.zeros((3, max(int(schema.n_levels.max(initial=0)), 2 * _MOST_GRID) + 4)),
        ),
        used,
    )
