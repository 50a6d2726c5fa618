"""Rules over whole arrays: shapes, missing values, tolerance, and what the links drag."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import RuleError
from wayforward.rules import RuleSet

PERSON = np.array([30.0, 2000.0, 1, 0, 0, 40, 1])  # age income education visa credit hours rating


def parse(features, *texts):
    return RuleSet.parse(texts, features)


def changed(**values):
    names = ("age", "income", "education", "visa", "credit", "hours", "rating")
    after = PERSON.copy()
    for name, value in values.items():
        after[names.index(name)] = value
    return after


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [  # the four kinds of the survey (arXiv:2010.04050, section 3.3.2), in its order
        ("after.age >= before.age", {"age": 30}, {"age": 29}),
        ("before.visa == 'PERMANENT' or not after.credit", {"age": 31}, {"credit": 1}),
        ("after.education != 'none'", {"education": 3}, {"education": 0}),
        ("after.credit implies after.education >= 'bachelor'", {"credit": 1, "education": 2}, {"credit": 1}),
        # and what the issue adds
        ("at most 1 change of age, income", {"age": 31, "visa": 1}, {"age": 31, "income": 3}),
        ("at most 2 changes", {"age": 31, "visa": 1}, {"age": 31, "income": 3, "visa": 1}),
        ("change.education <= 1", {"education": 2}, {"education": 3}),
        ("after.income + 100 * after.age <= 5000", {"age": 30}, {"age": 31}),
        ("sum(change.age, change.rating) == 0", {"age": 29, "rating": 2}, {"age": 29}),
        ("after.rating in {1, 5} or after.age > 50", {"rating": 2}, {"rating": 1}),
        ("changed(visa) implies increased(age)", {"visa": 1, "age": 31}, {"visa": 1}),
        ("decreased(income) implies after.income / before.income >= 0.5", {"income": 1000}, {"income": 999}),
    ],
)  # fmt: skip
def test_a_rule_is_satisfied_and_broken(features, rule, kept, broken):
    rules = parse(features, rule)
    assert rules.satisfied(PERSON, changed(**kept))
    assert not rules.satisfied(PERSON, changed(**broken))


def test_people_lead_even_where_there_are_as_many_options_as_people(features):
    rules = parse(features, "after.age >= before.age")
    before = np.stack([changed(age=30), changed(age=50)])
    after = np.stack([[changed(age=40), changed(age=20)], [changed(age=40), changed(age=60)]])
    assert rules.holds(before, after).tolist() == [[[True], [False]], [[False], [True]]]
    assert rules.satisfied(before, after).shape == (2, 2)
    assert rules.satisfied(before[0], after).tolist() == [[True, False], [True, True]]
    assert rules.satisfied(before, before).tolist() == [True, True]


def test_a_rule_about_before_alone_still_fills_the_shape(features):
    rules = parse(features, "before.age >= 18", "at most 9 changes")
    after = np.repeat(PERSON[None, None], 3, axis=1)
    assert rules.holds(PERSON[None], after).shape == (1, 3, 2)
    assert rules.truth(PERSON[None], after).tolist() == [[[1, 1]] * 3]


def test_no_rules_keep_everything(features):
    rules = parse(features)
    after = np.zeros((4, 2, 7))
    assert rules.holds(after[:, 0], after).shape == (4, 2, 0)
    assert rules.satisfied(after[:, 0], after).all() and rules.contradiction() is None


def test_a_missing_value_breaks_no_rule_but_is_a_change(features):
    rules = parse(features, "after.age >= 18", "not changed(age)", "after.age >= 18 and after.income > 1e6")
    lost = changed(age=np.nan)
    assert rules.truth(PERSON, lost).tolist() == [0.5, 0, 0]  # unknown and false is false
    assert rules.truth(lost, lost).tolist() == [0.5, 1, 0]
    assert rules.holds(PERSON, lost).tolist() == [True, False, False]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rounding_errors_break_no_rule(features, scale):
    rules = parse(
        features,
        "after.income >= before.income",
        "change.income == 0",
        "sum(after.income, -before.income) >= 0",
    )
    before, after = changed(income=0.3 * scale), changed(income=(0.1 + 0.2) * scale)
    noise = (0.1 + 0.2) * scale - 0.3 * scale
    assert noise != 0 or scale != 1.0
    assert rules.satisfied(before, after) and rules.satisfied(after, before)
    off = changed(income=0.3 * scale * (1 - 1e-8))
    assert not rules.holds(before, off).any()


def test_strict_order_excludes_what_is_equal_up_to_rounding(features):
    rules = parse(
        features, "after.income > before.income", "after.income != before.income", "increased(income)"
    )
    assert not rules.holds(changed(income=0.3), changed(income=0.1 + 0.2)).any()


def test_infinite_values_compare_like_numbers(features):
    rules = parse(features, "after.income <= 5")
    assert rules.satisfied(PERSON, changed(income=-np.inf)) and not rules.satisfied(
        PERSON, changed(income=np.inf)
    )


def test_division_by_zero_is_infinite_or_unknown_and_silent(features):
    rules = parse(features, "after.income / after.age <= 5")
    assert rules.truth(PERSON, changed(age=0)).tolist() == [0]
    assert rules.truth(PERSON, changed(age=0, income=0)).tolist() == [0.5]


def test_a_wrong_width_is_an_error_with_the_shape(features):
    with pytest.raises(RuleError, match=r"after has shape \(3,\), but its last axis must hold the 7"):
        parse(features, "after.age > 1").satisfied(PERSON, PERSON[:3])


def test_what_a_rule_depends_on(features):
    rules = parse(features, "after.age > 1", "at most 3 changes", "age drags income by 2", "changed(visa)")
    assert [rule.text for rule in rules.conditions] == ["after.age > 1", "at most 3 changes", "changed(visa)"]
    assert rules.involved.sum(1).tolist() == [1, 7, 1]
    assert [(link.source, link.target, link.rate) for link in rules.links] == [("age", "income", 2.0)]
    assert str(rules.links[0]) == "age drags income by 2" and rules.names == ("age", "income", "visa")
    assert len(rules) == 4


# -- links ----------------------------------------------------------------------------------------


def test_a_link_drags_and_passes_on(features):
    rules = parse(features, "age drags income by 100", "income drags `hours-per-week` by -0.01")
    after = changed(age=33)
    got = rules.drag(PERSON, after, after != PERSON)
    np.testing.assert_allclose(got, changed(age=33, income=2300, hours=37))
    assert after[1] == 2000  # the argument is left alone


def test_what_is_acted_on_is_not_dragged_but_drags(features):
    rules = parse(features, "age drags income by 100", "income drags `hours-per-week` by -0.01")
    acted = np.array([True, True, False, False, False, False, False])
    after = changed(age=33)  # income is set to the value it has
    np.testing.assert_allclose(rules.drag(PERSON, after, acted), changed(age=33))
    after = changed(age=33, income=1000)
    np.testing.assert_allclose(rules.drag(PERSON, after, acted), changed(age=33, income=1000, hours=50))


def test_links_add_to_each_other_and_to_the_world(features):
    rules = parse(features, "age drags income by 100", "rating drags income by 10")
    after = changed(age=31, rating=2, income=2005)  # 5 by the world
    acted = np.array([True, False, False, False, False, False, True])
    np.testing.assert_allclose(rules.drag(PERSON, after, acted), changed(age=31, rating=2, income=2115))


def test_dragged_integers_and_levels_stay_whole_and_levels_in_range(features):
    rules = parse(features, "income drags `hours-per-week` by 0.013", "age drags education by 1.2")
    after = changed(income=2100, age=31)
    got = rules.drag(PERSON, after, after != PERSON)
    assert got[5] == 41 and got[2] == 2
    far = changed(age=60)
    assert rules.drag(PERSON, far, far != PERSON)[2] == 3


def test_nothing_moves_bit_for_bit_where_nothing_drags(features):
    rules = parse(features, "age drags income by 0.1")
    rows = np.random.default_rng(0).normal(size=(50, 7)) * 1e3
    rows[3, 0] = np.nan
    assert np.array_equal(rules.drag(rows, rows, np.zeros_like(rows, dtype=bool)), rows, equal_nan=True)


def test_a_missing_value_drags_nothing(features):
    rules = parse(features, "age drags income by 100")
    after = changed(age=np.nan)
    assert rules.drag(PERSON, after, np.zeros(7, dtype=bool))[1] == 2000


def test_links_over_people_and_options(features):
    rules = parse(features, "age drags income by 100")
    before = np.stack([PERSON, changed(age=40)])
    after = np.repeat(before[:, None], 3, axis=1)
    after[:, 1, 0] += 2
    got = rules.drag(before, after, after != before[:, None])
    assert got[..., 1].tolist() == [[2000, 2200, 2000]] * 2


def test_links_of_reachml(features):
    """Years at an address drag age (arXiv:2308.12820): one more year each way."""
    rules = parse(features, "`hours-per-week` drags age by 1", "after.age <= 33")
    after = np.stack([changed(hours=40 + step) for step in range(6)])
    moved = rules.drag(PERSON, after, after != PERSON)
    assert moved[:, 0].tolist() == [30, 31, 32, 33, 34, 35]
    assert rules.satisfied(PERSON, moved).sum() == 4


def test_drag_keeps_the_gradient_in_torch(features):
    torch = pytest.importorskip("torch")
    rules = parse(features, "age drags income by 100", "income drags `hours-per-week` by -0.01")
    value = torch.tensor(changed(age=33)).requires_grad_()
    acted = torch.tensor(changed(age=33) != PERSON)
    got = rules.drag(torch.tensor(PERSON), value, acted)
    np.testing.assert_allclose(
        got.detach().numpy(), rules.drag(PERSON, changed(age=33), changed(age=33) != PERSON)
    )
    got[5].backward()
    assert value.grad[0].item() == pytest.approx(-1.0)  # through the rounding to whole hours


def test_a_cycle_of_links_is_an_error(features):
    with pytest.raises(RuleError, match="cycle: .* drags .* drags "):
        parse(features, "age drags income by 1", "income drags rating by 1", "rating drags age by 1")


def test_two_links_between_the_same_two_are_an_error(features):
    with pytest.raises(RuleError, match="Two rules say how 'age' drags 'income'"):
        parse(features, "age drags income by 1", "age drags income by 2")


def test_the_old_name_still_answers_and_warns(features):
    rules = parse(features, "after.age >= before.age")
    with pytest.warns(DeprecationWarning, match=r"RuleSet.satisfied"):
        assert rules.kept(PERSON, changed(age=90))
