"""The simulated study beside the paper's: its tables, findings and pages."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward_studies.study import tables
from wayforward_studies.study.published import ANOTHER, MODELS, NUMBERS, QUOTED, TABLE_S2
from wayforward_studies.study.run import BINS, GRID, StudyReplication, StudyRequest, simulated

STUDIES = 40


def as_published() -> dict[str, np.ndarray]:
    """Forty studies whose numbers scatter a little about those of the paper, and whose curves are as it says."""
    rng = np.random.default_rng(0)
    paper = np.array([TABLE_S2[model] for model in MODELS])
    out = {
        "numbers": paper * (1 + 0.01 * rng.normal(size=(STUDIES, *paper.shape))),
        "p": np.tile([[0.5, 0, 0]] * 2 + [[0, 0, 0]] * 2, (STUDIES, 1, 1)).astype(float),
        "left": rng.integers(1725, 1750, STUDIES),
        "rich": rng.integers(40, 70, STUDIES),
        "span-sparsity": np.tile([1.0, 12.0], (STUDIES, 1)),
        "span-proximity": np.tile([0.12, 9.2], (STUDIES, 1)) + rng.normal(0, 0.005, (STUDIES, 2)),
    }
    for outcome, x in MODELS:
        at = GRID[x]
        line = np.exp(-at) if outcome == "action" else np.zeros(len(at))
        value = 2.6 + line + 0.001 * rng.normal(size=(STUDIES, 1))
        out[f"curve-{outcome}-{x}"] = np.stack([value, value - 0.2, value + 0.2], axis=1)
        out[f"count-{x}"] = rng.integers(0, 9, (STUDIES, len(BINS[x]) - 1))
    return out


def verdicts(name: str, studies: dict[str, np.ndarray]) -> dict[str, str]:
    return {check.name: check.verdict for check in tables.MEASURED[name](studies, GRID, BINS)[1]}


def test_the_papers_own_numbers_are_within_and_its_findings_are_found() -> None:
    studies = as_published()
    rows, _ = tables.table_s2(studies)
    (table,), said = tables._models(rows)
    assert len(rows) == len(MODELS) * len(NUMBERS) == len(table.lines)
    assert {line.verdict for line in table.lines} == {"within"} and said.startswith("Tolerance: ")
    for name in tables.MEASURED:
        found = verdicts(name, studies)
        assert found and set(found.values()) == {"as published"}, found


def test_a_number_beyond_is_worse_or_within_what_a_single_study_varies_by() -> None:
    studies = as_published()
    slopes = NUMBERS.index("EDF of slopes")
    for scatter, word in ((1.0, "worse"), (40.0, "undecided")):
        studies["numbers"][:, 3, slopes] = 100 + scatter * np.random.default_rng(0).normal(size=STUDIES)
        (table,), _ = tables._models(tables.table_s2(studies)[0])
        wrong = [line for line in table.lines if line.verdict != "within"]
        assert [line.verdict for line in wrong] == [word] and wrong[0].shown[1] == "EDF of slopes"


@pytest.mark.parametrize(
    ("like", "word"),
    [(40, "as published"), (32, "as published"), (31, "undecided"), (20, "not as published")],
)
def test_shares_of_studies_are_judged_with_their_interval(like: int, word: str) -> None:
    """Of acceptance, 80 % are wanted."""
    studies = as_published()
    studies["p"][like:, 0, 0] = 0.01
    assert verdicts("table-s2", studies)["acceptance ~ sparsity: the curve"] == word


def test_other_curves_are_not_as_published() -> None:
    studies = as_published()
    for name in ("curve-action-sparsity", "curve-acceptance-sparsity"):
        studies[name] += np.linspace(0, 2, studies[name].shape[2])
    found = verdicts("figure-3", studies)
    assert (
        found["acceptance ~ sparsity"] == found["action ~ sparsity: the highest point"] == "not as published"
    )
    assert found["acceptance ~ proximity"] == "as published"
    studies["span-proximity"][:, 1] = 8.0 + np.random.default_rng(0).normal(0, 0.1, STUDIES)
    assert verdicts("figure-1", studies)["greatest proximity"] == "not as published"


def test_five_of_the_seven_quoted_distances_agree() -> None:
    (table, other), _ = tables._quoted([])
    found = {line.shown[0]: line.verdict for line in table.lines}
    assert found == {who: "worse" if who in ("P446", "P718") else "within" for who in QUOTED}
    assert other.beside and {line.verdict for line in other.lines} == {"within"}  # by three fitted ranges
    for item in ANOTHER:  # each of which is needed
        lines = tables._plans({name: of for name, of in ANOTHER.items() if name != item}, "")
        assert "worse" in {line.verdict for line in lines}


@pytest.mark.slow
def test_a_small_replication_writes_its_pages_and_goes_on_from_stored_studies(tmp_path, monkeypatch) -> None:
    once = functools.cache(simulated)
    monkeypatch.setattr("wayforward_studies.study.run.simulated", once)
    request = StudyRequest(n=40, seeds=2, out=tmp_path / "out", cache=tmp_path)
    work = StudyReplication(request)
    pages = [work.page(name) for name in request.pages]
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        name for page in pages for name in page.files
    }
    assert all(page.quick and "A quick look" in page.markdown() for page in pages)
    first = next(row for row in pages[0].rows if row["number"] == "intercept")
    one, two = (once(40, seed)["numbers"][0, 0] for seed in (0, 1))
    assert first["mean"] == pytest.approx((one + two) / 2, rel=1e-4)
    assert once.cache_info().misses == 2  # those two studies are what was made, each once
    plans = sum(row["plans"] for row in pages[1].rows if row["quantity"] == "sparsity")
    assert plans == pytest.approx(40 * 5)
    monkeypatch.setattr("wayforward_studies.study.run.simulated", lambda *_: pytest.fail("simulated again"))
    assert StudyReplication(request).page("table-s2").rows == pages[0].rows


@pytest.mark.parametrize("wrong", [{"n": 5}, {"seeds": 1}])
def test_too_little_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(DataError, match="leaves too little to measure"):
        StudyRequest(**wrong)
