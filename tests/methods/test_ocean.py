"""ocean on three stumps, against brute force over every row, with rules, wishes and each cost, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MissingExtra, ProblemError, UnsupportedModel
from wayforward.model import kernels
from wayforward.problem import IsolationForest, LpMix, PercentileShift
from wayforward.testing import MethodContract
from wayforward.testing.small_forests import EVERY, RULES, least_cost, refused, wished

pytest.importorskip("sklearn")
pytestmark = pytest.mark.skipif(kernels.jit() is None, reason="needs numba")

L1, L2, PEAK = LpMix(l1=1.0), LpMix(l1=0.0, l2=1.0), LpMix(l1=0.0, linf=1.0)
COUNT, MIX = LpMix(l0=1.0, l1=0.0), LpMix(l0=0.3, l1=0.5, l2_squared=1.0)


class TestContract(MethodContract):
    method = "ocean"
    kinds = ("forest",)
    finds = 0.8


@pytest.mark.parametrize(
    ("cost", "least", "to"),
    [(COUNT, 1.0, None), (L1, 4.5, (4.5, 0.0)), (L2, 13**0.5, (2.0, 3.0)), (PEAK, 3.0, (2.0, 3.0))],
    ids=["l0", "l1", "l2", "linf"],
)
def test_three_stumps(three_stumps, cost, least, to):
    """F-FOR3: 1, 4.5, 3.606, 3; ranges are 10 wide, so that what is counted in them is a tenth."""
    problem = three_stumps(cost=cost)
    got = wf.recommend(problem, np.zeros((1, 2)), "ocean", certify=True)
    unit = 1 if cost is COUNT else 10
    assert unit * got.cost[0, 0] == pytest.approx(least, abs=1e-5)
    assert unit * got.bound[0, 0] == pytest.approx(least, abs=1e-5) and got.proved_cheapest[0]
    if to is not None:
        np.testing.assert_allclose(got.after[0, 0], to, atol=1e-5)


def later(problem, people, got, i):
    """The least cost (k,) of rows of person i that do not change all that an option before changes; inf for none."""
    yes = EVERY[problem.reached(EVERY)[0]]
    who, out = np.full(len(yes), i), []
    action = np.where(problem.schema.differs(yes, people.x[who]), yes, np.nan)
    good = people.allowed(who, action, yes) & ~np.isnan(action).all(1)
    cost, acts = people.cost(who[good], action[good]), ~np.isnan(action[good])
    for option in range(got.k):
        out.append(cost.min(initial=np.inf))
        if not got.found[i, option]:
            break
        more = acts[:, ~np.isnan(got.action[i, option])].all(1)
        cost, acts = cost[~more], acts[~more]
    return np.array(out)


@pytest.mark.parametrize("cost", [L1, L2, PEAK, MIX], ids=["l1", "l2", "linf", "mix"])
@pytest.mark.parametrize("model", ["rf", "gb"])
def test_it_finds_what_trying_everything_finds(model, cost):
    for seed in (0, 1):
        problem, x = refused(model, seed, RULES[3 + seed], cost=cost)
        wishes = wished(problem.schema, x, seed)
        people = problem.population(x, wishes)
        got, best = (
            wf.recommend(problem, x, "ocean", k=3, preferences=wishes, minimal=False),
            least_cost(problem, people),
        )
        np.testing.assert_allclose(got.cost[:, 0], best, rtol=1e-9)
        none = [outcome.name == "NONE_EXISTS" for outcome in got.outcome[:, 0]]
        np.testing.assert_array_equal(none, np.isinf(best))
        for i in np.flatnonzero(
            got.found[:, 0] & (cost is not PEAK)
        ):  # where the greatest counts, most are equal
            least = later(problem, people, got, i)
            np.testing.assert_allclose(got.cost[i, : len(least)], least, rtol=1e-9)


@pytest.mark.parametrize("cost", [L1, L2], ids=["l1", "l2"])
@pytest.mark.parametrize("model", ["rf", "gb"])
def test_the_cheapest_that_no_isolation_forest_singles_out(model, cost):
    """As in the published method: a constraint, equal to trying everything, never cheaper, with proofs of none."""
    dearer = nobody = 0
    for seed in (0, 1):
        ask = IsolationForest(quantile=0.5, trees=20, sample=64, strict=True)
        problem, x = refused(model, seed, RULES[3 * seed], cost=cost, plausibility=ask)
        wishes = wished(problem.schema, x, seed)
        best = least_cost(problem, problem.population(x, wishes))
        got = wf.recommend(problem, x, "ocean", k=2, preferences=wishes, minimal=False, certify=True)
        np.testing.assert_allclose(got.cost[:, 0], best, rtol=1e-9)
        np.testing.assert_allclose(got.bound[np.isfinite(best), 0], best[np.isfinite(best)], rtol=1e-6)
        none = [outcome.name == "NONE_EXISTS" for outcome in got.outcome[:, 0]]
        np.testing.assert_array_equal(none, np.isinf(best))
        assert problem.plausibility.holds(x, got.after)[got.found].all()
        plain = wf.recommend(problem.asking_no_more(), x, "ocean", preferences=wishes, minimal=False).cost[
            :, 0
        ]
        assert (best >= plain * (1 - 1e-9)).all()
        dearer, nobody = dearer + (best > plain * 1.001).sum(), nobody + np.isinf(best).sum()
    assert dearer > 5 and nobody > 0


def test_it_says_what_it_is_not_for(three_stumps):
    with pytest.raises(UnsupportedModel, match="walks through trees"):
        wf.method("ocean").fit(refused("lr", 0, ())[0])
    with pytest.raises(ProblemError, match="LpMix"):
        wf.method("ocean").fit(three_stumps(cost=PercentileShift()))


def test_without_numba_it_says_what_is_missing(three_stumps, monkeypatch):
    monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    with pytest.raises(MissingExtra, match="'ocean' needs numba, which WAYFORWARD_NO_NUMBA"):
        wf.method("ocean").fit(three_stumps(cost=L1))
    monkeypatch.delenv("WAYFORWARD_NO_NUMBA")
    monkeypatch.setattr(kernels, "_present", lambda: False)
    with pytest.raises(MissingExtra, match=r"pip install 'wayforward\[fast\]'"):
        wf.method("ocean").fit(three_stumps(cost=L1))


def test_few_boxes_prove_little_and_claim_nothing():
    problem, x = refused("rf", 0, RULES[3])
    few = wf.recommend(problem, x, "ocean", boxes=1)
    whole = wf.recommend(problem, x, "ocean")
    assert few.found[:, 0].sum() < whole.found[:, 0].sum()
    assert (few.cost[few.found] == whole.cost[few.found]).all()


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize("cost", [L1, L2, PEAK, COUNT, MIX], ids=["l1", "l2", "linf", "l0", "mix"])
@pytest.mark.parametrize("model", ["rf", "gb"])
def test_two_hundred_models_against_trying_everything(model, cost):
    """Twenty seeds for each model and cost, every set of rules, wishes in half of them: cost, bound, proofs of none."""
    people = 0
    for seed in range(20):
        problem, x = refused(model, seed, RULES[seed % len(RULES)], cost=cost)
        wishes = wished(problem.schema, x, seed) if seed % 4 < 2 else None
        best = least_cost(problem, problem.population(x, wishes))
        got = wf.recommend(problem, x, "ocean", preferences=wishes, minimal=False, certify=True)
        np.testing.assert_allclose(got.cost[:, 0], best, rtol=1e-9)
        none = [outcome.name == "NONE_EXISTS" for outcome in got.outcome[:, 0]]
        np.testing.assert_array_equal(none, np.isinf(best))
        there = np.isfinite(best)
        assert (got.bound[there, 0] <= best[there] * (1 + 1e-9)).all()
        np.testing.assert_allclose(got.bound[there, 0], best[there], rtol=1e-6)
        people += len(x)
    assert people == 480
