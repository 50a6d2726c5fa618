"""Model files that somebody tampered with, one row a case: each is refused before compiled code follows it.

Before these checks most rows killed the process (SIGSEGV, abort), took all memory or never ended.
"""

from __future__ import annotations

import io
import json
import re
import struct
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import FileFormatError, WayforwardError
from wayforward.model import load, save
from wayforward.model.flat_tables import FlatTable
from wayforward.model.ubjson import read_ubjson

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from sklearn.ensemble import (  # noqa: E402
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X.sum(1) > 0).astype(int)
SCHEMA = wf.Schema(tuple(wf.Feature(name=name, kind="real", low=-4, high=4) for name in "abc"))
BOOSTERS = {"xgboost": "XGBClassifier", "lightgbm": "LGBMClassifier"}


def booster(library):
    module = pytest.importorskip(library)
    quiet = {"verbose": -1, "num_leaves": 4} if library == "lightgbm" else {"max_depth": 2}
    return getattr(module, BOOSTERS[library])(n_estimators=2, n_jobs=1, **quiet).fit(X, Y)


def refused(path, *words):
    with pytest.raises(FileFormatError, match=f"'{path.name}' cannot be read as") as error:
        load(path, SCHEMA)
    assert any(word in str(error.value) for word in words), str(error.value)
    assert len(str(error.value)) < 400


# -- skops: the arrays of an archive -------------------------------------------------------------------------


def changed(model, path, change):
    """Save an estimator and change arrays of it in the file: change(name in state, array) -> array or None."""
    save(model, path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    touched = 0
    for name in [name for name in content if name.endswith(".npy")]:
        array = np.load(io.BytesIO(content[name]), allow_pickle=False)
        new = change(array.copy())
        if new is not None:
            stream = io.BytesIO()
            np.save(stream, new)
            content[name] = stream.getvalue()
            touched += 1
    assert touched, "nothing was tampered with"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def at(field, node, value):
    """Change one node in every array of nodes that has this field."""

    def change(array):
        if array.dtype.names is None or field not in array.dtype.names:
            return None
        array[field][node] = value
        return array

    return change


TREE = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
FOREST = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y)
STAGES = GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0).fit(X, Y)
HISTOGRAM = HistGradientBoostingClassifier(max_iter=2, max_depth=2).fit(X, Y)
SKOPS = {
    "a child beyond the tree": (TREE, at("left_child", 0, 99), "not there"),
    "a child far beyond": (TREE, at("right_child", 0, 1 << 40), "not there"),
    "a child before the tree": (TREE, at("left_child", 0, -7), "not there"),
    "a column that is not there": (TREE, at("feature", 0, 3), "column"),
    "a column before the first": (TREE, at("feature", 0, -5), "column"),
    "a cycle": (TREE, at("left_child", 1, 0), "not there"),
    "a cycle below": (TREE, at("right_child", 1, 1), "leads back"),
    "one node twice": (TREE, at("right_child", 0, 1), "leads back"),
    "a tree of a forest": (FOREST, at("left_child", 0, 99), "not there"),
    "a forest's column": (FOREST, at("feature", 0, 50), "column"),
    "a stage of boosting": (STAGES, at("right_child", 0, 99), "not there"),
    "in a pipeline": (make_pipeline(StandardScaler(), TREE).fit(X, Y), at("feature", 0, 1 << 30), "column"),
    "a histogram's child": (HISTOGRAM, at("left", 0, 4_000_000_000), "not there"),
    "a histogram's column": (HISTOGRAM, at("feature_idx", 0, 7), "column"),
    "a histogram's cycle": (HISTOGRAM, at("right", 1, 1), "leads back"),
    "a histogram's categories": (HISTOGRAM, at("is_categorical", 0, 1), "categories"),
    "fewer support vectors": (
        SVC().fit(X, Y),
        lambda a: a[:2] if a.ndim == 2 and a.shape[1] == 3 and len(a) < 200 else None,
        "support vectors",
),
    "more support vectors of a class": (
        SVC().fit(X, Y), lambda a: a + 5000 if a.dtype == np.int32 and a.shape == (2,) else None, "support vectors"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SKOPS)
def test_a_tampered_skops_file(what, tmp_path):
    model, change, word = SKOPS[what]
    changed(model, tmp_path / "model.skops", change)
    refused(tmp_path / "model.skops", word)


def test_honest_skops_files_are_read(tmp_path):
    for i, model in enumerate((TREE, FOREST, STAGES, HISTOGRAM, SVC().fit(X, Y))):
        again = load(save(model, tmp_path / f"{i}.skops"), SCHEMA)
        np.testing.assert_array_equal(again.native(X)[1], model.predict(X))


# -- XGBoost -------------------------------------------------------------------------------------------------


def put(*path_and_value):
    *path, value = path_and_value

    def change(model):
        place = model["learner"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


TREES = ("gradient_booster", "model", "trees", 0)
XGBOOST = {
    "a child beyond the tree": (put(*TREES, "left_children", 0, 99), "not there"),
    "a child far beyond": (put(*TREES, "right_children", 0, 2_000_000_000), "not there"),
    "a child before the tree": (put(*TREES, "left_children", 0, -9), "not there"),
    "a cycle": (put(*TREES, "left_children", 1, 1), "leads back"),
    "back to the root": (put(*TREES, "right_children", 1, 0), "not there"),
    "a column that is not there": (put(*TREES, "split_indices", 0, 3), "column"),
    "a column far beyond": (put(*TREES, "split_indices", 0, 2_000_000_000), "column"),
    "a parent that is none": (put(*TREES, "parents", 1, 2), "parent"),
    "fewer thresholds": (put(*TREES, "split_conditions", [0.5]), "values of split_conditions"),
    "fewer defaults": (put(*TREES, "default_left", []), "values of default_left"),
    "more nodes than there are": (put(*TREES, "tree_param", "num_nodes", "100000"), "as many nodes"),
    "leaves of fewer than no outputs": (
        put(*TREES, "tree_param", "size_leaf_vector", "-1"),
        "several outputs",
    ),
    "leaves of many outputs": (put(*TREES, "tree_param", "size_leaf_vector", "100000"), "several outputs"),
    "categories that are not there": (put(*TREES, "categories_nodes", [0]), "unlike lengths"),
    "a split by categories without any": (put(*TREES, "split_type", 0, 1), "by categories"),
    "an output that is not there": (put("gradient_booster", "model", "tree_info", [0, 9]), "output"),
    "more trees than there are": (
        put("gradient_booster", "model", "gbtree_model_param", "num_trees", "9"),
        "trees",
    ),
    "rounds beyond the trees": (put("gradient_booster", "model", "iteration_indptr", [0, 1, 99]), "rounds"),
    "columns without end": (put("learner_model_param", "num_feature", "2000000000"), "columns"),
    "classes without end": (put("learner_model_param", "num_class", "2000000000"), "classes"),
    "no trees at all": (put("gradient_booster", "model", {}), "KeyError"),
    "a text where a list belongs": (put(*TREES, "left_children", "x"), "list", "lengths"),
}


@pytest.mark.parametrize("content", ["{}", '{"format": "wayforward.recourse/1"}', '{"Model": []}'])
def test_what_xgboost_did_not_write_is_told_as_such(content, tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(content)
    refused(path, "cannot be read as an XGBoost model: it is no file of XGBoost. Check the path, or save")


@pytest.mark.parametrize("what", XGBOOST)
def test_a_tampered_xgboost_file(what, tmp_path):
    change, *words = XGBOOST[what]
    path = tmp_path / "model.json"
    save(booster("xgboost"), path)
    model = json.loads(path.read_text())
    change(model)
    path.write_text(json.dumps(model))
    refused(path, *words)


def ubj(value):
    """UBJSON of plain data, as XGBoost reads it."""

    def text(word):
        return b"L" + struct.pack(">q", len(word.encode())) + word.encode()

    if isinstance(value, dict):
        return b"{" + b"".join(text(name) + ubj(one) for name, one in value.items()) + b"}"
    if isinstance(value, str):
        return b"S" + text(value)
    if isinstance(value, (list, np.ndarray)):
        return b"[" + b"".join(map(ubj, value)) + b"]"
    if isinstance(value, (bool, np.bool_)):
        return b"T" if value else b"F"
    return (
        b"D" + struct.pack(">d", value) if isinstance(value, float) else b"L" + struct.pack(">q", int(value))
    )


@pytest.mark.parametrize("what", ["a child beyond the tree", "a cycle", "columns without end"])
def test_a_tampered_xgboost_file_in_ubjson(what, tmp_path):
    change, *words = XGBOOST[what]
    path = tmp_path / "model.json"
    save(booster("xgboost"), path)
    model = json.loads(path.read_text())
    change(model)
    (tmp_path / "model.ubj").write_bytes(ubj(model))
    refused(tmp_path / "model.ubj", *words)


def test_ubjson_is_read_as_the_same_model(tmp_path):
    model = booster("xgboost")
    save(model, tmp_path / "m.ubj"), save(model, tmp_path / "m.json")
    binary, text = (
        read_ubjson((tmp_path / "m.ubj").read_bytes()),
        json.loads((tmp_path / "m.json").read_text()),
    )
    one, other = (m["learner"]["gradient_booster"]["model"]["trees"][1] for m in (binary, text))
    for name in ("left_children", "split_indices", "split_conditions"):
        np.testing.assert_array_equal(np.asarray(one[name], np.float32), np.asarray(other[name], np.float32))
    again = [load(tmp_path / name, SCHEMA).native(X)[0] for name in ("m.ubj", "m.json")]
    np.testing.assert_array_equal(again[0], again[1])


BROKEN = {
    "cut off": lambda data: data[: len(data) // 2],
    "a list of 2**60 numbers": lambda data: (
        b"{L" + struct.pack(">q", 1) + b"a[$l#L" + struct.pack(">q", 1 << 60)
    ),
    "a list of 2**60 nothings": lambda data: (
        b"{L" + struct.pack(">q", 1) + b"a[$Z#L" + struct.pack(">q", 1 << 60)
    ),
    "a length below nought": lambda data: b"{L" + struct.pack(">q", -5) + b"a",
    "nested without end": lambda data: b"{L" + struct.pack(">q", 1) + b"a" + b"[" * 100_000,
    "an unknown type": lambda data: b"{L" + struct.pack(">q", 1) + b"aQ",
    "a name twice": lambda data: b"{" + 2 * (b"L" + struct.pack(">q", 1) + b"aZ") + b"}",
    "more behind it": lambda data: data + b"}",
    "nothing": lambda data: b"",
    "the old binary form": lambda data: b"binf" + data,
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_ubjson(what, tmp_path):
    path = tmp_path / "model.ubj"
    save(booster("xgboost"), path)
    path.write_bytes(BROKEN[what](path.read_bytes()))
    refused(path, "")


# -- LightGBM ------------------------------------------------------------------------------------------------


def unplaced(text):
    """Trees are found without their places."""
    return re.sub("\ntree_sizes=.*\n", "\n", text)


def line(name, value):
    """Put another value into the first line of this name; trees are found without their places."""

    def change(text):
        old = next(one for one in text.split("\n") if one.startswith(f"{name}="))
        text = text.replace(old, f"{name}={value}", 1)
        return text if name == "tree_sizes" else unplaced(text)

    return change


LIGHTGBM = {
    "a child beyond the tree": (line("left_child", "1 2 9"), "not there"),
    "a leaf that is not there": (line("right_child", "-2 -3 -40"), "not there"),
    "a cycle": (line("left_child", "1 1 -1"), "leads back"),
    "back to the root": (line("left_child", "1 0 -1"), "not there"),
    "a column that is not there": (line("split_feature", "1 0 3"), "column"),
    "a column before the first": (line("split_feature", "1 0 -1"), "column"),
    "fewer children": (line("left_child", "1"), "values of left_child"),
    "fewer thresholds": (line("threshold", "0.75"), "values of threshold"),
    "fewer leaves": (line("leaf_value", "0.1"), "values of leaf_value"),
    "more leaves than there are": (line("num_leaves", "9"), "values of"),
    "leaves without end": (line("num_leaves", "2000000000"), "leaves"),
    "leaves below nought": (line("num_leaves", "-1"), "leaves"),
    "no number of categories": (lambda t: unplaced(t).replace("num_cat=0\n", "", 1), "num_cat"),
    "categories that are not there": (line("num_cat", "1"), "cat_boundaries"),
    "a word among the gains": (line("split_gain", "1 x 3"), "could not convert"),
    "an underscore among the weights": (line("leaf_weight", "1 2 3_0 4"), "no number"),
    "a gap in a tree": (
        lambda t: unplaced(t).replace("\nleaf_value=", "\n\nleaf_value=", 1),
        "belong to none",
    ),
    "a line without a name": (
        lambda t: unplaced(t).replace("\nleaf_value=", "\nx\nleaf_value=", 1),
        "belong to none",
    ),
    "a split by categories without any": (line("decision_type", "3 2 2"), "KeyError", "categories"),
    "lines at leaves without columns": (line("is_linear", "1"), "KeyError"),
    "places that are none": (line("tree_sizes", "55 999"), "not where it says"),
    "columns without end": (line("max_feature_idx", "2000000000"), "column"),
    "fewer columns": (line("max_feature_idx", "1"), "feature_names", "as many"),
    "no classes": (line("num_class", "0"), "num_class"),
    "rounds of no trees": (line("num_tree_per_iteration", "0"), "num_tree_per_iteration"),
    "more trees a round than outputs": (line("num_tree_per_iteration", "3"), "num_tree_per_iteration"),
    "more outputs than trees a round": (line("num_class", "3"), "num_tree_per_iteration"),
    "an objective of more classes": (
        line("objective", "multiclass num_class:300"),
        "num_class of its objective",
    ),
    "one line twice": (
        lambda t: unplaced(t).replace("num_cat=0", "num_leaves=4", 1),
        "twice",
    ),
    "no end": (lambda t: t.replace("end of trees", "end of treez"), "whole"),
    "cut off": (lambda t: t[: len(t) // 3], "whole"),
    "a word where a number belongs": (line("left_child", "1 x -1"), "could not convert"),
    "half a range": (lambda t: re.sub(r"feature_infos=\[[^:]*:", "feature_infos=[", t, count=1), "no range"),
    "a range of no numbers": (
        lambda t: re.sub(r"feature_infos=\[[^:]*:", "feature_infos=[%00:", t, count=1),
        "Unknown token",
    ),
    "half a setting": (lambda t: t.replace("[max_depth: ", "", 1), "no setting"),
    "a setting without a colon": (lambda t: t.replace("[max_depth: ", "[max_depth ", 1), "no setting"),
    "settings without end": (lambda t: t.replace("end of parameters", "end", 1), "no setting"),
}


@pytest.mark.parametrize("what", LIGHTGBM)
def test_a_tampered_lightgbm_file(what, tmp_path):
    change, *words = LIGHTGBM[what]
    path = tmp_path / "model.txt"
    save(booster("lightgbm"), path)
    path.write_text(change(path.read_text()))
    refused(path, *words)


@pytest.mark.parametrize("library", BOOSTERS)
def test_a_tampered_booster_within_a_skops_file(library, tmp_path):
    path = tmp_path / "model.skops"
    honest = make_pipeline(StandardScaler(), booster(library))
    honest.steps[0][1].fit(X)
    load(save(honest, path), SCHEMA)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    for name in content:
        if name.endswith(".bin"):
            model = read_ubjson(content[name])
            XGBOOST["a cycle"][0](model.get("Model", model))
            content[name] = ubj(model)
    content["schema.json"] = content["schema.json"].replace(b"left_child=1 2 -1", b"left_child=1 1 -1")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    refused(path, "leads back")


def test_an_archive_of_a_version_to_come(tmp_path):
    """Its reader says NotImplementedError, which is no error of archives."""
    path = save(make_pipeline(StandardScaler(), SVC()).fit(X, Y), tmp_path / "model.skops")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 255
    path.write_bytes(content)
    refused(path, "zip file version 25.5")


# -- CatBoost: the indices of a buffer -------------------------------------------------------------------------

LEVELS = np.array(list("abcdefgh"))[RNG.integers(0, 8, len(X))]
MIXED = wf.Schema((*SCHEMA.features[:2], wf.Feature(name="c", kind="categorical", levels=tuple("abcdefgh"))))


def catboost(kind):
    """A file and its trees: of numbers, of trees that are not symmetric, of several classes, or of categories."""
    module = pytest.importorskip("catboost")
    more = {"grow_policy": "Lossguide"} if kind == "uneven" else {}
    more |= {"loss_function": "MultiClass"} if kind == "classes" else {}
    rows, y = X, Y if kind != "classes" else RNG.integers(0, 3, len(X))
    if kind == "categories":
        pd = pytest.importorskip("pandas")
        rows, y = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": LEVELS}), (LEVELS > "d") ^ (X[:, 0] > 0)
        more = {"cat_features": ["c"], "one_hot_max_size": 2}
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return module.CatBoostClassifier(iterations=3, depth=3, **quiet, **more).fit(rows, y)


def within(content):
    size = struct.unpack("<I", content[4:8])[0]
    return FlatTable.root(content[8 : 8 + size]).table(1)


def numbers(field, dtype, change):
    """Change a vector of the trees where it stands in the file."""

    def changed(content):
        old = within(content).array(field, dtype)
        new = old.copy()
        change(new)
        assert content.count(old.tobytes()) == 1
        return content.replace(old.tobytes(), new.tobytes())

    return changed


def at(place, value):
    return lambda vector: vector.__setitem__(place, value)


def worth(change):
    """Change the first table of what categories are worth: the buckets of its search."""

    def changed(content):
        start = 12 + struct.unpack("<I", content[4:8])[0]
        size = struct.unpack("<I", content[start : start + 4])[0]
        raw = FlatTable.root(content[start + 4 : start + 4 + size]).array(1, "<u1")
        buckets = raw.view([("hash", "<u8"), ("index", "<u4")]).copy()
        change(buckets)
        return content.replace(raw.tobytes(), buckets.tobytes())

    return changed


def far(buckets):
    buckets["index"][buckets["hash"] != 2**64 - 1] = 2**31


def last_column(content):
    return content.replace(b"\x02\0\0\0\x02\0\0\0", b"\xff\xff\xff\x7f" * 2)


CATBOOST = {
    "a split that is not there": ("numbers", numbers(1, "<i4", at(0, 10**6)), "split that is not there"),
    "a split before the first": ("numbers", numbers(1, "<i4", at(0, -1)), "split that is not there"),
    "a tree without end": ("numbers", numbers(2, "<i4", at(0, 31)), "as long as"),
    "trees that overlap": ("numbers", numbers(3, "<i4", at(1, 0)), "as long as"),
    "a tree less": ("classes", numbers(2, "<i4", at(slice(None), (2, 3, 4))), "as long as", "as many"),
    "a child beyond the tree": ("uneven", numbers(10, "<u2", at(0, 9999)), "node that is not there"),
    "a leaf that is not there": ("uneven", numbers(11, "<u4", lambda v: v.__setitem__(v < 10**6, 10**6)), "leaf that"),
    "a column without end": ("numbers", last_column, "columns"),
    "a level worth what is not there": ("categories", worth(far), "is not there"),
    "a search without end": ("categories", worth(at("hash", 7)), "does not end"),
    "cut off": ("categories", lambda c: c[:-40], "cut off"),
    "something behind it": ("numbers", lambda c: c + b"x", "behind its end"),
    "an offset out of it": ("numbers", lambda c: c[:8] + b"\xff\xff\xff\x7f" + c[12:], "out of the file"),
    "larger than it is": ("numbers", lambda c: c[:4] + b"\xff\xff\xff\x7f" + c[8:], "cut off"),
}  # fmt: skip


@pytest.mark.parametrize("what", CATBOOST)
def test_a_tampered_catboost_file(what, tmp_path):
    kind, change, *words = CATBOOST[what]
    path = save(catboost(kind), tmp_path / "model.cbm")
    content = path.read_bytes()
    tampered = change(content)
    assert tampered != content
    path.write_bytes(tampered)
    refused(path, *words)


@pytest.mark.parametrize("kind", ["numbers", "uneven", "classes", "categories"])
def test_honest_catboost_files_are_read(kind, tmp_path):
    model, schema = catboost(kind), MIXED if kind == "categories" else SCHEMA
    rows = (
        np.column_stack([X[:, :2], np.searchsorted(list("abcdefgh"), LEVELS)]) if kind == "categories" else X
    )
    back = load(save(model, tmp_path / "model.cbm"), schema)
    np.testing.assert_array_equal(back.native(rows)[0], wf.wrap(model, schema).native(rows)[0])


# -- safetensors ----------------------------------------------------------------------------------------------


def test_layers_are_as_large_as_their_weights(tmp_path):
    """A file of some hundred bytes asked for gigabytes."""
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    for layer in (
        {"kind": "Linear", "in_features": 3, "out_features": 40_000_000, "bias": True},
        {"kind": "BatchNorm1d", "num_features": 100_000_000},
        {"kind": "LayerNorm", "normalized_shape": [100_000_000]},
        {"kind": "Linear", "in_features": -3, "out_features": 1, "bias": True},
    ):
        for tensors in ({"0.weight": torch.zeros(1)}, {"other": torch.zeros(1)}):
            plan = json.dumps({"layers": [layer], "dtype": "float32"})
            save_file(tensors, tmp_path / "net.safetensors", metadata={"wayforward": plan})
            with pytest.raises(FileFormatError, match="'net.safetensors'"):
                load(tmp_path / "net.safetensors", SCHEMA)


# -- wishes, of which a file holds only those that are there ----------------------------------------------------

PEOPLE = {
    "people without end": {"n": 10**9},
    "more people than a number holds": {"n": 10**30},
    "people by a fraction": {"n": 2.5},
    "many, and a wish of each feature": {
        "n": 10**8,
        "features": {name: {"frozen": [0], "low": [[1], [0.5]]} for name in "abc"},
    },
    "somebody before the first": {"features": {"a": {"frozen": [-1]}}},
    "somebody before the first, as a limit": {"features": {"a": {"high": [[-1], [1.0]]}}},
    "somebody before the first, in a hurry": {"months": [[-2], [3.0]]},
    "people by yes and no": {"features": {"a": {"frozen": [True, False]}}},
}


@pytest.mark.parametrize("what", PEOPLE)
def test_a_tampered_file_of_wishes(what, tmp_path):
    """A hundred bytes asked for gigabytes, or changed what somebody else wishes."""
    stored = {"format": "wayforward/preferences", "version": 1, "n": 2, "features": {}} | PEOPLE[what]
    (tmp_path / "wishes.json").write_text(json.dumps(stored))
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match="stored preferences"):
            wf.Preferences.load(tmp_path / "wishes.json", SCHEMA)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_wishes_of_many_people_who_wish_little_are_read():
    """By those who know how many there are; and wishes of other people are refused before memory is taken."""
    few = wf.Preferences.none(SCHEMA, 6_000_000 // SCHEMA.d).freeze("a", who=[5]).to_dict()
    assert wf.Preferences.from_dict(SCHEMA, few).frozen.sum() == 1
    few["n"] = 10**9
    with pytest.raises(wf.errors.PreferencesError, match="those of 1000000000 people, and 3 are asked about"):
        wf.Preferences.from_dict(SCHEMA, few, people=3)


def test_answers_hold_the_wishes_of_their_own_people(tmp_path):
    """A number in the wishes of saved answers asked for gigabytes, too."""
    problem = wf.Problem(SCHEMA, wf.wrap(DecisionTreeClassifier().fit(X, Y), SCHEMA), wf.Target(1), data=X)
    wish = wf.Preferences.none(SCHEMA, 3).freeze("a")
    path = wf.recommend(problem, X[:3], preferences=wish).save(tmp_path / "answers.json")
    text = path.read_text()
    changed = re.sub(r'("format": ?"wayforward/preferences".{0,40}"n": ?)3\b', r"\g<1>1000000000", text)
    assert changed != text
    path.write_text(changed)
    with pytest.raises(FileFormatError, match="does not hold a recourse"):
        wf.Recourse.load(path)


# -- ONNX, whose runtime looks itself --------------------------------------------------------------------------

ONNX = {
    "a child that is not there": ("nodes_truenodeids", 0, 99),
    "a child before the tree": ("nodes_truenodeids", 0, -5),
    "a cycle": ("nodes_truenodeids", 1, 0),
    "a node that leads to itself": ("nodes_truenodeids", 1, 1),
    "a column that is not there": ("nodes_featureids", 0, 1 << 30),
    "a class that is not there": ("class_ids", 0, 1 << 20),
    "a leaf that is not there": ("class_nodeids", 0, 77),
}


@pytest.mark.parametrize("what", ONNX)
def test_a_tampered_onnx_file(what, tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    name, place, value = ONNX[what]
    model = pytest.importorskip("skl2onnx").to_onnx(TREE, X[:1].astype(np.float32), options={"zipmap": False})
    (node,) = (node for node in model.graph.node if node.op_type.startswith("TreeEnsemble"))
    next(one for one in node.attribute if one.name == name).ints[place] = value
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.ModelProto.SerializeToString(model))
    with pytest.raises(WayforwardError, match=r"model\.onnx"):
        load(path, SCHEMA)


def test_a_loop_without_an_end(tmp_path, monkeypatch):
    """ONNX has loops, and one that never ends is an honest file to its runtime."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from wayforward.model.adapters import onnx_file

    made, kind = onnx.helper, onnx.TensorProto
    body = made.make_graph(
        [made.make_node("Identity", ["on"], ["still"]), made.make_node("Add", ["sum", "sum"], ["more"])], "body",
        [made.make_tensor_value_info("i", kind.INT64, []), made.make_tensor_value_info("on", kind.BOOL, []),
         made.make_tensor_value_info("sum", kind.FLOAT, None)],
        [made.make_tensor_value_info("still", kind.BOOL, []), made.make_tensor_value_info("more", kind.FLOAT, None)],
    )  # fmt: skip
    yes = made.make_tensor("yes", kind.BOOL, [], [True])
    graph = made.make_graph(
        [made.make_node("Loop", ["", "yes", "x"], ["out"], body=body)], "endless",
        [made.make_tensor_value_info("x", kind.FLOAT, [None, X.shape[1]])],
        [made.make_tensor_value_info("out", kind.FLOAT, None)], [yes],
    )  # fmt: skip
    model = made.make_model(graph, opset_imports=[made.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    monkeypatch.setattr(onnx_file, "_PATIENCE", 0.3)
    with pytest.raises(WayforwardError, match=r"no answer to two rows after 0.3 seconds"):
        load(tmp_path / "model.onnx", SCHEMA)


# -- answers whose checksum was made again -------------------------------------------------------------------


def sealed(path, change):
    """Change saved answers, and put the checksum that the changed ones have, as whoever reads the source can."""
    data = json.loads(path.read_text())
    change(data)
    made = []

    def digest(self, header):
        made.append(DIGEST(self, header))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wf.Recourse, "_digest", digest)
        path.write_text(json.dumps(data))
        with suppress(WayforwardError):
            wf.Recourse.load(path)
    path.write_text(json.dumps(data | ({"sha256": made[-1]} if made else {})))
    return path


DIGEST = wf.Recourse._digest


@pytest.fixture(scope="module")
def answers():
    problem = wf.Problem(SCHEMA, wf.wrap(TREE, SCHEMA), wf.Target(1), data=X)
    return wf.recommend(problem, X[Y == 0][:2])


def of_meta(**entries):
    return lambda data: data["meta"].update(entries)


ANSWERS = {
    "all of meta is text": lambda data: data["meta"].update(dict.fromkeys(data["meta"], "x")),
    "all of meta is missing": lambda data: data["meta"].update(dict.fromkeys(data["meta"])),
    "no meta": lambda data: data.update(meta=[1]),
    "kinds": of_meta(kinds=3),
    "a level that is text": of_meta(needed={"level": "0.5"}),
    "a prediction without ends": of_meta(needed={"low": None, "high": None}),
    "a prediction with one end": of_meta(needed={"low": 1.0}),
    "a cause that is no feature": of_meta(leads={"x": ["a"]}),
    "an effect that is no feature": of_meta(leads={"a": ["x"]}),
    "room": of_meta(room={"moved": 1}),
    "models trained again": of_meta(retraining=[1]),
    "a seed": of_meta(seed="x"),
    "askings": of_meta(askings=0),
    "a method": lambda data: data.update(method=[1]),
    "a name with half a character": lambda data: data.update(ids={"names": ["id"], "values": [["\ud83d", "b"]]}),
    "a name that is a list": lambda data: data.update(ids={"names": ["id"], "values": [[[1], "b"]]}),
    "an end of the search": lambda data: data.update(ended_by=["\x1b", ""]),
    "a reason of somebody who was read": lambda data: data.update(reasons=["x", ""]),
    "options before the first": lambda data: data.update(k=-1),
    "a cost below nought": lambda data: data.update(cost=[[-1.0], [1.0]]),
    "no cost": lambda data: data.update(cost=[[None], [1.0]]),
    "a month below nought": lambda data: data.update(months=[[-4.0], [1.0]]),
    "a share above one": lambda data: data.update(known_margin=[[1e308], [1.0]]),
}  # fmt: skip


@pytest.mark.parametrize("what", ANSWERS)
def test_tampered_answers_of_a_right_checksum(what, answers, tmp_path):
    """They ended in a raw error of a sentence or a table made of them, or were told as if all were well."""
    path = sealed(answers.save(tmp_path / "answers.json"), ANSWERS[what])
    with pytest.raises(FileFormatError, match=r"^'answers.json' does not hold a recourse") as error:
        wf.Recourse.load(path)
    assert "checksum" not in str(error.value)


def test_honest_answers_of_a_made_checksum_are_read(answers, tmp_path):
    path = sealed(answers.save(tmp_path / "answers.json"), of_meta(kinds=["cheapest"]))
    assert wf.Recourse.load(path).meta["kinds"] == ["cheapest"]


OBEYED = "\x1b]0;x\x07\x9b2J\u202e\u2066\ud83d"


def test_answers_with_what_a_terminal_obeys_are_told_without(answers, tmp_path):
    def spoil(data):
        data["steps"] = [[OBEYED], ["b"]]
        data["schema"]["features"][0] |= {"unit": OBEYED[:-1], "label": OBEYED[:-1]}
        data["method"] = OBEYED[:-1]
        data["ids"] = {"names": [OBEYED[:-1]], "values": [[OBEYED[:-1], "b"]]}

    got = wf.Recourse.load(sealed(answers.save(tmp_path / "answers.json"), spoil))
    told = got.explain(0), got._repr_html_(), repr(got), repr(got.schema), got.schema._repr_html_()
    assert not [text for text in told if set(text) & set(OBEYED) - set("]0;x2J")]
    assert "\\x1b" in repr(got.schema)


# -- tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_a_table_with_a_column_twice(name, tmp_path):
    """One of the two values of each person was lost without a word."""
    import gzip

    from wayforward.data.user_tables import read_table

    text = "\ufeff" + "a,b,a,,\n1,2,3,4,5\n".replace(",", "\t" if "tsv" in name else ",")
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(wf.errors.DataError, match=f"'{name}' has the column 'a' twice"):
        read_table(tmp_path / name)
    content = content.replace(b"b", b"c").replace(b"a", b"b", 1)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert list(read_table(tmp_path / name).columns)[:3] == ["b", "c", "a"]  # columns without a name are two


def test_wishes_with_a_column_twice(tmp_path):
    (tmp_path / "w.csv").write_text("person,feature,wish,wish\n0,a,frozen,\n")
    with pytest.raises(wf.errors.DataError, match="'w.csv' has the column 'wish' twice"):
        wf.Preferences.from_table(SCHEMA, tmp_path / "w.csv", 1)


def test_a_broken_table_is_told_by_its_own_name(tmp_path):
    """The folder of a server stood in what its staff was told."""
    from wayforward.data.user_tables import read_table

    (tmp_path / "people.parquet").write_bytes(b"PAR1 is not all PAR1")
    with pytest.raises(FileFormatError, match="people.parquet") as error:
        read_table(tmp_path / "people.parquet")
    assert str(tmp_path) not in str(error.value)
