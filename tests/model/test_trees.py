from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from wayforward.model import kernels, train, wrap
from wayforward.model.encoder import Column
from wayforward.model.raw_splits import goes_left, raw_thresholds
from wayforward.schema import Feature, Schema

FORESTS = ["rf", "gb", "xgb", "lgbm"]


@pytest.fixture(scope="module", params=FORESTS)
def forest(request, trained, frame, schema):
    return wrap(trained(request.param), schema, verify_on=frame)


def test_the_zoo_forests_are_read(forest):
    assert forest.fast.kind == "forest", forest.notes
    assert forest.forest is not None and forest.forest.feature.max() < forest.schema.d


def test_values_at_and_next_to_every_threshold(forest, frame):
    """The cheapest plan lands on a split: outputs there must be the native ones."""
    schema = forest.schema
    base = schema.encode(frame)[:1].copy()
    base[np.isnan(base)] = 0.0
    rows = []
    for name in ("income", "debt"):
        j = schema.index(name)
        t = forest.thresholds()[j]
        assert len(t) > 5 and (np.diff(t) > 0).all()
        for value in (t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), t + 1e-9, t.astype(np.float32)):
            part = np.repeat(base, len(t), axis=0)
            part[:, j] = value
            rows.append(part)
    x = np.concatenate(rows)
    out, label = forest.native(x)
    np.testing.assert_allclose(forest.outputs(x), out, atol=1e-6 if "XGB" in forest.name else 1e-12)
    assert np.array_equal(forest.outputs(x).argmax(axis=1), label)


def test_every_threshold_is_a_real_crossing():
    """One tree: the output changes exactly between a threshold and the next float64."""
    rng = np.random.default_rng(0)
    x = rng.normal(1e4, 37.0, (400, 1))
    schema = Schema((Feature(name="a", kind="real", low=9e3, high=1.1e4),))
    value = rng.normal(size=400)
    model = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=5)).fit(x, value)
    wrapped = wrap(model, schema)
    t = wrapped.thresholds()[0][:, None]
    assert len(t) > 20
    here, beyond = model.predict(t), model.predict(np.nextafter(t, np.inf))
    assert (here != beyond).all()
    assert np.array_equal(wrapped.outputs(t)[:, 0], here)
    assert np.array_equal(wrapped.outputs(np.nextafter(t, np.inf))[:, 0], beyond)
    # a step of 1e-9 is not enough: the model rounds to float32
    assert (model.predict(t - 1e-9) == here).all() and np.ptp(t) > 1


def test_a_float32_threshold_by_hand():
    """scikit-learn: 0.5 + 2**-26 rounds to float32 0.5 and goes left; XGBoost's < sends 0.5 right."""
    column = [Column(feature=0)]
    (last,), (rising,) = raw_thresholds(column, np.array([0.5]), single=True, strict=False)
    # halfway between 0.5 and the next float32 (0.5 + 2**-24) rounds to even, which is 0.5
    assert rising and last == 0.5 + 2.0**-25
    (last,), _ = raw_thresholds(column, np.array([0.5]), single=True, strict=True)
    assert last == np.nextafter(0.5 - 2.0**-26, 0)
    (last,), _ = raw_thresholds(column, np.array([0.5]), single=False, strict=False)
    assert last == 0.5
    falling = [Column(feature=0, factor=-1.0, steps=(("scale", -1.0, 0.0),))]
    (last,), (rising,) = raw_thresholds(falling, np.array([0.5]), single=False, strict=False)
    assert not rising and last == np.nextafter(-0.5, -1)
    assert goes_left(np.array([0.5]), np.array([0.5]), True, False) and not goes_left(
        np.array([0.5]), np.array([0.5]), True, True
    )


@pytest.mark.parametrize("step", [FunctionTransformer(np.log1p), MinMaxScaler()])
def test_thresholds_through_other_scalings(step):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 500, (300, 1))
    schema = Schema((Feature(name="a", kind="real", low=0.0, high=500.0),))
    model = make_pipeline(step, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(
        x, rng.integers(0, 2, 300)
    )
    wrapped = wrap(model, schema)
    t = wrapped.thresholds()[0][:, None]
    for rows in (t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf)):
        np.testing.assert_allclose(wrapped.outputs(rows), model.predict_proba(rows), atol=1e-15)


def test_the_hand_made_forest():
    """Trees x1 > 2, x2 > 3, x1 > 4.5, two votes decide (fixture F-FOR3)."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0.0, high=10.0) for n in ("x1", "x2")))
    trees = []
    for column, t in ((0, 2.0), (1, 3.0), (0, 4.5)):
        x = np.zeros((2, 2))
        x[:, column] = [t - 1, t + 1]
        trees.append(DecisionTreeClassifier().fit(x, [0, 1]))
    forest = RandomForestClassifier(3).fit(np.zeros((2, 2)), [0, 1])
    forest.estimators_ = trees
    wrapped = wrap(forest, schema)
    assert wrapped.fast.kind == "forest"
    t1, t2 = wrapped.thresholds()
    np.testing.assert_allclose(t1, [2.0, 4.5], rtol=1e-6)
    np.testing.assert_allclose(t2, [3.0], rtol=1e-6)
    beyond = np.nextafter(t1, np.inf)
    rows = np.array(
        [[0, 0], [beyond[0], 0], [t1[0], 10], [beyond[0], np.nextafter(t2[0], np.inf)], [beyond[1], 0]]
    )
    np.testing.assert_allclose(wrapped.outputs(rows)[:, 1], np.array([0, 1, 1, 2, 2]) / 3)


@pytest.fixture
def eager(monkeypatch):
    """Prune at once and always, small trees too."""
    from wayforward.model import trees

    monkeypatch.setattr(trees.CompiledForest, "masks", property(lambda forest: None))
    monkeypatch.setattr(trees, "_WORTH_ROWS", 0)
    monkeypatch.setattr(trees, "_WORTH", 2.0)


def assert_masks_say_what_a_walk_says(fast, x, monkeypatch):
    """Mixed rows, and numbers that lie on thresholds."""
    from wayforward.model import trees

    rng = np.random.default_rng(3)
    rows = np.stack([rng.permutation(column) for column in x.T], axis=1)
    space, nodes = fast.compiled.space, fast.compiled.trees
    split = nodes.row < 0
    for j in np.flatnonzero(~fast.schema.has_levels):
        edge = nodes.threshold[split & (space.owner[nodes.feature] == j)]
        if len(edge):
            rows[::7, j] = rng.choice(edge, len(rows[::7]))
    masked = fast.compiled.sums(rows)
    with monkeypatch.context() as patch:
        patch.setattr(trees.CompiledForest, "masks", property(lambda forest: None))
        assert np.array_equal(masked, fast.compiled.sums(rows))


@pytest.mark.parametrize("name", ["gb", "xgb", "lgbm"])
def test_masks_of_leaves_give_the_bits_of_a_walk(name, trained, frame, y, schema, monkeypatch):
    """Levels, missing values that go left or right, two classes and three."""
    labels = np.where((y == 0) & (frame.age > 60), 2, y)
    assert wrap(trained(name), schema).fast.compiled.masks is not None
    for model in (trained(name), train(name, schema, frame, labels)):  # the larger one may be walked
        fast = wrap(model, schema).fast
        assert_masks_say_what_a_walk_says(fast, schema.encode(frame), monkeypatch)


@pytest.mark.parametrize(
    ("leaves", "bits"), [(2, 16), (16, 16), (17, 32), (32, 32), (33, 64), (64, 64), (65, 0)]
)
def test_masks_are_as_wide_as_the_largest_tree(leaves, bits, full, y, full_schema, monkeypatch):
    """65 leaves fit no mask, and the trees are walked."""
    x = full_schema.encode(full)
    head = RandomForestClassifier(7, max_leaf_nodes=leaves, random_state=0).fit(x, y)
    fast = wrap(head, full_schema).fast
    masks = fast.compiled.masks
    assert bits == (0 if masks is None else masks.stays.dtype.itemsize * 8)
    assert_masks_say_what_a_walk_says(fast, x, monkeypatch)


def test_pruning_waits_until_it_pays(frame, trained, schema):
    model = wrap(trained("rf"), schema)
    x = schema.encode(frame)[:10]
    free = np.zeros(x.shape, bool)
    free[:, 1] = True
    scorer = model.specialise(x, free)
    who = np.repeat(np.arange(10), 40)
    first = scorer.outputs(who, x[who])
    assert scorer._blocks == {}
    assert np.array_equal(scorer.outputs(who, x[who]), first)
    assert scorer._blocks[0] is not None
    free[:] = True
    free[:, 5] = False  # too little is frozen
    scorer = model.specialise(x, free)
    for _ in range(3):
        assert np.array_equal(scorer.outputs(who, x[who]), first)
    assert scorer._blocks == {0: None}


@pytest.mark.parametrize("few", [2, 16, 64])
def test_trees_of_every_size_prune_to_the_same_bits(few, full, y, full_schema, eager, monkeypatch):
    """Small trees and larger ones are evaluated in different ways; up to 64 leaves fit a mask."""
    from wayforward.model import trees

    monkeypatch.setattr(trees, "_FEW", few)
    x = full_schema.encode(full)
    for head in (
        RandomForestClassifier(6, random_state=0),
        RandomForestClassifier(6, max_leaf_nodes=64, random_state=0),
        RandomForestClassifier(6, max_depth=1, random_state=0),
        DecisionTreeClassifier(random_state=0),
    ):
        model = wrap(head.fit(x, y), full_schema)
        for share in (0.2, 0.8):
            free = np.random.default_rng(1).random(x.shape) < share
            who = np.repeat(np.arange(200), 5)
            other = x[np.random.default_rng(2).integers(0, len(x), 1000)]
            rows = np.where(free[who], other, x[who])
            scorer = model.specialise(x[:200], free[:200])
            assert np.array_equal(scorer.outputs(who, rows), model.outputs(rows))
            assert scorer._blocks[0] is not None


def test_pruned_forests_give_the_same_bits(forest, frame, monkeypatch, eager):
    schema = forest.schema
    x = schema.encode(frame)[:300]
    rng = np.random.default_rng(2)
    free = rng.random(x.shape) < 0.4
    free[0], free[1] = False, True
    who = rng.integers(0, 300, 4000)
    rows = x[who].copy()
    other = schema.encode(frame)[rng.integers(0, len(frame), 4000)]
    rows = np.where(free[who], other, rows)
    scorer = forest.specialise(x, free)
    assert type(scorer).__name__ == "PrunedScorer"
    full = forest.outputs(rows)
    before = forest.counter.rows
    assert np.array_equal(scorer.outputs(who, rows), full)
    assert forest.counter.rows == before + 4000
    one = scorer.outputs(who[7:8], rows[7:8])
    assert np.array_equal(one[0], full[7])
    alone = forest.specialise(x[who[7] : who[7] + 1], free[who[7] : who[7] + 1])
    assert np.array_equal(alone.outputs(np.zeros(1, int), rows[7:8])[0], full[7])
    # sorted, so that many rows of one person stand together
    order = np.argsort(who)
    assert np.array_equal(scorer.outputs(who[order], rows[order]), full[order])
    # out of room: later blocks of people go through the whole forest
    from wayforward.model import trees

    monkeypatch.setattr(trees, "_PRUNED_BYTES", 1)
    monkeypatch.setattr(trees, "_BLOCK", 50)
    assert np.array_equal(forest.specialise(x, free).outputs(who, rows), full)
    monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    assert np.array_equal(scorer.outputs(who, rows), full)
    plain = forest.specialise(x, free)
    assert type(plain).__name__ == "Scorer" and np.array_equal(plain.outputs(who, rows), full)


def test_multi_class_forests_prune_to_the_same_bits(frame, y, schema, eager):
    labels = np.where((y == 0) & (frame.age > 60), 2, y)
    for name in ("rf", "gb", "xgb", "lgbm"):
        model = wrap(train(name, schema, frame, labels), schema)
        assert model.fast.kind == "forest" and model.classes == (0, 1, 2)
        x = schema.encode(frame)[:100]
        free = np.tile(np.arange(schema.d) % 2 == 1, (100, 1))
        who = np.repeat(np.arange(100), 9)
        rows = x[who].copy()
        rows[:, 1] += np.tile(np.linspace(-900, 900, 9), 100)
        assert np.array_equal(model.specialise(x, free).outputs(who, rows), model.outputs(rows))


def test_without_numba_the_same_bits(forest, frame, monkeypatch):
    x = forest.schema.encode(frame)
    fast = forest.outputs(x)
    monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    assert kernels.jit() is None
    assert np.array_equal(forest.outputs(x), fast)
    assert np.array_equal(forest.outputs(x[5:6])[0], fast[5])


def boxes(
    schema: Schema, x: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, dict[int, np.ndarray]]:
    gone = np.isnan(x)
    width = np.where(np.isnan(x), 0, 0.15 * schema.span)
    low, high = np.clip(x - width, schema.low, schema.high), np.clip(x + width, schema.low, schema.high)
    levels = {}
    for j in np.flatnonzero(schema.has_levels):
        allowed = rng.random((len(x), int(schema.n_levels[j]))) < 0.5
        allowed[np.arange(len(x)), np.nan_to_num(x[:, j]).astype(int)] = True
        low[:, j], high[:, j] = 0, schema.n_levels[j] - 1
        levels[int(j)] = allowed
    low[gone], high[gone] = np.nan, np.nan
    return low, high, levels


@pytest.mark.parametrize("name", ["lr", "mlp", "rf", "gb", "xgb", "lgbm"])
@pytest.mark.parametrize("numba", [True, False])
def test_bounds_are_sound(name, numba, frame, trained, schema, monkeypatch):
    """Every row of a box lies within its bounds; a box of one row has that row's output as both bounds."""
    if not numba:
        monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    model = wrap(trained(name), schema)
    x = schema.encode(frame)[:60]
    rng = np.random.default_rng(3)
    low, high, levels = boxes(schema, x, rng)
    least, most = model.margin_bounds(low, high, levels)
    assert least.shape == most.shape == (60, 2)
    tight = np.inf
    for _ in range(40):
        z = low + (high - low) * rng.random(low.shape)
        for j, allowed in levels.items():
            weight = rng.random(allowed.shape) * allowed
            z[:, j] = np.where(np.isnan(low[:, j]), np.nan, weight.argmax(axis=1))
        out = model.outputs(z)
        assert (out >= least).all() and (out <= most).all()
        tight = min(tight, float((out - least).min()))
    assert np.isfinite(tight)
    least, most = model.margin_bounds(x, x)
    np.testing.assert_allclose(least, model.outputs(x), atol=1e-5)
    np.testing.assert_allclose(most, model.outputs(x), atol=1e-5)


def test_bounds_of_a_single_tree_are_exact(schema, frame, y):
    full = frame[["income", "age"]]
    small = Schema(tuple(schema[n] for n in ("income", "age")))
    model = wrap(make_pipeline("passthrough", DecisionTreeClassifier(max_depth=5)).fit(full, y), small)
    grid = np.stack(np.meshgrid(np.linspace(1000, 5000, 400), np.arange(18, 80)), axis=-1).reshape(-1, 2)
    out = model.outputs(grid)[:, 1]
    least, most = model.margin_bounds(np.array([[1000.0, 18.0]]), np.array([[5000.0, 79.0]]))
    assert least[0, 1] == pytest.approx(out.min(), abs=1e-9) and most[0, 1] == pytest.approx(
        out.max(), abs=1e-9
    )


def test_the_flat_forest_says_what_the_model_says(forest, frame):
    """Walk the public arrays by hand, as an exact solver would."""
    schema, flat = forest.schema, forest.forest
    x = schema.encode(frame)[:40]
    margin = np.tile(flat.base, (len(x), 1))
    for i, row in enumerate(x):
        for root in flat.roots:
            node = root
            while flat.feature[node] >= 0:
                value = row[flat.feature[node]]
                if flat.level_set[node] >= 0:
                    level = schema.n_levels[flat.feature[node]] if np.isnan(value) else int(value)
                    left = flat.left_levels[flat.level_set[node], level]
                elif np.isnan(value):
                    left = flat.missing_left[node]
                else:
                    left = value <= flat.threshold[node]
                node = flat.left[node] if left else flat.right[node]
            margin[i] += flat.scale * flat.value[flat.leaf[node]]
    p = margin[:, 0] if flat.link == "identity" else 1 / (1 + np.exp(-margin[:, 0]))
    np.testing.assert_allclose(p, forest.outputs(x)[:, 1], atol=1e-12)


def test_a_forest_that_was_let_go_of_is_read_again_alike(forest, frame):
    before, x = forest.forest, forest.schema.encode(frame)[:40]
    outputs = forest.outputs(x)
    forest.forget_inside()
    assert "flat" not in vars(forest.fast)
    np.testing.assert_array_equal(forest.outputs(x), outputs)
    again = forest.forest
    assert again is not before and forest.forest is again
    for name, value in vars(before).items():
        np.testing.assert_array_equal(getattr(again, name), value, err_msg=name)


def test_missing_values_take_the_learned_side(schema, frame, y):
    for head in (
        HistGradientBoostingClassifier(max_iter=9),
        DecisionTreeClassifier(max_depth=5, random_state=0),
    ):
        own = ColumnTransformer([("numbers", "passthrough", ["debt", "income"])])
        model = make_pipeline(own, head).fit(frame, y)
        wrapped = wrap(model, schema)
        assert wrapped.fast.kind == "forest", wrapped.notes
        x = schema.encode(frame)
        x[::2, schema.index("debt")] = np.nan
        np.testing.assert_allclose(wrapped.outputs(x), wrapped.native(x)[0], atol=1e-12)


def test_boosting_from_another_estimator_stays_native(full, y, full_schema):
    x = full_schema.encode(full)
    own = GradientBoostingClassifier(n_estimators=5, init=DecisionTreeClassifier(max_depth=2)).fit(x, y)
    wrapped = wrap(own, full_schema)
    assert wrapped.forest is None and wrapped.fast.kind == "generic"
    np.testing.assert_allclose(wrapped.outputs(x), own.predict_proba(x), atol=1e-12)
