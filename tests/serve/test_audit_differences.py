"""What auditors learn of a person from audits of tables that they choose, move, cut and put together: nothing."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wayforward.answers import write_csv
from wayforward.errors import WayforwardError
from wayforward.groups import Groups
from wayforward.schema import Feature, Schema
from wayforward.serve import audit_differences
from wayforward.serve.audits import FEWEST
from wayforward.serve.jobs import DONE, FAILED
from wayforward.serve.keys import Keys
from wayforward.serve.permissions import Act
from wayforward.serve.storage.tables import Job

from .test_audits import audited, table
from .test_client import token


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


def rows_of(file):
    return list(csv.DictReader(file.read_text().splitlines()))


def moved(rows, by, feature="debt"):
    """Everybody by so much (a number, or one for each)."""
    steps = np.broadcast_to(by, len(rows)).tolist()
    return [row | {feature: int(row[feature]) + step} for row, step in zip(rows, steps, strict=True)]


#: What somebody sends to learn how person 20 fares.
ATTACKS = {
    "everybody by 1 EUR": lambda rows: moved(rows[:20] + rows[21:], 1),
    "each by another amount": lambda rows: moved(rows[:20] + rows[21:], np.arange(len(rows) - 1) % 7 + 1),
    "far in what matters little": lambda rows: moved(
        rows[:20] + rows[21:], np.arange(len(rows) - 1) % 9, "age"
    ),
    "another one taken away": lambda rows: moved(rows[:21] + rows[22:], 2),
    "a hundred copies": lambda rows: [rows[20] | {"age": 18 + i % 70} for i in range(120)],
    "one beside known ones": lambda rows: [rows[20], *(row | {"income": 3400, "debt": 0} for row in rows)],
    "one left out": lambda rows: rows[:20] + rows[21:],
    "another order": lambda rows: rows[::-1],
}


def test_an_auditor_is_answered_about_no_rows_of_their_own(services, model, browser, tmp_path):
    """About the table that an operator has had audited, and about no other; with all that is theirs to choose."""
    people = table(tmp_path / "people.csv")
    rows = rows_of(people)
    keys = {
        role: token(services, role, Act.RUN_JOBS, Act.SEE_JOBS, *([Act.FETCH_RESULTS] if role == "operator" else []))
        for role in ("auditor", "operator")
    }  # fmt: skip

    def start(file, role="auditor", kind="audit", **given):
        one = browser()
        one.headers["Authorization"] = f"Bearer {keys[role]}"
        with file.open("rb") as opened:
            return one.post(
                "/api/v1/jobs", data={"kind": kind, "model": model, "groups": "age"} | given, files={"people": opened}
            )  # fmt: skip

    refused = start(people)
    assert refused.status_code == 403 and "Ask an operator" in refused.text
    assert start(people, "operator", "plans").status_code == 201
    assert start(people).status_code == 403  # plans are made of tables that nobody means to be read in sum
    assert start(people, "operator").status_code == 201
    assert start(people).status_code == 403  # it waits: nobody knows yet whether it may be told
    with services.database.session() as session:
        session.query(Job).filter_by(kind="audit").one().status = FAILED
    assert start(people).status_code == 403
    with services.database.session() as session:
        session.query(Job).filter_by(kind="audit").one().status = DONE
    assert start(people, threshold="0.8", groups="home").status_code == 201
    before = {path.name for path in services.jobs.folder.iterdir()}
    for name, attack in ATTACKS.items():
        file = write_csv(attack(rows), tmp_path / "sent.csv")
        assert start(file).status_code == 403, name
        assert start(file, groups="home,age").status_code == 403, name
    assert {path.name for path in services.jobs.folder.iterdir()} == before

    page = browser().log_in("auditor")
    text = page.get_page("/staff/jobs")
    assert "had audited here" in text
    with file.open("rb") as opened:
        given = {"token": page.value("token"), "kind": "audit", "model": model}
        answer = page.post("/staff/jobs", data=given, files={"people": opened})
    assert answer.status_code == 403 and "Ask an operator" in answer.text
    known = browser().log_in("operator").get_page("/staff/jobs")
    assert "had audited here" not in known


def outcome(services, id):
    """(told?, the note)."""
    with services.database.session(write=False) as session:
        job = session.get(Job, id)
    assert (services.jobs.folder / id / "cases.json").exists() == (job.status == DONE)
    assert (services.jobs.folder / id / audit_differences._MARK).exists() == (job.status == DONE)
    return job.status == DONE, job.note


def test_an_operators_audits_of_people_who_moved_a_little_do_not_tell_of_few(services, model, tmp_path):
    """An auditor reads what operators start: the same people a little later, but for one."""
    rows, few = rows_of(table(tmp_path / "people.csv")), ["age"]
    told = {"groups": few, "most": 2000}
    assert outcome(services, audited(services, model, tmp_path / "people.csv", **told))[0]
    for name in ("everybody by 1 EUR", "each by another amount", "another one taken away"):
        ok, note = outcome(
            services, audited(services, model, write_csv(ATTACKS[name](rows), tmp_path / "sent.csv"), **told)
        )
        assert not ok and "until more have changed" in note, name


def test_a_few_with_a_plan_among_many_new_people_are_not_told(services, model, tmp_path):
    """Thirteen more people, of whom one is refused: the difference would be what this one pays."""
    rows = rows_of(table(tmp_path / "people.csv"))
    more = [
        rows[20] | {"age": 20, "income": 6000, "debt": 0},
        *(row | {"age": 20, "income": 8000, "debt": 0} for row in rows[:12]),
    ]
    one = rows[20] | {"age": 20, "income": 1000, "debt": 2000}
    told = {"groups": ["home"], "most": 2000}
    rented = [row | {"home": "rent"} for row in [*more, one]]
    assert outcome(services, audited(services, model, write_csv(rows, tmp_path / "a.csv"), **told))[0]
    ok, note = outcome(
        services, audited(services, model, write_csv([*rows, *rented], tmp_path / "b.csv"), **told)
    )
    assert not ok and "have a plan" in note


def test_audits_along_other_features_are_guarded_together(services, model, tmp_path):
    """Whoever rents is young but for two: all who rent less all who are young is how these two fare."""
    rows = rows_of(table(tmp_path / "people.csv"))
    near = [
        row | {"home": ("rent", "own")[i % 2 if i > 3 else 1 - i % 2], "age": (25, 70)[i % 2]}
        for i, row in enumerate(rows)
    ]
    people = write_csv(near, tmp_path / "near.csv")
    assert outcome(services, audited(services, model, people, groups=["age"]))[0]
    for groups in (["home"], ["home", "age"]):  # where they are along both, the few are left out
        ok, note = outcome(services, audited(services, model, people, groups=groups))
        assert not ok and ("along other features" in note) == (groups == ["home"]), note


# -- the guard alone -----------------------------------------------------------------------------------------


def measured(x, schema, groups=(), has=None):
    """What an audit measured of people of whom everybody was refused, and all have a plan but those not in has."""
    return SimpleNamespace(
        x=x, problem=SimpleNamespace(schema=schema, reference=None), refused=np.ones(len(x), dtype=bool),
        who=np.arange(len(x)), has_cost=np.ones(len(x), dtype=bool) if has is None else has, attributes=list(groups),
    )  # fmt: skip


SCHEMA = Schema(tuple(Feature(name=f"f{j}", kind="real", low=0, high=1000) for j in range(6)))


def told(tmp_path, *audits, model="m"):
    """How many of these are told, one after the other."""
    keys, count = Keys.at(tmp_path / "home"), 0
    for i, one in enumerate(audits):
        folder = tmp_path / "jobs" / f"{i}"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            audit_differences.refuse_few_between(folder, model, one, keys)
        except WayforwardError:
            continue
        (folder / "audit.json").write_text("{}")
        count += 1
    return count


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("less", [0, 1, 2, 9, 10])
def test_fewer_than_ten_who_left_are_seen_among_people_who_moved(tmp_path, seed, less):
    """Everybody by up to a hundredth of a half of each range; in any order; ten and more may have left."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1000, (400, 6))
    then = rng.permutation(np.clip(x + rng.uniform(-5, 5, x.shape), 0, 1000)[less:])
    assert told(tmp_path, measured(x, SCHEMA), measured(then, SCHEMA)) == (2 if less in (0, FEWEST) else 1)


@pytest.mark.parametrize("left", [1, 9, 10])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_a_whole_less_two_branches_is_not_of_few(tmp_path, left, order):
    """Each two of them differ by a hundred; the three together told what one person pays."""
    rng = np.random.default_rng(left)
    x = rng.uniform(0, 1000, (240 + left, 6))
    audits = [measured(x, SCHEMA), measured(x[:120], SCHEMA), measured(x[120:240], SCHEMA)]
    between = measured(rng.uniform(0, 1000, (200, 6)), SCHEMA)  # of other people: it changes nothing
    assert told(tmp_path, between, *(audits[i] for i in order)) == (4 if left == FEWEST else 3)


def test_branches_of_which_groups_leave_few_are_not_told_either(tmp_path):
    """In all the three leave forty, of a group three."""
    rng = np.random.default_rng(0)
    x, label = rng.uniform(0, 1000, (280, 6)), rng.permutation(np.repeat([0, 1], [140, 140]))
    label[240:] = np.repeat([0, 1], [3, 37])

    def part(some: slice) -> Any:
        return measured(x[some], SCHEMA, groups=[Groups("g", ("a", "b"), label[some])])

    assert told(tmp_path, part(slice(280)), part(slice(120)), part(slice(120, 240))) == 2


@pytest.mark.parametrize("along", ["groups of the whole alone", "where two meet"])
def test_what_is_left_of_few_is_found_along_other_features_too(tmp_path, along):
    """Three are left, of three groups that only the whole is along; of 52 who are left one is where two groups meet."""
    rng = np.random.default_rng(1)
    left = 3 if along == "groups of the whole alone" else 52
    x = rng.uniform(0, 1000, (400 + left, 6))
    g, h = rng.integers(0, 3, 400 + left), rng.integers(0, 2, 400 + left)
    g[400:] = np.arange(3) if left == 3 else np.r_[0, np.repeat([1, 2], [26, 25])]
    h[400:] = 0 if left == 3 else np.r_[0, rng.integers(0, 2, 51)]

    def part(some: slice, *names: str) -> Any:
        labels = {"g": g, "h": h}
        return measured(x[some], SCHEMA, groups=[Groups(n, ("a", "b", "c"), labels[n][some]) for n in names])

    names = () if left == 3 else ("g", "h")
    parts = part(slice(400 + left), "g", *names[1:]), part(slice(200), *names), part(slice(200, 400), *names)
    assert told(tmp_path, *parts) == 2


def test_an_audit_at_another_threshold_is_no_way_around_it(tmp_path):
    """It agrees about the few whom it shares with the last one, and not about the others."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1000, (241, 6))
    other = measured(np.r_[x[:30], x[200:205], rng.uniform(0, 1000, (100, 6))], SCHEMA)
    other.refused[:30] = False
    assert (
        told(tmp_path, other, measured(x, SCHEMA), measured(x[:120], SCHEMA), measured(x[120:240], SCHEMA))
        == 3
    )


def test_audits_that_overlap_by_chance_are_told(tmp_path):
    """Eight halves of a table, with groups: nobody follows from them."""
    rng = np.random.default_rng(0)
    x, label = rng.uniform(0, 1000, (600, 6)), rng.integers(0, 3, 600)
    halves = [np.sort(rng.permutation(600)[:300]) for _ in range(8)]
    audits = [measured(x[at], SCHEMA, groups=[Groups("g", ("a", "b", "c"), label[at])]) for at in halves]
    assert told(tmp_path, *audits) == 8


def test_versions_with_another_title_are_one_model(services, given, tmp_path):
    """What one tells less what the other tells was told: their ids differ, and their answers do not."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1000, (300, 6))
    one, keys = measured(x, SCHEMA), Keys.at(tmp_path / "home")
    folders = [tmp_path / "jobs" / name for name in "abc"]
    for folder in folders:
        folder.mkdir(parents=True)
    audit_differences.refuse_few_between(folders[0], "m", one, keys)
    (folders[0] / "audit.json").write_text("{}")
    with pytest.raises(WayforwardError, match="but for fewer than 10"):
        audit_differences.refuse_few_between(folders[1], "another", measured(x[1:], SCHEMA), keys)
    decides = measured(x[1:], SCHEMA)
    decides.refused[:20] = False  # another model, by what it says of these people
    audit_differences.refuse_few_between(folders[2], "another", decides, keys)
    with pytest.raises(WayforwardError, match="but for fewer than 10"):  # the same one, at another threshold
        audit_differences.refuse_few_between(folders[1], "m", decides, keys)
    file = services.settings.home / "models" / services.projects.bring(given)
    model = next(file.glob("model*"))
    again = replace(given, model=model, title="the same again")
    versions = [
        services.projects.bring(some) for some in (again, replace(again, title="and again", threshold=0.4))
    ]
    assert len(set(versions)) == 2
    assert len({services.projects.project(id).decides for id in versions}) == 1


@pytest.mark.parametrize("seed", range(5))
def test_other_people_are_told(tmp_path, seed):
    rng = np.random.default_rng(seed)
    groups = [Groups("g", ("a", "b"), rng.integers(0, 2, 400)) for _ in range(4)]
    audits = [measured(rng.uniform(0, 1000, (400, 6)), SCHEMA, [one]) for one in groups]
    assert told(tmp_path, *audits) == 4


def test_all_audits_of_the_same_people_are_along_three_features(tmp_path):
    """Also where they moved a little and came in another order; along those again as often as anybody likes."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1000, (400, 6))
    a, b, c, d = (Groups(name, ("few", "many"), (x[:, j] > 500).astype(int)) for j, name in enumerate("abcd"))
    order = rng.permutation(400)
    later = measured(x[order] + 1e-3, SCHEMA, [d.take(order)])
    assert (
        told(tmp_path, measured(x, SCHEMA, [a, b]), measured(x, SCHEMA, [c]), measured(x, SCHEMA, [b, c]))
        == 3
    )
    assert told(tmp_path, *[measured(x, SCHEMA, [one]) for one in (a, b, c)], later) == 3


def test_cases_of_several_audits_put_together_name_no_few(services, model, tmp_path):
    """A case is known again by what its plan costs and changes: its groups in both audits are those of ten."""
    rows = rows_of(table(tmp_path / "people.csv"))
    near = [
        row | {"home": ("rent", "own")[i < 60], "age": (25, 70)[i % 12 < 7]} for i, row in enumerate(rows)
    ]
    people = write_csv(near, tmp_path / "near.csv")
    read = []
    for groups in (["age"], ["home"], ["age"]):
        id = audited(services, model, people, groups=groups, most=30)
        assert outcome(services, id)[0]
        cases = json.loads((services.jobs.folder / id / "cases.json").read_text())
        read.append({(one["cost"], str(one["changes"])): one["groups"] for one in cases})
    both = [read[0][one] | read[1][one] for one in read[0].keys() & read[1].keys()]
    sizes = Counter(tuple(sorted(one.items())) for one in both)
    assert len(both) >= 25 and min(sizes.values()) >= FEWEST
    assert any(read[0].values()) and not any(read[1].values())


def test_an_audit_is_along_three_features(services, model, tmp_path):
    people = table(tmp_path / "people.csv")
    ok, note = outcome(services, audited(services, model, people, groups=["age", "income", "debt", "home"]))
    assert not ok and "up to 3" in note


def test_of_two_at_once_none_is_told_unseen(tmp_path):
    """The mark of an audit that runs counts; of one that came to nothing it does not."""
    x = np.random.default_rng(0).uniform(0, 1000, (50, 6))
    keys, folders = Keys.at(tmp_path / "home"), [tmp_path / "jobs" / name for name in "ab"]
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "people.csv").write_text("")
    audit_differences.refuse_few_between(folders[0], "m", measured(x, SCHEMA), keys)
    with pytest.raises(WayforwardError, match="there already"):
        audit_differences.refuse_few_between(folders[1], "m", measured(x[1:], SCHEMA), keys)
    (folders[0] / "people.csv").unlink()
    audit_differences.refuse_few_between(folders[1], "m", measured(x[1:], SCHEMA), keys)


def test_a_mark_shows_nobody(tmp_path):
    """It is sealed, for the owner alone, and tells neither a value nor how somebody fared."""
    x = np.tile(np.arange(6.0) + 271, (50, 1))
    told(tmp_path, measured(x, SCHEMA, [Groups("planted", ("a", "b"), np.arange(50) % 2)]))
    file = tmp_path / "jobs" / "0" / audit_differences._MARK
    assert file.stat().st_mode & 0o077 == 0
    assert b"planted" not in file.read_bytes() and file.read_bytes()[:2] != b"PK"
