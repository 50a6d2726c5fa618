"""The report stands alone, is safe against hostile names, and holds every figure's numbers in a table."""

import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from wayforward import palette
from wayforward.answers import (
    figure_coverage,
    figure_options,
    figure_population,
    figures,
    letter,
    page_tables,
    report,
)
from wayforward.answers.text import why_text
from wayforward.errors import DataError
from wayforward.evaluate import evaluate
from wayforward.model import wrap
from wayforward.problem import Problem, Target
from wayforward.recourse import Outcome

HOSTILE = "<script>alert(1)</script> & \"quotes\" 'x' {{ 7 * 7 }} $\\frac{1}{2$ </style>"


class Page(HTMLParser):
    """Tags with attributes and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.stack = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture
def several(problem, answer):
    refused = problem.reference[~problem.reference_reached][:12].copy()
    accepted = problem.reference[problem.reference_reached][:2]
    people = np.concatenate([refused, accepted])
    return answer(
        problem, people, {"savings": 9000.0, "housing": 1}, {"savings": 12000.0}, {"savings": 9000.0}
    )


@pytest.fixture
def page(problem, several, tmp_path):
    got = evaluate(several, problem, groups="phone")
    path = report(problem, several, tmp_path / "report.html", got, people=4)
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_is_whole_and_asks_nobody_for_anything(page):
    assert page.all("html")[0]["lang"] == "en" and len(page.all("h1")) == 1
    assert page.all("title") and page.all("main") and page.all("nav")
    for tag in ("script", "link", "iframe", "img", "object", "embed", "form", "base", "use"):
        assert not [a for a in page.all(tag) if tag != "use" or not a["xlink:href"].startswith("#")], tag
    for _, attrs in page.tags:
        for name, value in attrs.items():
            assert not name.startswith("on"), name
            if name in ("href", "src", "xlink:href", "action", "poster", "data"):
                assert value.startswith("#"), value
            if name == "style":
                assert "url(" not in value.replace("url(#", "")


def test_facts_name_no_class_of_the_library(problem, several):
    facts = {
        row["Fact"]: row["Value"] for row in page_tables.facts(problem, several, evaluate(several, problem))
    }
    assert facts["World"] == "linked rules of the schema say what follows from an act"
    assert facts["Cost"].startswith("the sum of all changes") and facts["Model"] == "Points"
    for model in (DecisionTreeClassifier(), make_pipeline(StandardScaler(), DecisionTreeClassifier())):
        model.fit(problem.reference, problem.reference_reached)
        again = Problem(problem.schema, wrap(model, problem.schema), Target(favourable=True))
        rows = page_tables.facts(again, several, evaluate(several, problem))
        assert {"Fact": "Model", "Value": "DecisionTreeClassifier"} in rows


def test_every_figure_has_words_and_a_table_beside_it(page):
    drawings = [a for a in page.all("svg") if a.get("role") == "img"]
    assert len(drawings) == len(page.all("figure")) == len(page.all("figcaption")) >= 3
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids)), "an id stands twice"
    for drawing in drawings:
        assert all(name in ids for name in drawing["aria-labelledby"].split())
    assert len(page.all("desc")) == len(drawings)
    assert len(page.all("table")) >= len(drawings) and len(page.all("caption")) == len(page.all("table"))
    assert all(a.get("scope") in ("col", "row") for a in page.all("th"))


def test_headings_do_not_skip_a_level(page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))


def test_links_lead_somewhere(page):
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert all(a["href"][1:] in ids for a in page.all("a"))


def test_examples_are_pseudonymous_and_hold_no_whole_row(page, several):
    text = " ".join(page.words)
    assert "Person A" in text and "Person D" in text
    shown = " ".join(page.words)
    for i in range(several.n):
        exact = f"{several.x[i, 3]:.6f}"  # nobody's debt share is touched, so nobody's is shown
        assert exact not in shown


def contrast(one, two):
    """WCAG contrast ratio of two hex colours."""

    def light(colour):
        channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4) @ [
            0.2126,
            0.7152,
            0.0722,
        ]

    a, b = sorted([light(one), light(two)])
    return (b + 0.05) / (a + 0.05)


def test_colours_hold_wcag_aa():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for text in (palette.INK, palette.GREY):
        assert contrast(text, "#ffffff") >= 4.5
    for mark in (palette.BLUE, palette.ORANGE, palette.GREEN, palette.PURPLE, palette.BROWN):
        assert contrast(mark, "#ffffff") >= 4.5  # also used for small marks
    from importlib.resources import files

    css = (files("wayforward.answers") / "templates" / "_page.html.j2").read_text(encoding="utf-8")
    for colour in re.findall(r"[^-]color: (#[0-9a-f]{6})", css):
        assert contrast(colour, "#ffffff") >= 4.5, colour


def test_hostile_names_levels_and_groups_are_escaped(make_problem, make_schema, answer, tmp_path):
    schema = make_schema(savings=HOSTILE, housing=HOSTILE)
    features = tuple(
        replace(f, level_labels=(HOSTILE, "own", "x"))
        if f.name == "housing"
        else replace(f, unit="<b>EUR</b>")
        if f.name == "savings"
        else f
        for f in schema.features
    )
    schema = replace(schema, features=features)
    problem = make_problem(schema)
    refused = problem.reference[~problem.reference_reached][:6]
    recourse = answer(problem, refused, {"savings": 9000.0, "housing": 1}, {"savings": 12000.0})
    recourse = replace(recourse, method=HOSTILE)
    got = evaluate(recourse, problem, groups=[HOSTILE, "a", "b"] * 2)
    path = report(problem, recourse, tmp_path / "r.html", got, title=HOSTILE)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert not page.all("script") and not page.all("b")
    assert "<script" not in text and "alert(1)" in text
    assert "49" not in re.findall(r"quotes.{0,40}", text)[0]
    assert text.count("</style>") == 1 + text.count('<style type="text/css">')


def test_the_same_recourse_gives_the_same_bytes(problem, several, tmp_path):
    one = report(problem, several, tmp_path / "1.html", people=2).read_bytes()
    two = report(problem, several, tmp_path / "2.html", people=2).read_bytes()
    assert one == two


def test_a_report_of_nothing_is_still_a_report(problem, x, empty, tmp_path):
    path = report(problem, empty(problem, x, Outcome.NOT_FOUND), tmp_path / "r.html")
    text = path.read_text(encoding="utf-8")
    assert "Nobody has a plan." in text and "may still be one" in text
    yes = x.copy()
    yes[0, 1] = 9000
    report(problem, empty(problem, yes, Outcome.ACCEPTED), tmp_path / "r2.html")


def test_examples_give_the_principal_reasons(problem, several, tmp_path):
    """The same as the letter: each of them enough on its own, and a part of what the plans change."""
    text = report(problem, several, tmp_path / "r.html", people=[0]).read_text(encoding="utf-8")
    lead, listed, note = why_text(problem, several.rounded, 0)
    assert 1 < len(listed) <= 4 and lead in text and note in text
    for reason in listed:
        assert f"<li>{escape(reason)}</li>" in text and f"- {reason}" in letter(problem, several, 0)
    assert any("savings: " in reason.lower() for reason in listed)
    yes = report(problem, several, tmp_path / "r.html", people=[12]).read_text(encoding="utf-8")
    assert several.accepted[12] and "Why it was a no" not in yes


def test_examples_can_be_chosen_and_are_checked(problem, several, tmp_path):
    text = report(problem, several, tmp_path / "r.html", people=[0, 1]).read_text(encoding="utf-8")
    assert "Person B" in text and "Person C" not in text
    with pytest.raises(DataError, match="no person 99; people are numbered 0 to"):
        report(problem, several, tmp_path / "r.html", people=[99])
    assert "Person A" not in report(problem, several, tmp_path / "r.html", people=0).read_text(
        encoding="utf-8"
    )


# -- figures -----------------------------------------------------------------------------------------------


def drawn(figure):
    return [t.get_text() for ax in figure.axes for t in [*ax.texts, ax.title, ax._left_title]]


def test_the_options_figure_says_every_change_in_words(problem, x, answer):
    figure = figure_options(answer(problem, x, {"savings": 2500.0}, {"housing": 1}), 0, problem)
    text = drawn(figure)
    assert "1,200 \u2192 2,500 EUR" in text and "rent \u2192 own" in text and "1,200 EUR, same" in text
    assert "Option 1: 2 changes" in text
    with pytest.raises(DataError, match="no option to draw"):
        yes = x.copy()
        yes[0, 1] = 9000
        figure_options(answer(problem, yes, {"savings": 2500.0}), 0)


def test_figures_save_to_every_format(problem, several, tmp_path):
    got = evaluate(several, problem, groups="phone")
    for name, figure in {
        "p": figure_population(several, got),
        "q": figure_population(several),
        "c": figure_coverage({"one": got, "two": got}),
    }.items():
        for ending in ("png", "svg", "pdf"):
            path = tmp_path / f"{name}.{ending}"
            figure.savefig(path)
            assert path.stat().st_size > 1000


def test_a_missing_value_and_a_name_like_a_formula_can_be_drawn(make_problem, make_schema, answer, x):
    problem = make_problem(make_schema(savings="$x_{1", housing="a\\b%^&"))
    figure = figure_options(answer(problem, x, {"savings": 2500.0}, {"housing": 1}), 0)
    assert "<svg" in figures.svg(figure, "n", "t", "d")


def test_drawing_leaves_the_callers_settings_alone(problem, x, answer):
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure_options(answer(problem, x, {"savings": 2500.0}), 0)
    assert dict(matplotlib.rcParams) == before


def test_personal_limits_and_costs_stand_on_the_page(problem, tmp_path):
    import wayforward as wf
    from wayforward.preferences import Preferences

    refused = problem.reference[~problem.reference_reached][:6]
    wish = Preferences.none(problem.schema, 6).freeze("housing").weigh(savings=3.0)
    got = wf.recommend(problem, refused, k=2, preferences=wish)
    text = report(problem, got, tmp_path / "r.html", people=2).read_text(encoding="utf-8")
    assert "You cannot change your housing." in text and "What Person A told us." in text
    assert "cost for you" in text and "without your own weights" in text
    assert "Cost, with each person&#39;s own weights" in text
    plain = report(problem, wf.recommend(problem, refused), tmp_path / "p.html", people=2)
    assert "own weights" not in plain.read_text(encoding="utf-8")
