"""Sentences that a person can use: the issue's example, every outcome, and the reading level of a letter."""

import re
from dataclasses import replace
from datetime import date, datetime
from itertools import combinations

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers import (
    Letterhead,
    consequences,
    explain,
    letter,
    outcome_text,
    reasons,
    steps,
    why,
    wishes,
    words,
)  # fmt: skip
from wayforward.answers.standing import near_text, points, range_text, score_text
from wayforward.answers.text import beside
from wayforward.errors import DataError
from wayforward.model.base import Access, Model
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.recourse import Outcome


def syllables(word):
    """Groups of vowels, a silent last e left out; the usual rule of thumb for English."""
    word = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", word))
    if word.endswith("e") and not word.endswith(("le", "ee")) and groups > 1:
        groups -= 1
    return max(1, groups)


def grade(text):
    """Flesch-Kincaid grade level; each line of a list is a sentence (Kincaid et al. 1975)."""
    sentences = [s for s in re.split(r"[.!?:]\s|\n", text) if re.search(r"[a-zA-Z]", s)]
    listed = [w for s in sentences for w in s.split() if re.search(r"[a-zA-Z0-9]", w)]
    return 0.39 * len(listed) / len(sentences) + 11.8 * sum(map(syllables, listed)) / len(listed) - 15.59


def test_the_grade_of_known_texts():
    assert grade("The cat sat on the mat. The dog ran to the car.") < 2
    assert (
        grade(
            "Notwithstanding institutional considerations, algorithmic decision infrastructure necessitates "
            "comprehensive interpretability documentation regarding consequential recommendations."
        )
        > 16
    )


def test_the_issues_example(problem, x, answer):
    recourse = answer(problem, x, {"savings": 2500.37}, {"housing": 1, "savings": 1200.4})
    text = explain(recourse, 0, problem=problem)
    assert "Raise your savings from 1,200 to 2,510 EUR" in text
    assert "change your housing from rent to own" in text.lower()


def test_one_option_reads_as_one_paragraph(problem, x, answer):
    recourse = answer(problem, x, {"housing": 1})
    text = explain(recourse, 0)
    assert text.startswith(
        "Change your housing from rent to own. "
        "The answer would then be yes, with a score of 67 of 100 (now 21; a yes takes 50)."
    )
    assert "\n" not in text and recourse.explain(0) == text


def test_consequences_are_told_apart_from_acts(problem, x, answer):
    recourse = answer(problem, x, {"savings": 2500.0})
    assert steps(recourse, 0) == ["Raise your savings from 1,200 to 2,500 EUR."]
    assert consequences(recourse, 0) == ["Your rating would then also rise to 42.6 points."]
    assert "would then also rise to 42.6 points." in explain(recourse, 0)


def test_several_options_are_numbered_and_one_can_be_asked_for(problem, x, answer):
    recourse = answer(problem, x, {"savings": 2500.0}, {"housing": 1}, {"savings": 100.0})
    text = explain(recourse, 0)
    assert "Each is enough on its own.\nOption 1. " in text
    assert "Option 2. Change your housing" in text and "Option 3" not in text
    assert explain(recourse, 0, 1).startswith("Change your housing")
    assert explain(recourse, 0, 2).startswith("Option 3 is empty. There are 2 options and not 3")
    with pytest.raises(DataError, match="no option 3"):
        explain(recourse, 0, 3)
    with pytest.raises(DataError, match="no person 1"):
        explain(recourse, 1)


def test_many_changes_become_sentences_of_their_own(problem, x, answer):
    recourse = answer(problem, x, {"savings": 1300.0, "housing": 1, "education": 2, "phone": 1})
    text = explain(recourse, 0)
    assert "Change your own phone from no to yes. " in text
    assert "Change your education from bachelor to master (one step up). " in text


@pytest.mark.parametrize("outcome", [Outcome.NONE_EXISTS, Outcome.NOT_FOUND, Outcome.ACCEPTED])
def test_every_outcome_has_words(problem, x, empty, outcome):
    recourse = empty(problem, x, outcome)
    assert explain(recourse, 0) == outcome_text(outcome)
    assert len(outcome_text(outcome)) > 20


def test_the_words_do_not_promise_what_was_not_proved():
    assert "proved" in outcome_text(Outcome.NONE_EXISTS)
    assert "may still be one" in outcome_text(Outcome.NOT_FOUND)


def test_the_letter(problem, x, answer):
    recourse = answer(problem, x, {"savings": 2500.37}, {"housing": 1})
    text = letter(problem, recourse, 0)
    assert (
        text.startswith("Date: ")
        and "\n\nYour answer\n\nA computer model looked at your data. The answer is no for" in text
    )
    for part in ("Why\n", "What you can do\n", "Plan 1\n", "Plan 2\n", "Good to know\n"):
        assert part in text
    assert "2,500.37" not in text  # rounded for people
    assert "score" not in text and "cost" not in text


def test_the_letter_of_each_outcome(problem, x, empty):
    nothing = letter(problem, empty(problem, x, Outcome.NOT_FOUND), 0)
    assert "may still be one" in nothing and "Plan 1" not in nothing and "ask for a person" in nothing
    assert "proved" in letter(problem, empty(problem, x, Outcome.NONE_EXISTS), 0)
    yes = x.copy()
    yes[0, 1] = 9000
    assert letter(problem, empty(problem, yes, Outcome.ACCEPTED), 0).endswith("You need not change anything.")


def test_limits_are_mentioned_only_where_there_are_some(problem, x, answer):
    recourse = answer(problem, x, {"housing": 1})
    assert "limits that you gave us" not in letter(problem, recourse, 0)
    nothing = Preferences.none(problem.schema, 1)
    for wish, said in (
        (nothing, False),
        (nothing.weigh(savings=2.0), False),
        (nothing.freeze("education"), True),
    ):
        text = letter(problem, replace(recourse, preferences=wish), 0)
        assert ("limits that you gave us" in text) == said


def test_what_people_told_us_is_said_back(problem):
    schema = problem.schema
    wish = (
        Preferences.none(schema, 2)
        .freeze("housing", "education", who=0)
        .limit("savings", high=4000.5, who=0)
        .limit("education", low="bachelor", who=1)
        .allow("housing", "own", who=1)
        .forbid("housing", "rent", "own", "with_parents", who=0)
        .weigh(savings=3.0, who=1)
        .at_most(1, who=1)
    )
    assert wishes(wish, 0) == [
        "You cannot change your housing, or your education.",
        "Your savings can be 4,000.5 EUR at most.",
        "Your housing cannot become anything else.",
    ]
    assert wishes(wish, 1) == [
        "Your housing can only become own.",
        "Your education must be at least bachelor.",
        "You want to change 1 thing at most.",
        "What is hardest for you to change: your savings.",
    ]
    assert wishes(Preferences.none(schema, 1), 0) == []
    ranked = Preferences.from_rankings(schema, [["housing", "savings"]])
    assert wishes(ranked, 0)[-1] == "From the easiest to the hardest for you: housing, and savings."
    with pytest.raises(DataError, match="no person 2"):
        wishes(wish, 2)


def test_the_cost_for_you_stands_beside_the_unweighted_one(problem, x):
    wish = Preferences.none(problem.schema, 1).weigh(savings=3.0)
    got = wf.recommend(problem, x, k=2, preferences=wish, seed=0)
    text = explain(got, 0, 0)
    own, without = (
        float(part)
        for part in re.findall(r"[Cc]ost for you ([\d.]+)\s%, .* weights ([\d.]+)\s% of a", text)[0]
    )
    assert own > without > 0
    told = letter(problem, got, 0)
    assert "What is hardest for you to change: your savings." in told
    assert re.search(
        r"For you this is about ([\d.]+ times as hard as|as hard as|\d+.% harder than) plan 1\.", told
    )
    assert "comes first, by what you told us" in told and grade(told) <= 8
    assert "cost for you" not in explain(wf.recommend(problem, x, seed=0), 0).lower()


def test_letters_read_at_grade_eight_or_below(problem):
    refused = problem.reference[~problem.reference_reached][:20]
    recourse = wf.recommend(problem, refused, k=3, seed=0)
    grades = [grade(letter(problem, recourse, i)) for i in range(recourse.n)]
    assert max(grades) <= 8, max(grades)
    assert np.mean(grades) <= 6


def test_outcome_texts_read_at_grade_eight_or_below():
    for outcome in Outcome:
        assert grade(outcome_text(outcome)) <= 8, outcome


# -- why ---------------------------------------------------------------------------------------------------


def test_why_names_the_nearest_profile_that_the_model_accepts(problem):
    refused = problem.reference[~problem.reference_reached][:30]
    got = why(problem, refused)
    assert got.known.all() and not got.accepted.any()
    assert problem.reached(got.profile)[0].all()
    assert problem.schema.legal(got.profile, refused).all()
    assert (got.differs.sum(1) >= 1).all()
    # one change of savings alone always does, so no profile is further off than that (with room for rounding)
    need = 3 - (refused[:, 1] / 1000 - 10 * refused[:, 3] + 2 * (refused[:, 2] == 1) + refused[:, 4])
    size = np.abs(got.profile - refused) / problem.schema.span
    size[:, 2] = size[:, 2] > 0
    assert (size.sum(1) <= need / 20 * 1.06 + 1e-9).all()


def test_why_says_it_in_words_and_does_not_advise(problem, x):
    text = why(problem, x).text(0)
    assert text.startswith(
        "The answer would have been yes with one difference: savings 2,500 EUR, not 1,200 EUR."
    )
    assert text.endswith("It is not advice.")


def test_why_may_differ_in_what_nobody_can_change(problem, x):
    """Only age counts for this model: the reason is the age, though nobody can act on it."""
    from wayforward.problem import Problem

    class Old(type(problem.model)):
        def _outputs(self, rows):
            p = 1 / (1 + np.exp(-(rows[:, 0] - 40.5)))
            return np.stack([1 - p, p], 1)

    aged = Problem(problem.schema, Old(problem.schema), problem.target, data=problem.reference)
    assert why(aged, x).points(0) == [("age", "41 years", "35 years")]


def test_why_for_the_accepted_and_for_nobody(problem, x):
    yes = x.copy()
    yes[0, 1] = 9000
    got = why(problem, np.concatenate([x, yes]))
    assert got.accepted.tolist() == [False, True]
    assert got.text(1) == "The answer is yes already." and np.isnan(got.profile[1]).all()
    nothing = replace(got, profile=np.full((2, 7), np.nan))
    assert nothing.text(0).startswith("We found no profile")
    with pytest.raises(DataError, match="no person 2"):
        got.text(2)


def test_why_of_one_person_is_the_same_in_any_batch(problem):
    refused = problem.reference[~problem.reference_reached][:12]
    together = why(problem, refused).profile
    alone = np.concatenate([why(problem, refused[i : i + 1]).profile for i in (3, 7)])
    np.testing.assert_array_equal(together[[3, 7]], alone)


# -- near and far, reasons, costs -------------------------------------------------------------------------


def test_a_letter_has_a_date_a_case_a_contact_and_an_end(problem, x, answer):
    head = Letterhead(date(2026, 3, 1), "A-17", "loans@bank.example", until=date(2026, 5, 31))
    text = letter(problem, answer(problem, x, {"housing": 1}), 0, head=head)
    assert text.startswith("Date: 1 March 2026\nCase: A-17\nContact: loans@bank.example\n\nYour answer\n")
    assert "- The plan holds until 31 May 2026. Ask again after that day." in text
    # 1.7 of 3 points: 1 / (1 + e^1.3) = .214; with a home of one's own 3.7 points: .668
    assert "On a scale from 0 to 100 you are at 21 now. A yes takes 50." in text
    assert "You would then be at 67." in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"day": "2026-03-01"}, "day='2026-03-01' is no day"),
        ({"until": datetime(2036, 3, 1)}, "until=.* is no day"),
        ({"day": date(2026, 3, 1), "until": date(2020, 1, 1)}, "until=2020-01-01 lies before 2026-03-01"),
        ({"case": 17}, "case is a int"),
    ],
)
def test_what_cannot_stand_around_a_letter_is_named(given, words):
    with pytest.raises(DataError, match=words):
        Letterhead(**given)


def test_a_number_far_from_those_of_others_is_questioned_before_anybody_acts_on_it(problem, x, answer):
    names = list(problem.schema.names)
    j = next(
        i for i, f in enumerate(problem.schema.features) if f.kind in ("integer", "real") and not f.carried
    )
    low, high = (ends[j] for ends in problem.observed_range)
    action = {"housing": 1} if names[j] != "housing" else {}
    for value, odd in ((high, False), (2 * high - low + 1, True), (np.nan, False)):
        there = np.repeat(x[:1], len(x), axis=0)
        there[:, j] = value
        got = replace(answer(problem, x, action), x=there)
        assert ("is far from what others have" in letter(problem, got, 0, reasons=False)) is odd


def test_a_close_decision_is_said_to_be_close_and_never_rounded_across_the_line(problem, x):
    takes = problem.bound_target.needed()
    assert takes == {"level": 0.5}
    assert (
        near_text(takes, 0.49961)
        == "On a scale from 0 to 100 you are at 49.96 now. A yes takes 50. That is close."
    )
    assert points(0.5004, 0.5) == "50" and points(0.2, 0.5) == "20"
    assert near_text({}, 0.3) == "" and near_text(takes, np.nan) == ""


class Number(Model):
    """A regression model, to bind targets to."""

    task, classes, access, name = "regression", (), Access.PROBABILITY, "Number"

    def _outputs(self, x):
        return x[:, :1]

    def _native(self, x):
        return x[:, :1], np.zeros(len(x), dtype=np.int64)


def test_a_prediction_has_its_unit():
    takes = Target(interval=(150, None), unit="EUR", margin=5.0).bind(Number()).needed()
    assert takes == {"low": 155.0, "high": None, "unit": "EUR"}
    assert (
        score_text(takes, 120.0, 156.2)
        == "with a predicted 156 EUR (now 120 EUR; a yes takes 155 EUR or more)"
    )
    assert near_text(takes, 154.98) == "The model puts you at 154.98 EUR now. A yes takes 155 EUR or more."
    assert range_text({"low": 1, "high": 5, "unit": "years"}) == "1 to 5 years"


def test_why_three_were_asked_for_and_two_came(problem, x, answer):
    recourse = answer(problem, x, {"savings": 2500.0}, {"housing": 1}, {"savings": 100.0})
    text = explain(recourse, 0)
    assert "There are 2 options and not 3: the search found no other that leads elsewhere." in text
    assert re.search(r"This asks for about [\d.]+ (times as much as|% more than) option 1\.", text)


@pytest.mark.parametrize(
    ("times", "weighted", "text"),
    [
        (1.04, False, "This asks for about as much as plan 1."),
        (1.12, False, "This asks for about 12 % more than plan 1."),
        (2.44, False, "This asks for about 2.4 times as much as plan 1."),
        (1.0, True, "For you this is about as hard as plan 1."),
        (1.12, True, "For you this is about 12 % harder than plan 1."),
        (3.0, True, "For you this is about 3 times as hard as plan 1."),
    ],
)
def test_what_a_plan_asks_for_beside_the_first(problem, x, answer, times, weighted, text):
    two = answer(problem, x, {"savings": 2500.0}, {"housing": 1})
    cost = np.array([[0.5, 0.5 * times]])
    wish = Preferences.none(problem.schema, 1).weigh(savings=3.0) if weighted else None
    two = replace(two, cost=cost, plain_cost=cost, preferences=wish)
    assert beside(two, 0, 1, "plan 1").replace(words.THIN, " ") == text


def test_a_reason_within_another_plans_takes_its_place():
    """5 of both or 12 of the first: the first alone is a reason, and both plans have it in them."""
    both = wf.Schema(tuple(wf.Feature(name=name, kind="real", low=0, high=20) for name in "ab"))

    def yes(x):
        return ((x[:, 0] >= 12) | ((x[:, 0] >= 5) & (x[:, 1] >= 5))).astype(float)

    problem = Problem(both, yes, Target(favourable=1))
    action = np.array([[[5.0, 5.0], [12.0, np.nan]]])
    got = problem.check(np.zeros((1, 2)), action, 2)
    assert got.found.all()
    assert [one.features for one in reasons(problem, got, 0)] == [(0,)]


def test_reasons_are_irreducible_and_a_part_of_each_plan_is_one(problem):
    """By brute force over what differs: the model says yes to each profile, and to none with a part taken back."""
    refused = problem.reference[~problem.reference_reached][:12]
    recourse = wf.recommend(problem, refused, k=2).rounded
    for i in range(recourse.n):
        found = reasons(problem, recourse, i)
        assert 1 <= len(found) <= 4
        assert len({r.features for r in found}) == len(found)
        for reason in found:
            assert problem.reached(reason.profile[None])[0].all()
            moved = np.flatnonzero(reason.profile != refused[i])
            assert set(moved) == set(reason.features)
            for size in range(1, len(moved)):
                for part in combinations(moved, size):
                    row = refused[i].copy()
                    row[list(part)] = reason.profile[list(part)]
                    assert not problem.reached(row[None])[0].any()
        for option in np.flatnonzero(recourse.found[i]):
            changed = set(np.flatnonzero(recourse.changed[i, option]))
            assert any(set(r.features) <= changed for r in found)


def test_a_reason_names_the_common_level_and_the_nearest_of_an_order():
    """Alone no level is enough: two towns and three schools together are, the rarest of them with the best score."""
    schema = wf.Schema(
        (
            wf.Feature(name="town", kind="categorical", levels=("here", "rare", "common", "no")),
            wf.Feature(name="school", kind="ordinal", levels=("none", "first", "second", "third")),
        )
    )

    def score(x):
        town, school = x[:, 0].astype(int), x[:, 1]
        return np.where((school > 0) & np.isin(town, [1, 2]), 0.6 + 0.05 * school + 0.1 * (town == 1), 0.1)

    people = np.repeat([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0]], [50, 2, 30, 40], axis=0)
    problem = Problem(schema, score, Target(favourable=1), data=people)
    got = problem.check(np.zeros((1, 2)), np.full((1, 1, 2), np.nan), 1)
    assert [one.profile.tolist() for one in reasons(problem, got, 0)] == [[2.0, 1.0]]


def test_whom_nothing_would_help_gets_no_reason(problem, x, empty):
    class Never(type(problem.model)):
        def _outputs(self, rows):
            return np.tile([0.9, 0.1], (len(rows), 1))

    hopeless = Problem(problem.schema, Never(problem.schema), problem.target, data=problem.reference)
    assert reasons(hopeless, empty(hopeless, x, Outcome.NOT_FOUND), 0) == []
    assert "Why\n" not in letter(hopeless, empty(hopeless, x, Outcome.NOT_FOUND), 0)


def test_what_another_model_answered_is_no_plan_of_this_one(tmp_path):
    """An answer in memory and one from a file, told with a problem whose model was trained again."""
    schema = wf.Schema((wf.Feature(name="savings", kind="integer", low=0, high=9, unit="EUR"),))
    old, new = (
        wf.Problem(
            schema, wf.wrap(lambda rows, at=at: rows[:, 0] >= at, schema, output="label"), wf.Target(True)
        )
        for at in (3, 6)
    )
    made = wf.recommend(old, np.array([[0.0], [4.0]]))
    made.save(tmp_path / "answers.json")
    for answer in (made, wf.Recourse.load(tmp_path / "answers.json")):
        assert "to 3 EUR" in letter(old, answer, 0, reasons=False) and "to 3 EUR" in explain(
            answer, 0, problem=old
        )
        for text in (letter(new, answer, 0, reasons=False), explain(answer, 0, problem=new)):
            assert "to 3 EUR" not in text
        assert "answer is yes" in letter(old, answer, 1, reasons=False)
        assert "answer is no" in letter(new, answer, 1, reasons=False)
