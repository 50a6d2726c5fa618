"""`wayforward audit`: a page and numbers for any table, groups of features and of other columns, errors in words."""

from __future__ import annotations

import json

import numpy as np
import pytest

ASK = "audit --train train.csv --label y --favourable 1 --schema schema.yaml --model lr --second none --retrained 0"
ASK += " --summary none"


def test_a_page_and_numbers(shell):
    got = shell(
        f"{ASK} --group age --cut 40 --cut 65 --group housing --html a.html --json a.json --csv a.csv"
    )
    numbers = json.loads((shell.folder / "a.json").read_text())
    page = (shell.folder / "a.html").read_text()
    assert [one["name"] for one in numbers["attributes"]] == ["age", "housing", "age and housing"]
    assert [g["group"] for g in numbers["attributes"][0]["groups"]] == [
        "below 40",
        "40 to 65",
        "65 and above",
    ]
    assert numbers["n"] == 200 and numbers["answered"] == numbers["refused"] > 50
    assert "By age" in page and "By housing" in page and "<script" not in page
    whole, *rows = shell.rows("a.csv")
    assert whole["group"] == "everybody" and int(whole["plans"]) > 0 and int(whole["cheapest"]) > 0
    assert {row["attribute"] for row in rows} >= {"age", "housing"}
    assert "these people trained the model" in got.output and "written: a.html" in got.output


def test_other_people_and_a_column_that_the_model_does_not_see(shell):
    rows = shell.rows("people.csv")
    for i, row in enumerate(rows):
        row["region"] = ["east", "west"][i % 2] if i else ""
    shell.write("people.csv", rows)
    got = shell(f"{ASK} --people people.csv --group region --json -")
    numbers = json.loads(got.output[got.output.index('{\n  "format"') : got.output.rindex("}") + 1])
    one = numbers["attributes"][0]
    assert (one["seen_by_the_model"], one["without_a_label"], numbers["n"]) == (False, 0, 59)
    assert "1 person without a label" in got.output  # everybody less the two groups would tell of them
    assert "does not see" in one["twins"]["why_not"]


def test_rules_for_many_side_by_side(shell):
    ask = ASK.removesuffix(" --summary none")
    got = shell(f"{ask} --group housing --summary globe-ce --summary tree --html a.html --json a.json")
    numbers = json.loads((shell.folder / "a.json").read_text())
    page = (shell.folder / "a.html").read_text()
    assert [one["name"] for one in numbers["summaries"]] == ["globe-ce", "tree"]
    assert all(one["told_of"] + one["learnt_from"] == numbers["answered"] for one in numbers["summaries"])
    assert (
        "Rules for many" in page
        and "rules for many: tree" in got.output
        and "had no say in them" in got.output
    )
    shell(f"{ASK} --group housing --json b.json")
    assert json.loads((shell.folder / "b.json").read_text())["summaries"] == []


def test_models_trained_again(shell):
    shell(f"{ASK.replace('--retrained 0', '--retrained 2')} --group housing --n 30 --json a.json")
    lasting = json.loads((shell.folder / "a.json").read_text())["robustness"]
    assert lasting["models"] == 2 and lasting["groups"][0]["group"] == "everybody"
    held = lasting["groups"][0]["yes_of_retrained_models"]
    assert 0 <= held["low"] <= held["value"] <= held["high"] <= 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", "no feature as sensitive"),
        ("--group hosing", "Did you mean 'housing'?"),
        ("--group housing --cut 3", "--cut 3 cuts a quantity"),
        ("--group age --group income --cut 3", "age, income"),
        ("--group age --cut age:old", "is no number"),
        ("--group age --cut income:3", "not among the groups"),
        ("--group age --cut nan", "--cut nan is no finite number"),
        ("--group age --cut 1e308", "no finite number, or too large"),
        ("--group age --cut 300", "everybody is on one side"),
        ("--group housing --cut housing:0.5", "'housing' has levels, which are its groups; leave --cut out"),
        ("--group housing --language fr", "fr"),
        ("--group housing --correction none", "benjamini-hochberg"),
        ("--group housing --group housing", "twice"),
        ("--group housing --html page.txt", ".html"),
        ("--group housing --summary tree", "--summary none leaves rules out"),
    ],
)
def test_bad_options_are_one_line(shell, more, told):
    got = shell(f"{ASK} --method nearest-observable {more}", code=2)
    assert told in got.output and "Traceback" not in got.output


def test_an_unknown_way_to_make_rules(shell):
    got = shell(f"{ASK.removesuffix('none')}globe --group housing", code=2)
    assert "Did you mean 'globe-ce'?" in got.output


def test_a_quantity_is_cut_near_its_thirds_and_says_so(shell):
    from wayforward.cli.audit import _thirds

    got = shell(f"{ASK} --group age --method nearest-observable --n 40 --json a.json")
    assert "'age' is a quantity; cut at" in got.output
    sizes = [
        g["people"] for g in json.loads((shell.folder / "a.json").read_text())["attributes"][0]["groups"]
    ]
    assert len(sizes) == 3 and min(sizes) > 30
    for values in (np.arange(100.0), np.random.default_rng(0).normal(0, 1e-3, 500), np.full(20, 7.0)):
        assert _thirds("x", values) == sorted(_thirds("x", values))


def test_nobody_with_a_plan_ends_with_one(shell):
    schema = (shell.folder / "schema.yaml").read_text()
    frozen = schema.replace(", unit: EUR/month, direction: increase}", ", actionability: immutable}")
    frozen = frozen.replace("unit: EUR}", "actionability: immutable}").replace(
        "levels: [rent, own, free]}", "levels: [rent, own, free], actionability: immutable}"
    )
    (shell.folder / "schema.yaml").write_text(frozen.split("rules:")[0])
    got = shell(f"{ASK} --group housing --html a.html", code=1)
    assert "proved that nothing" in got.output and (shell.folder / "a.html").is_file()


def test_where_nobody_may_act_the_set_that_lets_them_is_named(shell, monkeypatch):
    import wayforward.data as data
    from wayforward.data import load

    loan = load("loan").take(np.arange(400))
    fixed = {f.name: {"actionability": "immutable", "direction": "any"} for f in loan.schema.features}
    from dataclasses import replace

    monkeypatch.setattr(data, "load", lambda name: replace(loan, schema=loan.schema.revise(**fixed)))
    ask = "audit --data loan --model lr --group gender --second none --retrained 0 --summary none"
    got = shell(f"{ask} --html a.html", code=1)
    assert got.output.count("--data loan:benchmark") == 2
    assert "--data loan:benchmark" in (shell.folder / "a.html").read_text()


def test_another_set_of_who_can_change_what(shell):
    for command in ("audit --group gender --second none --retrained 0 --summary none", "recommend"):
        got = shell(f"{command} --data loan:benchmark --model lr --n 20 --json a.json")
        assert "nobody can act" not in got.output
    got = shell("recommend --data loan:nonsense --model lr", code=2)
    assert "actionability sets:" in got.output and "benchmark" in got.output


def test_the_page_says_what_a_yes_means_and_how_good_the_model_is(shell):
    from wayforward.cli.audit import _is_rare, _quality

    ask = "audit --model lr --group gender --n 20 --second none --retrained 0 --summary none"
    shell(f"{ask} --data loan --html a.html --json a.json")
    page, q = (
        (shell.folder / "a.html").read_text(),
        json.loads((shell.folder / "a.json").read_text())["meta"]["quality"],
    )
    assert "logistic regression (lr)" in page and "which stands for: " in page
    assert 0.5 < q["balanced_accuracy"] <= 1 and "balanced accuracy" in page and "Euclidean" in page
    assert "5\u202f% of a feature" in page or "5 % of a feature" in page
    yes, truth = np.array([1, 1, 1, 0] * 2, bool), np.array([1, 1, 0, 0] * 2, bool)
    of_two = _quality(yes[:4], truth[:4])  # how two people's label fits is not told
    assert of_two["accepts_of_favourable"] is of_two["refuses_of_others"] is None
    got = _quality(yes, truth)
    assert (got["accuracy"], got["accepts_of_favourable"], got["refuses_of_others"]) == (0.75, 1.0, 0.5)
    assert got["balanced_accuracy"] == 0.75
    assert _is_rare(np.arange(100) < 14) and not _is_rare(np.arange(100) < 16)


def test_honesty_is_part_of_the_page_and_of_the_numbers(shell):
    """Offers of local-search before a linear model are the cheapest, and the page says what misreports gain."""
    shell(
        "audit --train train.csv --label y --favourable 1 --schema schema.yaml --model lr --people train.csv "
        "--group housing --n 30 --second none --retrained 1 --summary none --honesty 20 --json a.json --html a.html"
    )
    found = json.loads((shell.folder / "a.json").read_text())["meta"]["honesty"]
    assert found["offers"]["people"] == 20
    assert found["offers"]["cheaper"]["value"] < 0.1
    assert {one["feature"] for one in found["misreports"]} == {"age", "income", "savings", "housing"}
    page = (shell.folder / "a.html").read_text()
    assert "Are the offers honest" in page and "Any misreport" in page
