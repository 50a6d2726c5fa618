"""`wayforward attack`: findings on the screen, the page and the numbers; `recommend --crowd`."""

from __future__ import annotations

import json

TABLES = "--train train.csv --label y --favourable 1 --schema schema.yaml --model lr"


def test_numbers_page_and_findings(shell):
    got = shell(
        f"attack {TABLES} --people train.csv --n 30 --queries 15 --seeds 1 --crowd 3 --grid 0.1 --json a.json "
        "--html a.html"
    )
    numbers = json.loads((shell.folder / "a.json").read_text())
    assert [one["name"] for one in numbers["exposures"]] == ["without a defence", "this defence"]
    assert "held by 3 people" in numbers["exposures"][1]["keeps"]
    assert {one["queries"] for one in numbers["exposures"][0]["extraction"]} == {15}
    assert "refused people get an option" in got.output
    assert (shell.folder / "a.html").read_text().count("<svg") == 4


def test_people_whom_the_model_has_not_seen_are_needed(shell):
    got = shell(f"attack {TABLES} --no-defences", code=2)
    assert "--people" in got.output


def test_recommend_keeps_to_a_crowd(shell):
    shell(f"recommend {TABLES} --n 12 --crowd 4 --grid 0.1 --out a.json --json b.json")
    assert json.loads((shell.folder / "b.json").read_text())
    told = (shell.folder / "a.json").read_text()
    assert "each value held by 4 people or more" in told


def test_private_starts_are_drawn_by_a_secret_that_is_kept(shell):
    """The same secret: the same answers, so that nothing is spent again. Another one, or none: told."""
    ask = f"recommend {TABLES} --n 12 --method nearest-observable --epsilon 2"
    told = shell(ask, code=2)
    assert "--noise-key" in told.output
    for name, key in (("a", "one.key"), ("b", "one.key"), ("c", "two.key")):
        shell(f"{ask} --noise-key {key} --csv {name}.csv")
    a, b, c = ((shell.folder / f"{name}.csv").read_text() for name in "abc")
    assert a == b != c
    assert (shell.folder / "one.key").stat().st_mode & 0o077 == 0
    (shell.folder / "bad.key").write_text("secret")
    assert "holds no secret" in shell(f"{ask} --noise-key bad.key", code=2).output
    told = shell(f"recommend {TABLES} --n 12 --beyond 0.2", code=2)
    assert "--beyond draws noise by a secret" in told.output
    shell(f"recommend {TABLES} --n 12 --beyond 0.2 --noise-key one.key --out d.json")
    shell("evaluate d.json")
    (shell.folder / "one.key").rename(shell.folder / "away")
    assert "'one.key' (--noise-key), which is not there" in shell("evaluate d.json", code=2).output
    (shell.folder / "away").rename(shell.folder / "one.key")
    assert "no budget of privacy" in shell(f"{ask} --noise-key one.key --epsilon -1", code=2).output


def test_private_starts_are_a_defence_and_people_bring_labels_for_shadow_models(shell):
    shell(
        f"attack {TABLES} --people train.csv --n 20 --queries 10 --seeds 1 --shadows 2 --method nearest-observable "
        "--json a.json"
    )
    found = json.loads((shell.folder / "a.json").read_text())
    assert "private starts" in [one["name"] for one in found["exposures"]]
    assert "private with epsilon 1" in found["exposures"][-1]["keeps"]
    assert {one["score"] for one in found["exposures"][0]["shadows"]} == {"distance", "surprise"}
    told = shell(f"attack {TABLES} --people people.csv --n 20 --queries 10 --seeds 1 --shadows 2", code=2)
    assert "has the column of --label" in told.output or "at least 20 of each" in told.output
