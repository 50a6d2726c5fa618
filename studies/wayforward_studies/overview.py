"""Every table and figure of the five papers on one page: how many of their numbers were found again, by one rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wayforward.errors import DataError
from wayforward.methods.survey import SURVEYED
from wayforward_studies import causes, originals
from wayforward_studies.balanced.tables import TOLERANCE
from wayforward_studies.icarma.tables import cells
from wayforward_studies.pages import Line, Page, Row, Table, plain
from wayforward_studies.verdicts import RULE, Verdict

FOUND = ("as published", "not as published", "undecided")
_HEADS = (
    "table or figure", "pages", *(word.value for word in Verdict), "not judged", "findings as published",
    "findings not as published", "findings undecided", "remark",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A table or figure of a paper. pages: those that measure it, its numbers are counted from the first.

    A page '...-seed-5' is the first measured again with other seeds.

    note: what stands elsewhere, what is left out, and why.
    """

    paper: str
    name: str
    pages: tuple[str, ...] = ()
    note: str = ""


_DRAWN = "a drawing, no measurement"
_CAUSES = {
    "survey": "The survey measures nothing of its own. Its Table 1 is a table of methods: "
    f"{sum(bool(row.ours) for row in SURVEYED)} of its {len(SURVEYED)} systems run here, and the page says why not "
    "the others.",
    "icarma": "Holds: validity and plausibility of the oracle and of iCARMA on Loan with hard limits (Tables 1, 5 "
    "and 6; of the oracle's validities one number is worse there, a few are undecided), seven of ten findings about "
    "fairness, and that soft limits lower the share asked for what is hardest. Does not: plausibility with concave "
    "weights (scores have it with the printed epochs, rate and weight of the prior); the low hap of weighted scores, "
    "unless one of several hardest features counts; the order of the profiles by plausibility, unless the prior of "
    "masks falls otherwise; that iCARMA costs about what the oracle does. Epochs, rate and the weights of prior, "
    "plausibility and entropy are ours, and not as printed. Not in the text that we have (its formulas were lost in "
    "extraction, not in the paper): the forms of the losses and the ranges of weights and prior.",
    "hare": "Holds: asking brings plans nearer to what people want, in every case; more questions help; success is "
    "kept. Does not, with rounds as printed and plans that are legal (ours): iterations for near wishes, nor five of "
    "them on COMPAS; how little ten lose; a plateau beyond thirty questions. No public source says: where the "
    "paper's wishes lie, by what its people compare plans, and how its classifiers were trained.",
    "balanced": "Holds: EBR and IBR bring the groups nearer together by all three indices in the mean, on the "
    "synthetic set and in all six real settings, and cost more (as the public code runs them, of three draws, that "
    "is beyond chance in 2 of 12 lines on real tables, and in 6 one index is worse, within chance; with as many "
    "draws as bring its costs on COMPAS to the paper's, EBR's centralization rises there by race, beyond chance); "
    "the methods that seek likely places segregate on the synthetic set. Does not: how far EBR brings centralization "
    "down there and on German, what it costs, and that C-CHVAE and CRUDS cost more. Not shown: that methods which "
    "ask for no balance segregate real tables (17 of 24 lines in the paper; here 14 of these do within chance, and 3 "
    "worsen none). "
    "No public source says: how German and COMPAS were prepared, and whose people Tables 1 and 4 are of.",
    "study": "Holds, in simulation: the form of the curves, and 12 of 14 numbers of models 2 and 4 of Table S2, of "
    "which 4 come with models 1 and 3, to which the raters were fitted. Open: how often a flat acceptance is found. "
    "No public source says: what the participants did, since their ratings are not public.",
}  # fmt: skip

#: Of HARE's tables: which algorithm their numbers are of, and of how many seeds.
_SEEDS = "rounds as printed, plans legal (ours), of ten seeds"
_WAYS = {
    3: f"{_SEEDS}; around growing spheres [in words](hare/printed.md)",
    4: f"{_SEEDS}; the second page has the last five of them",
}
#: Every table and figure of the five papers.
PARTS: tuple[Part, ...] = (
    Part("survey", "Table 1", note="[computed](../guide/table-1.md)"),
    Part("survey", "Figures 1, 2", note=_DRAWN),
    Part(
        "icarma",
        "Table 1, Loan",
        ("table-1-loan", "table-1-loan-released", "table-1-loan-fresh"),
        "the second: the oracle with the released classifier",
    ),
    Part(
        "icarma", "Table 1, GMSC", ("table-1-gmsc",), "the best of five trainings, not of ten as in the paper"
    ),
    Part(
        "icarma",
        "Table 2, Loan",
        ("table-2-loan",),
        "tried [in its setting](icarma/tried-flow.md) and [with the released classifier](icarma/tried.md)",
    ),
    Part("icarma", "Table 2, GMSC", ("table-2-gmsc",), "[tried](icarma/tried-gmsc.md)"),
    Part("icarma", "Table 3", ("table-3-loan",)),
    Part("icarma", "Table 4", ("rankings",), "the text that we have lacks its fractions, not its zeros"),
    Part(
        "icarma",
        "Table 5",
        ("table-5-loan", "table-5-loan-released"),
        "the second: the oracle with the released classifier",
    ),
    Part(
        "icarma",
        "Table 6",
        ("table-6-loan", "table-6-loan-fresh", "table-6-loan-released", "table-6-loan-seed-1"),
    ),
    Part("icarma", "Figures 1, 5, 6", note="a framework and two graphs: drawings"),
    Part("icarma", "Figure 2", ("profiles",), "the paper prints no numbers"),
    Part("icarma", "Figure 3", ("figure-3-loan",), "the paper prints no numbers"),
    Part("icarma", "Figure 4", ("figure-4-loan",), "the paper prints no numbers"),
    Part(
        "icarma",
        "Figure 7",
        ("figure-7-gmsc", "figure-7-loan"),
        "the paper prints no numbers; it shows GMSC, ours Loan, too",
    ),
    Part("icarma", "Figure 8", ("figure-8-gmsc",), "the paper prints no numbers"),
    *(
        Part(
            "hare",
            f"Table {n}",
            (f"table-{n}", *([f"table-{n}-seed-5"] if n == 4 else [])),
            _WAYS.get(n, _SEEDS),
        )
        for n in range(1, 7)
    ),
    Part("hare", "Figure 1", note=_DRAWN),
    Part("balanced", "Figure 1", ("figure-1",), "the paper prints no numbers"),
    Part("balanced", "Figure 2", ("figure-2",), "the paper prints no numbers"),
    Part("balanced", "Table 1", ("table-1",)),
    Part("balanced", "Table 2", ("table-2",), "two settings of Table 6"),
    Part(
        "balanced",
        "Table 3",
        ("table-3",),
        "invalidation, by construction: our methods give valid answers only",
    ),
    Part("balanced", "Table 4", ("table-4", "table-4-seed-20")),
    Part("balanced", "Table 5", ("table-5",)),
    Part("balanced", "Table 6", ("table-6",)),
    Part("study", "Table 1, S1", note="the profile and the survey, which the protocol holds item by item"),
    Part("study", "Table 2", note="an example of a plan"),
    Part("study", "Table S2", ("table-s2", "table-s2-seed-40")),
    Part("study", "Figure 1", ("figure-1", "figure-1-seed-40")),
    Part("study", "Figure 2", note=_DRAWN),
    Part("study", "Figure 3", ("figure-3", "figure-3-seed-40"), "the paper prints no numbers"),
)


def printed(page: Page) -> Page:
    """A laid-out page without the numbers that its table in the paper has not.

    Of balanced recourse that is invalidation, which stands in Table 3 alone.
    """
    if page.paper != "balanced" or page.name not in ("table-1", "table-2", "table-4", "table-6"):
        return page
    place = list(TOLERANCE).index("invalid")

    def without(line: Line) -> Line:
        cells = [replace(cell, paper=None) if i == place else cell for i, cell in enumerate(line.cells)]
        return replace(line, cells=tuple(cells))

    none = {"paper": None, "verdict": ""}
    rows = tuple(row | none if row["measure"] == "invalid" else row for row in page.rows)
    tables = tuple(replace(table, lines=tuple(map(without, table.lines))) for table in page.tables)
    return replace(page, rows=rows, tables=tables)


def numbers(page: Page) -> Counter[str]:
    """How many numbers of the paper on a laid-out page are within, better, worse, undecided and not judged."""
    beside = any(table.beside for table in page.tables)
    stated = sum(
        value is not None
        for row in page.rows
        for name, value in row.items()
        if name.split("_")[-1] == "paper"
        and not (beside and (row.get("keep_incumbent") or row.get("beside")))
    )
    words = Counter(
        cell.verdict.value
        for table in page.tables
        if not table.beside
        for line in table.lines
        if not line.note
        for cell in line.cells
        if cell.verdict is not None
    )
    return words + Counter({"not judged": max(0, stated - sum(words.values()))})


#: What makes two rows those of one published number, by paper; a column that is not there is left out.
_IDENTITY = {
    "icarma": ("dataset", "elicited", "law", "features", "profile", "method"),
    "hare": ("dataset", "classifier", "base", "scale", "asked", "budget", "iterations", "calibrate"),
    "balanced": ("setting", "method"),
}
#: Lines of balanced recourse's Table 5 that are those of its Table 1.
SAME = {"ebr beta=0.3": "ebr", "ibr beta=1": "ibr"}


def different(pages: Iterable[Page]) -> dict[str, int]:
    """How many different published numbers are judged, by the papers that print some in several tables."""
    return {paper: len(some) for paper, some in _different(pages).items()}


def explained(pages: Iterable[Page], firm: bool = False) -> dict[str, float]:
    """Which share of these is within, better or explained, by the first table that prints a number.

    firm: as `causes.firm` counts.
    """
    found = _different(pages, firm)
    return {paper: round(sum(some.values()) / max(len(some), 1), 4) for paper, some in found.items()}


def _different(pages: Iterable[Page], firm: bool = False) -> dict[str, dict[tuple[Any, ...], bool]]:
    found: dict[str, dict[tuple[Any, ...], bool]] = {paper: {} for paper in _IDENTITY}
    for page in pages:
        for row, measure, word in causes.judged(page) if page.paper in found else ():
            named = [row.get(name) for name in _IDENTITY[page.paper]]
            key = (*(SAME.get(str(one), one) for one in named), measure)
            found[page.paper].setdefault(key, causes.explained(page.paper, row, measure, word, firm))
    return found


def flips(first: Page, again: Page) -> tuple[int, list[str]]:
    """How many numbers were judged with both sets of seeds, and the lines in which one was judged otherwise."""
    judged, out = 0, []
    counted = ([table for table in page.tables if not table.beside] for page in (first, again))
    for one, other in zip(*counted, strict=False):
        for line, same in zip(one.lines, other.lines, strict=True):
            pairs = [(a.verdict, b.verdict) for a, b in zip(line.cells, same.cells, strict=True)]
            judged += sum(a is not None for a, _ in pairs)
            names = line.names or ("",) * len(pairs)
            words = [
                f"{name} {a} then {b}".strip() for name, (a, b) in zip(names, pairs, strict=True) if a != b
            ]
            if words:
                out.append(f"{', '.join(filter(None, line.shown[:3]))}: {', '.join(words)}")
    return judged, out


def turned(first: Page, again: Page) -> list[str]:
    """The findings of the paper that were judged otherwise the second time; aims of ours are left out."""
    own = ([check for check in page.checks if not check.aim] for page in (first, again))
    return [
        f"{a.name}: {a.verdict} then {b.verdict}" for a, b in zip(*own, strict=True) if a.verdict != b.verdict
    ]


def made(pages: Iterable[Page], by: str = "docs/replication") -> Page:
    """The overview of pages that are laid out. Raises: DataError where a page of a part is not among them."""
    known = {(page.paper, page.name): printed(page) for page in pages}
    rows: list[Row] = []
    for part in PARTS:
        lost = next((name for name in part.pages if (part.paper, name) not in known), None)
        if lost is not None:
            raise DataError(
                f"{by} has no page '{lost}' of '{part.paper}'. Measure it first: wayforward replicate."
            )
        here = [known[part.paper, name] for name in part.pages]
        words = numbers(here[0]) if here else Counter[str]()
        tested, firm = (causes.tested(here[0]), causes.firm(here[0])) if here else (0, 0)
        known_of = causes.known(here[0]) if here else dict.fromkeys(causes.KNOWN, 0)
        checks = Counter(check.verdict for page in here[:1] for check in page.checks if not check.aim)
        rows.append(
            {"paper": part.paper, "part": part.name, "pages": " ".join(part.pages)}
            | {word.value: words[word.value] for word in Verdict}
            | {"not_judged": words["not judged"], "worse_tested": tested}
            | {"worse_firm": firm}
            | known_of
            | {f"findings_{word.replace(' ', '_')}": checks[word] for word in FOUND}
            | {"note": part.note}
            | (_networks(here[0], known["icarma", "tried-flow"]) if part in _NETWORKS else _again(here))
        )
    first = [known[part.paper, part.pages[0]] for part in PARTS if part.pages]
    why, hang = (
        plain([line.shown for line in find(first).lines]) for find in (causes.table, causes.undecided)
    )
    own = [_own(page) for page in known.values() if page.paper == "originals" and page.name == page.stem]
    made_of = {"why": why, "undecided": hang, "different": different(first), "explained": explained(first)}
    made_of["explained_firm"] = explained(first, firm=True)
    made_of["originals"] = own
    made_of["mint"] = numbers(known["mint", "demonstration"])
    return laid_out(Page("overview", "overview", _TITLE, tuple(plain(row) for row in rows), (), made_of))


def _own(page: Page) -> dict[str, Any]:
    """What became of the numbers of a paper that first described a method."""
    words = numbers(page)
    counts = {word.value: words[word.value] for word in Verdict}
    return {"page": page.name, "title": page.title, **counts, "worse_tested": causes.tested(page)}


def _again(here: list[Page]) -> dict[str, Any]:
    """The verdicts of a part's first page beside those of the same with other seeds, where there is one."""
    again = next((page for page in here[1:] if "-seed-" in page.name), None)
    if again is None:
        return {"again": "", **dict.fromkeys(_AGAIN, 0), "again_lines": ""}
    judged, lines = flips(here[0], again)
    found = turned(here[0], again)
    counts = (
        judged,
        sum(line.count(" then ") for line in lines),
        sum(not check.aim for check in here[0].checks),
        len(found),
    )
    return {
        "again": again.name,
        **dict(zip(_AGAIN, counts, strict=True)),
        "again_lines": "; ".join([*lines, *found]),
    }


def _networks(first: Page, tried: Page) -> dict[str, Any]:
    """iCARMA's verdicts in a table of Loan beside those of the first two of the same ten networks."""
    others = {
        (row["elicited"], row["features"], row["profile"]): cells(row)
        for row in tried.rows
        if row["trial"] == "ours"
    }
    pairs = [
        (
            f"{row['elicited']}, {row['features']}, {row['profile']}, {name}",
            str(row[f"{name}_verdict"]),
            other,
        )
        for row in first.rows
        if row["method"] == "icarma"
        for name, cell in others[row["elicited"], row["features"], row["profile"]].items()
        if (other := str(cell.verdict)) and row[f"{name}_paper"] is not None
    ]
    words = [f"{name} {one} then {other}" for name, one, other in pairs if one != other]
    counts = (len(pairs), len(words), 0, 0)
    return {"again": tried.name, **dict(zip(_AGAIN, counts, strict=True)), "again_lines": "; ".join(words)}


#: Tables that were measured again by other networks, on a page of trials.
_NETWORKS = tuple(p for p in PARTS if p.paper == "icarma" and p.name in ("Table 2, Loan", "Table 3"))
_AGAIN = ("again_judged", "again_other", "again_findings", "again_findings_other")


_TITLE = "All tables and figures"


def laid_out(page: Page) -> Page:
    """The page with a table for each paper, from its rows."""
    papers = dict.fromkeys(row["paper"] for row in page.rows)
    return replace(
        page,
        tables=(
            *(_table(paper, [row for row in page.rows if row["paper"] == paper]) for paper in papers),
            Table(
                causes.HEADS,
                tuple(Line(tuple(one)) for one in page.provenance["why"]),
                causes.TITLE,
                causes.TEXT,
            ),
            Table(
                causes.HEADS_UNDECIDED,
                tuple(Line(tuple(one)) for one in page.provenance["undecided"]),
                causes.TITLE_UNDECIDED,
                causes.TEXT_UNDECIDED,
            ),
            *([_seeds(page.rows)] if any(row["again"] for row in page.rows) else []),
            _originals(page.provenance["originals"], page.provenance["mint"]),
            originals.table(),
        ),
        intro="Every table and figure of the five papers: its numbers by what became of them, and what the paper "
        "concludes from it. A number that a paper prints in several tables counts in each (HARE's are "
        "{hare} different ones, balanced recourse's {balanced}, iCARMA's {icarma}). ".format_map(
            page.provenance["different"]
        )
        + _share("All five papers", page.rows)
        + " Of the different numbers {hare:.1%} (HARE), {balanced:.1%} (balanced recourse) and {icarma:.1%} (iCARMA) "
        "are within, better or explained so".format_map(page.provenance["explained"])
        + ", without those {hare:.1%}, {balanced:.1%} and {icarma:.1%}.".format_map(
            page.provenance["explained_firm"]
        )
        + f" {causes.TRIED} "
        "*Better* is no closer to the paper than *worse* is. Findings are counted on every page as well, some two "
        "or three times: HARE's of base, HARE and Multi-HARE for far wishes stand in Tables 1, 4 and 6, all of "
        "balanced recourse's Table 2 in Table 6 again; iCARMA's of Table 4 is by construction.",
        tolerance=RULE
        + " An undecided number whose whole interval is within or better is not worse, whichever of the two it is. One "
        "is *no farther off than the paper's own runs would lie apart* where the paper's number is in the 95 % "
        "prediction interval, without any tolerance, of what the paper averages, by how far our runs lie apart: for "
        "HARE one run of 150 people, for balanced recourse five runs, for the study one of its size. Tolerances stand "
        "on the pages. *Not judged*: the paper copied the line, or states a count that follows from numbers that are "
        "judged.",
        notes="What was tried stands on each page and in [Replications](index.md), too.",
    )


def _table(paper: str, rows: list[Row]) -> Table:
    lines = tuple(Line(tuple(_cells(row))) for row in rows)
    return Table(_HEADS, lines, _TITLES[paper], f"{_CAUSES[paper]} {_share('Here', rows)}".strip())


def _originals(rows: Iterable[Row], mint: Mapping[str, int]) -> Table:
    """Tables of the papers that first described methods, counted on their own. mint: the counts of its page."""
    rows, names = list(rows), (*(word.value for word in Verdict), "worse_tested")
    total = {name: sum(row[name] for row in rows) for name in names}
    lines = tuple(
        Line((f"[{row['title']}](originals/{row['page']}.md)", *(str(row[name] or "") for name in names)))
        for row in rows
    )
    text = (
        "By the same rule, and not among the numbers of the five papers: these papers were not read, their numbers "
        f"are those that public records state. Of {sum(total[word.value] for word in Verdict)} numbers "
        f"{total['within']} are within the tolerance, {total['better']} better, {total['undecided']} undecided and "
        f"{total['worse']} worse ({total['worse_tested']} of these with a tested cause). The six of [MINT's "
        f"demonstration](mint/demonstration.md) are counted on its own page: {mint['within']} within, "
        f"{mint['undecided']} undecided and {mint['worse']} worse, without a cause."
    )
    heads = ("table", *(word.value for word in Verdict), "worse, cause tested")
    return Table(heads, lines, "Tables of the papers that first described methods", text)


def _seeds(rows: Iterable[Row]) -> Table:
    """Tables that were measured with a second set of seeds."""
    heads = (
        "paper",
        "table",
        "numbers judged twice",
        "judged otherwise",
        "findings asked twice",
        "judged otherwise",
        "which (first seeds, then the others)",
    )
    lines = tuple(
        Line(
            (
                row["paper"],
                f"[{row['again']}]({row['paper']}/{row['again']}.md)",
                *(str(row[name]) for name in _AGAIN),
                row["again_lines"] or "none",
            )
        )
        for row in rows
        if row["again"]
    )
    rows = list(rows)
    judged, again = (
        sum(row[name] for row in rows if row["paper"] == "balanced" for name in some)
        for some in (Verdict, ("again_judged",))
    )
    text = (
        "Tables measured once more with other seeds. A verdict that is listed hangs on the seeds, those of the other "
        f"numbers that are judged twice do not as far as a second set can show. Of balanced recourse these are {again} "
        f"of {judged}, of causal recourse alone: neither EBR nor IBR was measured with a second set. HARE's Table 4 "
        "has the others among its own. *tried-flow*: iCARMA's numbers by the best of the first two of the same ten "
        "networks, which the paper's rule, the best of ten, passes over."
    )
    return Table(heads, lines, "Other seeds", text)


_TITLES = {
    "survey": "A survey of algorithmic recourse", "icarma": "Individualized actionability (iCARMA)",
    "hare": "The person in the loop (HARE)", "balanced": "Social segregation (balanced recourse)",
    "study": "What people do with plans",
}  # fmt: skip


def _cells(row: Row) -> Iterator[str]:
    names = [f"[{name}]({row['paper']}/{name}.md)" for name in row["pages"].split()]
    yield from (row["part"], ", ".join(names))
    counts: list[Any] = [row[word.value] for word in Verdict] + [row["not_judged"]]
    counts += [row[f"findings_{word.replace(' ', '_')}"] for word in FOUND]
    yield from (str(n) if n else "" for n in counts)
    yield row["note"]


_KNOWN = {
    "undecided_not_worse": "undecided ones that are within or better either way",
    "undecided_tested": "others that a measured change brings within, or makes better",
    "undecided_chance": "no farther off than the paper's own runs would lie apart",
}


def _share(where: str, rows: Iterable[Row]) -> str:
    """The counts in a sentence; empty where nothing was judged."""
    rows = list(rows)
    words = {word: sum(row[word.value] for row in rows) for word in Verdict}
    judged = sum(words.values())
    if not judged:
        return ""
    good = words[Verdict.WITHIN] + words[Verdict.BETTER]
    worse, firm = (sum(row[name] for row in rows) for name in ("worse_tested", "worse_firm"))
    known = {name: sum(row[name] for row in rows) for name in causes.KNOWN}
    also = [f"{worse} worse ones for which a setting that does it is known (*tested*)"] if worse else []
    also += [f"{n} {_KNOWN[name]}" for name, n in known.items() if n]
    share, less = (f"{(good + n + sum(known.values())) / judged:.1%}" for n in (worse, firm))
    together = " and ".join(filter(None, (", ".join(also[:-1]), *also[-1:])))
    more = f"; {share} with {together}" if also else ""
    if firm < worse:
        more += f"; {less} without the {worse - firm} of these that contradict a print, are a fit or another method"
    found = {word: sum(row[f"findings_{word.replace(' ', '_')}"] for row in rows) for word in FOUND}
    return (
        f"{where}: of {judged:,} judged numbers {words[Verdict.WITHIN]:,} are within the tolerance, "
        f"{words[Verdict.BETTER]:,} better, {words[Verdict.UNDECIDED]:,} undecided and {words[Verdict.WORSE]:,} worse "
        f"({words[Verdict.WITHIN] / judged:.0%} within, {good / judged:.0%} within or better{more}); "
        f"of {sum(found.values())} findings {found['as published']} are as published, {found['undecided']} undecided "
        f"and {found['not as published']} not as published."
    )
