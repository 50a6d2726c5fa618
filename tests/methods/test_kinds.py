"""Kinds of options: against brute force, and against models whose boundaries are known to the last digit."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema, Target
from wayforward.errors import MethodError
from wayforward.methods.kinds import kinds_beside
from wayforward.problem import Problem, Retraining
from wayforward.problem.robust import AllModels
from wayforward.problem.rounding import _lasting_told_once, in_order, rounded
from wayforward.recourse import KINDS, Recourse
from wayforward.testing import case

PAST = np.random.default_rng(0).uniform(size=(200, 2))
NAMES = ("savings", "income")


class Threshold:
    """Yes from savings of `at` on, or income of .99 on: a model whose boundary is one number."""

    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-20 * np.maximum(rows[:, 0] - self.at, rows[:, 1] - 0.99)))


def thresholds(m: int, seed: int) -> np.ndarray:
    """(m,) where models that are trained again have their boundary."""
    return np.array([np.random.default_rng(seed + i).normal(0.5, 0.05) for i in range(m)])


def one_line(high: float = 1.0, **retraining) -> Problem:
    """Two numbers; the first decides, and models trained again put the boundary somewhere near .5."""
    schema = Schema(
        tuple(
            Feature(name=name, kind="real", low=0, high=top, direction="increase")
            for name, top in zip(NAMES, (high, 0.98), strict=True)
        )
    )
    again = Retraining(
        np.zeros(200),
        fit=lambda rows, labels, seed: wf.wrap(Threshold(thresholds(1, seed)[0]), schema),
        **retraining,
    )
    past = PAST * [high, 0.9]
    return Problem(schema, wf.wrap(Threshold(0.5), schema), Target(1), data=past, retraining=again)


def test_a_lasting_option_ends_where_the_next_boundary_is_likely_to_be():
    it = one_line(searched=12, judged=7, share=0.9)
    x = np.array([[0.1, 0.2], [0.3, 0.4], [0.9, 0.1]])
    got = wf.recommend(it, x, kinds=("cheapest", "lasting"))
    assert got.kind.tolist() == [["cheapest", "lasting"], ["cheapest", "lasting"], ["", ""]]
    scores = 20 * (0.5 - thresholds(12, 0))[:, None]  # of somebody at .5; one more unit of savings adds 20
    end = 0.5 - it.retraining.condition(it).left(scores)[0] / 20
    assert end > 0.55
    np.testing.assert_allclose(got.after[:2, 0, 0], 0.5, atol=1e-5)
    np.testing.assert_allclose(got.after[:2, 1, 0], end, rtol=0.01)
    judges = thresholds(7, 500_009)
    for option in (0, 1):
        np.testing.assert_allclose(got.lasts[:2, option], (judges <= got.after[0, option, 0]).mean())
    np.testing.assert_allclose(got.dearer[0], [0, (end - 0.1) / 0.4 - 1], rtol=0.03)
    assert np.isnan(got.lasts[2]).all() and got.accepted[2]
    assert got.meta["retraining"]["judged"] == 7 and got.meta["kinds"] == ["cheapest", "lasting"]


def test_a_saved_answer_that_its_problem_judges_again_says_the_same_of_kinds(tmp_path):
    """Another model says nothing of them: its scores are others, and so would be what is trained again."""
    it = one_line(searched=12, judged=7, share=0.9)
    got = wf.recommend(it, np.array([[0.1, 0.2], [0.3, 0.4]]), kinds=("cheapest", "lasting"))
    path = got.save(tmp_path / "a.json")
    again = wf.Recourse.load(path, problem=it)
    assert again.kind.tolist() == got.kind.tolist()
    np.testing.assert_array_equal(again.lasts, got.rounded.lasts)
    assert again.explain(0) == got.explain(0) and "renewed models said yes" in again.explain(0)
    other = Problem(it.schema, wf.wrap(Threshold(0.45), it.schema), Target(1), data=PAST * [1, 0.9])
    judged = wf.Recourse.load(path, problem=other)
    assert (judged.kind == "").all() and np.isnan(judged.lasts).all() and "renewed" not in judged.explain(0)


def test_rounded_and_roomier_options_are_measured_again_and_still_made_to_last():
    it = one_line(searched=12, judged=400, share=0.9)
    got = wf.recommend(
        it, np.random.default_rng(1).uniform(size=(30, 2)) * [0.45, 0.9], kinds=("cheapest", "lasting")
    )
    condition, differ = it.retraining.condition(it), 0
    for other in (got.rounded, wf.problem.with_room(got, most=0.5)):
        who, slot = np.nonzero(other.found)
        votes = it.retraining.votes(it, other.after[who, slot]).mean(0)
        np.testing.assert_array_equal(other.lasts[who, slot], votes)
        differ += int((other.lasts[who, slot] != got.lasts[who, slot]).sum())
        who, slot = np.nonzero(other.is_kind("lasting"))
        assert condition.holds(
            it, other.x[who], other.action[who, slot], other.after[who, slot]
        ).all() and len(who)
    assert differ > 5


def test_a_lasting_option_that_must_not_move_is_not_rounded():
    """Whatever goes farther is a no of the next model: rounding outward would lose what the option is told to be."""
    it = one_line()
    got = wf.recommend(it, np.array([[0.1, 0.2]]), kinds=("cheapest", "lasting"))
    exact = got.after[0, 1, 0]

    class Narrow:
        def holds(self, problem, before, action, after):
            return np.abs(after[:, 0] - exact) < 1e-7

    it.retraining._trained["searched"] = Narrow()
    short = rounded(it, got)
    assert abs(short.after[0, 1, 0] - exact) < 1e-7 and short.after[0, 0, 0] != got.after[0, 0, 0]


def test_two_kinds_that_become_one_plan_by_rounding_are_told_once():
    """.50001 and .50003 are both .5 and a bit when told: one plan that is both, its other slot empty."""
    it = one_line()
    got = wf.recommend(it, np.array([[0.1, 0.2], [0.2, 0.1]]), kinds=("cheapest", "lasting"))
    action, after = got.action.copy(), got.after.copy()
    action[0, 1, 0] = after[0, 1, 0] = got.after[0, 0, 0] + 2e-5
    it.retraining._trained["searched"] = type(
        "Any", (), {"holds": lambda *rows: np.ones(len(rows[-1]), dtype=bool)}
    )()
    short = rounded(it, it.check(got.x, action, 2)).kind  # no kinds, no names
    assert (short == "").all()
    short = rounded(it, replace(got, action=action, after=after))
    assert short.kind.tolist() == [["cheapest+lasting", ""], ["cheapest", "lasting"]]
    assert short.found.tolist() == [[True, False], [True, True]] and np.isnan(short.lasts[0, 1])
    held = got.is_kind("cheapest")
    stays = rounded(it, got, held)
    np.testing.assert_array_equal(stays.action[held], got.action[held])
    assert (stays.action[~held & got.found] != got.action[~held & got.found]).any()


@pytest.mark.parametrize("judges", [(0.3, 0.45), (0.3, 0.52)])
def test_a_dearer_plan_that_lasts_no_longer_is_not_told(judges):
    """Judges below .5 say yes to both plans: one plan of both kinds; one above .5 tells them apart: two plans."""
    it = one_line(searched=12, judged=2, share=0.9)
    it.retraining._trained["judged"] = AllModels([wf.wrap(Threshold(at), it.schema) for at in judges]).fit(it)
    got = wf.recommend(it, np.array([[0.1, 0.2], [0.9, 0.2]]), kinds=("cheapest", "lasting"))
    assert got.found.tolist() == [[True, True], [False, False]]
    told, alike = got.rounded, judges[1] < 0.5
    assert told.kind.tolist() == [["cheapest+lasting", ""] if alike else ["cheapest", "lasting"], ["", ""]]
    assert told.found[0].tolist() == [True, not alike]
    assert told.lasts[0, 0] == (1.0 if alike else 0.5) and np.isfinite(told.cost[0]).tolist() == [
        True,
        not alike,
    ]
    assert (told.after[0, 0, 0] < got.after[0, 1, 0]) and np.isnan(told.lasts[0, 1]) == alike
    beside = kinds_beside(it, wf.recommend(it, got.x, k=1).rounded, [0])
    np.testing.assert_array_equal(beside.kind, told.kind[:1])
    assert told.explain(0).count("aise your savings") == (1 if alike else 2)


@pytest.mark.parametrize("dearer", [0.0, 0.1])
def test_an_equally_dear_plan_that_lasts_no_longer_is_told_once(dearer):
    """The plan made to last costs what the cheapest costs and holds as often; where it costs less, it stays."""
    it = one_line(searched=12, judged=2, share=0.9)
    got = wf.recommend(it, np.array([[0.1, 0.2]]), kinds=("cheapest", "lasting"))
    cost = np.array([[got.cost[0, 1] + dearer, got.cost[0, 1]]])
    told = _lasting_told_once(replace(got, cost=cost, lasts=np.ones((1, 2))))
    assert told.kind[0].tolist() == (["cheapest", "lasting"] if dearer else ["cheapest+lasting", ""])
    assert told.found[0].tolist() == [True, bool(dearer)]


def test_what_became_the_best_at_nothing_is_not_told():
    """Room and rounding make plans dearer: whoever is cheapest then is called so, and a plan without a kind goes."""
    it = case("linear", n=40)
    got = wf.recommend(it.problem, it.x, kinds=("cheapest", "fewest"))
    two = got.found.all(1)
    assert two.any() and set(got.kind[two, 0]) == {"cheapest"} and set(got.kind[two, 1]) == {"fewest"}
    cost = got.cost.copy()
    cost[two, 0] = cost[two, 1] * 1.01
    new, held = (in_order(replace(got, cost=cost), held) for held in (None, got.is_kind("cheapest")))
    assert (new.kind[two] == ["cheapest+fewest", ""]).all() and (new.found[two] == [True, False]).all()
    np.testing.assert_array_equal(new.action[two, 0], got.action[two, 1])
    np.testing.assert_array_equal(new.kind[~two], got.kind[~two])
    assert held.found[two].all() and (held.kind[two] == ["fewest", "cheapest"]).all()  # what was held stays


def test_kinds_beside_an_answer_begin_with_what_it_holds():
    it = one_line()
    x = np.array([[0.1, 0.2], [np.inf, 0.4], [0.3, 0.4], [0.9, 0.1]])
    with pytest.warns(wf.schema.SchemaWarning, match="could not be read"):
        got = wf.problem.with_room(wf.recommend(it, x, k=2), most=0.3).rounded
    beside = kinds_beside(it, got, [2, 1, 0]).rounded
    np.testing.assert_array_equal(beside.action[[0, 2], 0], got.action[[2, 0], 0])
    assert beside.kind.tolist() == [["cheapest", "lasting"], ["", ""], ["cheapest", "lasting"]]
    assert beside.reasons.tolist() == ["", got.reasons[1], ""] and beside.meta["room"]["most"] == 0.3
    assert (beside.lasts[[0, 2], 1] > beside.lasts[[0, 2], 0]).all()


def test_wishes_of_too_few_people_are_named():
    it = one_line()
    with pytest.raises(wf.errors.PreferencesError, match="for 1 people; there are 2"):
        wf.recommend(
            it,
            np.array([[0.1, 0.2], [0.3, 0.2]]),
            kinds=("cheapest",),
            preferences=wf.Preferences.none(it.schema, 1),
        )


def test_who_cannot_go_far_enough_has_no_lasting_option():
    got = wf.recommend(one_line(high=0.51), np.array([[0.1, 0.2]]), kinds=KINDS)
    assert got.found.tolist() == [[True, False, False]] and got.kind[0, 0] == "cheapest+fewest"
    assert not got.is_kind("lasting").any()


def test_what_lasts_already_is_told_once():
    """With a step of .25 the cheapest yes is at .75, far beyond every boundary."""
    it = one_line()
    it = Problem(
        it.schema.revise(savings={"step": 0.25}),
        it.model,
        it.target,
        data=it.reference,
        retraining=it.retraining,
    )
    got = wf.recommend(it, np.array([[0.25, 0.2]]), kinds=KINDS)
    assert got.kind.tolist() == [["cheapest+fewest+lasting", "", ""]] and got.lasts[0, 0] == 1.0
    assert got.found.sum() == 1


def test_fewest_and_cheapest_are_those_of_brute_force():
    """All actions of 4 small features are listed: fewest changes first, then the least cost."""
    schema = Schema(tuple(Feature(name=f"f{j}", kind="integer", low=0, high=3) for j in range(4)))
    weight = np.array([1.0, 1.3, 0.8, 2.9])
    model = wf.wrap(
        lambda rows: 1 / (1 + np.exp(-(rows @ weight - 7.1 + 0.4 * rows[:, 0] * rows[:, 1]))), schema
    )
    problem = Problem(schema, model, Target(1), cost=wf.problem.LpMix(l1=0.1, l2=1.0))
    grid = np.array(list(itertools.product(range(4), repeat=4)), dtype=float)
    x = grid[::7]
    x = x[~problem.reached(x)[0]]
    got = wf.recommend(problem, x, kinds=("fewest", "cheapest"))
    yes = problem.reached(grid)[0]
    both = 0
    for i, row in enumerate(x):
        changes = (grid != row).sum(1)
        cost = problem.cost.total(
            np.repeat(row[None], len(grid), 0), np.where(grid != row, grid, np.nan), None
        )
        best, few = cost[yes].min(), changes[yes].min()
        cheapest, fewest = got.is_kind("cheapest")[i], got.is_kind("fewest")[i]
        assert cheapest.sum() == fewest.sum() == 1
        np.testing.assert_allclose(got.cost[i, cheapest], best)
        assert got.acted[i, fewest].sum() == few
        np.testing.assert_allclose(got.cost[i, fewest], cost[yes & (changes == few)].min())
        both += int((cheapest != fewest).any())
    assert both > 3  # the two are not always the same


def test_wishes_bind_every_kind():
    it = case("linear", n=30)
    wishes = wf.Preferences.none(it.problem.schema, 30).freeze("income").at_most(3)
    got = wf.recommend(it.problem, it.x, kinds=("cheapest", "fewest"), preferences=wishes)
    assert got.found.any() and not got.acted[:, :, it.problem.schema.index("income")].any()
    assert got.acted.sum(2).max() <= 3
    alone = wf.recommend(it.problem, it.x[3:4], kinds=("cheapest", "fewest"), preferences=wishes.take([3]))
    np.testing.assert_array_equal(alone.action[0], got.action[3])


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_kinds_are_kept_in_files_and_tables(ending, tmp_path):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    got = wf.recommend(one_line(), np.array([[0.1, 0.2], [0.9, 0.1]]), kinds=KINDS)
    back = Recourse.load(got.save(tmp_path / f"answer.{ending}"))
    assert back.kind.tolist() == got.kind.tolist()
    np.testing.assert_array_equal(back.lasts, got.lasts)
    assert back[:1].kind.tolist() == got.kind[:1].tolist()
    assert Recourse.concat([got[:1], got[1:]]).kind.tolist() == got.kind.tolist()
    frame = got.to_frame("dict")
    found = got.found.ravel()
    assert frame["kind"][found].tolist() == got.kind.ravel()[found].tolist() and "lasts" in frame
    same = frame["outcome"] == "SAME"  # every kind has a row, one that stands as another kind too
    assert sorted("+".join(frame["kind"][:3][found[:3] | ~same[:3]]).split("+")) == sorted(KINDS)
    plain = case("linear", n=8)
    assert "kind" not in wf.recommend(plain.problem, plain.x).to_frame("dict")


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"kinds": ("cheapst",)}, "Known: cheapest, fewest, lasting"),
        ({"kinds": ()}, "kinds is empty"),
        ({"kinds": ("lasting",)}, "retraining=wf.Retraining"),
        ({"kinds": ("cheapest",), "k": 2}, "leave k out"),
    ],
)
def test_what_cannot_be_asked_is_named(asked, error):
    it = case("linear", n=8)
    with pytest.raises(MethodError, match=error):
        wf.recommend(it.problem, it.x, **asked)
