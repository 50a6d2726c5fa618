"""What must hold for every wrapped model, whatever its library: a test class to inherit.

Example: ``class TestMine(ModelContract): access = Access.PROBABILITY``, and a method `train`.
"""

from __future__ import annotations

import pickle
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import pytest
from jaxtyping import Int, jaxtyped

from wayforward.errors import ModelError, UnsupportedModel
from wayforward.methods import method
from wayforward.model import Access, FlatForest, Model, wrap
from wayforward.model.fast import apply_link
from wayforward.model.verify import sample_rows, threshold_rows
from wayforward.problem import Problem, Target
from wayforward.schema import Schema
from wayforward.shapes import Outputs, People
from wayforward.testing.problems import random_labels, random_people, random_schema

LABELS: Any = Int[np.ndarray, " m"]


class ModelContract:
    """Inherit, train a model of the library, and these tests run on what `wrap` makes of it.

    access: what wrapping must find. options: given to `wrap`. task: 'regression' is trained on scores instead of
    labels. tolerance: how far the fast path may be from the model itself.
    """

    access: ClassVar[Access]
    options: ClassVar[dict[str, Any]] = {}
    task: ClassVar[str] = "classification"
    tolerance: ClassVar[float] = 1e-5

    # -- making --------------------------------------------------------------------------------------------

    def train(self, schema: Schema, x: People, y: np.ndarray) -> Any:
        """Return a model of the library for people x (n, d) in feature units and labels or scores y (n,)."""
        raise NotImplementedError

    def data(self) -> tuple[Schema, People, np.ndarray]:
        """Schema, people and labels: every kind of feature, no missing values. Override it for others."""
        rng = np.random.default_rng(11)
        schema = random_schema(rng, rules=False)
        x = random_people(schema, 300, rng)
        y, score = random_labels(schema, x)
        return schema, x, score if self.task == "regression" else y

    def wrapped(self) -> tuple[Model, People]:
        """The wrapped model, its counter at zero, and the people it was trained on; made once a class."""
        if "_made" not in type(self).__dict__:
            schema, x, y = self.data()
            options: dict[str, Any] = {"task": self.task} if self.task == "regression" else {}
            made = wrap(self.train(schema, x, y), schema, **options, **self.options)
            type(self)._made = made, x  # type: ignore[attr-defined]
        model, x = type(self).__dict__["_made"]
        model.counter.reset()
        return model, x

    def rows(self, m: int = 300) -> np.ndarray:
        """(m or more, d) random legal rows, and rows on the thresholds where there are any."""
        model, _ = self.wrapped()
        thresholds = model.thresholds()
        parts = [sample_rows(model.schema, m, seed=23, thresholds=thresholds)]
        if thresholds is not None:
            parts.append(threshold_rows(model.schema, thresholds, m // 3))
        return np.concatenate(parts)

    # -- outputs -------------------------------------------------------------------------------------------

    def test_shapes_are_those_of_every_signature(self) -> None:
        """m rows, one column a class, one label index a row; no rows give no outputs."""
        model, x = self.wrapped()
        with jaxtyped("context"):
            assert isinstance(model.outputs(x), Outputs)
            out, label = model.native(x)
            assert isinstance(out, Outputs)
            assert isinstance(label, LABELS)
        assert out.shape == (len(x), model.width) and len(label) == len(x)
        assert model.outputs(x[:0]).shape == (0, model.width) == model.native(x[:0])[0].shape

    def test_the_fast_path_agrees_with_the_model_itself(self) -> None:
        """On random legal rows and on both sides of every kind of threshold."""
        model, _ = self.wrapped()
        x = self.rows()
        np.testing.assert_allclose(
            model.outputs(x), model.native(x)[0], atol=self.tolerance, rtol=self.tolerance
        )

    def test_a_row_does_not_depend_on_its_batch(self) -> None:
        """Permuted, in small groups and alone: the same bits, by the fast path and by the model itself."""
        model, _ = self.wrapped()
        x = self.rows()
        out, (native, label) = model.outputs(x), model.native(x)
        order = np.random.default_rng(5).permutation(len(x))
        for who in (order, order[:7], order[:1]):
            np.testing.assert_array_equal(model.outputs(x[who]), out[who])
            np.testing.assert_array_equal(model.native(x[who])[0], native[who])
            np.testing.assert_array_equal(model.native(x[who])[1], label[who])

    def test_labels_follow_from_the_outputs_as_the_model_says(self) -> None:
        """Where one class is clearly ahead, also where a search asks for the label; class_index knows no other."""
        model, _ = self.wrapped()
        x = self.rows()
        out, label = model.native(x)
        assert model.task == self.task
        if model.task == "regression":
            assert model.classes == () and not label.any()
            return
        assert [model.class_index(c) for c in model.classes] == list(range(model.width))
        with pytest.raises(ModelError, match="knows no class"):
            model.class_index("no such class")
        for seen, shown in ((model, out), (model.by_label(), model.by_label().outputs(x))):
            clear = seen.decision.clear(shown, max(self.tolerance, 1e-6))
            assert clear.any() == seen.decision.by_output
            assert (seen.decision.label(shown) == label)[clear].all()

    def test_what_is_asked_is_counted(self) -> None:
        """Rows and calls, those of the model itself apart."""
        model, x = self.wrapped()
        model.outputs(x[:40])
        model.outputs(x[:2])
        model.native(x[:5])
        counter = model.counter
        assert (counter.rows, counter.calls, counter.native_rows, counter.native_calls) == (42, 2, 5, 1)

    def test_rows_that_no_model_may_see_are_refused(self) -> None:
        """A wrong shape, an infinite value, a value missing where none may be, a level that does not exist."""
        model, x = self.wrapped()
        schema = model.schema
        bad = [x[:, :-1], x[0]]
        for j, value in ((np.flatnonzero(~schema.has_levels), np.inf), (np.flatnonzero(~schema.missing), np.nan),
                         (np.flatnonzero(schema.has_levels), 99.0)):  # fmt: skip
            if len(j):
                bad.append(x[:3].copy())
                bad[-1][1, j[0]] = value
        for rows in bad:
            with pytest.raises(ModelError):
                model.outputs(rows)
            with pytest.raises(ModelError):
                model.native(rows)

    # -- access --------------------------------------------------------------------------------------------

    def test_access_is_what_it_says(self) -> None:
        """Labels only, probabilities, a network, or an inside that is shown; what needs more is refused."""
        model, _ = self.wrapped()
        assert model.access == self.access, model.notes
        out = model.outputs(self.rows())
        if model.task == "classification":
            np.testing.assert_allclose(out.sum(axis=1), 1.0, atol=1e-6)
            assert (out >= 0).all() and (out <= 1).all()
            if model.access == Access.LABEL:
                assert np.isin(out, (0.0, 1.0)).all()
        shown = any(form is not None for form in (model.linear, model.dense, model.forest))
        assert shown == (model.access == Access.WHITE_BOX)
        if model.access == Access.GRADIENT and find_spec("torch") is not None:
            assert model.network is not None
        for level in Access:
            if level <= model.access:
                model.needs(level, "a method")
            else:
                with pytest.raises(UnsupportedModel):
                    model.needs(level, "a method")

    def test_what_is_shown_of_it_is_the_model(self) -> None:
        """Outputs worked out from its linear score, its layers, its trees and its network are its outputs."""
        model, x = self.wrapped()
        expected = model.outputs(x[:60])
        if model.dense is not None:
            margin = model.dense.margin(x[:60])
            np.testing.assert_allclose(apply_link(margin, model.dense.link), expected, atol=1e-9)
            if model.linear is not None:
                np.testing.assert_allclose(model.linear.margin(x[:60]), margin, rtol=1e-9, atol=1e-9)
        if model.forest is not None:
            walked = np.stack([_walked(model.forest, row) for row in x[:60]])
            binary = model.forest.link == "identity" and model.task == "classification"
            out = apply_link(walked, "probability" if binary else model.forest.link)
            np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-9)
        network = model.network if find_spec("torch") is not None else None
        if network is not None:
            code = network.encode(x[:60])
            np.testing.assert_allclose(network.outputs(code).detach().numpy(), expected, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(network.decode(code).detach().numpy(), x[:60], rtol=1e-4, atol=1e-3)

    def test_nothing_changes_between_two_thresholds(self) -> None:
        """Where thresholds are known, legal values of a feature with none between them have the same outputs."""
        model, x = self.wrapped()
        schema = model.schema
        for j, edges in enumerate(model.thresholds() or []):
            if not len(edges):
                continue
            place = np.searchsorted(edges, x[:50, j])  # x <= v is told apart from x > v
            low, high = x[:50].copy(), x[:50].copy()
            low[:, j] = np.append(np.nextafter(schema.low[j], -np.inf), edges)[place]
            high[:, j] = np.append(edges, schema.high[j])[place]
            low[:, j] = np.floor(low[:, j]) + 1 if schema.integral[j] else np.nextafter(low[:, j], np.inf)
            high[:, j] = np.floor(high[:, j]) if schema.integral[j] else high[:, j]
            np.testing.assert_array_equal(model.outputs(low), model.outputs(high))

    def test_bounds_hold_for_every_row_of_a_box(self) -> None:
        """Boxes around people; a model without bounds says None."""
        model, x = self.wrapped()
        schema, rng = model.schema, np.random.default_rng(3)
        x = schema.snap(x[:40])
        reach = np.where(schema.has_levels, 1.0, np.round(0.1 * np.nan_to_num(schema.span)))
        top = np.where(schema.has_levels, schema.n_levels - 1.0, schema.high)
        low, high = np.maximum(x - reach, np.nan_to_num(schema.low)), np.minimum(x + reach, top)
        bounds = model.margin_bounds(low, high)
        if bounds is None:
            return
        for _ in range(30):
            row = schema.snap(low + rng.random(low.shape) * (high - low))
            inside = ((row >= low) & (row <= high) | np.isnan(row)).all(axis=1)
            out = model.outputs(row[inside])
            assert (out >= bounds[0][inside]).all() and (out <= bounds[1][inside]).all()

    def test_proofs_hold_for_the_model_itself(self) -> None:
        """What it gives lies within `box_bounds` in its own precision; in a constant box the same bits."""
        model, x = self.wrapped()
        schema, rng = model.schema, np.random.default_rng(5)
        x = schema.snap(x[:40])
        free = rng.random(x.shape) < 0.3
        top = np.where(schema.has_levels, schema.n_levels - 1.0, schema.high)
        low = np.where(free & np.isfinite(schema.low), np.fmin(schema.low, x), x)
        high = np.where(free & np.isfinite(top), np.fmax(top, x), x)
        bounds = model.box_bounds(low, high)
        assert (bounds is not None) == model.bounded
        if bounds is None:
            return
        first = model.native(x)[0]
        for _ in range(10):
            row = schema.snap(low + rng.random(low.shape) * (high - low))
            out = model.native(row)[0]
            assert (out >= bounds.least).all() and (out <= bounds.most).all()
            np.testing.assert_array_equal(out[bounds.constant], first[bounds.constant])
        for i in (0, 7):  # the same for a box alone
            alone = model.box_bounds(low[[i]], high[[i]])
            assert alone is not None
            np.testing.assert_array_equal(alone.most[0], bounds.most[i])

    # -- in use --------------------------------------------------------------------------------------------

    def test_a_model_narrowed_to_people_gives_the_same_bits(self) -> None:
        """However much of each person is frozen."""
        model, x = self.wrapped()
        rng = np.random.default_rng(4)
        free = rng.random((50, model.schema.d)) < 0.4
        who = np.repeat(np.arange(50), 60)
        rows = np.where(free[who], x[rng.integers(0, len(x), len(who))], x[who])
        scorer = model.specialise(x[:50], free)
        for some in (slice(0, 1), slice(None), rng.permutation(len(who))):
            np.testing.assert_array_equal(scorer.outputs(who[some], rows[some]), model.outputs(rows[some]))

    def test_it_answers_the_same_in_another_process(self) -> None:
        """Pickled and read again: the same bits by the fast path and by the model itself, the same views."""
        model, _ = self.wrapped()
        there, x = pickle.loads(pickle.dumps(model)), self.rows()
        np.testing.assert_array_equal(there.outputs(x), model.outputs(x))
        for mine, other in zip(model.native(x), there.native(x), strict=True):
            np.testing.assert_array_equal(mine, other)
        assert (there.access, there.classes, there.name, there.notes) == (
            model.access, model.classes, model.name, model.notes,
        )  # fmt: skip
        for view in ("linear", "dense", "forest"):
            assert (getattr(there, view) is None) == (getattr(model, view) is None)

    def test_a_method_finds_plans_that_the_model_itself_accepts(self) -> None:
        """Local search on its labels or values, judged by the model itself."""
        model, x = self.wrapped()
        target = (
            Target(favourable=model.classes[-1])
            if model.classes
            else Target(interval=(_upper(model, x), None))
        )
        problem = Problem(model.schema, model, target, data=x)
        got = method("local-search").fit(problem).recommend(x[:12], 1, seed=1)
        assert (got.found[:, 0] & ~got.accepted).any()
        assert problem.reached(got.after[got.found])[0].all()


def _upper(model: Model, x: People) -> float:
    return float(np.quantile(model.native(x)[0], 0.6))


def _walked(forest: FlatForest, row: np.ndarray) -> np.ndarray:
    """(q,) margin of one row, walked down node by node."""
    total = np.zeros(forest.value.shape[1])
    for node in forest.roots:
        while forest.feature[node] >= 0:
            value = row[forest.feature[node]]
            if forest.level_set[node] >= 0:
                allowed = forest.left_levels[forest.level_set[node]]
                left = allowed[-1 if np.isnan(value) else int(value)]
            else:
                left = forest.missing_left[node] if np.isnan(value) else value <= forest.threshold[node]
            node = forest.left[node] if left else forest.right[node]
        total += forest.value[forest.leaf[node]]
    return np.asarray(forest.base + forest.scale * total)
