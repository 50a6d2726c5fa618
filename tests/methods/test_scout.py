"""scout: the fixture of the discriminant map, attributions of a line, and answers where units allow."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.methods.scout import Attributions, discriminant
from wayforward.testing import MethodContract

torch = pytest.importorskip("torch")


class TestScout(MethodContract):
    method = "scout"
    kinds = ("linear", "network")
    worlds = ("independent",)
    finds = 0.9
    people = 12


def test_the_discriminant_map():
    """Wang & Vasconcelos (2020): D = q(y*) (max q(yc) - q(yc)) q(s)."""
    one = discriminant(np.array([[0.2, 0.9, 0.1]]), np.array([[0.8, 0.1, 0.1]]), np.array([[1.0, 1.0, 0.0]]))
    np.testing.assert_allclose(one, [[0.0, 0.63, 0.0]], atol=1e-12)


def test_attributions_of_a_line_are_weights_times_differences():
    """Three classes of a softmax: slope times what would change, nought where that is below nought."""
    rng = np.random.default_rng(0)
    images, weight = rng.random((20, 2, 2)), rng.normal(size=(3, 4))
    layer = torch.nn.Linear(4, 3)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight))
        layer.bias.zero_()
    module = torch.nn.Sequential(torch.nn.Flatten(), layer).double()
    asked = wf.ImageProblem(module, images, favourable=2, units="pixels", span=(0, 1))
    problem = asked.problem(images[0])
    x = asked.rows(images)
    x = x[problem.model.native(x)[1] != 2][:5]
    people, value = problem.population(x), np.full((len(x), 4), 0.5)
    own, wanted, certain = Attributions(problem, "scout", device=None, span=np.ones(4))(people, value)
    best = (x @ weight.T)[:, :2].argmax(1)
    np.testing.assert_allclose(own, np.maximum((x - 0.5) * weight[best], 0), atol=1e-9)
    np.testing.assert_allclose(wanted, np.maximum((x - 0.5) * weight[2], 0), atol=1e-9)
    assert (certain >= 0).all() and certain.any()


def test_the_ranking_alone_may_end_without_an_answer_and_the_rest_is_searched():
    """Two pixels: to blank both says no, to blank the second alone says yes; the first tells more."""
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(2, 2)).double()
    with torch.no_grad():
        module[1].weight.copy_(torch.tensor([[1.0, 1.0], [3.5, 0.0]]))
        module[1].bias.copy_(torch.tensor([1.8, 0.0]))
    images = np.array([[[1.0, 1.0]], [[0.0, 0.0]]])
    from wayforward.modalities.image import Grid

    asked = wf.ImageProblem(module, images, favourable=1, units=Grid(1, 2), replace=0.0)
    got = asked.recommend(images[:1], "scout")
    assert got.changed(0) == [1]
    assert not asked.recommend(images[1:], "scout").recourse.found.any()
