"""The main job from the shell: what it writes, that it resumes, and that bad input ends in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wayforward.cli.parts import Parts
from wayforward.recourse import Recourse

from .conftest import ASK, SCHEMA, Shell

MUST = (
    "n", "method", "usable", "usable_plausible", "validity", "legal", "rules_kept", "cost_l1_range",
    "cost_l0", "outcomes", "seconds_fit", "people_per_second", "model_rows", "versions",
)  # fmt: skip


def same(one: Recourse, other: Recourse) -> None:
    for name in ("x", "action", "after", "cost", "score"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.outcome == other.outcome).all()


def test_people_of_a_table_get_checked_answers_and_the_numbers_say_so(shell: Shell):
    shell(f"{ASK} --people people.csv --k 2 --json out.json --out r.json --csv r.csv --report r.html")
    summary = json.loads(Path("out.json").read_text())
    assert set(MUST) <= set(summary)
    assert summary["n"] == 60 == sum(summary["outcomes"].values())
    assert summary["outcomes"]["ACCEPTED"] > 0
    assert summary["usable"] == summary["legal"] == summary["rules_kept"] == 1.0
    assert 0 < summary["cost_l1_range"] < 1
    assert summary["versions"]["numpy"] == np.__version__
    got = Recourse.load("r.json")
    assert got.outcomes() == summary["outcomes"]
    assert len(shell.rows("r.csv")) == 120
    assert "<h1>Ways forward: people</h1>" in Path("r.html").read_text()
    assert not list(Path.cwd().glob("*.parts")) and not list(Path.cwd().glob("*half*"))


def test_the_label_column_of_people_is_left_out(shell: Shell):
    """people.csv holds y, which is no feature; the answers are the same without it."""
    shell(f"{ASK} --people people.csv --out with.json")
    rows = shell.rows("people.csv")
    shell.write("bare.csv", [{k: v for k, v in row.items() if k != "y"} for row in rows])
    shell(f"{ASK} --people bare.csv --out without.json")
    same(Recourse.load("with.json"), Recourse.load("without.json"))


def test_without_people_those_whom_the_model_refuses_are_answered(shell: Shell):
    shell(f"{ASK} --n 25 --out r.json --json out.json")
    got = Recourse.load("r.json")
    assert got.n == 25 and not got.accepted.any()
    assert json.loads(Path("out.json").read_text())["n_from_training"] == 25


def test_without_a_schema_it_is_inferred(shell: Shell):
    said = shell(
        "recommend --train train.csv --label y --favourable 1 --people people.csv --model lr --out r.json"
    )
    assert "note: Column 'savings'" in said.output, "people outside what was observed are worth a line"
    got = Recourse.load("r.json")
    assert got.schema.names == ("age", "income", "savings", "housing")
    assert got.schema["savings"].kind == "integer" and got.schema["housing"].levels == ("free", "own", "rent")


def test_parquet_and_json_hold_the_same_answers(shell: Shell):
    shell(f"{ASK} --n 20 --out r.json")
    shell(f"{ASK} --n 20 --out r.parquet")
    same(Recourse.load("r.json"), Recourse.load("r.parquet"))


def test_a_data_set_by_name_in_its_own_world(shell: Shell):
    shell("recommend --data loan --model lr --world scm --n 20 --k 2 --json out.json --out r.json")
    summary = json.loads(Path("out.json").read_text())
    assert summary["n"] == 20 and summary["usable"] == 1.0 and summary["follows"] == 1.0
    assert 0 <= summary["density_at_least"] <= 1, "the world says how likely people are, so it is asked"
    got = Recourse.load("r.json")
    duration = got.schema.index("loan_duration")
    assert np.isnan(got.action[:, :, duration]).all()
    assert got.changed[:, :, duration].any(), (
        "nothing followed from any act, so this says nothing about worlds"
    )


def test_wishes_from_a_csv_file_are_kept(shell: Shell):
    wishes = [{"person": i, "feature": "savings", "can": "no"} for i in range(20)]
    shell.write("wishes.csv", wishes)
    shell(f"{ASK} --n 20 --out free.json")
    shell(f"{ASK} --n 20 --preferences wishes.csv --out r.json")
    savings = Recourse.load("r.json").schema.index("savings")
    assert not np.isnan(Recourse.load("free.json").action[:, 0, savings]).all()
    assert np.isnan(Recourse.load("r.json").action[:, :, savings]).all()


def test_a_higher_threshold_costs_more(shell: Shell):
    shell(f"{ASK} --n 15 --out low.json")
    shell(f"{ASK} --people people.csv --target-threshold 0.9 --out high.json")
    high = Recourse.load("high.json")
    assert high.found.any() and (high.score[high.found] >= 0.9).all()
    assert (Recourse.load("low.json").score[:, 0] < 0.9).any()


def test_the_output_can_be_piped(shell: Shell):
    got = shell(f"{ASK} --n 5 --json -")
    assert json.loads(got.stdout)["n"] == 5


def test_nobody_with_an_option_is_exit_code_1(shell: Shell):
    frozen = SCHEMA.replace("rules:\n- after.savings >= 0.5 * after.income\n", "")
    frozen = "\n".join(
        line.replace("}", ", actionability: immutable}")
        if line.startswith("- {") and "immutable" not in line
        else line
        for line in frozen.replace(", direction: increase", "").splitlines()
    )
    Path("frozen.yaml").write_text(frozen)
    got = shell(f"{ASK} --schema frozen.yaml --n 5 --json out.json", code=1)
    assert json.loads(Path("out.json").read_text())["outcomes"]["NONE_EXISTS"] == 5, got.output


def test_a_deadline_that_reaches_nobody_still_writes_everything(shell: Shell):
    files = "--json out.json --out r.json --csv r.csv --report r.html --letters letters"
    got = shell(f"{ASK} --people people.csv --deadline 1e-9 {files}", code=1)
    assert "note: the time given was over before the model was asked about anybody" in got.output
    summary = json.loads(Path("out.json").read_text())
    assert summary["outcomes"]["NOT_ASKED"] == 60 == summary["n_cut_short"] and summary["usable"] == 0
    assert Recourse.load("r.json").cut_short.all()
    assert {(row["outcome"], row["ended_by"]) for row in shell.rows("r.csv")} == {("NOT_ASKED", "deadline")}
    assert "the model was asked about none of them" in Path("r.html").read_text()
    letters = [file.read_text() for file in Path("letters").glob("*.txt")]
    assert len(letters) == 60 and all("The time that was given was over" in text for text in letters)


# -- parts --


def test_the_size_of_a_part_changes_no_answer(shell: Shell):
    shell(f"{ASK} --people people.csv --k 2 --out whole.json")
    shell(f"{ASK} --people people.csv --k 2 --part 7 --out parts.json")
    same(Recourse.load("whole.json"), Recourse.load("parts.json"))


def test_interrupted_work_goes_on_where_it_stopped(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    command = f"{ASK} --people people.csv --part 10 --out r.json"
    shell(command.replace("r.json", "straight.json"))
    save, done = Parts.save, []

    def interrupted(self: Parts, start: int, part: Recourse) -> None:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(start)
        save(self, start, part)

    monkeypatch.setattr(Parts, "save", interrupted)
    got = shell(command, code=3)
    assert "goes on where it stopped" in got.output and not Path("r.json").exists()
    monkeypatch.setattr(Parts, "save", save)
    answered: list[int] = []
    monkeypatch.setattr(
        Parts, "save", lambda self, start, part: (answered.append(start), save(self, start, part))
    )
    got = shell(command)
    assert "30 of 60 people were answered before" in got.output
    assert answered == [30, 40, 50]
    same(Recourse.load("r.json"), Recourse.load("straight.json"))


@pytest.mark.parametrize("change", ["--seed 1", "--k 2", "--cost l0", "--target-threshold 0.6", "--model rf"])
def test_parts_of_another_question_are_not_taken(shell: Shell, monkeypatch: pytest.MonkeyPatch, change: str):
    def stop(folder: Path) -> None:
        raise KeyboardInterrupt  # after the last part, before the parts are thrown away

    with monkeypatch.context() as patch:
        patch.setattr("wayforward.cli.recommend.forget", stop)
        shell(f"{ASK} --n 12 --part 6 --out r.json", code=3)
    assert "answered before" in shell(f"{ASK} --n 12 --part 6 --out r.json").output
    with monkeypatch.context() as patch:
        patch.setattr("wayforward.cli.recommend.forget", stop)
        shell(f"{ASK} --n 12 --part 6 --out r.json", code=3)
    assert "answered before" not in shell(f"{ASK} --n 12 --part 6 --out r.json {change}").output


def test_a_part_that_is_broken_is_answered_again(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr("wayforward.cli.recommend.forget", lambda folder: None)
        shell(f"{ASK} --n 12 --part 6 --out r.json")
    parts = sorted(Path("r.json.parts").glob("people-*"))
    assert len(parts) == 2
    parts[0].write_bytes(parts[0].read_bytes()[:100])
    whole = Recourse.load("r.json")
    assert "6 of 12 people were answered before" in shell(f"{ASK} --n 12 --part 6 --out r.json").output
    same(Recourse.load("r.json"), whole)


# -- bad input --


def without(name: str) -> str:
    return "\n".join(
        line for line in SCHEMA.splitlines() if f"name: {name}" not in line and "rule" not in line
    )


BAD = {
    "no data": ("recommend --model lr", "--data NAME"),
    "both data": ("recommend --data loan --train train.csv", "either --data NAME"),
    "no such data set": ("recommend --data germany --model lr", "Did you mean 'german'?"),
    "no train file": (
        "recommend --train nothing.csv --label y --favourable 1",
        "There is no file 'nothing.csv'",
    ),
    "no label": ("recommend --train train.csv --favourable 1", "--label COLUMN"),
    "wrong label": (
        "recommend --train train.csv --label Y --favourable 1",
        "no column 'Y'. Did you mean 'y'?",
    ),
    "never favourable": (
        "recommend --train train.csv --label y --favourable yes",
        "is never 'yes'; its values are 0, 1",
    ),
    "a label for a data set": ("recommend --data loan --label y", "knows its label"),
    "no such model": (f"{ASK} --model rff --n 5", "Did you mean 'rf'?"),
    "no such method": (f"{ASK} --method local-serch --n 5", "Did you mean 'local-search'?"),
    "no such cost": (f"{ASK} --cost l3 --n 5", "There is no cost 'l3'"),
    "no such plausibility": (f"{ASK} --plausibility dense --n 5", "There is no plausibility 'dense'"),
    "no such world": (f"{ASK} --world moon --n 5", "--world moon"),
    "no world of its own": (f"{ASK} --world scm --n 5", "drawn from known equations"),
    "threshold": (f"{ASK} --target-threshold 1.5 --n 5", "threshold=1.5"),
    "k of nothing": (f"{ASK} --k 0", "--k"),
    "n of nothing": (f"{ASK} --n 0", "--n"),
    "a device for no reason": (f"{ASK} --method nice --device cpu --n 5", "takes no device"),
    "a device for no network": (f"{ASK} --device cpu --n 5", "no dense network"),
    "a device that is not there": (f"{ASK} --method wachter --device cuda:77 --n 5", "device='cuda:77'"),
    "a model that will not do": (
        f"{ASK} --model rf --method actionable-recourse --n 5",
        "'actionable-recourse' needs",
    ),
    "wrong ending": (f"{ASK} --out r.pickle", "should end in .parquet or .json"),
    "a folder as output": (f"{ASK} --json .", "is a folder"),
    "a folder that is not there": (
        f"{ASK} --n 5 --out nowhere/deep/o.json",
        "there is no such folder. Make it",
    ),
    "no such people": (f"{ASK} --people nobody.csv", "There is no file 'nobody.csv'. Check the path."),
    "a folder for people": (f"{ASK} --people .", "is a folder. Name a file in it."),
    "no such people for a folder": (
        f"{ASK} --people nobody.csv --out o/",
        "There is no file 'nobody.csv'. Check the path.",
    ),
    "a folder for a training table": (
        "recommend --train . --label y --favourable 1",
        "is a folder. Name a file in it.",
    ),
    "no schema file": (f"{ASK} --schema other.yaml", "other.yaml"),
    "no preferences file": (f"{ASK} --preferences none.json --n 5", "There is no file 'none.json'"),
    "broken answers": ("explain schema.yaml", "schema.yaml"),
    "no answers": ("explain none.json", "There is no file 'none.json'"),
    "unknown format": ("schema infer schema.yaml", "tables are .csv"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_ends_in_one_line_and_exit_code_2(shell: Shell, what: str):
    command, message = BAD[what]
    got = shell(command, code=2)
    said = " ".join(got.output.split())
    assert message in said, got.output
    assert "Traceback" not in got.output
    assert not Path("nowhere").exists()


FILES = {
    "an empty table": ("people.csv", "", "is empty"),
    "no rows": ("people.csv", "age,income,savings,housing\n", "has no rows"),
    "a missing column": ("people.csv", "age,income,savings\n30,1000,600\n", "housing"),
    "an unseen category": ("people.csv", "age,income,savings,housing\n30,1000,600,castle\n", "castle"),
    "a word for a number": ("people.csv", "age,income,savings,housing\n30,much,600,rent\n", "income"),
    "a value outside": ("people.csv", "age,income,savings,housing\n30,-5,600,rent\n", "income"),
    "a missing value": ("people.csv", "age,income,savings,housing\n30,,600,rent\n", "income"),
    "an infinite value": ("people.csv", "age,income,savings,housing\n30,inf,600,rent\n", "income"),
    "ragged lines": ("people.csv", "age,income,savings,housing\n30,1,2,rent\n1,2,3,4,5,6\n", "people.csv"),
    "one class only": (
        "train.csv",
        "age,income,savings,housing,y\n30,1000,600,rent,1\n31,1,1,own,1\n",
        "one value only",
    ),
    "a label that is missing": (
        "train.csv",
        "age,income,savings,housing,y\n30,10,600,rent,1\n31,1,1,own,\n",
        "1 missing",
    ),
    "a schema that is no YAML": ("schema.yaml", "features: [", "schema"),
    "a schema of code": ("schema.yaml", "!!python/object/apply:os.system ['true']", "schema"),
    "a schema with an unknown field": ("schema.yaml", SCHEMA.replace("unit: years", "unti: years"), "unti"),
    "a rule with a typo": ("schema.yaml", SCHEMA.replace("after.savings", "after.saving"), "saving"),
    "rules against each other": ("schema.yaml", SCHEMA + "- after.income < 0\n", "income"),
    "a feature that is not in the table": ("schema.yaml", SCHEMA.replace("name: age", "name: ages"), "ages"),
}


@pytest.mark.parametrize("what", FILES)
def test_bad_files_end_in_one_line_that_names_the_place(shell: Shell, what: str):
    name, text, message = FILES[what]
    (shell.folder / name).write_text(text)
    got = shell(f"{ASK} --people people.csv", code=2)
    assert message in got.output
    assert "Traceback" not in got.output and got.output.count("\n") < 8


def test_a_model_file_that_would_run_code_is_refused(shell: Shell):
    import pickle

    class Trap:
        def __reduce__(self):
            return (Path("sprung").touch, ())

    for name in ("model.pkl", "model.skops", "model.joblib"):
        (shell.folder / name).write_bytes(pickle.dumps(Trap()))
        got = shell(f"{ASK} --model {name} --n 5", code=2)
        assert name in got.output or "model" in got.output
    assert not Path("sprung").exists()


def test_errors_show_nobodys_whole_row(shell: Shell):
    (shell.folder / "people.csv").write_text("age,income,savings,housing\n37,1234,5678,castle\n")
    got = shell(f"{ASK} --people people.csv", code=2)
    assert "1234" not in got.output and "5678" not in got.output


def test_letters_are_written_to_all_who_were_refused_with_the_plans_of_the_answer(shell: Shell):
    shell(f"{ASK} --people people.csv --k 2 --letters post --csv r.csv")
    rows, letters = shell.rows("r.csv"), {path.stem: path.read_text() for path in Path("post").glob("*.txt")}
    refused = [row for row in rows if row["outcome"] == "FOUND" and row["option"] == "0"]
    assert sorted(letters) == [f"person-{int(row['person']):03d}" for row in refused]
    several = 0
    for row in refused:
        text = letters[f"person-{int(row['person']):03d}"]
        asked = [float(row[f"action.{name}"]) for name in ("income", "savings") if row[f"action.{name}"]]
        assert all(f"to {value:,.0f} EUR" in text for value in asked)
        several += "Plan 2 (made to last)" in text
        assert "Plan 2" not in text or "Plan 1 (least effort)" in text
        assert "made to last" in text or "We found no plan that is likely to hold" in text
    assert several > 3
    shell(f"{ASK} --people people.csv --letters post --out far/", code=2)
    Path("odd.csv").write_text("nothing\n1\n")
    shell(f"{ASK} --people odd.csv --letters none", code=2)
    assert not Path("none").exists()


def test_letters_say_whom_to_ask_and_until_when(shell: Shell):
    shell(f"{ASK} --people people.csv --letters post --contact Weber --until 2999-03-31")
    texts = [path.read_text() for path in Path("post").glob("*.txt")]
    assert texts and all("Contact: Weber" in text and "until 31 March 2999" in text for text in texts)
    for wrong, said in (("--until soon", "is no day"), ("--until 2020-01-31", "is over")):
        assert said in shell(f"{ASK} --people people.csv --letters post {wrong}", code=2).output
    assert "--letters FOLDER" in shell(f"{ASK} --people people.csv --contact me", code=2).output


def test_whole_numbers_of_a_csv_stay_whole(shell: Shell):
    shell(f"{ASK} --people people.csv --k 3 --csv r.csv")
    rows = [row for row in shell.rows("r.csv") if row["outcome"] == "FOUND"]
    whole = [name for name in ("age", "income", "savings") if "." not in rows[0][f"before.{name}"]]
    assert whole and any(row["outcome"] != "FOUND" for row in shell.rows("r.csv"))
    for row in rows:
        assert not any(
            "." in row[f"{part}.{name}"] for name in whole for part in ("before", "after", "action")
        )


def test_letters_and_the_report_are_in_the_language_asked_for(shell: Shell):
    pytest.importorskip("babel")
    plain = "people.csv --letters post --csv r.csv"
    shell(f"{ASK} --people {plain}")
    english, numbers = (
        {path.name: path.read_text() for path in Path("post").glob("*.txt")},
        shell.rows("r.csv"),
    )
    shell(f"{ASK} --people {plain} --report r.html --language de")
    assert shell.rows("r.csv") == numbers
    for name, text in english.items():
        german = (Path("post") / name).read_text(encoding="utf-8")
        assert "What you can do" in text and "Was Sie tun können" in german and "plan" not in german
    report = Path("r.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in report and "Abdeckung braucht ein Orakel" in report
    got = shell(f"{ASK} --people {plain} --language fr", code=2)
    assert "There is no language 'fr'" in got.output


def test_kinds_of_options_in_place_of_the_cheapest(shell: Shell):
    shell(
        f"{ASK} --people people.csv --kind cheapest --kind lasting --json out.json --out r.json --report r.html"
    )
    summary, got = json.loads(Path("out.json").read_text()), Recourse.load("r.json")
    kinds = summary["kinds"]
    assert set(kinds) == {"cheapest", "lasting"} and kinds["cheapest"]["people"] == got.found[:, 0].sum()
    assert kinds["cheapest"]["holds_in_retrained"] < kinds["lasting"]["holds_in_retrained"] <= 1
    who, slot = np.nonzero(got.is_kind("lasting"))
    prices = (
        got.cost[who, slot] / got.cost[who, 0]
    )  # of the rounded options; the summary is of those told, too
    assert kinds["lasting"]["times_the_cheapest"] == pytest.approx(np.median(prices)) and prices.max() > 1
    assert "made to last" in Path("r.html").read_text()


def test_acts_of_a_file_are_taken_one_after_another(shell: Shell):
    Path("acts.yaml").write_text(
        "- {name: work more, moves: income, by: [50, 3000]}\n"
        "- {name: save, moves: savings, needs: ['before.income >= 2000']}\n"
    )
    shell(
        f"{ASK} --people people.csv --method action-sequences --acts acts.yaml --k 2 --out r.json --csv r.csv"
    )
    got = Recourse.load("r.json")
    assert set(got.steps[got.found]) <= {"work more", "save", "work more\nsave", "save\nwork more"}
    assert (got.steps != "").any() and "steps" in shell.rows("r.csv")[0]
    refused = shell(f"{ASK} --people people.csv --acts acts.yaml --out s.json", 2)
    assert "knows no acts" in refused.output
    Path("acts.yaml").write_text("- {name: work more, moves: incme}\n")
    said = shell(f"{ASK} --people people.csv --method action-sequences --acts acts.yaml --out s.json", 2)
    assert "Did you mean 'income'" in said.output
