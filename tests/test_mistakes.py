"""Foreseeable mistakes in calls: each is told what is wrong and what to do next; none is accepted silently."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers import explain, letter, report
from wayforward.errors import (
    DataError,
    DeviceError,
    DialogueError,
    FileFormatError,
    MethodError,
    ModelError,
    PreferencesError,
    ProblemError,
    SchemaError,
    WorldError,
)
from wayforward.impact.segregation import segregation, segregation_index
from wayforward.impact.society import simulate
from wayforward.impact.summaries import summariser, summarize
from wayforward.methods.certificates import certified
from wayforward.modalities.model import listed
from wayforward.modalities.survival import Cox
from wayforward.people.dialogue.questionnaire import parts_of
from wayforward.people.elicitors import elicitor
from wayforward.problem.cost.registry import cost_named
from wayforward.problem.plausibility.registry import plausibility_named
from wayforward.study.ready_made import ready_made
from wayforward.tracks.tasks import task
from wayforward.world import CausalGraph, LinearWorld
from wayforward.world.registry import world_class

pd = pytest.importorskip("pandas")
linear = pytest.importorskip("sklearn.linear_model")


class Case:
    """A small problem and people who are refused."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.table = pd.DataFrame(
            {"a": rng.normal(5, 2, 200), "b": rng.integers(0, 9, 200), "c": rng.integers(0, 2, 200)}
        )
        estimator = linear.LogisticRegression().fit(
            self.table, (self.table.a + self.table.b > 10).astype(int)
        )
        self.schema = wf.Schema.infer(self.table)
        self.model = wf.wrap(estimator, self.schema)
        self.problem = self.with_()
        self.people = self.table[estimator.predict(self.table) == 0].iloc[:4]
        self.none = wf.Preferences.none(self.schema, 4)

    def with_(self, target=None, **parts):
        return wf.Problem(
            self.schema, self.model, target or wf.Target(favourable=1), data=self.table, **parts
        )

    def ask(self, people=None, **options):
        return wf.recommend(self.problem, self.people if people is None else people, **options)

    def model_of(self, change):
        return wf.wrap(lambda rows: change(np.clip(rows[:, 0] / 10, 0, 1)), self.schema)

    def all_of(self, **parts):
        return wf.evaluate(self.ask(), self.problem, metrics="all", **parts)

    def segregation(self, **options):
        groups = wf.groups.Groups.of("c", self.table, self.schema)
        return segregation(self.table[["a", "b"]].to_numpy(), groups, **options)

    def wrap(self, **options):
        return wf.wrap(lambda rows: (rows[:, 0] > 4).astype(int), self.schema, **options)


@pytest.fixture(scope="module")
def case():
    return Case()


BUDGETS = ("x", 1.5, float("nan"), True, [3])
SETTINGS = (
    {"grid": -1}, {"grid": 0}, {"grid": 2.5}, {"grid": "8"}, {"starts": -1}, {"starts": None},
    {"beam": 0}, {"beam": True}, {"rounds": -1}, {"rounds": 1.0},
    {"fill": "x"}, {"compiled": "no"}, {"compiled": 1}, {"sparing": None},
)  # fmt: skip
MISTAKES = {
    **{f"budget {b!r}": (lambda c, b=b: c.ask(budget=b), MethodError, "Give a whole number") for b in BUDGETS},
    **{
        f"{s}": (lambda c, s=s: c.ask(**s), MethodError, f"'local-search' has {next(iter(s))}=.* Use ")
        for s in SETTINGS
    },
    "threshold": (lambda c: wf.Target(1, threshold="a"), ProblemError, "threshold='a' is not a number"),
    "true as a threshold": (lambda c: wf.Target(1, threshold=True), ProblemError, "threshold=True is not a number"),
    "margin": (lambda c: wf.Target(1, margin="a"), ProblemError, "margin='a' is not a number"),
    "margin of nothing": (lambda c: wf.Target(1, margin=float("nan")), ProblemError, "margin=nan is not a number"),
    "interval of words": (lambda c: wf.Target(interval=("a", None)), ProblemError, "no pair of numbers"),
    "interval of one": (lambda c: wf.Target(interval=5), ProblemError, "no pair of numbers. Give \\(low, high\\)"),
    "interval of three": (lambda c: wf.Target(interval=(1, 2, 3)), ProblemError, "no pair of numbers"),
    "interval of nothing": (lambda c: wf.Target(interval=(float("nan"), 2)), ProblemError, "no pair of numbers"),
    "preferences": (lambda c: c.ask(preferences={"a": 1}), PreferencesError, "is a dict. Give wf.Preferences"),
    "weight": (lambda c: c.none.weigh(a="x"), PreferencesError, "'a' has weight 'x', which is not a number"),
    "most": (lambda c: c.none.at_most("x"), PreferencesError, "max_changes is 'x', which is not a number"),
    "world": (lambda c: c.with_(world="x"), ProblemError, r"world='x' is no world. Give one, such as wf.SCM"),
    "a class as a world": (lambda c: c.with_(world=wf.SCM), ProblemError, "is no world"),
    "cost": (lambda c: c.with_(cost="l1"), ProblemError, "cost='l1' is no cost. Give one, such as"),
    "plausibility": (lambda c: c.with_(plausibility="lof"), ProblemError, "plausibility='lof' is no plausibility"),
    "person": (lambda c: c.ask().explain("a"), DataError, "There is no person 'a'; .* 0 to 3. Give a whole number"),
    "half a person": (lambda c: c.ask().explain(1.5), DataError, "There is no person 1.5"),
    "option": (lambda c: c.ask().explain(0, "a"), DataError, "There is no option 'a'"),
    "unfitted": (lambda c: wf.method("nice").recommend(c.people), MethodError, "'nice' .* Fit it to a problem first"),
    "unfitted, warm": (lambda c: wf.method("local-search").warm(), MethodError, "Fit it to a problem first"),
    "swapped": (lambda c: wf.recommend(c.people, c.problem), MethodError, "Swap the two"),
    "no problem": (lambda c: wf.method("local-search").fit(c.people), MethodError, "wf.Problem; got DataFrame. Make"),
    "output labels": (lambda c: c.wrap(output="labels"), ModelError, "output='labels' is not known. Use one of 'auto'"),
    "output prob": (lambda c: c.wrap(output="prob"), ModelError, "output='prob' is not known"),
    "task": (lambda c: c.wrap(task="classify"), ModelError, "task='classify' is not known"),
    "device": (lambda c: c.ask(device="gpu"), DeviceError, "device='gpu' is not known. Use 'cpu'"),
    "a device that is a number": (lambda c: c.ask(device=0), DeviceError, "device=0 is not known"),
    "series": (lambda c: c.ask(c.table.iloc[:, 0]), DataError, r"is a Series.* give a dict .*table.iloc\[\[3\]\]"),
    "pareto": (lambda c: c.ask(pareto=True), MethodError, "pareto=True is no list"),
    "an array of objectives": (lambda c: c.ask(pareto=np.zeros((2, 2))), MethodError, "There is no objective array"),
    "a list for a method": (lambda c: wf.method([]), MethodError, "There is no method"),
    "a list for a way of asking": (lambda c: elicitor([]), MethodError, r"There is no elicitor '\[\]'"),
    "an array for a summary": (lambda c: summariser(np.zeros(2)), DataError, "There is no summariser"),
    "a set for a cost": (lambda c: cost_named(set()), ProblemError, "There is no cost"),
    "a list for a plausibility": (lambda c: plausibility_named([]), ProblemError, "There is no plausibility"),
    "None for a world": (lambda c: world_class(None), FileFormatError, "There is no kind of world 'None'"),
    "a list for a task": (lambda c: task([]), DataError, "There is no task"),
    "None for a protocol": (lambda c: ready_made(None), DataError, "There is no protocol"),
    "an array for questions": (lambda c: parts_of(np.zeros(2)), DialogueError, "There is no questionnaire"),
    "no problem to judge": (lambda c: wf.evaluate(c.ask(), None), DataError, "problem is a NoneType. Give a Problem"),
    "no answer to judge": (lambda c: wf.evaluate(None, c.problem), DataError, "recourse is a NoneType"),
    "no answer to certify": (lambda c: certified(c.people), MethodError, "recourse is a DataFrame. Give a Recourse"),
    "no answer to explain": (lambda c: explain(None, 0), DataError, "Give a Recourse"),
    "no answer to write": (lambda c: letter(c.problem, None, 0), DataError, "Give a Recourse"),
    "no problem to write": (lambda c: letter(None, c.ask(), 0), DataError, "Give a Problem"),
    "no page": (lambda c: report(c.problem, c.ask(), None), FileFormatError, "None is no path"),
    "no problem to judge by": (lambda c: c.ask().judged_by([]), DataError, "problem is a list. Give a Problem"),
    "no file": (lambda c: wf.Recourse.load(None), FileFormatError, "None is no path"),
    "a list for a language": (lambda c: c.ask().explain(0, language=[]), DataError, "There is no language"),
    "no features": (lambda c: wf.Schema(None), SchemaError, "features=None is no list"),
    "a limit that is none": (lambda c: c.none.limit("a", high=...), PreferencesError, "which is not a number"),
    "many mosts": (lambda c: c.none.at_most([]), PreferencesError, r"of shape \(0,\). Give a number, or one for each"),
    "no columns": (lambda c: CausalGraph.read({"b": ["a"]}).over(None), WorldError, "columns=None is no list"),
    "a noise that is none": (lambda c: wf.SCM({"a": "u"}, True), WorldError, "noise is a bool. Give a Mapping"),
    "weights that are none": (lambda c: wf.SCM.linear({"b": {"a": "x"}}), WorldError, "the weight of 'a'='x' is no"),
    "a softness that is none": (lambda c: wf.SCM({"a": "u"}, soft=3), WorldError, "soft=3 is no list of names"),
    "no schema to fit": (lambda c: LinearWorld.fit({"b": ["a"]}, c.people, True), WorldError, "schema is a bool"),
    "a seed of None": (lambda c: wf.evaluate_rows(c.people, c.people, c.problem, seed=None), DataError, "seed=None"),
    "costs of honesty": (lambda c: wf.honesty(c.problem, c.ask(), costs=None), DataError, "costs=None is no list of"),
    "no methods of honesty": (lambda c: wf.honesty(c.problem, c.ask(), methods=[]), DataError, "methods is empty"),
    "a centre of no words": (lambda c: Cox({"a": 1.0}, [1.0], [0.5], {1: 2}).form(c.schema), ModelError, "column '1'"),
    "classes of rows": (lambda c: listed(np.zeros((2, 2))), ModelError, "is no list of labels"),
    "the first row is a no": (lambda c: c.model_of(lambda s: np.r_[0.0, s[1:]]), ModelError, "by the place of a row"),
    "odd places get more": (lambda c: c.model_of(lambda s: s * (np.arange(len(s)) % 2)), ModelError, "by the place of"),
    "the row before": (lambda c: c.model_of(lambda s: np.r_[s[:1], s[:-1]]), ModelError, "by the place of a row"),
    "a running maximum": (lambda c: c.model_of(np.maximum.accumulate), ModelError, "by the place of a row"),
    "complex outputs": (lambda c: c.model_of(lambda s: s + 0.3j), ModelError, "returned complex128 values"),
    "masked outputs": (lambda c: c.model_of(lambda s: np.ma.masked_less(s, 1e9)), ModelError, "returned masked values"),
    "outputs of time": (lambda c: c.model_of(lambda s: s.astype("m8[s]")), ModelError, r"returned timedelta64\[s\]"),
    "masked people": (lambda c: c.problem.reached(np.ma.masked_all((2, 3))), DataError, "has a missing value in row 0"),
    "nobody": (lambda c: c.problem.reached(None), DataError, "The people table is a NoneType"),
    "legal text": (lambda c: c.schema.legal("x"), DataError, "after='x' holds something else than numbers"),
    "texts for legal": (lambda c: c.schema.legal(np.array([["x"] * 3])), DataError, "after, a ndarray, holds"),
    "complex to decode": (lambda c: c.schema.decode(np.ones((1, 3)) + 1j), DataError, "x, a ndarray, holds something"),
    "text for wishes": (lambda c: wf.evaluate(c.ask(), c.problem, preferences="x"), DataError, "preferences is a str"),
    "a seed of text": (lambda c: wf.evaluate(c.ask(), c.problem, seed="a"), DataError, "seed='a' is no whole number"),
    "an oracle of text": (lambda c: c.all_of(oracle="x"), DataError, "oracle='x' holds something else"),
    "a density of 5": (lambda c: c.all_of(density=5), DataError, "density=5 cannot be asked"),
    "a world of text": (lambda c: c.all_of(true_world="scm"), DataError, "true_world is a str"),
    "cells that are lists": (lambda c: wf.Schema.infer(pd.DataFrame({"a": [[1], [2]]})), SchemaError, "no single"),
    "cells too large": (lambda c: wf.Schema.infer(pd.DataFrame({"a": [10**400, 1]})), SchemaError, "something"),
    "translations": (lambda c: wf.Feature(name="a", kind="real", translations=5), SchemaError, "has translations=5"),
    "retraining": (lambda c: c.with_(retraining="x"), ProblemError, "retraining is a str. Give a Retraining"),
    "batches for ever": (lambda c: c.wrap(batch_rows=10**9), ModelError, "Give 1 to 1,000,000"),
    "no scenario": (lambda c: simulate(5), DataError, "scenario is a int. Give a Scenario"),
    "nobody on a page": (lambda c: report(c.problem, c.ask(), "a.html", people=None), DataError, "people=None"),
    "a page of 5": (lambda c: report(c.problem, c.ask(), "a.html", evaluation=5), DataError, "evaluation is a int"),
    "no answers to join": (lambda c: wf.Recourse.concat([]), DataError, r"parts=\[\] is no list of answers"),
    "wishes of 5": (lambda c: wf.Preferences.concat(5), PreferencesError, "parts is a int"),
    "wishes of all": (lambda c: wf.Preferences.none(c.schema, 10**12), PreferencesError, "is no number of people"),
    "limits of text": (lambda c: c.none.limit("a", high="+1", x="x"), PreferencesError, "x='x' holds something else"),
    "an array for a setting": (lambda c: wf.method("c-chvae", p=np.array([1, 2])), MethodError, "has p=array"),
    "labels that are rows": (lambda c: wf.Target(np.zeros((2, 2))), ProblemError, "holds something else than labels"),
    "a beta of None": (lambda c: c.segregation(beta=None), DataError, "beta must lie between 0 and 1; got None"),
    "a group that is not there": (lambda c: c.segregation(group=9), DataError, "has no group 9"),
    "points of text": (lambda c: segregation_index("a", [[1]], [[1]], [[1]]), DataError, "x1='a' holds something else"),
    "a grid of a summary": (lambda c: summarize(c.problem, c.people, most="x"), DataError, "most='x' is no whole"),
    "empty": (lambda c: c.ask({}), DataError, r"no column 'a' \(nor 2 more: b, c\)\. Add the column"),
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_named_with_the_next_step(case, what):
    call, error, message = MISTAKES[what]
    with pytest.raises(error, match=message):
        call(case)


def test_what_is_right_is_taken(case):
    """The same places, with what they take: numbers of NumPy, the edges of what settings may be."""
    assert case.ask(
        budget=np.int64(2000), grid=1, starts=0, beam=1, rounds=0, fill=True, sparing=False
    ).found.any()
    assert wf.Target(1, threshold=np.float32(0.5), margin=0).labels == (1,)
    assert wf.Target(interval=[1, None]).edges() == (1.0, np.inf)
    assert case.ask().explain(np.int64(-1), np.int64(0))
    row = case.people.iloc[0]
    np.testing.assert_array_equal(case.ask(row.to_dict()).after, case.ask(case.people.iloc[[0]]).after)
