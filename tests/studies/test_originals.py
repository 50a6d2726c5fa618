"""Pages of original papers: their algorithms against values by hand, and what the pages say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward_studies import causes
from wayforward_studies.firsts import globe_ce, mace, probe, roar
from wayforward_studies.firsts.original import cell
from wayforward_studies.firsts.published import ORIGINALS
from wayforward_studies.firsts.run import OriginalsReplication
from wayforward_studies.overview import numbers
from wayforward_studies.pages import Page
from wayforward_studies.verdicts import Verdict

PAGES = Path(__file__).parents[2] / "docs/replication"


def page(name: str) -> Page:
    """A committed page as it is shown."""
    return OriginalsReplication.laid_out(Page.read(PAGES / f"originals/{name}.json"))


def test_the_descent_is_that_of_adam_on_the_worst_case() -> None:
    """Row by row against torch's Adam and its own gradients, with the same end."""
    import torch

    rng = np.random.default_rng(0)
    x, weight, price = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.uniform(0.05, 0.3, (4, 3))
    got = roar.descend(x, roar.Lines(weight, np.full(4, -1.0)), price)
    for i in range(4):
        start, w, cost = (torch.tensor(part[i]) for part in (x, weight, price))
        now = start.clone().requires_grad_()
        steps, before = torch.optim.Adam([now], lr=roar.RATE), float("inf")
        while True:
            steps.zero_grad()
            worst = now @ w - 1 - roar.DELTA * (now.abs().sum() + 1)
            loss = torch.nn.functional.softplus(-worst) + (cost * (now - start).abs()).sum()
            if abs(before - loss.item()) <= roar.STILL:
                break
            before = loss.item()
            loss.backward()  # type: ignore[no-untyped-call]
            steps.step()
        assert got[i] == pytest.approx(now.detach().numpy(), abs=1e-6)
    assert np.abs(got - x).max() > 0.1


def test_surrogates_are_the_line_itself_in_deviations() -> None:
    """Of a linear score, up to the ridge; the chance's slope is at most a quarter of it."""
    rng = np.random.default_rng(0)
    train = rng.normal(size=(400, 3)) * [1.0, 2.0, 5.0]
    slope = np.array([0.5, -0.25, 0.1])
    rows = train[:2]
    logs, chances = roar.surrogates(lambda x: x @ slope - 1, rows, train, rng)
    assert logs.weight == pytest.approx(np.tile(slope * train.std(0), (2, 1)), abs=0.01)
    own = roar._own_units(logs, train)
    assert (rows * own.weight).sum(1) + own.constant == pytest.approx(rows @ slope - 1, abs=0.02)
    assert (np.abs(chances.weight) < 0.27 * np.abs(logs.weight)).all()
    assert (roar._largest(logs).weight == logs.weight[:, :1]).all()


def test_prices_and_costs_of_pairs() -> None:
    assert roar.price_of(np.array([0.5, 0.7, 0.7, 0.6, 0.9])) == 2
    assert roar.price_of(np.array([0.5, 0.6])) == 1 and roar.price_of(np.array([0.5, 0.4])) == 0
    costs = roar.pair_costs(3)
    assert costs.min() == 0 and 0.1 < costs.max() < 1


def test_tables_are_those_of_the_record() -> None:
    """Encoded widths 51 and 20; rows, and the ranges that others print of credit."""
    adult, credit = mace.columns("adult"), mace.columns("credit")
    assert adult.coded(adult.x[:3]).shape == (3, 51) and credit.coded(credit.x[:3]).shape == (3, 20)
    assert len(adult.x) == 45_222 and len(credit.x) == 29_623
    width = dict(zip(credit.names, np.ptp(credit.x, axis=0), strict=True))
    assert width["MaxBillAmountOverLast6Months"] == 50_810 and width["MostRecentPaymentAmount"] == 15_420
    assert width["TotalOverdueCounts"] == 3 and width["TotalMonthsOverdue"] == 36
    rng = np.random.default_rng(0)
    rows = [mace.balanced(table, rng) for table in (adult, credit)]
    assert [len(some) for some in rows] == [22_000, 13_000]
    assert [table.y[some].mean() for table, some in zip((adult, credit), rows, strict=True)] == [0.5, 0.5]


@pytest.mark.filterwarnings("ignore")
def test_the_question_has_the_regressions_score_and_its_nearest_is_nearer() -> None:
    """Level by level the same decision; a counterfactual is never farther than an observed row."""
    from sklearn.linear_model import LogisticRegression

    from wayforward import recommend
    from wayforward.problem.cost import LpMix

    table = mace.columns("credit")
    rows = mace.balanced(table, np.random.default_rng(0))[:600]
    model = LogisticRegression(solver="liblinear").fit(table.coded(table.x[rows]), table.y[rows])
    problem = mace.asked(table, rows, model.coef_[0], float(model.intercept_[0]))
    x = table.x[rows]
    yes = problem.reached(x)[0]
    assert (yes == (model.predict(table.coded(x)) == 1)).all() and 0.2 < yes.mean() < 0.8
    people = x[~yes][:12]
    seen = mace.nearest_observed(table, rows, people, x[yes], keep=False)
    kept = mace.nearest_observed(table, rows, people, x[yes], keep=True)
    for norm, cost in mace.NORMS.items():
        got = recommend(problem.with_(cost=LpMix(**cost)), people, "actionable-recourse")
        near = mace.distance(mace.steps(table, rows, people, got.after[:, 0]), norm)
        assert (near <= seen[norm] + 1e-9).all() and (seen[norm] <= kept[norm]).all()
        own = near * (1 if norm == "linf" else len(table.names))
        assert own == pytest.approx(got.cost[:, 0], rel=1e-6)


def test_translations_are_those_of_rounded_one_hot_columns() -> None:
    """Against rows that are moved, rounded feature by feature and given to the regression."""
    people, model, refused, weight, _ = globe_ce.fitted({"solver": "liblinear"})
    level, numbers, many, _ = globe_ce.table()
    hot, number = globe_ce.sampled(many, 4, np.random.default_rng(0))
    score, cost = globe_ce.moved(people, model, hot, number)
    width = np.ptp(numbers[: globe_ce.TRAIN], axis=0) / globe_ce.BINS
    assert (cost > 0).mean() > 0.2 and (score.shape, cost.shape) == ((globe_ce.SAMPLES, len(refused)),) * 2
    for s in range(0, globe_ce.SAMPLES, 97):
        total = 0.5 * sum(part[s].sum() for part in hot) + np.abs(number[s]).sum()
        assert total == pytest.approx(globe_ce.MAGNITUDE)
        assert sum(bool(part[s].any()) for part in hot) + np.count_nonzero(number[s]) == 4
        after = level[refused].copy()
        for j, k in enumerate(many):
            after[:, j] = ((level[refused][:, j : j + 1] == np.arange(k)) + hot[j][s]).argmax(1)
        rows = globe_ce.coded(after, numbers[refused] + number[s] * width, many)
        assert score[s] == pytest.approx(rows @ weight + model.constant, abs=1e-6)
        assert cost[s] == pytest.approx((after != level[refused]).sum(1) + np.abs(number[s]).sum())


def test_tables_of_probe_have_the_records_columns() -> None:
    """Numbers from 0 to 1 and two-valued columns; as many people as the record has."""
    for name, (people, wide, two) in {
        "compas": (6_172, 3, 4), "gmc": (115_527, 10, 0), "adult": (48_842, 6, 7)
    }.items():  # fmt: skip
        table = probe.data(name)
        assert table.x.shape == (people, wide + two) and table.binary.sum() == two
        assert (table.x.min(0) == 0).all() and (table.x.max(0) == 1).all()
        assert set(np.unique(table.x[:, table.binary])) <= {0.0, 1.0}


@pytest.mark.parametrize("kind", ["linear", "network"])
def test_options_of_probe_meet_the_rate_and_no_more(kind: str) -> None:
    """Scores and slopes are the model's; an option is the first on its way that is a yes within the rate."""
    import torch

    rng = np.random.default_rng(0)
    x = rng.uniform(size=(400, 3))
    x[:, 2] = x[:, 2].round()
    native = probe.trained(x, (x @ [2.0, -1.0, 0.5] > 0.8).astype(int), kind, 30, 32, 0)
    model = probe.Scored.of(native)
    rows = torch.tensor(x[:5], dtype=torch.float32, requires_grad=True)
    odds = native(rows) @ torch.tensor([-1.0, 1.0])
    odds.sum().backward()  # type: ignore[no-untyped-call]
    assert model(x[:5]) == pytest.approx(odds.detach().numpy(), abs=1e-4)
    assert rows.grad is not None and model.slope(x[:5]) == pytest.approx(rows.grad.numpy(), abs=1e-4)
    people, binary = x[model(x) <= 0][:40], np.array([False, False, True])
    after = probe.descend(model, people, binary)
    rates = probe.rate(model(after), model.slope(after))
    assert (model(after) > 0).all() and (rates <= probe.RATE).all() and np.isin(after[:, 2], (0, 1)).all()
    if kind == "linear":
        assert np.median(rates) > probe.RATE - 0.01  # small steps end at the target
        counted = probe.undone(model, after, np.random.default_rng(1))
        assert counted == pytest.approx(rates, abs=0.06)
        wide = probe.descend(model, people, binary, step=0.05)
        assert np.median(probe.rate(model(wide), model.slope(wide))) < np.median(rates)


@pytest.mark.parametrize("name", ORIGINALS)
def test_a_page_says_that_the_paper_was_not_read_and_every_worse_number_has_a_cause(name: str) -> None:
    shown = page(name)
    one = ORIGINALS[name]
    text = (PAGES / f"originals/{name}.md").read_text()
    assert "was not read" in text and one.tolerance in text
    counted = [row for row in shown.rows if not row["beside"]]
    assert len(counted) == len(one.numbers) == sum(numbers(shown).values())
    assert all(str(cell(row).verdict) == row["verdict"] for row in shown.rows)
    for row, measure in causes.worse(shown):
        cause = causes.cause_of("originals", row, measure)
        assert cause is not None and row in counted, (row, measure)
        if cause.word == "tested":  # in a way that the text names, the number itself is within or better
            assert any(
                other["way"] in cause.text and other["verdict"] in ("within", "better")
                for other in shown.rows
                if other["beside"] and all(other[key] == row[key] for key in (*one.keys, "measure"))
            ), row


def test_they_are_counted_on_their_own() -> None:
    """Not among the five papers' numbers, and by the verdicts in the pages' rows."""
    data = json.loads((PAGES / "overview.json").read_text())
    assert "originals" not in {row["paper"] for row in data["lines"]}
    told = {row["page"]: row for row in data["provenance"]["originals"]}
    assert set(told) == set(ORIGINALS)
    for name, row in told.items():
        words = [
            one["verdict"] for one in Page.read(PAGES / f"originals/{name}.json").rows if not one["beside"]
        ]
        assert {word: words.count(word) for word in map(str, Verdict)} == {
            word: row[word] for word in map(str, Verdict)
        }


def test_an_unknown_page_is_refused(tmp_path: Path) -> None:
    got = CliRunner().invoke(app, ["replicate", "originals", "--extra", "tabel", "--out", str(tmp_path)])
    assert got.exit_code == 2 and "no page 'tabel'" in " ".join(got.output.split())


@pytest.mark.parametrize("name", ORIGINALS)
def test_a_page_s_stages_hang_on_its_own_module(name: str) -> None:
    assert ORIGINALS[name].decides == (f"firsts/{name.replace('-', '_')}.py",)
