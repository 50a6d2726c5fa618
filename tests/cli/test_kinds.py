"""texts and series from files: what the commands say is what the problems in Python say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
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
