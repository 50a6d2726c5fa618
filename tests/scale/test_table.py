"""Tables of any size: the bits of one call, whatever the shards and workers; on from where it stopped."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import wayforward as wf
from wayforward.errors import DataError, FileFormatError, MethodError, PreferencesError, WorkerError
from wayforward.methods import method
from wayforward.plain_files import written
from wayforward.recourse import Recourse
from wayforward.scale import Answers, ShardSettings, answer_shard, evaluate_table
from wayforward.testing import case

SAME = ("x", "action", "after", "cost", "plain_cost", "score", "score_before", "chance")
N = 45


@pytest.fixture(scope="module")
def fitted() -> Any:
    return method("local-search").fit(case("forest", "independent", 0, N).problem)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return case("forest", "independent", 0, N).x


@pytest.fixture(scope="module")
def frame(fitted: Any, x: np.ndarray) -> pd.DataFrame:
    """People with a name of their own and a column that nobody asked for."""
    table = fitted.problem_.schema.decode(x, like="pandas")
    return table.assign(customer=[f"c{i}" for i in range(len(x))], diary="private")


@pytest.fixture(scope="module")
def whole(fitted: Any, x: np.ndarray) -> Recourse:
    return fitted.recommend(x, 2, seed=4).rounded


def _parts(answers: Answers) -> Recourse:
    return Recourse.concat(list(answers.parts()))


def _same(answers: Answers, whole: Recourse) -> None:
    got = _parts(answers)
    for name in SAME:
        np.testing.assert_array_equal(getattr(got, name), getattr(whole, name), err_msg=name)
    assert (got.outcome == whole.outcome).all()


def _files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((folder / "answers").iterdir())}


def _written(frame: pd.DataFrame, kind: str, folder: Path) -> Path:
    """The people as a file, or a folder, of one kind."""
    path = folder / f"people.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "tsv.gz":
        with gzip.open(path, "wt") as stream:
            frame.to_csv(stream, index=False, sep="\t")
    elif kind == "parquet":
        frame.to_parquet(path, index=False)
    else:
        path.mkdir()
        for i, start in enumerate(range(0, len(frame), 13)):
            frame.iloc[start : start + 13].to_parquet(path / f"{i}.parquet", index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv.gz", "parquet", "folder"])
def test_every_kind_of_table_gives_the_bits_of_one_call(
    kind: str, fitted: Any, frame: pd.DataFrame, whole: Recourse, tmp_path: Path
) -> None:
    """Shards of another size than the blocks of the table; the id goes along, other columns stay behind."""
    source = _written(frame, kind, tmp_path)
    done: list[tuple[int, int | None]] = []
    answers = wf.recommend_table(
        fitted, source, tmp_path / "out", k=2, seed=4, id="customer", rows_per_shard=16,
        progress=lambda n, of: done.append((n, of)),
    )  # fmt: skip
    _same(answers, whole)
    assert done == [(16, done[0][1]), (32, done[0][1]), (N, done[0][1])]
    assert done[0][1] == (None if "sv" in kind else N)
    table = pd.read_parquet(tmp_path / "out" / "answers")
    assert table["person"].tolist() == np.repeat(np.arange(N), 2).tolist()
    assert table["customer"].tolist() == [f"c{i}" for i in range(N) for _ in range(2)]
    assert "diary" not in table and not (tmp_path / "out" / "people").exists()
    assert answers.manifest["finished"] and answers.manifest["people"] == N and answers.problems() == []
    assert answers.counts()["outcomes"] == whole.outcomes()
    mine = whole.to_frame("pandas")
    for name in ("after.housing", "before.phone", "action.savings"):
        assert table[name].isna().tolist() == mine[name].isna().tolist()
        assert table[name].dropna().tolist() == mine[name].dropna().tolist()


def test_every_kind_of_worker_leaves_the_same_files(fitted: Any, frame: pd.DataFrame, tmp_path: Path) -> None:
    """To the last byte; with room, which hangs on the widths of the table that stays behind."""
    one = wf.recommend_table(fitted, frame, tmp_path / "one", k=2, seed=4, room=0.05, rows_per_shard=12)
    for on in ("threads", "processes"):
        two = wf.recommend_table(
            fitted, frame, tmp_path / on, k=2, seed=4, room=0.05, rows_per_shard=12, workers=2, on=on
        )  # type: ignore[arg-type]
        assert _files(two.folder) == _files(one.folder)
        assert two.manifest["hash"] == one.manifest["hash"]


def test_a_run_goes_on_with_the_shards_that_are_missing(
    fitted: Any, frame: pd.DataFrame, whole: Recourse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interruption, after a file is lost, after an entry is broken; what is there is not answered again."""
    from wayforward.scale import run

    answered: list[int] = []
    plain = run.answer_shard

    def counted(*args: Any, shard: int, **given: Any) -> Any:
        if shard == 2 and not answered.count(2):
            answered.append(2)
            raise KeyboardInterrupt
        answered.append(shard)
        return plain(*args, shard=shard, **given)

    monkeypatch.setattr(run, "answer_shard", counted)

    def go() -> Answers:
        return wf.recommend_table(fitted, frame, tmp_path / "out", k=2, seed=4, rows_per_shard=12)

    with pytest.raises(KeyboardInterrupt):
        go()
    assert not Answers.open(tmp_path / "out").manifest["finished"]
    answers = go()
    assert answered == [0, 1, 2, 2, 3]
    before = _files(answers.folder)
    answers.file(1).unlink()
    (answers.folder / "entries" / "part-000003.json").write_text("{")
    _same(go(), whole)
    assert answered[5:] == [1, 3] and _files(answers.folder) == before
    go()
    assert len(answered) == 7


def test_what_a_killed_run_left_half_stops_none_and_does_not_stay(
    fitted: Any, frame: pd.DataFrame, whole: Recourse, tmp_path: Path
) -> None:
    """Killed as it began it found "no folder of answers"; plans of a killed shard stayed beside the others."""
    out = tmp_path / "answers"
    out.mkdir()
    ask: dict[str, Any] = {"k": 2, "seed": 4, "rows_per_shard": 25}
    (out / ".manifest.de33103f215982be.json").write_text("{")  # as `written` names it
    wf.recommend_table(fitted, frame, out, **ask)
    half = [
        out / "answers/.part-000001.57bb77558cb8815c.parquet",
        out / "entries/.part-000000.57bb77558cb8815c.json",
    ]
    own = [out / "answers/.part-000001.mine.parquet", out / "entries/.mine.57bb77558cb8815c.json"]
    for file in half + own:
        file.write_text("half")
    with written(out / "entries/part-000001.json") as now:
        now.write_text((out / "entries/part-000001.json").read_text())
        _same(
            wf.recommend_table(fitted, frame, out, **ask), whole
        )  # takes nothing away that is being written
    assert not any(file.exists() for file in half) and all(file.exists() for file in own)


def test_another_question_is_refused_and_what_differs_is_named(
    fitted: Any, frame: pd.DataFrame, tmp_path: Path
) -> None:
    """Nothing is overwritten before somebody says so."""
    out = tmp_path / "out"
    wf.recommend_table(fitted, frame, out, seed=4)
    with pytest.raises(FileFormatError, match=r"differs: seed \(4, now 5\)\..*fresh=True \(--fresh\)"):
        wf.recommend_table(fitted, frame, out, seed=5)
    with pytest.raises(FileFormatError, match="differs: the people"):
        wf.recommend_table(fitted, frame.iloc[:-1], out, seed=4)
    other = method("local-search").fit(case("linear", "independent", 0, N).problem)
    with pytest.raises(FileFormatError, match="differs: the model, the observed people"):
        wf.recommend_table(other, frame, out, seed=4)
    quicker = method("local-search", grid=4).fit(fitted.problem_)
    with pytest.raises(FileFormatError, match="differs: the settings"):
        wf.recommend_table(quicker, frame, out, seed=4)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["question"]["versions"]["numpy"] = "0.1"
    (out / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FileFormatError, match=r"the version of numpy \(0.1, now "):
        wf.recommend_table(fitted, frame, out, seed=4)
    again = wf.recommend_table(fitted, frame, out, seed=5, fresh=True)
    assert again.manifest["question"]["seed"] == 5
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    for fresh in (False, True):
        with pytest.raises(FileFormatError, match="is no folder of answers"):
            wf.recommend_table(fitted, frame, tmp_path / "mine", fresh=fresh)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "dear"


def test_an_odd_row_never_stops_the_others(
    fitted: Any, frame: pd.DataFrame, whole: Recourse, tmp_path: Path
) -> None:
    """Set aside with the reason, which shows the value at fault and nothing else of the person."""
    path = tmp_path / "people.csv"
    lines = frame.to_csv(index=False).splitlines()
    names = lines[0].split(",")

    def spoil(i: int, name: str, value: str) -> None:
        cells = lines[1 + i].split(",")
        cells[names.index(name)] = value
        lines[1 + i] = ",".join(cells)

    spoil(3, "income", "lots")
    spoil(5, "housing", "castle")
    spoil(20, "debt", "")
    spoil(44, "savings", "1e9")
    lines[1 + 30] = "1,2,3"
    path.write_text("\n".join([*lines, "", ""]))
    answers = wf.recommend_table(
        fitted, path, tmp_path / "out", k=2, seed=4, id="customer", rows_per_shard=16
    )
    odd = {row["person"]: row for row in answers.problems()}
    assert sorted(odd) == [3, 5, 20, 30, 44]
    assert "'lots'" in odd[3]["reason"] and "'income'" in odd[3]["reason"] and odd[3]["id"] == "c3"
    assert "'castle'" in odd[5]["reason"] and "in row" not in odd[5]["reason"]
    assert "missing value" in odd[20]["reason"]
    assert odd[30]["reason"] == f"This line has 3 values; the table has {len(names)} columns."
    assert "outside 0 to 50000 EUR" in odd[44]["reason"]
    assert not any("private" in row["reason"] for row in odd.values())
    others = np.array([i for i in range(N) if i not in odd])
    got, table = _parts(answers), pd.read_parquet(answers.folder / "answers")
    assert table["person"][::2].tolist() == list(range(N))
    assert np.flatnonzero(~got.readable).tolist() == sorted(odd) and got.origin is not None
    assert [got.reasons[i] for i in sorted(odd)] == [odd[i]["reason"] for i in sorted(odd)]
    named = np.delete(np.arange(N), 30)  # of a line with too few values nothing is known
    assert got.origin.values[0][named].tolist() == frame["customer"].iloc[named].tolist()
    for name in SAME:
        np.testing.assert_array_equal(getattr(got[others], name), getattr(whole[others], name), err_msg=name)
    assert answers.counts()["outcomes"]["NOT_ASKED"] == 5
    judged, at_once = evaluate_table(answers, fitted.problem_), wf.evaluate(got, fitted.problem_)
    for name in ("usable", "usable_read", "not_asked", "cost"):
        assert judged[name].value == pytest.approx(at_once[name].value) and judged[name].n == at_once[name].n
    assert judged.outcomes == at_once.outcomes
    assert answers.manifest["problems"] == 5


def test_a_shard_of_odd_rows_only_is_no_trouble(fitted: Any, frame: pd.DataFrame, tmp_path: Path) -> None:
    """Everybody keeps a row, and the folder reads as one table."""
    bad = frame.assign(income=["?"] * 10 + frame["income"].tolist()[10:])
    with pytest.raises(DataError, match="holds values of several types"):
        wf.recommend_table(fitted, bad, tmp_path / "out")
    bad.to_csv(tmp_path / "bad.csv", index=False)
    answers = wf.recommend_table(fitted, tmp_path / "bad.csv", tmp_path / "out", rows_per_shard=10)
    got = _parts(answers)
    assert len(answers.problems()) == 10 and got.n == N == len(pd.read_parquet(answers.folder / "answers"))
    judged = evaluate_table(answers, fitted.problem_)
    assert (judged.n, judged["not_asked"].value, judged.outcomes["NOT_ASKED"]) == (N, 10 / N, 10)
    assert judged["usable"].n == judged["usable_read"].n + 10


def test_wishes_go_with_their_people(fitted: Any, frame: pd.DataFrame, x: np.ndarray, tmp_path: Path) -> None:
    """Row by row, over the borders of shards; too few or too many rows are refused."""
    wish = wf.Preferences.none(fitted.problem_.schema, N).freeze("savings", who=np.arange(0, N, 3))
    answers = wf.recommend_table(fitted, frame, tmp_path / "out", seed=4, preferences=wish, rows_per_shard=16)
    _same(answers, fitted.recommend(x, 1, seed=4, preferences=wish).rounded)
    for n, where in ((N - 2, "few"), (N + 2, "many")):
        wrong = wf.Preferences.none(fitted.problem_.schema, n)
        with pytest.raises(PreferencesError, match=f"for {n} people; there are"):
            wf.recommend_table(fitted, frame, tmp_path / where, preferences=wrong)


def test_a_compact_table_leaves_out_what_follows_from_the_people(
    fitted: Any, frame: pd.DataFrame, whole: Recourse, tmp_path: Path
) -> None:
    """What somebody sets stays; it cannot be read back as a Recourse."""
    answers = wf.recommend_table(fitted, frame, tmp_path / "out", k=2, seed=4, form="compact")
    table = pd.read_parquet(answers.folder / "answers")
    assert not any(name.startswith(("before.", "after.")) for name in table) and "action.region" not in table
    at = fitted.problem_.schema.index("income")
    np.testing.assert_array_equal(table["action.income"].to_numpy(), whole.action[..., at].ravel())
    with pytest.raises(FileFormatError, match="These answers are compact"):
        list(answers.parts())


def test_a_shard_is_one_function_of_files(
    fitted: Any, frame: pd.DataFrame, whole: Recourse, tmp_path: Path
) -> None:
    """What Dask, Spark and others call: Parquet in, Parquet and an entry out."""
    frame.iloc[16:32].to_parquet(tmp_path / "some.parquet")
    entry = answer_shard(
        fitted,
        tmp_path / "some.parquet",
        tmp_path / "out",
        ShardSettings(k=2, seed=4, id="customer"),
        shard=1,
        first=16,
    )
    assert (entry["shard"], entry["people"], entry["problems"]) == (1, 16, 0)
    assert json.loads((tmp_path / "out" / "entries" / "part-000001.json").read_text()) == entry
    table = pd.read_parquet(tmp_path / "out" / "answers" / "part-000001.parquet")
    assert table["person"].tolist() == np.repeat(np.arange(16, 32), 2).tolist()
    np.testing.assert_array_equal(table["cost"].to_numpy().reshape(-1, 2), whole[16:32].cost)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"people": "nobody.csv"}, DataError, "There is no file"),
        ({"people": 7}, DataError, "got int"),
        ({"rows_per_shard": 0}, DataError, "rows_per_shard=0"),
        ({"form": "wide"}, DataError, "form='wide' is not known"),
        ({"id": "custom"}, DataError, "no column 'custom'.*Did you mean 'customer'"),
        ({"id": "income"}, DataError, "is a column that answers have anyway"),
        ({"k": 0}, MethodError, "k=0 options"),
        ({"workers": 2, "on": "spark"}, WorkerError, "on='spark' is not known"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_work(
    given: dict[str, Any],
    error: type[Exception],
    words: str,
    fitted: Any,
    frame: pd.DataFrame,
    tmp_path: Path,
) -> None:
    """And nothing is left in the folder."""
    with pytest.raises(error, match=words):
        wf.recommend_table(fitted, given.pop("people", frame), tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_broken_tables_are_refused_with_their_name(fitted: Any, frame: pd.DataFrame, tmp_path: Path) -> None:
    """Absent columns, double columns, no rows, no table, other columns in the same folder."""
    cases = {
        "short.csv": ("age\n1\n", DataError, "'short.csv' has no column 'income'"),
        "double.csv": ("age,age\n1,2\n", DataError, "the column 'age' twice"),
        "empty.csv": ("", DataError, "'empty.csv' is empty"),
        "broken.parquet": ("PAR1", FileFormatError, "'broken.parquet' cannot be read"),
        "people.xlsx": ("x", FileFormatError, "'people.xlsx' is not read"),
        "none.csv": (",".join(frame.columns) + "\n", DataError, "'none.csv' has no rows"),
    }
    for name, (text, error, words) in cases.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(error, match=words):
            wf.recommend_table(fitted, tmp_path / name, tmp_path / f"out-{name}")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(DataError, match="holds no .parquet file"):
        wf.recommend_table(fitted, folder, tmp_path / "out")
    frame.to_parquet(folder / "a.parquet")
    frame[["age"]].to_parquet(folder / "b.parquet")
    with pytest.raises(DataError, match=r"'b.parquet' has other columns than 'a.parquet'"):
        wf.recommend_table(fitted, folder, tmp_path / "out")
    with pytest.raises(FileFormatError, match="holds no manifest"):
        Answers.open(folder)
