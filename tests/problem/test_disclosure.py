"""What options must not give away: a crowd for each value, a public grid, a distance from the boundary."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers.refusal import reasons
from wayforward.errors import ProblemError
from wayforward.people.dialogue import Dialogue
from wayforward.people.elicitors import names as elicitor_names
from wayforward.problem import Disclosure, DisclosureWarning
from wayforward.problem.crowd import Crowd
from wayforward.testing import Case, case

METHODS = ("local-search", "nearest-observable", "face", "nice", "growing-spheres")


@pytest.fixture(scope="module")
def mixed() -> Case:
    """Numbers, whole numbers and levels, before a linear model."""
    return case("linear", n=120)


def test_a_crowd_is_counted_as_by_brute_force(mixed: Case) -> None:
    """Every value, and several at once, beside loops over all people; what fewer have is forgotten."""
    schema, rows = mixed.problem.schema, mixed.problem.require_reference()[:150]
    points = np.where(np.random.default_rng(0).random((60, schema.d)) < 0.6, rows[:60], np.nan)
    crowd, some = Crowd.of(schema, rows, jointly=True), Crowd.of(schema, rows, 3)
    for point, values, large, joint in zip(
        points, crowd.values(points), some.values(points), crowd.jointly(points), strict=True
    ):
        given = np.flatnonzero(~np.isnan(point))
        brute = np.zeros(schema.d, dtype=int)
        for j in given:
            brute[j] = sum(abs(row[j] - point[j]) <= schema.slack[j] for row in rows)
        np.testing.assert_array_equal(values, brute)
        np.testing.assert_array_equal(large, np.where(brute >= 3, brute, 0))
        same = sum(all(abs(row[j] - point[j]) <= schema.slack[j] for j in given) for row in rows)
        assert joint == (same if given.size else 0)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_to_a_crowd(mixed: Case, name: str) -> None:
    """Each value that any option sets is held by five people of the table, read to the feature's step."""
    problem = mixed.problem.with_(disclosure=Disclosure(crowd=5, grid=0.1))
    got = wf.recommend(problem, mixed.x, method=name, k=2)
    reference = problem.schema.round(mixed.problem.require_reference())
    action = np.where(got.acted, got.action, np.nan)[got.found]
    assert len(action) > 5
    held = [
        (np.abs(reference[:, j] - value) <= 1e-9).sum()
        for row in action
        for j, value in enumerate(row)
        if not np.isnan(value)
    ]
    assert min(held) >= 5


def test_a_crowd_without_a_grid_moves_options_on_to_common_values(mixed: Case) -> None:
    """Without the further proposals hardly anybody would have an option; with them as many as before, at a price."""
    plain = wf.recommend(mixed.problem, mixed.x)
    got = wf.recommend(mixed.problem.with_(disclosure=Disclosure(crowd=2)), mixed.x)
    assert got.found[:, 0].sum() >= 0.9 * plain.found[:, 0].sum()
    both = got.found[:, 0] & plain.found[:, 0]
    assert (got.cost[both, 0] >= plain.cost[both, 0] - 1e-9).all()


@pytest.mark.parametrize(("crowd", "together"), [(25, False), (3, True)])
def test_what_lies_on_the_way_is_held_by_a_crowd_too(crowd: int, together: bool) -> None:
    """Walks of `face` lead by people of the table; only those rows are told whose values a crowd holds."""
    it = case("linear", "independent", 1, 60)
    problem = it.problem.with_(disclosure=Disclosure(crowd=crowd, grid=0.1, together=together))
    asked = it.x
    got = wf.recommend(problem, asked, method="face", k=2)
    assert got.path is not None
    reference, on_the_way = problem.schema.round(it.problem.require_reference()), 0
    for i, o in zip(*np.nonzero(got.found), strict=True):
        rows = got.path[i, o][~np.isnan(got.path[i, o]).all(1)]
        np.testing.assert_array_equal(rows[-1], got.after[i, o])
        for row in rows:
            set_ = problem.schema.differs(row[None], asked[[i]])[0]
            same = np.abs(reference - row)[:, set_] <= 1e-9
            assert (same.all(1).sum() if together else same.sum(0).min()) >= crowd
        on_the_way += len(rows) - 1
    assert on_the_way or together


@pytest.mark.parametrize(
    "asked", [Disclosure(crowd=5), Disclosure(crowd=5, grid=0.1, beyond=0.3)], ids=["crowd", "all three"]
)
def test_reasons_of_letters_give_away_no_more_than_options(mixed: Case, asked: Disclosure) -> None:
    """They ended at the boundary itself, at numbers that nobody has."""
    problem = mixed.problem.with_(disclosure=asked)
    people = mixed.x[mixed.refused][:12]
    got = wf.recommend(problem, people)
    reference, told = problem.schema.round(mixed.problem.require_reference()), 0
    for i, person in enumerate(people):
        for reason in reasons(problem, got, i):
            j = list(reason.features)
            same = np.abs(reference[:, j] - reason.profile[j]) <= 1e-9
            assert same.sum(0).min() >= 5, (problem.schema.names[j[0]], person[j], reason.profile[j])
            score = problem.bound_target.score(problem.model.outputs(reason.profile[None]))
            assert score[0] >= asked.beyond - 1e-9
            told += 1
    assert told >= len(people)


def test_all_values_at_once(mixed: Case) -> None:
    """A crowd that holds each value need not hold them all."""
    problem = mixed.problem.with_(disclosure=Disclosure(crowd=3, together=True, grid=0.2))
    got = wf.recommend(problem, mixed.x, method="nearest-observable")
    reference = problem.schema.round(mixed.problem.require_reference())
    action = np.where(got.acted, got.action, np.nan)[got.found]
    assert len(action)
    for row in action:
        assert ((np.abs(reference - row) <= 1e-9) | np.isnan(row)).all(1).sum() >= 3


def test_numbers_are_set_on_the_grid_and_its_steps_are_multiples(mixed: Case) -> None:
    """Named steps as they are; a share of where most people lie, made 1, 2 or 5 times a power of ten."""
    schema = mixed.problem.schema
    number = next(f.name for f in schema.features if f.kind == "real" and f.actionability == "actionable")
    whole = next(f.name for f in schema.features if f.kind == "integer")
    named = mixed.problem.with_(disclosure=Disclosure(grid={number: 2.5, whole: 3.4}))
    assert named.schema[number].step == 2.5 or schema[number].step is not None
    assert named.schema[whole].step == 3.0
    problem = mixed.problem.with_(disclosure=Disclosure(grid=0.1))
    for feature, step in zip(problem.schema.features, problem.schema.step, strict=True):
        if feature.kind == "real" and schema[feature.name].step is None and np.isfinite(step):
            assert f"{step:.0e}"[0] in "125"
    got = wf.recommend(problem, mixed.x, k=2)
    set_ = np.where(got.acted, got.action, np.nan)[got.found]
    np.testing.assert_allclose(problem.schema.round(set_), set_)


def test_answers_keep_a_distance_that_is_the_persons_own(mixed: Case) -> None:
    """Once to twice as far beyond the boundary as asked, and the same when asked again."""
    problem = mixed.problem.with_(disclosure=Disclosure(beyond=0.4))
    got, again = (wf.recommend(problem, mixed.x) for _ in range(2))
    at = np.flatnonzero(got.found[:, 0])
    score = problem.bound_target.score(problem.model.outputs(got.after[at, 0]))
    assert (score >= 0.4 - 1e-9).all()
    np.testing.assert_array_equal(got.after, again.after)
    plain = wf.recommend(mixed.problem, mixed.x)
    lead = mixed.problem.bound_target.score(mixed.problem.model.outputs(plain.after[at, 0]))
    assert np.median(lead) < 0.1 < np.median(score)


def test_whoever_knows_a_row_does_not_know_its_distance(mixed: Case) -> None:
    """It hung on the row alone: whoever had the source took it away and copied a line from 30 options."""

    def after(asked: Disclosure) -> np.ndarray:
        return wf.recommend(mixed.problem.with_(disclosure=asked), mixed.x).after

    held, known = Disclosure(beyond=0.4), Disclosure(beyond=0.4, noise_seed=7)
    drawn = [
        after(one) for one in (held, Disclosure(beyond=0.4), known, Disclosure(beyond=0.4, noise_seed=8))
    ]
    for i, one in enumerate(drawn):
        assert not any(np.array_equal(one, other, equal_nan=True) for other in drawn[:i])
    for again, one in ((replace(held, crowd=0), 0), (Disclosure(beyond=0.4, noise_seed=7), 2)):
        np.testing.assert_array_equal(after(again), drawn[one])
    problem = mixed.problem.with_(disclosure=known)
    assert "noise_seed" not in repr(known) and "secret" not in repr(problem.disclosure.conditions())


def test_the_constructor_and_the_copy_ask_for_the_same(mixed: Case) -> None:
    """`Problem(disclosure=...)` and `with_`."""
    asked = Disclosure(crowd=3, grid=0.1, beyond=0.1)
    one = mixed.problem.with_(disclosure=asked)
    other = wf.Problem(
        mixed.problem.schema, mixed.problem.model, wf.Target(favourable=1),
        data=mixed.problem.require_reference(), disclosure=asked,
    )  # fmt: skip
    got = [wf.recommend(p, mixed.x[:30]) for p in (one, other)]
    np.testing.assert_array_equal(got[0].action, got[1].action)
    assert one.robust is not None and other.robust is not None
    assert one.robust.describe() == other.robust.describe()
    assert mixed.problem.disclosure is None and mixed.problem.robust is None


def test_what_is_sent_or_saved_holds_nobodys_row(mixed: Case, tmp_path: object) -> None:
    """Of the table, other processes get values that crowds hold; answers, pickled or saved, hold nothing of it."""
    schema = mixed.problem.schema
    real = np.array([f.kind == "real" and f.step is None for f in schema.features])
    assert real.sum() >= 1
    rows = np.where(real, np.round(mixed.problem.require_reference(), -2), mixed.problem.require_reference())
    rows[7, real] += 0.123456789  # of one person alone, in a table whose other numbers are common
    alone = rows[7, real]
    problem = wf.Problem(
        schema, mixed.problem.model, wf.Target(favourable=1), data=rows, disclosure=Disclosure(crowd=2)
    )
    held = [value for values in problem.without_table().disclosure._crowd.held for value in values]  # type: ignore[union-attr]
    assert not np.isin(alone, held).any()
    for got in (wf.recommend(problem, mixed.x[:20]), wf.recommend(mixed.problem, mixed.x[:20])):
        text = pickle.dumps(got)
        assert pickle.loads(text).problem is None
        for value in alone:
            assert np.float64(value).tobytes() not in text
        got.save(tmp_path / "answers.json")  # type: ignore[operator]
        saved = (tmp_path / "answers.json").read_text()  # type: ignore[operator]
        assert "123456" not in saved


def test_methods_that_copy_people_say_so_and_name_the_crowd(mixed: Case) -> None:
    """Unless a crowd is asked for; searches copy nobody."""
    for name in ("nearest-observable", "face", "nice"):
        with pytest.warns(DisclosureWarning, match=r"crowd=5"):
            got = wf.recommend(mixed.problem, mixed.x[:4], method=name)
        assert got.meta["copies_people"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wf.recommend(mixed.problem.with_(disclosure=Disclosure(crowd=2)), mixed.x[:4], method="nice")
        assert "copies_people" not in wf.recommend(mixed.problem, mixed.x[:4]).meta


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"crowd": -1}, "crowd=-1"),
        ({"crowd": True}, "crowd=True"),
        ({"beyond": float("nan")}, "beyond=nan"),
        ({"grid": 0.0}, "grid=0.0"),
        ({"grid": {"a": -1}}, "grid="),
    ],
    ids=["crowd", "bool", "beyond", "grid", "named"],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], words: str) -> None:
    """With the value seen."""
    with pytest.raises(ProblemError, match=words):
        Disclosure(**wrong)  # type: ignore[arg-type]


def test_errors_name_what_is_missing(mixed: Case) -> None:
    """An unknown feature; a crowd or a share without a table; something else than a Disclosure."""
    with pytest.raises(ProblemError, match="'height'"):
        mixed.problem.with_(disclosure=Disclosure(grid={"height": 1.0}))
    with pytest.raises(ProblemError, match="is no Disclosure"):
        mixed.problem.with_(disclosure=0.1)  # type: ignore[arg-type]
    for asked in (Disclosure(crowd=5), Disclosure(grid=0.1)):
        with pytest.raises(ProblemError, match="data=train"):
            wf.Problem(mixed.problem.schema, mixed.problem.model, wf.Target(favourable=1), disclosure=asked)


HELD = Disclosure(crowd=4, grid=0.1, beyond=0.1)


@pytest.mark.parametrize("elicitor", [None, *elicitor_names()])
def test_no_plan_that_a_dialogue_shows_gives_away_more(mixed: Case, elicitor: str | None) -> None:
    """Every plan on the way and at the end: on the grid, of values that a crowd has, beyond the boundary."""
    problem = mixed.problem.with_(disclosure=HELD)
    x = mixed.x[mixed.refused][:1]
    talk = Dialogue(problem, x, elicitor=elicitor, questionnaire=None, budget=4, kinds=("cheapest",))
    shown: list[tuple[float | None, ...]] = []
    for _ in range(8):
        question = talk.ask()
        if question is None:
            break
        shown += [one.action for one in (*question.options, question.plan) if one is not None and one.action]
        talk.answer("no" if question.kind == "accept" else "1", question.id)
    if talk.end is not None and talk.end.plan is not None:
        shown.append(talk.end.plan.action)
    action = np.array([[np.nan if v is None else v for v in row] for row in shown], dtype=float)
    assert len(action)
    got = problem.check(np.repeat(x, len(action), axis=0), action[:, None], 1, minimal=False)
    assert got.found.all()
    held = Crowd.of(problem.schema, problem.schema.round(mixed.problem.require_reference())).values(action)
    assert held[~np.isnan(action) & problem.schema.differs(action, x)].min() >= 4


@pytest.mark.parametrize("on", ["threads", "processes", "ray"])
@pytest.mark.parametrize("held", [HELD, Disclosure(epsilon=1.0, noise_seed=3)], ids=["all", "private"])
def test_what_is_held_back_is_the_same_wherever_work_is_done(mixed: Case, on: str, held: Disclosure) -> None:
    """A worker gets the problem as it is: crowds as counted once, and the made-up people, for whom nothing is spent."""
    if on == "ray":
        pytest.importorskip("ray", reason="ray is not installed: pip install 'wayforward[ray]'")
    fitted = wf.method("nearest-observable").fit(mixed.problem.with_(disclosure=held))
    alone, shared = fitted.recommend(mixed.x), fitted.recommend(mixed.x, workers=2, on=on)
    np.testing.assert_array_equal(alone.action, shared.action)
    assert (alone.outcome == shared.outcome).all() and alone.found.any()
