"""Audits side by side, over time, at other thresholds; nothing of few people; single cases without their values."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from wayforward.answers import write_csv
from wayforward.data.user_tables import read_table
from wayforward.errors import DataError
from wayforward.evaluate import stats
from wayforward.groups import Groups
from wayforward.impact.audit.figures import GroupFigures
from wayforward.impact.audit.gaps import rate_gap
from wayforward.impact.audit.suppression import (
    _pinned,
    cells_of_few,
    suppress_few_outcomes,
    to_withhold,
    without_small_groups,
)
from wayforward.serve import audits
from wayforward.serve.audits import FEWEST, Cell
from wayforward.serve.jobs import FAILED, NoSuchJob
from wayforward.serve.permissions import Act
from wayforward.serve.storage.tables import Job
from wayforward.serve.worker import run

from .conftest import deployed, published
from .test_client import token
from .test_jobs import user


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


def table(path, seed=3, n=160):
    """People; six of them have a home like nobody else's."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "age": int(rng.integers(18, 80)), "income": int(rng.integers(500, 3500)),
            "debt": int(rng.integers(0, 5000)), "home": "<b>&other" if i < 6 else ("rent", "own")[i % 2],
        }
        for i in range(n)
    ]  # fmt: skip
    return write_csv(rows, path)


def audited(services, model, people, by="operator", **given):
    """An audit that is done."""
    id = services.jobs.start(
        "audit", model, {"groups": ["home", "age"], "most": 40, **given}, people, user(services, by)
    )
    assert services.jobs.claim("one") == id
    assert run(services.settings.home, services.database.url, id, "one") == 0
    return id


@pytest.fixture
def auditor(browser):
    """Somebody who is logged in."""
    return browser().log_in("auditor")


@pytest.fixture
def api(services, browser):
    """A program of the auditor."""
    one = browser()
    one.headers["Authorization"] = f"Bearer {token(services, 'auditor', Act.SEE_AUDITS)}"
    return lambda path, headers=None, **query: one.get(f"/api/v1{path}", params=query, headers=headers)


class TestTwoAudits:
    """What is read of two audits, which are made once: reading them changes nothing of theirs."""

    @pytest.fixture(scope="class")
    @classmethod
    def services(cls, tmp_path_factory, empty, warm):
        """One deployment for all that read."""
        folder = tmp_path_factory.mktemp("two")
        with deployed(f"sqlite:///{folder / 'wayforward.db'}", folder, empty, warm) as found:
            yield found

    @pytest.fixture(scope="class")
    @classmethod
    def two(cls, services, tmp_path_factory):
        """Two audits of the same people: at the model's own threshold, and at one that is harder to meet; in each group
        so many fare otherwise that both are told."""
        model = published(services)
        people = table(tmp_path_factory.mktemp("people") / "people.csv", n=640)
        return audited(services, model, people), audited(services, model, people, threshold=0.9)

    def test_audits_stand_side_by_side_on_the_page_in_the_table_and_for_programs(
        self, services, two, auditor, api
    ):
        text = auditor.get_page("/staff/audits")
        assert all(f'value="{id}"' in text for id in two)
        query = f"audit={two[1]}&audit={two[0]}&by=age&measure=refused"
        text = auditor.get_page(f"/staff/audits?{query}")
        assert (
            text.count("checked") == 2
            and '<option value="age" selected>Age</option>' in text
            and "threshold 0.9" in text
        )
        rows = list(csv.DictReader(io.StringIO(auditor.get_page(f"/staff/audits.csv?{query}"))))
        assert len(rows) == 8 and [row["group"] for row in rows[:2]] == ["everybody", "everybody"]
        assert [row["threshold"] for row in rows[:2]] == ["", "0.9"]
        wanted = api("/audits/figures", audit=list(two), by="age", measure="refused")
        assert wanted.status_code == 200
        cells = wanted.json()["rows"][0]["cells"]
        assert [f"{cell['value']}" for cell in cells] == [row["value"] for row in rows[:2]]
        with services.database.session(write=False) as session:
            found = [audits.numbers(services.jobs, session, id) for id in two]
        assert [one["overall"]["figures"]["refused"]["value"] for one in found] == [
            cell["value"] for cell in cells
        ]
        assert cells[1]["value"] > cells[0]["value"]
        gap = wanted.json()["last_less_first"][0]
        assert gap["value"] == pytest.approx(cells[1]["value"] - cells[0]["value"])
        assert f"{100 * gap['value']:.1f} points" in text
        german = auditor.get(f"/staff/audits?{query}", headers={"accept-language": "de"}).text
        assert "Audits vergleichen" in german and f"{100 * gap['value']:.1f}".replace(".", ",") in german

    def test_of_few_people_nothing_is_told_anywhere(self, services, two):
        for id in two:
            for name in ("audit.html", "audit.json", "cases.json"):
                text = (services.jobs.folder / id / name).read_text()
                told = re.sub(r"[^\n]*left out, with fewer[^\n]*", "", text)
                groups = re.findall(r'"group": "([^"]*)"|<th scope="row">([^<]*)', told)
                assert not any("other" in part and "b>" in part for pair in groups for part in pair)
            found = json.loads((services.jobs.folder / id / "audit.json").read_text())
            assert {one["name"] for one in found["attributes"]} == {
                "age"
            }  # of "home" one group would be left
            for one in found["attributes"]:
                assert all(group["people"] >= FEWEST for group in one["groups"])
                for name in audits.MEASURES:
                    shown = [n for group in one["groups"] if (n := group["figures"][name]["n"])]
                    rest = found["overall"]["figures"][name]["n"] - sum(shown)
                    assert all(n >= FEWEST for n in shown) and (not rest or rest >= FEWEST or not shown)

    def test_single_cases_tell_how_somebody_fared_and_no_value(self, services, two, auditor, api):
        cases = api(f"/audits/{two[0]}/cases").json()
        with services.database.session(write=False) as session:
            answered = audits.numbers(services.jobs, session, two[0])["answered"]
        assert len(cases) == min(answered, audits.MOST_CASES) == len({one["case"] for one in cases})
        some = next(one for one in cases if one["outcome"] == "FOUND" and one["changes"])
        assert {part["feature"] for part in some["changes"]} <= {"income", "debt", "home"}
        assert all(
            part["direction"] == {"income": "up", "debt": "down"}.get(part["feature"], "other")
            for part in some["changes"]
        )
        assert set(some) == {"case", "groups", "outcome", "cost", "dearer_than", "changes"}
        assert auditor.get_page(f"/staff/audits/{two[0]}/cases").count('<tr><th scope="row">') == len(cases)
        text = auditor.get_page(f"/staff/audits/{two[0]}/cases/{some['case']}")
        assert some["case"] in text and "has a plan that works" in text.lower()
        assert api(f"/audits/{two[0]}/cases/{some['case']}").json() == some
        auditor.get_page(f"/staff/audits/{two[0]}/cases/000000000000", 404)
        report = auditor.get_page(f"/staff/jobs/{two[0]}/audit.html")
        assert api(f"/audits/{two[0]}/report").text == report
        assert api(f"/audits/{two[0]}").json()["n"] == 640

    def test_who_may_not_and_what_is_not_there(self, services, two, browser):
        researcher = browser().log_in("researcher")
        for path in ("", ".csv", f"/{two[0]}/cases", f"/{two[0]}/cases/0", f"/{two[0]}/numbers.json"):
            researcher.get_page(f"/staff/audits{path}", 403)
        with services.database.session(write=False) as session:
            with pytest.raises(NoSuchJob, match="no finished audit 'x'"):
                audits.view(services.jobs, session, ["x"])
            with pytest.raises(DataError, match="one to 12"):
                audits.view(services.jobs, session, [])
            with pytest.raises(DataError, match="do not all compare along 'sex'"):
                audits.view(services.jobs, session, two, "sex")
            with pytest.raises(DataError, match="no measure 'fair'"):
                audits.view(services.jobs, session, two, "", "fair")


@pytest.mark.parametrize("seed", range(40))
def test_left_out_groups_cannot_be_worked_out(seed):
    """By hand: no group below ten stays, and everybody less those that stay are none, or ten and more."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 30, 5)
    member = np.repeat(np.arange(-1, 4), sizes)
    groups = Groups("g", tuple("abcd"), member)
    large, gone = without_small_groups(groups, 10)
    if not gone:
        assert large is groups and not ((sizes > 0) & (sizes < 10)).any()  # without a label, too
        return
    if large is not None:
        kept = [int((large.member == g).sum()) for g in range(large.n_groups)]
        assert all(size == 0 or size >= 10 for size in kept)
        assert len(member) - sum(kept) >= 10
        for name in large.names:
            assert (large.mask(name) == groups.mask(name)).all()


@pytest.mark.parametrize("seed", range(40))
def test_how_few_fared_cannot_be_worked_out_from_the_others(seed):
    """Of the groups told and everybody, none and no difference is of one to nine people, of plans neither."""
    rng = np.random.default_rng(seed)
    answered = np.append(rng.integers(0, 30, 4), rng.integers(0, 12))
    found = rng.binomial(answered, 0.6)
    figures = tuple(figures_of(n, m) for n, m in zip(answered[:4], found[:4], strict=True))
    told = suppress_few_outcomes(figures, int(answered[4]), int(found[4]), FEWEST, whole=False)
    for name, counts in (("usable", answered), ("cost", found)):
        shown = [n for n, one in zip(counts, told, strict=False) if one.figures[name].n]
        assert all(n == 0 or n >= FEWEST for n in shown)
        assert (rest := counts.sum() - sum(shown)) == 0 or rest >= FEWEST or not shown
    for one in told:
        assert (
            not one.served[0].n or one.figures["cost"].n or not one.found
        )  # nor within which budget few have a plan
        plain = one.to_dict(("f",))
        assert (
            (plain["found"] is None)
            == one.counts_withheld
            == (not one.figures["usable"].n and one.answered > 0)
        )
        assert one.figures["refused"].n == 50  # of all people, of whom there are enough
    whole = suppress_few_outcomes(figures, 0, 0, FEWEST, whole=True)
    small = ((answered[:4] > 0) & (answered[:4] < FEWEST)).any()
    assert any(one.figures["usable"].n for one in whole) != small


def test_a_number_that_follows_from_several_sums_at_once_is_guarded():
    """Two squares of withheld parts, joined by one part alone: rows and columns leave two or more, and yet tell it."""
    counts = np.full((4, 4), 20)
    counts[:2, :2] = counts[2:, 2:] = 9
    counts[1, 2] = 1
    few = [*np.flatnonzero((counts == 9).reshape(-1)).tolist(), 6]
    rows = np.arange(16).reshape(4, 4)
    sums = [*rows.tolist(), *rows.T.tolist()]
    equations = np.array([[float(g in one) for g in range(16)] for one in sums])
    out = to_withhold(counts.reshape(-1).tolist(), 0, 3, sums=sums, hidden=set(few) - {6})
    assert set(few) < out  # another part is withheld besides
    alone = np.eye(16)[6]
    for told_of, follows in ((set(few), True), (out, False)):
        known = np.vstack([equations, np.eye(16)[[g for g in range(16) if g not in told_of]]])
        rank = np.linalg.matrix_rank(known)
        assert (np.linalg.matrix_rank(np.vstack([known, alone])) == rank) == follows


@pytest.mark.parametrize("have", [0, 2])
def test_what_is_left_has_not_fared_alike(have):
    """Beside two people who all have a plan, or have none, somebody is withheld who fared otherwise."""
    counts, others = [20, 12, 15, 2], [8, 12 * (have > 0), 9]
    assert to_withhold(counts, 0, 3, found=[*others, have, 0]) == {2, 3}
    assert to_withhold(counts, 0, 3, found=[0, 0, 0, 0, 0]) == {1, 3}  # all are alike: nothing hides that
    figures = tuple(figures_of(n, m) for n, m in zip(counts, [*others, have], strict=True))
    told = suppress_few_outcomes(figures, 0, 0, 3, whole=False)
    assert [one.counts_withheld for one in told] == [False, False, True, True]


def test_a_number_with_one_value_left_is_guarded():
    """Of part 4 one person is left, who has a plan: all of column 0 have one, so that row 0 tells part 1, and so on."""
    counts, found = [4, 5, 6, 3, 1, 9, 7, 8, 9], [4, 3, 5, 3, 1, 4, 7, 5, 6]
    rows = np.arange(9).reshape(3, 3)
    sums = [*rows.tolist(), *rows.T.tolist()]
    few = {0, 1, 3, 4}
    assert _pinned(sums, few, counts, found) == {1, 4}  # 0 and 3 are of those who all have a plan
    out = to_withhold(counts, 0, 3, sums=sums, hidden=few, found=[*found, 0])
    assert few < out and 4 not in _pinned(sums, out, counts, found)


def figures_of(answered, found):
    """A group of fifty, of whom some were answered and have a plan."""
    some = {"refused": 50, "usable": int(answered), "cost": int(found)}
    estimates = {name: stats.Estimate(0.5, 0.4, 0.6, n) if n else stats.NOTHING for name, n in some.items()}
    return GroupFigures(
        "g",
        50,
        50,
        int(answered),
        int(found),
        0,
        int(answered - found),
        answered >= FEWEST,
        True,
        estimates,
        (0.5,),
        served=(estimates["usable"],),
    )


def test_no_part_where_two_attributes_meet_is_worked_out_from_their_own_figures():
    """Of those who rent five are old: with all who rent and the young ones told, nothing else would hide them."""
    rents = Groups("home", ("rent", "own"), np.repeat([0, 1], [25, 60]))
    old = Groups("age", ("young", "old"), np.r_[np.repeat([0, 1], [20, 5]), np.repeat([0, 1], [30, 30])])
    assert cells_of_few(rents, old, FEWEST) and not cells_of_few(rents, old, 5)


@pytest.mark.parametrize("names", [("home",), ("home", "region"), ("home", "region", "age")])
@pytest.mark.parametrize("rare", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_cases_and_figures_together_tell_of_no_few(tmp_path, seed, rare, names):
    """What is told of a group less its cases that are named is of nobody, or of ten people or more."""
    rng = np.random.default_rng(seed)
    n, m = 500, 300
    levels = tuple("abc") if rare else tuple("ab")
    chances = (0.6 - rare, 0.4, rare)[: len(levels)]
    attributes = [Groups(name, levels, rng.choice(len(levels), n, p=chances)) for name in names]
    who = np.sort(rng.choice(n, m, replace=False))
    none = np.zeros((m, 1))
    measured = SimpleNamespace(
        problem=SimpleNamespace(schema=None), judged=SimpleNamespace(acted=none > 0), attributes=attributes, who=who,
        x=np.zeros((n, 1)), has_cost=none[:, 0] > 0, recourse=SimpleNamespace(action=none[:, None], x=none),
        measures={"cost": np.full(m, np.nan), "proved": none[:, 0]},
    )  # fmt: skip
    audits.write_cases(measured, tmp_path / "cases.json", FEWEST)
    read = json.loads((tmp_path / "cases.json").read_text())
    sizes = Counter(tuple(one["groups"].values()) for one in read)
    assert 180 < len(read) <= audits.MOST_CASES
    assert len(sizes) > 1 or (rare and len(names) > 1)
    label = np.stack([one.member for one in attributes], axis=1)[who]
    for some in product(*([None, *range(len(levels))] for _ in names)):  # a group, or where groups meet
        inside = np.all([label[:, j] == at for j, at in enumerate(some) if at is not None] or [True], axis=0)
        shown = [levels[at] if at is not None else None for at in some]
        known = sum(
            all(want in (None, one["groups"].get(name)) for name, want in zip(names, shown, strict=True))
            for one in read
            if one["groups"]
        )
        left = int(np.broadcast_to(inside, m).sum()) - known
        assert left == 0 or left >= FEWEST or np.broadcast_to(inside, m).sum() < FEWEST


def test_a_difference_of_two_audits_is_newcombes():
    """R. G. Newcombe (1998), Statist. Med. 17, table II (a), method 10: 56 of 70 less 48 of 80."""
    one, two = (
        Cell(e.value, e.low, e.high, e.n)
        for e in (stats.rate(np.arange(70) < 56), stats.rate(np.arange(80) < 48))
    )
    got = one.less(two)
    assert (round(got.value, 4), round(got.low, 4), round(got.high, 4)) == (0.2, 0.0524, 0.3339)
    hit, first = np.r_[np.arange(70) < 56, np.arange(80) < 48], np.arange(150) < 70
    assert got.low == pytest.approx(rate_gap(hit, first, ~first)[0].low)
    assert one.less(replace(two, value=None)).value is None


def test_two_close_thresholds_do_not_tell_of_few(services, model, tmp_path):
    """Between two thresholds of the same people are ten at least, in all and in each group, or nothing is told."""
    people = table(tmp_path / "people.csv")
    project = services.projects.project(model)
    x, _ = project.schema.read(read_table(people))
    value = np.sort(project.problem.reached(x)[1])
    refused = int((value < project.problem.bound_target.level).sum())
    close, far = (float(value[refused - fewer - 1 : refused - fewer + 1].mean()) for fewer in (3, 45))

    def told():
        with services.database.session(write=False) as session:
            return {one.id for one in audits.finished(session, services.jobs.folder)}

    first = audited(services, model, people)
    for threshold in (close, far):
        id = audited(services, model, people, threshold=threshold)
        with services.database.session(write=False) as session:
            job = session.get(Job, id)
        assert (job.status == FAILED) == (threshold == close) == ("farther away" in job.note)
        assert told() == ({first} if threshold == close else {first, id})
        assert (services.jobs.folder / id / "cases.json").exists() == (threshold == far)
    again = audited(services, model, people)  # the same once more tells nothing new
    assert again in told()


def test_a_table_with_a_row_more_does_not_tell_of_that_row(services, model, tmp_path):
    """The same people and one more, one less or one another: the difference would be how that person fares."""

    def outcome(n, seed=3):
        id = audited(services, model, table(tmp_path / f"{seed}-{n}.csv", seed, n))
        with services.database.session(write=False) as session:
            job = session.get(Job, id)
        assert (job.status == FAILED) == ("until more have changed" in job.note)
        assert (services.jobs.folder / id / "cases.json").exists() == (job.status != FAILED)
        return job.status != FAILED

    assert outcome(160)
    assert not outcome(161) and not outcome(159)
    assert not outcome(180)  # twenty in all, nine of some age and home
    assert outcome(160, seed=4)  # other people


def test_a_report_and_the_names_of_groups_are_in_the_language_of_who_reads(
    services, model, tmp_path, auditor, api
):
    """The numbers are one file for everybody, with the English names by which audits are compared."""
    id = audited(services, model, table(tmp_path / "people.csv"), language="de")
    with services.database.session(write=False) as session:
        numbers = audits.text_of(services.jobs, session, id)
        assert session.get(Job, id).note == "160 Personen"
    assert " and above" in numbers and "darüber" not in numbers
    for code, yes, no in (("en", " and above", "darüber"), ("de", " und darüber", " and above")):
        for path in (f"jobs/{id}/audit.html", f"audits?audit={id}&by=age"):
            text = auditor.get(f"/staff/{path}", headers={"accept-language": code}).text
            assert f'<html lang="{code}">' in text and yes in text and no not in text
        assert api(f"/audits/{id}/report", headers={"accept-language": code}).text == auditor.get(
            f"/staff/jobs/{id}/audit.html", headers={"accept-language": code}
        ).text  # fmt: skip
    (services.jobs.folder / id / "audit.de.html").unlink()  # as of an audit of an earlier version
    text = auditor.get(f"/staff/jobs/{id}/audit.html", headers={"accept-language": "de"}).text
    assert '<html lang="en">' in text
