"""Evaluation where acting on one thing moves another: the acts are played out, the profile must follow."""

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.evaluate import evaluate, evaluate_rows
from wayforward.model.base import Access, Model
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.recourse import Outcome, Recourse
from wayforward.schema import Feature, Schema
from wayforward.world import SCM

NAN = np.nan
SCHEMA = Schema(
    (
        Feature(name="salary", kind="real", low=0, high=200_000, unit="USD"),
        Feature(name="savings", kind="real", low=0, high=200_000, unit="USD"),
    )
)
X = np.array([[75_000.0, 25_000.0]])


class Loan(Model):
    """Yes where salary + 5 * savings >= 225,000: the loan example of arXiv:2002.06278, section 2."""

    task, classes, access, name = "classification", (0, 1), Access.PROBABILITY, "Loan"

    def __init__(self, schema):
        super().__init__()
        self.schema = schema

    def _outputs(self, x):
        p = 1 / (1 + np.exp(-(x[:, 0] + 5 * x[:, 1] - 225_000) / 10_000))
        return np.stack([1 - p, p], 1)

    def _native(self, x):
        return self._outputs(x), (x[:, 0] + 5 * x[:, 1] >= 225_000 - 1e-6).astype(np.int64)


def world(share):
    return SCM({"salary": "u", "savings": f"{share} * salary + u"})


def loan(share=0.3):
    return Problem(SCHEMA, Loan(SCHEMA), Target(favourable=1), world=world(share))


def claim(action, after):
    action, after = np.array([[action]], dtype=float), np.array([[after]], dtype=float)
    return Recourse(
        schema=SCHEMA,
        x=X,
        action=action,
        after=after,
        cost=np.zeros((1, 1)),
        score=np.ones((1, 1)),
        outcome=np.full((1, 1), Outcome.FOUND, dtype=object),
        seconds=np.zeros(1),
    )


def test_the_published_raise_that_feeds_savings_is_usable():
    """A raise to 85,000 lifts savings to 28,000 where a person saves .3 of it, and that suffices."""
    got = evaluate(claim([85_000, NAN], [85_000, 28_000]), loan())
    assert got.usable == 1.0
    assert got["acted"].value == 1 and got["changed_downstream"].value == 1
    # the cost is that of the act, the distance that of the whole change: never mixed
    assert got.cost == pytest.approx(10_000 / 200_000)
    assert got.cost_l1_range == pytest.approx(13_000 / 200_000) and got.cost_l0 == 2


def test_a_profile_that_forgets_what_follows_is_not_usable():
    got = evaluate(claim([100_000, NAN], [100_000, 25_000]), loan())
    assert got.validity == 1.0 and got["follows"].value == 0.0 and got.usable == 0.0


def test_holding_savings_while_salary_rises_is_an_act():
    got = evaluate(claim([100_000, 25_000], [100_000, 25_000]), loan())
    assert got.usable == 1.0 and got["acted"].value == 2 and got["changed_downstream"].value == 0


def test_a_plain_row_holds_what_it_changes_and_can_be_replayed():
    after = np.array([[85_000.0, 25_000.0]])  # a tool that knows no world: salary alone, savings forgotten
    row = evaluate_rows(X, after, loan())
    assert row["follows"].value == 0.0 and row.usable == 0.0
    replayed = evaluate_rows(X, after, loan(), replay=True)
    assert replayed.usable == 1.0 and replayed.people["changed_downstream"][0] == 1


def test_validity_in_the_true_world_counts_what_really_happens():
    """The problem believes that savings follow; in truth they do not, and the raise is too small."""
    got = evaluate(claim([85_000, NAN], [85_000, 28_000]), loan(), true_world=world(0.0))
    assert got.usable == 1.0 and got["validity_true_world"].value == 0.0
    assert (
        evaluate(claim([85_000, NAN], [85_000, 28_000]), loan(), true_world=world(0.3))[
            "validity_true_world"
        ].value
        == 1.0
    )


def test_redundancy_takes_an_act_back_with_its_consequences():
    enough_twice = claim([100_000, 35_000], [100_000, 35_000])
    got = evaluate(enough_twice, loan())
    # either act alone: a raise to 100,000 brings savings of 32,500; savings of 35,000 alone give 250,000
    assert got["redundancy"].value == 2.0


def test_a_world_says_whether_people_become_less_likely():
    """density= takes a world, bound or not, and "world" for the problem's own; salary is Normal(70,000, 10,000)."""
    likely = SCM(
        {"salary": "u", "savings": "0.3 * salary + u"},
        {"salary": "Normal(70000, 10000)", "savings": "Normal(0, 5000)"},
    )
    problem = Problem(SCHEMA, Loan(SCHEMA), Target(favourable=1), world=likely)
    got = evaluate(claim([85_000, NAN], [85_000, 28_000]), problem, density=likely)
    assert got["density_at_least"].value == 0.0  # 1.5 standard deviations after, 0.5 before
    assert got["density_gain"].value == pytest.approx(-(1.5**2 - 0.5**2) / 2)
    same = evaluate(claim([85_000, NAN], [85_000, 28_000]), problem, density="world")
    assert same["density_gain"].value == got["density_gain"].value
    with pytest.raises(DataError, match="or 'world'"):
        evaluate(claim([85_000, NAN], [85_000, 28_000]), problem, density="flow")


def test_costs_with_and_without_personal_weights_and_hap_by_group():
    """Somebody who finds a raise three times as hard is judged by the option that is cheapest for them."""
    wish = Preferences.from_likert(SCHEMA, {"salary": [4], "savings": [2]}, levels=4)  # weights 10 and 4
    action = np.array([[[100_000, NAN], [NAN, 31_000]]])
    after = np.array([[[100_000, 32_500.0], [75_000, 31_000]]])
    got = Recourse(
        schema=SCHEMA, x=X, action=action, after=after, cost=np.zeros((1, 2)), score=np.ones((1, 2)),
        outcome=np.full((1, 2), Outcome.FOUND, dtype=object), seconds=np.zeros(1), preferences=wish,
    )  # fmt: skip
    judged = evaluate(got, loan(), groups=["a"])
    assert judged.chosen[0] == 1
    assert judged["cost_plain"].value == judged["cost"].value == pytest.approx(6000 / 200_000)
    assert judged["cost_weighted"].value == pytest.approx(4 * 6000 / 200_000)
    assert judged["hap"].value == 0.0
    rows = {row["metric"]: row for row in judged.by_group() if row["group"] == "a"}
    assert rows["hap"]["value"] == 0.0 and rows["hap"]["n"] == 1
    assert rows["cost_weighted"]["value"] == pytest.approx(0.12) and rows["cost_plain"]["n"] == 1
    plain = evaluate(got, loan(), preferences=Preferences.none(SCHEMA, 1))
    assert plain.chosen[0] == 1 and "hap" not in plain.totals
