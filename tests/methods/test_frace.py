"""frace: the residual network turns decisions, and leaves those nearly alone who have the wanted one already."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema
from wayforward.errors import MethodError
from wayforward.methods.frace import Frace
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")


class TestContract(MethodContract):
    method = "frace"
    parameters = {"epochs": 2, "width": 8, "layers": 1, "most": 60}
    finds = 0.7


def test_who_has_the_wanted_decision_is_left_nearly_alone(linear):
    """Wanted = present decision: moves within 5 % of the range on average; the other one: most decisions turn."""
    schema = Schema(tuple(Feature(name=name, kind="real", low=-4, high=4) for name in ("x0", "x1", "x2")))
    x = np.random.default_rng(0).normal(size=(400, 3)).clip(-4, 4)
    problem = linear(schema, 0, {"x0": 4.0, "x1": -8.0, "x2": 2.0}, data=x)
    trained = Frace(epochs=60, width=24, batch=64, rate=0.005).fit(problem)
    people = problem.population(x)
    own = np.where(problem.reached(x)[0], 1.0, -1.0)
    engine = trained.engine_
    same = engine.ends(people, people.free, own).move * engine.layout.span
    turned = x + engine.ends(people, people.free, -own).move * engine.layout.span
    assert np.abs(same).mean() < 0.05 * 8
    assert np.abs(turned - x).mean() > 2 * np.abs(same).mean()
    assert (np.where(problem.reached(turned)[0], 1.0, -1.0) == -own).mean() > 0.9


def test_the_critic_is_taught_slopes_of_one():
    """On a linear critic the penalty is 10 (|w| - 1)^2 and the rest a difference of means."""
    weight = torch.tensor([3.0, 4.0])
    made, real = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[2.0, 2.0], [0.0, 0.0]])

    def judge(rows):
        return (rows * weight).sum(2, keepdim=True)

    got = Frace._critic_loss(torch, judge, real, made, torch.full((2, 1), 0.3))
    assert float(got) == pytest.approx(3.5 - 7.0 + 10 * 16)


@pytest.mark.parametrize("kind", ["network", "forest"])
def test_nearly_everybody_whom_local_search_serves_is_served(kind):
    """Categories, directions and rules; a forest through its stand-in."""
    it = case(kind, "independent", 0, 60)
    some = it.x[it.refused]
    base = wf.recommend(it.problem, some)
    got = wf.recommend(it.problem, some, method=Frace(epochs=6, width=16, most=200))
    assert (base.found & got.found).sum() >= 0.95 * base.found.sum()


@pytest.mark.parametrize("wrong", [{"decides": 0.0}, {"rate": 0.0}, {"epochs": 0}])
def test_parameters_out_of_bounds_are_named(wrong):
    """One error each."""
    with pytest.raises(MethodError, match=next(iter(wrong))):
        Frace(**wrong)
