"""Wishes from a file at the shell: kept, weighed, and every mistake in them ends in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wayforward.preferences import Preferences
from wayforward.recourse import Recourse
from wayforward.schema import Schema

from .conftest import ASK, Shell

PEOPLE = f"{ASK} --n 6 --preferences"


def test_the_cost_for_people_stands_beside_the_unweighted_one(shell: Shell):
    shell.write(
        "wishes.csv",
        [
            {"person": i, "feature": f, "rank": r}
            for i in range(6)
            for f, r in (("income", 1), ("savings", 2))
        ],
    )
    got = shell(f"{PEOPLE} wishes.csv --out r.json --json out.json --csv r.csv --report r.html")
    summary = json.loads(Path("out.json").read_text())
    assert summary["weighted"] and summary["cost_weighted"] >= summary["cost_plain"] > 0
    assert "mean cost for them" in got.output and "hap" in summary
    answers = Recourse.load("r.json")
    assert {"cost", "plain_cost"} <= set(shell.rows("r.csv")[0])
    assert set(np.unique(answers.preferences.weight)) == {1.0, 5.5}
    shell(f"{PEOPLE} wishes.csv --profile convex --out c.json")
    assert set(np.unique(Recourse.load("c.json").preferences.weight)) == {1.0, 3.25}
    plain = shell(f"{ASK} --n 6")
    assert "mean cost for them" not in plain.output


def test_wishes_saved_as_json_are_replayed(shell: Shell):
    schema = Schema.from_yaml("schema.yaml")
    Preferences.none(schema, 6).freeze("income", "housing").save("wishes.json")
    shell(f"{PEOPLE} wishes.json --out r.json")
    got = Recourse.load("r.json")
    assert np.isnan(got.action[:, :, [1, 3]]).all() and got.preferences.frozen[:, 1].all()


def test_everything_forbidden_is_an_answer(shell: Shell):
    rows = [
        {"person": i, "feature": f, "can": "no"} for i in range(6) for f in ("income", "savings", "housing")
    ]
    shell.write("wishes.csv", rows)
    shell(f"{PEOPLE} wishes.csv --json out.json", code=1)
    assert json.loads(Path("out.json").read_text())["outcomes"]["NONE_EXISTS"] == 6


WRONG = {
    "an immutable feature": ({"feature": "age", "high": 30}, "'age' has a wish (limit), but it is immutable"),
    "a score of one": ({"feature": "age", "score": 2}, "'age' has score 2 for person 1, but it is immutable"),
    "a feature nobody has": ({"feature": "incme", "can": "no"}, "Did you mean 'income'"),
    "a level nobody has": ({"feature": "housing", "allow": "castle"}, "'housing' has no level 'castle'"),
    "an answer that is none": ({"feature": "income", "can": "perhaps"}, "'perhaps' in row 0"),
    "a limit that is none": ({"feature": "income", "high": "much"}, "limit 'much'"),
    "low above high": ({"feature": "income", "low": 5, "high": 4}, "low=5 above high=4 for person 1"),
    "a weight of zero": ({"feature": "income", "weight": 0}, "'income' has weight 0 for person 1"),
    "a score off the scale": ({"feature": "income", "score": 9}, "'income' has score 9 for person 1"),
    "a person nobody is": (
        {"person": 6, "feature": "income", "can": "no"},
        "about person 6, but there are 6",
    ),
    "a column that is none": ({"feature": "income", "hard": 2}, "column 'hard'"),
    "half a change": ({"feature": "", "max_changes": 1.5}, "max_changes is 1.5 for person 1"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_wish_ends_in_one_line(shell: Shell, name: str):
    row, words = WRONG[name]
    shell.write("wishes.csv", [{"person": 1} | row])
    got = shell(f"{PEOPLE} wishes.csv", code=2)
    assert words in got.output.replace("\n", " ") and "Traceback" not in got.output


@pytest.mark.parametrize(
    ("ranks", "words"),
    [((1, 1), "gives the same rank twice: 1 for 'income' and for 'savings'"), ((1, 3), "rank 2 is missing")],
)
def test_a_ranking_with_a_tie_or_a_gap(shell: Shell, ranks, words):
    pairs = zip(("income", "savings"), ranks, strict=True)
    shell.write("wishes.csv", [{"person": 0, "feature": f, "rank": r} for f, r in pairs])
    assert words in shell(f"{PEOPLE} wishes.csv", code=2).output.replace("\n", " ")


def test_a_file_for_other_people_or_of_another_kind(shell: Shell):
    schema = Schema.from_yaml("schema.yaml")
    Preferences.none(schema, 4).save("wishes.json")
    assert "wishes of 4 people, and 6 are asked" in shell(f"{PEOPLE} wishes.json", code=2).output
    Path("wishes.txt").write_text("income: no")
    assert "wishes are .csv" in shell(f"{PEOPLE} wishes.txt", code=2).output
    assert "cost profile 'steep'" in _steep(shell)


def _steep(shell: Shell) -> str:
    shell.write("wishes.csv", [{"person": 0, "feature": "income", "rank": 1}])
    return shell(f"{PEOPLE} wishes.csv --profile steep", code=2).output
