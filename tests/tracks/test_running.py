"""Submissions run in a process of their own: whatever they do, there is a line about it and others go on."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from wayforward.errors import DataError, FileFormatError, MethodError
from wayforward.methods import method
from wayforward.tracks import TASKS, BuiltTask, RunLimits, Submission, running, submit
from wayforward.tracks.child import answer
from wayforward.tracks.rows import read_rows, write_answers
from wayforward.tracks.running import Failed, _actions, _fault
from wayforward.tracks.submission import answerer_in

OWN = """
import numpy as np

def recommend(problem, people, k):
    action = np.full((people.n, k, people.d), np.nan)
    action[:, 0] = np.where(people.free, people.greatest, np.nan)
    return action
"""


_held = io.BytesIO()
np.savez(_held, action=np.zeros((60, 1, 7)))
ARCHIVE = _held.getvalue()


@pytest.fixture(scope="module")
def ready() -> BuiltTask:
    return TASKS["loan-lr"].build()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


def test_a_function_runs_and_is_judged(ready: BuiltTask, own: Path):
    """The same actions judged here and from the process of their own."""
    entry = submit(Submission.of(str(own)), ready)
    assert entry is not None and entry.state == "judged", entry
    action = answer(answerer_in(own, ""), ready)
    from wayforward.tracks import judge

    np.testing.assert_array_equal(entry.serves(), judge(ready, action)[0])
    assert (entry.task_digest, entry.model_digest, entry.n) == (ready.digest, ready.model_digest, 60)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("import time; time.sleep(600)", "not ended after 8 s"),
        ("x = bytearray(50_000_000_000)", "more memory"),
    ],
)
def test_crashes_hangs_and_hunger_get_a_line(ready: BuiltTask, tmp_path: Path, code: str, why: str):
    file = tmp_path / "bad.py"
    file.write_text(code)
    entry = submit(Submission.of(str(file)), ready, RunLimits(seconds=8 if "sleep" in code else 120))
    assert entry is not None and entry.state == "failed" and why in entry.why, entry
    assert not entry.serves().any() and entry.n == 60


def test_an_error_is_told_by_type_and_line_alone(ready: BuiltTask, tmp_path: Path):
    """Its text may hold somebody's row."""
    from wayforward.tracks.child import _line

    file = tmp_path / "bad.py"
    file.write_text("def recommend(problem, people, k):\n    raise ValueError(people.x[0])\n")
    with pytest.raises(ValueError) as raised:
        answer(answerer_in(file, ""), ready)
    assert _line(raised.value, tmp_path) == "it raised ValueError in line 2 of the file"
    file.write_text("x = 1\ndef recommend(problem, people, k) return 1\n")
    with pytest.raises(SyntaxError) as raised:
        answerer_in(file, "")
    assert "line 2 of the file" in _line(raised.value, tmp_path)
    file.write_text("def recommend(problem, people, k):\n    1 + k\n")
    with pytest.raises(MethodError, match="returned None"):
        answer(answerer_in(file, ""), ready)
    assert "memory" in _line(MemoryError(), tmp_path) and "SystemExit" in _line(SystemExit(0), tmp_path)


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (np.zeros((60, 7)), "shape"),
        (np.zeros((59, 1, 7)), "shape"),
        (np.zeros((60, 0, 7)), "shape"),
        (np.zeros((60, 1, 7), dtype=complex), "no numbers"),
        (np.zeros((600, 1, 7)), "more than"),
        (np.full((60, 1, 7), "x"), "no numbers"),
        (b"no array", "cannot be read"),
        (b"", "cannot be read"),
        (b"PK\x03\x04 and no more", "cannot be read"),
        (ARCHIVE, "an archive"),
        (None, "no actions"),
    ],
)
def test_what_is_left_is_checked(ready: BuiltTask, tmp_path: Path, left: object, why: str):
    file = tmp_path / "action.npy"
    if isinstance(left, np.ndarray):
        np.save(file, left)
    elif isinstance(left, bytes):
        file.write_bytes(left)
    with pytest.raises(Failed, match=why):
        _actions(file, ready)


def test_an_array_of_objects_is_not_opened(ready: BuiltTask, tmp_path: Path):
    """Reading one would run code."""
    np.save(tmp_path / "action.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(Failed, match="cannot be read"):
        _actions(tmp_path / "action.npy", ready)


def test_a_line_about_a_fault_is_checked(tmp_path: Path):
    for text in (b"", b"[]", b'{"why": 1}', b"{" * 9_999, b"\xff"):
        (tmp_path / "fault.json").write_bytes(text)
        assert "cannot be read" in str(_fault(tmp_path / "fault.json"))
    (tmp_path / "fault.json").write_text('{"why": "x", "unfit": true}')
    assert _fault(tmp_path / "fault.json").unfit


def test_what_nobody_can_judge_stops_nobody(ready: BuiltTask, own: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "_run", lambda *_: np.zeros((2, 2)))
    entry = submit(Submission.of(str(own)), ready)
    assert entry is not None and entry.state == "failed" and "could not be judged" in entry.why


def test_a_file_holds_a_function_or_one_method(tmp_path: Path):
    file = tmp_path / "own.py"
    file.write_text("from wayforward.methods.nice import Nice\nclass Mine(Nice):\n    name = 'mine'\n")
    assert answerer_in(file, "").name == "mine"
    assert answerer_in(file, "Mine").name == "mine"
    with pytest.raises(MethodError, match="Other"):
        answerer_in(file, "Other")
    file.write_text("x = 1\n")
    with pytest.raises(MethodError, match="recommend"):
        answerer_in(file, "")
    file.write_text("def recommend(problem, people):\n    return 1\n")
    with pytest.raises(MethodError, match="these three arguments"):
        answerer_in(file, "")


def test_names_and_places_are_checked(tmp_path: Path):
    for text, name in (("../x", ""), ("nice", "Ä b"), ("nice", "a" * 41), (str(tmp_path / "no.py"), "")):
        with pytest.raises(DataError):
            Submission.of(text, name)
    assert Submission.of("nice").kind == "method" and Submission.of("nice").content("loan-lr")
    assert Submission.of(str(tmp_path), "rows").content("loan-lr") is None


def _parquet(columns: dict[str, list[object]]) -> bytes:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def test_rows_are_judged_like_the_method_that_made_them(ready: BuiltTask, tmp_path: Path):
    got = method("nice").fit(ready.problem).recommend(ready.x, 1, seed=0)
    write_answers(ready, got.action, tmp_path / "loan-lr.parquet")
    np.testing.assert_array_equal(
        read_rows(ready, (tmp_path / "loan-lr.parquet").read_bytes())[0], got.action
    )
    entry = submit(Submission.of(str(tmp_path), "rows"), ready)
    assert entry is not None and entry.state == "judged" and not entry.why
    np.testing.assert_array_equal(entry.serves(), got.found[:, 0])


def test_rows_of_strangers_and_second_rows_are_left_out_and_told(ready: BuiltTask):
    other = BuiltTask(ready.task, ready.problem, ready.x[::-1].copy(), ready.labels, ready.fitted)
    keys = [ready.keys[0], ready.keys[0], *other.keys[:3], "nobody", None, ready.keys[1]]
    columns = {
        "person": keys,
        "option": [0, 0, 0, 0, 0, 0, 0, 9],
        "income": ["5", "6", "7", "7", "7", "7", "7", "7"],
        "__index_level_0__": list(range(8)),  # as pandas writes rows that were filtered
    }
    action, notes = read_rows(ready, _parquet(columns))
    income = ready.problem.schema.index("income")
    assert action[0, 0, income] == 5 and np.isnan(action[1:]).all()
    assert [note.rsplit(": ")[1] for note in notes] == ["5", "1", "1"]


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"income": [1.0]}, "no column 'person'"),
        ({"person": ["a"], "incme": [1.0]}, "'incme'.*income"),
        ({"person": ["a"] * 3_001, "income": [1.0] * 3_001}, "at most 3,000"),
    ],
)
def test_rows_that_do_not_fit_are_named(ready: BuiltTask, columns: dict[str, list[object]], why: str):
    with pytest.raises(DataError, match=why):
        read_rows(ready, _parquet(columns))


def test_names_that_are_no_utf8_are_no_rows(ready: BuiltTask):
    pa = pytest.importorskip("pyarrow")
    raw = pa.array([b"\xff\xfe"], pa.binary())
    person = pa.Array.from_buffers(pa.string(), 1, raw.buffers())
    with pytest.raises(FileFormatError, match="cannot be read as Parquet"):
        read_rows(ready, _parquet({"person": person, "income": [1.0]}))


def test_what_is_no_parquet_fails_alone(ready: BuiltTask, tmp_path: Path):
    (tmp_path / "loan-lr.parquet").write_bytes(b"PAR1 nothing")
    entry = submit(Submission.of(str(tmp_path), "rows"), ready)
    assert entry is not None and entry.state == "failed" and "Parquet" in entry.why
