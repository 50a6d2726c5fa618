"""Pages of the simulated studies: Table S2 with verdicts, the distances that participants see, the curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import binomtest
from scipy.stats import t as student

from wayforward.study.car_loan import ITEMS, RANGES, distances
from wayforward.study.population import DISCLOSED, RICH
from wayforward_studies.pages import Line, Page, Row, Table
from wayforward_studies.replication import made_in
from wayforward_studies.study.published import (
    ANOTHER,
    ANSWERS,
    BENT,
    DISTANCES,
    FLAT,
    LEFT,
    MODELS,
    NUMBERS,
    P_VALUES,
    QUOTED,
    QUOTED_SPAN,
    TABLE_S2,
    tolerance,
)
from wayforward_studies.verdicts import RULE, Cell, Check, above_zero, half_width

Studies = Mapping[
    str, np.ndarray
]  # of many simulated studies, see `run.simulated`; each array's first axis is theirs
Measured = tuple[list[Row], list[Check]]

TITLES = {
    "table-s2": "The models of the study (Table S2), by simulation",
    "figure-1": "Distances of the plans that participants see (Figure 1)",
    "figure-3": "Ratings over distance (Figure 3), by simulation",
}
_FITTED = "sparsity"  # the raters' spreads were fitted to the models over it
_SIMULATED = (
    "The paper's ratings are not public. Participants and their pool are drawn from a declared synthetic population "
    "(`wayforward.study.population`); each gets the five plans that the paper's rule chooses and rates them by "
    "`wayforward.study.Rater`. Every share of that population is an assumption."
)


def spread(values: np.ndarray) -> tuple[float, float, float]:
    """Half of the range in which 95 % of single studies lie, beside the mean and the standard deviation."""
    mean, sd, n = float(values.mean()), float(values.std(ddof=1)), len(values)
    return mean, sd, float(student.ppf(0.975, n - 1) * sd * np.sqrt(1 + 1 / n))


def table_s2(studies: Studies, *_: object) -> Measured:
    """A row for each model and number, and what the paper concludes from them."""
    rows: list[Row] = []
    for i, model in enumerate(MODELS):
        for j, number in enumerate(NUMBERS):
            mean, sd, half = spread(studies["numbers"][:, i, j])
            rows.append({
                "model": i + 1, "outcome": model[0], "quantity": model[1], "number": number,
                "paper": TABLE_S2[model][j], "mean": mean, "sd": sd, "low": mean - half, "high": mean + half,
                "tolerance": tolerance(model, number),
            })  # fmt: skip
    return rows, list(_conclusions(studies))


def _conclusions(studies: Studies) -> Iterator[Check]:
    edf, p = studies["numbers"][:, :, NUMBERS.index("EDF of the curve")], studies["p"]
    for i, (outcome, x) in enumerate(MODELS):
        least, most = FLAT if outcome == "acceptance" else BENT
        like = (edf[:, i] >= least) & (edf[:, i] <= most)
        if outcome == "acceptance":
            said, wanted = "EDF near 1 and not significant: below 2 and p > .05 in 80 % of studies", 0.8
            like &= p[:, i, 0] > 0.05
        else:
            said, wanted = "EDF above 4 and p < .001: EDF of 3 to 6 and p < .001 in 90 % of studies", 0.9
            like &= p[:, i, 0] < 0.001
        yield _share(f"{outcome} ~ {x}: the curve", said, like, wanted)
    for i, (outcome, x) in enumerate(MODELS):
        _, level, slope = P_VALUES[outcome, x]
        bars = [max(level, 0.001), 0.001 if slope == 0 else 0.05]
        yield _share(
            f"{outcome} ~ {x}: participants differ",
            f"levels p < .001, slopes p {f'= {slope}' if slope else '< .001'}: below {bars[0]} and {bars[1]} in 90 %",
            np.asarray((p[:, i, 1:] < bars).all(1)),
            0.9,
        )


def _share(name: str, statement: str, like: np.ndarray, wanted: float) -> Check:
    """Held where so many studies are like it; undecided where fewer are, but the interval (Wilson) reaches it."""
    n, of = int(like.sum()), len(like)
    high = binomtest(n, of).proportion_ci(0.95, "wilson").high
    holds = True if n / of >= wanted else None if high >= wanted else False
    return Check(name, statement, holds, f"{n} of {of} studies")


def figure_1(studies: Studies, _: object, bins: Mapping[str, np.ndarray]) -> Measured:
    """How many plans lie at each distance, and what the paper states of pool, answers and distances."""
    rows: list[Row] = []
    for x in DISTANCES:
        count = studies[f"count-{x}"]
        for k, (low, high) in enumerate(zip(bins[x][:-1], bins[x][1:], strict=True)):
            plans = {"plans": count[:, k].mean(), "sd": count[:, k].std(ddof=1)}
            rows.append({"quantity": x, "from": low, "to": high, **plans})
    rich, left = spread(studies["rich"]), spread(studies["left"])
    found = [
        _around("pool above 13M", f"{RICH} of {DISCLOSED:,} profiles", RICH, rich),
        _around("ratings analysed", f"{LEFT:,} of {ANSWERS:,}", LEFT, left),
    ]
    for x, (least, most) in QUOTED_SPAN.items():
        span = studies[f"span-{x}"]
        found.append(_reaches(f"least {x}", f"{least} is quoted", -span[:, 0], -least))
        found.append(_reaches(f"greatest {x}", f"{most} is quoted", span[:, 1], most))
    return rows, found


def _around(name: str, statement: str, paper: float, measured: tuple[float, float, float]) -> Check:
    mean, _, half = measured
    inside = mean - half <= paper <= mean + half
    return Check(
        name, statement, inside, f"{mean:,.0f}; single studies {mean - half:,.0f} to {mean + half:,.0f}"
    )


def _reaches(name: str, statement: str, ends: np.ndarray, quoted: float) -> Check:
    """A study quotes some of its plans, so that its farthest is at least as far as the farthest that is quoted."""
    mean, _, half = spread(ends)
    holds = (
        True if mean >= quoted - 0.005 else None if mean + half >= quoted else False
    )  # two digits are printed
    far = int((ends >= quoted - 0.005).sum())
    return Check(
        name, statement, holds, f"{abs(mean):.2f} in the mean, as far in {far} of {len(ends)} studies"
    )


def figure_3(studies: Studies, grid: Mapping[str, np.ndarray], *_: object) -> Measured:
    """Each model's curve, where every study has plans, and its shape."""
    rows: list[Row] = []
    found: list[Check] = []
    for outcome, x in MODELS:
        lines = studies[f"curve-{outcome}-{x}"]  # (studies, 3, g)
        known = np.isfinite(lines).all((0, 1))
        lines, at = lines[:, :, known], grid[x][known]
        middle = lines.mean(0)
        ends = np.quantile(lines[:, 0], [0.025, 0.975], axis=0)
        rows += [
            {"outcome": outcome, "quantity": x, "x": a, "mean": v, "low": low, "high": high, "least": ll, "most": mm}
            for a, v, low, high, ll, mm in zip(at, *middle, *ends, strict=True)
        ]  # fmt: skip
        if outcome == "action":
            found += _shape(x, at, lines[:, 0])
        else:
            flat = (lines[:, 1].max(1) <= lines[:, 2].min(1)).astype(bool)
            said = "unchanged over distance: a level line fits into the band in 80 % of studies"
            found.append(_share(f"acceptance ~ {x}", said, flat, 0.8))
    return rows, found


def _shape(x: str, at: np.ndarray, curve: np.ndarray) -> Iterator[Check]:
    """Of curves (studies, g): the highest point, and a fall that comes early."""
    said = "highest at the least distance: in 90 % of studies"
    yield _share(f"action ~ {x}: the highest point", said, curve.argmax(1) == 0, 0.9)
    half = len(at) // 2
    early, late = curve[:, 0] - curve[:, half], curve[:, half] - curve[:, -1]
    mean, sd = float((early - late).mean()), float((early - late).std())
    wide = half_width(sd, len(curve))
    yield Check(
        f"action ~ {x}: then constant",
        "falls at small distances and hardly beyond",
        above_zero(mean - wide, mean + wide),
        f"by {early.mean():.2f} from {at[0]:g} to {at[half]:g}, by {late.mean():.2f} from there to {at[-1]:g}",
    )


MEASURED: dict[str, Callable[..., Measured]] = {
    "table-s2": table_s2,
    "figure-1": figure_1,
    "figure-3": figure_3,
}


def laid_out(page: Page) -> Page:
    """Tables and texts, from the page's rows."""
    made = page.provenance
    size = f"{made['seeds']} studies of {made['n']} participants. Made with `wayforward replicate study`."
    tables, tolerances = {"table-s2": _models, "figure-1": _quoted, "figure-3": _curves}[page.stem](page.rows)
    return replace(
        page, tables=tables, intro=f"{_SIMULATED}\n\n{size}", tolerance=tolerances, notes=made_in(made)
    )


def _models(rows: Sequence[Row]) -> tuple[tuple[Table, ...], str]:
    lines = []
    for row in rows:
        ends = (row["low"], row["high"])  # of single studies as large as the paper's
        apart = abs(ends[row["paper"] > row["mean"]] - row["mean"])
        cell = Cell(row["mean"], row["paper"], row["tolerance"], 0, ends, apart)
        kind = (
            "numbers that the raters were fitted to"
            if row["quantity"] == _FITTED
            else "numbers that they were not"
        )
        name = f"{row['model']}: {row['outcome']} ~ {row['quantity']}" if row["number"] == NUMBERS[0] else ""
        wide = f"{_text(max(row['low'], 0.0))} to {_text(row['high'])}"
        shown = (name, row["number"], _text(row["paper"]), _text(row["mean"]), wide, _text(row["tolerance"]))
        lines.append(Line(shown, (cell,), kind=kind))
    heads = ("model", "number", "paper", "ours, mean", "single studies, 95 %", "tolerance")
    text = (
        "Levels and slopes are those of participants, `s(uid)` and `s(uid, x)`. The paper's F of these two is mgcv's "
        "and not comparable with ours; t is the ratio of the first two numbers. The raters were fitted to models 1 "
        "and 3, so that these are put in and no finding; models 2 and 4 are what follows. The ranges are by the mean "
        "and the deviation of single studies, and end at 0, below which no number can be."
    )
    said = (
        "Tolerance: .15 for intercepts, .01 for their errors, 1 (acceptance) and 1.5 (action) for the EDF of a curve, "
        "1.5 and 5 for its F, 15 % for the EDF of participants' effects, 2 % for AIC. The interval is that of single "
        f"studies, as the paper's is one. No number is better than the paper's: what is beyond is worse. {RULE}"
    )
    return (Table(heads, tuple(lines), text=text),), said


def _quoted(rows: Sequence[Row]) -> tuple[tuple[Table, ...], str]:
    text = (
        "Ours divides a step by the number of steps that an item has. A range of 5 for working hours gives P718, and "
        "then the position needs 10 for P706."
    )
    other = (
        "With a range of 5 for working hours (as if nobody worked 0 to 2), of 10 for the position, and of five steps "
        "for education, of which a bachelor is two above junior college (as if there were an option between), all "
        "seven come out. These are three choices for three numbers, so a fit. The paper prints the options (its Tables "
        "1 and S1: seven of working hours, ten of the position, junior college next to a bachelor), and by them these "
        "two do not come out; codes other than the printed ones would give them."
    )
    heads = ("participant", "change", "paper: sparsity, proximity", "ours")
    said = f"Tolerance: none for sparsity, .005 for proximity. {RULE}"
    return (
        Table(heads, _plans({}, "published lines"), "Plans that the paper quotes whole", text),
        Table(
            heads,
            _plans(ANOTHER, "lines by another reading"),
            "The same by another reading",
            other,
            beside=True,
        ),
    ), said


def _plans(codes: Mapping[str, tuple[tuple[int, ...], float]], kind: str) -> tuple[Line, ...]:
    """The plans that the paper quotes; codes: item -> codes of its options and its range, where others than ours."""
    lines: list[Line] = []
    ranges = RANGES.copy()
    for i, item in enumerate(ITEMS):
        if item.name in codes:
            ranges[i] = codes[item.name][1]
    for who, (change, sparsity, proximity) in QUOTED.items():
        what: list[str] = []
        ends = np.ones((2, len(ITEMS)), dtype=np.int64)
        for i, item in enumerate(ITEMS):
            if item.name in change:
                at = [code - 1 for code in change[item.name]]
                what.append(f"{item.name} {item.options[at[0]]} to {item.options[at[1]]}")
                called = codes[item.name][0] if item.name in codes else range(1, 1 + len(item.options))
                ends[:, i] = [called[k] for k in at]
        ours = distances(ends[0], ends[1], ranges)
        cells = (Cell(float(ours[0]), sparsity, 0.0, 0), Cell(float(ours[1]), proximity, 0.005, 0))
        paper, here = f"{sparsity}, {proximity:.3g}", f"{int(ours[0])}, {float(ours[1]):.3f}"
        lines.append(Line((who, ", ".join(what), paper, here), cells, kind=kind))
    return tuple(lines)


def _curves(rows: Sequence[Row]) -> tuple[tuple[Table, ...], str]:
    lines = []
    for outcome, x in MODELS:
        line = [row for row in rows if (row["outcome"], row["quantity"]) == (outcome, x)]
        for i in np.unique(np.linspace(0, len(line) - 1, 6).astype(int)):
            row = line[i]
            band = [
                f"{row[low]:.2f} to {row[high]:.2f}" for low, high in (("low", "high"), ("least", "most"))
            ]
            head = f"{outcome} ~ {x}" if i == 0 else ""
            lines.append(Line((head, f"{row['x']:g}", f"{row['mean']:.2f}", *band)))
    heads = ("model", "at", "mean curve", "95 % band within a study", "95 % of the studies")
    said = "No tolerance: the paper prints its curves as a picture only. Findings are what it reads off them."
    return (Table(heads, tuple(lines)),), said


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 20 else f"{value:.2f}"
