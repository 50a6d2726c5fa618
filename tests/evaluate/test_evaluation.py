"""The headline: only what holds when worked out again counts, and failures stay in the denominator."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DataError
from wayforward.evaluate import Evaluation, evaluate, evaluate_rows
from wayforward.evaluate.judge import judge
from wayforward.model.base import Access, Model
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.recourse import Outcome, Recourse
from wayforward.schema import Feature, Schema

NAN = np.nan
SCHEMA = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
        Feature(name="pay", kind="real", low=0, high=100, step=0.5, direction="increase"),
        Feature(name="debt", kind="real", low=0, high=100),
        Feature(name="home", kind="categorical", levels=("rent", "own", "free")),
        Feature(name="sex", kind="binary", levels=("f", "m"), actionability="immutable", sensitive=True),
        Feature(name="rating", kind="ordinal", levels=("low", "mid", "high"), actionability="mutable"),
    ),
    rules=("after.debt <= 90",),
)


class Points(Model):
    """pay - debt / 2 + 10 if the home is owned, yes above 40; the wrapped object itself is the same sum."""

    task, classes, access, name = "classification", (0, 1), Access.PROBABILITY, "Points"

    def __init__(self, schema, cut=40.0):
        super().__init__()
        self.schema, self.cut = schema, cut

    def _outputs(self, x):
        p = 1 / (1 + np.exp(-(x[:, 1] - x[:, 2] / 2 + 10 * (x[:, 3] == 1) - self.cut)))
        return np.stack([1 - p, p], 1)

    def _native(self, x):
        out = self._outputs(x)
        return out, (out[:, 1] > 0.5).astype(np.int64)


def people(n=8):
    """Pay 30, debt 20, renting: 20 points short of nothing but 20. The last one is accepted already."""
    x = np.tile([40.0, 30, 20, 0, 0, 1], (n, 1))
    x[::2, 4] = 1
    x[-1, 1] = 90
    return x


def problem(n_reference=200, **kw):
    rng = np.random.default_rng(0)
    data = np.stack(
        [
            rng.integers(18, 80, n_reference),
            rng.integers(0, 200, n_reference) / 2,
            rng.uniform(0, 80, n_reference),
            rng.integers(0, 3, n_reference),
            rng.integers(0, 2, n_reference),
            rng.integers(0, 3, n_reference),
        ],
        axis=1,
    ).astype(float)
    return Problem(SCHEMA, Points(SCHEMA), Target(favourable=1), data=data, **kw)


def acts(*rows):
    """One option a person from dicts of feature -> value."""
    out = np.full((len(rows), 1, SCHEMA.d), NAN)
    for i, row in enumerate(rows):
        for name, value in row.items():
            out[i, 0, SCHEMA.index(name)] = value
    return out


def claim(x, action, after=None, outcome=Outcome.FOUND, **kw):
    """A recourse that claims everything, true or not."""
    n, k, _ = action.shape
    if after is None:
        after = np.where(np.isnan(action), x[:, None, :], action)
    return Recourse(
        schema=SCHEMA,
        x=x,
        action=action,
        after=after,
        cost=np.zeros((n, k)),
        score=np.ones((n, k)),
        outcome=np.full((n, k), outcome, dtype=object),
        seconds=np.zeros(n),
        method="claims",
        **kw,
    )


GOOD = {"pay": 50.5}
LIES = {
    "not a yes": ({"pay": 40.0}, "valid"),
    "an immutable changed": ({"pay": 60.0, "age": 50}, "legal"),
    "a mutable feature acted on": ({"pay": 60.0, "rating": 2}, "legal"),
    "against the direction": ({"pay": 29.0, "debt": 0, "home": 1}, "legal"),
    "off the step": ({"pay": 60.3}, "legal"),
    "outside the range": ({"pay": 101.0}, "legal"),
    "a level that does not exist": ({"pay": 60.0, "home": 3}, "legal"),
    "half a level": ({"pay": 60.0, "home": 0.5}, "legal"),
    "a rule broken": ({"pay": 90.0, "debt": 95}, "rules"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_false_claim_is_not_usable_and_is_named(lie):
    bad, flag = LIES[lie]
    x = people(2)[:1].repeat(2, 0)
    got = evaluate(claim(x, acts(GOOD, bad)), problem())
    assert got.options["usable"][:, 0].tolist() == [True, False], lie
    assert not got.options[flag][1, 0]
    assert (got.usable, got["usable"].n, got.refuted) == (0.5, 2, 1)
    assert got.outcomes["FOUND"] == 1 and got.outcomes["NOT_FOUND"] == 1


def test_the_second_opinion_agrees_with_the_problems_own_judge():
    """Two independent implementations, 3,000 random claims: the same verdict on each question."""
    rng = np.random.default_rng(1)
    prob = problem()
    n = 3000
    x = prob.reference[rng.integers(0, 200, n)]
    action = np.where(rng.random((n, 6)) < 0.35, prob.reference[rng.integers(0, 200, n)], NAN)
    action[:, [0, 4, 5]] = np.where(rng.random((n, 3)) < 0.8, NAN, action[:, [0, 4, 5]])
    action[:, 2] = np.where(rng.random(n) < 0.2, 95.0, action[:, 2])
    wishes = Preferences.none(SCHEMA, n)
    wishes = replace(wishes, frozen=rng.random((n, 6)) < 0.1, max_changes=rng.integers(1, 4, n))
    action = np.where(SCHEMA.differs(action, x), action, NAN)
    after = np.where(np.isnan(action), x, action)
    some = ~np.isnan(action).all(1)
    ours = judge(prob, x, action[:, None], after[:, None], wishes)
    population = prob.population(x, wishes)
    theirs = prob.judge_rows(population, np.arange(n), action, after)
    for name in ("legal", "rules", "wishes"):
        np.testing.assert_array_equal(getattr(ours, name)[some, 0], theirs[name][some], err_msg=name)
    assert 0.2 < ours.legal[some].mean() < 0.9 and ours.wishes[some].mean() < 0.99


def test_a_profile_that_does_not_follow_from_the_act_is_not_usable():
    x = people(2)[:1]
    action = acts({"pay": 31.0})
    after = x[:, None].copy()
    after[0, 0, 1] = 90.0  # the profile is a yes, the act does not lead there
    got = evaluate(claim(x, action, after), problem())
    assert got["validity"].value == 1.0 and got["follows"].value == 0.0 and got.usable == 0.0


def test_failures_stay_in_the_denominator_and_the_accepted_do_not_enter_it():
    x = people(5)  # the last is accepted
    action = acts(GOOD, {}, {}, GOOD, {})
    got = evaluate(claim(x, action), problem())
    assert got["usable"].n == 4 and got.usable == 0.5
    assert got["cost_l1_range"].n == 2 and got.cost_l1_range == pytest.approx(0.205)
    # over everyone: two failures count one for each of the three actionable features
    assert got["cost_l1_range_all"].value == pytest.approx((2 * 0.205 + 2 * 3) / 4)
    assert got["legal"].n == 2  # options, not people
    assert got.outcomes == {"FOUND": 2, "NONE_EXISTS": 0, "NOT_FOUND": 2, "ACCEPTED": 1}
    assert np.isnan(got.people["usable"][-1])


def test_claiming_that_somebody_is_accepted_does_not_make_it_so():
    x = people(3)
    recourse = claim(x, acts(GOOD, {}, {}), outcome=Outcome.ACCEPTED)
    got = evaluate(recourse, problem())
    assert got["usable"].n == 2 and got.outcomes["ACCEPTED"] == 1


def test_wishes_stored_with_the_recourse_count_and_can_be_replaced():
    x = people(3)[:2]
    frozen = np.zeros((2, 6), bool)
    frozen[0, 1] = True
    wishes = replace(Preferences.none(SCHEMA, 2), frozen=frozen)
    recourse = claim(x, acts(GOOD, GOOD), preferences=wishes)
    got = evaluate(recourse, problem())
    assert got.usable == 0.5 and got.wishes_kept == 0.5
    assert evaluate(recourse, problem(), preferences=Preferences.none(SCHEMA, 2)).usable == 1.0


@pytest.mark.parametrize(
    ("limit", "holds"),
    [
        ({"high": 50.0}, False),
        ({"high": 51.0}, True),
        ({"low": 60.0}, False),
        ({"max_changes": 0}, False),
        ({"max_changes": 1}, True),
    ],
)
def test_personal_limits_are_checked_on_the_returned_row(limit, holds):
    wishes = Preferences.none(SCHEMA, 1)
    if "max_changes" in limit:
        wishes = replace(wishes, max_changes=np.array([limit["max_changes"]]))
    else:
        side, value = next(iter(limit.items()))
        bound = getattr(wishes, side).copy()
        bound[0, 1] = value
        wishes = replace(wishes, **{side: bound})
    assert evaluate(claim(people(2)[:1], acts(GOOD), preferences=wishes), problem()).usable == float(holds)


def test_a_level_the_person_ruled_out_is_not_usable():
    ok = np.array([[True, False, True]])
    wishes = replace(Preferences.none(SCHEMA, 1), levels={3: ok})
    option = acts({"home": 1, "pay": 42.0})
    assert evaluate(claim(people(2)[:1], option), problem()).usable == 1.0
    assert evaluate(claim(people(2)[:1], option, preferences=wishes), problem()).usable == 0.0


def test_the_cheapest_usable_option_stands_for_the_person():
    x = people(2)[:1]
    action = np.concatenate([acts({"pay": 70.0}), acts({"pay": 40.0}), acts({"pay": 50.5})], axis=1)
    got = evaluate(claim(x, action), problem())
    assert got.chosen[0] == 2  # the second is cheaper and no yes
    assert got.people["cost_l1_range"][0] == pytest.approx(0.205)
    assert got["set_validity"].value == pytest.approx(2 / 3)


def test_implausible_options_are_usable_but_not_usable_plausible():
    """Known people rent, earn 60 or less and owe little: an owner on 100 who owes 90 looks like none."""
    data = problem(4000).reference
    data = data[(data[:, 1] <= 60) & (data[:, 2] <= 25) & (data[:, 3] == 0)]
    prob = Problem(SCHEMA, Points(SCHEMA), Target(favourable=1), data=data)
    x = people(2)[:1]
    near = evaluate(claim(x, acts({"pay": 52.0})), prob)
    far = evaluate(claim(x, acts({"pay": 100.0, "debt": 90.0, "home": 1})), prob)
    assert near.usable == 1.0 and near.usable_plausible == 1.0
    assert far.usable == 1.0 and far.usable_plausible == 0.0


def test_without_data_plausibility_is_unknown_and_not_zero():
    prob = Problem(SCHEMA, Points(SCHEMA), Target(favourable=1))
    got = evaluate(claim(people(2)[:1], acts(GOOD)), prob)
    assert got.usable == 1.0 and np.isnan(got.usable_plausible)
    assert json.loads(got.to_json())["usable_plausible"] is None
    assert any("no reference people" in note for note in got.notes)


def test_nobody_asked_and_nothing_returned_are_not_errors():
    accepted = people(3)[-1:]
    got = evaluate(claim(accepted, acts({}), outcome=Outcome.ACCEPTED), problem())
    assert got["usable"].n == 0 and np.isnan(got.usable) and got.refuted == 0
    got = evaluate(claim(people(3)[:2], acts({}, {}), outcome=Outcome.NOT_FOUND), problem())
    assert got.usable == 0.0 and np.isnan(got.legal) and got.refuted == 0
    assert "not found" in repr(got)


def test_groups_by_label_and_by_feature_name_and_gaps():
    x = people(5)[:4]
    action = acts(GOOD, GOOD, {}, {"pay": 60.5})
    got = evaluate(claim(x, action), problem(), groups="sex")
    rows = {(r["group"], r["metric"]): r for r in got.by_group()}
    assert rows["m", "usable"]["value"] == 0.5 and rows["f", "usable"]["value"] == 1.0
    gap = got.gaps("cost_l1_range")
    assert gap.largest_pair == ("f", "m")
    assert gap.largest.value == pytest.approx(((0.205 + 0.305) / 2) - 0.205)
    by_label = got.by_group(["a", "a", "b", "b"])
    assert {r["group"] for r in by_label} == {"a", "b"}
    with pytest.raises(DataError, match="3 labels for 4 people"):
        evaluate(claim(x, action), problem(), groups=["a", "b", "c"])
    with pytest.raises(DataError, match="'age' is integer"):
        got.by_group("age")


def test_json_holds_the_promised_names(tmp_path):
    recourse = claim(
        people(3),
        acts(GOOD, GOOD, {}),
        meta={"seconds_fit": 0.1, "seconds_recommend": 0.5, "model_rows": 7, "versions": {"wayforward": "0"}},
    )
    got = evaluate(recourse, problem(), groups="sex")
    path = tmp_path / "e.json"
    got.to_json(path)
    data = json.loads(path.read_text())
    promised = {
        "n",
        "method",
        "usable",
        "usable_plausible",
        "validity",
        "legal",
        "rules_kept",
        "cost_l1_range",
    }
    promised |= {"cost_l0", "outcomes", "seconds_fit", "people_per_second", "model_rows"}
    assert promised <= set(data)
    assert data["people_per_second"] == pytest.approx(3 / 0.5) and data["model_rows"] == 7
    assert data["metrics"]["usable"] == {"value": 1.0, "n": 2} | {
        k: data["metrics"]["usable"][k] for k in ("low", "high", "median", "std")
    }
    assert data["meta"]["versions"] == {"wayforward": "0"}


def test_table_and_frames_have_every_metric_with_its_denominator():
    got = evaluate(claim(people(4), acts(GOOD, {}, GOOD, {})), problem(), metrics="all")
    table = got.table()
    assert {"metric", "value", "low", "high", "n", "meaning"} <= set(table[0])
    assert all(row["meaning"] for row in table)
    names = [row["metric"] for row in table]
    assert names[:2] == ["usable", "usable_plausible"]
    assert {"lof", "isolation", "connected", "nearest_favourable", "ynn", "redundancy"} <= set(names)
    frame = got.per_person
    assert len(frame) == 4 and list(frame["outcome"]) == ["FOUND", "NOT_FOUND", "FOUND", "ACCEPTED"]
    assert list(got.to_frame("dict")["metric"]) == names
    with pytest.raises(DataError, match="no metric 'nonsense'"):
        got["nonsense"]


def test_the_callable_folder():
    assert wf.evaluate(claim(people(2)[:1], acts(GOOD)), problem(), metrics="headline").usable == 1.0
    import wayforward.evaluate

    assert isinstance(
        wayforward.evaluate(claim(people(2)[:1], acts(GOOD)), problem(), metrics="headline"), Evaluation
    )


def test_redundancy_and_coverage_curve():
    x = people(4)[:3]
    action = acts({"pay": 50.5, "debt": 10.0}, {"pay": 60.5, "debt": 10.0}, {})
    got = evaluate(claim(x, action), problem())
    # 50.5 alone would do, debt alone would not: one superfluous change each
    np.testing.assert_array_equal(got.people["redundancy"], [1.0, 1.0, NAN])
    cost, share = got.coverage_curve()
    np.testing.assert_allclose(cost, [0.305, 0.405])
    np.testing.assert_allclose(share, [1 / 3, 2 / 3])


def test_oracle_gives_coverage_and_the_optimality_gap():
    x = people(5)[:4]
    ours = claim(x, acts({"pay": 70.5}, {}, {}, GOOD))
    best = claim(x, acts(GOOD, GOOD, {}, GOOD))
    got = evaluate(ours, problem(), oracle=best)
    assert got["coverage"].value == pytest.approx(2 / 3) and got["coverage"].n == 3
    assert got["optimality_gap"].n == 2
    assert got.people["optimality_gap"][0] == pytest.approx(0.405 / 0.205 - 1)
    costs = evaluate(ours, problem(), oracle=np.array([0.205, 0.205, np.inf, 0.205]))
    assert costs["coverage"].value == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="oracle"):
        evaluate(ours, problem(), oracle=np.ones(9))


def test_other_model_density_wanted_and_scores():
    x = people(4)[:3]
    wishes = replace(
        Preferences.none(SCHEMA, 3),
        score=np.tile([0.0, 3, 1, 2, 0, 0], (3, 1)),
        score_levels=3,
    )
    recourse = claim(x, acts(GOOD, {"debt": 0.0, "home": 1, "pay": 41.0}, {"debt": 0.0, "pay": 40.5}))
    got = evaluate(
        recourse,
        problem(),
        preferences=wishes,
        other_model=Points(SCHEMA, cut=40.8),
        density=lambda rows: rows[:, 1],
        wanted=np.where(np.arange(6) == 1, 50.5, x),
    )
    assert got["validity_other_model"].value == pytest.approx(1 / 3)
    assert got["density_at_least"].value == 1.0 and got["density_at_least"].n == 3
    assert got["hap"].value == 1.0  # everyone acts on pay, the hardest
    assert got.people["gtp"][0] == 0.0 and got.people["gtd"][0] == pytest.approx(0.0)
    assert got.people["gtp"][1] > 0


def test_evaluation_is_the_same_for_the_same_seed():
    recourse = claim(people(6), acts(GOOD, GOOD, {"pay": 60.0}, {}, GOOD, {}))
    one, two = (evaluate(recourse, problem(), seed=3) for _ in range(2))
    assert one.to_json() == two.to_json()


def test_a_recourse_of_another_schema_is_refused():
    renamed = Schema((replace(SCHEMA.features[0], name="years"), *SCHEMA.features[1:]))
    other = replace(claim(people(2)[:1], acts(GOOD)), schema=renamed)
    with pytest.raises(DataError, match="other features"):
        evaluate(other, problem())


# -- rows of other tools -----------------------------------------------------------------------------------


def test_plain_rows_score_as_the_same_options_do():
    x = people(4)
    action = acts(GOOD, {"pay": 60.0, "age": 50}, {}, {})
    after = np.where(np.isnan(action), x[:, None], action)[:, 0]
    after[2] = NAN
    ours = evaluate(claim(x, action), problem())
    rows = evaluate_rows(x, after, problem(), method="tool", seconds=2.0)
    for name in ("usable", "usable_plausible", "validity", "legal", "cost_l1_range", "cost_l0", "success"):
        assert rows[name].value == ours[name].value, name
    assert rows.people_per_second == 2.0 and rows.method == "tool"


def test_a_table_with_unseen_levels_text_and_gaps_is_judged_and_not_refused():
    import pandas as pd

    x = SCHEMA.decode(people(6)[:5], like="pandas")
    after = x.copy().astype(object)
    after["pay"] = [60.5, "61.0", 60.5, "much", None]
    after.loc[2, "home"] = "boat"
    got = evaluate_rows(x, after, problem())
    assert got.options["usable"][:, 0].tolist() == [True, True, False, False, False]
    assert got.options["returned"][:, 0].tolist() == [True, True, True, True, False]
    assert not got.options["valid"][2, 0]  # the model cannot be shown a level that it does not know
    assert got["legal"].value == 0.5 and got["usable"].n == 5
    assert isinstance(after, pd.DataFrame)


def test_several_tables_are_several_options():
    x = people(3)[:2]
    bad, good = x.copy(), x.copy()
    good[:, 1] = 50.5
    got = evaluate_rows(x, [bad, good], problem())
    assert got.k == 2 and got.usable == 1.0 and got.chosen.tolist() == [1, 1]
    three = evaluate_rows(x, np.stack([bad, good, good], 1), problem())
    assert three.usable == 1.0 and three["set_validity"].value == pytest.approx(1 / 3)


def test_a_row_equal_to_the_person_is_no_option():
    x = people(3)[:2]
    got = evaluate_rows(x, x.copy(), problem())
    assert got["success"].value == 0.0 and got.usable == 0.0


def test_snapping_forgives_the_step_and_nothing_else():
    x = people(4)[:3]
    after = x.copy()
    after[:, 1] = [60.3, 60.3, 160.3]
    after[1, 0] = 50.2
    strict = evaluate_rows(x, after, problem())
    kind = evaluate_rows(x, after, problem(), snap=True)
    assert strict.usable == 0.0
    assert kind.options["usable"][:, 0].tolist() == [True, False, False]


def test_levels_come_back_from_tools_as_numbers_or_text():
    from wayforward.evaluate.foreign import read_rows

    schema = Schema((Feature(name="a", kind="ordinal", levels=(1, 2, 3)),))
    import pandas as pd

    got = read_rows(schema, pd.DataFrame({"a": ["2", 3.0, 1, "2.0", "x", None]}, dtype=object), "test")
    np.testing.assert_array_equal(got[:, 0], [1, 2, 0, 1, -1, NAN])


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (np.zeros((3, 6)), "3 rows for 2 people"),
        (np.zeros((2, 5)), r"shape \(2, 5\)"),
        (np.zeros((3, 1, 6)), "it must be"),
        ([], "empty list"),
    ],
)
def test_rows_that_do_not_belong_to_the_people_are_an_error(after, message):
    with pytest.raises(DataError, match=message):
        evaluate_rows(people(3)[:2], after, problem())


def test_a_missing_column_is_an_error_that_names_it():
    x = SCHEMA.decode(people(2), like="pandas")
    with pytest.raises(DataError, match="no column 'debt'"):
        evaluate_rows(x, x.drop(columns="debt"), problem())


def test_somebody_who_stands_outside_what_was_observed_is_scored_like_everybody():
    from wayforward.methods import recommend
    from wayforward.model import wrap

    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=1, bounds="observed"),
            Feature(name="b", kind="integer", low=0, high=9),
        ),
        ("after.b >= before.b",),
    )
    decide = wrap(lambda r: (r[:, 1] > 5).astype(int), schema, output="label", classes=(0, 1))
    problem = Problem(schema, decide, Target(1))
    with pytest.warns(UserWarning, match="outside what was observed"):
        got = recommend(problem, np.array([[1.2, 2.0], [0.5, 2.0]]))
    scored = evaluate(got, problem)
    assert got.found.all() and scored.refuted == 0
    assert scored.usable == 1.0 and scored.rules_kept == 1.0
    np.testing.assert_allclose(scored.people["cost"], got.cost[:, 0])
    got.after[0, 0, 0] = 1.3  # and a profile that does not follow from the acts is seen there as well
    assert evaluate(got, problem).refuted == 1


def test_whole_rows_of_people_of_the_table_are_counted():
    """Nearest accepted people are people of the table; of a search's options the rows are looked up one by one."""
    features = tuple(wf.Feature(name=name, kind="real", low=0, high=9) for name in "ab")
    schema = wf.Schema(features)
    table = np.random.default_rng(0).uniform(0, 9, (60, 2))
    model = wf.wrap(lambda rows: 1 / (1 + np.exp(9 - rows.sum(1))), schema, output="probability")
    problem = wf.Problem(schema, model, wf.Target(1), data=table)
    shares = []
    for method in ("nearest-observable", "local-search"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = wf.recommend(problem, table[:20], method=method)
        rows = set(map(tuple, table.tolist()))
        copied = [tuple(row) in rows for row in got.after[got.found].tolist()]
        shares.append(wf.evaluate(got, problem)["copies_people"].value)
        assert shares[-1] == np.mean(copied)
    assert shares[0] > 0 == shares[1]  # fewer than all of the nearest: needless acts were dropped
