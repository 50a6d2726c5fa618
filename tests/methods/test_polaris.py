"""polaris on an absolute value and a line, on small networks whose boxes are tried whole, and its contract."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import UnsupportedModel
from wayforward.methods.engines.exact.linear_pieces import LinearPieces
from wayforward.methods.engines.exact.relaxed_boxes import RelaxedBoxes
from wayforward.problem import LpMix
from wayforward.testing import MethodContract
from wayforward.testing.small_forests import EVERY, RULES, refused, wished

pytest.importorskip("sklearn")

L1 = LpMix(l1=1.0)


class TestContract(MethodContract):
    method = "polaris"
    parameters = {"programs": 4, "seeds": 1}
    kinds = ("linear", "network")
    finds = 0.7
    people = 8


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stable", [0.0, 0.01, 0.1])
def test_two_units_that_make_an_absolute_value(absolute_value, stable):
    """F-RELU: .5, and as much more as a number that is moved may be missed; every vertex of both boxes is a yes."""
    problem = absolute_value(L1)
    got = wf.recommend(problem, np.zeros((1, 2)), "polaris", stable=stable)
    acts = ~np.isnan(got.action[0, 0])
    assert acts.sum() == 1  # to move the other one as well would have to allow for its errors, too
    assert 4 * got.cost[0, 0] == pytest.approx(0.5 + 4 * stable, rel=1e-5)
    grown, near = got.regions(), np.where(acts, 4 * stable, 0.0)
    for low, high in ((got.after[0, 0] - near, got.after[0, 0] + near), (grown.low[0, 0], grown.high[0, 0])):
        ends = np.where(acts, [low, high], 0.0).T
        assert problem.reached(np.array(list(product(*ends))))[0].all()
    assert grown.proved[0, 0]


def test_a_piece_is_the_network_where_its_units_are_on():
    problem, x = refused("mlp", 1, ())
    boxes = RelaxedBoxes.of(problem)
    free = np.flatnonzero(~problem.schema.has_levels)
    for row in x[:6]:
        pieces = LinearPieces(boxes.net, row, free)
        lines = pieces.lines(pieces.pattern(row[free]))
        want = boxes.net.margin(boxes.net.base_of(row[None]), row[None])[0]
        assert lines.gain @ row[free] + lines.score == pytest.approx(want, abs=1e-9)
        np.testing.assert_array_equal(lines.slope @ row[free] + lines.start > 0, pieces.pattern(row[free]))


@pytest.mark.parametrize("model", ["lr", "mlp"])
def test_every_row_of_the_box_is_an_option(model):
    """On the lattice of all rows, with rules and wishes: boxes of one step to either side of what is set."""
    boxes = 0
    for seed, rules in ((0, RULES[1]), (2, RULES[2])):
        problem, x = refused(model, seed, rules, cost=L1)
        wishes = wished(problem.schema, x, seed)
        got = wf.recommend(problem, x, "polaris", preferences=wishes, stable=0.25)
        people, numbers = problem.population(x, wishes), ~problem.schema.has_levels
        for i in np.flatnonzero(got.found[:, 0]):
            acts, after = ~np.isnan(got.action[i, 0]), got.after[i, 0]
            up = np.where(after > x[i], 1.0, -1.0)
            inside = np.abs(EVERY - after) <= np.where(acts & numbers, 1.0, 0.0)
            inside &= ~(acts & numbers) | ((EVERY - x[i]) * up > 0)  # still the same act
            rows = EVERY[inside.all(1)]
            who = np.full(len(rows), i)
            legal = ((rows >= people.least[who]) & (rows <= people.greatest[who]) | ~numbers).all(1)
            rows, who = rows[legal], who[legal]
            assert (
                problem.reached(rows)[0].all()
                and people.allowed(who, np.where(acts, rows, np.nan), rows).all()
            )
            boxes += len(rows) > 1
    assert boxes > 5


def test_it_says_what_it_is_not_for():
    with pytest.raises(UnsupportedModel, match="linear pieces"):
        wf.method("polaris").fit(refused("rf", 0, ())[0])


def test_no_act_can_be_left_out_of_an_option_with_its_box():
    """Of a line, each option less one act: it is a no, or a point of the box that is left is one."""
    problem, x = refused("lr", 3, ())
    stable = 0.02
    padded, got = (
        wf.recommend(problem, x[:12], "polaris", k=4, stable=stable, minimal=minimal)
        for minimal in (False, None)
    )

    def spare(answer):
        out = 0
        near = np.where(problem.schema.has_levels, 0.0, stable * problem.schema.span)
        for i, o in zip(*np.nonzero(answer.found), strict=True):
            acts = np.flatnonzero(~np.isnan(answer.action[i, o]))
            for act in acts if len(acts) > 1 else ():
                less = answer.action[i, o].copy()
                less[act] = np.nan
                row = np.where(np.isnan(less), answer.x[i], less)
                wide = np.where(np.isnan(less), 0.0, near)
                ends = np.array(list(product(*np.stack([row - wide, row + wide], 1))))
                out += bool(problem.reached(problem.schema.snap(np.unique(ends, axis=0)))[0].all())
        return out

    assert got.found[:, 0].any()
    assert spare(got) == 0
    assert spare(padded) > 0
