"""What the paper reads out of its tables and figures, asked of our numbers.

Every difference has a 95 % interval, of two samples from the intervals of its parts: rows hold shares, not people, so
that the same people are not paired. A finding is undecided where such an interval holds zero, or the bound that it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from wayforward.evaluate.stats import Estimate
from wayforward_studies.icarma.published import PROFILES, IcarmaCase
from wayforward_studies.pages import Row, number
from wayforward_studies.verdicts import (
    Check,
    above_zero,
    all_of,
    below,
    difference,
    falls,
    listed,
    with_interval,
)

METHODS = {
    "oracle": "oracle",
    "oracle-free": "oracle, plausibility not demanded",
    "icarma": "iCARMA",
    "icarma-reverse": "iCARMA trained in reverse order",
    "polished-hard": "ours: icarma-polished, plausibility a hard limit",
    "polished-price": "ours: icarma-polished, plausibility at a price",
}

#: How the pages say what decides a finding.
RULE = (
    "A finding is *undecided* where the 95 % interval of a difference holds zero, or the bound that it states; a "
    "difference has the interval of two samples (Newcombe), which is too wide for the same people twice."
)


def checks(number: int, dataset: str, rows: Iterable[Row]) -> tuple[Check, ...]:
    """What the paper reads out of a table, asked of the rows of ours; only findings whose lines are there."""
    makers = {1: _table_1, 2: _table_2, 3: _table_3, 5: _table_5, 6: _table_6}
    return tuple(makers[number](dataset, _Lines(rows)))


def key_of(row: Row) -> tuple[IcarmaCase, str]:
    """Case and method of a flat row."""
    features = 0 if row["features"] == "random" else row["features"]
    case = IcarmaCase(row["dataset"], row["elicited"], row["law"], features, row["profile"])
    return case, row["method"]


class _Lines:
    """Looks rows up by case and method; a finding about lines that were not measured is left out."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = {key_of(row): row for row in rows}

    def of(self, cases: Mapping[str, IcarmaCase], method: str, name: str) -> dict[str, Estimate] | None:
        """A share or the cost of each case, with its interval; NaN where nobody has one."""
        if any((case, method) not in self.rows for case in cases.values()):
            return None
        rows = {label: self.rows[case, method] for label, case in cases.items()}
        return {label: _estimate(row, name) for label, row in rows.items()}


def _estimate(row: Row, name: str) -> Estimate:
    value, low, high = (number(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return Estimate(value, low, high, row["people" if name == "cost" else f"{name}_n"])


def _order(
    name: str, statement: str, values: dict[str, Estimate] | None, slack: float = 0.0
) -> Iterator[Check]:
    """Every number lies below the one before it."""
    if values is not None:
        holds, fall = falls(values, slack)
        step = "fall" if len(values) == 2 else "the fall that decides"
        yield Check(name, statement, holds, f"{listed(values)}; {step} {with_interval(fall)}")


Numbers = Mapping[str, Estimate] | None


def _more(name: str, statement: str, higher: Numbers, lower: Numbers) -> Iterator[Check]:
    """Each of some numbers lies above the one of the same name."""
    if higher is not None and lower is not None:
        gaps = {label: difference(one, lower[label]) for label, one in higher.items()}
        holds = all_of(above_zero(gap.low, gap.high) for gap in gaps.values())
        yield Check(name, statement, holds, f"{_beside(lower, higher)}; {_gaps(gaps)}")


def _beside(first: Mapping[str, Estimate], then: Mapping[str, Estimate]) -> str:
    pairs = (f"{label} {one.value:.3f} and {then[label].value:.3f}".strip() for label, one in first.items())
    return ", ".join(pairs)


def _gaps(gaps: Mapping[str, Estimate]) -> str:
    if len(gaps) == 1:
        return f"difference {with_interval(next(iter(gaps.values())))}"
    label, least = min(gaps.items(), key=lambda item: item[1].low)
    return f"least difference ({label}) {with_interval(least)}"


def _times(one: Estimate, other: Estimate, sure: float, slack: float) -> bool | None:
    """Is one less than `sure` times the other? None where that is within chance, or it is less than `slack` times."""
    gap = difference(one, other, sure)
    return True if gap.high < 0 else None if gap.low < 0 or one.value < slack * other.value else False


_MANY = {4: "all 4", 3: "3", 2: "2", 1: "1"}


def _fewer(dataset: str, law: str, lines: _Lines, methods: Sequence[str]) -> Iterator[Check]:
    cases = {word: IcarmaCase(dataset, law=law, features=many) for many, word in _MANY.items()}
    if dataset == "gmsc":
        cases = {"all 4": IcarmaCase(dataset), "random": IcarmaCase(dataset, features=0)}
    for method in methods:
        for name in ("validity", "plausibility"):
            if name == "plausibility" and method == "oracle":
                continue
            # iCARMA's validity is near one for four, three and two features: a tie within a percent is no rise
            yield from _order(
                f"{METHODS[method]}: {name} falls" + ("" if law == "uniform" else f", {law} order"),
                f"With fewer features that people can act on, {name} falls.",
                lines.of(cases, method, name),
                0.01 if name == "validity" else 0.0,
            )


def _table_1(dataset: str, lines: _Lines) -> Iterator[Check]:
    yield from _fewer(dataset, "uniform", lines, ("oracle", "icarma"))
    cases = {word: IcarmaCase(dataset, features=many) for many, word in _MANY.items()}
    for method in ("oracle", "icarma"):
        cost = lines.of(cases, method, "cost")
        if cost is None:
            continue
        most, least = cost["1"], cost["all 4"]
        rise = difference(most, least)
        yield Check(
            f"{METHODS[method]}: cost changes little",
            "The mean cost shows only a minor to moderate increase with fewer features (below 1.5 times; undecided to "
            "3).",
            all_of((above_zero(rise.low, rise.high), _times(most, least, 1.5, 3.0))),
            f"{listed(cost)}; {most.value / least.value:.2f} times",
        )
    every = {"": IcarmaCase(dataset)}
    costs, valid = (
        [lines.of(every, method, name) for method in ("icarma", "oracle")] for name in ("cost", "validity")
    )
    if costs[0] is not None and costs[1] is not None and valid[0] is not None and valid[1] is not None:
        mine, best = costs[0][""], costs[1][""]
        yield Check(
            "iCARMA: the oracle's cost",
            "With all features iCARMA closely matches the oracle in cost (below 1.25 times; undecided to 1.5).",
            _times(mine, best, 1.25, 1.5),
            f"{mine.value:.4f} and {best.value:.4f}: {mine.value / best.value:.2f} times",
        )
        gap = difference(valid[0][""], valid[1][""])
        yield Check(
            "iCARMA: the oracle's validity",
            "With all features iCARMA closely matches the oracle in validity (within .05; undecided to .1).",
            below(gap, 0.05, 0.1)
            if gap.value > 0
            else below(difference(valid[1][""], valid[0][""]), 0.05, 0.1),
            f"{valid[0][''].value:.3f} and {valid[1][''].value:.3f}; difference {with_interval(gap)}",
        )


def _table_2(dataset: str, lines: _Lines) -> Iterator[Check]:
    weighed = PROFILES[1:] if dataset == "loan" else ("linear",)
    for features, what in ((4, "soft"), (0, "hard and soft"), (3, "hard (3) and soft")):
        cases = {p: IcarmaCase(dataset, features=features, profile=p) for p in PROFILES}
        yield from _order(
            f"oracle: hap by profile, {what}",
            "hap falls from constant to concave to linear to convex weights.",
            lines.of(cases, "oracle", "hap"),
        )
        some = {p: cases[p] for p in weighed}
        same = dict.fromkeys(weighed, cases["constant"])
        for name, statement in (
            ("hap", "With weights of their own, people are asked for the hardest feature much less often."),
            ("plausibility", "Weights cost plausibility."),
        ):
            yield from _more(
                f"iCARMA: {name} falls with weights, {what}",
                statement,
                lines.of(same, "icarma", name),
                lines.of(some, "icarma", name),
            )
        mine, best = (
            [lines.of(chosen, method, "hap") for chosen in (same, some)] for method in ("icarma", "oracle")
        )
        if mine[0] and mine[1] and best[0] and best[1]:
            drops = [
                {p: difference(first[p], then[p]) for p in weighed}
                for first, then in ((mine[0], mine[1]), (best[0], best[1]))
            ]
            yield from _more(
                f"oracle: its hap falls less than iCARMA's, {what}",
                "For the oracle the reduction of hap is less pronounced.",
                *drops,
            )
    yield from _soft(lines) if dataset == "loan" else _soft_gmsc(lines)


def _soft(lines: _Lines) -> Iterator[Check]:
    """Loan: soft limits beside hard ones, which are those of a random number of features with constant weights."""
    weighed = PROFILES[1:]
    soft = {p: IcarmaCase(profile=p) for p in weighed}
    hard = dict.fromkeys(weighed, IcarmaCase(features=0))
    both = {p: IcarmaCase(features=0, profile=p) for p in weighed}
    for method in ("oracle", "icarma"):
        yield from _more(
            f"{METHODS[method]}: soft limits are milder, validity",
            "Soft limits cost less validity than hard ones (a random number of features).",
            lines.of(soft, method, "validity"),
            lines.of(hard, method, "validity"),
        )
    yield from _more(
        "iCARMA: soft limits are milder, plausibility",
        "Soft limits keep more plausibility than hard ones (a random number of features; in the paper's numbers with "
        "concave weights, which are asked here, and not with linear and convex ones).",
        lines.of({"concave": soft["concave"]}, "icarma", "plausibility"),
        lines.of({"concave": hard["concave"]}, "icarma", "plausibility"),
    )
    before, after = (lines.of(some, "icarma", "validity") for some in (soft, both))
    if before is not None and after is not None:
        drops = {p: difference(before[p], after[p]) for p in weighed}
        yield Check(
            "iCARMA: hard limits beside soft ones cost little validity",
            "With hard limits beside soft ones, drops of validity remain mild (below .05; undecided to .1).",
            all_of(below(drop, 0.05, 0.1) for drop in drops.values()),
            f"{_beside(before, after)}; {_gaps({p: drops[p] for p in weighed})}",
        )
    yield from _more(
        "iCARMA: hard limits beside soft ones raise hap",
        "With hard limits beside soft ones, hap increases.",
        lines.of(both, "icarma", "hap"),
        lines.of(soft, "icarma", "hap"),
    )


def _soft_gmsc(lines: _Lines) -> Iterator[Check]:
    """GMSC: soft limits beside none and hard ones, whose lines are Table 1's."""
    none, hard, soft, both = (
        IcarmaCase("gmsc", features=many, profile=profile)
        for many, profile in ((4, "constant"), (0, "constant"), (4, "linear"), (3, "linear"))
    )
    for name, statement, measure, higher, lower in (
        (
            "soft limits recover validity",
            "With soft limits validity recovers from hard ones.",
            "validity",
            soft,
            hard,
        ),
        (
            "soft limits cost more",
            "Soft limits come at a slightly higher cost than none.",
            "cost",
            soft,
            none,
        ),
        (
            "soft limits cost plausibility",
            "With soft limits plausibility is still slightly below that without any.",
            "plausibility",
            none,
            soft,
        ),
        (
            "hard limits beside soft ones cost less",
            "With three features beside rankings the cost of recourse decreases.",
            "cost",
            soft,
            both,
        ),
    ):
        yield from _more(
            f"iCARMA: {name}",
            statement,
            lines.of({"": higher}, "icarma", measure),
            lines.of({"": lower}, "icarma", measure),
        )


def _table_3(dataset: str, lines: _Lines) -> Iterator[Check]:
    for features, what in ((4, "soft"), (0, "hard and soft")):
        cases = {p: IcarmaCase(dataset, "scores", features=features, profile=p) for p in PROFILES}
        yield from _order(
            f"iCARMA: plausibility by profile, {what}",
            "Plausibility falls from constant to concave to linear to convex weights.",
            lines.of(cases, "icarma", "plausibility"),
        )
        haps = lines.of(cases, "icarma", "hap")
        if haps is not None:
            gaps = {f"constant over {p}": difference(haps["constant"], haps[p]) for p in PROFILES[1:]}
            gaps["concave over convex"] = difference(haps["concave"], haps["convex"])
            yield Check(
                f"iCARMA: hap by profile, {what}",
                "hap is highest for constant weights and higher for concave than for convex ones.",
                all_of(above_zero(gap.low, gap.high) for gap in gaps.values()),
                f"{listed(haps)}; {_gaps(gaps)}",
            )


def _table_5(dataset: str, lines: _Lines) -> Iterator[Check]:
    for law in ("causal", "reverse"):
        yield from _fewer(dataset, law, lines, ("oracle", "icarma"))
    words = ((3, "3"), (2, "2"), (1, "1"), (0, "random"))
    orders = {
        law: {word: IcarmaCase(dataset, law=law, features=many) for many, word in words}
        for law in ("causal", "reverse")
    }
    for method in ("oracle", "icarma"):
        for many in (3, 2, 1):
            cases = {law: orders[law][str(many)] for law in orders}
            yield from _order(
                f"{METHODS[method]}: reverse order is harder, {many}",
                "When people prefer features late in the graph, validity is lower.",
                lines.of(cases, method, "validity"),
                0.01 if method == "icarma" else 0.0,
            )
        if method == "icarma":
            yield from _more(
                "iCARMA: reverse order is less plausible",
                "When people prefer features late in the graph, plausibility is lower.",
                lines.of(orders["causal"], method, "plausibility"),
                lines.of(orders["reverse"], method, "plausibility"),
            )
        yield from _more(
            f"{METHODS[method]}: reverse order costs more",
            "When people prefer features late in the graph, valid recommendations cost slightly more.",
            lines.of(orders["reverse"], method, "cost"),
            lines.of(orders["causal"], method, "cost"),
        )
    cases = {
        word: IcarmaCase(dataset, law="reverse", features=many)
        for many, word in (*_MANY.items(), (0, "random"))
    }
    same, uniform = (lines.of(cases, m, "validity") for m in ("icarma-reverse", "icarma"))
    if same is not None and uniform is not None:
        gains = {k: difference(same[k], uniform[k]) for k in same}
        mean = _mean(gains.values())
        yield Check(
            "iCARMA: training on the same preferences does not help",
            "Knowing how preferences are distributed does not necessarily give better recourse (a gain in validity "
            "below .01, a tie; undecided to .03).",
            below(mean, 0.01, 0.03),
            f"gain in validity {with_interval(mean)} in the mean: {listed(gains)}",
        )


def _mean(values: Iterable[Estimate]) -> Estimate:
    """The mean of independent numbers."""
    some = list(values)
    value, low, high = (
        math.fsum(parts) / len(some)
        for parts in zip(
            *((v.value, (v.value - v.low) ** 2, (v.high - v.value) ** 2) for v in some), strict=True
        )
    )
    wide = math.sqrt(len(some))
    return Estimate(value, value - math.sqrt(low) / wide, value + math.sqrt(high) / wide, len(some))


def _table_6(dataset: str, lines: _Lines) -> Iterator[Check]:
    every = {}
    for law in ("uniform", "causal", "reverse"):
        for many in (1, 2):
            case = every[f"{law} {many}"] = IcarmaCase(dataset, law=law, features=many)
            valid, likely = (
                [lines.of({"": case}, method, name) for method in ("oracle-free", "oracle")]
                for name in ("validity", "plausibility")
            )
            if valid[0] is None or valid[1] is None or likely[0] is None or likely[1] is None:
                continue
            gap, free = difference(valid[0][""], valid[1][""]), likely[0][""]
            gained = True if gap.low > 0.2 else False if gap.high < 0.2 else None
            names = ("oracle-free", "oracle")
            shares, chances = (
                {name: one[""] for name, one in zip(names, some, strict=True) if one is not None}
                for some in (valid, likely)
            )
            yield Check(
                f"the price of plausibility, {law}, {many}",
                "Without the demand validity is much higher (by .2) and plausibility low (below .5).",
                all_of((gained, below(free, 0.5, 0.5))),
                f"validity {listed(shares)}; plausibility {listed(chances)}; difference of validity "
                f"{with_interval(gap)}",
            )
        cases = {str(m): IcarmaCase(dataset, law=law, features=m) for m in (2, 1)}
        for name in ("validity", "plausibility"):
            yield from _order(
                f"without the demand, more features raise {name}, {law}",
                f"Still, {name} is higher with two features than with one.",
                lines.of(cases, "oracle-free", name),
                0.0 if name == "validity" else 0.02,  # the paper's uniform line ties at .25
            )
        yield from _order(
            f"without the demand, more features cost less, {law}",
            "In the absence of the demand, cost falls as more features become actionable.",
            lines.of({"1": cases["1"], "2": cases["2"]}, "oracle-free", "cost"),
        )
    yield from _more(
        "without the demand, what is valid costs more",
        "With more valid recourse recommendations also come more costly ones.",
        lines.of(every, "oracle-free", "cost"),
        lines.of(every, "oracle", "cost"),
    )


# -- figures ------------------------------------------------------------------------------------------------------

#: Half of the 95 % interval of a median, and of its distance from the lower quartile, in quartile distances over the
#: root of n, if the middle is about normal (R. McGill, J. W. Tukey, W. A. Larsen, 1978, Am. Stat. 32(1)).
_MEDIAN, _LOWER = 1.96 * 1.2533 / 1.349, 1.96 * 1.2065 / 1.349


def of_figure(number_: int, rows: Sequence[Row]) -> tuple[Check, ...]:
    """What the paper reads out of Figures 3 and 8, from the quartiles of log-densities."""
    return tuple({3: _figure_3, 8: _figure_8}[number_](rows))


def _quartile(row: Row, lower: bool) -> Estimate:
    """The median, or how far below it the lower quartile lies."""
    n = row["people"]
    first, middle, third = (number(row[name]) for name in ("q25", "median", "q75"))
    half = (third - first) / math.sqrt(max(n, 1)) * (_LOWER if lower else _MEDIAN)
    value = middle - first if lower else middle
    return Estimate(value, value - half, value + half, n)


def _figure_3(rows: Sequence[Row]) -> Iterator[Check]:
    for method in dict.fromkeys(row["method"] for row in rows):
        some = {row["setting"]: row for row in rows if row["method"] == method}
        yield from _order(
            f"{method}: less likely with fewer features",
            "With fewer features the log-density of counterfactuals systematically decreases (median of after less "
            "before).",
            {name: _quartile(row, False) for name, row in some.items()},
        )
        yield from _order(
            f"{method}: wider spread with fewer features",
            "Log-densities spread wider towards low-density regions with fewer features (median less lower quartile).",
            {name: _quartile(row, True) for name, row in reversed(some.items())},
        )


def _figure_8(rows: Sequence[Row]) -> Iterator[Check]:
    by = {row["setting"]: row for row in rows}
    free, hard, soft = (
        by[name] for name in ("all 4 features", "hard limits at random", "soft, linear weights")
    )
    for name, statement, higher, lower, wide in (
        (
            "hard limits: less likely",
            "Hard limits reduce the likelihood of counterfactuals.",
            free,
            hard,
            False,
        ),
        (
            "hard limits: wider spread",
            "Hard limits increase the spread towards less likely regions (median less lower quartile).",
            hard,
            free,
            True,
        ),
        (
            "soft limits: likelier",
            "Soft limits alone give higher log-densities than hard ones.",
            soft,
            hard,
            False,
        ),
        ("soft limits: less spread", "Soft limits alone give less spread than hard ones.", hard, soft, True),
    ):
        yield from _more(name, statement, {"": _quartile(higher, wide)}, {"": _quartile(lower, wide)})
