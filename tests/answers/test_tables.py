"""Tables: options side by side, plans in rows, and a CSV that a spreadsheet can open safely."""

import csv

import numpy as np

from wayforward.answers import features_asked, options_table, plans_table, write_csv


def test_options_side_by_side_show_only_what_moves(problem, x, answer):
    recourse = answer(problem, x, {"savings": 2500.0}, {"housing": 1})
    table = options_table(recourse, 0)
    assert [row["feature"] for row in table] == ["Savings", "housing", "rating"]
    assert table[0] == {
        "feature": "Savings",
        "now": "1,200 EUR",
        "option 1": "2,500 EUR (up)",
        "option 2": "same",
    }
    assert table[1]["option 2"] == "own (changed)"
    assert table[2]["option 1"] == "42.6 points (follows)"
    assert len(options_table(recourse, 0, changed_only=False)) == problem.schema.d


def test_everybody_keeps_a_row(problem, x, answer):
    yes = x.copy()
    yes[0, 1] = 9000
    recourse = answer(problem, np.concatenate([x, yes]), {"savings": 2500.0}, {"savings": 10.0})
    rows = plans_table(recourse)
    assert [(r["person"], r["option"], r["outcome"]) for r in rows] == [(0, 1, "FOUND"), (1, 1, "ACCEPTED")]
    assert rows[0]["plan"].startswith("Raise your savings") and "rating" in rows[0]["plan"]


def test_csv_holds_no_formula_and_nothing_that_only_a_terminal_obeys(tmp_path):
    rows = [
        {"a": "\x1b=1+1", "b": 2.0, "c": np.inf},
        {"a": "-x", "b": float("nan"), "c": "fi\x1b\x08\u202ene"},
    ]
    path = write_csv(rows, tmp_path / "t.csv")
    with path.open(encoding="utf-8") as file:
        got = list(csv.reader(file))
    assert got == [["a", "b", "c"], ["'=1+1", "2.0", ""], ["'-x", "", "fine"]]


def test_features_asked_counts_first_options_and_directions(problem, x, answer):
    people = np.repeat(x, 3, axis=0)
    people[2, 1] = 9000  # accepted
    recourse = answer(problem, people, {"savings": 2500.0}, {"housing": 1})
    rows = features_asked(recourse)
    assert rows[0] == {"feature": "Savings", "asked": 2, "share": 1.0, "up": 2, "down": 0}
    assert len(rows) == 1
