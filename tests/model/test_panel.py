"""Models asked together say what each says alone; what a model said is looked up, and never of another row."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.model import panel_outputs, train, wrap
from wayforward.problem import NextModel, Problem, Target

KINDS = ("gb", "mlp", "lr", "mixed")


@pytest.mark.parametrize("kind", KINDS)
def test_a_panel_says_what_each_model_says_alone(kind, frame, y, schema):
    kinds = ("gb", "lr", "mlp") if kind == "mixed" else (kind,) * 3
    models = [wrap(train(one, schema, frame, y, seed=seed), schema) for seed, one in enumerate(kinds)]
    x = schema.encode(frame)[:70]
    for model in models:
        model.counter.reset()
    together = panel_outputs(models, x)
    assert [(model.counter.rows, model.counter.calls) for model in models] == [(70, 1)] * 3
    for model, out in zip(models, together, strict=True):
        np.testing.assert_array_equal(out, model.outputs(x))
    assert panel_outputs(models, x[:0]).shape == (3, 0, 2)
    problem = Problem(schema, models[0], Target(1), data=frame)
    robust = NextModel(models, 0.9).fit(problem)
    people = problem.population(x)
    found = robust.score(people, np.arange(70), x, None, np.full(70, np.inf))
    alone = np.stack([target.score(model.outputs(x)) - slack for model, target, slack in robust._bound])
    np.testing.assert_array_equal(found, robust.left(alone))


def test_what_was_said_is_looked_up_and_rows_are_not_held(frame, y, schema):
    model, x = wrap(train("gb", schema, frame, y), schema), schema.encode(frame)[:40]
    out, label = model.native(x)
    model.remember()
    model.counter.reset()
    for rows, asked in ((x[:10], 10), (x[5:15], 15), (np.repeat(x[14:16], 2, axis=0), 16), (x[:16], 16)):
        found, labels = model.native(rows)
        assert model.counter.native_rows == asked  # what was seen before, or twice at once, is asked once
        places = [int(np.flatnonzero((np.nan_to_num(x) == np.nan_to_num(row)).all(1))[0]) for row in rows]
        np.testing.assert_array_equal(found, out[places])
        np.testing.assert_array_equal(labels, label[places])
    found[:] = -1  # an array of ours that somebody writes into changes nothing
    np.testing.assert_array_equal(model.native(x[:16])[0], out[:16])
    assert all(len(key) == 16 for key in model._memory._known)
    many = np.repeat(x, 2, axis=0)
    np.testing.assert_array_equal(model.native(many)[0], np.repeat(out, 2, axis=0))
    assert model.counter.native_rows == 16 + len(many)


def test_a_random_model_is_asked_every_time(schema, frame):
    rng = np.random.default_rng(0)
    model = wrap(lambda rows: rng.random(len(rows)), schema, classes=(0, 1), random=True)
    model.remember()
    model.counter.reset()
    x = schema.encode(frame)[:1]
    for _ in range(2):
        model.native(x)
    assert model.counter.native_calls == 2 * model.askings
