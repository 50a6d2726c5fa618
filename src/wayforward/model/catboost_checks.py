"""Models of CatBoost, looked through before its native code follows their indices, which it does unseen.

The file: "CBM1", the size of a FlatBuffer and the buffer, then tables of what categories are worth, a buffer each. The
fields are those of `catboost/libs/model/flatbuffers`. Each check raises ValueError that says what is wrong.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.model.flat_tables import FlatTable
from wayforward.shapes import Ints

_MOST_COLUMNS, _MOST_OUTPUTS, _DEEPEST = 1_000_000, 100_000, 16
_MAGIC, _CATEGORIES = b"CBM1", b"static_provider_v1"
_BORDERS, _BUCKETS, _MEANS, _NOTHING = 0, 1, (2, 3), 2**64 - 1
_BUCKET = np.dtype([("hash", "<u8"), ("index", "<u4")])


@dataclass
class _Stream:
    content: bytes
    at: int

    def size(self) -> int:
        (size,) = struct.unpack("<I", self.take(4))
        return int(size) if size != 2**32 - 1 else int(struct.unpack("<Q", self.take(8))[0])

    def take(self, size: int) -> bytes:
        if size > len(self.content) - self.at:
            raise ValueError("it is cut off")
        self.at += size
        return self.content[self.at - size : self.at]


def check_catboost(content: bytes) -> None:
    """Check a model as CatBoost writes it. Raises: ValueError."""
    stream = _Stream(content, len(_MAGIC))
    core = FlatTable.root(stream.take(stream.size()))
    trees, parts = core.table(1), core.texts(3)
    if parts not in ([], [_CATEGORIES]):
        raise ValueError("it reads texts or embeddings, which no feature has")
    tables = [FlatTable.root(stream.take(stream.size())) for _ in range(stream.size())] if parts else []
    if stream.at != len(content):
        raise ValueError("something stands behind its end")
    outputs = _between(trees.number(0, "<i"), 1, _MOST_OUTPUTS, "outputs")
    if any(trees.tables(field) for field in (12, 13, 18)):
        raise ValueError("it reads texts or embeddings, which no feature has")
    bins, buckets = _check_features(trees, [_values_of(table) for table in tables], len(content))
    _check_trees(trees, outputs, bins)
    repacked = trees.array(17, "<u4")  # u2 feature, u1 mask, u1 split
    if repacked.size and (
        len(repacked) != len(trees.array(1, "<i4")) or (repacked & 0xFFFF).max() >= max(buckets, 1)
    ):
        raise ValueError("its splits are not those of its features")


def _check_features(trees: FlatTable, values: list[tuple[Any, int]], most: int) -> tuple[int, int]:
    """Check the columns and what is made of them; return how many splits there are, and bytes a row takes."""
    numbers, codes = trees.tables(5), trees.tables(4)
    flat: list[int] = []
    for features, field in ((numbers, 1), (codes, 0)):
        for at in (field, field + 1):
            places = np.array([feature.number(at, "<i", -1) for feature in features], dtype=np.int64)
            if places.size and not (
                places[0] >= 0 and (np.diff(places) > 0).all() and places[-1] < _MOST_COLUMNS
            ):
                raise ValueError("its columns are not in their order")
        flat += places.tolist()
    if len(set(flat)) < len(flat):
        raise ValueError("two features are one column")
    used = {feature.number(0, "<i", -1) for feature in codes if feature.number(3, "<b", 1)}
    borders = {feature.number(1, "<i", -1): feature.array(3, "<f4") for feature in numbers}
    levels: dict[int, Ints] = {}
    for feature in trees.tables(6):
        of, own = feature.number(0, "<i", -1), feature.array(1, "<i4")
        if of not in used or of in levels or len(feature.texts(2)) not in (0, len(own)):
            raise ValueError("a split by levels is about no category")
        levels[of] = own
    counts = [len(one) for one in (*borders.values(), *levels.values())]
    known = dict(values)
    for feature in trees.tables(7):
        made = feature.table(0)
        key, border = _key(made.table(0)), made.number(1, "<i")
        _check_combination(made.table(0).table(0), used, borders, levels)
        if key not in known:
            raise ValueError("what a category is worth is missing")
        if key[-2] in (_BORDERS, _BUCKETS) and not 0 <= border < known[key] - (key[-2] == _BORDERS):
            raise ValueError("what a category is worth is about a class that is not there")
        counts.append(len(feature.array(1, "<f4")))
    if 4 * sum(counts) > most:  # so many do not stand in the file: they share their place
        raise ValueError("it has more splits than its size allows")
    return sum(counts), sum(-(-count // 254) for count in counts)


def _check_combination(
    about: FlatTable, used: set[int], borders: dict[int, Any], levels: dict[int, Any]
) -> None:
    columns = about.array(0, "<i4")
    if not columns.size or not used.issuperset(columns.tolist()):
        raise ValueError("what a category is worth is about no category")
    for column, border in about.array(1, "<i4,<f4").tolist():
        if column not in borders or np.float32(border) not in borders[column]:
            raise ValueError("a category goes with a split that is not there")
    for column, level in about.array(2, "<i4,<i4").tolist():
        if column not in levels or level not in levels[column]:
            raise ValueError("a category goes with a level that is not there")


def _key(base: FlatTable) -> tuple[Any, ...]:
    about = base.table(0)
    parts = (about.array(0, "<i4"), about.array(1, "<i4,<f4"), about.array(2, "<i4,<i4"))
    return *(part.tobytes() for part in parts), base.number(1, "<b"), base.number(2, "<i")


def _values_of(table: FlatTable) -> tuple[Any, int]:
    """Check what the levels of a combination are worth, a hash table over rows; return its key and its classes."""
    key, raw, values = _key(table.table(0)), table.array(1, "<u1"), table.array(2, "<u1")
    kind, classes = key[-2], table.number(4, "<i")
    if not 0 <= kind <= 5:
        raise ValueError("what a category is worth is of no known kind")
    if kind in (_BORDERS, _BUCKETS):
        _between(classes, 2, _MOST_OUTPUTS, "classes")
    each = 4 * classes if kind in (_BORDERS, _BUCKETS) else 8 if kind in _MEANS else 4
    if raw.size % _BUCKET.itemsize:
        raise ValueError("what a category is worth is cut off")
    buckets = raw.view(_BUCKET)
    there = buckets["hash"] != _NOTHING
    if len(buckets) & (len(buckets) - 1) or there.all():  # a search in it ends at a bucket with nothing
        raise ValueError("a search for a category does not end")
    if there.any() and (int(buckets["index"][there].max()) + 1) * each > values.size:
        raise ValueError("what a category is worth is not there")
    return key, classes


def _check_trees(trees: FlatTable, outputs: int, bins: int) -> None:
    splits, sizes, starts = (trees.array(field, "<i4").astype(np.int64) for field in (1, 2, 3))
    values, weights = len(trees.array(8, "<f8")), len(trees.array(9, "<f8"))
    steps, leaves = trees.array(10, "<u2,<u2"), trees.array(11, "<u4").astype(np.int64)
    if sizes.min(initial=0) < 0 or sizes.sum() != len(splits) or (starts != np.cumsum(sizes) - sizes).any():
        raise ValueError("its trees are not as long as it says")
    if splits.size and not (splits.min() >= 0 and splits.max() < max(bins, 1)):
        raise ValueError("a tree asks for a split that is not there")
    if weights not in (0, values // outputs) or len(trees.array(16, "<f8")) not in (0, outputs):
        raise ValueError("its leaves have not one weight each")
    if not steps.size:
        if leaves.size or sizes.max(initial=0) > _DEEPEST or (splits.size and not bins):
            raise ValueError("a tree is deeper than it can be")
        if (1 << sizes).sum() * outputs != values:
            raise ValueError("its leaves are not as many as its trees have")
        return
    if len(steps) != len(splits) or len(leaves) != len(splits) or sizes.min() < 1:
        raise ValueError("its trees are not as long as it says")
    room = np.repeat(starts + sizes, sizes) - np.arange(
        len(splits)
    )  # nodes from this one to the end of its tree
    left, right = steps["f0"].astype(np.int64), steps["f1"].astype(np.int64)
    if (np.maximum(left, right) >= room).any():
        raise ValueError("a tree leads to a node that is not there")
    own = leaves[(left == 0) | (right == 0)]
    if (own % outputs).any() or (own.max(initial=0) + outputs) > values:
        raise ValueError("a tree ends at a leaf that is not there")


def _between(value: int, low: int, high: int, what: str) -> int:
    if not low <= value <= high:
        raise ValueError(f"it has {value} {what}")
    return value
