"""A schema's words in other languages: which are used, kept in files, and refused."""

from __future__ import annotations

import pytest

from wayforward.answers import words
from wayforward.errors import SchemaError
from wayforward.language import use_language
from wayforward.schema import Feature, Schema

TRANSLATED = {
    "features": [
        {
            "name": "children",
            "kind": "integer",
            "low": 0,
            "high": 9,
            "unit": "children",
            "description": "Those who live with you.",
            "special": {-7: "not asked"},
            "translations": {
                "de": {
                    "label": "Kinder im Haushalt",
                    "unit": ["Kind", "Kinder"],
                    "special": {-7: "nicht gefragt"},
                    "description": "Die bei Ihnen leben.",
                }
            },
        },
        {
            "name": "housing",
            "kind": "categorical",
            "levels": ["rent", "own"],
            "translations": {"de": {"level_labels": ["zur Miete", "Eigentum"]}},
        },
        {"name": "opened", "kind": "carried", "translations": {"de": {"label": "Konto seit"}}},
    ],
    "rules": [],
}


def test_words_are_those_of_the_language_in_use_and_files_keep_them_all(tmp_path):
    pytest.importorskip("babel")
    schema = Schema.from_dict(TRANSLATED)
    schema.to_yaml(tmp_path / "schema.yaml")
    for code in ("en", "de"):
        with use_language(code):
            assert Schema.from_yaml(tmp_path / "schema.yaml") == schema
            assert (
                schema.to_dict()["features"][0]["translations"] == (TRANSLATED["features"][0]["translations"])
            )
    children, housing, opened = schema.features
    shown = [words.value_text(children, v) for v in (1, 2, -7)]
    assert (*shown, words.value_text(housing, 1)) == ("1 children", "2 children", "not asked", "own")
    assert (words.label(children), children.text_description) == ("children", "Those who live with you.")
    with use_language("de"):
        shown = [words.value_text(children, v) for v in (1, 2, -7)]
        assert (*shown, words.value_text(housing, 1)) == ("1 Kind", "2 Kinder", "nicht gefragt", "Eigentum")
        assert (words.label(children), children.text_description) == (
            "\u201eKinder im Haushalt\u201c",
            "Die bei Ihnen leben.",
        )
        assert (words.label(housing), housing.level_text(0)) == ("\u201ehousing\u201c", "zur Miete")
        assert opened.text_label == "Konto seit"


@pytest.mark.parametrize(
    ("unit", "one", "more"),
    [
        ("years", "1 Jahr", "2 Jahre"),
        ("EUR/month", "1 EUR/Monat", "2 EUR/Monat"),
        ("hours/week", "1 Stunde/Woche", "2 Stunden/Woche"),
        ("zebras", "1 zebra", "2 zebras"),
    ],
)
def test_units_that_everybody_knows_need_no_translation(unit, one, more):
    pytest.importorskip("babel")
    with use_language("de"):
        assert (words.in_unit("1", unit, 1.0), words.in_unit("2", unit, 2.0)) == (one, more)


@pytest.mark.parametrize(
    ("translations", "message"),
    [
        ({"xx": {}}, "housing.*'xx'.*no such language"),
        ({"de": {"labl": "Wohnen"}}, "housing.*labl.*Did you mean 'label'"),
        ({"de": {"level_labels": ["Miete"]}}, "housing.*1 level_labels for 2 levels"),
        (
            {"de": {"unit": ["a", "b", "c"]}},
            r"housing.*'de', has unit=\['a', 'b', 'c'\]. Give one text, or two",
        ),
        ({"de": {"unit": ["a"]}}, r"housing.*'de', has unit=\['a'\]. Give one text, or two"),
        ({"de": {"unit": [1, 2]}}, r"housing.*'de', has unit=\[1, 2\].*\[Kind, Kinder\]"),
        ({"de": {"unit": ["Kind", " "]}}, r"housing.*'de', has unit=\['Kind', ' '\]"),
        ({"de": {"unit": 3}}, "housing.*'de', has unit=3. Give one text"),
        ({"de": {"unit": None}}, "housing.*'de', has unit=None"),
        ({"de": {"unit": {"one": "Kind"}}}, r"housing.*'de', has unit=\{'one': 'Kind'\}"),
        ({"de": {"special": {-1: "nie"}}}, "housing.*-1, which is no special value"),
        ({"de": "Wohnen"}, "housing.*de"),
    ],
)
def test_translations_that_do_not_fit_are_refused(translations, message):
    data = {"features": [TRANSLATED["features"][1] | {"translations": translations}]}
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict(data)
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict(TRANSLATED).revise(housing={"translations": translations})


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (["exam", "exams"], r"has unit=\['exam', 'exams'\].*translations: \{en: \{unit: \[exam, exams\]\}\}"),
        (3, r"has unit=3. Give one text, .* such as 'years'.*\[child, children\]"),
        (None, "has unit=None. Give one text"),
    ],
)
def test_a_unit_that_is_no_text_is_refused_with_the_next_step(unit, message):
    entry = {"name": "exams", "kind": "integer", "low": 0, "high": 20, "unit": unit}
    with pytest.raises(SchemaError, match=f"^'exams' {message}"):
        Feature(**entry)
    with pytest.raises(SchemaError, match=f"^In the schema, 'exams' {message}"):
        Schema.from_dict({"features": [entry]})


def test_one_and_several_in_the_language_of_the_schema():
    """As the error about a unit advises."""
    words_ = {"en": {"unit": ["child", "children"]}}
    one = Feature(name="children", kind="integer", low=0, high=9, unit="children", translations=words_)
    assert (one.unit_of(1), one.unit_of(2)) == ("child", "children")


@pytest.mark.parametrize("special", [["never"], "never", {"never": -7}, 7])
def test_special_values_without_their_numbers_are_refused_in_words(special):
    words = {"de": {"special": special}}
    with pytest.raises(SchemaError, match=r"'late', translated to 'de', has special=.*\{-7: 'never'\}"):
        Feature(name="late", kind="integer", special={-7: "never"}, low=0, high=9, translations=words)
    with pytest.raises(SchemaError, match="'late' has special="):
        Feature(name="late", kind="integer", low=0, high=9, special=special)


def test_every_special_value_is_translated_or_none():
    schema = Schema.from_dict(TRANSLATED)
    with pytest.raises(SchemaError, match="'children'.*no words for -8"):
        schema.revise(children={"special": {-7: "not asked", -8: "no such event"}})
