"""The harnesses that look for people left over and time one person: they see what they are for; pages say it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import nobody_left, sections, special_codes, speed
from wayforward import method
from wayforward.recourse import Outcome


@pytest.fixture(scope="module")
def coded():
    """A small problem with special codes, and some whom its model refuses."""
    problem, people = special_codes.problem("lr", rows=900)
    return problem, people[:6]


class Spoilt:
    """local-search whose answers are made worse on the way out."""

    def __init__(self, problem, spoil):
        self.inner, self.spoil = method("local-search").fit(problem), spoil

    def recommend(self, people, k, **more):
        return self.spoil(self.inner.recommend(people, k, **more))


def lost(got, name="NOT_FOUND"):
    outcome = got.outcome.copy()
    outcome[::2] = Outcome[name]
    action, after = got.action.copy(), got.after.copy()
    action[::2] = after[::2] = np.nan
    return replace(got, outcome=outcome, action=action, after=after)


def with_lead(monkeypatch, spoil):
    plain = nobody_left.fitted_method

    def fitted(problem, name, settings):
        return Spoilt(problem, spoil) if name == nobody_left.LEAD else plain(problem, name, settings)

    monkeypatch.setattr(nobody_left, "fitted_method", fitted)


FEW = (("nearest-observable", {}, 1, None), ("no-such-method", {}, 1, None))


def test_special_codes_look_like_a_bureau():
    x, y, names = special_codes.applicants(4000)
    assert x.shape == (4000, 23) == (len(y), len(names))
    assert np.mean((x == -9).all(1)) == pytest.approx(0.06, abs=0.02)
    assert (x == -7).any() and (x == -8).any() and not ((x < 0) & (x > -7)).any()
    known = (x[:, 0] > 0) & (x[:, 15] >= 0)
    assert np.corrcoef(x[known, 0], y[known])[0, 1] > 0.2 > -0.1 > np.corrcoef(x[known, 15], y[known])[0, 1]
    again = special_codes.applicants(4000)[0]
    np.testing.assert_array_equal(x, again)


def test_nobody_is_missed_where_the_search_finds_all(coded):
    problem, people = coded
    got = nobody_left.left_over(problem, people, FEW)
    assert got["outcomes"] == {"FOUND": len(people)} and got["missed"] == 0
    assert got["usable of those not proved"] == 1.0 and got["found and not usable"] == 0


def test_people_left_over_are_seen(coded, monkeypatch):
    problem, people = coded
    with_lead(monkeypatch, lost)
    got = nobody_left.left_over(problem, people, FEW)
    assert got["missed"] == 3 == got["found by"]["nearest-observable"]
    assert got["nobody finds or proves"] == 0
    assert got["usable of those not proved"] == got["usable of those for whom a way is known"] == 0.5


def test_a_false_proof_is_seen(coded, monkeypatch):
    problem, people = coded
    with_lead(monkeypatch, lambda got: lost(got, "NONE_EXISTS"))
    got = nobody_left.left_over(problem, people, FEW)
    assert got["false proofs"] >= 3 and got["outcomes"]["NONE_EXISTS"] == 3


def test_costs_are_held_against_the_best_and_against_what_was(coded, monkeypatch):
    problem, people = coded
    best = (("nearest-observable", {}, 1),)
    got, mine = nobody_left.cost_to_best(problem, people, best)
    assert got["over the best"] == pytest.approx(0, abs=1e-12) and got["dearer"] == 0
    with_lead(monkeypatch, lambda answer: replace(answer, cost=answer.cost * 1e3))
    worse, _ = nobody_left.cost_to_best(problem, people, best, old=mine)
    assert worse["dearer"] == worse["as stored"]["dearer"] == len(people)
    assert worse["as stored"]["mean ratio"] == pytest.approx(1e3)
    assert worse["best is from"]["nearest-observable"] + worse["best is from"]["as stored"] >= len(people)


def test_one_person_is_split_into_model_and_rest(coded):
    problem, people = coded
    native = problem.model.native

    def slow(rows):
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass
        return native(rows)

    problem.model.native = slow
    try:
        got = speed.one_person(problem, people[:2], people[3:4])
    finally:
        del problem.model.native
    one = got["k=1"]
    assert one["native ms"] > 10 * one["native calls"] * 0.9
    assert one["native ms"] + one["rest ms"] == pytest.approx(one["ms"])
    assert 0 < got["bulk"]["native share"] <= 1
    assert problem.model.native(people)[1].shape == (len(people),)  # what was watched is as it was


def test_ratios_are_of_neighbours_in_time(monkeypatch, tmp_path, coded):
    problem, people = coded

    class Cell:
        n, warm = 3, coded[1][:1]

        def people(self, n):
            return people[:n]

    Cell.problem = problem
    calls = iter(range(100))
    monkeypatch.setattr(speed, "one_call", lambda *a: 2.0)
    monkeypatch.setattr(speed, "one_by_one", lambda *a: np.array([4.0, 4.0]))

    def peer(python, asked, exchange, out):
        assert asked.options["model"] == "array" and asked.n == 3
        seconds = 0.3 * (1 + next(calls))
        return {
            "n": 3, "generate_seconds": seconds, "model_seconds": seconds / 4, "versions": {},
            "agreement": {"decisions_differ": 0},
        }  # fmt: skip

    monkeypatch.setattr(speed, "run_peer", peer)
    settings = argparse.Namespace(people=3, repeats=3, peer_seconds=1.0)
    got = speed.beside(Cell(), "nicex", "array", tmp_path, Path("python"), settings)
    assert got["ratio, one call"] == pytest.approx([50, 100, 150])
    assert got["ratio, one by one"] == pytest.approx([25, 50, 75])
    cells = {
        "german-lr": {"source": "older", "when": "2026-01-01", "people": 3, "peers": {"nicex array": got}}
    }
    text = sections.both_ways(cells)
    assert (
        "| german lr | nicex array | 3 | 200.00 | 25% | 2.000 | 100 (50 to 150) | 4.00 | 50 (25 to 75) |"
        in text
    )


def test_pages_say_what_was_measured_and_how_old_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "source_digest", lambda: "now")
    cell = {
        "source": "now", "when": "2026-01-02", "people": 10, "outcomes": {"FOUND": 7, "NONE_EXISTS": 1, "NOT_FOUND": 2},
        "missed": 1, "usable of those not proved": 7 / 9, "false proofs": 0, "seconds": 0.05,
        "cost": {"over the best": 0.0125, "dearer": 2, "compared": 7},
    }  # fmt: skip
    (tmp_path / "nobody_left.json").write_text(json.dumps({"adult-rf": cell}))
    text = sections.sections(tmp_path)
    assert "| adult rf | 10 | 1 | 2 | 1 | 0.7778 | +1.25% | 2 of 7 | 5.00 |" in text
    assert "has changed since" not in text
    (tmp_path / "nobody_left.json").write_text(json.dumps({"adult-rf": cell | {"source": "older"}}))
    assert "has changed since" in sections.sections(tmp_path)


def test_the_command_keeps_finished_cells(tmp_path, monkeypatch, capsys, coded):
    problem, people = coded
    monkeypatch.setattr(nobody_left, "CACHE", tmp_path)
    monkeypatch.setattr(nobody_left, "OTHERS", FEW)
    asked = []
    monkeypatch.setattr(
        nobody_left, "problem_of", lambda data, model: asked.append(data) or (problem, people)
    )
    out = tmp_path / "out.json"
    for _ in range(2):
        nobody_left.main(
            ["--data", "german", "--models", "lr", "--people", "2", "--sample", "0", "--out", str(out)]
        )
    assert asked == ["german"] and json.loads(out.read_text())["german-lr"]["people"] == 2
    assert "german-lr" in capsys.readouterr().out
