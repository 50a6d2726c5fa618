"""gradual-construction: the first mask of a line, compositions that look accepted, and few features."""

from __future__ import annotations

import numpy as np

import wayforward as wf
from wayforward.testing import MethodContract


class TestGradualConstruction(MethodContract):
    method = "gradual-construction"
    parameters = {"most": 6, "steps": 12}
    kinds = ("linear", "forest", "network")
    finds = 0.5
    people = 12


def softmax(weight):
    """A softmax over pixels as a function of images."""

    def probability(images):
        z = images.reshape(len(images), -1) @ weight.T
        e = np.exp(z - z.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return probability


def test_the_first_mask_is_where_the_weights_of_the_two_classes_differ_most():
    """Jung et al. (2022): on a linear softmax the pixel with the largest |w_t - w_c|."""
    rng = np.random.default_rng(1)
    weight = 3 * rng.normal(size=(3, 9))
    weight -= weight.mean(1, keepdims=True)  # no class is ahead of the others everywhere
    images = rng.uniform(0.4, 0.6, (60, 3, 3))
    now = softmax(weight)(images).argmax(1)
    wanted = int(np.bincount(now, minlength=3).argmin())
    asked = wf.ImageProblem(softmax(weight), images, favourable=wanted, units="pixels", span=(0, 1))
    refused = now != wanted
    got = asked.recommend(images[refused], "gradual-construction", most=1, l2=0.001, steps=40)
    own = now[refused]
    found = np.flatnonzero(got.recourse.found[:, 0])
    assert len(found) >= 5
    for i in found:
        assert got.changed(int(i)) == [np.abs(weight[wanted] - weight[own[i]]).argmax()]


def test_an_option_goes_towards_the_scores_of_the_accepted_and_not_only_over_the_line():
    rng = np.random.default_rng(2)
    x = rng.random((200, 4))
    schema = wf.Schema(tuple(wf.Feature(name=f"f{j}", kind="real", low=0, high=1) for j in range(4)))
    model = wf.wrap(lambda rows: 1 / (1 + np.exp(-8 * (rows.sum(1) - 2))), schema)
    problem = wf.Problem(schema, model, wf.Target(1), data=x)
    some = x[x.sum(1) < 1.8][:20]
    near, far = (wf.recommend(problem, some, "gradual-construction", l2=l2) for l2 in (5.0, 0.001))
    both = near.found[:, 0] & far.found[:, 0]
    assert both.sum() >= 10 and far.score[both, 0].mean() > near.score[both, 0].mean()
