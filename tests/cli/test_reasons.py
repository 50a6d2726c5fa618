"""`wayforward reasons`: what keeps a no a no, on the screen and as numbers, equal to `reason_sets`."""

from __future__ import annotations

import json

import pytest


def test_reasons_of_everybody_who_is_refused(shell):
    ask = "reasons --train train.csv --label y --favourable 1 --schema schema.yaml --model gb"
    got = shell(f"{ask} --n 8 --most 2 --json a.json")
    numbers = json.loads((shell.folder / "a.json").read_text())
    assert numbers["people"] == numbers["refused"] == len(numbers["reasons_of"]) == 8
    for one in numbers["reasons_of"]:
        assert 1 <= len(one["reasons"]) <= 2 and len(one["words"]) == len(one["reasons"])
        assert one["words"][0] in " ".join(got.output.replace("\n", " ").split())
    assert numbers["exact"] == sum(one["exact"] for one in numbers["reasons_of"]) > 0
    assert "of 8 people" in got.output


def test_a_page_in_german_has_a_german_title(shell):
    pytest.importorskip("babel")
    ask = "reasons --train train.csv --label y --favourable 1 --schema schema.yaml --model lr"
    shell(f"{ask} --n 2 --most 1 --report page.html --language de")
    assert "<title>Wege nach vorn: " in (shell.folder / "page.html").read_text(encoding="utf-8")
