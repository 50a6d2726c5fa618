"""Studies in the web application: a researcher brings one, participants walk through it, its export is fetched."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import zipfile
from datetime import timedelta

import pytest

from wayforward.serve.case_store import CaseChanged, CaseError
from wayforward.serve.retention import sweep
from wayforward.serve.storage.tables import CompletionCode, Event, Login, Participant, StudyRow, now
from wayforward.study.course import Standing
from wayforward.study.protocol import StudyProtocol
from wayforward.study.ready_made import ready_made_text

PLANTED = "a planted sentence of mine"


def bring(browser, text: str) -> tuple[object, str]:
    """A researcher adds and opens a study; return (researcher, recruiting path)."""
    researcher = browser().log_in("researcher")
    researcher.get_page("/staff/studies")
    token = researcher.value("token")
    files = {"protocol": ("p.yaml", text.encode())}
    answer = researcher.post("/staff/studies", data={"token": token}, files=files)
    assert answer.status_code == 200, re.sub(r"<[^>]+>|\s+", " ", answer.text)[:500]
    assert "Closed." in answer.text
    id = StudyProtocol.parse(text).hash
    researcher.get_page("/staff/studies")
    researcher.submit(f"/staff/studies/{id}/open")
    return researcher, re.search(r"/s/[0-9a-f]+", researcher.text)[0]


def start(browser, path: str, language: str = "en"):
    """Somebody comes by the recruiting link and agrees; return (browser, the way back)."""
    one = browser()
    one.get_page(path)
    one.submit(path, language=language)
    back = re.search(r"/p/[\w-]+", one.text)[0]
    one.get_page("/study")
    one.submit("/study/consent")
    return one, back


def fill(page: str) -> dict[str, object]:
    """Plausible answers to whatever stands on a page, found in its HTML alone."""
    sent: dict[str, object] = {}
    for name, value in re.findall(r'type="radio" name="(f\d+)" value="(\d+)"', page):
        sent.setdefault(name, value)
    for name in re.findall(r'<input id="(f\d+)"', page):
        sent[name] = "35"
    for name in re.findall(r'<textarea id="(f\d+)"', page):
        sent[name] = PLANTED
    ranks = re.findall(r'<select id="f\d+-\d+" name="(f\d+)"', page)
    for name in set(ranks):
        sent[name] = [str(i + 1) for i in range(ranks.count(name))]
    question = re.search(r'name="(f\d+)" value="3"[^>]*> the last one', page)
    if question:
        sent[question[1]] = "3"
    return sent


def walk(one, most: int = 30) -> None:
    while 'action="/study/page"' in one.text:
        one.submit("/study/page", since=one.value("since"), **fill(one.text))
        most -= 1
        assert most


def tables_of(researcher, text: str) -> dict[str, bytes]:
    answer = researcher.get(f"/staff/studies/{StudyProtocol.parse(text).hash}/export.zip")
    assert answer.status_code == 200
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_whole_way_of_participants(browser, services, tmp_path, logged):
    text = ready_made_text("point-or-region")
    researcher, path = bring(browser, text)
    ends = []
    for _ in range(4):
        one, _ = start(browser, path)
        while 'action="/study/page"' in one.text:
            for secret in ("region", "point-first", "arm", "ana-", "bo-"):
                assert secret not in re.sub(r"href=\S+|<h1>.*?</h1>", "", one.text).lower().replace(
                    "warm", ""
                )
            one.submit("/study/page", since=one.value("since"), **fill(one.text))
        ends.append(re.search(r'class="code">(\w+)<', one.text)[1])
    files = tables_of(researcher, text)
    people = list(csv.DictReader(io.StringIO(files["participants.csv"].decode())))
    assert [row["standing"] for row in people] == ["finished"] * 4
    assert sorted(row["number"] for row in people) == ["0", "1", "2", "3"]
    assert sorted(row["arm"] for row in people) == ["point-first-person"] * 2 + ["region-first-person"] * 2
    assert PLANTED in files["answers.csv"].decode() and {"answers.json", "codebook.csv"} <= set(files)
    codes = researcher.get(f"/staff/studies/{StudyProtocol.parse(text).hash}/codes.txt").text.split()
    assert codes == sorted(ends)
    assert not any(code.encode() in content for code in ends for content in files.values())
    services.database.close()
    stored = b"".join(
        file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and "models" not in file.parts
    )
    assert PLANTED.encode() not in stored and PLANTED not in logged()


def test_a_participant_comes_back_saves_and_withdraws(browser, services):
    _, path = bring(browser, ready_made_text("point-or-region"))
    one, back = start(browser, path, "de")
    assert 'lang="de"' in one.text and "Wie alt sind Sie?" in one.text
    assert "Ihre Antworten sind gespeichert." in one.submit("/study/page", f0="4", later="1")
    other = browser()
    other.get_page(back)
    assert 'value="4"' in other.text
    assert "16" in other.submit("/study/page", 422, f0="4") and 'value="4"' in other.text
    stale = one.value("revision")
    other.submit("/study/page", f0="40")
    one.submit("/study/page", 409, revision=stale, f0="50")
    other.get_page("/study/withdraw")
    other.submit("/study/withdraw")
    assert one.get("/study").status_code == 401 and browser().get(back).status_code == 404
    with services.database.session(write=False) as session:
        assert session.query(Participant).count() == 0
        assert session.query(Login).filter(Login.participant_id.is_not(None)).count() == 0
        assert services.studies.rows()[0][0].withdrawn == 1


def test_who_is_screened_out_or_inattentive_has_an_end_without_a_code(browser, services):
    _, path = bring(browser, ready_made_text("point-or-region"))
    young, _ = start(browser, path)
    assert "ends here for you" in young.submit("/study/page", f0="17") and 'class="code"' not in young.text
    careless, _ = start(browser, path)
    while 'action="/study/page"' in careless.text:
        sent = fill(careless.text)
        sent = {
            name: "1" if value == "3" and "last one" in careless.text else value
            for name, value in sent.items()
        }
        careless.submit("/study/page", **sent)
    assert "ends here for you" in careless.text
    with services.database.session(write=False) as session:
        assert session.query(CompletionCode).count() == 0
        assert {row.standing for row in session.query(Participant)} == {"excluded"}


def test_the_published_study_waits_two_weeks_and_shows_five_plans(browser, services):
    text = ready_made_text("car-loan")
    researcher, path = bring(browser, text)
    one, _ = start(browser, path)
    one.submit("/study/page", f0="40", f1="1", f2="1", f3="3", f4="1", f5=["8"])
    one.submit("/study/page", **{f"f{i}": "1" for i in range(16)})
    assert "comes later" in one.text
    with services.database.session(write=False) as session:
        id = session.query(Participant).one().id
    one.get_page("/study/withdraw")  # a form by hand, too early
    assert "comes later" in one.submit(
        "/study/page", 422, revision=services.studies.open(id).revision, f0="2"
    )
    later = now() + timedelta(days=15)
    for place in range(6):
        step = services.studies.open(id).course.step()
        raw = {0: ["2"]} if place == 0 else {0: ["5"], 2: ["6"], 4: ["1"]}
        revision = services.studies.open(id).revision
        services.studies.change(id, revision, lambda course, s=step, r=raw: course.answer(s.key, r, later))
    assert services.studies.open(id).course.standing is Standing.FINISHED
    plans = list(csv.DictReader(io.StringIO(tables_of(researcher, text)["plans.csv"].decode())))
    assert (
        len(plans) == 5
        and {row["action"] for row in plans} == {"6"}
        and {row["impossible"] for row in plans} == {"1"}
    )


def test_numbers_and_quotas_are_given_once(services):
    text = ready_made_text("point-or-region").replace("most: 96", "most: 3")
    id = services.studies.add(text, "researcher")
    services.studies.switch(id, True, "researcher")
    link = services.studies.rows()[0][0].link
    found = []
    for _ in range(5):
        person, _ = services.studies.enrol(link, "en")
        services.studies.change(person, 0, lambda course: course.consent(now()))
        one = services.studies.change(person, 1, lambda course: course.answer("you", {0: ["30"]}, now()))
        found.append((one.course.standing.value, one.course.state.get("number")))
        with pytest.raises(CaseChanged):
            services.studies.change(person, 1, lambda course: None)
    assert found == [("active", 0), ("active", 1), ("active", 2), ("full", None), ("full", None)]


def test_what_cannot_be_run_is_refused(browser, services):
    with pytest.raises(CaseError, match="Add the pool"):
        services.studies.add(ready_made_text("car-loan").replace("pool: synthetic", "pool: table"), "r")
    researcher, path = bring(browser, ready_made_text("car-loan"))
    for wrong, said in ((b"format: x", "protocol"), (ready_made_text("car-loan").encode(), "here already")):
        researcher.get_page("/staff/studies")
        sent = {"data": {"token": researcher.value("token")}, "files": {"protocol": ("p.yaml", wrong)}}
        answer = researcher.post("/staff/studies", **sent)
        assert answer.status_code == 422 and said in html.unescape(answer.text)
    id = services.studies.rows()[0][0].id
    assert "SHA-256" in researcher.get_page(f"/staff/studies/{id}/preview.html")
    researcher.get_page("/staff/studies")
    researcher.submit(f"/staff/studies/{id}/close")
    assert browser().get(path).status_code == 404
    assert json.loads(json.dumps(services.studies.states(id, "r"))) == {}


def test_a_page_saves_by_its_script_and_turns_back(browser, services):
    _, path = bring(browser, ready_made_text("point-or-region"))
    one, _ = start(browser, path)
    script = {"Accept": "application/json", "X-Form-Token": one.value("token")}
    sent = {"revision": one.value("revision"), "later": "1", "f0": "4"}
    saved = one.post("/study/page", data=sent, headers=script)
    assert saved.json() == {"revision": 2, "note": "Your answers on this page are saved."}
    assert one.post("/study/page", data=sent, headers=script).status_code == 409
    assert one.post("/study/page", data={"revision": "2", "f0": "40"}, headers=script).status_code == 422
    assert 'value="4"' in one.get_page("/study") and 'name="back"' not in one.text
    one.submit("/study/page", f0="40")
    one.submit("/study/page", **fill(one.text))
    second = one.text
    assert 'name="back"' in second
    one.submit("/study/page", f0="2", back="1")
    assert re.search(r'name="f0" value="1" checked', one.text) and PLANTED in one.text
    one.submit("/study/page", **fill(one.text))
    assert re.search(r'name="f0" value="2" checked', one.text)
    one.submit("/study/page", 409, revision="1", back="1")


def test_participations_of_a_closed_study_go_after_their_time(browser, services):
    text = ready_made_text("point-or-region").replace("quota:", "keep_days: 30\nquota:", 1)
    researcher, path = bring(browser, text)
    one, back = start(browser, path)
    id = StudyProtocol.parse(text).hash

    def swept(days: int) -> int:
        with services.database.session() as session:
            session.get(StudyRow, id).closed = now() - timedelta(days=days)
        sweep(services)
        with services.database.session(write=False) as session:
            return session.query(Participant).count()

    sweep(services)
    assert one.get("/study").status_code == 200
    researcher.submit(f"/staff/studies/{id}/close")
    assert "Answers are deleted on" in researcher.text
    assert swept(29) == 1
    assert swept(31) == 0 and browser().get(back).status_code == 404
    assert "Deleted after their time: 1." in researcher.get_page("/staff/studies")
    researcher.submit(f"/staff/studies/{id}/open")
    with services.database.session(write=False) as session:
        assert session.get(StudyRow, id).closed is None and session.get(StudyRow, id).admitted == 0
        assert session.query(Event).filter_by(what="participations deleted", subject=id).count() == 1


def test_strata_are_counted_once_for_each_who_is_admitted(services):
    text = ready_made_text("dialogue-or-sliders")
    text = re.sub(r"^block_size: 4", "block_size: 4\nstrata: [credit]", text, flags=re.M)
    text = re.sub(r"vignette: .*", "vignette: {age: 34, income: 1700, debt: 1500, home: rent}", text)
    id = services.studies.add(text, "r")
    services.studies.switch(id, True, "r")
    link, arms = services.studies.rows()[0][0].link, {"1": [], "2": []}
    for i in range(12):
        person, _ = services.studies.enrol(link, "en")
        services.studies.change(person, 0, lambda course: course.consent(now()))
        credit = "1" if i % 3 else "2"
        raw = {0: ["35"], 1: [credit]}
        one = services.studies.change(person, 1, lambda course, raw=raw: course.answer("you", raw, now()))
        arms[credit].append(one.course.state["arm"])
        if i % 4 == 0:
            services.studies.withdraw(person)
    for drawn in (arms["1"][:4], arms["1"][4:8], arms["2"][:4]):
        assert sorted(drawn) == ["dialogue"] * 2 + ["sliders"] * 2
    with services.database.session(write=False) as session:
        row = session.get(StudyRow, id)
        assert sorted(row.strata.values()) == [4, 8] and row.admitted == 12
        assert not any(name == "1" or name == "2" for name in row.strata)
