"""The harness of lattices: its brute force agrees with the judge, and it catches answers that are wrong."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lattices.cases import WORLDS, make_lattice
from benchmarks.lattices.measure import measure
from benchmarks.lattices.models import FAMILIES, make_lot
from benchmarks.lattices.run import main, summarise
from benchmarks.lattices.truth import allowed, consequences, cost, decided, every_action, least, truth_of

from wayforward import method
from wayforward.recourse import Outcome

LOTS = [FAMILIES.index(name) for name in ("lr", "rf", "opaque", "linear-regression")]


def cases(lots, each):
    made = [make_lattice(1000 * lot + at, make_lot(lot)) for lot in lots for at in range(each)]
    return [case for case in made if case is not None]


@pytest.fixture(scope="module")
def some():
    return cases(LOTS, 8)


def test_brute_force_says_what_the_judge_says(some):
    assert {case.tags["world"] for case in some} == set(WORLDS)
    assert any(case.rules for case in some) and any(case.wishes is not None for case in some)
    seen = 0
    for case in some:
        people = case.problem.population(case.people, case.wishes)
        for i, x in enumerate(case.people):
            action = every_action(case, i)
            before, who = np.broadcast_to(x, action.shape), np.full(len(action), i)
            after = consequences(case, before, action)
            np.testing.assert_array_equal(after, case.problem.consequences(before, action))
            ok = allowed(case, i, before, action, after)
            judged = case.problem.judge_rows(people, who, action, after)
            np.testing.assert_array_equal(ok, judged["legal"] & judged["rules"] & judged["wishes"])
            yes = case.problem.reached(after[ok])[0]
            sure, maybe = decided(case, after[ok])
            assert (sure <= yes).all() and (yes <= maybe).all()
            weight = None if case.wishes is None else np.broadcast_to(case.wishes.weight[i], action.shape)
            np.testing.assert_allclose(
                cost(case, before, action, weight),
                case.problem.cost.total(before, action, weight),
                atol=1e-12,
            )
            seen += int(ok.sum())
    assert seen > 1000


def test_what_asks_for_less_is_what_a_loop_says(some):
    case = max((c for c in some if not c.schema.missing.any()), key=lambda c: len(truth_of(c, 0).action))
    found, x = truth_of(case, 0), case.people[0]
    categorical = case.schema.is_categorical

    def more(a, b):
        """Whether a does all that b does, and is not b."""
        for j in range(len(x)):
            if np.isnan(b[j]):
                continue
            if np.isnan(a[j]):
                return False
            if categorical[j]:
                if a[j] != b[j]:
                    return False
            elif np.sign(a[j] - x[j]) != np.sign(b[j] - x[j]) or abs(a[j] - x[j]) < abs(b[j] - x[j]):
                return False
        return not np.array_equal(a, b, equal_nan=True)

    few = found.action[:80]
    found = replace(found, action=few, after=found.after[:80], cost=found.cost[:80], sure=found.sure[:80])
    want = [not any(more(a, b) for b in few) for a in few]
    assert least(case, 0, found).tolist() == want
    assert 0 < sum(want) < len(want)


class Altered:
    """A method whose answers are changed on the way out."""

    def __init__(self, change):
        self.inner, self.change = method("local-search"), change

    def fit(self, problem):
        self.inner.fit(problem)

    def recommend(self, x, k, **more):
        return self.change(self.inner.recommend(x, k, **more))


@pytest.fixture(scope="module")
def good(some):
    """The smallest case of two people or more, all of whom have a way."""
    able = [
        case
        for case in some
        if case.tags["cost"] == "l1"
        and len(case.people) > 1
        and all(truth_of(case, i).exists for i in range(len(case.people)))
    ]
    return min(able, key=lambda case: len(every_action(case, 0)))


def outcomes(got, name):
    return replace(got, outcome=np.where(got.found, Outcome[name], got.outcome))


def to_where_they_are(got):
    after = np.where(got.found[..., None], got.x[:, None, :], got.after)
    return replace(got, after=after)


def cheaper_with_three(got):
    return replace(got, cost=got.cost * (0.5 if got.k == 3 else 1.0))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda got: outcomes(got, "NONE_EXISTS"), "false NONE_EXISTS"),
        (to_where_they_are, "false FOUND"),
        (cheaper_with_three, "k=1 dearer than the first of k=3"),
        (lambda got: replace(got, cost=got.cost / 3), "cheaper than all that is allowed"),
        (
            lambda got: outcomes(got, "NOT_FOUND") if got.n == 1 and got.k == 1 else got,
            "another answer alone",
        ),
    ],
)
def test_a_broken_promise_is_seen(good, change, what):
    full = "k=" in what or "alone" in what
    assert not {d["what"] for d in measure(good, method("local-search"), full=full).defects} & {what}
    assert what in {d["what"] for d in measure(good, Altered(change), full=full).defects}


def test_a_forbidden_act_is_seen(some):
    case = next(
        c for c in some if (~c.schema.actionable & ~c.schema.is_categorical).any() and c.tags["links"] == 0
    )
    j = int(np.flatnonzero(~case.schema.actionable)[0])

    def act(got):
        action, after = got.action.copy(), got.after.copy()
        other = (
            case.lot.values[j][-1] if case.people[0, j] != case.lot.values[j][-1] else case.lot.values[j][0]
        )
        action[:, 0, j] = after[:, 0, j] = other
        outcome = got.outcome.copy()
        outcome[:, 0] = Outcome.FOUND
        return replace(got, action=action, after=after, outcome=outcome)

    whys = {d.get("why") for d in measure(case, Altered(act), full=False).defects}
    assert "not allowed" in whys


def test_the_command_counts_resumes_and_merges_shards(tmp_path, monkeypatch, capsys):
    from benchmarks.lattices import run

    monkeypatch.setattr(run, "CACHE", tmp_path)
    out = tmp_path / "out.json"
    for shard in ("0/2", "1/2"):
        assert main(["--n", "8", "--light", "--shard", shard, "--out", str(out)]) == 0
    first = json.loads(out.read_text())
    assert first["lattices"] + sum(first["skipped"].values()) == 8
    assert first["with a way"] + first["impossible"] == first["people"] > 5
    assert not first["false FOUND"] and "false NONE_EXISTS" not in first["defects"]
    assert first["not found"]["all"][1] == first["with a way"]
    monkeypatch.setattr(run, "records", lambda *a, **k: iter(()))  # everything is there already
    assert main(["--n", "8", "--light", "--shard", "0/2", "--out", str(out)]) == 0
    assert json.loads(out.read_text())["people"] == first["people"]
    capsys.readouterr()


def test_a_summary_of_records():
    tags = {"family": "rf", "world": "linked", "rules": 1, "target": "label"}
    person = {"exists": True, "impossible": False, "k1": "FOUND", "cost1": 1.1, "optimum": 1.0}
    slots = {"possible3": 2, "distinct3": 3, "filled3": 3, "not_least3": 2}
    lost = {"exists": True, "impossible": False, "k1": "NOT_FOUND", "optimum": 1.0}
    none = {"exists": False, "impossible": True, "k1": "NONE_EXISTS"}
    record = {"number": 0, "tags": tags, "people": [person | slots, lost, none], "seconds": {"k1": 2.0}}
    defect = {"lattice": 0, "person": 0, "what": "false FOUND", "why": "not allowed"}
    got = summarise(
        [record | {"defects": [defect]}, record | {"tags": {"skipped": "crashed"}, "defects": []}]
    )
    assert got["lattices"] == 1 and got["skipped"] == {"crashed": 1}
    assert got["not found"]["linked"] == [1, 2] and got["proved"]["rules"] == [1, 1]
    assert got["cost"]["all"] == {"people": 1, "mean ratio": 1.1, "dearer": 1.0, "worst": 1.1}
    assert got["slots"]["3"]["share of undominated slots that hold an option"] == 1.0
    assert got["slots"]["3"]["share of undominated slots that hold an undominated one"] == 0.5
    assert got["false FOUND"] == {"not allowed": 1} and got["examples"] == [defect]
