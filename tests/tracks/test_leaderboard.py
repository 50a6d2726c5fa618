"""The leaderboard: exact tests as the judge of chance, tiers, files that count for nothing, and the pages."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

from wayforward.cli.tracks import leaderboard
from wayforward.errors import DataError, FileFormatError
from wayforward.tracks import Store, Task, TrackEntry, board
from wayforward.tracks.entries import STATES
from wayforward.tracks.leaderboard import _served_by_chance, better, tiers

ONE = np.zeros(60, dtype=int)


def _pair(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Served people of two submissions that differ on a + b people, a of them the first one's."""
    first, second = np.zeros(60, dtype=bool), np.zeros(60, dtype=bool)
    first[:a], second[a : a + b] = True, True
    return first, second


@pytest.mark.parametrize(("a", "b"), [(9, 1), (5, 5), (7, 2)])
def test_coins_agree_with_the_exact_test(a: int, b: int):
    """With one cell the test is McNemar's, whose p is a sum of binomials."""
    n, low = a + b, min(a, b)
    exact = min(1.0, 2 * sum(comb(n, i) for i in range(low + 1)) / 2**n)
    difference, p = _served_by_chance(*_pair(a, b), ONE, 0)
    assert difference == pytest.approx((a - b) / 60) and p == pytest.approx(exact, abs=0.02)


def test_a_difference_within_chance_is_undecided():
    cost = np.full((2, 60), np.nan)
    few, many = np.stack(_pair(5, 1)), np.stack(_pair(20, 1))
    assert better(few, cost, ONE) == {} and better(many, cost, ONE) == {(0, 1): "served"}
    assert better(many[::-1], cost, ONE) == {(1, 0): "served"}


def test_where_shares_are_undecided_cost_decides():
    served = np.ones((2, 60), dtype=bool)
    rng = np.random.default_rng(0)
    cost = rng.uniform(1, 2, (2, 60))
    assert better(served, cost, ONE) == {}
    assert better(served, cost * [[1.0], [2.0]], ONE) == {(0, 1): "cost"}


def test_many_equal_submissions_stay_undecided():
    """Holm holds the error over all pairs: 8 submissions that serve by the same coin, 28 pairs, 12 draws."""
    wrong = 0
    for seed in range(12):
        served = np.random.default_rng(seed).random((8, 60)) < 0.7
        wrong += bool(better(served, np.full((8, 60), np.nan), ONE))
    assert wrong <= 2  # at 5 % a draw, more than 2 of 12 has a chance of 2 %


def test_groups_compare_the_one_served_worst():
    """The first serves everybody of one group and nobody of the other, the second a third of each: it is better."""
    cell = np.arange(60) % 2
    first = cell == 0
    second = np.arange(60) % 6 < 2
    nothing = np.full((2, 60), np.nan)
    assert first.mean() > second.mean()
    assert better(np.stack([first, second]), nothing, cell) == {(1, 0): "served"}
    assert better(np.stack([first, second]), nothing, ONE) == {}  # and over everybody nothing is decided


def test_tiers_peel_off_who_nobody_beats():
    assert tiers(4, {(0, 1): "", (0, 2): "", (1, 2): ""}) == [1, 2, 3, 1]
    assert tiers(3, {(0, 1): "", (1, 2): "", (2, 0): ""}) == [1, 1, 1]  # a circle shares a tier


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Four entries on a task of two, as they would be judged; the task's data are not touched."""
    found = Store(tmp_path / "entries")
    found.folder.mkdir()
    about = {"digest": "d", "model_digest": "m", "n": 60, "groups": []}
    (found.folder / "tasks.json").write_text(json.dumps({"loan-lr": about}))
    base = {"kind": "rows", "code": "c", "version": "0", "task": "loan-lr"}
    base |= {"task_digest": "d", "model_digest": "m"}
    rng = np.random.default_rng(0)
    for name, share, times in (("cheap", 1, 1), ("dear", 1, 2), ("rare", 0.3, 1), ("none", 0, 1)):
        served = np.arange(60) < 60 * share
        cost = np.where(served, times * rng.uniform(1, 1.1, 60), np.nan)
        state = "judged" if share else "failed"
        found.add(
            TrackEntry.made(
                base | {"name": name}, served, cost, state, "" if share else "it <b>broke</b>", 1.0
            )
        )
    return found


def test_the_board_is_computed_from_rows(store: Store):
    (track,) = board(store).tracks
    assert [(line.name, line.tier) for line in track.lines] == [
        ("cheap", 1), ("dear", 2), ("rare", 3), ("none", 4),
    ]  # fmt: skip
    assert track.lines[1].beaten == ("cheap",) and track.lines[3].beaten == ("cheap", "dear", "rare")
    assert track.lines[0].served.value == 1 and track.lines[3].notes == ("loan-lr: failed: it <b>broke</b>",)
    assert 1 <= track.lines[0].cost.value < 1.01 < 1.8 < track.lines[1].cost.value < 2.2


def test_an_entry_is_read_as_it_was_written(store: Store):
    entries, notes = store.entries()
    assert len(entries) == 4 and not notes
    for one in entries:
        assert TrackEntry.from_dict(json.loads(store.place(one.name, one.task).read_text())) == one


@pytest.mark.parametrize(
    "change",
    [
        {"served": "1" * 59}, {"served": "12" * 30}, {"cost": [1.0] * 59}, {"cost": "x"}, {"state": "won"},
        {"task_digest": "old"}, {"name": "other"}, {"task": "loan-rf"}, {"cost": [-1.0] * 60}, {"seconds": "1"},
    ],
)  # fmt: skip
def test_a_file_that_is_no_entry_counts_for_nothing_and_is_named(store: Store, change: dict[str, object]):
    """Somebody edits a file: it is left out with a line, and the others stay."""
    place = store.place("cheap", "loan-lr")
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    found = board(store)
    assert "cheap" not in [line.name for line in found.tracks[0].lines] and len(found.tracks[0].lines) == 3
    assert any("cheap/loan-lr" in note for note in found.notes)


def test_broken_json_counts_for_nothing(store: Store):
    for text in ("", "[1]", "{" * 2000, "NaN"):
        store.place("cheap", "loan-lr").write_text(text)
        assert len(store.entries()[0]) == 3
    about = {"digest": "d", "model_digest": "m", "n": 60, "groups": []}
    without = {key: value for key, value in about.items() if key != "digest"}
    odd = [about | {"digest": 1}, about | {"n": True, "groups": [""]}, about | {"n": 2, "groups": ["a", [1]]}]
    for broken in (
        [],
        {"loan-lr": without},
        *({"loan-lr": one} for one in odd),
        {"loan-lr": about | {"n": -1}},
    ):
        (store.folder / "tasks.json").write_text(json.dumps(broken))
        with pytest.raises(FileFormatError, match=r"tasks\.json"):
            store.entries()


def test_pages_hold_every_line_and_ask_nobody_for_anything(store: Store):
    found = board(store)
    page, text = found.html(), found.markdown()
    for name in ("cheap", "dear", "rare", "none"):
        assert name in page and f"\n| {name} |" in text
    assert "<script" not in page and not re.search(r"(src|href)=\"(?!#)", page) and "url(" not in page
    assert "<caption>" in page and 'lang="en"' in page and 'scope="col"' in page
    assert "<b>broke" not in page  # a line of a submission is no markup
    assert "undecided" in page and "undecided" in text


def test_only_what_is_missing_is_judged(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A second call judges nothing; a changed digest judges that one entry again."""
    asked: list[tuple[str, str]] = []

    def submit(one: object, ready: object, limits: object) -> TrackEntry:
        asked.append((one.name, ready.task.name))  # type: ignore[attr-defined]
        nobody = np.zeros(len(ready.x), dtype=bool)  # type: ignore[attr-defined]
        content = one.content(ready.task.name)  # type: ignore[attr-defined]
        about = {
            "name": one.name, "kind": "method", "code": one.digest(content), "version": "0", "task": ready.task.name,  # type: ignore[attr-defined]
            "task_digest": ready.digest, "model_digest": ready.model_digest,  # type: ignore[attr-defined]
        }  # fmt: skip
        return TrackEntry.made(about, nobody, np.full(len(nobody), np.nan), STATES[0], "", 0.0)

    monkeypatch.setattr("wayforward.cli.tracks.submit", submit)

    def made() -> None:
        leaderboard(
            store.folder, ["nice", "dice"], ["loan-lr"], markdown=tmp_path / "b.md", html=tmp_path / "b.html",
            render=False, seconds=9, memory=9,
        )  # fmt: skip

    made()
    assert asked == [("nice", "loan-lr"), ("dice", "loan-lr")]
    made()
    assert len(asked) == 2
    entry = TrackEntry.from_dict(json.loads(store.place("dice", "loan-lr").read_text()))
    store.add(replace(entry, code="older"))
    made()
    assert asked[2:] == [("dice", "loan-lr")]
    assert (tmp_path / "b.md").read_text().startswith("# Leaderboard")


def test_tasks_without_their_files_are_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr("wayforward.data.available", lambda name: name == "loan")
    assert "WAYFORWARD_DATA" in Task("x", "contrastive", "german:benchmark", "lr").absent
    with pytest.raises(DataError, match="None of these tasks"):
        leaderboard(
            tmp_path, ["nice"], ["german-rf"], markdown=None, html=None, render=False, seconds=9, memory=9
        )
