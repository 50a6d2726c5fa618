"""The other commands: each does what it says, and writes JSON where asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wayforward.methods import names
from wayforward.recourse import Recourse
from wayforward.schema import Schema

from .conftest import ASK, Shell


def read(name: str) -> dict:
    return json.loads(Path(name).read_text())


def test_a_table_for_spreadsheets_has_costs_and_scores_of_six_digits(shell: Shell):
    shell(f"{ASK} --people people.csv --n 12 --csv a.csv --out r.json")
    rows, exact = shell.rows("a.csv"), Recourse.load("r.json").cost[:, 0]
    costs = [row["cost"] for row in rows if row["cost"]]
    assert max(len(text.replace(".", "").lstrip("0")) for text in costs) <= 6 < len(str(exact.max()))
    np.testing.assert_allclose(
        [float(c) for c in costs if float(c)], exact[np.isfinite(exact) & (exact > 0)], rtol=1e-5
    )


def test_evaluate_judges_again_what_recommend_wrote(shell: Shell):
    shell(f"{ASK} --people people.csv --out r.json --json first.json")
    shell("evaluate r.json --json again.json")
    first, again = read("first.json"), read("again.json")
    for name in ("n", "usable", "usable_plausible", "validity", "legal", "cost_l1_range", "outcomes"):
        assert again[name] == first[name], name
    assert again["refuted"] == 0


def test_evaluate_against_another_model_refutes(shell: Shell):
    """The answers were made for one model; judged by another some of them fail, and that is said."""
    shell(f"{ASK} --n 40 --out r.json")
    got = shell("evaluate r.json --model rf --json again.json")
    assert read("again.json")["validity"] < 1.0 and read("again.json")["refuted"] > 0
    assert "refuted" in got.output


def test_evaluate_by_group(shell: Shell):
    shell(f"{ASK} --n 40 --out r.json")
    got = shell("evaluate r.json --groups housing --json out.json")
    assert {row["group"] for row in read("out.json")["by_group"]} == {"rent", "own", "free"}
    assert "by housing" in got.output


def test_evaluate_asks_for_the_data_where_the_file_does_not_say(shell: Shell):
    shell(f"{ASK} --n 5 --out r.json")
    stored = read("r.json")
    del stored["meta"]["question"], stored["sha256"]
    Path("r.json").write_text(json.dumps(stored))
    assert "Give --data or --train" in shell("evaluate r.json", code=2).output
    shell("evaluate r.json --train train.csv --label y --favourable 1 --model lr")


def test_explain_speaks_in_the_units_of_the_schema(shell: Shell):
    shell(f"{ASK} --n 10 --out r.json")
    got = shell("explain r.json --person 3 --json out.json")
    assert read("out.json")["text"] in got.output
    assert "EUR" in got.output and "yes" in got.output
    assert got.output.strip() == Recourse.load("r.json").explain(3)
    german = shell("explain r.json --person 3 --language de").output
    assert german.strip() == Recourse.load("r.json").explain(3, language="de") != got.output.strip()


def test_explain_a_person_who_is_not_there(shell: Shell):
    shell(f"{ASK} --n 3 --out r.json")
    assert "numbered 0 to 2" in shell("explain r.json --person 3", code=2).output


def test_names_of_several_people_are_told_before_letters_are_out(shell: Shell):
    head, *rows = Path("train.csv").read_text().splitlines()[:6]
    named = [f"C{i % 4},{row}" for i, row in enumerate(rows)]
    Path("people.csv").write_text("\n".join([f"who,{head}", *named]))
    out = shell(f"{ASK} --people people.csv --id who --out r.json").output
    assert "note: names in 'who' that stand for more than one person: 1;" in " ".join(out.split())
    assert "that stand for more" not in shell(f"{ASK} --people people.csv --out s.json").output


def test_explain_a_person_by_name(shell: Shell):
    """The name is that of the column which recommend --id named; one odd cell of the file stops nobody else."""
    head, *rows = Path("train.csv").read_text().splitlines()[:6]
    place = head.split(",").index("savings")
    cells = rows[1].split(",")
    rows[1] = ",".join([*cells[:place], "plenty", *cells[place + 1 :]])
    named = [f"C{i},{row}" for i, row in enumerate(rows)]
    Path("people.csv").write_text("\n".join([f"who,{head}", *named]))
    shell(f"{ASK} --people people.csv --id who --out r.json --json n.json")
    assert read("n.json")["outcomes"]["NOT_ASKED"] == 1
    assert shell("explain r.json --id C3").output.strip() == Recourse.load("r.json").explain(3)
    assert "check your savings" in shell("explain r.json --id C1").output
    assert "Nobody is called 'C9'" in shell("explain r.json --id C9", code=2).output


def test_people_of_the_training_table_are_named_by_its_own_column(shell: Shell):
    """Without --people; the column is no feature, and who has no such column is told what to do."""
    head, *rows = Path("train.csv").read_text().splitlines()
    named = [f"C-{3 * i + 1},{row}" for i, row in enumerate(rows)]
    Path("named.csv").write_text("\n".join([f"who,{head}", *named]))
    asked = "recommend --train named.csv --label y --favourable 1 --model lr --method local-search --n 3"
    shell(f"{asked} --id who --out r.json")
    got = Recourse.load("r.json")
    assert "who" not in got.schema.names
    for i, name in enumerate(got.origin.values[0]):
        cells = dict(
            zip(f"who,{head}".split(","), named[int(name.split("-")[1]) // 3].split(","), strict=True)
        )
        assert float(cells["income"]) == pytest.approx(got.x[i, got.schema.index("income")])
        assert shell(f"explain r.json --id {name}").output.strip() == got.explain(i)
    shell(f"{asked} --out own.json")  # a text of their own, which the model is given, names them as well
    own = Recourse.load("own.json")
    name = own.schema.decode(own.x)["who"][2]
    assert shell(f"explain own.json --id {name}").output.strip() == own.explain(2)
    assert "numbered from 0" in shell("recommend --data loan --model lr --id who", code=2).output


def test_schema_infer_writes_what_can_be_read_back(shell: Shell):
    shell("schema infer train.csv --label y --immutable age --out made.yaml --json made.json")
    made = Schema.from_yaml(Path("made.yaml"))
    assert made.names == ("age", "income", "savings", "housing")
    assert made["age"].actionability == "immutable"
    assert read("made.json")["features"][0]["name"] == "age"
    assert Schema.from_yaml(shell("schema infer train.csv --label y --immutable age").stdout) == made


def test_schema_infer_says_which_column_is_not_there(shell: Shell):
    assert "no column 'z'" in shell("schema infer train.csv --label z", code=2).output


def test_schema_check(shell: Shell):
    got = shell("schema check schema.yaml --table people.csv --json out.json")
    assert read("out.json") == {"features": 4, "rules": 1, "rows_checked": 60}
    assert "income" in got.output


def test_the_json_schema_knows_the_fields_of_a_feature(shell: Shell):
    shell("schema json-schema --out s.json")
    assert "actionability" in Path("s.json").read_text()


def test_methods_lists_every_method_with_what_it_needs(shell: Shell):
    got = shell("methods --json out.json")
    rows = json.loads(Path("out.json").read_text())
    assert [row["name"] for row in rows] == list(names())
    assert {row["needs"] for row in rows} <= {"label", "probability", "gradient", "white box"}
    assert all(name in got.output for name in names())


def test_datasets_lists_all_and_shows_a_card(shell: Shell):
    shell("datasets --json out.json")
    rows = json.loads(Path("out.json").read_text())
    assert {"loan", "german", "adult", "compas", "gmsc", "law", "default_credit"} <= {
        row["name"] for row in rows
    }
    assert all(row["terms"] for row in rows)
    assert "savings" in shell("datasets loan").output


def test_bench_puts_methods_side_by_side_on_the_same_people(shell: Shell):
    shell(
        "bench --data loan --model lr --method local-search --method growing-spheres --n 15 --json out.json"
    )
    rows = json.loads(Path("out.json").read_text())
    assert [row["method"] for row in rows] == ["local-search", "growing-spheres"]
    assert rows[0]["n"] == rows[1]["n"] == 15
    assert rows[0]["usable"] == 1.0
    assert rows[0]["cost_l1_range"] <= rows[1]["cost_l1_range"]


OWN = """
from wayforward.methods.nearest_observable import NearestObservable

class Mine(NearestObservable):
    name = "mine"
"""


def test_bench_compares_a_method_and_a_table_of_ones_own(shell: Shell):
    Path("own.py").write_text(OWN)
    shell(
        "bench --train train.csv --label y --favourable 1 --schema schema.yaml --model lr --method own.py:Mine "
        "--method local-search --n 12 --html page.html --json out.json"
    )
    rows = json.loads(Path("out.json").read_text())
    assert [(row["data"], row["method"]) for row in rows] == [
        ("train.csv", "mine"),
        ("train.csv", "local-search"),
    ]
    assert rows[1]["usable_low"] <= rows[1]["usable"] <= rows[1]["usable_high"]
    page = Path("page.html").read_text()
    assert page.index("1. local-search") < page.index("2. mine") and "<script" not in page and "<svg" in page
    assert "no method 'Other'" in shell("bench --method own.py:Other", code=2).output
    assert "no file" in shell("bench --method none.py:Mine", code=2).output


def test_a_method_that_fails_takes_no_other_with_it(shell: Shell):
    """Its error is told, the others have their numbers; where it was alone its traceback is for its author."""
    Path("own.py").write_text(OWN + "    def _recommend(self, *args): raise ValueError('oh')\n")
    ask = "bench --train train.csv --label y --favourable 1 --schema schema.yaml --model lr --n 5 --method own.py:Mine"
    got = shell(f"{ask} --method local-search --json out.json")
    assert "failed: own.py:Mine on train.csv lr: ValueError: oh" in " ".join(got.output.split())
    assert [row["method"] for row in json.loads(Path("out.json").read_text())] == ["local-search"]
    assert isinstance(shell(ask, code=1).exception, ValueError)


def test_the_version(shell: Shell):
    from wayforward import __version__

    assert shell("--version").output.strip() == f"wayforward {__version__}"


def test_every_command_has_a_sentence_of_help(shell: Shell):
    got = shell("--help")
    for name in ("demo", "recommend", "evaluate", "explain", "schema", "methods", "datasets", "bench"):
        assert name in got.output
    assert "Exit codes" in got.output


def test_help_needs_no_heavy_library():
    code = (
        "import sys\nfrom wayforward.cli import main\n"
        "try:\n    main(['recommend', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = ('sklearn', 'torch', 'pandas', 'numba', 'matplotlib')\n"
        "print('HEAVY', [m for m in heavy if m in sys.modules])"
    )
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert got.stdout.strip().endswith("HEAVY []")


def test_the_everyday_loan_world_is_the_published_one_in_other_units():
    """Acting there and then changing units is the same as changing units and then acting here."""
    from wayforward.data import everyday, load

    data = load("loan")
    start, size = np.array([everyday.UNITS[name] for name in data.schema.names]).T
    x = data.x[:500]
    act = np.full_like(x, np.nan)
    act[:250, data.schema.index("income")] = 2.5
    act[250:, data.schema.index("loan_amount")] = -3.0
    there = data.world.consequences(x, act)
    unbound = everyday.world()
    order = [unbound.names.index(name) for name in data.schema.names]
    here = np.empty_like(x)
    x_here, act_here = start + size * x, start + size * act
    inverse = np.argsort(order)
    here = unbound.consequences(x_here[:, inverse], act_here[:, inverse])[:, order]
    np.testing.assert_allclose((here - start) / size, there, rtol=1e-9, atol=1e-9)


def test_warm_says_what_is_ready_and_where_it_is_kept(shell, monkeypatch):
    from wayforward.methods import warming

    model, seconds = next(warming.compile_everything(("nearest-observable", "wachter")))
    assert model == "lr" and seconds > 0
    monkeypatch.setattr(warming, "compile_everything", lambda: iter([("lr", 1.23)]))
    got = shell("warm")
    assert "lr: ready after 1.2 s" in got.output and "kept in" in got.output


def test_recheck_says_which_plans_hold_under_another_model(shell: Shell):
    shell(f"{ASK} --n 40 --out r.json")
    shell("recheck r.json --json same.json")
    assert read("same.json")["lost_all"] == 0 and read("same.json")["still_have_one"] > 0
    got = shell("recheck r.json --model rf --csv plans.csv --json other.json")
    counts, rows = read("other.json"), shell.rows("plans.csv")
    assert len(rows) == sum(counts["options"].values())
    assert sum(row["still"] == "A_NO" for row in rows) == counts["options"]["A_NO"] > 0
    assert "still have one" in got.output


def test_recheck_of_a_folder_is_that_of_its_parts(shell: Shell):
    shell(f"{ASK} --people people.csv --out r.json")
    shell(f"{ASK} --people people.csv --out all/ --rows-per-shard 20 --room 0")
    shell("recheck all --model rf --json folder.json")
    assert read("folder.json")["people"] == len(shell.rows("people.csv"))
