"""Foreseeable mistakes in calls: each is told what is wrong and what to do next; none is accepted silently."""

from __future__ import annotations

from dataclasses import replace

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
    WayforwardError,
    WorkerError,
    WorldError,
)
from wayforward.evaluate.robustness import robustness
from wayforward.impact.audit import audit
from wayforward.impact.segregation import segregation, segregation_index
from wayforward.impact.society import Scenario, simulate
from wayforward.impact.summaries import summariser, summarize
from wayforward.methods.certificates import certified
from wayforward.modalities.model import listed
from wayforward.modalities.survival import Cox
from wayforward.people.dialogue import Dialogue
from wayforward.people.dialogue.questionnaire import parts_of
from wayforward.people.elicitors import elicitor
from wayforward.problem import Disclosure, Neighbours, as_told, with_room
from wayforward.problem.cost.registry import cost_named
from wayforward.problem.plausibility.registry import plausibility_named
from wayforward.study.ready_made import ready_made
from wayforward.tracks.tasks import task
from wayforward.world import CausalGraph, LinearWorld
from wayforward.world.registry import world_class

pd = pytest.importorskip("pandas")
linear = pytest.importorskip("sklearn.linear_model")


def in_words(things):
    return np.full(len(things), 0.2)


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

    def audit(self, **options):
        groups = wf.groups.Groups.of("c", self.table, self.schema)
        return audit(self.problem, self.table, groups, **options)

    def rows(self, **options):
        return wf.evaluate_rows(self.people, self.people, self.problem, **options)

    def table_of(self, **options):
        return wf.recommend_table(self.problem, self.people, "no-such-folder", **options)

    def texts(self, some, model=None):
        return wf.TextProblem(model or in_words, [], 1).recommend(some)

    def wrap(self, **options):
        return wf.wrap(lambda rows: (rows[:, 0] > 4).astype(int), self.schema, **options)


@pytest.fixture(scope="module")
def case():
    return Case()


SOME_MASKED = np.ma.masked_array([0, 1], mask=[True, False])
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
    "classes of rows": (lambda c: listed(np.zeros((2, 2))), ModelError, "no list of two or more labels"),
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
    "answers with other k joined": (
        lambda c: wf.Recourse.concat([c.ask(), c.ask(k=2)]), DataError, "Part 1 has 2 options a person, the first 1"
    ),
    "the answers of a text": (lambda c: c.ask()["a"], DataError, "'a' names no people"),
    "the answers of nobody there": (lambda c: c.ask()[[0, 99]], DataError, "There is no person 99"),
    "the answers of True": (lambda c: c.ask()[True], DataError, "True names no people"),
    "the answers by too few signs": (lambda c: c.ask()[[True]], DataError, "names no people"),
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
    "a second method that is none": (lambda c: c.audit(beside=5), MethodError, "method=5 is neither a name"),
    "a second method unheard of": (lambda c: c.audit(beside="growing"), MethodError, "There is no method 'growing'"),
    "fewer than are ever told": (lambda c: c.audit(fewest=0), DataError, "fewest=0 .*Use 3 or more"),
    "workers nowhere": (lambda c: c.audit(on="foo"), WorkerError, "on='foo' is not known"),
    "workers of a society": (lambda c: simulate(Scenario(), on="foo"), WorkerError, "on='foo' is not known"),
    "others that are none": (lambda c: c.audit(others=["x"]), WayforwardError, "'x'"),
    "models as good that are a text": (
        lambda c: wf.honesty(c.problem, c.ask(), models="ab"), DataError, "models='ab' is no list of models"
    ),
    "models trained again that are 5": (
        lambda c: robustness(c.ask(), c.problem, models=5), DataError, "models=5 is no list of models"
    ),
    "labels that are right as a text": (
        lambda c: wf.evaluate(c.ask(), c.problem, reference_labels_right="zz"), DataError, "right='zz' holds something"
    ),
    "labels that are twice right": (
        lambda c: wf.evaluate(c.ask(), c.problem, reference_labels_right=[2] * 200), DataError, "than True and False"
    ),
    "labels of others that are right": (
        lambda c: wf.evaluate(c.ask(), c.problem, reference_labels_right=[True]), DataError, r"has shape \(1,\)"
    ),
    "rows below nought": (lambda c: c.rows(model_rows=-5), DataError, "model_rows=-5 is no number from 0"),
    "seconds below nought": (lambda c: c.rows(seconds=-1.0), DataError, "seconds=-1.0 is no number from 0"),
    "a tool without a name": (lambda c: c.rows(method=5), DataError, "method is a int"),
    "room below nought": (lambda c: c.table_of(room=-1), DataError, "room=-1 is no number from 0 to 1000"),
    "a note that no file holds": (lambda c: c.table_of(note=object()), DataError, "note=<object.* is no plain data"),
    "a note of nothing": (lambda c: c.table_of(note={"a": float("nan")}), DataError, "is no plain data"),
    "a column for names that is 5": (lambda c: c.table_of(id=5), DataError, "id is a int. Give a str"),
    "a seed of a dialogue": (
        lambda c: Dialogue(c.problem, c.people.iloc[[0]], seed="x"), DialogueError, "seed='x' is no seed"
    ),
    "a seed of a dialogue below 0": (
        lambda c: Dialogue(c.problem, c.people.iloc[[0]], seed=-1), DialogueError, "seed=-1 is no seed"
    ),
    "a seed of a table": (lambda c: c.table_of(seed="x"), MethodError, "seed='x' is no seed"),
    "rows of half a shard": (lambda c: c.table_of(rows_per_shard=1.5), DataError, "rows_per_shard=1.5 is no whole"),
    "room for more than all": (lambda c: with_room(c.ask(), 2.0), DataError, "share=2.0 is no number from 0 to 1"),
    "letters with room below nought": (lambda c: as_told(c.ask(), -1), DataError, "most=-1 is no number"),
    "true as a number of changes": (lambda c: c.none.at_most(True), PreferencesError, "is True, which is not a number"),
    "true among numbers of changes": (lambda c: c.none.at_most([2, 1, True, 1]), PreferencesError, "is not a number"),
    "true as a limit": (lambda c: c.none.limit("a", high=True), PreferencesError, "is True, which is not a number"),
    "true as a weight": (lambda c: c.none.weigh(a=True), PreferencesError, "weight True, which is not a number"),
    "a weight that is a text": (lambda c: c.none.weigh(a="2"), PreferencesError, "weight '2', which is not a number"),
    "a weight that is masked": (
        lambda c: c.none.weigh(a=np.ma.masked_all(4)), PreferencesError, "'a' has weight nan for person 0"
    ),
    "true as a score": (lambda c: wf.Preferences.from_scores(c.schema, {"a": [True]}, 5), PreferencesError, "True for"),
    "texts for what is frozen": (
        lambda c: replace(c.none, frozen=np.full((4, 3), "no")), PreferencesError, "frozen, a ndarray, holds something"
    ),
    "masks for what is frozen": (
        lambda c: replace(c.none, frozen=np.ma.masked_all((4, 3), bool)), PreferencesError, "than True and False"
    ),
    "texts for levels": (
        lambda c: replace(c.none, levels={2: [["no", "no"]] * 4}), PreferencesError, "levels of 'c', a list, holds"
    ),
    "texts for who refuses": (
        lambda c: replace(c.none, refused={"move": ["no"] * 4}), PreferencesError, "refused of 'move', a list, holds"
    ),
    "masked numbers of changes": (
        lambda c: replace(c.none, max_changes=np.ma.masked_all(4)), PreferencesError, "max_changes is nan for person 0"
    ),
    "true as stored numbers of changes": (
        lambda c: replace(c.none, max_changes=np.ones(4, bool)), PreferencesError, "max_changes holds True or False"
    ),
    "masked who": (
        lambda c: c.none.freeze("a", who=SOME_MASKED), PreferencesError, "who, a MaskedArray, holds masked"
    ),
    "masked people to take": (lambda c: c.none.take(SOME_MASKED), PreferencesError, "who, a MaskedArray, holds masked"),
    "people of time": (
        lambda c: c.none.freeze("a", who=np.array([0], "m8[D]")), PreferencesError,
        "row numbers or a mask; got an array",
    ),
    **{
        f"masked {name}": (
            lambda c, name=name: replace(c.none, **{name: np.ma.masked_all((4, 3))}), PreferencesError, message
        )
        for name, message in {
            "low": "limits nan and inf", "high": "limits -inf and nan", "weight": "'a' has weight nan for person 0"
        }.items()
    },
    "NaN for what is frozen": (
        lambda c: replace(c.none, frozen=np.full((4, 3), np.nan)), PreferencesError, "than True and False"
    ),
    "a complex low": (
        lambda c: replace(c.none, low=np.full((4, 3), 1 + 2j)), PreferencesError, "low, a ndarray, holds something else"
    ),
    "a complex score": (
        lambda c: wf.Preferences.from_scores(c.schema, np.full((4, 3), 1 + 2j), 5), PreferencesError,
        "no table of numbers",
    ),
    "a masked score": (
        lambda c: wf.Preferences.from_scores(c.schema, {"a": np.ma.masked_all(4)}, 5), PreferencesError,
        "'a' has score nan for person 0",
    ),
    "levels at half a place": (
        lambda c: replace(c.none, levels={1.9: np.ones((4, 2), bool)}), PreferencesError, "levels are given for 1.9"
    ),
    "levels that are NaN": (
        lambda c: replace(c.none, levels={2: np.full((4, 2), np.nan)}), PreferencesError, "than True and False"
    ),
    "months of days": (
        lambda c: replace(c.none, months=np.full(4, 6, "m8[D]")), PreferencesError,
        "months, a ndarray, holds something else",
    ),
    "masked months": (
        lambda c: replace(c.none, months=np.ma.masked_all(4)), PreferencesError, "months is nan for person 0"
    ),
    "digits of another script": (
        lambda c: c.none.limit("a", high="+\u0663", x=c.people), PreferencesError, "has the limit .* Give a number"
    ),
    "digits of another script in a table": (
        lambda c: wf.Preferences.from_table(c.schema, [{"person": 0, "feature": "a", "weight": "\u0663"}]),
        PreferencesError, "for 'a'. Give a number",
    ),
    "a gain that is a text": (lambda c: wf.Target(interval=(1, None), gain="no"), ProblemError, "gain='no' is neither"),
    "a unit that is 3": (lambda c: wf.Target(interval=(1, None), unit=3), ProblemError, "unit is a int. Give a str"),
    "more neighbours than people": (
        lambda c: c.with_(plausibility=Neighbours(k=201)), ProblemError, "more people than the 200 of the table"
    ),
    "a deadline beyond all clocks": (
        lambda c: c.ask(deadline=1e30), MethodError, "are more than a century. Give fewer"
    ),
    "an act that is 5": (lambda c: c.none.refuse(5), PreferencesError, r"acts=\(5,\) is no list of names"),
    "public bounds of nothing": (
        lambda c: c.with_(disclosure=Disclosure(bounds={"zz": (0, 1)})), ProblemError, "bounds has an entry for 'zz'"
    ),
    "public bounds of levels": (
        lambda c: c.with_(disclosure=Disclosure(bounds={"c": (0, 1)})), ProblemError, "'c', which is no number"
    ),
    "a class that equals nothing": (lambda c: c.wrap(classes=(float("nan"), 1)), ModelError, "no list of two or more"),
    "a favourite that equals nothing": (lambda c: wf.Target(float("nan")), ProblemError, "holds NaN"),
    "a favourite named twice": (lambda c: wf.Target((1, 1)), ProblemError, "names 1 twice. Name each label once"),
    "a table of no columns": (lambda c: c.wrap(frame=pd.DataFrame()), ModelError, "frame has 0 columns, and none is"),
    "a table of other columns": (lambda c: c.wrap(frame=pd.DataFrame({"z": [1]})), ModelError, "has 1 columns, and"),
    "classes of texts": (lambda c: wf.TextProblem(in_words, [], 1, classes=5), ModelError, "classes=5 is no list"),
    "a text for classes": (lambda c: wf.TextProblem(in_words, [], 1, classes="ab"), ModelError, "classes='ab' is no"),
    "texts in a dict": (lambda c: c.texts({"a b": 1}), DataError, "texts is a dict. Give a list of texts"),
    "texts in a table": (lambda c: c.texts(pd.DataFrame({"a b": [1]})), DataError, "texts is a DataFrame"),
    "texts in a set": (lambda c: c.texts({"a b", "c d"}), DataError, "texts is a set"),
    "labels of images": (
        lambda c: wf.ImageProblem(in_words, np.zeros((3, 8, 8)), 1, labels=5), DataError, r"shape \(\); there are 3"
    ),
    "labels of series": (
        lambda c: wf.SeriesProblem(in_words, np.zeros((3, 1, 8)), 1, labels=[1], replace="mean"), DataError,
        "there are 3 series. Give one each",
    ),
    "masked times": (lambda c: Cox({}, np.ma.masked_equal([1, 2], 2), [0.9, 0.8]), ModelError, "finite numbers"),
    "masked survival": (lambda c: Cox({}, [1, 2], np.ma.masked_equal([0.9, 0.8], 0.8)), ModelError, "no probability"),
    "places of 5": (lambda c: Scenario(places=(5,)), DataError, r"places=\(5,\) is no list of names"),
    "groups called 5": (lambda c: Scenario(group_names=(5,)), DataError, r"group_names=\(5,\) is no list of names"),
    "fewer than no examples": (lambda c: report(c.problem, c.ask(), "a.html", people=-1), DataError, "people=-1 is no"),
    "true as examples": (lambda c: report(c.problem, c.ask(), "a.html", people=True), DataError, "people=True is no"),
    "a person who is not there": (lambda c: c.ask().explain(99), DataError, "There is no person 99"),
    "labels of a method": (lambda c: wf.method("nice", labels="zz"), MethodError, "has labels='zz'. Give a list"),
    "labels in rows": (lambda c: wf.method("nice", labels=[[1], [0]]), MethodError, "has labels=.* Give a list"),
    "nobody to choose on": (lambda c: wf.method("carma", validation=5), MethodError, "has validation=5. Give a table"),
    "a list to choose on": (lambda c: wf.method("carma", validation=[1, 2]), MethodError, "has validation=.* Give a"),
    "no class is likely": (lambda c: c.model_of(lambda s: np.zeros((len(s), 2))), ModelError, "0 for every class"),
    "complex answers about texts": (lambda c: c.texts(["a b"], lambda some: np.array([0.2j] * len(some))), ModelError,
                                    "the answer of .* holds something else"),
    "masked answers about texts": (
        lambda c: c.texts(["a b"], lambda some: np.ma.masked_all(len(some))), ModelError, "returned nan|returned NaN"
    ),
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
    assert case.none.freeze("a", who=np.ma.masked_array([0, 1])).frozen[:, 0].tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert case.ask(deadline=wf.Deadline(person=3e8)).found.any()
    assert not wf.Target(interval=(1, None), gain=np.False_).gain
    row = case.people.iloc[0]
    np.testing.assert_array_equal(case.ask(row.to_dict()).after, case.ask(case.people.iloc[[0]]).after)


# -- errors and names ----------------------------------------------------------------------------------------


def test_no_error_carries_what_a_terminal_obeys():
    """A column's name or a rule went raw into the terminal of whoever read the error."""
    odd = "inc\x1b[31mome\x9b\u202e\u2028\ud83d"
    told = str(DataError(f"There is no column '{odd}'.\n\tSee.")), str(wf.errors.MissingExtra(odd))
    assert told[0] == r"There is no column 'inc\x1b[31mome\x9b\u202e\u2028\ud83d'." + "\n\tSee."
    assert told[1].isprintable()
    rule = "after.\x1b[31m >= 0"
    with pytest.raises(wf.errors.RuleError) as error:
        wf.Schema((wf.Feature(name="a", kind="real", low=0, high=1),)).with_rules(rule)
    message, text, caret = str(error.value).split("\n")
    assert text.strip() == r"after.\x1b[31m >= 0" and "\x1b" not in message
    assert text[caret.index("^") :].startswith("\\x1b"[: caret.count("^")]) and error.value.text == rule


@pytest.mark.parametrize(
    "odd",
    [1.5, np.inf, True, np.timedelta64(1, "D"), b"a", "\ud83d", [1], 1j],
    ids=lambda odd: type(odd).__name__,
)
def test_people_are_named_by_texts_whole_numbers_and_days(odd):
    """Others came back from a file as another name, or not at all."""
    pd = pytest.importorskip("pandas")
    schema = wf.Schema((wf.Feature(name="a", kind="real", low=0, high=9),))
    problem = wf.Problem(schema, lambda x: (x[:, 0] > 5).astype(float), wf.Target(1))
    table = pd.DataFrame({"a": [1.0, 2.0], "id": pd.Series(["x", odd], dtype=object)})
    with pytest.raises(DataError, match="Column 'id' names people, and has .* in row 1. Names are texts"):
        wf.recommend(problem, table, id="id")


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_names_come_back_from_a_file(ending, tmp_path):
    """Those of an index may be anything: spans of time made a file that was 'changed after it was saved'."""
    pd = pytest.importorskip("pandas")
    schema = wf.Schema((wf.Feature(name="a", kind="real", low=0, high=9),))
    problem = wf.Problem(schema, lambda x: (x[:, 0] > 5).astype(float), wf.Target(1))
    table = pd.DataFrame({"a": [1.0, 2.0], "id": [3.0, np.nan]})
    got = wf.recommend(problem, table, id="id", k=2)
    back = wf.Recourse.load(got.save(tmp_path / f"a.{ending}"))
    assert got.origin.values[0].tolist() == back.origin.values[0].tolist() == [3, None]
    assert back.find(3).tolist() == back.find("3").tolist() == [0]
    spans = table.set_index(pd.to_timedelta([1, 2], unit="D"))[["a"]]
    back = wf.Recourse.load(wf.recommend(problem, spans, k=2).save(tmp_path / f"b.{ending}"))
    assert back.find("2 days 00:00:00").tolist() == [1]
