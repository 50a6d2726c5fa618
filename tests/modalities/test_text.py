"""Texts: the exact string is judged, the fast path is the pipeline, and sets of words are the sorted prefix."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import wayforward as wf
from wayforward.deadline import clock_of
from wayforward.errors import DataError, ModelError, ProblemError
from wayforward.modalities.text.corpora import PLANTED, newsgroups, reviews
from wayforward.modalities.text.documents import document, document_schema, rows_of, texts_of

TEXTS, LABELS = reviews(240, sentences=5)


def fitted(*steps):
    return make_pipeline(*steps).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def bag():
    """Counts and a line: the score is a sum over words."""
    return fitted(CountVectorizer(), LogisticRegression(C=10))


@pytest.fixture(scope="module")
def asked(bag):
    return wf.TextProblem(bag, TEXTS, favourable="good")


@pytest.fixture(scope="module")
def answers(asked):
    return asked.recommend(TEXTS[:60], k=3)


def test_a_text_without_words_is_the_text_that_one_would_write():
    text = "Well, the soup's cold: COLD soup, cold."
    one = document(text)
    assert one.words == ("Well", "the", "soup's", "cold", "soup")
    assert one.without({3}) == "Well, the soup's : soup, ."
    assert one.without({0, 1}) == ", soup's cold: COLD soup, cold."
    assert document("").without(()) == "" and document("").size == 16
    assert one.named(["COLD", "nowhere"]) == [3]


def test_rows_and_texts_are_one_to_one():
    schema = document_schema(64)
    rows = rows_of(TEXTS[:20], schema)
    assert texts_of(rows, schema) == TEXTS[:20]
    rows[:, 2] = 0
    assert texts_of(rows, schema) == [document(text).without({1}) for text in TEXTS[:20]]


@pytest.mark.parametrize(
    ("steps", "fast"),
    [
        ((CountVectorizer(binary=True), MultinomialNB()), True),
        ((TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=30)), True),
        ((CountVectorizer(lowercase=False), TfidfTransformer(norm="l1"), LogisticRegression(C=30)), True),
        ((TfidfVectorizer(strip_accents="unicode", token_pattern=r"\w+"), LinearSVC()), True),
        ((TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=30)), False),
        ((CountVectorizer(), RandomForestClassifier(8, random_state=0)), False),
    ],
    ids=["nb", "tfidf", "l1", "svc", "bigrams", "forest"],
)  # fmt: skip
def test_what_is_read_is_the_pipeline_and_its_own_yes_is_on_the_exact_text(steps, fast):
    pipeline = fitted(*steps)
    asked = wf.TextProblem(pipeline, TEXTS, favourable="good")
    problem, rows = asked.problem(TEXTS[0]), asked.rows(TEXTS[:30])
    model = problem.model
    assert model.has_fast_path == fast
    rng = np.random.default_rng(0)
    rows[:, 1:] *= rng.random((30, rows.shape[1] - 1)) < 0.6
    np.testing.assert_allclose(model.outputs(rows), model.native(rows)[0], atol=1e-9)
    got = asked.recommend(TEXTS[:12], k=2)
    which = [(i, option) for i in range(12) for option in got.options(i)]
    assert which and (pipeline.predict([got.after(*one) for one in which]) == "good").all()
    refused = pipeline.predict(TEXTS[:12]) == "bad"
    assert (got.recourse.accepted == ~refused).all() and got.recourse.found[refused, 0].mean() > 0.8


def test_sets_of_words_on_a_line_are_the_sorted_prefix(bag, answers):
    """The fewest words: the heaviest against a yes first, until the sum has turned."""
    weight = dict(zip(bag[0].get_feature_names_out(), bag[1].coef_[0], strict=True))
    for i in np.flatnonzero(answers.recourse.refused):
        one = document(TEXTS[i])
        score = float(bag.decision_function([TEXTS[i]])[0])
        effect = np.zeros(len(one.words))
        for word in one.parts:
            effect[one.unit[word]] -= weight.get(word.lower(), 0.0)
        needed = np.flatnonzero(score + np.sort(effect)[::-1].cumsum() > 0)
        assert answers.recourse.found[i, 0] == bool(needed.size)
        if needed.size:
            assert len(answers.removed(i)) == needed[0] + 1
            assert {word.lower() for word in answers.removed(i)} <= {w for w in weight if weight[w] < 0}


def test_planted_words_are_what_is_found(answers):
    """No word goes that the grammar has speak for a good review, and one that speaks against it always does."""
    for i in np.flatnonzero(answers.recourse.found[:, 0]):
        weight = [PLANTED.get(word.lower(), 0.0) for word in answers.removed(i)]
        assert min(weight) < 0 and max(weight) <= 0


def test_a_text_gets_the_same_answer_alone_and_beside_longer_ones(asked, answers):
    long, _ = reviews(1, sentences=40, seed=3, vocabulary=500)
    i = int(np.flatnonzero(answers.recourse.found[:, 0])[0])
    both = asked.recommend([long[0], TEXTS[i]], k=3)
    assert both.removed(1) == answers.removed(i) and both.recourse.schema.d > answers.recourse.schema.d
    again = pickle.loads(pickle.dumps(asked)).recommend([TEXTS[i]], k=3)
    assert again.removed(0) == answers.removed(i)


def test_words_that_stay_stay_and_no_more_go_than_are_allowed(asked, answers):
    some = [TEXTS[i] for i in np.flatnonzero(answers.recourse.found[:, 0])[:10]]
    got = asked.recommend(some, k=2, keep=["RUDE", "dirty"], most=3)
    for i in range(10):
        for option in got.options(i):
            assert not {w.lower() for w in got.removed(i, option)} & {"rude", "dirty"}
            assert len(got.removed(i, option)) <= 3
    table = wf.evaluate(got.recourse, got.recourse.problem)
    assert table is not None


def test_other_methods_answer_about_texts(asked, answers):
    """Local search needs no fewer words than the optimum that sedc finds."""
    got = asked.recommend(TEXTS[:12], method="local-search")
    both = got.recourse.found[:, 0] & answers.recourse.found[:12, 0]
    assert both.any() and (got.recourse.cost[both, 0] >= answers.recourse.cost[:12][both, 0]).all()


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("lime-c", {"samples": 200}),
        ("shap-c", {"samples": 200}),
        ("shap-counterfactuals", {"reference": "removed"}),
        ("explanations-with-shap", {}),
        ("vice", {}),
    ],
)
def test_every_way_of_editing_gives_the_smallest_sets_on_a_line(asked, answers, name, more):
    """Texts of 64 columns: as few words as sedc takes, whose first set is a smallest one."""
    got = asked.recommend(TEXTS[:16], method=name, **more)
    most = {"vice": 5, "explanations-with-shap": 10}.get(name, 30)  # units that it changes
    few = answers.recourse.cost[:16, 0] <= most
    found = answers.recourse.found[:16, 0] & few
    assert found.sum() >= 3 and (got.recourse.found[:, 0] == found).all()
    np.testing.assert_array_equal(got.recourse.cost[found, 0], answers.recourse.cost[:16][found, 0])


def test_strikes_letters_and_pages_say_what_was_judged(answers, tmp_path):
    i = int(np.flatnonzero(answers.recourse.found[:, 0])[0])
    struck = answers.struck(i)
    assert all(f"[-{word}-]" in struck for word in answers.removed(i))
    assert struck.replace("[-", "").replace("-]", "") == TEXTS[i]
    assert answers.struck(i, style="html").count("<del>") == struck.count("[-")
    assert "Without" in answers.letter(i) and struck in answers.letter(i)
    assert "yes" in answers.letter(int(np.flatnonzero(answers.recourse.accepted)[0]))
    assert "Ohne" in answers.letter(i, language="de")
    page = answers.page(tmp_path / "texts.html").read_text(encoding="utf-8")
    assert answers.struck(i, style="html") in page
    with pytest.raises(DataError, match="no option"):
        answers.sentence(int(np.flatnonzero(answers.recourse.accepted)[0]))
    with pytest.raises(DataError, match="no text 60"):
        answers.removed(60)


def test_markup_in_a_text_is_shown_and_not_obeyed():
    def shout(texts):
        return np.array([0.1 if "bad" in text else 0.9 for text in texts])

    got = wf.TextProblem(shout, [], favourable=1).recommend(["<script>bad</script> \x1b[31m&"])
    assert got.removed(0) == ["bad"] and got.after(0) == "<script></script> \x1b[31m&"
    assert got.struck(0, style="html").startswith("&lt;script&gt;<del>bad</del>&lt;/script&gt;")
    assert "\x1b" not in got.struck(0, style="html")
    assert "\x1b" not in got.struck(0) and "\x1b[31m" not in got.struck(0, style="terminal")


def test_errors_say_what_to_do_and_show_nobodys_text():
    with pytest.raises(ProblemError, match="favourable"):
        wf.TextProblem(None, TEXTS)
    with pytest.raises(DataError, match="Give a list"):
        wf.TextProblem(None, "one text", favourable="good")
    with pytest.raises(ModelError, match="cannot be called"):
        wf.TextProblem(3, TEXTS, favourable="good").problem(TEXTS[0])
    with pytest.raises(ModelError, match="not fitted"):
        unfitted = make_pipeline(TfidfVectorizer(), LogisticRegression())
        wf.TextProblem(unfitted, TEXTS, favourable="good").problem(TEXTS[0])
    with pytest.raises(DataError, match="Text 1: it is a float"):
        wf.TextProblem(None, ["a", 1.5], favourable="good")
    with pytest.raises(ModelError, match="failed on a list of strings: ValueError") as told:
        wf.TextProblem(LogisticRegression().fit([[0], [1]], [0, 1]), TEXTS, favourable=1).problem(TEXTS[0])
    assert TEXTS[0][:12] not in str(told.value)


@pytest.mark.parametrize("answer", [lambda texts: ["yes"] * len(texts), lambda texts: 0.5])
def test_a_function_that_gives_no_probabilities_is_refused(answer):
    with pytest.raises(ModelError, match="The text model function"):
        wf.TextProblem(answer, [], favourable=1).recommend(["one two", "three"])


def test_what_is_asked_of_texts_is_refused_in_a_sentence(asked, answers):
    for texts in (None, 5, []):
        with pytest.raises(DataError, match="texts is"):
            asked.recommend(texts)
        with pytest.raises(DataError, match="texts is"):
            asked.rows(texts)
    for keep in (["the staff"], [5], None):  # a wish that could not be kept is none
        with pytest.raises(ProblemError, match="keep"):
            asked.recommend(TEXTS[:2], keep=keep)
    with pytest.raises(ProblemError, match="keep= and most="):
        asked.recommend(TEXTS[:2], preferences=None)
    for i in (60, 1.5):
        with pytest.raises(DataError, match=f"no text {i}"):
            answers.after(i)


def test_texts_of_all_sizes_share_a_deadline():
    clock = [0.0]  # the time that the model takes and no other

    def slow(texts):
        clock[0] += 0.01 * len(texts)
        return np.array([0.9 if text.count("w") < 3 else 0.1 for text in texts])

    texts = [" ".join(f"w{i}" for i in range(size)) for size in (5, 20, 40, 80, 160)]
    asked = wf.TextProblem(slow, [], favourable=1)
    for text in texts:
        asked.problem(text)
    clock[0] = 0.0
    with clock_of(lambda: clock[0]):
        asked.recommend(texts, deadline=2.0)
    assert clock[0] < 5.0  # one call a size is under way when time is over


def test_who_was_not_asked_about_is_told_so(asked, tmp_path):
    none = asked.recommend(TEXTS[:2], deadline=1e-9)
    assert all(outcome is wf.Outcome.NOT_ASKED for outcome in none.recourse.outcome[:, 0])
    assert "The time that was given was over" in none.letter(0) and "is no for now" not in none.letter(0)
    assert "We found no words" not in none.page(tmp_path / "none.html").read_text(encoding="utf-8")


def test_newsgroups_are_read_where_they_are():
    try:
        texts, labels = newsgroups()
    except DataError as gone:
        pytest.skip(str(gone))
    assert len(texts) == len(labels) > 1000


def test_newsgroups_that_are_not_there_say_how_to_get_them(tmp_path):
    with pytest.raises(DataError, match="fetch_20newsgroups"):
        newsgroups(home=tmp_path)
