"""Full disks, pipes for files, planted links, strangers' folders, edited answers and texts that a terminal obeys."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import unicodedata
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import wayforward as wf
from wayforward import tensor_files
from wayforward.cli.console import table, tell
from wayforward.cli.parts import Parts, forget
from wayforward.errors import FileFormatError, WayforwardError, WriteError
from wayforward.impact.disclosure import Ledger
from wayforward.impact.society import History, Scenario, simulate
from wayforward.people.dialogue import Dialogue
from wayforward.plain_files import read_json, read_text, write_bytes, write_text
from wayforward.recourse import Outcome
from wayforward.schema import SchemaWarning
from wayforward.testing import case
from wayforward.world.files import load_world

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402

# -- one writer ----------------------------------------------------------------------------------------------


@contextmanager
def full_disk(room=10):
    """No file grows beyond so many bytes: a fault of the system itself, as a full disk is."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    quiet = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
        signal.signal(signal.SIGXFSZ, quiet)


class Question:
    """A problem with hostile words everywhere, and two people who are refused."""

    WORDS = ("rent", "[/red]", "\x1b[31mown", "\u202eeerf", "a\nDear Sir, pay", "\x9b2J\ufeff")

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.table = pd.DataFrame(
            {"inc\u202eome": rng.uniform(0, 9, 300), "home": rng.choice(self.WORDS, 300)}
        )
        y = (self.table.iloc[:, 0] + 3 * (self.table.home == self.WORDS[2]) > 6).astype(int)
        self.schema = wf.Schema.infer(self.table)
        income = self.schema.names[0]
        self.schema = self.schema.revise({income: {"unit": "E\x1b]0;UR", "description": "\u2066hidden\x07"}})
        encoder = OneHotEncoder()
        rows = np.column_stack([self.table.iloc[:, 0], encoder.fit_transform(self.table[["home"]]).toarray()])
        model = LogisticRegression().fit(rows, y)

        def yes(frame):
            rows = np.column_stack([frame.iloc[:, 0], encoder.transform(frame[["home"]]).toarray()])
            return model.predict_proba(rows)[:, 1]

        wrapped = wf.wrap(yes, self.schema, takes="frame", frame="pandas")
        self.problem = wf.Problem(self.schema, wrapped, wf.Target(1), data=self.table)
        low = self.table[(y == 0)].iloc[:2]
        self.answer = wf.recommend(self.problem, low, k=2)


@pytest.fixture(scope="module")
def question():
    return Question()


def tree():
    from sklearn.tree import DecisionTreeClassifier

    x = np.random.default_rng(0).normal(size=(100, 2))
    return DecisionTreeClassifier().fit(x, x[:, 0] > 0)


def booster(library, name):
    module = pytest.importorskip(library)
    x = np.random.default_rng(0).normal(size=(100, 2))
    quiet = {"verbose": -1} if library == "lightgbm" else {}
    return getattr(module, name)(n_estimators=3, n_jobs=1, **quiet).fit(x, x[:, 0] > 0)


def model_to(model):
    return lambda q, path: wf.model.save(model(), path)


def audit_page(q, path):
    from wayforward.answers import report

    return report(q.problem, q.answer, path)


def figure(q, path):
    from matplotlib.figure import Figure

    from wayforward.cli.console import save_figure

    return save_figure(Figure(), path)


def csv_file(q, path):
    from wayforward.answers import plans_table, write_csv

    return write_csv(plans_table(q.answer), path)


WRITERS = {
    "answers.json": lambda q, path: q.answer.save(path),
    "answers.parquet": lambda q, path: q.answer.save(path),
    "schema.yaml": lambda q, path: q.schema.to_yaml(path),
    "wishes.json": lambda q, path: wf.Preferences.none(q.schema, 2).save(path),
    "table.csv": csv_file,
    "report.html": audit_page,
    "figure.png": figure,
    "tensors.safetensors": lambda q, path: tensor_files.write(path, {"a": np.zeros(99)}, {}),
    "model.skops": model_to(tree),
    "model.ubj": model_to(lambda: booster("xgboost", "XGBClassifier")),
    "model.txt": model_to(lambda: booster("lightgbm", "LGBMClassifier")),
    "text.txt": lambda q, path: write_text(path, "x" * 99),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_save_that_fails_loses_nothing(question, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"as it was")
    with (
        full_disk(),
        pytest.raises(WriteError, match=f"'{name}' cannot be written: .*What was there before is as it was"),
    ):
        WRITERS[name](question, path)
    assert path.read_bytes() == b"as it was" and os.listdir(tmp_path) == [name]
    WRITERS[name](question, path)
    assert path.read_bytes() != b"as it was" and os.listdir(tmp_path) == [name]


def test_a_command_on_a_full_disk_has_a_code_of_its_own(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from wayforward.cli.app import app

    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": range(30), "y": [0, 1] * 15}).to_csv("people.csv", index=False)
    with full_disk():
        got = CliRunner().invoke(
            app, ["schema", "infer", "people.csv", "--label", "y", "--out", "schema.yaml"]
        )
    assert got.exit_code == 4 and "'schema.yaml' cannot be written: File too large" in got.output
    assert os.listdir(tmp_path) == ["people.csv"]


def test_a_file_cannot_ask_for_room_for_options_that_nobody_has(question, tmp_path):
    """Room was made for as many as the file says, before they were counted."""
    path = tmp_path / "answers.json"
    question.answer.save(path)
    stored = json.loads(path.read_text())
    path.write_text(json.dumps(stored | {"k": 2**40}))
    with pytest.raises(FileFormatError, match=r"answers\.json"):
        wf.Recourse.load(path)


def test_answers_of_two_methods_joined_name_both(question):
    other = wf.recommend(question.problem, question.answer.x, method="growing-spheres", k=question.answer.k)
    got = wf.Recourse.concat([question.answer, other, question.answer])
    both = f"{question.answer.method}, growing-spheres"
    assert got.method == got.meta["method"] == both and "parameters" not in got.meta
    alike = wf.Recourse.concat([question.answer, question.answer])
    assert alike.meta["parameters"] == question.answer.meta["parameters"]


LONG = "x" * 300
WITH_TABLE = ("--train", "people.csv", "--label", "y", "--favourable", "1", "--n", "1", "--model", "lr")


def command(*words):
    """The exit code and the words of a command."""
    from typer.testing import CliRunner

    from wayforward.cli.app import app

    got = CliRunner().invoke(app, list(words))
    return got.exit_code, got.output


@pytest.mark.parametrize(
    "words",
    [
        ("schema", "infer", f"{LONG}.csv"),
        ("evaluate", f"{LONG}.json"),
        ("study", "export", LONG, "--out", "there"),
        ("recommend", *WITH_TABLE, "--people", f"{LONG}.csv"),
        ("recommend", *WITH_TABLE, "--preferences", f"{LONG}.json"),
        ("recommend", *WITH_TABLE, "--world", f"{LONG}.yaml"),
        ("recommend", *WITH_TABLE, "--out", f"{LONG}.json"),
    ],
    ids=lambda words: "-".join(word for word in words[:1] + words[-2:-1]),
)
def test_a_name_too_long_for_a_path_is_said_so(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": range(30), "y": [0, 1] * 15}).to_csv("people.csv", index=False)
    code, said = command(*words)
    assert code == 2 and "too long" in said and "Traceback" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "large.json"),
        ("explain", "large.json"),
        ("recommend", *WITH_TABLE, "--preferences", "large.json"),
        ("recommend", *WITH_TABLE, "--preferences", "large.csv"),
        ("recommend", *WITH_TABLE, "--world", "large.yaml"),
        ("recommend", *WITH_TABLE, "--world", "large.safetensors"),
    ],
    ids=lambda words: words[0] + words[-1].removeprefix("large"),
)
def test_a_file_larger_than_the_memory_is_named(tmp_path, monkeypatch, words):
    """Forty gigabytes of zeros that take no room on the disk: nothing reads them all."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": range(30), "y": [0, 1] * 15}).to_csv("people.csv", index=False)
    with open(words[-1], "wb") as file:
        file.write(b"person,feature,high\n" if words[-1].endswith("csv") else b"{")
        file.truncate(40 * 2**30)
    code, said = command(*words)
    assert code == 2 and words[-1] in said.replace("\n", " ")


def test_nobodys_link_is_followed(tmp_path, question):
    """Names beside the output that could be foreseen led wherever somebody had made them lead."""
    treasure = tmp_path / "treasure"
    treasure.write_text("mine")
    for name in ("out.half.json", "out.json.half", f"out.json.{os.getpid()}.half", "out.json.part"):
        (tmp_path / name).symlink_to(treasure)
    question.answer.save(tmp_path / "out.json")
    write_text(tmp_path / "out.json", "x")
    assert treasure.read_text() == "mine"


def test_a_device_that_is_full_is_a_write_error():
    with pytest.raises(WriteError, match="'full' cannot be written: No space left on device.*Make room"):
        write_bytes("/dev/full", b"x" * 9)


# -- what is no file -----------------------------------------------------------------------------------------


NO_PATHS = {
    "a zero byte": "a\0",
    "half a letter": "a\ud800",
    "bytes": b"a",
    "too long": "9" * 300,
    "a number": 5,
}
READERS = {
    "answers": lambda q, path: wf.Recourse.load(path),
    "a schema": lambda q, path: wf.Schema.from_yaml(path),
    "wishes": lambda q, path: wf.Preferences.load(path, q.schema),
    "a table of wishes": lambda q, path: wf.Preferences.from_table(q.schema, path),
    "a model": lambda q, path: wf.model.load(path, q.schema),
    "a table": lambda q, path: wf.recommend_table(q.problem, path, "out"),
    "a folder": lambda q, path: wf.recommend_table(q.problem, q.table, path),
    "a data set": lambda q, path: wf.data.load("gmsc", path=path),
    "a ledger": lambda q, path: Ledger(path, per_client=3),
    "a dialogue": lambda q, path: Dialogue.load(path, q.problem),
    "a dialogue that is kept": lambda q, path: Dialogue(q.problem, q.answer.x[0], elicitor=None, file=path),
    "a scenario": lambda q, path: Scenario.from_yaml(path),
    "a history": lambda q, path: History.load(path),
    "a world": lambda q, path: load_world(path),
    "tensors": lambda q, path: tensor_files.header(path),
}
WAYS = {name: write for name, write in WRITERS.items() if name not in ("model.ubj", "model.txt")} | READERS


@pytest.mark.parametrize("what", NO_PATHS)
@pytest.mark.parametrize("way", WAYS)
def test_what_can_be_no_path_is_refused(question, tmp_path, monkeypatch, way, what):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WayforwardError):
        WAYS[way](question, NO_PATHS[what])
    assert not list(tmp_path.rglob("*")), "nothing is made on the way"


@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_pipes_and_devices_are_no_files(tmp_path, kind):
    """A pipe waited for ever, and /dev/zero filled the memory."""
    path = tmp_path / "file.json"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    schema = wf.Schema((wf.Feature(name="a", kind="real", low=0, high=1),))
    for read in (
        lambda: read_text(path, "plan"),
        lambda: wf.Schema.from_yaml(path),
        lambda: wf.SCM.from_yaml(path),
        lambda: wf.Recourse.load(path),
        lambda: wf.Preferences.load(path, schema),
        lambda: wf.Preferences.from_table(schema, path),
        lambda: wf.model.load(path, schema),
    ):
        with pytest.raises(FileFormatError, match=r"file\.json"):
            read()
    from wayforward.data.user_tables import read_table
    from wayforward.scale.sources import open_source
    from wayforward.tracks.submission import Submission

    table = path.with_suffix(".csv")
    path.rename(table)
    code = path.with_suffix(".py")
    code.symlink_to(table)
    for look in (
        lambda: read_table(table),
        lambda: wf.Recourse.load(table),
        lambda: open_source(table),
        lambda: wf.world.CausalFlow.load(table),
        lambda: Submission("entry", str(code)),
    ):
        with pytest.raises(WayforwardError, match="is a pipe or a device, and no file"):
            look()
    table.rename(path)
    with pytest.raises(OSError, match="no file"):
        read_json(path)
    with pytest.raises(ValueError, match="no file"):
        tensor_files.read(path)


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path, question):
    """One that somebody reads gets all of it."""
    pipe = tmp_path / "out.json"
    os.mkfifo(pipe)
    with pytest.raises(WriteError, match=r"'out\.json' cannot be written: Broken pipe"):
        question.answer.save(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        while True:
            with suppress(WriteError):  # until it has begun
                write_text(pipe, "all of it")
                break
        assert reader.communicate()[0] == "all of it"
    assert pipe.is_fifo()


# -- parts and answers ---------------------------------------------------------------------------------------


def strangers(folder):
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    return folder / "thesis.txt"


def test_a_strangers_folder_is_left_alone(tmp_path):
    thesis = strangers(tmp_path / "out.json.parts")
    with pytest.raises(FileFormatError, match="'out.json.parts' is there already and holds something else"):
        Parts(tmp_path / "out.json.parts", "key", 3)
    forget(tmp_path / "out.json.parts")
    assert thesis.read_text() == "years of work"
    inside = strangers(tmp_path / "elsewhere")
    (tmp_path / "o.json.parts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileFormatError, match="something else"):
        Parts(tmp_path / "o.json.parts", "key", 3)
    assert inside.exists()


def test_of_two_writers_on_one_output_one_says_so(tmp_path):
    folder = tmp_path / "out.json.parts"
    with (
        Parts(folder, "key", 3),
        pytest.raises(FileFormatError, match="Another command writes to 'out.json' at this moment. Wait"),
    ):
        Parts(folder, "another key", 3)
    with Parts(folder, "another key", 3):  # the first is done
        pass
    forget(folder)
    assert not folder.exists()


def edited(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def raise_income(data):
    data["after"][0][0][0] = data["action"][0][0][0] = 8.9


EDITS = {
    "an income": raise_income,
    "an outcome": lambda data: data["outcome"][0].__setitem__(1, "NOT_FOUND"),
    "a cost": lambda data: data["cost"][0].__setitem__(0, 0.001),
    "a score": lambda data: data["score"][1].__setitem__(0, 0.99),
    "the person": lambda data: data["x"][0].__setitem__(0, 5.5),
    "the method": lambda data: data.__setitem__("method", "face"),
    "the seed": lambda data: data["meta"].__setitem__("seed", 7),
    "the schema": lambda data: data["schema"]["features"][1].__setitem__("actionability", "immutable"),
    "that it was not checked": lambda data: data.__setitem__("unchecked", True),
    "the checksum": lambda data: data.__setitem__("sha256", "0" * 64),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_answer_that_was_edited_is_refused(question, tmp_path, what):
    path = question.answer.save(tmp_path / "a.json", exact=True)
    np.testing.assert_array_equal(wf.Recourse.load(path).after, question.answer.after)
    edited(path, EDITS[what])
    with pytest.raises(FileFormatError, match="'a.json' was changed after it was saved"):
        wf.Recourse.load(path)


@pytest.mark.parametrize("name", ["before.income", "seconds", "score_before", "reason", "id.name"])
def test_what_stands_beside_a_later_option_is_read_too(tmp_path, name):
    """Only what stood beside a person's first option was; other tools read the others."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    it = case("linear", "independent", 0, 8)
    table = it.problem.schema.decode(it.x)
    table["name"] = [f"p{i}" for i in range(len(table))]
    table.loc[0, it.problem.schema.names[0]] = 10**9  # nobody's, with a reason
    path = tmp_path / "a.parquet"
    with pytest.warns(UserWarning):
        wf.recommend(it.problem, table, method="local-search", k=3, id="name").save(path)
    stored = parquet.read_table(path)
    column = name.replace("income", it.problem.schema.names[0])
    values = stored.column(column).to_pylist()
    assert wf.Recourse.load(path).k == 3
    values[4] = "x" if isinstance(values[0], str) else 1.5
    at = stored.column_names.index(column)
    parquet.write_table(stored.set_column(at, column, pa.array(values)), path)
    with pytest.raises(FileFormatError, match="'a.parquet' was changed after it was saved"):
        wf.Recourse.load(path)


@pytest.mark.parametrize("name", ["person", "option"])
def test_a_table_of_answers_that_names_other_people_is_refused(question, tmp_path, name):
    """Other tools read whose plan a row is in these columns, which no checksum covered."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    question.answer.save(path)
    stored = parquet.read_table(path)
    at, values = stored.column_names.index(name), stored.column(name).to_pylist()
    parquet.write_table(stored.set_column(at, name, pa.array(values[::-1])), path)
    with pytest.raises(FileFormatError, match="'a.parquet' was changed after it was saved"):
        wf.Recourse.load(path)


def test_an_edited_part_is_answered_again(question, tmp_path):
    x = question.answer.x
    with Parts(tmp_path / "o.parts", "key", 2) as parts:
        parts.save(0, question.answer)
        assert parts.load(0, x) is not None
        (part,) = (tmp_path / "o.parts").glob("people-*")
        parquet = pytest.importorskip("pyarrow.parquet")
        stored = parquet.read_table(part)
        at = stored.column_names.index("score")
        parquet.write_table(stored.set_column(at, "score", [[0.99] * stored.num_rows]), part)
        assert parts.load(0, x) is None


def test_without_a_checksum_nothing_is_spoken_as_fact(question, tmp_path):
    """A file of an earlier version, edited: it says that it was not checked, and a problem says what holds."""
    path = question.answer.save(tmp_path / "a.json", exact=True)

    def spoil(data):
        del data["sha256"]
        data["after"][0][0] = data["action"][0][0] = list(data["x"][0])  # nothing is changed, and it is a yes
        data["score"][0][0] = 0.99

    edited(path, spoil)
    got = wf.Recourse.load(path)
    assert got.unchecked and got.explain(0).startswith("This comes from a file and was not checked again")
    again = wf.Recourse.load(got.save(tmp_path / "b.json", exact=True))
    assert again.unchecked  # saving it again makes it no truer
    for judged in (again.judged_by(question.problem), wf.Recourse.load(path, problem=question.problem)):
        assert not judged.unchecked and "not checked" not in judged.explain(0)
        assert (judged.score[judged.found] >= 0.5).all() and judged.n == 2
        np.testing.assert_array_equal(judged.after[1], question.answer.after[1])
        assert not (judged.found[0] & (judged.after[0] == judged.x[0]).all(-1)).any()
    assert (again.judged_by(question.problem).outcome[0] != Outcome.ACCEPTED).all()


@pytest.mark.parametrize("place", ["/", ".", ".."])
def test_a_folder_is_no_place_for_a_file(question, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WriteError, match="cannot be written: Is a directory"):
        audit_page(question, place)


def test_a_checkpoint_where_no_folder_can_be_is_told_as_what_cannot_be_written(tmp_path):
    """A raw error of the system before, and exit code 1: "nobody got an option"."""
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="cannot be made: Not a directory"):
        simulate(Scenario(rounds=1, people=200, measure=0), checkpoint=tmp_path / "file" / "in" / "a.npz")


@pytest.mark.parametrize(("name", "value"), [("seconds", 0.1), ("seconds", []), ("score_before", 0.1)])
def test_another_number_of_numbers_than_people_is_refused(question, tmp_path, name, value):
    path = question.answer.save(tmp_path / "a.json", exact=True)

    def spoil(data):
        del data["sha256"]
        data[name] = value

    edited(path, spoil)
    with pytest.raises(FileFormatError, match="'a.json' does not hold a recourse"):
        wf.Recourse.load(path)


@pytest.mark.parametrize("error", ["ArrowNotImplementedError", "ArrowException"])
def test_a_parquet_file_that_pyarrow_does_not_know_is_refused(question, tmp_path, monkeypatch, error):
    arrow = pytest.importorskip("pyarrow")
    path = question.answer.save(tmp_path / "a.parquet", exact=True)

    def unknown(_):
        raise getattr(arrow, error)("Integers not in cstdint are not implemented")

    monkeypatch.setattr("pyarrow.parquet.read_table", unknown)
    with pytest.raises(FileFormatError, match=rf"'a.parquet' does not hold a recourse \({error}\)"):
        wf.Recourse.load(path)


@pytest.mark.parametrize("where", ["x", "action", "after"])
@pytest.mark.parametrize("level", [99, -1, 0.5])
def test_a_level_that_is_none_is_refused_without_a_checksum_too(question, tmp_path, where, level):
    path = question.answer.save(tmp_path / "a.json", exact=True)

    def spoil(data):
        del data["sha256"]
        row = data[where][0] if where == "x" else data[where][0][0]
        row[1] = level

    edited(path, spoil)
    with pytest.raises(FileFormatError, match="'a.json' does not hold a recourse: 'home' has .* from 0 to 5"):
        wf.Recourse.load(path)


def test_people_whose_level_is_none_are_saved_and_read(question, tmp_path):
    with pytest.warns(SchemaWarning, match="could not be read"):
        got = wf.recommend(
            question.problem, np.where([[False, True], [False, False]], 99.0, question.answer.x)
        )
    for name in ("a.json", "a.parquet"):
        back = wf.Recourse.load(got.save(tmp_path / name, exact=True))
        np.testing.assert_array_equal(back.x, got.x)
        assert back.outcome[0, 0] == Outcome.NOT_ASKED


# -- texts ---------------------------------------------------------------------------------------------------


def obeyed(text):
    """What a terminal obeys, or what turns the letters around it."""
    turning = set(
        "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u2028\u2029"
    )
    return [c for c in text if c in turning or (unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t")]


def test_no_letter_page_or_sentence_carries_what_a_terminal_obeys(question, tmp_path):
    from wayforward.answers import letter, plans_table, report

    got, problem = question.answer, question.problem
    assert got.found.any()
    texts = [letter(problem, got, i) for i in range(2)] + [got.explain(i) for i in range(2)]
    texts += [
        report(problem, got, tmp_path / "r.html").read_text(),
        str(plans_table(got)),
        question.problem.target.text(),
    ]
    texts += [f.level_text(i) for f in question.schema.features for i in range(f.n_levels)]
    assert not [found for text in texts if (found := obeyed(text))]
    assert all("\n" not in f.level_text(i) for f in question.schema.features for i in range(f.n_levels))
    assert "\nDear Sir" not in "".join(texts)


def test_a_terminal_shows_brackets_and_obeys_nothing(question, capsys):
    """'[/red]' in a level ended the command with an error of the library that draws tables."""
    table("[/bold] \x1b[2J", ["[/red]", "b"], [[word, 1.0] for word in Question.WORDS])
    tell("\x1b]0;title\x07" + question.answer.explain(0))
    shown = capsys.readouterr().out
    assert "[/red]" in shown and "[/bold]" in shown and not obeyed(shown)


# -- tables as other programs write them ---------------------------------------------------------------------


@pytest.mark.parametrize("how", ["crlf", "bom", "latin", "utf-16"])
def test_tables_as_other_programs_write_them(tmp_path, how):
    from wayforward.data.user_tables import read_table

    text = "name,a\nRené,1\nZoë,2\n"
    made = {"crlf": text.replace("\n", "\r\n").encode(), "bom": b"\xef\xbb\xbf" + text.encode()}
    made["utf-16"] = text.encode("utf-16")
    (tmp_path / "t.csv").write_bytes(made.get(how, text.encode("latin-1")))
    if how == "latin":
        with pytest.raises(
            FileFormatError, match="'t.csv' is not UTF-8: it has the byte 0xe9. Save it as UTF-8"
        ):
            read_table(tmp_path / "t.csv")
        return
    if how == "utf-16":
        with pytest.raises(FileFormatError, match="iconv -f utf-16"):
            read_table(tmp_path / "t.csv")
        return
    got = read_table(tmp_path / "t.csv")
    assert list(got.columns) == ["name", "a"] and got["name"].to_list() == ["René", "Zoë"]


def test_an_empty_file_of_wishes_is_told(tmp_path):
    from wayforward.cli.inputs import Inputs, read_wishes

    schema = wf.Schema((wf.Feature(name="a", kind="real", low=0, high=1),))
    (tmp_path / "wishes.csv").write_text("person,feature,can\n")
    with pytest.raises(FileFormatError, match="'wishes.csv' has no row, so nobody wishes anything"):
        wf.Preferences.from_table(schema, tmp_path / "wishes.csv", 2)
    with pytest.raises(FileFormatError, match="'wishes.csv' .*no row.*leave --preferences out"):
        read_wishes(tmp_path / "wishes.csv", schema, np.zeros((2, 1)), Inputs.__new__(Inputs))


def test_an_edited_shard_is_answered_again(question, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    people = question.table.iloc[:6]

    def run():
        return wf.scale.recommend_table(question.problem, people, tmp_path / "out", rows_per_shard=3)

    answers = run()
    before, file = answers.recourse(1), answers.file(1)
    stored = parquet.read_table(file)
    at = stored.column_names.index("score")
    parquet.write_table(stored.set_column(at, "score", [[0.999] * stored.num_rows]), file)
    with pytest.raises(FileFormatError, match="The answers of shard 1 were changed after they were written"):
        answers.recourse(1)
    np.testing.assert_array_equal(run().recourse(1).score, before.score)


# -- where the process stands ---------------------------------------------------------------------------------


def test_in_a_locale_that_knows_no_letters_and_without_a_home(tmp_path):
    """C without UTF-8, no HOME: names of columns and levels stay whole in what is printed and in what is written."""
    import subprocess
    import sys

    lines = [f"{i},{i % 2},Zürich{i % 3}" for i in range(40)]
    (tmp_path / "p.csv").write_text("\n".join(["größe,y,stadt", *lines]) + "\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": os.environ.get("PATH", "")}
    plain["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    ask = [sys.executable, "-m", "wayforward", "schema", "infer", "p.csv", "--label", "y"]
    got = subprocess.run([*ask, "--out", "s.yaml"], cwd=tmp_path, env=plain, capture_output=True, check=False)
    assert got.returncode == 0, got.stderr.decode(errors="replace")
    schema = wf.Schema.from_yaml(tmp_path / "s.yaml")
    assert schema.names == ("größe", "stadt") and schema["stadt"].levels[0] == "Zürich0"


def test_threads_count_every_row():
    """Eight threads ask one model; the sum, and what each says that it spent, are exact."""
    from concurrent.futures import ThreadPoolExecutor

    schema = wf.Schema((wf.Feature(name="a", kind="real", low=0, high=1),))
    model = wf.wrap(lambda rows: rows[:, 0], schema, output="probability")
    model.counter.reset()

    def ask(i):
        with model.counter.of_this_thread() as spent:
            for m in range(1, 60):
                model.outputs(np.full((m, 1), 0.5))
        return spent.rows, spent.calls

    with ThreadPoolExecutor(8) as pool:
        spent = list(pool.map(ask, range(8)))
    assert spent == [(59 * 60 // 2, 59)] * 8
    assert (model.counter.rows, model.counter.calls) == (8 * 59 * 60 // 2, 8 * 59)
