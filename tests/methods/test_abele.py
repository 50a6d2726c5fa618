"""abele: with a code that is the row itself it is lore; exemplars lie on both sides; its contract; digits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

import wayforward as wf
from wayforward.errors import MethodError
from wayforward.methods import method
from wayforward.modalities.image.sets import digits
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")

from wayforward.density.generative import Identity  # noqa: E402

QUICK = {"samples": 60, "generations": 1, "depth": 4, "epochs": 4}


class TestContract(MethodContract):
    method = "abele"
    parameters = QUICK
    finds = 0.9
    people = 8


def test_where_the_code_is_the_row_itself_it_is_lore():
    x = np.unique(np.random.default_rng(0).uniform(0, 10, (200, 3)), axis=0)
    names = ("z1", "z2", "z3")
    schema = wf.Schema(
        tuple(
            wf.Feature(name=name, kind="real", low=float(a), high=float(b))
            for name, a, b in zip(names, x.min(0), x.max(0), strict=True)
        )
    )
    model = wf.wrap(lambda rows: 1 / (1 + np.exp(20 - np.asarray(rows, dtype=float) @ [1, 2, 1])), schema)
    problem = wf.Problem(schema, model, wf.Target(1), data=x)
    given = {"samples": 120, "generations": 3, "depth": 5, "complete": False, "shrink": False}
    coded = method("abele", generator=Identity(schema, unit=1.0), rare=0.0, adopt="all", **given).fit(problem)
    plain = method("lore", **given).fit(problem)
    for one, other in zip(coded.rules(x[:40], 3), plain.rules(x[:40], 3), strict=True):
        assert one == other
    one, other = (made.recommend(x[:40], minimal=False) for made in (coded, plain))
    np.testing.assert_array_equal(one.found, other.found)
    np.testing.assert_allclose(one.action, other.action)


def test_exemplars_lie_on_both_sides_and_are_what_people_may_become():
    it = case("forest", "independent", 0, 40)
    x = it.x[it.refused]
    fitted = method("abele", samples=120, generations=2, epochs=8).fit(it.problem)
    shown = fitted.exemplars(it.x, 3)
    assert np.isnan(shown.like[~it.refused]).all() and np.isnan(shown.unlike[~it.refused]).all()
    like, unlike = shown.like[it.refused], shown.unlike[it.refused]
    there = [~np.isnan(rows).all(2) for rows in (like, unlike)]
    assert there[0].any(1).mean() > 0.7 and there[1].any(1).mean() > 0.5
    assert not it.problem.reached(like[there[0]])[0].any() and it.problem.reached(unlike[there[1]])[0].all()
    fixed = ~it.problem.schema.actionable
    for rows, some in ((like, there[0]), (unlike, there[1])):
        owner = np.nonzero(some)[0]
        np.testing.assert_array_equal(rows[some][:, fixed], x[owner][:, fixed])
    assert np.isfinite(shown.saliency[it.refused][there[0].any(1)]).all()
    alone = fitted.exemplars(x[3:4], 3)
    np.testing.assert_array_equal(alone.unlike[0], unlike[3])
    with pytest.raises(MethodError, match="k=0"):
        fitted.exemplars(x, 0)


def test_a_three_becomes_an_eight_that_the_autoencoder_can_draw():
    made = digits()
    images, labels = made.images[:900], made.labels[:900]
    network = MLPClassifier((24,), max_iter=400, random_state=0).fit(images.reshape(900, -1), labels)
    asked = wf.ImageProblem(network, images, favourable=8, units="pixels", span=made.span)
    threes = made.images[900:][made.labels[900:] == 3][:4]
    given = {"samples": 100, "generations": 2, "epochs": 15, "latent": 8}
    got = asked.recommend(threes, "abele", adopt="all", complete=False, minimal=False, **given)
    assert got.recourse.found[:, 0].mean() >= 0.75
    for i in np.flatnonzero(got.recourse.found[:, 0]):
        assert network.predict(got.after(i).reshape(1, -1))[0] == 8
    few = asked.recommend(threes, "abele", **given)
    assert (
        few.recourse.found.all()
        and (few.recourse.changed[:, 0].sum(-1) < got.recourse.changed[:, 0].sum(-1)).any()
    )
