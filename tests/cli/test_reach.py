"""`wayforward reach`: verdicts, certificates and shares by feature, on the screen and as numbers."""

from __future__ import annotations

import json


def test_verdicts_certificates_and_shares(shell):
    got = shell(
        "reach --train train.csv --label y --favourable 1 --schema schema.yaml --model lr --n 12 --json a.json"
    )
    numbers = json.loads((shell.folder / "a.json").read_text())
    assert numbers["people"] == sum(numbers["verdicts"].values()) == len(numbers["certificates"]) == 12
    assert numbers["verdicts"]["accepted"] == 0
    verdicts = [one["verdict"] for one in numbers["certificates"]]
    assert verdicts.count("possible") == numbers["verdicts"]["possible"]
    acting = [one for one in numbers["features"] if one["people"]]
    assert acting and all(
        0 <= one["mean_share"] <= 1 and one["responsive"] <= one["people"] for one in acting
    )
    assert all(one["feature"] in got.output for one in acting)
    assert "is recourse possible at all?" in got.output
