"""ibr: what a fresh probe reads off the latent space, where groups are led, and what every method must keep."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target
from wayforward.errors import MethodError, ProblemError
from wayforward.groups import Groups
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")

from wayforward.density.generative import load_generator, save_generator  # noqa: E402
from wayforward.methods.ibr import Ibr  # noqa: E402
from wayforward.problem.learned import fit_generator  # noqa: E402


class TestContract(MethodContract):
    method = "ibr"
    parameters = {"groups": "region", "epochs": 8}
    finds = 0.85


def people(n: int, g: int = 2, seed: int = 0, *, tie: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Four numbers and a job; two numbers and the job hang on the group as much as `tie` says."""
    rng = np.random.default_rng(seed)
    member, x = rng.integers(0, g, n), rng.normal(size=(n, 4))
    x[:, 0] += tie * (member - (g - 1) / 2) * 1.5
    x[:, 1] += tie * np.where(member == 0, -1, 0.5)
    job = rng.random(n) < np.where(member == 0, 0.45 - 0.25 * tie, 0.45 + 0.25 * tie)
    return np.c_[x, job], member


def asked(x: np.ndarray) -> Problem:
    schema = Schema(
        tuple(Feature(name=f"x{i}", kind="real", low=-8, high=8) for i in range(4))
        + (Feature(name="job", kind="binary", levels=(0, 1)),)
    )
    model = wf.wrap(
        lambda r: (r[:, 0] + r[:, 2] > 0.5).astype(np.int64), schema, output="label", classes=(0, 1)
    )
    return Problem(schema, model, Target(1), data=x)


def probe(z: np.ndarray, member: np.ndarray, test: np.ndarray, tests: np.ndarray) -> float:
    """Accuracy of a fresh classifier of the group, on other people."""
    from sklearn.linear_model import LogisticRegression

    return float(LogisticRegression(max_iter=500).fit(z, member).score(test, tests))


@pytest.mark.parametrize("g", [2, 3])
def test_a_fresh_probe_reads_the_group_off_a_plain_model_and_not_off_this_one(g):
    """Accuracy on z at most the base rate and 3 points; a plain conditional model is clearly above.

    Gao & Lakkaraju (2023), ICML, section 5.2 and Corollary 5.3.
    """
    x, member = people(2000, g)
    test, tests = people(2000, g, seed=1)
    problem, base = asked(x), np.bincount(tests).max() / len(tests)
    plain = fit_generator("cvae", problem)
    blind = Ibr(groups=Groups("side", tuple("abc"[:g]), member)).fit(problem).generator_
    read = [probe(m.encode(x).numpy(), member, m.encode(test).numpy(), tests) for m in (plain, blind)]
    assert read[0] > base + 0.3
    assert read[1] <= base + 0.03
    decoded = blind.rows(blind.encode(test), test)
    apart = decoded[tests == g - 1, 0].mean() - decoded[tests == 0, 0].mean()
    assert abs(apart) < 0.15  # and what is decoded does not tell it either
    assert np.corrcoef(decoded[:, 2], test[:, 2])[0, 1] > 0.9  # while what is no business of groups is kept


def test_where_nothing_depends_on_the_group_nothing_is_lost():
    """With x independent of m there is nothing to read: the bound is that of the plain model.

    Gao & Lakkaraju (2023), ICML, Theorem 5.2.
    """
    x, member = people(2000, tie=0.0)
    problem = asked(x)
    plain, blind = fit_generator("cvae", problem), fit_generator("ibr", problem, labels=member)
    assert blind.report.bound > plain.report.bound - 0.3


def test_both_groups_are_led_to_the_same_place():
    x, member = people(1500)
    problem = asked(x)
    groups = Groups("side", ("a", "b"), member)
    no = np.flatnonzero(~problem.reached(x)[0])[:300]
    apart = []
    for name, more in (
        ("c-chvae", {"shrink": False, "partial": 0.0, "further": 0}),
        ("ibr", {"groups": groups}),
    ):
        got = wf.recommend(problem, x[no], method=name, **more)
        assert got.found.mean() > 0.95
        apart.append(
            abs(np.subtract(*(got.after[(member[no] == i) & got.found[:, 0], 0, 1].mean() for i in (0, 1))))
        )
    assert apart[1] < 0.3 * apart[0]


def test_the_attribute_is_neither_seen_nor_made():
    it = case("network", "independent", 0, 24)
    model = Ibr(groups="region", epochs=4).fit(it.problem).generator_
    j = it.problem.schema.index("region")
    assert model.coding.hidden[j]
    assert not model.coding.made[j]
    x = it.x.copy()
    x[:, j] = (x[:, j] + 1) % 3
    assert torch.equal(model.encode(x), model.encode(it.x))
    assert (model.rows(model.encode(x), x)[:, j] == x[:, j]).all()


def test_a_saved_model_is_the_same(tmp_path):
    it = case("network", "independent", 0, 24)
    model = Ibr(groups="region", epochs=4).fit(it.problem).generator_
    read = load_generator(save_generator(tmp_path / "blind", model), it.problem.schema)
    assert torch.equal(read.encode(it.x), model.encode(it.x))
    got = Ibr(generator=read).fit(it.problem).recommend(it.x)
    assert got.found[it.refused].mean() > 0.8


def test_people_without_a_label_teach_nothing():
    x, member = people(400)
    problem = asked(x)
    known = np.where(np.arange(400) < 200, member, -1)
    some = fit_generator("ibr", problem, labels=known, epochs=3)
    assert some.report.rows + some.report.held_out == 200


@pytest.mark.parametrize(
    ("parameters", "words"), [({"beta": -1}, "beta=-1"), ({"adv": "both"}, "entropy, loglik")]
)
def test_settings_that_cannot_be_are_told(parameters, words):
    with pytest.raises(MethodError, match=words):
        Ibr(**parameters)


def test_it_must_know_the_groups():
    x, _ = people(200)
    with pytest.raises(ProblemError, match="no feature is sensitive"):
        Ibr().fit(asked(x))
    with pytest.raises(MethodError, match="needs labels"):
        fit_generator("ibr", asked(x))
