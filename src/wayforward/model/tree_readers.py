"""Tree ensembles as each library stores them: scikit-learn's, XGBoost's and LightGBM's in one form.

Each library compares in its own precision: scikit-learn rounds the value to float32 and goes left when it is
<= a float64 threshold; XGBoost compares float32 with <; LightGBM and HistGradientBoosting compare float64
with <=.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wayforward.model.encoder import NotRead
from wayforward.model.forms import Link
from wayforward.shapes import Floats, Ints, Mask


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


def read_trees(model: Any) -> EncodedTrees:
    """Read a fitted tree ensemble, or a booster alone. Raises: NotRead that says what it is instead."""
    library = type(model).__module__.split(".")[0]
    if library == "xgboost":
        return _xgboost(model.get_booster() if hasattr(model, "get_booster") else model)
    if library == "lightgbm":
        return _lightgbm(getattr(model, "booster_", model))
    reader = _SKLEARN.get(type(model).__name__) if library == "sklearn" else None
    if reader is None:
        raise NotRead(f"{type(model).__name__} is no tree ensemble that is read")
    return reader(model)


@dataclass
class _Nodes:
    """The nodes of one tree; children are positions in the tree, negative at a leaf; output: the column that value
    (N,) adds to, None for value (N, q)."""

    column: Any
    threshold: Any
    left: Any
    right: Any
    missing_left: Any
    value: Any
    output: int | None = None

    def arrays(self, q: int, start: int) -> tuple[np.ndarray, ...]:
        """Columns, thresholds, children counted from `start`, missing values and (N, q) values of reachable nodes."""
        left, right = np.asarray(self.left, np.int64), np.asarray(self.right, np.int64)
        value = np.asarray(self.value, np.float64)
        if self.output is not None:
            filled = np.zeros((len(left), q))
            filled[:, self.output] = value
            value = filled
        order = _reachable(left, right)  # a library may keep nodes that it cut off
        new = np.full(len(left) + 1, -1, np.int64)
        new[order] = np.arange(len(order))
        leaf = left[order] < 0
        return (
            np.where(leaf, -1, np.asarray(self.column)[order]).astype(np.int64),
            np.asarray(self.threshold, np.float64)[order],
            np.where(leaf, -1, new[left[order]] + start),
            np.where(leaf, -1, new[right[order]] + start),
            np.asarray(self.missing_left, bool)[order],
            value[order],
        )


def _encoded(
    trees: Iterable[_Nodes], base: Any, link: Link, divisor: float = 1.0, **kind: Any
) -> EncodedTrees:
    """All trees in one row of nodes; base (q,)."""
    base = np.atleast_1d(np.asarray(base, np.float64))
    parts: list[tuple[np.ndarray, ...]] = []
    roots: list[int] = []
    size = 0
    for tree in trees:
        roots.append(size)
        parts.append(tree.arrays(len(base), size))
        size += len(parts[-1][0])
    if not parts:
        raise NotRead("no trees")
    column, threshold, left, right, missing, value = map(np.concatenate, zip(*parts, strict=True))
    return EncodedTrees(
        column, threshold, left, right, missing, value, np.array(roots, np.int64), base, divisor, link, **kind
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


# -- scikit-learn ------------------------------------------------------------------------------------------


def _sklearn_nodes(tree: Any, value: Any, output: int | None = None) -> _Nodes:
    t = tree.tree_
    gone = getattr(t, "missing_go_to_left", None)
    gone = np.zeros(t.node_count, bool) if gone is None else gone
    return _Nodes(t.feature, t.threshold, t.children_left, t.children_right, gone, value, output)


def _averaged(estimator: Any) -> EncodedTrees:
    """A decision tree, or a forest whose trees are averaged."""
    trees, classifier = getattr(estimator, "estimators_", [estimator]), hasattr(estimator, "classes_")
    nodes = []
    for tree in trees:
        if tree.tree_.n_outputs != 1:
            raise NotRead("several outputs")
        value = tree.tree_.value[:, 0, :]
        if classifier:
            value = value / value.sum(axis=1, keepdims=True)
            value = value[:, 1:] if value.shape[1] == 2 else value
        nodes.append(_sklearn_nodes(tree, value))
    base = np.zeros(nodes[0].value.shape[1])
    return _encoded(nodes, base, "probability" if classifier else "identity", float(len(trees)), single=True)


def _gradient_boosting(estimator: Any) -> EncodedTrees:
    init = estimator._raw_predict_init(np.zeros((2, estimator.n_features_in_), np.float32))
    if not (estimator.init_ == "zero" or type(estimator.init_).__name__.startswith("Dummy")):
        raise NotRead("boosting starts from another estimator")
    stages = estimator.estimators_
    link = _boosted_link(estimator, stages.shape[1])
    if link == "logistic" and type(estimator._loss).__name__ == "ExponentialLoss":
        raise NotRead("an exponential loss")
    nodes = (
        _sklearn_nodes(tree, tree.tree_.value[:, 0, 0] * estimator.learning_rate, k)
        for stage in stages
        for k, tree in enumerate(stage)
    )
    return _encoded(nodes, init[0], link, single=True)


def _boosted_link(estimator: Any, q: int) -> Link:
    if not hasattr(estimator, "classes_"):
        return "identity"
    return "logistic" if q == 1 else "softmax"


def _histogram(estimator: Any) -> EncodedTrees:
    if getattr(estimator, "is_categorical_", None) is not None and np.any(estimator.is_categorical_):
        raise NotRead("categorical splits")
    link = _boosted_link(estimator, estimator.n_trees_per_iteration_)
    losses = ("squared_error", "absolute_error", "quantile")
    if link == "identity" and getattr(estimator, "loss", "squared_error") not in losses:
        raise NotRead("a log link")
    nodes = (
        _Nodes(
            n["feature_idx"],
            n["num_threshold"],
            np.where(n["is_leaf"], -1, n["left"].astype(np.int64)),
            np.where(n["is_leaf"], -1, n["right"].astype(np.int64)),
            n["missing_go_to_left"],
            n["value"],
            k,
        )
        for stage in estimator._predictors
        for k, n in enumerate(predictor.nodes for predictor in stage)
    )
    return _encoded(nodes, np.ravel(estimator._baseline_prediction), link)


_SKLEARN: dict[str, Callable[[Any], EncodedTrees]] = {
    f"{name}{task}": reader
    for task in ("Classifier", "Regressor")
    for name, reader in (
        ("DecisionTree", _averaged),
        ("ExtraTree", _averaged),
        ("RandomForest", _averaged),
        ("ExtraTrees", _averaged),
        ("GradientBoosting", _gradient_boosting),
        ("HistGradientBoosting", _histogram),
    )
}


# -- XGBoost -----------------------------------------------------------------------------------------------

_XGBOOST_LINKS: dict[str, Link] = {
    "binary:logistic": "logistic",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
    "reg:squarederror": "identity",
    "reg:absoluteerror": "identity",
    "reg:pseudohubererror": "identity",
}


def _xgboost(booster: Any) -> EncodedTrees:
    """A booster from its own JSON."""
    model = json.loads(booster.save_raw(raw_format="json"))["learner"]
    name, objective = model["gradient_booster"]["name"], model["objective"]["name"]
    if name != "gbtree":
        raise NotRead(f"booster {name}")
    if objective not in _XGBOOST_LINKS:
        raise NotRead(f"objective {objective}")
    settings, inner = model["learner_model_param"], model["gradient_booster"]["model"]
    q = max(int(settings["num_class"]), 1)
    if int(settings.get("num_target", "1")) > 1:
        raise NotRead("several targets")
    text = settings["base_score"]
    score = np.atleast_1d(
        np.asarray(ast.literal_eval(text) if text.startswith("[") else float(text), np.float64)
    )
    if objective == "binary:logistic":
        score = np.log(score / (1.0 - score))
    trees, best = inner["trees"], booster.attributes().get("best_iteration")
    if best is not None:
        trees = trees[: (int(best) + 1) * q * int(inner["gbtree_model_param"].get("num_parallel_tree", "1"))]
    nodes = []
    for tree, output in zip(trees, inner["tree_info"], strict=False):
        if any(tree.get("split_type", [])) or tree.get("categories"):
            raise NotRead("categorical splits")
        left = np.asarray(tree["left_children"], np.int64)
        condition = np.asarray(tree["split_conditions"], np.float32).astype(np.float64)
        value = np.where(left < 0, condition, 0.0)
        nodes.append(
            _Nodes(
                tree["split_indices"],
                condition,
                left,
                tree["right_children"],
                tree["default_left"],
                value,
                output,
            )
        )
    base = np.broadcast_to(score, (q,)).astype(np.float64)
    return _encoded(nodes, base, _XGBOOST_LINKS[objective], single=True, strict=True)


# -- LightGBM ----------------------------------------------------------------------------------------------

_LIGHTGBM_VALUES = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "l2", "l1")


def _lightgbm(booster: Any) -> EncodedTrees:
    """A booster from its own dump."""
    best = booster.best_iteration
    dump = booster.dump_model(num_iteration=best if best and best > 0 else None)
    link = _lightgbm_link(str(dump.get("objective", "")).split(" "))
    q, trees = int(dump["num_tree_per_iteration"]), dump["tree_info"]
    divisor = len(trees) / q if dump.get("average_output") else 1.0
    nodes = (_lightgbm_nodes(tree["tree_structure"], i % q) for i, tree in enumerate(trees))
    return _encoded(nodes, np.zeros(q), link, divisor)


def _lightgbm_link(objective: list[str]) -> Link:
    if objective[0] == "binary":
        if any(o.startswith("sigmoid:") and float(o.split(":")[1]) != 1.0 for o in objective):
            raise NotRead("a sigmoid other than 1")
        return "logistic"
    if objective[0] in ("multiclass", "softmax"):
        return "softmax"
    if objective[0] in _LIGHTGBM_VALUES and "sqrt" not in objective:
        return "identity"
    raise NotRead(f"objective {' '.join(objective)}")


def _lightgbm_nodes(structure: dict[str, Any], output: int) -> _Nodes:
    """One tree, parents before children and left before right."""
    nodes: list[dict[str, Any]] = []
    left: list[int] = []
    right: list[int] = []
    stack: list[tuple[dict[str, Any], list[int], int]] = [(structure, [-1], 0)]
    while stack:
        node, side, parent = stack.pop()
        side[parent] = at = len(nodes)
        nodes.append(node)
        left.append(-1)
        right.append(-1)
        if "split_feature" in node:
            if node["decision_type"] != "<=":
                raise NotRead("categorical splits")
            if node["missing_type"] == "Zero":
                raise NotRead("zero as missing")
            stack += [(node["right_child"], right, at), (node["left_child"], left, at)]
    threshold = np.array([float(n.get("threshold", 0.0)) for n in nodes])
    # without missing values in training LightGBM reads NaN as 0
    missing = [
        bool(n["default_left"]) if n.get("missing_type") == "NaN" else t >= 0.0
        for n, t in zip(nodes, threshold, strict=True)
    ]
    value = [n["leaf_value"] if a < 0 else 0.0 for n, a in zip(nodes, left, strict=True)]
    return _Nodes([n.get("split_feature", 0) for n in nodes], threshold, left, right, missing, value, output)
