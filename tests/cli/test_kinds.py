"""texts and series from files: what the commands say is what the problems in Python say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward.modalities.series.sets import machines
from wayforward.modalities.text.corpora import reviews


def run(*line):
    return CliRunner().invoke(app, [str(part) for part in line])


def test_texts_of_a_column_and_an_odd_cell(tmp_path):
    known, labels = reviews(80, seed=2)
    past, new = tmp_path / "past.csv", tmp_path / "new.csv"
    pd.DataFrame({"review": known, "said": labels}).to_csv(past, index=False)
    pd.DataFrame({"review": [*known[:6], None]}).to_csv(new, index=False)
    options = ("--train", past, "--text", "review", "--label", "said", "--favourable", "good")
    out, page = tmp_path / "out.json", tmp_path / "page.html"
    done = run("texts", *options, "--people", new, "--json", out, "--report", page, "--language", "de")
    assert done.exit_code == 0, done.output
    got = json.loads(out.read_text(encoding="utf-8"))
    assert got["n"] == 7 and got["answers"][6]["outcome"] == "NOT_ASKED" and got["outcomes"]["FOUND"]
    assert 'lang="de"' in page.read_text(encoding="utf-8")
    for one in got["answers"]:
        for option in one["options"]:
            assert option["removed"] and not set(option["removed"]) & set(option["after"].split())
    refused = run("texts", *options, "--json", "-", "--n", "3")
    assert json.loads(refused.stdout)["outcomes"] == {"FOUND": 3}
    assert "has no column 'what'" in run("texts", *options[:2], "--text", "what", *options[4:]).output


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--text": "stars"}, "Column 'stars' of 'past.csv' holds no texts, but such as 1. Name the column"),
        ({"--text": "sign"}, "No model can be trained on column 'sign' of 'past.csv'"),
        ({"--label": "review"}, "--text and --label both name the column 'review'. Name the column of texts"),
        ({"--label": "gap"}, "'gap' in 'past.csv' has 1 missing values, the first in row 2, from 0"),
    ],
)
def test_a_column_that_nothing_can_be_learnt_from_is_named(tmp_path, change, words):
    past = tmp_path / "past.csv"
    known, labels = reviews(20, seed=2)
    columns = {
        "review": known,
        "said": labels,
        "stars": 1,
        "sign": "+",
        "gap": [*labels[:2], None, *labels[3:]],
    }
    pd.DataFrame(columns).to_csv(past, index=False)
    options = {"--train": past, "--text": "review", "--label": "said", "--favourable": "good", **change}
    done = run("texts", *(part for pair in options.items() for part in pair))
    assert done.exit_code == 2 and words in " ".join(done.output.split())


def test_a_gap_in_one_series_stops_nobody(tmp_path):
    made = machines(40, channels=3, times=12, seed=1)
    worn = made.series[made.labels == "worn"][:3]
    for name, some, labels in (("past", made.series, made.labels), ("new", worn, ["?"] * 3)):
        lines = [":".join(",".join(map(str, channel)) for channel in one) for one in some]
        if name == "new":
            lines[1] = lines[1].replace(lines[1].split(",")[1], "?")
        told = [f"{line}:{label}" for line, label in zip(lines, labels, strict=True)]
        (tmp_path / f"{name}.ts").write_text("\n".join(["@data", *told]), encoding="utf-8")
    done = run(
        "series", "--train", tmp_path / "past.ts", "--people", tmp_path / "new.ts", "--favourable", "fine",
        "--model", "lr", "--json", "-",
    )  # fmt: skip
    answers = json.loads(done.stdout)["answers"]
    assert [one["outcome"] == "NOT_ASKED" for one in answers] == [False, True, False]
    assert "is nan at time 1, from 0" in answers[1]["reason"]


def test_series_of_a_file(tmp_path):
    made = machines(60, channels=3, times=12, seed=1)
    file = tmp_path / "machines_TRAIN.ts"
    rows = [
        ":".join(",".join(f"{v:.6f}" for v in channel) for channel in one) + f":{label}"
        for one, label in zip(made.series, made.labels, strict=True)
    ]
    head = "@problemName machines\n@univariate false\n@dimensions 3\n@equalLength true\n@seriesLength 12\n"
    file.write_text(head + "@classLabel true fine worn\n@data\n" + "\n".join(rows) + "\n", encoding="utf-8")
    out = tmp_path / "out.json"
    done = run("series", "--train", file, "--favourable", "fine", "--model", "lr", "--json", out, "--n", "4")
    assert done.exit_code == 0, done.output
    got = json.loads(out.read_text(encoding="utf-8"))
    assert got["method"] == "comte" and all(one["options"][0]["channels"] for one in got["answers"])
    assert np.all([one["outcome"] == "FOUND" for one in got["answers"]])
    assert "labels are 'fine', 'worn'" in run("series", "--train", file, "--favourable", "good").output
