"""Models of files whose structure native code follows unseen: looked through before it does.

A child or a column out of range makes a library read or write memory that is not its own, and a cycle never ends. Each
check raises ValueError that says what is wrong; `model.files` says of which file.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from wayforward.model.ubjson import read_ubjson
from wayforward.plain_files import unique
from wayforward.shapes import Ints

_MOST_COLUMNS, _MOST_OUTPUTS = 1_000_000, 100_000
_KINDS_OF_NODES: dict[Any, Any] = {}  # dtypes, each under itself


def check_tree(left: Any, right: Any, column: Any, width: int) -> Ints:
    """Check that children (N,), -1 at leaves, make a tree below node 0 and its splits have columns; return its nodes.

    Nodes that the root does not lead to may hold anything. Raises: ValueError.
    """
    left, right, column = (_whole(values) for values in (left, right, column))
    n = len(left)
    if n == 0 or len(right) != n or len(column) != n:
        raise ValueError("a tree has lists of unlike lengths")
    seen = np.zeros(n, dtype=bool)
    level = np.zeros(1, dtype=np.int64)
    while level.size:
        if seen[level].any() or len(np.unique(level)) < len(level):
            raise ValueError("a tree leads back to a node that it came from")
        seen[level] = True
        inner = level[left[level] != -1]
        level = np.concatenate([left[inner], right[inner]])
        if level.size and not (level.min() > 0 and level.max() < n):
            raise ValueError(f"a tree of {n} nodes leads to a node that is not there")
        if inner.size and not (column[inner].min() >= 0 and column[inner].max() < width):
            raise ValueError(f"a tree asks for a column that is not among its {width}")
    return np.flatnonzero(seen)


def _whole(values: Any) -> Ints:
    found = np.asarray(values)
    if found.ndim != 1 or (
        found.dtype.kind not in "iu" and not (found.size == 0 or (found == np.round(found)).all())
    ):
        raise ValueError("a tree has a list that is none of whole numbers")
    return found.astype(np.int64)


# -- XGBoost -------------------------------------------------------------------------------------------------------


def check_xgboost(content: bytes) -> bytes:
    """Check a model as JSON or UBJSON; return it in a form that is read alike here and there. Raises: ValueError."""
    if content[:1] != b"{":
        raise ValueError("it is neither JSON nor UBJSON")
    if content[1:2].isalpha():
        model = read_ubjson(content)
    else:
        model = json.loads(content.decode("utf-8"), object_pairs_hook=unique)
        content = content if content[1:2] == b'"' else json.dumps(model).encode()
    try:
        inner = model.get("Model", model)  # one that goes with its settings, as in another file
        if "learner" not in inner:
            raise ValueError("it is no file of XGBoost")
        _check_learner(inner["learner"])
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__} {error}: it is not as XGBoost writes it") from None
    return content


def _check_learner(learner: Mapping[str, Any]) -> None:
    about, booster = learner["learner_model_param"], learner["gradient_booster"]
    width = _between(about["num_feature"], 1, _MOST_COLUMNS, "columns")
    classes = _between(about["num_class"], 0, _MOST_OUTPUTS, "classes")
    outputs = max(classes, _between(about.get("num_target", "1"), 0, _MOST_OUTPUTS, "targets"), 1)
    if booster["name"] == "gblinear":
        if len(booster["model"]["weights"]) != (width + 1) * outputs:
            raise ValueError("its weights are not as many as its columns")
        return
    inner = (booster["gbtree"] if booster["name"] == "dart" else booster)["model"]
    trees, about = inner["trees"], inner["gbtree_model_param"]
    count = _between(about["num_trees"], 0, 1 << 24, "trees")
    _between(about.get("num_parallel_tree", "1"), 0, 1 << 24, "parallel trees")
    if len(trees) != count or len(inner["tree_info"]) != count:
        raise ValueError("its trees are not as many as it says")
    if booster["name"] == "dart" and len(booster["weight_drop"]) != count:
        raise ValueError("its weights are not as many as its trees")
    starts = _whole(inner.get("iteration_indptr", [0, count]))
    if starts.size and (starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any()):
        raise ValueError("its rounds are not as many as its trees")
    if count and not ((info := _whole(inner["tree_info"])).min() >= 0 and info.max() < outputs):
        raise ValueError("a tree adds to an output that is not there")
    for number, tree in enumerate(trees):
        if int(tree["id"]) != number:
            raise ValueError("its trees are not in their order")
        _check_xgboost_tree(tree, width)


def _check_xgboost_tree(tree: Mapping[str, Any], width: int) -> None:
    about, left = tree["tree_param"], _whole(tree["left_children"])
    n = len(left)
    if int(about["num_nodes"]) != n or not 0 <= int(about["num_feature"]) <= _MOST_COLUMNS:
        raise ValueError("a tree has not as many nodes as it says")
    if int(about.get("size_leaf_vector", "1")) not in (0, 1):
        raise ValueError("its leaves have several outputs each, which is not read")
    there = check_tree(left, tree["right_children"], tree["split_indices"], width)
    for name in (
        "parents",
        "split_conditions",
        "default_left",
        "base_weights",
        "loss_changes",
        "sum_hessian",
    ):
        if len(tree[name]) != n:
            raise ValueError(f"a tree of {n} nodes has {len(tree[name])} values of {name}")
    if "split_type" in tree and len(tree["split_type"]) not in (0, n):
        raise ValueError("a tree has not one type a split")
    inner = there[left[there] != -1]
    parent, right = _whole(tree["parents"]), _whole(tree["right_children"])
    if (parent[left[inner]] != inner).any() or (parent[right[inner]] != inner).any() or 0 <= parent[0] < n:
        raise ValueError("a node is not the child of its parent")
    nodes, starts, sizes = (
        _whole(tree.get(f"categories_{part}", [])) for part in ("nodes", "segments", "sizes")
    )
    codes = _whole(tree.get("categories", []))
    if not len(nodes) == len(starts) == len(sizes):
        raise ValueError("a tree has categories of unlike lengths")
    if nodes.size and not (
        nodes.min() >= 0 and nodes.max() < n and min(starts.min(), sizes.min(), codes.min(initial=0)) >= 0
        and (starts + sizes).max() <= len(codes) and codes.max(initial=0) < 1 << 24
    ):  # fmt: skip
        raise ValueError("a tree has categories that are not there")
    split = (
        np.zeros(n, dtype=bool) if not len(tree.get("split_type", [])) else _whole(tree["split_type"]) == 1
    )
    if not np.isin(inner[split[inner]], nodes).all():
        raise ValueError("a split by categories has none")


def _between(value: Any, low: int, high: int, what: str) -> int:
    number = int(value)
    if not low <= number <= high:
        raise ValueError(f"it has {number} {what}")
    return number


# -- LightGBM ------------------------------------------------------------------------------------------------------

_OF_SPLITS = (
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child", "internal_value",
    "internal_weight", "internal_count",
)  # fmt: skip
_OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count", "leaf_const", "num_features")


def check_lightgbm(text: str) -> None:
    """Check a model as LightGBM writes it. Raises: ValueError."""
    content = text.encode()
    start, end = content.find(b"\nTree=") + 1, content.find(b"\nend of trees")
    if not content.startswith(b"tree") or end < 0 or b"\0" in content:
        raise ValueError("it is not whole")
    start = start if 0 < start <= end else end + 1
    head = _entries(content[:start].decode())
    try:
        width = _between(head["max_feature_idx"], 0, _MOST_COLUMNS, "as its last column") + 1
        outputs = _between(head["num_class"], 1, _MOST_OUTPUTS, "num_class")
        _check_outputs(head, outputs)
        for name in ("feature_names", "feature_infos"):
            if len(head[name].split()) != width:
                raise ValueError(f"its {name} are not as many as its columns")
        for info in head["feature_infos"].split():
            if not re.fullmatch(r"none|\[[^:]+:[^:]+\]|-?\d+(:-?\d+)*", info):
                raise ValueError(f"'{info:.40}' is no range of a column")
        sizes = [int(size) for size in head.get("tree_sizes", "").split()]
        _check_places(content, start, end, sizes)
        blocks = content[start:end].decode().split("\nTree=") if start < end else []
        if sizes and len(sizes) != len(blocks):
            raise ValueError("its trees are not as many as it says")
        for number, block in enumerate(blocks):
            tree = _entries(_lines(block))
            if block.removeprefix("Tree=").split("\n", 1)[0] != str(number):
                raise ValueError("its trees are not in their order")
            _check_lightgbm_tree(tree, width)
        _check_settings(content[end:].decode())
    except (KeyError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__} {error}: it is not as LightGBM writes it") from None


def _check_outputs(head: dict[str, str], outputs: int) -> None:
    """LightGBM takes room for so many outputs of a row and fills as many as two places say. Raises: ValueError."""
    counts = [("num_tree_per_iteration", head["num_tree_per_iteration"])]
    words = (word.partition(":") for word in head.get("objective", "").split())
    counts += [("num_class of its objective", value) for name, _, value in words if name == "num_class"]
    for name, value in counts:
        if int(value) != outputs:
            raise ValueError(f"it has {outputs} num_class and {int(value)} {name}")


def _check_places(content: bytes, start: int, end: int, sizes: list[int]) -> None:
    at = start
    for size in sizes:
        if size <= 0 or at > end or content[at : at + 5] != b"Tree=":
            raise ValueError("a tree is not where it says")
        at += size


def _check_settings(rest: str) -> None:
    """What was set for the training, behind the trees: LightGBM cuts each line at its colon. Raises: ValueError."""
    lines = rest.split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip() == "parameters:"), len(lines))
    for line in itertools.takewhile(lambda line: line != "end of parameters", lines[start + 1 :]):
        if line and not re.fullmatch(r"\[\w+: .*\]", line):
            raise ValueError(f"'{line:.40}' is no setting")


_MOST_LINES = 22  # of a tree, which LightGBM reads


def _lines(block: str) -> str:
    """The lines of a tree as LightGBM reads them: to the first empty one, each with a name. Raises: ValueError."""
    lines, _, rest = block.partition("\n\n")
    each = lines.removeprefix("Tree=").strip("\n").split("\n")[1:]
    if rest.strip("\n") or "\r" in block or len(each) > _MOST_LINES or not all("=" in line for line in each):
        raise ValueError("a tree has lines that belong to none")
    return "\n".join(each)


def _entries(block: str) -> dict[str, str]:
    """The lines ``name=value`` of a block. Raises: ValueError for a name that is there twice."""
    found: dict[str, str] = {}
    for line in block.split("\n"):
        name, equals, value = line.partition("=")
        if not equals:
            continue
        if name in found:
            raise ValueError(f"'{name:.40}' is there twice")
        found[name] = value
    return found


def _check_lightgbm_tree(tree: Mapping[str, str], width: int) -> None:
    leaves = _between(tree["num_leaves"], 1, 1 << 24, "leaves")
    splits = leaves - 1
    for names, count in ((_OF_SPLITS, splits), (_OF_LEAVES, leaves)):
        for name in names:
            if name in tree and len(tree[name].split()) not in ((0, count) if splits == 0 else (count,)):
                raise ValueError(f"a tree of {leaves} leaves has {len(tree[name].split())} values of {name}")
            _numbers(tree.get(name, ""))  # LightGBM ends the process where a word stands for a number
    if "leaf_value" not in tree or not tree["leaf_value"].split():
        raise ValueError("a tree has no values at its leaves")
    _numbers(tree.get("shrinkage", "1"))
    count = _between(tree["num_cat"], 0, 1 << 24, "splits by categories")
    _check_linear(tree, leaves, width)
    if not splits:
        return
    children: list[Ints] = []
    for side in ("left_child", "right_child"):
        child = _integers(tree[side])
        children.append(np.concatenate([np.where(child < 0, splits + ~child, child), np.full(leaves, -1)]))
    if len(_numbers(tree["threshold"])) != splits:
        raise ValueError("a tree has not one threshold a split")
    column = np.concatenate([_integers(tree["split_feature"]), np.zeros(leaves, dtype=np.int64)])
    if len(check_tree(children[0], children[1], column, width)) != splits + leaves:
        raise ValueError("a tree has nodes that it does not lead to")
    by_codes = _integers(tree.get("decision_type", "0 " * splits)) & 1 == 1
    if not (count or by_codes.any()):
        return
    bounds, codes = _integers(tree["cat_boundaries"]), _integers(tree["cat_threshold"])
    which = _numbers(tree["threshold"])[by_codes]
    if (
        len(bounds) != count + 1 or bounds[0] != 0 or bounds[-1] != len(codes) or (np.diff(bounds) < 0).any()
        or (which != np.round(which)).any() or which.min(initial=0) < 0 or which.max(initial=-1) >= count
    ):  # fmt: skip
        raise ValueError("a tree has categories that are not there")


def _check_linear(tree: Mapping[str, str], leaves: int, width: int) -> None:
    if int(tree.get("is_linear", "0")) == 0:
        return
    each, columns = _integers(tree["num_features"]), _integers(tree["leaf_features"])
    if (
        len(each) != leaves or each.min() < 0 or each.sum() != len(columns)
        or len(_numbers(tree["leaf_coeff"])) != len(columns) or len(_numbers(tree["leaf_const"])) != leaves
        or (columns.size and not (columns.min() >= 0 and columns.max() < width))
    ):  # fmt: skip
        raise ValueError("a leaf has a line over columns that are not there")


def _numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in _words(text)])


def _integers(text: str) -> Ints:
    return np.array([int(word) for word in _words(text)], dtype=np.int64)


def _words(text: str) -> list[str]:
    if "_" in text or not text.isascii():
        raise ValueError(f"'{text:.20}' holds what is no number")
    return text.split()


# -- scikit-learn --------------------------------------------------------------------------------------------------


def check_estimators(model: Any) -> None:
    """Check whatever compiled code reads in a loaded estimator, at any depth. Raises: ValueError."""
    for part in _parts(model):
        kind = type(part).__name__
        if hasattr(part, "tree_") and hasattr(part, "n_features_in_"):
            _check_sklearn_tree(part)
        elif hasattr(part, "_predictors") and hasattr(part, "n_features_in_"):
            for predictor in (p for stage in part._predictors for p in stage):
                _check_predictor(predictor, int(part.n_features_in_))
            if any(len(stage) != part.n_trees_per_iteration_ for stage in part._predictors):
                raise ValueError("a round has not as many trees as it says")
        elif kind in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"):
            _check_support(part)
        elif hasattr(part, "check_format") and hasattr(part, "indptr"):  # a sparse matrix
            part.check_format(full_check=True)
        if hasattr(part, "estimators_") and hasattr(part, "n_features_in_"):
            _check_ensemble(part)


def _parts(model: Any) -> Iterator[Any]:
    """The model and all that it holds, each once."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if (
            id(part) in seen
            or part is None
            or isinstance(part, (str, bytes, bool, int, float, np.generic, type))
        ):
            continue
        seen.add(id(part))
        if isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
            continue
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += part
        else:
            yield part
            waiting += getattr(part, "__dict__", {}).values()


def _check_sklearn_tree(estimator: Any) -> None:
    tree, width = estimator.tree_, int(estimator.n_features_in_)
    if tree.n_features != width or tree.value.shape[0] != tree.node_count:
        raise ValueError(f"a tree of {tree.n_features} columns is in an estimator of {width}")
    check_tree(tree.children_left, tree.children_right, tree.feature, width)


def _check_predictor(predictor: Any, width: int) -> None:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    there = check_tree(left, right, np.where(leaf, 0, nodes["feature_idx"]), width)
    by_codes = there[nodes["is_categorical"][there].astype(bool) & ~leaf[there]]
    for sets in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        if sets.ndim != 2 or sets.shape[1] != 8 or (nodes["bitset_idx"][by_codes] >= len(sets)).any():
            raise ValueError("a split has categories that are not there")
    # each array of a file has a description of its own, as large as a small tree: all share the first one's
    kind = _KINDS_OF_NODES.setdefault(nodes.dtype, nodes.dtype)
    predictor.nodes = np.empty(nodes.shape, kind)
    predictor.nodes[...] = nodes


def _check_ensemble(ensemble: Any) -> None:
    """The columns of the members, which are not looked at again when they are asked."""
    width = int(ensemble.n_features_in_)
    members = [
        part for part in np.ravel(np.array(ensemble.estimators_, dtype=object)) if hasattr(part, "tree_")
    ]
    own = getattr(ensemble, "estimators_features_", None)
    if own is None and any(int(member.n_features_in_) != width for member in members):
        raise ValueError("a tree has other columns than its ensemble")
    stages = np.asarray(ensemble.estimators_, dtype=object)
    each = getattr(ensemble, "n_trees_per_iteration_", None)
    odd = stages.ndim == 2 and (
        stages.shape[1] != each or any(part.tree_.max_n_classes != 1 for part in members)
    )
    if each is not None and odd:
        raise ValueError("a round has not as many trees as it says")


def _check_support(machine: Any) -> None:
    vectors, weights = machine.support_vectors_, machine._dual_coef_
    each = np.asarray(machine._n_support)
    classes = len(getattr(machine, "classes_", (0, 1))) if type(machine).__name__ in ("SVC", "NuSVC") else 2
    count = len(machine.support_)
    known = each.sum() == count if type(machine).__name__ in ("SVC", "NuSVC") else True
    if (
        vectors.shape not in ((count, machine.shape_fit_[1]), (0, 0)) or weights.shape != (classes - 1, count)
        or not known or each.min(initial=0) < 0
        or len(machine._intercept_) != classes * (classes - 1) // 2
    ):  # fmt: skip
        raise ValueError("the support vectors are not as many as it says")


def check_skops_boosters(schema: Mapping[str, Any], read: Any) -> None:
    """Check the boosters that a skops file holds, before they are made. read: name in the archive -> its bytes."""
    nodes = list(_nodes(schema))
    names = {str(node.get("__module__", "")).split(".")[0] for node in nodes}
    for node in nodes:
        loader = node.get("__loader__")
        if "xgboost" in names and loader in ("BytesNode", "BytearrayNode"):
            check_xgboost(read(str(node["file"])))
        if "lightgbm" in names and loader == "JsonNode":
            text = json.loads(node["content"])
            if isinstance(text, str) and ("num_leaves" in text or "Tree=" in text):
                check_lightgbm(text)


def _nodes(schema: Any) -> Iterable[Mapping[str, Any]]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
