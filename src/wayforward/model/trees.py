"""Tree ensembles: read from each library, moved to raw feature units, pruned to a person, bounded over boxes.

Each library compares in its own precision: scikit-learn rounds the value to float32 and goes left when it is
<= a float64 threshold; XGBoost compares float32 with <; LightGBM and HistGradientBoosting compare float64
with <=. Every split is turned, exactly, into "raw value <= t" with t the last float64 on the left: encoding,
rounding and comparison are monotone, so t is found by bisection over the float64 numbers themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wayforward.model import kernels
from wayforward.model.base import Scorer
from wayforward.model.encoder import Column, Encoder, NotColumnwise
from wayforward.model.fast import Fast, apply_link, link_bounds
from wayforward.model.forms import FlatForest, Link
from wayforward.shapes import Floats, Ints, Mask

_BLOCK = 512  # people pruned together
_PRUNED_BYTES = 384 * 2**20  # room for pruned forests
_FEW = 16  # leaves of a tree that is scored by masks; larger ones are walked
_MASK_BYTES = 4 * 2**20  # room for the tables of `_jit.masked`
_WORTH_ROWS = 48  # rows asked for each person before pruning pays
_WORTH = 0.8  # of the whole forest's cost for a row, else the whole forest will do


@dataclass
class EncodedTrees:
    """Trees over encoded columns, as a library stores them.

    Node arrays over all trees (children are absolute positions, -1 at a leaf): column, threshold, left,
    right, missing_left; value (N, q) at leaves; categories: node -> codes that go left. margin = base + sum /
    divisor.
    """

    column: Ints
    threshold: Floats
    left: Ints
    right: Ints
    missing_left: Mask
    value: Floats
    roots: Ints
    base: Floats
    divisor: float
    link: Link
    single: bool = False  # values are rounded to float32 before they are compared
    strict: bool = False  # left when value < threshold (in float32), not <=
    categories: dict[int, Ints] = field(default_factory=dict)


@dataclass
class _Parts:
    column: list[Ints] = field(default_factory=list)
    threshold: list[Floats] = field(default_factory=list)
    left: list[Ints] = field(default_factory=list)
    right: list[Ints] = field(default_factory=list)
    missing: list[Mask] = field(default_factory=list)
    value: list[Floats] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    size: int = 0

    def add(self, column: Any, threshold: Any, left: Any, right: Any, missing: Any, value: Any) -> None:
        left, right = np.asarray(left, np.int64), np.asarray(right, np.int64)
        value = np.asarray(value, np.float64).reshape(len(left), -1)
        order = _reachable(left, right)
        if len(order) < len(left):  # a library may keep nodes that it cut off
            new = np.full(len(left) + 1, -1, np.int64)
            new[order] = np.arange(len(order))
            column, threshold, missing = (np.asarray(a)[order] for a in (column, threshold, missing))
            left, right, value = new[left[order]], new[right[order]], value[order]
        leaf = left < 0
        self.roots.append(self.size)
        self.column.append(np.where(leaf, -1, column).astype(np.int64))
        self.threshold.append(np.asarray(threshold, np.float64))
        self.left.append(np.where(leaf, -1, left + self.size))
        self.right.append(np.where(leaf, -1, right + self.size))
        self.missing.append(np.asarray(missing, bool))
        self.value.append(value)
        self.size += len(leaf)

    def build(self, base: Any, divisor: float, link: Link, **kind: Any) -> EncodedTrees:
        return EncodedTrees(
            np.concatenate(self.column),
            np.concatenate(self.threshold),
            np.concatenate(self.left),
            np.concatenate(self.right),
            np.concatenate(self.missing),
            np.concatenate(self.value),
            np.array(self.roots, np.int64),
            np.atleast_1d(np.asarray(base, np.float64)),
            divisor,
            link,
            **kind,
        )


def _reachable(left: Ints, right: Ints) -> Ints:
    """Nodes that the root leads to, in order."""
    seen = np.zeros(len(left), bool)
    level = np.zeros(1, np.int64)
    while level.size:
        seen[level] = True
        inner = level[left[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
    return np.flatnonzero(seen)


# -- readers -----------------------------------------------------------------------------------------------


def read_sklearn(estimator: Any) -> EncodedTrees | None:
    """Decision trees, forests, gradient boosting and histogram boosting of scikit-learn; None for others."""
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = type(estimator)
    if kind in (DecisionTreeClassifier, DecisionTreeRegressor, *_extra_trees()):
        return _forest([estimator], hasattr(estimator, "classes_"))
    if kind in (RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor, ExtraTreesRegressor):
        return _forest(estimator.estimators_, hasattr(estimator, "classes_"))
    if kind in (GradientBoostingClassifier, GradientBoostingRegressor):
        return _gradient_boosting(estimator)
    if kind in (HistGradientBoostingClassifier, HistGradientBoostingRegressor):
        return _histogram(estimator)
    return None


def _extra_trees() -> tuple[type, type]:
    from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

    return ExtraTreeClassifier, ExtraTreeRegressor


def _forest(trees: list[Any], classifier: bool) -> EncodedTrees | None:
    parts = _Parts()
    for tree in trees:
        t = tree.tree_
        if t.n_outputs != 1:
            return None
        value = t.value[:, 0, :]
        if classifier:
            value = value / value.sum(axis=1, keepdims=True)
            value = value[:, 1:] if value.shape[1] == 2 else value
        parts.add(t.feature, t.threshold, t.children_left, t.children_right, _missing_left(t), value)
    q = parts.value[0].shape[1]
    return parts.build(
        np.zeros(q), float(len(trees)), "probability" if classifier else "identity", single=True
    )


def _missing_left(tree: Any) -> Any:
    got = getattr(tree, "missing_go_to_left", None)
    return np.zeros(tree.node_count, bool) if got is None else got


def _gradient_boosting(estimator: Any) -> EncodedTrees | None:
    init = estimator._raw_predict_init(np.zeros((2, estimator.n_features_in_), np.float32))
    if not (estimator.init_ == "zero" or type(estimator.init_).__name__.startswith("Dummy")):
        return None  # starts from another estimator
    parts = _Parts()
    stages = estimator.estimators_
    q = stages.shape[1]
    for stage in stages:
        for k, tree in enumerate(stage):
            t = tree.tree_
            value = np.zeros((t.node_count, q))
            value[:, k] = t.value[:, 0, 0] * estimator.learning_rate
            parts.add(t.feature, t.threshold, t.children_left, t.children_right, _missing_left(t), value)
    link: Link = "identity"
    if hasattr(estimator, "classes_"):
        if q == 1 and type(estimator._loss).__name__ == "ExponentialLoss":
            return None
        link = "logistic" if q == 1 else "softmax"
    return parts.build(init[0], 1.0, link, single=True)


def _histogram(estimator: Any) -> EncodedTrees | None:
    if getattr(estimator, "is_categorical_", None) is not None and np.any(estimator.is_categorical_):
        return None
    parts = _Parts()
    q = estimator.n_trees_per_iteration_
    for stage in estimator._predictors:
        for k, predictor in enumerate(stage):
            nodes = predictor.nodes
            leaf = nodes["is_leaf"].astype(bool)
            value = np.zeros((len(nodes), q))
            value[:, k] = nodes["value"]
            left = np.where(leaf, -1, nodes["left"].astype(np.int64))
            right = np.where(leaf, -1, nodes["right"].astype(np.int64))
            parts.add(
                nodes["feature_idx"], nodes["num_threshold"], left, right, nodes["missing_go_to_left"], value
            )
    if not parts.roots:
        return None
    link: Link = "identity"
    if hasattr(estimator, "classes_"):
        link = "logistic" if q == 1 else "softmax"
    elif getattr(estimator, "loss", "squared_error") not in ("squared_error", "absolute_error", "quantile"):
        return None  # a log link
    return parts.build(np.ravel(estimator._baseline_prediction), 1.0, link)


def read_xgboost(booster: Any) -> tuple[EncodedTrees | None, str]:
    """An XGBoost booster from its own JSON: (trees or None, why not)."""
    import json

    model = json.loads(booster.save_raw(raw_format="json"))["learner"]
    name = model["gradient_booster"]["name"]
    if name != "gbtree":
        return None, f"booster {name}"
    objective = model["objective"]["name"]
    links: dict[str, Link] = {
        "binary:logistic": "logistic",
        "multi:softprob": "softmax",
        "multi:softmax": "softmax",
        "reg:squarederror": "identity",
        "reg:absoluteerror": "identity",
        "reg:pseudohubererror": "identity",
    }
    if objective not in links:
        return None, f"objective {objective}"
    inner = model["gradient_booster"]["model"]
    q = max(int(model["learner_model_param"]["num_class"]), 1)
    if int(model["learner_model_param"].get("num_target", "1")) > 1:
        return None, "several targets"
    import ast

    text = model["learner_model_param"]["base_score"]
    score = np.atleast_1d(
        np.asarray(ast.literal_eval(text) if text.startswith("[") else float(text), np.float64)
    )
    if objective == "binary:logistic":
        score = np.log(score / (1.0 - score))
    base = np.broadcast_to(score, (q,)).astype(np.float64)
    attributes = booster.attributes()
    trees, groups = inner["trees"], inner["tree_info"]
    best = attributes.get("best_iteration")
    if best is not None:
        trees = trees[: (int(best) + 1) * q * int(inner["gbtree_model_param"].get("num_parallel_tree", "1"))]
    parts = _Parts()
    for tree, group in zip(trees, groups, strict=False):
        if any(tree.get("split_type", [])) or tree.get("categories"):
            return None, "categorical splits"
        left = np.asarray(tree["left_children"], np.int64)
        condition = np.asarray(tree["split_conditions"], np.float32).astype(np.float64)
        value = np.zeros((len(left), q))
        value[:, group] = np.where(left < 0, condition, 0.0)
        parts.add(tree["split_indices"], condition, left, tree["right_children"], tree["default_left"], value)
    if not parts.roots:
        return None, "no trees"
    return parts.build(base, 1.0, links[objective], single=True, strict=True), ""


def read_lightgbm(booster: Any) -> tuple[EncodedTrees | None, str]:
    """A LightGBM booster from its own dump: (trees or None, why not)."""
    best = booster.best_iteration
    dump = booster.dump_model(num_iteration=best if best and best > 0 else None)
    objective = str(dump.get("objective", "")).split(" ")
    q = int(dump["num_tree_per_iteration"])
    kind = objective[0]
    if kind == "binary":
        if any(o.startswith("sigmoid:") and float(o.split(":")[1]) != 1.0 for o in objective):
            return None, "a sigmoid other than 1"
        link: Link = "logistic"
    elif kind in ("multiclass", "softmax"):
        link = "softmax"
    elif (
        kind in ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "l2", "l1")
        and "sqrt" not in objective
    ):
        link = "identity"
    else:
        return None, f"objective {' '.join(objective)}"
    parts = _Parts()
    divisor = 1.0
    if dump.get("average_output"):
        divisor = len(dump["tree_info"]) / q
    for i, tree in enumerate(dump["tree_info"]):
        nodes: list[dict[str, Any]] = []
        stack = [(tree["tree_structure"], -1, "")]
        while stack:
            node, parent, side = stack.pop()
            at = len(nodes)
            nodes.append({"node": node, "left": -1, "right": -1})
            if parent >= 0:
                nodes[parent][side] = at
            if "split_feature" in node:
                if node["decision_type"] != "<=":
                    return None, "categorical splits"
                if node["missing_type"] == "Zero":
                    return None, "zero as missing"
                stack.append((node["right_child"], at, "right"))
                stack.append((node["left_child"], at, "left"))
        column, threshold, missing = np.zeros(len(nodes)), np.zeros(len(nodes)), np.zeros(len(nodes), bool)
        value = np.zeros((len(nodes), q))
        for at, entry in enumerate(nodes):
            node = entry["node"]
            if entry["left"] < 0:
                value[at, i % q] = node["leaf_value"]
                continue
            column[at], threshold[at] = node["split_feature"], float(node["threshold"])
            # without missing values in training LightGBM reads NaN as 0
            missing[at] = (
                bool(node["default_left"])
                if node["missing_type"] == "NaN"
                else float(node["threshold"]) >= 0.0
            )
        parts.add(column, threshold, [e["left"] for e in nodes], [e["right"] for e in nodes], missing, value)
    if not parts.roots:
        return None, "no trees"
    return parts.build(np.zeros(q), divisor, link), ""


# -- raw units ---------------------------------------------------------------------------------------------


def _key(x: Floats) -> Ints:
    """float64 -> int64 in the same order, so that a bisection visits the floats themselves."""
    bits = np.ascontiguousarray(x).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _unkey(k: Ints) -> Floats:
    bits = np.where(k < 0, np.int64(-(2**63)) - k, k)
    return np.ascontiguousarray(bits).view(np.float64)


def goes_left(value: Floats, threshold: Floats, single: bool, strict: bool) -> Mask:
    """The comparison of the model's library on encoded values, in its own precision."""
    if single:
        with np.errstate(over="ignore"):
            value = value.astype(np.float32).astype(np.float64)
    out: Mask = value < threshold if strict else value <= threshold
    return out


def raw_thresholds(
    columns: list[Column], threshold: Floats, single: bool, strict: bool
) -> tuple[Floats, Mask]:
    """Splits on encoded columns -> last raw float64 on the low side, and whether that side is the left."""
    kinds: dict[int, list[int]] = {}
    for at, column in enumerate(columns):
        kinds.setdefault(id(column), []).append(at)
    groups = [(columns[ats[0]], np.array(ats, np.int64)) for ats in kinds.values()]
    rising = np.array([c.divisor * c.factor >= 0 for c in columns])

    def low_side(x: Floats) -> Mask:
        value = np.empty_like(x)
        for column, ats in groups:
            value[ats] = column.value(x[ats])
        # a function such as log has no value below its domain: that is its low end
        value = np.where(np.isnan(value), np.where(rising, -np.inf, np.inf), value)
        low: Mask = goes_left(value, threshold, single, strict) == rising
        return low

    biggest = np.finfo(np.float64).max
    low = _key(np.full(len(columns), -biggest))
    high = _key(np.full(len(columns), biggest))
    none, every = ~low_side(_unkey(low)), low_side(_unkey(high))
    for _ in range(64):  # invariant: low is on the low side, high is not
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        inside = low_side(_unkey(middle))
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    out = np.where(every, np.inf, np.where(none, -np.inf, _unkey(low)))
    return out, rising


@dataclass
class Plan:
    """Arrays that the forest kernels read. The space of splits has a column for each raw numeric feature (NaN
    to -inf or to +inf) and one 0/1 column for each set of levels that some split sends left.
    """

    numeric_feature: Ints
    numeric_missing: Floats
    level_feature: Ints
    level_count: Ints
    level_columns: Ints
    level_offset: Ints
    level_start: Ints
    level_table: Floats
    width: int
    owner: Ints  # raw feature of each column
    roots: Ints
    depth: Ints  # of each tree
    feature: npt.NDArray[np.int32]  # column of the space of splits
    threshold: Floats  # +inf at a leaf, which leads to itself
    left: npt.NDArray[np.int32]  # right is left + 1
    row: npt.NDArray[np.int32]  # row of `leaf` at a leaf, -1 elsewhere
    leaf: Ints  # (leaves, q) fixed point
    rank: Ints  # order of the splits by column and threshold

    @cached_property
    def masks(self) -> tuple[Any, ...] | None:
        """Arrays of `_jit.masked`; None for trees of more than 64 leaves, or tables that leave the cache."""
        return _masks(self)

    @property
    def nodes(self) -> tuple[Any, ...]:
        """The node arrays, in the kernels' order."""
        return self.feature, self.threshold, self.left, self.row

    @property
    def space(self) -> tuple[Any, ...]:
        """The part that builds the space of splits, in the kernels' order."""
        return (
            self.numeric_feature,
            self.numeric_missing,
            self.level_feature,
            self.level_count,
            self.level_columns,
            self.level_offset,
            self.level_start,
            self.level_table,
            self.width,
        )


class ForestFast(Fast):
    """A tree ensemble in raw units."""

    kind = "forest"

    def __init__(self, encoder: Encoder, trees: EncodedTrees) -> None:
        self.schema, self.link = encoder.schema, trees.link
        self.base, self.divisor = trees.base, trees.divisor
        self.flat = _flatten(encoder, trees)
        total = 0.0
        leaf = self.flat.leaf >= 0
        tree_of = np.cumsum(np.isin(np.arange(len(leaf)), self.flat.roots)) - 1
        largest = np.zeros(len(self.flat.roots))
        np.maximum.at(largest, tree_of[leaf], np.abs(self.flat.value[self.flat.leaf[leaf]]).max(axis=1))
        total = float(largest.sum())
        self.bits = int(np.floor(60 - np.log2(total))) if total > 0 else 0
        self.plan = self._plan()

    def _plan(self) -> Plan:
        flat, schema = self.flat, self.schema
        inner = flat.feature >= 0
        numeric = inner & (flat.level_set < 0)
        side = flat.missing_left & np.append(schema.missing, False)[flat.feature]  # never asked for elsewhere
        pairs = np.unique(np.stack([flat.feature[numeric], side[numeric]], axis=1), axis=0).reshape(-1, 2)
        column = np.full(len(flat.feature), -1, np.int64)
        for k, (j, left) in enumerate(pairs):
            column[numeric & (flat.feature == j) & (side == bool(left))] = k
        width = len(pairs)
        owner = [int(j) for j in pairs[:, 0]]
        features, count, columns, offset, start, tables = [], [], [], [], [], []
        at = 0
        level = inner & (flat.level_set >= 0)
        for j in np.unique(flat.feature[level]):
            sets = np.unique(flat.level_set[level & (flat.feature == j)])
            levels = int(schema.n_levels[j])
            features.append(int(j))
            count.append(levels)
            columns.append(len(sets))
            offset.append(at)
            start.append(width)
            tables.append((~flat.left_levels[sets, : levels + 1]).T.astype(np.float64).ravel())
            at += tables[-1].size
            where = np.zeros(len(flat.left_levels), np.int64)
            where[sets] = width + np.arange(len(sets))
            chosen = level & (flat.feature == j)
            column[chosen] = where[flat.level_set[chosen]]
            owner += [int(j)] * len(sets)
            width += len(sets)
        # a split that all finite values pass on the left still sends a missing value, +inf here, right
        finite = np.minimum(flat.threshold, np.finfo(np.float64).max)
        threshold = np.where(level, 0.5, np.where(inner, finite, np.inf))
        rank = np.empty(len(inner), np.int64)
        rank[np.lexsort((threshold, column))] = np.arange(len(inner))
        return Plan(
            np.asarray(pairs[:, 0], np.int64),
            np.where(pairs[:, 1] > 0, -np.inf, np.inf),
            np.array(features, np.int64),
            np.array(count, np.int64),
            np.array(columns, np.int64),
            np.array(offset, np.int64),
            np.array(start, np.int64),
            np.concatenate(tables) if tables else np.zeros(1),
            width,
            np.array(owner, np.int64),
            flat.roots,
            _depths(flat),
            np.maximum(column, 0).astype(np.int32),
            threshold,
            np.where(inner, flat.left, np.arange(len(inner))).astype(np.int32),
            flat.leaf.astype(np.int32),
            np.rint(np.ldexp(flat.value, self.bits)).astype(np.int64),
            rank,
        )

    def finish(self, sums: Ints) -> Floats:
        """Fixed-point leaf sums (m, q) -> outputs (m, c)."""
        margin = self.base + np.ldexp(sums.astype(np.float64), -self.bits) / self.divisor
        return apply_link(margin, self.link)

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        return self.finish(kernels.forest(x, self.plan))

    def specialise(self, x: Floats, free: Mask, default: Scorer) -> Scorer:
        """Resolve the splits on frozen features for each person; needs numba and large trees, else the default."""
        if kernels.jit() is None or bool(free.all()) or self.plan.masks is not None:
            return default
        return PrunedScorer(default, self, x, free)

    def forest(self) -> FlatForest:
        """See Model.forest."""
        return self.flat

    def thresholds(self) -> list[Floats]:
        """See Model.thresholds."""
        flat = self.flat
        numeric = (flat.feature >= 0) & (flat.level_set < 0) & np.isfinite(flat.threshold)
        return [np.unique(flat.threshold[numeric & (flat.feature == j)]) for j in range(self.schema.d)]

    def bounds(self, low: Floats, high: Floats, levels: Mapping[int, Mask]) -> tuple[Floats, Floats]:
        """Per tree the least and the greatest reachable leaf; exact for one tree. See Model.margin_bounds."""
        plan, n = self.plan, len(low)
        a, b = np.empty((n, max(plan.width, 1))), np.empty((n, max(plan.width, 1)))
        for k, j in enumerate(plan.numeric_feature):
            gone = np.isnan(low[:, j])
            a[:, k] = np.where(gone, plan.numeric_missing[k], low[:, j])
            b[:, k] = np.where(gone, plan.numeric_missing[k], high[:, j])
        for i, j in enumerate(plan.level_feature):
            count, columns, start = plan.level_count[i], plan.level_columns[i], plan.level_start[i]
            table = plan.level_table[plan.level_offset[i] :][: (count + 1) * columns].reshape(
                count + 1, columns
            )
            index = np.arange(count)
            with np.errstate(invalid="ignore"):
                allowed = levels.get(int(j), (index >= low[:, j, None]) & (index <= high[:, j, None]))
            gone = np.isnan(low[:, j]) | ~allowed.any(axis=1)
            least = np.where(allowed[:, :, None], table[:-1], np.inf).min(axis=1)
            most = np.where(allowed[:, :, None], table[:-1], -np.inf).max(axis=1)
            a[:, start : start + columns] = np.where(gone[:, None], table[-1], least)
            b[:, start : start + columns] = np.where(gone[:, None], table[-1], most)
        smallest, largest = (
            np.zeros((n, plan.leaf.shape[1]), np.int64),
            np.zeros((n, plan.leaf.shape[1]), np.int64),
        )
        fast = kernels.jit()
        reach: Any = fast.reach if fast is not None else _reach
        reach(a, b, plan.roots, *plan.nodes, plan.leaf, smallest, largest)
        scale = np.ldexp(1.0, -self.bits) / self.divisor
        low_margin, high_margin = self.base + smallest * scale, self.base + largest * scale
        slack = 1e-12 * (1.0 + np.maximum(np.abs(low_margin), np.abs(high_margin)))
        return link_bounds(low_margin - slack, high_margin + slack, self.link)


def _reach(
    low: Floats,
    high: Floats,
    roots: Ints,
    feature: Any,
    threshold: Floats,
    left: Any,
    row: Any,
    leaf: Ints,
    smallest: Ints,
    largest: Ints,
) -> None:
    """NumPy twin of the kernel: all people at once, one node after another, children before parents."""
    n, q = len(low), leaf.shape[1]
    ends = np.append(roots[1:], len(feature))
    for root, end in zip(roots, ends, strict=True):
        least = np.empty((end - root, n, q), np.int64)
        most = np.empty_like(least)
        depth_first = _topological(root, row, left)
        for node in reversed(depth_first):
            at = node - root
            if row[node] >= 0:
                least[at] = most[at] = leaf[row[node]]
                continue
            f, c = feature[node], left[node] - root
            goes = (low[:, f] <= threshold[node])[:, None]
            other = (high[:, f] > threshold[node])[:, None]
            least[at] = np.where(
                goes & other, np.minimum(least[c], least[c + 1]), np.where(goes, least[c], least[c + 1])
            )
            most[at] = np.where(
                goes & other, np.maximum(most[c], most[c + 1]), np.where(goes, most[c], most[c + 1])
            )
        smallest += least[0]
        largest += most[0]


def _depths(flat: FlatForest) -> Ints:
    """Depth of each tree."""
    depth = np.zeros(len(flat.roots), np.int64)
    node, tree = flat.roots, np.arange(len(flat.roots))
    level = 0
    while True:
        inner = flat.feature[node] >= 0
        if not inner.any():
            return depth
        node, tree = node[inner], tree[inner]
        level += 1
        depth[tree] = level
        node, tree = np.concatenate([flat.left[node], flat.right[node]]), np.concatenate([tree, tree])


def _topological(root: int, row: Any, left: Any) -> list[int]:
    order, stack = [], [int(root)]
    while stack:
        node = stack.pop()
        order.append(node)
        if row[node] < 0:
            stack += [int(left[node]), int(left[node]) + 1]
    return order


def _flatten(encoder: Encoder, trees: EncodedTrees) -> FlatForest:
    """Move every split to raw units and put siblings next to each other."""
    schema = encoder.schema
    n = len(trees.column)
    inner = trees.left >= 0
    feature = np.full(n, -1, np.int64)
    threshold, level_set = np.full(n, np.nan), np.full(n, -1, np.int64)
    missing_left, swap = np.zeros(n, bool), np.zeros(n, bool)
    widest = int(schema.n_levels.max(initial=0)) + 1
    masks: dict[bytes, int] = {}
    rows: list[Mask] = []

    def mask_row(mask: Mask) -> int:
        full = np.zeros(widest, bool)
        full[: len(mask)] = mask
        key = full.tobytes()
        if key not in masks:
            masks[key] = len(rows)
            rows.append(full)
        return masks[key]

    split = np.flatnonzero(inner)
    if trees.column[split].max(initial=-1) >= encoder.width:
        raise NotColumnwise("the trees split on more columns than the preprocessing gives")
    numeric = [i for i in split if encoder.columns[trees.column[i]].table is None]
    if numeric:
        at = np.array(numeric)
        columns = [encoder.columns[e] for e in trees.column[at]]
        raw, rising = raw_thresholds(columns, trees.threshold[at], trees.single, trees.strict)
        feature[at] = [c.feature for c in columns]
        filled = np.array([c.missing for c in columns])
        left = np.where(
            np.isnan(filled),
            trees.missing_left[at],
            goes_left(filled, trees.threshold[at], trees.single, trees.strict),
        )
        threshold[at], swap[at] = raw, ~rising
        missing_left[at] = left == rising
    known: dict[tuple[int, float, bool], tuple[int, int]] = {}
    for i in split:
        e = int(trees.column[i])
        column = encoder.columns[e]
        if column.table is None:
            continue
        key = (e, float(trees.threshold[i]), bool(trees.missing_left[i]))
        if key not in known:
            value = column.table
            goes = np.where(
                np.isnan(value),
                trees.missing_left[i],
                goes_left(value, np.full(len(value), trees.threshold[i]), trees.single, trees.strict),
            )
            if column.feature < 0:  # always the same way: hang it on a feature and ignore that
                known[key] = (0, -2 if goes[0] else -3)
            else:
                known[key] = (column.feature, mask_row(goes.astype(bool)))
        feature[i], level_set[i] = known[key]
        if level_set[i] < -1:
            swap[i] = level_set[i] == -3
            if schema.has_levels[0]:
                level_set[i] = mask_row(np.ones(int(schema.n_levels[0]) + 1, bool))
            else:
                level_set[i], threshold[i], missing_left[i] = -1, np.inf, True
    left_child = np.where(swap, trees.right, trees.left)
    right_child = np.where(swap, trees.left, trees.right)
    # children of the k-th inner node of a tree go to places 1 + 2k and 2 + 2k after its root
    ends = np.append(trees.roots[1:], n)
    place = np.empty(n, np.int64)
    for root, end in zip(trees.roots, ends, strict=True):
        place[root] = root
        own = np.arange(root, end)[inner[root:end]]
        spots = root + 1 + 2 * np.arange(len(own))
        place[left_child[own]] = spots
        place[right_child[own]] = spots + 1
    back = np.empty(n, np.int64)
    back[place] = np.arange(n)

    def moved(values: npt.NDArray[Any]) -> Any:
        return values[back]

    leaf = np.full(n, -1, np.int64)
    leaf[~inner] = np.arange(int((~inner).sum()))
    link: Literal["identity", "logistic", "softmax"] = (
        trees.link if trees.link in ("logistic", "softmax") else "identity"
    )
    return FlatForest(
        moved(feature),
        moved(threshold),
        moved(np.where(inner, place[np.maximum(left_child, 0)], -1)),
        moved(np.where(inner, place[np.maximum(right_child, 0)], -1)),
        moved(missing_left),
        moved(level_set),
        np.array(rows, bool).reshape(len(rows), widest),
        moved(leaf),
        trees.value[~inner],
        trees.roots,
        trees.base,
        1.0 / trees.divisor,
        link,
    )


class PrunedScorer(Scorer):
    """Forests of people whose frozen splits are resolved: fewer nodes, the same fixed-point sums.

    Forests are pruned in blocks of people once enough rows were asked for. Before that, where little can be
    resolved, and when the room is used up, rows go through the whole forest: the same numbers, bit for bit.
    """

    def __init__(self, default: Scorer, fast: ForestFast, x: Floats, free: Mask) -> None:
        super().__init__(default.model)
        self.fast = fast
        self.x = np.ascontiguousarray(x, dtype=np.float64)
        self.free = np.ascontiguousarray(free, dtype=np.bool_)
        self._blocks: dict[int, tuple[Any, ...] | None] = {}
        self._asked: dict[int, int] = {}
        self._bytes = 0

    def outputs(self, who: npt.NDArray[np.integer[Any]], rows: Floats) -> Floats:
        """who (m,), rows (m, d) -> (m, c): the same numbers as the model's outputs."""
        rows = self.model._rows(rows)
        self.model.counter.rows += len(rows)
        self.model.counter.calls += 1
        people: Ints = np.asarray(who, np.int64)
        if kernels.jit() is None:  # switched off since
            return self.fast.outputs(rows)
        if (
            len(people) > 1 and (people[1:] < people[:-1]).any()
        ):  # one person after another: their nodes stay in the cache
            order = np.argsort(people, kind="stable")
            sums = np.empty((len(rows), self.fast.plan.leaf.shape[1]), np.int64)
            sums[order] = self._sums(people[order], rows[order])
        else:
            sums = self._sums(people, rows)
        return self.fast.finish(sums)

    def _sums(self, who: Ints, rows: Floats) -> Ints:
        jit, plan = kernels._compiled(), self.fast.plan
        sums = np.empty((len(rows), plan.leaf.shape[1]), np.int64)
        if not len(rows):
            return sums
        first, last = int(who[0]) // _BLOCK, int(who[-1]) // _BLOCK
        edges = np.searchsorted(who, np.arange(first, last + 2) * _BLOCK)
        for block, start, end in zip(range(first, last + 1), edges[:-1], edges[1:], strict=True):
            if start == end:
                continue
            part = slice(int(start), int(end))
            data = self._block(block, int(end - start))
            if data is None:
                sums[part] = kernels.forest(rows[part], plan)
            else:
                jit.pruned(
                    who[part] - block * _BLOCK,
                    rows[part],
                    *plan.space,
                    *data,
                    plan.leaf,
                    kernels.BITS,
                    sums[part],
                )
        return sums

    def _block(self, block: int, rows: int) -> tuple[Any, ...] | None:
        """The resolved forests of a block; None while, or where, the whole forest is as good."""
        if block in self._blocks:
            return self._blocks[block]
        if self._bytes > _PRUNED_BYTES:
            self._blocks[block] = None
            return None
        x, free = self.x[block * _BLOCK :][:_BLOCK], self.free[block * _BLOCK :][:_BLOCK]
        self._asked[block] = self._asked.get(block, 0) + rows
        if self._asked[block] < _WORTH_ROWS * len(x):
            return None
        data = None
        some = slice(None, None, max(1, len(x) // 8))
        if _relative_cost(self.fast.plan, _reachable_leaves(self.fast.plan, x[some], free[some])) < _WORTH:
            data = _prune(self.fast.plan, x, free)
            self._bytes += sum(a.nbytes for a in data)
        self._blocks[block] = data
        return data


def _reachable_leaves(plan: Plan, x: Floats, free: Mask) -> npt.NDArray[np.int32]:
    """(n, trees) leaves that rows of each person can reach."""
    leaves = np.empty((len(x), len(plan.roots)), np.int32)
    kernels._compiled().prune_count(x, free, plan.owner, *plan.space, plan.roots, *plan.nodes, leaves)
    return leaves


def _masks(plan: Plan) -> tuple[Any, ...] | None:
    """What `_jit.masked` reads: thresholds and where each number's start, where each level feature's rows start, the
    leaves that stay (values, trees), the first leaf of each tree, and the leaves from left to right."""
    inner, trees = plan.row < 0, len(plan.roots)
    leaves = np.add.reduceat((~inner).astype(np.int64), plan.roots) if trees else np.zeros(0, np.int64)
    most = int(leaves.max(initial=0))
    kind = np.uint16 if most <= 16 else np.uint32 if most <= 32 else np.uint64
    levels = plan.level_count + 1
    if (
        most > 64
        or (inner.sum() + len(plan.owner) + levels.sum()) * trees * np.dtype(kind).itemsize > _MASK_BYTES
    ):
        return None
    gone_left = np.zeros(len(plan.row), np.uint64)  # the leaves left of an inner node
    order: list[int] = []
    left, row = plan.left.tolist(), plan.row.tolist()
    for root in plan.roots.tolist():
        count, stack = 0, [(root, -1, 0)]
        while stack:
            node, parent, before = stack.pop()
            if parent >= 0:  # a right child: the leaves since its parent are the parent's left ones
                gone_left[parent] = (1 << count) - (1 << before)
            if row[node] >= 0:
                order.append(row[node])
                count += 1
                continue
            stack += [(left[node] + 1, node, count), (left[node], -1, 0)]
    tree = np.repeat(np.arange(trees), np.diff(np.append(plan.roots, len(plan.row))))
    edges, gone = [np.empty(0)], []
    for c in range(len(plan.owner)):
        at = np.flatnonzero(inner & (plan.feature == c))
        edge = np.unique(plan.threshold[at])
        out = np.zeros((len(edge) + 1, trees), np.uint64)
        np.bitwise_or.at(out, (np.searchsorted(edge, plan.threshold[at]) + 1, tree[at]), gone_left[at])
        edges.append(edge)
        gone.append(np.bitwise_or.accumulate(out, axis=0))
    numbers = len(plan.numeric_feature)
    tables = [np.zeros((1, trees), np.uint64), *gone[:numbers]]
    for i, count in enumerate(levels):  # a level is on one side of each of its feature's sets
        first, wide = int(plan.level_start[i]), int(plan.level_columns[i])
        side = plan.level_table[plan.level_offset[i] :][: count * wide].reshape(count, wide) > 0.5
        rows = [np.where(side[:, [c]], gone[first + c][1], gone[first + c][0]) for c in range(wide)]
        tables.append(np.bitwise_or.reduce(rows, axis=0))
    start = np.cumsum([len(edge) for edge in edges[: numbers + 1]])
    ends = np.cumsum([len(table) for table in tables])[numbers:]
    return (
        plan.numeric_feature, plan.numeric_missing, np.concatenate(edges[: numbers + 1]), start, plan.level_feature,
        plan.level_count, ends[: len(levels)], (~np.concatenate(tables)).astype(kind), np.cumsum(leaves) - leaves,
        plan.leaf[np.array(order, np.int64)],
    )  # fmt: skip


def _relative_cost(plan: Plan, leaves: npt.NDArray[np.int32]) -> float:
    """Expected time of a row in the resolved forests, as a share of that in the whole one.

    In units of one step down a tree; the constants are measured: half a step a leaf of a small tree, two steps to
    begin and end any tree, and depths that grow as 1.6 log2 of the leaves.
    """
    whole = plan.depth + 2.0
    walked = np.minimum(plan.depth, 1.6 * np.log2(np.maximum(leaves, 2)) + 1.0) + 2.0
    part = np.where(leaves <= 1, 0.0, np.where(leaves <= _FEW, 0.5 * leaves + 1.5, walked))
    return float(part.mean(axis=0).sum() / whole.sum())


def _prune(plan: Plan, x: Floats, free: Mask) -> tuple[Any, ...]:
    """The arrays of `_jit.pruned` for a block of people."""
    jit, n = kernels._compiled(), len(x)
    leaves = _reachable_leaves(plan, x, free)
    small, big = (leaves > 1) & (leaves <= _FEW), leaves > _FEW

    def starts(counts: npt.NDArray[Any]) -> Ints:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    small_start, big_start = starts(small.sum(axis=1)), starts(big.sum(axis=1))
    leaf_start = starts(np.where(small, leaves, 0).sum(axis=1))
    entry_start = starts(np.where(small, leaves - 1, 0).sum(axis=1))
    node_start = starts(np.where(big, 2 * leaves - 1, 0).sum(axis=1))
    group_start = np.zeros(n + 1, np.int64)
    base = np.zeros((n, plan.leaf.shape[1]), np.int64)
    entries, groups, nodes = int(entry_start[-1]), n * max(plan.width, 1), int(node_start[-1])
    entry_groups = min(entries, groups)
    made = (
        np.empty(int(small_start[-1]), np.int32),
        np.empty(int(leaf_start[-1]), np.int32),
        np.empty(entries),
        np.empty(entries, np.uint64),
        np.empty(entries, np.int32),
        np.empty(entry_groups, np.int32),
        np.empty(entry_groups, np.int32),
        np.empty(int(big_start[-1]), np.int32),
        np.empty(int(big_start[-1]), np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
    )
    places = (small_start, leaf_start, entry_start, group_start, big_start, node_start)
    forest = (plan.roots, *plan.nodes, plan.rank, plan.leaf)
    jit.prune(x, free, plan.owner, *plan.space, *forest, _FEW, leaves, base, *places, *made)
    return base, small_start, entry_start, group_start, big_start, *made
