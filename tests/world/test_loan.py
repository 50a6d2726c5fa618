"""The loan world against the tensors that its authors released, and against its own moments."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from wayforward.errors import WorldError
from wayforward.world.loan import FEATURES, granted, label, loan

DATA = Path(os.environ.get("WAYFORWARD_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
SPLITS = [
    f"{folder}/{split}"
    for folder, splits in {
        "recourse": ("0_10000", "1_5000", "2_5000"),
        "clf": ("0_10000", "1_5000", "2_5000"),
        "causal_estimator": ("0_20000", "1_2500", "2_2500"),
    }.items()
    for split in splits
]


def released(split):
    path = DATA / "carma_loan" / f"{split}.npz"
    if not path.exists():
        pytest.skip(
            "the released loan tensors are not here; set WAYFORWARD_DATA to the folder that holds carma_loan"
        )
    file = np.load(path, allow_pickle=False)
    assert tuple(file["feature_names"]) == FEATURES
    return file["X"].astype(np.float64), file["U"].astype(np.float64), file["Y"]


@pytest.mark.parametrize("split", SPLITS)
def test_the_equations_give_the_released_people(split):
    x, u, _ = released(split)
    world = loan()
    # the tensors are float32, so the bound is relative to the largest number in a row's equations
    size = np.maximum(
        1.0, np.abs(np.concatenate([x, u, 0.01 * (x[:, 1:2] - 5) ** 2], axis=1)).max(1, keepdims=True)
    )
    assert (np.abs(world.predict(u) - x) <= 1e-6 * size).all()
    assert (np.abs(world.abduct(x) - u) <= 1e-6 * size).all()
    np.testing.assert_allclose(world.predict(world.abduct(x)), x, atol=1e-12)


@pytest.mark.parametrize("split", SPLITS)
def test_the_label_is_the_released_one(split):
    x, _, y = released(split)
    if split.startswith("causal_estimator"):  # labelled by the older rule, without the sign
        assert ((granted(x, "karimi") >= 0.5) == y).all()
        assert 0.3 < (label(x) != y).mean() < 0.4
    else:
        assert (label(x) == y).all()


def test_moments():
    """Moments of 100,000 draws, from the replication of CARMA's split."""
    world = loan()
    x = world.sample(100_000, rng=0)
    age, education, amount, duration, income, savings = x[:, 1:].T
    for values, mean, sd, slack in [
        (age, 0.0, 11.1, 0.1), (education, -0.06, 0.137, 0.002), (amount, 0.03, 2.77, 0.03),
        (duration, 0.03, 4.54, 0.05), (income, 0.50, 2.51, 0.02), (savings, -2.1, 5.57, 0.05),
    ]:  # fmt: skip
        assert values.mean() == pytest.approx(mean, abs=slack + 0.005)
        assert values.std() == pytest.approx(sd, abs=slack)
    assert x[:, 0].mean() == pytest.approx(0.5, abs=0.01) and set(x[:, 0]) == {0, 1}
    assert label(x).mean() == pytest.approx(0.5235, abs=0.004)
    assert world.log_density(x).mean() == pytest.approx(-13.49, abs=0.01)


def test_the_density_is_the_product_of_its_conditionals():
    from scipy import stats

    x = loan().sample(200, rng=1)
    g, a, e, amount, duration, income, savings = x.T
    share = e + 0.5
    u = np.log(share / (1 - share)) + 1 - 0.5 * g - 1 / (1 + np.exp(-0.1 * a))
    expected = (
        np.log(0.5)
        + stats.gamma(10, scale=3.5).logpdf(a + 35)
        + stats.norm(0, 0.5).logpdf(u) - np.log(share * (1 - share))
        + stats.norm(1 - 0.01 * (a - 5) ** 2 + 1 - g, 2).logpdf(amount)
        + stats.norm(-1 + 0.1 * a + 2 * (1 - g) + amount, 3).logpdf(duration)
        + stats.norm(-4 + 0.1 * (a + 35) + 2 * g + g * e, 2).logpdf(income)
        + stats.norm(-4 + 1.5 * np.where(income > 0, income, 0), 5).logpdf(savings)
    )  # fmt: skip
    np.testing.assert_allclose(loan().log_density(x), expected)


def test_the_graph():
    edges = {
        *("gender education", "age education", "gender loan_amount", "age loan_amount", "income savings"),
        *("gender loan_duration", "age loan_duration", "loan_amount loan_duration"),
        *("gender income", "age income", "education income"),
    }
    for variant in ("carma", "karimi"):
        assert {" ".join(edge) for edge in loan(variant).graph.edges} == edges


def test_a_higher_income_saves_more_only_above_zero():
    x = loan().sample(1000, rng=2)
    action = np.full_like(x, np.nan)
    action[:, 5] = np.abs(x[:, 5]) + 1
    after = loan().consequences(x, action)
    gain = 1.5 * (action[:, 5] - np.maximum(x[:, 5], 0))
    np.testing.assert_allclose(after[:, 6] - x[:, 6], gain)
    assert np.array_equal(after[:, :5], x[:, :5])


def test_the_original_variant_turns_gender_around_and_draws_its_label():
    carma, karimi = loan("carma").sample(50_000, rng=3), loan("karimi").sample(50_000, rng=3)

    def gap(x, j):
        return x[x[:, 0] == 1, j].mean() - x[x[:, 0] == 0, j].mean()

    assert gap(carma, 3) == pytest.approx(-1, abs=0.1) and gap(karimi, 3) == pytest.approx(1, abs=0.1)
    assert gap(carma, 4) == pytest.approx(-3, abs=0.2) and gap(karimi, 4) == pytest.approx(3, abs=0.2)
    y = label(karimi, "karimi", rng=0)
    assert y.mean() == pytest.approx(granted(karimi, "karimi").mean(), abs=0.01)
    assert np.array_equal(y, label(karimi, "karimi", rng=0)) and not np.array_equal(
        y, label(karimi, "karimi", rng=1)
    )


def test_errors():
    with pytest.raises(WorldError, match="no loan variant 'carmen'. Use 'carma' or 'karimi'"):
        loan("carmen")
    with pytest.raises(WorldError, match="drawn at random. Give rng"):
        label(np.zeros((2, 7)), "karimi")
    with pytest.raises(WorldError, match=r"shape \(2, 6\), but the loan world has 7"):
        granted(np.zeros((2, 6)))
