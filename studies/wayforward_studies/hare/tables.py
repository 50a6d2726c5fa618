"""The tables: what the paper states beside what was measured, with a verdict for every line and every finding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wayforward_studies.hare.published import (
    BASE,
    COPIED,
    HARE,
    MEASURES,
    MULTI,
    SCALES,
    Asking,
    HareCase,
    HarePublished,
    Stated,
    rows,
)
from wayforward_studies.pages import Line, Row, Table
from wayforward_studies.verdicts import (
    RULE,
    SLACK,
    Cell,
    Check,
    Verdict,
    all_of,
    half_of_prediction,
    half_width,
    listed,
    of_all,
    opened,
)

NEAR, POINTS = 0.15, 0.10
_RUNS = 1  # of the paper: 150 people once, as each of our seeds has them
#: What is judged beside the GTP, by its column: whether more is better, and the tolerance as a share of the paper's or
#: as a number, whichever is more.
BESIDE: dict[str, tuple[int, float, float]] = {
    "gtd": (-1, NEAR, 0.0), "success": (1, 0.0, 0.05), "violations": (-1, NEAR, 0.05), "redundancy": (-1, NEAR, 0.05),
    "proximity": (-1, NEAR, 0.01), "sparsity": (-1, NEAR, 0.0),
}  # fmt: skip
_HAIR = 1e-9
_PLATEAU = 0.06  # the most that the paper's 100 questions bring beyond its 30
_TIE = 0.01  # the paper prints two digits: what differs by less may be a tie

NAMES = {
    "wachter": "Wachter",
    "wachter-small": "Wachter, small steps",
    "growing-spheres": "growing spheres",
    "face": "FACE as published",
    "face-strict": "FACE within limits",
    "face-alike": "FACE among people alike",
    "face-between": "FACE, immutables between the person's and the row's",
    "c-chvae": "C-CHVAE",
    "c-chvae-between": "C-CHVAE, binaries between 0 and 1",
    "cruds-between": "CRUDS, binaries between 0 and 1",
    "clue": "CLUE",
    "cruds": "CRUDS",
}
HEADS = {
    "gtp": "GTP",
    "gtd": "GTD",
    "success": "success",
    "violations": "violations",
    "redundancy": "redundancy",
    "proximity": "proximity",
    "sparsity": "sparsity",
}


@dataclass(frozen=True)
class Value:
    """A mean over seeds of means over people, and its standard deviation over seeds; n: plans in all.

    means: those of the seeds, NaN where a seed has none; () where a page does not tell them.
    """

    mean: float
    spread: float
    n: int
    means: tuple[float, ...] = ()

    @classmethod
    def of(cls, seeds: Sequence[np.ndarray]) -> Value:
        """From one array of people for each seed; people without a number are left out."""
        known = [one[~np.isnan(one)] for one in seeds]
        means = [float(one.mean()) if one.size else float("nan") for one in known]
        return cls.of_means(means, int(sum(one.size for one in known)))

    @classmethod
    def of_means(cls, means: Sequence[float], n: int) -> Value:
        """From the mean of each seed."""
        if np.isnan(means).all():
            return cls(float("nan"), float("nan"), 0)
        return cls(float(np.nanmean(means)), float(np.nanstd(means)), n, tuple(means))


@dataclass(frozen=True)
class CaseResult:
    """One line: a case, a way of asking, what was measured, and, where the paper has this line, what it states.

    base: our GTP before anybody was asked; base_paper: the paper's. note: why there is nothing, where there is nothing.
    start: the base's GTP of each seed, () where it is not told.
    """

    case: HareCase
    way: Asking
    values: Mapping[str, Value]
    paper: HarePublished | None = None
    base: float = float("nan")
    base_paper: float | None = None
    note: str = ""
    seeds: int = 1
    start: tuple[float, ...] = ()

    @property
    def key(self) -> str:
        """One word for the case and the way."""
        return f"{self.case.key}-{self.way.key}"

    @property
    def by_seed(self) -> dict[str, tuple[float, ...]]:
        """What is judged, of each seed."""
        return {name: value.means for name, value in self.values.items() if name == "gtp" or name in BESIDE}

    @property
    def gtp(self) -> float:
        """The measured GTP."""
        return self.values["gtp"].mean if "gtp" in self.values else float("nan")

    @property
    def copied(self) -> bool:
        """Did the paper copy this line, so that there is nothing to compare with?"""
        return self.paper is not None and (self.case.published, self.way.printed) in COPIED

    @property
    def cells(self) -> dict[str, Cell]:
        """What is judged: the GTP, see `judged`, and what else the paper states; {} with nothing to compare."""
        if self.paper is None or not self.values or self.base_paper is None or self.copied:
            return {}
        stated = self.paper.stated
        half = half_width(self.values["gtp"].spread, self.seeds)
        start = (self.base, self.base_paper)
        out = {"gtp": judged(self.way, self.gtp, start[0], stated["gtp"].mean, start[1], half, self.seeds)}
        for name, (sign, share, least) in BESIDE.items():
            if name in stated and name in self.values:
                ours, paper = self.values[name], stated[name].mean
                half = half_width(ours.spread, self.seeds)
                ends = (ours.mean - half, ours.mean + half)
                apart = half_of_prediction(half, self.seeds, _RUNS)
                out[name] = Cell(ours.mean, paper, max(share * paper, least), sign, ends, apart)
        return out

    @property
    def verdict(self) -> str:
        """A word or a few; empty where there is nothing to compare."""
        return "copied in the paper" if self.copied else of_all(self.cells.values()) or ""

    def row(self) -> Row:
        """One flat row for CSV and JSON."""
        case, way = self.case, self.way
        out: Row = {
            "dataset": case.dataset,
            "classifier": case.classifier,
            "base": case.base,
            "scale": case.scale,
            "answers": case.answers,
            "pinned": case.pinned,
            "world": case.world or "independent",
            "asked": "base" if way == BASE else way.asker,
            "budget": way.budget,
            "iterations": way.iterations,
            "calibrate": way.calibrate,
            "keep_incumbent": way.keep,
        }
        if way.step != 1:
            out["step"] = way.step
        if case.reach != 1:
            out["reach"] = case.reach
        for name in (*MEASURES, "questions"):
            value = self.values.get(name)
            stated = None if self.paper is None else self.paper.stated.get(name)
            out[f"{name}_paper"] = None if stated is None else stated.mean
            out[f"{name}_paper_spread"] = None if stated is None else stated.spread
            out[name] = None if value is None else value.mean
            out[f"{name}_spread"] = None if value is None else value.spread
            if name == "gtp" or name in BESIDE:
                out[f"{name}_verdict"] = "" if name not in self.cells else str(self.cells[name].verdict)
        plans = self.values["gtp"].n if self.values else 0
        return out | {
            "plans": plans,
            "seeds": self.seeds,
            "verdict": self.verdict,
            "open": opened(self.cells),
            "note": self.note,
        }

    @classmethod
    def of(cls, row: Row, bases: Mapping[str, float], seeds: int) -> CaseResult:
        """From a row; bases: our GTP before anybody was asked, by the key of the case."""
        world = "" if row["world"] == "independent" else row["world"]
        case = HareCase(
            row["dataset"], row["base"], row["classifier"], row["scale"], row["answers"], row["pinned"], world,
            row.get("reach", 1.0),
        )  # fmt: skip
        asker = "hare" if row["asked"] == "base" else row["asked"]
        keep = row["keep_incumbent"] and asker == "hare" and row["budget"] > 0
        way = Asking(row["iterations"], row["budget"], row["calibrate"], asker, keep, row.get("step", 1.0))
        names = [name for name in (*MEASURES, "questions") if row[name] is not None]
        values = {name: Value(row[name], row[f"{name}_spread"], row["plans"]) for name in names}
        stated = {
            n: Stated(row[f"{n}_paper"], row[f"{n}_paper_spread"])
            for n in MEASURES
            if row[f"{n}_paper"] is not None
        }
        paper = HarePublished(0, case, way, stated) if stated else None
        return cls(
            case,
            way,
            values,
            paper,
            bases.get(case.key, float("nan")),
            stated_base(case),
            row["note"],
            row.get("seeds", seeds),
        )


def judged(
    way: Asking,
    gtp: float,
    base: float,
    paper: float,
    base_paper: float,
    half: float | None = None,
    seeds: int = 1,
) -> Cell:
    """The number that is compared: the GTP or, from another start, the share by which asking lowers it.

    gtp, base: measured, after asking and before. paper, base_paper: stated. half: of the 95 % interval of `gtp`,
    which is a mean over `seeds`.
    """
    close = abs(base / base_paper - 1) <= NEAR + 1e-9
    ends = None if half is None else (gtp - half, gtp + half)
    apart = math.inf if half is None else half_of_prediction(half, seeds, _RUNS)
    if way == BASE or close:
        return Cell(gtp, paper, NEAR * paper, -1, ends, apart)
    falls = None if ends is None else (1 - ends[1] / base, 1 - ends[0] / base)
    return Cell(1 - gtp / base, 1 - paper / base_paper, POINTS, 1, falls, apart / base)


BySeed = Mapping[str, Mapping[str, Sequence[float | None]]]


def halves(lines: Sequence[CaseResult], by_seed: BySeed) -> str:
    """A paragraph: which verdicts the first half of the seeds and the second give differently; '' without `by_seed`.

    by_seed: what is judged, of each seed, by the line's key.
    """
    if not by_seed:
        return ""
    judged_, open_, against = 0, 0, []
    for line in lines:
        if not line.cells:
            continue
        middle = line.seeds // 2
        parts = [_part(line, by_seed, some) for some in (slice(middle), slice(middle, None))]
        for name, cell in line.cells.items():
            words = [part.cells[name].verdict for part in parts]
            judged_ += cell.verdict is not None
            if Verdict.UNDECIDED in words:
                open_ += 1
            elif words[0] != words[1]:
                against.append(f"{_short(line.case)}, {line.way}: {HEADS[name]} {words[0]} then {words[1]}")
    return (
        f"Each half of the seeds judged alone: of {judged_} numbers {len(against)} are judged otherwise by the second "
        f"half{' (' + '; '.join(against) + ')' if against else ''}, and {open_} are undecided in one half at least.\n\n"
    )


def _part(line: CaseResult, by_seed: BySeed, some: slice) -> CaseResult:
    """The line of some of its seeds."""

    def of(key: str, name: str) -> Value:
        means = [float("nan") if one is None else float(one) for one in by_seed[key][name][some]]
        return Value.of_means(means, line.values[name].n)

    base = of(f"{line.case.key}-{BASE.key}", "gtp")
    values = {name: of(line.key, name) for name in by_seed[line.key] if name in line.values}
    return replace(line, values=values, base=base.mean, seeds=len(base.means))


def stated_base(case: HareCase) -> float | None:
    """The paper's GTP before anybody is asked."""
    found = (stated(n).get((case.published, BASE)) for n in (1, 6))
    return next((float(got["gtp"]) for got in found if got is not None), None)


# -- findings ----------------------------------------------------------------------------------------------------

#: Of each case and way, what each seed says, (seeds,); of the paper's numbers, whose seeds are not known, one, ().
Values = Mapping[tuple[HareCase, Asking], Mapping[str, np.ndarray]]


def measured(lines: Iterable[CaseResult], by_seed: BySeed | None = None) -> Values:
    """What was measured of lines that hold something; by_seed: by the line's key, where it is known."""

    def of(line: CaseResult, name: str) -> np.ndarray:
        means = (by_seed or {}).get(line.key, {}).get(name)
        return np.array(line.values[name].mean if means is None else means, dtype=float)

    return {
        (line.case, line.way): {name: of(line, name) for name in line.values} for line in lines if line.values
    }


def stated(number: int) -> Values:
    """The same of the paper, without the lines that it copied."""
    return {
        (row.case, row.way): {name: np.array(one.mean) for name, one in row.stated.items()}
        for row in rows(number)
        if (row.case, row.way) not in COPIED
    }


def checks(number: int, lines: Sequence[CaseResult], by_seed: BySeed | None = None) -> tuple[Check, ...]:
    """What the paper reads out of a table, asked of our numbers and of its own.

    A finding holds if it does in at least as large a share of the cases as in the paper's own numbers. Cases are the
    paper's, not drawn; what is drawn is people and seeds, so that a case in which the 95 % interval of the difference
    (paired by seed) holds zero counts neither way, and a finding that hangs on such cases is undecided, as is one that
    hangs on the slack that ties are given. Without `by_seed` the means decide.
    """
    ours, paper = measured(lines, by_seed), stated(number)
    measured_cases = {case for case, _ in ours}
    paper = {key: value for key, value in paper.items() if key[0] in measured_cases}
    return tuple(
        check
        for name, statement, test in _FINDINGS[number]
        if (check := _tested(name, statement, test, ours, paper)) is not None
    )


#: Of a case, with a share of the slack (1, or 0: none): by how much it holds, a seed at a time; all of them must be at
#: least zero. None: the case does not have what the finding is about.
Test = Callable[[Values, HareCase, float], list[np.ndarray] | None]


def _decided(margin: np.ndarray) -> bool | None:
    """Is the mean at least zero? None where its interval over the seeds holds zero; a number without seeds decides."""
    mean, n = float(np.nanmean(margin)), int(np.isfinite(margin).sum())
    half = half_width(float(np.nanstd(margin)), n) if margin.ndim else 0.0
    return True if mean - half >= -_HAIR else False if mean + half < -_HAIR else None


@dataclass(frozen=True)
class _Count:
    """In how many cases a finding holds by the means, and surely; the cases in which it does not, or may not."""

    cases: int
    held: int
    sure: int
    missed: tuple[HareCase, ...]
    open: tuple[HareCase, ...]

    @classmethod
    def of(cls, values: Values, test: Test, slack: float) -> _Count:
        found = {case: test(values, case, slack) for case in sorted({case for case, _ in values})}
        margins = {case: some for case, some in found.items() if some is not None}
        held = [case for case, some in margins.items() if all(np.nanmean(one) >= -_HAIR for one in some)]
        words = {case: all_of(_decided(one) for one in some) for case, some in margins.items()}
        return cls(
            len(margins),
            len(held),
            sum(word is True for word in words.values()),
            tuple(case for case in margins if case not in held),
            tuple(case for case, word in words.items() if word is None),
        )


def _tested(name: str, statement: str, test: Test, ours: Values, paper: Values) -> Check | None:
    mine, strict = (_Count.of(ours, test, slack) for slack in (1.0, 0.0))
    theirs, strict_theirs = (_Count.of(paper, test, slack) for slack in (1.0, 0.0))
    if not mine.cases:
        return None
    words = f"{mine.held} of {mine.cases} cases"
    words += f" (paper: {theirs.held} of {theirs.cases})" if theirs.cases else ""
    if (strict.held, strict_theirs.held) != (mine.held, theirs.held):
        words += f", without slack {strict.held}" + (f" ({strict_theirs.held})" if theirs.cases else "")
    words += f"; not in {_some_of(mine.missed)}" if mine.missed else ""
    words += f"; within chance in {_some_of(mine.open)}" if mine.open else ""

    def as_often(mine_: int, theirs_: int) -> bool:
        return mine_ / mine.cases >= (theirs_ / theirs.cases if theirs.cases else 1.0) - _HAIR

    may = as_often(mine.sure + len(mine.open), theirs.held)
    does = as_often(mine.sure, theirs.held) and as_often(strict.sure, strict_theirs.held)
    return Check(name, statement, True if does else None if may else False, words)


def left_out(success: Mapping[str, Sequence[float]]) -> tuple[Check, ...]:
    """Why the paper has no line of CLUE on Adult, () without `success`: of each seed, by classifier."""
    if not success:
        return ()
    known = {name.upper(): np.array(some) for name, some in success.items()}
    return (
        Check(
            "CLUE on Adult",
            "There is no line of it, as its success is too low (we read: below .5).",
            all_of(_decided(0.5 - some) for some in known.values()),
            f"success {listed({name: float(some.mean()) for name, some in known.items()})}",
        ),
    )


def _some_of(cases: Sequence[HareCase]) -> str:
    more = f" and {len(cases) - 6} more" if len(cases) > 6 else ""
    return ", ".join(_short(case) for case in cases[:6]) + more


def _short(case: HareCase) -> str:
    words = [
        case.dataset,
        *([] if case.classifier == "ann" else [case.classifier]),
        NAMES.get(case.base, case.base),
    ]
    return " ".join(words + ([] if case.scale == "far" else [case.scale]))


def _got(values: Values, case: HareCase, name: str, ways: Sequence[Asking]) -> list[np.ndarray]:
    """What the ways that are there have of a measure."""
    return [values[case, way][name] for way in ways if (case, way) in values and name in values[case, way]]


def _chain(name: str, ways: Sequence[Asking], *, strict: bool = False, slack: float = _TIE) -> Test:
    """Each way is no worse than the one before it, or, strictly, better."""

    def test(values: Values, case: HareCase, share: float) -> list[np.ndarray] | None:
        got = _got(values, case, name, ways)
        if len(got) < len(ways):
            return None
        give = -2 * _HAIR if strict else share * slack
        return [earlier + give - later for earlier, later in itertools.pairwise(got)]

    return test


def _same(name: str, ways: Sequence[Asking], slack: float) -> Test:
    """All ways are the same within the slack, and without it within half of that."""

    def test(values: Values, case: HareCase, share: float) -> list[np.ndarray] | None:
        got = _got(values, case, name, ways)
        if len(got) < 2:
            return None
        return [slack * (1 + share) / 2 - (one - other) for one, other in itertools.permutations(got, 2)]

    return test


def _most_gain(name: str, first: Asking, last: Asking, slack: float) -> Test:
    """The last way is better than the first by no more than the slack, and without it by half of that."""

    def test(values: Values, case: HareCase, share: float) -> list[np.ndarray] | None:
        got = _got(values, case, name, (first, last))
        return [slack * (1 + share) / 2 - (got[0] - got[1])] if len(got) == 2 else None

    return test


def _every(name: str, bases: Sequence[str], margin: Callable[[np.ndarray], np.ndarray]) -> Test:
    """Something about a measure, in every way, around some bases."""

    def test(values: Values, case: HareCase, _: float) -> list[np.ndarray] | None:
        got = [one[name] for (c, _), one in values.items() if c == case and name in one]
        return [margin(one) for one in got] if got and case.base in bases else None

    return test


def _none(name: str, bases: Sequence[str]) -> Test:
    return _every(name, bases, lambda one: -one)


def _some(name: str, base: str) -> Test:
    return _every(name, [base], lambda one: one - 0.5)


def _most(name: str, first: Asking, middle: Asking, last: Asking) -> Test:
    """The step from the first way to the middle one is larger than that from there to the last."""

    def test(values: Values, case: HareCase, _: float) -> list[np.ndarray] | None:
        got = _got(values, case, name, (first, middle, last))
        return [got[0] - 2 * got[1] + got[2] - 2 * _HAIR] if len(got) == 3 else None

    return test


def _at(scale: str, test: Test) -> Test:
    return lambda values, case, share: test(values, case, share) if case.scale == scale else None


_BUDGETS = tuple(Asking(1, b) for b in (10, 30, 70, 100))
_ITERATED = {t: Asking(t, 30) for t in (1, 3, 5, 10)}
_BEST = Asking(5, 30, "best")


def _pairs(first: Asking, second: Asking, statement: str, *, strict: bool) -> list[tuple[str, str, Test]]:
    return [
        (
            f"{second} against {'the base' if first == BASE else first}, {HEADS[name]}",
            statement,
            _chain(name, (first, second), strict=strict),
        )
        for name in ("gtp", "gtd")
    ]


_ORDER = [
    *_pairs(BASE, HARE, "Asking beats the base method: HARE is nearer to what people want.", strict=True),
    *_pairs(HARE, MULTI, "Multi-HARE is as near as HARE or nearer.", strict=False),
]
_FINDINGS: dict[int, list[tuple[str, str, Test]]] = {
    1: _ORDER,
    2: [
        ("more questions, GTP", "GTP falls (or stays) with every larger budget.", _chain("gtp", (BASE, *_BUDGETS))),
        ("more questions, GTD", "GTD falls (or stays) with every larger budget.",
         _chain("gtd", (BASE, *_BUDGETS), slack=0.03)),
        ("30 questions do most of it", "The step from 30 to 100 questions is smaller than that from none to 30.",
         _most("gtp", BASE, HARE, Asking(1, 100))),
        ("a plateau beyond 30 questions",
         f"Beyond 30 questions improvements plateau: 100 bring at most {_PLATEAU:g} of GTP more, as in the paper.",
         _same("gtp", (HARE, Asking(1, 100)), _PLATEAU)),
        *((f"as few as 10 questions, {HEADS[name]}", "With 10 questions plans are nearer than the base method's.",
           _chain(name, (BASE, Asking(1, 10)), strict=True)) for name in ("gtp", "gtd")),
    ],
    3: [
        ("three iterations against one", "Refining in iterations gives plans nearer to what people want.",
         _chain("gtp", (_ITERATED[1], _ITERATED[3]))),
        ("five iterations against one", "Refining in iterations gives plans nearer to what people want.",
         _chain("gtp", (_ITERATED[1], _ITERATED[5]))),
        ("ten iterations: a plateau, or worse",
         "With more iterations it tends to plateau or even degrade: ten bring at most .05 of GTP more than five.",
         _most_gain("gtp", _ITERATED[5], _ITERATED[10], 0.05)),
        ("ten iterations: how little changes",
         "In the paper's numbers ten iterations are as good as five (GTP within .05).",
         _same("gtp", (_ITERATED[5], _ITERATED[10]), 0.05)),
    ],
    4: [
        *_ORDER,
        ("success is unchanged", "Success is that of the base method.", _same("success", (BASE, HARE, MULTI), 0.0101)),
        ("nothing forbidden", "Wachter and growing spheres change no immutable feature, before and after asking.",
         _none("violations", ("wachter", "growing-spheres"))),
        ("FACE as published changes immutables", "Plans around FACE's rows change immutable features.",
         _some("violations", "face")),
        ("further away, nearer to the wish", "Plans that people like are not the nearest: the proximity grows.",
         _chain("proximity", (MULTI, BASE), strict=True)),
    ],
    5: [
        ("calibrate every candidate, GTP", "Calibrating all candidates is better than calibrating the best one.",
         _chain("gtp", (_BEST, MULTI))),
        ("calibrate every candidate, GTD", "Calibrating all candidates is better than calibrating the best one.",
         _chain("gtd", (_BEST, MULTI))),
    ],
    6: [(f"{name}, {scale}", text, _at(scale, test)) for scale in SCALES for name, text, test in _ORDER],
}  # fmt: skip


# -- layout ------------------------------------------------------------------------------------------------------

TOLERANCE = (
    "Tolerance: a GTP 15 % of the paper's, where our base method starts within 15 % of theirs; elsewhere the share by "
    "which asking lowers it, 10 points, since people who start elsewhere end elsewhere; 15 % of the paper's GTD and "
    "sparsity, of its proximity (at least .01), violations and redundancy (at least .05), and a success of .05. Less "
    f"is better, but of success. A line is worse if one of its numbers is. {RULE} {SLACK} So is one that hangs on "
    "cases in which the 95 % interval of the difference, paired by seed, holds zero (*within chance*); where a page "
    "does not tell its seeds, as of ours, the means decide."
)


_BESIDE = (
    "With the plan from before (ours)",
    "The plan from before takes part in each round. Judged in the same way, and not counted among the paper's numbers.",
)


def table(lines: Sequence[CaseResult], measures: Sequence[str], beside: bool = False) -> Table:
    """The table of the lines, with columns for these measures; beside: of ours, beside the printed algorithm's."""
    some = any(line.way.budget for line in lines)
    heads = ("data", "base", "asked", *(HEADS[name] for name in measures), *(["questions"] if some else []))
    spreads = any(line.paper for line in lines)
    made = tuple(_line(line, measures, some, spreads) for line in lines)
    if not beside:
        return Table(heads, made)
    return Table(heads, tuple(replace(line, kind="lines of ours") for line in made), *_BESIDE, beside=True)


def _line(line: CaseResult, measures: Sequence[str], with_questions: bool, spreads: bool) -> Line:
    """One line as text: paper, then measured; spreads: over seeds, as the paper has them, or the mean's interval."""
    case = line.case
    data = [case.dataset.upper() if case.dataset != "adult" else "Adult", case.classifier.upper()]
    data += [case.scale + ("" if case.pinned else ", percentile")]
    data += [case.answers] if case.answers != "exact" else []
    data += [f"{case.world} world"] if case.world else []
    data += [f"wishes {case.reach:g} times as far"] if case.reach != 1 else []
    out = [", ".join(data), NAMES.get(case.base, case.base), str(line.way)]
    if line.note:
        out += [line.note, *[""] * (len(measures) - 1)]
    else:
        out += [_number(line, name, spreads) for name in measures]
    if with_questions:
        n = line.values.get("questions")
        out.append(f"{n.mean:.1f}" if n is not None and line.way.budget else "")
    kind = "base methods" if line.way == BASE else "published lines with questions"
    note = line.verdict if line.copied else ""
    return Line(tuple(out), tuple(line.cells.values()), note, kind, tuple(HEADS[name] for name in line.cells))


def _number(line: CaseResult, name: str, spreads: bool) -> str:
    value = line.values.get(name)
    if value is None or not value.n:
        return "-"
    text = f"{value.mean:.2f}"
    if line.seeds > 1:
        half = half_width(value.spread, line.seeds)
        ends = f" [{value.mean - half:.2f}, {value.mean + half:.2f}]"
        text += f" ± {value.spread:.2f}" if spreads else ends
    paper = None if line.paper is None else line.paper.stated.get(name)
    judged_ = line.cells.get(name)
    word = f" {judged_.verdict}" if judged_ is not None and judged_.verdict != Verdict.WITHIN else ""
    return text if paper is None else f"{paper.mean:.2f} → {text}{word}"
