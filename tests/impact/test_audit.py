"""The audit finds what was planted, says nothing where nothing was, and its counts add up."""

from __future__ import annotations

import html
import itertools
import json
import re
import warnings
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DataError
from wayforward.evaluate import stats
from wayforward.groups import Groups
from wayforward.impact.audit import Audit, audit, both_ways, report
from wayforward.impact.audit.agreement import Agreement
from wayforward.impact.audit.comparison import _notes
from wayforward.impact.audit.figures import GroupFigures
from wayforward.impact.audit.findings import findings, lead
from wayforward.impact.audit.gaps import Gap, correct, corrected, mean_gap, rate_gap
from wayforward.impact.audit.page import render
from wayforward.impact.audit.proved import proved_by_group
from wayforward.impact.audit.suppression import left_alone, without_people
from wayforward.impact.audit.twins import TwinPair, Twins
from wayforward.impact.audit.worst_off import worst_off, worst_off_of
from wayforward.impact.privacy import steps_of_enough
from wayforward.impact.summaries.globe_ce import GlobeCe
from wayforward.language import in_english, translated, use_language
from wayforward.model import train, wrap
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema, SchemaWarning
from wayforward.world import SCM

SCHEMA = Schema(
    (
        Feature(name="sex", kind="binary", levels=("f", "m"), level_labels=("female", "male"),
                actionability="immutable", sensitive=True, label="sex"),
        Feature(name="age", kind="integer", low=18, high=80, unit="years", actionability="immutable"),
        Feature(name="income", kind="real", low=0, high=6000, unit="EUR/month"),
        Feature(name="savings", kind="real", low=0, high=30_000, unit="EUR"),
        Feature(name="city", kind="categorical", levels=("north", "south", "west"), actionability="immutable"),
    )
)  # fmt: skip


def people(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.integers(0, 2, n), rng.integers(18, 81, n), rng.normal(2500, 800, n).clip(0, 6000),
            rng.gamma(2, 3000, n).clip(0, 30_000), rng.integers(0, 3, n),
        ]
    )  # fmt: skip


@lru_cache(maxsize=4)
def lender(penalty: float = 0.0, world: bool = False) -> Problem:
    """A linear lender who takes `penalty` (in EUR of income) off women."""
    data = people(1500, 1)
    score = data[:, 2] + 0.1 * data[:, 3] + penalty * data[:, 0] - penalty / 2 - 3200
    noise = np.random.default_rng(2).logistic(0, 60, len(data))
    model = train("lr", SCHEMA, data, (score + noise > 0).astype(int), seed=0)
    causal = SCM({"sex": "u", "income": "800 * sex + u"}) if world else None
    return Problem(SCHEMA, model, Target(favourable=1), data=data, world=causal)


@lru_cache(maxsize=4)
def harsh() -> Audit:
    x = people(500, 3)
    groups = [Groups.of("sex", x, SCHEMA), Groups.of("age", x, SCHEMA, cut=[40])]
    return audit(
        lender(700.0), x, groups, beside=None, society=False, summaries=[GlobeCe(lines=2, budget=100_000)]
    )


def words_of(got: Audit, *title: str) -> str:
    """The page without its figures, which take nearly all of its time: for words that must stand on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wayforward.answers.figures.svg", lambda *_: "")
        return render(got, *title)


def one_gap(got: Audit, name: str, metric: str) -> Gap:
    found = got[name].largest(metric)
    assert found is not None
    return found


def test_a_harsher_lender_is_found_out():
    got = harsh()
    refused, cost = one_gap(got, "sex", "refused"), one_gap(got, "sex", "cost")
    assert refused.significant and cost.significant
    assert (refused.first, refused.second) == ("female", "male")
    assert refused.estimate.value > 0.15 and cost.estimate.value > 0.03
    assert refused.estimate.low < refused.estimate.value < refused.estimate.high
    assert not any(g.significant for g in got["age"].gaps)
    text = " ".join(findings(got))
    assert "female" in text and re.search(r"By sex: the model refuses", text)


def test_counts_add_up():
    got = harsh()
    for one in got.attributes:
        for field in ("people", "refused", "answered", "found", "proved", "open"):
            assert sum(getattr(g, field) for g in one.groups) == getattr(got.overall, field), (
                one.name,
                field,
            )
        for g in one.groups:
            assert g.found + g.proved + g.open == g.answered <= g.refused <= g.people
            assert g.figures["refused"].n == g.people
            assert g.figures["usable"].n == g.answered
            assert g.figures["cost"].n == g.found
            assert g.served[-1].value == pytest.approx(g.figures["usable"].value)
            assert list(g.curve) == sorted(g.curve)
            shares = [e.value for e in g.needed if np.isfinite(e.value)]
            assert shares == sorted(shares)
    assert got.comparisons == sum(np.isfinite(g.p) for g in got.gaps) + sum(
        len(a.agreement) for a in got.attributes
    )


def test_a_gap_in_refusal_stands_though_nobody_of_one_group_is_refused():
    """Who is never refused has nobody answered; their gap in refusal is the widest of all and must not vanish."""
    x = people(300, 21)
    club = np.where(np.arange(300) < 60, "spared", np.where(np.arange(300) < 180, "b", "c"))
    x[:60, 2], x[:60, 3] = 6000, 30_000
    groups = [Groups.of("club", club), Groups.of("sex", x, SCHEMA)]
    got = audit(lender(), x, groups, "nearest-observable", beside=None, society=False, summaries=())
    one = got["club"]
    spared = next(g for g in one.groups if g.name == "spared")
    assert spared.answered == 0 and not spared.compared and spared.compared_refused
    pairs = {(g.first, g.second) for g in one.gaps if g.metric == "refused"}
    assert len(pairs) == 3
    mine = [g for g in one.gaps if "spared" in (g.first, g.second)]
    assert {g.metric for g in mine} == {"refused"} and all(g.significant for g in mine)
    assert sum(g.significant for g in got["club and sex"].gaps if g.first.startswith("spared")) == 2
    page = render(got)
    assert "in who is refused" in page and "spared and female" in page
    assert any(
        "By club: the model refuses" in t and "of \u201cspared\u201d: a difference" in t
        for t in findings(got)
    )


def test_without_a_planted_gap_corrected_p_values_are_seldom_small():
    alarms = 0
    for seed in range(12):
        x = people(250, 100 + seed)
        rng = np.random.default_rng(seed)
        groups = [Groups.of("made up", rng.choice(["a", "b", "c"], 250)), Groups.of("sex", x, SCHEMA)]
        got = audit(
            lender(), x, groups, "nearest-observable", beside=None, society=False, summaries=(), seed=seed,
            intersections=False, lasting_of=0, proved_of=0,
        )  # fmt: skip
        alarms += got.n_significant > 0
    assert alarms <= 2


def test_a_sample_answers_for_all_and_says_so():
    x = people(500, 3)
    got = audit(
        lender(700.0), x, Groups.of("sex", x, SCHEMA), most=60, beside=None, society=False, summaries=()
    )
    assert got.answered == got.overall.answered == 60 < got.refused == harsh().refused
    assert sum(g.answered for g in got["sex"].groups) == 60
    assert got["sex"].groups[0].figures["refused"].value == harsh()["sex"].groups[0].figures["refused"].value
    assert "drawn by chance" in words_of(got)


def test_the_same_seed_gives_the_same_audit_and_json_holds_no_row():
    x = people(200, 4)
    make = lambda: audit(
        lender(300.0), x, Groups.of("sex", x, SCHEMA), beside=None, summaries="globe-ce"
    ).to_dict()  # noqa: E731
    one, two = make(), make()
    for got in (one, two):
        got["meta"].pop("seconds_recommend")
    assert json.dumps(one, default=str) == json.dumps(two, default=str)
    text = json.dumps(one, default=str)
    for value in x[x[:, 2] > 0, 2]:
        assert repr(float(value)) not in text


def test_what_follows_from_an_act_is_no_part_of_what_no_plan_counts_beside():
    """Income feeds savings in this world; where everybody has a plan, both costs are what people do themselves."""
    plain = lender()
    world = SCM({"income": "u", "savings": "2 * income + u"})
    problem = Problem(SCHEMA, plain.model, Target(favourable=1), data=people(1500, 1), world=world)
    x = people(60, 5)
    overall = audit(
        problem, x, Groups.of("sex", x, SCHEMA), beside=None, society=False, summaries=(), intersections=False
    ).overall  # fmt: skip
    assert overall.found == overall.answered > 10
    assert overall.figures["cost_all"].value == pytest.approx(overall.figures["cost"].value)


def test_twins_price_the_attribute_alone():
    """do(sex) moves income by 800, which the lender then takes 700 off: what is left is told, as J. von Kuegelgen et
    al. (2022) define it."""
    x = people(250, 5)
    got = audit(lender(700.0, True), x, Groups.of("sex", x, SCHEMA), beside=None, society=False, summaries=())
    t = got["sex"].twins
    assert t is not None and not t.why_not
    assert dict(t.values) == {"female": "female", "male": "male"}
    to_male = next(p for p in t.pairs if (p.group, p.other) == ("female", "male"))
    to_female = next(p for p in t.pairs if (p.group, p.other) == ("male", "female"))
    assert to_male.difference.value < -0.05 < 0.05 < to_female.difference.value
    assert t.larger.value > 0.9
    # 800 of income for a man: 1500 EUR in all, of a range of 6000 (savings are dearer: 0.1 x 30,000 = 3,000)
    assert to_female.difference.value == pytest.approx(1500 / 6000, abs=0.08)
    density = got["sex"].groups[0].figures
    assert "log_density" not in density  # this world gives no distribution of its noise


@pytest.mark.parametrize("feature", [True, False])
def test_where_there_are_no_twins_it_says_why(feature):
    x = people(150, 6)
    groups = Groups.of("sex", x, SCHEMA) if feature else Groups.of("region", ["a", "b"] * 75)
    got = audit(lender(), x, groups, "nearest-observable", beside=None, society=False, summaries=())
    text = got.attributes[0].twins
    assert text is not None
    assert ("no causal world" if feature else "does not see") in text.why_not
    assert text.why_not.split("(")[0] in words_of(got).replace("&#39;", "'")


def test_odd_groups_are_told_and_not_compared():
    """A group of one, an empty group, missing labels, a group that nobody refuses: each has its sentence."""
    x = people(200, 7)
    labels = np.array(["a", "b"] * 100, dtype=object)
    labels[0], labels[1:4] = "alone", None
    refused = ~lender().reached(x)[0]
    labels[0] = labels[np.flatnonzero(refused)[0]] = "alone"
    with pytest.warns(match="3 of 200|2 of 200"):
        made = Groups.of("club", labels)
    groups = Groups("club", (*made.names, "empty"), made.member)
    got = audit(lender(), x, groups, "nearest-observable", beside=None, society=False, summaries=())
    one = got["club"]
    by = {g.name: g for g in one.groups}
    assert not by["alone"].compared and by["alone"].withheld and by["empty"].people == 0
    assert by["alone"].figures["cost"].n == 0
    assert one.unlabelled == made.member.tolist().count(-1)
    notes = " ".join(one.notes)
    assert "Nobody of the people looked at belongs to the group “empty”" in notes and "alone" in notes
    every = replace(got.overall, found=got.refused, answered=got.refused)
    assert "All of these have a plan that was checked and works" in lead(
        replace(got, overall=every, answered=got.refused)
    )
    assert all({g.first, g.second} <= {"a", "b"} for g in one.gaps)
    plain = next(g for g in got.to_dict()["attributes"][0]["groups"] if g["group"] == "alone")
    assert plain["people"] is plain["refused"] is plain["found"] is None
    assert all(e["value"] is None and e["n"] == 0 for e in plain["figures"].values())
    assert plain["why_withheld"] == "withheld: fewer than 3 people" and plain["why_withheld"] in words_of(got)
    assert sum(g.people for g in one.groups) + one.unlabelled == 200
    page = render(got)
    assert "no label" in page and "too few" in page


@pytest.mark.parametrize(("others", "guarded"), [(["a", "b", "rare"], True), (["a", "b", "b"], False)])
def test_a_group_of_two_cannot_be_had_by_subtraction(others, guarded):
    """A second small group is withheld, too; where there is none, the two are left out of everything, as is said."""
    x = people(200, 7)
    labels = np.array(["a", "b"] * 100, dtype=object)
    labels[np.flatnonzero(~lender().reached(x)[0])[:2]] = "pair"
    labels[100:105] = others[2]
    club = Groups.of("club", labels)
    got = audit(
        lender(), x, [club, Groups.of("sex", x, SCHEMA)], "nearest-observable", beside=None, society=False,
        summaries=["globe-ce"], others=[lender().model],
    )  # fmt: skip
    one = got["club"]
    assert {g.name for g in one.groups if g.hidden} == ({"pair", "rare"} if guarded else set())
    assert ("could be worked out" in " ".join(one.notes)) == guarded
    assert not [g.name for g in one.groups if g.counts_withheld and not g.hidden]
    assert ("2 people without a label, or in groups of fewer than 3" in " ".join(got.notes)) != guarded
    assert got.n == (200 if guarded else 198) == sum(g.people for g in got["sex"].groups)
    text = got.to_dict()
    for attribute in text["attributes"]:
        assert all(g["people"] is None or g["people"] == 0 or g["people"] >= 3 for g in attribute["groups"])
    assert "pair" not in {g["group"] for s in text["summaries"] for g in s["groups"]}
    assert "pair" not in {g["group"] for g in text["robustness"]["groups"]}


def test_two_people_are_no_audit():
    with pytest.raises(DataError, match="tell of each"):
        audit(lender(), people(2, 7), Groups.of("club", ["a", "b"]))


def test_a_model_trained_on_named_columns_is_not_shown_the_others():
    from sklearn.linear_model import LogisticRegression

    frame, x = SCHEMA.decode(people(400, 1)), people(200, 3)
    numbers = frame[["income", "savings"]]
    model = LogisticRegression().fit(numbers, (frame["income"] > 2500).astype(int))
    problem = Problem(SCHEMA, wrap(model, SCHEMA), Target(favourable=1), data=frame)
    got = audit(problem, x, Groups.of("sex", x, SCHEMA), beside=None, society=False, summaries=[])
    assert not got["sex"].in_model and harsh()["sex"].in_model
    assert "does not see this attribute" in words_of(got)


def test_where_nobody_may_act_no_cost_is_told_and_the_page_says_why():
    fixed = SCHEMA.revise(income={"actionability": "immutable"}, savings={"actionability": "immutable"})
    data, x = people(1500, 1), people(200, 3)
    model = train("lr", fixed, data, (data[:, 2] > 3000).astype(int), seed=0)
    problem = Problem(fixed, model, Target(favourable=1), data=data)
    got = audit(problem, x, Groups.of("sex", x, fixed), beside=None, society=False)
    assert got.overall.figures["cost_all"].n == 0 and got.overall.found == 0
    assert "lets nobody act" in findings(got)[0] and "cost of nobody" not in render(got)


def test_what_plans_must_withstand_is_on_the_page():
    from wayforward.problem import WithinDelta

    problem, x = lender(), people(150, 3)
    careful = Problem(
        SCHEMA, problem.model, Target(favourable=1), data=people(1500, 1), robust=[WithinDelta(0.01)]
    )
    got = audit(careful, x, Groups.of("sex", x, SCHEMA), most=30, beside=None, society=False, summaries=[])
    assert careful.robust is not None and got.to_dict()["meta"]["robust"] == careful.robust.describe()
    page = render(got)
    assert page.count("within 0.01") >= 3 and "today's model only" not in page


def test_only_small_groups_means_nothing_is_compared():
    x = people(60, 8)
    groups = Groups.of("club", [f"c{i % 15}" for i in range(60)])
    got = audit(lender(), x, groups, "nearest-observable", beside=None, society=False, summaries=())
    assert not got.gaps and "nothing is compared" in " ".join(got["club"].notes)
    assert "nothing was compared" in " ".join(findings(got))
    page = render(got)
    assert "No groups were compared." in page and "one in twenty" not in page


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"groups": []}, "none were given"),
        ({"groups": [np.zeros(3)]}, "Groups.of"),
        ({"groups": Groups.of("club", ["a", "b"] * 5)}, "10 people"),
        ({"smallest": 1}, "smallest=1"),
        ({"most": 0}, "most=0 is no whole number"),
        ({"correction": "bonferroni"}, "benjamini-hochberg"),
        ({"summaries": ["trees"]}, "Did you mean 'tree'?"),
        ({"summaries": ["tree", "tree"]}, "twice"),
    ],
)
def test_bad_input_is_named(change, text):
    x = people(80, 9)
    given = {"groups": Groups.of("sex", x, SCHEMA)} | change
    with pytest.raises(DataError, match=re.escape(text)):
        audit(
            lender(), x, method="nearest-observable", beside=None, society=False, **{"summaries": (), **given}
        )


def test_few_rules_are_told_of_people_who_had_no_say():
    got = harsh()
    one = got.summaries[0]
    assert one.learnt + one.n_scored == got.answered and abs(one.learnt - one.n_scored) <= 1
    assert (
        sum(g.served.n for g in one.groups if g.attribute == "sex") == one.n_scored == one.everybody.served.n
    )
    assert one.recourse.n == 0 and one.line.size == 0 and one.who.size == 0  # an audit holds no person's row
    page, text = render(got), " ".join(findings(got))
    assert "who had no say in them" in page and "rules serve" in text
    for line in one.lines:
        assert line.change[0][1:] in page and f"{line.n_addressed:,}" in page
    plain = json.loads(got.to_json())["summaries"][0]
    assert plain["lines"][0]["works"]["n"] == one.lines[0].n_addressed
    assert plain["curve"]["cost"] == list(one.curve.cost) == sorted({*got.grid, *got.budgets})
    assert plain["curve"]["served"][-1] <= one.everybody.served.value + 1e-12


def test_rules_that_serve_nobody_are_no_rules():
    from dataclasses import replace

    from wayforward.evaluate import stats

    got = harsh()
    one = got.summaries[0]
    none = replace(
        one, everybody=replace(one.everybody, served=stats.rate(np.zeros(one.n_scored, dtype=bool)))
    )
    text = " ".join(findings(replace(got, summaries=(none,))))
    assert "no common change was found" in text and "rules serve" not in text


def test_groups_whom_rules_serve_unlike_are_compared_with_everything_else():
    """Income helps the old only, savings the young: one rule serves one of them, and the gap joins the family."""
    x = people(400, 15)

    def score(rows: np.ndarray) -> np.ndarray:
        return np.where(rows[:, 1] < 40, rows[:, 3] >= 20_000, rows[:, 2] >= 5000).astype(float)

    problem = Problem(
        SCHEMA, wrap(score, SCHEMA, takes="array", classes=(0, 1)), Target(favourable=1), data=x
    )
    got = audit(
        problem, x, Groups.of("age", x, SCHEMA, cut=[40]), beside=None, society=False, intersections=False,
        summaries=[GlobeCe(lines=1, budget=60_000)],
    )  # fmt: skip
    gap = one_gap(got, "age", "lines globe-ce")
    assert gap.significant and abs(gap.estimate.value) > 0.9 and gap.corrected >= gap.p
    assert sum(gap.counts) == got.summaries[0].n_scored
    text = " ".join(findings(got))
    assert "a few rules for many people (GLOBE-CE) serve" in text, text
    assert "Served by few rules (GLOBE-CE)" in words_of(got)


def test_too_few_for_rules_is_said():
    x = people(200, 16)
    some = np.flatnonzero(~lender().reached(x)[0])[:18]
    got = audit(lender(), x[some], Groups.of("club", ["a", "b"] * 9), smallest=2, beside=None, society=False)
    assert got.summaries == () and "too few to learn lines" in " ".join(got.notes)
    with use_language("de"):
        assert "zu wenige, um Regeln" in " ".join(map(translated, got.notes))
    assert "Rules for many" not in render(got)


def test_a_continuous_group_is_told_how_to_become_one():
    x = people(80, 9)
    with pytest.raises(DataError, match="cut="):
        Groups.of("income", x, SCHEMA)


def test_nobody_refused_is_an_error():
    x = people(80, 9)
    x[:, 2], x[:, 3] = 6000, 30_000
    with pytest.raises(DataError, match="refuses nobody"):
        audit(lender(), x, Groups.of("sex", x, SCHEMA))


def test_twice_the_same_attribute_is_an_error():
    x = people(80, 9)
    with pytest.raises(DataError, match="twice"):
        audit(lender(), x, [Groups.of("sex", x, SCHEMA)] * 2)


# -- the page --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def whole() -> Audit:
    """With every part of the page."""
    x = people(220, 14)
    groups = [Groups.of("sex", x, SCHEMA), Groups.of("age", x, SCHEMA, cut=[40])]
    problem = lender(700.0, True)
    return audit(problem, x, groups, others=[problem.model], twins_of=40, summaries=["globe-ce"])


def test_the_page_in_german_has_the_same_numbers_and_no_english():
    pytest.importorskip("babel")

    def told(page: str) -> tuple[str, list[str]]:
        text = html.unescape(
            re.sub(r"<style>.*?</style>|<metadata>.*?</metadata>|<[^>]+>", " ", page, flags=re.DOTALL)
        )
        return text, sorted(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))

    got = replace(whole(), meta={**whole().meta, "versions": {}})
    english, numbers = told(render(got))
    page = render(got, language="de")
    german, _ = told(page)
    assert '<html lang="de">' in page and "Was auffällt" in german
    assert told(page.translate({ord("."): ",", ord(","): "."}))[1] == numbers
    left = re.findall(
        r"\b(?:the|of|and|with|is|are|people|plans?|who|has|have|cost|below|above|yes|no)\b", german
    )
    assert not left, left
    with use_language("de"):  # what programs read stays as it is
        assert got.to_json() == in_english(got.to_json)
    assert "below 40" in english and "unter 40" in german


def test_the_page_stands_alone_and_is_accessible(tmp_path):
    path = report(whole(), tmp_path / "a.html")
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text and not re.search(r'(src|href)="https?:', text)
    assert text.count("<table") == text.count("<caption>") > 8
    assert text.count("<svg") == text.count("<desc") == text.count("<figcaption>") >= 6
    levels = [int(level) for level in re.findall(r"<h(\d)", text)]
    assert levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
    assert "certifies" in text and not re.search(
        r"\bis fair\b(?<!model or its advice is fair)", text.replace("\n", " ")
    )
    assert "{" not in re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", text, flags=re.DOTALL)
    assert len(set(re.findall(r'id="([^"]+)"', text))) == len(re.findall(r'id="([^"]+)"', text))


def test_old_names_of_an_audit_answer_for_one_release(tmp_path):
    got = harsh()
    with pytest.warns(DeprecationWarning, match="wayforward.impact.audit.report"):
        path = got.report(tmp_path / "old.html")
    drawn = re.compile(r"<svg.*?</svg>", re.DOTALL)  # drawing names its parts anew each time
    assert drawn.sub("", path.read_text(encoding="utf-8")) == drawn.sub("", render(got))
    with pytest.warns(DeprecationWarning, match="n_significant"):
        assert got.stands == got.n_significant
    with pytest.warns(DeprecationWarning, match="acted_on"):
        assert got.overall.asked_for == got.overall.acted_on
    gap = one_gap(got, "sex", "refused")
    with pytest.warns(DeprecationWarning, match="significant"):
        assert gap.stands == gap.significant


def test_two_plans_of_a_group_are_not_told_apart_from_their_people():
    """Thirty are answered and two have a plan: what these two pay, and are asked for, is in no figure and no gap."""
    x = people(400, 17)
    refused = np.flatnonzero(~lender().reached(x)[0])
    few = refused[:30]

    def score(rows: np.ndarray) -> np.ndarray:
        return ((rows[:, 1] != 79) & (rows[:, 2] >= 4000)).astype(float)

    model = wrap(score, SCHEMA, takes="array", classes=(0, 1))
    x[:, 1] = np.minimum(x[:, 1], 78)
    x[few[2:], 1] = 79
    problem = Problem(SCHEMA, model, Target(favourable=1), data=x)
    x[few, 2] = 1000.0
    of_all = np.where(np.arange(len(x)) % 3 == 0, "guard", "many")
    club = Groups.of("club", np.where(np.isin(np.arange(len(x)), few), "few", of_all))
    got = audit(
        problem, x, club, "nearest-observable", summaries=["globe-ce"], beside="local-search", society=False
    )
    group = got["club"].groups[0]
    assert (group.name, group.answered, group.found, group.withheld) == ("few", 30, 2, False)
    assert group.figures["cost"].n == 0 and np.isnan(group.acted_on).all() and not group.curve
    assert all(np.isnan(e.value) for e in group.needed) and group.figures["usable"].n == 30
    compared = {g.metric for g in got["club"].gaps}
    assert "usable" in compared and not {"cost", "burden"} & compared and not got["club"].agreement
    assert not any(one.metric == "cost" for one in got["club"].simpson)
    assert "too few plans to tell" in render(got)
    guard, many = got["club"].groups[
        1:
    ]  # what the two pay is in no difference of all and of the others either
    assert guard.figures["cost"].n == 0 < guard.figures["usable"].n and many.figures["cost"].n > 3


def test_shares_of_two_answered_are_withheld_in_the_first_sentence_too():
    everybody = people(200, 16)
    refused = ~lender().reached(everybody)[0]
    x = everybody[np.r_[np.flatnonzero(~refused)[:30], np.flatnonzero(refused)[:2]]]
    got = audit(lender(), x, Groups.of("sex", x, SCHEMA), beside=None, society=False, summaries=())
    assert got.overall.withheld and lead(got).endswith("how they fared: that is withheld.")
    told = got.to_dict()
    assert told["overall"]["found"] is None and not told["proved"]["groups"] and not told["fixed"]["groups"]


def numbers_in(plain) -> list[float]:
    if isinstance(plain, dict):
        return [number for value in plain.values() for number in numbers_in(value)]
    if isinstance(plain, (list, tuple)):
        return [number for value in plain for number in numbers_in(value)]
    return [float(plain)] if isinstance(plain, float) else []


@lru_cache(maxsize=2)
def of_few(seed: int) -> tuple[Audit, np.ndarray, np.ndarray]:
    """An audit of a group of three, one of four, one of nine refused people and two large ones; costs and labels."""
    x = people(170, seed)
    refused = np.flatnonzero(~lender().reached(x)[0])
    label = np.where(np.arange(len(x)) % 2, "many", "more").astype(object)
    for name, some in (("three", refused[:3]), ("four", refused[3:7]), ("nine", refused[7:16])):
        label[some] = name
    groups = [Groups.of("club", label), Groups.of("sex", x, SCHEMA)]
    got = audit(lender(), x, groups, society=False, summaries=("tree", "globe-ce"), seed=seed)
    return got, wf.recommend(lender(), x[refused], seed=seed).cost[:, 0], label[refused]


@pytest.mark.parametrize("seed", range(2))
def test_what_somebody_pays_is_no_number_of_an_audit(seed):
    """Medians, ends of intervals and budgets were somebody's own cost, and the spread of three told all of them."""
    got, cost, label = of_few(seed)
    told = np.array(numbers_in(got.to_dict()))
    assert np.abs(told[:, None] - cost[np.isfinite(cost)]).min() > 1e-9
    for group in got["club"].groups:
        mine = cost[label == group.name]
        for name in ("cost", "burden", "cost_all"):
            mean = group.figures[name]
            few = len(mine) < 10
            assert mean.n == len(mine) and np.isfinite(mean.value)
            assert np.isnan([mean.low, mean.high, mean.median]).all() == few
        assert (not any(e.n for e in (*group.served, *group.needed)) and not group.curve) == few
        assert not few or not any(
            g.metric in ("cost", "burden") and group.name in (g.first, g.second) for g in got.gaps
        )


@pytest.mark.parametrize("seed", range(2))
def test_spreads_and_shares_within_a_budget_leave_ten_plans_or_none(seed):
    """Squares add up, and so do people within a budget: of everybody less all groups told, too."""
    got, cost, _ = of_few(seed)
    for one in got.attributes:
        for told in (
            [g.found for g in one.groups if np.isfinite(g.figures["cost"].std)],
            [g.found for g in one.groups if g.served and g.served[0].n],
            [g.found for g in one.groups if g.curve],
        ):
            rest = got.overall.found - sum(told)
            assert min(told, default=10) >= 10 and (rest == 0 or rest >= 10 or not told)
    for part in [got.overall, *got["club"].groups]:
        counts = np.round(np.array([0.0, *part.curve]) * part.answered, 6)
        assert not len(part.curve) or np.diff(np.unique(counts)).min() >= 3
    for shares, e in zip((0.25, 0.5, 0.75, 0.9), got.overall.needed, strict=True):
        assert (
            np.isnan(e.value) or (cost > e.value).sum() >= 2 and abs((cost <= e.value).mean() - shares) < 0.06
        )


def test_a_curve_rises_by_three_or_more_and_ends_where_it_ended():
    for total in range(10, 16):
        told = steps_of_enough(np.arange(total + 1), total)
        assert told[-1] == total and np.diff(np.unique(told)).min() >= 3 and told[0] == 0
        assert (told <= np.arange(total + 1)).all() and (np.arange(total + 1) - told)[6:].max() <= 2


def test_what_one_pays_does_not_follow_where_no_plan_counts_as_the_dearest():
    """One of those answered has a plan: the mean over all, less what the others count, was what that one pays."""
    data, x = people(400, 18), people(200, 17)
    x[:, 1], x[:, 2] = 79, np.minimum(x[:, 2], 3900)
    x[0, 1] = data[:, 1] = 30

    def score(rows: np.ndarray) -> np.ndarray:
        return ((rows[:, 1] != 79) & (rows[:, 2] >= 4000)).astype(float)

    problem = Problem(
        SCHEMA, wrap(score, SCHEMA, takes="array", classes=(0, 1)), Target(favourable=1), data=data
    )
    sex = Groups.of("sex", x, SCHEMA)
    got = audit(problem, x, sex, "nearest-observable", beside=None, society=False, summaries=())
    assert (got.overall.found, got.overall.answered, got.overall.figures["usable"].n) == (1, 200, 200)
    assert got.overall.figures["cost_all"].n == 0 and not any(g.metric == "cost_all" for g in got.gaps)
    assert not got.budgets and not any(one.simpson for one in got.attributes) and "withheld" in words_of(got)


@pytest.mark.parametrize("accepted", [False, True])
def test_who_has_no_label_is_not_told_apart(accepted):
    """Everybody less the two groups was one person without a label: they are left out of every number, as is said."""
    x = people(200, 7)
    label = np.array(["a", "b"] * 100, dtype=object)
    label[np.flatnonzero(lender().reached(x)[0] == accepted)[0]] = None
    with pytest.warns(SchemaWarning):
        club = Groups.of("club", label)
    got = audit(lender(), x, [club, Groups.of("sex", x, SCHEMA)], beside=None, society=False, summaries=())
    for one in got.attributes:
        for count in ("people", "refused", "answered", "found"):
            assert sum(getattr(g, count) for g in one.groups if not g.counts_withheld) <= getattr(
                got.overall, count
            )
        assert one.crossed or sum(g.people for g in one.groups) == got.n == 199
    assert "club: 1 person without a label" in " ".join(got.notes) and "club: 1 person without" in words_of(
        got
    )
    label[:3] = None
    with pytest.warns(SchemaWarning):
        three = Groups.of("club", label)
    assert (
        left_alone([three], 10)[0].sum() == 0
    )  # of three or four together everybody less the groups may tell


@pytest.mark.parametrize("refused", [True, False])
@pytest.mark.parametrize("sizes", [(2, 1), (2, 5)])
def test_who_is_left_was_not_all_refused(refused, sizes):
    """Everybody less the groups were three people of two small groups, all refused or all accepted: so was each."""
    x = people(200, 7)
    label = np.array(["big", "mid"] * 90 + ["more"] * 20, dtype=object)
    alike = np.flatnonzero(~lender().reached(x)[0][:180] == refused)
    label[alike[: sizes[0]]], label[alike[sizes[0] : sum(sizes)]] = "two", "few"

    def left() -> tuple[int, int]:
        got = audit(lender(), x, [Groups.of("club", label)], beside=None, society=False, summaries=())
        of_groups = [one for one in got.attributes[0].groups if not one.hidden]
        return got.n - sum(one.people for one in of_groups), got.refused - sum(
            one.refused for one in of_groups
        )

    people_left, refused_left = left()
    assert people_left == 20 + sum(sizes) and 0 < refused_left < people_left
    label[np.flatnonzero(~lender().reached(x)[0][:180] != refused)[0]] = "two"  # now they were not
    assert left()[0] == (0 if sizes[1] > 2 else 4)


def test_parts_of_which_nothing_is_told_were_not_all_refused():
    """Where two attributes meet: who is left of a group that is told was not all refused, nor all accepted."""
    withheld = 0
    for seed in range(12):
        x, random = people(160, seed), np.random.default_rng(seed)
        refused = ~lender().reached(x)[0]
        home = random.choice(["rent", "own"], 160).astype(object)
        club = random.choice(["a", "b"], 160).astype(object)
        club[np.flatnonzero((home == "rent") & (refused == seed % 2))[:2]] = "few"
        club[np.flatnonzero(home == "own")[:9]] = "few"
        one, other = Groups.of("home", home), Groups.of("club", club)
        got = audit(lender(), x, [one, other], beside=None, society=False, summaries=(), twins_of=0)
        (parts,) = (found for found in got.attributes if found.crossed)
        label = one.cross(other).member
        told = np.isin(label, [g for g, part in enumerate(parts.groups) if not part.hidden])
        withheld += not told.all()
        for attribute in (one, other):
            for g in range(attribute.n_groups):
                mine = attribute.member == g
                rest = refused[mine & ~told]
                assert not rest.size or 0 < rest.sum() < rest.size or len(set(refused[mine])) == 1
    assert withheld > 5


def test_a_group_that_guards_another_is_not_said_to_be_small():
    """'b (32)' was told to have fewer than ten people answered."""
    a = GroupFigures("a", 40, 32, 32, 30, 1, 1, True, True, {}, ())
    figures = (a, replace(a, name="b", compared=False, counts_withheld=True, withheld=True))
    assert not any("b (32)" in note for note in _notes(figures, False, True, 10, 3))


def test_rules_that_speak_to_few_tell_no_more_than_what_they_say():
    """`used` and `how_much` of a rule for one or two were told; of 3 to 9 no share tells of single people either."""
    one = harsh().summaries[0]
    hit = np.arange(12) < 11
    lines = [
        replace(one.lines[0], n_addressed=n, works=stats.rate(hit[:n]), cost=stats.mean(np.arange(n) * 0.1),
                used=n / 50, how_much="By 1 to 2.", withheld=False)
        for n in (2, 9, 12)
    ]  # fmt: skip
    told = without_people(replace(one, lines=tuple(lines)), set()).to_dict()["lines"]
    assert [line["told"] for line in told] == [None, 9, 12] and [line["withheld"] for line in told] == [
        1,
        1,
        0,
    ]
    for line in told[:2]:
        assert (
            line["used"] is None and line["how_much"] == "" and line["works"]["n"] == line["cost"]["n"] == 0
        )
    assert told[2]["how_much"] and told[2]["works"]["value"] == 9 / 12  # 11 hits or 9: in steps of three


def test_segregation_is_told_of_groups_that_are_told_and_warns_of_none():
    """'New York', of two, was told beside 'New', and a warning counted the one of 'Solo'."""
    x = people(150, 3)
    town = np.array(["New"] * 70 + ["Old"] * 70 + ["New York"] * 2 + ["Guard"] * 7 + ["Solo"])
    np.random.default_rng(0).shuffle(town)
    swapped = [
        np.flatnonzero(town == "New York")[0],
        np.flatnonzero((town == "New") & ~lender().reached(x)[0])[0],
    ]
    town[swapped] = town[swapped[::-1]]  # who is left was not all accepted
    with warnings.catch_warnings():
        warnings.simplefilter("error", SchemaWarning)
        got = audit(
            lender(),
            x,
            Groups.of("town", town),
            beside=None,
            summaries=(),
            lasting_of=0,
            proved_of=0,
            most=60,
        )
    assert set(got["town"].society) == {"New", "Old"}


def test_twins_are_of_groups_that_are_told():
    """Pairs told of 'C', of four, which is withheld so that the one of 'D' cannot be worked out."""

    def pair(group: str, other: str, n: int) -> TwinPair:
        values = np.linspace(0.1, 0.3, n)
        return TwinPair(
            group, other, n, stats.rate(values > 0.2), stats.mean(values), stats.rate(values > 0.25)
        )

    every = tuple(pair(a, b, n) for a, n in (("A", 40), ("B", 9), ("C", 12)) for b in "ABCD" if a != b)
    values = np.linspace(0.1, 0.3, 61)
    all_of = Twins(
        "town", pairs=every, individual=stats.mean(values), larger=stats.rate(values > 0.2), people=61
    )
    told = all_of.as_told({"A", "B"}, 62)
    assert [(one.group, one.other) for one in told.pairs] == [("A", "B")]
    assert told.people == told.individual.n == told.larger.n == 59  # 61 of 62, in steps of three from all
    assert np.isnan(told.individual.std) and np.isnan(told.individual.median)


def test_the_worst_off_of_an_audit_are_in_steps_and_ten_or_more():
    x = people(700, 21)
    x[:, 4] = np.where(np.arange(700) % 4 == 0, 2, 0)
    rng = np.random.default_rng(0)
    cost = np.where(x[:, 4] == 2, 0.4, 0.2) + rng.normal(0, 0.05, 700)
    usable = rng.random(700) < np.where(x[:, 4] == 2, 0.6, 0.9)
    how = {"groups": [], "seed": 0, "correction": "holm"}
    told = worst_off_of(SCHEMA, x, usable, np.where(usable, cost, np.nan), **how)
    assert {one.metric for one in told} == {"usable", "cost"}
    for one in told:
        for value, n in ((one.value, one.n), (one.rest, one.gap.n - one.n)):
            missing = n - value * n
            assert (
                one.metric == "cost" or round(missing) % 3 == 0 and missing == pytest.approx(round(missing))
            )
            exact = np.array([cost[one.member].mean(), cost[~one.member].mean()])
            assert one.metric == "usable" or len(f"{value:.12g}") <= 7 and np.abs(exact - value).min() < 0.05
        assert one.n >= 10 and one.gap.value == pytest.approx(one.value - one.rest, abs=1e-3)


def figures_of(part, people):
    """Everything that a part of the JSON tells by group, as {attribute: {group: people behind it}}."""
    out = {}
    for one in part:
        out.setdefault(one["attribute"], {})[one["group"]] = people(one)
    return out


@pytest.mark.parametrize("seed", range(6))
def test_how_few_fared_is_nowhere_in_an_audit_and_cannot_be_worked_out(seed):
    """Groups of which 0 to 4 are answered: no table tells of 1 or 2, nor do all people less the other groups."""
    x, rng = people(160, seed), np.random.default_rng(seed)
    refused = ~lender().reached(x)[0]
    names = np.array(["a", "b", "c", "d"])
    label = rng.choice(names, len(x), p=(0.55, 0.33, 0.06, 0.06))
    label[np.flatnonzero(refused & (label == "d"))[rng.integers(1, 3) :]] = "a"
    clubs = Groups.of("club", label)
    got = audit(
        lender(), x, [clubs, Groups.of("sex", x, SCHEMA)], beside=None, society=False, summaries=("tree",), twins_of=0,
        seed=seed,
    )  # fmt: skip
    told = got.to_dict()
    answered = {name: int((refused & (label == name)).sum()) for name in names}
    assert 0 < answered["d"] < 3
    (club,) = (a for a in told["attributes"] if a["name"] == "club")
    outcomes = {g["group"]: g["answered"] for g in club["groups"] if g["found"] is not None}
    tables = [
        outcomes,
        figures_of(told["fixed"]["groups"], lambda one: one["n"]).get("club", {}),
        figures_of(told["proved"]["groups"], lambda one: one["plans"] or 0).get("club", {}),
        figures_of(told["robustness"]["groups"], lambda one: one["n"]).get("club", {}),
        figures_of(told["summaries"][0]["groups"], lambda one: one["served"]["n"]).get("club", {}),
        {g["group"]: g["figures"]["usable"]["n"] for g in club["groups"]},
        {g["group"]: g["figures"]["copies"]["n"] for g in club["groups"] if "copies" in g["figures"]},
    ]
    whole = [
        told["answered"], told["fixed"]["groups"][0]["n"], told["proved"]["groups"][0]["plans"],
        told["robustness"]["groups"][0]["n"], told["summaries"][0]["told_of"], told["answered"],
        told["overall"]["figures"]["copies"]["n"] if "copies" in told["overall"]["figures"] else 0,
    ]  # fmt: skip
    for table, n in zip(tables, whole, strict=True):
        shown = {name: count for name, count in table.items() if count}
        assert min(shown.values(), default=3) >= 3 and "d" not in shown
        assert not shown or n - sum(shown.values()) == 0 or n - sum(shown.values()) >= 3
    crossed = next(a for a in told["attributes"] if a["intersection"])
    parts = {g["group"]: g for g in crossed["groups"]}
    for (
        club_name
    ) in names:  # a row of the crossing: the withheld are none, or three people and two parts at least
        row = [g for name, g in parts.items() if name.startswith(f"{club_name} and")]
        out = [g for g in row if g["found"] is None]
        told_of = sum(g["answered"] for g in row if g["found"] is not None)
        count = int((refused & (label == club_name)).sum()) - told_of
        shown = [g for g in row if g["answered"] and g["found"] is not None]
        assert club_name not in outcomes or not shown or count == 0 or (count >= 3 and len(out) > 1)
    sex = np.where(x[:, 0] == 0, "female", "male")
    for figure, counted in (("found", refused), ("refused", np.ones(len(x), dtype=bool))):
        follows = worked_out(told, figure, {"club": label, "sex": sex})
        for club_name, sex_name in itertools.product((*names, None), ("female", "male", None)):
            who = (
                counted
                & ((label == club_name) | (club_name is None))
                & ((sex == sex_name) | (sex_name is None))
            )
            assert not 0 < who.sum() < 3 or not follows(club_name, sex_name), (figure, club_name, sex_name)


def test_everybody_else_tells_no_sum_of_all_groups():
    """Of more than six groups each stands beside everybody else: two people are withheld, and six have no label."""
    x, rng = people(300, 5), np.random.default_rng(0)
    refused = ~lender().reached(x)[0]
    label = rng.integers(1, 8, len(x))
    label[np.flatnonzero(refused)[:6]] = -1
    label[np.flatnonzero(~refused)[:2]] = 0
    club = Groups("club", ("few", *"abcdefg"), label)
    got = audit(
        lender(), x, club, beside=None, society=False, summaries=(), twins_of=0, proved_of=0, lasting_of=0
    )
    assert [g.name for g in got["club"].groups if g.hidden] == ["few"]
    gap = got["club"].largest("refused")
    assert gap.second == "everybody else" and gap.metric == "refused"
    assert sum(gap.counts) == len(x) and np.dot(gap.counts, gap.values) == pytest.approx(refused.sum())


def worked_out(told, figure, labels):
    """Which sums over parts of people follow from all that is told of a figure: those in the span of its equations."""
    first, second = labels
    cells = list(itertools.product(np.unique(labels[first]), np.unique(labels[second])))
    equations = [[1.0] * len(cells)]
    for attribute in told["attributes"]:
        for group in attribute["groups"]:
            if group[figure] is None:
                continue
            at = dict.fromkeys(labels)
            if attribute["intersection"]:
                at = dict(zip(labels, group["group"].split(" and "), strict=True))
            else:
                at[attribute["name"]] = group["group"]
            equations.append([inside(cell, at.values()) for cell in cells])
    rank = np.linalg.matrix_rank(equations)
    return lambda *at: np.linalg.matrix_rank([*equations, [inside(cell, at) for cell in cells]]) == rank


def inside(cell, at):
    return float(all(b is None or a == b for a, b in zip(cell, at, strict=True)))


def test_groups_asked_for_the_same_are_told_so_and_no_feature_is_the_most_apart():
    agreement = Agreement("club", "a", "b", 1.0, 1.0, 1.0, (30, 30), ("sex", 0.0, 0.0))
    whole_page = replace(harsh(), attributes=(replace(harsh()["sex"], agreement=(agreement,)),))
    page = html.unescape(render(whole_page))
    assert "Both are asked to change each feature equally often." in page and "Most apart" not in page
    apart = replace(agreement, most=("savings", 0.25, 0.5))
    page = html.unescape(
        render(replace(whole_page, attributes=(replace(harsh()["sex"], agreement=(apart,)),)))
    )
    assert "Most apart is “savings”: 25" in page


def test_the_interval_of_plans_that_last_covers_other_models_too():
    """Retrained models differ (beta), plans differ (logits): the interval of 3 models and 40 plans holds the truth."""
    rng, held, narrow = np.random.default_rng(0), 0, 0
    for _ in range(400):
        rate = np.clip(rng.normal(0.5, 0.12, 3)[:, None] + rng.normal(0, 0.15, 40), 0, 1)
        votes = rng.random((3, 40)) < rate
        e = both_ways(votes)
        held += e.low <= 0.5 <= e.high
        plans = votes.mean(0)
        narrow += abs(plans.mean() - 0.5) < 1.96 * plans.std(ddof=1) / np.sqrt(40)
    assert held >= 0.93 * 400 > 0.8 * 400 > narrow
    assert both_ways(np.ones((3, 9), dtype=bool)).low == 1.0 and both_ways(np.ones((0, 9), dtype=bool)).n == 0


def test_fixed_predictions_are_those_of_brute_force():
    """Savings in five classes are all that anybody may change: who is fixed can be counted by hand."""
    savings = ("none", "little", "some", "much", "plenty")
    schema = SCHEMA.revise(income={"actionability": "immutable"}, savings={"actionability": "immutable"})
    schema = Schema(
        (*schema.features, Feature(name="kept", kind="ordinal", levels=savings, direction="increase"))
    )
    rng = np.random.default_rng(7)
    x = np.column_stack([people(400, 7), rng.integers(0, 5, 400)])
    y = (x[:, 2] + 300 * x[:, 5] + rng.logistic(0, 60, 400) > 3400).astype(int)
    problem = Problem(schema, train("rf", schema, x, y, seed=0), Target(favourable=1), data=x)
    refused = x[~problem.reached(x)[0]]
    best, least = np.zeros(len(refused), dtype=bool), np.full(len(refused), np.inf)
    for level in range(5):
        rows = refused.copy()
        rows[:, 5] = np.maximum(rows[:, 5], level)
        best |= (yes := problem.reached(rows)[0])
        least[yes] = np.fmin(least[yes], (rows[:, 5] - refused[:, 5])[yes])
    seen = []
    got = audit(
        problem, x, Groups.of("sex", x, schema), method="nearest-observable", beside=None, society=False, summaries=(),
        lasting_of=0, proved_of=10_000, see=seen.append,
    )  # fmt: skip
    whole, *groups = got.fixed["groups"]
    assert (whole["n"], whole["possible"], whole["open"]) == (len(refused), best.sum(), 0)
    assert whole["proved"] + whole["listed"] == (~best).sum() > 20
    assert [side["n"] for side in groups] == [int((refused[:, 0] == sex).sum()) for sex in (0, 1)]
    assert sum(side["possible"] for side in groups) == whole["possible"]
    text = next(text for text in findings(got) if "Fixed predictions" in text)
    assert f"turns the answer of {(~best).sum():,} of {len(refused):,} refused people" in text
    assert "Whose answer is fixed?" in words_of(got, "Audit")
    assert json.loads(got.to_json())["fixed"] == got.fixed
    steps = (seen[0].recourse.after[:, 0, 5] - refused[:, 5])[best]
    whole, *groups = got.proved["groups"]
    assert whole["plans"] == best.sum() and whole["cheapest"] == (steps == least[best]).sum() > 20
    assert whole["plans_open"] == (steps > least[best]).sum()  # a level more is far more than 5 % more
    counts = {"without": (~best).sum(), "none_exists": (~best).sum(), "without_open": 0}
    assert {name: whole[name] for name in counts} == counts
    assert sum(side["cheapest"] for side in groups) == whole["cheapest"]
    action = seen[0].recourse.action.copy()
    further = np.c_[refused[best, :5], np.minimum(action[best, 0, 5] + 1, 4)]
    action[best, 0, 5] = np.where(problem.reached(further)[0], further[:, 5], action[best, 0, 5])
    dear = problem.check(refused, action, 1)
    open_ = np.full(len(best), "open")
    whole = proved_by_group(replace(seen[0], recourse=dear), open_, 10_000, set())["groups"][0]
    farther = (dear.after[:, 0, 5] - refused[:, 5])[best] > least[best]
    assert (whole["cheapest"], whole["plans_open"]) == ((~farther).sum(), farther.sum()) and farther.sum() > 5
    assert whole["without_open"] == (~best).sum()  # nothing was proved of them
    assert json.loads(got.to_json())["proved"] == got.proved
    assert "How much is proved?" in words_of(got, "Audit")
    assert f"All {best.sum()} plans that were set beside a proved bound are the cheapest" in " ".join(
        findings(got)
    )


def test_each_model_trained_again_is_told():
    x = people(250, 3)
    strict = train("lr", SCHEMA, people(900, 5), (people(900, 5)[:, 2] > 3400).astype(int), seed=0)
    got = audit(
        lender(), x, Groups.of("sex", x, SCHEMA), beside=None, society=False, summaries=(),
        others=[lender().model, strict],
    )  # fmt: skip
    row = got.robustness["groups"][0]
    assert row["yes_by_retrained_model"][0] == 1.0 and row["yes_by_retrained_model"][1] < 0.9
    e = row["yes_of_retrained_models"]
    assert e["value"] == pytest.approx(np.mean(row["yes_by_retrained_model"]))
    assert e["low"] <= min(row["yes_by_retrained_model"]) and e["high"] == 1.0
    text = next(t for t in findings(got) if "advice last" in t)
    assert "Under 2 models trained again" in text and "and 100.0" in text


@pytest.mark.parametrize("name", ["$\\frac{x", "a" * 300, "{{ 7 * 7 }}", "\u00e9 <b>"])
def test_strange_names_are_told_as_they_are(name: str):
    x = people(120, 10)
    club = Groups.of(name, [name, "b"] * 60)
    page = render(audit(lender(), x, club, "nearest-observable", beside=None, society=False, summaries=()))
    assert "49" not in re.findall(r"<h2[^>]*>([^<]*)</h2>", page)
    assert name.replace("<", "&lt;").replace(">", "&gt;") in page


def test_names_are_escaped():
    x = people(120, 10)
    hostile = "<script>alert(1)</script>\x1b[2J"
    got = audit(
        lender(), x, Groups.of(hostile, [hostile, "b"] * 60), "nearest-observable", beside=None, society=False
    )
    page = render(got)
    assert "<script" not in page and "alert(1)" in page and "<svg" in page
    assert not [c for c in page if ord(c) < 32 and c not in "\n\t"]  # in its figures, too


# -- gaps and corrections ----------------------------------------------------------------------------------------


def test_holm_and_benjamini_hochberg_by_hand():
    p = np.array([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(corrected(p), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(corrected(p, "benjamini-hochberg"), [0.02, 0.04, 0.04, 0.02])
    assert corrected(np.array([])).size == 0


def test_correct_leaves_out_what_was_not_tested():
    gap = Gap("a", "cost", "x", "y", rate_gap(np.array([True]), np.array([False]), np.array([True]))[0], (0, 0), (0, 0),
              float("nan"))  # fmt: skip
    sure = Gap("a", "cost", "x", "y", gap.estimate, (0, 0), (0, 0), 0.02)
    got = correct([gap, sure])
    assert (
        np.isnan(got[0].corrected)
        and got[1].corrected == 0.02
        and got[1].significant
        and not got[0].significant
    )


def test_newcombes_interval():
    """Newcombe (1998), Statist. Med. 17, table II, method 10: 56/70 - 48/80 lies in .0524 to .3339."""
    hit = np.r_[np.arange(70) < 56, np.arange(80) < 48]
    one = np.arange(150) < 70
    e, p = rate_gap(hit, one, ~one)
    assert (round(e.value, 4), round(e.low, 4), round(e.high, 4)) == (0.2, 0.0524, 0.3339)
    assert p == pytest.approx(0.0079, abs=0.0005)


def test_welch_equals_scipy():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, 60)
    one = np.arange(60) < 20
    values[one] *= 3
    values[5] = np.nan
    assert mean_gap(values, one, ~one)[1] == pytest.approx(
        ttest_ind(values[one], values[~one], equal_var=False, nan_policy="omit").pvalue
    )


# -- the worst off ----------------------------------------------------------------------------------------------


def test_a_planted_subgroup_is_found():
    x = people(1500, 11)
    inside = (x[:, 1] < 35) & (x[:, 4] == 1)
    usable = np.random.default_rng(0).random(1500) < np.where(inside, 0.3, 0.95)
    found = worst_off(SCHEMA, x, usable)
    first = found[0]
    assert first.significant and first.gap.value < -0.4
    assert any("city is south" in c for c in first.conditions) and any(
        "age below" in c for c in first.conditions
    )
    overlap = (first.member & inside).sum() / (first.member | inside).sum()
    assert overlap > 0.6
    assert all(len(one.conditions) <= 3 and one.n >= 20 for one in found)


def test_a_dear_subgroup_of_an_attribute_that_is_no_feature():
    x = people(1200, 12)
    club = np.random.default_rng(1).choice(["red", "blue"], 1200)
    cost = np.random.default_rng(2).gamma(2, 0.1, 1200) + 0.3 * ((club == "red") & (x[:, 0] == 1))
    cost[:100] = np.nan
    found = worst_off(SCHEMA, x, cost, metric="cost", worse="high", groups=[Groups.of("club", club)])
    assert set(found[0].conditions) == {"sex is male", "club is red"}
    assert found[0].gap.value == pytest.approx(0.3, abs=0.05)


def test_where_nothing_is_planted_little_is_told():
    alarms = 0
    for seed in range(20):
        x = people(600, 200 + seed)
        usable = np.random.default_rng(seed).random(600) < 0.7
        alarms += any(
            one.significant and one.gap.value < 0 for one in worst_off(SCHEMA, x, usable, seed=seed)
        )
    assert alarms <= 3  # one in twenty at most is expected


def test_too_few_people_are_not_searched():
    x = people(50, 13)
    assert worst_off(SCHEMA, x, x[:, 0] == 1) == []
    with pytest.raises(DataError, match="shape"):
        worst_off(SCHEMA, x, np.zeros(3))
    with pytest.raises(DataError, match="worse="):
        worst_off(SCHEMA, x, x[:, 2], worse="bad")


def test_the_worst_off_are_three_or_more():
    """Five of sixty cost more; where two of them are left to tell of, nothing is told."""
    x = people(60, 21)
    x[:, 4] = 0
    x[:5, 4] = 2
    cost = np.where(x[:, 4] == 2, 9.0, 1.0) + np.random.default_rng(0).normal(0, 0.1, 60)
    for fewest in (3, 5):
        sizes = [
            one.n
            for seed in range(40)
            for one in worst_off(
                SCHEMA,
                x,
                cost,
                metric="cost",
                worse="high",
                smallest=2,
                conditions=1,
                seed=seed,
                fewest=fewest,
            )
        ]
        assert min(sizes) == fewest


@pytest.mark.parametrize("seed", range(8))
def test_no_mean_of_one_or_two_follows_from_all_that_are_told(seed):
    """Two attributes and their parts, some labels missing, to somebody who knows who has a plan and who is where.

    Every mean cost that is told is an equation over the costs of people; what adds up costs of one or two follows from
    it if it lies in the space of its rows.
    """
    rng = np.random.default_rng(seed)
    x = people(int(rng.integers(60, 120)), seed)

    def labelled(name: str, most: int) -> Groups:
        label = rng.choice(
            [f"{name}{i}" for i in range(most)], len(x), p=rng.dirichlet(np.ones(most))
        ).astype(object)
        label[rng.random(len(x)) < 0.06] = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SchemaWarning)
            return Groups.of(name, label.tolist())

    one, two = labelled("a", 4), labelled("b", 5)
    got = audit(
        lender(), x, [one, two], most=len(x), beside=None, society=False, summaries=(), twins_of=0, seed=0
    )
    answers = wf.recommend(lender(), x)
    has = answers.refused & answers.found[:, 0]
    masks = {name: groups.mask(name) for groups in (one, two, one.cross(two)) for name in groups.names}
    told = got.to_dict()
    means = {
        g["group"]: g["figures"]["cost"]["n"]
        for part in told["attributes"]
        for g in part["groups"]
        if g["figures"]
    }
    rows = [has] + [masks[name] & has for name, n in means.items() if n]
    assert all(row.sum() == n for row, n in zip(rows[1:], filter(None, means.values()), strict=True))
    cost = answers.cost[has, 0]
    numbers = np.array(numbers_in(told))
    assert not cost.size or np.abs(numbers[:, None] - cost[cost > 0]).min() > 1e-9  # nor what any one pays
    for part in told["attributes"]:  # sums of squares, and of people within a budget, leave ten plans or none
        for shown in ("std", "served"):
            large = [
                g["figures"]["cost"]["n"] for g in part["groups"]
                if (g["figures"]["cost"]["std"] if shown == "std" else sum(e["n"] for e in g["served_within_budget"]))
            ]  # fmt: skip
            rest = int(has.sum()) - sum(large)
            assert min(large, default=10) >= 10 and (not large or rest == 0 or rest >= 10)
    cells, counts = np.unique(np.array(rows)[:, has].T.astype(float), axis=0, return_counts=True)
    known = np.linalg.pinv(cells.T) @ cells.T  # onto the space of what follows
    few = [
        c
        for size in (1, 2)
        for c in itertools.combinations(range(len(counts)), size)
        if counts[list(c)].sum() < 3
    ]
    for some in few:
        wanted = np.zeros(len(counts))
        wanted[list(some)] = 1
        assert np.abs(known @ wanted - wanted).max() > 1e-9, (some, counts[list(some)])
