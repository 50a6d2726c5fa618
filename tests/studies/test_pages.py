"""The committed pages: what their JSON says is what they show, and the tolerance stands on every one of them."""

from __future__ import annotations

import functools
import json
import math
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward.errors import FileFormatError
from wayforward_studies import causes, originals
from wayforward_studies.balanced import tables
from wayforward_studies.balanced.published import BY_BETA, BY_METHOD
from wayforward_studies.balanced.run import BalancedReplication
from wayforward_studies.balanced.setting import AS_RUN, REAL
from wayforward_studies.commands import STUDIES
from wayforward_studies.hare.published import COPIED, TITLES, HareCase, HarePublished, Stated
from wayforward_studies.hare.published import rows as hare_lines
from wayforward_studies.hare.run import HareReplication
from wayforward_studies.hare.tables import NEAR, POINTS, CaseResult, _part
from wayforward_studies.icarma.published import ROWS as icarma_lines
from wayforward_studies.icarma.run import IcarmaReplication
from wayforward_studies.icarma.tables import cells
from wayforward_studies.overview import FOUND, SAME, printed
from wayforward_studies.pages import Page, Row
from wayforward_studies.pages import number as as_number
from wayforward_studies.verdicts import Cell, Verdict

PAGES = Path(__file__).parents[2] / "docs/replication"
LAID_OUT = {
    "hare": HareReplication.laid_out,
    "icarma": IcarmaReplication.laid_out,
    "balanced": BalancedReplication.laid_out,
}


@functools.cache
def counted(paper: str) -> list[Page]:
    """The pages whose numbers the overview counts, as they are shown."""
    rows = json.loads((PAGES / "overview.json").read_text())["lines"]
    names = [
        row["pages"].split()[0]
        for row in rows
        if row["paper"] == paper and any(row[word] for word in Verdict)
    ]
    return [printed(LAID_OUT[paper](Page.read(PAGES / f"{paper}/{name}.json"))) for name in names]


def said(paper: str, words: str = "", *, undecided: bool = False, as_: str = "tested") -> int:
    """How many numbers of a paper the overview says hang on something whose text has these words."""
    made = Page.read(PAGES / "overview.json").provenance["undecided" if undecided else "why"]
    return sum(
        int(count)
        for where, count, *word, text in made
        if f"({paper}/" in where and words in text and word[:1] in ([], [as_])
    )


@pytest.mark.parametrize("paper", STUDIES)
def test_pages_rendered_again_are_the_same(paper: str, tmp_path: Path) -> None:
    """Also the verdicts: they are judged anew from the numbers."""
    folder = tmp_path / paper
    shutil.copytree(PAGES / paper, folder)
    got = CliRunner().invoke(app, ["replicate", paper, "--render", "--out", str(folder), "--json", "-"])
    assert got.exit_code == 0, got.output
    for file in sorted(PAGES.glob(f"{paper}/*")):
        assert (folder / file.name).read_bytes() == file.read_bytes(), file.name
    names = {file.stem for file in folder.glob("*.json")}
    assert {page["name"] for page in json.loads(got.stdout)["pages"]} == names


@pytest.mark.parametrize(
    "file", sorted(PAGES.glob("*/*.json")), ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_every_page_states_its_tolerance(file: Path) -> None:
    """Or that there is none; all files that it names are there."""
    text = file.with_suffix(".md").read_text()
    data = json.loads(file.read_text())
    assert data["tolerance"] in text and data["tolerance"].startswith(("Tolerance: ", "No tolerance: "))
    words = {row.get("verdict") for row in data["lines"]}
    if words - {None, ""}:
        assert data["tolerance"].startswith("Tolerance: ")
        assert words <= {"", "within", "better", "worse", "undecided", "copied in the paper"}
    assert all((file.parent / name).is_file() for name in data["files"])


def test_undecided_numbers_of_balanced_recourse_are_within_where_it_is_said() -> None:
    """On one of the pages that the line names, in the same setting; that of the notebook has one synthetic set."""
    lines = {
        name: [
            (
                AS_RUN.get(row.get("setting", ""), row.get("setting", "synthetic")),
                row["method"].partition(", ")[0] if name == "changed" else row["method"],
                row["measure"],
                row,
            )
            for row in Page.read(PAGES / f"balanced/{name}.json").rows
        ]
        for name in ("as-run", "as-run-tables", "one-place", "changed")
    }
    found = 0
    for page in counted("balanced"):
        for row, measure in causes.worse(page, Verdict.UNDECIDED):
            cause = causes.cause_of("balanced", row, measure, causes.UNDECIDED)
            if cause is None:
                continue
            found += 1
            method = row["method"].partition(" ")[0]
            same = [
                line
                for one in re.findall(r"balanced/([^)]+)\.md", cause.text)
                for *key, line in lines[one]
                if key == [row["setting"], method, measure] and line.get("kind", "as-run") == "as-run"
            ]
            better = [
                tables.SIGN[measure] * (line.get("mean", line.get("ours")) - row["paper"])
                >= -tables.TOLERANCE[measure]
                for line in same
            ]
            assert any(better), (row, cause.text)
    assert found == said("balanced", undecided=True) > 0


def test_undecided_numbers_are_within_where_it_is_said() -> None:
    """Of iCARMA: on a page that the line names, for the same people's wishes; an oracle's validity needs no weights."""
    keys = ("dataset", "elicited", "law", "features", "profile", "method")
    found = 0
    for page in counted("icarma"):
        for row, measure in causes.worse(page, Verdict.UNDECIDED):
            cause = causes.cause_of("icarma", row, measure, causes.UNDECIDED)
            if cause is None:
                continue
            found += 1
            asked = {key: row[key] for key in keys if key != "profile" or row["method"] != "oracle"}
            words = [
                cells(line)[measure].verdict
                for name in re.findall(r"icarma/([^)]+)\.md", cause.text)
                for line in Page.read(PAGES / f"icarma/{name}.json").rows
                if all(line.get(key, value) == value for key, value in asked.items())
                and measure in cells(line)
            ]
            assert {"within", "better"} & set(words), row
    assert found == said("icarma", undecided=True) > 0


def of_ours(page: Page, row: Row) -> CaseResult:
    """The line of a page of HARE that is a row's but for the plan from before, which takes part in each round."""
    asked = ("dataset", "classifier", "base", "scale", "iterations", "budget", "calibrate")
    (one,) = (
        other
        for other in page.rows
        if other["keep_incumbent"] and all(other[name] == row[name] for name in asked)
    )
    return CaseResult.of(one, page.provenance["base GTP"], page.provenance["seeds"])


def test_who_starts_nearer_ends_at_the_papers_distance() -> None:
    """Of HARE: where that is the cause of a worse number, which is a share."""
    found = 0
    for page in counted("hare"):
        start = {
            (row["dataset"], row["classifier"], row["base"], row["scale"]): row
            for row in page.rows
            if row["asked"] == "base" and row["gtp_paper"]
        }
        for row, measure in causes.worse(page):
            cause = causes.cause_of("hare", row, measure)
            if cause is not None and cause.text.startswith("Ours start nearer"):
                found += 1
                base = start[row["dataset"], row["classifier"], row["base"], row["scale"]]
                assert base["gtp"] < base["gtp_paper"] and round(row["gtp"] - row["gtp_paper"], 2) <= 0.01, (
                    row
                )
    assert found == said("hare", "Ours start nearer", as_="in part") > 0


#: What a line of `one-change` or `together` has changed, by the words of a cause that rests on it.
CHANGED: dict[str, Callable[[CaseResult], bool]] = {
    "within limits": lambda line: line.case.base.endswith("-strict"),
    "the plan from before": lambda line: line.way.keep,
    "by direction": lambda line: line.case.answers == "by-direction",
    "times as far": lambda line: line.case.reach != 1,
    "steps of": lambda line: line.way.step != 1,
    "small steps": lambda line: line.case.base == "wachter-small",
    "all taken back": lambda line: line.case.base.endswith("-between"),
}


def compared(name: str, text: str, row: Row) -> list[CaseResult]:
    """The lines of a page about the row's case that have changed what the text says, and nothing else."""
    page = Page.read(PAGES / f"hare/{name}.json")
    lines = [CaseResult.of(one, page.provenance["base GTP"], page.provenance["seeds"]) for one in page.rows]
    where = HareCase(row["dataset"], row["base"], row["classifier"], row["scale"])
    asked = (row["iterations"], row["budget"], row["calibrate"])
    same = [
        line
        for line in lines
        if line.case.published == where
        and (line.way.iterations, line.way.budget, line.way.calibrate) == asked
    ]
    if name not in (
        "one-change",
        "together",
    ):  # all lines of the others have the change that the page is about
        return [line for line in same if line.way.keep == ("that plan" in text)]
    words = {word for word in CHANGED if word in text}
    return [line for line in same if {word for word, has in CHANGED.items() if has(line)} == words]


HARE_PAGES = [
    *("steps-quick", "direction-quick", "alike-quick", "between-quick"),
    *("one-change", "brief", "near", "together"),
]


def whole(line: CaseResult, share: bool) -> dict[str, Cell]:
    """The cells of a line of HARE by the means, of all numbers that the paper states of it, be it in other tables.

    share: is its GTP judged by the share by which asking lowers it, as in the table whose number is explained?
    """
    case, way = line.case.published, line.way.printed
    stated: dict[str, Stated] = {}
    for number in TITLES:
        for one in hare_lines(number):
            stated |= one.stated if (one.case, one.way) == (case, way) else {}
    found = replace(line, paper=HarePublished(0, case, way, stated)).cells
    paper, start = stated["gtp"].mean, line.base_paper or math.nan
    if share:
        return found | {"gtp": Cell(1 - line.gtp / line.base, 1 - paper / start, POINTS)}
    return found | {"gtp": Cell(line.gtp, paper, NEAR * paper, -1)}


def of_table(page: str, row: Row, text: str) -> dict[str, Cell]:
    """The cells of a method on a page of balanced recourse where something is changed, by what the text says."""
    setting, method = row["setting"], row["method"]
    found: dict[str, Cell] = {}
    mine = SAME.get(method, method)
    paper = BY_METHOD[setting][mine] if mine in BY_METHOD[setting] else BY_BETA[method]
    for line in Page.read(PAGES / f"balanced/{page}.json").rows:
        name, _, changed = line["method"].partition(", ")
        place = str(line.get("setting", "synthetic"))
        if (AS_RUN.get(place, place), SAME.get(name, name)) != (setting, mine):
            continue
        if line.get("kind", "as-run") != "as-run" or line["measure"] not in tables.TOLERANCE:
            continue
        if "8,192" in changed and "8,192" not in text.partition("; EBR costs")[0] or "limits" in changed:
            continue
        measure, tolerance = line["measure"], tables.tolerance_of(setting, line["measure"])
        if measure in paper and (measure != "invalid" or setting in REAL):
            sign = 0 if method == "origin" else tables.SIGN[measure]
            found[measure] = Cell(
                as_number(line.get("ours", line.get("mean"))), paper[measure], tolerance, sign
            )
    return found


def ours_of(paper: str, row: Row, measure: str) -> Cell:
    """A worse number as it is judged."""
    if paper == "hare":
        page = next(page for page in counted(paper) if any(row is one for one in page.rows))
        return CaseResult.of(row, page.provenance["base GTP"], page.provenance["seeds"]).cells[measure]
    return cells(row)[measure] if paper == "icarma" else Cell(row["ours"], row["paper"])


def trials(page: Page, row: Row, cause: causes.Cause) -> list[dict[str, Cell]]:
    """What was measured with what a cause names changed: the cells of each trial on the pages that it names."""
    text = cause.text
    if page.paper == "icarma":
        asked = {key: row[key] for key in ("elicited", "features", "profile")}
        return [
            cells(line)
            for name, trial in re.findall(r"icarma/(tried-(?:flow|gmsc))\.md\), ([^.;)]+)\)", text)
            for line in Page.read(PAGES / f"icarma/{name}.json").rows
            if line["trial"] == trial and asked.items() <= line.items()
        ]
    if page.paper == "balanced":
        names = re.findall(r"balanced/(as-run|as-run-tables|changed|changed-few)\.md", text)
        return [found for name in dict.fromkeys(names) if (found := of_table(name, row, text))]
    lines = [of_ours(page, row)] if " forget the plan" in text else []
    for name in HARE_PAGES:
        lines += compared(name, text, row) if f"/{name}.md" in text else []
    share = ours_of("hare", row, "gtp").paper != row["gtp_paper"]
    return [whole(line, share) for line in lines]


@functools.cache
def tried() -> dict[str, list[tuple[Row, str, causes.Cause, list[tuple[Cell, bool]]]]]:
    """By paper, its worse numbers with a tested cause, and of each trial that mends one: its cell, and whether another
    number of the line is worse."""
    found: dict[str, list[tuple[Row, str, causes.Cause, list[tuple[Cell, bool]]]]] = {}
    for paper in ("hare", "balanced", "icarma"):
        for page in counted(paper):
            for row, measure in causes.worse(page):
                cause = causes.cause_of(paper, row, measure)
                if cause is None or cause.word != "tested":
                    continue
                mended = []
                for trial in trials(page, row, cause):
                    means = {name: replace(cell, interval=None) for name, cell in trial.items()}
                    if measure in means and means[measure].verdict in (Verdict.WITHIN, Verdict.BETTER):
                        others = {cell.verdict for name, cell in means.items() if name != measure}
                        mended.append((means[measure], Verdict.WORSE in others))
                found.setdefault(paper, []).append((row, measure, cause, mended))
    return found


@pytest.mark.parametrize("paper", ["hare", "balanced", "icarma"])
def test_a_tested_cause_was_tested(paper: str) -> None:
    """With what it names changed the number is within or better, and no farther off than it was."""
    for row, measure, cause, mended in tried()[paper]:
        before = ours_of(paper, row, measure)
        assert before.paper is not None
        off = abs(before.ours - before.paper)
        assert any(abs(cell.ours - (cell.paper or 0.0)) <= off for cell, _ in mended), (
            row,
            measure,
            cause.text,
        )


def test_whether_the_plan_from_before_is_nearer_is_counted() -> None:
    """Of HARE's GTPs and GTDs of several rounds: how many are nearer to the paper's as printed."""
    nearer = [
        abs(row[name] - row[f"{name}_paper"])
        < abs(of_ours(page, row).values[name].mean - row[f"{name}_paper"])
        for page in counted("hare")
        for row in page.rows
        if row["asked"] == "hare" and row["iterations"] > 1 and not row["keep_incumbent"]
        for name in ("gtp", "gtd")
        if row[f"{name}_paper"] is not None
    ]
    text = " ".join((PAGES / "index.md").read_text().split())
    assert (
        f"of {len(nearer)} GTPs and GTDs of several rounds in Tables 1 to 6, repeats included, {sum(nearer)} are "
        f"nearer as printed and {len(nearer) - sum(nearer)} with the plan" in text
    )


def test_no_combination_hangs_on_the_seed_that_was_looked_at() -> None:
    """Of HARE: where several things together are a tested cause, without the first seed they do it as well."""
    by_seed = Page.read(PAGES / "hare/together.json").provenance["by seed"]
    found = 0
    for row, measure, cause, _ in tried()["hare"]:
        if "/together.md" in cause.text:
            found += 1
            share = ours_of("hare", row, "gtp").paper != row["gtp_paper"]
            lines = [_part(line, by_seed, slice(1, None)) for line in compared("together", cause.text, row)]
            words = {replace(whole(line, share)[measure], interval=None).verdict for line in lines}
            assert words & {Verdict.WITHIN, Verdict.BETTER}, (row, cause.text)
    assert found == said("hare", "/together.md") > 0


def test_what_speaks_against_tested_causes_is_counted() -> None:
    """Which of them cost another number, how many numbers are but better, and how many causes contradict a print."""
    titles = {"hare": "HARE's", "balanced": "balanced recourse's", "icarma": "iCARMA's"}
    costs: dict[str, bool] = {}
    parts: list[tuple[int, str, int]] = []
    words: list[str] = []
    for paper, title in titles.items():
        some = tried()[paper]
        near = sum(any(cell.verdict is Verdict.WITHIN for cell, _ in mended) for *_, mended in some)
        cost = [all(costly for _, costly in mended) for *_, mended in some]
        for (_, _, cause, _), has in zip(some, cost, strict=True):
            costs[cause.text] = costs.get(cause.text, False) or has
        parts.append((near, f"{near} of {title} {len(some)}", len(some) - near))
        words.append(f"{sum(cost)} of {title}")
    study = said("study")  # both are within, by the other reading that its page has below
    parts.append((study, f"{study} of the study's {study}", 0))
    within, better = sum(part[0] for part in parts), sum(part[2] for part in parts)
    texts = ", ".join(part[1] for part in parts)
    assert f"{within} are within ({texts}), the other {better} only better." in causes.TRIED
    assert f"another number of the line is worse for {words[0]}, {words[1]} and {words[2]}." in causes.TEXT
    found = {
        cause.text: causes.COSTS in cause.against for some in tried().values() for _, _, cause, _ in some
    }
    assert found == costs
    assert all({*cause.against} <= {*causes.AGAINST} for cause in causes.CAUSES)
    assert all(cause.word == "tested" for cause in causes.CAUSES if cause.against)


@pytest.mark.parametrize("name", [*HARE_PAGES[:1], *HARE_PAGES[2:5]])
def test_undecided_numbers_of_hare_are_within_where_they_are_said_to_be(name: str) -> None:
    found = 0
    for table in counted("hare"):
        for row, measure in causes.worse(table, Verdict.UNDECIDED):
            cause = causes.cause_of("hare", row, measure, causes.UNDECIDED)
            if cause is None or f"/{name}.md" not in cause.text:
                continue
            found += 1
            lines = compared(name, cause.text, row)
            words = {replace(line.cells[measure], interval=None).verdict for line in lines}
            good = {Verdict.WITHIN} | ({Verdict.BETTER} if row[measure] > row[f"{measure}_paper"] else set())
            assert good & words, row
    assert found == said("hare", f"/{name}.md", undecided=True) > 0


def test_a_file_that_is_no_page_is_named(tmp_path: Path) -> None:
    (tmp_path / "table-1.json").write_text("{}")
    with pytest.raises(FileFormatError, match=r"'table-1\.json' is no page of a study"):
        Page.read(tmp_path / "table-1.json")
    got = CliRunner().invoke(app, ["replicate", "hare", "--render", "--out", str(tmp_path / "nowhere")])
    assert got.exit_code == 2 and "There is no page of 'hare'" in got.output


@pytest.mark.parametrize(
    "edit",
    [
        {"name": "../../elsewhere"},
        {"name": None},
        {"lines": ["a"]},
        {"lines": [{}]},
        {"lines": [{"method": "x"}] * 3},
        {"provenance": {}},
        {"provenance": []},
        {"title": {"a": 1}, "findings": [1]},
        "[" * 100_000,
        '{"findings":' + "9" * 5_000 + "}",
    ],
)
def test_an_edited_page_is_refused_and_writes_nowhere_else(tmp_path: Path, edit: Any) -> None:
    name = "hare/table-1.json"
    file = tmp_path / name
    file.parent.mkdir()
    text = edit if isinstance(edit, str) else json.dumps(json.loads((PAGES / name).read_text()) | edit)
    file.write_text(text)
    got = CliRunner().invoke(app, ["replicate", "hare", "--render", "--out", str(file.parent)])
    assert got.exit_code == 2 and "'table-1.json' is no page of a study" in got.output, got.exception
    assert list(tmp_path.rglob("*.*")) == [file]


def test_a_page_follows_no_strangers_link(tmp_path: Path) -> None:
    """Wherever its name could be foreseen."""
    shutil.copy(PAGES / "hare/table-1.json", tmp_path)
    (tmp_path / "victim").write_text("mine")
    for ending in ("md", "csv", "json"):
        (tmp_path / f"table-1.{ending}.half").symlink_to("victim")
    got = CliRunner().invoke(app, ["replicate", "hare", "--render", "--out", str(tmp_path)])
    assert got.exit_code == 0, got.output
    assert (tmp_path / "victim").read_text() == "mine" and not (tmp_path / "table-1.md").is_symlink()


def test_the_overview_counts_the_pages(tmp_path: Path) -> None:
    """It is as young as they are, holds every table, and a table's counts are those of its own verdicts."""
    folder = tmp_path / "all"
    shutil.copytree(PAGES, folder)
    got = CliRunner().invoke(app, ["replicate", "overview", "--out", str(folder)])
    assert got.exit_code == 0, got.output
    for file in PAGES.glob("overview.*"):
        assert (folder / file.name).read_bytes() == file.read_bytes(), "wayforward replicate overview"
    data = json.loads((folder / "overview.json").read_text())["lines"]
    named = {(row["paper"], name) for row in data for name in row["pages"].split()}
    tables = {(file.parent.name, file.stem) for file in PAGES.glob("*/table-*.json")}
    assert tables == named & tables
    table = json.loads((PAGES / "hare/table-4.json").read_text())["lines"]
    printed = [row for row in table if not row["keep_incumbent"]]  # ours stands below and is not counted
    words = [word for row in printed for name, word in row.items() if name.endswith("_verdict") and word]
    row = next(row for row in data if row["paper"] == "hare" and row["part"] == "Table 4")
    assert {w: words.count(w) for w in words} == {w: row[w] for w in set(words)} and row["not_judged"] == 0
    shutil.rmtree(folder / "study")
    got = CliRunner().invoke(app, ["replicate", "overview", "--out", str(folder)])
    assert got.exit_code == 2 and "has no page 'table-s2' of 'study'" in " ".join(got.output.split())


def test_repeated_numbers_are_counted_once_where_it_is_said() -> None:
    """Of the numbers that the papers print, by their own tables here; and the survey's by its page in the guide."""
    of_icarma = {
        (row.case, row.method, name)
        for row in icarma_lines
        for name in ("validity", "plausibility", "hap")
        if row.value(name) is not None
    }
    of_hare = {
        (row.case, row.way, name)
        for number in range(1, 7)
        for row in hare_lines(number)
        for name in row.stated
        if (row.case, row.way) not in COPIED
    }
    repeated = {"ebr beta=0.3": "ebr", "ibr beta=1": "ibr"}
    for beta, method in repeated.items():
        assert BY_BETA[beta].items() <= BY_METHOD["synthetic"][method].items()
    lines = {(name, method): line for name, some in BY_METHOD.items() for method, line in some.items()}
    lines |= {("synthetic", beta): line for beta, line in BY_BETA.items() if beta not in repeated}
    of_balanced = [
        measure
        for (setting, _), line in lines.items()
        for measure in line
        if measure != "increases" and (measure != "invalid" or setting in REAL)
    ]
    made = Page.read(PAGES / "overview.json").provenance["different"]
    assert made == {"icarma": len(of_icarma), "hare": len(of_hare), "balanced": len(of_balanced)}
    text = (PAGES / "overview.md").read_text()
    assert (
        f"HARE's are {made['hare']} different ones, balanced recourse's {made['balanced']}, "
        f"iCARMA's {made['icarma']})" in text
    )
    made = Page.read(PAGES / "overview.json").provenance
    shares, firm = made["explained"], made["explained_firm"]
    assert all(f"{share:.1%}" in text for share in (*shares.values(), *firm.values()))
    for paper in shares:  # what is left open, a number at a time and all together
        open_, rows_ = 0, json.loads((PAGES / "overview.json").read_text())["lines"]
        for page in counted(paper):
            open_ += sum(not causes.explained(paper, *one) for one in causes.judged(page))
        words = ("worse_tested", "undecided_not_worse", "undecided_tested", "undecided_chance")
        left = [r["worse"] + r["undecided"] - sum(r[w] for w in words) for r in rows_ if r["paper"] == paper]
        assert open_ == sum(left) > 0 and firm[paper] < shares[paper] < 1
    guide = (PAGES.parent / "guide/table-1.md").read_text()
    listed, here = re.findall(r"lists (\d+) systems\. (\d+) of them run here", guide)[0]
    assert f"{here} of its {listed} systems run here" in text


def test_what_other_seeds_turn_is_listed() -> None:
    """Every finding of the paper that the second page judges otherwise, by both pages' JSON."""
    rows = [
        row for row in json.loads((PAGES / "overview.json").read_text())["lines"] if "-seed-" in row["again"]
    ]
    turned = 0
    for row in rows:
        first, again = (
            {
                check["name"]: check["verdict"]
                for check in Page.read(PAGES / row["paper"] / f"{name}.json").to_dict()["findings"]
                if not check["name"].startswith("ours: ")  # beside the paper's, in one of the pages
            }
            for name in (row["pages"].split()[0], row["again"])
        )
        other = {name for name, word in first.items() if again[name] != word and word in FOUND}
        assert len(other) == row["again_findings_other"] and all(
            f"{name}: " in row["again_lines"] for name in other
        )
        turned += len(other)
    assert {"icarma", "hare", "balanced", "study"} == {row["paper"] for row in rows} and turned >= 3


def test_counts_in_the_index_are_those_of_the_pages() -> None:
    """Words of the index about how many numbers are what, read from the pages that it speaks of."""
    text = " ".join((PAGES / "index.md").read_text().split())
    rows = json.loads((PAGES / "overview.json").read_text())["lines"]

    def count(words: Sequence[str] = tuple(Verdict), **of: str) -> list[int]:
        some = [row for row in rows if of.items() <= row.items()]
        return [sum(row[word] for row in some) for word in words]

    def share(**of: str) -> str:
        within, *others = count(**of)
        return f"{100 * within / (within + sum(others)):.0f}"

    papers = ("hare", "balanced", "icarma")
    assert (
        f"{share()} % of all numbers are *within* (HARE {share(paper='hare')}, balanced recourse "
        f"{share(paper='balanced')}, iCARMA {share(paper='icarma')})" in text
    )
    overview = " ".join((PAGES / "overview.md").read_text().split())
    whole_, plain = re.findall(r"; (\S+%) with [^;]*; (\S+%) without the", overview)[0]
    assert f"{whole_} of all numbers are within, better or explained, {plain} without causes that" in text
    better = {
        p: [one for page in counted(p) for one in causes.judged(page) if one[2] == "better"] for p in papers
    }
    asked = sum(row["asked"] == "hare" for row, *_ in better["hare"])
    others = sum(row["method"].partition(" ")[0] not in ("ebr", "ibr") for row, *_ in better["balanced"])
    assert (
        f"{asked} of HARE's {len(better['hare'])} are of HARE and Multi-HARE themselves, {others} of balanced "
        f"recourse's {len(better['balanced'])} of the methods" in text
    )
    within, good, bad, open_ = count(paper="balanced", part="Table 1")
    assert (
        f"Of Table 1's {within + good + bad + open_} numbers {within} are within, {good} better, {bad} worse and "
        f"{ {1: 'one is'}[open_] } undecided" in text
    )
    within, good, bad, open_ = count(paper="balanced", part="Table 6")
    assert (
        f"of Table 6's {within + good + bad + open_} numbers (without those of Table 3) {within} are within, {good} "
        f"better, {bad} worse and {open_} undecided" in text
    )
    within, good, bad, open_ = count(paper="hare")
    assert (
        f"Of {within + good + bad + open_} published numbers (repeats among tables included), as printed, {within} are "
        f"within the tolerance, {good} better, {open_} undecided and {bad} worse" in text
    )
    (again,) = count(("again_judged",), paper="balanced")
    assert f"These {again} numbers of {sum(count(paper='balanced'))} are the only ones" in text


def test_numbers_that_other_seeds_judge_otherwise_are_listed() -> None:
    """Of HARE's Table 4, by the verdicts in both pages' rows: printed lines alone, all of them asked again."""
    first, again = (
        [
            row
            for row in Page.read(PAGES / f"hare/{name}.json").rows
            if row["gtp_paper"] and not row["keep_incumbent"]
        ]
        for name in ("table-4", "table-4-seed-5")
    )
    assert Page.read(PAGES / "hare/table-4-seed-5.json").provenance["first seed"] == 5
    pairs = [
        (a[name], b[name])
        for a, b in zip(first, again, strict=True)
        for name in a
        if name.endswith("_verdict") and a[name]
    ]
    row = next(
        row
        for row in json.loads((PAGES / "overview.json").read_text())["lines"]
        if (row["paper"], row["again"]) == ("hare", "table-4-seed-5")
    )
    assert row["again_judged"] == len(pairs) == 189
    other = [f"{a} then {b}" for a, b in pairs if a != b]
    assert row["again_other"] == len(other) and all(word in row["again_lines"] for word in other)


def test_every_paper_behind_a_method_has_a_line() -> None:
    """Measured again, or not and why; each system once, and every page that is named is there."""
    lines = [line.shown for line in originals.table().lines]
    named = [name for line in lines for name in line[0].split(", ") if name]
    assert sorted(named) == sorted(", ".join(originals.known()).split(", "))
    assert {line[1] for line in lines} == {"measured", "findings", "in part", "not"} and all(
        x for *_, x in lines
    )
    for name in re.findall(r"\]\(([^)]+\.md)\)", " ".join(line[2] for line in lines)):
        assert (PAGES / name).is_file(), name
    overview = (PAGES / "overview.md").read_text()
    assert originals.TITLE in overview and all(line[2] in overview for line in lines)


def test_every_worse_number_has_a_cause() -> None:
    """Tested, or said to be unknown with what was tried; and a page that a cause names is there."""
    why = json.loads((PAGES / "overview.json").read_text())["provenance"]["why"]
    assert why and {line[2] for line in why} == {"tested", "in part", "unknown"}
    rows = json.loads((PAGES / "overview.json").read_text())["lines"]
    assert sum(int(line[1]) for line in why) == sum(row["worse"] for row in rows)
    for name in re.findall(r"\]\(([^)]+\.md)\)", " ".join(line[0] + line[-1] for line in why)):
        assert (PAGES / name).is_file(), name
