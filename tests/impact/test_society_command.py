"""Society at the shell: an example, a file of one's own, going on, and mistakes in one line; and the figure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward.errors import DataError
from wayforward.impact.society import FIGURES, History, Lender, Scenario, examples, figure_society, simulate
from wayforward.impact.society.comparison import Comparison, Spread, limits

FILE = """
rounds: 1
people: 80
data: loan
model: lr
measure: 0
compliance: {share: 0.5}
"""


def ran(line: str, code: int = 0) -> str:
    got = CliRunner().invoke(app, line.split())
    assert got.exit_code == code, f"{got.output}\n{got.exception!r}"
    return got.output


def test_a_scenario_is_played_written_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("my.yaml").write_text(FILE)
    out = ran("society my.yaml --checkpoint my.npz --csv my.csv --json my.json --figure my.svg")
    assert "over all rounds" in out
    stored = json.loads(Path("my.json").read_text())
    first = History.from_dict({k: v for k, v in stored.items() if k != "rows"})
    lines = Path("my.csv").read_text().splitlines()
    assert len(lines) == len(stored["rows"]) + 1 == 4 and lines[0].startswith("round,group,")
    assert Path("my.svg").read_text().count("<svg") == 1
    ran("society my.yaml --rounds 2 --checkpoint my.npz --json more.json")
    more = json.loads(Path("more.json").read_text())
    assert more["flows"]["applied"][:1] == stored["flows"]["applied"] and len(more["flows"]["applied"]) == 2
    assert first.people[-1].sum() == 80
    assert "another scenario" in ran("society my.yaml --seed 9 --checkpoint my.npz", 2)
    sheet = figure_society({"one": first, "again": first}, tuple(FIGURES))
    assert len(sheet.axes) >= len(FIGURES)
    shown = [ax for ax in figure_society(first).axes if ax.get_visible()]
    assert shown and all(
        any(len(line.get_xdata()) for line in ax.lines) for ax in shown
    )  # segregation: not measured
    with pytest.raises(DataError):
        figure_society({})


@pytest.mark.parametrize(
    ("text", "word"), [("rounds: [", "YAML"), ("roundz: 3\n", "rounds"), ("data: moon\n", "moon")]
)
def test_mistakes_end_in_one_line(tmp_path: Path, text: str, word: str):
    (tmp_path / "bad.yaml").write_text(text)
    out = ran(f"society {tmp_path}/bad.yaml", 2)
    assert word in out and "Traceback" not in out
    assert "loan" in ran(f"society {tmp_path}/none.yaml", 2)


def test_a_run_without_rounds_and_without_measures(tmp_path: Path):
    (tmp_path / "none.yaml").write_text("rounds: 0\npeople: 50\nmeasure: 0\n")
    out = ran(
        f"society {tmp_path}/none.yaml --csv {tmp_path}/a.csv --json {tmp_path}/a.json --figure {tmp_path}/a.svg"
    )
    assert " nan" not in out.lower() and (tmp_path / "a.csv").read_text().startswith("round,group,")


def test_the_examples_are_scenarios():
    assert set(examples()) == {"loan", "balanced", "lasting"}
    assert Scenario.from_yaml("lasting").advice.robust == "noise:0.02"
    assert Scenario.from_yaml("balanced").advice.balanced == 0.3
    assert Scenario.from_yaml("loan").lender.learns_from == "accepted"


TWO = """
name: all the way
rounds: 2
people: 90
model: lr
measure: 0
group_names: [group A, group B]
"""


def test_an_interval_ends_where_its_figure_does():
    few = Spread.of(np.array([0.02, 0.4]))
    assert few.low < 0 and few.high > 1
    for figure in ("default", "atkinson"):
        assert few.within(*limits(figure)) == few._replace(low=0.0, high=1.0)
    assert few.within(*limits("cost")) == few._replace(low=0.0) and few.within(*limits("profit")) == few
    assert few.within(*limits("default", True)) == few._replace(low=max(few.low, -1.0), high=1.0)


def test_societies_are_compared_seed_by_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Means and differences by hand from single runs; a figure is the same as of that scenario alone."""
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(TWO)
    Path("b.yaml").write_text(TWO.replace("all the way", "half") + "compliance: {share: 0.5}\n")
    out = ran("society a.yaml b.yaml --seeds 2 --html p.html --json p.json --csv p.csv --figure p.svg")
    assert "2 seeds" in out and "half: more than all the way" in " ".join(out.split())
    rows = json.loads(Path("p.json").read_text())["rows"]
    got = {(r["scenario"], r["group"], r["figure"]): r for r in rows}
    alone = [
        [
            float(simulate(replace(Scenario.from_yaml(f), seed=s)).figure("acceptance", over=True)[0])
            for s in (0, 1)
        ]
        for f in ("a.yaml", "b.yaml")
    ]
    one, two = np.array(alone)
    row = got["half", "all", "acceptance"]
    assert row["value"] == pytest.approx(two.mean()) and row["more"] == pytest.approx((two - one).mean())
    # Student's t with one degree of freedom: 12.706 standard errors
    assert row["high"] - row["value"] == pytest.approx(12.7062 * two.std(ddof=1) / 2**0.5, rel=1e-4)
    assert ("half", "group A", "acceptance") in got
    rounds = json.loads(Path("p.json").read_text())["rounds"]
    by_hand = [
        simulate(replace(Scenario.from_yaml("b.yaml"), seed=s)).figure("acceptance", group="group A")[0]
        for s in (0, 1)
    ]
    mine = [
        r for r in rounds if (r["scenario"], r["group"], r["figure"]) == ("half", "group A", "acceptance")
    ]
    assert mine[0]["round"] == 1 and mine[0]["value"] == pytest.approx(np.mean(by_hand))
    page = Path("p.html").read_text()
    assert "Accepted by the model, by round" in page
    assert "group A" in page and "<script" not in page and page.count("<svg") == 1
    told = re.findall(
        r"<th[^>]*>(?:Mean cost of plans|Unevenness \(Atkinson\))</th>\s*<td[^>]*>([^<]*)", page
    )
    assert told and not any("(\u2212" in text for text in told), told
    assert re.fullmatch(r"[\d.]+\u202f% \([\d.]+ to [\d.]+\)", told[0].strip()), told[
        0
    ]  # a cost as letters tell it
    ran("society a.yaml b.yaml --rounds 1 --html de.html --language de")
    german = re.sub(r"(?s)<style.*?</style>|<[^>]*>", " ", Path("de.html").read_text())
    assert "half: mehr als all the way" in german and "Vom Modell angenommen" in german
    left = {"the", "of", "those", "round", "rounds", "mean", "scenario"} & set(re.findall(r"[a-z]+", german))
    assert left == {"the"}, left  # in the name of a scenario
    assert "one scenario and one seed" in ran("society a.yaml b.yaml --checkpoint c.npz", 2)
    assert "without --html" in ran("society a.yaml --checkpoint c.npz --html c.html", 2)
    assert "entry `name`" in ran("society a.yaml a.yaml", 2)
    Path("c.yaml").write_text(TWO.replace("all the way", "c").replace("[group A, group B]", "[A, B]"))
    assert "same group, cut and group_names" in ran("society a.yaml c.yaml", 2)  # before anything is played
    Path("d.yaml").write_text(TWO.replace("all the way", "longer").replace("rounds: 2", "rounds: 1"))
    assert "of unlike times" in ran("society a.yaml d.yaml")


def test_money_is_interest_less_losses_on_what_was_lent():
    got = simulate(Scenario(rounds=1, people=80, measure=0, lender=Lender(interest=0.2, loss=0.5)))
    given, bad = got.total("given")[0], got.total("defaulted")[0]
    assert got.total("earned")[0] == pytest.approx(0.2 * (given - bad) - 0.5 * bad)
    assert got.figure("profit")[0] == pytest.approx(got.total("earned")[0] / given)
    old = got.to_dict()
    del old["flows"]["earned"]  # as files of earlier versions
    assert History.from_dict(old).total("earned").tolist() == [0.0]


def test_nothing_is_lent_of_an_amount_below_zero():
    """Amounts of the loan world are centred: half the people would have been lent nothing, silently."""
    with pytest.raises(DataError, match=r"loan_amount', which is below 0 for \d+ of 80 people"):
        simulate(Scenario(rounds=1, people=80, measure=0, lender=Lender(amount="loan_amount")))
    with pytest.raises(DataError, match="'gender', which holds no numbers"):
        simulate(Scenario(rounds=1, people=80, measure=0, lender=Lender(amount="gender")))


def test_a_new_model_that_decides_about_nobody_is_said_to():
    """Nobody arrives and all act at once: after two rounds nobody applies, and what is trained then changes nothing."""
    plain = Scenario(rounds=4, people=60, measure=0)
    trained = replace(plain, lender=Lender(retrain=2))
    one, two = simulate(plain), simulate(trained)
    assert {n: a.tolist() for n, a in one.flows.items()} == {n: a.tolist() for n, a in two.flows.items()}
    assert one.notes() == [] and "decided about anybody" in two.notes()[0]
    assert simulate(replace(trained, arrivals=10)).notes() == []
    assert "Play more rounds" in simulate(replace(trained, rounds=2)).notes()[0]


def test_groups_that_are_levels_are_told_in_words_and_known_by_their_codes(tmp_path: Path):
    got = simulate(replace(Scenario(rounds=1, people=80, data="loan", model="lr", measure=0), group="gender"))
    assert got.names == ("0", "1") and got.title("1") == "group 1 (higher income)"
    again = History.load(got.save(tmp_path / "h.json"))
    assert again.same(got) and again.title("0") == "group 0"
    page = Comparison({"loan": [got]}, (0,)).report(tmp_path / "p.html").read_text()
    assert "gender: group 1 (higher income)" in page and "gender: 1" not in page
    older = {key: value for key, value in got.to_dict().items() if key != "titles"}
    assert History.from_dict(older).title("0") == "0"
