"""Time series: the exact series is judged, units and distractors are what they say, files of archives are read."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wayforward as wf
from wayforward.errors import DataError, FileFormatError, ModelError, ProblemError
from wayforward.language import use_language
from wayforward.modalities.series import Stretches
from wayforward.modalities.series.sets import control_charts, cylinder_bell_funnel, machines, read_series

MADE = machines(160, channels=4, times=24, seed=1)
X, Y = MADE.series, MADE.labels
TRAIN, TEST = X[:120], X[120:]


class Slopes:
    """A classifier as sktime's are: fitted on (n, channels, times), with predict, predict_proba and classes_."""

    def _features(self, series):
        assert series.ndim == 3 and series.shape[1:] == (4, 24)
        half = series.shape[2] // 2
        return series[:, :, half:].mean(2) - series[:, :, :half].mean(2)

    def fit(self, series, labels):
        self._line = make_pipeline(StandardScaler(), LogisticRegression()).fit(self._features(series), labels)
        self.classes_ = self._line.classes_
        return self

    def predict(self, series):
        return self._line.predict(self._features(series))

    def predict_proba(self, series):
        return self._line.predict_proba(self._features(series))


@pytest.fixture(scope="module")
def slopes():
    return Slopes().fit(TRAIN, Y[:120])


@pytest.fixture(scope="module")
def asked(slopes):
    return wf.SeriesProblem(slopes, TRAIN, favourable="fine", labels=Y[:120], channels=MADE.channels)


@pytest.fixture(scope="module")
def answers(asked):
    return asked.recommend(TEST, "comte", k=2)


def test_the_model_itself_said_yes_to_the_exact_series(slopes, asked, answers):
    refused = slopes.predict(TEST) != "fine"
    assert (answers.recourse.refused == refused).all() and refused.sum() > 5
    assert answers.recourse.found[refused, 0].all()
    for i in np.flatnonzero(refused):
        for option in answers.options(i):
            after, mask = answers.after(i, option), answers.mask(i, option)
            assert slopes.predict(after[None])[0] == "fine"
            np.testing.assert_array_equal(after[~mask], TEST[i][~mask])
            channels = answers.channels(i, option)
            np.testing.assert_array_equal(after[channels], answers.source(i, option)[0][channels])
            assert set(channels) & {0, 1}  # what decides, by the card
    np.testing.assert_array_equal(answers.before(0), TEST[0])
    assert wf.evaluate(answers.recourse, answers.recourse.problem) is not None
    assert answers.recourse.schema.names[1:] == MADE.channels


def test_distractors_are_the_nearest_series_with_the_wanted_answer_and_label(slopes, asked):
    good = TRAIN[(slopes.predict(TRAIN) == "fine") & (Y[:120] == "fine")]
    np.testing.assert_array_equal(asked.distractors, good)
    spread = good.std((0, 2))[:, None]
    for one in TEST[:5]:
        order = ((((good - one) / spread) ** 2).sum((1, 2))).argsort()
        np.testing.assert_array_equal(asked.units.fill(one), good[order[:2]])


def test_estimators_modules_functions_and_flat_classifiers_are_asked_alike():
    """One line on flat numbers, by a torch module of (n, c, t), a function, a classifier of 3-d and one of 2-d."""
    torch = pytest.importorskip("torch")
    line = LogisticRegression(max_iter=500).fit(TRAIN.reshape(120, -1) / 50, Y[:120] == "fine")
    flat = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)).fit(
        TRAIN.reshape(120, -1), Y[:120]
    )
    scale, head = flat[0], flat[-1]
    assert line.classes_.tolist() == [False, True]

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(96, 1)
            with torch.no_grad():
                self.layer.weight.copy_(torch.tensor(head.coef_ / scale.scale_))
                self.layer.bias.copy_(
                    torch.tensor(head.intercept_ - head.coef_ @ (scale.mean_ / scale.scale_))
                )

        def forward(self, series):
            assert series.ndim == 3 and series.shape[1:] == (4, 24)
            return self.layer(series.flatten(1))

    class Whole:
        classes_ = flat.classes_

        def predict(self, series):
            return flat.predict(series.reshape(len(series), -1))

        def predict_proba(self, series):
            assert series.shape[1:] == (4, 24)
            return flat.predict_proba(series.reshape(len(series), -1))

    wanted, rows, outputs = [], None, []
    for model, classes in (
        (flat, None), (Module(), ["fine", "worn"]), (Whole().predict_proba, ["fine", "worn"]), (Whole(), None),
    ):  # fmt: skip
        one = wf.SeriesProblem(model, TRAIN, favourable="fine", classes=classes)
        wanted.append(one.distractors)
        problem = one.problem(TEST[0])
        rows = one.rows(TEST) if rows is None else rows
        rows[:, 1:] = np.random.default_rng(0).integers(0, 3, rows[:, 1:].shape)
        outputs.append(problem.model.outputs(rows))
        np.testing.assert_allclose(outputs[-1], problem.model.native(rows)[0], atol=2e-5)
        for name in ("sedc-t", "visual-counterfactuals", "comte"):
            got = one.recommend(TEST[:8], name)
            assert got.recourse.found[got.recourse.refused, 0].all()
        if isinstance(model, Module):
            for name in ("scout", "gradual-construction"):
                got = one.recommend(TEST[:8], name, k=2)
                assert got.recourse.found[got.recourse.refused, 0].all()
    for other, distractors in zip(outputs[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(other, outputs[0], atol=2e-5)
        np.testing.assert_array_equal(distractors, wanted[0])


@pytest.mark.parametrize("replace", ["distractor", "mean", 30.0])
def test_stretches_change_alone(slopes, replace):
    asked = wf.SeriesProblem(
        slopes, TRAIN, favourable="fine", units=Stretches(3), replace=replace, channels=MADE.channels
    )
    stays = np.zeros((4, 24), dtype=bool)
    stays[:, :8] = True  # the first of three stretches
    got = asked.recommend(TEST, "comte", keep=stays, most=3)
    found = np.flatnonzero(got.recourse.found[:, 0])
    assert len(found) >= 3
    for i in found:
        mask = got.mask(i)
        assert not mask[:, :8].any() and len(got.changed(i)) <= 3
        np.testing.assert_array_equal(np.unique(mask.sum(1) % 8), [0])
        if replace != "distractor":
            expected = TEST[i].mean(1, keepdims=True) if replace == "mean" else replace
            np.testing.assert_allclose(got.after(i), np.where(mask, expected, TEST[i]))
        assert re.search("times 9 to 16|times 17 to 24", got.sentence(i))


def test_units_of_a_function_are_of_any_number():
    """Two units in quiet series, four in others; each series is answered among its like."""

    def halves(series):
        label = np.repeat([0, 1], 24)[None].repeat(1, 0).reshape(2, 24)
        return label if series.std() < 1 else np.concatenate([label[:1], 1 + np.arange(24)[None] // 8])

    rng = np.random.default_rng(0)
    series = rng.normal(size=(30, 2, 24)) * np.where(np.arange(30) % 2, 0.5, 2.0)[:, None, None]
    asked = wf.SeriesProblem(
        lambda given: np.clip(0.5 + given[:, 1].mean(1), 0, 1), series, favourable=1, units=halves
    )
    got = asked.recommend(series, "comte")
    assert got.recourse.found[got.recourse.refused, 0].all()
    assert all(0 not in got.changed(i) for i in np.flatnonzero(got.recourse.found[:, 0]))


def test_a_series_gets_the_same_answer_alone_and_in_another_process(asked, answers):
    again = pickle.loads(pickle.dumps(asked))
    for i in np.flatnonzero(answers.recourse.refused)[:4]:
        alone = again.recommend(TEST[i : i + 1], "comte", k=2)
        assert [alone.changed(0, o) for o in alone.options(0)] == [
            answers.changed(i, o) for o in answers.options(i)
        ]


def test_pictures_letters_and_pages(asked, answers, tmp_path):
    some = [*np.flatnonzero(answers.recourse.found[:, 0])[:1], *np.flatnonzero(answers.recourse.accepted)[:1]]
    got = asked.recommend(TEST[some], "comte")
    drawn = got.svg(0)
    assert drawn == got.svg(0) and len(got.figure(0).axes) == 4
    alt = re.search("<desc[^>]*>(.*)</desc>", drawn)[1]
    assert "Small panels" in alt and got.sentence(0) in alt and got.describe(0)[0] in alt
    channel = got.channels(0)[0]
    low, high = TEST[some[0]][channel].min(), TEST[some[0]][channel].max()
    assert f"from {low:.1f} to {high:.1f} as given" in got.describe(0)[0]
    assert MADE.channels[channel] in got.sentence(0)
    first, second = (got.save(0, tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert first == second and first.startswith(b"\x89PNG")
    letter = got.letter(0, style="html", language="en")
    assert drawn in letter and letter.startswith("<!doctype html>")
    assert got.describe(0)[0] in got.letter(0) and "<svg" not in got.letter(0)
    german = got.letter(0, language="de")
    with use_language("de"):
        assert {ax.get_xlabel() for ax in got.figure(0).axes} == {"", "Zeit"}
    assert "Kanal" in german and "channel" not in german and "change" not in german
    assert got.page(tmp_path / "series.html").read_text(encoding="utf-8").count("<figure>") == 1
    with pytest.raises(DataError, match="Series 1 has no option 0"):
        got.sentence(1)
    with pytest.raises(DataError, match="no series 2"):
        got.after(2)


def test_of_many_channels_those_that_change_are_drawn(slopes):
    series = np.random.default_rng(0).normal(size=(40, 30, 6))
    asked = wf.SeriesProblem(lambda given: np.clip(0.5 + given[:, 29].mean(1), 0, 1), series, favourable=1)
    got = asked.recommend(series[:8], "comte", exhaustive=0, restarts=1)
    i = int(np.flatnonzero(got.recourse.found[:, 0])[0])
    panels = [ax for ax in got.figure(i).axes if ax.get_visible()]
    assert len(panels) == 24 and panels[-1].get_title(loc="left") == "channel 30"


def test_made_sets_are_by_their_recipes():
    charts = control_charts(60, seed=2)
    assert charts.series.shape == (60, 1, 60) and len(set(charts.labels)) == 6 and "seed 2" in charts.card
    for name, sign in (("increasing", 1), ("decreasing", -1)):
        some = charts.series[charts.labels == name, 0]
        slope = np.polyfit(np.arange(60), some.T, 1)[0] * sign
        assert (slope > 0.1).all() and (slope < 0.6).all()
    funnels = cylinder_bell_funnel(60, seed=2)
    assert funnels.series.shape == (60, 1, 128) and set(funnels.labels) == {"cylinder", "bell", "funnel"}
    assert (funnels.series[:, 0].max(1) > 3).all()
    again = machines(160, channels=4, times=24, seed=1)
    np.testing.assert_array_equal(again.series, X)
    assert set(Y) == {"worn", "fine"} and "pressure or flow" in MADE.card
    with pytest.raises(DataError, match="Use 3 to 8"):
        machines(4, channels=9)
    with pytest.raises(DataError, match="times >= 16"):
        cylinder_bell_funnel(4, times=4)


TS = """#comment
@problemName Two
@timeStamps false
@univariate false
@classLabel true walk run
@data
1,2,3:4,5,6:walk
7,8,9:-1e1,0,.5:run
"""
ARFF_MANY = """@relation Two
@attribute relationalAtt relational
@attribute att0 numeric
@end relationalAtt
@attribute activity {walk,run}
@data
'1,2,3\\n4,5,6',walk
'7,8,9\\n-1e1,0,.5',run
"""
ARFF_ONE = "@relation One\n@attribute a numeric\n@attribute target {1,2}\n@data\n1,2,3,1\n4,5,6,2\n"


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("Two_TRAIN.ts", TS, ["walk", "run"]),
        ("Two.arff", ARFF_MANY, ["walk", "run"]),
        ("One.arff", ARFF_ONE, ["1", "2"]),
        ("One_TRAIN.tsv", "1\t1\t2\t3\n2\t4\t5\t6\n", ["1", "2"]),
        ("One.txt", "  1.0000000e+00  1.0e+00  2  3\n  2.0000000e+00  4 5 6\n", ["1", "2"]),
    ],
)
def test_files_of_archives_are_read(tmp_path, name, text, labels):
    (tmp_path / name).write_text(text, encoding="utf-8")
    got = read_series(tmp_path / name)
    two = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [-10, 0, 0.5]]]
    np.testing.assert_array_equal(got.series, two if "Two" in name else [[[1, 2, 3]], [[4, 5, 6]]])
    assert got.labels.tolist() == labels and name.split(".")[0] in got.card


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("a.ts", TS.replace("4,5,6", "4,?,6"), "line 7 has a value"),
        ("a.ts", TS.replace("4,5,6", "4,5"), "line 7: channels of .3, 2. numbers|line 8: channels"),
        ("a.ts", TS.replace("@timeStamps false", "@timeStamps true"), "time stamps"),
        ("a.ts", TS.replace("@classLabel true", "@classLabel false"), "no labels"),
        ("a.tsv", "1\t1\t2\n2\t3\tNaN\n", "line 2 has a value"),
        ("a.tsv", "", "no series"),
        ("a.tsv", "1\n", "line 1"),
        ("a.pickle", "", "none of .tsv"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, text, error):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=error):
        read_series(tmp_path / name)
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_series(tmp_path / "missing.ts")


def test_what_is_wrong_is_said_with_the_next_step(slopes, asked):
    odd = TEST[:3].copy()
    odd[1, 2, 5] = np.nan
    with pytest.raises(DataError, match="Series 1: 'oil' is nan at time 5"):
        asked.rows(odd)
    with pytest.raises(DataError, match="is one series"):
        asked.recommend(TEST[0])
    with pytest.raises(DataError, match=r"Series 1: it has shape \(4, 5\)"):
        asked.recommend([TEST[0], TEST[1][:, :5]], strict=True)
    with pytest.raises(DataError, match="several lengths"):
        wf.SeriesProblem(slopes, [TEST[0], TEST[1][:, :5]], favourable="fine")
    with pytest.raises(ProblemError, match="labels are '0', '1'"):
        wf.SeriesProblem(slopes, TRAIN, favourable="fine", labels=np.arange(120).astype(str))
    with pytest.raises(ProblemError, match="labels are 'x', None"):
        wf.SeriesProblem(slopes, TRAIN, favourable="fine", labels=["x", None] * 60)
    with pytest.raises(DataError, match="shape .160, 24."):
        wf.SeriesProblem(slopes, X[:, 0], favourable="fine")
    with pytest.raises(DataError, match="no names of 4 channels"):
        wf.SeriesProblem(slopes, TRAIN, favourable="fine", channels=["a", "b"])
    with pytest.raises(ProblemError, match="keep names 'heat'"):
        asked.recommend(TEST, keep=["heat"])
    with pytest.raises(ProblemError, match="is no list of channels"):
        asked.recommend(TEST, keep="oil")
    with pytest.raises(ProblemError, match="keep has shape"):
        asked.recommend(TEST, keep=np.ones((2, 2), dtype=bool))
    with pytest.raises(ProblemError, match="none of the"):
        wf.SeriesProblem(slopes, TRAIN[Y[:120] == "worn"][:3], favourable="fine", labels=["worn"] * 3)
    with pytest.raises(ProblemError, match="distractors=0"):
        wf.SeriesProblem(slopes, TRAIN, favourable="fine", distractors=0)
    with pytest.raises(ProblemError, match="units='what'"):
        wf.SeriesProblem(slopes, TRAIN, favourable="fine", units="what")
    with pytest.raises(ProblemError, match="replace='what'"):
        wf.SeriesProblem(slopes, TRAIN, favourable="fine", replace="what")
    with pytest.raises(ProblemError, match="25 stretches"):
        wf.SeriesProblem(slopes, TRAIN, favourable="fine", units=Stretches(25))
    with pytest.raises(ModelError, match="has no predict_proba"):
        wf.SeriesProblem(type("Bare", (), {"predict": lambda s, x: x})(), TRAIN, favourable=1)
    with pytest.raises(ModelError, match="failed on 4x24 arrays: ZeroDivisionError"):
        wf.SeriesProblem(lambda series: 1 / 0, TRAIN, favourable=1)
